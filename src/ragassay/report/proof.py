"""Which score, claim or chunk made a row fail, and in which words?"""

from __future__ import annotations

from dataclasses import dataclass

from ragassay.core import Evidence, Part, RowResult, Sample, Score, Status, Verdict
from ragassay.report.wording import chunk_word, claim_word


@dataclass(frozen=True, slots=True)
class Proof:
    """The part that shows the failure: what it is ("claim 2 is not supported"), its text and the judge's reason."""

    what: str
    quote: str
    rationale: str


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


def place(part: Part, evidence: Evidence) -> int:
    """The index of the context that a piece of evidence stands in.

    A chunk is judged alone, so its evidence counts from its own text; a claim's counts over all contexts.
    """
    return part.context if part.kind == "chunk" and part.context is not None else evidence.context


def located(evidence: Evidence, context: int, sample: Sample) -> bool:
    """Whether the quote does stand there; only then may it be highlighted."""
    contexts = sample.contexts or ()
    if not 0 <= context < len(contexts) or not 0 <= evidence.start < evidence.end:
        return False
    return contexts[context].text[evidence.start : evidence.end] == evidence.quote


_SHOWS = {
    "nothing_retrieved": ("chunk_relevance", "context_relevance"),
    "retrieval_irrelevant": ("chunk_relevance", "context_relevance"),
    "document_missed": ("document_recall",),
    "ungrounded": ("groundedness", "faithfulness"),
    "declined": ("answer_relevance", "abstention"),
    "failed_abstention": ("abstention",),
    "no_answer": ("answer_relevance",),
    "answer_irrelevant": ("answer_relevance",),
}
"""Which metrics show a root cause, so that a row's quote and its cause speak of one thing."""


def worst_score(row: RowResult) -> Score | None:
    """The failing score that shows the root cause; else the failing one with the lowest value; else the undecided
    one; else None. Ties go to the first."""
    cause = row.diagnosis.cause
    for name in _SHOWS.get(cause.name, ()) if cause is not None else ():
        for score in row.scores:
            if score.verdict is Verdict.FAIL and score.metric.partition("(")[0] == name:
                return score
    for verdict in (Verdict.FAIL, Verdict.UNDECIDED):
        found = [score for score in row.scores if score.verdict is verdict]
        if found:
            return min(found, key=lambda score: -1.0 if score.value is None else score.value)
    return None


def proof(score: Score, sample: Sample | None) -> Proof:
    """The part that speaks most against the score: a failed one, else an unjudged one; else the score's own words."""
    failed = [(i, part) for i, part in enumerate(score.parts) if part.passed is False]
    if not failed:
        unjudged = (Status.JUDGED, Status.NOT_APPLICABLE)
        failed = [(i, part) for i, part in enumerate(score.parts) if part.status not in unjudged]
    if not failed:
        return Proof("", "", score.rationale or score.reason)
    # The lowest claim says most; of chunks that all fail, the best one does: not even it is relevant.
    best = max if all(part.kind == "chunk" for _, part in failed) else min
    i, part = best(failed, key=lambda item: 0.0 if item[1].value is None else item[1].value)
    number = part.context + 1 if part.kind == "chunk" and part.context is not None else i + 1
    if part.kind == "statement":  # a rating of the response as a whole
        what = "the response is not judged" if part.passed is None else "the response falls short"
    else:
        what = (
            f"context {number} is {chunk_word(part)}"
            if part.kind == "chunk"
            else f"claim {number} is {claim_word(part)}"
        )
    return Proof(what, part_text(part, sample), part.rationale or part.reason or score.reason)
