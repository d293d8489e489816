"""Reports for a terminal of any width, with or without colour: a run, a row, a comparison.

Everything judged is hostile: texts go through `plain` and into rich `Text`, so neither escapes nor
markup act.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console

from ragassay.core import (
    AskedOfRow,
    Cause,
    Diagnosis,
    Manifest,
    Part,
    RowResult,
    RunState,
    Sample,
    Score,
    Status,
)
from ragassay.diagnosis import part_text
from ragassay.report import wording as say
from ragassay.report.claims import claims_of
from ragassay.report.gate import GateResult
from ragassay.report.proof import overruled, place
from ragassay.report.terminal_page import WIDE, Page, page_on
from ragassay.report.text import file_name, one_line

if TYPE_CHECKING:
    from ragassay.store import StoredRun

CONTEXT_SHOWN = 4000  # characters of a context's text


def render_row(row: RowResult, console: Console | Page, manifest: Manifest | None = None) -> None:
    """One row: verdict, cause and what lies behind it, question, response claim by claim with
    evidence, contexts, what else was judged part by part, scores. manifest: its run's, for units
    and directions; else as the metrics declare them.
    """
    page = page_on(console)
    if row.bad is not None or row.sample is None:
        _unreadable_row(page, row)
        return
    _row_verdict(page, row, _place(row.sample, manifest))
    if not row.done:
        page.line("This row is not finished: a resume will judge the rest.", "yellow")
    _row_texts(page, row.sample)
    _row_claims(page, row, row.sample)
    _sections(page, row)
    _contexts(page, row)
    _scores(page, row, manifest)


def render_asked(asked: AskedOfRow, console: Console | Page) -> None:
    """What the judge's model was sent about a row, message by message, and its raw replies."""
    page = page_on(console)
    if asked.why:
        page.title("What the judge was asked")
        page.line(asked.why, indent=2)
    for number, exchange in enumerate(asked.exchanges, 1):
        of = f" of {len(asked.exchanges)}" if len(asked.exchanges) > 1 else ""
        model = f", asked of {exchange.model}" if exchange.model else ""
        page.title(f"Call {number}{of} to the judge: {exchange.rubric}{model}")
        if exchange.run_id:
            page.note(f"asked in the run {exchange.run_id}, whose judgments were reused")
        if exchange.missing:
            page.line(f"not all of it can be shown: {exchange.missing}", "yellow", indent=2)
        for role, text in exchange.messages:
            page.line(f"{role}:", "bold", indent=2)
            page.line(text, indent=4)
        finish = "" if exchange.finish in ("", "stop") else f" ({exchange.finish})"
        page.line(f"reply{finish}:", "bold", indent=2)
        if exchange.failure:
            page.line(f"none came: {exchange.failure}", "yellow", indent=4)
        else:
            page.line(exchange.reply or "(empty)", indent=4)


def _scores(page: Page, row: RowResult, manifest: Manifest | None) -> None:
    """A line a metric; those that do not apply together, by their reason."""
    heads = [
        ("metric", False),
        ("value", True),
        ("verdict", False),
        ("judged", True),
        ("why", False),
    ]
    applicable = []
    elsewhere: dict[str, list[str]] = {}
    for score in row.scores:
        if score.status is Status.NOT_APPLICABLE:
            elsewhere.setdefault(score.reason, []).append(score.metric)
        else:
            applicable.append(_score_cells(score, manifest))
    page.title("Scores")
    page.table(heads, applicable)
    for reason, names in elsewhere.items():
        page.note(f"not applicable, {reason}: {', '.join(names)}")


def render_score(score: Score, console: Console | Page) -> None:
    """One metric of one row: its value and verdict, and what was judged, part by part."""
    page = page_on(console)
    heads = [("metric", False), ("value", True), ("verdict", False), ("judged", True)]
    page.table(heads, [_score_cells(score, None)[:4]])
    why = score.reason or score.rationale
    if score.status is not Status.JUDGED:
        why = say.with_reason(score.status, why)
    if why:
        page.line(why, indent=2)
    for part in score.parts:
        word = say.claim_word(part) if part.kind == "claim" else say.section(score.metric, part)[1]
        words = one_line(part.text, 400)
        if part.kind == "chunk":
            word = say.chunk_word(part, score.metric)
            if not words and part.context is not None:
                words = f"context {part.context + 1}"
        _part(page, part, word or _rating_words(score, part), words)


