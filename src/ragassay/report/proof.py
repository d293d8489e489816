"""The proof of a failure: the score, claim or chunk that made a row fail, in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ragassay.core import Evidence, Manifest, Part, Role, RowResult, Sample, Score, Verdict
from ragassay.diagnosis import Row, evidence_chunks, metric_name, quote_of, shows, worst_part
from ragassay.report.wording import chunk_word, claim_word, declared_as, lower_is_better, section


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
    if part.kind == "chunk" and part.context is not None:
        return part.context
    return evidence.context


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
    if lower_is_better(score.metric, manifest):
        return score.value
    return 1.0 - score.value


def worst_score(row: RowResult, manifest: Manifest | None = None) -> Score | None:
    """The failing score that shows the root cause; else the failing one with the worst value; else
    the undecided one; else None. Ties go to the first. Where the application failed, that shows it
    whether or not the run measured it.
    """
    failed_at_all = row.diagnosis.verdict is Verdict.FAIL
    if failed_at_all and row.sample is not None and row.sample.error is not None:
        from ragassay.metrics.catalogue.app_error import failed_application

        measured = (score for score in row.scores if score.metric == "app_error")
        return next(measured, None) or failed_application(row.sample.error)
    failed = [score for score in row.scores if score.verdict is Verdict.FAIL]
    cause = row.diagnosis.cause
    if cause is not None:
        for name in (cause.name, *shows(cause.name, _roles(failed))):
            for score in failed:
                if metric_name(score) == name:
                    return score
    undecided = [score for score in row.scores if score.verdict is Verdict.UNDECIDED]
    candidates = failed or undecided
    if not candidates:
        return None
    return max(candidates, key=lambda score: badness(score, manifest))


def _roles(scores: Iterable[Score]) -> dict[str, Role]:
    """The roles of the scores' metrics; the user's own metrics have none here."""
    roles = {}
    for score in scores:
        declared = declared_as(score.metric)
        if declared is not None:
            roles[declared.name] = declared.role
    return roles


def overruled(row: RowResult) -> dict[int, str]:
    """The contexts that a judge finds irrelevant although they serve as evidence, each with a
    sentence that says what they support.
    """
    irrelevant = set()
    for score in row.scores:
        for part in score.parts:
            if part.kind == "chunk" and part.passed is False:
                irrelevant.add(part.context)
    if not irrelevant or row.sample is None:
        return {}
    chunks = evidence_chunks(Row(row.sample, row.scores, _roles(row.scores)))
    sentences = {}
    for context, words in chunks.items():
        if context in irrelevant:
            sentences[context] = f"Not irrelevant, whatever the judge says: {words}."
    return sentences


def proof(score: Score, sample: Sample | None) -> Proof:
    """The part that speaks most against the score: a failed one, else an unjudged one; else the
    score's own words.
    """
    worst = worst_part(score, unjudged=True)
    if worst is None:
        return Proof("", "", score.rationale or score.reason)
    i, part = worst
    what = _what_fails(score.metric, part, i + 1)
    return Proof(what, quote_of(part, sample), part.rationale or part.reason or score.reason)


def _what_fails(metric: str, part: Part, number: int) -> str:
    """ "claim 2 is not supported", "the response falls short". number: of the part, from 1."""
    title, word = section(metric, part)
    if title and part.kind == "citation":
        return f"citation {number}: {word}"
    if title:
        return f"{part.kind} {number} is {word}"
    if part.kind == "chunk":
        word = chunk_word(part, metric)
        place = part.context + 1 if part.context is not None else number
        verb = "is " if word.split()[-1] in ("relevant", "judged") else ""
        return f"context {place} {verb}{word}"
    if part.kind == "statement":  # a rating of the response or of the contexts as a whole
        of_contexts = metric.startswith("context_")
        if part.passed is None:
            return "the contexts are not judged" if of_contexts else "the response is not judged"
        return "the contexts fall short" if of_contexts else "the response falls short"
    return f"claim {number} is {claim_word(part)}"
