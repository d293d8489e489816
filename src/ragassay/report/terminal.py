"""Reports for a terminal of any width, with or without colour: a run, a row, a comparison.

Everything judged is hostile: texts go through `plain` and into rich `Text`, so neither escapes nor
markup act.
"""

from __future__ import annotations

import io
import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ragassay.core import (
    Cause,
    Diagnosis,
    Manifest,
    MetricSummary,
    Part,
    RowResult,
    Sample,
    Score,
    Status,
    Summary,
    Verdict,
)
from ragassay.diagnosis import part_text
from ragassay.report import wording as say
from ragassay.report.claims import claims_of
from ragassay.report.comparison import ChangedRow, Comparison, MetricComparison
from ragassay.report.gate import GateResult
from ragassay.report.proof import place
from ragassay.report.text import one_line, plain

if TYPE_CHECKING:
    from ragassay.store import StoredRun

_STYLE = {
    "pass": "green",
    "fail": "red",
    "undecided": "yellow",
    "no verdict": "dim",
    "supported": "green",
    "admits not knowing": "green",
    "relevant": "green",
    "not supported": "red",
    "not relevant": "red",
    "not judged": "yellow",
    "in the reference": "green",
    "stated": "green",
    "used": "green",
    "kept": "green",
    "found": "green",
    "supports it": "green",
    "not in the reference": "red",
    "missing": "red",
    "not used": "red",
    "broken": "red",
    "not found": "red",
    "does not support it": "red",
}
_SIGNS = {"green": "✓", "red": "✗", "yellow": "?", "dim": "·", "": "·"}
_ASCII = {"✓": "+", "✗": "x", "?": "?", "·": "-"}
_REPLACED = str.maketrans(
    {
        "–": "-",
        "…": "...",
        "→": "->",
        "≥": ">=",
        "“": '"',
        "”": '"',
        "×": "x",
        "✓": "+",
        "✗": "x",
        "·": "-",
    }
)


