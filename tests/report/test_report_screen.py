"""The first screen of a run: at most forty lines at any width, what is left out is counted."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

import ragassay
from ragassay.core import MetricTrust, RunState, Score, Status, Verdict
from ragassay.diagnosis.causes import CAUSES
from ragassay.report import Detail, render_summary, summarise, summary_text
from ragassay.report.terminal_page import TerminalPage
from ragassay.report.wording import first_step

METRICS = tuple(f"own_metric_{n}" for n in range(20))


def shown(summary, width=80, **detail):
    out = io.StringIO()
    render_summary(summary, Console(file=out, width=width), detail=Detail(**detail))
    return out.getvalue()


@pytest.fixture
def large(make, save):
    """A run with all that a summary can say: 120 rows of 8 causes, 20 metrics, slices that differ,
    rows that could not be read.
    """
    rows = []
    for n in range(120):
        cause = list(CAUSES.values())[n % 8] if n % 3 else None
        verdict = Verdict.FAIL if cause else Verdict.PASS
        row = make.row(
            n,
            slices={"system": "old" if cause and n % 2 else "new"},
            sentences=(("The limit is 90 requests a minute, as it says in the letter. " * 3, 0),),
        )
        scores = tuple(
            Score(name, Status.JUDGED, 0.1 if cause else 0.9, "", verdict, 0.5) for name in METRICS
        )
        parts = row.scores[1]
        diagnosis = replace(row.diagnosis, verdict=verdict, cause=cause)
        rows.append(replace(row, scores=(*scores, parts), diagnosis=diagnosis))
    rows += [make.bad(n) for n in range(120, 130)]
    return save(rows, metrics=(*METRICS, "groundedness"))


@pytest.mark.parametrize("width", [80, 100, 160])
def test_a_run_with_everything_in_it_fits_on_a_screen_of_forty_lines(store, large, width):
    summary = summarise(store, large)
    lost = replace(summary, state=RunState.BUDGET, pending=9, notes=("one", "two", "three"))
    for text in (shown(summary, width), shown(lost, width)):
        assert text.count("\n") <= 40, text
    text = shown(replace(summary, bad=0, bad_rows=()), width)
    assert text.count("\n") <= 40
    assert max(len(line) for line in text.splitlines()) <= width


def test_what_is_left_out_is_counted_with_the_option_that_shows_it(store, large):
    text = shown(summarise(store, large))
    assert "  and 5 more causes in 50 rows (-v)" in text
    assert "  and 15 more (--metrics-table)" in text
    assert "could not be read: line 121 and 9 more (-v): E0301 The line is not valid" in text
    everything = shown(summarise(store, large), verbose=True)
    for cause in list(CAUSES.values())[:8]:
        assert cause.title in everything
    for name in METRICS:
        assert name in everything


def test_the_options_show_their_part_and_nothing_else(store, mixed):
    summary = summarise(store, mixed)
    table = shown(summary, metrics_table=True)
    assert "passes at ≥ 90 % of claims" in " ".join(table.split())
    assert "fingerprint" not in table
    judge = replace(summary.manifest.judge, agreement="Measured somewhere.")
    told = replace(summary, manifest=replace(summary.manifest, judge=judge))
    assert "Measured somewhere." in shown(told, trust=True)
    assert "passes at" not in shown(summary, trust=True)


def test_each_cause_comes_with_the_first_thing_to_do(store, large):
    lines = shown(summarise(store, large), 160).splitlines()
    at = lines.index("What broke, in the 80 failing rows")
    assert [line.split(":")[0].strip() for line in lines[at + 2 : at + 7 : 2]] == ["try"] * 3


def test_the_failing_rows_that_are_not_quoted_are_named_where_no_note_takes_the_line(store, large):
    summary = replace(summarise(store, large), notes=())
    worst = [row.id for row in summary.worst]
    lines = shown(summary, 160).splitlines()
    assert f"  then {', '.join(worst[2:])}" in lines
    assert len(lines) <= 40


def test_the_first_step_of_each_cause_fits_on_a_line_of_eighty_columns():
    for cause in CAUSES.values():
        assert len(f"      try: {first_step(cause)}") <= 80, cause.name


def test_a_slice_that_is_worse_beyond_chance_is_named_once(store, large):
    text = shown(replace(summarise(store, large), bad=0, bad_rows=()))
    worse = text.split("worse than the other rows, beyond chance:\n")[1].splitlines()
    assert worse[0].startswith("  system = old (40 rows): own_metric_0 0.100, else ")
    assert worse[1] == ""


@pytest.mark.parametrize(
    ("trust", "words"),
    [
        (
            (MetricTrust("groundedness", False, "why"),),
            "Agreement with people here: not known (ragassay label next -m groundedness)",
        ),
        (
            (MetricTrust("groundedness", True, "why", kappa=0.61),),
            "Agreement with people on rows like yours (kappa): groundedness 0.61",
        ),
        (
            (
                MetricTrust("groundedness", True, "why", kappa=0.61),
                MetricTrust("answer_relevance", False, "why"),
            ),
            "Agreement with people on rows like yours (kappa): groundedness 0.61; not known of 1"
            " metric (ragassay label next -m answer_relevance)",
        ),
    ],
)
def test_one_line_says_what_is_known_of_the_judge(store, mixed, trust, words):
    text = shown(summarise(store, mixed, trust=trust), 160)
    assert words in [line.strip() for line in text.splitlines()]


def test_lines_that_wrap_have_no_blanks_at_their_end_and_break_no_command():
    out = io.StringIO()
    page = TerminalPage(Console(file=out, width=44))
    page.line("Agreement with people: not known (ragassay label next -m answer_relevance)")
    page.line("Judge: offline, 12 calls in all, and 2.82 s", indent=2)
    assert out.getvalue().splitlines() == [
        "Agreement with people: not known",
        "(ragassay label next -m answer_relevance)",
        "  Judge: offline, 12 calls in all, and",
        "  2.82 s",
    ]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"response": "In 1911."}, "No row has contexts: what the responses rest on"),
        ({"contexts": ["Built in 1911."]}, "No row has a response: only the retrieval"),
        ({"response": "In 1911.", "contexts": ["Built in 1911."]}, None),
        (
            {"question": None, "response": "In 1911.", "contexts": ["Built in 1911."]},
            "No row has a question: whether the responses answer it was not measured",
        ),
    ],
)
def test_a_run_says_what_its_rows_gave_nothing_to_measure_of(tmp_path, row, says):
    rows = [{"id": "a", "question": "When was it built?", **row}]
    with ragassay.evaluate(rows, store=tmp_path / "s.db") as run:
        text = summary_text(run.summary)
    assert ("No row has" in text) == (says is not None)
    assert (says or "") in text


@pytest.mark.parametrize("told", [3, 5, 8])
def test_a_summary_shares_the_screen_with_what_was_told_before(store, large, told):
    summary = replace(summarise(store, large), bad=0, bad_rows=(), notes=("one", "two"))
    page = TerminalPage.in_memory(80)
    render_summary(summary, page, detail=Detail(told=told))
    text = page.written()
    assert text.count("\n") + told <= 40, text
    # Fewer metrics and rows, and never a cause less.
    assert text.count("      try: ") == 3
    assert "Worst rows" in text


def test_a_row_with_a_long_id_is_named_with_its_cause_on_one_line(store, large):
    summary = summarise(store, large)
    worst = replace(summary.worst[0], id="0000000c-9f2c-9cd0-4674-edea40000001", uncertain=True)
    lines = shown(replace(summary, worst=(worst,)), 80).splitlines()
    (line,) = [each for each in lines if "✗ fail  0000000c" in each]
    assert line.endswith("… (uncertain)")
    assert len(line) <= 80


def test_no_figures_of_a_judge_stand_under_a_run_that_asked_none(store, large):
    summary = summarise(store, large)
    judge = replace(summary.manifest.judge, agreement="Measured somewhere.")
    manifest = replace(summary.manifest, judge=judge)
    asked = replace(summary, manifest=manifest)
    nobody = tuple(replace(metric, asked=0, judged=0) for metric in summary.metrics)
    for detail in ({}, {"trust": True}, {"verbose": True}):
        assert "Measured somewhere." in shown(asked, **detail)
        assert "Measured somewhere." not in shown(replace(asked, metrics=nobody), **detail)
