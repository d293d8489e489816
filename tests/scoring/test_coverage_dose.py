"""A small dose of the coverage and false-alarm benchmarks, so that a change of an interval shows
before the full tables are made.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from support.present import present

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def benchmarks():
    """The two benchmarks, found from the project's root as they are when run by hand."""
    before = list(sys.path)
    sys.path.insert(0, str(ROOT))
    try:
        yield {
            name: _load(name, place)
            for name, place in (
                ("rates", "coverage/rates.py"),
                ("coverage_run", "coverage/run.py"),
                ("false_alarms", "false_alarms/run.py"),
            )
        }
    finally:
        sys.path[:] = before


def _load(name, place):
    spec = present(
        importlib.util.spec_from_file_location(f"dose_{name}", ROOT / "benchmarks" / place)
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    present(spec.loader).exec_module(module)
    return module


@pytest.mark.slow
def test_a_small_dose_of_every_printed_interval_holds_the_truth(benchmarks):
    cells = list(benchmarks["rates"].cells("ci", 20261121))
    run = benchmarks["coverage_run"]
    assert len(cells) >= 12
    assert {"rate", "mean of values in [0, 1]", "difference of two rates, paired"} <= {
        cell.quantity for cell in cells
    }
    assert not [run.where(cell) for cell in cells if run.below(cell) and run.chance(cell) < 0.001]


@pytest.mark.slow
def test_two_hundred_runs_against_themselves_raise_few_alarms(benchmarks):
    for row in benchmarks["false_alarms"].simulated(np.random.default_rng(8), 100):
        assert 0.02 <= row["single"] <= 0.08  # of 500 comparisons
        assert row["after_holm"] <= 0.11


def test_the_table_names_a_cell_below_its_gate_and_not_one_without_a_gate(benchmarks):
    cell = benchmarks["rates"].Cell(
        "kappa", "bootstrap", 30, 30, 0.5, 0.0, 0.0, 1000, 1.0, 0.90, 0.2
    )
    free = benchmarks["rates"].Cell(
        "auc", "bootstrap", 30, 30, 0.5, 0.0, 0.0, 1000, 1.0, 0.80, 0.2, None, "too few"
    )
    run = benchmarks["coverage_run"]
    assert run.below(cell)
    assert not run.below(free)
    # Binomial: P(X <= 900 of 1,000) at .93 is .0003
    assert run.chance(cell) == pytest.approx(0.00030, abs=5e-5)
    part = {
        "dose": "ci",
        "seed": 1,
        "seconds": 1.0,
        "conditions": "here",
        "cells": run._clean([cell, free]),
    }
    page = run.markdown({"rates": part})
    assert "- 0.900 beyond chance: kappa" in page
    assert "- 0.800: auc" in page
    assert "too few" in page
