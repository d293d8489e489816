"""How do several match calls become one Judgment? One call a passage, a sentence or a statement;
all must be answered.

A Judgment of which a part was lost is lost: which part would have changed it is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ragassay.core import Evidence, Judgment, MatchCall, Reply, Request, Status, shorten
from ragassay.judges.offline.pending import Case, checked, spent, without_citations
from ragassay.judges.text_rules.sentences import sentences

MOST_CALLS = 1000
"""Calls that one Request may take; more passages, sentences or statements than that are no input
but an attack.
"""
_LISTED = 10


def calls_of(request: Request) -> tuple[MatchCall, ...]:
    """The calls that a Request of these rubrics takes, those about empty texts left out."""
    question = request.text("question")
    if request.rubric == "claim_sources":
        claim, contexts = without_citations(request.text("claim")), request.texts("contexts")
        return tuple(
            MatchCall("support", claim, (contexts[at],), question or None)
            for at in _filled(contexts)
        )
    if request.rubric == "sentence_relevance":
        context = request.text("context")
        spans = sentences(context)
        return tuple(
            MatchCall("relevance", question, (context[start:end],)) for start, end in spans
        )
    contexts, statements = request.texts("contexts"), request.texts("statements")
    return tuple(
        MatchCall("support", without_citations(statements[at]), contexts, question or None)
        for at in _filled(statements)
    )


def settle(case: Case, replies: Sequence[Reply]) -> Judgment:
    """The Judgment that follows from the replies to `calls_of`."""
    usable = case.replies(replies)
    if isinstance(usable, Judgment):
        return usable
    probabilities = [reply.probability for reply in usable]
    if case.rubric.id == "claim_sources":
        found = [checked(reply, call) for reply, call in zip(usable, case.calls, strict=True)]
        return _sources(case, replies, probabilities, found)
    if case.rubric.id == "sentence_relevance":
        return _sentences(case, replies, probabilities)
    quotes = [
        e for reply, call in zip(usable, case.calls, strict=True) for e in checked(reply, call)
    ]
    return _sufficiency(case, replies, probabilities, tuple(dict.fromkeys(quotes)))


def _filled(texts: Sequence[str]) -> list[int]:
    return [at for at, text in enumerate(texts) if text.strip()]


def _sources(
    case: Case,
    replies: Sequence[Reply],
    probabilities: list[float],
    quotes: list[tuple[Evidence, ...]],
) -> Judgment:
    contexts = _filled(case.request.texts("contexts"))
    reached = [n for n, probability in enumerate(probabilities) if probability >= case.cut]
    named = ", ".join(f"{contexts[n] + 1} ({probabilities[n]:.2f})" for n in reached[:_LISTED])
    more = f" and {len(reached) - _LISTED} more" if len(reached) > _LISTED else ""
    best = max(probabilities, default=0.0)
    return case.rated(
        "yes" if reached else "no",
        f"{len(reached)} of {len(contexts)} passages support the claim, each judged alone"
        + (f": {named}{more}." if reached else f"; the highest probability is {best:.2f}.")
        + f" A passage does from {case.cut:.2f} on.",
        probability=best,
        evidence=tuple(replace(e, context=contexts[n]) for n in reached for e in quotes[n]),
        spend=spent(replies),
        sources=tuple(contexts[n] for n in reached),
    )


def _sentences(case: Case, replies: Sequence[Reply], probabilities: list[float]) -> Judgment:
    context = case.request.text("context")
    spans = sentences(context)
    quotes = [
        Evidence(0, start, end, context[start:end])
        for (start, end), probability in zip(spans, probabilities, strict=True)
        if probability >= case.cut
    ]
    return Judgment(
        case.request.key,
        case.fingerprint,
        case.rubric.ref,
        Status.JUDGED,
        evidence=tuple(quotes),
        spend=spent(replies),
        rationale=(
            f"{len(quotes)} of {len(spans)} sentences help with the question, each judged alone;"
            f" one does from {case.cut:.2f} on."
        ),
    )


def _sufficiency(
    case: Case, replies: Sequence[Reply], probabilities: list[float], quotes: tuple[Evidence, ...]
) -> Judgment:
    statements = [
        case.request.texts("statements")[at] for at in _filled(case.request.texts("statements"))
    ]
    if not statements:
        return case.lost(Status.NOT_APPLICABLE, "there is no statement to look for")
    least = min(probabilities)
    missing = [
        f'"{shorten(text, 200)}" ({probability:.2f})'
        for text, probability in zip(statements, probabilities, strict=True)
        if probability < case.cut
    ]
    if missing:
        more = f" and {len(missing) - _LISTED} more" if len(missing) > _LISTED else ""
        said = f"Missing in the passages: {'; '.join(missing[:_LISTED])}{more}."
    else:
        said = (
            f"Every statement is supported by the passages; the lowest probability is {least:.2f}."
        )
    return case.rated(
        "no" if missing else "yes",
        f"{said} A statement counts as supported from {case.cut:.2f} on.",
        probability=least,
        evidence=quotes,
        spend=spent(replies),
    )
