"""Reports of a benchmark of judges against people: in words, for a terminal and as JSON.

The words and the choice of what is shown first are here; `benchmark_html` draws the same. Texts of
rows are hostile and go through `plain`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rich.console import Console

from ragassay.core import (
    FIGURES,
    Disagreement,
    Figure,
    JudgeBenchmark,
    JudgeDifference,
    JudgeFigures,
    SliceFigures,
)
from ragassay.report import wording as say
from ragassay.report.jsonable import SCHEMA, as_json
from ragassay.report.terminal_page import Page, TerminalPage, page_on
from ragassay.report.text import one_line

SIDE_BY_SIDE = 2  # judges whose figures stand in columns of one table of 80 characters
WORST_SLICES = 8
DIFFERENCES = 12
DISAGREEMENTS = 5
WIDEST_MATRIX = 9
_MANY = ("kappa", "balanced_accuracy")
_MANY_ERRORS = ("precision", "recall", "f1")
_MANY_GRADED = ("graded_kappa", "kappa")
ORDERS: Mapping[str, str] = {
    "accuracy": "right winner, mean of both orders",
    "accuracy_order1": "right winner, as given",
    "accuracy_order2": "right winner, swapped",
    "consistent": "same winner in both orders",
    "first_shown": "winner was shown first",
}
"""Head of a column -> its figures by name."""


def _figures_of_one(page: Page, judges: Sequence[JudgeFigures]) -> None:
    """Figures as rows, pooled and macro side by side. judges: the one, or none."""
    notes = Note({})
    for judge in judges:
        page.title(f"Figures: {_size(judge)}")
        columns = [("pooled [95 %]", by_name(judge.pooled))]
        macro = by_name(judge.macro)
        if macro:
            slices = say.count(len(judge.slices), "slice")
            columns.append((f"macro of {slices} [95 %]", macro))
        _figure_table(page, names_of(judges), columns, notes)
    _figure_notes(page, judges, notes)


def _figures_of_two(page: Page, b: JudgeBenchmark) -> None:
    """Figures as rows and judges side by side: a table of the pooled ones, another of the macro
    ones.
    """
    notes = Note({})
    names = names_of(b.judges)
    pooled = [(short(judge.judge), by_name(judge.pooled)) for judge in b.judges]
    macro = [(short(judge.judge), by_name(judge.macro)) for judge in b.judges]
    if any(figures for _, figures in pooled):
        page.title("Figures, pooled over all rows")
        _figure_table(page, names, pooled, notes)
    if any(figures for _, figures in macro):
        page.title("Figures, macro: mean over slices")
        _figure_table(page, names, macro, notes)
    for judge in b.judges:
        page.note(f"{judge.judge}: {_size(judge)}")
    _figure_notes(page, b.judges, notes)


def _size(judge: JudgeFigures) -> str:
    rows = say.count(judge.n, "row")
    clusters = say.count(judge.clusters, "cluster")
    if judge.worth is not None:
        return f"{rows} in {clusters}, weighted, worth {judge.worth:.0f} of equal chance"
    return f"{rows} in {clusters}"


def _figure_notes(page: Page, judges: Sequence[JudgeFigures], notes: Note) -> None:
    """Below the tables: why figures are absent, and which rows could not be compared."""
    for words in notes.lines():
        page.note(words)
    for judge in judges:
        missing = missing_words(judge)
        if missing:
            page.line(f"{judge.judge}: {missing}", "yellow", indent=2)


def benchmark_json(benchmark: JudgeBenchmark) -> dict[str, object]:
    """The benchmark for `--json`: every figure, and the sentence it starts with."""
    values = as_json(benchmark)
    assert isinstance(values, dict)
    return {
        "schema": SCHEMA,
        "kind": "benchmark",
        "headline": benchmark_headline(benchmark),
        **values,
    }


def benchmark_headline(b: JudgeBenchmark) -> str:
    """The result in one sentence: of one judge with its kappa, of several how many there are."""
    against = f"against {say.count(b.labelled, 'human label')}"
    if b.set_up.metric:
        against += f" for {b.set_up.metric}"
    if len(b.judges) != 1:
        return f"{say.count(len(b.judges), 'judge')} {against}"
    judge = b.judges[0]
    if judge.position:
        right = figure_words(judge.position[0])
        return (
            f"{judge.judge} {against}: right winner {right} of {say.count(judge.n, 'comparison')}"
        )
    words = "no figure is defined"
    main = main_figure(judge)
    if main is not None:
        words = f"{title(main.name)} {figure_words(main)}"
    weighted = "" if judge.worth is None else f", weighted (worth {judge.worth:.0f})"
    return f"{judge.judge} {against}: {words} on {say.count(judge.n, 'row')}{weighted}"


def errors_in_words(judge: JudgeFigures, who: str = "It ") -> str:
    """Both kinds of error as shares of the rows on which they can be made; of pairs, what the order
    does.
    """
    if judge.position:
        return _orders_in_words(judge, who)
    errors = []
    for name, words in (
        ("false_positive_rate", "passes {} of what people fail"),
        ("false_negative_rate", "fails {} of what people pass"),
    ):
        figure = judge.figure(name)
        if figure is not None and figure.value is not None:
            interval = ""
            if figure.interval is not None:
                interval = f" {say.percent_interval(figure.interval)}"
            errors.append(words.format(f"{figure.value:.0%}{interval}"))
    if not errors:
        return f"{who}has no error rates: they are not defined on these rows."
    return who + " and ".join(errors) + "."


def _orders_in_words(judge: JudgeFigures, who: str) -> str:
    """How often a judge of pairs names the same winner in both orders, and the one shown first."""
    figures = by_name(judge.position)
    shares = []
    for name, words in (
        ("consistent", "names the same winner in both orders of {} of the pairs"),
        ("first_shown", "the one that was shown first in {} of its verdicts (50% without bias)"),
    ):
        figure = figures.get(name)
        if figure is None or figure.value is None:
            continue
        interval = "" if figure.interval is None else f" {say.percent_interval(figure.interval)}"
        shares.append(words.format(f"{figure.value:.0%}{interval}"))
    return who + ", and ".join(shares) + "." if shares else f"{who}has no verdict on a pair."


def main_figure(judge: JudgeFigures) -> Figure | None:
    """The figure of the headline: kappa, else the first that is defined."""
    # Accuracy would come out high wherever people pass most rows, whatever the judge does.
    kappa = judge.figure("kappa")
    if kappa is not None and kappa.value is not None:
        return kappa
    for figure in judge.pooled:
        if figure.value is not None:
            return figure
    return None


_TITLES: Mapping[str, str] = {
    "auc": "AUC",
    "ece": "ECE",
    "f1": "F1",
    "mcc": "MCC",
    "ac1": "AC1",
    "off_by_1": "off by at most 1",
    "brier": "Brier score",
    "kappa_linear": "kappa, linear weights",
    "kappa_quadratic": "kappa, quadratic weights",
    "graded_kappa": "kappa of grades",
    "graded_accuracy": "same grade",
    "alpha_ordinal": "alpha, ordinal",
    "pearson": "Pearson's r",
    "spearman": "Spearman's rho",
    "kendall": "Kendall's tau-b",
}


def title(name: str) -> str:
    """A figure's name as it is printed."""
    return _TITLES.get(name, name.replace("_", " "))


