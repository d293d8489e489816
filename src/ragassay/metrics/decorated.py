"""A Python function as a metric: the decorator `ragassay.metric`.

    @ragassay.metric
    def short(response):
        return len(response) <= 300                      # yes or no

    @ragassay.metric(pass_mark=0.5)
    def quoted(response, contexts):
        found = sum(text in response for text in contexts)
        return found / len(contexts), f"{found} chunks"  # a number, and why

    @ragassay.metric
    def on_topic(question, response):                    # asks the judge: yields Requests,
        request = Request("answer_relevance", {"question": question, "response": response})
        judgment = yield request                         # is sent their Judgments
        return judgment.value

The parameters name what the function reads of a row; a row that lacks one that has no default is
not applicable.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from numbers import Real
from types import MappingProxyType
from typing import overload

from ragassay.core import (
    Counts,
    Judgment,
    Request,
    Sample,
    Score,
    SetupError,
    Status,
    Verdict,
    nearest,
    shorten,
)
from ragassay.metrics.base import Metric, MetricBase, MetricFlow
from ragassay.metrics.declaration import Declaration
from ragassay.metrics.parameters import refuse
from ragassay.metrics.reduction import PARTIAL
from ragassay.metrics.registry import catalogue

FIELDS = (
    "question",
    "response",
    "contexts",
    "reference",
    "expected_facts",
    "relevant_ids",
    "guidelines",
    "answerable",
    "slices",
    "labels",
    "usage",
    "feedback",
    "error",
)
"""What a metric's parameters may be called, beside "row" for the whole Sample. contexts are the
chunks' texts.
"""
_PARAMETERS = (*FIELDS, "row")
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,59}")
"""Without the brackets and commas at which printed names and lists of metrics are cut."""


# No slots: the declaration is written from the function, so it is the instance's and not the
# class's.
@dataclass(frozen=True)
class FunctionMetric(MetricBase):
    """A function as a metric; calling it calls the function, which keeps its tests simple."""

    declaration: Declaration  # type: ignore[misc]
    function: Callable[..., object]
    pass_mark: float | None = None
    reads: Mapping[str, bool] = field(
        default_factory=dict, hash=False
    )  # parameter -> whether it has a default

    def __str__(self) -> str:
        return self.declaration.name

    def __call__(self, *args: object, **kwargs: object) -> object:
        """What the function itself returns."""
        return self.function(*args, **kwargs)

    @property
    def reference(self) -> str:
        """ "module:name", by which a resumed run imports the metric again; "" for one that no
        module holds.
        """
        module = getattr(self.function, "__module__", "")
        name = getattr(self.function, "__qualname__", "")
        importable = module and module != "__main__" and name.isidentifier()
        return f"{module}:{name}" if importable else ""

    def flow(self, sample: Sample) -> MetricFlow:
        arguments: dict[str, object] = {}
        for name, has_default in self.reads.items():
            value = _read(sample, name)
            if value is not None:
                arguments[name] = value
            elif not has_default:
                lacks = self.not_applicable(f"the row has no {name}")
                if name == "response":  # the reason may be that the application failed
                    return MetricBase.missing(self, sample) or lacks
                return lacks
        result = self.function(**arguments)
        answers: list[Judgment] = []
        # By what came back, not by how the function is written: it may return another's generator.
        if isinstance(result, Generator):
            result = yield from _drive(result, answers)
        if inspect.isawaitable(result):
            if inspect.iscoroutine(result):
                result.close()  # or Python warns that it was never awaited
            raise TypeError("it returned something to await; a metric is a plain function")
        return self._score(result, answers)

    def _score(self, result: object, answers: list[Judgment]) -> Score:
        """The Score of what the function returned, given the answers it was sent."""
        counts = Counts.of(answer.status for answer in answers)
        settled = (Status.JUDGED, Status.NOT_APPLICABLE)
        lost_answers = [answer for answer in answers if answer.status not in settled]
        if isinstance(result, Score):
            return self._completed(result, counts, lost_answers)
        why = ""
        if isinstance(result, tuple):
            if len(result) != 2 or not isinstance(result[1], str):
                raise TypeError("it returned a tuple that is not (value, rationale)")
            result, why = result
        if lost_answers and not counts.judged:
            # Whatever the function makes of it: no number stands for what was not judged.
            return Score(
                str(self),
                lost_answers[0].status,
                reason=lost_answers[0].reason or "no verdict arrived",
                counts=counts,
                verdict=None if self.pass_mark is None else Verdict.UNDECIDED,
                pass_mark=self.pass_mark,
                rationale=why,
            )
        if result is None:
            return replace(
                self.not_applicable(why or "the function returned None for this row"), counts=counts
            )
        value, verdict = self._value_and_verdict(result)
        # The function cannot say what a lost answer would have changed, so a pass is not certain.
        if lost_answers and verdict is Verdict.PASS:
            verdict = Verdict.UNDECIDED
        return Score(
            str(self),
            Status.JUDGED,
            value=value,
            verdict=verdict,
            pass_mark=self.pass_mark,
            counts=counts,
            rationale=why,
            flags=(PARTIAL,) if lost_answers else (),
        )

    def _completed(self, score: Score, counts: Counts, lost_answers: list[Judgment]) -> Score:
        """The Score that the function made itself, with what was asked and lost on the way: a loss
        is never a number.
        """
        score = replace(
            score, metric=str(self), counts=score.counts if score.counts.asked else counts
        )
        if lost_answers and not counts.judged:
            return replace(
                score,
                status=lost_answers[0].status,
                value=None,
                reason=lost_answers[0].reason or "no verdict arrived",
                counts=counts,
                verdict=None if score.verdict is None else Verdict.UNDECIDED,
            )
        if lost_answers:
            verdict = Verdict.UNDECIDED if score.verdict is Verdict.PASS else score.verdict
            flags = score.flags if PARTIAL in score.flags else (*score.flags, PARTIAL)
            score = replace(score, verdict=verdict, flags=flags, counts=counts)
        return score

    def _value_and_verdict(self, result: object) -> tuple[float, Verdict | None]:
        """The value, checked, and its verdict: true is good, or the pass mark decides."""
        better = self.declaration.higher_is_better
        result = _plain(result)
        if not isinstance(result, Real):
            raise TypeError(
                f"it returned {type(result).__name__}; return a number, True or False, None, or a"
                " Score"
            )
        value, mark = float(result), self.pass_mark
        low, high = self.declaration.low, self.declaration.high
        if not math.isfinite(value) or value < low or (high is not None and value > high):
            span = f"from {low:g} to {high:g}" if high is not None else f"from {low:g} on"
            raise ValueError(f"it returned {value!r}, which is not {span}")
        if mark is None:
            if not isinstance(result, bool) or better is None:
                return value, None
            mark = 1.0 if better else 0.0  # of yes and no
        good = value >= mark if better else value <= mark
        return value, Verdict.PASS if good else Verdict.FAIL


def is_users_own(metric: Metric) -> bool:
    """Whether the metric runs the user's code, which may do anything, and not only ours."""
    return isinstance(metric, FunctionMetric) or not type(metric).__module__.startswith("ragassay.")


