"""Labels of people, read from sheets that were filled in and from any other file of rows.

Several people may label one row. Nobody may label a row twice with different values: which one is
meant is not ours to guess. Everything that is wrong with a file is reported at its end, at once.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ragassay.core import DataError, HumanLabel, nearest, shorten
from ragassay.datasets import Records, open_records, walk_path
from ragassay.datasets.spreadsheet_guard import without_guard
from ragassay.trust.label_sheets import BINARY, rows_in_words
from ragassay.trust.label_table import absent, number_of

# A number as people write it, a comma for the point included; and no "nan", "inf" or "1_000".
_NUMBER = re.compile(r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_LONGEST_NUMBER = 400  # longer texts of digits are no labels
_CLUSTERS = ("cluster", "group")
_MISTAKES_SHOWN = 5
_TEXTS = ("response", "question", "contexts")
_MOST_ROUNDS = 1_000_000
_MOST_ROWS = 1_000_000_000
_ROWS_LOOKED_AT = 200  # for a column that holds ids under another name
_IDS_LOOKED_THROUGH = 20_000  # for the nearest one, which takes time for each


@dataclass(frozen=True, slots=True)
class LabelFile:
    """What a source says.

    labels: of known rows, in its order. foreign: labels of ids that are not among the known rows;
    unknown: the same in words, with the place and the nearest id. unlabelled: rows with an empty
    label. repeated: labels that stood there more than once. clusters: row id -> cluster, where the
    source says so. notes: what else is worth knowing. texts: row id -> question, contexts and
    response of labelled rows, as far as they are there.
    """

    source: str
    labels: tuple[HumanLabel, ...]
    foreign: tuple[HumanLabel, ...] = ()
    unknown: tuple[str, ...] = ()
    unlabelled: int = 0
    repeated: int = 0
    clusters: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    texts: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    @property
    def people(self) -> tuple[str, ...]:
        """Who labelled, in the order of their first label."""
        return tuple(dict.fromkeys(label.annotator for label in self.labels))


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
    own_ids = _column_of_ids(source, records, known)
    if own_ids:
        records = open_records(source, mapping={"id": own_ids}, format=format)
    reading = _Reading(records, _Scale(scale, between), known, _is_text_table(source, format))
    if own_ids:
        reading.read_as.append(f"read {shorten(own_ids, 40)} as id: it holds ids of the rows")
    columns: dict[str, None] = {}
    for line, row_id, raw in reading.rows():
        # People retype headings: "Label " is the column label.
        row = reading.clean({str(key).strip().lower(): value for key, value in raw.items()})
        columns.update(dict.fromkeys(row))
        cell = walk_path(row, label.lower())
        if cell is None:
            cell = walk_path(raw, label)
        if absent(cell):
            reading.unlabelled += 1
            continue
        person = _text(row.get("annotator")) or annotator
        reading.add(line, row_id, name or _metric_of(row) or label, person, cell, row)
        reading.note_texts(row_id, row, label)
    # A path is no column, and a column with empty cells is a sheet that is not filled in yet.
    is_plain_name = "/" not in label and "." not in label
    if not reading.seen and columns and label.lower() not in columns and is_plain_name:
        raise DataError(
            "E0313",
            f"No row has a column {shorten(label, 40)!r}.{nearest(label, columns)}",
            where=records.source,
            why="columns: " + ", ".join(shorten(column, 40) for column in list(columns)[:20]),
            fix="fill in the column `label`, or name another",
        )
    return reading.file()


def _column_of_ids(source: object, records: Records, known: Collection[str] | None) -> str:
    """The one column whose cells are ids of known rows, where no column is called so; else "".

    Labels of one's own come with the name that the column has at home (ticket, case number).
    """
    # A generator could be read only once.
    if not known or not isinstance(source, str | os.PathLike | list):
        return ""
    ids = frozenset(known)
    candidates: set[str] | None = None
    for looked, (line, row_id, row) in enumerate(records):
        if looked >= _ROWS_LOOKED_AT:
            break
        if row_id != f"row-{line}" or row_id in map(str, row.values()):
            return ""
        filled = {str(key): value for key, value in row.items() if not absent(value)}
        if not filled:
            continue
        fits = {key for key, value in filled.items() if str(without_guard(value)) in ids}
        candidates = fits if candidates is None else candidates & fits
    return candidates.pop() if candidates is not None and len(candidates) == 1 else ""


def _metric_of(row: Mapping[str, object]) -> str:
    """What a sheet's row says was labelled, "" where it does not."""
    cell = row.get("metric")
    return cell if isinstance(cell, str) and cell.strip() else ""


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
    reading = _Reading(records, _Scale(scale, between), None, _is_text_table(source, format))
    cluster_fields = (cluster,) if cluster else _CLUSTERS
    for line, row_id, row in reading.rows():
        votes = _votes(walk_path(row, column))
        if not votes:
            reading.unlabelled += 1
        for person, value in votes:
            reading.add(line, row_id, name or column, person, value, {})
        clusters = [row[key] for key in cluster_fields if not absent(row.get(key))]
        if clusters:
            reading.clusters[row_id] = str(clusters[0])
    if not reading.seen:
        raise DataError(
            "E0313",
            f"No row has labels in {shorten(column, 40)!r}.",
            where=records.source,
            why=f"{rows_in_words(reading.unlabelled)} without",
            fix="name the column that holds them",
        )
    return reading.file()


