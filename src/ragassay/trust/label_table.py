"""Labels of people, and the verdicts of recorded judges on the same rows, by columns.

Everything is held as arrays, one cell a row: texts are not kept, so that 75,000 rows with dozens of
recorded judges take tens of megabytes. NaN inside these arrays stands for "this judge said nothing
here" and never leaves `trust`.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ragassay.core import DataError, HumanLabel, NothingToDo, SetupError, nearest, shorten
from ragassay.core.counting import count
from ragassay.datasets import Records, open_records, walk_path
from ragassay.scoring.label_rounds import DrawnRows, drawn_rows, waiting_words

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

WORDS: Mapping[str, float] = (
    dict.fromkeys(
        (
            "yes",
            "true",
            "pass",
            "passed",
            "passes",
            "good",
            "correct",
            "right",
            "supported",
            "supports",
            "fully supported",
            "grounded",
            "faithful",
            "consistent",
            "entailed",
            "entailment",
            "attributable",
            "fully attributable",
            "relevant",
            "acceptable",
            "answerable",
        ),
        1.0,
    )
    | dict.fromkeys(
        (
            "partial",
            "partially",
            "partially supported",
            "partially correct",
            "partially relevant",
            "partly",
            "partly supported",
        ),
        0.5,
    )
    | dict.fromkeys(
        (
            "no",
            "false",
            "fail",
            "failed",
            "fails",
            "bad",
            "incorrect",
            "wrong",
            "unsupported",
            "not supported",
            "refuted",
            "refutes",
            "ungrounded",
            "not grounded",
            "unfaithful",
            "hallucinated",
            "inconsistent",
            "contradiction",
            "not entailed",
            "not attributable",
            "not fully attributable",
            "irrelevant",
            "not relevant",
            "unacceptable",
            "unanswerable",
        ),
        0.0,
    )
)
"""A word for a label -> the number it is read as; upper case, "_" and "-" do not matter."""

LARGEST = 1e12
"""The largest label or verdict, either way: a larger number is an id or a mistake."""
NO_WINNER = float("inf")
"""In a pair of values: this judge was asked and named none. (NaN: there is no pair at all.)"""
EVERY = "*"
"""As the name of a recorded judge: all that the rows' `judges` hold."""

_CLUSTERS = ("cluster", "cluster_id", "group", "group_id", "conversation_id")
_MOST_SLICES = 50  # a field of more values is no slice, but an id or a text
_MISTAKES_SHOWN = 3
_ROWS_LOOKED_AT = 500  # for the names of fields in messages
_LONGEST_NUMBER = 40  # no label has more digits, and texts may have millions
# Files of others may have any number of fields; names beyond these are not worth the memory.
_MOST_FIELDS = 1000
_MOST_INNER_FIELDS = 100
_MOST_FIELDS_IN_ALL = 5000


@dataclass(frozen=True, slots=True)
class LabelTable:
    """The labelled rows of a source, n of them, in its order.

    label: n numbers, none NaN. cluster: n codes from 0. slice: n codes into slice_names, None
    without slices. recorded: judge -> n values (NaN: none), or (n, 2) where each value is a pair
    (`NO_WINNER` for a null in it). rows: after the filters, with or without a label. tasks: value
    of the field `task` -> rows. notes: what was read in a way worth saying. constructed: rows whose
    `label_kind` is "constructed": nobody looked at them, they were made to pass or to fail. drawn:
    with which chance the rows were drawn for labelling.
    """

    source: str
    source_hash: str
    ids: tuple[str, ...]
    lines: IntArray
    label: FloatArray
    cluster: IntArray
    slice: IntArray | None
    slice_names: tuple[str, ...]
    recorded: Mapping[str, FloatArray]
    label_field: str
    cluster_field: str
    slice_field: str
    where: tuple[str, ...]
    rows: int
    tasks: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    constructed: int = 0
    drawn: DrawnRows = field(default_factory=DrawnRows)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def labels_hash(self) -> str:
        """Of the rows' ids and labels, in whatever order and wherever they are read from."""
        pairs = sorted(zip(self.ids, self.label.tolist(), strict=True))
        return hashlib.blake2b(repr(pairs).encode(), digest_size=16).hexdigest()

    @property
    def clusters(self) -> int:
        """How many clusters the rows are in."""
        return int(self.cluster.max(initial=-1)) + 1

    @property
    def weight(self) -> FloatArray | None:
        """(n,) how many rows each one stands for; None where all stand for as many.

        Rows of unknown chance beside such of a known one get NaN: what they stand for is not known.
        """
        if not self.drawn.chance or (self.drawn.equal and not self.drawn.unknown):
            return None
        chance = self.drawn.chance
        return np.array([1 / chance[row] if row in chance else np.nan for row in self.ids])

    @property
    def scale(self) -> tuple[float, ...]:
        """The values that the labels take, rising."""
        return tuple(float(value) for value in np.unique(self.label))


