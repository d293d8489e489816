"""Reports of a benchmark of judges against people: in words, for a terminal and as JSON.

The words and the choice of what is shown first are here; `benchmark_html` draws the same. Texts of
rows are hostile and go through `plain`.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rich.console import Console

from ragassay.core import FIGURES, Disagreement, Figure, JudgeBenchmark, JudgeFigures, SliceFigures
from ragassay.report import wording as say
from ragassay.report.jsonable import SCHEMA, as_json
from ragassay.report.terminal import Page
from ragassay.report.text import one_line

SIDE_BY_SIDE = 2  # judges whose figures stand in columns of one table of 80 characters
WORST_SLICES = 8
DIFFERENCES = 12
DISAGREEMENTS = 5
WIDEST_MATRIX = 9
_MANY = ("kappa", "balanced_accuracy")
_MANY_GRADED = ("graded_kappa", "kappa")
_SLICE = ("kappa", "balanced_accuracy", "false_positive_rate", "false_negative_rate")
ORDERS: Mapping[str, str] = {
    "accuracy": "right winner, mean of both orders",
    "accuracy_order1": "right winner, as given",
    "accuracy_order2": "right winner, swapped",
    "consistent": "same winner in both orders",
}
"""Figure of a pairwise judge -> what it says."""


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
    asked = f" for {b.set_up.metric}" if b.set_up.metric else ""
    against = f"against {say.count(b.labelled, 'human label')}{asked}"
    if len(b.judges) != 1:
        return f"{say.count(len(b.judges), 'judge')} {against}"
    judge = b.judges[0]
    main = main_figure(judge)
    words = (
        f"{title(main.name)} {figure_words(main)}" if main is not None else "no figure is defined"
    )
    return f"{judge.judge} {against}: {words} on {say.count(judge.n, 'row')}"


def errors_in_words(judge: JudgeFigures, who: str = "It ") -> str:
    """Both kinds of error as shares of the rows on which they can be made."""
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
        return f"{who}has no error rates: people or rows are of one kind."
    return who + " and ".join(errors) + "."


def main_figure(judge: JudgeFigures) -> Figure | None:
    """The figure that is said first: kappa, else the first that is defined."""
    kappa = judge.figure("kappa")
    if kappa is not None and kappa.value is not None:
        return kappa
    return next((figure for figure in judge.pooled if figure.value is not None), None)


def title(name: str) -> str:
    """A figure's name as it is printed."""
    known = {
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
    return known.get(name, name.replace("_", " "))


def short(judge: str) -> str:
    """A judge's name as it stands in a table: that it was recorded is said in the set-up."""
    return judge.removeprefix("recorded:") or judge


def figure_words(figure: Figure | None) -> str:
    """0.512 [0.470, 0.554]; a dash where there is no value."""
    return "–" if figure is None else say.number_words(figure.value, figure.interval)


def set_up_lines(b: JudgeBenchmark) -> list[tuple[str, str]]:
    """(what, in words) of everything that the figures depend on."""
    s = b.set_up
    file = b.source.replace("\\", "/").rsplit("/", 1)[-1]
    labelled = f"{b.labelled:,} of {say.count(b.rows, 'row')} labelled"
    more = " ..." if len(s.scale) > 12 else ""
    scale = ", ".join(f"{point:g}" for point in s.scale[:12]) + more
    grades = "; grades are compared as well" if s.graded else ""
    clusters = "none given: every row counts as its own"
    if s.cluster:
        clusters = f"rows of one {s.cluster} count together"
    slices = "none"
    if s.slice:
        slices = f"by {s.slice}; macro = mean over slices of the slice's own figure"
    lines = [("labels", f"{file} ({b.source_hash[:12]}), field {s.label}: {labelled}")]
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
        own = "by its own verdict"
        if judge.judge_cut is not None:
            own = f"from {judge.judge_cut:g} on"
        words.append(f"{judge.judge} {own}")
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

    def key(part: SliceFigures) -> tuple[bool, float, str]:
        figures = by_name(part.figures)
        for name in ("kappa", "balanced_accuracy", "accuracy"):
            figure = figures.get(name)
            if figure is not None and figure.value is not None:
                return False, figure.value, part.value
        return True, 0.0, part.value

    return sorted(judge.slices, key=key)


def error_words(found: Disagreement, b: JudgeBenchmark) -> str:
    """Which way judge and people differ."""
    return (
        "people pass it, the judge fails it"
        if found.label >= b.set_up.cut
        else "people fail it, the judge passes it"
    )


def missing_words(judge: JudgeFigures) -> str:
    """How many rows could not be compared, and why; "" where all could."""
    total = sum(judge.missing.values())
    if not total:
        return ""
    why = "; ".join(
        f"{reason} ({n:,})"
        for reason, n in sorted(judge.missing.items(), key=lambda item: -item[1])
    )
    return f"{say.count(total, 'row')} without a verdict: {why}"


def all_warnings(b: JudgeBenchmark) -> list[str]:
    """What to beware of, each once."""
    warnings = list(b.warnings)
    for judge in b.judges:
        warnings += judge.warnings
    return list(dict.fromkeys(warnings))


def render_benchmark(benchmark: JudgeBenchmark, console: Console) -> None:
    """The benchmark in a terminal of 80 columns or more: headline, set-up, figures, confusion,
    slices, differences, disagreements, warnings.
    """
    page, b = Page(console), benchmark
    page.line(benchmark_headline(b), "bold")
    for judge in b.judges if len(b.judges) <= SIDE_BY_SIDE else ():
        page.line(errors_in_words(judge, f"{judge.judge} " if len(b.judges) > 1 else "It "))
    page.table([("", False), ("", False)], [[what, words] for what, words in set_up_lines(b)])
    for words in all_warnings(b):
        page.line(f"warning: {words}", "yellow", indent=2)
    if len(b.judges) > SIDE_BY_SIDE:
        _many(page, b)
    else:
        _figures(page, b)
    for judge in b.judges if len(b.judges) <= SIDE_BY_SIDE else ():
        of = f" of {judge.judge}" if len(b.judges) > 1 else ""
        _position(page, judge, of)
        _confusion(page, judge, of)
        _slices(page, judge, of)
    _differences(page, b)
    for judge in b.judges if len(b.judges) <= SIDE_BY_SIDE else ():
        _disagreements(page, b, judge, f" of {judge.judge}" if len(b.judges) > 1 else "")


def benchmark_text(benchmark: JudgeBenchmark, width: int = 100) -> str:
    """What `render_benchmark` prints, as plain text without colour."""
    out = io.StringIO()
    render_benchmark(benchmark, Console(file=out, width=width, no_color=True, highlight=False))
    return out.getvalue()


def _figures(page: Page, b: JudgeBenchmark) -> None:
    """Figures as rows; of one judge pooled and macro side by side, of two judges a table each."""
    names, notes = names_of(b.judges), Note({})
    if len(b.judges) == 1:
        judge = b.judges[0]
        page.title(
            f"Figures: {say.count(judge.n, 'row')} in {say.count(judge.clusters, 'cluster')}"
        )
        pooled, macro = by_name(judge.pooled), by_name(judge.macro)
        columns = [("pooled [95 %]", pooled)]
        if macro:
            columns.append((f"macro of {say.count(len(judge.slices), 'slice')} [95 %]", macro))
        _figure_table(page, names, columns, notes)
    else:
        for view in ("pooled", "macro"):
            held = [(short(judge.judge), by_name(getattr(judge, view))) for judge in b.judges]
            if any(figures for _, figures in held):
                page.title(
                    "Figures, pooled over all rows"
                    if view == "pooled"
                    else "Figures, macro: mean over slices"
                )
                _figure_table(page, names, held, notes)
        for judge in b.judges:
            words = (
                f"{judge.judge}: {say.count(judge.n, 'row')} in"
                f" {say.count(judge.clusters, 'cluster')}"
            )
            page.line(words, "dim", indent=2)
    for words in notes.lines():
        page.line(words, "dim", indent=2)
    for judge in b.judges:
        if missing := missing_words(judge):
            page.line(f"{judge.judge}: {missing}", "yellow", indent=2)


def _figure_table(
    page: Page, names: list[str], columns: list[tuple[str, dict[str, Figure]]], notes: Note
) -> None:
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
    _judge_table(page, names, [(judge, by_name(judge.pooled)) for judge in b.judges], notes)
    if any(judge.macro for judge in b.judges):
        page.title("Judges, macro: mean over slices")
        _judge_table(page, names, [(judge, by_name(judge.macro)) for judge in b.judges], notes)
    for words in notes.lines():
        page.line(words, "dim", indent=2)
    page.line(
        "every figure, confusion matrices, slices and disagreements: --html FILE or --json",
        "dim",
        indent=2,
    )


def _judge_table(
    page: Page,
    names: list[str],
    judges: list[tuple[JudgeFigures, dict[str, Figure]]],
    notes: Note,
) -> None:
    heads = [("judge", False), ("rows", True)]
    heads += [(f"{title(name)} [95 %]", False) for name in names]
    rows = []
    for judge, figures in sorted(judges, key=lambda item: rank(item[1], names)):
        cells = [notes.cell(figures.get(name)) for name in names]
        rows.append([one_line(short(judge.judge), 60), f"{judge.n:,}", *cells])
    page.table(heads, rows)


def rank(figures: Mapping[str, Figure], names: Sequence[str]) -> float:
    """The highest first figure first; judges without it last."""
    found = figures.get(names[0]) if names else None
    return -found.value if found is not None and found.value is not None else 2.0


def _position(page: Page, judge: JudgeFigures, of: str) -> None:
    if not judge.position:
        return
    page.title(f"Order of the two responses{of}")
    notes = Note({})
    page.table(
        [("figure", False), ("value [95 %]", False), ("pairs", True)],
        [
            [ORDERS.get(f.name, title(f.name)), figure_words(f) + notes.mark(f), f"{f.n:,}"]
            for f in judge.position
        ],
    )
    for words in notes.lines():
        page.line(words, "dim", indent=2)


def _confusion(page: Page, judge: JudgeFigures, of: str) -> None:
    if not judge.confusion:
        return
    page.title(f"Confusion{of}: people in rows, the judge in columns")
    if len(judge.confusion_scores) > WIDEST_MATRIX:
        page.line(
            f"{len(judge.confusion_scores)} different scores: see --html FILE or --json",
            "dim",
            indent=2,
        )
        return
    heads = [("people \\ judge", False)]
    heads += [(one_line(score, 20), True) for score in judge.confusion_scores]
    heads.append(("all", True))
    rows = []
    for label, counts in zip(judge.confusion_labels, judge.confusion, strict=True):
        rows.append([one_line(label, 20), *map("{:,}".format, counts), f"{sum(counts):,}"])
    page.table(heads, rows)


def _slices(page: Page, judge: JudgeFigures, of: str) -> None:
    if not judge.slices:
        return
    ordered, notes = worst_slices(judge), Note({})
    page.title(f"Slices{of}, the lowest agreement first")
    rows: list[list[str | tuple[str, str]]] = []
    for part in ordered[:WORST_SLICES]:
        held = by_name(part.figures)
        kappa = held.get("kappa")
        errors = [say.percent(held[name].value) if name in held else "–" for name in _SLICE[2:]]
        rows.append(
            [
                (
                    one_line(part.value, 40),
                    f"{say.count(part.n, 'row')}, {say.count(part.clusters, 'cluster')}",
                ),
                figure_words(kappa) + notes.mark(kappa),
                say.figure(held["balanced_accuracy"].value) if "balanced_accuracy" in held else "–",
                " / ".join(errors),
            ]
        )
    page.table(
        [
            ("slice", False),
            ("kappa [95 %]", False),
            ("bal. acc.", True),
            ("passed bad / failed good", False),
        ],
        rows,
    )
    if len(ordered) > WORST_SLICES:
        page.line(
            f"and {len(ordered) - WORST_SLICES} more: see --html FILE or --json", "dim", indent=2
        )
    for words in notes.lines():
        page.line(words, "dim", indent=2)


def _differences(page: Page, b: JudgeBenchmark) -> None:
    if not b.differences:
        return
    page.title(
        "Differences, B - A, on the rows that both judged (p corrected for all that are shown)"
    )
    ordered = sorted(b.differences, key=lambda d: (d.p is None, d.p if d.p is not None else 1.0))
    page.table(
        [("A and B", False), ("figure", False), ("difference [95 %]", False), ("p", False)],
        [
            [
                (one_line(short(d.a), 40), one_line(short(d.b), 40)),
                title(d.figure),
                (say.number_words(d.difference, d.interval, sign=True), d.reason),
                say.p_value(d.p) or "–",
            ]
            for d in ordered[:DIFFERENCES]
        ],
    )
    if len(ordered) > DIFFERENCES:
        page.line(
            f"and {len(ordered) - DIFFERENCES:,} more, by p: see --html FILE or --json",
            "dim",
            indent=2,
        )


def _disagreements(page: Page, b: JudgeBenchmark, judge: JudgeFigures, of: str) -> None:
    if not judge.disagreements:
        return
    page.title(f"Most expensive disagreements{of}")
    for found in judge.disagreements[:DISAGREEMENTS]:
        where = f" ({found.slice})" if found.slice else ""
        page.line(f"{found.id}{where}: {error_words(found, b)}", "bold", indent=2)
        page.line(
            f"label {found.label:g}, score {found.score:.3g}, cost {found.cost:.3g}",
            "dim",
            indent=4,
        )
        for what, text in texts_of(found):
            page.line(f"{what}: {one_line(text, 300)}", indent=4)
    if len(judge.disagreements) > DISAGREEMENTS:
        page.line(
            f"and {len(judge.disagreements) - DISAGREEMENTS} more: see --html FILE or --json",
            "dim",
            indent=2,
        )


def texts_of(found: Disagreement) -> list[tuple[str, str]]:
    """(what it is, the text) of what is known of the row."""
    texts = (
        ("question", found.question),
        ("response", found.response),
        ("people", found.human_rationale),
        ("judge", found.judge_rationale),
    )
    return [(what, text) for what, text in texts if text]