def _votes(cell: object) -> list[tuple[str, object]]:
    """Person and vote, of those who voted."""
    votes: list[tuple[str, object]]
    if isinstance(cell, dict):
        votes = [(str(person), vote) for person, vote in cell.items()]
    elif isinstance(cell, list | tuple):
        votes = [(f"annotator {place}", vote) for place, vote in enumerate(cell, 1)]
    else:
        votes = [("annotator 1", cell)]
    return [(person, vote) for person, vote in votes if not absent(vote)]


class _WrongCell(ValueError):
    """A cell that cannot be read; its message says why."""


class _Scale:
    """The values that a label may take, () = any number. between: also those between its ends."""

    def __init__(self, points: Sequence[float], between: bool) -> None:
        self._points = sorted(points)
        self._between = between

    def points(self, row_scale: object) -> tuple[float, ...]:
        """The values that the label of a row may take, () where nobody names them."""
        return tuple(self._points or _scale_of(row_scale))

    def value(self, cell: object, word: float | None, row_scale: object) -> float:
        """The label in a cell. Raises _WrongCell for one that is no number or off the scale.

        word: what a word of the cell is read as, from 0 (the lowest value) to 1 (the highest);
        None for a cell that holds a number. row_scale: the cell of the row that names a scale.
        """
        points = self._points or _scale_of(row_scale)
        if word is not None:
            ends = points or list(BINARY)
            value: float | None = ends[0] + word * (ends[-1] - ends[0])
        elif isinstance(cell, str):
            value = _decimal(cell)
        else:
            value = number_of(cell)
        if value is None or not math.isfinite(value):
            raise _WrongCell(
                f"the label {shorten(cell, 40)!r} is neither a number nor a known word"
            )
        if not points or (self._between and points[0] <= value <= points[-1]):
            return value
        # 0.1 + 0.2 is on a scale that holds 0.3, and is read as 0.3.
        near = [point for point in points if abs(point - value) < 1e-9]
        if near:
            return near[0]
        if self._between:
            shown = f"{points[0]:g} to {points[-1]:g}"
        else:
            shown = " or ".join(f"{point:g}" for point in points)
        raise _WrongCell(f"the label {shorten(cell, 40)!r} is not on the scale ({shown})")


