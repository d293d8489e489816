"""The result of a stress test, whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ragassay.core import Ledger
from ragassay.report.tables import Block, Reported
from ragassay.stress.counterfactual import CounterfactualResult
from ragassay.stress.figures import Rate
from ragassay.stress.headline import Finding
from ragassay.stress.integration import IntegrationResult
from ragassay.stress.noise import NoiseResult
from ragassay.stress.power import Power
from ragassay.stress.rejection import RejectionResult
from ragassay.stress.reports import stress_report
from ragassay.stress.rows import LeftOut


@dataclass(frozen=True, slots=True)
class RowAtLevel:
    """One question at one level, as it stands behind the figures."""

    row: str
    level: str
    right: bool | None
    manner: str
    response: str | None
    error: str | None
    says_wrong: bool
    obeys: bool
    flags: bool
    asked: int
    delivered: int


@dataclass(frozen=True, slots=True)
class StressResult(Reported):
    """What a stress test came to.

    run: id of the run in the store, with every question, its passages and the response. tests: that
    were asked for; untested: those of them that no row is in -> why. findings:
    what is certain, the costliest first. noise, rejection, counterfactual, integration: None where
    they were not asked for or no row is in them. rows: what stands behind the figures. unjudged:
    responses without a verdict of the judge.
    failed: askings without an answer; errors: what the system raised -> how often.
    """

    run: str
    app: str
    source: str
    metric: str
    judge: str
    questions: int
    clusters: int
    askings: int
    findings: tuple[Finding, ...]
    tolerance: float
    failed: Rate
    noise: NoiseResult | None
    rejection: RejectionResult | None
    counterfactual: CounterfactualResult | None
    integration: IntegrationResult | None
    power: Power | None
    left_out: tuple[LeftOut, ...]
    rejected_distractors: int
    undelivered: int
    unjudged: int
    errors: Mapping[str, int]
    rows: tuple[RowAtLevel, ...]
    ledger: Ledger
    seconds: float
    notes: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    untested: Mapping[str, str] = field(default_factory=dict)

    def blocks(self) -> list[Block]:
        """The report: the findings, each test, what it rests on."""
        return stress_report(self)
