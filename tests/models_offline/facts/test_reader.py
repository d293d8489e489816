"""Claims are set beside passages fact by fact: what is denied, what stands nowhere, and what is
only said in other words.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.models.offline.facts.checker import MOST_READ, FactChecker
from ragassay.models.offline.facts.finding import ABSENT, CONFLICT
from support.facts import findings, rarity

_MOTOR = "The guarantee is 5 years on the motor and 2 years on all other parts."
_SENSE = "The head of sales reports to the finance director."
_MOVED = "The head office moved from Porto to Lisbon in 2018."
_HOURS = "The pool opens at 7 am and closes at 9 pm."
_KETTLES = (
    "The K4 boils a full load in about six minutes and switches itself off at 100 °C. The K2 draws"
    " 1,500 watts and boils a full load in four minutes."
)
_BINS = (
    "In Northgate, grey bins are emptied every two weeks on Mondays, blue bins every four weeks on"
    " Wednesdays. A second bin costs £96 a year. In Southgate, grey bins are emptied on Thursdays."
)
CONFLICTS = {
    "a near quotation with another unit": (
        "A passport that is valid for three years beyond the stay is required.",
        "Required are a passport that is valid for three months beyond the stay and a photo. Bank"
        " statements of the last three years must be shown.",
        "three months",
    ),
    "a near quotation with another number": (
        "The K4 boils a full load in about four minutes and switches itself off at 100 °C.",
        _KETTLES,
        "six minutes",
    ),
    "a near quotation with another bound": (
        "Requests are entered in the portal at most four weeks in advance.",
        "Requests are entered in the portal at least four weeks in advance.",
        "least",
    ),
    "a near quotation with another rate": (
        "A second grey bin costs £96 a month.",
        "A third bin is not to be had. A second grey bin costs £96 a year.",
        "£96 a year",
    ),
    "a near quotation without its negation": (
        "Rosa Molina had warned of the eruption in a report of 1980, which was published.",
        "Rosa Molina had warned of the eruption in a report of 1980, which was not published. Her"
        " second report was published in 1984.",
        "was not published",
    ),
    "a near quotation of a sentence on it": (
        "Seventy workers died during the construction of the Arnesund Bridge.",
        "The Arnesund Bridge cost 44 million crowns and has a span of seventy metres. Seventeen"
        " workers died during its construction.",
        "Seventeen",
    ),
    "denied of it in the next sentence": (
        "The museum is open on Mondays.",
        "The museum is open from Tuesday to Sunday. It is closed on Mondays.",
        "closed",
    ),
    "denied of it with a verb of irregular forms": (
        "The antibiotic should be taken with milk.",
        "Take the antibiotic with a glass of water. Do not take it with milk, which weakens it.",
        "take",
    ),
    "denied before an or": (
        "You can drive after taking Sedarol.",
        "Do not drive or use machines after taking Sedarol, as it can make you sleepy.",
        "drive",
    ),
    "anyone": (
        "Anyone may apply for the card.",
        "Only residents of the city may apply for the card.",
        "Only residents of the city may apply for the card.",
    ),
    "two values exchanged": (
        "Grey bins are emptied on Thursdays in Northgate and on Mondays in Southgate.",
        _BINS,
        _BINS.partition(" A second")[0],
    ),
    "a sum of other numbers": (
        "The guarantee is 7 years on the motor and 2 years on all other parts.",
        _MOTOR,
        "5 years",
    ),
    "a product of other numbers": (
        "The guarantee is 10 years on the motor and 2 years on all other parts.",
        _MOTOR,
        "5 years",
    ),
    "a product of counts": (
        "The house has 8 bedrooms and 2 bathrooms.",
        "The house has 4 bedrooms and 2 bathrooms.",
        "4",
    ),
    "roles without names": ("The finance director reports to the head of sales.", _SENSE, _SENSE),
    "active and passive": (
        "Verrocchio was taught by Leonardo da Vinci in Florence.",
        "Verrocchio taught Leonardo da Vinci in Florence.",
        "Verrocchio taught Leonardo da Vinci in Florence.",
    ),
    "where it was before": ("Since 2018 the head office is in Porto.", _MOVED, _MOVED),
    "mainly of a small share": (
        "It consists mainly of methane.",
        "It consists of about 95 % nitrogen and 5 % methane.",
        "5 %",
    ),
    "open until it opens": ("The pool is open until 7 am.", _HOURS, "9 pm."),
    "open until another time": ("The pool is open until 10 pm.", _HOURS, "9 pm."),
    "closes when it opens": ("It closes at 7 am.", "It is open from 7 am until 9 pm.", "9 pm."),
    "number": ("It is 27 kilometres long.", "The bridge is 2.7 kilometres long.", "2.7 kilometres"),
    "unit": ("Batteries last 10 hours.", "The batteries last 10 days.", "10 days"),
    "number of another": (
        "The premium plan costs 10 dollars a month.",
        "The premium plan costs $20 a month, the basic plan $10 a month.",
        "$20",
    ),
    "date": ("The bridge was opened in 1973.", "The bridge was opened in 1937.", "1937"),
    "weekday": ("The museum is closed on Tuesday.", "The museum is closed on Monday.", "Monday"),
    "bound": (
        "A stay takes at least 30 days.",
        "A stay takes at most 30 days.",
        "30 days",
    ),
    "name": (
        "Tom Brandt runs the Berlin office.",
        "Anna Weiss runs the Berlin office. Tom Brandt runs the Paris office.",
        "Paris",
    ),
    "one of two parallel clauses": (
        "Ms Weil teaches Form 7.",
        "Form 7 is taught by Ms Oduya, Form 8 by Ms Weil.",
        "Form 7 is taught by Ms Oduya, Form 8 by Ms Weil.",
    ),
    "two numbers in words": (
        "There are nine Frogs and twelve Hedgehogs.",
        "Group Frogs has 12 children and group Hedgehogs has 9.",
        "group Hedgehogs has 9",
    ),
    "comparison by amounts": (
        "The oral part counts more than the written one.",
        "The written part counts for 70 percent and the oral part for 30 percent.",
        "The written part counts for 70 percent and the oral part for 30 percent.",
    ),
    "what is excepted": (
        "Homework is also given on Fridays.",
        "Homework is set on every weekday except Friday.",
        "Homework is set on every weekday except Friday.",
    ),
    "a predicate that is left out": (
        "The base is dishwasher-safe.",
        "The lid is dishwasher-safe, but the base is not.",
        ", but the base is not.",
    ),
    "another place": (
        "Phones must be turned off in the lobby.",
        "Phones have to be switched off on the stage. The lobby has a bar.",
        "Phones have to be switched off on the stage.",
    ),
    "what is reserved for others": (
        "Pupils may park behind the school.",
        "Parking behind the school is reserved for staff.",
        "Parking behind the school is reserved for staff.",
    ),
    "a neighbour on the opposite": (
        "Opened items may be returned within 30 days for a full refund.",
        "Unopened items may be returned within 30 days for a full refund. Opened items cannot be"
        " returned.",
        "returned",
    ),
    "a state of two": (
        "The hall is open in July.",
        "The hall is closed in July.",
        "closed",
    ),
    "role": ("France beat Croatia.", "Croatia beat France.", "Croatia beat France"),
    "negation": (
        "Parking is free on weekdays.",
        "Parking is not free on weekdays. On Sundays it is free.",
        "free",
    ),
    "opposite": (
        "Smoking is allowed in the lobby.",
        "Smoking is prohibited in the lobby.",
        "prohibited",
    ),
    "direction": ("Sales fell in 2020.", "Sales rose in 2020.", "rose"),
    "quantifier": (
        "All employees wear a badge.",
        "Some employees wear a badge.",
        "Some",
    ),
    "two numbers exchanged": (
        "The blue line runs every 12 minutes and the green line every 8.",
        "The blue line runs every 8 minutes, the green line runs every 12 minutes by day.",
        "The blue line runs every 8 minutes",
    ),
    "two names exchanged": (
        "Kovac sailed from Bergen and Duarte from Hull.",
        "Duarte sailed from Bergen, with two ships. Kovac had left Hull.",
        "Kovac had left Hull",
    ),
    "a name in the place of another": (
        "The second officer, Robert Ashe, wrote the account of the journey.",
        "The second officer, Pavel Orlov, wrote an account of the journey. Robert Ashe was ill.",
        "Pavel Orlov",
    ),
    "two denials in one sentence": (
        "Vaultline is able to reset a lost passphrase.",
        "Vaultline cannot read your files and cannot reset a lost passphrase.",
        "reset",
    ),
    "forbidden here and allowed there": (
        "Ball games are allowed in the large pool.",
        "Ball games are forbidden in the large pool but allowed in the small one.",
        "forbidden",
    ),
    "modal": ("Guests must book a table.", "Guests may book a table.", "may"),
    "told of another": (
        "Deliveries are planned by Nadia Kern.",
        "Nadia Kern plans the shifts, Felix Ode the deliveries.",
        "Felix Ode",
    ),
    "told of another place": (
        "In Lyon, requests are approved by Sonja Weil.",
        "Sonja Weil approves requests in Berlin, Marc Oduya those in Lyon.",
        "Marc Oduya",
    ),
    "a part that another plays": (
        "The tenant pays for heating.",
        "The tenant pays for electricity; the landlord pays for water and heating.",
        "landlord",
    ),
    "a comparison turned round": (
        "The X2 costs less than the X1.",
        "The X1 is cheaper than the X2 but has no radio.",
        "The X1 is cheaper than the X2 but has no radio.",
    ),
    "only some of a kind": (
        "All jars of Garden Pesto are affected.",
        "Only jars of Garden Pesto from the plant in Selby are affected.",
        "Only jars of Garden Pesto from the plant in Selby are affected.",
    ),
    "a share that is not most": (
        "Most patients feel sick.",
        "About 3 % of patients feel sick.",
        "3 %",
    ),
    "before and after": (
        "The note is needed before the fourth day.",
        "The note is needed from the fourth day on.",
        "fourth",
    ),
    "a denial left to the clause before": (
        "Trout live in the lake.",
        "The lake is home to char but not to trout.",
        "trout",
    ),
    "a denial in other words": (
        "Pets are permitted.",
        "Pets are not accepted, guide dogs excepted.",
        "Pets are not accepted",
    ),
    "a change the other way": (
        "Once your animal turns seven, the premium goes down.",
        "Premiums rise when the animal turns seven.",
        "Premiums rise",
    ),
    "a switch in its other state": (
        "By default, logging in by fingerprint is enabled.",
        "Fingerprint login is switched off by default.",
        "Fingerprint login is switched off by default.",
    ),
    "a place that another sentence names": (
        "European customers' data is kept in Osaka.",
        "Data of European customers is stored in Frankfurt. The firm was founded in Osaka.",
        "Frankfurt",
    ),
    "half a name": (
        "Border Services keeps lost property.",
        "Lost property is kept by Anker Services for 90 days.",
        "Anker Services",
    ),
    "a buyer and a seller exchanged": (
        "Liv Dahl bought KeyNest from Ostrava Software.",
        "KeyNest was bought by Ostrava Software from its founder Liv Dahl.",
        "KeyNest was bought by Ostrava Software from its founder Liv Dahl.",
    ),
    "a journey turned round": (
        "The cruise begins in Budapest and ends in Passau.",
        "The cruise goes from Passau to Budapest and takes seven nights.",
        "The cruise goes from Passau to Budapest and takes seven nights.",
    ),
    "two things of two others exchanged": (
        "Clean the condenser after every cycle and the filter monthly.",
        "The filter must be cleaned after every cycle, the condenser once a month.",
        "The filter must be cleaned after every cycle, the condenser once a month.",
    ),
    "what may be and what may not exchanged": (
        "You may keep cockerels but not hens.",
        "Hens may be kept, cockerels may not.",
        "Hens may be kept, cockerels may not.",
    ),
    "a bound that leaves out a range": (
        "Apply it at least four times a day.",
        "Apply the gel two to three times a day.",
        "two to three",
    ),
    "a number behind what it numbers": (
        "The reading room is room 241.",
        "The reading room is room 214, on the second floor.",
        "214",
    ),
    "the number of another item": (
        "Item 7 has the number 56.",
        "Item 7 has the number 49 and weighs 3 kilograms. Item 8 has the number 56.",
        "8",
    ),
    "a month of the same day": (
        "Applications close on 31 March.",
        "Applications close on 31 January; interviews take place in March.",
        "31 January",
    ),
}


@pytest.mark.parametrize(
    ("claim", "passage", "found"),
    CONFLICTS.values(),
    ids=CONFLICTS,
)
def test_a_fact_that_the_passages_deny_is_found_with_its_place(
    checker: FactChecker, claim: str, passage: str, found: str
) -> None:
    first = findings(checker, claim, passage)[0]
    assert first.status == CONFLICT
    assert first.found == found
    assert first.said == claim[first.start : first.end]
    assert first.place is not None
    number, start, end = first.place
    assert number == 0
    assert found in passage[start:end]


AGREEING = {
    "a near quotation of another sentence": (
        "The K2 boils a full load in four minutes.",
        _KETTLES,
    ),
    "a near quotation with a rounded number": (
        "The library keeps 1.9 million books on its shelves.",
        "The library keeps 1.92 million books on its shelves.",
    ),
    "a near quotation with a bound": (
        "The railway serves more than 40 towns in the valley.",
        "The railway serves 47 towns in the valley.",
    ),
    "a near quotation with another way to count": (
        "Take the capsules three times daily over the course of a week.",
        "Take the capsules three times a day for 7 days.",
    ),
    "the day on which it was written": (
        "On March 1, 2017 Powell was named as a candidate for the court.",
        "Powell named as a candidate for the court\nBy Ida Holm on March 2, 2017\nThe commission"
        " named Powell as a candidate for the court. It met on March 1, 2017.",
    ),
    "each year unless": (
        "The policy is renewed each year on 1 January.",
        "The policy is renewed each year on 1 January unless it is cancelled by 30 November.",
    ),
    "what can be cancelled": (
        "Free of charge until 48 hours before you arrive.",
        "Bookings can be cancelled free of charge until 48 hours before arrival; after that one"
        " night is charged.",
    ),
    "degrees": ("The water is heated to 26 °C.", "The pool is heated to 26 degrees in May."),
    "not before": (
        "Changes do not take effect before a restart, except for log_level.",
        "The server reads the file at start; changes take effect only after a restart, except for"
        " log_level.",
    ),
    "a year that is compared with": (
        "The games of 2018 in Pelm were smaller than those of 2014.",
        "The games of 2018 in Pelm were smaller: 1,540 athletes. The games of 2014 had 1,860.",
    ),
    "two values as they are": (
        "Grey bins are emptied on Mondays in Northgate and on Thursdays in Southgate.",
        _BINS,
    ),
    "a date in two clauses": (
        "Young faced Kedzie at Series 4 on April 9, 2011 in Albuquerque.",
        "Series 4 is held in Albuquerque. Young meets Kedzie on April 9, as was told in 2011.",
    ),
    "three of a price": ("Three tickets are 45 euros.", "A ticket is 15 euros."),
    "a total of two counts": (
        "It has 6 rooms in total: 4 bedrooms and 2 bathrooms.",
        "It has 4 bedrooms and 2 bathrooms.",
    ),
    "roles in the passive": (
        "Leonardo da Vinci was taught by Verrocchio.",
        "Verrocchio taught Leonardo da Vinci in Florence.",
    ),
    "roles in other order of clauses": (
        "The head of sales reports to the finance director every Monday.",
        "Every Monday the head of sales reports to the finance director.",
    ),
    "what is said of both alike": (
        "The new rules resemble the old rules.",
        "The old rules resemble the new rules.",
    ),
    "where it is now": ("Since 2018 the head office is in Lisbon.", _MOVED),
    "where it was": ("The head office was in Porto until 2018.", _MOVED),
    "open until it closes": ("The pool is open until 9 pm.", _HOURS),
    "open until it closes, without a unit": (
        "The pool is open until 21.",
        "The pool opens at 7 and closes at 21.",
    ),
    "closes when it is no longer open": (
        "It closes at 9 pm.",
        "It is open from 7 am until 9 pm.",
    ),
    "a name of stop words": ("Oh! What A War", "It is on the war."),
    "a subject of two clauses": (
        "The option old_auth disappeared in version 4.0.",
        "The option old_auth was deprecated in 3.1 and removed in 4.0.",
    ),
    "a comparison by amounts": (
        "Books can be kept longer than comics.",
        "The library lends books for two weeks and comics for one week.",
    ),
    "excepted for some": (
        "Reporters can read code.",
        "Guests can read issues but not code. Reporters can read code.",
    ),
    "required in another word": (
        "Five passes are required.",
        "Students need five passes; English is recommended but not required.",
    ),
    "a predicate that is left out": (
        "The base isn't dishwasher-safe.",
        "The lid is dishwasher-safe, but the base is not.",
    ),
    "what is paid on the day that is excepted": (
        "On Sundays you have to pay for entry.",
        "Entry is free except on Sundays.",
    ),
    "open and closed": ("It is not open in July.", "The hall is closed in July."),
    "the same number in words": ("It lasts ten hours.", "It lasts 10 hours on a full charge."),
    "another unit": ("It takes half an hour.", "It takes 30 minutes."),
    "a magnitude": ("It cost 44 billion dollars.", "It cost $44bn."),
    "a rounded number": ("About 1,200 people came.", "1,187 people came."),
    "a sum": (
        "Both cost 95 dollars together.",
        "The room costs 80 dollars and breakfast 15 dollars.",
    ),
    "a year of a date": ("It was opened in 1937.", "It was opened on 3 May 1937."),
    "a day's other name": ("The pool closes at 9 pm.", "The pool is open from 7 am to 9 pm."),
    "a part of a name": ("Weiss runs it.", "Anna Weiss runs the office."),
    "a name's short form": ("The UN agreed.", "The United Nations agreed."),
    "two negations": (
        "Parking is not forbidden.",
        "Parking is allowed here.",
    ),
    "a side of the other thing": (
        "Prices rose.",
        "Prices rose in spring, and sales fell.",
    ),
    "the passive": ("France was beaten by Croatia.", "Croatia beat France."),
    "two numbers in another order": (
        "The green line runs every 12 minutes and the blue line every 8.",
        "The blue line runs every 8 minutes, the green line runs every 12 minutes by day.",
    ),
    "an exception": (
        "Bees do not fly unless it is warmer than 10 °C.",
        "Bees fly at temperatures above 10 °C.",
    ),
    "only here, not there": (
        "Laptops are lent for use in the building, not for use at home.",
        "Laptops are lent for use in the building only.",
    ),
    "a denial by what a word means": (
        "Earrings and underwear are excluded from returns.",
        "Earrings and underwear cannot be returned.",
    ),
    "both sides at once": (
        "It is granted with fault or without fault.",
        "It is granted on grounds of fault.",
    ),
    "what is somebody": (
        "CCL19 is a ligand for CCR7.",
        "It resembles the second CCR7 ligand, CCL19, in its function.",
    ),
    "another spelling of a name": (
        "The arena stands in Southeast London beside the river.",
        "The arena stands in South East London beside the river.",
    ),
    "a number told of another subject": (
        "The winner took home 43,000 euros.",
        "She received 43,000 euros, Duarte 25,000.",
    ),
    "a yes or no before it": (
        "No. Martin has published five volumes.",
        "A Dance with Dragons took Martin five years to write.",
    ),
    "a comparison told the other way": (
        "The X2 costs more than the X1.",
        "The X1 is cheaper than the X2 but has no radio.",
    ),
    "one told beside another": (
        "Felix Ode plans the deliveries.",
        "Nadia Kern plans the shifts, Felix Ode the deliveries.",
    ),
    "not more than is at most": (
        "You should not take more than 80 mg.",
        "You may take up to 80 mg.",
    ),
    "what was compared with": (
        "In 2022 it was 410 kg.",
        "In 2022 it was 410 kg, 20 kg less than in 2021.",
    ),
    "one in five": ("A fifth of the guests came by car.", "One in five guests came by car."),
    "a denial by another word": (
        "Pregnant employees are exempt from night work.",
        "Pregnant employees do not work nights.",
    ),
    "a gap told as what is turned off": (
        "There is no water between November and March.",
        "The water is turned off from November to March.",
    ),
    "none told as not any": (
        "No insurance pays for whitening.",
        "Whitening is not covered by any insurance.",
    ),
    "what holds unless something else does": (
        "Trains do not run unless the line is clear.",
        "Trains run when the line is clear.",
    ),
    "a fronted place": (
        "In the south, Laura Peeters is responsible for claims.",
        "Claims in the north are handled by Henk Visser, those in the south by Laura Peeters.",
    ),
    "a passive of the same deed": (
        "Krume was taken over by Halm in 2019.",
        "In 2019 Halm took over the competitor Krume.",
    ),
    "hours of a day without a.m. and p.m.": (
        "You can call from Monday to Saturday between 8 a.m. and 8 p.m.",
        "The hotline is open Monday to Saturday from 8 to 20.",
    ),
    "cents of a euro": (
        "A minute costs €0.15.",
        "A minute costs 15 cents.",
    ),
    "a temperature below zero": (
        "It works down to -25 °C.",
        "It works down to minus 25 °C.",
    ),
    "metres behind a blank": (
        "It can be taken to a depth of 50 m.",
        "It is waterproof to 50 metres.",
    ),
    "one of two rooms": (
        "The archive is room 215.",
        "The reading room is room 214, the archive is room 215.",
    ),
    "a number that counts nothing": ("One of them is red.", "The red one is the largest."),
}


@pytest.mark.parametrize(("claim", "passage"), AGREEING.values(), ids=AGREEING)
def test_what_is_said_in_other_words_is_no_finding(
    checker: FactChecker, claim: str, passage: str
) -> None:
    assert findings(checker, claim, passage) == []


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("It costs 35 dollars.", "35 dollars"),
        ("It was built in 1911.", "1911"),
        ("Kaspar Holt built it.", "Kaspar Holt"),
    ],
)
def test_what_stands_nowhere_is_absent(checker: FactChecker, claim: str, said: str) -> None:
    (finding,) = findings(checker, claim, "The bridge is old and made of stone.")
    assert (finding.status, finding.said, finding.found, finding.place) == (ABSENT, said, "", None)


def test_a_number_of_the_question_is_not_looked_for(checker: FactChecker) -> None:
    claim, passage = "For 35 dollars you get a room.", "Rooms are on the first floor."
    assert findings(checker, claim, passage)
    assert not findings(checker, claim, passage, question="What do I get for 35 dollars?")


def test_a_bare_yes_says_what_was_asked(checker: FactChecker) -> None:
    passage, question = "Dogs are not allowed on the beach.", "Are dogs allowed on the beach?"
    (finding,) = findings(checker, "Yes, they are.", passage, question=question)
    assert (finding.status, finding.start, finding.end) == (CONFLICT, 0, len("Yes, they are."))
    assert not findings(checker, "No.", passage, question=question)
    assert not findings(checker, "Yes.", "Dogs are allowed on the beach.", question=question)
    assert not findings(checker, "Yes.", passage, question="Are dogs allowed or not?")
    assert not findings(checker, "Yes.", passage, question="Which dogs are allowed?")


def test_conflicts_come_before_what_is_absent(checker: FactChecker) -> None:
    claim = "Kaspar Holt opened the bridge in 1973."
    statuses = [f.status for f in findings(checker, claim, "The bridge was opened in 1937.")]
    assert statuses == [CONFLICT, ABSENT]


def test_of_long_passages_the_nearest_sentences_are_read_and_nothing_is_called_absent(
    checker: FactChecker,
) -> None:
    filler = "The weather was fine and nobody spoke of it. " * (MOST_READ // 40)
    passage = f"{filler}The bridge was opened in 1937. {filler}"
    (finding,) = findings(checker, "Kaspar Holt opened the bridge in 1973.", "None.", passage)
    assert (finding.rule, finding.found) == ("date", "1937")
    assert finding.place is not None
    number, start, end = finding.place
    assert number == 1
    assert passage[start:end].strip() == "The bridge was opened in 1937."


@given(st.text(max_size=120), st.lists(st.text(max_size=120), max_size=3))
def test_any_texts_give_findings_whose_places_are_right(claim: str, passages: list[str]) -> None:
    for finding in findings(FactChecker(rarity()), claim, *passages):
        assert finding.said == claim[finding.start : finding.end]
        if finding.place is not None:
            number, start, end = finding.place
            assert finding.found in passages[number][start:end]
