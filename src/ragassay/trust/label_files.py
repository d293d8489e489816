"""How do labels get from people into numbers: sheets to fill in, what came back, and what several
people say together.

A sheet is a CSV or JSON Lines file with one row to label a line: what was judged, empty columns for
`label`, `annotator` and `rationale`, and how the row was chosen. What the judge said is left out
unless it is asked for, because people follow what they are shown. In CSV, a text that a spreadsheet
would take for a formula gets an apostrophe before it, and one that begins with such an apostrophe
another, so that reading takes away exactly what writing added.

Several people may label one row. Nobody may label a row twice with different values: which one is
meant is not ours to guess.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from ragassay.core import (
    DataError,
    EnvironmentFailure,
    HumanLabel,
    Sample,
    SetupError,
    nearest,
    shorten,
)
from ragassay.datasets import Records, open_records, walk_path
from ragassay.trust.label_table import absent, number_of
from ragassay.trust.sampling import Chosen

BINARY = (0.0, 1.0)
CONSENSUS = ("majority", "mean", "median")
_ENDINGS = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_CLUSTERS = ("cluster", "group")
_NAMED = 5
_HINTED = 20_000  # ids that are looked through for the nearest one


@dataclass(frozen=True, slots=True)
class LabelFile:
    """What a source says.

    labels: of known rows, in its order. foreign: labels of ids that are not among the known rows;
    unknown: the same in words, with the place and the nearest id. unlabelled: rows with an empty
    label. repeated: labels that stood there more than once. clusters: row id -> cluster, where the
    source says so. notes: what else is worth knowing.
    """

    source: str
    labels: tuple[HumanLabel, ...]
    foreign: tuple[HumanLabel, ...] = ()
    unknown: tuple[str, ...] = ()
    unlabelled: int = 0
    repeated: int = 0
    clusters: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def people(self) -> tuple[str, ...]:
        """Who labelled, in the order of their first label."""
        return tuple(dict.fromkeys(label.annotator for label in self.labels))


@dataclass(frozen=True, slots=True)
class Consensus:
    """What people say of one row together. value: None where they are tied. people: how many
    labelled it; values: what each said. The rest is as in the first label of the row.
    """

    row_id: str
    name: str
    value: float | None
    people: int
    values: tuple[float, ...]
    inclusion_probability: float | None = None
    stream: str = ""
    round: int = 0


# ---- out ----


def write_sheet(
    chosen: Sequence[Chosen],
    samples: Iterable[Sample],
    target: str | os.PathLike[str],
    *,
    name: str,
    scale: Sequence[float] = BINARY,
    judge: Mapping[str, str] | None = None,
    format: str | None = None,
) -> int:
    """Write a sheet of the chosen rows, in their order; how many rows it has.

    samples: any rows that hold the chosen ones, as the run has them. name: what is to be labelled
    (a metric's printed name); scale: the values a label may take. judge: row id -> what the judge
    said, shown to the labeller; None = hidden. format: "csv" or "jsonl", None = by the ending of
    `target`. The file appears only when it is whole.

    Raises SetupError E0101 (format), E0108 (a chosen row is not among the samples),
    EnvironmentFailure E0107.
    """
    path = Path(target)
    kind = format or _ENDINGS.get(path.suffix.lower(), "")
    if kind not in ("csv", "jsonl"):
        raise SetupError(
            "E0101",
            "A sheet is CSV or JSON Lines.",
            where=shorten(str(target)),
            fix="name a .csv or .jsonl file",
        )
    wanted = {row.id for row in chosen}
    held = {sample.id: sample for sample in samples if sample.id in wanted}
    lost = [row.id for row in chosen if row.id not in held]
    if lost:
        raise SetupError(
            "E0108",
            f"The run does not hold {_rows(len(lost))} of those to label.",
            why=shorten(lost[0], 60),
            fix="choose rows of this run",
        )
    rows = [_sheet_row(row, held[row.id], name, scale, judge) for row in chosen]
    _write(
        path, _csv(rows) if kind == "csv" else b"".join(orjson.dumps(row) + b"\n" for row in rows)
    )
    return len(rows)


def _sheet_row(
    row: Chosen, sample: Sample, name: str, scale: Sequence[float], judge: Mapping[str, str] | None
) -> dict[str, object]:
    texts = None if sample.contexts is None else [context.text for context in sample.contexts]
    shown: dict[str, object] = {
        "id": row.id,
        "question": sample.question,
        "contexts": texts,
        "response": sample.response,
        "reference": sample.reference,
    }
    if judge is not None:
        shown["judge"] = judge.get(row.id, "")
    return shown | {
        "label": None,
        "annotator": None,
        "rationale": None,
        "metric": name,
        "scale": " or ".join(f"{point:g}" for point in scale),
        "cluster": sample.cluster,
        "stream": row.stream,
        "round": row.round,
        "stratum": row.stratum,
        "inclusion_probability": row.inclusion_probability,
    }


def _csv(rows: Sequence[Mapping[str, object]]) -> bytes:
    out = io.StringIO()
    table = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    table.writerow(rows[0] if rows else ["id", "label", "annotator", "rationale"])
    for row in rows:
        table.writerow([_cell(value) for value in row.values()])
    try:
        return out.getvalue().encode()
    except UnicodeEncodeError as error:
        raise DataError(
            "E0305",
            "A text to label holds an unpaired surrogate, which is not Unicode.",
            why=shorten(str(error)),
            fix="correct the text, or write .jsonl",
        ) from error


def _cell(value: object) -> str:
    if isinstance(value, list):
        # Numbered for people to read; the contexts themselves are in the run.
        value = "\n\n".join(f"[{place}] {text}" for place, text in enumerate(value, 1))
    if isinstance(value, str):
        return "'" + value if _FORMULA.match(value) else value
    return "" if value is None else repr(value)


def _points(cell: object) -> list[float]:
    """The scale of "0 or 1 or 2", as `write_sheet` writes it; empty for anything else."""
    found = (
        [_decimal(point.strip()) for point in cell.split(" or ")] if isinstance(cell, str) else []
    )
    return (
        sorted(point for point in found if point is not None)
        if None not in found and len(found) > 1
        else []
    )


def _plain(cell: object) -> object:
    """The text as it was before `_cell`; one that a person typed, or whose apostrophe a program
    dropped, stays.
    """
    return (
        cell[1:]
        if isinstance(cell, str) and cell.startswith("'") and _FORMULA.match(cell)
        else cell
    )


def _write(path: Path, data: bytes) -> None:
    part = path.with_name(f".{path.name[:80]}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:
        raise EnvironmentFailure(
            "E0107",
            "The output file cannot be written.",
            where=str(path),
            why=error.strerror or str(error),
            fix="choose a file in a folder that can be written",
        ) from error
    finally:
        part.unlink(missing_ok=True)


# ---- in ----


def read_sheet(
    source: object,
    *,
    name: str | None = None,
    label: str = "label",
    annotator: str = "",
    scale: Sequence[float] = BINARY,
    between: bool = False,
    known: Collection[str] | None = None,
    format: str | None = None,
) -> LabelFile:
    """Read labels back from a sheet, or from any file of rows with an id and a label column.

    name: what was labelled, None = the cell `metric` of each row, else the column's name.
    annotator: who labelled where the row does not say. scale: the values a label may take, between:
    also anything between its ends; () = those that the row's cell `scale` names ("0 or 1"), any
    number where it names none. A word (yes, no, pass, fail, correct, partial ...) counts as an end
    of the scale or its middle. An empty cell is a row not labelled yet. known: ids of the rows;
    other ids go to `foreign`, or raise where none is known.

    Raises DataError E0313 (labels off the scale or no values, sampling columns that cannot be, rows
    without id; all lines are named), E0314 (one person, one row, two values), E0315 (no id is
    known), and what the readers raise.
    """
    records = open_records(source, format=format)
    reading = _Reading(records, scale, between, known, _textual(source, format))
    columns: dict[str, None] = {}
    for line, row_id, raw in reading.rows():
        row = reading.clean({str(key).strip().lower(): value for key, value in raw.items()})
        columns.update(dict.fromkeys(row))
        cell = walk_path(row, label.lower())
        if cell is None:
            cell = walk_path(raw, label)
        if absent(cell):
            reading.unlabelled += 1
            continue
        given = row.get("metric")
        reading.add(
            line,
            row_id,
            name or (str(given) if isinstance(given, str) and given.strip() else label),
            _text(row.get("annotator")) or annotator,
            cell,
            row,
        )
    if (
        not reading.seen
        and columns
        and label.lower() not in columns
        and "/" not in label
        and "." not in label
    ):
        raise DataError(
            "E0313",
            f"No row has a column {shorten(label, 40)!r}.{nearest(label, columns)}",
            where=records.source,
            why="columns: " + ", ".join(shorten(column, 40) for column in list(columns)[:20]),
            fix="fill in the column `label`, or name another",
        )
    return reading.finish()


def read_votes(
    source: object,
    column: str = "votes",
    *,
    name: str | None = None,
    scale: Sequence[float] = (),
    between: bool = False,
    cluster: str | None = None,
    format: str | None = None,
) -> LabelFile:
    """Labels of several people that stand in one cell: a list (first, second ... annotator) or an
    object by name.

    column: its name, or a path into objects ("votes/faithfulness"). name: what was labelled, None =
    `column`. cluster: field, None = cluster or group. Nulls are people who did not label the row.
    Raises as `read_sheet`.
    """
    records = open_records(source, format=format)
    reading = _Reading(records, scale, between, None, _textual(source, format))
    for line, row_id, row in reading.rows():
        cell = walk_path(row, column)
        named: Iterable[tuple[str, object]]
        if isinstance(cell, dict):
            named = [(str(person), value) for person, value in cell.items()]
        elif isinstance(cell, list | tuple):
            named = [(f"annotator {place}", value) for place, value in enumerate(cell, 1)]
        else:
            named = [] if absent(cell) else [("annotator 1", cell)]
        given = [(person, value) for person, value in named if not absent(value)]
        reading.unlabelled += not given
        for person, value in given:
            reading.add(line, row_id, name or column, person, value, {})
        found = next(
            (
                row[key]
                for key in ((cluster,) if cluster else _CLUSTERS)
                if not absent(row.get(key))
            ),
            None,
        )
        if found is not None:
            reading.clusters[row_id] = str(found)
    if not reading.seen:
        raise DataError(
            "E0313",
            f"No row has labels in {shorten(column, 40)!r}.",
            where=records.source,
            why=f"{_rows(reading.unlabelled)} without",
            fix="name the column that holds them",
        )
    return reading.finish()


def of_samples(
    samples: Iterable[Sample],
    name: str = "label",
    *,
    scale: Sequence[float] = BINARY,
    between: bool = False,
) -> LabelFile:
    """The labels that rows carry themselves (`labels` of a Sample), of nobody in particular. Raises
    as `read_sheet`.
    """
    reading = _Reading(None, scale, between, None, False)
    for place, sample in enumerate(samples, 1):
        cell = sample.labels.get(name)
        if absent(cell):
            reading.unlabelled += 1
            continue
        reading.add(sample.line or place, sample.id, name, "", cell, {})
        if sample.cluster is not None:
            reading.clusters[sample.id] = sample.cluster
    return reading.finish()


class _Reading:
    """What was read so far, and what is wrong with it: all of it is said at the end, at once."""

    def __init__(
        self,
        records: Records | None,
        scale: Sequence[float],
        between: bool,
        known: Collection[str] | None,
        textual: bool,
    ) -> None:
        self.records, self.scale, self.between, self.textual = (
            records,
            sorted(scale),
            between,
            textual,
        )
        self.known = None if known is None else frozenset(known)
        self.labels: dict[tuple[str, str, str], tuple[int, HumanLabel]] = {}
        self.clusters: dict[str, str] = {}
        self.wrong: list[str] = []
        self.words: Counter[str] = Counter()
        self.unlabelled = self.repeated = self.seen = 0
        self.places: dict[str, int] = {}

    def where(self, line: int) -> str:
        return f"row {line}" if self.records is None else self.records.where(line)

    def rows(self) -> Iterable[tuple[int, str, Mapping[str, object]]]:
        """The rows of the source. One that cannot be read may hold a label, so it is an error, with
        its place.
        """
        if self.records is None:
            return
        bad, before = 0, 0
        for line, row_id, row in self.records:
            bad = self._broken(bad, before, line)
            before = line
            if row_id == f"row-{line}" and row_id not in map(str, row.values()):
                if all(absent(value) for value in row.values()):
                    continue  # an empty line that a spreadsheet left
                self.wrong.append(f"{self.where(line)}: the row has no id")
                continue
            yield line, str(_plain(row_id)) if self.textual else row_id, row
        self._broken(bad, before, None)

    def _broken(self, bad: int, before: int, line: int | None) -> int:
        """Complain of rows that were passed over since line `before`."""
        assert self.records is not None
        now = sum(self.records.bad.values())
        if now > bad:
            first = self.where(before) if before else "the beginning"
            between = f"after {first}" if line is None else f"between {first} and line {line}"
            reason = list(self.records.bad)[-1]
            self.wrong.append(
                f"{between}: {_rows(now - bad)} cannot be read ({shorten(reason, 80)})"
            )
        return now

    def clean(self, row: Mapping[str, object]) -> Mapping[str, object]:
        return {key: _plain(value) for key, value in row.items()} if self.textual else row

    def add(
        self,
        line: int,
        row_id: str,
        name: str,
        person: str,
        cell: object,
        row: Mapping[str, object],
    ) -> None:
        self.seen += 1
        value = self._value(cell, self.scale or _points(row.get("scale")))
        chance, number = (
            self._sampling(row.get("inclusion_probability")),
            self._sampling(row.get("round")),
        )
        if isinstance(value, str):
            self.wrong.append(f"{self.where(line)}: {value}")
        elif chance is not None and not 0 < chance <= 1:
            self.wrong.append(
                f"{self.where(line)}: an inclusion probability lies above 0 and is at most 1"
            )
        elif number is not None and not (number >= 0 and number == int(number)):
            self.wrong.append(f"{self.where(line)}: a round is a whole number")
        else:
            made = HumanLabel(
                row_id,
                name,
                person,
                value,
                _text(row.get("rationale")),
                _text(row.get("stream")),
                chance,
                int(number or 0),
            )
            self._keep(line, made)
            if not absent(row.get("cluster")):
                self.clusters[row_id] = str(row["cluster"])

    def _keep(self, line: int, label: HumanLabel) -> None:
        key = (label.row_id, label.name, label.annotator)
        first = self.labels.get(key)
        if first is None:
            self.labels[key] = (line, label)
            self.places.setdefault(label.row_id, line)
        elif first[1].value == label.value:
            self.repeated += 1
        else:
            who = shorten(label.annotator, 40) or "one person (no annotator is named)"
            raise DataError(
                "E0314",
                f"{who} labelled the row {shorten(label.row_id, 40)!r} twice.",
                where=f"{self.where(first[0])} and {self.where(line)}",
                why=f"{first[1].value:g} and {label.value:g}",
                fix="keep one of the two, or name the annotators apart",
            )

    def _value(self, cell: object, scale: list[float]) -> float | str:
        """The label as a number, or what is wrong with it."""
        found: float | None
        if isinstance(cell, str) and not _NUMBER.fullmatch(cell.strip()):
            word = None if _numeric(cell) else number_of(cell)
            if word is not None:
                self.words[cell.strip().lower()] += 1
        else:
            word = float(cell) if isinstance(cell, bool) else None
        if word is not None:
            ends = scale or list(BINARY)
            found = ends[0] + word * (ends[-1] - ends[0])
        elif isinstance(cell, str):
            found = _decimal(cell)
        else:
            found = number_of(cell)
        if found is None or not math.isfinite(found):
            return f"the label {shorten(cell, 40)!r} is neither a number nor a known word"
        if not scale or (self.between and scale[0] <= found <= scale[-1]):
            return found
        near = [point for point in scale if abs(point - found) < 1e-9]
        if near:
            return near[0]
        points = " or ".join(f"{point:g}" for point in scale)
        if self.between:
            points = f"{scale[0]:g} to {scale[-1]:g}"
        return f"the label {shorten(cell, 40)!r} is not on the scale ({points})"

    def _sampling(self, cell: object) -> float | None:
        """A number of a sampling column, None where it is empty; -1, which none can be, for
        anything else.
        """
        if absent(cell):
            return None
        found = (
            _decimal(cell)
            if isinstance(cell, str)
            else None
            if isinstance(cell, bool)
            else number_of(cell)
        )
        return -1.0 if found is None or not math.isfinite(found) else found

    def finish(self) -> LabelFile:
        source = "memory" if self.records is None else self.records.source
        if self.wrong:
            raise DataError(
                "E0313",
                f"{_rows(len(self.wrong))} cannot be read as labels.",
                where=source,
                why="; ".join(self.wrong[:_NAMED]) + ("; ..." if len(self.wrong) > _NAMED else ""),
                fix="correct these cells; leave a label empty where there is none yet",
            )
        every = [label for _, label in self.labels.values()]
        foreign = [
            label for label in every if self.known is not None and label.row_id not in self.known
        ]
        unknown = self._unknown(dict.fromkeys(label.row_id for label in foreign))
        if foreign and len(foreign) == len(every):
            raise DataError(
                "E0315",
                "No labelled row is one of the known rows.",
                where=source,
                why="; ".join(unknown[:_NAMED]),
                fix=(
                    "import the sheet into the run that it was written from; ids must stay as"
                    " they are"
                ),
            )
        outside = {label.row_id for label in foreign}
        labels = tuple(label for label in every if label.row_id not in outside)
        return LabelFile(
            source,
            labels,
            tuple(foreign),
            unknown,
            self.unlabelled,
            self.repeated,
            self.clusters,
            tuple(self._notes(len(unknown))),
        )

    def _unknown(self, ids: Iterable[str]) -> tuple[str, ...]:
        said: list[str] = []
        for row_id in ids:
            hint = ""
            if len(said) < _NAMED and self.known is not None and len(self.known) <= _HINTED:
                hint = nearest(row_id, sorted(self.known))
            said.append(
                f"{self.where(self.places[row_id])}: {shorten(row_id, 60)!r} is not a known"
                f" row.{hint}"
            )
        return tuple(said)

    def _notes(self, unknown: int) -> Iterable[str]:
        if self.unlabelled:
            yield f"not labelled yet: {_rows(self.unlabelled)}"
        if self.repeated:
            yield (
                "labelled twice by one person with the same value, counted once:"
                f" {_rows(self.repeated)}"
            )
        if unknown:
            yield f"not known and left out: {_rows(unknown)}"
        if self.words:
            yield "read the words " + ", ".join(
                shorten(word, 20) for word, _ in self.words.most_common(8)
            )
        chances = {label.inclusion_probability is None for _, label in self.labels.values()}
        if len(chances) == 2:
            yield "some labels say how their row was chosen and some do not"


def _rows(count: int) -> str:
    return f"{count} row{'' if count == 1 else 's'}"


def _textual(source: object, format: str | None) -> bool:
    name = os.fspath(source) if isinstance(source, str | os.PathLike) else ""
    return format in ("csv", "tsv") or str(name).lower().removesuffix(".gz").endswith(
        (".csv", ".tsv", ".tab")
    )


def _text(cell: object) -> str:
    return "" if absent(cell) else str(cell).strip()


def _decimal(text: str) -> float | None:
    """A number as people and spreadsheets write it, with a point or a comma."""
    return (
        float(text.strip().replace(",", "."))
        if _NUMBER.fullmatch(text.strip()) and len(text) < 400
        else None
    )


def _numeric(text: str) -> bool:
    """Whether Python takes the text for a number ("nan", "inf", "1_000"), which is not what people
    mean by a label.
    """
    try:
        float(text)
    except ValueError:
        return False
    return True


# ---- together ----


def consensus(labels: Iterable[HumanLabel], how: str = "majority") -> tuple[Consensus, ...]:
    """One value a row (and name) from what several people said, in the order of their first labels.

    how: "majority" takes the value that more people gave than any other; None where two values are
    level. "median" of an even number lies in the middle of two values, and "mean" anywhere between.
    Raises SetupError E0101 for another.
    """
    if how not in CONSENSUS:
        raise SetupError(
            "E0101",
            f"Labels cannot be joined by {shorten(how, 20)!r}.{nearest(how, CONSENSUS)}",
            fix=f"one of {', '.join(CONSENSUS)}",
        )
    rows: dict[tuple[str, str], list[HumanLabel]] = {}
    for label in labels:
        rows.setdefault((label.row_id, label.name), []).append(label)
    return tuple(
        Consensus(
            row_id,
            name,
            _joined([one.value for one in some], how),
            len(some),
            tuple(one.value for one in some),
            some[0].inclusion_probability,
            some[0].stream,
            some[0].round,
        )
        for (row_id, name), some in rows.items()
    )


def ties(found: Iterable[Consensus]) -> tuple[str, ...]:
    """Ids of the rows on which people are tied: a further person should decide."""
    return tuple(one.row_id for one in found if one.value is None)


def _joined(values: Sequence[float], how: str) -> float | None:
    if how == "mean":
        return math.fsum(values) / len(values)
    if how == "median":
        ranked = sorted(values)
        return (ranked[(len(ranked) - 1) // 2] + ranked[len(ranked) // 2]) / 2
    first, *rest = Counter(values).most_common(2)
    return None if rest and rest[0][1] == first[1] else first[0]
