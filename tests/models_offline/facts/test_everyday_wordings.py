"""Faults and rewordings of everyday texts: rates, results of games, weights and volumes, how many
of all, which is more, and what is no longer so.
"""

from __future__ import annotations

import pytest

from ragassay.core import MatchCall
from ragassay.models.offline.facts.checker import FactChecker
from ragassay.models.offline.facts.quantities import quantities
from ragassay.models.offline.reading import read
from support.facts import findings

_DOUGH = "Mix 500 g of flour with 12 g of salt and 300 ml of water."
_GAME = "Elmswell beat Tarn Rovers 3-1 on Sunday in front of 800 people. Tarn had led 1-0."
_TICKETS = "A day ticket costs 6 euros. Late return of a bike costs 4 euros a day."
_RENT = "Rent cannot be raised in the first three years. After that it may rise by 4 %."
_PARK = "The park counted 80,000 visitors last year, fewer than in the year before."
_ROOMS = "A few of the rooms have a view of the sea. All rooms have a desk."
_OWNER = (
    "The landlord, Nora Feld, pays for repairs of the heating; small repairs are paid by the"
    " tenant, Ian Low."
)
_SCREENS = "Unlike the Orbit One, the Orbit Mini has no screen on the front."
_SUPPORT = "Support for Windows 8 was dropped in version 6."
_HUT = "The hut sleeps eight people. Dogs are welcome for 5 euros. Smoking is not permitted."
_STUDY = "The supplement had no effect on memory. It improved sleep slightly."
_GUARANTEE = (
    "Every Lomax lamp comes with a warranty of 24 months from the date of purchase. The battery is"
    " covered for 12 months."
)

CONFLICTS = {
    "another result of a game": (
        "Elmswell won the game against Tarn Rovers 4-1.",
        _GAME,
        "4-1",
        "3-1",
    ),
    "a volume in place of a weight": (
        "You need 12 tablespoons of salt for 500 g of flour.",
        _DOUGH,
        "12 tablespoons",
        "12 g",
    ),
    "for another time": (
        "If you return a bike late, it costs 4 euros per hour.",
        _TICKETS,
        "4 euros per hour",
        "4 euros a day",
    ),
    "as often in another time": (
        "Take one capsule twice a week.",
        "Take one capsule twice a day after a meal.",
        "twice a week",
        "twice a day",
    ),
    "most where it is a few": ("Most of the rooms have a view of the sea.", _ROOMS, "Most", "few"),
    "more than before, told in a clause behind": (
        "Last year the park had 80,000 visitors, which is more than in the previous year.",
        _PARK,
        "which is more than in the previous year",
        _PARK,
    ),
    "denied of what the passage names in another sentence": (
        "Dogs are not allowed in the hut.",
        _HUT,
        "Dogs are not allowed in the hut.",
        "Dogs are welcome for 5 euros.",
    ),
    "a change of what is not changed": (
        "The supplement improved memory.",
        _STUDY,
        "The supplement improved memory.",
        "The supplement had no effect on memory.",
    ),
    "half where it is nothing": (
        "Children below six pay half of the fee.",
        "The fee is 80 euros; children under six pay nothing.",
        "Children below six pay half of the fee.",
        "; children under six pay nothing.",
    ),
    "raised while it cannot be": (
        "The rent can only be increased while the first three years are running.",
        _RENT,
        "increased",
        "raised",
    ),
    "raised where it cannot be": (
        "The rent can be increased in the first three years.",
        _RENT,
        "increased",
        "raised",
    ),
}