def number_of(value: object) -> float | None:
    """A label or verdict as a number, None where it is none.

    A number up to `LARGEST` either way, true or false, digits, or one of `WORDS`.
    """
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        word = " ".join(value.lower().replace("_", " ").replace("-", " ").split())
        if word in WORDS:
            return WORDS[word]
        if len(value) >= _LONGEST_NUMBER:
            return None
    elif not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) <= LARGEST else None  # NaN is not


def absent(value: object) -> bool:
    """Whether a cell says nothing: null, an empty text, or the NaN of a table."""
    # Only NaN is unlike itself.
    if value is None or value != value:
        return True
    return isinstance(value, str) and not value.strip()


def read_labels(
    source: object,
    *,
    label: str = "label",
    judges: Sequence[str] = (),
    slice: str | None = None,
    cluster: str | None = None,
    where: Sequence[str] = (),
    mapping: Mapping[str, str] | None = None,
    format: str | None = None,
    scale: Sequence[float] = (),
    drawn: DrawnRows | None = None,
) -> LabelTable:
    """Read the human labels of a source, and what recorded judges said, in one pass.

    source: anything that holds rows (a path to JSONL, CSV, Parquet ..., also .gz; a list of dicts;
    a table). label: the column, or a path into objects and lists ("labels/faithfulness",
    "votes/0"). judges: names of recorded judges: a key of the row's `judges`, a path into it
    ("ragchecker/overall"), or else a column; "*" = all keys of `judges`. slice, cluster: the field;
    None = `slice` where it has 2 to 50 values, and the first of cluster, group, conversation_id; ""
    = none. where: "FIELD=VALUE" filters on raw fields; one field given twice means either value.
    mapping: {"id": column}. scale: the values a label may have (() = whatever is found).
    drawn: how the rows were drawn for labelling, where that is known; None = as the rows say.

    Raises DataError: E0313 a label that is no number or off the scale (lines named) or no label at
    all; E0314 two labels for one row. SetupError: E0205 a judge, label or filter that no row has.
    NothingToDo: no row left. DataError E1201: a
    later round of choosing without the earlier ones.
    """
    records = open_records(source, mapping=mapping, format=format)
    filters = _Filters(where)
    points = tuple(float(point) for point in scale)
    reading = _Reading(records, label, tuple(judges), cluster, slice, points, drawn)
    for line, row_id, row in records:
        if filters.pass_row(row):
            reading.add(line, row_id, row)
        else:
            # A field that only rows outside the filters have is no mistake.
            reading.fields.look(row)
            reading.note_draw(line, row_id, row)
    return reading.table(filters)


class _Filters:
    """FIELD=VALUE filters; one field given twice means either value."""

    def __init__(self, where: Sequence[str]) -> None:
        self.where = tuple(where)
        self.values: dict[str, set[str]] = {}
        for text in where:
            name, equals, value = text.partition("=")
            if not equals or not name.strip():
                raise SetupError(
                    "E0101",
                    f"{shorten(text, 60)!r} is no filter.",
                    where="--where",
                    fix="write --where split=test",
                )
            self.values.setdefault(name.strip(), set()).add(value.strip())

    def pass_row(self, row: Mapping[str, object]) -> bool:
        """Whether the row has one of the values of every field."""
        return all(
            _cell_text(walk_path(row, name)) in values for name, values in self.values.items()
        )


