"""Which score, claim or chunk made a row fail, and in which words?"""

from __future__ import annotations

from dataclasses import dataclass

from ragassay.core import Evidence, Manifest, Part, RowResult, Sample, Score, Verdict
from ragassay.diagnosis import quote_of, shows, worst_part
from ragassay.report.wording import chunk_word, claim_word, lower_is_better, section


@dataclass(frozen=True, slots=True)
class Proof:
    """The part that shows the failure: what it is ("claim 2 is not supported"), its text and the
    judge's reason.
    """

    what: str
    quote: str
    rationale: str


def place(part: Part, evidence: Evidence) -> int:
    """The index of the context that a piece of evidence stands in.

    A chunk is judged alone, so its evidence counts from its own text; a claim's counts over all
    contexts.
    """
    return part.context if part.kind == "chunk" and part.context is not None else evidence.context


def located(evidence: Evidence, context: int, sample: Sample) -> bool:
    """Whether the quote does stand there; only then may it be highlighted."""
    contexts = sample.contexts or ()
    if not 0 <= context < len(contexts) or not 0 <= evidence.start < evidence.end:
        return False
    return contexts[context].text[evidence.start : evidence.end] == evidence.quote


def badness(score: Score, manifest: Manifest | None = None) -> float:
    """How bad the score's value is, from 0 (best) to 1 for a ratio; 2 where there is none. Only for
    ordering.
    """
    if score.value is None:
        return 2.0
    return score.value if lower_is_better(score.metric, manifest) else 1.0 - score.value


def worst_score(row: RowResult, manifest: Manifest | None = None) -> Score | None:
    """The failing score that shows the root cause; else the failing one with the worst value; else
    the undecided one; else None. Ties go to the first.
    """
    cause = row.diagnosis.cause
    for name in shows(cause.name) if cause is not None else ():
        for score in row.scores:
            if score.verdict is Verdict.FAIL and score.metric.partition("(")[0] == name:
                return score
    for verdict in (Verdict.FAIL, Verdict.UNDECIDED):
        found = [score for score in row.scores if score.verdict is verdict]
        if found:
            return max(found, key=lambda score: badness(score, manifest))
    return None


def proof(score: Score, sample: Sample | None) -> Proof:
    """The part that speaks most against the score: a failed one, else an unjudged one; else the
    score's own words.
    """
    worst = worst_part(score, unjudged=True)
    if worst is None:
        return Proof("", "", score.rationale or score.reason)
    i, part = worst
    title, word = section(score.metric, part)
    if title:
        what = (
            f"{part.kind} {i + 1} is {word}"
            if part.kind != "citation"
            else f"citation {i + 1}: {word}"
        )
    elif part.kind == "chunk":
        word = chunk_word(part, score.metric)
        number = part.context + 1 if part.context is not None else i + 1
        what = (
            f"context {number} {'is ' if word.split()[-1] in ('relevant', 'judged') else ''}{word}"
        )
    elif part.kind == "statement":  # a rating of the response or of the contexts as a whole
        whole = "the contexts" if score.metric.startswith("context_") else "the response"
        lost, short = ("are", "fall") if whole == "the contexts" else ("is", "falls")
        what = f"{whole} {lost} not judged" if part.passed is None else f"{whole} {short} short"
    else:
        what = f"claim {i + 1} is {claim_word(part)}"
    return Proof(what, quote_of(part, sample), part.rationale or part.reason or score.reason)
