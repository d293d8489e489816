"""The search for a better rubric by typed edits, within a number of calls that is never passed.

A batch of errors of one group goes to the proposer; each edit of its reply races against its
parent; the winner is the next parent. Groups from which nothing comes are left for wider ones, and
when all are, the search goes on from another good rubric. In the end edits without effect are
pruned, and what is left is judged on rows that the search did not see. Every edit is recorded with
what became of it, and one that was dropped may win when it is proposed again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil

import numpy as np

from ragassay.core import BudgetExhausted
from ragassay.judges import Rubric
from ragassay.tuning.case_memory import example_edit, nearest
from ragassay.tuning.certify import MOST_FINALISTS
from ragassay.tuning.edits import Edit, Refused
from ragassay.tuning.evidence import floors
from ragassay.tuning.groups import LEAST, Group, Groups
from ragassay.tuning.guard import EditGuard
from ragassay.tuning.prune import EditEffect, Pruner, sign_test
from ragassay.tuning.purchases import UNJUDGED, NoRoom, Purchases
from ragassay.tuning.race import Outcome, Race, State
from ragassay.tuning.reply import read_reply
from ragassay.tuning.shift import Score, Shift, cut_for_aim, shift
from ragassay.tuning.values import (
    Answers,
    BoolArray,
    Disagreement,
    IntArray,
    JudgeBench,
    LabelledRows,
    Proposer,
    ProposerTask,
)

BATCH, CONTROLS = 6, 3
# One round in so many goes on from another rubric than the best.
_BEST_ROUNDS = 2
_MOST_SILENT = 12
# Rounds in a row of edits that were all tried so often before: a reflector that says the same again
# is paid for nothing. Proposed again an edit may win, but not for ever.
_MOST_REPEATED, _OFTEN = 24, 3
# The evidence that an edit needs: a Bayes factor, which grows with the number that were tried.
_NEEDED, _TRIES_FOR_TWICE, _NEEDED_LATER = 8.0, 30, 5.0
# The Bayes factor below which an edit is given up: at first soon, later only after all errors, as
# then the calls have no better use.
_FUTILE = (1 / 8, 1 / 40)
_SURELY_NOTHING = 0.1
# The errors of a batch that an edit is tried on before one that mends none is dropped: at first
# few, later the whole batch, for a cause of few errors may be that of the last three.
_FIRST = (3, 6)
# How likely by chance the gain of a rubric of later rounds may be.
_CHANCE_LATER = 0.35
# An edit stays that gains a row in a hundred, and not likelier than this by chance: edits without
# effect change few rows, so that the first condition does most.
_LEAST_EFFECT, _CHANCE_KEPT = 0.006, 0.1
# The same after the first round, when what goes is lost and what stays is looked at again.
_CHANCE_THEN = 0.5
# The share of rows on which the edits of a rubric change the verdict.
_CHANGED = 0.17
MOST_KEPT = 0.45
"""Of the calls so much at most is kept for pruning and for the choice among the finalists."""


def rows_kept(train: int, validation: int, edits: int) -> int:
    """Rows to be asked about at the end of a search: first, best, and pruned rubric on all rows to
    choose on; each edit is left out once or twice.
    """
    return 2 * validation + (3 * edits + 2) * round(_CHANGED * (validation + train))


@dataclass(frozen=True)
class SearchTask:
    """What a search is for, and on which rows.

    train: rows to search on; validation: rows to choose on. score: the aim, of truth and verdicts;
    aim: the same in words. slices: groups of rows, by name, that may have a cause in common. churn:
    the share of verdicts that change where nothing was changed. forbidden: runs of five words that
    no rubric may copy. max_calls: what the bench may have bought when the search is over. known:
    rows, and answers of the rubric on them that were bought before.
    """

    rubric: Rubric
    rows: LabelledRows
    train: IntArray
    validation: IntArray
    score: Score
    max_calls: int
    aim: str = ""
    slices: Sequence[tuple[str, IntArray]] = ()
    churn: float = 0.05
    forbidden: frozenset[str] = frozenset()
    seed: int = 0
    known: tuple[IntArray, Answers] | None = None

    def purchases(self, bench: JudgeBench) -> Purchases:
        """The answers that the search may buy, with those that are known."""
        bought = Purchases(bench, self.max_calls, len(self.rows))
        if self.known is not None:
            bought.keep(self.rubric, *self.known)
        return bought


@dataclass(frozen=True, slots=True)
class Tried:
    """One edit that was proposed. group: the errors that it was proposed for. edit: None where the
    reply held none. mended of asked errors, broken of checked agreements. dropped: why, "" where
    it was taken.
    """

    group: str
    calls: int
    edit: Edit | None = None
    mended: int = 0
    asked: int = 0
    broken: int = 0
    checked: int = 0
    dropped: str = ""

    def __str__(self) -> str:
        """One line for people and for the proposer."""
        return self.dropped if self.edit is None else f"{self.edit} ({self.outcome})"

    @property
    def outcome(self) -> str:
        """What became of it, in words."""
        return self.dropped or f"taken: it mends {self.mended} of {self.asked}"


@dataclass(frozen=True, slots=True)
class Step:
    """A new best rubric of the search, and the calls bought until then."""

    calls: int
    rubric: Rubric
    edits: tuple[Edit, ...]


@dataclass(frozen=True)
class Finalist:
    """A rubric that may be certified. score, before: the aim on the rows to choose on, of this
    rubric and of the first one. effects: of each edit that it or its unpruned form has.
    """

    rubric: Rubric
    edits: tuple[Edit, ...]
    score: float
    before: float
    effects: tuple[EditEffect, ...] = ()
    shift: Shift | None = None


@dataclass(frozen=True)
class SearchResult:
    """What a search came to. ended: why it ended; by_cap: whether a cap did it. finalists: at most
    three, the best first; none where nothing is better than the first rubric on the rows to choose
    on.
    """

    finalists: tuple[Finalist, ...]
    tried: tuple[Tried, ...]
    steps: tuple[Step, ...]
    calls: int
    ended: str
    by_cap: bool = False


Watch = Callable[[str, int, float], None]
"""Told of progress: the phase, the calls so far, the best estimate of the aim."""


def search(
    task: SearchTask, bench: JudgeBench, proposer: Proposer, watch: Watch | None = None
) -> SearchResult:
    """The finalists for these rows, with everything that was tried; the same for the same seed.

    No error of the budget is raised: a search that may buy no more ends with what it has.
    """
    return _Search(task, bench, proposer, watch).run()


@dataclass
class _Search:
    task: SearchTask
    bench: JudgeBench
    proposer: Proposer
    watch: Watch | None
    tried: list[Tried] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    silent: int = 0
    repeated: int = 0
    round: int = 0

    def __post_init__(self) -> None:
        task = self.task
        self.random = np.random.default_rng([task.seed, 1])
        self.guard = EditGuard(task.rubric, task.forbidden)
        self.purchases = task.purchases(self.bench)
        self.groups = Groups(task.train, task.rows.truth, task.slices)
        self.seen = np.zeros(len(task.rows), np.int64)
        self.proposed: Counter[str] = Counter()
        self.archive: list[State] = []
        self.by_slice: list[IntArray] = []

    def run(self) -> SearchResult:
        try:
            self._begin()
        except NoRoom:
            why = "the calls do not suffice to judge the rows of the search"
            return self._result((), why, by_cap=True)
        by_cap = False
        try:
            ended = self._look_for_edits()
        except NoRoom:
            ended, by_cap = self._spent(), True
        self.purchases.kept = 0
        try:
            finalists = self._finalists()
        except NoRoom:
            finalists, by_cap = (), True
            ended = "the calls were spent before a rubric could be chosen"
        return self._result(finalists, ended, by_cap)

    def _result(
        self, finalists: tuple[Finalist, ...], ended: str, by_cap: bool = False
    ) -> SearchResult:
        return SearchResult(
            finalists, tuple(self.tried), tuple(self.steps), self.bench.calls, ended, by_cap
        )

    def _spent(self) -> str:
        """Why nothing more may be bought, in words."""
        purchases = self.purchases
        if purchases.stopped:
            return purchases.stopped
        kept = f"; {purchases.kept:,} are kept to prune and to choose" if purchases.kept else ""
        return f"the calls of the search are spent ({purchases.most_calls:,} in all{kept})"

    def _tell(self, phase: str) -> None:
        if self.watch is not None:
            self.watch(phase, self.bench.calls, self.best.estimate)

    # -- the beginning

    def _begin(self) -> None:
        task = self.task
        verdicts = self.purchases.verdicts(task.rubric, task.train)
        passes = np.zeros(len(task.rows), bool)
        judged = np.zeros(len(task.rows), bool)
        passes[task.train] = verdicts == 1
        judged[task.train] = verdicts != UNJUDGED
        rows = task.train[judged[task.train]]
        errors = float(np.mean(passes[rows] != task.rows.truth[rows])) if len(rows) else 0.0
        self.mending, self.breaking = floors(task.churn, errors, len(task.rows))
        estimate = task.score(task.rows.truth[rows], passes[rows])
        self.best = self.parent = State((), task.rubric, passes, judged, estimate)
        self._archive(self.best)
        self.errors = errors
        self._keep_calls()
        self._tell("search")

    def _keep_calls(self) -> None:
        """Keep the calls that pruning and the choice will need."""
        task = self.task
        rows = rows_kept(len(task.train), len(task.validation), len(self.best.edits))
        rows += len(self.purchases.missing(task.rubric, task.validation))
        rows += len(self.purchases.missing(self.best.rubric, task.train))
        needed = rows * self.purchases.calls_a_row
        self.purchases.kept = min(needed, int(MOST_KEPT * task.max_calls))

    # -- batches

    def _look_for_edits(self) -> str:
        while self.silent < _MOST_SILENT and self.repeated < _MOST_REPEATED:
            group = self.groups.next(self.parent.passes, self.parent.judged)
            if group is None:
                if not self._restart():
                    return self._too_few_errors()
                continue
            batch = self._batch(group)
            if len(batch) < LEAST:
                self.groups.failed(group)
                continue
            won = self._try_batch(group, batch)
            if not won:
                self.groups.failed(group)
            self._tell("search")
        if self.repeated >= _MOST_REPEATED:
            return f"the reflector proposed nothing new {self.repeated} times in a row"
        return f"the reflector proposed nothing usable {self.silent} times in a row"

    def _too_few_errors(self) -> str:
        wrong = (self.parent.passes != self.task.rows.truth) & self.parent.judged
        left = int(wrong[self.task.train].sum())
        if not left:
            return "no errors are left to learn from"
        return f"{left} of the rows to search on are left wrong, too few to learn from"

    def _restart(self) -> bool:
        """Go on from another good rubric; False where there are too few errors in all."""
        wrong = self.parent.passes != self.task.rows.truth
        if (wrong & self.parent.judged)[self.task.train].sum() < LEAST:
            return False
        self.groups.start_again()
        if not self.round:
            self._consolidate()
        self.round += 1
        self._remember_cases()
        front: list[State] = []
        for state, counts in zip(self.archive, self.by_slice, strict=True):
            if not self._is_dominated(counts):
                front.append(state)
        # The best one is asked on all rows already, so that going on from it costs the least.
        self.parent = self.best
        if self.round % _BEST_ROUNDS == 0:
            self.parent = front[int(self.random.integers(len(front)))]
        return True

    def _consolidate(self) -> None:
        """Ask the best rubric on all rows of the search, and leave out what does nothing there."""
        if not self.best.edits:
            return
        full = self._on_all_rows(self.best)
        rows = self._changed(self.task.train)
        pruner = Pruner(
            self.purchases, self.guard, self.task.rows.truth, [rows], _CHANCE_THEN, least=1
        )
        edits, _ = pruner.prune(full.edits)
        if edits != full.edits:
            full = self._on_all_rows(self._plain_state(edits))
        self._archive(full)
        self.best = full
        self.steps.append(Step(self.bench.calls, full.rubric, full.edits))
        self._keep_calls()

    def _plain_state(self, edits: tuple[Edit, ...]) -> State:
        first = self.archive[0]
        rubric = self.guard.applied(edits)
        return State(edits, rubric, first.passes, first.judged, first.estimate)

    def _on_all_rows(self, state: State) -> State:
        """The state after its rubric was asked on all rows of the search."""
        task = self.task
        verdicts = self.purchases.verdicts(state.rubric, task.train)
        passes, judged = state.passes.copy(), state.judged.copy()
        passes[task.train] = verdicts == 1
        judged[task.train] = verdicts != UNJUDGED
        rows = task.train[judged[task.train]]
        estimate = task.score(task.rows.truth[rows], passes[rows])
        return State(state.edits, state.rubric, passes, judged, estimate)

    def _archive(self, state: State) -> None:
        right = (state.passes == self.task.rows.truth) & state.judged
        counts = [int(right[rows].sum()) for rows in (self.task.train, *self.groups.inside)]
        self.archive.append(state)
        self.by_slice.append(np.array(counts))

    def _is_dominated(self, counts: IntArray) -> bool:
        """Whether another rubric is at least as good on every slice, and better on one."""
        return any(np.all(other >= counts) and np.any(other > counts) for other in self.by_slice)

    def _batch(self, group: Group) -> IntArray:
        """Six errors of the group, those first that were shown least; the parent is asked about
        those that it was not asked before.
        """
        order = group.rows[self.random.permutation(len(group.rows))]
        # A row that flips with every text would teach the proposer nothing.
        doubt = self.seen[order] + 4 * self.mending.of(order)
        order = order[np.argsort(doubt, kind="stable")]
        batch: list[int] = []
        while len(batch) < BATCH and len(order):
            count = BATCH - len(batch)
            batch += self._still_wrong(order[:count])
            order = order[count:]
        self.seen[batch] += 1
        return np.array(batch, np.int64)

    def _still_wrong(self, rows: IntArray) -> list[int]:
        """Those of the rows that the parent has wrong when it is asked."""
        verdicts = self.purchases.verdicts(self.parent.rubric, rows)
        self.parent.passes[rows] = verdicts == 1
        self.parent.judged[rows] = verdicts != UNJUDGED
        truth = self.task.rows.truth[rows]
        return [int(row) for row in rows[(verdicts >= 0) & ((verdicts == 1) != truth)]]

    def _try_batch(self, group: Group, batch: IntArray) -> bool:
        """Whether an edit for these errors was taken."""
        at_risk = self._agreements(group)
        controls = at_risk[:CONTROLS]
        self.purchases.need(1 + BATCH)
        task = self._proposer_task(group, batch, controls)
        try:
            reply = self.proposer.propose(task)
        except BudgetExhausted as stopped:
            raise self.purchases.no_room(stopped) from stopped
        before = len(self.tried)
        edits = self._edits(group, reply, [*batch.tolist(), *controls.tolist()])
        is_new = any(self.proposed[str(edit)] < _OFTEN for edit in edits)
        self.proposed.update(str(edit) for edit in edits)
        won = [self._try_edit(group, edit, batch, at_risk) for edit in edits]
        self.repeated = 0 if is_new or any(won) else self.repeated + 1
        self.silent = 0 if any(one.asked for one in self.tried[before:]) else self.silent + 1
        return any(won)

    def _proposer_task(self, group: Group, batch: IntArray, controls: IntArray) -> ProposerTask:
        name = str(group)
        tried = [str(one) for one in self.tried if one.group == name and one.edit is not None]
        return ProposerTask(
            self.parent.rubric,
            self.task.aim,
            [self._case(row) for row in batch.tolist()],
            [self._case(row) for row in controls.tolist()],
            str(group),
            tried,
        )

    def _case(self, row: int) -> Disagreement:
        rows = self.task.rows
        return Disagreement(
            row,
            bool(rows.truth[row]),
            bool(self.parent.passes[row]),
            self.purchases.reason(self.parent.rubric, row),
            rows.rationales.get(row, ""),
            rows.texts[row] if row < len(rows.texts) else {},
        )

    def _agreements(self, group: Group) -> IntArray:
        """Rows of the search that the parent has right, in the order in which they are checked:
        of three two are of the kind that the edit puts at risk.
        """
        right = (self.parent.passes == self.task.rows.truth) & self.parent.judged
        rows = self.task.train[right[self.task.train]]
        rows = rows[self.random.permutation(len(rows))]
        if group.direction == 0:
            return np.asarray(rows)
        risked = self.task.rows.truth[rows] == (group.direction == 1)
        place = np.where(risked, np.cumsum(risked) / 2, np.cumsum(~risked).astype(float))
        return np.asarray(rows[np.argsort(place, kind="stable")])

    def _edits(self, group: Group, reply: str, shown: list[int]) -> list[Edit]:
        """The edits in a reply that may be tried; what is none is recorded with the reason."""
        read = read_reply(reply, self.parent.rubric)
        nothing = () if read.edits else ("the reflector proposes nothing",)
        for reason in read.refused or nothing:
            self._record(group, None, Outcome(dropped=reason))
        edits: list[Edit] = []
        for edit, cases in zip(read.edits, read.cases, strict=True):
            if not cases:
                edits.append(edit)
                continue
            for case in cases:
                try:
                    row = shown[case - 1] if case <= len(shown) else -1
                    if row >= 0:
                        edits.append(example_edit(self.parent.rubric, self.task.rows, row))
                except Refused as reason:
                    self._record(group, edit, Outcome(dropped=str(reason)))
        return edits

    def _remember_cases(self) -> None:
        """Case memory, without a proposer: the case nearest to the errors that are left."""
        task = self.task
        wrong = (self.parent.passes != task.rows.truth) & self.parent.judged
        rows = task.train[wrong[task.train]]
        if len(rows) < LEAST or not task.rows.texts:
            return
        batch = rows[self.random.permutation(len(rows))[:BATCH]]
        group = Group("", 0, rows, 2)
        for row in nearest(task.rows, batch.tolist(), task.train, 1):
            try:
                edit = example_edit(self.parent.rubric, task.rows, row)
            except Refused:
                return  # rows like these make no example of this rubric
            self._try_edit(group, edit, batch, self._agreements(group))

    # -- one edit

    def _try_edit(self, group: Group, edit: Edit, batch: IntArray, at_risk: IntArray) -> bool:
        """Whether the edit is taken, so that its rubric is the next parent."""
        parent = self.parent
        try:
            rubric = self.guard.applied([*parent.edits, edit])
        except Refused as reason:
            self._record(group, edit, Outcome(dropped=f"refused: {reason}"))
            return False
        own = np.isin(self.task.rows.cluster, self.task.rows.cluster[list(edit.rows)])
        more = self._more(group, batch)
        race = Race(
            self.purchases,
            self.mending,
            self.breaking,
            self.task.rows.truth,
            parent,
            rubric,
            _FUTILE[min(self.round, 1)],
            _FIRST[min(self.round, 1)],
        )
        tries = sum(1 for one in self.tried if one.asked)
        outcome = race.run(
            batch[~own[batch]],
            at_risk[:CONTROLS][~own[at_risk[:CONTROLS]]],
            more[~own[more]],
            at_risk[CONTROLS:][~own[at_risk[CONTROLS:]]],
            self._needed(tries),
        )
        state = self._state(parent, (*parent.edits, edit), rubric, outcome, group)
        if not outcome.dropped and state.estimate <= parent.estimate:
            outcome.dropped = "what it breaks costs as much as it mends"
        if not outcome.dropped and not self._take(state):
            outcome.dropped = "on all rows of the search it is no clear gain"
        self._record(group, edit, outcome)
        if outcome.dropped:
            self._learn(outcome)
            if outcome.harmful:
                self._archive(state)
        return not outcome.dropped

    def _needed(self, tries: int) -> float:
        """The evidence that an edit needs. In later rounds all rows have the last word."""
        if self.round:
            return _NEEDED_LATER
        return _NEEDED * (1 + tries / _TRIES_FOR_TWICE)

    def _learn(self, outcome: Outcome) -> None:
        """Take an edit that surely did nothing for what edits without effect flip. One that may
        have done something does not count: the rows that it mends would seem to flip with any text,
        and it could never win when it is proposed again.
        """
        if outcome.factor >= _SURELY_NOTHING:
            return
        for floor, seen in ((self.mending, outcome.errors), (self.breaking, outcome.agreements)):
            floor.learn(np.array([*seen], np.int64), np.array([*seen.values()], bool))

    def _more(self, group: Group, batch: IntArray) -> IntArray:
        """Further errors for the race: those of the group, then those of its direction."""
        wrong = (self.parent.passes != self.task.rows.truth) & self.parent.judged
        if group.direction:
            wrong &= self.parent.passes == (group.direction == 1)
        rest = np.setdiff1d(group.rows, batch)
        wide = np.setdiff1d(self.task.train[wrong[self.task.train]], group.rows)
        # Rows that flip with every text tell least, so they come last.
        rest = rest[np.argsort(self.mending.of(rest), kind="stable")]
        wide = wide[np.argsort(self.mending.of(wide), kind="stable")]
        return np.concatenate([rest, wide]).astype(np.int64)

    def _state(
        self,
        parent: State,
        edits: tuple[Edit, ...],
        rubric: Rubric,
        outcome: Outcome,
        group: Group,
    ) -> State:
        """The edited rubric with what is known of it. Its estimate counts errors and agreements
        that were not asked as those that were, beyond what chance flips.
        """
        known = self.purchases.known(rubric)
        passes = np.where(known >= 0, known == 1, parent.passes)
        judged = np.where(known != -1, known != UNJUDGED, parent.judged)
        truth = self.task.rows.truth
        projected = passes.copy()
        unknown = np.zeros(len(truth), bool)
        unknown[self.task.train] = (known == -1)[self.task.train] & judged[self.task.train]
        right = parent.passes == truth
        risked = unknown & right
        if group.direction:
            risked &= truth == (group.direction == 1)
        broken = outcome.broken / max(len(outcome.agreements), 1) - self.breaking.share
        flips = np.flatnonzero(risked)[: round(max(broken, 0.0) * risked.sum())]
        projected[flips] = ~projected[flips]
        rows = self.task.train[judged[self.task.train]]
        estimate = self.task.score(truth[rows], projected[rows])
        return State(edits, rubric, passes, judged, estimate)

    def _take(self, state: State) -> bool:
        """Whether the state, which won its race, is the next parent."""
        if self.round:
            # An estimate from few rows is too good by the luck of the draw.
            if not self._mends_enough(state):
                return False
            state = self._on_all_rows(state)
        self._archive(state)
        is_best = state.estimate > self.best.estimate and self._is_clearly_better(state)
        self.parent = state
        self.groups.start_again()
        if is_best:
            self.best = state
            self.steps.append(Step(self.bench.calls, state.rubric, state.edits))
            self._keep_calls()
        return True

    def _mends_enough(self, state: State) -> bool:
        """Whether the evidence holds on all errors of the parent, before all rows are asked."""
        truth = self.task.rows.truth
        wrong = (self.parent.passes != truth) & self.parent.judged
        rows = self.task.train[wrong[self.task.train]]
        verdicts = self.purchases.verdicts(state.rubric, rows)
        mended = (verdicts >= 0) & ((verdicts == 1) == truth[rows])
        return self.mending.for_mending(rows.tolist(), mended.tolist()) >= _NEEDED_LATER

    def _is_clearly_better(self, state: State) -> bool:
        """Whether more than chance speaks for a rubric that was asked on all rows of the search;
        in the first round, where few were, the race has to do.
        """
        if not self.round:
            return True
        truth = self.task.rows.truth[self.task.train]
        old = self.best.passes[self.task.train] == truth
        new = state.passes[self.task.train] == truth
        gained, lost = int((new & ~old).sum()), int((old & ~new).sum())
        return gained - lost >= 2 and sign_test(gained, lost) <= _CHANCE_LATER

    def _record(self, group: Group, edit: Edit | None, outcome: Outcome) -> None:
        self.tried.append(
            Tried(
                str(group),
                self.bench.calls,
                edit,
                outcome.mended,
                len(outcome.errors),
                outcome.broken,
                len(outcome.agreements),
                outcome.dropped,
            )
        )

    # -- the end

    def _finalists(self) -> tuple[Finalist, ...]:
        """The pruned best rubric, and others of the archive that do as well on the rows to choose
        on.
        """
        task = self.task
        if not self.best.edits:
            return ()
        self._tell("pruning")
        rows = [self._changed(task.validation), self._changed(task.train)]
        least = ceil(_LEAST_EFFECT * (len(task.validation) + len(task.train)))
        pruner = Pruner(self.purchases, self.guard, task.rows.truth, rows, _CHANCE_KEPT, least)
        # Pruning may spend what is there but for the choice.
        self.purchases.kept = len(task.validation) * self.purchases.calls_a_row
        edits, effects = pruner.prune(self.best.edits)
        self.purchases.kept = 0
        found: list[Finalist] = []
        for candidate in self._candidates(edits):
            own = effects if candidate == edits else ()
            try:
                one = finalist(task, self.purchases, self.guard, candidate, own)
            except NoRoom:
                break
            if one.score > one.before:
                found.append(one)
        self._tell("choosing")
        found.sort(key=lambda one: -one.score)
        return tuple(found[:MOST_FINALISTS])

    def _candidates(self, best: tuple[Edit, ...]) -> list[tuple[Edit, ...]]:
        """Lists of edits to judge: the pruned best. Where nothing of it stayed, its edits one by
        one.
        """
        if best:
            return [best]
        singles: list[tuple[Edit, ...]] = [(edit,) for edit in self.best.edits]
        return singles[:MOST_FINALISTS]

    def _changed(self, rows: IntArray) -> IntArray:
        """The rows on which the best rubric and the first one differ: only there an edit has done
        something.
        """
        first = self.purchases.verdicts(self.task.rubric, rows)
        best = self.purchases.verdicts(self.best.rubric, rows)
        return np.asarray(rows[(first != best) & (first >= 0) & (best >= 0)])


def finalist(
    task: SearchTask,
    purchases: Purchases,
    guard: EditGuard,
    edits: tuple[Edit, ...],
    effects: tuple[EditEffect, ...] = (),
) -> Finalist:
    """The rubric with these edits, judged on the rows to choose on. Raises NoRoom, Refused."""
    rubric = guard.applied(edits)
    first = purchases.verdicts(task.rubric, task.validation)
    second = purchases.verdicts(rubric, task.validation)
    both = (first >= 0) & (second >= 0)
    rows = task.validation[both]
    truth: BoolArray = task.rows.truth[rows]
    passes_before, passes_after = first[both] == 1, second[both] == 1
    scores = purchases.scores(task.rubric)
    cut = cut_for_aim(task.rows.truth[task.train], scores[task.train], task.score)
    return Finalist(
        rubric,
        edits,
        task.score(truth, passes_after),
        task.score(truth, passes_before),
        effects,
        shift(truth, scores[rows], passes_before, passes_after, cut, task.score),
    )
