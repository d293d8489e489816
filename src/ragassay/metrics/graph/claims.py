"""The claims of a response: sentences at their exact place in it, trivial ones with a reason.

`split_claims` cuts a response into pieces. Every visible character lies in exactly one piece,
except the marks that open a list item, heading or quotation; `response[piece.start:piece.end] ==
piece.text` for each. A piece whose `dropped` is not "" makes no claim: it is not judged, and the
reports show it with that reason. What is dropped raises no score and lowers none, so the rules that
drop are narrow: in doubt a piece is a claim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ragassay.judges.text_rules.abstention import declines
from ragassay.judges.text_rules.contact_advice import advises_contact
from ragassay.judges.text_rules.trivial import bare_answer, has_words, trivial
from ragassay.metrics.citations import MARK
from ragassay.metrics.graph.blocks import LAYOUT, blocks
from ragassay.metrics.graph.row_cache import cached_for_row
from ragassay.metrics.graph.sentences import sentences

MAX_CLAIMS = 1000
"""More claims than this are not judged: each is sent with the whole response, so the cost grows
with the square.
"""
HEADING = "list heading"
ADVICE = "advice to turn to somebody"
_MOST_HEADING_WORDS = 20
_ITEM = re.compile(r"[ \t]*(?:[-*+•–◦]|\(?\d{1,2}[.)]|\(?[a-z][.)])[ \t]+")
_MAX_PIECES = 5 * MAX_CLAIMS
"""Pieces at most, dropped ones included: a response of headings alone has no claims to stop at."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the response. start, end: character offsets. dropped: why it is no claim, ""
    when it is one.
    """

    start: int
    end: int
    text: str
    dropped: str = ""


@cached_for_row
def split_claims(response: str) -> tuple[Piece, ...]:
    """The pieces of a response in order, claims and dropped ones; () for a blank response.

    Sentences are found by sentencex (which knows abbreviations and decimals); Markdown headings,
    list marks, tables and code are understood first. A citation mark such as [2] after the full
    stop stays with its sentence. Past MAX_CLAIMS claims the rest of the response is one last claim:
    that is more than any metric judges.

    >>> [(p.text, p.dropped) for p in split_claims("Sure! Dr. Lee paid $3.5 million. I hope this
    helps.")] [('Sure!', 'politeness'), ('Dr. Lee paid $3.5 million.', ''), ('I hope this helps.',
    'politeness')]
    """
    pieces: list[Piece] = []
    claims = 0
    for start, end, drop in _stretches(response):
        text = response[start:end].strip()
        if not text:
            continue
        start += response[start:end].index(text)
        if claims > MAX_CLAIMS or len(pieces) > _MAX_PIECES:
            # Too many already: what is left is one piece, and a claim, as nobody has looked at it.
            remainder = response[start:].rstrip()
            drop = "" if has_words(remainder) else "no words"
            pieces.append(Piece(start, start + len(remainder), remainder, drop))
            claims += not drop
            break
        drop = drop or trivial(text)
        pieces.append(Piece(start, start + len(text), text, drop))
        claims += not drop
    if not claims:
        pieces = [_with_layout(piece) for piece in pieces]
    return _without_headings(response, _without_advice(pieces))


def _without_advice(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """The pieces; advice to turn to somebody, beside an admission of not knowing, is no claim."""
    advice = {each.start for each in pieces if not each.dropped and advises_contact(each.text)}
    others = [each for each in pieces if not each.dropped and each.start not in advice]
    if not advice or not any(declines(each.text) for each in others):
        return pieces
    return [replace(each, dropped=ADVICE) if each.start in advice else each for each in pieces]


def under_headings(response: str, pieces: Sequence[Piece]) -> dict[int, str]:
    """Start of a list item -> the words before the list that it completes: alone, "racing" says
    nothing of "The policy excludes:".
    """
    found: dict[int, str] = {}
    heading = ""
    for piece in pieces:
        if piece.dropped == HEADING:
            heading = _heading_words(piece.text)
        elif heading and _is_item(response, piece):
            found[piece.start] = heading
        elif not _line_before(response, piece).strip():
            heading = ""  # a paragraph behind the list
    return found


def without_bare_answers(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """The pieces of a response; a mere yes or no beside claims is none."""
    bare = {piece.start for piece in pieces if not piece.dropped and bare_answer(piece.text)}
    if all(piece.dropped or piece.start in bare for piece in pieces):
        return tuple(pieces)
    return tuple(
        replace(piece, dropped="bare answer") if piece.start in bare else piece for piece in pieces
    )


def _without_headings(response: str, pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """The pieces; what only the items of a list complete is none."""
    return tuple(
        replace(piece, dropped=HEADING)
        if not piece.dropped and _opens_list(response, piece, following)
        else piece
        for piece, following in zip(pieces, [*pieces[1:], None], strict=False)
    )


def _opens_list(response: str, piece: Piece, following: Piece | None) -> bool:
    words = _heading_words(piece.text)
    return (
        following is not None
        and piece.text.rstrip(" *_").endswith(":")
        and not any(letter.isdigit() for letter in words)
        and len(words.split()) <= _MOST_HEADING_WORDS
        and not following.dropped
        and _is_item(response, following)
    )


def _heading_words(text: str) -> str:
    return MARK.sub("", text).rstrip(" *_:").strip()


def _is_item(response: str, piece: Piece) -> bool:
    return _ITEM.fullmatch(_line_before(response, piece)) is not None


def _line_before(response: str, piece: Piece) -> str:
    """What stands before a piece on its line."""
    return response[response.rfind("\n", 0, piece.start) + 1 : piece.start]


def _with_layout(piece: Piece) -> Piece:
    """An answer that is nothing but code or headings says what it says in them."""
    if piece.dropped in LAYOUT and has_words(piece.text):
        return replace(piece, dropped="")
    return piece


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of the sentences of a text that hold a word; every line begins a new one, as
    headings have no stop.
    """
    spans: list[tuple[int, int]] = []
    for line in re.finditer(r"[^\r\n]+", text):
        spans += sentences(text, *line.span())
    return [(start, end) for start, end in spans if has_words(text[start:end])]


def _stretches(response: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, reason to drop) of blocks that stay whole and of the others' sentences."""
    for block in blocks(response):
        if block.whole or block.drop:
            yield block.start, block.end, block.drop
            continue
        for start, end in sentences(response, block.start, block.end):
            yield start, end, ""