@overload
def metric(function: Callable[..., object], /) -> FunctionMetric: ...
@overload
def metric(
    *,
    name: str = ...,
    pass_mark: float | None = ...,
    higher_is_better: bool | None = ...,
    low: float = ...,
    high: float | None = ...,
    unit: str = ...,
) -> Callable[[Callable[..., object]], FunctionMetric]: ...
def metric(
    function: Callable[..., object] | None = None,
    /,
    *,
    name: str = "",
    pass_mark: float | None = None,
    higher_is_better: bool | None = True,
    low: float = 0.0,
    high: float | None = 1.0,
    unit: str = "",
) -> FunctionMetric | Callable[[Callable[..., object]], FunctionMetric]:
    """Make a function a metric: `@ragassay.metric`, or `@ragassay.metric(name="...",
    pass_mark=0.5)`.

    Parameters of the function: fields of a row (FIELDS; `contexts` are the chunks' texts), or `row`
    for the whole Sample. It returns True or False (1 or 0, with a verdict), a number from low to
    high, None (not applicable to this row), (value, rationale), or a Score; or it is a generator
    that yields a Request or several, is sent their Judgments, and returns one of these. What it
    raises, and a number out of range, make its Score failed on that row and nothing else.

    name: the metric's printed name, the function's by default. pass_mark: the value from which the
    row passes (up to which, where higher_is_better is False); without one only True and False have
    a verdict. higher_is_better: None where neither end is better. high: None = unbounded. unit: as
    in "s", "USD", "tokens".

    Raises SetupError E0202 when the function cannot be a metric: a parameter that no row has,
    async, no parameter.

    >>> @metric
    ... def short(response):
    ...     return len(response) < 20
    >>> short("Paris."), str(short), short.declaration.needs
    (True, 'short', ('response',))
    """

    def decorate(decorated: Callable[..., object]) -> FunctionMetric:
        return metric_of(decorated, name, pass_mark, higher_is_better, low, high, unit)

    return decorate if function is None else decorate(function)


