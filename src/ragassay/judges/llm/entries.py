"""The entries of a reply: what one says of an item, and whether all that speak of it agree.

Nothing is guessed: no digits are read out of prose, "2" and true are not 2, and an id that was not
asked is ignored. Entries in another form are brought into this one by `entry_repairs`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ragassay.core.fast_init import fast_init
from ragassay.judges.rubric import Rubric
from ragassay.judges.scale import Rating


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
    gave no list. repairs: what of the reply's form was repaired before the verdict could be read.
    """

    id: str
    rating: Rating | None = None
    reasoning: str = ""
    quotes: tuple[Quote, ...] = ()
    flags: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    texts: tuple[str, ...] = ()
    sources: tuple[int, ...] | None = None
    repairs: tuple[str, ...] = ()


_FIELDS = frozenset({"id", "reasoning", "quotes", "supported_by", "claims", "texts", "rating"})


def known_fields(rubric: Rubric) -> frozenset[str]:
    """The names of all fields that an entry may have."""
    return _FIELDS.union(flag.name for flag in rubric.flags)


class TooMuch(ValueError):
    """More than any honest reply holds, so that it is not worth the time to repair it."""


@dataclass(slots=True)
class StatedVerdicts:
    """The verdicts of a whole reply by id. agreed: the one verdict on an id; None where one of its
    entries is unusable or contradicts another. count: of the entries about them. has_other_fields:
    whether one of these has a field that no rubric asks for, which are not `known`.
    """

    rubric: Rubric
    asked: frozenset[str]
    agreed: dict[str, Verdict | None] = field(default_factory=dict)
    count: int = 0
    has_other_fields: bool = False
    known: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        # Once: a reply may hold thousands of entries, each of them read by itself.
        self.known = known_fields(self.rubric)

    def read(self, entries: Sequence[object]) -> dict[str, Verdict]:
        """Record all entries about ids that were asked; returns the usable ones among them."""
        usable: dict[str, Verdict] = {}
        for entry in entries:
            if not isinstance(entry, dict):
                continue
            name = entry.get("id")
            if not isinstance(name, str) or name not in self.asked:
                continue
            verdict = read_entry(name, entry, self.rubric)
            if not self.known >= entry.keys():
                self.has_other_fields = True
            self.state(name, verdict)
            if verdict is not None:
                usable.setdefault(name, verdict)
        return usable

    def state(self, name: str, verdict: Verdict | None) -> None:
        """Record what one entry says of an item; None where that is unusable."""
        self.count += 1
        if name not in self.agreed:
            self.agreed[name] = verdict
            return
        first = self.agreed[name]
        if verdict is None or first is None or not self.same(first, verdict):
            self.agreed[name] = None

    def same(self, one: Verdict, other: Verdict) -> bool:
        """Whether two verdicts on one item say the same. Reasons and quotes that only stand beside
        a rating may differ.
        """
        return self._content(one) == self._content(other)

    def _content(self, verdict: Verdict) -> tuple[object, ...]:
        quotes = verdict.quotes if self.rubric.writes == "quotes" else ()
        return verdict.rating, verdict.flags, verdict.claims, verdict.texts, verdict.sources, quotes


def read_entry(
    name: str, entry: Mapping[str, object], rubric: Rubric, *, needs_reasons: bool = True
) -> Verdict | None:
    """The verdict of one entry, None where it is unusable.

    needs_reasons: whether a rating without its reasons is unusable, where the rubric asks for them.
    """
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
    if quotes is None:
        return None
    return _rated(name, entry, rubric, flags, quotes, needs_reasons and rubric.asks_reasons)


def _rated(
    name: str,
    entry: Mapping[str, object],
    rubric: Rubric,
    flags: tuple[str, ...],
    quotes: tuple[Quote, ...],
    needs_reasons: bool,
) -> Verdict | None:
    assert rubric.scale is not None
    rating = entry.get("rating")
    reasoning = entry.get("reasoning", "")
    supported_by = entry.get("supported_by")
    # type() and not isinstance(): True is an int, and 2.0 == 2.
    if type(rating) not in (int, str) or rating not in rubric.scale.ratings:
        return None
    if not isinstance(reasoning, str) or (needs_reasons and not reasoning.strip()):
        return None
    if not (supported_by is None or isinstance(supported_by, list)):
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
    told: list[str] = []
    for flag in rubric.flags:
        value = entry.get(flag.name, False)
        if type(value) is not bool:
            return None
        if value:
            told.append(flag.name)
    return tuple(told)


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