def short(judge: str) -> str:
    """A judge's name as it stands in a table: that it was recorded is said in the set-up."""
    return judge.removeprefix("recorded:") or judge


def figure_words(figure: Figure | None) -> str:
    """0.512 [0.470, 0.554]; a dash where there is no value."""
    if figure is None:
        return "–"
    return say.number_words(figure.value, figure.interval)


def set_up_lines(b: JudgeBenchmark) -> list[tuple[str, str]]:
    """(name, value in words) of everything that the figures depend on."""
    s = b.set_up
    file = b.source.replace("\\", "/").rsplit("/", 1)[-1]
    labelled = f"{b.labelled:,} of {say.count(b.rows, 'row')} labelled"
    more = " ..." if len(s.scale) > 12 else ""
    scale = ", ".join(f"{point:g}" for point in s.scale[:12]) + more
    grades = "; grades are compared as well" if s.graded else ""
    clusters = "none given: every row is a cluster of its own"
    if s.cluster:
        clusters = f"rows of one {s.cluster} count together"
    slices = "none"
    if s.slice:
        slices = f"by {s.slice}; macro = mean over slices of the slice's own figure"
    # Labels beside a run are in no file.
    content = f" ({b.source_hash[:12]})" if b.source_hash else ""
    lines = [("labels", f"{file}{content}, field {s.label}: {labelled}")]
    if s.where:
        lines.append(("only rows", " and ".join(s.where)))
    recorded = _recorded_words(b)
    if recorded:
        lines.append(("judges", recorded))
    lines += [
        ("people pass", f"a label of at least {s.cut:g}, of {scale}"),
        ("judge passes", _cut_words(b) + grades),
        ("clusters", clusters),
        ("slices", slices),
        ("intervals", f"95 %, cluster bootstrap, {s.draws:,} draws, seed {s.seed}"),
    ]
    return lines


