"""What stands in the terminal: words before colour, every width, and nothing hostile."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from ragassay.core import Ledger, Sample, Score, SetupError, Spend, Status, Verdict
from ragassay.report import (
    check_gates,
    compare,
    render_comparison,
    render_gates,
    render_row,
    render_runs,
    render_summary,
    summarise,
    summary_text,
)
from ragassay.report.terminal import render_score
from ragassay.report.wording import ledger_words, verdict_and_mark
from support.present import present
from support.whole_reports import render_all

HOSTILE = "\x1b]0;owned\x07\x1b[2J[red]boom[/red] [link=http://evil]x[/link] \u202eevil \x9b31m [/]"


def shown(render, value, width=120, **more):
    out = io.StringIO()
    render(value, Console(file=out, width=width, **more))
    return out.getvalue()


def test_the_first_line_says_the_verdict_in_words(store, mixed):
    first = shown(render_summary, summarise(store, mixed)).splitlines()[0]
    assert first == "4 of 8 rows pass, 2 fail, 1 undecided, 1 could not be read"


def test_the_summary_shows_every_documented_part(store, mixed):
    text = shown(render_all, summarise(store, mixed))
    for words in (
        "groundedness",
        "0.750 [",
        "67 % [30, 90] of 6 rows",
        "7/8",
        "not applicable in 1 row: the row has no response",
        "What broke, in the 2 failing rows",
        "try: ",
        "“It was raised to 90 in May.”",
        "kind = history",
        "840 tokens",
        "84 calls, 40,000 tokens in, 5,000 out",
        "$0.1234",
        "7 judgments reused",
        "12.5 s in all",
        "Judge: offline",
        "groundedness@1  fingerprint abababababab",
        "Balanced accuracy 0.78",
        "line 8, row line-8: E0301",
        "fix: close the brace",
        "ragassay show run1 --row row-6",
    ):
        assert words in " ".join(text.split()).replace("@1 f", "@1  f"), words


@pytest.mark.parametrize(
    ("uri", "base_url", "title"),
    [
        ("offline", "", "Judge: offline (nothing leaves this machine)"),
        ("openai:m", "https://a.example/v1", "Judge: openai:m at https://a.example/v1"),
        ("other:m", "", "Judge: other:m"),
        ("panel:offline+other:m", "", "Judge: panel:offline+other:m"),
    ],
)
def test_only_for_the_offline_judge_the_summary_states_that_no_text_leaves_the_machine(
    store, mixed, uri, base_url, title
):
    summary = summarise(store, mixed)
    judge = replace(summary.manifest.judge, uri=uri, base_url=base_url)
    summary = replace(summary, manifest=replace(summary.manifest, judge=judge))
    lines = [line.strip() for line in shown(render_all, summary).splitlines()]
    assert [line for line in lines if line.startswith("Judge: ")] == [title]


def test_the_proposed_command_names_a_row_by_its_whole_id(store, mixed):
    summary = summarise(store, mixed)
    worst = tuple(
        replace(row, id=id)
        for row, id in zip(summary.worst, ["a" * 300, "b\nc", "two words"], strict=False)
    )
    text = shown(render_summary, replace(summary, worst=worst))
    assert "ragassay show run1 --row 'two words'" in text
    assert "--row" not in shown(render_summary, replace(summary, worst=worst[:2]))


@pytest.mark.parametrize("width", [60, 80, 119, 120, 200])
def test_each_figure_shows_its_denominator_and_mark_at_every_width(store, mixed, width):
    text = shown(render_all, summarise(store, mixed), width)
    words = " ".join(text.split("Metrics")[1].split())
    for figure in ("67 % [30, 90]", "≥ 90", "7/8", "0.90"):
        assert figure in words, figure
    assert ("of 6 rows" in words) or width < 80  # folded between columns
    assert ("over 6 rows" in words) == (width < 120)
    assert ("1 undecided" in words) or width >= 120 or width < 80


def test_the_mean_of_a_slice_has_its_interval(store, mixed):
    slice_ = next(s for s in summarise(store, mixed).slices if s.metric == "groundedness")
    interval = present(slice_.interval)
    mean = f"{slice_.mean:.3f} [{interval.low:.3f}, {interval.high:.3f}]"
    assert mean in shown(render_all, summarise(store, mixed))


def test_the_weight_of_a_claim_stands_beside_it(make, save, store):
    row = make.row(0)
    grounded = row.score("groundedness")
    weighted = replace(
        grounded,
        metric="faithfulness(mode=weighted)",
        parts=(replace(grounded.parts[0], weight=2.5),),
    )
    run = save([replace(row, scores=(*row.scores, weighted)), make.row(1)])
    assert "1. The limit is 20 requests a minute. (weight 2.5)" in shown(
        render_row, store.row(run, "row-1")
    )
    assert "weight" not in shown(render_row, store.row(run, "row-2"))


@pytest.mark.slow
@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_no_line_is_wider_than_the_terminal(store, mixed, width):
    for text in (
        shown(render_summary, summarise(store, mixed), width),
        shown(render_row, store.row(mixed, "row-3"), width),
        shown(render_runs, store.runs(), width),
        shown(render_comparison, compare(store, mixed, mixed), width),
    ):
        assert max(len(line) for line in text.splitlines()) <= width
        assert "\x1b" not in text


def test_a_row_shows_each_claim_with_sign_word_reason_and_evidence(store, mixed):
    text = shown(render_row, store.row(mixed, "row-3"))
    assert "✓ supported  1. The limit is 20 requests a minute." in text
    assert "context 1: “The limit is 20 requests a minute.”" in text
    assert "✗ not supported  2. It was raised to 90 in May." in text
    assert "no evidence found in the contexts" in text
    assert "cause: ungrounded" in text
    assert "try: tighten the prompt" in text
    assert "fail (≥ 90 % of claims)" in text
    lost = shown(render_row, store.row(mixed, "row-5"))
    assert "? not judged" in lost
    assert "no readable verdict: the reply held no verdict, twice" in lost


def test_a_misspelt_metric_of_a_row_is_an_error_that_names_its_scores(make):
    row = make.row(0)
    with pytest.raises(SetupError, match=r"no score 'groundednes'.*groundedness") as caught:
        row.score("groundednes")
    assert caught.value.code == "E0201"
    # A row that a cap left unfinished may lack the score of a metric that the run has.
    assert replace(row, done=False).score("groundednes") is None


@pytest.mark.parametrize(
    ("row_id", "source", "place"),
    [
        ("bridge", "/data/rows.jsonl", "row bridge, line 3"),
        ("bridge", "/data/rows.csv.gz", "row bridge, line 3"),
        ("bridge", "/data/rows.json", "row bridge, row 3"),
        ("bridge", "memory", "row bridge, row 3"),
        # The id that is made of the place says it already.
        ("row-3", "/data/rows.jsonl", "row row-3"),
    ],
)
def test_a_row_says_where_it_stands_in_its_source(make, row_id, source, place):
    row = make.row(0)
    row = replace(row, sample=replace(row.sample, id=row_id, line=3))
    manifest = replace(make.manifest("run1", 1), source=source)
    first, *_ = shown(lambda each, page: render_row(each, page, manifest), row).splitlines()
    assert first.endswith(f"  {place}")


def test_an_unreadable_row_shows_its_error(store, mixed):
    text = shown(render_row, store.row(mixed, "line-8"))
    assert "could not be read (line 8)" in text
    assert "E0301" in text


def test_hostile_texts_reach_no_terminal(make, save, store):
    row = make.row(
        0,
        HOSTILE[:40],
        question=HOSTILE,
        contexts=(HOSTILE,),
        sentences=((HOSTILE, 0),),
        slices={HOSTILE: HOSTILE},
    )
    run = save([row, make.row(1, slices={HOSTILE: "b"})], name=HOSTILE)
    for text in (
        shown(render_summary, summarise(store, run)),
        shown(render_row, store.row(run, row.id)),
        shown(render_runs, store.runs()),
        shown(render_comparison, compare(store, run, run)),
    ):
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(text)
    coloured = shown(
        render_row, store.row(run, row.id), force_terminal=True, color_system="truecolor"
    )
    assert "\x1b]" not in coloured
    assert "[red]boom[/red]" in coloured


def test_an_encoding_without_signs_gets_letters_instead(store, mixed):
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    render_row(store.row(mixed, "row-3"), Console(file=out, width=100))
    out.flush()
    text = raw.getvalue().decode("ascii")
    assert "x not supported  2." in text
    assert "+ supported  1." in text


def test_colour_is_never_the_only_sign(store, mixed):
    plain = shown(render_all, summarise(store, mixed), no_color=True, force_terminal=True)
    assert "✗ fail" in plain
    assert "? undecided" in plain


def test_an_empty_store_says_how_to_start():
    assert "ragassay evaluate rows.jsonl" in shown(render_runs, [])


def test_a_row_without_response_and_contexts_is_shown_as_such(make, save, store):
    row = replace(make.row(0), sample=Sample("bare"), scores=())
    text = shown(render_row, store.row(save([row]), "bare"))
    assert "the row says nothing about retrieval" in text


def test_gates_are_shown_with_sign_word_and_figure(store, mixed):
    result = check_gates(
        summarise(store, mixed),
        ["groundedness>=0.7", "groundedness>=0.8", "pass_rate(latency)>0"],
        0.95,
    )
    text = shown(render_gates, result)
    assert "✓ pass  groundedness>=0.7: met, it is 0.750" in text
    assert "✗ fail  groundedness>=0.8: not met, it is 0.750" in text
    assert text.count("there is no pass_rate of latency") == 1
    assert "? undecided  groundedness: 7 of 8 judged" in text


def test_the_text_of_a_summary_is_what_the_terminal_shows(store, mixed):
    summary = summarise(store, mixed)
    assert summary_text(summary, 120) == shown(render_summary, summary)


@pytest.mark.parametrize(
    ("ledger", "words"),
    [
        (Ledger(), ""),
        (
            Ledger(uncertain_calls=8, uncertain_cost=0.24, cut_off_calls=8, cut_off_cost=0.24),
            "8 calls cut off in flight (about $0.2400)",
        ),
        (
            Ledger(uncertain_calls=1, uncertain_cost=0.5),
            "1 call without an answer (held at $0.5000)",
        ),
        (
            Ledger(
                uncertain_calls=3,
                uncertain_cost=0.74,
                unbilled_calls=1,
                cut_off_calls=2,
                cut_off_cost=0.24,
            ),
            "2 calls cut off in flight (about $0.2400), 1 call without an answer and 1 call"
            " answered without usage figures (held at $0.5000)",
        ),
    ],
)
def test_what_is_not_billed_is_said_as_the_most_or_as_an_estimate(store, mixed, ledger, words):
    said = ledger_words(replace(summarise(store, mixed), ledger=ledger))
    assert said == f"judge: 0 calls{', ' * bool(words)}{words}; 12.5 s in all"


def test_thinking_is_said_beside_what_the_provider_had_in_its_cache(store, mixed):
    spend = Spend(2, 4000, 900, 3000, cost=0.1, reasoning_tokens=700)
    assert ledger_words(replace(summarise(store, mixed), ledger=Ledger(spend))) == (
        "judge: 2 calls, 4,000 tokens in, 900 out (3,000 of the input from the provider's cache,"
        " 700 of the output to think), $0.1000; 12.5 s in all"
    )


def test_a_score_of_a_row_is_printed_with_the_words_of_its_claims(make):
    row = make.row(0, sentences=(("It is long.", 3), ("It is red.", 0)))
    text = shown(render_score, present(row.score("groundedness")))
    assert "✓ supported  It is long." in text
    assert "✗ not supported  It is red." in text
    # What is stored knows them by their place in the response alone.
    assert [part.text for part in row.scores[1].parts] == ["", ""]
    assert "✓ relevant  context 1" in shown(render_score, present(row.score("chunk_relevance")))


def test_a_mean_of_ratings_stands_beside_the_share_that_its_mark_is_on():
    rated = Score("groundedness", Status.JUDGED, 2 / 3, verdict=Verdict.PASS, pass_mark=0.9)
    # A claim rated 2 of 3 passes: 100 % of claims do, at a mean of 0.667.
    assert verdict_and_mark(replace(rated, extra={"pass_share": 1.0})) == (
        "pass (≥ 90 % of claims: 100 %)"
    )
    assert verdict_and_mark(replace(rated, value=1.0, extra={"pass_share": 1.0})) == (
        "pass (≥ 90 % of claims)"
    )
