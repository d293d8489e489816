"""A response beside the right answer, offline: facts decide before shared words do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import ragassay
from ragassay.core import RowResult, Verdict

# Reference, response, whether it is right.
ROWS = {
    "another number": ("0.58 euros", "0.85 euros", False),
    "another number in a sentence": (
        "The reduced rate is 0.58 euros.",
        "The reduced rate is 0.85 euros.",
        False,
    ),
    "another unit": ("Refunds take 14 days.", "Refunds take 14 hours.", False),
    "another month": ("It opened on 4 May 2011.", "It opened on 4 June 2011.", False),
    "another name": (
        "Anna Weiss runs the Berlin office.",
        "Tom Brandt runs the Berlin office.",
        False,
    ),
    "a negation less": (
        "Parking is not free on weekdays.",
        "Parking is free on weekdays.",
        False,
    ),
    "a negation more": ("Dogs are allowed.", "Dogs are not allowed.", False),
    "exchanged": ("Boston beat Chicago 3 to 1.", "Chicago beat Boston 3 to 1.", False),
    "the opposite": (
        "The drug increases blood pressure.",
        "The drug lowers blood pressure.",
        False,
    ),
    "another bound": ("Take at most 2 tablets.", "Take at least 2 tablets.", False),
    "no for yes": ("Yes, it is allowed.", "No, it is allowed.", False),
    "the same": ("The reduced rate is 0.58 euros.", "It is 0.58 euros.", True),
    "the same in words": ("The battery lasts ten hours.", "The battery lasts 10 hours.", True),
    "the same in another unit": ("It is 300 metres high.", "It is 0.3 km high.", True),
    "passive": (
        "Anna Weiss runs the Berlin office.",
        "The Berlin office is run by Anna Weiss.",
        True,
    ),
    "with an admission": ("It opened in 1937.", "In 1937. I do not know the exact day.", True),
    "a name without its place": ("Madison, Wisconsin", "Madison", True),
    "the same amount in a sign": ("9 euros a month.", "The Basic plan costs €9 monthly.", True),
    "another amount in a sign": ("9 euros a month.", "The Basic plan costs €8 monthly.", False),
    "the same length": ("2.7 kilometres", "It is 2700 m long.", True),
    "another author": ("Johann Wolfgang von Goethe", "Schiller wrote it.", False),
    "the same period": ("Within 14 days.", "Two weeks at most.", True),
    "another period": ("Within 14 days.", "Two months at most.", False),
    "other words": ("The size of the vehicle", "On how large the vehicle is.", True),
    "a word that is all stop words": ("IT", "It is the IT.", True),
}


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, RowResult]]:
    rows = [
        {"id": name, "question": "What is right?", "reference": reference, "response": response}
        for name, (reference, response, _) in ROWS.items()
    ]
    store = tmp_path_factory.mktemp("correctness") / "s.db"
    with ragassay.evaluate(rows, metrics="correctness", judge="offline", store=store) as run:
        yield {row.id: row for row in run.rows()}


@pytest.mark.parametrize("name", ROWS)
def test_facts_decide_before_words_do(judged: dict[str, RowResult], name: str) -> None:
    (score,) = judged[name].scores
    assert score.verdict is (Verdict.PASS if ROWS[name][2] else Verdict.FAIL), score.rationale


def test_the_other_one_of_two_that_were_asked_about_is_wrong(tmp_path: Path) -> None:
    question = "Which city is bigger, Alton or Berwick?"
    rows = [
        {"question": question, "reference": "Alton is bigger.", "response": response}
        for response in ("Berwick is bigger.", "Alton is.", "Alton is bigger than Berwick.")
    ]
    with ragassay.evaluate(rows, metrics="correctness", store=tmp_path / "s.db") as run:
        scores = [row.scores[0] for row in run.rows()]
    assert [score.verdict for score in scores] == [Verdict.FAIL, Verdict.PASS, Verdict.PASS]
    said = 'The reference chooses "Alton"; the response chooses "Berwick".'
    assert scores[0].rationale == said


@pytest.mark.parametrize(
    ("response", "is_right"),
    [
        ("Goethe", True),
        ("It was written by Goethe.", True),
        ("It is Goethe's best known play.", True),
        ("Christiane Goethe", False),
        ("The Goethe Institute did.", False),
        ("Friedrich Schiller", False),
    ],
)
def test_a_person_who_is_asked_for_may_be_given_by_last_name(
    response: str, is_right: bool, tmp_path: Path
) -> None:
    row = {
        "question": "Who wrote Faust?",
        "reference": "Johann Wolfgang von Goethe",
        "response": response,
    }
    with ragassay.evaluate([row], metrics="correctness", store=tmp_path / "s.db") as run:
        (score,) = next(iter(run.rows())).scores
    assert score.verdict is (Verdict.PASS if is_right else Verdict.FAIL), score.rationale
    if is_right:
        assert "the last name of" in (score.rationale or "")


def test_the_rationale_names_the_fact(judged: dict[str, RowResult]) -> None:
    (score,) = judged["another number in a sentence"].scores
    said = 'The reference says "0.58 euros"; the response says "0.85 euros".'
    assert score.rationale == said
    (score,) = judged["a negation less"].scores
    said = 'Of the reference and the response, one negates "free" and the other does not.'
    assert score.rationale == said
