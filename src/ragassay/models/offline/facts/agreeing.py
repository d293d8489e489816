"""Whether every amount and date of a claim stands in its passages."""

from __future__ import annotations

from collections.abc import Sequence

from ragassay.models.offline.facts.dates import Date
from ragassay.models.offline.facts.quantities import Quantity
from ragassay.models.offline.facts.same_quantity import same_quantity, says_little
from ragassay.models.offline.facts.text_facts import TextFacts


def facts_agree(claim: TextFacts, passages: Sequence[TextFacts]) -> bool:
    """Whether the claim gives amounts or dates, and the passages all of them, in whatever form."""
    amounts = [each for each in claim.quantities if not says_little(each) and not each.is_of_verb]
    if not amounts and not claim.dates:
        return False
    if not all(_has_amount(amount, passages) for amount in amounts):
        return False
    return all(_has_date(date, passages) for date in claim.dates)


def _has_amount(amount: Quantity, passages: Sequence[TextFacts]) -> bool:
    for passage in passages:
        if any(same_quantity(amount, other) for other in passage.quantities):
            return True
    return False


def _has_date(date: Date, passages: Sequence[TextFacts]) -> bool:
    for passage in passages:
        if any(date.agrees(other) and other.covers(date) for other in passage.dates):
            return True
    return False
