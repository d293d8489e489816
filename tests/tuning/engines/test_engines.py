"""Engines behind one interface: what each is given, and what none of them can do.

The tests of other packages' engines run where the package is installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from ragassay.core import SetupError
from ragassay.tuning import parts
from ragassay.tuning.edits import Refused
from ragassay.tuning.engines import ENGINES, base, engine
from ragassay.tuning.engines.texts import Texts, text_of
from ragassay.tuning.parts import Kind
from ragassay.tuning.search import SearchTask
from ragassay.tuning.values import BoolArray
from support.rubric_world import RubricWorld, ScriptedProposer, WorldBench

PEERS = [
    pytest.param(name, marks=pytest.mark.skipif(find_spec(name) is None, reason="not installed"))
    for name in ENGINES
    if name != "own"
]


def accuracy(truth: BoolArray, passes: BoolArray) -> float:
    return float(np.mean(truth == passes))


def task_of(world: RubricWorld, calls: int) -> SearchTask:
    return SearchTask(
        world.rubric,
        world.rows,
        world.parts[0],
        world.parts[1],
        accuracy,
        calls,
        slices=world.slices,
        forbidden=world.unseen,
    )


class Watched(WorldBench):
    """A bench that notes which rows were asked."""

    def __init__(self, world: RubricWorld) -> None:
        super().__init__(world)
        self.asked: set[int] = set()

    def judge(self, rubric, rows, *, repeat=0):
        self.asked.update(rows.tolist())
        return super().judge(rubric, rows, repeat=repeat)


@pytest.mark.filterwarnings("ignore")  # other packages warn of themselves
@pytest.mark.parametrize("name", ["own", *PEERS])
def test_every_engine_stays_in_its_rows_and_its_calls(name):
    world = RubricWorld(3)
    bench = Watched(world)
    result = engine(name).search(task_of(world, 1_200), bench, ScriptedProposer(bench))
    assert bench.calls == result.calls <= 1_200
    assert not bench.asked & set(world.parts[2].tolist())
    assert any(one.edit is not None for one in result.tried)
    for finalist in result.finalists:
        assert finalist.score > finalist.before
        assert len(finalist.rubric.system_prompt()) <= 1.5 * len(world.rubric.system_prompt())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["own", *PEERS])
def test_no_engine_takes_what_the_guard_refuses(name):
    world = RubricWorld(3)
    bench = Watched(world)
    proposer = ScriptedProposer(bench, "leaks")
    result = engine(name).search(task_of(world, 700), bench, proposer)
    assert result.finalists == ()
    assert "copies five words" in " ".join(one.dropped for one in result.tried)


@pytest.mark.skipif(find_spec("textgrad") is None, reason="not installed")
def test_importing_textgrad_reaches_no_network(tmp_path):
    code = (
        "import socket, sys\n"
        "def note(*arguments):\n"
        "    print('network', arguments)\n"
        "    raise OSError\n"
        "socket.getaddrinfo = note\n"
        "from ragassay.tuning.engines import engine\n"
        "engine('textgrad')\n"
        "print('imported')\n"
    )
    shown = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=dict(os.environ),
        check=True,
    )
    assert shown.stdout == "imported\n"
    assert list(tmp_path.iterdir()) == []


def test_an_engine_that_is_not_installed_says_what_to_install(monkeypatch):
    monkeypatch.setattr(base, "find_spec", lambda name: None)
    with pytest.raises(SetupError) as caught:
        engine("gepa")
    assert caught.value.code == "E0416"
    assert "pip install 'ragassay[gepa]'" in caught.value.fix


def test_a_name_that_is_no_engine_has_a_hint():
    with pytest.raises(SetupError) as caught:
        engine("gepaa")
    assert "Did you mean 'gepa'?" in caught.value.what


# -- the criteria as one text


def texts() -> Texts:
    world = RubricWorld(3)
    bench = WorldBench(world)
    return Texts(task_of(world, 500), bench, ScriptedProposer(bench))


def test_a_text_that_comes_back_is_taken_as_edits_of_the_original():
    some = texts()
    items = some.original.split("\n")
    rubric = some.rubric("\n".join([items[0], "- Names count.", *items[2:]]))
    criteria = parts.texts(rubric, Kind.CRITERION)
    assert criteria[1] == "Names count."
    assert len(criteria) == 4
    assert text_of(rubric).split("\n")[2:] == items[2:]


def test_a_text_that_the_guard_refuses_has_no_row_right():
    some = texts()
    bad = f"{some.original}\n- Always pass."
    with pytest.raises(Refused):
        some.rubric(bad)
    assert not some.right(bad, some.task.train).any()
    assert some.bench.calls == 0


def test_a_proposal_is_one_edit_more():
    some = texts()
    new = some.proposed(some.original, some.task.train[:12])
    assert new.startswith(some.original)
    assert len(some.edits[new]) == 1
