"""A run: samples x metrics under one manifest, the result of each row, and the run's summary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ragassay.core.display import Displayed
from ragassay.core.errors import SetupError, nearest, shorten
from ragassay.core.fast_init import fast_init
from ragassay.core.judgment import Spend
from ragassay.core.known_model import KnownModel
from ragassay.core.sample import AppUsage, BadRow, Sample
from ragassay.core.score import Score, Verdict

MEASURING = "to measure a judge: "
"""How the names of runs begin that a benchmark, a battery or repeated samples made."""

DIRECT = "direct"
"""The id under which the judgments of direct calls are kept: no run that anybody began."""


class RunState(StrEnum):
    """Where a run stands. Everything but FINISHED can be resumed."""

    RUNNING = "running"  # or killed: a run that says so and has no living process
    FINISHED = "finished"
    INTERRUPTED = "interrupted"  # Ctrl-C or SIGTERM
    BUDGET = "budget"  # a cap on calls, cost or time was reached
    FAILED = "failed"  # the set-up or the machine failed; `Manifest.stop_reason` says how


@dataclass(frozen=True, slots=True)
class JudgeInfo:
    """Who judged, as shown beside every figure.

    uri: "offline" or "openai:MODEL". rubrics: rubric id -> "id@version". fingerprints: rubric id ->
    fingerprint of (rubric text, model, parameters). agreement: one sentence on how well this judge
    agrees with people, with its interval and data, or that it is unmeasured. base_url: host that
    sees the texts, "" where it is not known or there is none. models: what is known of the models
    behind servers. sent: host -> fields of the rows that the metrics may send it, {} where nothing
    leaves the machine or a run of a former version did not say. self_preference: one sentence where
    the judge and the model that wrote the responses are the same or of one family, else "".
    identities: rubric id -> the fingerprint without the server's address, {} for a run of a former
    version.
    """

    uri: str
    rubrics: Mapping[str, str]
    fingerprints: Mapping[str, str]
    agreement: str
    base_url: str = ""
    models: tuple[KnownModel, ...] = ()
    sent: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    self_preference: str = ""
    identities: Mapping[str, str] = field(default_factory=dict)

    @property
    def measured_as(self) -> Mapping[str, str]:
        """Rubric id -> what certificates are bound to: the identity, of a run of a former version
        the fingerprint.
        """
        return self.identities or self.fingerprints

    @property
    def sends_nothing(self) -> bool:
        """Whether no text left this machine to be judged: true of the offline judge and of local
        models alone.

        A judge without a `base_url` is not enough: a provider's model need not name its host.
        """
        scheme = self.uri.strip().lower().partition(":")[0]
        return scheme in ("offline", "local") and not self.base_url


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything needed to repeat or resume a run.

    source: absolute path of the rows, or "memory". source_hash: content hash. mapping: column ->
    field, as read. options: the evaluate options that shape results (metrics, judge, rubric files,
    claims mode ...), JSON-like. times are ISO 8601 UTC. rows: how many rows the source holds, bad
    ones included. units: metric -> "USD", "s", "tokens", where it is no ratio. lower_is_better,
    neutral: metrics whose low values are the good ones, and those where neither end is; all others
    are better when higher. kept: what the caller wanted kept with the run, JSON-like; under
    "command" what the command checks and writes at the end, for its resume. mark_words: judge of
    the user's own -> its pass mark in the words of its scale. by_default: metrics that were chosen
    by default, or by a preset, those left out included that no row has the fields for.
    """

    run_id: str
    created: str
    version: str
    source: str
    source_hash: str
    rows: int
    mapping: Mapping[str, str]
    metrics: tuple[str, ...]
    judge: JudgeInfo
    options: Mapping[str, object] = field(default_factory=dict)
    name: str = ""
    units: Mapping[str, str] = field(default_factory=dict)
    lower_is_better: tuple[str, ...] = ()
    neutral: tuple[str, ...] = ()
    kept: Mapping[str, object] = field(default_factory=dict)
    mark_words: Mapping[str, str] = field(default_factory=dict)
    by_default: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a row failed. name: "retrieval_irrelevant", "ungrounded" ...; remedy: what to change;
    detail: quoted proof. uncertain: which metric before it in causal order gave no verdict, and
    why; "" where none.
    """

    name: str
    title: str
    remedy: str = field(metadata={"stored_as": "knob"})
    detail: str = ""
    uncertain: str = ""


@fast_init
@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The row's verdict and what broke.

    verdict: FAIL when any applicable judge fails, UNDECIDED when none fails but one could not be
    judged. None when nothing with a pass mark applied. cause: the first failure in causal order.
    others: further failures, in causal order. pattern: one of the four score patterns, "" when none
    fits. finer: what lies behind the cause where the inputs allow to say it: one, or
    several when they cannot be told apart here.
    """

    verdict: Verdict | None = None
    cause: Cause | None = None
    others: tuple[Cause, ...] = ()
    pattern: str = ""
    finer: tuple[Cause, ...] = ()


