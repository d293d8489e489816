"""What a claim gives to another one than its passages, and what it says of one member of a list:
everyday sentences that are wrong, each beside twins that are right.
"""

from __future__ import annotations

import pytest

from models_offline.facts.test_reader import findings, rarity
from ragassay.models.offline.facts.checker import FactChecker
from ragassay.models.offline.facts.finding import CONFLICT

WRONG = [
    (
        "You'll need the Delos card.",
        "The city library is used with the Mira card. The Delos card opens the swimming pool.",
        "Which card do I need for the city library?",
    ),
    (
        "It is taught by Dr. Amara Obi.",
        "The Monday seminar is taught by Dr. Lukas Brandt. Dr. Amara Obi holds the Friday lecture.",
        "Who teaches the Monday seminar?",
    ),
    (
        "Harlan & Co. bought the brewery in April.",
        "In April, Dunmore Partners bought the brewery. Harlan & Co. kept its stake in the mill.",
        None,
    ),
    (
        "For a torn net, contact the Boat Office, which will mend it.",
        "Torn or lost nets are mended by the Harbour Workshop in hall 3. The Boat Office "
        "is in charge of berths and keys.",
        None,
    ),
    (
        "The Oslo team won the relay.",
        "The Bergen team won the relay. The Oslo team finished fourth.",
        None,
    ),
    (
        "Priya Nair wrote the chapter on soil.",
        "Tomas Vega wrote the chapter on soil. Priya Nair drew the maps.",
        None,
    ),
    (
        "Use the Garnet key.",
        "The attic is locked with the Topaz key. The Garnet key is for the cellar.",
        "Which key do I use for the attic?",
    ),
    (
        "The Kestrel bus goes to the airport.",
        "The Heron bus goes to the airport. The Kestrel bus stops at the market.",
        None,
    ),
    (
        "The fund lowered its fees in May.",
        "The bank lowered its fees in May; the fund left them unchanged.",
        None,
    ),
    (
        "The landlord repairs the boiler.",
        "The tenant pays for small repairs. The agency repairs the boiler, and the "
        "landlord insures the building.",
        None,
    ),
    (
        "The head coach signs the transfer papers.",
        "Transfer papers are signed by the club secretary. The head coach only picks the players.",
        None,
    ),
    (
        "The nurse prescribes the antibiotics.",
        "The doctor prescribes the antibiotics and the nurse gives the injections.",
        None,
    ),
    (
        "The librarian renews the cards of pupils.",
        "The school office renews the cards of pupils, while the librarian collects the fines.",
        None,
    ),
    (
        "The sender pays the customs duty.",
        "The recipient pays the customs duty. The sender fills in the form.",
        None,
    ),
    (
        "The pilot briefs the cabin crew before take-off.",
        "The purser briefs the cabin crew before take-off; the pilot checks the weather.",
        None,
    ),
    (
        "The eastern depot stores frozen goods.",
        "Frozen goods are stored by the western depot. The eastern depot handles furniture.",
        None,
    ),
    (
        "Yes, wine stains are covered by the carpet guarantee.",
        "The carpet guarantee covers faults of weaving and dyeing. Wine stains, burns "
        "and torn edges are not covered.",
        None,
    ),
    (
        "Torn edges are covered by the guarantee.",
        "The guarantee covers faults of weaving. Wine stains, burns and torn edges are "
        "not covered.",
        None,
    ),
    (
        "The museum pass includes guided tours.",
        "The museum pass includes entry and the audio guide. It does not include guided "
        "tours, workshops or the car park.",
        None,
    ),
    (
        "The pass includes the car park.",
        "The pass does not include guided tours, workshops or the car park.",
        None,
    ),
    (
        "You may bring glass bottles to the concert.",
        "You may bring small umbrellas. You may not bring glass bottles, drones or folding chairs.",
        None,
    ),
    (
        "Sundays are counted as working days.",
        "Saturdays are counted as working days. Sundays, bank holidays and company "
        "holidays are not counted.",
        None,
    ),
    (
        "Batteries can be put in the grey bin.",
        "Ash can be put in the grey bin. Batteries, paint and lamps cannot be put in the grey bin.",
        None,
    ),
    (
        "The clinic treats burns.",
        "The clinic treats sprains and cuts. It does not treat burns, fractures or head injuries.",
        None,
    ),
    (
        "Kayaks are insured by the club.",
        "Rowing boats are insured by the club. Kayaks, canoes and paddle boards are not insured.",
        None,
    ),
    (
        "All Bellmont flats have a balcony.",
        "A balcony is part of most Bellmont flats. The attic flats have none.",
        None,
    ),
    (
        "Breakfast is served at all Linden hostels.",
        "Breakfast is served at most Linden hostels.",
        None,
    ),
    (
        "Only drivers have to wear a reflective vest in the yard.",
        "All visitors, including children, have to wear a reflective vest in the yard. "
        "Only drivers get a parking permit.",
        None,
    ),
    (
        "Only the treasurer must sign the minutes of the meeting.",
        "Everyone on the board must sign the minutes of the meeting. Only the treasurer "
        "keeps a copy.",
        None,
    ),
    (
        "With the new frame, the bike is 300 grams heavier.",
        "With the new frame, the bike is 300 grams lighter.",
        None,
    ),
    (
        "The repaired pump uses 12 litres more.",
        "The repaired pump uses 12 litres less.",
        None,
    ),
    (
        "The regional ticket is 4 euros dearer.",
        "The regional ticket is 4 euros cheaper.",
        None,
    ),
    (
        "The train leaves 15 minutes earlier in winter.",
        "The train leaves 15 minutes later in winter.",
        None,
    ),
    (
        "The choir sang in Lyon in May 2018.",
        "The choir first sang in Porto in May 2018 and came to Lyon in July 2020.",
        None,
    ),
    (
        "In that case the museum prints the posters, while the town hall lends the chairs.",
        "If rooms are short, the town hall prints the posters and the museum lends the chairs.",
        None,
    ),
]
RIGHT = [
    (
        "You'll need the Mira card.",
        "The city library is used with the Mira card. The Delos card opens the swimming pool.",
        "Which card do I need for the city library?",
    ),
    (
        "It is taught by Dr. Lukas Brandt.",
        "The Monday seminar is taught by Dr. Lukas Brandt. Dr. Amara Obi holds the Friday lecture.",
        "Who teaches the Monday seminar?",
    ),
    (
        "Ask for Mrs. Novak.",
        "Lost keys are handed out by Mrs. Novak at the reception. Mrs. Keller runs the canteen.",
        "Who do I ask for lost keys?",
    ),
    (
        "Dunmore Partners bought the brewery in April.",
        "In April, Dunmore Partners bought the brewery. Harlan & Co. kept its stake in the mill.",
        None,
    ),
    (
        "For a torn net, contact the Harbour Workshop, which will mend it.",
        "Torn or lost nets are mended by the Harbour Workshop in hall 3. The Boat Office "
        "is in charge of berths and keys.",
        None,
    ),
    (
        "The Oslo team came fourth.",
        "The Bergen team won the relay. The Oslo team finished fourth.",
        None,
    ),
    (
        "Priya Nair drew the maps.",
        "Tomas Vega wrote the chapter on soil. Priya Nair drew the maps.",
        None,
    ),
    (
        "The cakes come from Fournil Duval.",
        "The bread is baked by Maison Perret. Fournil Duval supplies the cakes.",
        None,
    ),
    (
        "Use the Topaz key.",
        "The attic is locked with the Topaz key. The Garnet key is for the cellar.",
        "Which key do I use for the attic?",
    ),
    (
        "The Heron bus goes to the airport.",
        "The Heron bus goes to the airport. The Kestrel bus stops at the market.",
        None,
    ),
    (
        "The bank lowered its fees in May.",
        "The bank lowered its fees in May; the fund left them unchanged.",
        None,
    ),
    (
        "The agency repairs the boiler.",
        "The tenant pays for small repairs. The agency repairs the boiler, and the "
        "landlord insures the building.",
        None,
    ),
    (
        "The club secretary signs the transfer papers.",
        "Transfer papers are signed by the club secretary. The head coach only picks the players.",
        None,
    ),
    (
        "The nurse gives the injections.",
        "The doctor prescribes the antibiotics and the nurse gives the injections.",
        None,
    ),
    (
        "The librarian collects the fines.",
        "The school office renews the cards of pupils, while the librarian collects the fines.",
        None,
    ),
    (
        "The gardener plants the seeds in March.",
        "In January the head cook orders the seeds. The gardener plants them in March.",
        None,
    ),
    (
        "The sender fills in the customs form.",
        "The recipient pays the customs duty. The sender fills in the form.",
        None,
    ),
    (
        "The prizes are handed out by the deputy mayor.",
        "The mayor opens the flower market. The deputy mayor hands out the prizes.",
        None,
    ),
    (
        "The pilot checks the weather before take-off.",
        "The purser briefs the cabin crew before take-off; the pilot checks the weather.",
        None,
    ),
    (
        "The western depot stores frozen goods.",
        "Frozen goods are stored by the western depot. The eastern depot handles furniture.",
        None,
    ),
    (
        "The tenant pays for the repair of a tap.",
        "The tenant pays for small repairs, for example of a tap. The agency repairs the boiler.",
        None,
    ),
    (
        "Guests can borrow bikes from the front desk.",
        "The front desk lends bikes. Guests leave a deposit of 20 euros and get them for a day.",
        None,
    ),
    (
        "Wine stains are not covered by the carpet guarantee.",
        "The carpet guarantee covers faults of weaving and dyeing. Wine stains, burns "
        "and torn edges are not covered.",
        None,
    ),
    (
        "Faults of dyeing are covered.",
        "The carpet guarantee covers faults of weaving and dyeing. Wine stains, burns "
        "and torn edges are not covered.",
        None,
    ),
    (
        "Sports shoes are allowed in the hall.",
        "Sports shoes are allowed in the hall. Skateboards, scooters and muddy boots are "
        "not allowed.",
        None,
    ),
    (
        "The museum pass includes the audio guide.",
        "The museum pass includes entry and the audio guide. It does not include guided "
        "tours, workshops or the car park.",
        None,
    ),
    (
        "The pass excludes the car park.",
        "The pass does not include guided tours, workshops or the car park.",
        None,
    ),
    (
        "You may bring a small umbrella to the concert.",
        "You may bring small umbrellas. You may not bring glass bottles, drones or folding chairs.",
        None,
    ),
    (
        "Saturdays are counted as working days.",
        "Saturdays are counted as working days. Sundays, bank holidays and company "
        "holidays are not counted.",
        None,
    ),
    (
        "Ash can be put in the grey bin.",
        "Ash can be put in the grey bin. Batteries, paint and lamps cannot be put in the grey bin.",
        None,
    ),
    (
        "The clinic treats cuts.",
        "The clinic treats sprains and cuts. It does not treat burns, fractures or head injuries.",
        None,
    ),
    (
        "Rowing boats are insured by the club.",
        "Rowing boats are insured by the club. Kayaks, canoes and paddle boards are not insured.",
        None,
    ),
    (
        "The policy excludes mountain sports and claims caused by fire.",
        "The policy does not cover mountain sports, claims caused by fire, or trips at sea.",
        None,
    ),
    (
        "Most Bellmont flats have a balcony.",
        "A balcony is part of most Bellmont flats. The attic flats have none.",
        None,
    ),
    (
        "At most 12 hostels serve breakfast.",
        "At most 12 hostels serve breakfast.",
        None,
    ),
    (
        "Only drivers get a parking permit.",
        "All visitors, including children, have to wear a reflective vest in the yard. "
        "Only drivers get a parking permit.",
        None,
    ),
    (
        "Everyone on the board must sign the minutes of the meeting.",
        "Everyone on the board must sign the minutes of the meeting. Only the treasurer "
        "keeps a copy.",
        None,
    ),
    (
        "With the new frame, the bike is 300 grams lighter.",
        "With the new frame, the bike weighs 300 grams less.",
        None,
    ),
    (
        "The repaired pump is 3 cm longer than the old one.",
        "The old pump is 3 cm shorter than the repaired one.",
        None,
    ),
    (
        "The regional ticket costs 4 euros less.",
        "The regional ticket is 4 euros cheaper.",
        None,
    ),
    (
        "The train leaves 15 minutes later in winter.",
        "The train leaves 15 minutes later in winter.",
        None,
    ),
    (
        "The choir sang in Lyon in July 2020.",
        "The choir first sang in Porto in May 2018 and came to Lyon in July 2020.",
        None,
    ),
    (
        "In that case the town hall prints the posters, while the museum lends the chairs.",
        "If rooms are short, the town hall prints the posters and the museum lends the chairs.",
        None,
    ),
]