class _Reading:
    """The labels read so far, and what is wrong with the source."""

    def __init__(
        self,
        records: Records,
        scale: _Scale,
        known: Collection[str] | None,
        is_text_table: bool,
    ) -> None:
        self._records = records
        self._scale = scale
        self._known = None if known is None else frozenset(known)
        self._is_text_table = is_text_table
        self._labels: dict[tuple[str, str, str], tuple[int, HumanLabel]] = {}
        self._lines: dict[str, int] = {}
        self._words: Counter[str] = Counter()
        self._mistakes: list[str] = []
        self._further_mistakes = 0
        self._repeated = 0
        self._conflicts: list[DataError] = []
        self._without_id = False
        self.read_as: list[str] = []
        self.clusters: dict[str, str] = {}
        self.texts: dict[str, dict[str, object]] = {}
        self.unlabelled = 0
        self.seen = 0

    def _where(self, line: int) -> str:
        return self._records.where(line)

    def rows(self) -> Iterator[tuple[int, str, Mapping[str, object]]]:
        """The rows of the source.

        One that cannot be read may hold a label, so it is an error, with its place.
        """
        bad = 0
        before = 0
        for line, row_id, row in self._records:
            bad = self._note_unreadable(bad, before, line)
            before = line
            # A reader of rows numbers those without an id; here that hides which row was labelled.
            if row_id == f"row-{line}" and row_id not in map(str, row.values()):
                if not all(absent(value) for value in row.values()):
                    self._mistakes.append(f"{self._where(line)}: the row has no id")
                    self._without_id = True
                # Else it is an empty line that a spreadsheet left.
                continue
            yield line, str(without_guard(row_id)) if self._is_text_table else row_id, row
        self._note_unreadable(bad, before, None)

    def _note_unreadable(self, bad: int, before: int, line: int | None) -> int:
        """Note the rows that were passed over since line `before`; how many there are by now."""
        # The reader counts rows that it cannot read, and does not say where they stand.
        now = sum(self._records.bad.values())
        if now > bad:
            first = self._where(before) if before else "the beginning"
            between = f"after {first}" if line is None else f"between {first} and line {line}"
            # One message for all of them, each of which counts.
            self._further_mistakes += now - bad - 1
            reason = shorten(list(self._records.bad)[-1], 80)
            self._mistakes.append(
                f"{between}: {rows_in_words(now - bad)} cannot be read ({reason})"
            )
        return now

    def clean(self, row: Mapping[str, object]) -> Mapping[str, object]:
        """The row as it was before it was written for a spreadsheet."""
        if not self._is_text_table:
            return row
        return {key: without_guard(value) for key, value in row.items()}

    def add(
        self,
        line: int,
        row_id: str,
        name: str,
        person: str,
        cell: object,
        row: Mapping[str, object],
    ) -> None:
        """Read one label. row: its sampling columns, rationale and cluster."""
        self.seen += 1
        word = self._word(cell)
        try:
            value = self._scale.value(cell, word, row.get("scale"))
            chance = _inclusion_probability(row)
            round_ = _count(row, "round", "a round")
            pool = _count(row, "pool", "a pool")
            drawn = _count(row, "drawn", "the number of rows drawn")
        except _WrongCell as error:
            # At the end of the file all mistakes are reported at once.
            self._mistakes.append(f"{self._where(line)}: {error}")
            return
        rationale = _text(row.get("rationale"))
        stream = _text(row.get("stream"))
        points = self._scale.points(row.get("scale"))
        label = HumanLabel(
            row_id, name, person, value, rationale, stream, chance, round_, scale=points
        )
        if chance is not None:
            label = replace(label, pool=pool, drawn=drawn)
        self._keep(line, label)
        if not absent(row.get("cluster")):
            self.clusters[row_id] = str(row["cluster"])

    def note_texts(self, row_id: str, row: Mapping[str, object], label: str) -> None:
        """Note the texts that a row carries. label: the column of labels, which is none of them."""
        if self._known is not None and row_id not in self._known:
            return
        texts = {}
        for name in _TEXTS:
            # A person's own file may have contexts in any form; a sheet has them in ours.
            is_ours = name != "contexts" or not absent(row.get("inclusion_probability"))
            if name != label.lower() and is_ours and not absent(row.get(name)):
                texts[name] = row[name]
        if texts:
            self.texts[row_id] = texts

    def _word(self, cell: object) -> float | None:
        """What a word or a truth value is read as, from 0 to 1; None for a cell with a number."""
        if not isinstance(cell, str):
            return float(cell) if isinstance(cell, bool) else None
        # Before the words: what looks like a number is read on the scale as it stands.
        if _NUMBER.fullmatch(cell.strip()) or _is_numeric(cell):
            return None
        word = number_of(cell)
        if word is not None:
            self._words[cell.strip().lower()] += 1
        return word

    def _keep(self, line: int, label: HumanLabel) -> None:
        """Keep a label, or note that the person gave the row another value."""
        key = (label.row_id, label.name, label.annotator)
        if key not in self._labels:
            self._labels[key] = (line, label)
            self._lines.setdefault(label.row_id, line)
            return
        first_line, first = self._labels[key]
        if first.value == label.value:
            self._repeated += 1
            return
        who = shorten(label.annotator, 40) or "one person (no annotator is named)"
        conflict = DataError(
            "E0314",
            f"{who} labelled the row {shorten(label.row_id, 40)!r} twice.",
            where=f"{self._where(first_line)} and {self._where(line)}",
            why=f"{first.value:g} and {label.value:g}",
            fix="keep one of the two, or name the annotators apart",
        )
        self._conflicts.append(conflict)
        self._mistakes.append(f"{conflict.where}: {conflict.what[:-1]}, {conflict.why}")

    def _refusal(self, source: str) -> DataError:
        """What is wrong with the source, all at once."""
        if len(self._mistakes) == len(self._conflicts) == 1:
            return self._conflicts[0]
        more = "; ..." if len(self._mistakes) > _MISTAKES_SHOWN else ""
        why = "; ".join(self._mistakes[:_MISTAKES_SHOWN]) + more
        if len(self._mistakes) == len(self._conflicts):
            return DataError(
                "E0314",
                f"{len(self._conflicts)} labels differ from another of the same person and row.",
                where=source,
                why=why,
                fix="keep one of each, or name the annotators apart",
            )
        return DataError(
            "E0313",
            f"{rows_in_words(len(self._mistakes) + self._further_mistakes)} cannot be read as"
            " labels.",
            where=source,
            why=why,
            fix=(
                "call the column that holds the rows' ids `id`"
                if self._without_id
                else "correct these cells; leave a label empty where there is none yet"
            ),
        )

    def file(self) -> LabelFile:
        """All that was read. Raises DataError E0313 for mistakes, E0314 where one person gave one
        row two values and nothing else is wrong, E0315 where no id is known.
        """
        source = self._records.source
        if self._mistakes:
            raise self._refusal(source)
        labels = []
        foreign = []
        for _, label in self._labels.values():
            if self._known is None or label.row_id in self._known:
                labels.append(label)
            else:
                foreign.append(label)
        unknown = self._unknown(dict.fromkeys(label.row_id for label in foreign))
        if foreign and not labels:
            raise DataError(
                "E0315",
                "No labelled row is one of the known rows.",
                where=source,
                why="; ".join(unknown[:_MISTAKES_SHOWN]),
                fix=(
                    "import the sheet into the run that it was written from; ids must stay as"
                    " they are"
                ),
            )
        return LabelFile(
            source,
            tuple(labels),
            tuple(foreign),
            unknown,
            self.unlabelled,
            self._repeated,
            self.clusters,
            (*self.read_as, *self._notes(len(unknown))),
            self.texts,
        )

    def _unknown(self, ids: Iterable[str]) -> tuple[str, ...]:
        """Each unknown id with its place, the first ones with the nearest known id."""
        messages: list[str] = []
        for row_id in ids:
            hint = ""
            is_shown = len(messages) < _MISTAKES_SHOWN
            if is_shown and self._known is not None and len(self._known) <= _IDS_LOOKED_THROUGH:
                hint = nearest(row_id, sorted(self._known))
            where = self._where(self._lines[row_id])
            messages.append(f"{where}: {shorten(row_id, 60)!r} is not a known row.{hint}")
        return tuple(messages)

    def _notes(self, unknown: int) -> Iterator[str]:
        if self.unlabelled:
            yield f"not labelled yet: {rows_in_words(self.unlabelled)}"
        if self._repeated:
            yield (
                "labelled twice by one person with the same value, counted once:"
                f" {rows_in_words(self._repeated)}"
            )
        if unknown:
            yield f"not known and left out: {rows_in_words(unknown)}"
        if self._words:
            words = [shorten(word, 20) for word, _ in self._words.most_common(8)]
            yield f"read the words {', '.join(words)}"
        # Both True and False: labels of two kinds.
        has_chance = {label.inclusion_probability is not None for _, label in self._labels.values()}
        if len(has_chance) == 2:
            yield "some labels say how their row was chosen and some do not"


