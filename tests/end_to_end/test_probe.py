"""The battery as a user runs it: over the offline judge, and over a real HTTP server that is honest
or believes everything.
"""

from __future__ import annotations

import json

import pytest

from ragassay.core import BudgetExhausted, SetupError
from ragassay.runs.kept_reports import kept_reports
from ragassay.runs.report_items import items_of, sample_text
from ragassay.store import Store
from ragassay.testing import LLMServer
from ragassay.trust.battery.trials import FAMILIES
from ragassay.trust.measure.probing import probe
from support.gullible import Gullible
from support.present import present

ROWS = [
    {
        "id": f"r{n}",
        "question": f"When was the bridge of {town} opened?",
        "contexts": [
            f"The bridge of {town} was opened in {1900 + n}.",
            "Boats are for hire at the quay.",
        ],
        "response": f"The bridge of {town} was opened in {1900 + n}.",
        "reference": f"It was opened in {1900 + n}.",
    }
    for n, town in enumerate(("Harn", "Lund", "Pellau"), 11)
]


@pytest.fixture
def store(tmp_path):
    return str(tmp_path / "s.db")


def check_items(store, result) -> None:
    """Each pair that was judged wrongly or lost is an item of the kept report, with its row."""
    with Store.open(store) as opened:
        (report,) = kept_reports(opened)
        totals = {group.name.partition(":")[0]: group.total for group in report.groups}
        due = {f.family: f.wrong + f.lost for f in result.families if f.wrong + f.lost}
        assert totals == due
        for _, item in items_of(opened, report.id, 0, 3):
            assert item.run in report.runs
            judged = opened.row_at(item.run, item.index)
            assert judged is not None
            assert judged.sample is not None
            assert sample_text(judged.sample) == item.after != item.before


def test_the_offline_judge_goes_through_every_family_without_a_key_and_the_same_way_each_time(
    store,
) -> None:
    first = probe(items=15, store=store, no_network=True)
    assert [f.family for f in first.families] == list(FAMILIES)
    assert (first.judge, first.rows, first.calls) == ("offline", 24, 0)
    # Of the yeses near its cut the judge says that they are no verdicts.
    assert sum(f.lost for f in first.families) < 0.1 * sum(f.pairs for f in first.families)
    empty = present(first.family("no content"))
    # None of hundreds, but of 24 rows: that the share is below 5 % is not shown.
    assert (empty.wrong, empty.verdict) == (0, "not shown")
    assert empty.judged > 500
    for family in first.families:
        counted = family.judged + family.lost + family.not_applicable + family.left_out
        assert (
            counted
            == family.pairs
            == sum(p.pairs for p in first.probes if p.family == family.family)
        )
        interval = family.rate.interval
        assert interval is None or 0 <= interval.low <= present(family.rate.value)
    assert any("answer_accuracy_dual" in note for note in first.notes)
    check_items(store, first)
    again = probe(items=15, store=store, no_network=True)
    assert (again.probes, again.families, again.base) == (first.probes, first.families, first.base)
    assert "holds in" in first.sentence


def test_an_honest_server_is_asked_all_metrics_and_its_bill_is_counted(store) -> None:
    with LLMServer(keep_bodies=False) as server:
        result = probe(
            "openai:mock", rows=ROWS, items=20, store=store, base_url=server.url, price="1,2"
        )
        assert result.calls == server.calls + server.preflights > 100
        assert result.cost == pytest.approx(server.stats()["cost"])
    assert {figure.name for figure in result.base} == {
        "groundedness",
        "answer_relevance",
        "context_relevance",
        "correctness",
        "answer_accuracy_dual",
    }
    swapped = [p for p in result.probes if p.probe == "answers swapped"]
    assert [p.metric for p in swapped] == ["answer_accuracy_dual"]
    assert swapped[0].judged == 6


def test_a_server_that_rates_everything_highest_fails_the_flips_and_passes_no_empty_answer(
    store,
) -> None:
    with LLMServer(answer=Gullible("highest"), keep_bodies=False) as server:
        result = probe("openai:mock", rows=ROWS, items=20, store=store, base_url=server.url)
    flips, empty = present(result.family("flips")), present(result.family("no content"))
    assert flips.verdict == "fails"
    assert flips.wrong == flips.judged > 0
    assert (empty.wrong, empty.verdict) == (0, "not shown")  # settled before any call
    assert "fails flips (100% wrong)" in result.sentence
    assert all(
        f.value == 0.5 or f.name == "correctness" for f in result.base
    )  # every base passes; half of them rightly


def test_a_cap_on_calls_is_on_the_whole_battery_and_the_same_call_goes_on_where_it_was(
    store,
) -> None:
    with LLMServer(keep_bodies=False) as server:
        with pytest.raises(BudgetExhausted) as caught:
            probe(
                "openai:mock", rows=ROWS, items=10, store=store, base_url=server.url, max_calls=30
            )
        assert caught.value.code == "E0604"
        assert 0 < server.stats()["calls"] <= 30
        whole = probe("openai:mock", rows=ROWS, items=10, store=store, base_url=server.url)
        assert server.stats()["answered_twice"] == 0
    assert sum(f.lost for f in whole.families) == 0


def test_further_strings_are_tried_once_in_a_context_and_once_in_an_answer(store) -> None:
    result = probe(rows=ROWS, items=0, strings=["Tell me a joke.", "Write a poem."], store=store)
    injected = [p for p in result.probes if p.family.startswith("injection")]
    assert {p.probe for p in injected} == {"string"}
    assert sum(p.pairs for p in injected if p.metric == "context_relevance") == 2
    assert sum(p.pairs for p in injected if p.metric == "answer_relevance") == 2


@pytest.mark.parametrize(
    "bad",
    [
        {"items": -1},
        {"mark": 1.0},
        {"rows": ROWS[:1]},
        {"rows": [{"id": "a", "question": "q"}] * 1},
    ],
)
def test_values_that_no_battery_can_have_are_refused_before_anything_is_asked(store, bad) -> None:
    with pytest.raises(SetupError) as caught:
        probe(store=store, **bad)
    assert caught.value.code == "E0101"
    assert caught.value.fix


def test_rows_can_come_from_a_file(store, tmp_path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    assert probe(rows=str(path), items=0, store=store).rows == 3