@pytest.fixture(scope="module")
def checker() -> FactChecker:
    return FactChecker(rarity())


@pytest.mark.parametrize(("claim", "passage", "question"), WRONG)
def test_what_is_told_of_another_is_a_conflict(
    checker: FactChecker, claim: str, passage: str, question: str | None
) -> None:
    found = findings(checker, claim, passage, question=question)
    assert any(each.status == CONFLICT for each in found)


@pytest.mark.parametrize(("claim", "passage", "question"), RIGHT)
def test_what_is_told_of_the_one_itself_is_none(
    checker: FactChecker, claim: str, passage: str, question: str | None
) -> None:
    assert not findings(checker, claim, passage, question=question)


def test_of_two_numbers_that_one_denies_only_the_one_that_stands_nowhere_is_told(
    checker: FactChecker,
) -> None:
    passage = "The loan costs 3.2 percent up to 20,000 euros and 4.6 percent on anything above."
    found = findings(checker, "The loan costs 3.9% up to €20,000; the rest costs 4.6%.", passage)
    assert [each.said for each in found] == ["3.9%"]


def test_the_letter_behind_a_degree_sign_is_no_name(checker: FactChecker) -> None:
    passage = "Cheese is stored at 4 to 6 degrees Celsius."
    assert not findings(checker, "Cheese is stored at 4 to 6 °C.", passage)