class _Fields:
    """The fields of the first rows, for messages that name the nearest one."""

    def __init__(self) -> None:
        self._rows = 0
        self.names: dict[str, None] = {}
        self.judges: dict[str, None] = {}

    def look(self, row: Mapping[str, object]) -> None:
        """Remember the fields of a row; after the first rows it does nothing."""
        if self._rows >= _ROWS_LOOKED_AT:
            return
        self._rows += 1
        self.names.update(dict.fromkeys(list(row)[:_MOST_FIELDS]))
        judges = row.get("judges")
        # Apart from the other fields, for a message about --judge names these first.
        if isinstance(judges, dict):
            for name, value in list(judges.items())[:_MOST_FIELDS]:
                self.judges[name] = None
                self.judges.update(_inner_paths(name, value))
        for name, value in row.items():
            if name != "judges" and len(self.names) < _MOST_FIELDS_IN_ALL:
                self.names.update(_inner_paths(name, value))

    def need(self, name: str, option: str) -> None:
        """Raise SetupError E0205 for a field that no row has."""
        # Objects were looked into one level deep: a path that a field may lead to is not called
        # missing.
        choices = list(self.names)
        if name in choices or any(_may_hold(choice, name) for choice in choices):
            return
        raise SetupError(
            "E0205",
            f"No row has a field {shorten(name, 40)!r}.{nearest(name, choices)}",
            where=option,
            why="fields: " + ", ".join(shorten(choice, 40) for choice in choices[:20]),
            fix="name one of its fields",
        )


def _inner_paths(name: str, value: object) -> dict[str, None]:
    """The paths of an object's keys."""
    if not isinstance(value, dict):
        return {}
    return {f"{name}/{inner}": None for inner in list(value)[:_MOST_INNER_FIELDS]}


def _may_hold(field_name: str, path: str) -> bool:
    """Whether a field that was seen may lead to the path, or lies under it."""
    if field_name.startswith((f"{path}/", f"{path.partition('.')[0]}/")):
        return True
    if path.startswith(f"{field_name}/"):
        return True
    return field_name in (f"labels/{path}", f"slices/{path}")


class _Column:
    """The growing values of one recorded judge; `second` once a value was a pair."""

    def __init__(self, rows: int) -> None:
        # Eight bytes a value; rows before the first one of this judge have none.
        self.first = array("d", [np.nan]) * rows
        self.second = array("d")
        self.pairs = 0
        self.singles = 0
        self.unreadable = 0

    def add(self, value: object) -> None:
        if isinstance(value, list | tuple) and len(value) == 2:
            self.pairs += 1
            first, second = _winner(value[0]), _winner(value[1])
        else:
            first, second = self._single(value), float("nan")
        # The rows before the first pair have no second value either.
        if self.pairs and len(self.second) < len(self.first):
            self.second.extend([np.nan] * (len(self.first) - len(self.second)))
        self.first.append(first)
        if self.pairs:
            self.second.append(second)

    def _single(self, value: object) -> float:
        if absent(value):
            return float("nan")
        number = number_of(value)
        if number is None:
            self.unreadable += 1
            return float("nan")
        self.singles += 1
        return number

    def values(self) -> FloatArray:
        first = np.frombuffer(self.first, dtype=np.float64) if self.first else np.empty(0)
        if not self.pairs:
            return first
        return np.stack([first, np.frombuffer(self.second, dtype=np.float64)], 1)


def _winner(value: object) -> float:
    number = number_of(value)
    return NO_WINNER if number is None else number


class _Codes:
    """Values as codes from 0, in the order of their first appearance."""

    def __init__(self) -> None:
        self.by_value: dict[object, int] = {}
        self.codes = array("q")

    def add(self, value: object) -> None:
        self.codes.append(self.by_value.setdefault(value, len(self.by_value)))