class Page:
    """A console that prints only what its encoding can carry."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._encoding = console.encoding or "utf-8"

    def text(self, words: str, style: str = "") -> Text:
        return Text(self._fit(plain(words)), style=style, overflow="fold")

    def _fit(self, words: str) -> str:
        try:
            words.encode(self._encoding)
        except UnicodeEncodeError:
            return (
                words.translate(_REPLACED).encode(self._encoding, "replace").decode(self._encoding)
            )
        return words

    def line(self, words: str = "", style: str = "", indent: int = 0) -> None:
        self.console.print(Padding(self.text(words, style), (0, 0, 0, indent), expand=False))

    def title(self, words: str) -> None:
        self.console.print()
        self.line(words, "bold")

    def marked(self, word: str, words: str, indent: int = 2) -> None:
        """A line that starts with sign and word: "✗ not supported  the claim"."""
        style = _STYLE.get(word, "")
        text = self.text(f"{_SIGNS[style]} {word}  ", style)
        text.append_text(self.text(words))
        self.console.print(Padding(text, (0, 0, 0, indent), expand=False))

    def table(
        self, heads: Iterable[tuple[str, bool]], rows: Iterable[Iterable[str | tuple[str, str]]]
    ) -> None:
        """heads: words, and whether the column is right-aligned. A pair is a cell with a second,
        dim line.
        """
        table = Table(
            box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", show_edge=False
        )
        for head, right in heads:
            # An id that is broken over two lines cannot be copied, and a metric's name cannot be
            # read.
            whole = head in ("run", "metric")
            table.add_column(
                self.text(head),
                justify="right" if right else "left",
                overflow="fold",
                no_wrap=whole,
            )
        for row in rows:
            table.add_row(*(self._cell(cell) for cell in row))
        self.console.print(Padding(table, (0, 0, 0, 2), expand=False))

    def _cell(self, cell: str | tuple[str, str]) -> Text:
        if isinstance(cell, str):
            return self.text(cell)
        text = self.text(cell[0])
        if cell[1]:
            text.append("\n").append_text(self.text(cell[1], "dim"))
        return text


def render_summary(summary: Summary, console: Console, *, store: str = "") -> None:
    """The whole result of a run: the verdict in words first, then metrics, causes, worst rows,
    slices, cost, judge.

    store: what the commands that are proposed need to find the run (" --store PATH"), "" for the
    default store.
    """
    page, s = Page(console), summary
    page.line(say.headline(s), "bold")
    if s.state.value != "finished":
        page.line(
            f"The run is not complete: {say.STATE_WORDS[s.state]}"
            + (f" ({s.stop_reason})" if s.stop_reason else ""),
            "yellow",
        )
    _metrics(page, s)
    _causes(page, s)
    _worst(page, s)
    _slices(page, s)
    _bad_rows(page, s)
    _costs(page, s)
    _judge(page, s)
    _next(page, s, store)


def summary_text(summary: Summary, width: int = 100) -> str:
    """What `render_summary` prints, as plain text without colour."""
    out = io.StringIO()
    render_summary(summary, Console(file=out, width=width, no_color=True, highlight=False))
    return out.getvalue()


def _metrics(page: Page, s: Summary) -> None:
    page.title("Metrics")
    shown = [m for m in s.metrics if m.n or m.asked or m.undecided]
    if page.console.width >= WIDE:
        _wide_metrics(page, shown, s.manifest)
    else:
        heads = [("metric", False), ("mean [95 %]", False), ("pass rate [95 %]", False)]
        page.table(heads, [_narrow_cells(m, s.manifest) for m in shown])
    for words in say.absences(s):
        page.line(words, "dim", indent=2)
    for note in s.notes:
        page.line(note, "yellow", indent=2)


WIDE = 120  # columns from which the figures of a metric fit on one line


def _wide_metrics(page: Page, shown: list[MetricSummary], manifest: Manifest) -> None:
    with_undecided = any(m.undecided for m in shown)
    with_probability = any(m.probability is not None for m in shown)
    heads = [("metric", False), ("mean [95 %]", False), ("rows", True), ("pass rate [95 %]", False)]
    if with_undecided:
        heads.append(("undec.", True))
    heads += [("passes at", False), ("judged", True)]
    if with_probability:
        heads.append(("prob.", True))
    rows = []
    for m in shown:
        cells: list[str | tuple[str, str]] = [
            (m.metric, _marked_direction(m, manifest)),
            say.number_words(m.mean, m.interval, m.unit),
            f"{m.n:,}",
            say.pass_rate(m),
        ]
        if with_undecided:
            cells.append(f"{m.undecided:,}" if m.undecided else "")
        cells.append(say.pass_mark(m.pass_mark, m.metric, manifest))
        cells.append(f"{m.judged:,}/{m.asked:,}" if m.asked else "")
        if with_probability:
            cells.append(f"{m.probability:.2f}" if m.probability is not None else "")
        rows.append(cells)
    page.table(heads, rows)
    if with_probability:
        page.line(
            "prob.: mean probability, as the judge sees it, of the judged parts", "dim", indent=2
        )


def _marked_direction(m: MetricSummary, manifest: Manifest) -> str:
    """The direction where it is not the usual one; of tokens, dollars and seconds it needs no
    saying.
    """
    return "" if m.unit else say.direction(m.metric, manifest)


def _narrow_cells(m: MetricSummary, manifest: Manifest) -> list[tuple[str, str]]:
    judged = []
    direction = _marked_direction(m, manifest)
    if direction:
        judged.append(direction)
    if m.asked:
        judged.append(f"{m.judged:,}/{m.asked:,} judged")
    if m.probability is not None:
        judged.append(f"probability {m.probability:.2f}")
    marks = []
    if m.pass_mark is not None:
        marks.append(f"passes at {say.pass_mark(m.pass_mark, m.metric, manifest)}")
    if m.undecided:
        marks.append(f"{m.undecided:,} undecided")
    return [
        (m.metric, ", ".join(judged)),
        (say.number_words(m.mean, m.interval, m.unit), f"over {say.count(m.n, 'row')}"),
        (say.pass_rate(m), ", ".join(marks)),
    ]


def _causes(page: Page, s: Summary) -> None:
    if not s.causes:
        return
    page.title(f"What broke, in the {say.count(s.failed, 'failing row')}")
    for share in s.causes:
        interval = say.percent_interval(share.interval)
        page.line(
            f"{say.percent(share.share)} {interval}  {share.cause.title}"
            f" ({say.count(share.rows, 'row')})",
            indent=2,
        )
        if share.cause.remedy:
            page.line(f"try: {share.cause.remedy}", "cyan", indent=6)
        for finer in say.finer_shares(share):
            page.line(finer, indent=6)
        page.line(f"e.g. {', '.join(share.examples)}", "dim", indent=6)
    for name, n in s.patterns.items():
        page.line(f"pattern in {say.count(n, 'failing row')}: {name}", "dim", indent=2)


WORST_SHOWN = 10
CONTEXT_SHOWN = 4000  # characters of a context's text


def _worst(page: Page, s: Summary) -> None:
    if not s.worst:
        return
    titles = {share.cause.name: share.cause.title for share in s.causes}
    page.title("Worst rows")
    for row in s.worst[:WORST_SHOWN]:
        word = say.VERDICT_WORDS[row.verdict]
        cause = titles.get(row.cause, row.cause)
        page.marked(
            word,
            f"{row.id}  {row.metric} {say.figure(row.value, say.unit_of(row.metric, s.manifest))}"
            + (f"  {cause}" if cause else ""),
        )
        if row.quote:
            page.line(f"“{one_line(row.quote)}”", indent=6)
        if row.rationale:
            page.line(one_line(row.rationale), "dim", indent=6)
    if len(s.worst) > WORST_SHOWN:
        page.line(
            f"and {len(s.worst) - WORST_SHOWN} more of the worst tenth: see the HTML report or"
            " --json",
            "dim",
            indent=2,
        )


def _slices(page: Page, s: Summary) -> None:
    if not s.slices:
        return
    telling = [x for x in s.slices if x.p is not None and x.p < 0.05]
    if telling:
        page.title("Slices that differ from the rest (p corrected for all that were compared)")
    else:
        page.title("Slices: none differs from the rest beyond chance; the likeliest")
    units = {m.metric: m.unit for m in s.metrics}
    # Where lower is better for one of them, the sign alone misleads.
    turned = any(say.direction(x.metric, s.manifest) for x in telling or s.slices[:3])
    page.table(
        [
            ("slice", False),
            ("metric", False),
            ("mean [95 %]", False),
            ("gap", True),
            ("rows", True),
            ("p", False),
        ],
        [
            [
                f"{one_line(x.slice, 40)} = {one_line(x.value, 40)}",
                x.metric,
                say.number_words(x.mean, x.interval, units.get(x.metric, "")),
                (
                    say.signed(x.gap, units.get(x.metric, "")),
                    say.change_word(x.gap, x.metric, s.manifest) if turned else "",
                ),
                f"{x.n:,}",
                say.p_value(x.p) or "too few rows",
            ]
            for x in telling or s.slices[:3]
        ],
    )


def _bad_rows(page: Page, s: Summary) -> None:
    if not s.bad:
        return
    page.title(f"{say.count(s.bad, 'row')} could not be read")
    for bad in s.bad_rows[:10]:
        page.line(
            f"line {bad.line}, row {bad.id}: {bad.code} {bad.what}"
            + (f" ({bad.why})" if bad.why else ""),
            indent=2,
        )
        if bad.fix:
            page.line(f"fix: {bad.fix}", "cyan", indent=6)
    if s.bad > 10:
        page.line(f"and {s.bad - 10:,} more", "dim", indent=2)


def _costs(page: Page, s: Summary) -> None:
    page.title("Cost and time")
    page.line(say.app_words(s), indent=2)
    page.line(say.ledger_words(s), indent=2)


def _judge(page: Page, s: Summary) -> None:
    judge = s.manifest.judge
    page.title(
        f"Judge: {judge.uri}"
        + (f" at {judge.base_url}" if judge.base_url else " (nothing leaves this machine)")
    )
    for metric, words, measured in say.trust_lines(s):
        page.line(
            f"{metric}: {words}" if metric else words,
            "" if measured or not metric else "yellow",
            indent=2,
        )
    for rubric, version in sorted(judge.rubrics.items()):
        page.line(
            f"{version}  fingerprint {judge.fingerprints.get(rubric, '')[:12]}", "dim", indent=2
        )


def _next(page: Page, s: Summary, store: str) -> None:
    run = s.manifest.run_id
    page.title(f"Run {run}: next")
    if s.pending:
        page.line(f"ragassay resume {run}{store}", indent=2)
    elif any(m.judged < m.asked for m in s.metrics):
        page.line(f"ragassay resume {run} --retry-failed{store}", indent=2)
    whole = [
        row.id for row in s.worst if row.id == one_line(row.id, 60)
    ]  # what is cut short is no row's id
    if whole:
        page.line(f"ragassay show {run} --row {shlex.quote(whole[0])}{store}", indent=2)
    page.line(f"ragassay export {run} --format html{store}", indent=2)
    page.line(f"ragassay compare {run} OTHER_RUN{store}", indent=2)


def render_row(row: RowResult, console: Console, manifest: Manifest | None = None) -> None:
    """One row: verdict, cause and what lies behind it, question, response claim by claim with
    evidence, contexts, what else was judged part by part, scores. manifest: its run's, for units
    and directions; else as the metrics declare them.
    """
    page = Page(console)
    if row.bad is not None or row.sample is None:
        _unreadable_row(page, row)
        return
    _row_verdict(page, row, row.sample)
    if not row.done:
        page.line("This row is not finished: a resume will judge the rest.", "yellow")
    _row_texts(page, row.sample)
    _row_claims(page, row, row.sample)
    _sections(page, row)
    _contexts(page, row)
    page.title("Scores")
    page.table(
        [("metric", False), ("value", True), ("verdict", False), ("judged", True), ("why", False)],
        [_score_cells(score, manifest) for score in row.scores],
    )


def _unreadable_row(page: Page, row: RowResult) -> None:
    bad = row.bad
    where = f" (line {bad.line})" if bad is not None else ""
    page.line(f"Row {row.id} could not be read{where}", "bold")
    if bad is None:
        return
    page.line(f"{bad.code}: {bad.what}", indent=2)
    if bad.why:
        page.line(bad.why, indent=2)
    if bad.fix:
        page.line(f"fix: {bad.fix}", indent=2)


def _row_verdict(page: Page, row: RowResult, sample: Sample) -> None:
    """The verdict, the root cause with what lies behind it, and the other causes."""
    diagnosis = row.diagnosis
    where = f", line {sample.line}" if sample.line else ""
    page.marked(say.VERDICT_WORDS[diagnosis.verdict], f"row {row.id}{where}", indent=0)
    if diagnosis.cause is not None:
        _cause(page, diagnosis.cause, "cause")
        _finer(page, diagnosis)
    for cause in diagnosis.others:
        _cause(page, cause, "also")


def _row_texts(page: Page, sample: Sample) -> None:
    """What was asked, what was answered, and what is known of the right answer."""
    page.title("Question")
    page.line(sample.question if sample.question is not None else "(none)", indent=2)
    page.title("Response")
    absent = "(empty)" if sample.response == "" else "(none)"
    page.line(sample.response or absent, indent=2)
    if sample.reference:
        page.title("Reference")
        page.line(sample.reference, indent=2)
    facts = "\n".join(sample.expected_facts or ())
    if facts:
        page.title("Expected facts")
        page.line(facts, indent=2)


def _row_claims(page: Page, row: RowResult, sample: Sample) -> None:
    claims = claims_of(row)
    if not claims:
        return
    weights = say.weights(row)
    page.title("Claims of the response")
    for number, claim in enumerate(claims, 1):
        text = f"{number}. {part_text(claim, sample)}"
        weight = say.weight(weights.get(say.claim_place(claim)))
        if weight:
            text += f" ({weight})"
        _part(page, claim, say.claim_word(claim), text)


def _cause(page: Page, cause: Cause, label: str) -> None:
    page.line(f"{label}: {cause.title}", "bold", indent=2)
    if cause.detail:
        page.line(cause.detail, indent=4)
    if cause.remedy:
        page.line(f"try: {cause.remedy}", "cyan", indent=4)


def _finer(page: Page, diagnosis: Diagnosis) -> None:
    finer = say.finer_of(diagnosis)
    if len(finer) > 1:
        page.line("behind it, one or more of these:", indent=4)
    for cause in finer:
        page.line(("behind it: " if len(finer) == 1 else "- ") + cause.title, "bold", indent=4)
        if cause.detail:
            page.line(cause.detail, indent=6)
        page.line(f"try: {cause.remedy}", "cyan", indent=6)


def _sections(page: Page, row: RowResult) -> None:
    """What was judged part by part beside claims and chunks: statements of the reference,
    guidelines, citations ...
    """
    for score in row.scores:
        title = ""
        for part in score.parts:
            found, word = say.section(score.metric, part)
            if found and found != title:
                title = found
                page.title(f"{title} ({score.metric})")
            if found:
                _part(page, part, word, one_line(part_text(part, row.sample), 400))


def _part(page: Page, part: Part, word: str, words: str) -> None:
    page.marked(word, words)
    if part.passed is None and part.value is None and part.status is not Status.NOT_APPLICABLE:
        page.line(say.why_unjudged(part), "yellow", indent=6)
    if part.rationale:
        page.line(part.rationale, "dim", indent=6)
    # What a judge points at for a claim that it does not find supported is no evidence, only the
    # nearest there is.
    nearest = "nearest, " if part.passed is False else ""
    if say.sources(part):
        page.line(say.sources(part), "dim", indent=6)
    for evidence in part.evidence:
        page.line(
            f"{nearest}context {place(part, evidence) + 1}: “{one_line(evidence.quote, 400)}”",
            indent=6,
        )
    if word == "not supported" and not part.evidence and part.kind != "chunk":
        page.line("no evidence found in the contexts", indent=6)


def _contexts(page: Page, row: RowResult) -> None:
    contexts = row.sample.contexts if row.sample is not None else None
    page.title("Contexts")
    if not contexts:
        page.line(
            (
                "(nothing was retrieved)"
                if contexts is not None
                else "(the row says nothing about retrieval)"
            ),
            indent=2,
        )
        return
    for i, context in enumerate(contexts):
        ratings = _ratings_of(row, i)
        name = f" [{context.id}]" if context.id else ""
        words = "; ".join(_rating_words(score, part) for score, part in ratings)
        page.line(f"{i + 1}.{name}" + (f"  {words}" if words else ""), "bold", indent=2)
        long = len(context.text) > CONTEXT_SHOWN
        page.line(context.text[:CONTEXT_SHOWN] + "…" if long else context.text, indent=5)
        for rationale in dict.fromkeys(part.rationale for _, part in ratings if part.rationale):
            page.line(rationale, "dim", indent=5)


def _ratings_of(row: RowResult, context: int) -> list[tuple[Score, Part]]:
    """What the metrics say of the context at this place."""
    ratings = []
    for score in row.scores:
        for part in score.parts:
            if part.kind == "chunk" and part.context == context:
                ratings.append((score, part))
    return ratings


def _rating_words(score: Score, part: Part) -> str:
    rated = f" (rated {part.rating:g})" if isinstance(part.rating, float | int) else ""
    return f"{score.metric}: {say.chunk_word(part, score.metric)}{rated}"


def _score_cells(score: Score, manifest: Manifest | None) -> list[str]:
    verdict = say.VERDICT_WORDS[score.verdict] if score.verdict is not None else ""
    if score.verdict is not None and score.pass_mark is not None:
        verdict += f" ({say.pass_mark(score.pass_mark, score.metric, manifest)})"
    why = score.reason or score.rationale
    if score.status is not Status.JUDGED:
        why = f"{say.STATUS_WORDS[score.status]}: {why}" if why else say.STATUS_WORDS[score.status]
    judged = f"{score.counts.judged}/{score.counts.asked}" if score.counts.asked else ""
    return [
        score.metric,
        say.figure(score.value, say.unit_of(score.metric, manifest)),
        verdict,
        judged,
        one_line(why, 300),
    ]


def render_runs(runs: Iterable[StoredRun], console: Console) -> None:
    """The runs of a store, as given."""
    page, rows = Page(console), []
    for run in runs:
        m = run.manifest
        rows.append(
            [
                m.run_id,
                one_line(m.name, 30),
                m.created[:16].replace("T", " "),
                say.STATE_WORDS[run.state],
                f"{run.done:,}/{m.rows:,}",
                m.judge.uri,
                one_line(m.source.replace("\\", "/").rsplit("/", 1)[-1], 40),
            ]
        )
    if not rows:
        page.line("The store holds no run yet. Start one: ragassay evaluate rows.jsonl")
        return
    heads = ("run", "name", "started (UTC)", "state", "rows", "judge", "source")
    page.table([(head, head == "rows") for head in heads], rows)


def render_gates(result: GateResult, console: Console) -> None:
    """Each gate with what it met, and what keeps the run from being complete."""
    page = Page(console)
    page.title("Gates")
    for outcome in result.outcomes:
        word = {True: "pass", False: "fail", None: "undecided"}[outcome.passed]
        page.marked(word, outcome.message)
    known = {outcome.message for outcome in result.outcomes}
    for message in result.incomplete:
        if message not in known:
            page.marked("undecided", message)
    if result.exit_code == 0:
        page.line("All that was asked for is met.", indent=2)


_TURNED = {"higher": "", "lower": ", lower is better", "neither": ", neither end is better"}


def render_comparison(comparison: Comparison, console: Console) -> None:
    """Two runs, row by row: the differences with their intervals, the rows that changed most."""
    page = Page(console)
    a = comparison.a
    b = comparison.b
    page.line(comparison.headline, "bold")
    page.line(f"A = {a.run_id} {a.name}".rstrip() + f", B = {b.run_id} {b.name}".rstrip(), "dim")
    for warning in comparison.warnings:
        page.line(f"warning: {warning}", "yellow")
    _difference_table(page, comparison.metrics)
    _equivalences(page, comparison.metrics)
    _changed_rows(page, comparison)


def _difference_table(page: Page, metrics: Sequence[MetricComparison]) -> None:
    page.title("Differences, B - A, over the rows that both runs scored")
    heads = [
        ("metric", False),
        ("A", True),
        ("B", True),
        ("difference [95 %]", False),
        ("p", False),
        ("won/tied/lost", True),
    ]
    page.table(heads, [_difference_cells(m) for m in metrics])
    page.line(
        "won: B is better (where neither end is, higher). dropped: rows of both runs with a value"
        " in only one of them. p is corrected for the number of metrics. Each difference that could"
        " have been found:",
        "dim",
        indent=2,
    )
    detectable = [
        f"{m.metric} {say.figure(m.result.minimum_detectable, m.unit)}"
        for m in metrics
        if m.result.minimum_detectable is not None
    ]
    page.line(", ".join(detectable) or "unknown: no spread was seen", "dim", indent=2)


def _difference_cells(m: MetricComparison) -> list[str | tuple[str, str]]:
    result = m.result
    rows = f"{result.n:,} paired, {m.dropped:,} dropped{_TURNED[m.better]}"
    difference = say.number_words(result.difference, result.interval, m.unit, sign=True)
    return [
        (m.metric, rows),
        say.figure(result.mean_a, m.unit),
        say.figure(result.mean_b, m.unit),
        (difference, m.change),
        say.p_value(m.p) or "–",
        f"{m.won}/{result.ties}/{m.lost}",
    ]


def _equivalences(page: Page, metrics: Sequence[MetricComparison]) -> None:
    """For each metric that was tested for it, whether its difference is too small to matter."""
    rows = []
    margin = 0.0
    for m in metrics:
        tested = m.equivalence
        if tested is not None:
            margin = tested.margin
            difference = say.number_words(tested.difference, tested.interval, sign=True)
            answer = "yes" if tested.equivalent else "not shown"
            rows.append([m.metric, difference, say.p_value(tested.p) or "–", answer])
    if not rows:
        return
    page.title(f"Is the difference smaller than {margin:g}? (two one-sided tests, each at 5 %)")
    heads = [("metric", False), ("difference [90 %]", False), ("p", False), ("equivalent", False)]
    page.table(heads, rows)


def _changed_rows(page: Page, comparison: Comparison) -> None:
    if not comparison.changed:
        return
    page.title("Rows that changed most")
    heads = [
        ("row", False),
        ("metric", False),
        ("A", True),
        ("B", True),
        ("change", True),
        ("verdict", False),
    ]
    page.table(heads, [_changed_cells(row) for row in comparison.changed])


def _changed_cells(row: ChangedRow) -> list[str]:
    return [
        one_line(row.id, 40),
        row.metric,
        say.figure(row.a),
        say.figure(row.b),
        f"{say.signed(row.b - row.a)} {row.change}".rstrip(),
        _turn(row.verdict_a, row.verdict_b),
    ]


def _turn(a: Verdict | None, b: Verdict | None) -> str:
    first, second = say.VERDICT_WORDS[a], say.VERDICT_WORDS[b]
    return first if a is b else f"{first} → {second}"
