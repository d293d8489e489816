"""What people said of one row, for all but those who are yet to label it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ragassay.core import HumanLabel, Verdict
from ragassay.store.label_queue import wants_more
from ragassay.web.messages import Ask
from ragassay.web.sessions import Role

if TYPE_CHECKING:
    from ragassay.core import RowResult
    from ragassay.store import StoredRun


class RowLabels(NamedTuple):
    """The labels of a row by one metric. hidden: it still waits for whoever looks at it."""

    metric: str
    labels: Sequence[HumanLabel]
    hidden: bool


def row_labels(ask: Ask, stored: StoredRun, row: RowResult) -> list[RowLabels]:
    """The labels of a row, metric by metric; those of one that this person is yet to label are not
    among them, nor is it said whether there are any.
    """
    store, run_id = ask.site.store, stored.run_id
    given: dict[str, list[HumanLabel]] = {}
    for label in store.labels(run_id, row_id=row.id):
        given.setdefault(label.name, []).append(label)
    names = dict.fromkeys([*given, *store.names_to_label(run_id)])
    shown = []
    for name in names:
        if waits(ask, run_id, name, row.id):
            shown.append(RowLabels(name, (), True))
        elif name in given:
            shown.append(RowLabels(name, given[name], False))
    return shown


def waits(ask: Ask, run_id: str, metric: str, row_id: str) -> bool:
    """Whether the row is to be labelled by one more person, who may be this one."""
    if ask.role is None or not ask.role.may(Role.LABELLER):
        return False
    chosen = ask.site.store.row_to_label(run_id, metric, row_id)
    if chosen is None:
        return False
    latest: dict[str, float | None] = {}
    for answer in ask.site.store.label_answers(run_id, metric, row_id=row_id):
        if not answer.repeat:
            latest[answer.annotator] = answer.value
    return ask.person not in latest and wants_more(chosen.wanted, latest.values())


def metric_to_label(row: RowResult) -> str:
    """The metric of which labels would say most beside this row: the first that fails it."""
    failed = [score.metric for score in row.scores if score.verdict is Verdict.FAIL]
    return failed[0] if failed else ""