class _Reading:
    """The labels and verdicts read so far."""

    def __init__(
        self,
        records: Records,
        label: str,
        judges: tuple[str, ...],
        cluster: str | None,
        slice: str | None,
        scale: tuple[float, ...],
        drawn: DrawnRows | None = None,
    ) -> None:
        self._records = records
        self._label = label
        self._scale = scale
        self._given_draws = drawn
        self._every_judge = EVERY in judges
        self._columns = {name: _Column(0) for name in judges if name != EVERY}
        self._cluster_field = cluster
        self._slice_field = slice
        self._ids: dict[str, int] = {}
        self._lines = array("q")
        self._labels = array("d")
        self._contents = array("q")
        self._clusters = _Codes()
        self._slices = _Codes()
        self._tasks: Counter[str] = Counter()
        self._words: Counter[str] = Counter()
        self._rows = 0
        self._unlabelled = 0
        self._repeated = 0
        self._unclustered = 0
        self._constructed = 0
        self._draws: list[HumanLabel] = []
        self._mistake_count = 0
        self._mistakes: list[str] = []
        self.fields = _Fields()

    def add(self, line: int, row_id: str, row: Mapping[str, object]) -> None:
        """Read a row that passes the filters."""
        self._rows += 1
        self.fields.look(row)
        cell = _cell(row, self._label, "labels")
        if absent(cell):
            self._unlabelled += 1
            return
        value = number_of(cell)
        if value is None or (self._scale and value not in self._scale):
            self._mistake_count += 1
            if len(self._mistakes) < _MISTAKES_SHOWN:
                self._mistakes.append(f"{self._records.where(line)} has {shorten(cell, 40)}")
            return
        if isinstance(cell, str) and not _is_numeric(cell):
            self._words[f"{shorten(cell.strip().lower(), 40)} as {value:g}"] += 1
        # Who repeats a row repeats all of it; anything else is another row under its name.
        # Its hash and not the row: texts are not kept.
        content = hash(str(row))
        first = self._ids.setdefault(row_id, len(self._labels))
        if first < len(self._labels):
            self._count_repeated(first, line, row_id, value, content)
            return
        self._contents.append(content)
        self._lines.append(line)
        self._labels.append(value)
        task = row.get("task")
        if isinstance(task, str):
            self._tasks[task] += 1
        if row.get("label_kind") == "constructed":
            self._constructed += 1
        self.note_draw(line, row_id, row)
        self._add_cluster(row_id, row)
        self._add_slice(row)
        self._add_verdicts(row)

    def note_draw(self, line: int, row_id: str, row: Mapping[str, object]) -> None:
        """Note how a labelled row was drawn, also one outside the filters: it was drawn with the
        others.
        """
        # Only where a sheet says it of any row: other files may have millions.
        if not self._draws and absent(row.get("inclusion_probability")):
            return
        if not absent(_cell(row, self._label, "labels")):
            self._draws.append(_draw(row_id, row, self._records.where(line)))

    def _count_repeated(
        self, first: int, line: int, row_id: str, value: float, content: int
    ) -> None:
        """Count a row that stands twice. Raises DataError where the two differ."""
        before = self._labels[first]
        where = f"{self._records.where(self._lines[first])} and {self._records.where(line)}"
        if before != value:
            raise DataError(
                "E0314",
                f"The row {shorten(row_id, 40)!r} has two labels.",
                where=where,
                why=f"{before:g} and {value:g}",
                fix=(
                    "keep one label a row (the median or the adjudicated one), or give the rows ids"
                    " of their own"
                ),
            )
        if content != self._contents[first]:
            raise DataError(
                "E0306",
                f"Two rows have the id {shorten(row_id, 40)!r}.",
                where=where,
                why="they have one label, and differ in what was judged",
                fix="give the rows ids of their own",
            )
        self._repeated += 1

    def _add_cluster(self, row_id: str, row: Mapping[str, object]) -> None:
        # The first row that has such a field decides for all rows.
        if self._cluster_field is None:
            names = [name for name in _CLUSTERS if not absent(row.get(name))]
            self._cluster_field = names[0] if names else None
        cell = walk_path(row, self._cluster_field) if self._cluster_field else None
        if absent(cell):
            self._unclustered += 1
            self._clusters.add((row_id,))  # a cluster of its own, which no value can be
        else:
            self._clusters.add(_cell_text(cell))

    def _add_slice(self, row: Mapping[str, object]) -> None:
        if self._slice_field == "":
            return
        cell = _cell(row, self._slice_field or "slice", "slices")
        self._slices.add("(none)" if absent(cell) else _cell_text(cell))

    def _add_verdicts(self, row: Mapping[str, object]) -> None:
        cell = row.get("judges")
        judges: Mapping[str, object] = cell if isinstance(cell, dict) else {}
        if self._every_judge:
            for name, value in judges.items():
                # An object holds several verdicts, of which one has to be named by its path. The
                # label of this row is counted already, its verdict is not.
                if name not in self._columns and not isinstance(value, dict):
                    self._columns[name] = _Column(len(self._labels) - 1)
        for name, column in self._columns.items():
            value = walk_path(judges, name)
            column.add(walk_path(row, name) if value is None else value)

    def table(self, filters: _Filters) -> LabelTable:
        """All that was read. Raises as `read_labels`."""
        # From what explains most: a mistyped filter leaves no rows, and no rows have no labels.
        self._check_rows(filters)
        self._check_labels()
        self._check_judges()
        if self._cluster_field:
            self.fields.need(self._cluster_field, f"--cluster {self._cluster_field}")
        if self._slice_field:
            self.fields.need(self._slice_field, f"--slice {self._slice_field}")
        slice_codes, slice_names = self._slice_columns()
        has_slices = slice_codes is not None
        return LabelTable(
            source=self._records.source,
            source_hash=self._records.content_hash(),
            ids=tuple(self._ids),
            lines=np.frombuffer(self._lines, dtype=np.int64),
            label=np.frombuffer(self._labels, dtype=np.float64),
            cluster=np.frombuffer(self._clusters.codes, dtype=np.int64),
            slice=slice_codes,
            slice_names=slice_names,
            recorded={name: column.values() for name, column in self._columns.items()},
            label_field=self._label,
            cluster_field=self._cluster_field or "",
            slice_field=(self._slice_field or "slice") if has_slices else "",
            where=filters.where,
            rows=self._rows,
            tasks=dict(self._tasks),
            notes=tuple(self._notes()),
            constructed=self._constructed,
            drawn=self._drawn(),
        )

    def _drawn(self) -> DrawnRows:
        """How the labelled rows were drawn."""
        if self._given_draws is not None:
            return self._given_draws.of(self._ids)
        if not self._draws:
            return DrawnRows()
        noted = {label.row_id for label in self._draws}
        # Rows before the first with a chance.
        others = [HumanLabel(row_id, "", "", 0.0) for row_id in self._ids if row_id not in noted]
        return drawn_rows([*others, *self._draws]).of(self._ids)

    def _check_rows(self, filters: _Filters) -> None:
        for name in filters.values:
            self.fields.need(name, f"--where {name}=...")
        if not self._rows:
            why = f"none has {' and '.join(filters.where)}" if filters.where else ""
            raise NothingToDo(
                "E0309",
                "No row is left to compare.",
                where=self._records.source,
                why=why,
                fix="check the filters",
            )

    def _check_labels(self) -> None:
        if self._mistake_count:
            points = ", ".join(f"{point:g}" for point in sorted(self._scale))
            what = f"are not on the scale {points}." if points else "are no numbers."
            where = "; ".join(self._mistakes)
            if self._mistake_count > len(self._mistakes):
                where += "; ..."
            raise DataError(
                "E0313",
                f"{self._mistake_count} of {self._rows} labels {what}",
                where=where,
                why=f"labels are numbers, or words such as {', '.join(list(WORDS)[:4])}",
                fix="write numbers into the label column, or name another: --label FIELD",
            )
        if not self._labels:
            self.fields.need(self._label, f"--label {self._label}")
            raise DataError(
                "E0313",
                f"No row has a label in {self._label!r}.",
                where=self._records.source,
                why=f"{count(self._rows, 'row is', 'rows are')} without",
                fix="name the column with the human labels: --label FIELD",
            )

    def _check_judges(self) -> None:
        for name, column in self._columns.items():
            if column.pairs and column.singles:
                raise DataError(
                    "E0303",
                    f"The values of {name} are partly numbers and partly pairs.",
                    where=self._records.source,
                    why=f"{column.singles} numbers, {column.pairs} pairs",
                    fix="name one kind of value",
                )
            if not column.pairs and not column.singles:
                raise self._no_verdicts(name, column)
        if self._every_judge and not self._columns:
            raise SetupError(
                "E0205",
                "The rows hold no recorded judges.",
                where="--judge recorded:*",
                fix="name a judge, or a column that holds verdicts",
            )

    def _no_verdicts(self, name: str, column: _Column) -> SetupError:
        """Why a recorded judge has no verdict."""
        shown = shorten(name, 40)
        if column.unreadable:
            inner = [path for path in self.fields.judges if path.startswith(name + "/")]
            return SetupError(
                "E0205",
                f"The values of {shown!r} are no verdicts.",
                where=f"--judge recorded:{name}",
                why="a verdict is a number, yes or no, or a pair of these",
                fix="name one of " + ", ".join(inner[:8]) if inner else "name another column",
            )
        choices = [*self.fields.judges, *self.fields.names]
        # The field is there: to call its name wrong would lead astray.
        if name in choices:
            return SetupError(
                "E0205",
                f"{shown!r} has no verdict on a labelled row.",
                where=f"--judge recorded:{shown}",
                why="its values are empty",
                fix="name another judge",
            )
        judges = ", ".join(shorten(judge, 40) for judge in list(self.fields.judges)[:20])
        return SetupError(
            "E0205",
            f"No labelled row has a judge or column {shown!r}.{nearest(name, choices)}",
            where=f"--judge recorded:{shown}",
            why=f"recorded judges: {judges or 'none'}",
            fix="name one of them, or a column that holds verdicts",
        )

    def _slice_columns(self) -> tuple[IntArray | None, tuple[str, ...]]:
        """The slice of each row as a code, and the name of each code."""
        if self._slice_field == "":
            return None, ()
        code_of_name = {str(name): code for name, code in self._slices.by_value.items()}
        # Taken without being asked for, a field of one value or of very many says nothing.
        if self._slice_field is None and not 2 <= len(code_of_name) <= _MOST_SLICES:
            return None, ()
        # By name, so that tables do not depend on the order of the rows.
        names = sorted(code_of_name)
        place = np.empty(len(names), np.int64)
        # place[old code] = new code
        place[[code_of_name[name] for name in names]] = np.arange(len(names))
        codes: IntArray = place[np.frombuffer(self._slices.codes, dtype=np.int64)]
        return codes, tuple(names)

    def _design_notes(self) -> Iterator[str]:
        """Whether rows are weighted, and what they are then worth."""
        drawn = self._drawn()
        if drawn.waiting:
            yield waiting_words(drawn)
        if drawn.before:
            yield (
                f"{count(drawn.before, 'row was', 'rows were')} labelled before the others were"
                " drawn: each stands for itself"
            )
        if drawn.chance and drawn.unknown:
            yield (
                f"{count(drawn.unknown, 'labelled row does', 'labelled rows do')} not say how they"
                " were drawn and are left out beside those that do"
            )
        if drawn.chance and not drawn.equal:
            yield (
                f"weighted: rows were drawn with unequal chances, so each counts 1 / its chance;"
                f" the {len(drawn.chance)} labels are worth {drawn.worth:.0f} of equal chance"
            )

    def _notes(self) -> Iterator[str]:
        for reason, bad in self._records.bad.items():
            yield f"{count(bad, 'row')} cannot be read ({reason})"
        if self._unlabelled:
            yield f"{self._unlabelled} of {self._rows} rows have no label and are left out"
        if self._constructed:
            yield (
                f"{count(self._constructed, 'label is constructed', 'labels are constructed')}, not"
                " given by people"
            )
        if self._words:
            yield "read the labels " + ", ".join(word for word, _ in self._words.most_common(8))
        yield from self._design_notes()
        if self._repeated:
            yield f"{self._repeated} rows repeat an earlier row word for word and are counted once"
        if self._cluster_field and self._unclustered:
            yield (
                f"{self._unclustered} rows have no {self._cluster_field} and are clusters of their"
                " own"
            )
        for name, column in self._columns.items():
            if column.unreadable:
                yield f"{column.unreadable} values of {name} are no verdicts and are left out"