def _inclusion_probability(row: Mapping[str, object]) -> float | None:
    """The chance with which a row was chosen; None where it does not say. Raises _WrongCell."""
    message = "an inclusion probability lies above 0 and is at most 1"
    chance = _sampling_number(row.get("inclusion_probability"), message)
    if chance is not None and not 0 < chance <= 1:
        raise _WrongCell(message)
    return chance


def _count(row: Mapping[str, object], column: str, what: str) -> int:
    """The whole number of a sampling column, 0 where the row does not say. Raises _WrongCell."""
    most = _MOST_ROUNDS if column == "round" else _MOST_ROWS
    message = f"{what} is a whole number up to {most:,}"
    # In a file without chances a column of that name is something else.
    if column != "round" and absent(row.get("inclusion_probability")):
        return 0
    number = _sampling_number(row.get(column), message)
    if number is None:
        return 0
    if not 0 <= number <= most or number != int(number):
        raise _WrongCell(message)
    return int(number)


def _sampling_number(cell: object, message: str) -> float | None:
    """A number of a sampling column, None where it is empty; _WrongCell for anything else."""
    if absent(cell):
        return None
    if isinstance(cell, str):
        number = _decimal(cell)
    else:
        number = None if isinstance(cell, bool) else number_of(cell)
    if number is None or not math.isfinite(number):
        raise _WrongCell(message)
    return number


