"""Optimising a judge of pairs: both orders as a step, over HTTP, with a judge that place moves."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ragassay
from ragassay.core import BudgetExhausted, DataError, SetupError
from ragassay.testing import Body, LLMServer
from ragassay.trust.measure.benchmarks import run_benchmark
from ragassay.tuning.optimise import Optimisation
from ragassay.tuning.reports import plan_lines
from support.present import present

Row = dict[str, Any]
PAIRS = 150
WRONG = "Nobody knows about sluice"


def pairs(better_of_biased: tuple[int, ...] = (2,), count: int = PAIRS) -> list[Row]:
    """Pairs of which one response is right. Of every third pair, where the judge looks at the place
    alone, these responses are the better ones in turn; of the others the first and the second.

    Of every 10 pairs 4 are to search on, 3 to choose on and 3 sealed; a third of each part is
    biased.
    """
    rows = []
    for number in range(count):
        better = better_of_biased[number // 3 % len(better_of_biased)]
        if number % 3:
            better = 1 + number % 2
        texts = [f"Sluice {number} was repaired in {1700 + number}.", f"{WRONG} {number}."]
        if better == 2:
            texts.reverse()
        part = "train" if number % 10 < 4 else "validation"
        if number % 10 >= 7:
            part = "sealed"
        rows.append(
            {
                "id": f"p{number}",
                "question": f"When was sluice {number} repaired?",
                "response": texts[0],
                "response_2": texts[1],
                "label": better,
                "part": part,
            }
        )
    return rows


def compare(body: Body) -> dict[str, Any]:
    """The right response, but of every third pair the one that is shown first."""
    text = str(body["messages"][-1]["content"])
    shown = present(re.search(r"<<<first\|\w+>>>\n(.*)\n<<<end", text))
    tag = present(re.search(r"<<<second\|(\w+)>>>", text))
    number = int(present(re.search(r"When was sluice (\d+)", text))[1])
    takes_first = number % 3 == 0 or "repaired" in shown[1]
    rating = "first" if takes_first else "second"
    return {"verdicts": [{"id": tag[1], "reasoning": "Compared.", "rating": rating}]}


@pytest.fixture
def server() -> Iterator[LLMServer]:
    with LLMServer(answer=compare, models=["judge", "reflector"]) as running:
        yield running


@pytest.fixture
def ask(tmp_path: Path, server: LLMServer, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`ragassay.optimise` of the judge of pairs, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def optimise(labels: object, **options: Any) -> Optimisation:
        given: dict[str, Any] = {
            "judge": "openai:judge",
            "base_url": server.url,
            "store": tmp_path / "s.db",
            "aim": "accuracy",
            "split_by": "part",
        }
        return ragassay.optimise("pair_preference", labels, **given | options)

    return optimise


def test_both_orders_are_certified_where_place_costs_right_verdicts(
    ask: Any, server: LLMServer
) -> None:
    """The better response of every biased pair is the second one, and the judge takes the first."""
    found = ask(pairs())
    step = present(found.orders)
    # 105 pairs to search and choose on; on 35 of them the orders disagree, and the first is wrong.
    assert step.figures.pairs == 105
    assert step.figures.right_first == pytest.approx(70 / 105)
    assert step.figures.agreed == pytest.approx(70 / 105)
    assert step.figures.right_agreed == 1.0
    assert step.figures.right_all == pytest.approx((70 + 35 / 2) / 105)
    assert step.figures.first_shown == pytest.approx((70 / 2 + 35) / 105)
    # Of 45 sealed pairs 15 are biased: each gains half of a right verdict.
    (finalist,) = present(found.certificate).finalists
    assert finalist.before.table == (10, 15, 0, 20)
    assert finalist.after.table == (10, 7.5, 0, 27.5)
    assert finalist.gain.difference == pytest.approx(7.5 / 45)
    assert (found.certified, found.both_orders, found.rubric) == (True, True, None)
    lines = str(found).splitlines()
    assert lines[0].startswith("Certified: accuracy 0.667 -> 0.833 on rows that the search never")
    assert " ".join(lines[1:3]) == (
        "use it: ragassay benchmark PAIRS --metric pair_preference --judge openai:judge"
        f" --base-url {server.url}"
    )
    assert lines[3].startswith("It asks about each pair in both orders.")
    # Both orders of 105 pairs, 50 of them again, and both orders of 45 sealed ones.
    assert server.stats()["calls"] == 2 * 105 + 50 + 2 * 45
    assert server.stats()["answered_twice"] == 0
    assert (found.forecast.baseline, found.forecast.high) == (210, 350)


def test_a_judge_that_abstains_where_its_orders_disagree_gains_nothing_by_that(
    ask: Any, server: LLMServer
) -> None:
    """Both orders are right on all they agree on. Yet of 35 biased pairs the first order has 20
    right, the second one 15: over all pairs nothing is gained, tested or changed.
    """
    found = ask(pairs((1, 2)))
    step = present(found.orders)
    assert step.figures.right_agreed == 1.0
    assert step.figures.right_first == pytest.approx((70 + 20) / 105)
    assert step.figures.right_all == pytest.approx((70 + 35 / 2) / 105)
    assert not step.taken
    assert (found.certified, found.certificate) == (False, None)
    assert step.reason == "over all pairs it gains nothing"
    assert "The sealed rows were not opened" in str(found)
    assert server.stats()["calls"] == 2 * 105 + 50


def test_the_plan_speaks_of_pairs_and_counts_both_orders(ask: Any, server: LLMServer) -> None:
    told: list[str] = []

    def decline(ready: Any) -> bool:
        told.extend(plan_lines(ready))
        return False

    with pytest.raises(ragassay.core.NothingToDo):
        ask(pairs(), confirm=decline)
    assert told[0] == "aim: raise accuracy"
    # Of the 100 pairs that are not biased every second one has the better response first.
    assert "labels: 150 pairs in 150 clusters; people prefer the first response of 50 of them" in (
        told
    )
    assert any(line.startswith("  210 for the judge as it is in both orders") for line in told)
    assert server.calls == 0


def test_a_stop_at_a_cap_goes_on_and_buys_no_order_twice(ask: Any, server: LLMServer) -> None:
    for cap in (100, 200, 300):
        with pytest.raises(BudgetExhausted):
            ask(pairs(), max_calls=cap)
        assert server.stats()["calls"] <= cap
    assert ask(pairs(), max_calls=1200).certified
    assert server.stats()["calls"] == 350
    assert server.stats()["answered_twice"] == 0


def test_a_pair_that_is_lost_in_one_order_has_no_verdict_and_one_without_a_winner_counts_half(
    ask: Any, server: LLMServer
) -> None:
    def odd(body: Body) -> Any:
        reply = compare(body)
        text = str(body["messages"][-1]["content"])
        if "sluice 3 " in text:
            reply["verdicts"][0]["rating"] = "equal"
        if "sluice 4 " in text and "<<<first|" in text.partition(WRONG)[0][-30:]:
            return "I would rather not say."
        return reply

    server.answer = odd
    figures = present(ask(pairs()).orders).figures
    # Pair 4, whose responses are swapped in one order, is left out; pair 3 was wrong in the order
    # of the rows, and is now half right there and in both.
    assert figures.pairs == 104
    assert figures.right_first == pytest.approx((69 + 0.5) / 104)
    assert figures.right_all == pytest.approx((69 + 35 / 2) / 104)
    assert figures.agreed == pytest.approx(69 / 104)
    # Pair 3 has no winner that could have been shown first.
    assert figures.first_shown == pytest.approx((69 / 2 + 34) / 103)


def learns(body: Body) -> Any:
    """A judge that takes what is shown first until its rubric speaks of years, of all pairs but
    every third; and a reflector that proposes that.
    """
    if body["model"] == "reflector":
        assert "To pass a pair is to prefer its first response." in str(body["messages"][-1])
        text = "A response that names a year is better than one that names none."
        edit = {"action": "add", "part": "criterion", "text": text, "reason": "The cases share it."}
        return json.dumps({"edits": [edit]})
    reply = compare(body)
    rules = str(body["messages"][0]["content"]).partition("Ratings:")[0]
    if "names a year" not in rules:
        reply["verdicts"][0]["rating"] = "first"
    return reply


def test_a_rubric_and_both_orders_are_certified_together_and_the_file_is_benchmarked(
    ask: Any, server: LLMServer, tmp_path: Path
) -> None:
    server.answer = learns
    found = ask(pairs(), reflector="openai:reflector", max_calls=1500)
    assert (found.certified, found.both_orders) == (True, True)
    assert [name for name, _ in found.finalists] == [
        "rubric 1 in both orders",
        "rubric 1",
        "both orders",
    ]
    # Always the first response is right on 10 of 45; the rubric mends 20, both orders 7.5 more.
    first = present(found.certificate).finalists[0]
    assert first.before.table == (10, 35, 0, 0)
    assert first.after.table == (10, 7.5, 0, 27.5)
    lines = str(found).splitlines()
    assert lines[1] == "wrote pair_preference-2.md"
    assert " ".join(lines[2:4]) == (
        "use it: ragassay benchmark PAIRS --metric pair_preference --judge openai:judge"
        f" --base-url {server.url} --rubric pair_preference-2.md"
    )
    measured = run_benchmark(
        pairs(),
        "openai:judge",
        metric="pair_preference",
        rubrics=[tmp_path / "pair_preference-2.md"],
        base_url=server.url,
        store=tmp_path / "s.db",
        draws=100,
    )
    position = {each.name: each.value for each in measured.benchmark.judges[0].position}
    assert position["accuracy_order1"] == pytest.approx(100 / 150)
    assert position["consistent"] == pytest.approx(100 / 150)


def test_one_pair_in_two_orders_is_one_row_in_one_part(ask: Any) -> None:
    rows = pairs()
    first = rows[0]
    turned = {
        **first,
        "id": "turned",
        "response": first["response_2"],
        "response_2": first["response"],
        "label": 3 - first["label"],
        "part": "sealed",
    }
    with pytest.raises(DataError, match="with the same texts lie in two parts"):
        ask([*rows, turned])
    found = ask([*rows, turned], split_by=None)
    assert any("1 cluster was joined" in note for note in found.notes)
    assert not any("different labels" in note for note in found.notes)


def test_labels_that_say_how_much_better_and_ties_are_read(ask: Any) -> None:
    rows = [{**row, "label": {1: -1, 2: 2}[row["label"]]} for row in pairs()]
    rows[1]["label"] = 0
    found = ask(rows)
    assert "1 pairs of which people prefer neither response are left out" in found.notes
    assert len(found.split.rows) == PAIRS - 1
    assert np.array_equal(found.split.rows.truth, found.split.rows.label < 0)


@pytest.mark.parametrize(
    ("labels", "options", "code"),
    [
        (pairs(), {"judge": "offline"}, "E0205"),
        (pairs(), {"cut": 2}, "E0205"),
        (pairs(), {"aim": "f1"}, "E0701"),
        (pairs(), {"aim": "accuracy where precision >= 0.9"}, "E0701"),
        (pairs(), {"aim": "a false pass is three times as bad"}, "E0701"),
        ([{**row, "label": row["label"] - 1} for row in pairs()], {}, "E0205"),
        ([row for row in pairs() if row["label"] == 2], {}, "E0702"),
        ([{**row, "response_2": None} for row in pairs()], {}, "E0205"),
        (pairs(count=20), {}, "E0702"),
    ],
    ids=["offline", "cut", "f1", "precision", "costs", "0 and 1", "one place", "single", "few"],
)
def test_what_cannot_be_optimised_is_refused_before_anything_is_asked(
    ask: Any, server: LLMServer, labels: list[Row], options: dict[str, Any], code: str
) -> None:
    with pytest.raises((SetupError, DataError)) as refused:
        ask(labels, **options)
    assert refused.value.code == code
    assert server.calls == 0