def metric_of(
    function: Callable[..., object],
    name: str,
    pass_mark: float | None,
    higher_is_better: bool | None,
    low: float,
    high: float | None,
    unit: str,
) -> FunctionMetric:
    """The metric of a function, once everything about it is checked."""
    if not callable(function):
        raise refuse(
            "metric", "function", function, "a function: @ragassay.metric stands right above it"
        )
    name = name or getattr(function, "__name__", "")
    _check_name(name)
    _check_plain_function(name, function)
    _check_range(name, low, high, pass_mark)
    _check_pass_mark(name, pass_mark, higher_is_better, low, high)
    reads = _parameters(function, name)
    declaration = _declaration(
        function, name, reads, low=low, high=high, unit=unit, higher_is_better=higher_is_better
    )
    return FunctionMetric(declaration, function, pass_mark, reads)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise refuse(
            "metric", "name", name, 'a name of small letters, digits and _, such as name="is_short"'
        )
    if name in catalogue():
        raise refuse(
            name,
            "name",
            name,
            "another name: a metric of RagAssay is called that, and their scores could not be "
            "told apart",
        )


def _check_plain_function(name: str, function: Callable[..., object]) -> None:
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise _cannot_be_metric(
            name,
            f"The metric {name} is an async function.",
            "a metric asks the judge, and nothing else of the world",
            "make it a plain function; to ask the judge, yield Requests from it; look anything else"
            " up beforehand, and hand it over in the row's labels",
        )


def _check_range(name: str, low: float, high: float | None, pass_mark: float | None) -> None:
    for option, number in (("low", low), ("high", high), ("pass_mark", pass_mark)):
        if number is not None and not _is_finite_number(number):
            raise refuse(name, option, number, "a finite number")
    if high is not None and low >= high:
        raise refuse(name, "high", high, f"a number above low={low:g}, or None for no upper end")


def _is_finite_number(number: object) -> bool:
    # True and False are numbers to Python, and no range or pass mark to a reader.
    if isinstance(number, bool) or not isinstance(number, Real):
        return False
    return math.isfinite(number)


def _check_pass_mark(
    name: str,
    pass_mark: float | None,
    higher_is_better: bool | None,
    low: float,
    high: float | None,
) -> None:
    if pass_mark is None:
        return
    if higher_is_better is None:
        raise refuse(
            name, "pass_mark", pass_mark, "a direction with it: higher_is_better=True or False"
        )
    if pass_mark < low or (high is not None and pass_mark > high):
        raise refuse(
            name, "pass_mark", pass_mark, f"a number in the metric's range, from {low:g} on"
        )


