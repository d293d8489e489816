"""A benchmark of judges as one page that needs no network and no script.

Charts are inline SVG with a sentence and a table of the same figures beside them; series differ by
dash and marker, not by colour alone. The same benchmark gives the same bytes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from ragassay.core import (
    FIGURES,
    CutPoint,
    Figure,
    JudgeBenchmark,
    JudgeFigures,
    ReliabilityBin,
)
from ragassay.report import benchmark as words
from ragassay.report import wording as say
from ragassay.report.pages import FOLDER, environment, hash_of, write_whole
from ragassay.report.text import one_line

SIDE_BY_SIDE = 3  # judges whose figures stand in columns of one table
DISAGREEMENTS = 20
DIFFERENCES = 200
DETAILED = 40  # judges that get a section of their own
_LEFT, _TOP, _WIDTH, _HEIGHT = 46.0, 12.0, 420.0, 230.0  # the field inside a chart of 480 x 280
_SERIES = ("precision", "recall", "kappa")


def write_benchmark_html(benchmark: JudgeBenchmark, path: str | Path) -> None:
    """Write the benchmark as one HTML file. Raises EnvironmentFailure E0107 when it cannot be
    written.
    """
    b = benchmark
    style = ""
    for name in ("report.css", "benchmark.css"):
        style += (FOLDER / name).read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; style-src '{hash_of(style)}'; base-uri 'none'; form-action 'none'"
    )
    templates = environment()
    templates.globals.update(w=words)
    page = templates.get_template("benchmark.html.j2").generate(
        b=b,
        style=Markup(style),
        policy=policy,
        headline=words.benchmark_headline(b),
        set_up=words.set_up_lines(b),
        warnings=words.all_warnings(b),
        tables=[table for table in _tables(b) if table.rows],
        judges=[_judge(judge, i) for i, judge in enumerate(b.judges[:DETAILED], 1)],
        left=max(0, len(b.judges) - DETAILED),
        differences=words.by_p(b.differences)[:DIFFERENCES],
        more_differences=max(0, len(b.differences) - DIFFERENCES),
        disagreements=DISAGREEMENTS,
    )
    write_whole(path, page)


@dataclass(frozen=True, slots=True)
class _Table:
    """Figures of judges under one title. rows: (name, what it says, one figure a column)."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, str, tuple[Figure | None, ...]], ...]
    whisker: bool
    by_judge: bool = False


def _tables(b: JudgeBenchmark) -> list[_Table]:
    """One judge: pooled and macro as columns. A few: a table a view. Many: judges as rows, by their
    main figures.
    """
    names = words.names_of(b.judges)
    if len(b.judges) == 1:
        return [_table_of_one(b.judges[0], names)]
    pooled = [(words.short(judge.judge), words.by_name(judge.pooled)) for judge in b.judges]
    macro = [(words.short(judge.judge), words.by_name(judge.macro)) for judge in b.judges]
    views = [("Figures, pooled over all rows", pooled), ("Figures, macro: mean over slices", macro)]
    tables = []
    for title, columns in views:
        if not any(figures for _, figures in columns):
            continue
        if len(columns) <= SIDE_BY_SIDE:
            tables.append(_table_of_few(title, columns, names))
        else:
            tables.append(_table_of_many(title, columns, b))
    return tables


_Columns = list[tuple[str, dict[str, Figure]]]
"""Head of a column -> its figures by name."""


def _table_of_one(judge: JudgeFigures, names: list[str]) -> _Table:
    columns = [("pooled over all rows", words.by_name(judge.pooled))]
    if judge.macro:
        slices = say.count(len(judge.slices), "slice")
        columns.append((f"macro: mean over {slices}", words.by_name(judge.macro)))
    heads = tuple(head for head, _ in columns)
    return _Table("Figures", heads, _figure_rows(names, columns), True)


def _table_of_few(title: str, columns: _Columns, names: list[str]) -> _Table:
    heads = tuple(head for head, _ in columns)
    return _Table(title, heads, _figure_rows(names, columns), False)


