"""How much of what a claim says a passage says, in whatever words, and whether it says the
contrary.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from itertools import chain
from typing import NamedTuple

from ragassay.models.offline.facts.clauses import Reading, Word
from ragassay.models.offline.facts.concepts import (
    Item,
    is_told,
    items,
    keys_of,
    next_same,
    says_one,
    sign_between,
)
from ragassay.models.offline.facts.polarity import (
    EXCEPTIONS,
    is_full_negation,
    is_negation,
)
from ragassay.models.offline.facts.word_lists import word_set

_LIGHT = 0.3
"""Weight of a word that says little beside that of one that does."""

BEFORE, BEHIND, BEYOND = 0.7, 0.3, 0.3
"""Weight of what stands in a clause of the sentence before one, behind it, or in another sentence
of a short passage.
"""

STILL_TO = r"still (?:has|have|had|needs?|is|are) to|(?:has|have|had) (?:yet|still) to"
"""Expression for what is not yet so."""

_MIXED = re.compile(
    r"\b(?:not only|not just|no (?:more|less|fewer|later|earlier|sooner|younger|older)"
    r"|no longer than|not (?:more|less|fewer|later|earlier|longer|older|younger) than"
    r"|not (?:to )?exceed|no matter|no doubt|or not"
    rf"|{STILL_TO}"
    r"|not (?:all|every|each|everyone|always|quite|necessarily|yet)|why not)\b"
    r"|\bthan (?!\d|one |two |three |four |five |six |ten |half |a )",
    re.IGNORECASE,
)
_NO_LONGER = re.compile(r"\bno longer\b(?! than)", re.IGNORECASE)
_THAN = re.compile(r"\bthan\b", re.IGNORECASE)
_RESTRICTING = re.compile(
    r"\b(?:that|which|who) (?:is|are|was|were|do|does|did|has|have|had|can|could)$", re.IGNORECASE
)
_RESTRICTED = re.compile(r"\b(?:that|which|who) \w+ not\b", re.IGNORECASE)
_ANSWER = re.compile(
    r"\W*(?:yes|no|correct|right|unfortunately|sorry)\b\s*[,.:;–—-]", re.IGNORECASE
)
_IF = re.compile(
    r"\W*(?:if|when|whether|unless|until|except|once|even|provided"
    r"|(?:as|so) long as|on condition that)\b",
    re.IGNORECASE,
)

_BARE = re.compile(
    r"\b(?:(?:is|are|was|were|do|does|did|has|have|can|may|will|must)(?: not|n't)|cannot)\W*$",
    re.IGNORECASE,
)
_AUXILIARIES = word_set("auxiliaries")
_DROPPED = word_set("light_verbs")


class ClauseMeaning(NamedTuple):
    """What a clause says. denies: whether it denies as a whole; is_mixed: whether that cannot be
    told. target: the first item that says something behind what denies. is_condition: whether it
    only says when the rest holds. keys: all that another word may share with one of the items, and
    with those left out. left_out: what it takes from the clause before: "but the base is not".
    """

    start: int
    end: int
    sentence: int
    items: tuple[Item, ...]
    denies: bool
    is_mixed: bool
    target: Item | None
    is_condition: bool
    keys: frozenset[str]
    left_out: tuple[Item, ...] = ()


def clause_meanings(reading: Reading) -> tuple[ClauseMeaning, ...]:
    """What each clause of a text says."""
    found: list[ClauseMeaning] = []
    for clause, (start, end) in enumerate(reading.clauses):
        words = reading.words_in(start, end)
        sentence = reading.sentence_of_clause[clause]
        one = _clause_meaning(reading.text, words, (start, end), sentence)
        if found and found[-1].sentence == sentence and _is_bare(reading.text, start, end):
            one = _completed(one, found[-1], reading)
        found.append(one)
    return tuple(found)


def _is_bare(text: str, start: int, end: int) -> bool:
    """Whether a clause ends with a verb that is denied."""
    last = text[start:end].lower()
    return ("not" in last or "n't" in last) and _BARE.search(text, start, end) is not None


def _completed(one: ClauseMeaning, before: ClauseMeaning, reading: Reading) -> ClauseMeaning:
    """A clause that leaves out what the one before says behind its verb, with that."""
    words = reading.words_in(before.start, before.end)
    verb = next((at for at, word in enumerate(words) if word.lower in _AUXILIARIES), None)
    if verb is None or before.denies or not one.items:
        return one
    left_out = tuple(item for item in before.items if item.first > verb)
    return one._replace(left_out=left_out, keys=one.keys | keys_of(left_out))


def _clause_meaning(
    text: str, words: Sequence[Word], place: tuple[int, int], sentence: int
) -> ClauseMeaning:
    every = list(items(words))
    denying = [item.first for item in every if denies(item)]
    denying += _negations(text, words, place, every)
    target = None
    said = [item for item in every if not _says_nothing(item, words)]
    if denying:
        longer = {at + 1 for at in denying if _NO_LONGER.match(text, words[at].start, place[1])}
        said = [item for item in said if item.first not in longer]
        behind = (item for item in said if item.first > min(denying) and not item.is_light)
        target = next(behind, None)
    is_mixed = not EXCEPTIONS.isdisjoint(word.lower for word in words)
    is_mixed = is_mixed or _is_mixed(text, place, is_denied=bool(denying))
    is_condition = _IF.match(text, *place) is not None
    is_denied = len(denying) % 2 == 1
    return ClauseMeaning(
        *place, sentence, tuple(said), is_denied, is_mixed, target, is_condition, keys_of(said)
    )


def _is_mixed(text: str, place: tuple[int, int], *, is_denied: bool) -> bool:
    """Whether the text of a clause leaves open if it denies something."""
    lower = text[slice(*place)].lower()
    if "no" not in lower and "than" not in lower:
        return False  # Each of the expressions below looks for one of the two.
    if _MIXED.search(text, *place):
        return True
    if is_denied:
        return _THAN.search(text, *place) is not None
    # "Money that is not used": it only says which money is meant.
    return _RESTRICTED.search(text, *place) is not None


def _negations(
    text: str, words: Sequence[Word], place: tuple[int, int], every: Sequence[Item]
) -> list[int]:
    """Where plain negations stand that are no part of a phrase."""
    if not any(map(is_negation, words)):
        return []
    start, end = place
    answer = _ANSWER.match(text, start, end)
    begins = answer.end() if answer else start
    inside: set[int] = set()
    for item in every:
        if item.meanings:
            inside.update(range(item.first, item.last))
    found: list[int] = []
    is_neither = False
    for at, word in enumerate(words):
        if word.start < begins or at in inside or (is_neither and word.lower == "nor"):
            continue
        is_neither = is_neither or word.lower == "neither"
        if not is_negation(word) or _RESTRICTING.search(text[start : word.start].rstrip()):
            continue
        if is_full_negation(words, at) or (
            is_negation(word) and _NO_LONGER.match(text, word.start, end)
        ):
            found.append(at)
    return found


def _says_nothing(item: Item, words: Sequence[Word]) -> bool:
    if item.meanings:
        return False
    return item.stem in _DROPPED or is_negation(words[item.first])


def denies(item: Item) -> bool:
    """Whether a word denies what its clause says, whatever it may mean."""
    return bool(item.meanings) and all(m.denies and m.sign < 0 for m in item.meanings)


class Shared(NamedTuple):
    """What a clause of a passage has of one of the claim. share: how much of it, in [0, 1]; own:
    how much stands in the clause itself. same: the items that it has; turned: those that stand on
    the other side there.
    """

    share: float
    own: float
    same: tuple[Item, ...]
    turned: tuple[Item, ...]


class Around(NamedTuple):
    """The items of the other clauses of a sentence, and of the sentences around it."""

    before: Sequence[Item]
    behind: Sequence[Item]
    beyond: Sequence[Item] = ()


def shared(mine: Collection[tuple[Item, float]], own: Sequence[Item], around: Around) -> Shared:
    """What a clause with its own items has of those of the claim, each with how much it counts."""
    total = got = of_own = 0.0
    same, turned = _pairs([item for item, _ in mine], own)
    for item, value in mine:
        total += value
        if item in same or item in turned:
            got += value
            of_own += value
        elif says_one(around.before, item):
            got += BEFORE * value
        elif says_one(around.behind, item):
            got += BEHIND * value
        elif says_one(around.beyond, item):
            got += BEYOND * value
    if not total:
        return Shared(0.0, 0.0, (), ())
    return Shared(got / total, of_own / total, tuple(same), tuple(turned))


def _pairs(mine: Sequence[Item], own: Sequence[Item]) -> tuple[list[Item], list[Item]]:
    """The items that the others have, and those that they have on the other side; what says the
    same is paired first.
    """
    left = list(own)
    same: list[Item] = []
    for item in mine:
        if says_one(left, item):
            same.append(item)
    for item in same:
        other = next_same(left, item)
        if other is not None:
            left.remove(other)
    turned: list[Item] = []
    for item in mine:
        if item in same:
            continue
        other = next((each for each in left if sign_between(item, each) < 0), None)
        if other is not None:
            left.remove(other)
            turned.append(item)
    return same, turned


def item_weight(item: Item, weight: Callable[[str], float]) -> float:
    """How much an item counts: a rare word more than a frequent one."""
    value = max(weight(part) for part in item.stem.split(" "))
    return value * (_LIGHT if item.is_light else 1.0)


def told_share(
    said: Sequence[Sequence[ClauseMeaning]],
    passages: Sequence[Sequence[ClauseMeaning]],
    weight: Callable[[str], float],
) -> float:
    """How much of what the least told sentence of a claim says stands together in the passages.

    said: the clauses of each sentence of the claim; passages: the clauses of each passage.
    """
    least = 1.0
    for clauses in said:
        mine = list(chain.from_iterable(clause.items for clause in clauses))
        if mine:
            least = min(least, _sentence_share(mine, passages, weight))
    return least


def _sentence_share(
    mine: Sequence[Item],
    passages: Sequence[Sequence[ClauseMeaning]],
    weight: Callable[[str], float],
) -> float:
    values = {item: item_weight(item, weight) for item in mine}
    total = sum(values.values())
    keys = keys_of(mine)
    best = 0.0
    for clauses in passages:
        has: dict[int, set[Item]] = {}
        for clause in clauses:
            if not keys.isdisjoint(clause.keys):
                found = has.setdefault(clause.sentence, set())
                for item in values:
                    if not clause.keys.isdisjoint(item.keys) and is_told(clause.items, item):
                        found.add(item)
        somewhere = set[Item]().union(*has.values())
        for own in has.values():
            got = sum(values[item] for item in own)
            got += ELSEWHERE * sum(values[item] for item in somewhere - own)
            best = max(best, got / total if total else 0.0)
    return best


ELSEWHERE = 0.5
"""Weight of what stands in another sentence of the passage."""
