"""What did people say, and what did recorded judges say of the same rows? Labels and recorded
verdicts, by columns.

Everything is held as arrays, one cell a row: texts are not kept, so that 75,000 rows with dozens of
recorded judges take tens of megabytes. NaN inside these arrays stands for "this judge said nothing
here" and never leaves `trust`.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ragassay.core import DataError, NothingToDo, SetupError, nearest, shorten
from ragassay.datasets import Records, open_records, walk_path

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


_CLUSTERS = ("cluster", "cluster_id", "group", "group_id", "conversation_id")
_MOST_SLICES = 50
_NAMED = 3
_PEEKED = 500
LARGEST = 1e12
NO_WINNER = float("inf")
"""In a pair of values: this judge was asked and named none. (NaN: there is no pair at all.)"""
EVERY = "*"
"""As the name of a recorded judge: all that the rows' `judges` hold."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """The labelled rows of a source, n of them, in its order.

    label: n numbers, none NaN. cluster: n codes from 0. slice: n codes into slice_names, None
    without slices. recorded: judge -> n values (NaN: none), or (n, 2) where each value is a pair
    (`NO_WINNER` for a null in it). rows: after the filters, with or without a label. tasks: value
    of the field `task` -> rows. notes: what was read in a way worth saying. constructed: rows whose
    `label_kind` is "constructed": nobody looked at them, they were made to pass or to fail.
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

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def clusters(self) -> int:
        """How many clusters the rows are in."""
        return int(self.cluster.max(initial=-1)) + 1

    @property
    def scale(self) -> tuple[float, ...]:
        """The values that the labels take, rising."""
        return tuple(float(value) for value in np.unique(self.label))


def number_of(value: object) -> float | None:
    """A label or verdict as a number: one up to `LARGEST` either way, true or false, digits, or one
    of `WORDS`; else None.
    """
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int | float):
        try:
            found = float(value)
        except OverflowError:
            return None
        return found if abs(found) <= LARGEST else None
    if isinstance(value, str):
        word = " ".join(value.lower().replace("_", " ").replace("-", " ").split())
        if word in WORDS:
            return WORDS[word]
        try:
            found = float(value) if len(value) < 40 else float("nan")
        except ValueError:
            return None
        return found if abs(found) <= LARGEST else None
    return None


def absent(value: object) -> bool:
    """Whether a cell says nothing: null, an empty text, or the NaN of a table."""
    return value is None or (isinstance(value, str) and not value.strip()) or value != value


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
) -> Labelled:
    """Read the human labels of a source, and what recorded judges said, in one pass.

    source: anything that holds rows (a path to JSONL, CSV, Parquet ..., also .gz; a list of dicts;
    a table). label: the column, or a path into objects and lists ("labels/faithfulness",
    "votes/0"). judges: names of recorded judges: a key of the row's `judges`, a path into it
    ("ragchecker/overall"), or else a column; "*" = all keys of `judges`. slice, cluster: the field;
    None = `slice` where it has 2 to 50 values, and the first of cluster, group, conversation_id; ""
    = none. where: "FIELD=VALUE" filters on raw fields; one field given twice means either value.
    mapping: {"id": column}. scale: the values a label may have (() = whatever is found).

    Raises DataError: E0313 a label that is no number or off the scale (lines named) or no label at
    all; E0314 two labels for one row. SetupError: E0205 a judge, label or filter that no row has.
    NothingToDo: no row left.
    """
    records = open_records(source, mapping=mapping, format=format)
    wanted = _filters(where)
    reading = _Reading(
        records, label, tuple(judges), cluster, slice, tuple(float(p) for p in scale)
    )
    for line, row_id, row in records:
        if all(_said(walk_path(row, name)) in values for name, values in wanted.items()):
            reading.add(line, row_id, row)
        elif reading.seen < _PEEKED:
            reading.look(row)
    return reading.finish(wanted, tuple(where))


