"""Which texts support which claims? The edges of a row's claim graph: their Requests, and the parts
made of the answers.

One place makes the Requests, so that equal questions of several metrics are one Request, and the
very same object. Claims of the response are kind "claim", statements of the reference kind
"statement"; both are `Piece`s here.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

from ragassay.core import Judgment, Part, Request, Status
from ragassay.judges import declines
from ragassay.metrics.graph.claims import Piece, split_claims
from ragassay.metrics.graph.row_cache import cached_for_row
from ragassay.metrics.reduction import ABSTENTION, blank, part_of, ruled

T = TypeVar("T")
Flow = Generator[tuple[Request, ...], tuple[Judgment, ...], T]

_ADMITS = 1_000
"""Characters past which a text is no mere admission (`declines` says so too, but need not keep it).
"""
_declines = lru_cache(maxsize=1024)(declines)


def admits(text: str) -> bool:
    """Whether the text only admits not knowing, by its words: it is no claim that could be right or
    wrong.
    """
    return len(text) <= _ADMITS and _declines(text)


def states_nothing(response: str) -> bool:
    """Whether a response that is not blank declines as a whole, or each of its claims does."""
    claims = [piece.text for piece in split_claims(response) if not piece.dropped]
    return admits(response) or (bool(claims) and all(admits(text) for text in claims))


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


def together(*flows: Flow[T]) -> Flow[tuple[T, ...]]:
    """Run flows side by side: what they ask at the same time is one wave."""
    results: dict[int, T] = {}
    waiting: list[tuple[int, Flow[T], tuple[Request, ...]]] = []

    def advance(i: int, flow: Flow[T], answers: tuple[Judgment, ...] | None) -> None:
        try:
            waiting.append((i, flow, next(flow) if answers is None else flow.send(answers)))
        except StopIteration as done:
            results[i] = done.value

    for i, flow in enumerate(flows):
        advance(i, flow, None)
    while waiting:
        wave, waiting = waiting, []
        answers = yield tuple(request for _, _, asked in wave for request in asked)
        at = 0
        for i, flow, asked in wave:
            advance(i, flow, answers[at : at + len(asked)])
            at += len(asked)
    return tuple(results[i] for i in range(len(flows)))


# -- claim x contexts, statement x contexts


def supported(
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
        return (yield from _by_nothing(kind, pieces, question, text))
    claims = tuple(piece.text for piece in pieces)
    answers = yield _requests("groundedness", question, "response", text, contexts, claims)
    parts = [place(kind, piece, answer) for piece, answer in zip(pieces, answers, strict=True)]
    if sources:
        yield from _locate(parts, claims, question, text, contexts)
    return tuple(parts)


def _by_nothing(
    kind: str, pieces: Sequence[Piece], question: str, text: str
) -> Flow[tuple[Part, ...]]:
    declined = False
    if kind == "claim" and not blank(question):
        (answer,) = yield (Request("answer_relevance", {"question": question, "response": text}),)
        declined = answer.judged and "declined" in answer.flags
    admitted = [kind == "claim" and (declined or admits(piece.text)) for piece in pieces]
    return tuple(
        by_rule(
            kind,
            piece,
            "The response declines to answer; an admission needs no support.",
            1.0,
            ABSTENTION,
        )
        if ok
        else by_rule(
            kind, piece, "Nothing was retrieved that could support it.", 0.0, "nothing_found"
        )
        for piece, ok in zip(pieces, admitted, strict=True)
    )


def _locate(
    parts: list[Part], claims: tuple[str, ...], question: str, text: str, contexts: tuple[str, ...]
) -> Flow[None]:
    """Put into each judged part the contexts that support it, and ask for them where the judge
    named none.
    """
    twins = _twins(contexts)
    asked: list[int] = []
    for i, part in enumerate(parts):
        if part.status is not Status.JUDGED or ABSTENTION in part.flags:
            continue
        found = _named(part.sources, twins) if part.passed else ()
        if part.passed and not found and len(set(twins.values())) == 1:
            found = next(iter(twins.values()))  # it can only be the one
        if part.passed and not found:
            asked.append(i)
        elif found != part.sources:
            parts[i] = replace(part, sources=found)
    if not asked:
        return
    answers = yield _requests(
        "claim_sources", question, "response", text, contexts, tuple(claims[i] for i in asked)
    )
    for i, answer in zip(asked, answers, strict=True):
        found = (
            _named(answer.sources, twins) if answer.judged and answer.passes is not False else ()
        )
        if found:
            parts[i] = replace(parts[i], sources=found)
        else:
            why = answer.reason if not answer.judged else "the judge named none"
            parts[i] = replace(
                parts[i],
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


def _twins(contexts: tuple[str, ...]) -> dict[int, tuple[int, ...]]:
    """Context that holds text -> all contexts with its text: what one of them supports the others
    do as well.
    """
    alike: dict[str, list[int]] = {}
    for i, context in enumerate(contexts):
        if not blank(context):
            alike.setdefault(context.strip(), []).append(i)
    groups = [tuple(group) for group in alike.values()]
    return {i: group for group in groups for i in group}


def _named(sources: tuple[int, ...] | None, twins: dict[int, tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(sorted({j for i in sources or () for j in twins.get(i, ())}))


# -- claim x truth, statement x response


def entailed(
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
        place(kind, piece, answer, evidence=False)
        for piece, answer in zip(pieces, answers, strict=True)
    )


# -- parts


def place(kind: str, piece: Piece, judgment: Judgment, *, evidence: bool = True) -> Part:
    """The Judgment on a piece as a part that stands where the piece does, with or without the
    places it quotes.
    """
    start, end, text = (None, None, piece.text) if piece.start < 0 else (piece.start, piece.end, "")
    return part_of(judgment, kind, text=text, start=start, end=end, evidence=evidence)


def by_rule(kind: str, piece: Piece, why: str, value: float = 0.0, flag: str = "") -> Part:
    """A piece that is settled without a judge."""
    start, end, text = (None, None, piece.text) if piece.start < 0 else (piece.start, piece.end, "")
    return ruled(
        kind,
        text=text,
        start=start,
        end=end,
        value=value,
        rationale=why,
        flags=(flag,) if flag else (),
        sources=(),
    )


def left_out(kind: str, piece: Piece, why: str, flag: str) -> Part:
    """A piece that makes no claim: it is not judged, and stays visible with the reason."""
    start, end, text = (None, None, piece.text) if piece.start < 0 else (piece.start, piece.end, "")
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
    """What becomes of a claim by several edges (the first against the contexts, where there is
    one): 1 when it counts.

    counts None: it is not certain; then the part is lost as the first lost one of its edges, or of
    `unknown`, was. good: whether a part that counts passes, None where neither is good or bad.
    """
    first = edges[0]
    if first.status is Status.NOT_APPLICABLE:
        return first
    status, reason = Status.JUDGED, ""
    if counts is None:
        gone = next(edge for edge in (*edges, *unknown) if edge.passed is None)
        status, reason = _loss(gone.status), gone.reason
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
