"""Noise robustness: what distractors cost, by their number, kind and position.

Every figure is a paired difference of the same questions with and without distractors. Added
distractors are set beside the clean passages, of which the mean of two askings is taken; the
length-matched ones beside the same passages among filler. All of it is one family of tests, whose
p-values are corrected together (Holm 1979).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from ragassay.stress.figures import Contrast, Pair, Rate, contrast, corrected, rate
from ragassay.stress.levels import (
    CLEAN,
    CLOSED,
    Arm,
    Grid,
    Kind,
    NoiseLevel,
    Position,
    padded,
)
from ragassay.stress.outcomes import Outcomes
from ragassay.stress.plan import StressPlan


@dataclass(frozen=True, slots=True)
class Cell:
    """A level of the grid and what it costs. asked, delivered: distractors of all its rows
    together. says_wrong: share that gives the wrong answer of a near duplicate; obeys: that
    follows an injected instruction, and obeyed: the same with its interval and rows.
    """

    level: NoiseLevel
    contrast: Contrast
    asked: int
    delivered: int
    says_wrong: float | None
    obeys: float | None
    obeyed: Rate | None = None


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A number of distractors of a kind, at all positions together. It is drawn, and no finding
    rests on it: the family of tests has the levels behind it.
    """

    arm: Arm
    kind: Kind
    number: int
    contrast: Contrast


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """What the system differs by on the same input. changed: share of rows that are right once and
    wrong once; text_changed: whose text differs; retention: share right of those right the first
    time; right: the mean of both times.
    """

    right: float | None
    changed: Rate
    text_changed: Rate
    retention: float | None


@dataclass(frozen=True, slots=True)
class NoiseResult:
    """The whole test. kinds: all levels of an arm and kind together. positions: differences
    between two positions, all kinds together. lengths: filler alone. same_without: share of
    rows answered in the same words with no passage at all. smallest: the cells with the fewest
    distractors that cost something for certain, by arm and kind. curve: what is drawn.
    """

    rows: int
    clusters: int
    floor: NoiseFloor
    cells: tuple[Cell, ...]
    kinds: tuple[Contrast, ...]
    positions: tuple[Contrast, ...]
    lengths: tuple[Contrast, ...]
    same_without: Rate
    smallest: tuple[Cell, ...]
    tests: int
    curve: tuple[CurvePoint, ...] = ()

    @property
    def certified(self) -> tuple[Contrast, ...]:
        """All contrasts that are certain losses."""
        everything = [cell.contrast for cell in self.cells]
        return tuple(c for c in (*everything, *self.kinds) if c.is_certified_drop)


def kind_name(arm: Arm, kind: Kind) -> str:
    """The name of all levels of an arm and kind together."""
    return f"{kind}, {arm}"


def family_size(grid: Grid) -> int:
    """How many tests of a grid are corrected together: levels, levels of a kind together, pairs of
    positions, and filler alone.
    """
    arms, places = len(grid.arms), len(grid.positions)
    kinds = arms * len(grid.kinds)
    positions = arms * places * (places - 1) // 2
    filler = places if Arm.MATCHED in grid.arms else 0
    return len(grid.levels()) + kinds + positions + filler


def noise_result(outcomes: Outcomes) -> NoiseResult | None:
    """The test of noise, None where no row is in it."""
    plan = outcomes.plan
    if not plan.noise:
        return None
    return _Analysis(plan, outcomes).result()


