"""The verdicts of a reply: for items asked about, on the scale, uncontradicted; others are missing.

    {"verdicts": [{"id": "9c1e07ab", "reasoning": "...", "quotes": [], "nothing_found": false,
    "rating": 2}]}

The object may stand in prose or in a code fence. Of several objects the last one that holds a
usable verdict counts, but a later word never overrules an earlier one: an id that stands in two
places of a reply (two objects or two entries) with two verdicts, or with a usable and an unusable
one, is missing. Else a judge that repeats, after its own verdict, what a text told it to say would
be read as that text wishes. The same verdict said twice is one verdict. What is written instead of
a rating (claims, texts, quotes where they are the answer) is a verdict like any other, and so are
the passages a verdict names as support. Nothing is guessed: no digits are read out of prose, "2"
and true are not 2, and an id that was not asked is ignored. The reader works in linear time and
never raises.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ragassay.core.fast_init import fast_init
from ragassay.judges.rubric import Rubric
from ragassay.judges.scale import Rating

# How many JSON-like starts, and how many of them without an object, are tried before the rest of a
# reply is left unread: a hostile reply must not cost quadratic time.
_MOST_STARTS = 400
_MOST_FAILURES = 40
_MOST_TEXT = 4_000_000
_MOST_CUT_ENTRIES = 1_000
_START = re.compile(r'\{\s*+"')
_LIST = re.compile(r'"verdicts"\s*+:\s*+\[')
_SPACE_OR_COMMA = re.compile(r"[\s,]*+")


class Quote(NamedTuple):
    """Words a judge says it found. passage: counted from 1, None where the judge named none."""

    passage: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of a decomposition. trivial: states nothing that could be checked."""

    text: str
    trivial: bool = False


@fast_init
@dataclass(frozen=True, slots=True)
class Verdict:
    """One usable entry of a reply. rating is None where claims, quotes or texts are written.

    sources: the numbers of passages from 1 that the judge gave, each once and rising; None where it
    gave no list.
    """

    id: str
    rating: Rating | None = None
    reasoning: str = ""
    quotes: tuple[Quote, ...] = ()
    flags: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    texts: tuple[str, ...] = ()
    sources: tuple[int, ...] | None = None


def parse(
    text: str, rubric: Rubric, ids: Collection[str], *, cut: bool = False
) -> dict[str, Verdict]:
    """The usable verdicts by id, in the reply's order; an id that is not in the result is missing.

    ids: what was asked. cut: the reply was cut off, so that the entries before the cut count if no
    object is complete. An id with two different verdicts anywhere in the reply is missing. Never
    raises.
    """
    text = text[:_MOST_TEXT]
    statements = _StatedVerdicts(rubric, frozenset(ids))
    last: dict[str, Verdict] = {}
    for value in _objects(text):
        entries = value.get("verdicts")
        if isinstance(entries, list):
            last = statements.read(entries) or last
        else:
            # An entry by itself, as a broken object leaves behind: no verdict, but it can
            # contradict one.
            statements.read([value])
    if cut:
        before = statements.read(list(_entries_before_the_cut(text)))
        last = last or before
    return {name: verdict for name, verdict in last.items() if statements.agreed[name] is not None}


def schema(rubric: Rubric, ids: Sequence[str]) -> dict[str, object]:
    """The JSON Schema of a reply about these ids; every property is required and no other is
    allowed.
    """
    fields: dict[str, object] = {"id": {"type": "string", "enum": list(ids)}}
    parts: dict[str, dict[str, object]] = {
        "passage": {"type": "integer"},
        "text": {"type": "string"},
    }
    if not rubric.quotes_name_passages:
        del parts["passage"]
    quotes = {"type": "array", "items": _object(parts)}
    flags = {flag.name: {"type": "boolean"} for flag in rubric.flags}
    if rubric.scale is None:
        claim = _object({"text": {"type": "string"}, "trivial": {"type": "boolean"}})
        lists: dict[str, object] = {
            "claims": {"type": "array", "items": claim},
            "texts": {"type": "array", "items": {"type": "string"}},
            "quotes": quotes,
        }
        fields |= {rubric.writes: lists[rubric.writes], **flags}
    else:
        if rubric.asks_reasons:
            fields["reasoning"] = {"type": "string"}
        if rubric.asks_quotes:
            fields["quotes"] = quotes
        if rubric.asks_sources:
            fields["supported_by"] = {"type": "array", "items": {"type": "integer"}}
        # The rating comes last: a model that writes its reasons first rates by them.
        kind = "integer" if isinstance(rubric.scale.lowest, int) else "string"
        fields |= {**flags, "rating": {"type": kind, "enum": list(rubric.scale.ratings)}}
    return _object({"verdicts": {"type": "array", "items": _object(fields)}})