def _cut_words(b: JudgeBenchmark) -> str:
    """Which scores of the judges pass."""
    cut = b.set_up.judge_cut
    if cut is not None:
        return f"a score of at least {cut:g} passes"
    if len({judge.judge_cut for judge in b.judges}) == 1:
        return "the metric's own verdict"
    words = []
    for judge in b.judges:
        how = "by its own verdict"
        if judge.judge_cut is not None:
            how = f"from {judge.judge_cut:g} on"
        words.append(f"{judge.judge} {how}")
    return "each at its own cut: " + ", ".join(words)


def _recorded_words(b: JudgeBenchmark) -> str:
    """How many of the judges were recorded in the labels; "" for none or one."""
    recorded = sum(judge.judge.startswith("recorded:") for judge in b.judges)
    if recorded < 2:
        return ""
    if recorded == len(b.judges):
        return f"{recorded} recorded in the labels, none of them was asked"
    return f"{recorded} of {len(b.judges)} recorded in the labels, the others asked"


class Note(NamedTuple):
    """Footnotes in the order in which they are first needed."""

    reasons: dict[str, int]

    def mark(self, figure: Figure | None) -> str:
        """ " (1)" behind a figure that has a reason, else ""."""
        if figure is None or not figure.reason:
            return ""
        return f" ({self.reasons.setdefault(figure.reason, len(self.reasons) + 1)})"

    def cell(self, figure: Figure | None) -> str:
        """The figure with its interval, and the mark of its reason."""
        return figure_words(figure) + self.mark(figure)

    def lines(self) -> list[str]:
        """(1) why ..."""
        return [f"({number}) {reason}" for reason, number in self.reasons.items()]


def names_of(judges: Iterable[JudgeFigures]) -> list[str]:
    """The figures that any of the judges has, in the catalogue's order."""
    present: set[str] = set()
    for judge in judges:
        present.update(figure.name for figure in judge.pooled)
    return [name for name in FIGURES if name in present] + sorted(present - set(FIGURES))


def by_name(figures: Sequence[Figure]) -> dict[str, Figure]:
    """Name -> figure."""
    return {figure.name: figure for figure in figures}


def worst_slices(judge: JudgeFigures) -> list[SliceFigures]:
    """The slices with the lowest kappa (where that is undefined: balanced accuracy), undefined ones
    last.
    """
    return sorted(judge.slices, key=_agreement)


def _agreement(part: SliceFigures) -> tuple[bool, float, str]:
    """What slices are sorted by, the lowest agreement first; equal ones by name."""
    figures = by_name(part.figures)
    for name in ("kappa", "balanced_accuracy", "accuracy"):
        figure = figures.get(name)
        if figure is not None and figure.value is not None:
            return False, figure.value, part.value
    return True, 0.0, part.value


def error_words(disagreement: Disagreement, b: JudgeBenchmark) -> str:
    """Which way judge and people differ."""
    if disagreement.label >= b.set_up.cut:
        return "people pass it, the judge fails it"
    return "people fail it, the judge passes it"


def missing_words(judge: JudgeFigures) -> str:
    """How many rows could not be compared, and why; "" where all could."""
    total = sum(judge.missing.values())
    if not total:
        return ""
    reasons = sorted(judge.missing.items(), key=_most_frequent_first)
    why = "; ".join(f"{reason} ({n:,})" for reason, n in reasons)
    return f"{say.count(total, 'row')} without a verdict: {why}"


def _most_frequent_first(item: tuple[str, int]) -> int:
    return -item[1]


def all_warnings(b: JudgeBenchmark) -> list[str]:
    """What to beware of, each once."""
    warnings = list(b.warnings)
    for judge in b.judges:
        warnings += judge.warnings
    return list(dict.fromkeys(warnings))