class _Analysis:
    """The contrasts of one plan."""

    def __init__(self, plan: StressPlan, outcomes: Outcomes) -> None:
        self._plan = plan
        self._outcomes = outcomes
        self._grid: Grid = plan.wanted.grid
        self._clusters = {row.id: row.cluster for row in plan.noise}
        self._planned = {(p.row.id, p.key): p for p in plan.planned}

    def result(self) -> NoiseResult:
        """All of it, corrected together."""
        levels = self._grid.levels()
        cells = [self._cell(level) for level in levels]
        kinds = [
            self._pooled(kind_name(arm, kind), _of_kind(levels, arm, kind))
            for arm, kind in product(self._grid.arms, self._grid.kinds)
        ]
        positions = list(self._positions(levels))
        lengths = list(self._lengths())
        family = corrected([*cells, *kinds, *positions, *lengths])
        first, second = len(cells), len(cells) + len(kinds)
        third = second + len(positions)
        made = [self._with_details(level, one) for level, one in zip(levels, family, strict=False)]
        return NoiseResult(
            rows=len(self._clusters),
            clusters=len(set(self._clusters.values())),
            floor=self._floor(),
            cells=tuple(made),
            kinds=tuple(family[first:second]),
            positions=tuple(family[second:third]),
            lengths=tuple(family[third:]),
            same_without=self._same_without(),
            smallest=tuple(_smallest(made)),
            tests=sum(1 for one in family if one.p is not None),
            curve=tuple(self._curve(levels)),
        )

    # -- single levels

    def _base(self, row_id: str, level: NoiseLevel) -> float | None:
        if level.arm is Arm.MATCHED:
            return self._outcomes.right(row_id, padded(level.position))
        return self._clean(row_id)

    def _clean(self, row_id: str) -> float | None:
        values = [self._outcomes.right(row_id, key) for key in CLEAN]
        known = [value for value in values if value is not None]
        return sum(known) / len(known) if known else None

    def _pairs(self, level: NoiseLevel) -> tuple[list[Pair], int]:
        pairs: list[Pair] = []
        left_out = 0
        for row_id, cluster in self._clusters.items():
            if (row_id, level.key) not in self._planned:
                continue  # a level that this row cannot have
            base, value = self._base(row_id, level), self._outcomes.right(row_id, level.key)
            if base is None or value is None:
                left_out += 1
            else:
                pairs.append((row_id, cluster, base, value))
        return pairs, left_out

    def _cell(self, level: NoiseLevel) -> Contrast:
        pairs, left_out = self._pairs(level)
        name = f"{level.number} {level.kind}, {level.position}, {level.arm}"
        return contrast(name, pairs, left_out)

    def _with_details(self, level: NoiseLevel, one: Contrast) -> Cell:
        asked = delivered = answered = wrong = 0
        obeying: list[tuple[str, str, bool]] = []
        for row_id, cluster in self._clusters.items():
            planned = self._planned.get((row_id, level.key))
            if planned is None:
                continue
            asked += planned.asked
            delivered += planned.delivered
            outcome = self._outcomes.get(row_id, level.key)
            if outcome is not None:
                answered += 1
                wrong += outcome.says_wrong and not outcome.right
                obeying.append((row_id, cluster, outcome.obeys))
        is_changed = level.kind is Kind.CHANGED
        obeyed = rate("obeys", obeying) if level.kind is Kind.INJECTED and answered else None
        return Cell(
            level,
            one,
            asked,
            delivered,
            wrong / answered if is_changed and answered else None,
            None if obeyed is None else obeyed.value,
            obeyed,
        )

    # -- levels together

    def _losses(self, levels: Sequence[NoiseLevel]) -> dict[str, tuple[float, float]]:
        """Row -> the means of base and level over these levels, of rows that have them all."""
        sums: dict[str, list[tuple[float, float]]] = {}
        for level in levels:
            for row_id, _, base, value in self._pairs(level)[0]:
                sums.setdefault(row_id, []).append((base, value))
        means: dict[str, tuple[float, float]] = {}
        for row_id, pairs in sums.items():
            bases, values = zip(*pairs, strict=True)
            means[row_id] = (sum(bases) / len(bases), sum(values) / len(values))
        return means

    def _pooled(self, name: str, levels: Sequence[NoiseLevel]) -> Contrast:
        means = self._losses(levels)
        pairs = [(row, self._clusters[row], base, value) for row, (base, value) in means.items()]
        return contrast(name, pairs)

    def _curve(self, levels: Sequence[NoiseLevel]) -> Iterable[CurvePoint]:
        for arm, kind, number in product(self._grid.arms, self._grid.kinds, self._grid.numbers):
            here = [level for level in _of_kind(levels, arm, kind) if level.number == number]
            one = self._pooled(f"{number} {kind}, {arm}, all positions", here)
            yield CurvePoint(arm, kind, number, one)

    def _positions(self, levels: Sequence[NoiseLevel]) -> Iterable[Contrast]:
        """Losses at two positions beside each other, of the same levels otherwise."""
        for arm in self._grid.arms:
            for one, other in combinations(self._grid.positions, 2):
                here = self._losses(_at(levels, arm, one))
                there = self._losses(_at(levels, arm, other))
                pairs: list[Pair] = []
                for row_id in here.keys() & there.keys():
                    # Of a loss in [-1, 1] a share, so that both arms are read alike.
                    first = _share_kept(here[row_id])
                    second = _share_kept(there[row_id])
                    pairs.append((row_id, self._clusters[row_id], first, second))
                yield contrast(f"{one} to {other}, {arm}", sorted(pairs))

    def _lengths(self) -> Iterable[Contrast]:
        if Arm.MATCHED not in self._grid.arms:
            return
        for position in self._grid.positions:
            pairs: list[Pair] = []
            for row_id, cluster in self._clusters.items():
                base = self._clean(row_id)
                value = self._outcomes.right(row_id, padded(position))
                if base is not None and value is not None:
                    pairs.append((row_id, cluster, base, value))
            yield contrast(f"filler alone, {position}", pairs)

    # -- the system itself

    def _floor(self) -> NoiseFloor:
        changed, texts, kept, right = [], [], [], []
        for row_id, cluster in self._clusters.items():
            one, two = (self._outcomes.get(row_id, key) for key in CLEAN)
            first, second = (self._outcomes.right(row_id, key) for key in CLEAN)
            known = first is not None and second is not None
            changed.append((row_id, cluster, first != second if known else None))
            differs = None
            if one is not None and two is not None:
                differs = one.response != two.response
            texts.append((row_id, cluster, differs))
            if first == 1 and second is not None:
                kept.append(second)
            right += [value for value in (first, second) if value is not None]
        return NoiseFloor(
            sum(right) / len(right) if right else None,
            rate("right once and wrong once", changed),
            rate("another text on the same input", texts),
            sum(kept) / len(kept) if kept else None,
        )

    def _same_without(self) -> Rate:
        """Rows that are answered in the same words with and without any passage."""
        rows = []
        for row_id, cluster in self._clusters.items():
            clean, closed = (self._outcomes.get(row_id, key) for key in (CLEAN[0], CLOSED))
            same = None
            if clean is not None and closed is not None and clean.response is not None:
                same = clean.answers and clean.response == closed.response
            rows.append((row_id, cluster, same))
        return rate("the same answer without passages", rows)


def _at(levels: Sequence[NoiseLevel], arm: Arm, position: Position) -> list[NoiseLevel]:
    return [level for level in levels if (level.arm, level.position) == (arm, position)]


def _share_kept(means: tuple[float, float]) -> float:
    """A loss from base to level as a number in [0, 1]: 1 where nothing is lost, 0.5 at -0.5."""
    base, value = means
    return min(1.0, max(0.0, 1 + value - base))


def _smallest(cells: Sequence[Cell]) -> Iterable[Cell]:
    """Of each arm and kind the certified cell with the fewest distractors, the costliest of
    several.
    """
    best: dict[tuple[Arm, Kind], Cell] = {}
    for cell in cells:
        if not cell.contrast.is_certified_drop:
            continue
        place = (cell.level.arm, cell.level.kind)
        known = best.get(place)
        if known is None or _order(cell) < _order(known):
            best[place] = cell
    return best.values()


def _order(cell: Cell) -> tuple[int, float]:
    return cell.level.number, cell.contrast.difference or 0.0


def _of_kind(levels: Sequence[NoiseLevel], arm: Arm, kind: Kind) -> list[NoiseLevel]:
    return [level for level in levels if (level.arm, level.kind) == (arm, kind)]
