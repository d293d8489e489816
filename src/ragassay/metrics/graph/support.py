"""The edges of a row's claim graph: their Requests, and the parts made of the answers.

One place makes the Requests, so that equal questions of several metrics are one Request, and the
very same object. Claims of the response are kind "claim", statements of the reference kind
"statement"; both are `Piece`s here.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from ragassay.core import Judgment, Part, Request, Status
from ragassay.metrics.graph.admissions import admits, states_nothing
from ragassay.metrics.graph.claims import Piece
from ragassay.metrics.graph.row_cache import cached_for_row
from ragassay.metrics.reduction import ABSTENTION, blank, part_by_rule, part_of

T = TypeVar("T")
Flow = Generator[tuple[Request, ...], tuple[Judgment, ...], T]


@cached_for_row
def _requests(
    rubric: str,
    question: str,
    name: str,
    text: str,
    contexts: tuple[str, ...] | None,
    claims: tuple[str, ...],
) -> tuple[Request, ...]:
    # Kept for the other metrics of the row: a Request hashes the contexts once, for its key.
    shared: dict[str, str | tuple[str, ...]] = {"question": question, name: text}
    if contexts is not None:
        shared["contexts"] = contexts
    return tuple(Request(rubric, {**shared, "claim": claim}) for claim in claims)


class _Running(NamedTuple):
    """A flow that waits for the answers to its requests. position: its place among the flows."""

    position: int
    flow: Flow[Any]
    requests: tuple[Request, ...]


def together(*flows: Flow[T]) -> Flow[tuple[T, ...]]:
    """Run flows side by side: what they ask at the same time is one wave."""
    # By position: flows end in any order, and the results stand in that of the flows.
    results: dict[int, T] = {}
    running: list[_Running] = []

    def advance(position: int, flow: Flow[T], answers: tuple[Judgment, ...] | None) -> None:
        try:
            requests = next(flow) if answers is None else flow.send(answers)
        except StopIteration as stop:
            results[position] = stop.value
        else:
            running.append(_Running(position, flow, requests))

    for position, flow in enumerate(flows):
        advance(position, flow, None)
    while running:
        wave = tuple(running)
        running.clear()
        requests: list[Request] = []
        for waiting in wave:
            requests += waiting.requests
        answers = yield tuple(requests)
        at = 0
        for waiting in wave:
            after = at + len(waiting.requests)
            advance(waiting.position, waiting.flow, answers[at:after])
            at = after
    return tuple(results[position] for position in range(len(flows)))


# -- claim x contexts, statement x contexts


def judge_support(
    kind: str,
    pieces: Sequence[Piece],
    question: str,
    text: str,
    contexts: tuple[str, ...],
    *,
    sources: bool,
) -> Flow[tuple[Part, ...]]:
    """Is each piece of `text` supported by the contexts, all of them together? One part a piece, in
    order.

    Nothing retrieved supports nothing: every piece is 0 without asking; but the claims of a
    response that as a whole declines to answer, and each that does so by its words, are admissions,
    which need no support. sources: whether it matters which contexts support it; a part that passes
    and for which this is not to be had then counts as lost.
    """
    if not pieces:
        return ()
    if all(blank(context) for context in contexts):
        return (yield from _without_contexts(kind, pieces, question, text))
    claims = tuple(piece.text for piece in pieces)
    answers = yield _requests("groundedness", question, "response", text, contexts, claims)
    parts = [part_at(kind, piece, answer) for piece, answer in zip(pieces, answers, strict=True)]
    if sources:
        yield from _locate(parts, claims, question, text, contexts)
    return tuple(parts)


def _without_contexts(
    kind: str, pieces: Sequence[Piece], question: str, text: str
) -> Flow[tuple[Part, ...]]:
    # Only a response can decline; statements are what is true, and nothing supports them here.
    declined = False
    if kind == "claim" and not blank(question):
        (answer,) = yield (Request("answer_relevance", {"question": question, "response": text}),)
        declined = answer.judged and "declined" in answer.flags
    parts = []
    for piece in pieces:
        if kind == "claim" and (declined or admits(piece.text)):
            why = "The response declines to answer; an admission needs no support."
            parts.append(by_rule(kind, piece, why, 1.0, ABSTENTION))
        else:
            why = "Nothing was retrieved that could support it."
            parts.append(by_rule(kind, piece, why, 0.0, "nothing_found"))
    return tuple(parts)


def _locate(
    parts: list[Part], claims: tuple[str, ...], question: str, text: str, contexts: tuple[str, ...]
) -> Flow[None]:
    """Put into each judged part the contexts that support it, and ask for them where the judge
    named none.
    """
    copies = _copies(contexts)
    unlocated: list[int] = []
    for i, part in enumerate(parts):
        if part.status is not Status.JUDGED or ABSTENTION in part.flags:
            continue
        sources = _sources(part, copies)
        if part.passed and not sources:
            unlocated.append(i)
        elif sources != part.sources:
            parts[i] = replace(part, sources=sources)
    if not unlocated:
        return
    unlocated_claims = tuple(claims[i] for i in unlocated)
    answers = yield _requests(
        "claim_sources", question, "response", text, contexts, unlocated_claims
    )
    for i, answer in zip(unlocated, answers, strict=True):
        sources = ()
        if answer.judged and answer.passes is not False:
            sources = _with_copies(answer.sources, copies)
        # "Supported, but by none of them" is no judgment that a share could be made of.
        parts[i] = replace(parts[i], sources=sources) if sources else _unlocated(parts[i], answer)


def _sources(part: Part, copies: dict[int, tuple[int, ...]]) -> tuple[int, ...]:
    """The contexts that support a judged part, () where it fails or they are not known."""
    if not part.passed:
        return ()
    sources = _with_copies(part.sources, copies)
    if not sources and len(set(copies.values())) == 1:
        return next(iter(copies.values()))  # all contexts that hold text hold the same one
    return sources


def _unlocated(part: Part, answer: Judgment) -> Part:
    """A supported part whose sources stay unknown counts as lost."""
    why = "the judge named none" if answer.judged else answer.reason
    return replace(
        part,
        status=Status.UNPARSED if answer.judged else _loss(answer.status),
        rating=None,
        value=None,
        passed=None,
        probability=None,
        sources=None,
        reason=f"which contexts support it is not known: {why}",
    )


def _loss(status: Status) -> Status:
    # It was asked and is missing: "not applicable" would take it out of the counts.
    return Status.FAILED if status is Status.NOT_APPLICABLE else status


def _copies(contexts: tuple[str, ...]) -> dict[int, tuple[int, ...]]:
    """Context that holds text -> all contexts with its text: what one of them supports the others
    do as well.
    """
    same_text: dict[str, list[int]] = {}
    for i, context in enumerate(contexts):
        if not blank(context):
            same_text.setdefault(context.strip(), []).append(i)
    copies: dict[int, tuple[int, ...]] = {}
    for group in same_text.values():
        copies.update(dict.fromkeys(group, tuple(group)))
    return copies


def _with_copies(
    sources: tuple[int, ...] | None, copies: dict[int, tuple[int, ...]]
) -> tuple[int, ...]:
    """The sources and all contexts of the same text; one that holds no text supports nothing."""
    supporting: set[int] = set()
    for source in sources or ():
        supporting.update(copies.get(source, ()))
    return tuple(sorted(supporting))


# -- claim x truth, statement x response


def judge_entailment(
    kind: str, pieces: Sequence[Piece], question: str, text: str
) -> Flow[tuple[Part, ...]]:
    """Does `text` say or imply each piece? One part a piece, in order; a text that says nothing
    states none.
    """
    if not pieces:
        return ()
    if blank(text):
        return tuple(
            by_rule(kind, piece, "There is no text that could state it.") for piece in pieces
        )
    if kind == "statement" and states_nothing(text):
        return tuple(by_rule(kind, piece, "The response declines to answer.") for piece in pieces)
    answers = yield _requests(
        "entailment", question, "text", text, None, tuple(piece.text for piece in pieces)
    )
    # The places that such a judgment may quote lie in `text`; evidence is of the contexts.
    return tuple(
        part_at(kind, piece, answer, evidence=False)
        for piece, answer in zip(pieces, answers, strict=True)
    )


# -- parts


def part_at(kind: str, piece: Piece, judgment: Judgment, *, evidence: bool = True) -> Part:
    """The Judgment on a piece as a part that stands where the piece does, with or without the
    places it quotes.
    """
    start, end, text = _place_of(piece)
    return part_of(judgment, kind, text=text, start=start, end=end, evidence=evidence)


def _place_of(piece: Piece) -> tuple[int | None, int | None, str]:
    """(start, end, text) of a part: the text stands only where the piece has no place."""
    if piece.start < 0:
        return None, None, piece.text
    return piece.start, piece.end, ""


def by_rule(kind: str, piece: Piece, why: str, value: float = 0.0, flag: str = "") -> Part:
    """A piece that is settled without a judge."""
    start, end, text = _place_of(piece)
    return part_by_rule(
        kind,
        text=text,
        start=start,
        end=end,
        value=value,
        rationale=why,
        flags=(flag,) if flag else (),
        sources=(),
    )


def part_left_out(kind: str, piece: Piece, why: str, flag: str) -> Part:
    """A piece that makes no claim: it is not judged, and stays visible with the reason."""
    start, end, text = _place_of(piece)
    return Part(
        kind,
        Status.NOT_APPLICABLE,
        text=text,
        start=start,
        end=end,
        reason=f"no claim: {why}",
        flags=(flag,),
    )


def outcome(
    edges: Sequence[Part], counts: bool | None, *, good: bool | None, unknown: Sequence[Part] = ()
) -> Part:
    """A claim by several edges (the first against the contexts, where there is one): 1 when it
    counts.

    counts None: it is not certain; then the part is lost as the first lost one of its edges, or of
    `unknown`, was. good: whether a part that counts passes, None where neither is good or bad.
    """
    first = edges[0]
    if first.status is Status.NOT_APPLICABLE:
        return first
    status = Status.JUDGED
    reason = ""
    if counts is None:
        lost = next(edge for edge in (*edges, *unknown) if edge.passed is None)
        status = _loss(lost.status)
        reason = lost.reason
    return Part(
        kind=first.kind,
        status=status,
        text=first.text,
        start=first.start,
        end=first.end,
        value=None if counts is None else float(counts),
        passed=None if counts is None or good is None else counts is good,
        rationale=" ".join([edge.rationale for edge in edges if edge.rationale]),
        evidence=first.evidence,
        flags=first.flags,
        reason=reason,
        key=first.key,
        sources=first.sources,
    )
