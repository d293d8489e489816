"""Model of a store: its contents after runs were started, killed, stopped, resumed and compared,
and their rows edited.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import hypothesis
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import ragassay
from ragassay.core import RunState, SetupError
from ragassay.store import Store
from ragassay.testing import ServerProcess
from support.faults import Victim, command, make_rows, settled, wait_for_a_call, write_rows
from support.invariants import canonical, check_exit, check_run, check_unlocked

COUNT = 12


class Runs(RuleBasedStateMachine):
    """The product beside a model: per run its state, the version of the rows it began with, and its
    results when done.
    """

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="model"))
        self.store, self.source = self.folder / "s.db", self.folder / "rows.jsonl"
        self.version = 0
        self.states: list[
            str
        ] = []  # of the runs in the order they were started: "open" or "finished"
        self.versions: list[int] = []
        self.results: dict[int, bytes] = {}  # version of the rows -> results of a run of them
        self.ids: list[str] = []

    @initialize()
    def begin(self) -> None:
        self.server = ServerProcess(latency=0.02)
        self.server.__enter__()
        self.write(0)

    def write(self, version: int) -> None:
        self.version = version
        write_rows(self.source, make_rows(COUNT, tag=f"{version}-"))

    def start(self, end: str) -> None:
        sent = self.server.stats()["calls"]
        victim = Victim(*command(self.source, self.server, self.store, "--no-cache", concurrency=4))
        self.finish(victim, sent, end, len(self.states))

    def finish(self, victim: Victim, sent: int, end: str, number: int) -> None:
        if end != "let be" and wait_for_a_call(self.server, sent, victim):
            victim.kill(9 if end == "killed" else 2)
        code = victim.wait()
        check_exit(0 if code == -9 else code, 0, 130)
        settled(self.server)
        with Store.open(self.store) as store:
            stored = store.runs(1000)[::-1]
            if number == len(self.states):
                assert len(stored) == number + 1
                self.states.append("")
                self.versions.append(self.version)
                self.ids.append(stored[number].run_id)
        self.states[number] = "finished" if stored[number].state is RunState.FINISHED else "open"
        assert (code == 0) <= (self.states[number] == "finished")

    @rule(end=st.sampled_from(("let be", "killed", "stopped")))
    def run(self, end: str) -> None:
        self.start(end)

    @precondition(lambda self: self.ids)
    @rule(which=st.integers(0, 30), end=st.sampled_from(("let be", "killed", "stopped")))
    def resume(self, which: int, end: str) -> None:
        number = which % len(self.ids)
        sent = self.server.stats()["calls"]
        if self.versions[number] != self.version:
            victim = Victim("resume", self.ids[number], "--store", self.store)
            check_exit(victim.wait(), 2)
            assert "E0106" in victim.err
            assert self.server.stats()["calls"] == sent
        elif self.states[number] == "finished":
            victim = Victim("resume", self.ids[number], "--store", self.store)
            check_exit(victim.wait(), 0)
            assert self.server.stats()["calls"] == sent
        else:
            self.finish(
                Victim("resume", self.ids[number], "--store", self.store), sent, end, number
            )

    @rule(version=st.integers(0, 2))
    def edit(self, version: int) -> None:
        self.write(version)

    @rule(missing=st.booleans())
    def a_name_that_is_none(self, missing: bool) -> None:
        if self.store.exists():
            with pytest.raises(SetupError):
                ragassay.open_run("no-such-run" if missing else "", store=self.store)

    @precondition(lambda self: self.states.count("finished") >= 2)
    @rule(a=st.integers(0, 30), b=st.integers(0, 30))
    def compare(self, a: int, b: int) -> None:
        done = [n for n, state in enumerate(self.states) if state == "finished"]
        first, second = done[a % len(done)], done[b % len(done)]
        with Store.open(self.store) as store:
            same = canonical(store, self.ids[first]) == canonical(store, self.ids[second])
        assert same is (self.versions[first] == self.versions[second])
        result = ragassay.compare(self.ids[first], self.ids[second], store=self.store)
        for metric in result.metrics:
            if same and metric.result.n:
                assert metric.result.difference == 0

    @rule()
    def delete(self) -> None:
        """The store is put away, and another one begins at its place."""
        for path in self.folder.glob("s.db*"):
            path.unlink()
        for path in self.folder.glob("*.replies*"):
            path.unlink()
        self.states, self.versions, self.ids = [], [], []

    @invariant()
    def the_store_agrees(self) -> None:
        if not self.ids:
            return
        with Store.open(self.store) as store:
            assert [run.run_id for run in store.runs(1000)[::-1]] == self.ids == sorted(self.ids)
            for number, run_id in enumerate(self.ids):
                finished = self.states[number] == "finished"
                check_run(store, run_id, finished=finished)
                if finished:
                    expected = self.results.setdefault(
                        self.versions[number], canonical(store, run_id)
                    )
                    assert canonical(store, run_id) == expected
            check_unlocked(store, self.ids[-1])

    def teardown(self) -> None:
        self.server.__exit__(None, None, None)
        shutil.rmtree(self.folder)


def play(examples: int, steps: int, *, seed: int | None = None) -> None:
    """So many sequences of so many steps; the same ones every time unless a seed says which."""
    machine = Runs if seed is None else hypothesis.seed(seed)(Runs)
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=seed is None,
            suppress_health_check=list(HealthCheck),
            print_blob=False,
            database=None,
        ),
    )