def _cell(row: Mapping[str, object], name: str, holder: str) -> object:
    """A cell by its name or path, else the value of that name in the row's `labels` or `slices`.

    The files that RagAssay writes hold labels and slices in these two objects.
    """
    cell = walk_path(row, name)
    if cell is not None:
        return cell
    inner = row.get(holder)
    return inner.get(name) if isinstance(inner, dict) else None


def _draw(row_id: str, row: Mapping[str, object], where: str) -> HumanLabel:
    """How a row was drawn for labelling. Raises DataError E0313 for a chance that is none."""
    cell = row.get("inclusion_probability")
    if absent(cell):
        return HumanLabel(row_id, "", "", 0.0)
    chance = number_of(cell)
    if chance is None or not 0 < chance <= 1:
        raise DataError(
            "E0313",
            "An inclusion probability lies above 0 and is at most 1.",
            where=where,
            why=shorten(cell, 40),
            fix="put the cell back as the sheet had it",
        )
    round_ = number_of(row.get("round"))
    stream = row.get("stream")
    return HumanLabel(
        row_id,
        "",
        "",
        0.0,
        stream=stream if isinstance(stream, str) else "",
        inclusion_probability=chance,
        round=1 if round_ is None else int(round_),
        pool=int(number_of(row.get("pool")) or 0),
        drawn=int(number_of(row.get("drawn")) or 0),
    )


def _is_numeric(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _cell_text(value: object) -> str:
    """A cell as it is written in a filter: 1.0 and true as "1" and "true"."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    # Beyond 2**53 not every whole number is a float, and the digits would be made up.
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return shorten(value, 200)
