"""The part of a session of pytest that is about rows: tests made, answers kept, verdicts reported.

Reports of these tests are held back. At the end of the session the rows are judged, and only then
each test is reported as what it is. With pytest-xdist the workers answer, and the main process,
which gets all they hold, judges and reports: what comes out does not depend on who answered what.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from ragassay.core import BadRow, Sample
from ragassay.pytest_plugin.answers import HeldTest
from ragassay.pytest_plugin.assertions import AssertedRun
from ragassay.pytest_plugin.github import tell_github_of
from ragassay.pytest_plugin.judging import Decision, Group, decide, decide_row
from ragassay.pytest_plugin.recording import RecordingCopies
from ragassay.pytest_plugin.rows import Marked, marked, row_id

_ANSWERED = pytest.StashKey[Sample]()
_ASSERTED = pytest.StashKey[AssertedRun]()
_STOPPED = "the session was stopped before the rows were judged"
_UNDECIDED = "ragassay_undecided"
"""The attribute of a report whose test is neither passed nor failed."""


class JudgedSession:
    """Registered as a plugin when the first marked test or asserting test is there."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._held: dict[str, HeldTest] = {}
        self._marked: dict[str, Marked] = {}
        self._expected: dict[str, tuple[int, tuple[str, int | None, str], str]] = {}
        self._groups: list[Group] = []
        self._each: dict[str, bool | None] = {}
        self._undecided: list[pytest.TestReport] = []
        self._is_worker = hasattr(config, "workerinput")
        self._stopped = False
        self._failed = 0

    # -- collection

    def make_tests(self, metafunc: pytest.Metafunc) -> None:
        """A test for each row of the mark."""
        mark = metafunc.definition.get_closest_marker("ragassay")
        assert mark is not None
        found = self._marked[metafunc.definition.nodeid] = marked(metafunc, mark)
        metafunc.parametrize("row", found.rows, ids=row_id)

    def asserted(self, request: pytest.FixtureRequest) -> AssertedRun:
        """What the fixture gives to a test."""
        run: AssertedRun = request.node.stash.setdefault(_ASSERTED, AssertedRun())
        return run

    def bring_rows(self, items: list[pytest.Item], every: Sequence[pytest.Item]) -> None:
        """Where a test asserts and none of its rows is left (-k, --deselect), all of them run, for
        an assertion over no row says nothing.
        """
        if any(_row_of(item) is not None for item in items):
            return
        modules = {item.path for item in items if _asserts(item)}
        rows = [item for item in every if _row_of(item) is not None]
        near = [item for item in rows if item.path in modules]
        items[:0] = near or rows

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Which tests are held back is known from here on, also of a worker that ends early."""
        for index, item in enumerate(session.items):
            if _row_of(item) is not None or _asserts(item):
                self._expected[item.nodeid] = (index, item.location, self._group_of(item))

    def _group_of(self, item: pytest.Item) -> str:
        """The marked test function, and the other parameters that it runs with; "" for a test that
        has no row.
        """
        if _row_of(item) is None or not isinstance(item, pytest.Function):
            return ""
        others = {k: v for k, v in item.callspec.params.items() if k != "row"}
        name = f"{_parent(item)}::{item.originalname}"
        return f"{name}[{', '.join(map(str, others.values()))}]" if others else name

    # -- running

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> bool | None:
        """Run a test about rows without reporting it."""
        if item.nodeid not in self._expected:
            return None
        index, location, group = self._expected[item.nodeid]
        held = HeldTest(index, item.nodeid, location, group)
        held.reports = runtestprotocol(item, log=False, nextitem=nextitem)
        self._stop_after_failures(item.session, held)
        held.answered = item.stash.get(_ANSWERED, None)
        asserted = item.stash.get(_ASSERTED, None)
        held.assertions = [] if asserted is None else asserted.assertions
        if group:
            options = self._marked[self._definition(item)].options
            held.options = dict(options)
        self._held[item.nodeid] = held
        return True

    def _stop_after_failures(self, session: pytest.Session, held: HeldTest) -> None:
        """With -x or --maxfail, stop where pytest would, which does not see reports that are held.
        With pytest-xdist the main process counts, and it sees them at the end.
        """
        self._failed += any(report.failed for report in held.reports)
        most = self._config.getvalue("maxfail")
        if most and not self._is_worker and session.testsfailed + self._failed >= most:
            session.shouldfail = f"stopping after {session.testsfailed + self._failed} failures"

    def _definition(self, item: pytest.Item) -> str:
        assert isinstance(item, pytest.Function)
        return f"{_parent(item)}::{item.originalname}"

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """Call a marked test and keep what it returns: it is the answer to the row."""
        row = _row_of(pyfuncitem)
        if row is None:
            return None
        unable = self._marked[self._definition(pyfuncitem)].unable
        if unable:
            pytest.fail(unable, pytrace=False)
        if isinstance(row, BadRow):
            pytest.fail(f"{row.place}: {row.what} {row.why} {row.fix}", pytrace=False)
        names = pyfuncitem._fixtureinfo.argnames
        arguments = {name: pyfuncitem.funcargs[name] for name in names}
        try:
            returned = pyfuncitem.obj(**arguments)
            if inspect.iscoroutine(returned):
                returned = asyncio.run(returned)
            pyfuncitem.stash[_ANSWERED] = _answered(row, returned)
        except Exception as error:
            # A row of the run as well: that the application failed is a finding.
            words = f"{type(error).__name__}: {error}"
            pyfuncitem.stash[_ANSWERED] = replace(row, response=None, error=words)
            raise
        return True

    # -- workers

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A worker hands over what it holds; the main process names the exit code."""
        if self._is_worker:
            plain = [held.to_json(self._config) for held in self._held.values()]
            expected = [[nodeid, *rest] for nodeid, rest in self._expected.items()]
            output: dict[str, Any] = self._config.workeroutput  # type: ignore[attr-defined]
            each = {nodeid: one.each for nodeid, one in self._marked.items()}
            output["ragassay"] = {"held": plain, "expected": expected, "each": each}
            return
        undecided = len(self._undecided)
        failed = session.exitstatus == pytest.ExitCode.TESTS_FAILED
        # As the command leaves where it cannot decide.
        if failed and session.testsfailed == undecided:
            session.exitstatus = 3

    def take(self, brought: dict[str, Any]) -> None:
        """What a worker held and what it was to run, which is the same in all workers."""
        for nodeid, index, location, group in brought["expected"]:
            path, line, name = location
            self._expected[nodeid] = (index, (path, line, name), group)
        for plain in brought["held"]:
            held = HeldTest.from_json(plain, self._config)
            self._held[held.nodeid] = held
        self._each.update(brought["each"])

    # -- the end

    def conclude(self, session: pytest.Session, *, stopped: bool) -> None:
        """Judge, decide and report."""
        if self._is_worker or self._config.option.collectonly:
            return
        self._stopped = stopped
        self._each.update({nodeid: one.each for nodeid, one in self._marked.items()})
        if not stopped:
            for nodeid in self._expected.keys() - self._held.keys():
                self._held[nodeid] = self._lost(nodeid)
        held = sorted(self._held.values(), key=lambda test: test.index)
        self._judge(held)
        for test in held:
            self._report(test, self._decide(test, held))

    def _lost(self, nodeid: str) -> HeldTest:
        """A test whose worker ended before it could hand anything over."""
        index, location, group = self._expected[nodeid]
        report = pytest.TestReport(
            nodeid,
            location,
            {},
            "failed",
            "its worker ended before it handed the test over",
            "call",
        )
        return HeldTest(index, nodeid, location, group, [report])

    def _judge(self, held: Sequence[HeldTest]) -> None:
        groups: dict[str, Group] = {}
        for test in held:
            if test.is_row:
                groups.setdefault(test.group, Group(test.group)).tests.append(test)
        self._groups = list(groups.values())
        store = self._config.getoption("--ragassay-store")
        replay = self._config.getoption("--ragassay-replay")
        copies = RecordingCopies(self._config) if replay else None
        for group in self._groups:
            if self._stopped:
                group.error = _STOPPED
            else:
                group.judge(store, copies)

    def _decide(self, test: HeldTest, held: Sequence[HeldTest]) -> Decision:
        if any(report.failed or report.skipped for report in test.reports):
            return Decision("passed")  # it has a result of its own
        if self._stopped:
            # That a row was answered is known; what the run shows is not.
            return Decision("passed") if test.is_row else Decision("undecided", _STOPPED)
        if not test.is_row:
            return decide(test, self._groups)
        group = next(group for group in self._groups if group.name == test.group)
        each = self._each.get(test.group.partition("[")[0])
        if each is None:
            # Where nothing is asserted of all rows together, each has to pass by itself.
            each = all(other.is_row for other in held)
        return decide_row(group, test) if each else Decision("passed")

    def _report(self, test: HeldTest, decision: Decision) -> None:
        hook = self._config.hook
        hook.pytest_runtest_logstart(nodeid=test.nodeid, location=test.location)
        for report in test.reports:
            if report.when == "call" and decision.outcome != "passed":
                report.outcome = "failed"
                report.longrepr = decision.text
                if decision.outcome == "undecided":
                    setattr(report, _UNDECIDED, True)
                    self._undecided.append(report)
                self._run_again(test)
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=test.nodeid, location=test.location)

    def _run_again(self, test: HeldTest) -> None:
        """With --lf, a test that asserts needs its rows again, which passed."""
        remembered: Any = self._config.pluginmanager.get_plugin("lfplugin")
        if test.is_row or not hasattr(remembered, "lastfailed"):
            return
        near = [group for group in self._groups if group.tests[0].module == test.module]
        for group in near or self._groups:
            remembered.lastfailed.update(dict.fromkeys((one.nodeid for one in group.tests), True))

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> Any:
        """Undecided is an outcome of its own."""
        if getattr(report, _UNDECIDED, False):
            return "undecided", "?", ("UNDECIDED", {"yellow": True})
        return None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Undecided tests with their reasons, and the runs."""
        write = terminalreporter
        if self._undecided:
            write.section("UNDECIDED", yellow=True)
            for report in self._undecided:
                write.section(report.nodeid, sep="_", yellow=True)
                write.write_line(str(report.longrepr))
        if self._groups:
            write.section("ragassay")
        for group in self._groups:
            write.write_line(_line(group))
        for note in tell_github_of(self._groups, self._config, write.write_line):
            write.write_line(note)
        for group in self._groups:
            if group.run is not None:
                group.run.close()


def _line(group: Group) -> str:
    if group.run is None:
        return f"{group.name}: not judged: {group.error.splitlines()[0]}"
    from ragassay.report import headline
    from ragassay.runs.commands import store_option

    where = store_option(group.run.store_location)
    told = [headline(group.run.summary), group.unanswered]
    counts = "; ".join(one for one in told if one)
    return f"{group.name}: {counts}\n  ragassay show {group.run.id}{where}"


def _parent(item: pytest.Item) -> str:
    return item.parent.nodeid if item.parent is not None else ""


def _asserts(item: pytest.Item) -> bool:
    return "ragassay_run" in getattr(item, "fixturenames", ())


def _row_of(item: pytest.Item) -> Sample | BadRow | None:
    """The row of a marked test, None for any other test."""
    if not isinstance(item, pytest.Function) or item.get_closest_marker("ragassay") is None:
        return None
    row = item.callspec.params.get("row") if hasattr(item, "callspec") else None
    return row if isinstance(row, Sample | BadRow) else None


def _answered(row: Sample, returned: Any) -> Sample:
    """The row with the answer; a test that returns nothing leaves the one that the row has."""
    from ragassay.runs.application import read_answer

    if returned is None and row.response is not None:
        return row
    return read_answer(row, returned)
