"""The simulated prefix cache of benchmarks/prompts, against what a provider's cache would serve."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

RUN = Path(__file__).parents[2] / "benchmarks" / "prompts" / "run.py"


@pytest.fixture(scope="module")
def prompts() -> Iterator[Any]:
    spec = importlib.util.spec_from_file_location("benchmark_of_prompts", RUN)
    assert spec is not None
    assert spec.loader is not None
    module, before = importlib.util.module_from_spec(spec), list(sys.path)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = before
    del sys.modules[spec.name]


def test_what_was_seen_is_served_in_whole_steps_of_128(prompts: Any) -> None:
    cache, seen = prompts.PrefixCache(), list(range(1300))
    assert cache.served(seen) == 0
    cache.add(seen)
    assert cache.served(seen) == 1280  # 10 steps; the last 20 tokens make no step


def test_only_a_beginning_of_1024_tokens_or_more_is_served(prompts: Any) -> None:
    cache, seen = prompts.PrefixCache(), list(range(2000))
    cache.add(seen)
    assert cache.served([*seen[:1024], *[-1] * 500]) == 1024
    assert cache.served([*seen[:1023], *[-1] * 500]) == 0
    assert cache.served([-1, *seen]) == 0


def test_a_request_is_known_only_when_it_was_answered(prompts: Any) -> None:
    same = [list(range(1024))] * 8
    assert prompts.served_share(same, 1) == 1.0
    assert (
        prompts.served_share(same, 6) == 0.5
    )  # of the last four, two come when six others are still under way
    assert prompts.served_share(same, 8) == 0.0


def test_words_and_bytes_are_counted_as_said(prompts: Any) -> None:
    assert len(prompts.by_four("twelve bytes")) == 3
    assert len(prompts.by_four("é" * 4)) == 2
    assert len(prompts.word_pieces()("The river bridge.")) == 4
