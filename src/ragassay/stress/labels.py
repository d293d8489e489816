"""Labels of people on which responses decline, and the rates of rejection that they correct.

The reader of declining responses is rules, and misses some ways of saying no. A few labels on rows
that were drawn by chance correct its rates (prediction-powered inference, `scoring.ppi`).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from ragassay.core import DataError, digest, shorten
from ragassay.datasets.sheets import filled_in, read_sheet
from ragassay.report.pages import write_whole
from ragassay.scoring.ppi import Estimate, estimate
from ragassay.stress.outcomes import Outcome

SHEET_ROWS = 60
"""Rows of a sheet of each kind of question: labels of 50 and more can correct the rules."""

_HEAD = ("id", "question", "response", "declines")
_YES = frozenset({"1", "yes", "y", "true", "x"})
_NO = frozenset({"0", "no", "n", "false"})
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class CorrectedRejection:
    """Rates of rejection corrected by labels. labelled: rows with a label; disagree: those of them
    on which rules and people differ. rejected: share of unanswerable rows that are declined;
    answered: that are answered; over_refused: share of answerable ones that are declined.
    """

    labelled: int
    disagree: int
    rejected: Estimate
    answered: Estimate
    over_refused: Estimate


def corrected_rejection(
    answerable: Sequence[Outcome], unanswerable: Sequence[Outcome], labels: Mapping[str, bool]
) -> CorrectedRejection | None:
    """The rates corrected by labels, None without a label on these rows. labels: id of a planned
    row -> whether people say that its response declines.
    """
    both = [*answerable, *unanswerable]
    labelled = [outcome for outcome in both if outcome.planned.id in labels]
    if not labelled:
        return None
    return CorrectedRejection(
        len(labelled),
        sum(outcome.declines != labels[outcome.planned.id] for outcome in labelled),
        _corrected(unanswerable, labels, is_answer=False),
        _corrected(unanswerable, labels, is_answer=True),
        _corrected(answerable, labels, is_answer=False),
    )


def _corrected(
    outcomes: Sequence[Outcome], labels: Mapping[str, bool], *, is_answer: bool
) -> Estimate:
    """The corrected share of rows that are declined, or answered. A failure is neither, and needs
    no label to be known.
    """
    codes = {cluster: code for code, cluster in enumerate(_clusters(outcomes))}
    population = [float(o.answers if is_answer else o.declines) for o in outcomes]
    chosen = [o for o in outcomes if o.planned.id in labels]
    truth = []
    for outcome in chosen:
        declines = labels[outcome.planned.id]
        has_text = outcome.answers or outcome.declines
        truth.append(float(has_text and declines is not is_answer))
    score = [float(o.answers if is_answer else o.declines) for o in chosen]
    units = (
        [codes[o.planned.row.cluster] for o in chosen],
        [codes[o.planned.row.cluster] for o in outcomes],
    )
    return estimate(truth, score, population, units=units)


def _clusters(outcomes: Iterable[Outcome]) -> list[str]:
    return list(dict.fromkeys(outcome.planned.row.cluster for outcome in outcomes))


def write_label_sheet(
    path: Path, answerable: Sequence[Outcome], unanswerable: Sequence[Outcome], seed: int
) -> int:
    """Write a sheet of rows drawn by chance, of both kinds of questions; how many it has. What the
    rules say is not on it, since people follow what they are shown.
    """
    out = io.StringIO()
    sheet = csv.writer(out, lineterminator="\n")
    sheet.writerow(_HEAD)
    chosen = [*_drawn(answerable, seed), *_drawn(unanswerable, seed)]
    for outcome in sorted(chosen, key=lambda o: digest("order", seed, o.planned.id)):
        cells = (outcome.planned.id, outcome.planned.row.question, outcome.response or "", "")
        sheet.writerow(map(_cell, cells))
    write_whole(path, [out.getvalue()])
    return len(chosen)


def _drawn(outcomes: Sequence[Outcome], seed: int) -> list[Outcome]:
    """Rows by fixed random numbers. One without a text needs no label, and is drawn like others:
    the sample is to stand for all.
    """
    return sorted(outcomes, key=lambda o: digest("sheet", seed, o.planned.id))[:SHEET_ROWS]


def _cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def check_unread(path: Path) -> None:
    """Raise DataError E0808 where a sheet that is to be written is there and was filled in."""
    filled = filled_in(path, "declines")
    if filled:
        raise DataError(
            "E0808",
            "The sheet holds labels of people, which would be lost.",
            where=str(path),
            why=f"{len(filled)} of its rows are filled in",
            fix=f"use it with --labels {quote(str(path))}, or name another file",
        )


def read_label_sheet(path: Path) -> dict[str, bool]:
    """Id of a planned row -> whether its response declines, of the rows that were filled in.
    Raises DataError E1108 for a sheet that is none, and for a label that is neither yes nor no.
    """
    labels: dict[str, bool] = {}
    try:
        rows = read_sheet(path)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise _no_sheet(path, str(error)) from error
    if not rows or not {"id", "declines"} <= set(rows[0]):
        raise _no_sheet(path, "it has no columns `id` and `declines`")
    for number, row in enumerate(rows, 2):
        word = (row.get("declines") or "").strip().lower()
        if not word:
            continue
        if word not in _YES | _NO:
            raise _no_sheet(path, f"line {number}: declines is {shorten(word, 20)!r}")
        labels[(row.get("id") or "").removeprefix("'")] = word in _YES
    if not labels:
        raise _no_sheet(path, "no row has a yes or no under `declines`")
    return labels


def _no_sheet(path: Path, why: str) -> DataError:
    return DataError(
        "E1108",
        "The sheet of labels cannot be read.",
        where=str(path),
        why=why,
        fix="fill `declines` with yes or no in a sheet that `ragassay stress --label-sheet` wrote",
    )
