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
    RunState,
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
from ragassay.report.lost import first_loss, remedy
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
    """A console that prints only what its encoding can carry.

    A pipe on Windows or a terminal in the C locale has no signs such as "✓": printing one would end
    the command with a UnicodeEncodeError after the whole run.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self._encoding = console.encoding or "utf-8"

    def text(self, words: str, style: str = "") -> Text:
        return Text(self._fit(plain(words)), style=style, overflow="fold")

    def _fit(self, words: str) -> str:
        try:
            words.encode(self._encoding)
        except UnicodeEncodeError:
            # Look-alikes where there are some; a question mark for what is left.
            known_signs = words.translate(_REPLACED)
            return known_signs.encode(self._encoding, "replace").decode(self._encoding)
        return words

    def line(self, words: str = "", style: str = "", indent: int = 0) -> None:
        text = self.text(words, style)
        self.console.print(Padding(text, (0, 0, 0, indent), expand=False))

    def note(self, words: str) -> None:
        """A dim line under a table."""
        self.line(words, "dim", indent=2)

    def title(self, words: str) -> None:
        self.console.print()
        self.line(words, "bold")

    def marked(self, word: str, words: str, indent: int = 2) -> None:
        """A line that starts with sign and word: "✗ not supported  the claim"."""
        style = _STYLE.get(word, "")
        # The sign says the same as the colour, for those who see no colour.
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
            table.add_row(*map(self._cell, row))
        self.console.print(Padding(table, (0, 0, 0, 2), expand=False))

    def _cell(self, cell: str | tuple[str, str]) -> Text:
        if isinstance(cell, str):
            return self.text(cell)
        first, second = cell
        text = self.text(first)
        if second:
            text.append("\n")
            text.append_text(self.text(second, "dim"))
        return text


def render_summary(summary: Summary, console: Console, *, store: str = "") -> None:
    """The whole result of a run: the verdict in words first, then metrics, causes, worst rows,
    slices, cost, judge.

    store: what the commands that are proposed need to find the run (" --store PATH"), "" for the
    default store.
    """
    page = Page(console)
    page.line(say.headline(summary), "bold")
    if summary.state is not RunState.FINISHED:
        words = f"The run is not complete: {say.STATE_WORDS[summary.state]}"
        if summary.stop_reason:
            words += f" ({summary.stop_reason})"
        page.line(words, "yellow")
    _metrics(page, summary)
    _causes(page, summary)
    _worst(page, summary)
    _slices(page, summary)
    _bad_rows(page, summary)
    _costs(page, summary)
    _judge(page, summary)
    _next(page, summary, store)


def summary_text(summary: Summary, width: int = 100) -> str:
    """What `render_summary` prints, as plain text without colour."""
    out = io.StringIO()
    render_summary(summary, Console(file=out, width=width, no_color=True, highlight=False))
    return out.getvalue()


def _metrics(page: Page, s: Summary) -> None:
    page.title("Metrics")
    # A metric that did not apply to any row has a line of its own below the table.
    shown = [m for m in s.metrics if m.n or m.asked or m.undecided]
    if page.console.width >= WIDE:
        _wide_metrics(page, shown, s.manifest)
    else:
        heads = [("metric", False), ("mean [95 %]", False), ("pass rate [95 %]", False)]
        page.table(heads, [_narrow_cells(m, s.manifest) for m in shown])
    for words in say.absences(s):
        page.note(words)
    for note in s.notes:
        page.line(note, "yellow", indent=2)


WIDE = 120  # columns from which the figures of a metric fit on one line


def _wide_metrics(page: Page, shown: list[MetricSummary], manifest: Manifest) -> None:
    # Columns that would be empty are left out.
    with_undecided = any(m.undecided for m in shown)
    with_probability = any(m.probability is not None for m in shown)
    heads = [("metric", False), ("mean [95 %]", False), ("rows", True), ("pass rate [95 %]", False)]
    if with_undecided:
        heads.append(("undec.", True))
    heads.append(("passes at", False))
    heads.append(("judged", True))
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
        page.note("prob.: mean probability that the judge gave to the judged parts")


def _marked_direction(m: MetricSummary, manifest: Manifest) -> str:
    """The direction where it is not the usual one; of tokens, dollars and seconds it needs no
    saying.
    """
    if m.unit:
        return ""
    return say.direction(m.metric, manifest)


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
        percent = say.percent(share.share)
        interval = say.percent_interval(share.interval)
        rows = say.count(share.rows, "row")
        page.line(f"{percent} {interval}  {share.cause.title} ({rows})", indent=2)
        if share.cause.remedy:
            page.line(f"try: {share.cause.remedy}", "cyan", indent=6)
        for finer in say.finer_shares(share):
            page.line(finer, indent=6)
        page.line(f"e.g. {', '.join(share.examples)}", "dim", indent=6)
    for name, n in s.patterns.items():
        page.note(f"pattern in {say.count(n, 'failing row')}: {name}")


WORST_SHOWN = 10
BAD_ROWS_SHOWN = 10
SLICES_BY_CHANCE = 3  # shown where no slice differs from the rest beyond chance
CONTEXT_SHOWN = 4000  # characters of a context's text


def _worst(page: Page, s: Summary) -> None:
    if not s.worst:
        return
    titles = {share.cause.name: share.cause.title for share in s.causes}
    page.title("Worst rows")
    for row in s.worst[:WORST_SHOWN]:
        value = say.figure(row.value, say.unit_of(row.metric, s.manifest))
        words = f"{row.id}  {row.metric} {value}"
        cause = titles.get(row.cause, row.cause)
        if cause:
            words += f"  {cause}"
        page.marked(say.VERDICT_WORDS[row.verdict], words)
        if row.quote:
            page.line(f"“{one_line(row.quote)}”", indent=6)
        if row.rationale:
            page.line(one_line(row.rationale), "dim", indent=6)
    more = len(s.worst) - WORST_SHOWN
    if more > 0:
        page.note(f"and {more} more of the worst tenth: see the HTML report or --json")


def _slices(page: Page, s: Summary) -> None:
    if not s.slices:
        return
    shown = [x for x in s.slices if x.p is not None and x.p < 0.05]
    if shown:
        page.title("Slices that differ from the rest (p corrected for all that were compared)")
    else:
        if any(x.p is not None for x in s.slices):
            page.title("Slices: none differs from the rest beyond chance; these come closest")
        else:
            page.title("Slices: too few rows to test any against the rest; these differ most")
        shown = list(s.slices[:SLICES_BY_CHANCE])
    units = {m.metric: m.unit for m in s.metrics}
    # Where lower is better for one of them, the sign alone misleads.
    turned = any(say.direction(x.metric, s.manifest) for x in shown)
    heads = [
        ("slice", False),
        ("metric", False),
        ("mean [95 %]", False),
        ("gap", True),
        ("rows", True),
        ("p", False),
    ]
    rows: list[list[str | tuple[str, str]]] = []
    for x in shown:
        unit = units.get(x.metric, "")
        change = say.change_word(x.gap, x.metric, s.manifest) if turned else ""
        rows.append(
            [
                f"{one_line(x.slice, 40)} = {one_line(x.value, 40)}",
                x.metric,
                say.number_words(x.mean, x.interval, unit),
                (say.signed(x.gap, unit), change),
                f"{x.n:,}",
                say.p_value(x.p) or "too few rows",
            ]
        )
    page.table(heads, rows)


def _bad_rows(page: Page, s: Summary) -> None:
    if not s.bad:
        return
    page.title(f"{say.count(s.bad, 'row')} could not be read")
    for bad in s.bad_rows[:BAD_ROWS_SHOWN]:
        words = f"line {bad.line}, row {bad.id}: {bad.code} {bad.what}"
        if bad.why:
            words += f" ({bad.why})"
        page.line(words, indent=2)
        if bad.fix:
            page.line(f"fix: {bad.fix}", "cyan", indent=6)
    if s.bad > BAD_ROWS_SHOWN:
        page.note(f"and {s.bad - BAD_ROWS_SHOWN:,} more")


def _costs(page: Page, s: Summary) -> None:
    page.title("Cost and time")
    page.line(say.app_words(s), indent=2)
    page.line(say.ledger_words(s), indent=2)


def _judge(page: Page, s: Summary) -> None:
    judge = s.manifest.judge
    title = f"Judge: {judge.uri}"
    if judge.base_url:
        title += f" at {judge.base_url}"
    elif judge.sends_nothing:
        title += " (nothing leaves this machine)"
    page.title(title)
    if judge.self_preference:
        page.line(judge.self_preference, "yellow", indent=2)
    for metric, words, measured in say.trust_lines(s):
        if not metric:
            page.line(words, indent=2)
        elif measured:
            page.line(f"{metric}: {words}", indent=2)
        else:
            page.line(f"{metric}: {words}", "yellow", indent=2)
    words = say.order_words(s)
    if words:
        page.line(words, indent=2)
    for rubric, version in sorted(judge.rubrics.items()):
        page.note(f"{version}  fingerprint {judge.fingerprints.get(rubric, '')[:12]}")


def _next(page: Page, s: Summary, store: str) -> None:
    run = s.manifest.run_id
    page.title(f"Run {run}: next")
    if s.pending:
        page.line(f"ragassay resume {run}{store}", indent=2)
    elif any(m.judged < m.asked for m in s.metrics):
        instead = remedy(first_loss(s), s.manifest.options.get("max_tokens"))
        page.line(instead or f"ragassay resume {run} --retry-failed{store}", indent=2)
    for row in s.worst:
        # An id that had to be cut or changed to be shown would not be found by the command.
        if row.id == one_line(row.id, 60):
            page.line(f"ragassay show {run} --row {shlex.quote(row.id)}{store}", indent=2)
            break
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
    page.line("(none)" if sample.question is None else sample.question, indent=2)
    page.title("Response")
    # An empty response is one; a row without a response has none.
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
    lead = "finer cause: "
    if len(finer) > 1:
        page.line("finer cause, one or more of these:", indent=4)
        lead = "- "
    for cause in finer:
        page.line(lead + cause.title, "bold", indent=4)
        if cause.detail:
            page.line(cause.detail, indent=6)
        page.line(f"try: {cause.remedy}", "cyan", indent=6)


def _sections(page: Page, row: RowResult) -> None:
    """What was judged part by part beside claims and chunks: statements of the reference,
    guidelines, citations ...
    """
    for score in row.scores:
        current = ""
        for part in score.parts:
            title, word = say.section(score.metric, part)
            if not title:
                continue
            if title != current:
                current = title
                page.title(f"{title} ({score.metric})")
            _part(page, part, word, one_line(part_text(part, row.sample), 400))


def _part(page: Page, part: Part, word: str, words: str) -> None:
    page.marked(word, words)
    unscored = part.passed is None and part.value is None
    if unscored and part.status is not Status.NOT_APPLICABLE:
        page.line(say.why_unjudged(part), "yellow", indent=6)
    if part.rationale:
        page.line(part.rationale, "dim", indent=6)
    # What a judge points at for a claim that it does not find supported is no evidence, only the
    # nearest there is.
    nearest = "nearest, " if part.passed is False else ""
    sources = say.sources(part)
    if sources:
        page.line(sources, "dim", indent=6)
    for evidence in part.evidence:
        where = f"{nearest}context {place(part, evidence) + 1}"
        page.line(f"{where}: “{one_line(evidence.quote, 400)}”", indent=6)
    if word == "not supported" and not part.evidence and part.kind != "chunk":
        page.line("no evidence found in the contexts", indent=6)


def _contexts(page: Page, row: RowResult) -> None:
    contexts = row.sample.contexts if row.sample is not None else None
    page.title("Contexts")
    # No contexts is a retrieval that found nothing; None is a row without the field.
    if contexts is None:
        page.line("(the row says nothing about retrieval)", indent=2)
        return
    if not contexts:
        page.line("(nothing was retrieved)", indent=2)
        return
    for i, context in enumerate(contexts):
        ratings = _ratings_of(row, i)
        head = f"{i + 1}."
        if context.id:
            head += f" [{context.id}]"
        if ratings:
            head += "  " + "; ".join(_rating_words(score, part) for score, part in ratings)
        page.line(head, "bold", indent=2)
        text = context.text
        if len(text) > CONTEXT_SHOWN:
            text = text[:CONTEXT_SHOWN] + "…"
        page.line(text, indent=5)
        _rationales(page, ratings)


def _rationales(page: Page, ratings: Sequence[tuple[Score, Part]]) -> None:
    """The reasons behind the ratings of a context; what two metrics share is shown once."""
    shown: set[str] = set()
    for _, part in ratings:
        if part.rationale and part.rationale not in shown:
            shown.add(part.rationale)
            page.line(part.rationale, "dim", indent=5)


def _ratings_of(row: RowResult, context: int) -> list[tuple[Score, Part]]:
    """What the metrics say of the context at this place."""
    ratings = []
    for score in row.scores:
        for part in score.parts:
            if part.kind == "chunk" and part.context == context:
                ratings.append((score, part))
    return ratings


def _rating_words(score: Score, part: Part) -> str:
    words = f"{score.metric}: {say.chunk_word(part, score.metric)}"
    # A rating may also be a word, and that is said already.
    if isinstance(part.rating, float | int):
        words += f" (rated {part.rating:g})"
    return words


def _score_cells(score: Score, manifest: Manifest | None) -> list[str]:
    verdict = ""
    if score.verdict is not None:
        verdict = say.VERDICT_WORDS[score.verdict]
        if score.pass_mark is not None:
            verdict += f" ({say.pass_mark(score.pass_mark, score.metric, manifest)})"
    why = score.reason or score.rationale
    if score.status is not Status.JUDGED:
        why = say.with_reason(score.status, why)
    judged = ""
    if score.counts.asked:
        judged = f"{score.counts.judged}/{score.counts.asked}"
    return [
        score.metric,
        say.figure(score.value, say.unit_of(score.metric, manifest)),
        verdict,
        judged,
        one_line(why, 300),
    ]


def render_runs(runs: Iterable[StoredRun], console: Console) -> None:
    """The runs of a store, as given."""
    page = Page(console)
    rows = [_run_cells(run) for run in runs]
    if not rows:
        page.line("The store holds no run yet. Start one: ragassay evaluate rows.jsonl")
        return
    heads = [
        ("run", False),
        ("name", False),
        ("started (UTC)", False),
        ("state", False),
        ("rows", True),
        ("judge", False),
        ("source", False),
    ]
    page.table(heads, rows)


def _run_cells(run: StoredRun) -> list[str]:
    manifest = run.manifest
    # The file's name without its folders, of Windows too.
    file = manifest.source.replace("\\", "/").rsplit("/", 1)[-1]
    return [
        manifest.run_id,
        one_line(manifest.name, 30),
        manifest.created[:16].replace("T", " "),
        say.STATE_WORDS[run.state],
        f"{run.done:,}/{manifest.rows:,}",
        manifest.judge.uri,
        one_line(file, 40),
    ]


_OUTCOME_WORDS = {True: "pass", False: "fail", None: "undecided"}


def render_gates(result: GateResult, console: Console) -> None:
    """Each gate with what it met, and what keeps the run from being complete."""
    page = Page(console)
    page.title("Gates")
    messages = set()
    for outcome in result.outcomes:
        page.marked(_OUTCOME_WORDS[outcome.passed], outcome.message)
        messages.add(outcome.message)
    for message in result.incomplete:
        # A gate that could not be decided is among the outcomes already.
        if message not in messages:
            page.marked("undecided", message)
    if result.exit_code == 0:
        page.line("All conditions are met.", indent=2)


_TURNED = {"higher": "", "lower": ", lower is better", "neither": ", neither end is better"}


def render_comparison(comparison: Comparison, console: Console) -> None:
    """Two runs, row by row: the differences with their intervals, the rows that changed most."""
    page = Page(console)
    page.line(comparison.headline, "bold")
    a = f"A = {comparison.a.run_id} {comparison.a.name}".rstrip()
    b = f"B = {comparison.b.run_id} {comparison.b.name}".rstrip()
    page.line(f"{a}, {b}", "dim")
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
    page.note(
        "won: B is better (where neither end is, higher). dropped: rows of both runs with a value"
        " in only one of them. p is corrected for the number of metrics. Smallest detectable"
        " differences:"
    )
    detectable = []
    for m in metrics:
        smallest = m.result.minimum_detectable
        if smallest is not None:
            detectable.append(f"{m.metric} {say.figure(smallest, m.unit)}")
    page.note(", ".join(detectable) or "not known: the differences do not vary")


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
        if tested is None:
            continue
        margin = tested.margin  # the same for all metrics
        difference = say.number_words(tested.difference, tested.interval, sign=True)
        # That it is not shown does not mean that the runs differ.
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
    first = say.VERDICT_WORDS[a]
    if a is b:
        return first
    return f"{first} → {say.VERDICT_WORDS[b]}"
