"""A clause of the claim of which the passages say the contrary in other words: "Pets are permitted"
beside "pets are not accepted", "the premium goes down" beside "premiums rise".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ragassay.models.offline.facts.concepts import Item, keys_of, sign_between
from ragassay.models.offline.facts.finding import CONFLICT, Finding, Place
from ragassay.models.offline.facts.meaning import (
    Around,
    ClauseMeaning,
    Shared,
    denies,
    item_weight,
    shared,
)
from ragassay.models.offline.facts.opposed import opposed_sentences
from ragassay.models.offline.facts.text_facts import TextFacts
from ragassay.models.offline.facts.unlike import is_set_against

_LEAST, _AHEAD = 0.6, 0.1
"""Share of the claim's clause that a clause of the passages has which says the contrary, and by how
much more than any that says the same. Chosen on dev rows and on the planted faults that the rules
were built on.
"""

_UNLESS = re.compile(r"\W*(?:unless|until|except)\b", re.IGNORECASE)
_ASIDE = re.compile(
    r"\W*(?:or|who|whose|whom|which|that|because|including|such|as|both|either)\b|\s*[()\[\]:–—]",
    re.IGNORECASE,
)
"""Begins a clause that says nothing by itself."""

_MOST_SENTENCES = 30
"""Sentences of the passages; where there are more, a thing is spoken of in too many places."""

_EXCEPT = re.compile(r"\W*(?:except|excluding|apart from|but not)\b", re.IGNORECASE)
_NO_LONGER = re.compile(r"\b(?:no|any) (?:longer|more)\b(?! than)|\banymore\b", re.IGNORECASE)
_ENDED = re.compile(
    r"\b(?:dropped|discontinued|withdrawn|withdrew|stopped|ended|ceased|abolished|removed"
    r"|phased out|scrapped|closed|cancelled|canceled|terminated|given up|gave up)\b",
    re.IGNORECASE,
)
_IS_OR_HAS = re.compile(r"\b(?:has|have|had|is|are|was|were)\b", re.IGNORECASE)
_DOES_NOT = re.compile(r"\b(?:do|does|did)(?: not|n't)\W*$", re.IGNORECASE)
_LEAST_AFFIRMED = 4
"""Words of a clause that affirms what the claim denies; a shorter one is a member of a list."""

_SHORT = 6
"""Sentences of a passage at most that is on one thing, named in any of them."""

_BEHIND = 0.05
"""By how much another clause may have more of the claim's, that says nothing of what the two differ
in.
"""

_OF_CONDITION = 0.8
"""Weight of the words that say when a clause of the claim holds."""


class Beside(NamedTuple):
    """A clause of a passage beside one of the claim. at: the item of the claim's at which the two
    differ, where they do.
    """

    passage: int
    clause: ClauseMeaning
    shared: Shared
    is_contrary: bool
    at: Item | None


def valued(
    mine: ClauseMeaning, claim: TextFacts, weight: Callable[[str], float]
) -> list[tuple[Item, float]]:
    """The items of a clause of the claim and of what says when it holds, with how much each
    counts.
    """
    found = [(item, item_weight(item, weight)) for item in mine.items]
    for other in claim.meanings:
        if other.sentence == mine.sentence and other.is_condition and other is not mine:
            found += [(item, _OF_CONDITION * item_weight(item, weight)) for item in other.items]
    return found


def beside(
    mine: ClauseMeaning,
    claim: TextFacts,
    passages: Sequence[TextFacts],
    weight: Callable[[str], float],
) -> Iterator[Beside]:
    """The clauses of the passages that have something of a clause of the claim."""
    values = valued(mine, claim, weight)
    keys = keys_of(item for item, _ in values)
    for number, passage in enumerate(passages):
        for at, clause in enumerate(passage.meanings):
            if keys.isdisjoint(clause.keys):
                continue
            own = (*clause.items, *clause.left_out)
            found = shared(values, own, _around(passage.meanings, at))
            if found.share:
                turned = (mine.denies != clause.denies) != bool(_counted(found.turned) % 2)
                where = _where(mine, clause, found) if turned else None
                yield Beside(number, clause, found, turned, where)


def _around(clauses: Sequence[ClauseMeaning], at: int) -> Around:
    before: list[Item] = []
    behind: list[Item] = []
    for other in clauses[max(0, at - 8) : at]:
        if other.sentence == clauses[at].sentence:
            before += other.items
    for other in clauses[at + 1 : at + 9]:
        if other.sentence == clauses[at].sentence:
            behind += other.items
    beyond: list[Item] = []
    for other in clauses if clauses[-1].sentence < _SHORT else ():
        if other.sentence != clauses[at].sentence and not other.denies:
            beyond += other.items
    return Around(before, behind, beyond)


def _counted(turned: Sequence[Item]) -> int:
    """How many of the turned items are not counted with the clauses as denials."""
    return sum(not item.may_deny for item in turned)


def _where(mine: ClauseMeaning, other: ClauseMeaning, found: Shared) -> Item | None:
    """The item of the claim's clause at which two contrary clauses differ."""
    turned = [item for item in found.turned if _counted([item])]
    if turned:
        return turned[0]
    both = (*found.same, *found.turned)
    heavy = [item for item in both if not item.is_light]
    at = None
    if other.denies and not mine.denies and other.target is not None:
        at = _matching(other.target, heavy)
    if at is not None:
        return at
    if mine.denies and not other.denies and mine.target is not None and mine.target in both:
        return mine.target
    if other.denies and other.target is None and heavy:
        return heavy[0]
    denying = [item for item in other.items if denies(item)]
    for item in both:
        if denies(item) or any(sign_between(item, each) for each in denying):
            return item
    return None


