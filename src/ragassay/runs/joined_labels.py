"""Labels of several people joined to one a row, as far as they show who of them errs.

Labels of 0 and 1 of three people or more are joined by the model of `scoring.labellers`: each row
gets the chance that it truly passes, and the mean of these an allowance for not knowing the people
exactly. Where the labels allow no model they stay as they are, with the reason.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ragassay.core import HumanLabel
from ragassay.runs.decisions import independent, is_decision
from ragassay.scoring.annotators import votes
from ragassay.scoring.correction import Joining
from ragassay.scoring.labellers import LabellerModel, labeller_model


@dataclass(frozen=True, slots=True)
class JoinedLabels:
    """Labels, one a row where there is a model.

    model: None where nobody's labels had to be joined, or where they allow none; why: the reason
    for the latter, "" else. several: rows with labels of two people or more; differ: of these, rows
    on which they differ.
    """

    labels: Sequence[HumanLabel]
    model: LabellerModel | None = None
    why: str = ""
    several: int = 0
    differ: int = 0

    @property
    def noise(self) -> float:
        """The variance that the joined labels' mean has beyond that of rows drawn anew."""
        return 0.0 if self.model is None else self.model.noise

    def joining(self) -> Joining:
        """What a corrected rate has to know of it; its mean counts without a model."""
        return Joining(self.noise, self.notes("their mean"))

    def notes(self, otherwise: str) -> tuple[str, ...]:
        """How labels of several people were joined. otherwise: what counts without a model."""
        if not self.several:
            return ()
        words = f"{_rows(self.several)} labels of several people, who differ on {self.differ}: "
        if self.model is None:
            return (f"{words}{otherwise} counts ({self.why})",)
        return (
            f"{words}each counts by how often they err (Dawid and Skene), and the consensus is"
            f" expected to be wrong on {self.model.doubt:.1%} of the rows",
        )


def _rows(several: int) -> str:
    return "1 row has" if several == 1 else f"{several} rows have"


def _differ(of_row: Sequence[HumanLabel]) -> bool:
    return any(label.value != of_row[0].value for label in of_row)


def joined_labels(
    labels: Sequence[HumanLabel],
    clusters: Mapping[str, str | None] | None = None,
    chance: Mapping[str, float] | None = None,
    rows: Collection[str] | None = None,
) -> JoinedLabels:
    """The labels of several people as the chance that each row truly passes.

    labels: 1 for pass and 0 for fail, of one metric. clusters: row id -> cluster. chance: row id ->
    with which chance it was drawn for labelling. rows: ids of the rows that count, None for all.
    """
    counted = [label for label in labels if rows is None or label.row_id in rows]
    by_row: dict[str, list[HumanLabel]] = {}
    for label in counted:
        by_row.setdefault(label.row_id, []).append(label)
    several = sum(len(of_row) > 1 for of_row in by_row.values())
    if not several:
        return JoinedLabels(labels)
    differ = sum(map(_differ, by_row.values()))
    model = _model(counted, clusters, chance)
    if isinstance(model, str):
        return JoinedLabels(labels, None, model, several, differ)
    # The model holds no row on which there is a decision and nothing else: what was decided counts.
    joined = [
        replace(of_row[0], value=model.chance.get(row_id, of_row[0].value))
        for row_id, of_row in by_row.items()
    ]
    others = [] if rows is None else [label for label in labels if label.row_id not in rows]
    return JoinedLabels([*joined, *others], model, "", several, differ)


def _model(
    labels: Sequence[HumanLabel],
    clusters: Mapping[str, str | None] | None,
    chance: Mapping[str, float] | None,
) -> LabellerModel | str:
    """The model of the people, or why there is none."""
    table = votes(independent(labels), clusters)
    decided = {label.row_id: label.value >= 1 for label in labels if is_decision(label.annotator)}
    known = [(chance or {}).get(row) for row in table.rows]
    weight = None
    # Where only some chances are known, rows stand for themselves: it is asked how people err.
    if known and all(each is not None for each in known):
        weight = np.array([1 / each for each in known if each is not None])
    return labeller_model(table, decided, weight)
