"""What is wrong with posted labels, each mistake by the place of its label in the body.

The reader of sheets counts rows from 1, and says of a long sheet the first mistakes alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from ragassay.core import DataError, RagAssayError, shorten
from ragassay.web.api.messages import Problem, Refused
from ragassay.web.api.reading import MOST_PROBLEMS
from ragassay.web.api.requests import LabelIn, LabelsIn

_TWO_ROWS = re.compile(r"(?:^|; )row (\d+) and row (\d+)(?=: |; |$)")


def by_place(error: RagAssayError, body: LabelsIn) -> RagAssayError:
    """The error of an import with the places of the labels that it is about; the error as it is
    where it is about no label in particular. At most MOST_PROBLEMS places are named.
    """
    problems = tuple(islice(_problems(error, body), MOST_PROBLEMS))
    if not problems:
        return error
    fix = error.fix
    if fix.startswith("correct these cells"):
        fix = "correct these labels"
    why = "; ".join(f"{problem.where}: {problem.what}" for problem in problems[:5])
    return Refused(
        error.code,
        error.what,
        where=problems[0].where,
        why=why if len(problems) > 1 else problems[0].what,
        fix=fix,
        problems=problems,
    )


def _problems(error: RagAssayError, body: LabelsIn) -> Iterator[Problem]:
    if error.code == "E0315":
        for place, _ in enumerate(body.labels):
            yield Problem(f"/labels/{place}/id", "is no row of the run")
    elif error.code == "E0101":
        yield from _wrong_names(error, body.labels)
    elif error.code == "E0314" and error.where.startswith("row '"):
        yield from _differs_from_stored(error, body.labels)
    elif error.code in ("E0313", "E0314"):
        yield from _unreadable(body)
        for first, second in _TWO_ROWS.findall(f"{error.where}; {error.why}"):
            what = f"differs from /labels/{int(first) - 1}, of the same person and row"
            yield Problem(f"/labels/{int(second) - 1}", what)


def _unreadable(body: LabelsIn) -> Iterator[Problem]:
    """The labels that cannot be read by themselves."""
    from ragassay.trust.label_files import read_sheet

    for place, label in enumerate(body.labels):
        try:
            read_sheet([label.model_dump()], scale=tuple(body.scale))
        except DataError as error:
            yield Problem(f"/labels/{place}", error.why.removeprefix("row 1: "))


def _wrong_names(error: RagAssayError, labels: Sequence[LabelIn]) -> Iterator[Problem]:
    for place, label in enumerate(labels):
        if shorten(repr(label.annotator.strip()), 60) == error.why:
            yield Problem(f"/labels/{place}/annotator", "is a name that nobody who labels can have")


def _differs_from_stored(error: RagAssayError, labels: Sequence[LabelIn]) -> Iterator[Problem]:
    """The label for which the same person gave another value before."""
    for place, label in enumerate(labels):
        is_row = error.where == f"row {shorten(label.id, 60)!r}"
        if is_row and error.why.startswith(shorten(label.annotator, 40) or "there is"):
            yield Problem(f"/labels/{place}", error.why)
