"""A run as JUnit XML for a CI server: a test suite per metric, a test case per row."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from shutil import copyfileobj
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, TextIO
from xml.sax.saxutils import escape, quoteattr

from ragassay.core import BadRow, EnvironmentFailure, Manifest, RowResult, Score, Status, Verdict
from ragassay.core.counting import count
from ragassay.report.output_files import private
from ragassay.report.proof import proof
from ragassay.report.text import one_line, xml
from ragassay.report.wording import (
    behind,
    cause_words,
    doubt,
    figure,
    pass_mark,
    with_reason,
)

if TYPE_CHECKING:
    from ragassay.store import Store


_PASSED = 0
_FAILURE = 1
_ERROR = 2
_SKIPPED = 3
_COUNTS = ("tests", "failures", "errors", "skipped")
"""The attributes of a suite; but for the first, each at the place of its kind of result."""


def write_junit(store: Store, run_id: str, path: str | Path) -> None:
    """Write the run as JUnit XML. failure: below the pass mark; error: not judged; skipped: a
    figure without a pass mark. Rows to which a metric does not apply are no cases, but a property
    of its suite; a metric that applies to no row is a suite without cases, a default one none.

    Unreadable rows are errors of a suite "rows". Raises EnvironmentFailure E0107 when the file
    cannot be written.
    """
    try:
        with open(path, "w", encoding="utf-8", newline="\n", opener=private) as out:
            _write(store, run_id, out)
    except OSError as error:
        raise EnvironmentFailure(
            "E0107", "The output file cannot be written.", where=str(path), why=str(error)
        ) from error


def _write(store: Store, run_id: str, out: TextIO) -> None:
    manifest = store.run(run_id).manifest
    suites, absent, bad = _counted(store, run_id, manifest)
    empty = _without_rows(store, run_id, suites)
    for metric in empty:
        if metric in manifest.by_default:
            del suites[metric]
    totals = [0, 0, 0, 0]
    for numbers in suites.values():
        totals = [total + n for total, n in zip(totals, numbers, strict=True)]
    totals[0] += len(bad)
    totals[_ERROR] += len(bad)
    out.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    out.write(f"<testsuites name={_attribute('ragassay ' + run_id)} {_numbers(totals)}>\n")
    with ExitStack() as stack:
        # One pass over the rows, each suite into a spool of its own: reading rows is what costs.
        spools = {metric: stack.enter_context(_spool()) for metric in suites}
        for row in store.rows(run_id, order="index"):
            for score in row.scores:
                if score.metric in spools and score.status is not Status.NOT_APPLICABLE:
                    _case(row, score, spools[score.metric], manifest)
        for metric, numbers in suites.items():
            out.write(f"<testsuite name={_attribute(metric)} {_numbers(numbers)}>\n")
            out.write(_left_out(absent[metric], empty.get(metric, "")))
            spools[metric].seek(0)
            copyfileobj(spools[metric], out)
            out.write("</testsuite>\n")
    if bad:
        _bad_rows(bad, out)
    out.write("</testsuites>\n")


def _counted(
    store: Store, run_id: str, manifest: Manifest
) -> tuple[dict[str, list[int]], dict[str, int], list[BadRow]]:
    """Metric -> its counts, as in `_COUNTS`; metric -> rows it does not apply to; and the rows that
    could not be read. They stand before the cases in the file, so they are counted first.
    """
    suites = {metric: [0, 0, 0, 0] for metric in manifest.metrics}
    absent = dict.fromkeys(manifest.metrics, 0)
    bad: list[BadRow] = []
    for line, scores in store.lines(run_id):
        if line.bad is not None:
            bad.append(line.bad)
        for score in scores:
            if score.metric not in suites:
                continue
            if score.status is Status.NOT_APPLICABLE:
                absent[score.metric] += 1
                continue
            kind = _kind(score.status, score.verdict)
            suites[score.metric][0] += 1
            if kind != _PASSED:
                suites[score.metric][kind] += 1
    return suites, absent, bad


def _without_rows(store: Store, run_id: str, suites: Mapping[str, list[int]]) -> dict[str, str]:
    """The metrics that apply to no row, each with the reason in its first one."""
    candidates = {metric for metric, numbers in suites.items() if not numbers[0]}
    reasons: dict[str, str] = {}
    for _, scores in store.lines(run_id) if candidates else ():
        for score in scores:
            if score.metric not in candidates:
                continue
            if score.status is Status.NOT_APPLICABLE:
                reasons.setdefault(score.metric, score.reason)
            else:
                candidates.discard(score.metric)
    return {metric: reason for metric, reason in reasons.items() if metric in candidates}


def _left_out(rows: int, reason: str) -> str:
    """The property that says how many rows are no cases, "" where all are. reason: where it is all
    of them.
    """
    if not rows:
        return ""
    words = count(rows, "row")
    value = _attribute(f"{words}: {reason}" if reason else words)
    return f'<properties><property name="not applicable" value={value}/></properties>\n'


def _bad_rows(bad: list[BadRow], out: TextIO) -> None:
    out.write(f'<testsuite name="rows" {_numbers([len(bad), 0, len(bad), 0])}>\n')
    for row in bad:
        body = _body(f"{row.place}. {row.why} {row.fix}")
        attributes = f"type={_attribute(row.code)} message={_attribute(row.what)}"
        out.write(f'<testcase classname="rows" name={_attribute(row.id)}>')
        out.write(f"<error {attributes}>{body}</error></testcase>\n")
    out.write("</testsuite>\n")


def _spool() -> SpooledTemporaryFile[str]:
    return SpooledTemporaryFile(max_size=1 << 20, mode="w+", encoding="utf-8", newline="\n")


def _kind(status: Status, verdict: Verdict | None) -> int:
    """The kind of result: passed, failure, error or skipped."""
    if status is Status.JUDGED and verdict is None:
        return _SKIPPED  # a figure without a pass mark is no test that could pass
    if verdict is Verdict.FAIL:
        return _FAILURE
    # A build must not be green because its judge was down.
    if verdict is Verdict.UNDECIDED or status is not Status.JUDGED:
        return _ERROR
    return _PASSED


def _case(
    row: RowResult, score: Score, out: TextIO | SpooledTemporaryFile[str], manifest: Manifest
) -> None:
    out.write(f"<testcase classname={_attribute(score.metric)} name={_attribute(row.id)}")
    kind = _kind(score.status, score.verdict)
    if kind == _PASSED:
        out.write("/>\n")
    elif kind == _SKIPPED:
        why = score.reason or f"{figure(score.value)}; no verdict"
        out.write(f"><skipped message={_attribute(why)}/></testcase>\n")
    elif kind == _ERROR:
        message = _attribute(with_reason(score.status, score.reason))
        out.write(f'><error type="{score.status.value}" message={message}/></testcase>\n')
    else:
        out.write(f">{_failure(row, score, manifest)}</testcase>\n")


def _failure(row: RowResult, score: Score, manifest: Manifest) -> str:
    """The element of a failed score: the value and the cause as its message, the proof as its
    text.
    """
    cause = row.diagnosis.cause
    message = f"{score.metric} is {figure(score.value)}"
    if score.pass_mark is not None:
        message += f", passes at {pass_mark(score.pass_mark, score.metric, manifest)}"
    if cause is not None:
        message += f"; {cause_words(cause)}"
    shown = proof(score, row.sample)
    lines = [shown.what]
    if shown.quote:
        lines.append(f"“{shown.quote}”")
    lines.append(shown.rationale)
    if cause is not None:
        lines.append(doubt(cause))
        lines.append(f"try: {cause.remedy}")
    lines.append(behind(row.diagnosis))
    body = _body("\n".join(line for line in lines if line))
    kind = cause.name if cause is not None else "fail"
    return f'<failure type="{kind}" message={_attribute(message)}>{body}</failure>'


def _numbers(numbers: list[int]) -> str:
    pairs = zip(_COUNTS, numbers, strict=True)
    return " ".join(f'{name}="{n}"' for name, n in pairs)


def _attribute(text: str) -> str:
    return quoteattr(xml(one_line(text, 400)))


def _body(text: str) -> str:
    # CI servers show the beginning; a row's whole text would make files of many megabytes.
    return escape(xml(text[:4000]))