def render(verdicts: Sequence[Verdict], rubric: Rubric) -> str:
    """The reply that holds these verdicts: the inverse of `parse`."""
    entries: list[dict[str, object]] = []
    for verdict in verdicts:
        entry: dict[str, object] = {"id": verdict.id}
        quotes = [{"passage": q.passage, "text": q.text} for q in verdict.quotes]
        flags = {flag.name: flag.name in verdict.flags for flag in rubric.flags}
        if rubric.writes == "claims":
            entry["claims"] = [{"text": c.text, "trivial": c.trivial} for c in verdict.claims]
        elif rubric.writes == "texts":
            entry["texts"] = list(verdict.texts)
        elif rubric.writes == "quotes":
            entry["quotes"] = quotes
        else:
            if rubric.asks_reasons:
                entry["reasoning"] = verdict.reasoning
            if rubric.asks_quotes:
                entry["quotes"] = quotes
            if rubric.asks_sources and verdict.sources is not None:
                entry["supported_by"] = list(verdict.sources)
        entry |= flags
        if rubric.scale is not None:
            entry["rating"] = verdict.rating
        entries.append(entry)
    return json.dumps({"verdicts": entries}, ensure_ascii=False)


def _object(properties: Mapping[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


# -- finding the objects


class _Unusable(ValueError):
    """JSON that we do not take: NaN, infinities, a key given twice."""


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    unique = dict(pairs)
    # Readers of JSON differ in which of two equal keys counts, so neither is believed.
    if len(unique) != len(pairs):
        raise _Unusable("a key is given twice")
    return unique


def _no_constant(name: str) -> object:
    raise _Unusable(name)


# strict=False: models put raw line breaks into strings, and nothing depends on them.
_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_unique, parse_constant=_no_constant)


def _objects(text: str) -> Iterator[dict[str, object]]:
    """The complete JSON objects that stand in a text, outermost ones, in order."""
    at = 0
    failures = 0
    # Characters that may be decoded in vain: nested starts would be read again and again else.
    wasted_budget = 2 * len(text) + 10_000
    for _ in range(_MOST_STARTS):
        start = _START.search(text, at)
        if start is None or failures > _MOST_FAILURES or wasted_budget < 0:
            return
        try:
            value, at = _DECODER.raw_decode(text, start.start())
        except json.JSONDecodeError as error:
            wasted = error.pos - start.start()
        except (ValueError, RecursionError):
            # NaN, a key given twice, a number of 5,000 digits, nested too deep: these errors do not
            # say how far the decoder came.
            wasted = len(text) // 4
        else:
            if isinstance(value, dict):
                yield value
            continue
        at = start.end() - 1
        failures += 1
        wasted_budget -= wasted


def _entries_before_the_cut(text: str) -> Iterator[object]:
    lists = list(_LIST.finditer(text))
    if not lists:
        return
    at = lists[-1].end()
    for _ in range(_MOST_CUT_ENTRIES):
        space = _SPACE_OR_COMMA.match(text, at)
        at = space.end() if space is not None else at
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        yield value


# -- reading the entries


@dataclass(slots=True)
class _StatedVerdicts:
    """The verdicts of a whole reply by id. agreed: the one verdict on an id; None where one of its
    entries is unusable or contradicts another.
    """

    rubric: Rubric
    asked: frozenset[str]
    agreed: dict[str, Verdict | None] = field(default_factory=dict)

    def read(self, entries: Sequence[object]) -> dict[str, Verdict]:
        """Record all entries about ids that were asked; returns the usable ones among them."""
        usable: dict[str, Verdict] = {}
        for entry in entries:
            if not isinstance(entry, dict):
                continue
            name = entry.get("id")
            if not isinstance(name, str) or name not in self.asked:
                continue
            verdict = _verdict(name, entry, self.rubric)
            first = self.agreed.setdefault(name, verdict)
            if verdict is not None:
                usable.setdefault(name, verdict)
            if verdict is None or first is None or self._content(first) != self._content(verdict):
                self.agreed[name] = None
        return usable

    def _content(self, verdict: Verdict) -> tuple[object, ...]:
        """What two entries on one id must agree in. Quotes that only stand beside a rating may
        differ.
        """
        quotes = verdict.quotes if self.rubric.writes == "quotes" else ()
        return verdict.rating, verdict.flags, verdict.claims, verdict.texts, verdict.sources, quotes


def _verdict(name: str, entry: Mapping[str, object], rubric: Rubric) -> Verdict | None:
    flags = _flags(entry, rubric)
    quotes = _quotes(entry.get("quotes"))
    if flags is None:
        return None
    if rubric.writes == "claims":
        claims = _claims(entry.get("claims"))
        return None if claims is None else Verdict(name, claims=claims, flags=flags)
    if rubric.writes == "texts":
        texts = _texts(entry.get("texts"))
        return None if texts is None else Verdict(name, texts=texts, flags=flags)
    if rubric.writes == "quotes":
        if quotes is None or entry.get("quotes") is None:
            return None
        with_text = tuple(quote for quote in quotes if quote.text.strip())
        return Verdict(name, quotes=with_text, flags=flags)
    return _rated(name, entry, rubric, flags, quotes)


def _rated(
    name: str,
    entry: Mapping[str, object],
    rubric: Rubric,
    flags: tuple[str, ...],
    quotes: tuple[Quote, ...] | None,
) -> Verdict | None:
    assert rubric.scale is not None
    rating = entry.get("rating")
    reasoning = entry.get("reasoning", "")
    supported_by = entry.get("supported_by")
    # type() and not isinstance(): True is an int, and 2.0 == 2.
    if type(rating) not in (int, str) or rating not in rubric.scale.ratings:
        return None
    if not isinstance(reasoning, str) or (rubric.asks_reasons and not reasoning.strip()):
        return None
    if quotes is None or not (supported_by is None or isinstance(supported_by, list)):
        return None
    sources: tuple[int, ...] | None = None
    if rubric.asks_sources and supported_by is not None:
        # Small numbers only: whole numbers of hundreds of digits can be made to collide in a set.
        numbers = {n for n in supported_by if type(n) is int and 0 < n < 2**31}
        sources = tuple(sorted(numbers))
    return Verdict(
        name,
        rating,
        reasoning if rubric.asks_reasons else "",
        quotes if rubric.asks_quotes else (),
        flags,
        sources=sources,
    )


def _flags(entry: Mapping[str, object], rubric: Rubric) -> tuple[str, ...] | None:
    values = [(flag.name, entry.get(flag.name, False)) for flag in rubric.flags]
    if any(type(value) is not bool for _, value in values):
        return None
    return tuple(name for name, value in values if value)


def _texts(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        return None
    return tuple(text.strip() for text in value if text.strip())


def _quotes(value: object) -> tuple[Quote, ...] | None:
    if value is None:
        return ()
    if not isinstance(value, list):
        return None
    quotes: list[Quote] = []
    for quote in value:  # of a hostile reply there may be thousands: each is read once
        text = quote.get("text") if type(quote) is dict else None
        if type(text) is not str:
            return None
        passage = quote.get("passage")
        quotes.append(Quote(passage if type(passage) is int else None, text))
    return tuple(quotes)


def _claims(value: object) -> tuple[Claim, ...] | None:
    if not isinstance(value, list):
        return None
    claims: list[Claim] = []
    for claim in value:
        if not isinstance(claim, dict) or not isinstance(claim.get("text"), str):
            return None
        trivial = claim.get("trivial", False)
        if type(trivial) is not bool:
            return None
        text = claim["text"].strip()
        if text:
            claims.append(Claim(text, trivial))
    return tuple(claims)
