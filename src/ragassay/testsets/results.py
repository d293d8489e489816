"""What making and checking a test set came to: the values that programs get and reports show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ragassay.core import Figure, Ledger
from ragassay.testsets.difference import Difference, DocumentChanges
from ragassay.testsets.plan import Plan
from ragassay.testsets.set_files import rows_of
from ragassay.testsets.values import REAL, Gap, Question, SetInfo, Skipped


def good_for(writer: str) -> str:
    """What a set of this writer may be used for; printed with every report.

    That written sets rank retriever settings as people do, and models that answer not, is from
    van Elburg et al. 2025; that offline sets rank neither, from benchmarks/testsets.
    """
    if writer == "offline":
        return (
            "good for: finding what breaks. Not for: choosing between retriever settings or models,"
            " which it does not rank as real queries do"
        )
    return (
        "good for: comparing retriever settings. Not for: comparing models that answer"
        " (van Elburg et al. 2025)"
    )


@dataclass(frozen=True, slots=True)
class Forecast:
    """What the plan may cost. calls: expected; most_calls: where every attempt is needed."""

    calls: int = 0
    most_calls: int = 0
    cost: float | None = 0.0


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan before anything is asked. sizes: words of the passages (least, median, most)."""

    plan: Plan
    documents: int
    passages: int
    sizes: tuple[int, int, int]
    skipped: tuple[Skipped, ...]
    writer: str
    judge: str
    forecast: Forecast
    warnings: tuple[str, ...] = ()
    repeated: int = 0


@dataclass(frozen=True, slots=True)
class TestSet:
    """A test set that was made. rejected: gate -> proposals that it turned away; examples: gate ->
    one of them. path: of its file, "" where it was written nowhere.
    """

    __test__ = False  # no class of tests, for all its name

    info: SetInfo
    questions: tuple[Question, ...]
    gaps: tuple[Gap, ...]
    figures: tuple[Figure, ...]
    prepared: Prepared
    rejected: Mapping[str, int] = field(default_factory=dict)
    examples: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    ledger: Ledger = field(default_factory=Ledger)
    path: str = ""

    def __str__(self) -> str:
        return f"{len(self.questions)} of {self.asked} questions: {self.info.note()}"

    @property
    def asked(self) -> int:
        """Questions that were asked for."""
        real = sum(question.type == REAL for question in self.questions)
        return len(self.prepared.plan.slots) + real

    def rows(self) -> list[dict[str, object]]:
        """The rows of its file, for `evaluate` and `stress_test` in the same program."""
        return rows_of(self.info, self.questions)


@dataclass(frozen=True, slots=True)
class Likeness:
    """How a set looks beside queries that users asked. auc: of a classifier that tells the two
    apart by their words and meaning, from 0.5 (it cannot) to 1; a meter, no gate. words: mean words
    of a question, of the set and of the real ones.
    """

    real: int
    auc: float | None
    words: tuple[float, float]
    beginnings: float
    """Share of questions whose first words would have to change for the two to begin alike."""


@dataclass(frozen=True, slots=True)
class SetCheck:
    """The check of a test set. failed: gate -> (question id, rationale) of those that fail now."""

    info: SetInfo
    questions: int
    types: Mapping[str, int]
    failed: Mapping[str, tuple[tuple[str, str], ...]]
    figures: tuple[Figure, ...]
    likeness: Likeness | None = None
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        passing = self.questions - self.failing
        return f"{passing} of {self.questions} questions pass the gates: {self.info.note()}"

    @property
    def failing(self) -> int:
        """Questions that a gate turns away now."""
        return sum(map(len, self.failed.values()))


@dataclass(frozen=True, slots=True)
class Refreshed:
    """The next version of a test set, beside the one before. changes: of the documents; difference:
    what became of each question; added: new questions. path: "" where nothing was written; then no
    question was made, and info is that of the version before.
    """

    before: SetInfo
    info: SetInfo
    changes: DocumentChanges
    difference: Difference
    added: tuple[Question, ...] = ()
    gaps: tuple[Gap, ...] = ()
    figures: tuple[Figure, ...] = ()
    notes: tuple[str, ...] = ()
    ledger: Ledger = field(default_factory=Ledger)
    path: str = ""

    def __str__(self) -> str:
        found = self.difference
        counts = f"{len(found.kept)} kept, {len(found.stale)} stale, {len(self.added)} new"
        return f"version {self.before.version} to {self.info.version}: {counts}"
