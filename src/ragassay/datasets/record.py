"""The written form of a Sample: our own row shape, which reads back as the same Sample."""

from __future__ import annotations

from ragassay.core import AppUsage, Context, Sample

_SINGLE_VALUES = ("question", "response", "reference", "answerable", "cluster")
_USAGE_FIELDS = ("input_tokens", "output_tokens", "total_tokens", "cost", "latency")


def to_record(sample: Sample) -> dict[str, object]:
    """The row as a JSON-like dict with our own field names; absent fields are left out.

    A context is a text, or {"text", "id", "score"} where it has an id or a score. The line is not
    kept: it belongs to the file. `from_record(to_record(s))` is `s` with line 0.

    >>> to_record(Sample("a", question="Why?", contexts=(Context("Because."),)))
    {'id': 'a', 'question': 'Why?', 'contexts': ['Because.']}
    """
    record: dict[str, object] = {"id": sample.id}
    for name in _SINGLE_VALUES:
        value = getattr(sample, name)
        if value is not None:
            record[name] = value
    # An empty tuple of these says something (nothing retrieved, nothing relevant), so only None is
    # left out.
    if sample.contexts is not None:
        record["contexts"] = [_context(context) for context in sample.contexts]
    if sample.expected_facts is not None:
        record["expected_facts"] = list(sample.expected_facts)
    if sample.relevant_ids is not None:
        record["relevant_ids"] = dict(sample.relevant_ids)
    # A Sample always has these, and empty they say nothing.
    if sample.guidelines:
        record["guidelines"] = list(sample.guidelines)
    if sample.slices:
        record["slices"] = dict(sample.slices)
    if sample.usage is not None:
        record["usage"] = _usage(sample.usage)
    if sample.labels:
        record["labels"] = dict(sample.labels)
    if sample.feedback is not None:
        record["feedback"] = list(sample.feedback)
    if sample.error:
        record["error"] = sample.error
    return record


def _usage(usage: AppUsage) -> dict[str, object]:
    figures: dict[str, object] = {}
    for name in _USAGE_FIELDS:
        value = getattr(usage, name)
        if value is not None:
            figures[name] = value
    return figures


def _context(context: Context) -> object:
    if context.id is None and context.score is None:
        return context.text
    fields: dict[str, object] = {"text": context.text}
    if context.id is not None:
        fields["id"] = context.id
    if context.score is not None:
        fields["score"] = context.score
    return fields
