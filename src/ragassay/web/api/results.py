"""The JSON that the operations answer, as types of which schemas are made.

Most of it is the package's own values, whose schemas follow from their fields. Nothing is checked
against these when an answer is sent: the tests do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragassay.core import (
    AskedOfRow,
    CauseShare,
    Certificate,
    HumanLabel,
    Judgment,
    MetricSummary,
    MetricTrust,
    SliceSummary,
)
from ragassay.report.comparison import ChangedRow, CorrectedDifference, MetricComparison
from ragassay.scoring.annotators import PeopleAgreement
from ragassay.scoring.hypotheses import Equivalence, McNemar


@dataclass(frozen=True)
class ProblemPart:
    """One thing that is wrong. where: JSON pointer into the body, or parameter."""

    where: str
    what: str


@dataclass(frozen=True)
class ProblemJson:
    """An error (RFC 9457). code: as of `ragassay explain`; remedy: what to do."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    where: str
    why: str
    remedy: str
    problems: list[ProblemPart]


@dataclass(frozen=True)
class ErrorCode:
    """An entry of the catalogue of errors."""

    code: str
    meaning: str
    cause: str
    remedy: str


@dataclass(frozen=True)
class ErrorCodes:
    """All of them."""

    items: list[ErrorCode]


@dataclass(frozen=True)
class MetricCatalogue:
    """Declarations of the metrics, and what each preset holds."""

    schema: int
    metrics: list[dict[str, Any]]
    presets: dict[str, Any]


@dataclass(frozen=True)
class Runs:
    """A page of runs. next: cursor of the page after it, null on the last one."""

    items: list[dict[str, Any]]
    total: int
    next: str | None


@dataclass(frozen=True)
class ProgressJson:
    """Where a run stands. done: rows that are finished, of `total`; cost: US dollars; driven:
    whether a process works on it: one in the state `running` that is not driven was killed.
    """

    run_id: str
    state: str
    driven: bool
    stop_reason: str
    done: int
    total: int
    bad: int
    calls: int
    cost: float | None
    updated: str


@dataclass(frozen=True)
class RunMetrics:
    """The figures of each metric; with `distribution`, rows by ten equal bins of [0, 1]."""

    items: list[MetricSummary]


@dataclass(frozen=True)
class RunCauses:
    """Why rows fail. failed: how many do."""

    causes: list[CauseShare]
    patterns: dict[str, int]
    slices: list[SliceSummary]
    failed: int


@dataclass(frozen=True)
class RunTrust:
    """What is known of the judge, a metric each."""

    items: list[MetricTrust]


@dataclass(frozen=True)
class RowInList:
    """One row of a list. verdict: also "none" and "unreadable"."""

    index: int
    id: str
    verdict: str
    cause: str
    done: bool
    question: str
    value: float | None


@dataclass(frozen=True)
class Rows:
    """A page of rows. total: null where counting would take long."""

    items: list[RowInList]
    total: int | None
    next: str | None


@dataclass(frozen=True)
class Quote:
    """Evidence: a place in a context, counted from 0."""

    context: int | None
    start: int | None
    end: int | None
    quote: str


@dataclass(frozen=True)
class ScoreRecord:
    """One record of an export."""

    id: str
    index: int
    metric: str | None
    value: float | None
    status: str
    reason: str
    asked: int
    judged: int
    verdict: str | None
    pass_mark: float | None
    rationale: str
    evidence: list[Quote]
    parts: int
    flags: list[str]
    cause: str
    finer: list[str]
    better: str
    uncertain: str


@dataclass(frozen=True)
class Scores:
    """A page of scores."""

    items: list[ScoreRecord]
    next: str | None


@dataclass(frozen=True)
class RowJudgments:
    """What a judge was asked about a row, and the judgments made of its replies."""

    asked: AskedOfRow
    judgments: list[Judgment]


@dataclass(frozen=True)
class Certificates:
    """Certificates of judges."""

    items: list[Certificate]


@dataclass(frozen=True)
class ComparisonJson:
    """Two runs, b less a. p of metrics and rows: corrected by Holm."""

    schema: int
    kind: str
    a: dict[str, Any]
    b: dict[str, Any]
    both: int
    only_a: int
    only_b: int
    fixed: int
    broken: int
    turned: dict[str, Any] | None
    metrics: list[MetricComparison]
    corrected: list[CorrectedDifference]
    same_answers: bool
    changed: list[ChangedRow]
    warnings: list[str]
    headline: str


@dataclass(frozen=True)
class Labels:
    """A page of labels."""

    items: list[HumanLabel]
    total: int
    next: str | None


@dataclass(frozen=True)
class LabelsKept:
    """What came of labels that were sent. kept: new or changed ones; unknown: ids that the run does
    not have, in words; unlabelled, repeated: rows.
    """

    run_id: str
    metrics: list[str]
    labels: int
    kept: int
    unlabelled: int
    repeated: int
    unknown: list[str]
    people: list[str]
    notes: list[str]


@dataclass(frozen=True)
class Counting:
    """Figures that are being counted: ask again after Retry-After."""

    counting: bool
    rows: int


HIDDEN: Mapping[str, Any] = {
    "Equivalence": Equivalence,
    "McNemar": McNemar,
    "PeopleAgreement": PeopleAgreement,
}
"""Types that the modules of the values above import for type checkers alone."""
