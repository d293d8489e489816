"""A run as data, one record per row and metric: JSON lines, CSV, Parquet, an Arrow table."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ragassay.core import (
    EnvironmentFailure,
    Manifest,
    RowResult,
    Score,
    SetupError,
    Status,
    nearest,
)
from ragassay.report.output_files import private
from ragassay.report.proof import place, proof
from ragassay.report.text import cell, plain, seen, unicode
from ragassay.report.wording import better_end, with_reason

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from ragassay.store import Store

FORMATS = ("jsonl", "csv", "parquet")
_COLUMNS = (
    "id",
    "index",
    "metric",
    "value",
    "status",
    "reason",
    "asked",
    "judged",
    "verdict",
    "pass_mark",
    "rationale",
    "evidence",
    "parts",
    "flags",
    "cause",
    "finer",
    "better",
    "uncertain",
)
_SCORE_COLUMNS = (
    *("id", "index", "metric", "value", "status", "reason", "asked", "judged", "coverage"),
    *("verdict", "pass_mark", "probability", "rationale", "error", "cause", "flags", "better"),
)
_GROUP = 5000  # records of a Parquet row group: so many are in memory at once


def export(store: Store, run_id: str, format: str, target: str | Path | TextIO) -> int:
    """Write one record per row and metric to a path or, for jsonl and csv, an open text stream; how
    many were written.

    A row that could not be read is one record with metric null, status "bad_row" and the error
    as its reason. evidence: list of {context (from 0), start, end, quote}; in CSV as JSON.
    finer: names of what may lie behind the cause. uncertain: why the cause is, "" where it is
    not. better: the good end of the metric, "higher", "lower" or "neither". CSV texts that a
    spreadsheet would take for a formula get a leading '. Raises SetupError E0101 (unknown
    format), E0105 (Parquet without pyarrow), EnvironmentFailure E0107 (the file cannot be
    written).
    """
    if format not in FORMATS:
        hint = nearest(format, FORMATS) or f" Formats: {', '.join(FORMATS)}."
        raise SetupError(
            "E0101",
            "The format is not one that can be exported.",
            where="--format",
            why=repr(format),
            fix=hint.strip(),
        )
    if format == "parquet":
        return _parquet(store, run_id, target)
    write = _jsonl if format == "jsonl" else _csv
    if not isinstance(target, str | Path):
        return write(store, run_id, target)
    try:
        with open(target, "w", encoding="utf-8", newline="", opener=private) as out:
            return write(store, run_id, out)
    except OSError as error:
        raise _unwritable(target, error) from error


def records(
    store: Store, run_id: str, *, start: int = 0, rows: int | None = None
) -> Iterator[dict[str, Any]]:
    """The records in row order, metrics in the run's order. start, rows: only those of so many
    rows, after the first `start`.
    """
    manifest = store.run(run_id).manifest
    for row in store.rows(run_id, order="index", limit=rows, offset=start):
        if row.bad is not None:
            reason = f"{row.bad.code}: {row.bad.what} {row.bad.why}".strip()
            yield dict.fromkeys(_COLUMNS) | {
                "id": unicode(row.id),
                "index": row.index,
                "status": "bad_row",
                "reason": unicode(reason),
                "asked": 0,
                "judged": 0,
                "rationale": "",
                "evidence": [],
                "parts": 0,
                "flags": [],
                "cause": "",
                "finer": [],
                "better": "",
                "uncertain": "",
            }
        for score in row.scores:
            yield _record(row, score, manifest)


def _record(row: RowResult, score: Score, manifest: Manifest) -> dict[str, Any]:
    cause = row.diagnosis.cause
    return {
        "id": unicode(row.id),
        "index": row.index,
        "metric": score.metric,
        "value": score.value,
        "status": score.status.value,
        "reason": unicode(score.reason),
        "asked": score.counts.asked,
        "judged": score.counts.judged,
        "verdict": score.verdict.value if score.verdict is not None else None,
        "pass_mark": score.pass_mark,
        "rationale": unicode(score.rationale or proof(score, row.sample).rationale),
        "evidence": _evidence(score),
        "parts": len(score.parts),
        "flags": list(score.flags),
        "cause": cause.name if cause is not None else "",
        "finer": [behind.name for behind in row.diagnosis.finer],
        "better": better_end(score.metric, manifest),
        "uncertain": unicode(cause.uncertain) if cause is not None else "",
    }


def _evidence(score: Score) -> list[dict[str, object]]:
    """The quotes that the score rests on, with their places."""
    quotes: list[dict[str, object]] = []
    for part in score.parts:
        for evidence in part.evidence:
            quote = {
                "context": place(part, evidence),
                "start": evidence.start,
                "end": evidence.end,
                "quote": unicode(evidence.quote),
            }
            quotes.append(quote)
    return quotes


def _jsonl(store: Store, run_id: str, out: TextIO) -> int:
    n = 0
    for n, record in enumerate(records(store, run_id), 1):  # noqa: B007 - n is the count
        out.write(seen(json.dumps(record, ensure_ascii=False, allow_nan=False)) + "\n")
    return n


def _csv(store: Store, run_id: str, out: TextIO) -> int:
    # A file and a pipe get texts as they are; a terminal would obey what stands in them.
    shown = _terminal_cell if out.isatty() else cell
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(_COLUMNS)
    n = 0
    for n, record in enumerate(records(store, run_id), 1):  # noqa: B007 - n is the count
        record["evidence"] = json.dumps(record["evidence"], ensure_ascii=False)
        for name in ("flags", "finer"):
            record[name] = " ".join(record[name])
        cells = []
        for value in record.values():
            cells.append(shown(value) if isinstance(value, str) else value)
        writer.writerow(cells)
    return n


def _terminal_cell(text: str) -> str:
    return cell(plain(text))


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise SetupError(
            "E0105",
            "Parquet and Arrow tables need the library pyarrow.",
            fix='pip install "ragassay[arrow]"',
        ) from error
    return pyarrow


def _parquet(store: Store, run_id: str, target: str | Path | TextIO) -> int:
    pa = _arrow()
    from pyarrow import parquet

    if not isinstance(target, str | Path):
        raise SetupError(
            "E0104",
            "Parquet is binary and cannot be written to the terminal.",
            where="--format",
            fix="give a file with --output",
        )
    quote = pa.struct(
        [
            ("context", pa.int32()),
            ("start", pa.int64()),
            ("end", pa.int64()),
            ("quote", pa.string()),
        ]
    )
    types = {
        "index": pa.int64(),
        "value": pa.float64(),
        "asked": pa.int64(),
        "judged": pa.int64(),
        "pass_mark": pa.float64(),
        "parts": pa.int64(),
        "evidence": pa.list_(quote),
        "flags": pa.list_(pa.string()),
        "finer": pa.list_(pa.string()),
    }
    # Given and not inferred: the first rows may have no value that a type could be read from.
    schema = pa.schema([(name, types.get(name, pa.string())) for name in _COLUMNS])
    n = 0
    stream = records(store, run_id)
    try:
        with parquet.ParquetWriter(str(target), schema) as writer:
            while group := list(islice(stream, _GROUP)):
                writer.write_table(pa.Table.from_pylist(group, schema=schema))
                n += len(group)
    except OSError as error:
        raise _unwritable(target, error) from error
    return n


def _unwritable(target: object, error: OSError) -> EnvironmentFailure:
    return EnvironmentFailure(
        "E0107",
        "The output file cannot be written.",
        where=str(target),
        why=error.strerror or str(error),
    )


def scores_table(store: Store, run_id: str) -> pa.Table:
    """All scores as an Arrow table: id, index, metric, value, status, reason, asked, judged,
    coverage, verdict, pass_mark, probability, rationale, error (why it has no value although it
    should), cause, flags, better ("higher", "lower" or "neither"). One row per row and metric.
    Raises SetupError E0105 without pyarrow.
    """
    pa = _arrow()
    strings = pa.string()
    floats = pa.float64()
    integers = pa.int64()
    schema = pa.schema(
        [
            ("id", strings),
            ("index", integers),
            ("metric", strings),
            ("value", floats),
            ("status", strings),
            ("reason", strings),
            ("asked", integers),
            ("judged", integers),
            ("coverage", floats),
            ("verdict", strings),
            ("pass_mark", floats),
            ("probability", floats),
            ("rationale", strings),
            ("error", strings),
            ("cause", strings),
            ("flags", pa.list_(strings)),
            ("better", strings),
        ]
    )
    manifest = store.run(run_id).manifest
    lines = _score_records(store, run_id, manifest)
    record_batches = []
    while group := list(islice(lines, _GROUP)):
        record_batches.append(pa.RecordBatch.from_pylist(group, schema=schema))
    return pa.Table.from_batches(record_batches, schema=schema)


def scores_frame(store: Store, run_id: str) -> pd.DataFrame:
    """The same as a pandas DataFrame. Raises SetupError E0105 without pandas."""
    try:
        import pandas as pd
    except ImportError as error:
        raise SetupError(
            "E0105", "A DataFrame needs the library pandas.", fix="pip install pandas"
        ) from error
    return pd.DataFrame.from_records(
        _score_records(store, run_id, store.run(run_id).manifest), columns=_SCORE_COLUMNS
    )


def _score_records(store: Store, run_id: str, manifest: Manifest) -> Iterator[dict[str, object]]:
    """One record per row and metric, as the columns of `scores_table`."""
    for row in store.rows(run_id, order="index"):
        cause = row.diagnosis.cause
        for score in row.scores:
            absent = score.status not in (Status.JUDGED, Status.NOT_APPLICABLE)
            rationale = score.rationale or proof(score, row.sample).rationale
            yield {
                "id": unicode(row.id),
                "index": row.index,
                "metric": score.metric,
                "value": score.value,
                "status": score.status.value,
                "reason": unicode(score.reason),
                "asked": score.counts.asked,
                "judged": score.counts.judged,
                "coverage": score.counts.coverage,
                "verdict": score.verdict.value if score.verdict is not None else None,
                "pass_mark": score.pass_mark,
                "probability": score.probability,
                "rationale": unicode(rationale),
                "error": unicode(with_reason(score.status, score.reason)) if absent else "",
                "cause": cause.name if cause is not None else "",
                "flags": list(score.flags),
                "better": better_end(score.metric, manifest),
            }
