"""What a summary counts, averages and points at."""

from __future__ import annotations

import json
from dataclasses import replace

import orjson
import pytest

from ragassay.core import AppUsage, RunState, Verdict
from ragassay.report import headline, row_json, run_json, summarise, summary_json
from ragassay.report.proof import proof
from ragassay.report.wording import AppTotals, app_words
from support.as_json import as_json
from support.present import present


def metric(summary, name):
    return next(m for m in summary.metrics if m.metric == name)


def test_every_row_is_counted_once(store, mixed):
    s = summarise(store, mixed)
    assert (s.rows, s.scored, s.bad, s.pending) == (8, 7, 1, 0)
    assert (s.passed, s.failed, s.undecided) == (4, 2, 1)
    assert headline(s) == "4 of 8 rows pass, 2 fail, 1 undecided, 1 could not be read"


def test_metrics_come_in_the_runs_order_with_their_denominators(store, mixed):
    s = summarise(store, mixed)
    assert [m.metric for m in s.metrics] == [
        "chunk_relevance",
        "groundedness",
        "answer_relevance",
        "latency",
    ]
    # values: 1, 1, 1/2, 1, none, 0, 1 -> mean 4.5 / 6; claims 8, of which one was lost
    groundedness = metric(s, "groundedness")
    assert groundedness.mean == pytest.approx(4.5 / 6)
    assert (groundedness.n, groundedness.asked, groundedness.judged) == (6, 8, 7)
    assert groundedness.coverage == pytest.approx(7 / 8)
    assert (groundedness.passed, groundedness.failed, groundedness.undecided) == (4, 2, 1)
    assert groundedness.pass_rate == pytest.approx(4 / 6)
    assert groundedness.interval.low <= groundedness.mean <= groundedness.interval.high
    assert groundedness.probability == pytest.approx(0.9)
    assert groundedness.pass_mark == 0.9


def test_a_metric_that_does_not_apply_says_to_how_many_rows_and_why(store, mixed):
    relevance = metric(summarise(store, mixed), "answer_relevance")
    assert relevance.not_applicable == 1
    assert relevance.reasons == {"the row has no response": 1}
    assert relevance.n == 6


def test_how_replies_were_read_is_summed_over_the_rows_and_said_in_words(store, make, save):
    commas = {"repaired": 2, "repaired:trailing_comma": 2, "no_rationale": 1}
    both = {"repaired": 1, "repaired:bare_list": 1, "repaired:trailing_comma": 1}
    rows = [
        replace(make.row(0), reading=commas),
        replace(make.row(1), reading=both),
        make.row(2),
    ]
    s = summarise(store, save(rows))
    assert s.reading == {
        "repaired": 3,
        "repaired:trailing_comma": 3,
        "repaired:bare_list": 1,
        "no_rationale": 1,
    }
    assert s.notes == (
        "3 verdicts read after the form of the judge's reply was repaired: trailing comma 3,"
        " bare list 1",
        "1 verdict without a rationale: the judge gave none",
    )
    assert summary_json(s)["reading"] == s.reading
    assert row_json(present(store.row("run1", rows[0].id)))["reading"] == commas


def test_replies_in_the_form_that_was_asked_for_need_no_word(store, mixed):
    s = summarise(store, mixed)
    assert s.reading == {}
    assert not any("repaired" in note for note in s.notes)


def test_seconds_are_not_squeezed_into_0_to_1(store, mixed):
    latency = metric(summarise(store, mixed), "latency")
    assert (latency.unit, latency.mean) == ("s", 1.5)
    assert latency.pass_rate is None


def test_a_missing_verdict_is_noted_with_its_reason(store, mixed):
    notes = " ".join(summarise(store, mixed).notes)
    assert "groundedness has no value in 1 row where it applies: no readable verdict" in notes


def test_causes_share_out_the_failing_rows(store, mixed):
    shares = summarise(store, mixed).causes
    assert [(c.cause.name, c.rows, c.share, c.examples) for c in shares] == [
        ("retrieval_irrelevant", 1, 0.5, ("row-6",)),
        ("ungrounded", 1, 0.5, ("row-3",)),
    ]
    intervals = [present(share.interval) for share in shares]
    assert all(interval.low < 0.5 < interval.high for interval in intervals)


def test_the_worst_rows_quote_the_claim_or_chunk_that_failed(store, mixed):
    worst = summarise(store, mixed).worst
    assert {w.id for w in worst} == {"row-3", "row-5", "row-6"}
    assert [w.verdict for w in worst] == [Verdict.FAIL, Verdict.FAIL, Verdict.UNDECIDED]
    invented = next(w for w in worst if w.id == "row-3")
    assert (invented.metric, invented.quote) == ("groundedness", "It was raised to 90 in May.")
    assert "says nothing of the kind" in invented.rationale
    assert len(summarise(store, mixed, worst=1).worst) == 1


def test_of_chunks_that_all_fail_the_best_is_quoted(make, save, store):
    row = make.row(
        0, chunks=(0, 1), contexts=("Cats sleep.", "Dogs bark."), sentences=(("Cats sleep.", 3),)
    )
    assert summarise(store, save([row])).worst[0].quote == "Dogs bark."


def test_usage_is_summed_and_latency_averaged(store, mixed):
    s = summarise(store, mixed)
    assert (s.app.total_tokens, s.app_rows) == (7 * 120, 7)
    assert s.app.cost == pytest.approx(0.007)
    assert s.app.latency == pytest.approx(1.5)