@fast_init
@dataclass(frozen=True, slots=True)
class RowResult(Displayed):
    """One finished row. index: place in the source, from 0. Either sample or bad is set.

    done: False when a cap or an interrupt left the row without some of its judgments; a resume does
    it again. reading: how the replies were read that its judgments came from: flag -> judgments
    that carry it, each counted once; "repaired" counts those with any repair. Empty for replies in
    the form that was asked for.
    """

    index: int
    sample: Sample | None
    scores: tuple[Score, ...] = ()
    diagnosis: Diagnosis = field(default_factory=Diagnosis)
    bad: BadRow | None = None
    done: bool = True
    reading: Mapping[str, int] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The row's id."""
        if self.sample is not None:
            return self.sample.id
        return self.bad.id if self.bad is not None else ""

    def score(self, metric: str) -> Score | None:
        """The score of the metric with this printed name, with the words of its claims; None in a
        row without any.

        Raises SetupError E0201 for a name that is not among the row's scores.
        """
        for score in self.scores:
            if score.metric == metric:
                return score.with_claims(self.sample.response if self.sample is not None else None)
        if not self.scores or not self.done:
            return None
        names = [score.metric for score in self.scores]
        raise SetupError(
            "E0201",
            f"Row {shorten(self.id, 60)} has no score {shorten(metric, 60)!r}."
            f"{nearest(metric, names)}",
            why=f"its scores: {', '.join(names)}",
            fix="take one of its scores",
        )


@dataclass(frozen=True, slots=True)
class Interval:
    """A two-sided interval. low, high in the metric's unit; level e.g. 0.95; method names the
    formula.
    """

    low: float
    high: float
    level: float
    method: str


@dataclass(frozen=True, slots=True)
class Ledger:
    """What judging cost, in three columns that add up exactly as decimals.

    confirmed: answers that arrived, of this run; its cost is that of the answers that came with a
    bill, None when the price is not known. uncertain_cost: what may have been billed besides:
    uncertain_calls, whose answer never came, and unbilled_calls, whose answer said nothing about
    tokens. It is the most that these can have cost, except where the server answered with a page
    that says that it failed, which is estimated, and for cut_off_calls: of the uncertain ones,
    those that were in flight when the process was killed or the run stopped. Their cut_off_cost, a
    part of uncertain_cost, is an estimate from what such calls took, which is seldom exceeded.
    cached_judgments: read from the store instead of being asked again; saved_cost: what they cost
    when they were bought, as far as that is known. preflight: of confirmed, what was spent before
    the rows, of which no judgment is stored. refused_calls: requests that the server refused, which
    cost nothing; they count against a cap on calls.
    """

    confirmed: Spend = field(default_factory=Spend)
    uncertain_calls: int = 0
    uncertain_cost: float = 0.0
    cached_judgments: int = 0
    retries: int = 0
    unbilled_calls: int = 0
    saved_cost: float = 0.0
    cut_off_calls: int = 0
    cut_off_cost: float = 0.0
    preflight: Spend = field(default_factory=Spend)
    refused_calls: int = 0


@dataclass(frozen=True, slots=True)
class Batch:
    """Calls that were handed to a provider in one piece, to be answered within a day or so.

    id: as the provider names it. state: how it stands, in the provider's word. calls: content
    hashes of the requests. created: ISO 8601 UTC, when it was handed over. where: base URL of the
    server that has it.
    """

    id: str
    state: str
    calls: tuple[str, ...]
    created: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """One metric over the run.

    mean and interval over the rows that have a value (n rows, in `clusters` clusters); None when n
    = 0. rows: all rows; judged / asked count the parts (claims, chunks, ratings), coverage = judged
    / asked. pass_rate = passed / (passed + failed), with its interval; undecided rows stand beside
    it. not_applicable: rows lacking an input, reasons: why, with counts. probability: mean
    probability of a yes over the judged parts, None where the judge gives none. lost: something was
    asked and nothing of it judged, so that there is no value.
    """

    metric: str
    rows: int
    n: int
    clusters: int
    mean: float | None
    interval: Interval | None
    asked: int
    judged: int
    coverage: float | None
    passed: int
    failed: int
    undecided: int
    pass_rate: float | None
    pass_interval: Interval | None
    not_applicable: int
    reasons: Mapping[str, int]
    pass_mark: float | None
    probability: float | None = None
    unit: str = ""
    lost: bool = False


@dataclass(frozen=True, slots=True)
class CauseShare:
    """How many failing rows one root cause explains: share = rows / failing rows."""

    cause: Cause
    rows: int
    share: float
    interval: Interval | None
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SliceSummary:
    """One metric on one slice. gap = slice mean - mean of the rest; p is two-sided, Holm-corrected
    over all slices compared; None where too few clusters (fewer than 2 on either side).
    """

    slice: str
    value: str
    metric: str
    n: int
    mean: float | None
    interval: Interval | None
    pass_rate: float | None
    gap: float | None
    p: float | None


@dataclass(frozen=True, slots=True)
class WorstRow:
    """A row worth looking at: id, the metric that is worst, its value, and the quoted proof.
    uncertain: whether its cause is.
    """

    id: str
    index: int
    verdict: Verdict | None
    cause: str
    metric: str
    value: float | None
    quote: str
    rationale: str
    uncertain: bool = False


