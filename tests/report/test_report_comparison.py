"""Two runs of the same rows: paired, corrected, and honest about what is not comparable."""

from __future__ import annotations

import io
import json
import math
from dataclasses import replace

import pytest
from rich.console import Console
from statsmodels.stats.proportion import proportion_confint

from ragassay.core import Score, SetupError, Status, Verdict
from ragassay.report import compare, comparison_json, render_comparison
from support.as_json import as_json
from support.present import present
from support.whole_reports import render_all_of_comparison

GOOD, BAD = (("The limit is 20 requests a minute.", 3),), (("It is unlimited.", 0),)


@pytest.fixture
def pair(make, save):
    save([make.row(i, sentences=GOOD if i < 10 else BAD) for i in range(20)], "a")
    save(
        [make.row(i, sentences=GOOD if i < 18 else BAD) for i in range(19)] + [make.row(30, "new")],
        "b",
    )
    return "a", "b"


def test_rows_are_paired_by_id(store, pair):
    c = compare(store, *pair)
    assert (c.both, c.only_a, c.only_b) == (19, 1, 1)
    groundedness = next(m for m in c.metrics if m.metric == "groundedness")
    # of the 19 rows in both, 10 and 18 are right
    assert groundedness.result.mean_a == pytest.approx(10 / 19)
    assert groundedness.result.difference == pytest.approx(8 / 19)
    assert (groundedness.result.wins, groundedness.result.ties, groundedness.result.losses) == (
        8,
        11,
        0,
    )
    assert present(groundedness.result.p) < present(groundedness.p) < 0.05
    assert (c.fixed, c.broken) == (8, 0)
    # eight fair coins all on one side, the outcome itself by half: 2 * 0.5 ** 8 - 0.5 ** 8
    assert c.turned is not None
    assert c.turned.mid_p == pytest.approx(0.5**8)
    assert (
        c.headline
        == "groundedness rises (better) beyond chance; 8 rows fixed, 0 broken of 19 compared (p ="
        " 0.004)"
    )
    assert {r.id for r in c.changed} == {f"row-{i}" for i in range(11, 19)}


def test_rows_where_one_side_has_no_value_are_counted_as_dropped(make, save, store):
    save(
        [
            make.row(0),
            make.row(1, answer="n/a"),
            make.row(2),
            make.row(3, answer="n/a"),
            make.row(9),
        ],
        "a",
    )
    save(
        [
            make.row(0),
            make.row(1),
            make.row(2, answer="n/a"),
            make.row(3, answer="n/a"),
            make.bad(9),
        ],
        "b",
    )
    c = compare(store, "a", "b")
    answers = next(m for m in c.metrics if m.metric == "answer_relevance")
    # of rows 1 to 4: paired, only b, only a, neither
    assert (c.both, answers.result.n, answers.dropped) == (4, 1, 2)
    assert as_json(comparison_json(c))["metrics"][2]["dropped"] == 2
    out = io.StringIO()
    render_all_of_comparison(c, Console(file=out, width=120))
    assert "1 paired, 2 dropped" in out.getvalue()
    out = io.StringIO()
    render_comparison(c, Console(file=out, width=80))
    assert "left out, with a value in only one run: answer_relevance 2 rows" in out.getvalue()


def test_rows_in_only_one_run_are_reported(store, pair):
    assert (
        "rows in only one of the runs are left out: 1 of A, 1 of B"
        in compare(store, *pair).warnings
    )


def test_metrics_of_a_row_that_turned_alike_stand_in_one_line(make, save, store):
    save([make.row(0, sentences=BAD)], "a")
    save([make.row(0, sentences=GOOD)], "b")
    c = compare(store, "a", "b")
    (changed,) = c.changed
    c = replace(c, changed=(changed, replace(changed, metric="faithfulness")))
    out = io.StringIO()
    render_comparison(c, Console(file=out, width=80))
    _, table = out.getvalue().split("Rows that changed most\n")
    _, line = table.splitlines()[:2]
    assert line.split("  ")[1:3] == ["row-1", "groundedness, faithfulness"]
    # In JSON they are a record each.
    assert [row["metric"] for row in as_json(comparison_json(c))["changed"]] == [
        "groundedness",
        "faithfulness",
    ]


def test_a_run_against_itself_shows_nothing(store, pair):
    c = compare(store, "a", "a")
    assert c.headline.startswith("No difference beyond chance")
    assert c.warnings == ()
    assert c.changed == ()
    assert all(m.p == 1.0 for m in c.metrics)


def test_rows_of_one_cluster_turn_together_and_count_once(make, save, store):
    rows = [make.row(i, sentences=BAD, cluster="one document") for i in range(8)]
    save(rows, "a")
    save([make.row(i, sentences=GOOD, cluster="one document") for i in range(8)], "b")
    turned = compare(store, "a", "b").turned
    assert turned is not None
    assert (turned.wins, turned.losses, turned.clusters, turned.exact) == (8, 0, 1, 1.0)


def test_rows_that_turn_together_are_a_difference_though_no_metric_is(store, pair):
    c = compare(store, *pair)
    untested = tuple(replace(metric, p=0.4) for metric in c.metrics)
    assert c.turned is not None
    assert c.turned.mid_p < 0.05
    better = replace(c, metrics=untested)
    assert better.headline.startswith("More rows pass beyond chance; 8 rows fixed, 0 broken")
    worse = replace(c, metrics=untested, fixed=0, broken=8)
    assert worse.headline.startswith("Fewer rows pass beyond chance; 0 rows fixed, 8 broken")


