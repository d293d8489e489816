"""A run as JUnit XML for a CI server: a test suite per metric, a test case per row."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from shutil import copyfileobj
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, TextIO
from xml.sax.saxutils import escape, quoteattr

from ragassay.core import BadRow, EnvironmentFailure, Manifest, RowResult, Score, Status, Verdict
from ragassay.report.proof import proof
from ragassay.report.text import one_line, xml
from ragassay.report.wording import STATUS_WORDS, behind, figure, pass_mark

if TYPE_CHECKING:
    from ragassay.store import Store


def write_junit(store: Store, run_id: str, path: str | Path) -> None:
    """Write the run as JUnit XML. failure: below the pass mark; error: not judged; skipped: not
    applicable.

    Unreadable rows are errors of a suite "rows". Raises EnvironmentFailure E0107 when the file
    cannot be written.
    """
    try:
        with open(path, "w", encoding="utf-8", errors="strict", newline="\n") as out:
            _write(store, run_id, out)
    except OSError as error:
        raise EnvironmentFailure(
            "E0107", "The output file cannot be written.", where=str(path), why=str(error)
        ) from error


def _write(store: Store, run_id: str, out: TextIO) -> None:
    manifest = store.run(run_id).manifest
    tests = {
        metric: [0, 0, 0, 0] for metric in manifest.metrics
    }  # tests, failures, errors, skipped
    bad: list[BadRow] = []
    for line, scores in store.lines(run_id):
        if line.bad is not None:
            bad.append(line.bad)
        for one in scores:
            if one.metric in tests:
                kind = _kind(one.status, one.verdict)
                tests[one.metric][0] += 1
                if kind:
                    tests[one.metric][kind] += 1
    totals = [sum(numbers) for numbers in zip(*tests.values(), strict=True)] or [0, 0, 0, 0]
    totals[0], totals[2] = totals[0] + len(bad), totals[2] + len(bad)
    out.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    out.write(f"<testsuites name={_attribute('ragassay ' + run_id)} {_numbers(totals)}>\n")
    with ExitStack() as stack:
        # One pass over the rows, each suite into a spool of its own: reading rows is what costs.
        spools = {metric: stack.enter_context(_spool()) for metric in tests}
        for row in store.rows(run_id, order="index"):
            for score in row.scores:
                if score.metric in spools:
                    _case(row, score, spools[score.metric], manifest)
        for metric, numbers in tests.items():
            out.write(f"<testsuite name={_attribute(metric)} {_numbers(numbers)}>\n")
            spools[metric].seek(0)
            copyfileobj(spools[metric], out)
            out.write("</testsuite>\n")
    if bad:
        out.write(f'<testsuite name="rows" {_numbers([len(bad), 0, len(bad), 0])}>\n')
        for unread in bad:
            body = _body(f"line {unread.line}. {unread.why} {unread.fix}")
            out.write(f'<testcase classname="rows" name={_attribute(unread.id)}>')
            attributes = f"type={_attribute(unread.code)} message={_attribute(unread.what)}"
            out.write(f"<error {attributes}>{body}</error></testcase>\n")
        out.write("</testsuite>\n")
    out.write("</testsuites>\n")


def _spool() -> SpooledTemporaryFile[str]:
    return SpooledTemporaryFile(max_size=1 << 20, mode="w+", encoding="utf-8", newline="\n")


def _kind(status: Status, verdict: Verdict | None) -> int:
    """0 passed, 1 failure, 2 error, 3 skipped."""
    if status is Status.NOT_APPLICABLE or (status is Status.JUDGED and verdict is None):
        return 3  # a figure without a pass mark is no test that could pass
    if verdict is Verdict.FAIL:
        return 1
    return 2 if verdict is Verdict.UNDECIDED or status is not Status.JUDGED else 0


def _case(
    row: RowResult, score: Score, out: TextIO | SpooledTemporaryFile[str], manifest: Manifest
) -> None:
    out.write(f"<testcase classname={_attribute(score.metric)} name={_attribute(row.id)}")
    kind = _kind(score.status, score.verdict)
    if kind == 0:
        out.write("/>\n")
    elif kind == 3:
        why = score.reason or f"{figure(score.value)}; no verdict"
        out.write(f"><skipped message={_attribute(why)}/></testcase>\n")
    elif kind == 2:
        message = (
            f"{STATUS_WORDS[score.status]}: {score.reason}"
            if score.reason
            else STATUS_WORDS[score.status]
        )
        out.write(
            f'><error type="{score.status.value}" message={_attribute(message)}/></testcase>\n'
        )
    else:
        shown, cause = proof(score, row.sample), row.diagnosis.cause
        mark = (
            f", passes at {pass_mark(score.pass_mark, score.metric, manifest)}"
            if score.pass_mark is not None
            else ""
        )
        message = f"{score.metric} is {figure(score.value)}{mark}" + (
            f"; {cause.title}" if cause is not None else ""
        )
        body = [
            shown.what,
            f"“{shown.quote}”" if shown.quote else "",
            shown.rationale,
            f"try: {cause.remedy}" if cause else "",
            behind(row.diagnosis),
        ]
        out.write(
            f'><failure type="{cause.name if cause is not None else "fail"}"'
            f" message={_attribute(message)}>"
            f"{_body(chr(10).join(line for line in body if line))}</failure></testcase>\n"
        )


def _numbers(numbers: list[int]) -> str:
    return " ".join(
        f'{name}="{n}"'
        for name, n in zip(("tests", "failures", "errors", "skipped"), numbers, strict=True)
    )


def _attribute(text: str) -> str:
    return quoteattr(xml(one_line(text, 400)))


def _body(text: str) -> str:
    return escape(xml(text[:4000]))