def _matching(target: Item, mine: Sequence[Item]) -> Item | None:
    return next((item for item in mine if sign_between(item, target)), None)


def contraries(
    claim: TextFacts, passages: Sequence[TextFacts], weight: Callable[[str], float]
) -> list[Finding]:
    """The clauses of the claim of which the passages say the contrary. weight: how rare a stem
    is.
    """
    found: list[Finding] = []
    if sum(len(passage.reading.sentences) for passage in passages) > _MOST_SENTENCES:
        return found
    opposed = opposed_sentences(claim, passages)
    for mine in claim.meanings:
        if mine.is_mixed or mine.is_condition or _is_under_denial(mine, claim):
            continue
        if _ASIDE.match(claim.reading.text, mine.start):
            continue
        others = [
            each
            for each in beside(mine, claim, passages, weight)
            if not _is_no_answer(mine, each, claim, passages)
            and (each.passage, each.clause.sentence) not in opposed.get(mine.sentence, ())
        ]
        best = _contrary(others)
        if best is not None and _is_of_another(mine, best, others, passages):
            continue
        if best is not None:
            found.append(_finding(claim, mine, best, passages))
    return found


def _contrary(others: Sequence[Beside]) -> Beside | None:
    """The clause that says the contrary, where none says the same of what the two differ in."""
    best: Beside | None = None
    for each in others:
        if not each.is_contrary or each.at is None or each.clause.is_mixed:
            continue
        if each.clause.is_condition or not _says_enough(each):
            continue
        if best is None or each.shared.share > best.shared.share:
            best = each
    if best is None or best.at is None or best.shared.share < _LEAST:
        return None
    for each in others:
        if each.is_contrary and not each.clause.is_mixed:
            continue
        ahead = _AHEAD if best.at in _both(each.shared) else -_BEHIND
        if each.shared.share + ahead > best.shared.share:
            return None
    return best


