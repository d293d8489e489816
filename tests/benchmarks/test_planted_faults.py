"""The pairs of benchmarks/planted_faults: the rows by hand are whole, the rules plant one fault."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.planted_faults.faults import RULES, Evidence
from benchmarks.planted_faults.figures import Judged, figures
from benchmarks.planted_faults.overturned import rules_of
from benchmarks.planted_faults.pairs import KINDS, Pair, pairs_by_hand
from benchmarks.planted_faults.words import PLACES

from ragassay.core import FactFinding

PASSAGE = (
    "Anna Kowal beat Maria Santos in Lisbon on 4 May 2011 after 52 minutes. Most of the 640 seats"
    " were not sold, and prices had increased to $12. Peter Lang of France lost in March 2009."
)


def test_every_kind_has_its_rows_by_hand() -> None:
    pairs = pairs_by_hand()
    of_kind = Counter(pair.kind for pair in pairs)
    assert set(of_kind) == set(KINDS)
    assert min(of_kind.values()) >= 40
    assert len({pair.id for pair in pairs}) == len(pairs)
    for pair in pairs:
        assert pair.question, pair.id
        assert pair.good != pair.bad, pair.id
        assert 1 <= len(pair.contexts) <= 4, pair.id


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("number", "It took 52 minutes.", "It took 32 minutes."),
        ("unit", "It took 52 minutes.", "It took 52 hours."),
        ("unit", "Prices rose to $12.", "Prices rose to €12."),
        ("date", "Lang lost in March 2009.", "Lang lost in March 2011."),
        ("negation", "The seats were not sold.", "The seats were sold."),
        ("negation", "Kowal won the match.", "Kowal did not win the match."),
        ("reversal", "Prices had increased.", "Prices had decreased."),
        ("quantifier", "Most of the seats stayed empty.", "None of the seats stayed empty."),
        ("swap", "Anna Kowal beat Maria Santos.", "Maria Santos beat Anna Kowal."),
    ],
)
def test_a_rule_plants_one_fault(kind: str, good: str, bad: str) -> None:
    assert bad in RULES[kind](good, Evidence((PASSAGE,)))


def test_a_name_gives_way_to_one_of_its_type_that_the_passages_lack() -> None:
    made = list(RULES["name"]("Lang came from France.", Evidence((PASSAGE,))))
    countries = {one.removeprefix("Lang came from ").rstrip(".") for one in made}
    assert countries
    assert countries < set(PLACES["country"]) - {"France"}


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        ("number", "More than 52 minutes were played."),  # 42 would be true as well
        ("number", "It was in 2009."),  # a year
        ("negation", "Is it sold out?"),
        ("negation", "Lang may win next time."),
        ("swap", "Anna Kowal met Maria Santos."),  # true both ways
        ("quantifier", "It was over two years."),  # "in the course of"
    ],
)
def test_a_rule_leaves_what_would_not_certainly_be_false(kind: str, answer: str) -> None:
    assert list(RULES[kind](answer, Evidence((PASSAGE,)))) == []


def test_figures_count_each_verdict_once() -> None:
    found = [
        Judged(_pair("a"), good="pass", bad="fail", overlap_good=1.0, overlap_bad=0.5),
        Judged(_pair("b"), good="pass", bad="pass", overlap_good=1.0, overlap_bad=1.0),
        Judged(_pair("c"), good="fail", bad="undecided", overlap_good=0.9, overlap_bad=0.9),
        Judged(_pair("d"), good="pass", bad="fail", overlap_good=0.8, overlap_bad=0.6),
    ]
    of = figures(found)["hand"]["number"]
    assert of["bad"] == {"fail": 2, "pass": 1, "undecided": 1}
    assert of["good"] == {"fail": 1, "pass": 3, "undecided": 0}
    assert of["bad_fail"]["rate"] == 0.5
    assert of["undecided"] == 1 / 8  # of eight answers
    assert of["reached"] == {"bad_fail": False, "good_pass": False, "undecided": False}
    assert of["overlap"] == {"bad_fail": 0.5, "good_pass": 1.0}  # the cut is 0.8


def test_the_rules_are_read_from_what_was_found() -> None:
    denied = FactFinding("number", "27 km", "2.7 km")
    nowhere = FactFinding("name", "Kaspar Holt")
    assert rules_of(()) == []
    assert rules_of((denied, nowhere, denied)) == ["number", "name, stands nowhere"]


def _pair(name: str) -> Pair:
    return Pair(name, "number", None, ("passage",), "good", "bad", "hand", name)
