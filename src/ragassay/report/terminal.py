"""How does a run, a row or a comparison read in a terminal of any width, with or without colour?

Everything judged is hostile: texts go through `plain` and into rich `Text`, so neither escapes nor
markup act.
"""

from __future__ import annotations

import io
import shlex
from collections.abc import Iterable
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
    Score,
    Status,
    Summary,
    Verdict,
)
from ragassay.diagnosis import part_text
from ragassay.report import wording as say
from ragassay.report.claims import claims_of
from ragassay.report.comparison import Comparison
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
    open_rows, likely = (
        any(m.undecided for m in shown),
        any(m.probability is not None for m in shown),
    )
    heads = [("metric", False), ("mean [95 %]", False), ("rows", True), ("pass rate [95 %]", False)]
    heads += [("undec.", True)] if open_rows else []
    heads += [("passes at", False), ("judged", True)]
    page.table(
        [*heads, ("prob.", True)] if likely else heads,
        [
            [
                (m.metric, _marked_direction(m, manifest)),
                say.number_words(m.mean, m.interval, m.unit),
                f"{m.n:,}",
                say.pass_rate(m),
                *([f"{m.undecided:,}" if m.undecided else ""] if open_rows else []),
                say.pass_mark(m.pass_mark, m.metric, manifest),
                f"{m.judged:,}/{m.asked:,}" if m.asked else "",
                *([f"{m.probability:.2f}" if m.probability is not None else ""] if likely else []),
            ]
            for m in shown
        ],
    )
    if likely:
        page.line(
            "prob.: mean probability, as the judge sees it, of the judged parts", "dim", indent=2
        )


def _marked_direction(m: MetricSummary, manifest: Manifest) -> str:
    """The direction where it is not the usual one; of tokens, dollars and seconds it needs no
    saying.
    """
    return "" if m.unit else say.direction(m.metric, manifest)


