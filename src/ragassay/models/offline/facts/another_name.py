"""A name to which the claim gives what the passages tell, in whatever words, of another one: "the
data is kept in Osaka", where it is stored in Frankfurt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from ragassay.models.offline.facts.clauses import Word
from ragassay.models.offline.facts.concepts import Item, base_stem, is_told, keys_of, root
from ragassay.models.offline.facts.finding import CONFLICT, Finding, Place
from ragassay.models.offline.facts.meaning import ClauseMeaning, item_weight
from ragassay.models.offline.facts.names import Name, peoples, same_name
from ragassay.models.offline.facts.text_facts import TextFacts
from ragassay.models.offline.facts.word_lists import word_set

_LEAST = 0.6
"""Share of what the claim says of the name that the clause of another one has, with what its
sentence says before it. Chosen on dev rows and on the planted faults that the rules were built on.
"""

_LEAST_WORDS, _NEARLY_ALL = 2, 0.9
"""Words of the claim that another's clause must have; or as good as all, of a claim with one."""
_MOST_SENTENCES = 30
"""Sentences of the passages; where there are more, a name is spoken of in too many places."""

_LEAST_SMALL = 3
"""Words in small letters beside the other name; among fewer it is a heading, or a list."""
_MOST_WORDS = 12
"""Items that the claim says of a name; of more, some are told elsewhere."""

_BACK = 5
"""Words before a name in which its part in the clause is looked for."""

_FRONTED = 4
"""Words of a place that is named before its clause."""

_IS_A = re.compile(r"\s+(?:is|are|was|were)\s+(?:an?|one|part)\b", re.IGNORECASE)
_PRONOUNS = word_set("pronouns")
_AGENT, _PLACE = frozenset("a"), frozenset("p")
_PARTS = {
    **dict.fromkeys(("by",), _AGENT),
    **dict.fromkeys(("in", "at", "near", "into", "on"), _PLACE),
    **dict.fromkeys(("from", "to"), _AGENT | _PLACE),
    **dict.fromkeys(
        ("of", "for", "with", "than", "as", "against", "under", "like"), frozenset("o")
    ),
}


class _Told(NamedTuple):
    """A clause of a passage, its names, and which items of the claim it has: itself, and with what
    stands before it in its sentence.
    """

    passage: int
    clause: ClauseMeaning
    names: tuple[Name, ...]
    own: frozenset[Item]
    all: frozenset[Item]


def told_of_another_name(
    claim: TextFacts,
    names: Sequence[Name],
    passages: Sequence[TextFacts],
    of_passages: Sequence[Sequence[Name]],
    asked: Sequence[Name],
    weight: Callable[[str], float],
) -> list[Finding]:
    """The names of the claim of which the passages tell nothing that it says, and of another one
    they do. names: of the claim; of_passages: of each passage; asked: of the question; weight: how
    rare a stem is.
    """
    found: list[Finding] = []
    if sum(len(passage.reading.sentences) for passage in passages) > _MOST_SENTENCES:
        return []
    known = list(chain.from_iterable(of_passages))
    for whole in names:
        name = _head(claim, whole)
        if _is_any(name, asked) or _IS_A.match(claim.reading.text, name.end):
            continue
        said = _said_of(claim, name)
        if not 1 <= sum(not item.is_light for item in said) <= _MOST_WORDS:
            continue
        is_one = _is_one_of(name, known)
        if not any(map(is_one, known)):
            continue
        told = list(_told(said, passages, of_passages))
        others = [each for each in names if each is not whole]
        about = _About(name, others, asked, is_one)
        other = _other(claim, about, told, passages, weight, said)
        if other is not None:
            number, stranger = other
            passage = passages[number]
            place = Place(number, *passage.sentence(stranger.start))
            words = claim.reading.text[name.start : name.end]
            says = passage.reading.text[stranger.start : stranger.end]
            found.append(Finding("name", CONFLICT, name.start, name.end, words, says, place, 1.0))
    return found


