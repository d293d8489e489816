"""Labels of people: read, written, taken in from a sheet, and how far they agree.

People label blind. The token of the labeller is that of a group, so nobody knows which of them
asks: what was said of a row is not told with it as long as one more of them may get the row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ragassay.core import RagAssayError
from ragassay.report.jsonable import as_json
from ragassay.store.label_queue import wants_more
from ragassay.trust.measure.label_rounds import LabelProgress, label_progress
from ragassay.trust.measure.labelling import LabelImport, import_labels
from ragassay.web.api.cursors import cursor, foreign_cursor, place_of
from ragassay.web.api.label_mistakes import by_place
from ragassay.web.api.messages import Call, Json, Problem, Refused, Reply
from ragassay.web.api.over_http import in_words_of_a_request
from ragassay.web.api.requests import ImportQuery, LabelsIn
from ragassay.web.sessions import Role

if TYPE_CHECKING:
    from ragassay.store import StoredRun

ENDINGS = {"text/csv": ".csv", "application/x-ndjson": ".jsonl"}
"""The media types of a sheet."""


def listed(call: Call) -> Reply:
    """A page of a run's labels, in the order in which they were stored; for a labeller without
    those of rows that wait for somebody.
    """
    stored, metric, limit = call.run(), call.query.metric, call.query.limit
    of = ["labels", stored.run_id, metric]
    after = place_of(call.query.cursor, of)
    start = 0 if after is None else after
    if type(start) is not int or start < 0:
        raise foreign_cursor()
    labels = call.site.store.labels(stored.run_id, metric or None)
    names = [metric] if metric else call.site.store.names_to_label(stored.run_id)
    waiting = _waiting(call, stored.run_id, names)
    shown = [label for label in labels if (label.name, label.row_id) not in waiting]
    # Pages are cut from all labels, so that a label that is shown later moves none of the others.
    page = labels[start : start + limit]
    items = [label for label in page if (label.name, label.row_id) not in waiting]
    following = cursor(of, start + limit) if start + limit < len(labels) else None
    return Json({"items": as_json(items), "total": len(shown), "next": following})


def _waiting(call: Call, run_id: str, metrics: Iterable[str]) -> set[tuple[str, str]]:
    """(metric, row) of what one more person is to label, where a labeller asks; nothing for the
    others: who reads labels no row, and the admin decides between labels that differ.
    """
    if call.role is not Role.LABELLER:
        return set()
    store = call.site.store
    waiting = set()
    for metric in metrics:
        latest: dict[str, dict[str, float | None]] = {}
        for answer in store.label_answers(run_id, metric):
            if not answer.repeat:
                latest.setdefault(answer.row_id, {})[answer.annotator] = answer.value
        for row in store.to_label(run_id, metric):
            if wants_more(row.wanted, latest.get(row.row_id, {}).values()):
                waiting.add((metric, row.row_id))
    return waiting


def progress(call: Call) -> Reply:
    """How far the labels of a metric have come, and how far people and judge agree; for a labeller
    without what was said of rows that wait for somebody.
    """
    stored, metric = call.run(), call.query.metric
    if metric not in stored.manifest.metrics:
        problem = Problem("metric", f"is none of {', '.join(stored.manifest.metrics)}")
        what = "The run has no such metric."
        raise Refused("E1409", what, where="metric", problems=(problem,))
    applies = _rows_of(call, stored)
    waiting = {row_id for _, row_id in _waiting(call, stored.run_id, [metric])}
    found = label_progress(call.site.store, stored.run_id, metric, rows_in_all=applies)
    labelled = {label.row_id for label in call.site.store.labels(stored.run_id, metric)}
    return Json(as_json(_blind(found, waiting & labelled)))


def _blind(progress: LabelProgress, waiting: Collection[str]) -> LabelProgress:
    """The progress without what was said of rows that have labels and wait for one more. Figures
    that these labels are in are left out as well: those of one row are what was said of it.
    """
    if not waiting:
        return progress
    return replace(
        progress,
        among_people=None,
        with_judge=(),
        compared=0,
        needed="",
        disputes=tuple(one for one in progress.disputes if one.row_id not in waiting),
        ties=tuple(row_id for row_id in progress.ties if row_id not in waiting),
        reliability=(),
    )


def _rows_of(call: Call, stored: StoredRun) -> int | None:
    """The rows to which the metric applies; None where they are still being counted."""
    figures = call.site.figures.of_run(stored)
    if figures is None:
        return None
    every = figures.summary.metrics
    of_metric = next((one for one in every if one.metric == call.query.metric), None)
    return None if of_metric is None else figures.summary.scored - of_metric.not_applicable


def written(call: Call) -> Reply:
    """Keep labels; the same ones again change nothing."""
    body: LabelsIn = call.body
    is_admin = call.role.may(Role.ADMIN)
    if body.scale and not is_admin:
        raise Refused(
            "E1403",
            "A scale of its own needs the token of the admin.",
            where="/scale",
            why="labels of another scale change what all labels of the metric mean",
            fix="leave scale out: labels are 0 and 1, or 0 to 3, as those before",
        )
    rows = [label.model_dump() for label in body.labels]
    try:
        result = import_labels(
            call.run().run_id,
            rows,
            metric=body.metric,
            scale=tuple(body.scale),
            replace_old=body.replace,
            decisions=is_admin,
            store=call.site.store.address,  # type: ignore[arg-type]
        )
    except RagAssayError as error:
        told = in_words_of_a_request(error, "/labels", metric="/metric")
        raise by_place(told, body) from None
    return Json(_told(result))


def imported(call: Call) -> Reply:
    """Take the labels of a sheet in, as `ragassay label import` does."""
    query: ImportQuery = call.query
    run_id = call.run().run_id
    with TemporaryDirectory(prefix="ragassay-sheet-") as folder:
        sheet = Path(folder) / f"sheet{ENDINGS[call.kind]}"
        sheet.write_bytes(call.body)
        try:
            result = import_labels(
                run_id,
                sheet,
                metric=query.metric or None,
                label=query.label,
                annotator=query.annotator,
                replace_old=query.replace == "true",
                store=call.site.store.address,  # type: ignore[arg-type]
            )
        except RagAssayError as error:
            # Where the sheet lay for a moment is nothing to the client.
            error.where = error.where.replace(f"{folder}/", "")
            error.why = error.why.replace(f"{folder}/", "")
            raise in_words_of_a_request(error, "the sheet", metric="metric") from None
    return Json(_told(result))


def _told(result: LabelImport) -> dict[str, object]:
    """What came of an import. kept: labels that are new or changed; unknown: ids that the run does
    not have, in words.
    """
    file = result.file
    return {
        "run_id": result.run,
        "metrics": list(result.metrics),
        "labels": len(file.labels),
        "kept": result.kept,
        "unlabelled": file.unlabelled,
        "repeated": file.repeated,
        "unknown": as_json(file.unknown),
        "people": as_json(file.people),
        "notes": as_json(file.notes),
    }
