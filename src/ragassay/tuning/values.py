"""What a search works with: labelled rows, answers of a judge on them, and those who are asked.

A search never asks a model itself. It hands rubrics to a `JudgeBench` and tasks to a `Proposer`:
the real ones ask models through the store, those of tests and benchmarks are worlds in this
process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ragassay.judges import Rubric
from ragassay.scoring import coefficients

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Part(StrEnum):
    """A part of the labelled rows: searched on, chosen on, or opened once for the certificate."""

    TRAIN = "train"
    VALIDATION = "validation"
    SEALED = "sealed"


@dataclass(frozen=True, slots=True)
class LabelledRows:
    """The labelled rows of a search, n of them.

    truth: whether people pass the row. label: n numbers as people gave them. cluster: n codes from
    0; rows of one cluster are never in two parts. columns: name -> n values as text, "" where there
    is none: the user's own columns, by which slices are found. rationales: what people wrote to
    their labels, by row. texts: what the judge reads of each row, for the proposer; empty where
    texts are not to be shown.
    """

    ids: tuple[str, ...]
    truth: BoolArray
    label: FloatArray
    cluster: IntArray
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rationales: Mapping[int, str] = field(default_factory=dict)
    texts: tuple[Mapping[str, str], ...] = ()

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class Answers:
    """What one rubric's judge says of m rows, in the order in which they were asked.

    score: m values in [0, 1], NaN where there is no verdict. passes: m verdicts by the judge's own
    mark; False where there is none. reasons: place among the m -> the judge's reasoning. undecided:
    rows that were judged and count half as a pass and half as a fail, None where there are none; in
    `passes` these are not right.
    """

    score: FloatArray
    passes: BoolArray
    reasons: Mapping[int, str] = field(default_factory=dict)
    undecided: BoolArray | None = None

    @property
    def judged(self) -> BoolArray:
        """Which of the m rows have a verdict."""
        return np.isfinite(self.score)

    def at(self, places: IntArray) -> Answers:
        """The answers at these places, without reasons."""
        undecided = None if self.undecided is None else self.undecided[places]
        return Answers(self.score[places], self.passes[places], undecided=undecided)

    def cells(self, truth: BoolArray) -> FloatArray:
        """(m, 4) what each row adds to the binary table: nothing where there is no verdict."""
        every = np.arange(len(truth))
        cells = np.zeros((len(truth), 4))
        cells[every, coefficients.cells(truth, self.passes)] = 1.0
        if self.undecided is not None:
            cells[self.undecided] /= 2
            other = coefficients.cells(truth, ~self.passes)
            cells[every[self.undecided], other[self.undecided]] = 0.5
        cells[~self.judged] = 0.0
        return cells

    def table(self, truth: BoolArray) -> FloatArray:
        """(4,) the binary table of the rows with a verdict."""
        return np.asarray(self.cells(truth).sum(0))


@dataclass(frozen=True, slots=True)
class SearchCaps:
    """What a search may spend before its certificate: calls, and US dollars (None: no cap)."""

    calls: int
    cost: float | None = None


class JudgeBench(Protocol):
    """Someone who judges rows by a rubric. An answer that was paid for is never bought twice."""

    @property
    def calls(self) -> int:
        """Calls bought so far, of the judge and of the proposer together."""

    def judge(self, rubric: Rubric, rows: IntArray, *, repeat: int = 0) -> Answers:
        """Answers on these rows (indices into `LabelledRows`).

        repeat: a further, independent answer of the same rubric where it is above 0 (the noise
        floor). Raises BudgetExhausted where the cap does not allow the rest.
        """


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A row on which judge and people differ, or a control on which they agree."""

    row: int
    people_pass: bool
    judge_passes: bool
    reason: str = ""
    rationale: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProposerTask:
    """What a proposer is shown: the rubric, the aim in words, and disagreements of one kind.

    slice: what the disagreements have in common, in words ("" where nothing is known). tried: edits
    that were tried already and what became of them, in words.
    """

    rubric: Rubric
    aim: str
    disagreements: Sequence[Disagreement]
    controls: Sequence[Disagreement]
    slice: str = ""
    tried: Sequence[str] = ()


class Proposer(Protocol):
    """Someone who proposes texts. What comes back is data: it is read and checked."""

    def propose(self, task: ProposerTask) -> str:
        """The reply to a task, as text. Raises BudgetExhausted where the cap does not allow it."""
