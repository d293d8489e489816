"""A sentence of the claim that nearly quotes one of the passages, with another word in its place:
"valid for three years", where they say "valid for three months".

Only words that cannot say the same are compared: two numbers, units of one measure, opposites and
the like, and a negation more or less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import cache, lru_cache
from typing import NamedTuple

from ragassay.models.offline.facts.clauses import Word
from ragassay.models.offline.facts.concepts import base_stem
from ragassay.models.offline.facts.finding import CONFLICT, Finding, Place
from ragassay.models.offline.facts.number_words import SMALL
from ragassay.models.offline.facts.polarity import are_opposites, is_full_negation, turns
from ragassay.models.offline.facts.text_facts import TextFacts
from ragassay.models.offline.facts.units_of_measure import unit_named
from ragassay.models.offline.facts.unlike import is_set_against

_LEAST_KEPT, _LEAST_SHARE = 3, 0.6
"""Content words that both sentences have in one order, and their share of the claim's."""

_SHARE_OF_DENIED = 0.9
"""The same share, where the two differ by a negation alone."""

_MOST_WORDS = 60
"""Words of a sentence that is compared; a longer one is a list."""

_LOOSE = frozenset(
    {"than", "over", "under", "about", "around", "roughly", "nearly", "almost", "some", "to"}
    | {"least", "most", "approximately", "above", "below", "within", "between"}
)
"""Words before a number that leave open how many it is."""

_PER = frozenset(("a", "an", "per", "each", "every", "one", "in"))
_ROUNDED = 0.05
"""By how much of it a number is rounded at most."""

_SCORE = 0.9


class _Quote(NamedTuple):
    """A sentence of a passage beside one of the claim. kept: content words that both have in one
    order; kept_words: places of all words in the claim's sentence that both have so; steps: start
    and end, here and there, of the stretches that are not alike.
    """

    passage: int
    kept: int
    words: Sequence[Word]
    kept_words: frozenset[int]
    steps: tuple[tuple[int, int, int, int], ...]


def near_quotes(claim: TextFacts, passages: Sequence[TextFacts]) -> list[Finding]:
    """What sentences of the claim say otherwise than the sentences of the passages that they nearly
    quote.
    """
    found: list[Finding] = []
    theirs: list[tuple[int, _Sentence]] = []
    for number, passage in enumerate(passages):
        theirs += [(number, sentence) for sentence in passage.once(_keyed_sentences)]
    for mine in _sentences(claim):
        quotes = _quotes(mine, theirs, passages)
        if not quotes:
            continue
        nearest = max(quotes, key=lambda quote: (quote.kept, -len(quote.words)))
        said = claim.reading.text[mine[0].start : mine[-1].end]
        if is_set_against(said, passages[nearest.passage], nearest.words[0].start):
            continue
        denied = _denied(mine, nearest)
        if denied is not None and not _is_said(nearest, quotes):
            found.append(_finding(claim, passages, nearest.passage, *denied, "negation"))
        for here, there, rule in _changes(mine, nearest):
            if not _stands_elsewhere(mine, here, nearest, quotes):
                found.append(_finding(claim, passages, nearest.passage, here, there, rule))
    return found


class _Sentence(NamedTuple):
    """The words of a sentence, and what each of them and all of them say."""

    words: Sequence[Word]
    keys: Sequence[str]
    known: frozenset[str]


def _keyed_sentences(text: TextFacts) -> Sequence[_Sentence]:
    found: list[_Sentence] = []
    for words in _sentences(text):
        keys = [key(word.lower) for word in words]
        found.append(_Sentence(words, keys, frozenset(keys)))
    return found


def _sentences(text: TextFacts) -> Iterator[Sequence[Word]]:
    for start, end in text.reading.sentences:
        words = text.reading.words_in(start, end)
        if _LEAST_KEPT <= len(words) <= _MOST_WORDS:
            yield words


def _quotes(
    mine: Sequence[Word],
    theirs: Sequence[tuple[int, _Sentence]],
    passages: Sequence[TextFacts],
) -> list[_Quote]:
    """The sentences of the passages that a sentence of the claim has most words of; what a sentence
    lacks may stand elsewhere in its passage ("it" is the bridge).
    """
    keys = [key(word.lower) for word in mine]
    content = {at for at, word in enumerate(mine) if word.content or is_number(word)}
    known = {keys[at] for at in content}
    found: list[_Quote] = []
    for number, (words, there, known_there) in theirs:
        if len(known & known_there) < _LEAST_KEPT:
            continue
        steps = SequenceMatcher(None, keys, there, autojunk=False).get_opcodes()
        kept: set[int] = set()
        for tag, start, end, _, _ in steps:
            kept.update(range(start, end) if tag == "equal" else ())
        count = len(kept & content)
        here = passages[number].vocabulary
        missing = sum(mine[at].lower not in here for at in content - kept)
        aside = len(content) - count - missing
        if count >= _LEAST_KEPT and count >= _LEAST_SHARE * (count + missing) and count > aside:
            changes = tuple(step[1:] for step in steps if step[0] != "equal")
            found.append(_Quote(number, count, words, frozenset(kept), changes))
    return found


@lru_cache(maxsize=50_000)
def key(lower: str) -> str:
    """What two words share that say the same."""
    value = _value(lower)
    return base_stem(lower.removesuffix("'s")) or lower if value is None else str(value)


@lru_cache(maxsize=10_000)
def _value(lower: str) -> float | None:
    """The number that a word writes."""
    if lower in SMALL:
        return float(SMALL[lower])
    try:
        return float(lower.replace(",", "")) if lower[0].isdigit() else None
    except ValueError:
        return None


