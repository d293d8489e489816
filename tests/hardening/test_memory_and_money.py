"""Too little memory is said with what to lower, and costs no row; a cap on money is never
passed.
"""

from ragassay.testing import LLMServer
from support.faults import Victim, make_rows, write_rows
from support.invariants import check_ledger, ledger_of
from support.memory import starve
from support.money import capped_runs, kills_under_a_cap


def test_a_starved_run_says_what_to_lower_and_can_be_resumed(tmp_path) -> None:
    found = starve(tmp_path, levels=[40])
    assert found["starved"] == found["advised"] == 1


def test_memory_that_runs_out_while_a_request_is_encoded_ends_the_run_by_no_signal(
    tmp_path,
) -> None:
    found = starve(
        tmp_path, levels=[90, 120]
    )  # here the JSON encoder had ended the process (SIGSEGV)
    assert found["starved"] >= 1
    assert found["advised"] == found["starved"]
    assert found["crashed"] == 0


def test_the_bill_stays_under_a_cap_at_a_random_cent_through_faults_and_kills(tmp_path) -> None:
    found = capped_runs(tmp_path, times=3, seed=2, kills=0.4)
    assert found["over"] == 0
    assert found["capped"] > 0


def test_a_run_that_fits_its_cap_finishes_after_a_kill_at_any_moment(tmp_path) -> None:
    found = kills_under_a_cap(tmp_path, times=3, rows=30, seed=4)
    assert found["kills"] > 0
    assert found["finished"] == found["runs"]
    assert found["over"] == 0
    assert found["missed"] == 0
    assert found["uncertain"] <= 2  # of three kills; R25 holds the mark over a hundred


DIES_AFTER_THE_PREFLIGHT = """
import os, signal
from ragassay.runs import preflight
def _dies(*a):
    os.kill(os.getpid(), signal.SIGKILL)
preflight.known_after = _dies
"""


def test_a_kill_after_the_known_example_keeps_its_answer_and_what_it_cost(tmp_path) -> None:
    source, store = write_rows(tmp_path / "rows.jsonl", make_rows(12)), tmp_path / "s.db"
    with LLMServer() as server:
        judge = ("--judge", "openai:mock", "--base-url", server.url, "--price", "1,2")
        arguments = ("evaluate", source, *judge, "--store", store, "--max-cost", "1")
        assert Victim(*arguments, prelude=DIES_AFTER_THE_PREFLIGHT).wait() == -9
        assert server.preflights == 1
        assert Victim("resume", "--store", store).wait() == 0
        assert server.preflights == 1
        check_ledger(ledger_of(store), server.stats(), complete=True)
