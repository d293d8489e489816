"""How far a judge can be believed: its figures with their intervals, its benchmark, its
certificate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ragassay.core.display import Displayed
from ragassay.core.run import Interval
from ragassay.core.score_map import ScoreMap


@dataclass(frozen=True, slots=True)
class Figure:
    """One number with how sure it is.

    name: as in `FIGURES` ("kappa", "precision"). value: None where it is not defined on these rows.
    interval: 95 %, None where none can be given. n: rows it is computed over. reason: why the value
    or the interval is absent, or what to beware of; "" where there is nothing to say. Never NaN.
    """

    name: str
    value: float | None
    interval: Interval | None = None
    n: int = 0
    reason: str = ""


FIGURES: Mapping[str, str] = {
    "precision": "of what the judge passes, the share that people pass",
    "recall": "of what people pass, the share that the judge passes",
    "f1": "harmonic mean of precision and recall",
    "accuracy": "share of rows on which judge and people agree",
    "balanced_accuracy": "mean of the shares of passes and of fails that are judged right",
    "kappa": "Cohen's kappa of pass or fail",
    "ac1": "Gwet's AC1 of pass or fail",
    "alpha": "Krippendorff's alpha of pass or fail (nominal, people and judge as two coders)",
    "mcc": "Matthews correlation coefficient of pass or fail",
    "false_positive_rate": "of what people fail, the share that the judge passes",
    "false_negative_rate": "of what people pass, the share that the judge fails",
    "specificity": "of what people fail, the share that the judge fails",
    "prevalence": "share of rows that people pass",
    "pass_rate": "share of rows that the judge passes",
    "auc": "chance that the judge scores a row that people pass over one that they fail, ties half",
    "ece": "expected calibration error of the judge's score in [0, 1], ten bins of equal width",
    "brier": "mean squared gap between the judge's score in [0, 1] and people's pass or fail",
    "graded_accuracy": "share of rows with the very same grade",
    "graded_kappa": "Cohen's kappa of the grades, unweighted",
    "kappa_linear": "Cohen's kappa of the grades, linear weights",
    "kappa_quadratic": "Cohen's kappa of the grades, quadratic weights",
    "alpha_ordinal": "Krippendorff's alpha of the grades, ordinal",
    "off_by_1": "share of rows whose grades are at most one step apart",
    "pearson": "Pearson's correlation of the judge's score with the label",
    "spearman": "Spearman's rank correlation of the judge's score with the label",
    "kendall": "Kendall's tau-b of the judge's score with the label",
}
"""Name -> what it says. graded_* and off_by_1 only on graded scales; correlations only where the
label has more than two values.
"""


@dataclass(frozen=True, slots=True)
class SetUp:
    """What was compared with what. All of it is part of what a figure means.

    metric: printed name of the metric that judged, "" for recorded judges. label: the field with
    the human label. scale: the label's values, rising. cut: a label of at least this passes.
    judge_cut: a score of the judge of at least this passes; None where the metric's own verdict is
    taken. graded: whether grades are compared as well. cluster, slice: fields, "" for none. where:
    FIELD=VALUE filters, in words. draws, seed: of the bootstrap.
    """

    label: str
    scale: tuple[float, ...]
    cut: float
    metric: str = ""
    judge_cut: float | None = None
    graded: bool = False
    cluster: str = ""
    slice: str = ""
    where: tuple[str, ...] = ()
    draws: int = 2000
    seed: int = 0


@dataclass(frozen=True, slots=True)
class SliceFigures:
    """The figures over the rows of one slice."""

    value: str
    n: int
    clusters: int
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class CutPoint:
    """The pass-or-fail figures if the judge passed from this score on. None where not defined."""

    cut: float
    passes: int
    precision: float | None
    recall: float | None
    f1: float | None
    balanced_accuracy: float | None
    kappa: float | None


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Rows whose score lies in [low, high): mean score, and the share that people pass, with its
    interval.
    """

    low: float
    high: float
    n: int
    mean_score: float
    observed: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A row on which judge and people differ. cost: how far apart they are, in [0, 1], times what
    such an error costs.
    """

    id: str
    label: float
    score: float
    cost: float
    slice: str = ""
    question: str = ""
    response: str = ""
    human_rationale: str = ""
    judge_rationale: str = ""


@dataclass(frozen=True, slots=True)
class JudgeFigures:
    """One judge against people.

    judge: its URI or "recorded:NAME". fingerprints: rubric id -> fingerprint, of a judge that was
    run. n: rows compared; missing: reason -> rows of the file that could not be compared. pooled:
    over all rows; macro: mean over the slices of each slice's figure (() without slices).
    confusion: rows are the label's values, columns the judge's, both in `confusion_labels` and
    `confusion_scores` order. cut_curve: rising cuts. position: for pairwise judges asked in both
    orders (accuracy by order, share of consistent answers). worth: where rows are
    weighted by their chances, how many rows of equal weight say as much; else None.
    """

    judge: str
    n: int
    clusters: int
    missing: Mapping[str, int]
    pooled: tuple[Figure, ...]
    macro: tuple[Figure, ...] = ()
    slices: tuple[SliceFigures, ...] = ()
    confusion_labels: tuple[str, ...] = ()
    confusion_scores: tuple[str, ...] = ()
    confusion: tuple[tuple[int, ...], ...] = ()
    cut_curve: tuple[CutPoint, ...] = ()
    reliability: tuple[ReliabilityBin, ...] = ()
    disagreements: tuple[Disagreement, ...] = ()
    position: tuple[Figure, ...] = ()
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    judge_cut: float | None = None
    warnings: tuple[str, ...] = ()
    worth: float | None = None

    def figure(self, name: str) -> Figure | None:
        """The pooled figure of this name."""
        return next((figure for figure in self.pooled if figure.name == name), None)


@dataclass(frozen=True, slots=True)
class JudgeDifference:
    """Two judges on the same rows: figure of b - figure of a. p: two-sided, Holm-corrected over all
    that are shown.
    """

    a: str
    b: str
    figure: str
    n: int
    difference: float | None
    interval: Interval | None
    p: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class JudgeBenchmark(Displayed):
    """Judges against human labels. source: absolute path of the labels; rows: in the file after the
    filters; labelled: those with a label.
    """

    source: str
    source_hash: str
    set_up: SetUp
    rows: int
    labelled: int
    judges: tuple[JudgeFigures, ...]
    differences: tuple[JudgeDifference, ...] = ()
    warnings: tuple[str, ...] = ()
    created: str = ""


@dataclass(frozen=True, slots=True)
class Profile:
    """What rows are like, in numbers that say nothing of any one of them.

    n: rows it was made from. quantiles: feature -> its quantiles at 0, 1/32 ... 1 over the rows
    that have it. present: feature -> share of rows that have it.
    """

    n: int
    quantiles: Mapping[str, tuple[float, ...]]
    present: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Shift:
    """Whether two sets of rows are alike. alike: no shift that matters was found. feature: where
    they differ most; why: in words; p: of "they are from one population", corrected for the
    features looked at; size: the largest gap between the distributions, 0 to 1.
    """

    alike: bool
    feature: str = ""
    why: str = ""
    p: float | None = None
    size: float = 0.0


DESIGNS: Mapping[str, str] = {
    "as given": "the labels do not say how their rows were drawn",
    "equal": "drawn with one chance for all rows",
    "weighted": "drawn with unequal chances, and weighted by them",
}
"""How the labelled rows of a certificate were drawn -> that in words."""


@dataclass(frozen=True, slots=True)
class Certificate(Displayed):
    """A judge's measured agreement with people, bound to what determines it.

    id: hash of everything else but `created`. judge: URI. metric: printed name, pass mark included.
    rubrics: id -> "id@version"; fingerprints: rubric id -> fingerprint of rubric text, model and
    parameters: a judgment of another fingerprint is not covered. dataset: name of the file;
    data_hash: of its bytes; kind: "human", "constructed" or "human and constructed" labels. pooled,
    macro: as in JudgeFigures. profile: what the labelled rows are like. design: how
    the labelled rows were drawn (`DESIGNS`), "" for certificates issued before this was recorded.
    score_map: of a calibrated judge, whose figures are out-of-fold. worth: how many labels of equal
    chance say as much, where rows are weighted; None else, and where it was not recorded.
    """

    id: str
    created: str
    version: str
    judge: str
    metric: str
    rubrics: Mapping[str, str]
    fingerprints: Mapping[str, str]
    dataset: str
    data_hash: str
    set_up: SetUp
    n: int
    clusters: int
    pooled: tuple[Figure, ...]
    macro: tuple[Figure, ...]
    profile: Profile
    missing: Mapping[str, int] = field(default_factory=dict)
    kind: str = "human"
    note: str = ""
    design: str = ""
    score_map: ScoreMap | None = None
    worth: float | None = None

    def figure(self, name: str) -> Figure | None:
        """The pooled figure of this name."""
        return next((figure for figure in self.pooled if figure.name == name), None)

    @property
    def weighted_words(self) -> str:
        """ "weighted, worth 73" where rows of unequal chances were weighted, "" else."""
        if self.design != "weighted":
            return ""
        return "weighted" if self.worth is None else f"weighted, worth {self.worth:.0f}"


@dataclass(frozen=True, slots=True)
class RowToLabel:
    """A row that was chosen for people to label. place: in the order in which rows are handed out,
    from 0. wanted: how many people are to label it. scale: the values that a label may take. The
    rest is as in a HumanLabel.
    """

    row_id: str
    place: int
    wanted: int
    scale: tuple[float, ...]
    stream: str = ""
    inclusion_probability: float | None = None
    round: int = 0
    pool: int = 0
    drawn: int = 0


@dataclass(frozen=True, slots=True)
class LabelAnswer:
    """What a person answered about a row, at one time: the last answer is the one that counts.
    value: None where the person cannot tell. repeat: the row was handed out to the same person once
    more, to see whether they agree with themselves; such an answer is no label. revealed: the
    person chose to see the judge's verdict after this answer, which is then not changed any more.
    """

    row_id: str
    annotator: str
    value: float | None
    rationale: str = ""
    created: str = ""
    repeat: bool = False
    revealed: bool = False


@dataclass(frozen=True, slots=True)
class HumanLabel:
    """What one person said of one row.

    name: what was labelled, a metric's printed name or a label of the user's own. annotator: who,
    "" where unknown. value: on the label's scale, finite. stream: "audit", "active" or "stratified"
    where the row was chosen for labelling. inclusion_probability: the chance with which it was
    chosen, in (0, 1], None where it is not known. round: of choosing, 0 where none. created: ISO
    8601 UTC, "" where unknown. pool: how many rows its round was drawn from; drawn: how many that
    round drew; 0 where not known. scale: the values that it could take, () where nobody said.
    """

    row_id: str
    name: str
    annotator: str
    value: float
    rationale: str = ""
    stream: str = ""
    inclusion_probability: float | None = None
    round: int = 0
    created: str = ""
    pool: int = 0
    drawn: int = 0
    scale: tuple[float, ...] = ()