def _is_no_answer(
    mine: ClauseMeaning, other: Beside, claim: TextFacts, passages: Sequence[TextFacts]
) -> bool:
    """Whether a clause cannot be the contrary: "but the body does not" denies no "has"; "and a
    lens" affirms nothing.
    """
    if not other.is_contrary:
        return False
    if _is_excepted(mine, other, passages[other.passage]):
        return True
    if _both_ended(mine, other, claim, passages[other.passage]):
        return True
    said = claim.reading.text[mine.start : mine.end]
    if is_set_against(said, passages[other.passage], other.clause.start):
        return True
    reading = passages[other.passage].reading
    if not other.clause.denies:
        words = reading.words_in(other.clause.start, other.clause.end)
        return mine.denies and len(words) < _LEAST_AFFIRMED
    if other.clause.target is not None:
        return False
    is_left_out = _DOES_NOT.search(reading.text[other.clause.start : other.clause.end].rstrip())
    return bool(is_left_out and _IS_OR_HAS.search(claim.reading.text, mine.start, mine.end))


def _both_ended(mine: ClauseMeaning, other: Beside, claim: TextFacts, passage: TextFacts) -> bool:
    """Whether one of two clauses says that something is no longer so, and the other one that it
    ended: "no longer supports 3.8", "support for 3.8 was dropped".
    """
    sides = (claim, mine), (passage, other.clause)
    longer = [_NO_LONGER.search(text.reading.text, at.start, at.end) for text, at in sides]
    ended = [_ENDED.search(text.reading.text, at.start, at.end) for text, at in sides]
    return bool((longer[0] and ended[1]) or (longer[1] and ended[0]))


def _is_excepted(mine: ClauseMeaning, other: Beside, passage: TextFacts) -> bool:
    """Whether a clause excepts what the claim's is on: "free except on Sundays"."""
    behind = (each for each in passage.meanings if each.start == other.clause.end)
    for clause in behind:
        if _EXCEPT.match(passage.reading.text, clause.start):
            keys = keys_of(item for item in clause.items if not item.is_light)
            return any(not keys.isdisjoint(item.keys) for item in mine.items)
    return False


def _is_of_another(
    mine: ClauseMeaning, best: Beside, others: Sequence[Beside], passages: Sequence[TextFacts]
) -> bool:
    """Whether the passages speak elsewhere of what the contrary leaves out: "the company does not
    pay for internet", where it pays for a desk.
    """
    sentence: list[Item] = []
    for clause in passages[best.passage].meanings:
        if clause.sentence == best.clause.sentence:
            sentence += clause.items
    for item in mine.items:
        if item.is_light or any(sign_between(item, each) for each in sentence):
            continue
        for other in others:
            both = _both(other.shared)
            if other.passage == best.passage and item in both and best.at in both:
                return True
    return False


def _is_under_denial(mine: ClauseMeaning, claim: TextFacts) -> bool:
    """Whether a clause holds where something is not so: "if the seller does not tell it, ..." """
    for other in claim.meanings:
        is_condition = other.sentence == mine.sentence and other.is_condition
        if is_condition and (other.denies or _UNLESS.match(claim.reading.text, other.start)):
            return True
    return False


def _says_enough(other: Beside) -> bool:
    """Whether two clauses share more than the one word of which they take the two sides."""
    both = _both(other.shared)
    if all(item.is_light for item in both) or other.at is None:
        return False
    if any(item != other.at and not item.is_light for item in both):
        return True
    if other.at in other.shared.turned and _counted([other.at]):
        return False
    # "Which is not included" has nothing else of its own; "towels are included" has.
    return all(item.is_light or sign_between(item, other.at) for item in other.clause.items)


def _both(found: Shared) -> tuple[Item, ...]:
    return (*found.same, *found.turned)


def _finding(
    claim: TextFacts, mine: ClauseMeaning, best: Beside, passages: Sequence[TextFacts]
) -> Finding:
    passage = passages[best.passage]
    place = Place(best.passage, *passage.sentence(best.clause.start))
    said = claim.reading.text[mine.start : mine.end].strip()
    says = passage.reading.text[best.clause.start : best.clause.end].strip()
    return Finding("negation", CONFLICT, mine.start, mine.end, said, says, place, best.shared.share)
