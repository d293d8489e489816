"""The written form of a Sample: our own row shape, which reads back as the same Sample."""

from __future__ import annotations

from ragassay.core import Context, Sample


def to_record(sample: Sample) -> dict[str, object]:
    """The row as a JSON-like dict with our own field names; absent fields are left out.

    A context is a text, or {"text", "id", "score"} where it has an id or a score. The line is not
    kept: it belongs to the file. `from_record(to_record(s))` is `s` with line 0.

    >>> to_record(Sample("a", question="Why?", contexts=(Context("Because."),)))
    {'id': 'a', 'question': 'Why?', 'contexts': ['Because.']}
    """
    record: dict[str, object] = {"id": sample.id}
    for name in ("question", "response", "reference", "answerable", "cluster"):
        if (value := getattr(sample, name)) is not None:
            record[name] = value
    if sample.contexts is not None:
        record["contexts"] = [_context(c) for c in sample.contexts]
    if sample.expected_facts is not None:
        record["expected_facts"] = list(sample.expected_facts)
    if sample.relevant_ids is not None:
        record["relevant_ids"] = dict(sample.relevant_ids)
    if sample.guidelines:
        record["guidelines"] = list(sample.guidelines)
    if sample.slices:
        record["slices"] = dict(sample.slices)
    if sample.usage is not None:
        parts = {
            n: getattr(sample.usage, n)
            for n in ("input_tokens", "output_tokens", "total_tokens", "cost", "latency")
        }
        record["usage"] = {name: value for name, value in parts.items() if value is not None}
    if sample.labels:
        record["labels"] = dict(sample.labels)
    if sample.error:
        record["error"] = sample.error
    return record


def _context(context: Context) -> object:
    if context.id is None and context.score is None:
        return context.text
    whole = {"text": context.text, "id": context.id, "score": context.score}
    return {name: value for name, value in whole.items() if value is not None}
