"""A run in the store, as a program reads it: state, summary, rows, scores, reports.

Reads on demand; holds no rows in memory.
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ragassay.core import (
    AskedOfRow,
    Judgment,
    Ledger,
    Manifest,
    MetricTrust,
    RowResult,
    RunState,
    SetupError,
    Summary,
    Verdict,
)
from ragassay.core.counting import count
from ragassay.runs.row_lookup import like_row

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from ragassay.store import Store


class Run:
    """One run in the store: what came of every row. Reads on demand; holds no rows in memory."""

    def __init__(self, store: Store, run_id: str) -> None:
        self.store = store
        """The open store that the run is read from; `close` closes it."""
        self.id = run_id
        self._summary: Summary | None = None
        self._trust: tuple[MetricTrust, ...] | None = None

    @property
    def store_location(self) -> str:
        """The file or database that the run is in; a database's URL without its password."""
        return self.store.location

    @property
    def state(self) -> RunState:
        """Finished, or why not."""
        return self.store.run(self.id).state

    @property
    def stop_reason(self) -> str:
        """Why it did not finish, "" where it did."""
        return self.store.run(self.id).stop_reason

    @property
    def ledger(self) -> Ledger:
        """What it cost so far, all resumes added."""
        return self.store.run(self.id).ledger

    @property
    def manifest(self) -> Manifest:
        """Everything needed to repeat the run."""
        return self.store.run(self.id).manifest

    @property
    def summary(self) -> Summary:
        """Means with intervals, coverage, pass rates, root causes, slices, worst rows, spend.
        Prints itself.
        """
        if self._summary is None:
            from ragassay.report import summarise

            self._summary = summarise(self.store, self.id, trust=self._certified())
        return self._summary

    def _certified(self) -> tuple[MetricTrust, ...]:
        """What certificates say of the judge on rows like these, a metric each."""
        if self._trust is None:
            from ragassay.runs.trust import trust_of

            self._trust = trust_of(self.store, self.id)
        return self._trust

    @property
    def scores(self) -> pyarrow.Table:
        """One Arrow row per row and metric, with rationale and error. Needs the extra 'arrow' (else
        SetupError E0105).
        """
        from ragassay.report import scores_table

        return scores_table(self.store, self.id)

    def to_pandas(self, style: Literal["scores", "mlflow"] = "scores") -> pandas.DataFrame:
        """The same as a DataFrame, for which pandas is enough (else SetupError E0105). style
        "mlflow": a row a request, with the columns of MLflow's Agent Evaluation.
        """
        from ragassay.report import mlflow_frame, scores_frame

        if style not in ("scores", "mlflow"):
            raise SetupError(
                "E0101",
                f"A DataFrame has no style {style!r}.",
                where="to_pandas(style=...)",
                fix='"scores" (one row a row and metric) or "mlflow" (one row a request)',
            )
        frame = mlflow_frame if style == "mlflow" else scores_frame
        return frame(self.store, self.id)

    def __getitem__(self, row_id: str) -> RowResult:
        """The row with this id: sample, scores with their parts, diagnosis. Raises KeyError."""
        row = self.store.row(self.id, row_id) if isinstance(row_id, str) else None
        if row is None:
            raise KeyError(f"the run has no row {row_id!r}.{like_row(self, row_id)}")
        return row

    def judgments(self, keys: Iterable[str]) -> dict[str, Judgment]:
        """What the run's judge said to these requests (`key` of a score's parts); what it did not
        answer is left out.
        """
        fingerprints = set(self.manifest.judge.fingerprints.values())
        addresses = list(itertools.product(fingerprints, keys))
        stored = self.store.get_judgments(addresses)
        return {key: judgment for (_, key), judgment in stored.items()}

    def asked(self, row: RowResult) -> AskedOfRow:
        """What the judge's model was sent about a row, and its raw replies; or why they cannot be
        shown.
        """
        from ragassay.runs.exchanges import asked_of

        return asked_of(self, row)

    def rows(self) -> Iterator[RowResult]:
        """All rows in the order of the source."""
        return self.store.rows(self.id)

    __iter__ = rows

    def failures(self) -> Iterator[RowResult]:
        """The rows that fail, worst first."""
        return self.store.rows(self.id, order="worst", verdict=Verdict.FAIL)

    def html(self, path: str | os.PathLike[str], *, max_rows: int = 1000) -> Path:
        """Write the self-contained HTML report and return its path."""
        from ragassay.report import write_html

        write_html(self.store, self.id, Path(path), max_rows=max_rows, trust=self._certified())
        return Path(path)

    def export(self, path: str | os.PathLike[str], format: str | None = None) -> Path:
        """Write the scores as jsonl, csv, parquet, html or junit (by the path's ending where format
        is None).
        """
        target = Path(path)
        from ragassay.report import export, write_html, write_junit

        kind = format or {".xml": "junit", ".htm": "html"}.get(
            target.suffix, target.suffix.lstrip(".")
        )
        if kind == "html":
            write_html(self.store, self.id, target, trust=self._certified())
        elif kind == "junit":
            write_junit(self.store, self.id, target)
        else:
            export(self.store, self.id, kind, target)
        return target

    def to_mlflow(
        self,
        *,
        tracking_uri: str | None = None,
        experiment: str = "ragassay",
        into: str | None = None,
    ) -> str:
        """Write figures, tags and rows into an MLflow run (a new one, or the one with the id
        `into`); its id.

        Figures stand under the names of Agent Evaluation where it has one, and all of them under
        "ragassay/". Needs the extra 'mlflow' (else SetupError E0105).
        """
        from ragassay.report import log_to_mlflow

        return log_to_mlflow(
            self.store,
            self.id,
            tracking_uri=tracking_uri,
            experiment=experiment,
            into=into,
            trust=self._certified(),
        )

    def close(self) -> None:
        """Let go of the store."""
        self.store.close()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        stored = self.store.run(self.id)
        return (
            f"<Run {self.id} {stored.state}: {count(stored.manifest.rows, 'row')}, judge"
            f" {stored.manifest.judge.uri}>"
        )

    def __str__(self) -> str:
        from ragassay.report import summary_text

        # As wide as the terminal, or as the variable COLUMNS says.
        return summary_text(self.summary, shutil.get_terminal_size((100, 24)).columns)

    def _repr_html_(self) -> str | None:
        return self.summary._repr_html_()
