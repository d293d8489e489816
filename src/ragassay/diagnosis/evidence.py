"""Which part of a score shows its failure best, and what does it say?"""

from __future__ import annotations

from functools import lru_cache

from ragassay.core import Part, Sample, Score, Status, shorten

QUOTE = 240
"""The most characters of a text that are quoted."""


def base(score: Score) -> str:
    """The metric's name without its parameters."""
    return _before_the_bracket(score.metric)


# Asked hundreds of times a row, of a handful of names.
@lru_cache(maxsize=512)
def _before_the_bracket(metric: str) -> str:
    return metric.partition("(")[0]


def worst_part(score: Score, *, unjudged: bool = False) -> tuple[int, Part] | None:
    """The failed part that says most, with its place among the parts; None when none failed.

    That is the one with the lowest value, the first of equals: the least supported claim. Of chunks
    that all fail it is the best one: not even that is relevant. unjudged: where none failed, the
    first one that has no verdict.
    """
    parts = list(enumerate(score.parts))
    failed = [(i, part) for i, part in parts if part.passed is False]
    if not failed:
        lost = (
            item for item in parts if item[1].status not in (Status.JUDGED, Status.NOT_APPLICABLE)
        )
        return next(lost, None) if unjudged else None
    best = max if all(part.kind == "chunk" for _, part in failed) else min
    return best(failed, key=lambda item: item[1].value or 0.0)


def part_text(part: Part, sample: Sample | None) -> str:
    """The words of a claim or chunk, wherever they stand; "" when they are nowhere."""
    if part.text or sample is None:
        return part.text
    if part.kind == "chunk":
        contexts = sample.contexts or ()
        inside = part.context is not None and 0 <= part.context < len(contexts)
        return contexts[part.context].text if inside and part.context is not None else ""
    if part.start is None or part.end is None:
        return ""
    return (sample.response or "")[part.start : part.end]


def quote_of(part: Part, sample: Sample | None) -> str:
    """What may be quoted of the part as its proof: its words, but not the question, of which no
    rating proves anything.
    """
    text = part_text(part, sample)
    return (
        "" if part.kind == "statement" and sample is not None and text == sample.question else text
    )


def proof_of(score: Score, sample: Sample) -> str:
    """The failing part in quotation marks, "" when no part failed or it has no words of its own."""
    worst = worst_part(score)
    text = quote_of(worst[1], sample) if worst is not None else ""
    if worst is None or not text:
        return ""
    part = worst[1]
    where = (
        f"context {part.context + 1}: " if part.kind == "chunk" and part.context is not None else ""
    )
    return where + quoted(text)


def quoted(text: str) -> str:
    """The text on one line in quotation marks, cut where it is long."""
    return f"“{shorten(' '.join(text[: 4 * QUOTE].split()), QUOTE)}”"
