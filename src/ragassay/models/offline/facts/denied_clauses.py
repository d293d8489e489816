"""A clause that affirms what the passages deny of the same thing, or the other way round, at
whichever word the negation stands: "Trout live in the lake" beside "home to char but not to trout".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from ragassay.models.offline.facts.clause_polarity import PolarClause
from ragassay.models.offline.facts.finding import CONFLICT, Finding, Place
from ragassay.models.offline.facts.text_facts import TextFacts
from ragassay.models.offline.facts.unlike import is_set_against

_LEAST, _AHEAD = 0.4, 0.25
"""Share of the claim's clause that a clause of the passages has which says the contrary, and by how
much more than one that says the same. Chosen on dev rows and on half of the planted faults.
"""

_LEAST_WORDS = 2
_UNLESS = re.compile(r"\W*(?:unless|until|except)\b", re.IGNORECASE)
_ASIDE = re.compile(
    r"\W*(?:(?:and|or) )?(?:in|at|by|on|for|with|from|of|to|as|than)\b|\s*[-–—:(]", re.IGNORECASE
)
"""Begins a clause that says when, where or how, and nothing by itself."""


def denied_clauses(
    claim: TextFacts, passages: Sequence[TextFacts], weight: Callable[[str], float]
) -> list[Finding]:
    """The clauses of the claim that affirm what the passages deny, or deny what they affirm.

    weight: how rare a stem is.
    """
    found: list[Finding] = []
    for mine in claim.polar_clauses:
        words = {stem: weight(stem) for stem, near in mine.stems.items() if near == 1.0}
        if len(words) < _LEAST_WORDS or _ASIDE.match(claim.reading.text, mine.start):
            continue
        contrary = _contrary(claim, mine, words, passages)
        if contrary is not None and not _UNLESS.match(claim.reading.text, mine.end):
            number, other, share = contrary
            passage = passages[number]
            place = Place(number, *passage.sentence(other.start))
            said = claim.reading.text[mine.start : mine.end].strip()
            says = passage.reading.text[other.start : other.end].strip()
            found.append(
                Finding("negation", CONFLICT, mine.start, mine.end, said, says, place, share)
            )
    return found


def _is_of_one_thing(mine: PolarClause, other: PolarClause, words: Mapping[str, float]) -> bool:
    """Whether what one of two clauses denies is what the other one affirms, and neither sentence
    denies more than that.
    """
    if (mine.in_sentence, other.in_sentence) not in ((0, 1), (1, 0)):
        return False
    target, affirmed = (other.target, words) if other.denies else (mine.target, other.stems)
    shared = words.keys() & other.stems
    return len(shared) >= _LEAST_WORDS and (not target or target in affirmed)


def _contrary(
    claim: TextFacts, mine: PolarClause, words: Mapping[str, float], passages: Sequence[TextFacts]
) -> tuple[int, PolarClause, float] | None:
    """The clause of the passages that says the contrary, with its passage and share."""
    total = sum(words.values())
    said = claim.reading.text[mine.start : mine.end]
    same, best = 0.0, 0.0
    contrary: tuple[int, PolarClause, float] | None = None
    denies = claim.clause_denies(mine.start)
    for number, passage in enumerate(passages):
        for other in passage.polar_clauses:
            if words.keys().isdisjoint(other.stems.keys()):
                continue  # neither says the same nor the contrary
            share = sum(words[stem] * other.stems[stem] for stem in words.keys() & other.stems)
            share /= total
            if is_set_against(said, passage, other.start):
                continue
            # "There is no water" is "the water is turned off".
            is_same = denies == passage.clause_denies(other.start)
            if other.denies == mine.denies or is_same:
                same = max(same, share)
            elif share > best and _is_of_one_thing(mine, other, words):
                best, contrary = share, (number, other, share)
    return contrary if best >= _LEAST and best - same >= _AHEAD else None