AGREEING = {
    "the result of a game": ("Elmswell won the game against Tarn Rovers 3-1.", _GAME),
    "the weight of a stuff": ("You need 12 grams of salt for 500 g of flour.", _DOUGH),
    "a volume of another stuff": ("You need 300 ml of water for 500 g of flour.", _DOUGH),
    "for the same time": ("If you return a bike late, it costs 4 euros per day.", _TICKETS),
    "as often, in figures": (
        "Take one capsule two times per day.",
        "Take one capsule twice a day after a meal.",
    ),
    "once in a time, told by every": (
        "The K2 should be descaled once a quarter.",
        "Descale the K4 once a month. Descale the K2 every three months.",
    ),
    "denied in another sentence": (
        "Do not use Arvo for a sudden attack.",
        "Patients should use the Arvo inhaler twice a day, morning and evening. Rinse the mouth"
        " after each use to prevent thrush. It is not for sudden attacks; use the blue reliever"
        " inhaler for these.",
    ),
    "some where it is most": (
        "Some of the rooms have a view of the sea.",
        "Most of the rooms have a view of the sea.",
    ),
    "fewer than before": (
        "Last year the park had 80,000 visitors, which is fewer than in the previous year.",
        _PARK,
    ),
    "a range in figures": (
        "Adults may take 1-2 tablets every 4 to 6 hours and a maximum of eight tablets.",
        "Take one or two tablets every four to six hours. Do not take more than 8 tablets.",
    ),
    "a bound and something beside it": (
        "You're allowed one case weighing no more than 20 kg plus a small bag.",
        "Each passenger may take one case of up to 20 kg and one small bag.",
    ),
    "two guarantees in other words": (
        "Lomax lamps are covered for two years from the day of purchase, while the battery has a"
        " one-year warranty.",
        _GUARANTEE,
    ),
    "a person and the name of it": (
        "The landlord pays for heating repairs, and the tenant for small ones.",
        _OWNER,
    ),
    "only once a time is over": (
        "The rent can only be increased once the first three years are over.",
        _RENT,
    ),
    "what another one is unlike": ("The Orbit One has a screen on the front.", _SCREENS),
    "no longer so": ("Windows 8 is no longer supported from version 6 on.", _SUPPORT),
    "still to come": (
        "The Danish authority still has to agree to the sale.",
        "Shareholders agreed to the sale; the Danish authority has not yet agreed.",
    ),
    "shut since": (
        "The Neustadt branch has been shut since January 2024.",
        "Since January 2024 the branch in Neustadt has been closed.",
    ),
    "a change of another thing": ("The supplement improved sleep a little.", _STUDY),
    "no change": ("The supplement did not improve memory.", _STUDY),
    "what another policy changed": (
        "The new policy reduced waste.",
        "The old policy had no effect on waste. The new policy reduced waste.",
    ),
    "a change for others": (
        "The supplement improved memory in children.",
        "The supplement had no effect on memory in adults, but it improved memory in children.",
    ),
    "a change that was hoped for": (
        "Researchers had hoped that the supplement would improve memory.",
        _STUDY,
    ),
    "most beside some": ("Most shops close at eight.", "Some shops close at six, most at eight."),
    "once where it is each": (
        "The bed linen is washed once a week.",
        "The bed linen is washed each week. Wash the curtains once a year.",
    ),
    "an amount told twice": (
        "The annual bonus is 2,000 euros a year.",
        "Staff are paid 2,000 euros a month. 2,000 euros is also the bonus for each full year.",
    ),
    "welcome": ("Dogs are allowed in the hut.", _HUT),
}


@pytest.mark.parametrize(
    ("claim", "passage", "said", "found"), CONFLICTS.values(), ids=CONFLICTS.keys()
)
def test_a_fault_of_everyday_texts_is_found_with_its_words(
    checker: FactChecker, claim: str, passage: str, said: str, found: str
) -> None:
    told = findings(checker, claim, passage)
    assert (said, found) in [(each.said.strip(), each.found.strip()) for each in told]


@pytest.mark.parametrize(("claim", "passage"), AGREEING.values(), ids=AGREEING.keys())
def test_an_everyday_rewording_is_no_fault(checker: FactChecker, claim: str, passage: str) -> None:
    assert findings(checker, claim, passage) == []


def test_unlike_is_of_a_word_and_not_of_letters(checker: FactChecker) -> None:
    told = findings(checker, "Coffee is served by the team.", "Unlike tea, coffee is not served.")
    assert [each.rule for each in told] == ["negation"]


@pytest.mark.parametrize(
    "text",
    [
        "2 euros da\u0131ly",
        "Auguſt 5, on a ſunday",
        "the ſixth",
        f"{'9' * 4000} euros",
        "5 \u212am",
    ],
)
def test_letters_that_only_look_like_others_and_endless_numbers_are_read(
    checker: FactChecker, text: str
) -> None:
    assert findings(checker, text, text) == []


def test_a_fact_is_quoted_letter_by_letter_as_the_claim_writes_it(checker: FactChecker) -> None:
    (name,) = findings(checker, "Kaſpar Holt opened the bridge.", "The bridge was opened.")
    assert name.said == "Kaſpar Holt"


def test_a_plus_before_another_thing_is_no_bound() -> None:
    assert quantities("up to 20 kg plus a bag")[0].bound == "at most"
    assert quantities("people of 60 plus")[0].bound == "at least"


def test_two_small_numbers_that_follow_each_other_are_a_range() -> None:
    (several,) = quantities("two or three spoons")
    assert (several.low, several.high) == (2, 3)
    assert len(quantities("two or five spoons")) == 2


SAME = {
    "meets quarterly": ("It meets quarterly.", "Meetings are held four times a year."),
    "compared from the other side": (
        "The hall is smaller than the church.",
        "The church is larger than the hall.",
    ),
    "postage": (
        "Shipping costs will not be reimbursed.",
        "Delivery charges are not refunded. All else is refunded within ten days.",
    ),
}


@pytest.mark.parametrize(("claim", "passage"), SAME.values(), ids=SAME.keys())
def test_what_says_the_same_in_other_words_is_known(
    checker: FactChecker, claim: str, passage: str
) -> None:
    call, index = MatchCall("support", claim, (passage,), None), read((passage,))
    assert checker.told(call, index) > 0.9 or checker.says_alike(call, index)
    assert checker.findings(call, index) == []
