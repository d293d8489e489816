"""The rows that a stress test asks: each question at all its levels, made before the first call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from ragassay.core import Context, NothingToDo, Sample, SetupError, digest
from ragassay.core.counting import count
from ragassay.stress.distractors import Distractor, DistractorMaker, Written, alternatives_of
from ragassay.stress.levels import (
    CLEAN,
    CLOSED,
    NEGATIVE,
    SHARES,
    Arm,
    Grid,
    Kind,
    NoiseLevel,
    Share,
    Test,
    padded,
    without,
)
from ragassay.stress.passages import PassagePool
from ragassay.stress.placing import fitted, matched, placed, slot_size
from ragassay.stress.rows import LeftOut, StressRow, TestRows
from ragassay.stress.subfacts import SubFact, sources_of, sub_facts
from ragassay.stress.swaps import Change

NEGATIVES = 3
"""Fewest passages of a question that they do not answer."""
MOST_NEGATIVES = 8


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a stress test is to test. grid: of the noise."""

    tests: frozenset[Test] = frozenset(Test)
    grid: Grid = field(default_factory=Grid)
    seed: int = 0


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """One question at one level. asked and delivered: distractors, false passages or sources that
    the level names and that the passages hold. says: wrong answers that the passages give. marks:
    words that an injected instruction asks for.
    """

    row: StressRow
    key: str
    contexts: tuple[Context, ...]
    asked: int = 0
    delivered: int = 0
    says: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Id of the row as the engine runs it."""
        return f"{self.row.id}|{self.key}"

    @property
    def is_judged(self) -> bool:
        """Whether the metric says if its response is right: where that is compared. Of the other
        levels rules say what they do.
        """
        return self.key.partition("/")[0] in ("clean", "padded", "noise")

    @property
    def sample(self) -> Sample:
        """The row as the engine runs it."""
        own = self.row.sample
        answer = self.row.answer if self.is_judged else None
        return Sample(
            self.id,
            question=own.question,
            contexts=self.contexts,
            # Without a reference the metric does not apply, and costs nothing.
            reference=None if answer is None else answer.text,
            cluster=self.row.cluster,
            slices={"level": self.key},
        )


@dataclass(frozen=True, slots=True)
class StressPlan:
    """All rows that are asked, in order, and what each test rests on.

    noise: rows in the grid of noise. planted: row id -> its false answer. facts: row id -> its
    sub-facts. rejected: candidates for distractors that gave the answer away. left_out: rows, or
    rows of a test, with the reason.
    """

    wanted: Wanted
    source: str
    planned: tuple[PlannedRow, ...]
    noise: tuple[StressRow, ...]
    negatives: tuple[StressRow, ...]
    planted: Mapping[str, Change]
    facts: Mapping[str, tuple[SubFact, ...]]
    left_out: tuple[LeftOut, ...]
    rejected: int

    @property
    def rows(self) -> tuple[StressRow, ...]:
        """The rows that are tested, each once."""
        return tuple({planned.row.id: planned.row for planned in self.planned}.values())

    @property
    def untested(self) -> dict[Test, str]:
        """The tests that were asked for and that no row is in -> why."""
        found: dict[Test, str] = {}
        in_it = {
            Test.NOISE: self.noise,
            Test.REJECTION: self.negatives,
            Test.COUNTERFACTUAL: self.planted,
            Test.INTEGRATION: self.facts,
        }
        for test in Test:
            if test in self.wanted.tests and not in_it[test]:
                own = [one for one in self.left_out if one.test in ("", test)]
                found[test] = reasons(own) or "no row allows it"
        return found

    @property
    def undelivered(self) -> int:
        """Planned rows that do not hold what their level asks for."""
        return sum(1 for planned in self.planned if planned.asked != planned.delivered)


def make_plan(
    rows: TestRows,
    wanted: Wanted,
    written: Mapping[str, Written] | None = None,
    *,
    may_be_empty: bool = False,
) -> StressPlan:
    """The plan of these rows. written: what a writer made, by row. Raises NothingToDo E1101
    where no row can be tested as asked, unless it may be empty.
    """
    plan = _Planner(rows, wanted, written or {}).plan()
    if not plan.planned and not may_be_empty:
        raise NothingToDo(
            "E1101",
            "No row can be tested as asked.",
            where=rows.source,
            why=reasons(plan.left_out),
            fix="ask for other tests, fewer distractors (--numbers 1,3), or give --corpus FILE",
        )
    return plan


OVER_THE_CAP = "not drawn, to stay within the cap on askings"


def within(plan: StressPlan, most: int | None) -> StressPlan:
    """The plan with so many askings at most: whole questions are drawn by chance, in turn over the
    clusters, and the others are named. A question that is drawn is asked at all its levels. Raises
    SetupError E1107 where not one question fits.
    """
    if most is None or len(plan.planned) <= most:
        return plan
    sizes = Counter(planned.row.id for planned in plan.planned)
    chosen: set[str] = set()
    total = 0
    for row in _in_turn(plan.rows, plan.wanted.seed):
        # The first that does not fit ends the draw: to go on with smaller ones would choose them.
        if total + sizes[row.id] > most:
            break
        total += sizes[row.id]
        chosen.add(row.id)
    if not chosen:
        raise SetupError(
            "E1107",
            "Not one question can be asked within the cap.",
            where=f"--max-app-calls {most:,}",
            why=f"a question is asked at up to {max(sizes.values()):,} levels",
            fix="give a higher cap, or fewer levels: --numbers 1,5 --positions first,last",
        )
    dropped = [row for row in plan.rows if row.id not in chosen]
    left_out = [LeftOut(row.id, OVER_THE_CAP) for row in dropped]
    return replace(
        plan,
        planned=tuple(planned for planned in plan.planned if planned.row.id in chosen),
        noise=tuple(row for row in plan.noise if row.id in chosen),
        negatives=tuple(row for row in plan.negatives if row.id in chosen),
        planted={name: change for name, change in plan.planted.items() if name in chosen},
        facts={name: facts for name, facts in plan.facts.items() if name in chosen},
        left_out=(*plan.left_out, *left_out),
    )


def _in_turn(rows: Sequence[StressRow], seed: int) -> list[StressRow]:
    """The rows in an order of chance in which the clusters take turns."""
    clusters: dict[str, list[StressRow]] = {}
    for row in sorted(rows, key=lambda row: digest("cap", seed, row.id)):
        clusters.setdefault(row.cluster, []).append(row)
    rounds: list[StressRow] = []
    for turn in zip_longest(*clusters.values()):
        rounds += [row for row in turn if row is not None]
    return rounds


class _Planner:
    """Collects the planned rows of each test."""

    def __init__(self, rows: TestRows, wanted: Wanted, written: Mapping[str, Written]) -> None:
        self._rows = rows
        self._wanted = wanted
        self._pool = PassagePool(rows.passages)
        self._maker = DistractorMaker(
            self._pool, alternatives_of(rows.answerable), wanted.seed, written
        )
        self._planned: dict[str, PlannedRow] = {}
        self._left_out: list[LeftOut] = list(rows.left_out)
        self._rejected = 0

    def plan(self) -> StressPlan:
        """The whole plan."""
        tests = self._wanted.tests
        noise: list[StressRow] = []
        negatives: list[StressRow] = []
        planted: dict[str, Change] = {}
        facts: dict[str, tuple[SubFact, ...]] = {}
        for row in self._rows.answerable:
            if Test.NOISE in tests and self._add_noise(row):
                noise.append(row)
            if Test.REJECTION in tests and self._add_negative(row):
                negatives.append(row)
            if Test.COUNTERFACTUAL in tests:
                change = self._add_counterfactual(row)
                if change is not None:
                    planted[row.id] = change
            if Test.INTEGRATION in tests:
                found = self._add_integration(row)
                if found:
                    facts[row.id] = found
        if Test.REJECTION in tests:
            for row in self._rows.unanswerable:
                self._add(PlannedRow(row, NEGATIVE, row.contexts or self._nearest(row)))
                negatives.append(row)
        return StressPlan(
            self._wanted,
            self._rows.source,
            tuple(self._planned.values()),
            tuple(noise),
            tuple(negatives),
            planted,
            facts,
            tuple(self._left_out),
            self._rejected,
        )

    def _add(self, planned: PlannedRow) -> None:
        self._planned.setdefault(planned.id, planned)

    def _add_clean(self, row: StressRow) -> None:
        for key in CLEAN:
            self._add(PlannedRow(row, key, row.contexts))

    def _leave_out(self, row: StressRow, test: Test, reason: str) -> None:
        self._left_out.append(LeftOut(row.id, reason, test))

    # -- noise

    def _add_noise(self, row: StressRow) -> bool:
        """Plan a row at all levels of each kind of noise that it can be had at, and say whether
        there is one: of a kind it is at every level or at none.
        """
        grid = self._wanted.grid
        made = self._maker.made(row, grid.most, grid.kinds)
        self._rejected += made.rejected
        for kind, why in made.short.items():
            self._leave_out(row, Test.NOISE, f"not {grid.most} {kind} distractors: {why}")
        kinds = [kind for kind in grid.kinds if kind not in made.short]
        if not kinds:
            return False
        everything: list[Distractor] = []
        for kind in kinds:
            everything += made.by_kind[kind]
        size = slot_size(everything)
        self._add_clean(row)
        self._add(PlannedRow(row, CLOSED, ()))
        if Arm.MATCHED in grid.arms:
            for position in grid.positions:
                contexts = matched(row.contexts, (), grid.most, position, size)
                self._add(PlannedRow(row, padded(position), contexts))
        for level in grid.levels():
            if level.kind in kinds:
                self._add_level(row, level, made.by_kind[level.kind][: level.number], size)
        return True

    def _add_level(
        self, row: StressRow, level: NoiseLevel, distractors: Sequence[Distractor], size: int
    ) -> None:
        contexts: tuple[Context, ...] | None
        if level.arm is Arm.ADDED:
            texts = [d.text for d in distractors]
            contexts = placed(row.contexts, [Context(text) for text in texts], level.position)
        else:
            texts = [fitted(d, size) for d in distractors]
            most = self._wanted.grid.most
            contexts = matched(row.contexts, texts, most, level.position, size)
        if contexts is None:  # one distractor in the middle of one passage
            return
        given = [context.text for context in contexts]
        says = tuple(d.says for d in distractors if d.kind is Kind.CHANGED)
        marks = tuple(d.says for d in distractors if d.kind is Kind.INJECTED)
        delivered = len(set(texts) & set(given))
        planned = PlannedRow(row, level.key, contexts, level.number, delivered, says, marks)
        self._add(planned)

    # -- the other tests

    def _add_negative(self, row: StressRow) -> bool:
        number = max(NEGATIVES, min(len(row.contexts), MOST_NEGATIVES))
        made = self._maker.made(row, number, (Kind.TOPIC,))
        self._rejected += made.rejected
        if made.short:
            self._leave_out(row, Test.REJECTION, made.short[Kind.TOPIC])
            return False
        contexts = tuple(Context(d.text) for d in made.by_kind[Kind.TOPIC])
        self._add_clean(row)
        self._add(PlannedRow(row, NEGATIVE, contexts, number, len(contexts)))
        return True

    def _nearest(self, row: StressRow) -> tuple[Context, ...]:
        """The passages that a retriever would find for a question that no passage answers."""
        places = self._pool.ranked(row.question)[:NEGATIVES]
        return tuple(Context(self._pool.passages[place].text) for place in places)

    def _add_counterfactual(self, row: StressRow) -> Change | None:
        found = self._maker.planted(row)
        if found is None:
            reason = "its answer cannot be changed in all its passages"
            self._leave_out(row, Test.COUNTERFACTUAL, reason)
            return None
        change, false = found
        true = [row.contexts[place].text for place in row.support]
        self._add_clean(row)
        self._add(PlannedRow(row, CLOSED, ()))
        for share in SHARES:
            if share.true <= len(true) and share.false <= len(false):
                self._add_share(row, share, true, false, change)
        return change

    def _add_share(
        self,
        row: StressRow,
        share: Share,
        true: Sequence[str],
        false: Sequence[str],
        change: Change,
    ) -> None:
        """Plan a share of false passages, with the row's other passages behind them."""
        # All false means all of them: a true one that is left would tell the answer.
        count = len(false) if not share.true else share.false
        planted = [Context(text) for text in false[:count]]
        kept = [Context(text) for text in true[: share.true]]
        # Neither side stands in front in every row.
        swap = sum(map(ord, row.id)) % 2 == 1
        mixed = [*kept, *planted] if swap else [*planted, *kept]
        others = [c for n, c in enumerate(row.contexts) if n not in row.support]
        contexts = (*mixed, *others)
        given = [context.text for context in contexts]
        delivered = sum(1 for text in false[:count] if text in given)
        self._add(PlannedRow(row, share.key, contexts, count, delivered, (change.new,)))

    def _add_integration(self, row: StressRow) -> tuple[SubFact, ...]:
        facts, why_not = sub_facts(row.question, row.sample.expected_facts or (), row.contexts)
        if not facts:
            self._leave_out(row, Test.INTEGRATION, why_not)
            return ()
        self._add_clean(row)
        for source in sources_of(facts):
            rest = tuple(c for n, c in enumerate(row.contexts) if n != source)
            removed = len(row.contexts) - len(rest)
            self._add(PlannedRow(row, without(source), rest, 1, removed))
        return facts


def reasons(left_out: Iterable[LeftOut]) -> str:
    """The most frequent reasons, with how many rows have them."""
    counts: dict[str, int] = {}
    for one in left_out:
        counts[one.reason] = counts.get(one.reason, 0) + 1
    ranked = sorted(counts.items(), key=lambda item: -item[1])[:3]
    return "; ".join(f"{count(number, 'row')}: {reason}" for reason, number in ranked)
