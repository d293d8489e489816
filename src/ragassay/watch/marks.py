"""Marks that traffic is held to, such as "groundedness>=0.8" or "error_rate<=0.02".

A mark is watched as a mean over sessions of numbers in [0, 1] that should not fall below it. A mark
on latency, tokens or cost is one on a share: "p95(latency)<=3" says that at least 95 % of the rows
take 3 seconds at most.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ragassay.core import SetupError, nearest

_FORM = re.compile(
    r"\s*(?P<name>.+?)\s*(?P<sign>>=|<=)\s*(?P<number>[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?)\s*"
)
_QUANTILE = re.compile(r"p(?P<percent>\d{1,2}(\.\d+)?)\((?P<name>\w+)\)")
_PASS_RATE = re.compile(r"pass_rate\((?P<name>.+)\)")
ERROR_RATE = "error_rate"
AMOUNTS = {"latency": "s", "tokens": "tokens", "cost": "USD"}
"""Amounts of a row that a quantile can be held to, and their unit."""
_HOW = "'groundedness>=0.8', 'pass_rate(groundedness)>=0.9', 'error_rate<=0.02', 'p95(latency)<=3'"


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark. name: of a metric, `ERROR_RATE` or an amount. held: what the mean over sessions is to
    be at least. falling: whether low values are the good ones, so that 1 - value is watched.
    passes: whether passing is watched and not the score. limit: the most that a row's amount may
    be, None where `name` is no amount. judged: whether only judged rows say something.
    """

    text: str
    name: str
    held: float
    falling: bool = False
    passes: bool = False
    limit: float | None = None

    @property
    def judged(self) -> bool:
        """Whether a judge has to look at a row before it says something."""
        return self.limit is None and self.name != ERROR_RATE

    def value(self, figures: Mapping[str, Any]) -> float | None:
        """What a row says, in [0, 1] with 1 as good; None where it says nothing."""
        if self.name == ERROR_RATE:
            return 1.0 - float(figures.get("error", 0))
        if self.limit is not None:
            amount = figures.get(self.name)
            return None if amount is None else float(amount <= self.limit)
        if self.passes:
            verdict = figures.get("verdicts", {}).get(self.name)
            return {"pass": 1.0, "fail": 0.0}.get(str(verdict))
        score = figures.get("scores", {}).get(self.name)
        if score is None or not 0 <= score <= 1:
            return None
        return 1.0 - score if self.falling else float(score)

    def shown(self, mean: float) -> float:
        """A mean of such values, see `as_written`."""
        return as_written(self.text, mean)


def as_written(text: str, mean: float) -> float:
    """A mean of values that are watched for a mark, as the mark is written: an error rate, not the
    share without one; for an amount the share of rows within its limit.
    """
    match = _FORM.fullmatch(text)
    is_opposite = match is not None and match["sign"] == "<=" and not is_of_amount(text)
    return 1 - mean if is_opposite else mean


def is_of_amount(text: str) -> bool:
    """Whether a mark is one on latency, tokens or cost, whose mean is a share of rows."""
    match = _FORM.fullmatch(text)
    return match is not None and _QUANTILE.fullmatch(match["name"]) is not None


def read_mark(text: str, metrics: Collection[str]) -> Mark:
    """A mark of "groundedness>=0.8". metrics: names of those that are measured. Raises SetupError
    E1302 for what cannot be watched, or could never be reached.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise _wrong(text, "This is no mark.", text)
    name, at_least, number = match["name"], match["sign"] == ">=", float(match["number"])
    if (quantile := _QUANTILE.fullmatch(name)) is not None:
        return _of_quantile(text, quantile, at_least, number)
    rate = _PASS_RATE.fullmatch(name)
    known = rate["name"].strip() if rate is not None else name
    if known != ERROR_RATE and known not in metrics:
        hint = nearest(known, [*metrics, ERROR_RATE])
        why = f"measured are {', '.join([*metrics, ERROR_RATE])}"
        raise _wrong(text, f"{known[:60]!r} is not measured here.{hint}", why)
    if known == ERROR_RATE and at_least:
        raise _wrong(text, "Errors are held below a mark.", f"{text}: write error_rate<=...")
    if rate is not None and not at_least:
        raise _wrong(text, "A pass rate is held above a mark.", text)
    held = number if at_least else 1.0 - number
    if not 0 < held <= 1:
        beyond = "no rate lies above 1" if at_least else "no rate lies below 0"
        why = beyond if held > 1 else "every rate reaches it"
        raise _wrong(text, "The mark is out of reach of a rate from 0 to 1.", why)
    return Mark(text.strip(), known, held, falling=not at_least, passes=rate is not None)


def _of_quantile(text: str, match: re.Match[str], at_least: bool, number: float) -> Mark:
    name, share = match["name"], float(match["percent"]) / 100
    if name not in AMOUNTS:
        hint = nearest(name, AMOUNTS)
        raise _wrong(text, f"No quantile of {name!r} is known.{hint}", ", ".join(AMOUNTS))
    if at_least or not 0 < share < 1 or number < 0:
        raise _wrong(text, "A quantile is held below an amount.", f"{text}: write p95(latency)<=3")
    return Mark(text.strip(), name, share, limit=number)


def _wrong(text: str, what: str, why: str) -> SetupError:
    return SetupError(
        "E1302", what, where=f"--mark {text[:60]}", why=why[:200], fix=f"write {_HOW}"
    )