def test_what_could_not_be_tested_is_not_said_to_be_no_difference(make, save, store):
    rows = [make.row(i, sentences=BAD, cluster="one document") for i in range(8)]
    save(rows, "a")
    save([make.row(i, sentences=GOOD, cluster="one document") for i in range(8)], "b")
    c = compare(store, "a", "b")
    assert all(metric.p is None for metric in c.metrics)
    assert c.headline.startswith("Too little to test whether a metric differs; 8 rows fixed")


@pytest.mark.slow
def test_a_margin_asks_whether_a_difference_is_too_small_to_matter(make, save, store):
    scores = [GOOD if i % 2 else BAD for i in range(200)]
    save([make.row(i, sentences=one) for i, one in enumerate(scores)], "a")
    changed = {4: GOOD, 5: BAD}
    save([make.row(i, sentences=changed.get(i, one)) for i, one in enumerate(scores)], "b")
    wide, narrow = (
        next(
            m for m in compare(store, "a", "b", margin=margin).metrics if m.metric == "groundedness"
        ).equivalence
        for margin in (0.05, 0.005)
    )
    # one row up and one down of 200: t reaches 0.0117; Newcombe's end, from Wilson's of 1 in 200
    # each way, further
    assert wide is not None
    assert narrow is not None
    low, high = proportion_confint(1, 200, 0.1, "wilson")
    assert present(wide.interval).high == pytest.approx(
        math.hypot(high - 0.005, 0.005 - low), abs=1e-3
    )
    assert (wide.equivalent, narrow.equivalent) == (True, False)
    out = io.StringIO()
    render_comparison(compare(store, "a", "b", margin=0.05), Console(file=out, width=120))
    assert "smaller than 0.05" in out.getvalue()
    assert all(m.equivalence is None for m in compare(store, "a", "b").metrics)


@pytest.mark.parametrize("margin", [0.0, 1.0, -0.1, float("nan")])
def test_an_invalid_margin_is_refused(store, pair, margin):
    with pytest.raises(SetupError, match="margin"):
        compare(store, *pair, margin=margin)


def test_different_judges_rubrics_and_data_are_never_compared_silently(make, save, store):
    judge = make.manifest("x", 1).judge
    other = replace(
        judge, uri="openai:m", rubrics={**judge.rubrics, "groundedness": "groundedness@2"}
    )
    save([make.row(0)], "a")
    save(
        [make.row(0)],
        "b",
        judge=other,
        source_hash="00" * 16,
        metrics=("groundedness", "faithfulness"),
    )
    warnings = " ".join(compare(store, "a", "b").warnings)
    for words in (
        "different data",
        "different judges: offline and openai:m",
        "groundedness@1 and groundedness@2",
        "only in run B: faithfulness",
        "only in run A: chunk_relevance",
    ):
        assert words in warnings


def test_a_changed_fingerprint_alone_is_reported(make, save, store):
    judge = make.manifest("x", 1).judge
    save([make.row(0)], "a")
    save(
        [make.row(0)],
        "b",
        judge=replace(judge, fingerprints={**judge.fingerprints, "groundedness": "99" * 16}),
    )
    assert any(
        "different judge fingerprint for groundedness" in w
        for w in compare(store, "a", "b").warnings
    )


def test_the_json_of_a_comparison_is_versioned_and_plain(store, pair):
    data = json.loads(json.dumps(comparison_json(compare(store, *pair)), allow_nan=False))
    assert (data["schema"], data["kind"], data["a"]["run_id"], data["both"]) == (
        1,
        "comparison",
        "a",
        19,
    )
    assert data["metrics"][1]["result"]["wins"] == 8


def shown_of(comparison):
    out = io.StringIO()
    render_comparison(comparison, Console(file=out, width=80))
    return " ".join(out.getvalue().split())


def test_a_table_of_changed_rows_says_whose_verdict_it_shows(store, pair):
    # Rows are fixed and broken by the verdict over all of their metrics.
    text = shown_of(compare(store, *pair))
    assert "row metric A → B metric's verdict" in text


def test_a_run_that_declines_is_compared_over_the_rows_that_both_answer(make, save, store):
    def scored(row, declines, supported):
        flags = ("abstention",) if declines else ()
        value = 1.0 if declines or supported else 0.0
        verdict = Verdict.PASS if value else Verdict.FAIL
        support = Score("groundedness", Status.JUDGED, value, verdict=verdict, flags=flags)
        share = Score("abstention", Status.JUDGED, float(declines), flags=flags)
        return replace(row, scores=(support, share))

    metrics = ("groundedness", "abstention")
    rows = [make.row(i) for i in range(14)]
    save([scored(row, False, i % 2) for i, row in enumerate(rows)], "a", metrics=metrics)
    save([scored(row, i < 10, i % 2) for i, row in enumerate(rows)], "b", metrics=metrics)
    c = compare(store, "a", "b")
    support = next(m for m in c.metrics if m.metric == "groundedness")
    # Rows 10 to 13, as they were: a refusal, which claims nothing, is no gain of support.
    assert (support.result.n, support.declined, support.dropped) == (4, 10, 0)
    assert support.result.difference == 0.0
    assert c.headline.startswith("B declines in 10 of 14 rows, A in 0 beyond chance; ")
    assert "left out, since a run declines to answer there: groundedness 10 rows" in shown_of(c)
    assert "left out, since a run declines" not in shown_of(compare(store, "a", "a"))
