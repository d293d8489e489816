"""Sheets for people to fill in: one row to label a line, CSV or JSON Lines.

A sheet holds what was judged, empty columns for `label`, `annotator` and `rationale`, and how the
row was chosen. What the judge said is left out unless it is asked for, because people follow what
they are shown. A sheet reads back as the rows that were judged, so that a judge who is set beside
its labels is asked nothing again; in CSV, texts are guarded (`datasets.spreadsheet_guard`).
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import orjson

from ragassay.core import DataError, Sample, SetupError, shorten
from ragassay.datasets.cells import numbered_chunks
from ragassay.datasets.record import to_record
from ragassay.datasets.spreadsheet_guard import guarded
from ragassay.datasets.writing import opened
from ragassay.trust.sampling import ChosenRow

BINARY = (0.0, 1.0)
_ENDINGS = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_TEXTS = ("id", "question", "contexts", "response", "reference")
_LONG_CELL = 20_000
"""A spreadsheet cuts texts off behind 32,767 signs, blanks and all."""
_CHANGED = re.compile(r"[^\x21-\x7e]|[?'\"`]")
_NOT_WRITTEN = ("labels", "feedback", "cluster", "usage", "error")


def write_sheet(
    chosen: Sequence[ChosenRow],
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
    # The run may have a million rows, of which these few are held.
    ids = {row.id for row in chosen}
    sample_of = {sample.id: sample for sample in samples if sample.id in ids}
    missing = [row.id for row in chosen if row.id not in sample_of]
    if missing:
        raise SetupError(
            "E0108",
            f"The run does not hold {rows_in_words(len(missing))} of those to label.",
            why=shorten(missing[0], 60),
            fix="choose rows of this run",
        )
    lines = [_line(row, sample_of[row.id], name, scale, judge) for row in chosen]
    with opened(path) as write:
        write(_csv(lines) if kind == "csv" else _json_lines(lines))
    return len(lines)


def text_that_differs(cells: Mapping[str, object], sample: Sample) -> str:
    """The first of question, contexts and response that a sheet's row has otherwise than the rows
    that were judged, "" where all are the same.

    What spreadsheets change is no difference: line breaks, blanks, signs outside ASCII, and the end
    of a text that is too long for a cell.
    """
    record = to_record(sample)
    for name, cell in cells.items():
        judged = record.get(name)
        if judged is None:
            continue
        of_sheet, of_run = _plain(_cell_text(cell)), _plain(_cell_text(judged))
        if len(of_sheet) > _LONG_CELL and of_run.startswith(of_sheet[:_LONG_CELL]):
            continue
        if of_sheet != of_run:
            return name
    return ""


def _cell_text(value: object) -> str:
    if isinstance(value, list):
        return _contexts(value)
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _plain(text: str) -> str:
    """A text without what spreadsheets change; as it is where that leaves nothing of it."""
    signs = _CHANGED.sub("", text)
    return signs or "".join(text.split())


def scale_text(scale: Sequence[float]) -> str:
    """A scale as a sheet names it: "0 or 1 or 2"."""
    return " or ".join(f"{point:g}" for point in scale)


def rows_in_words(count: int) -> str:
    """ "1 row", "2 rows"."""
    return f"{count} row{'' if count == 1 else 's'}"


def _line(
    row: ChosenRow,
    sample: Sample,
    name: str,
    scale: Sequence[float],
    judge: Mapping[str, str] | None,
) -> dict[str, object]:
    """One line of the sheet: column -> cell."""
    record = to_record(sample)
    # Every column of the texts is there, so that all lines have the same ones.
    line: dict[str, object] = {name: record.pop(name, None) for name in _TEXTS}
    # What people said before is no part of what is judged, and they are not to see it.
    further = {name: value for name, value in record.items() if name not in _NOT_WRITTEN}
    if judge is not None:
        line["judge"] = judge.get(row.id, "")
    return (
        line
        | {
            "label": None,
            "annotator": None,
            "rationale": None,
            "metric": name,
            "scale": scale_text(scale),
            "cluster": sample.cluster,
            "stream": row.stream,
            "round": row.round,
            "stratum": row.stratum,
            "inclusion_probability": row.inclusion_probability,
            "pool": row.pool or None,
            "drawn": row.drawn or None,
        }
        | further
    )


def _csv(lines: Sequence[Mapping[str, object]]) -> bytes:
    out = io.StringIO()
    # Quoted throughout: spreadsheets guess less, and line breaks of texts are kept.
    table = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    columns: dict[str, None] = {}
    for line in lines:
        columns.update(dict.fromkeys(line))
    table.writerow(columns or ["id", "label", "annotator", "rationale"])
    for line in lines:
        table.writerow([_csv_cell(name, line.get(name)) for name in columns])
    try:
        return out.getvalue().encode()
    except UnicodeEncodeError as error:
        raise DataError(
            "E0305",
            "A text to label holds an unpaired surrogate, which is not Unicode.",
            why=shorten(str(error)),
            fix="correct the text, or write .jsonl",
        ) from error


def _json_lines(lines: Sequence[Mapping[str, object]]) -> bytes:
    return b"".join(orjson.dumps(line) + b"\n" for line in lines)


def _csv_cell(name: str, value: object) -> str:
    if value is None:
        return ""
    if name == "contexts" and isinstance(value, list):
        value = _contexts(value)
    elif isinstance(value, list | dict | bool):
        value = orjson.dumps(value).decode()
    if isinstance(value, str):
        return guarded(value)
    # All digits of a probability: weights are made of it.
    return repr(value)


def _contexts(contexts: list[object]) -> str:
    """The contexts as people read them, "[1] ...", where that reads back as the same; else JSON,
    a context a line.
    """
    texts = [context for context in contexts if isinstance(context, str)]
    if texts and len(texts) == len(contexts):
        numbered = "\n\n".join(f"[{place}] {text}" for place, text in enumerate(texts, 1))
        if numbered_chunks(numbered) == texts:
            return numbered
    lines = ",\n ".join(orjson.dumps(context).decode() for context in contexts)
    return f"[{lines}]"
