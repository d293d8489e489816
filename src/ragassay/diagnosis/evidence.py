"""The part of a score that shows its failure best, and the words in which it is quoted."""

from __future__ import annotations

from functools import lru_cache

from ragassay.core import Part, Sample, Score, Status, shorten

QUOTE = 240
"""The most characters of a text that are quoted."""


def metric_name(score: Score) -> str:
    """The metric's name without its parameters."""
    return _without_parameters(score.metric)


# Asked hundreds of times a row, of a handful of names.
@lru_cache(maxsize=512)
def _without_parameters(metric: str) -> str:
    return metric.partition("(")[0]


def worst_part(score: Score, *, unjudged: bool = False) -> tuple[int, Part] | None:
    """The failed part that says most, with its place among the parts; None when none failed.

    That is the one with the lowest value, the first of equals: the least supported claim. Of chunks
    that all fail it is the best one: not even that is relevant. unjudged: where none failed, the
    first one that has no verdict.
    """
    failed = [(i, part) for i, part in enumerate(score.parts) if part.passed is False]
    if not failed:
        return _first_unjudged(score) if unjudged else None
    only_chunks = all(part.kind == "chunk" for _, part in failed)
    choose = max if only_chunks else min
    return choose(failed, key=_value)


def _first_unjudged(score: Score) -> tuple[int, Part] | None:
    for i, part in enumerate(score.parts):
        if part.status not in (Status.JUDGED, Status.NOT_APPLICABLE):
            return i, part
    return None


def _value(item: tuple[int, Part]) -> float:
    return item[1].value or 0.0


def part_text(part: Part, sample: Sample | None) -> str:
    """The words of a claim or chunk, wherever they stand; "" when they are nowhere."""
    if part.text or sample is None:
        return part.text
    if part.kind == "chunk":
        contexts = sample.contexts or ()
        if part.context is None or not 0 <= part.context < len(contexts):
            return ""
        return contexts[part.context].text
    if part.start is None or part.end is None:
        return ""
    return (sample.response or "")[part.start : part.end]


def quote_of(part: Part, sample: Sample | None) -> str:
    """What may be quoted of the part as its proof: its words, but not the question, of which no
    rating proves anything.
    """
    text = part_text(part, sample)
    if part.kind == "statement" and sample is not None and text == sample.question:
        return ""
    return text


def proof_of(score: Score, sample: Sample) -> str:
    """The failing part in quotation marks, "" when no part failed or it has no words of its own."""
    worst = worst_part(score)
    if worst is None:
        return ""
    part = worst[1]
    text = quote_of(part, sample)
    if not text:
        return ""
    if part.kind == "chunk" and part.context is not None:
        return f"context {part.context + 1}: {quoted(text)}"
    return quoted(text)


def quoted(text: str) -> str:
    """The text on one line in quotation marks, cut where it is long."""
    return f"“{shorten(' '.join(text[: 4 * QUOTE].split()), QUOTE)}”"


def listed(names: tuple[str, ...] | list[str]) -> str:
    """The first five names, and dots where there are more."""
    more = " ..." if len(names) > 5 else ""
    return ", ".join(names[:5]) + more
