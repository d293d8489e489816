"""The labelled rows of a search, read from a file of labels with all that the judge needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ragassay.core import DataError, Sample, SetupError, shorten
from ragassay.datasets.names import ALIASES
from ragassay.trust.label_table import LabelTable, absent, number_of, read_labels
from ragassay.trust.measure.context import LabelSource
from ragassay.trust.measure.pair_judging import RESPONSES, Pair, pairs_of
from ragassay.tuning.values import BoolArray, LabelledRows

_RATIONALES = ("rationale", "label_rationale", "explanation", "comment", "why", "note", "notes")
"""Columns in which people say why they gave a label, the first that a row has."""
_MOST_VALUES = 20
"""Values of a column up to which it divides rows into slices; more of them name rows."""
_LONGEST_VALUE = 60
_MOST_COLUMNS = 40


@dataclass(frozen=True, slots=True)
class Labels:
    """Labelled rows and the Samples that they are judged by, in one order.

    cut: the label from which on people pass a row. notes: what a reader should know. swapped: of
    pairs of responses, the Samples with the second one shown first.
    """

    rows: LabelledRows
    samples: tuple[Sample, ...]
    cut: float
    source: str
    source_hash: str
    notes: tuple[str, ...] = ()
    swapped: tuple[Sample, ...] = ()


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


def pair_labels_of(
    source: object,
    *,
    label: str = "label",
    cluster: str | None = None,
    where: Sequence[str] = (),
    mapping: Mapping[str, str] | None = None,
    format: str | None = None,
) -> Labels:
    """Read pairs of responses with a label that says which one is better, as `ragassay benchmark`
    takes them. People pass a pair whose first response is the better one.

    Raises as `read_labels`; SetupError E0205 where the labels say something else, or no row holds
    two responses; DataError E0702 where it is the same response in all pairs.
    """
    table = read_labels(
        source, label=label, cluster=cluster, where=where, mapping=mapping, format=format
    )
    is_first, is_tied = _preferences(table)
    opened = LabelSource(source, mapping, format)
    records = opened.records(table.ids)
    pairs = {pair.sample.id: pair for pair in pairs_of(opened.samples(table.ids), records)}
    places = []
    for n, row_id in enumerate(table.ids):
        if row_id in pairs and not is_tied[n]:
            places.append(n)
    kept = [pairs[table.ids[n]] for n in places]
    shown = [tuple(pair.shown()) for pair in kept]
    samples = tuple(first for first, _ in shown)
    raw = [records.get(table.ids[n], {}) for n in places]
    truth = is_first[places]
    _check_both_are_preferred(truth)
    rows = LabelledRows(
        ids=tuple(table.ids[n] for n in places),
        truth=truth,
        label=table.label[places],
        cluster=table.cluster[places],
        columns=_columns(samples, raw, table.label_field),
        rationales=_rationales(raw),
        texts=tuple(_texts_of_pair(pair) for pair in kept),
    )
    notes = list(table.notes)
    if tied := int(is_tied.sum()):
        notes.append(f"{tied} pairs of which people prefer neither response are left out")
    if without := sum(row_id not in pairs for row_id in table.ids):
        notes.append(f"{without} labelled rows do not hold two responses and are left out")
    swapped = tuple(second for _, second in shown)
    return Labels(rows, samples, 0.0, table.source, table.source_hash, tuple(notes), swapped)


def _preferences(table: LabelTable) -> tuple[BoolArray, BoolArray]:
    """Whether people prefer the first response of each pair, and whether they prefer neither.

    Raises SetupError E0205 where the labels say no such thing.
    """
    if set(table.scale) <= {1.0, 2.0}:
        return table.label == 1, np.zeros(len(table), bool)
    if table.scale[0] < 0:
        return table.label < 0, table.label == 0
    points = ", ".join(f"{point:g}" for point in table.scale[:5])
    raise SetupError(
        "E0205",
        "The labels do not say which response of a pair is better.",
        where=f"--label {table.label_field}",
        why=f"they are {points}; labels of pairs are 1 and 2, or run from below 0 to above it",
        fix="name a label of that kind",
    )


def _check_both_are_preferred(truth: BoolArray) -> None:
    if not len(truth) or (truth.any() and not truth.all()):
        return
    which = "first" if truth.any() else "second"
    raise DataError(
        "E0702",
        "A judge cannot be optimised on these pairs: the better response has one place.",
        why=f"people prefer the {which} response of all {len(truth)} pairs",
        fix="swap the responses of half of the pairs, and their labels with them",
    )


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


def _texts_of_pair(pair: Pair) -> dict[str, str]:
    """What is there to read in a pair, by the names that its rubric has for it."""
    texts = _texts(pair.sample)
    for name in ("response", "reference"):
        texts.pop(name, None)
    texts["first"], texts["second"] = pair.responses
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
    known = {*ALIASES, label, "judges"}.union(*ALIASES.values(), *RESPONSES)
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