def _unreadable_row(page: Page, row: RowResult) -> None:
    bad = row.bad
    where = f" ({bad.place})" if bad is not None else ""
    page.line(f"Row {row.id} could not be read{where}", "bold")
    if bad is None:
        return
    page.line(f"{bad.code}: {bad.what}", indent=2)
    if bad.why:
        page.line(bad.why, indent=2)
    if bad.fix:
        page.line(f"fix: {bad.fix}", indent=2)


_BY_LINE = (".jsonl", ".ndjson", ".csv", ".tsv")


def _place(sample: Sample, manifest: Manifest | None) -> str:
    """Where the row stands in its source: ", line 3" of a file of lines, else ", row 3"; "" where
    the id says it already.
    """
    if not sample.line or manifest is None or sample.id == f"row-{sample.line}":
        return ""
    source = manifest.source.lower().removesuffix(".gz")
    word = "line" if source.endswith(_BY_LINE) else "row"
    return f", {word} {sample.line}"


def _row_verdict(page: Page, row: RowResult, place: str) -> None:
    """The verdict, the root cause with what lies behind it, and the other causes."""
    diagnosis = row.diagnosis
    page.marked(say.VERDICT_WORDS[diagnosis.verdict], f"row {row.id}{place}", indent=0)
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
    page.line(f"{label}: {say.cause_words(cause)}", "bold", indent=2)
    if cause.uncertain:
        page.line(say.doubt(cause), "yellow", indent=4)
    if cause.detail:
        page.line(say.cause_detail(cause), indent=4)
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
    evidence = overruled(row)
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
        if i in evidence:
            page.line(evidence[i], indent=5)
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


_SHOWN_ABOVE = ("claim", "chunk")


def _score_cells(score: Score, manifest: Manifest | None) -> list[str]:
    # Of claims and chunks the reasons stand above, one by one.
    shown_above = bool(score.parts) and all(part.kind in _SHOWN_ABOVE for part in score.parts)
    why = score.reason or ("" if shown_above else score.rationale)
    if score.status is not Status.JUDGED:
        why = say.with_reason(score.status, why)
    judged = ""
    if score.counts.asked:
        judged = f"{score.counts.judged}/{score.counts.asked}"
    return [
        score.metric,
        say.figure(score.value, say.unit_of(score.metric, manifest)),
        say.verdict_and_mark(score, manifest),
        judged,
        one_line(why, 300),
    ]


def render_runs(runs: Iterable[StoredRun], console: Console | Page) -> None:
    """The runs of a store, as given."""
    page = page_on(console)
    stored = list(runs)
    if not stored:
        page.line("The store holds no run yet. Start one: ragassay evaluate rows.jsonl")
    elif page.width >= WIDE:
        heads = [("started (UTC)", False), ("state", False), ("source", False)]
        page.table(_RUN_HEADS + heads, [[*_run_cells(run), *_more_cells(run)] for run in stored])
    else:
        # The id begins with the time; a state is said where it is not the usual one.
        page.table(_RUN_HEADS, [_run_cells(run, with_state=True) for run in stored])


_RUN_HEADS = [("run", False), ("name or file", False), ("rows", True), ("judge", False)]


def _run_cells(run: StoredRun, *, with_state: bool = False) -> list[str | tuple[str, str]]:
    manifest = run.manifest
    rows = f"{run.done:,}/{manifest.rows:,}"
    judge: str | tuple[str, str] = manifest.judge.uri
    if with_state and run.state is not RunState.FINISHED:
        judge = (manifest.judge.uri, say.STATE_WORDS[run.state])
    name = manifest.name or file_name(manifest.source)
    return [manifest.run_id, one_line(name, 120), rows, judge]


def _more_cells(run: StoredRun) -> list[str | tuple[str, str]]:
    manifest = run.manifest
    started = manifest.created[:16].replace("T", " ")
    return [started, say.STATE_WORDS[run.state], one_line(file_name(manifest.source), 40)]


_OUTCOME_WORDS = {True: "pass", False: "fail", None: "undecided"}


def render_gates(result: GateResult, console: Console | Page) -> None:
    """Each gate with what it met, and what keeps the run from being complete."""
    page = page_on(console)
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
