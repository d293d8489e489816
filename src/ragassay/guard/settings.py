"""The settings of a guard, checked when it is declared: before the application takes a question."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ragassay.core import SetupError, nearest, shorten
from ragassay.guard.result import Decision, GuardResult
from ragassay.metrics import Metric

Kind = Literal["context_filter", "block_input", "block_output", "stream"]

FIELDS: Mapping[str, tuple[str, ...]] = {
    "context_filter": ("question", "contexts"),
    "block_input": ("question",),
    "block_output": ("question", "contexts", "response"),
    "stream": ("question", "contexts", "response"),
}
"""Kind of guard -> the fields of a row that it can give to a metric."""

GUARDED: Mapping[str, str] = {
    "context_filter": "contexts",
    "block_input": "question",
    "block_output": "response",
    "stream": "response",
}
"""Kind of guard -> the field that it holds back."""

_OPTIONS = (
    "judge",
    "base_url",
    "api_key_env",
    "rubrics",
    "single_calls",
    "controls",
    "order",
    "temperature",
    "max_tokens",
    "reasoning_effort",
    "extra_body",
    "headers",
    "proxy",
    "ca",
    "price",
    "no_network",
)
"""Options of `ragassay.evaluate` that say who judges: a guard takes them, too."""

LONGEST = 3_600_000
"""The longest deadline, in milliseconds: an hour."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What a score has to reach: at least, or at most where lower is better."""

    at_least: float | None
    at_most: float | None

    def reached_by(self, score: float) -> bool:
        """Whether a score passes."""
        if self.at_least is not None:
            return score >= self.at_least
        assert self.at_most is not None
        return score <= self.at_most

    def worst(self, scores: Sequence[float]) -> float:
        """The one of these that is farthest from passing."""
        return min(scores) if self.at_least is not None else max(scores)

    def __str__(self) -> str:
        if self.at_least is not None:
            return f"at least {self.at_least:g}"
        return f"at most {self.at_most:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a guard was declared with. instead: what is returned in place of a blocked text, a value
    or a function of the GuardResult; RAISES where `Blocked` is raised. options: who judges.
    """

    kind: Kind
    metric: Metric
    mark: Mark
    on_error: Decision
    deadline: float
    shadow: bool
    instead: object
    on_result: Callable[[GuardResult], object] | None
    options: Mapping[str, Any]

    @property
    def guarded(self) -> str:
        """The field of the row that the guard holds back."""
        return GUARDED[self.kind]


RAISES = object()
"""`instead` of a guard that raises."""


def make_settings(
    kind: Kind,
    metric: str | Metric,
    *,
    at_least: float | None,
    at_most: float | None,
    on_error: str | None,
    deadline_ms: float | None,
    shadow: bool,
    instead: object,
    on_result: Callable[[GuardResult], object] | None,
    options: Mapping[str, Any],
) -> Settings:
    """The settings, checked. Raises SetupError E0101, E0203 or what a metric's name raises."""
    if callable(metric) and not isinstance(metric, Metric):
        raise _refused(
            kind,
            "A guard is declared with a metric; this one was given a function.",
            f'@ragassay.guard.{kind}("METRIC", at_least=..., on_error=..., deadline_ms=...), or'
            " @ragassay.metric on the function that scores",
        )
    _check_policy(kind, on_error, deadline_ms)
    unknown = [name for name in options if name not in _OPTIONS]
    if unknown:
        raise _refused(
            kind,
            f"There is no argument {unknown[0]!r}.{nearest(unknown[0], _OPTIONS)}",
            f"options of the judge: {', '.join(_OPTIONS)}",
        )
    chosen = _metric(kind, metric, options)
    mark = _mark(kind, chosen, at_least, at_most)
    assert deadline_ms is not None
    return Settings(
        kind=kind,
        metric=chosen,
        mark=mark,
        on_error="block" if on_error == "block" else "pass",
        deadline=deadline_ms / 1000,
        shadow=shadow,
        instead=instead,
        on_result=on_result,
        options=dict(options),
    )


def _check_policy(kind: Kind, on_error: str | None, deadline_ms: float | None) -> None:
    if on_error not in ("block", "pass"):
        raise _refused(
            kind,
            "A guard must say what happens where the judge gives no verdict.",
            'name on_error="block" (hold the text back) or on_error="pass" (let it through)',
            "it is not named" if on_error is None else shorten(repr(on_error), 40),
        )
    is_number = isinstance(deadline_ms, int | float) and not isinstance(deadline_ms, bool)
    if not is_number or not 0 < float(deadline_ms or 0) <= LONGEST:
        raise _refused(
            kind,
            "A guard must say how long the application waits for it.",
            "name deadline_ms, in milliseconds, such as deadline_ms=500",
            "it is not named" if deadline_ms is None else shorten(repr(deadline_ms), 40),
        )


def _metric(kind: Kind, metric: str | Metric, options: Mapping[str, Any]) -> Metric:
    from ragassay.judges import answers_offline
    from ragassay.runs.governance import judged_rubrics
    from ragassay.runs.plan import chosen_metrics

    (chosen, *others) = chosen_metrics([metric], options.get("rubrics") or ())
    # A rubric file adds the user's own judge as a metric behind the one that is named.
    del others
    declared = chosen.declaration
    given = FIELDS[kind]
    for need in declared.needs:
        if not set(need.split("|")) & {*given, *_instead_of_response(kind)}:
            raise SetupError(
                "E0203",
                f"{kind} cannot judge {chosen}: it needs {need.replace('|', ' or ')}.",
                where=f"ragassay.guard.{kind}",
                why=f"a {kind} knows {', '.join(given)}",
                fix="choose a metric that needs no more than these",
            )
    offline = options.get("judge", "offline") == "offline"
    if offline and not all(map(answers_offline, judged_rubrics(chosen))):
        raise SetupError(
            "E0203",
            f"The offline judge cannot judge {chosen}.",
            where=f"ragassay.guard.{kind}",
            fix='name a judge, such as judge="openai:MODEL", or choose another metric',
        )
    return chosen


def _instead_of_response(kind: Kind) -> tuple[str, ...]:
    """A question is judged by metrics of a response, too: what users write may be unsafe as what a
    model writes.
    """
    return ("response",) if kind == "block_input" else ()


def _mark(kind: Kind, metric: Metric, at_least: float | None, at_most: float | None) -> Mark:
    declared = metric.declaration
    if (at_least is None) == (at_most is None):
        raise _refused(
            kind,
            "A guard needs one mark that the score has to reach.",
            "name at_least (or at_most, for a metric of which lower is better)",
        )
    value = at_least if at_least is not None else at_most
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    highest = math.inf if declared.high is None else declared.high
    if not is_number or not declared.low <= float(value or 0) <= highest:
        raise _refused(
            kind,
            f"The mark is no value that {metric} can have.",
            f"a number from {declared.low:g} to {highest:g}",
            shorten(repr(value), 40),
        )
    wrong = "at_least" if at_least is not None else "at_most"
    right = {"at_least": "at_most", "at_most": "at_least"}[wrong]
    better = declared.higher_is_better
    if better is not None and better is not (wrong == "at_least"):
        raise _refused(
            kind,
            f"{wrong} lets the bad values of {metric} pass.",
            f"{'higher' if better else 'lower'} is better: name {right}",
        )
    return Mark(at_least, at_most)


def _refused(kind: str, what: str, fix: str, why: str = "") -> SetupError:
    return SetupError("E0101", what, where=f"ragassay.guard.{kind}", why=why, fix=fix)
