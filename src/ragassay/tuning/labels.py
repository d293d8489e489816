"""The labelled rows of a search, read from a file of labels with all that the judge needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragassay.core import DataError, Sample, shorten
from ragassay.datasets.names import ALIASES
from ragassay.trust.label_table import absent, number_of, read_labels
from ragassay.trust.measure.context import LabelSource
from ragassay.tuning.values import LabelledRows

_RATIONALES = ("rationale", "label_rationale", "explanation", "comment", "why", "note", "notes")
"""Columns in which people say why they gave a label, the first that a row has."""
_MOST_VALUES = 20
"""Values of a column up to which it divides rows into slices; more of them name rows."""
_LONGEST_VALUE = 60
_MOST_COLUMNS = 40


@dataclass(frozen=True, slots=True)
class Labels:
    """Labelled rows and the Samples that they are judged by, in one order.

    cut: the label from which on people pass a row. notes: what a reader should know.
    """

    rows: LabelledRows
    samples: tuple[Sample, ...]
    cut: float
    source: str
    source_hash: str
    notes: tuple[str, ...] = ()


def labels_of(
    source: object,
    needs: Sequence[str],
    *,
    cut: float | None = None,
    label: str = "label",
    cluster: str | None = None,
    where: Sequence[str] = (),
    mapping: Mapping[str, str] | None = None,
    format: str | None = None,
) -> Labels:
    """Read the labels of people and the rows they are of.

    needs: the fields of a row that the judge reads. cut: the label from which on people pass, None
    for the usual one of the scale. label, cluster, where, mapping, format: as for
    `trust.read_labels`. Raises as that; SetupError E0205 where the cut is not known; DataError
    E0315 where no labelled row has what the judge reads.
    """
    from ragassay.trust.alignment import label_cut

    table = read_labels(
        source, label=label, cluster=cluster, where=where, mapping=mapping, format=format
    )
    passes_from = label_cut(table) if cut is None else cut
    opened = LabelSource(source, mapping, format)
    by_id = {sample.id: sample for sample in opened.samples(table.ids)}
    records = opened.records(table.ids)
    places = [n for n, row_id in enumerate(table.ids) if _lacks(by_id.get(row_id), needs) == ""]
    if not places:
        first = by_id.get(table.ids[0])
        raise DataError(
            "E0315",
            "The labelled rows lack what the judge reads.",
            where=f"row {shorten(table.ids[0])}",
            why=_lacks(first, needs),
            fix="give the labels with their rows, or name the columns: --map FIELD=COLUMN",
        )
    samples = tuple(by_id[table.ids[n]] for n in places)
    raw = [records.get(table.ids[n], {}) for n in places]
    rows = LabelledRows(
        ids=tuple(table.ids[n] for n in places),
        truth=table.label[places] >= passes_from,
        label=table.label[places],
        cluster=table.cluster[places],
        columns=_columns(samples, raw, table.label_field),
        rationales=_rationales(raw),
        texts=tuple(_texts(sample) for sample in samples),
    )
    left_out = len(table) - len(places)
    notes = list(table.notes)
    if left_out:
        notes.append(f"{left_out} labelled rows lack what the judge reads and are left out")
    return Labels(rows, samples, passes_from, table.source, table.source_hash, tuple(notes))


def _lacks(sample: Sample | None, needs: Sequence[str]) -> str:
    """Which field of a row the judge misses, in words; "" where it has all."""
    if sample is None:
        return "the row cannot be read"
    for name in needs:
        if getattr(sample, name, None) is None:
            return f"it has no {name}"
    return ""


def _texts(sample: Sample) -> dict[str, str]:
    """What is there to read in a row, for the proposer."""
    texts = {}
    if sample.question:
        texts["question"] = sample.question
    for n, context in enumerate(sample.contexts or (), 1):
        texts[f"context {n}"] = context.text
    for name in ("response", "reference"):
        value = getattr(sample, name)
        if value:
            texts[name] = value
    return texts


def _rationales(records: Sequence[Mapping[str, object]]) -> dict[int, str]:
    """What people wrote to their labels, by place."""
    found = {}
    for place, record in enumerate(records):
        for name in _RATIONALES:
            value = record.get(name)
            if isinstance(value, str) and value.strip():
                found[place] = value.strip()
                break
    return found


def _columns(
    samples: Sequence[Sample], records: Sequence[Mapping[str, object]], label: str
) -> dict[str, tuple[str, ...]]:
    """The user's columns that divide the rows: those of few short values, and the slices."""
    columns: dict[str, tuple[str, ...]] = {}
    for name in _names(sample.slices for sample in samples):
        columns[name] = tuple(sample.slices.get(name, "") for sample in samples)
    known = {*ALIASES, label, "judges"}.union(*ALIASES.values())
    for name in _names(records):
        if name in known or name in columns or len(columns) >= _MOST_COLUMNS:
            continue
        values = tuple(_value(record.get(name)) for record in records)
        if 2 <= len(set(values)) <= _MOST_VALUES and not _is_a_label(values):
            columns[name] = values
    return columns


def _names(rows: Iterable[Mapping[str, object]]) -> list[str]:
    """The names of all rows, in the order in which they come."""
    names: dict[str, None] = {}
    for row in rows:
        names.update(dict.fromkeys(row))
    return list(names)


def _value(cell: object) -> str:
    """A cell as the value of a slice, "" where it is none."""
    if absent(cell) or not isinstance(cell, str | int | bool):
        return ""
    text = str(cell).strip()
    return text if len(text) <= _LONGEST_VALUE else ""


def _is_a_label(values: Sequence[str]) -> bool:
    """Whether a column may hold verdicts of people or judges: a slice by these finds itself."""
    return all(number_of(value) is not None for value in values if value)
