"""How does a benchmark of judges look as one page that needs no network and no script?

Charts are inline SVG with a sentence and a table of the same figures beside them; series differ by
dash and marker, not by colour alone. The same benchmark gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from ragassay.core import CutPoint, Figure, JudgeBenchmark, JudgeFigures
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
    style = "".join(
        (FOLDER / name).read_text(encoding="utf-8") for name in ("report.css", "benchmark.css")
    )
    made = environment()
    made.globals.update(w=words)
    page = made.get_template("benchmark.html.j2").generate(
        b=b,
        style=Markup(style),
        policy=(
            f"default-src 'none'; style-src '{hash_of(style)}'; base-uri 'none'; form-action 'none'"
        ),
        headline=words.benchmark_headline(b),
        set_up=words.set_up_lines(b),
        warnings=words.all_warnings(b),
        tables=[table for table in _tables(b) if table.rows],
        judges=[_judge(judge, i) for i, judge in enumerate(b.judges[:DETAILED], 1)],
        left=max(0, len(b.judges) - DETAILED),
        differences=sorted(
            b.differences, key=lambda d: (d.p is None, d.p if d.p is not None else 1.0)
        )[:DIFFERENCES],
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
    from ragassay.core import FIGURES

    names = words.names_of(b.judges)
    if len(b.judges) == 1:
        judge = b.judges[0]
        views = [("pooled over all rows", words.by_name(judge.pooled))]
        if judge.macro:
            views.append(
                (
                    f"macro: mean over {say.count(len(judge.slices), 'slice')}",
                    words.by_name(judge.macro),
                )
            )
        rows = tuple(
            (words.title(n), FIGURES.get(n, ""), tuple(held.get(n) for _, held in views))
            for n in names
        )
        return [_Table("Figures", tuple(head for head, _ in views), rows, True)]
    found = []
    for view, title in (
        ("pooled", "Figures, pooled over all rows"),
        ("macro", "Figures, macro: mean over slices"),
    ):
        held = [
            (words.short(judge.judge), words.by_name(getattr(judge, view))) for judge in b.judges
        ]
        if not any(figures for _, figures in held):
            continue
        if len(held) <= SIDE_BY_SIDE:
            rows = tuple(
                (words.title(n), FIGURES.get(n, ""), tuple(fs.get(n) for _, fs in held))
                for n in names
            )
            found.append(_Table(title, tuple(head for head, _ in held), rows, False))
        else:
            main = (
                ("graded_kappa", "kappa_quadratic", "kappa", "balanced_accuracy")
                if b.set_up.graded
                else ("kappa", "balanced_accuracy", "precision", "recall", "auc")
            )
            shown = [n for n in main if n in names]
            held.sort(key=lambda item: words.rank(item[1], shown))
            rows = tuple(
                (one_line(head, 80), "", tuple(fs.get(n) for n in shown)) for head, fs in held
            )
            found.append(
                _Table(title, tuple(words.title(n) for n in shown), rows, False, by_judge=True)
            )
    return found


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
    most = max((n for counts in judge.confusion for n in counts), default=0)
    return _JudgeView(judge, f"j{number}", _curve(judge), _reliability(judge), most)


def _curve(judge: JudgeFigures) -> _Curve | None:
    points = judge.cut_curve
    if len(points) < 2:
        return None
    low, high = points[0].cut, points[-1].cut
    values = [v for point in points for name in _SERIES if (v := getattr(point, name)) is not None]
    bottom = -0.5 if values and min(values) < -0.05 else 0.0
    top = 1.0

    def x(value: float) -> float:
        return round(_LEFT + _WIDTH * (value - low) / (high - low), 2)

    def y(value: float) -> float:
        return round(_TOP + _HEIGHT * (top - max(value, bottom)) / (top - bottom), 2)

    series = []
    for name in _SERIES:
        runs = _runs(points, name)
        if runs:
            pieces = tuple(" ".join(f"{x(cut)},{y(value)}" for cut, value in run) for run in runs)
            cut, value = runs[-1][-1]
            series.append(_Series(words.title(name), pieces, (x(cut), y(value))))
    best = max(
        (point for point in points if point.kappa is not None),
        key=lambda p: p.kappa or -1.0,
        default=None,
    )
    text = (
        "Precision, recall and kappa if the judge passed from each of"
        f" {say.count(len(points), 'score')} on."
    )
    if best is not None and best.kappa is not None:
        text += f" Kappa is highest, {best.kappa:.3f}, from {best.cut:.3g} on"
        text += (
            f"; the judge passes from {judge.judge_cut:.3g} on."
            if judge.judge_cut is not None
            else "."
        )
        text += " A cut that is chosen on these rows looks better here than it is elsewhere."
    steps = [low + (high - low) * i / 4 for i in range(5)]
    grid = [bottom + (top - bottom) * i / (6 if bottom else 4) for i in range(7 if bottom else 5)]
    own = judge.judge_cut
    return _Curve(
        text,
        tuple(series),
        tuple((x(step), f"{step:.3g}") for step in steps),
        tuple((y(step), f"{step:.2f}") for step in grid),
        x(own) if own is not None and low <= own <= high else None,
    )


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
    bins = [each for each in judge.reliability if each.n]
    if not bins:
        return None
    most = max(each.n for each in bins)

    def y(value: float) -> float:
        return round(_TOP + _HEIGHT * (1 - value), 2)

    dots = tuple(
        _Dot(
            round(_LEFT + _WIDTH * each.mean_score, 2),
            y(each.observed),
            y(each.interval.low) if each.interval else None,
            y(each.interval.high) if each.interval else None,
            round(2.5 + 4.5 * (each.n / most) ** 0.5, 2),
            f"mean score {each.mean_score:.2f}: people pass {say.percent(each.observed)} of"
            f" {say.count(each.n, 'row')}",
        )
        for each in bins
    )
    widest = max(bins, key=lambda each: each.n * abs(each.mean_score - each.observed))
    side = "too high" if widest.mean_score > widest.observed else "too low"
    text = (
        "Share of rows that people pass, by the judge's score. On the diagonal the score is a"
        f" probability. The gap that weighs most: at a mean score of {widest.mean_score:.2f} people"
        f" pass {say.percent(widest.observed)} of {say.count(widest.n, 'row')}, so the score is"
        f" {side}."
    )
    return _Reliability(text, dots)