def test_each_total_says_over_how_many_rows_it_is_known(make, save, store):
    def used(i, usage):
        row = make.row(i)
        return replace(row, sample=replace(row.sample, usage=usage))

    parts, cost, late = AppUsage(100, 20), AppUsage(cost=0.5), AppUsage(input_tokens=7, latency=2.0)
    s = summarise(
        store,
        save(
            [used(0, parts), used(1, cost), used(2, late), used(3, AppUsage(1, 2, 30, None, 4.0))]
        ),
    )
    assert (s.app.total_tokens, s.app.input_tokens, s.app.cost, s.app.latency) == (
        150,
        108,
        0.5,
        3.0,
    )
    assert isinstance(s.app, AppTotals)
    assert s.app.rows == {
        "input_tokens": 3,
        "output_tokens": 2,
        "total_tokens": 2,
        "cost": 1,
        "latency": 2,
    }
    assert (
        app_words(s)
        == "application: 150 tokens (over 2 rows), $0.5000 (over 1 row), 3.00 s a row on average"
        " (over 2 rows)"
    )
    assert as_json(summary_json(s))["app"]["rows"]["cost"] == 1


def test_patterns_count_failing_rows_only(make, save, store):
    def patterned(row):
        return replace(row, diagnosis=replace(row.diagnosis, pattern="the context is ignored"))

    rows = [
        patterned(make.row(0)),
        patterned(make.row(1, sentences=(("x", 0),))),
        patterned(make.row(2, answer=1)),
    ]
    assert summarise(store, save(rows)).patterns == {"the context is ignored": 2}


def test_a_slice_that_stands_out_comes_first_with_a_corrected_p(make, save, store):
    wrong, right = (
        (("Nothing of this stands there.", 0),),
        (("The limit is 20 requests a minute.", 3),),
    )
    rows = [
        make.row(
            i,
            slices={"kind": "history" if i % 3 == 0 else "fact" if i % 3 == 1 else "other"},
            sentences=wrong if i % 3 == 0 else right,
        )
        for i in range(30)
    ]
    first = summarise(store, save(rows)).slices[0]
    assert (first.slice, first.value, first.metric, first.n) == (
        "kind",
        "history",
        "groundedness",
        10,
    )
    assert first.gap == pytest.approx(-1.0)
    assert present(first.p) < 0.001


def test_of_a_slice_with_two_values_only_the_lower_side_is_shown(store, mixed):
    shown = [(s.slice, s.metric) for s in summarise(store, mixed).slices]
    assert len(shown) == len(set(shown))
    assert all(
        s.value == "history" for s in summarise(store, mixed).slices if s.metric == "groundedness"
    )


def test_a_slice_that_is_an_identifier_is_left_out_with_a_note(make, save, store):
    s = summarise(store, save([make.row(i, slices={"url": f"u{i}"}) for i in range(101)]))
    assert s.slices == ()
    assert any("url" in note for note in s.notes)


def test_rows_of_one_cluster_widen_the_interval(make, save, store):
    def rows(cluster):
        return [
            make.row(i, cluster=cluster(i), sentences=(("x", 3 if i < 10 else 0),))
            for i in range(20)
        ]

    alone = metric(summarise(store, save(rows(lambda i: None), "alone")), "groundedness")
    shared = metric(
        summarise(store, save(rows(lambda i: f"doc{i // 5}"), "shared")), "groundedness"
    )
    assert (alone.clusters, shared.clusters) == (20, 4)
    assert shared.interval.high - shared.interval.low > alone.interval.high - alone.interval.low


def test_what_a_stop_left_open_is_pending_and_not_passed(make, save, store):
    rows = [make.row(0), make.row(1, done=False)]
    s = summarise(store, save(rows, total=5, state=RunState.BUDGET))
    assert (s.scored, s.pending, s.passed) == (1, 4, 1)
    assert "4 not evaluated yet" in headline(s)


def test_an_empty_run_has_no_numbers(save, store):
    s = summarise(store, save([], total=0))
    assert (s.rows, s.metrics[0].mean, s.causes, s.worst) == (0, None, (), ())
    assert headline(s) == "0 of 0 rows pass, 0 fail, 0 undecided"


def test_the_json_of_a_summary_is_versioned_and_plain(store, mixed):
    data = json.loads(json.dumps(summary_json(summarise(store, mixed)), allow_nan=False))
    assert (data["schema"], data["kind"], data["failed"]) == (1, "summary", 2)
    assert data["metrics"][1]["metric"] == "groundedness"
    assert data["manifest"]["judge"]["uri"] == "offline"
    assert data["worst"][0]["verdict"] == "fail"


def test_rows_and_runs_are_plain_json_too(make, save, store):
    run = save([make.row(0, "x", question="lone \ud800 surrogate", slices={"\ud800": "y"})])
    row = json.loads(orjson.dumps(row_json(store.row(run, "x"))))
    assert (row["schema"], row["kind"], row["id"], row["diagnosis"]["verdict"]) == (
        1,
        "row",
        "x",
        "pass",
    )
    assert row["scores"][1]["parts"][0]["evidence"][0]["context"] == 0
    assert row["sample"]["question"] == "lone \ufffd surrogate"
    record = json.loads(orjson.dumps(run_json(store.run(run))))
    assert (record["run_id"], record["state"], record["rows"]) == (run, "finished", 1)


def test_a_rating_of_the_whole_response_is_quoted_as_such(make, save, store):
    row = make.row(0, answer=1)
    shown = summarise(store, save([row])).worst[0]
    assert (shown.metric, shown.quote) == ("answer_relevance", "the answer")
    assert proof(row.score("answer_relevance"), row.sample).what == "the response falls short"
    assert (
        proof(make.row(0, sentences=(("x", 0),)).score("groundedness"), None).what
        == "claim 1 is not supported"
    )