def _said_of(claim: TextFacts, name: Name) -> list[Item]:
    """What the clause of a name says beside it; where that is too little, its whole sentence."""
    clause = claim.reading.clause_at(name.start)
    mine = claim.meanings[clause]
    found = _without(claim, mine, name)
    if clause and _is_fronted(claim, claim.meanings[clause - 1], mine):
        found += _without(claim, claim.meanings[clause - 1], name)
    if sum(not item.is_light for item in found) >= _LEAST_WORDS:
        return found
    found = []
    for other in claim.meanings:
        if other.sentence == mine.sentence:
            found += _without(claim, other, name)
    return found


def _is_fronted(claim: TextFacts, before: ClauseMeaning, mine: ClauseMeaning) -> bool:
    """Whether a clause only names the place or the time of the next one: "In Lyon, ..." """
    words = claim.reading.words_in(before.start, before.end)
    is_short = 0 < len(words) <= _FRONTED and words[0].lower in _PARTS
    return is_short and before.sentence == mine.sentence


def _without(claim: TextFacts, clause: ClauseMeaning, name: Name) -> list[Item]:
    """The items of a clause but those of a name and a noun that ends it: "the Marienhof clinic"."""
    words = claim.reading.words_in(clause.start, clause.end)
    inside = [at for at, word in enumerate(words) if name.start <= word.start < name.end]
    found: list[Item] = []
    for item in clause.items:
        is_last = item.last == len(words) and inside and item.first == inside[-1] + 1
        if item.first not in inside and not is_last:
            found.append(item)
    return found


def _told(
    said: Sequence[Item], passages: Sequence[TextFacts], of_passages: Sequence[Sequence[Name]]
) -> Iterator[_Told]:
    keys = keys_of(said)
    for number, passage in enumerate(passages):
        named: dict[int, list[Name]] = {}
        for name in of_passages[number]:
            named.setdefault(passage.reading.clause_at(name.start), []).append(name)
        before: frozenset[Item] = frozenset()
        sentence = -1
        for at, clause in enumerate(passage.meanings):
            if clause.sentence != sentence:
                before, sentence = frozenset(), clause.sentence
            own = _shared(said, clause) if not keys.isdisjoint(clause.keys) else frozenset()
            yield _Told(number, clause, tuple(named.get(at, ())), own, own | before)
            before |= own


def _shared(said: Sequence[Item], clause: ClauseMeaning) -> frozenset[Item]:
    """What a clause has of what is said, on one side or the other."""
    shared = (item for item in said if not clause.keys.isdisjoint(item.keys))
    return frozenset(item for item in shared if is_told(clause.items, item))


class _About(NamedTuple):
    """A name of the claim, its others and those of the question, and whether a name is that one."""

    name: Name
    others: Sequence[Name]
    asked: Sequence[Name]
    is_one: Callable[[Name], bool]


def _head(claim: TextFacts, name: Name) -> Name:
    """A name without what says where it belongs: "Perrin of Geneva"."""
    head, joint, _ = claim.reading.text[name.start : name.end].partition(" of ")
    if not joint:
        return name
    count = len([word for word in name.words if word in head.lower()])
    return Name(name.start, name.start + len(head), name.words[:count] or name.words)


def _is_one_of(name: Name, known: Sequence[Name]) -> Callable[[Name], bool]:
    """Whether another name is of the same thing. Where the passages have it in full, one that only
    shares a word with it is another: "Kurt Nolte" and "Gesa Nolte".
    """
    full = len(name.words) > 1 and any(set(name.words) <= set(each.words) for each in known)

    def is_one(other: Name) -> bool:
        if not full or len(other.words) < 2:
            return same_name(name, other)
        return set(name.words) <= set(other.words) or set(other.words) <= set(name.words)

    return is_one


