"""The evaluation at the end of a session: the rows of a marked test, and what is decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ragassay.core import RagAssayError, Verdict
from ragassay.pytest_plugin.answers import HeldTest
from ragassay.pytest_plugin.assertions import Assertion
from ragassay.pytest_plugin.failures import of_assertion, of_row
from ragassay.pytest_plugin.recording import RecordingCopies

if TYPE_CHECKING:
    from ragassay.core import RowResult
    from ragassay.report import GateResult
    from ragassay.runs.run import Run


_RECORD = (
    "run pytest once without --ragassay-replay, with the same --ragassay-store, where the judge can"
    " be asked"
)


@dataclass(slots=True)
class Group:
    """The rows of one marked test function. run: what judged them, None where `error` says why
    there is none. results: of what tests asserted of the run.
    """

    name: str
    tests: list[HeldTest] = field(default_factory=list)
    run: Run | None = None
    error: str = ""
    results: list[GateResult] = field(default_factory=list)

    @property
    def function(self) -> str:
        """The name of the test function."""
        return self.name.rpartition("::")[2]

    @property
    def unanswered(self) -> str:
        """The rows that are not in the run, in words; "" where there are none. A row on which the
        application failed is in it.
        """
        every = len(self.tests)
        absent = sum(test.answered is None for test in self.tests)
        skipped = sum(test.skipped for test in self.tests)
        words = []
        if skipped:
            words.append(f"{skipped:,} of {every:,} rows skipped")
        if absent > skipped:
            words.append(f"{absent - skipped:,} of {every:,} rows without an answer")
        return ", ".join(words)

    def judge(self, store: str | None, copies: RecordingCopies | None) -> None:
        """Judge all answered rows in one run, in the order of the rows. store: in place of the
        mark's. copies: where recorded judgments alone are used, the copies to read.
        """
        from ragassay import api

        rows = [test.answered for test in self.tests if test.answered is not None]
        if not rows:
            self.error = "no row was answered in this session"
            return
        options: dict[str, Any] = {**self.tests[0].options}
        if store is not None:
            options["store"] = store
        name = options.pop("name", self.name)
        try:
            if copies is not None:
                options |= {"replay": True, "store": copies.copy_of(options.get("store"))}
            self.run = api.evaluate(
                rows, options.pop("metrics", None), name=name, tell=_quiet, **options
            )
        except RagAssayError as error:
            if error.code == "E0606":
                # The store that the message would name is a copy of the recording.
                error.fix = _RECORD
            self.error = str(error)
        except TypeError as error:
            self.error = str(error)


def _quiet(_: str) -> None:
    """A suite prints what its tests found, and not how columns are read."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of a test. outcome: "passed", "failed" or "undecided"."""

    outcome: str
    text: str = ""


def decide_row(group: Group, test: HeldTest) -> Decision:
    """A row's own verdict."""
    if test.answered is None:
        return Decision("passed")
    if group.run is None:
        return Decision("failed", group.error)
    row = group.run[test.answered.id]
    verdict = row.diagnosis.verdict
    if verdict is Verdict.FAIL:
        return Decision("failed", of_row(group.run, row))
    if verdict is Verdict.UNDECIDED or not row.done or not _measured(row):
        return Decision("undecided", of_row(group.run, row))
    return Decision("passed")


def _measured(row: RowResult) -> bool:
    """Whether anything was found out about the row. That the application did not fail is nothing
    that a row could pass by.
    """
    scores = [score for score in row.scores if score.metric != "app_error"]
    return any(score.value is not None for score in scores or row.scores)


def decide(test: HeldTest, groups: Sequence[Group]) -> Decision:
    """What a test asserts, against the runs."""
    found = [_decide_one(test, assertion, groups) for assertion in test.assertions]
    for outcome in ("failed", "undecided"):
        texts = [one.text for one in found if one.outcome == outcome]
        if texts:
            return Decision(outcome, "\n\n".join(texts))
    return Decision("passed")


def _decide_one(test: HeldTest, assertion: Assertion, groups: Sequence[Group]) -> Decision:
    chosen = _group_of(test, assertion, groups)
    if isinstance(chosen, str):
        return Decision("failed", f"{assertion.place}: {chosen}")
    if chosen.run is None:
        return Decision("failed", f"{assertion.place}: {chosen.error}")
    from ragassay.report import check_gates

    try:
        result = check_gates(chosen.run.summary, assertion.gates, assertion.coverage)
    except RagAssayError as error:
        error.where = ""  # an option of the command, which nobody gave here
        return Decision("failed", f"{assertion.place}: {error}")
    messages = [outcome.message for outcome in result.outcomes]
    messages += [message for message in result.incomplete if message not in messages]
    lost = _too_few_answers(chosen, assertion.coverage)
    messages += lost
    chosen.results.append(replace(result, incomplete=(*result.incomplete, *lost)))
    if result.exit_code == 0 and not lost:
        return Decision("passed")
    messages = [f"{assertion.place}: {messages[0]}", *messages[1:]]
    metric = result.outcomes[0].gate.metric if result.outcomes else ""
    outcome = "failed" if result.exit_code == 1 else "undecided"
    return Decision(outcome, of_assertion(chosen.run, messages, metric))


def _group_of(test: HeldTest, assertion: Assertion, groups: Sequence[Group]) -> Group | str:
    """The rows that are meant: those named, else those of the same file, else the only ones."""
    candidates = [group for group in groups if assertion.of in ("", group.function, group.name)]
    near = [group for group in candidates if group.tests[0].module == test.module]
    found = near or candidates
    if len(found) == 1:
        return found[0]
    if not found:
        return (
            f"no test of this session has rows that are called {assertion.of!r}"
            if assertion.of
            else "no test with the mark ragassay ran in this session"
        )
    names = ", ".join(group.function for group in found)
    return f"several tests have rows; say of which this is, with of=: {names}"


def _too_few_answers(group: Group, floor: float | None) -> list[str]:
    """Rows whose application failed, or whose test never ran to its end, are no answers."""
    answered = [test.answered for test in group.tests if test.answered is not None]
    good = sum(row.error is None for row in answered)
    if floor is None or good >= floor * len(group.tests):
        return []
    message = f"{good:,} of {len(group.tests):,} rows were answered, below the floor of {floor:.0%}"
    return [f"{message} ({group.unanswered})" if group.unanswered else message]
