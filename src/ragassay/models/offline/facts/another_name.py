"""A name to which the claim gives what the passages tell, in whatever words, of another one: "the
data is kept in Osaka", where it is stored in Frankfurt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ragassay.models.offline.facts.concepts import Item, sign_between
from ragassay.models.offline.facts.finding import CONFLICT, Finding, Place
from ragassay.models.offline.facts.meaning import ClauseMeaning, item_weight
from ragassay.models.offline.facts.names import Name, same_name
from ragassay.models.offline.facts.text_facts import TextFacts
from ragassay.models.offline.facts.word_lists import word_set

_LEAST = 0.6
"""Share of what the claim says of the name that the clause of another one has, with what its
sentence says before it. Chosen on dev rows and on the planted faults that the rules were built on.
"""

_LEAST_WORDS = 2
_MOST_WORDS = 12
"""Items that the claim says of a name; of more, some are told elsewhere."""

_BACK = 5
"""Words before a name in which its part in the clause is looked for."""

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
    for name in names:
        if _is_any(name, asked):
            continue
        said = _said_of(claim, name)
        if not _LEAST_WORDS <= sum(not item.is_light for item in said) <= _MOST_WORDS:
            continue
        told = list(_told(said, passages, of_passages))
        other = _other(claim, name, names, asked, told, passages, weight, said)
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
    if sum(not item.is_light for item in found) >= _LEAST_WORDS:
        return found
    found = []
    for other in claim.meanings:
        if other.sentence == mine.sentence:
            found += _without(claim, other, name)
    return found


def _without(claim: TextFacts, clause: ClauseMeaning, name: Name) -> list[Item]:
    words = claim.reading.words_in(clause.start, clause.end)
    found: list[Item] = []
    for item in clause.items:
        if not name.start <= words[item.first].start < name.end:
            found.append(item)
    return found


def _told(
    said: Sequence[Item], passages: Sequence[TextFacts], of_passages: Sequence[Sequence[Name]]
) -> Iterator[_Told]:
    for number, passage in enumerate(passages):
        named: dict[int, list[Name]] = {}
        for name in of_passages[number]:
            named.setdefault(passage.reading.clause_at(name.start), []).append(name)
        before: frozenset[Item] = frozenset()
        sentence = -1
        for at, clause in enumerate(passage.meanings):
            if clause.sentence != sentence:
                before, sentence = frozenset(), clause.sentence
            own = frozenset(item for item in said if _has(clause.items, item))
            yield _Told(number, clause, tuple(named.get(at, ())), own, own | before)
            before |= own


def _has(others: Sequence[Item], item: Item) -> bool:
    return any(sign_between(item, other) for other in others)


def _other(
    claim: TextFacts,
    name: Name,
    mine: Sequence[Name],
    asked: Sequence[Name],
    told: Sequence[_Told],
    passages: Sequence[TextFacts],
    weight: Callable[[str], float],
    said: Sequence[Item],
) -> tuple[int, Name] | None:
    """The other name with its passage, where no clause that may speak of the first one has what the
    clause of the other does not have.
    """
    total = sum(item_weight(item, weight) for item in said)
    own = [each for each in told if _may_be_of(name, each, told, passages)]
    of_name = frozenset[Item]().union(*(each.own for each in own))
    if not own:
        return None
    part = _part(claim, name)
    best: tuple[float, int, Name] | None = None
    for each in told:
        if each in own or not each.own:
            continue
        share = sum(item_weight(item, weight) for item in each.all) / total
        new = [item for item in each.own - of_name if not item.is_light]
        if share < _LEAST or not new or not of_name <= each.all:
            continue
        if sum(not item.is_light for item in each.all) < _LEAST_WORDS:
            continue
        passage = passages[each.passage]
        for other in each.names:
            if _is_any(other, (*mine, *asked)) or part.isdisjoint(_part(passage, other)):
                continue
            if best is None or share > best[0]:
                best = (share, each.passage, other)
    return None if best is None else best[1:]


def _may_be_of(
    name: Name, each: _Told, told: Sequence[_Told], passages: Sequence[TextFacts]
) -> bool:
    """Whether a clause may speak of a name: it has it; or it has none, or a pronoun, and stands in
    the sentence of the name or the one behind it.
    """
    if _is_any(name, each.names):
        return True
    passage = passages[each.passage]
    words = passage.reading.words_in(*passage.reading.sentences[each.clause.sentence])
    has_pronoun = any(word.lower in _PRONOUNS for word in words)
    if each.names and not has_pronoun:
        return False
    for other in told:
        if other.passage == each.passage and _is_any(name, other.names):
            distance = each.clause.sentence - other.clause.sentence
            if distance == 0 or (distance in (1, 2) and has_pronoun):
                return True
    return False


def _part(text: TextFacts, name: Name) -> frozenset[str]:
    """Whether a name is who does something, or where it is done."""
    reading = text.reading
    start = reading.clauses[reading.clause_at(name.start)][0]
    for word in list(reversed(reading.words_in(start, name.start)))[:_BACK]:
        if word.lower in _PARTS:
            return _PARTS[word.lower]
    return _AGENT


def _is_any(name: Name, others: Sequence[Name]) -> bool:
    return any(same_name(name, other) for other in others)
