"""Judgments made of many match calls: one a passage, a sentence or a statement.

A Judgment of which a part was lost is lost: which part would have changed it is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ragassay.core import Evidence, Judgment, MatchCall, Reply, Request, Status, shorten
from ragassay.judges.matching.open_request import (
    OpenRequest,
    spent,
    verified_evidence,
    without_citations,
)
from ragassay.judges.text_rules.sentences import sentences

MOST_CALLS = 1000
"""Calls that one Request may take; more passages, sentences or statements than that are no input
but an attack.
"""
_LISTED = 10


def calls_of(request: Request, model: str = "") -> tuple[MatchCall, ...]:
    """The calls that a Request of these rubrics takes, those about empty texts left out.

    model: the URI of the model that is asked; "" = the offline model.
    """
    question = request.text("question")
    if request.rubric == "claim_sources":
        claim = without_citations(request.text("claim"))
        contexts = request.texts("contexts")
        return tuple(
            MatchCall("support", claim, (contexts[place],), question or None, model)
            for place in _places_with_text(contexts)
        )
    if request.rubric == "sentence_relevance":
        context = request.text("context")
        return tuple(
            MatchCall("relevance", question, (context[start:end],), model=model)
            for start, end in sentences(context)
        )
    contexts = request.texts("contexts")
    statements = [text for text in request.texts("statements") if text.strip()]
    return tuple(
        MatchCall("support", without_citations(statement), contexts, question or None, model)
        for statement in statements
    )


def settle(open_request: OpenRequest, replies: Sequence[Reply]) -> Judgment:
    """The Judgment that follows from the replies to `calls_of`."""
    usable = open_request.replies(replies)
    if isinstance(usable, Judgment):
        return usable
    probabilities = [reply.probability for reply in usable]
    if open_request.rubric.id == "sentence_relevance":
        return _sentences(open_request, replies, probabilities)
    quotes = [
        verified_evidence(reply, call)
        for reply, call in zip(usable, open_request.calls, strict=True)
    ]
    if open_request.rubric.id == "claim_sources":
        return _sources(open_request, replies, probabilities, quotes)
    unique: dict[Evidence, None] = {}
    for quotes_of_call in quotes:
        unique.update(dict.fromkeys(quotes_of_call))
    return _sufficiency(open_request, replies, probabilities, tuple(unique))


def _places_with_text(texts: Sequence[str]) -> list[int]:
    return [place for place, text in enumerate(texts) if text.strip()]


def _sources(
    open_request: OpenRequest,
    replies: Sequence[Reply],
    probabilities: list[float],
    quotes: list[tuple[Evidence, ...]],
) -> Judgment:
    places = _places_with_text(open_request.request.texts("contexts"))
    best = max(probabilities, default=0.0)
    if open_request.is_near_cut(best):
        return open_request.near_cut(best, replies)
    supporting = [
        n for n, probability in enumerate(probabilities) if probability >= open_request.cut
    ]
    named = [f"{places[n] + 1} ({probabilities[n]:.2f})" for n in supporting[:_LISTED]]
    rationale = f"{len(supporting)} of {len(places)} passages support the claim, each judged alone"
    if supporting:
        more = _and_more(len(supporting))
        rationale += f": {', '.join(named)}{more}."
    else:
        rationale += f"; the highest probability is {best:.2f}."
    evidence: list[Evidence] = []
    for n in supporting:
        # A call saw one passage; its place among all is the context's.
        evidence += [replace(quote, context=places[n]) for quote in quotes[n]]
    return open_request.rated(
        "yes" if supporting else "no",
        f"{rationale} A passage does from {open_request.cut:.2f} on.",
        probability=best,
        evidence=tuple(evidence),
        spend=spent(replies),
        sources=tuple(places[n] for n in supporting),
    )


def _sentences(
    open_request: OpenRequest, replies: Sequence[Reply], probabilities: list[float]
) -> Judgment:
    context = open_request.request.text("context")
    spans = sentences(context)
    quotes: list[Evidence] = []
    for (start, end), probability in zip(spans, probabilities, strict=True):
        if probability >= open_request.cut:
            quotes.append(Evidence(0, start, end, context[start:end]))
    return Judgment(
        open_request.request.key,
        open_request.fingerprint,
        open_request.rubric.ref,
        Status.JUDGED,
        evidence=tuple(quotes),
        spend=spent(replies),
        rationale=(
            f"{len(quotes)} of {len(spans)} sentences help with the question, each judged alone;"
            f" one does from {open_request.cut:.2f} on."
        ),
    )


def _sufficiency(
    open_request: OpenRequest,
    replies: Sequence[Reply],
    probabilities: list[float],
    quotes: tuple[Evidence, ...],
) -> Judgment:
    statements = [text for text in open_request.request.texts("statements") if text.strip()]
    if not statements:
        return open_request.lost(Status.NOT_APPLICABLE, "there is no statement to look for")
    least = min(probabilities)
    if open_request.is_near_cut(least):
        return open_request.near_cut(least, replies)
    missing: list[str] = []
    for text, probability in zip(statements, probabilities, strict=True):
        if probability < open_request.cut:
            missing.append(f'"{shorten(text, 200)}" ({probability:.2f})')
    rationale = (
        f"Every statement is supported by the passages; the lowest probability is {least:.2f}."
    )
    if missing:
        more = _and_more(len(missing))
        rationale = f"Missing in the passages: {'; '.join(missing[:_LISTED])}{more}."
    return open_request.rated(
        "no" if missing else "yes",
        f"{rationale} A statement counts as supported from {open_request.cut:.2f} on.",
        probability=least,
        evidence=quotes,
        spend=spent(replies),
    )


def _and_more(count: int) -> str:
    return f" and {count - _LISTED} more" if count > _LISTED else ""
