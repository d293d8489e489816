"""The labels of a run: rows chosen, sheets taken in, decisions where people differ, and what the
labels say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from ragassay.core import HumanLabel, RagAssayError
from ragassay.runs.decisions import DECIDED
from ragassay.runs.run import Run
from ragassay.store.access import now_utc
from ragassay.trust.measure.label_rounds import (
    LabelProgress,
    choose_to_label,
    label_progress,
    label_task,
    repeat_due,
    tied_rows,
)
from ragassay.trust.sampling import METHODS
from ragassay.web.figures import FOR_FEW_S
from ragassay.web.messages import Answer, Ask, NotThere, Redirect, number, refused
from ragassay.web.site import url
from ragassay.web.views.labelling import person_named, reason_given
from ragassay.web.views.row_labels import waits
from ragassay.web.views.shell import counting_page, run_page, stored_run

if TYPE_CHECKING:
    from ragassay.store import StoredRun

MOST_CHOSEN = 5000
USUAL = 50
TIES_SHOWN = 20
SHEETS = ("csv", "jsonl")


class Choice(NamedTuple):
    """A metric that rows can be chosen for: rows that fail it, rows to which it applies, and those
    of them that are neither chosen nor labelled.
    """

    metric: str
    fails: int
    applies: int
    left: int


def show(ask: Ask) -> Answer:
    """What is labelled in a run, how far it has come, and how far people and judge agree."""
    stored = stored_run(ask)
    store, run_id = ask.site.store, stored.run_id
    names = list(dict.fromkeys([*store.names_to_label(run_id), *_labelled(ask, run_id)]))
    choices = _choices(ask, stored)
    applies = {choice.metric: choice.applies for choice in choices}
    progress = _progress(ask, stored, names, applies)
    if progress is None:
        return counting_page(ask, stored, "labels")
    wanted = ask.query.get("metric", "")
    return run_page(
        "labels.html.j2",
        ask,
        stored,
        "labels",
        progress=[_blind(ask, run_id, one) for one in progress],
        labelled=len({label.row_id for label in store.labels(run_id)}),
        waits={x.metric: x.finished < x.chosen and _waits(ask, run_id, x.metric) for x in progress},
        metrics=[choice.metric for choice in choices],
        choices=[choice for choice in choices if choice.left],
        preset=wanted if wanted in applies else "",
        methods=METHODS,
        usual=USUAL,
        most=MOST_CHOSEN,
        person=ask.person,
        taken=number(ask, "taken", 0, 0, 10**8),
    )


def _progress(
    ask: Ask, stored: StoredRun, names: Sequence[str], applies: Mapping[str, int]
) -> list[LabelProgress] | None:
    """How far each metric's labels have come, None while that is being counted."""
    store, run_id = ask.site.store, stored.run_id

    def count() -> list[LabelProgress]:
        return [
            label_progress(store, run_id, name, rows_in_all=applies.get(name)) for name in names
        ]

    key = ("labels", run_id, stored.updated, *applies.items(), store.labels_stamp())
    return ask.site.figures.other(key, count, FOR_FEW_S)


def _blind(ask: Ask, run_id: str, progress: LabelProgress) -> LabelProgress:
    """The progress without what was said of rows that this person may yet be given to label."""
    shown = tuple(
        one for one in progress.disputes if not waits(ask, run_id, progress.metric, one.row_id)
    )
    return replace(progress, disputes=shown)


def _waits(ask: Ask, run_id: str, metric: str) -> bool:
    """Whether a row waits for this person; for whoever has no name yet, one does."""
    if not ask.person:
        return True
    mine = ask.site.store.label_answers(run_id, metric, ask.person)
    if repeat_due(mine) is not None:
        return True
    return ask.site.store.has_row_to_label(run_id, metric, ask.person)


def _choices(ask: Ask, stored: StoredRun) -> list[Choice]:
    """The metrics that rows can be chosen for. Where a judge gave scores of metrics with a pass
    mark, these alone: of them people's labels say most. First the one that fails most rows.
    """
    figures = ask.site.figures.of_run(stored)
    if figures is None:
        rows = stored.manifest.rows
        return [Choice(name, 0, rows, rows) for name in stored.manifest.metrics]
    summary = figures.summary
    every = summary.metrics
    judged = [m for m in every if m.asked and m.pass_mark is not None] or list(every)
    store, choices = ask.site.store, []
    for m in judged:
        taken = {row.row_id for row in store.to_label(stored.run_id, m.metric)}
        taken |= {label.row_id for label in store.labels(stored.run_id, m.metric)}
        applies = summary.scored - m.not_applicable
        choices.append(Choice(m.metric, m.failed, applies, max(0, applies - len(taken))))
    # Sorted stably: of equals the first in the run's own order.
    choices.sort(key=lambda choice: -choice.fails)
    return choices