def is_number(word: Word) -> bool:
    return _value(word.lower) is not None


def _changes(
    mine: Sequence[Word], quote: _Quote
) -> Iterator[tuple[Sequence[Word], Sequence[Word], str]]:
    """The words of the claim that stand in the place of others, those others, and by which rule
    they differ.
    """
    there_keys = {key(word.lower) for word in quote.words}
    here_keys = {key(word.lower) for word in mine}
    for start, end, low, high in quote.steps:
        if end - start != 1 or high == low:
            continue
        here, there = mine[start], quote.words[low]
        goes_on = high - low > 1  # behind what the claim ends with
        if goes_on and (end < len(mine) or is_number(here)):
            continue
        if key(here.lower) in there_keys or key(there.lower) in here_keys:
            continue
        before = [word.lower for word in mine[max(0, start - 2) : start]]
        before_there = [word.lower for word in quote.words[max(0, low - 2) : low]]
        rule = _rule(here, there, before, before_there)
        if rule:
            yield mine[start:end], quote.words[low : low + 1], rule


def _rule(here: Word, there: Word, before: Sequence[str], before_there: Sequence[str]) -> str:
    """Why two words cannot say the same; "" where they may. before: the two words before each."""
    if is_number(here) and is_number(there):
        # "More than 40" may be 47.
        is_loose = before[-1:] != before_there[-1:] and not _LOOSE.isdisjoint(before[-1:])
        return "" if is_loose or _is_rounded(here.lower, there.lower) else "number"
    if _are_units(here.lower, there.lower):
        is_counted = any(word == "working" or _value(word) is not None for word in before[-1:])
        is_rate = before == before_there and not _PER.isdisjoint(before[-1:])
        return "number" if is_counted or is_rate else ""
    same_set = _set_of(here.lower) and _set_of(here.lower) == _set_of(there.lower)
    if same_set or are_opposites(here.lower, there.lower):
        return "opposite"
    return ""


def _is_rounded(one: str, other: str) -> bool:
    """Whether a number is another one with fewer digits."""
    mine, theirs = _value(one), _value(other)
    if mine is None or theirs is None or len(one.rstrip("0")) >= len(other.rstrip("0")):
        return False
    return abs(mine - theirs) <= _ROUNDED * abs(theirs)


def _are_units(one: str, other: str) -> bool:
    """Whether two words are different units of one measure."""
    mine, theirs = unit_named(one), unit_named(other)
    if mine is None or theirs is None or mine.measure != theirs.measure:
        return False
    return mine.factor != theirs.factor


def _denied(mine: Sequence[Word], quote: _Quote) -> tuple[Sequence[Word], Sequence[Word]] | None:
    """The stretches of the two sentences that differ by a negation and by nothing that says
    something. None where another word of either might turn what is said.
    """
    content = sum(word.content for word in mine)
    both = (*mine, *quote.words)
    if quote.kept < _SHARE_OF_DENIED * content or sum(map(turns, both)) != 1:
        return None
    if any(word.lower == "than" for word in both):
        return None  # "not more than 80" is "up to 80"
    for start, end, low, high in quote.steps:
        here = sum(is_full_negation(mine, at) for at in range(start, end))
        there = sum(is_full_negation(quote.words, at) for at in range(low, high))
        inside = (*mine[start:end], *quote.words[low:high])
        is_inside = low > 0 and high < len(quote.words)
        if here + there == 1 and is_inside and not any(word.content for word in inside):
            return mine[max(0, start - 1) : end + 1], quote.words[max(0, low - 1) : high + 1]
    return None


_SETS = (
    "most least",
    "before after",
    "earlier later",
    "first second third fourth fifth last",
    "above below",
    "inside outside",
    "morning afternoon evening",
    "spring summer autumn winter",
    "left right",
    "north south east west",
    "northern southern eastern western",
    "upper lower",
    "top bottom",
    "daily weekly monthly yearly",
    "all none some",
)


@cache
def _sets() -> dict[str, str]:
    sets: dict[str, str] = {}
    for line in _SETS:
        sets |= dict.fromkeys(line.split(), line)
    return sets


def _set_of(lower: str) -> str:
    """The set of words of which only one can be said of a thing."""
    return _sets().get(lower, "")


def _stands_elsewhere(
    mine: Sequence[Word], here: Sequence[Word], nearest: _Quote, quotes: Sequence[_Quote]
) -> bool:
    """Whether another sentence has what the claim has there, and nearly as much of the rest."""
    places = {at for at, word in enumerate(mine) if here[0].start <= word.start <= here[-1].start}
    return any(
        places <= quote.kept_words and quote.kept + 1 >= nearest.kept
        for quote in quotes
        if quote is not nearest
    )


def _is_said(nearest: _Quote, quotes: Sequence[_Quote]) -> bool:
    """Whether another sentence has as much of the claim's."""
    return any(quote.kept >= nearest.kept for quote in quotes if quote is not nearest)


def _finding(
    claim: TextFacts,
    passages: Sequence[TextFacts],
    number: int,
    here: Sequence[Word],
    there: Sequence[Word],
    rule: str,
) -> Finding:
    start, end = here[0].start, here[-1].end
    low, high = there[0].start, there[-1].end
    passage = passages[number]
    return Finding(
        rule,
        CONFLICT,
        start,
        end,
        claim.reading.text[start:end],
        passage.reading.text[low:high],
        Place(number, *passage.sentence(low)),
        _SCORE,
    )
