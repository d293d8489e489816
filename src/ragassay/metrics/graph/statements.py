"""The statements of a right answer: the expected facts, or the claims of the reference."""

from __future__ import annotations

from ragassay.core import Sample
from ragassay.metrics.graph.claims import split_claims, under_headings, without_bare_answers

NEEDS_TRUTH = "reference|expected_facts"
"""What a metric that compares with the truth needs of a row."""

_NOT_EVEN_A_STATEMENT = ("politeness", "no words")
"""Reasons to drop a piece that hold for a reference as well: "Thank you." is no right answer."""


def truth_of(sample: Sample) -> str:
    """The right answer as one text: the reference, else the expected facts, one a line; "" where
    there is neither.
    """
    if sample.reference is not None and sample.reference.strip():
        return sample.reference
    return "\n".join(facts_of(sample))


def facts_of(sample: Sample) -> tuple[str, ...]:
    """The expected facts that hold text, each once and in order."""
    return tuple(
        dict.fromkeys(fact.strip() for fact in sample.expected_facts or () if fact.strip())
    )


def statements_of(sample: Sample) -> tuple[str, ...]:
    """The expected facts as they are, else the claims of the reference, each once and in order; ()
    where there is none. A mere yes or no beside claims is none.

    A reference that makes no claim by the rules for responses ("1932", "Paris") is one statement as
    a whole: as the answer to the question it states something.
    """
    facts = facts_of(sample)
    if facts:
        return facts
    reference = sample.reference or ""
    pieces = without_bare_answers(split_claims(reference))
    headings = under_headings(reference, pieces)
    claims = [
        f"{headings.get(piece.start, '')} {piece.text}".lstrip()
        for piece in pieces
        if not piece.dropped
    ]
    if not claims and any(piece.dropped not in _NOT_EVEN_A_STATEMENT for piece in pieces):
        claims = [reference.strip()]
    return tuple(dict.fromkeys(claims))


def no_truth(sample: Sample) -> str:
    """Why `statements_of` is empty."""
    if sample.reference is None:
        return "expected_facts holds no text"
    return (
        "the reference makes no statement" if sample.reference.strip() else "the reference is empty"
    )
