"""Whether a claim denies what its passages deny, in whatever words: "dogs can't come in" beside
"dogs are not admitted".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ragassay.models.offline.facts.contrary import Beside, beside
from ragassay.models.offline.facts.meaning import ClauseMeaning
from ragassay.models.offline.facts.text_facts import TextFacts

_LEAST, _AHEAD = 0.5, 0.1
"""Share of a clause of the claim that one of the passages has which denies alike, and by how much
more than any that says the contrary.
"""

_MOST_SENTENCES = 30
"""Sentences of the passages; where there are more, a thing is spoken of in too many places."""


def denied_alike(
    claim: TextFacts, passages: Sequence[TextFacts], weight: Callable[[str], float]
) -> bool:
    """Whether a clause of the claim denies, or has the other side of what is denied, and the
    passages say the same of it. weight: how rare a stem is.
    """
    if sum(len(passage.reading.sentences) for passage in passages) > _MOST_SENTENCES:
        return False
    found = False
    for mine in claim.meanings:
        if mine.is_mixed or mine.is_condition:
            continue
        others = list(beside(mine, claim, passages, weight))
        contrary = max((each.shared.share for each in others if each.is_contrary), default=0.0)
        alike = [each.shared.share for each in others if _is_alike(mine, each)]
        if alike and max(alike) >= max(_LEAST, contrary + _AHEAD):
            found = True
    return found


def _is_alike(mine: ClauseMeaning, other: Beside) -> bool:
    """Whether two clauses say the same, and one of them denies."""
    if other.is_contrary or other.clause.is_mixed or other.clause.is_condition:
        return False
    if not (mine.denies or other.clause.denies):
        return False
    both = (*other.shared.same, *other.shared.turned)
    return any(not item.is_light for item in both)
