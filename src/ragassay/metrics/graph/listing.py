"""Claims that the judge's model lists, or picks among the sentences of a splitter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ragassay.core import Counts, Judgment, Request, Status
from ragassay.metrics.graph.claims import MAX_CLAIMS, Piece
from ragassay.metrics.graph.support import Flow


@dataclass(frozen=True, slots=True)
class Lists:
    """What a model listed: pieces of the response, statements of the truth. lost: the status of the
    first list that did not arrive, None where all did; then reason and counts say more.
    """

    pieces: tuple[Piece, ...] = ()
    statements: tuple[str, ...] = ()
    lost: Status | None = None
    reason: str = ""
    counts: Counts = field(default_factory=Counts)


def list_claims(question: str, response: str | None, truth: str | None) -> Flow[Lists]:
    """Ask a model to list the claims of the response and those of the truth; None = not it."""
    texts = [text for text in (response, truth) if text is not None]
    if not texts:
        return Lists()
    answers = yield tuple(
        Request("claims", {"question": question, "response": text}) for text in texts
    )
    lost_answers = [answer for answer in answers if not answer.judged]
    if lost_answers:
        statuses = [_asked_status(answer) for answer in answers]
        return Lists(
            lost=_asked_status(lost_answers[0]),
            reason=lost_answers[0].reason or "no list of claims arrived",
            counts=Counts.of(statuses),
        )
    pieces: tuple[Piece, ...] = ()
    statements: dict[str, None] = {}  # each once, in order
    if response is not None:
        pieces = tuple(_pieces(answers[0], response))
    if truth is not None:
        claims = [piece.text for piece in _pieces(answers[-1], truth) if not piece.dropped]
        statements = dict.fromkeys(claims)
    return Lists(pieces, tuple(statements))


def drop_trivial(question: str, response: str, pieces: tuple[Piece, ...]) -> Flow[Lists]:
    """The pieces, those dropped that a model finds to state nothing: one call for all of them. With
    a verdict lost, which sentences count is not known.
    """
    kept = [piece for piece in pieces if not piece.dropped]
    answers = yield tuple(
        Request("trivial", {"question": question, "response": response, "claim": piece.text})
        for piece in kept
    )
    lost_answers = [answer for answer in answers if not answer.judged]
    if lost_answers:
        return Lists(
            lost=_asked_status(lost_answers[0]),
            reason=lost_answers[0].reason or "which sentences state nothing was not told",
            counts=Counts.of([_asked_status(answer) for answer in answers]),
        )
    trivial = {
        piece for piece, answer in zip(kept, answers, strict=True) if answer.rating == "trivial"
    }
    return Lists(
        tuple(replace(piece, dropped="trivial") if piece in trivial else piece for piece in pieces)
    )


def _asked_status(judgment: Judgment) -> Status:
    """The status of a list that was asked for: it applies, so a missing one is lost."""
    if judgment.status is Status.NOT_APPLICABLE:
        return Status.FAILED
    return judgment.status


def _pieces(judgment: Judgment, text: str) -> Iterator[Piece]:
    """The claims a model wrote, and those it calls trivial; those it took over word for word get
    their place.

    One claim more than is judged is enough to see that there are too many.
    """
    after = 0  # the end of the last claim that has a place
    claims = 0
    for i, text_of_claim in enumerate(judgment.texts):
        claim = text_of_claim.strip()
        drop = "trivial" if f"trivial:{i}" in judgment.flags else ""
        if not claim or (drop and i > 5 * MAX_CLAIMS):
            continue
        # Behind the claim before it where it stands there: the same words may stand in the text
        # twice.
        start = text.find(claim, after)
        if start < 0:
            start = text.find(claim)
        if start < 0:
            yield Piece(-1, -1, claim, drop)
        else:
            after = start + len(claim)
            yield Piece(start, after, claim, drop)
        claims += not drop
        if claims > MAX_CLAIMS:
            return
