"""The spot check: a sheet of questions for people, and the error rate that their labels give.

Each question has a fixed random number, and a sheet takes those with the smallest of each type
(permanent random numbers, Ohlsson 1995): after a refresh the sheet is a random sample of the set
of today, and yet holds as many of the questions that people have seen as can be.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote

from ragassay.core import DataError, SetupError, digest, shorten
from ragassay.core.counting import count
from ragassay.datasets.sheets import filled_in, read_sheet
from ragassay.report.pages import write_whole
from ragassay.scoring.intervals import exact_rate_interval
from ragassay.testsets.plan import apportion
from ragassay.testsets.values import Question, SetInfo, SpotCheck

ROWS = 60
"""Rows of a sheet: none rejected of 60 says that at most 6 % are wrong."""

_HEAD = ("id", "type", "question", "reference", "evidence", "earlier turns", "accept", "reason")
_YES = frozenset({"1", "yes", "y", "accept", "accepted", "ok", "true", "x"})
_NO = frozenset({"0", "no", "n", "reject", "rejected", "false"})
_WORDS = {None: "", True: "yes", False: "no"}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_sheet(path: Path, questions: Sequence[Question], seed: int, rows: int = ROWS) -> int:
    """Write a sheet of questions of each type in proportion; how many it has. The gates' verdicts
    are not on it, since people follow what they are shown. Raises DataError E0808 where the file is
    a sheet with labels that the set does not have.
    """
    _check_unread(path, questions)
    chosen = stratified(questions, rows, seed)
    out = io.StringIO()
    sheet = csv.writer(out, lineterminator="\n")
    sheet.writerow(_HEAD)
    for question in chosen:
        evidence = "\n".join(f"{place.document}: {place.quote}" for place in question.evidence)
        turns = "\n".join(f"{turn.question} {turn.answer}" for turn in question.history)
        reference = question.reference or "(the documents do not answer it)"
        known = _WORDS[question.accepted]
        asked = (question.id, question.type, question.question)
        cells = (*asked, reference, evidence, turns, known, "")
        sheet.writerow(map(_cell, cells))
    write_whole(path, [out.getvalue()])
    return len(chosen)


def _check_unread(path: Path, questions: Sequence[Question]) -> None:
    known = {question.id: question.accepted for question in questions}
    unread = 0
    for name, word in filled_in(path, "accept").items():
        said = known.get(name)
        unread += said is None or (word in _YES) != said
    if unread:
        raise DataError(
            "E0808",
            "The sheet holds labels of people, which would be lost.",
            where=str(path),
            why=f"{unread} of its rows are filled in and were not read in",
            fix=f"ragassay testset check SET --labels {quote(str(path))}; or name another file",
        )


def stratified(questions: Sequence[Question], rows: int, seed: int) -> list[Question]:
    """A sample with the types in proportion, in an order of chance that is fixed for each
    question.
    """
    by_type: dict[str, list[Question]] = {}
    for question in questions:
        by_type.setdefault(question.type, []).append(question)

    def number(question: Question) -> str:
        return digest("spot check", seed, question.id)

    chosen: list[Question] = []
    sizes = {name: float(len(members)) for name, members in by_type.items()}
    for name, quota in apportion(sizes, min(rows, len(questions))).items():
        chosen += sorted(by_type[name], key=number)[:quota]
    return sorted(chosen, key=number)


def _cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def read_labels(path: Path, questions: Sequence[Question]) -> dict[str, bool]:
    """Question id -> whether people accept it, of the rows that were filled in. Raises DataError
    E0805 for a sheet that is none, and for a label that is neither yes nor no.
    """
    known = {question.id for question in questions}
    labels: dict[str, bool] = {}
    try:
        rows = read_sheet(path)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise _no_sheet(path, str(error)) from error
    if not rows or not {"id", "accept"} <= set(rows[0]):
        raise _no_sheet(path, "it has no columns `id` and `accept`")
    for number, row in enumerate(rows, 2):
        word = (row.get("accept") or "").strip().lower()
        name = (row.get("id") or "").removeprefix("'")
        if not word:
            continue
        if word not in _YES | _NO or name not in known:
            why = f"accept is {shorten(word, 20)!r}" if name in known else f"no question {name!r}"
            raise _no_sheet(path, f"line {number}: {why}")
        labels[name] = word in _YES
    if not labels:
        raise _no_sheet(path, "no row has a yes or no under `accept`")
    return labels


def blank_note(path: Path) -> str:
    """What to know where rows of a sheet were left empty, "" where none were: whoever marks the bad
    ones alone gives an error rate of all.
    """
    rows = read_sheet(path)
    blank = sum(not (row.get("accept") or "").strip() for row in rows)
    if not blank:
        return ""
    return (
        f"{blank} of {count(len(rows), 'row')} of the sheet have neither yes nor no and do not"
        " count: the error rate holds for the set only if they were left by chance"
    )


def _no_sheet(path: Path, why: str) -> DataError:
    return DataError(
        "E0805",
        "The sheet of the spot check cannot be read.",
        where=str(path),
        why=why,
        fix="fill `accept` with yes or no in a sheet that `testset check --sheet` wrote",
    )


def with_labels(
    info: SetInfo, questions: Sequence[Question], labels: Mapping[str, bool]
) -> tuple[SetInfo, list[Question]]:
    """The set with the error rate of a sheet, and with its labels. Raises SetupError E0805 without
    labels.
    """
    checked = _rate(labels.values())
    if checked is None:
        raise SetupError("E0805", "There is no label.")
    labelled = []
    for question in questions:
        said = labels.get(question.id, question.accepted)
        labelled.append(replace(question, accepted=said))
    return replace(info, spot_check=checked), labelled


def after_refresh(questions: Sequence[Question], new: int) -> SpotCheck | None:
    """The error rate of the questions that were kept; None where people saw none of them. Those
    that they saw are a random sample of those that were kept, as they were of the whole.
    """
    labels = [question.accepted for question in questions if question.accepted is not None]
    checked = _rate(labels)
    return None if checked is None else replace(checked, new=new)


def _rate(labels: Iterable[bool]) -> SpotCheck | None:
    counts = Counter(labels)
    checked, rejected = counts.total(), counts[False]
    interval = exact_rate_interval(rejected, checked)
    return None if interval is None else SpotCheck(checked, rejected, interval.low, interval.high)
