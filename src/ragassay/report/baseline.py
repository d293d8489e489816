"""A baseline: the figures of a run, row by row, in a file that is kept beside the code.

JSON Lines: the run first, then a line a row with its verdict, its cluster and its values. It holds
no text of the rows. A change of a figure is a changed line, as people read changes of code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from ragassay.core import (
    Counts,
    DataError,
    EnvironmentFailure,
    Manifest,
    RagAssayError,
    Status,
    Verdict,
    shorten,
)
from ragassay.report.jsonable import as_json
from ragassay.report.output_files import private

if TYPE_CHECKING:
    from ragassay.store import RowLine, ScoreLine, Store

SCHEMA = 1
_KIND = "ragassay baseline"


def write_baseline(store: Store, run_id: str, path: Path) -> None:
    """Write the run's figures as a baseline. Raises EnvironmentFailure E0107 where the file cannot
    be written.
    """
    manifest = _without_places(store.run(run_id).manifest)
    lines = [orjson.dumps(_header(manifest))]
    lines += [orjson.dumps(row) for row in _rows(store, run_id)]
    try:
        with open(path, "wb", opener=private) as out:
            out.write(b"\n".join(lines) + b"\n")
    except OSError as error:
        raise EnvironmentFailure(
            "E0107", "The output file cannot be written.", where=str(path), why=str(error)
        ) from error


def _without_places(manifest: Manifest) -> Manifest:
    """The manifest without what belongs to one machine: paths, addresses, options."""
    judge = replace(manifest.judge, agreement="", base_url="", models=(), sent={})
    source = Path(manifest.source).name
    return replace(manifest, source=source, judge=judge, options={}, kept={})


def _header(manifest: Manifest) -> dict[str, object]:
    return {"kind": _KIND, "schema": SCHEMA, "run": as_json(manifest)}


def _rows(store: Store, run_id: str) -> Iterator[dict[str, object]]:
    for line, scores in store.lines(run_id):
        if line.bad is not None:
            continue
        values = {score.metric: score.value for score in scores if score.value is not None}
        verdicts = {score.metric: score.verdict for score in scores if score.verdict is not None}
        yield {
            "id": line.id,
            "index": line.index,
            "verdict": line.verdict,
            "cluster": line.cluster,
            "values": values,
            "verdicts": verdicts,
        }


@dataclass(frozen=True, slots=True)
class Baseline:
    """A run as a baseline file has it."""

    manifest: Manifest
    rows: tuple[dict[str, Any], ...]

    def row_lines(self) -> Iterable[RowLine]:
        """Its rows."""
        from ragassay.store import RowLine

        for row in self.rows:
            yield RowLine(
                index=row["index"],
                id=row["id"],
                verdict=_verdict(row["verdict"]),
                cause="",
                pattern="",
                cluster=row["cluster"],
                slices={},
                usage=None,
                bad=None,
                done=True,
            )

    def score_lines(self, metric: str) -> Iterable[ScoreLine]:
        """The values of one metric."""
        from ragassay.store import ScoreLine

        for row in self.rows:
            if metric not in row["values"]:
                continue
            yield ScoreLine(
                index=row["index"],
                row_id=row["id"],
                metric=metric,
                value=row["values"][metric],
                status=Status.JUDGED,
                reason="",
                verdict=_verdict(row["verdicts"].get(metric)),
                pass_mark=None,
                counts=Counts(),
                probability=None,
                flags=(),
                extra={},
                cluster=row["cluster"],
                slices={},
            )


def _verdict(word: str | None) -> Verdict | None:
    return None if word is None else Verdict(word)


def read_baseline(path: Path) -> Baseline:
    """The baseline in a file. Raises DataError E0607 where it is none."""
    from ragassay.store import read

    try:
        header, *rows = [orjson.loads(line) for line in path.read_bytes().splitlines() if line] or [
            "nothing"
        ]
        if not isinstance(header, dict) or header.get("kind") != _KIND:
            raise ValueError(f"it begins with {shorten(str(header), 60)}")
        if header.get("schema") != SCHEMA:
            raise ValueError(f"its form is {header.get('schema')}, and this version reads {SCHEMA}")
        baseline = Baseline(read(Manifest, header["run"]), tuple(rows))
        # Every line is read once, so that a broken one is found here.
        lines = list(baseline.row_lines())
        for metric in baseline.manifest.metrics:
            lines += list(baseline.score_lines(metric))  # type: ignore[arg-type]
    except (OSError, ValueError, KeyError, TypeError, RagAssayError) as error:
        why = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise DataError(
            "E0607",
            "The baseline cannot be read.",
            where=f"--baseline {path}",
            why=shorten(why, 200),
            fix="write it anew from a run: ragassay gate RUN --write-baseline FILE",
        ) from error
    return baseline