def _declaration(
    function: Callable[..., object],
    name: str,
    reads: Mapping[str, bool],
    *,
    low: float,
    high: float | None,
    unit: str,
    higher_is_better: bool | None,
) -> Declaration:
    """The declaration that is read off a function. reads: parameter -> whether it has a default."""
    first_line = (inspect.getdoc(function) or "").split("\n")[0].strip()
    module = getattr(function, "__module__", "")
    qualified_name = getattr(function, "__qualname__", name)
    return Declaration(
        name=name,
        title=first_line or f"Your function {name}.",
        formula=f"what your function {name} returns.",
        low=low,
        high=high,
        unit=unit,
        needs=tuple(
            parameter
            for parameter, has_default in reads.items()
            if not has_default and parameter != "row"
        ),
        higher_is_better=higher_is_better,
        judged=inspect.isgeneratorfunction(function),
        calls="as the function asks",
        source=f"{module}:{qualified_name}",
        edge_cases=(
            (
                "the row lacks a field that the function reads, or the function returns None: not"
                " applicable"
            ),
            "the function raises, or returns a number out of range: failed",
        ),
    )


def _parameters(function: Callable[..., object], name: str) -> dict[str, bool]:
    """Parameter -> whether it has a default."""
    reads: dict[str, bool] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise _cannot_be_metric(
                name,
                f"The metric {name} takes {parameter}, which names no field of a row.",
                "",
                f"name what it reads, each by itself: {', '.join(_PARAMETERS)}",
            )
        if parameter.name not in _PARAMETERS:
            raise _cannot_be_metric(
                name,
                f"The metric {name} reads {shorten(parameter.name, 40)!r}, which no row has.",
                "",
                f"choose from: {', '.join(_PARAMETERS)}.{nearest(parameter.name, _PARAMETERS)}",
            )
        reads[parameter.name] = parameter.default is not parameter.empty
    if not reads:
        raise _cannot_be_metric(
            name,
            f"The metric {name} has no parameter, so it would read nothing of a row.",
            "",
            f"give it at least one of: {', '.join(_PARAMETERS)}",
        )
    return reads


def _cannot_be_metric(name: str, what: str, why: str, fix: str) -> SetupError:
    return SetupError("E0202", what, where=f"@ragassay.metric, function {name}", why=why, fix=fix)


def _read(sample: Sample, name: str) -> object:
    """What a parameter of that name gets, None where the row does not have it."""
    if name == "row":  # a metric must not change the row for the next one, nor what is stored of it
        relevant_ids = sample.relevant_ids
        if relevant_ids is not None:
            relevant_ids = MappingProxyType(dict(relevant_ids))
        return replace(
            sample,
            slices=MappingProxyType(dict(sample.slices)),
            labels=MappingProxyType(dict(sample.labels)),
            relevant_ids=relevant_ids,
        )
    if name == "contexts":
        return None if sample.contexts is None else tuple(chunk.text for chunk in sample.contexts)
    value: object = getattr(sample, name)
    # These three are never None in a Sample: empty means that the row has none.
    if name in ("guidelines", "slices", "labels") and not value:
        return None
    return MappingProxyType(dict(value)) if isinstance(value, Mapping) else value


def _drive(
    flow: Generator[object, object, object], answers: list[Judgment]
) -> Generator[tuple[Request, ...], tuple[Judgment, ...], object]:
    """Drive the user's generator: one Request is answered by one Judgment, several by a tuple of
    them.
    """
    try:
        yielded = next(flow)
        while True:
            judgments = yield _requests(flow, yielded)
            answers += judgments
            yielded = flow.send(judgments[0] if isinstance(yielded, Request) else judgments)
    except StopIteration as stop:
        return stop.value


def _requests(flow: Generator[object, object, object], yielded: object) -> tuple[Request, ...]:
    """The Requests that the user's generator yielded. Raises TypeError for anything else."""
    if isinstance(yielded, Request):
        return (yielded,)
    offender: object = yielded
    if isinstance(yielded, tuple | list):
        requests = tuple(item for item in yielded if isinstance(item, Request))
        if len(requests) == len(yielded):
            return requests
        offender = next(item for item in yielded if not isinstance(item, Request))
    flow.close()  # its `finally` clauses run now, and not whenever it is collected
    raise TypeError(f"it yielded {type(offender).__name__}; yield a Request or a tuple of Requests")


def _plain(value: object) -> object:
    """The Python value of a number of NumPy, PyTorch and the like, which know it by `item`."""
    item = getattr(value, "item", None)
    return item() if callable(item) and not isinstance(value, Mapping) else value
