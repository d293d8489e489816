"""What is optimised: a metric, the rubric that gives its verdict, and where its pass mark lies."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from ragassay.core import SetupError
from ragassay.judges import Rubric, RubricRegistry
from ragassay.judges.scale import Scale
from ragassay.trust.comparison import PAIRWISE
from ragassay.trust.measure.pair_judging import check_judge_of_pairs, pair_preference
from ragassay.tuning.edits import next_version

if TYPE_CHECKING:
    from ragassay.metrics import Metric

_FIELDS = {"context": "contexts", "claim": "response", "guideline": "guidelines"}
"""Inputs of a rubric that are made of a field of the row."""


@dataclass(frozen=True, slots=True)
class Target:
    """A metric and the rubric behind it.

    metric: as `evaluate` takes it. needs: the fields of a row without which it judges nothing. cut:
    the share from which a row passes. searchable: whether texts change what the judge says. file:
    the user's file of the rubric, "" for a built-in one; files: of other rubrics. pairs: whether
    pairs of responses are judged.
    """

    metric: str
    rubric: Rubric
    needs: tuple[str, ...]
    cut: float
    searchable: bool
    file: str = ""
    files: tuple[str | os.PathLike[str], ...] = ()
    parsed: Metric | None = None
    pairs: bool = False

    @property
    def asked_as(self) -> str | Metric:
        """The metric as `evaluate` takes it; that of pairs is in no catalogue."""
        return self.parsed if self.pairs and self.parsed is not None else self.metric

    def with_cut(self, cut: float) -> str:
        """The metric at another pass mark, "" where the mark is the rubric's."""
        metric: Any = self.parsed
        if metric is None or not hasattr(metric, "pass_mark") or not is_dataclass(metric):
            return ""
        return str(replace(metric, pass_mark=round(cut, 4)))  # type: ignore[type-var]

    def rubric_with_cut(self, cut: float, changed: Rubric | None = None) -> Rubric | None:
        """The rubric, or a changed one, at another pass mark; None where its scale has no rating to
        put it at.
        """
        rubric = changed or self.rubric
        scale = rubric.scale
        if scale is None or scale.pass_mark is None:
            return None
        marks = [point.rating for point in scale.points if point.value >= cut]
        if not marks:
            return None
        version = changed.version if changed else next_version(self.rubric.version)
        return replace(rubric, scale=Scale(scale.points, marks[0], scale.passing), version=version)


def target_of(name: str, judge: str, files: Sequence[str | os.PathLike[str]] = ()) -> Target:
    """The metric of this name, from the catalogue or from one of the rubric files.

    Raises SetupError E0201 where there is none, E0705 for a metric without a rubric that rates,
    E0205 for a judge that cannot compare two responses where it is to.
    """
    from ragassay.judges.composed.members import runs_here
    from ragassay.metrics import catalogue, parse

    registry = RubricRegistry.default().with_files(files, reserved=catalogue())
    if name == PAIRWISE:
        check_judge_of_pairs(judge)
        own, others = _files(registry, name)
        rubric = registry.get(name)
        return Target(name, rubric, (), 0.5, True, own, others, pair_preference, pairs=True)
    # Models of this machine read no rubric: no text of it changes their verdicts.
    reads = not runs_here(judge.lower())
    if any(rubric.id == name for rubric in registry.custom):
        rubric = registry.get(name)
        mark = rubric.scale.pass_mark if rubric.scale is not None else None
        cut = 0.5 if mark is None or rubric.scale is None else rubric.scale.value(mark)
        own, others = _files(registry, rubric.id)
        return Target(name, rubric, _needs(rubric), cut, reads, own, others)
    metric = parse(name)
    rated = [registry.get(each) for each in metric.declaration.rubrics if each in registry]
    rated = [rubric for rubric in rated if rubric.scale is not None]
    if not rated:
        raise SetupError(
            "E0705",
            f"{name} has no rubric that a judge rates by.",
            why="only such rubrics can be optimised",
            fix="name a metric whose judge gives ratings: ragassay metrics",
        )
    mark = getattr(metric, "pass_mark", None)
    cut = float(mark) if isinstance(mark, int | float) else 0.5
    file, others = _files(registry, rated[0].id)
    return Target(
        str(metric),
        rated[0],
        _needs(rated[0]),
        cut,
        reads,
        file,
        others,
        metric,
    )


def _files(registry: RubricRegistry, rubric_id: str) -> tuple[str, tuple[str, ...]]:
    """The user's file of this rubric, and those of all others."""
    files = {each: registry.file(each) for each in registry.ids()}
    others = tuple(path for each, path in files.items() if path and each != rubric_id)
    return files.get(rubric_id, ""), others


def _needs(rubric: Rubric) -> tuple[str, ...]:
    """The fields of a row that the rubric reads; a question may be missing."""
    fields = (_FIELDS.get(name, name) for name in rubric.inputs)
    return tuple(dict.fromkeys(name for name in fields if name != "question"))