def choose(ask: Ask) -> Answer:
    """Put rows into the queue."""
    stored = stored_run(ask)
    metric, method = ask.form.get("metric", ""), ask.form.get("method", METHODS[0])
    count = ask.form.get("n", "50")
    if method not in METHODS:
        raise refused("method", method, f"one of {', '.join(METHODS)}")
    plain = count.isascii() and count.isdigit() and len(count) <= len(str(MOST_CHOSEN))
    if not (plain and 0 < int(count) <= MOST_CHOSEN):
        raise refused("n", count, f"a whole number from 1 to {MOST_CHOSEN}")
    choose_to_label(ask.site.store, stored.run_id, metric, int(count), method=method)
    return Redirect(url("/runs/{}/labels", stored.run_id))


def upload(ask: Ask) -> Answer:
    """A sheet that was labelled elsewhere, taken in as `ragassay label import` does."""
    from ragassay.trust.measure.labelling import import_labels

    stored = stored_run(ask)
    name, given = ask.form.get("sheet", ""), ask.upload
    kind = name.rpartition(".")[2].lower()
    metric = ask.form.get("metric", "")
    try:
        if given is None or kind not in SHEETS:
            raise refused(
                "sheet", name, "a sheet: a file .csv or .jsonl", fix="choose another file"
            )
        if metric and metric not in stored.manifest.metrics:
            raise refused("metric", metric, "a metric of this run")
        sheet = given.with_name(f"sheet.{kind}")
        given.rename(sheet)
        taken = import_labels(
            Run(ask.site.store, stored.run_id),
            sheet,
            metric=metric or None,
            annotator=person_named(ask.form.get("annotator", "")),
            replace_old=ask.form.get("replace") == "1",
        )
    except RagAssayError as error:
        # The place on this server is nobody's business; the file's own name says more.
        why = error.why if given is None else _without_place(error.why, given, name)
        values = {"problem": error.what, "code": error.code, "why": why, "fix": error.fix}
        return run_page("upload_refused.html.j2", ask, stored, "labels", 400, **values)
    return Redirect(url("/runs/{}/labels", stored.run_id, taken=len(taken.file.labels)))


def _without_place(text: str, given: Path, name: str) -> str:
    for place in (*(given.with_name(f"sheet.{kind}") for kind in SHEETS), given):
        text = text.replace(str(place), name)
    return text


def undecided(ask: Ask) -> Answer:
    """The rows on which people are tied, with what each said, and nothing of the judge."""
    stored = stored_run(ask)
    metric = ask.query.get("metric", "")
    if metric not in (
        *ask.site.store.names_to_label(stored.run_id),
        *_labelled(ask, stored.run_id),
    ):
        raise NotThere(f"No row of the run has a label of {metric[:80]!r}.")
    ties = tied_rows(ask.site.store, stored.run_id, metric)
    rows = [ask.site.store.row(stored.run_id, tie.row_id) for tie in ties[:TIES_SHOWN]]
    return run_page(
        "decide.html.j2",
        ask,
        stored,
        "labels",
        task=label_task(metric),
        ties=list(zip(ties, rows, strict=False)),
        total=len(ties),
        person=ask.person,
    )


def decide(ask: Ask) -> Answer:
    """A decision on a row on which people are tied: for one of the values that they gave."""
    stored = stored_run(ask)
    store, run_id = ask.site.store, stored.run_id
    metric, row_id = ask.form.get("metric", ""), ask.form.get("row", "")
    person = person_named(ask.form.get("person", "")) or ask.person
    tie = next((tie for tie in tied_rows(store, run_id, metric) if tie.row_id == row_id), None)
    if tie is None:
        raise NotThere("People are not tied on that row any more.")
    if not person:
        raise refused("person", "", "the name of who decides")
    values = {f"{value:g}": value for _, value, _ in tie.labels}
    given = ask.form.get("value", "")
    if given not in values:
        raise refused("value", given, "a value that somebody gave")
    rationale = reason_given(ask)
    by, created = DECIDED + person, now_utc()
    label = HumanLabel(row_id, metric, by, values[given], rationale, created=created)
    store.put_labels(run_id, [label], replace=True)
    to = url("/runs/{}/labels/decide", run_id, metric=metric)
    return Redirect(to, {"person": quote(person)})


def _labelled(ask: Ask, run_id: str) -> list[str]:
    """The metrics of which labels were imported."""
    return list(dict.fromkeys(label.name for label in ask.site.store.labels(run_id)))
