"""Requests without secrets and personal data, and the way back from what a judge said of them.

Each value is replaced by a placeholder such as "[EMAIL_1]", the same one in every text of a call,
so that a claim stays supported by its passage. Judgments come back about the Requests as they were:
placeholders in their texts are the values again, and their evidence is at its place in the stored
row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from unicodedata import normalize

from ragassay.core import REDACTED, Evidence, JudgeFlow, Judgment, Keep, Request, Spend
from ragassay.judges.llm.sensitive import Found, find

_UNSEEN = re.compile(r"[\u00ad\u200b-\u200d\u2060\ufeff]")
_SEPARATORS = re.compile(r"[\s()/.-]")
_PLACEHOLDER = re.compile(r"\[[A-Z]{2,6}_\d{1,6}\]")


@dataclass(frozen=True, slots=True)
class _Piece:
    """A replaced value: its span in the text as it was, and that of its placeholder."""

    start: int
    end: int
    new_start: int
    new_end: int


@dataclass(slots=True)
class Redaction:
    """The placeholders of one call. taken: what looks like one in the data and is none."""

    taken: set[str] = field(default_factory=set)
    values: dict[str, str] = field(default_factory=dict)
    _placeholders: dict[tuple[str, str], str] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)

    def text(self, text: str) -> str:
        """The text with placeholders."""
        return self._replaced(text)[0]

    def kinds(self, text: str) -> Iterator[str]:
        """The kinds of what is replaced in the text."""
        return (found.kind for found in find(text))

    def restored(self, text: str) -> str:
        """The text with the values again."""
        return _PLACEHOLDER.sub(lambda match: self.values.get(match[0], match[0]), text)

    def span(self, text: str, start: int, end: int) -> tuple[int, int]:
        """Where in the text stands what has these offsets once it is redacted. Half a placeholder
        counts as all of it.
        """
        pieces = self._replaced(text)[1]
        return _offset(pieces, start, end=False), _offset(pieces, end, end=True)

    def _replaced(self, text: str) -> tuple[str, list[_Piece]]:
        parts: list[str] = []
        pieces: list[_Piece] = []
        at = length = 0
        for found in find(text):
            placeholder = self._placeholder(text, found)
            parts += [text[at : found.start], placeholder]
            new_start = length + found.start - at
            length = new_start + len(placeholder)
            pieces.append(_Piece(found.start, found.end, new_start, length))
            at = found.end
        return "".join([*parts, text[at:]]), pieces

    def _placeholder(self, text: str, found: Found) -> str:
        value = text[found.start : found.end]
        key = (found.kind, _same_value(found.kind, value))
        if key not in self._placeholders:
            self._placeholders[key] = placeholder = self._next(found.kind)
            self.values[placeholder] = value
        return self._placeholders[key]

    def _next(self, kind: str) -> str:
        while True:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            placeholder = f"[{kind}_{self._counts[kind]}]"
            if placeholder not in self.taken:
                return placeholder


def _same_value(kind: str, value: str) -> str:
    """What is equal for two ways of writing one value."""
    if kind == "SECRET":
        return value
    if kind == "EMAIL":
        # A full-width "@" is one, and what nobody sees is nothing.
        return _UNSEEN.sub("", normalize("NFKC", value)).casefold()
    plain = _SEPARATORS.sub("", value).casefold()
    return "+" + plain.removeprefix("00") if kind == "PHONE" and plain[:2] == "00" else plain


def _offset(pieces: Sequence[_Piece], offset: int, *, end: bool) -> int:
    """The offset in the text as it was, of one in the redacted text."""
    shift = 0
    for piece in pieces:
        is_before = offset <= piece.new_start if end else offset < piece.new_start
        if is_before:
            break
        is_inside = offset <= piece.new_end if end else offset < piece.new_end
        if is_inside:
            return piece.end if end else piece.start
        shift = piece.end - piece.new_end
    return offset + shift


def answer_redacted(
    requests: Sequence[Request], answer: Callable[[tuple[Request, ...]], JudgeFlow]
) -> JudgeFlow:
    """The flow of `answer` over these Requests of one group, without what is secret or personal in
    them; its Judgments are about the Requests as they are.
    """
    redaction = Redaction()
    for request in requests:
        for text in _texts(request):
            redaction.taken.update(_PLACEHOLDER.findall(text))
    # Key of a redacted Request -> those that came to it: values written in two ways are one.
    originals: dict[str, dict[str, Request]] = {}
    redacted: list[Request] = []
    for request in requests:
        changed = _redacted(request, redaction)
        originals.setdefault(changed.key, {})[request.key] = request
        redacted.append(changed)
    flow = answer(tuple(redacted))

    def restored(judgments: tuple[Judgment, ...]) -> tuple[Judgment, ...]:
        settled: list[Judgment] = []
        for judgment in judgments:
            spend = judgment.spend
            for request in originals[judgment.key].values():
                settled.append(_restored(replace(judgment, spend=spend), request, redaction))
                spend = Spend()
        return tuple(settled)

    try:
        step = next(flow)
        while True:
            if isinstance(step, Keep):
                step = replace(step, judgments=restored(step.judgments))
            step = flow.send((yield step))
    except StopIteration as end:
        return restored(end.value)


def _texts(request: Request) -> Iterator[str]:
    for name in request.inputs:
        yield from request.texts(name)


def _redacted(request: Request, redaction: Redaction) -> Request:
    inputs: dict[str, str | tuple[str, ...]] = {}
    for name, value in request.inputs.items():
        if isinstance(value, str):
            inputs[name] = redaction.text(value)
        else:
            inputs[name] = tuple(redaction.text(text) for text in value)
    return Request(request.rubric, inputs)


def _restored(judgment: Judgment, request: Request, redaction: Redaction) -> Judgment:
    quoted = "contexts" if "contexts" in request.inputs else "context"
    texts = request.texts(quoted) if quoted in request.inputs else ()
    evidence: list[Evidence] = []
    for place in judgment.evidence:
        text = texts[place.context]
        start, end = redaction.span(text, place.start, place.end)
        evidence.append(Evidence(place.context, start, end, text[start:end]))
    kinds: dict[str, None] = {}
    for text in _texts(request):
        kinds |= dict.fromkeys(redaction.kinds(text))
    return replace(
        judgment,
        key=request.key,
        rationale=redaction.restored(judgment.rationale),
        texts=tuple(redaction.restored(text) for text in judgment.texts),
        evidence=tuple(evidence),
        flags=(*judgment.flags, *(REDACTED + kind.lower() for kind in kinds)),
    )