def _figure_rows(
    names: list[str], columns: _Columns
) -> tuple[tuple[str, str, tuple[Figure | None, ...]], ...]:
    """A row a figure, with what it says and its value in each column."""
    rows = []
    for name in names:
        values = tuple(figures.get(name) for _, figures in columns)
        rows.append((words.title(name), FIGURES.get(name, ""), values))
    return tuple(rows)


def _table_of_many(title: str, judges: _Columns, b: JudgeBenchmark) -> _Table:
    main = _MAIN_GRADED if b.set_up.graded else _MAIN
    present = words.names_of(b.judges)
    shown = [name for name in main if name in present]
    rows = []
    for judge, figures in sorted(judges, key=lambda item: words.rank(item[1], shown)):
        values = tuple(figures.get(name) for name in shown)
        rows.append((one_line(judge, 80), "", values))
    heads = tuple(words.title(name) for name in shown)
    return _Table(title, heads, tuple(rows), False, by_judge=True)


_MAIN = ("kappa", "balanced_accuracy", "precision", "recall", "auc")
_MAIN_GRADED = ("graded_kappa", "kappa_quadratic", "kappa", "balanced_accuracy")


@dataclass(frozen=True, slots=True)
class _Series:
    """One line of a chart. pieces: runs of neighbouring points, as SVG coordinates; end: where its
    name stands.
    """

    name: str
    pieces: tuple[str, ...]
    end: tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Curve:
    """The threshold curve. ticks: (place, words) of either axis; cut: where the judge's own cut
    lies.
    """

    text: str
    series: tuple[_Series, ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    cut: float | None


@dataclass(frozen=True, slots=True)
class _Dot:
    x: float
    y: float
    low: float | None
    high: float | None
    radius: float
    text: str


@dataclass(frozen=True, slots=True)
class _Reliability:
    text: str
    dots: tuple[_Dot, ...]


@dataclass(frozen=True, slots=True)
class _JudgeView:
    judge: JudgeFigures
    anchor: str
    curve: _Curve | None
    reliability: _Reliability | None
    most: int  # of the confusion matrix's counts in one row, for its shades


def _judge(judge: JudgeFigures, number: int) -> _JudgeView:
    most = 0
    for counts in judge.confusion:
        most = max(most, max(counts, default=0))
    return _JudgeView(judge, f"j{number}", _curve(judge), _reliability(judge), most)


@dataclass(frozen=True, slots=True)
class _Field:
    """The field of a chart: values of either axis to places in the SVG."""

    left: float
    right: float
    bottom: float
    top: float = 1.0

    def x(self, value: float) -> float:
        share = (value - self.left) / (self.right - self.left)
        return round(_LEFT + _WIDTH * share, 2)

    def y(self, value: float) -> float:
        height = self.top - self.bottom
        return round(_TOP + _HEIGHT * (self.top - max(value, self.bottom)) / height, 2)

    def x_ticks(self) -> tuple[tuple[float, str], ...]:
        """Five, from end to end."""
        ticks = []
        for i in range(5):
            value = self.left + (self.right - self.left) * i / 4
            ticks.append((self.x(value), f"{value:.3g}"))
        return tuple(ticks)

    def y_ticks(self) -> tuple[tuple[float, str], ...]:
        """A quarter apart, from bottom to top."""
        parts = 6 if self.bottom else 4
        ticks = []
        for i in range(parts + 1):
            value = self.bottom + (self.top - self.bottom) * i / parts
            ticks.append((self.y(value), f"{value:.2f}"))
        return tuple(ticks)


def _curve(judge: JudgeFigures) -> _Curve | None:
    points = judge.cut_curve
    if len(points) < 2:
        return None
    lines: dict[str, list[list[tuple[float, float]]]] = {}
    for name in _SERIES:
        runs = _runs(points, name)
        if runs:
            lines[name] = runs
    lowest = min((_lowest(runs) for runs in lines.values()), default=0.0)
    low = points[0].cut
    high = points[-1].cut
    # Kappa may be negative, and rarely is; only then the chart shows what lies below 0.
    bottom = -0.5 if lowest < -0.05 else 0.0
    field = _Field(low, high, bottom)
    own = None
    if judge.judge_cut is not None and low <= judge.judge_cut <= high:
        own = field.x(judge.judge_cut)
    return _Curve(
        _curve_words(judge),
        tuple(_series(name, runs, field) for name, runs in lines.items()),
        field.x_ticks(),
        field.y_ticks(),
        own,
    )


def _lowest(runs: list[list[tuple[float, float]]]) -> float:
    points = itertools.chain.from_iterable(runs)
    return min(value for _, value in points)


def _series(name: str, runs: list[list[tuple[float, float]]], field: _Field) -> _Series:
    pieces = []
    for run in runs:
        points = [f"{field.x(cut)},{field.y(value)}" for cut, value in run]
        pieces.append(" ".join(points))
    last_cut, last_value = runs[-1][-1]
    end = (field.x(last_cut), field.y(last_value))
    return _Series(words.title(name), tuple(pieces), end)


def _curve_words(judge: JudgeFigures) -> str:
    """What the curve says, in a sentence."""
    points = judge.cut_curve
    text = f"Precision, recall and kappa at each of {say.count(len(points), 'possible cut')}."
    best: CutPoint | None = None
    best_kappa = -math.inf
    for point in points:
        if point.kappa is not None and point.kappa > best_kappa:
            best = point
            best_kappa = point.kappa
    if best is None:
        return text
    text += f" Kappa is highest ({best_kappa:.3f}) at a cut of {best.cut:.3g}"
    if judge.judge_cut is not None:
        text += f"; the judge's own cut is {judge.judge_cut:.3g}"
    return text + ". A cut that is chosen on these rows looks better here than it is elsewhere."


def _runs(points: Sequence[CutPoint], name: str) -> list[list[tuple[float, float]]]:
    """The points of a series, cut where it is not defined."""
    runs: list[list[tuple[float, float]]] = [[]]
    for point in points:
        value = getattr(point, name)
        if value is None:
            runs.append([])
        else:
            runs[-1].append((point.cut, value))
    return [run for run in runs if run]


def _reliability(judge: JudgeFigures) -> _Reliability | None:
    bins = [one_bin for one_bin in judge.reliability if one_bin.n]
    if not bins:
        return None
    most = max(one_bin.n for one_bin in bins)
    dots = tuple(_dot(one_bin, most) for one_bin in bins)
    return _Reliability(_reliability_words(bins), dots)


def _dot(one_bin: ReliabilityBin, most: int) -> _Dot:
    """The dot of a bin; its area rises with the number of rows. most: rows of the largest bin."""
    low = None
    high = None
    if one_bin.interval:
        low = _share_y(one_bin.interval.low)
        high = _share_y(one_bin.interval.high)
    passed = say.percent(one_bin.observed)
    rows = say.count(one_bin.n, "row")
    return _Dot(
        round(_LEFT + _WIDTH * one_bin.mean_score, 2),
        _share_y(one_bin.observed),
        low,
        high,
        round(2.5 + 4.5 * (one_bin.n / most) ** 0.5, 2),
        f"mean score {one_bin.mean_score:.2f}: people pass {passed} of {rows}",
    )


def _share_y(share: float) -> float:
    return round(_TOP + _HEIGHT * (1 - share), 2)


def _reliability_words(bins: Sequence[ReliabilityBin]) -> str:
    """What the dots say, in words: the bin whose gap to the diagonal weighs most."""
    widest = max(bins, key=_weighted_gap)
    passed = say.percent(widest.observed)
    rows = say.count(widest.n, "row")
    side = "too high" if widest.mean_score > widest.observed else "too low"
    return (
        "Share of rows that people pass, by the judge's score. Where a dot lies on the diagonal,"
        " the score can be read as a probability. The largest gap, weighted by rows: at a mean"
        f" score of {widest.mean_score:.2f} people pass {passed} of {rows}, so the score is {side}."
    )


def _weighted_gap(one_bin: ReliabilityBin) -> float:
    return one_bin.n * abs(one_bin.mean_score - one_bin.observed)