class _Column:
    """The growing values of one recorded judge; `second` once a value was a pair."""

    def __init__(self, rows: int) -> None:
        self.first, self.second = array("d", [np.nan]) * rows, array("d")
        self.pairs = self.singles = self.unreadable = 0

    def add(self, value: object) -> None:
        one = two = float("nan")
        if isinstance(value, list | tuple) and len(value) == 2:
            self.pairs += 1
            one, two = (NO_WINNER if (v := number_of(x)) is None else v for x in value)
        elif not absent(value):
            found = number_of(value)
            if found is None:
                self.unreadable += 1
            else:
                self.singles, one = self.singles + 1, found
        if self.pairs and len(self.second) < len(self.first):
            self.second.extend([np.nan] * (len(self.first) - len(self.second)))
        self.first.append(one)
        if self.pairs:
            self.second.append(two)

    def values(self) -> FloatArray:
        first = np.frombuffer(self.first, dtype=np.float64) if self.first else np.empty(0)
        if not self.pairs:
            return first
        return np.stack([first, np.frombuffer(self.second, dtype=np.float64)], 1)


class _Reading:
    """What has been read so far."""

    def __init__(
        self,
        records: Records,
        label: str,
        judges: tuple[str, ...],
        cluster: str | None,
        slice: str | None,
        scale: tuple[float, ...],
    ) -> None:
        self.records, self.label, self.scale = records, label, frozenset(scale)
        self.points = tuple(sorted(scale))
        self.every = EVERY in judges
        self.columns = {name: _Column(0) for name in judges if name != EVERY}
        self.cluster, self.slice = cluster, slice
        self.ids: dict[str, int] = {}
        self.lines, self.labels, self.contents = array("q"), array("d"), array("q")
        self.clusters, self.slices = array("q"), array("q")
        self.cluster_codes: dict[object, int] = {}
        self.slice_codes: dict[str, int] = {}
        self.known: dict[str, None] = {}
        self.known_judges: dict[str, None] = {}
        self.tasks, self.words = Counter[str](), Counter[str]()
        self.seen = self.rows = self.unlabelled = self.repeated = self.unclustered = (
            self.constructed
        ) = 0
        self.wrong: list[str] = []
        self.wrong_count = 0

    def look(self, row: Mapping[str, object]) -> None:
        """Remember what fields there are, for messages."""
        self.seen += 1
        self.known.update(dict.fromkeys(list(row)[:1000]))
        judges = row.get("judges")
        if isinstance(judges, dict):
            for name, value in list(judges.items())[:1000]:
                self.known_judges[name] = None
                if isinstance(value, dict):
                    self.known_judges.update(
                        (f"{name}/{inner}", None) for inner in list(value)[:100]
                    )
        for name, value in row.items():
            if isinstance(value, dict) and name != "judges" and len(self.known) < 5000:
                self.known.update((f"{name}/{inner}", None) for inner in list(value)[:100])

    def add(self, line: int, row_id: str, row: Mapping[str, object]) -> None:
        self.rows += 1
        if self.seen < _PEEKED:
            self.look(row)
        written = _held(row, self.label, "labels")
        if absent(written):
            self.unlabelled += 1
            return
        value = number_of(written)
        if value is None or (self.scale and value not in self.scale):
            self.wrong_count += 1
            if len(self.wrong) < _NAMED:
                self.wrong.append(f"{self.records.where(line)} has {shorten(written, 40)}")
            return
        if isinstance(written, str) and not _numeric(written):
            self.words[f"{shorten(written.strip().lower(), 40)} as {value:g}"] += 1
        content = hash(
            str(row)
        )  # who repeats a row repeats all of it; anything else is another row under its name
        if (first := self.ids.setdefault(row_id, len(self.labels))) < len(self.labels):
            self._repeated(first, line, row_id, value, content == self.contents[first])
            return
        self.contents.append(content)
        self.lines.append(line)
        self.labels.append(value)
        task = row.get("task")
        if isinstance(task, str):
            self.tasks[task] += 1
        self.constructed += row.get("label_kind") == "constructed"
        self._cluster(row_id, row)
        self._slice(row)
        self._judges(row)

    def _repeated(self, first: int, line: int, row_id: str, value: float, same: bool) -> None:
        before = self.labels[first]
        where = f"{self.records.where(self.lines[first])} and {self.records.where(line)}"
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
        if not same:
            raise DataError(
                "E0306",
                f"Two rows have the id {shorten(row_id, 40)!r}.",
                where=where,
                why="they have one label, and differ in what was judged",
                fix="give the rows ids of their own",
            )
        self.repeated += 1

    def _cluster(self, row_id: str, row: Mapping[str, object]) -> None:
        if self.cluster is None:
            names = [name for name in _CLUSTERS if not absent(row.get(name))]
            self.cluster = names[0] if names else None
        found = walk_path(row, self.cluster) if self.cluster else None
        if absent(found):
            self.unclustered += 1
            code: object = (row_id,)  # a cluster of its own, which no value can be
        else:
            code = _said(found)
        self.clusters.append(self.cluster_codes.setdefault(code, len(self.cluster_codes)))

    def _slice(self, row: Mapping[str, object]) -> None:
        if self.slice != "":
            found = _held(row, self.slice or "slice", "slices")
            name = "(none)" if absent(found) else _said(found)
            self.slices.append(self.slice_codes.setdefault(name, len(self.slice_codes)))

    def _judges(self, row: Mapping[str, object]) -> None:
        held = row.get("judges")
        judges: Mapping[str, object] = held if isinstance(held, dict) else {}
        if self.every:
            for name, value in judges.items():
                if name not in self.columns and not isinstance(value, dict):
                    self.columns[name] = _Column(len(self.labels) - 1)
        for name, column in self.columns.items():
            value = walk_path(judges, name)
            column.add(walk_path(row, name) if value is None else value)

    def finish(self, wanted: Mapping[str, set[str]], where: tuple[str, ...]) -> Labelled:
        source = self.records.source
        for name in wanted:
            self._need(name, self.known, f"--where {name}=...")
        if not self.rows:
            why = f"none has {' and '.join(where)}" if where else ""
            raise NothingToDo(
                "E0309",
                "No row is left to compare.",
                where=source,
                why=why,
                fix="check the filters",
            )
        if self.wrong_count:
            on = ", ".join(f"{point:g}" for point in self.points)
            raise DataError(
                "E0313",
                f"{self.wrong_count} of {self.rows} labels "
                + (f"are not on the scale {on}." if on else "are no numbers."),
                where="; ".join(self.wrong)
                + ("; ..." if self.wrong_count > len(self.wrong) else ""),
                why=f"labels are numbers, or words such as {', '.join(list(WORDS)[:4])}",
                fix="write numbers into the label column, or name another: --label FIELD",
            )
        if not self.labels:
            self._need(self.label, self.known, f"--label {self.label}")
            raise DataError(
                "E0313",
                f"No row has a label in {self.label!r}.",
                where=source,
                why=f"{self.rows} rows are without",
                fix="name the column with the human labels: --label FIELD",
            )
        for name, column in self.columns.items():
            self._check(name, column)
        if self.every and not self.columns:
            raise SetupError(
                "E0205",
                "The rows hold no recorded judges.",
                where="--judge recorded:*",
                fix="name a judge, or a column that holds verdicts",
            )
        for option, asked in (("--cluster", self.cluster), ("--slice", self.slice)):
            if asked:
                self._need(asked, self.known, f"{option} {asked}")
        slices = self._slices()
        labels = np.frombuffer(self.labels, dtype=np.float64)
        return Labelled(
            source=source,
            source_hash=self.records.content_hash(),
            ids=tuple(self.ids),
            lines=np.frombuffer(self.lines, dtype=np.int64),
            label=labels,
            cluster=np.frombuffer(self.clusters, dtype=np.int64),
            slice=slices,
            slice_names=tuple(self.slice_codes) if slices is not None else (),
            recorded={name: column.values() for name, column in self.columns.items()},
            label_field=self.label,
            cluster_field=self.cluster or "",
            slice_field=(self.slice or "slice") if slices is not None else "",
            where=where,
            rows=self.rows,
            tasks=dict(self.tasks),
            notes=tuple(self._notes()),
            constructed=self.constructed,
        )

    def _slices(self) -> IntArray | None:
        if self.slice == "" or (
            self.slice is None and not 2 <= len(self.slice_codes) <= _MOST_SLICES
        ):
            return None
        # By name, so that tables do not depend on the order of the rows.
        order = sorted(self.slice_codes)
        place = np.empty(len(order), np.int64)
        place[[self.slice_codes[name] for name in order]] = np.arange(len(order))
        self.slice_codes = {name: i for i, name in enumerate(order)}
        found: IntArray = place[np.frombuffer(self.slices, dtype=np.int64)]
        return found

    def _check(self, name: str, column: _Column) -> None:
        if column.pairs and column.singles:
            raise DataError(
                "E0303",
                f"The values of {name} are partly numbers and partly pairs.",
                where=self.records.source,
                why=f"{column.singles} numbers, {column.pairs} pairs",
                fix="name one kind of value",
            )
        if column.pairs or column.singles:
            return
        if column.unreadable:
            inner = [known for known in self.known_judges if known.startswith(name + "/")]
            raise SetupError(
                "E0205",
                f"The values of {shorten(name, 40)!r} are no verdicts.",
                where=f"--judge recorded:{name}",
                why="a verdict is a number, yes or no, or a pair of these",
                fix="name one of " + ", ".join(inner[:8]) if inner else "name another column",
            )
        choices = [*self.known_judges, *self.known]
        if name in choices:
            raise SetupError(
                "E0205",
                f"{shorten(name, 40)!r} has no verdict on a labelled row.",
                where=f"--judge recorded:{shorten(name, 40)}",
                why="its values are empty",
                fix="name another judge",
            )
        raise SetupError(
            "E0205",
            f"No labelled row has a judge or column {shorten(name, 40)!r}.{nearest(name, choices)}",
            where=f"--judge recorded:{shorten(name, 40)}",
            why="recorded judges: "
            + (", ".join(shorten(n, 40) for n in list(self.known_judges)[:20]) or "none"),
            fix="name one of them, or a column that holds verdicts",
        )

    def _need(self, name: str, known: Iterable[str], option: str) -> None:
        choices = list(known)
        starts = (f"{name}/", f"{name.partition('.')[0]}/")
        if name not in choices and not any(
            choice.startswith(starts)
            or name.startswith(f"{choice}/")
            or choice in (f"labels/{name}", f"slices/{name}")
            for choice in choices
        ):
            raise SetupError(
                "E0205",
                f"No row has a field {shorten(name, 40)!r}.{nearest(name, choices)}",
                where=option,
                why="fields: " + ", ".join(shorten(c, 40) for c in choices[:20]),
                fix="name one of its fields",
            )

    def _notes(self) -> Iterable[str]:
        for reason, count in self.records.bad.items():
            yield f"{count} rows cannot be read ({reason})"
        if self.unlabelled:
            yield f"{self.unlabelled} of {self.rows} rows have no label and are left out"
        if self.constructed:
            yield f"{self.constructed} labels are constructed, not given by people"
        if self.words:
            yield "read the labels " + ", ".join(word for word, _ in self.words.most_common(8))
        if self.repeated:
            yield f"{self.repeated} rows repeat an earlier row word for word and are counted once"
        if self.cluster and self.unclustered:
            yield f"{self.unclustered} rows have no {self.cluster} and are clusters of their own"
        for name, column in self.columns.items():
            if column.unreadable:
                yield f"{column.unreadable} values of {name} are no verdicts and are left out"


def _held(row: Mapping[str, object], name: str, holder: str) -> object:
    """A cell by its name or path, else the value of that name in the row's `labels` or `slices`, as
    our own files hold it.
    """
    found = walk_path(row, name)
    inner = row.get(holder)
    return inner.get(name) if found is None and isinstance(inner, dict) else found


def _numeric(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _said(value: object) -> str:
    """A cell as it is written in a filter: 1.0 and true as "1" and "true"."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return value if isinstance(value, str) else "" if value is None else shorten(value, 200)


def _filters(where: Sequence[str]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for text in where:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise SetupError(
                "E0101",
                f"{shorten(text, 60)!r} is no filter.",
                where="--where",
                fix="write --where split=test",
            )
        found.setdefault(name.strip(), set()).add(value.strip())
    return found