def render_benchmark(benchmark: JudgeBenchmark, console: Console | Page) -> None:
    """The benchmark in a terminal of 80 columns or more: headline, set-up, figures, confusion,
    slices, differences, disagreements, warnings.
    """
    page = page_on(console)
    b = benchmark
    # Of many judges only the main figures fit; the rest is in the page and the JSON.
    detailed = b.judges if len(b.judges) <= SIDE_BY_SIDE else ()
    several = len(b.judges) > 1
    page.line(benchmark_headline(b), "bold")
    for judge in detailed:
        page.line(errors_in_words(judge, f"{judge.judge} " if several else "It "))
    page.table([("", False), ("", False)], set_up_lines(b))
    for words in all_warnings(b):
        page.line(f"warning: {words}", "yellow", indent=2)
    if len(b.judges) > SIDE_BY_SIDE:
        _many(page, b)
    elif several:
        _figures_of_two(page, b)
    else:
        _figures_of_one(page, b.judges)
    for judge in detailed:
        of = f" of {judge.judge}" if several else ""
        _position(page, judge, of)
        _confusion(page, judge, of)
        _slices(page, judge, of)
    _differences(page, b)
    for judge in detailed:
        of = f" of {judge.judge}" if several else ""
        _disagreements(page, b, judge, of)


_Columns = list[tuple[str, dict[str, Figure]]]


def benchmark_text(benchmark: JudgeBenchmark, width: int = 100) -> str:
    """What `render_benchmark` prints, as plain text without colour."""
    page = TerminalPage.in_memory(width)
    render_benchmark(benchmark, page)
    return page.written()


def _figure_table(page: Page, names: list[str], columns: _Columns, notes: Note) -> None:
    heads = [("figure", False)]
    heads += [(one_line(head, 60), False) for head, _ in columns]
    rows = []
    for name in names:
        if any(name in figures for _, figures in columns):
            cells = [notes.cell(figures.get(name)) for _, figures in columns]
            rows.append([title(name), *cells])
    page.table(heads, rows)


def _many(page: Page, b: JudgeBenchmark) -> None:
    """Judges as rows, by their main figures, the best first."""
    present = names_of(b.judges)
    main = _MANY_GRADED if b.set_up.graded else _MANY
    names = [name for name in main if name in present]
    notes = Note({})
    page.title("Judges, pooled over all rows")
    pooled = [(judge, by_name(judge.pooled)) for judge in b.judges]
    _judge_table(page, names, pooled, notes)
    errors = [name for name in _MANY_ERRORS if name in present]
    if errors:
        page.title("Precision, recall and F1, pooled over all rows")
        _judge_table(page, errors, pooled, notes, ranked=names)
    if any(judge.macro for judge in b.judges):
        page.title("Judges, macro: mean over slices")
        _judge_table(page, names, [(judge, by_name(judge.macro)) for judge in b.judges], notes)
    for words in notes.lines():
        page.note(words)
    page.note("every figure, confusion matrices, slices and disagreements: --html FILE or --json")


def _judge_table(
    page: Page,
    names: list[str],
    judges: list[tuple[JudgeFigures, dict[str, Figure]]],
    notes: Note,
    ranked: Sequence[str] = (),
) -> None:
    """ranked: the figures by which judges are in order, where these are not `names`."""
    heads = [("judge", False), ("rows", True)]
    heads += [(f"{title(name)} [95 %]", False) for name in names]
    rows = []
    for judge, figures in sorted(judges, key=lambda item: rank(item[1], ranked or names)):
        cells = [notes.cell(figures.get(name)) for name in names]
        rows.append([one_line(short(judge.judge), 60), f"{judge.n:,}", *cells])
    page.table(heads, rows)


def rank(figures: Mapping[str, Figure], names: Sequence[str]) -> float:
    """The highest first figure first; judges without it last."""
    first = figures.get(names[0]) if names else None
    if first is None or first.value is None:
        return 2.0  # no figure is below -1
    return -first.value


def _position(page: Page, judge: JudgeFigures, of: str) -> None:
    if not judge.position:
        return
    page.title(f"Order of the two responses{of}")
    notes = Note({})
    heads = [("figure", False), ("value [95 %]", False), ("pairs", True)]
    rows = []
    for figure in judge.position:
        name = ORDERS.get(figure.name, title(figure.name))
        rows.append([name, notes.cell(figure), f"{figure.n:,}"])
    page.table(heads, rows)
    for words in notes.lines():
        page.note(words)