def _narrow_cells(m: MetricSummary, manifest: Manifest) -> list[tuple[str, str]]:
    turned = _marked_direction(m, manifest)
    judged = [turned] if turned else []
    judged += [f"{m.judged:,}/{m.asked:,} judged"] if m.asked else []
    judged += [f"probability {m.probability:.2f}"] if m.probability is not None else []
    marks = (
        [f"passes at {say.pass_mark(m.pass_mark, m.metric, manifest)}"]
        if m.pass_mark is not None
        else []
    )
    marks += [f"{m.undecided:,} undecided"] if m.undecided else []
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
    and directions; else by the names.
    """
    page = Page(console)
    if row.bad is not None or row.sample is None:
        bad = row.bad
        page.line(
            f"Row {row.id} could not be read" + (f" (line {bad.line})" if bad else ""), "bold"
        )
        if bad is not None:
            for words in (f"{bad.code}: {bad.what}", bad.why, f"fix: {bad.fix}" if bad.fix else ""):
                if words:
                    page.line(words, indent=2)
        return
    d, sample = row.diagnosis, row.sample
    word = say.VERDICT_WORDS[d.verdict]
    page.marked(word, f"row {row.id}" + (f", line {sample.line}" if sample.line else ""), indent=0)
    for i, cause in enumerate(((d.cause,) if d.cause else ()) + d.others):
        _cause(page, cause, "cause" if i == 0 else "also")
        if i == 0:
            _finer(page, d)
    if not row.done:
        page.line("This row is not finished: a resume will judge the rest.", "yellow")
    page.title("Question")
    page.line(sample.question if sample.question is not None else "(none)", indent=2)
    page.title("Response")
    page.line(sample.response or ("(empty)" if sample.response == "" else "(none)"), indent=2)
    for title, text in (
        ("Reference", sample.reference),
        ("Expected facts", "\n".join(sample.expected_facts or ())),
    ):
        if text:
            page.title(title)
            page.line(text, indent=2)
    claims, weights = claims_of(row), say.weights(row)
    if claims:
        page.title("Claims of the response")
        for i, claim in enumerate(claims, 1):
            weight = say.weight(weights.get(say.claim_place(claim)))
            text = f"{i}. {part_text(claim, sample)}" + (f" ({weight})" if weight else "")
            _part(page, claim, say.claim_word(claim), text)
    _sections(page, row)
    _contexts(page, row)
    page.title("Scores")
    page.table(
        [("metric", False), ("value", True), ("verdict", False), ("judged", True), ("why", False)],
        [_score_cells(score, manifest) for score in row.scores],
    )


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
        ratings = [
            (s, p) for s in row.scores for p in s.parts if p.kind == "chunk" and p.context == i
        ]
        words = "; ".join(
            f"{s.metric}: {say.chunk_word(p, s.metric)}"
            + (f" (rated {p.rating:g})" if isinstance(p.rating, float | int) else "")
            for s, p in ratings
        )
        page.line(
            f"{i + 1}."
            + (f" [{context.id}]" if context.id else "")
            + (f"  {words}" if words else ""),
            "bold",
            indent=2,
        )
        page.line(
            context.text if len(context.text) <= 4000 else context.text[:4000] + "…", indent=5
        )
        for rationale in dict.fromkeys(p.rationale for _, p in ratings if p.rationale):
            page.line(rationale, "dim", indent=5)


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
    """Two runs, row by row: the differences with their intervals, and the rows that changed most."""
    page, c = Page(console), comparison
    page.line(c.headline, "bold")
    page.line(
        f"A = {c.a.run_id} {c.a.name}".rstrip() + f", B = {c.b.run_id} {c.b.name}".rstrip(), "dim"
    )
    for warning in c.warnings:
        page.line(f"warning: {warning}", "yellow")
    page.title("Differences, B - A, over the rows that both runs scored")
    page.table(
        [
            ("metric", False),
            ("A", True),
            ("B", True),
            ("difference [95 %]", False),
            ("p", False),
            ("won/tied/lost", True),
        ],
        [
            [
                (m.metric, f"{m.result.n:,} paired, {m.dropped:,} dropped{_TURNED[m.better]}"),
                say.figure(m.result.mean_a, m.unit),
                say.figure(m.result.mean_b, m.unit),
                (
                    say.number_words(m.result.difference, m.result.interval, m.unit, sign=True),
                    m.change,
                ),
                say.p_value(m.p) or "–",
                f"{m.won}/{m.result.ties}/{m.lost}",
            ]
            for m in c.metrics
        ],
    )
    page.line(
        "won: B is better (where neither end is, higher). dropped: rows of both runs with a value"
        " in only one of them. p is corrected for the number of metrics. Each difference that could"
        " have been found:",
        "dim",
        indent=2,
    )
    found = [
        f"{m.metric} {say.figure(m.result.minimum_detectable, m.unit)}"
        for m in c.metrics
        if m.result.minimum_detectable is not None
    ]
    page.line(", ".join(found) or "unknown: no spread was seen", "dim", indent=2)
    tested = [(m.metric, m.equivalence) for m in c.metrics if m.equivalence is not None]
    if tested:
        page.title(
            f"Is the difference smaller than {tested[0][1].margin:g}? (two one-sided tests, each at"
            " 5 %)"
        )
        page.table(
            [("metric", False), ("difference [90 %]", False), ("p", False), ("equivalent", False)],
            [
                [
                    name,
                    say.number_words(e.difference, e.interval, sign=True),
                    say.p_value(e.p) or "–",
                    "yes" if e.equivalent else "not shown",
                ]
                for name, e in tested
            ],
        )
    if c.changed:
        page.title("Rows that changed most")
        page.table(
            [
                ("row", False),
                ("metric", False),
                ("A", True),
                ("B", True),
                ("change", True),
                ("verdict", False),
            ],
            [
                [
                    one_line(r.id, 40),
                    r.metric,
                    say.figure(r.a),
                    say.figure(r.b),
                    f"{say.signed(r.b - r.a)} {r.change}".rstrip(),
                    _turn(r.verdict_a, r.verdict_b),
                ]
                for r in c.changed
            ],
        )


def _turn(a: Verdict | None, b: Verdict | None) -> str:
    first, second = say.VERDICT_WORDS[a], say.VERDICT_WORDS[b]
    return first if a is b else f"{first} → {second}"
