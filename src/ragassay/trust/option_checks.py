"""Checks of the options of a measurement, made before anything is paid for."""

from __future__ import annotations

import math

from ragassay.core import SetupError

FEWEST_DRAWS = 100
MOST_DRAWS = 1_000_000


def check_draws(draws: int, seed: int) -> None:
    """Raise SetupError E0101 for a number of bootstrap draws or a seed that cannot be."""
    check("--draws", draws, FEWEST_DRAWS, MOST_DRAWS, "2000 is usual")
    check("--seed", seed, 0, 2**63 - 1, "any whole number from 0 up")


def check(where: str, value: float | None, low: float, high: float, fix: str) -> None:
    """Raise SetupError E0101 for a value that is no number from `low` to `high`.

    None stands for an option that was not given, and passes.
    """
    if value is None:
        return
    if math.isfinite(value) and low <= value <= high:
        return
    if not math.isfinite(low):
        text = "a finite number"
    elif math.isfinite(high):
        text = f"a number from {low:g} to {high:g}"
    else:
        text = f"a number from {low:g} up"
    raise SetupError("E0101", f"{where} takes {text}.", where=where, why=str(value), fix=fix)


def check_cuts(cut: float | None, judge_cut: float | None) -> None:
    """Raise SetupError E0101 for a cut that is not finite."""
    check(
        "--cut", cut, -math.inf, math.inf, "the label from which on a row passes, such as --cut 2"
    )
    check(
        "--judge-cut",
        judge_cut,
        -math.inf,
        math.inf,
        "the score from which on it passes, such as --judge-cut 0.5",
    )


def check_costs(wrong_pass: float, wrong_fail: float) -> None:
    """Raise SetupError E0101 for costs of errors that cannot be, or that are both 0."""
    for where, value in (("--fp-cost", wrong_pass), ("--fn-cost", wrong_fail)):
        check(where, value, 0, 1e12, "leave both out for 1 and 1")
    if not wrong_pass and not wrong_fail:
        raise SetupError(
            "E0101",
            "Not both kinds of error can cost nothing.",
            where="--fp-cost, --fn-cost",
            why="0 and 0",
            fix="leave both out for 1 and 1",
        )