def _confusion(page: Page, judge: JudgeFigures, of: str) -> None:
    if not judge.confusion:
        return
    page.title(f"Confusion{of}: people in rows, the judge in columns")
    scores = judge.confusion_scores
    if len(scores) > WIDEST_MATRIX:
        page.note(f"{len(scores)} different scores: see --html FILE or --json")
        return
    heads = [("people \\ judge", False)]
    heads += [(one_line(score, 20), True) for score in scores]
    heads.append(("all", True))
    rows = []
    for label, counts in zip(judge.confusion_labels, judge.confusion, strict=True):
        cells = [f"{n:,}" for n in counts]
        rows.append([one_line(label, 20), *cells, f"{sum(counts):,}"])
    page.table(heads, rows)


def _slices(page: Page, judge: JudgeFigures, of: str) -> None:
    if not judge.slices:
        return
    notes = Note({})
    page.title(f"Slices{of}, the lowest agreement first")
    heads = [
        ("slice", False),
        ("kappa [95 %]", False),
        ("bal. acc.", True),
        ("false pos. / false neg.", False),
    ]
    ordered = worst_slices(judge)
    page.table(heads, [_slice_cells(part, notes) for part in ordered[:WORST_SLICES]])
    more = len(ordered) - WORST_SLICES
    if more > 0:
        page.note(f"and {more} more: see --html FILE or --json")
    for words in notes.lines():
        page.note(words)


def _slice_cells(part: SliceFigures, notes: Note) -> list[str | tuple[str, str]]:
    figures = by_name(part.figures)
    rows = say.count(part.n, "row")
    clusters = say.count(part.clusters, "cluster")
    balanced_accuracy = "–"
    if "balanced_accuracy" in figures:
        balanced_accuracy = say.figure(figures["balanced_accuracy"].value)
    errors = []
    for name in ("false_positive_rate", "false_negative_rate"):
        rate = figures.get(name)
        errors.append(say.percent(rate.value if rate is not None else None))
    return [
        (one_line(part.value, 40), f"{rows}, {clusters}"),
        notes.cell(figures.get("kappa")),
        balanced_accuracy,
        " / ".join(errors),
    ]


def by_p(differences: Sequence[JudgeDifference]) -> list[JudgeDifference]:
    """The smallest p first, those without one last."""
    return sorted(differences, key=_p_first)


def _p_first(difference: JudgeDifference) -> tuple[bool, float]:
    if difference.p is None:
        return True, 1.0
    return False, difference.p


def _differences(page: Page, b: JudgeBenchmark) -> None:
    if not b.differences:
        return
    page.title(
        "Differences, B - A, on the rows that both judged (p corrected for all that are shown)"
    )
    heads = [("A and B", False), ("figure", False), ("difference [95 %]", False), ("p", False)]
    rows: list[list[str | tuple[str, str]]] = []
    for difference in by_p(b.differences)[:DIFFERENCES]:
        words = say.number_words(difference.difference, difference.interval, sign=True)
        rows.append(
            [
                (one_line(short(difference.a), 40), one_line(short(difference.b), 40)),
                title(difference.figure),
                (words, difference.reason),
                say.p_value(difference.p) or "–",
            ]
        )
    page.table(heads, rows)
    if len(b.differences) > 1:
        page.note("the intervals are of one difference each, and not corrected")
    more = len(b.differences) - DIFFERENCES
    if more > 0:
        page.note(f"and {more:,} more, by p: see --html FILE or --json")


def _disagreements(page: Page, b: JudgeBenchmark, judge: JudgeFigures, of: str) -> None:
    if not judge.disagreements:
        return
    page.title(f"Most expensive disagreements{of}")
    for row in judge.disagreements[:DISAGREEMENTS]:
        where = f" ({row.slice})" if row.slice else ""
        page.line(f"{row.id}{where}: {error_words(row, b)}", "bold", indent=2)
        figures = f"label {row.label:g}, score {row.score:.3g}, cost {row.cost:.3g}"
        page.line(figures, "dim", indent=4)
        for name, text in texts_of(row):
            page.line(f"{name}: {one_line(text, 300)}", indent=4)
    more = len(judge.disagreements) - DISAGREEMENTS
    if more > 0:
        page.note(f"and {more} more: see --html FILE or --json")


def texts_of(disagreement: Disagreement) -> list[tuple[str, str]]:
    """(name, text) of each text that is known of the row."""
    texts = (
        ("question", disagreement.question),
        ("response", disagreement.response),
        ("people", disagreement.human_rationale),
        ("judge", disagreement.judge_rationale),
    )
    return [(name, text) for name, text in texts if text]