def _scale_of(cell: object) -> list[float]:
    """The scale of "0 or 1 or 2", as a sheet names it; empty for anything else."""
    if not isinstance(cell, str):
        return []
    points: list[float] = []
    for part in cell.split(" or "):
        point = _decimal(part.strip())
        if point is None:
            return []
        points.append(point)
    return sorted(points) if len(points) > 1 else []


def _is_text_table(source: object, format: str | None) -> bool:
    """Whether the source is CSV or TSV, whose cells may be guarded against spreadsheets."""
    if format in ("csv", "tsv"):
        return True
    name = str(os.fspath(source)) if isinstance(source, str | os.PathLike) else ""
    return name.lower().removesuffix(".gz").endswith((".csv", ".tsv", ".tab"))


def _text(cell: object) -> str:
    return "" if absent(cell) else str(cell).strip()


def _decimal(text: str) -> float | None:
    """A number as people and spreadsheets write it, with a point or a comma."""
    if not _NUMBER.fullmatch(text.strip()) or len(text) >= _LONGEST_NUMBER:
        return None
    return float(text.strip().replace(",", "."))


def _is_numeric(text: str) -> bool:
    """Whether Python takes the text for a number ("nan", "inf", "1_000").

    That is not what people mean by a label.
    """
    try:
        float(text)
    except ValueError:
        return False
    return True