def _other(
    claim: TextFacts,
    about: _About,
    told: Sequence[_Told],
    passages: Sequence[TextFacts],
    weight: Callable[[str], float],
    said: Sequence[Item],
) -> tuple[int, Name] | None:
    """The other name with its passage, where no clause that may speak of the first one has what the
    clause of the other does not have.
    """
    total = sum(item_weight(item, weight) for item in said)
    named = [each for each in told if any(map(about.is_one, each.names))]
    if not named:
        return None
    own = [each for each in told if each in named or _may_be_of(each, named, passages)]
    of_name = frozenset[Item]().union(*(each.own for each in own))
    part = _part(claim, about.name)
    denies = claim.clause_denies(about.name.start)
    best: tuple[float, int, Name] | None = None
    for each in told:
        if each in own or not each.own or each.clause.denies != denies:
            continue
        share = sum(item_weight(item, weight) for item in each.all) / total
        new = [item for item in each.own - of_name if not item.is_light]
        if share < _LEAST or not new or not of_name <= each.all:
            continue
        if sum(not item.is_light for item in each.all) < _LEAST_WORDS and share < _NEARLY_ALL:
            continue
        passage = passages[each.passage]
        for other in each.names:
            if about.is_one(other) or _is_any(other, (*about.others, *about.asked)):
                continue
            if part.isdisjoint(_part(passage, other)) or _names_nobody(passage, other):
                continue
            if _is_common(claim, other):
                continue
            if best is None or share > best[0]:
                best = (share, each.passage, other)
    return None if best is None else best[1:]


def _may_be_of(each: _Told, named: Sequence[_Told], passages: Sequence[TextFacts]) -> bool:
    """Whether a clause without a name may speak of it: it has none, or a pronoun, and stands in the
    sentence of the name or the ones behind it. named: the clauses that have the name.
    """
    reading = passages[each.passage].reading
    for other in named:
        if other.passage != each.passage:
            continue
        distance = each.clause.sentence - other.clause.sentence
        if not 0 <= distance <= 2:
            continue
        in_clause = reading.words_in(each.clause.start, each.clause.end)
        in_sentence = reading.words_in(*reading.sentences[each.clause.sentence])
        if distance == 0 and (not each.names or _has_pronoun(in_clause)):
            return True
        # "By Chris Renaud and Pierre Coffin": a name alone shares what is said of its neighbour.
        if distance == 0 and _is_bare(passages[each.passage], other):
            return True
        if distance in (1, 2) and _has_pronoun(in_sentence):
            return True
    return False


def _is_bare(passage: TextFacts, told: _Told) -> bool:
    """Whether a clause is a name and nothing else."""
    words = passage.reading.words_in(told.clause.start, told.clause.end)
    for word in words:
        if word.content and not any(each.start <= word.start < each.end for each in told.names):
            return False
    return True


def _names_nobody(passage: TextFacts, name: Name) -> bool:
    """Whether a name is that of a people, or stands in a heading or a form."""
    return _is_heading(passage, name) or all(word in peoples() for word in name.words)


def _is_common(claim: TextFacts, name: Name) -> bool:
    """Whether the claim has each word of a name as a common one: "officially" and "Official"."""
    small = (word for word in claim.reading.words if word.written[0].islower())
    common = {root(base_stem(word.lower)) for word in small}
    return all(root(base_stem(word)) in common for word in name.words)


def _is_heading(passage: TextFacts, name: Name) -> bool:
    """Whether a name stands in a line of capitals, or is a word that opens its sentence alone."""
    start, end = passage.sentence(name.start)
    text = passage.reading.text
    if text[name.start - 1 : name.start] in ("[", "<", "{") or text[name.end : name.end + 1] == ":":
        return True  # a place to be filled in, or who speaks
    words = passage.reading.words_in(start, end)
    small = sum(word.written[0].islower() for word in words)
    if small < max(_LEAST_SMALL, len(words) // 3):
        return True
    return len(name.words) == 1 and name.start == start and name.words[0] not in passage.capitals


def _has_pronoun(words: Sequence[Word]) -> bool:
    return any(word.lower in _PRONOUNS for word in words)


def _part(text: TextFacts, name: Name) -> frozenset[str]:
    """Whether a name is who does something, or where it is done."""
    reading = text.reading
    start = reading.clauses[reading.clause_at(name.start)][0]
    for word in list(reversed(reading.words_in(start, name.start)))[:_BACK]:
        if word.written[0].isdigit():
            break  # "on Line 2 Rui Lopes"
        if word.lower in _PARTS:
            return _PARTS[word.lower]
    return _AGENT


def _is_any(name: Name, others: Sequence[Name]) -> bool:
    return any(same_name(name, other) for other in others)
