"""What an engine of another package works with: the criteria of a rubric as one text.

A text that comes back becomes typed edits of the original, each of which the guard checks; one that
is refused leaves the rubric as it was. Verdicts are bought within the cap of the search, and what
an engine would take for an error of its own (a cap that is reached) ends it from outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ragassay.core import BudgetExhausted
from ragassay.judges import Rubric
from ragassay.tuning import parts
from ragassay.tuning.differences import edits_between
from ragassay.tuning.edits import Edit, Refused
from ragassay.tuning.guard import EditGuard
from ragassay.tuning.parts import Kind
from ragassay.tuning.purchases import NoRoom
from ragassay.tuning.reply import read_reply
from ragassay.tuning.search import (
    Finalist,
    SearchResult,
    SearchTask,
    Step,
    Tried,
    Watch,
    finalist,
)
from ragassay.tuning.values import (
    BoolArray,
    Disagreement,
    IntArray,
    JudgeBench,
    Proposer,
    ProposerTask,
)


@dataclass
class Texts:
    """The rubrics of a search by the text of their criteria."""

    task: SearchTask
    bench: JudgeBench
    proposer: Proposer
    watch: Watch | None = None
    tried: list[Tried] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        task = self.task
        self.guard = EditGuard(task.rubric, task.forbidden)
        self.purchases = task.purchases(self.bench)
        self.original = text_of(task.rubric)
        self.edits: dict[str, tuple[Edit, ...]] = {self.original: ()}

    def rubric(self, text: str) -> Rubric:
        """The rubric with these criteria. Raises Refused."""
        if text not in self.edits:
            items = [line for line in text.split("\n") if line.strip()]
            old = parts.texts(self.task.rubric, Kind.CRITERION)
            new = [parts.one_line(item) for item in items]
            self.edits[text] = tuple(edits_between(Kind.CRITERION, old, new))
        return self.guard.applied(self.edits[text])

    def right(self, text: str, rows: IntArray) -> BoolArray:
        """Which of the rows the rubric has right; False where there is no verdict, and where the
        rubric is refused. Raises NoRoom.
        """
        try:
            rubric = self.rubric(text)
        except Refused:
            return np.zeros(len(rows), bool)
        verdicts = self.purchases.verdicts(rubric, rows)
        if self.watch is not None:
            self.watch("search", self.bench.calls, float("nan"))
        return np.asarray((verdicts >= 0) & ((verdicts == 1) == self.task.rows.truth[rows]))

    def proposed(self, text: str, rows: IntArray) -> str:
        """The text with the first usable edit that the proposer has for these rows, of which those
        that are wrong are disagreements; the same text where there is none. Raises NoRoom.
        """
        right = self.right(text, rows)
        rubric = self.rubric(text)
        cases = [self._case(rubric, row) for row in rows.tolist()]
        wrong = [case for case, is_right in zip(cases, right, strict=True) if not is_right]
        controls = [case for case, is_right in zip(cases, right, strict=True) if is_right]
        if not wrong:
            return text
        self.purchases.need(1)
        try:
            reply = self.proposer.propose(ProposerTask(rubric, self.task.aim, wrong, controls))
        except BudgetExhausted as stopped:
            raise self.purchases.no_room(stopped) from stopped
        return self._with_edit(text, rubric, reply)

    def _with_edit(self, text: str, rubric: Rubric, reply: str) -> str:
        read = read_reply(reply, rubric)
        for reason in read.refused:
            self.tried.append(Tried("", self.bench.calls, dropped=reason))
        for edit in read.edits:
            edits = (*self.edits[text], edit)
            try:
                changed = self.guard.applied(edits)
            except Refused as reason:
                dropped = f"refused: {reason}"
                self.tried.append(Tried("", self.bench.calls, edit, dropped=dropped))
                continue
            if edit.kind is Kind.CRITERION:
                new = text_of(changed)
                self.edits.setdefault(new, edits)
                self.tried.append(Tried("", self.bench.calls, edit))
                return new
        return text

    def _case(self, rubric: Rubric, row: int) -> Disagreement:
        rows = self.task.rows
        return Disagreement(
            row,
            bool(rows.truth[row]),
            int(self.purchases.known(rubric)[row]) == 1,
            self.purchases.reason(rubric, row),
            rows.rationales.get(row, ""),
            rows.texts[row] if row < len(rows.texts) else {},
        )

    def best_so_far(self, text: str) -> None:
        """Note that the engine takes this text for its best."""
        if text in self.edits and (not self.steps or self.steps[-1].edits != self.edits[text]):
            self.steps.append(Step(self.bench.calls, self.rubric(text), self.edits[text]))

    def result(self, texts: Sequence[str], ended: str) -> SearchResult:
        """The result, with those of the texts as finalists that are better than the first rubric on
        the rows to choose on.
        """
        found: list[Finalist] = []
        for text in texts:
            if not self.edits.get(text):
                continue
            try:
                one = finalist(self.task, self.purchases, self.guard, self.edits[text])
            except (NoRoom, Refused):
                continue
            if one.score > one.before:
                found.append(one)
        by_cap = ended == "the calls are spent"
        return SearchResult(
            tuple(found), tuple(self.tried), tuple(self.steps), self.bench.calls, ended, by_cap
        )


def text_of(rubric: Rubric) -> str:
    """The criteria as one text, an item a line."""
    return "\n".join(f"- {text}" for text in parts.texts(rubric, Kind.CRITERION))
