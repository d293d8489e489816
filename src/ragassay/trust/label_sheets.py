"""Sheets for people to fill in: one row to label a line, CSV or JSON Lines.

A sheet holds what was judged, empty columns for `label`, `annotator` and `rationale`, and how the
row was chosen. What the judge said is left out unless it is asked for, because people follow what
they are shown. In CSV, a text that a spreadsheet would take for a formula gets an apostrophe before
it, and one that begins with such an apostrophe another, so that reading takes away exactly what
writing added.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import orjson

from ragassay.core import DataError, EnvironmentFailure, Sample, SetupError, shorten
from ragassay.trust.sampling import ChosenRow

BINARY = (0.0, 1.0)
_ENDINGS = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
# How a text begins that a spreadsheet takes for a formula; behind apostrophes, since one is added
# to these too.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")


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
    _write(path, _csv(lines) if kind == "csv" else _json_lines(lines))
    return len(lines)


def scale_text(scale: Sequence[float]) -> str:
    """A scale as a sheet names it: "0 or 1 or 2"."""
    return " or ".join(f"{point:g}" for point in scale)


def without_guard(cell: object) -> object:
    """A text as it was before it was guarded against spreadsheets.

    One that a person typed, or whose apostrophe a program dropped, stays.
    """
    if isinstance(cell, str) and cell.startswith("'") and _FORMULA.match(cell):
        return cell[1:]
    return cell


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
    texts = None if sample.contexts is None else [context.text for context in sample.contexts]
    line: dict[str, object] = {
        "id": row.id,
        "question": sample.question,
        "contexts": texts,
        "response": sample.response,
        "reference": sample.reference,
    }
    if judge is not None:
        line["judge"] = judge.get(row.id, "")
    return line | {
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
    }


def _csv(lines: Sequence[Mapping[str, object]]) -> bytes:
    out = io.StringIO()
    # Quoted throughout: spreadsheets guess less, and line breaks of texts are kept.
    table = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    table.writerow(lines[0] if lines else ["id", "label", "annotator", "rationale"])
    for line in lines:
        table.writerow([_csv_cell(value) for value in line.values()])
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


def _csv_cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        # Numbered for people to read; the contexts themselves are in the run.
        value = "\n\n".join(f"[{place}] {text}" for place, text in enumerate(value, 1))
    if isinstance(value, str):
        return "'" + value if _FORMULA.match(value) else value
    # All digits of a probability: weights are made of it.
    return repr(value)


def _write(path: Path, data: bytes) -> None:
    """Write under another name first, so that the file appears only when it is whole."""
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
