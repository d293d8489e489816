"""What tests assert of a run: noted when the test runs, decided when the rows are judged."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path

from ragassay.core import SetupError

FIGURES = ("interval", "mean", "pass_rate", "interval(pass_rate)")


@dataclass(frozen=True, slots=True)
class Assertion:
    """One condition. gates: as `ragassay gate` takes them. coverage: the floor, None for none. of:
    the name of the test whose rows are meant, "" where there is only one. place: file and line.
    """

    gates: tuple[str, ...]
    coverage: float | None
    of: str
    place: str


class AssertedRun:
    """The fixture `ragassay_run`: it notes what is asserted."""

    def __init__(self) -> None:
        self.assertions: list[Assertion] = []

    def assert_metric(
        self,
        metric: str,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        coverage: float | None = None,
        by: str = "interval",
        of: str = "",
    ) -> None:
        """Demand that the metric is at least or at most so high over all rows.

        by: "interval" (the 95 % interval decides: met where all of it is on the good side, failed
        where none of it is, undecided between), "mean", "pass_rate" or "interval(pass_rate)".
        coverage: the least share, from 0 to 1, of rows that must have a value and of verdicts that
        must have been given; below it the test is undecided. of: the name of the test function
        whose rows are meant, where the session has several. Raises SetupError E0101.
        """
        if at_least is None and at_most is None and coverage is None:
            raise SetupError(
                "E0101",
                "The assertion says nothing.",
                where="ragassay_run.assert_metric",
                fix="give at_least, at_most or coverage",
            )
        if by not in FIGURES:
            raise SetupError(
                "E0101",
                f"No figure is called {by!r}.",
                where="ragassay_run.assert_metric(by=...)",
                fix=f"one of: {', '.join(FIGURES)}",
            )
        self._note(_gates(metric, by, at_least, at_most), coverage, of)

    def assert_gate(self, gate: str, *, coverage: float | None = None, of: str = "") -> None:
        """Demand a gate as `ragassay gate` takes it: "lower(groundedness)>=0.8",
        "judge_cost<=0.50".
        """
        self._note((gate,), coverage, of)

    def _note(self, gates: tuple[str, ...], coverage: float | None, of: str) -> None:
        frame = inspect.stack()[2]
        place = f"{Path(frame.filename).name}:{frame.lineno}"
        self.assertions.append(Assertion(gates, coverage, of, place))


def _gates(metric: str, by: str, at_least: float | None, at_most: float | None) -> tuple[str, ...]:
    left = metric
    if by == "interval(pass_rate)":
        left = f"interval(pass_rate({metric}))"
    elif by != "mean":
        left = f"{by}({metric})"
    gates = []
    if at_least is not None:
        gates.append(f"{left}>={at_least:.15g}")
    if at_most is not None:
        gates.append(f"{left}<={at_most:.15g}")
    if not gates:
        # The floor of coverage counts the rows of the metrics that a gate names.
        gates.append(f"coverage({metric})>=0")
    return tuple(gates)
