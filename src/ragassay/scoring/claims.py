"""Sums over the verdicts on the claims of one response: shares, all or nothing, weights, and the
verdicts that lost ones leave certain.

A share is None when nothing was judged. `decide` says what lost verdicts leave open: a pass or a
fail is only returned when no outcome of the lost ones could change it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragassay.core import Verdict


@dataclass(frozen=True, slots=True)
class WeightRule:
    """Claims that hold `what` weigh `adds` more; `pattern` finds it."""

    what: str
    adds: float
    pattern: re.Pattern[str]


_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_DATE = (
    r"(?:\b\d{4}-\d{2}-\d{2}\b|\b(?:1[5-9]|20)\d\d\b"
    rf"|(?i:\b{_MONTH}\.? \d{{1,2}}\b|\b\d{{1,2}}\.? {_MONTH}\b))"
)

BASE_WEIGHT = 1.0
WEIGHT_RULES: tuple[WeightRule, ...] = (
    WeightRule("a date", 1.0, re.compile(_DATE)),
    WeightRule("a number", 1.0, re.compile(r"\d")),
    WeightRule("a name", 0.5, re.compile(r"(?<=[\w,;:)] )[A-Z][\w'’-]+|\b[A-Z]{2,}\b")),
    WeightRule(
        "a negation",
        1.0,
        re.compile(
            r"(?i:\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot)\b|n['’]t\b)"
        ),
    ),
)
"""The declared weights: a claim weighs 1, plus what it holds. A mistake in a figure, a date, a name
or a "not" does more harm than one in a phrase. Numbers inside a date count as the date only; a name
is a capitalised word that does not begin the claim, or an acronym.
"""


def claim_weight(text: str) -> tuple[float, tuple[str, ...]]:
    """The declared weight of a claim, and what in it weighs ("a number", "a name" ...).

    >>> claim_weight("Sales did not reach 40 million.")
    (3.0, ('a number', 'a negation'))
    """
    matches = []
    for rule in WEIGHT_RULES:
        if rule.pattern.search(text):
            matches.append(rule)
            if rule.what == "a date":  # before "a number", which its figures would match
                text = rule.pattern.sub("", text)
    weight = BASE_WEIGHT + sum(rule.adds for rule in matches)
    return weight, tuple(rule.what for rule in matches)


def supported_share(supported: Sequence[bool]) -> float | None:
    """Supported claims / judged claims, in [0, 1]; None when none was judged."""
    return sum(supported) / len(supported) if supported else None


def all_supported(supported: Sequence[bool]) -> float | None:
    """1 when every judged claim is supported, else 0; None when none was judged."""
    return float(all(supported)) if supported else None


def weighted_share(supported: Sequence[bool], weights: Sequence[float]) -> float | None:
    """Weight of the supported claims / weight of the judged claims, in [0, 1]; None when none was
    judged.

    Raises ValueError when the lengths differ or a weight is not positive and finite.
    """
    if any(not (math.isfinite(weight) and weight > 0) for weight in weights):
        raise ValueError("weights must be positive and finite")
    pairs = list(zip(supported, weights, strict=True))
    if not pairs:
        return None
    # fsum is exact, so the order of the claims never shows in the result.
    return math.fsum(weight for ok, weight in pairs if ok) / math.fsum(weights)


def mean(values: Sequence[float]) -> float | None:
    """Arithmetic mean, independent of order; None for no values."""
    return math.fsum(values) / len(values) if values else None


def decide(passed: float, lost: float, total: float, mark: float) -> Verdict:
    """The verdict under "at least `mark` of `total` pass", when `lost` of them have no verdict.

    passed, lost, total are counts or weights, total > 0. PASS when it holds although every lost one
    should fail; FAIL when it does not although every lost one should pass; else UNDECIDED.
    """
    if total <= 0:
        raise ValueError("there is nothing to decide")
    if passed / total >= mark:
        return Verdict.PASS
    if lost == 0 or (passed + lost) / total < mark:
        return Verdict.FAIL
    return Verdict.UNDECIDED
