"""Batches: one task each, bundles whole, sets and parts by their shares."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[2]))

from training.draws import MOST, Bundles, Recipe, Rows, batches, mixed, padded
from training.pairs import Pair

RECIPE = Recipe(steps=1, tokens=2048)


def a_pair(source: str, label: int, length: int, task: str = "support", group: str = "") -> Pair:
    ids = np.zeros(length, np.int32)
    return Pair(source, group, task, label, -1, ids, 1, None, np.zeros(0, np.float32))


def some_bundles(source: str, count: int, size: int, length: int) -> list[list[Pair]]:
    return [
        [a_pair(source, at == 0, length, group=f"{source}:{n}") for at in range(size)]
        for n in range(count)
    ]


def test_a_batch_has_one_task_and_no_more_tokens_than_it_may() -> None:
    generator = np.random.default_rng(1)
    pairs = [
        a_pair(name, label, length, task)
        for task in MOST
        for name in (f"{task} a", f"{task} b")
        for label in (0, 1)
        for length in range(20, 200, 7)
    ]
    for batch in islice(batches(Rows(pairs, RECIPE, generator), RECIPE, generator), 100):
        assert len({p.task for p in batch}) == 1
        assert len(batch) <= MOST[batch[0].task]
        assert len(batch) * padded(max(len(p.ids) for p in batch)) <= RECIPE.tokens


def test_bundles_stay_whole_and_parts_have_their_shares_of_the_tokens() -> None:
    generator = np.random.default_rng(2)
    found = [
        *some_bundles("a", 300, 3, 40),
        *some_bundles("b", 100, 2, 90),
        *some_bundles("c", 500, 1, 30),
    ]
    draw = Bundles(found, {"a": "x", "b": "x", "c": "y"}, {"x": 0.7, "y": 0.3}, generator)
    tokens: Counter[str] = Counter()
    sizes = {"a": 3, "b": 2, "c": 1}
    for batch in islice(batches(draw, RECIPE, generator), 2000):
        for p in batch:
            tokens[p.source] += len(p.ids)
        for (source, _), count in Counter((p.source, p.group) for p in batch).items():
            assert count % sizes[source] == 0
    whole = sum(tokens.values())
    assert tokens["c"] / whole == pytest.approx(0.3, abs=0.02)
    # a has twice the tokens of b
    assert tokens["a"] / tokens["b"] == pytest.approx(2, rel=0.1)


def test_all_bundles_of_a_set_come_before_one_comes_again() -> None:
    draw = Bundles(some_bundles("a", 50, 2, 10), {"a": "x"}, {"x": 1.0}, np.random.default_rng(3))
    assert sorted(draw()[0].group for _ in range(50)) == sorted(f"a:{n}" for n in range(50))


def test_rows_and_bundles_mix_by_tokens() -> None:
    generator = np.random.default_rng(4)
    rows = Rows([a_pair("human", label, 200) for label in (0, 1)], RECIPE, generator)
    packed = Bundles(some_bundles("a", 50, 3, 30), {"a": "x"}, {"x": 1.0}, generator)
    draw = mixed(rows, packed, 0.8, generator)
    tokens: Counter[str] = Counter()
    for _ in range(3000):
        for p in draw():
            tokens[p.source] += len(p.ids)
    assert tokens["a"] / sum(tokens.values()) == pytest.approx(0.8, abs=0.02)


def test_the_same_seed_draws_the_same() -> None:
    pairs = [a_pair("human", n % 2, 20 + n, group=str(n)) for n in range(40)]

    def drawn() -> list[list[str]]:
        generator = np.random.default_rng(5)
        found = batches(Rows(pairs, RECIPE, generator), RECIPE, generator)
        return [[p.group for p in batch] for batch in islice(found, 20)]

    assert drawn() == drawn()
