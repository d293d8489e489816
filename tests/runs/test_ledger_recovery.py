"""What a run had spent when it was killed, by the ledger in the store, where no log tells more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ragassay.core import Judgment, Ledger, RunState, Spend, Status
from ragassay.runs.ledger_recovery import _without_calls, spent_before
from ragassay.store import Store

# Ten calls at a cent; then two lost at $0.50 at most, and eight in flight at their worst case.
SAVED = Ledger(
    Spend(10, 1000, 100, cost=0.10),
    uncertain_calls=10,
    uncertain_cost=5.0,
    cut_off_calls=8,
    cut_off_cost=4.0,
)


@pytest.fixture
def killed(tmp_path: Path, make_manifest):
    """A run that stands at this ledger, with so many calls among its judgments."""

    def make(ledger: Ledger, *, calls: int, state=RunState.RUNNING, **options: object) -> Ledger:
        with Store.open(tmp_path / "s.db") as store:
            manifest = make_manifest("r", options=options)
            paid = replace(manifest.judge, uri="openai:m")
            store.create_run(replace(manifest, judge=paid))
            store.update_run("r", state=state, stop_reason="", ledger=ledger, seconds=1.0)
            for n in range(calls):
                spend = Spend(1, 100, 10, cost=0.01)
                store.put_judgments("r", [Judgment(f"k{n}", "j", "g", Status.JUDGED, spend=spend)])
            return spent_before(store.run("r"), store, None)

    return make


def test_calls_in_flight_count_at_the_average_of_those_that_were_answered_and_some_more(
    killed,
) -> None:
    spent = killed(SAVED, calls=10, max_cost=10.0)
    assert (spent.confirmed.cost, spent.uncertain_calls, spent.cut_off_calls) == (0.10, 10, 8)
    assert spent.cut_off_cost == pytest.approx(8 * 1.4 * 0.01)
    assert spent.uncertain_cost == pytest.approx(1.0 + 8 * 1.4 * 0.01)  # the lost ones as before


def test_answers_that_came_after_the_ledger_was_written_are_not_in_flight_any_more(killed) -> None:
    spent = killed(SAVED, calls=13, max_cost=10.0)
    assert (spent.confirmed.calls, spent.confirmed.cost) == (13, 0.13)
    assert (spent.uncertain_calls, spent.cut_off_calls) == (7, 5)
    assert spent.cut_off_cost == pytest.approx(5 * 1.4 * 0.01)


def test_without_a_cap_as_many_may_be_in_flight_again_and_one_more(killed) -> None:
    spent = killed(SAVED, calls=13)
    assert (spent.confirmed.calls, spent.cut_off_calls) == (13, 9)


def test_what_was_spent_before_the_rows_is_not_among_the_judgments_and_counts(killed) -> None:
    known_example = Spend(1, 100, 10, cost=0.01)
    spent = killed(replace(SAVED, preflight=known_example), calls=13)
    assert (spent.confirmed.calls, spent.confirmed.cost) == (14, 0.14)
    assert spent.preflight == known_example


def test_before_the_first_answer_nothing_but_the_worst_case_is_known(killed) -> None:
    before = Ledger(uncertain_calls=8, uncertain_cost=4.0, cut_off_calls=8, cut_off_cost=4.0)
    assert killed(before, calls=0, max_cost=10.0) == before


def test_a_ledger_of_the_version_before_counts_calls_in_flight_at_their_worst(killed) -> None:
    saved = Ledger(Spend(10, 1000, 100, cost=0.10), uncertain_calls=8, uncertain_cost=4.0)
    spent = killed(saved, calls=12, max_cost=10.0)
    assert (spent.confirmed.calls, spent.uncertain_calls, spent.uncertain_cost) == (12, 6, 3.0)


def test_a_run_that_ended_by_itself_wrote_down_what_it_came_to(killed) -> None:
    assert killed(SAVED, calls=12, state=RunState.INTERRUPTED) == SAVED


def test_calls_of_a_judge_on_this_machine_are_in_no_ledger(tmp_path: Path, make_manifest) -> None:
    with Store.open(tmp_path / "s.db") as store:
        offline = replace(make_manifest("r").judge, uri="offline")
        store.create_run(replace(make_manifest("r"), judge=offline))
        store.put_judgments("r", [Judgment("k", "j", "g", Status.JUDGED, spend=Spend(1, cost=0.0))])
        assert store.run("r").state is RunState.RUNNING, "as a kill leaves it"
        assert spent_before(store.run("r"), store, None) == Ledger()


def test_calls_that_wait_at_a_provider_are_of_those_that_were_cut_off() -> None:
    left = _without_calls(SAVED, 6)
    assert (left.uncertain_calls, left.uncertain_cost) == (4, 2.0)
    assert (left.cut_off_calls, left.cut_off_cost) == (2, 1.0)
    gone = _without_calls(SAVED, 9)  # one of the lost ones as well
    assert (gone.uncertain_calls, gone.uncertain_cost) == (1, 0.5)
    assert (gone.cut_off_calls, gone.cut_off_cost) == (0, 0.0)
