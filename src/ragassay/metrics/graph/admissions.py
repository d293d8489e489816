"""Admissions of not knowing: texts that make no claim which could be right or wrong."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from ragassay.core import Part, Status
from ragassay.judges import declines
from ragassay.metrics.graph.claims import Piece, split_claims
from ragassay.metrics.reduction import ABSTENTION

ADMISSION = "it admits not knowing"
"""Why a piece that is an admission is dropped."""

_MAX_CHARS = 1_000
"""A longer text is no mere admission (`declines` says so too, but need not keep it)."""
_declines = lru_cache(maxsize=1024)(declines)


def admits(text: str) -> bool:
    """Whether the text only admits not knowing, by its words."""
    return len(text) <= _MAX_CHARS and _declines(text)


def states_nothing(response: str) -> bool:
    """Whether a response that is not blank declines as a whole, or each of its claims does."""
    if admits(response):
        return True
    claims = [piece.text for piece in split_claims(response) if not piece.dropped]
    return bool(claims) and all(admits(text) for text in claims)


def without_admission(piece: Piece) -> Piece:
    """The piece, dropped where it only admits not knowing."""
    if piece.dropped or not admits(piece.text):
        return piece
    return replace(piece, dropped=ADMISSION)


def without_admitted(part: Part) -> Part:
    """The part, left out where it is the judge who finds it to be an admission."""
    if part.status is not Status.JUDGED or ABSTENTION not in part.flags:
        return part
    return Part(
        part.kind,
        Status.NOT_APPLICABLE,
        text=part.text,
        start=part.start,
        end=part.end,
        rationale=part.rationale,
        reason=f"no claim: {ADMISSION}",
        flags=(ABSTENTION,),
        key=part.key,
    )
