"""A run that is stopped makes no new call, keeps what was paid for and says how to go on."""

import shlex

import pytest

from ragassay.testing import LLMServer
from support.faults import Victim, make_rows, write_rows
from support.stops import RESUME, stop_once, stop_twice


def test_one_signal_stops_cleanly_and_the_printed_command_goes_on(tmp_path) -> None:
    found = stop_once(tmp_path, times=2)
    assert found["late_calls"] == 0
    assert found["slowest"] <= 5


def test_a_second_signal_ends_at_once(tmp_path) -> None:
    found = stop_twice(tmp_path, times=2)
    assert (
        found["slowest"] <= 0.6
    )  # 0.3 on a machine that is not shared; benchmarks/hardening measures it


EARLY = """
import os, signal
from ragassay.store import Store
_done = Store.{method}
def _interrupted(*a, **k):
    result = _done(*a, **k)
    os.kill(os.getpid(), signal.SIGINT)
    return result
Store.{method} = _interrupted
"""
"""Ctrl-C as soon as the store's method has been called."""


@pytest.mark.parametrize("method", ["create_run", "acquire", "done"])
def test_ctrl_c_before_the_first_call_says_how_to_go_on(tmp_path, method) -> None:
    source, store = write_rows(tmp_path / "rows.jsonl", make_rows(3)), tmp_path / "s.db"
    with LLMServer() as server:
        judge = ("--judge", "openai:mock", "--base-url", server.url, "--price", "1,2")
        arguments = ("evaluate", source, *judge, "--store", store)
        victim = Victim(*arguments, prelude=EARLY.format(method=method))
        assert victim.wait() == 130
        assert server.calls == 0
        found = RESUME.search(victim.err)
        assert found is not None, victim.err
        assert Victim(*shlex.split(found[1])).wait() == 0
        assert server.stats()["answers"] == 9


def test_ctrl_c_while_the_rows_are_looked_at_leaves_no_run_to_go_on_with(tmp_path) -> None:
    source, store = write_rows(tmp_path / "rows.jsonl", make_rows(3)), tmp_path / "s.db"
    early = """
import os, signal
from ragassay import api
_plan = api.make_plan
def _interrupted(*a, **k):
    os.kill(os.getpid(), signal.SIGINT)
    return _plan(*a, **k)
api.make_plan = _interrupted
"""
    victim = Victim("evaluate", source, "--store", store, prelude=early)
    assert victim.wait() == 130
    assert "there is nothing to resume" in victim.err
    assert not store.exists()