@dataclass(frozen=True, slots=True)
class CorrectedFigure:
    """A metric of a run set right by people's labels of some of its rows.

    of: "pass rate" or "mean". value, interval: corrected, from 0 to 1; None where the labels cannot
    be used, and why says so. labels: that count; rows: of the run to which the metric applies.
    judge: what the judge says over these. weighted: rows were drawn with known chances. waiting:
    rows that were drawn for labelling and have no label; unseen: the share of the run's rows that
    they stand for, by which the figure may be off where they are unlike the others.
    """

    metric: str
    of: str
    value: float | None
    interval: Interval | None
    labels: int
    rows: int
    judge: float | None
    weighted: bool = False
    method: str = ""
    why: str = ""
    waiting: int = 0
    unseen: float = 0.0

    @property
    def doubt(self) -> str:
        """Why nothing can be decided by the figure, in words; "" where something can."""
        if self.value is None or self.interval is None:
            return self.why or "the labels give no interval"
        if self.unseen > MOST_UNSEEN:
            return (
                f"rows that were drawn and have no label ({self.waiting}) may move it by up to"
                f" {self.unseen:.2f}: label them"
            )
        half = (self.interval.high - self.interval.low) / 2
        if half > WIDEST:
            return f"it is known to within {half:.2f} only, which decides nothing: label more rows"
        return ""


MOST_UNSEEN = 0.05
"""The share of rows that drawn ones without a label may stand for, where something is decided by a
corrected figure: it may be off by so much.
"""
WIDEST = 0.2
"""Half of the widest interval of a corrected figure that something is decided by."""


@dataclass(frozen=True, slots=True)
class MetricTrust:
    """How far the judge's scores of one metric can be believed on these rows.

    measured: a certificate covers this rubric, model and parameters, and no shift between its rows
    and the run's was found. sentence: that in words, with the figures or why there are none.
    certificate: its id, "" where none covers the judge; then dataset, labels, clusters, kind, where
    and figures are those of it, and feature says where its rows differ most from the run's. Without
    one, labels are those that were imported for the run. others: further certificates that cover
    the judge. corrected: the metric set right by the labels of the run, None without any. caveat:
    what to beware of in the certificate, "" for nothing.
    """

    metric: str
    measured: bool
    sentence: str
    certificate: str = ""
    dataset: str = ""
    kind: str = ""
    where: tuple[str, ...] = ()
    labels: int = 0
    clusters: int = 0
    kappa: float | None = None
    kappa_interval: Interval | None = None
    balanced_accuracy: float | None = None
    balanced_accuracy_interval: Interval | None = None
    feature: str = ""
    why: str = ""
    others: int = 0
    corrected: CorrectedFigure | None = None
    caveat: str = ""


@dataclass(frozen=True, slots=True)
class BesideUsers:
    """A judge beside the users who rated the answers.

    metric: "" for the verdict on the row as a whole. rows: rated rows with a verdict, without those
    whose rating is just in the middle. unhappy: rows whose users were; unhappy_passed: those of
    them that pass all the same, with the first as examples. kappa: Cohen's, of happy and pass, with
    its interval; why: what is to be known of it, or why it is absent.
    """

    metric: str
    rows: int
    unhappy: int
    unhappy_passed: int
    examples: tuple[str, ...] = ()
    kappa: float | None = None
    kappa_interval: Interval | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class OrderAgreement:
    """How far a judge that was asked in two opposite orders agrees with itself.

    items: what was judged in both. other_rating: those of them that the two orders rated
    differently; other_verdict: those that one order passed and the other one failed. one_order:
    what only one of the two orders gave a verdict on, which stands. metrics: the same for each
    metric; an item that several metrics ask about counts once above.
    """

    items: int = 0
    other_rating: int = 0
    other_verdict: int = 0
    one_order: int = 0
    metrics: Mapping[str, OrderAgreement] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Summary(Displayed):
    """Everything that is printed first. rows = scored + bad + pending. reading: `RowResult.reading`
    summed over the rows. orders: None where nothing was asked in two orders. users: how far the
    judges agree with the users who rated the answers; () where none did.
    """

    manifest: Manifest
    state: RunState
    stop_reason: str
    rows: int
    scored: int
    bad: int
    pending: int
    passed: int
    failed: int
    undecided: int
    metrics: tuple[MetricSummary, ...]
    causes: tuple[CauseShare, ...]
    patterns: Mapping[str, int]
    slices: tuple[SliceSummary, ...]
    worst: tuple[WorstRow, ...]
    bad_rows: tuple[BadRow, ...]
    app: AppUsage
    app_rows: int
    ledger: Ledger
    seconds: float
    notes: tuple[str, ...] = ()
    trust: tuple[MetricTrust, ...] = ()
    reading: Mapping[str, int] = field(default_factory=dict)
    orders: OrderAgreement | None = None
    users: tuple[BesideUsers, ...] = ()

    @property
    def lost_metrics(self) -> tuple[MetricSummary, ...]:
        """The metrics of which something was asked and nothing judged."""
        return tuple(metric for metric in self.metrics if metric.lost)
