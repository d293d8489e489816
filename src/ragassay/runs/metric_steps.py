"""The steps of a metric's flow: what it asks next, or the Score it ends with, checked.

A metric may be the user's own, so nothing that it returns is believed before it was looked at, and
its faults are failed scores and not the end of the run.
"""

from __future__ import annotations

from ragassay.core import (
    Judgment,
    Part,
    RagAssayError,
    Request,
    Sample,
    Score,
    Status,
    Verdict,
    message_of,
    shorten,
)
from ragassay.metrics import Metric, MetricFlow

Step = Score | tuple[MetricFlow, tuple[Request, ...]]
"""Where a flow stands: at its end, or at what it asks."""

LARGEST = 1e100
"""No score is larger: its square would overflow, and with it the interval of a mean."""


def next_step(
    metric: Metric, sample: Sample, flow: MetricFlow | None, answers: tuple[Judgment, ...]
) -> Step:
    """Advance a flow (None: begin it). A metric's own fault is that metric's failed score, not the
    run's end.
    """
    try:
        if flow is None:
            flow = metric.flow(sample)
            requests = next(flow)
        else:
            requests = flow.send(answers)
        if not _are_requests(requests):
            raise TypeError("a metric's flow must yield tuples of Requests")
        return flow, requests
    except StopIteration as end:
        return _checked(metric, end.value)
    except RagAssayError:
        raise
    except BaseException as error:
        return failed_score(metric, error)


def failed_score(metric: Metric, error: BaseException) -> Score:
    """The Score of a metric that raised."""
    reason = f"the metric raised {type(error).__name__}: {shorten(message_of(error), 200)}"
    return Score(str(metric), Status.FAILED, verdict=Verdict.UNDECIDED, reason=reason)


def _are_requests(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(each, Request) for each in value)


def _checked(metric: Metric, score: object) -> Score:
    """The Score a metric returned, or a failed one in its place when it is none or holds what it
    must not.
    """
    try:
        _check_type(score)
        assert isinstance(score, Score)
        _check_value(metric, score)
    except Exception as error:  # whatever looking at it raises
        return failed_score(metric, error)
    return score


def _check_type(score: object) -> None:
    if not isinstance(score, Score):
        raise TypeError(f"it returned {type(score).__name__} where a Score is due")
    if not isinstance(score.status, Status) or not isinstance(score.verdict, Verdict | None):
        raise TypeError("the status or the verdict of its Score is none")
    if type(score.parts) is not tuple or not all(isinstance(part, Part) for part in score.parts):
        raise TypeError("the parts of its Score are no tuple of Parts")


def _check_value(metric: Metric, score: Score) -> None:
    value = score.value
    if value is None:
        if score.status is Status.JUDGED:
            raise ValueError("its Score is judged and has no value")
        return
    # By type and not by isinstance, for True is an int as well.
    if type(value) not in (int, float):
        raise TypeError(f"the value of its Score is a {type(value).__name__}")
    if score.status is not Status.JUDGED or not _in_range(metric, value):
        raise ValueError(
            f"the value {value!r} with the status {score.status} is no score of its range"
        )


def _in_range(metric: Metric, value: float) -> bool:
    """Whether the value is finite, not NaN, and in the range that the metric declares."""
    declared = metric.declaration
    if not (abs(value) <= LARGEST and declared.low <= value):
        return False
    return declared.high is None or value <= declared.high
