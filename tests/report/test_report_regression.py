"""Held to a baseline: worse beyond chance fails, worse by chance does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragassay.core import DataError, Score, SetupError, Status
from ragassay.report import (
    StoredSide,
    check_gates,
    compare_runs,
    read_baseline,
    regression_outcomes,
    summarise,
    with_outcomes,
    write_baseline,
)

GOOD = (("The limit is 20 requests a minute.", 3),)
BAD = (("It was raised to 90 in May.", 0),)


@pytest.fixture
def runs(make, save, store):
    """Runs by name, of 20 rows each, of which the first `bad` claim what no chunk says."""

    def runs(**bad):
        sides = {}
        for name, number in bad.items():
            rows = [make.row(n, sentences=BAD if n < number else GOOD) for n in range(20)]
            sides[name] = StoredSide(store, save(rows, name))
        return sides

    return runs


def outcome(a, b, **more):
    (found,) = regression_outcomes(compare_runs(a, b), ["groundedness"], **more)
    return found


def test_a_metric_that_falls_beyond_chance_fails_and_one_that_falls_by_one_row_does_not(runs):
    sides = runs(before=0, one=1, many=12)
    worse = outcome(sides["before"], sides["many"])
    assert worse.passed is False
    assert worse.message.startswith(
        "no regression of groundedness: not met, it changes by -0.600 ["
    )
    assert "over 20 paired rows, p < 0.001" in worse.message
    assert outcome(sides["before"], sides["one"]).passed is True
    assert outcome(sides["many"], sides["before"]).passed is True


def test_with_a_margin_the_whole_interval_decides(runs):
    sides = runs(before=2, after=3)
    # One row of twenty: -0.05, with an interval of about a tenth to both sides.
    assert outcome(sides["before"], sides["after"], margin=0.5).passed is True
    unsure = outcome(sides["before"], sides["after"], margin=0.06)
    assert unsure.passed is None
    assert unsure.is_too_wide
    assert outcome(*runs(good=0, none=20).values(), margin=0.1).passed is False


def test_all_metrics_with_a_good_end_are_compared_where_none_is_named(runs):
    sides = runs(before=0, after=12)
    outcomes = regression_outcomes(compare_runs(sides["before"], sides["after"]))
    assert [one.gate.metric for one in outcomes] == [
        "chunk_relevance",
        "groundedness",
        "answer_relevance",
        "latency",
    ]
    assert [one.passed for one in outcomes] == [True, False, True, True]
    result = with_outcomes(check_gates(summarise(sides["after"].store, "after"), []), outcomes)
    assert result.exit_code == 1


def test_p_is_corrected_for_the_metrics_that_are_held_and_for_no_other(runs):
    sides = runs(before=0, after=6)
    comparison = compare_runs(sides["before"], sides["after"])
    (measured,) = (one for one in comparison.metrics if one.metric == "groundedness")
    # Three metrics beside it that did not change, as a run of the default has them.
    others = [
        replace(measured, metric=name, result=replace(measured.result, difference=0.0, p=1.0))
        for name in ("context_relevance", "context_recall", "answer_relevance")
    ]
    # 0.02 alone; times four it is no regression, although the interval lies below no change.
    falls = replace(measured, result=replace(measured.result, p=0.02), p=0.08)
    widened = replace(
        comparison,
        metrics=(falls, *others),
        a=replace(comparison.a, metrics=tuple(one.metric for one in (falls, *others))),
    )
    (alone,) = regression_outcomes(widened, ["groundedness"])
    assert alone.passed is False
    assert "p = 0.020" in alone.message
    among = regression_outcomes(widened)[0]
    assert among.passed is True
    assert "p = 0.080" in among.message
    assert "p is corrected for all that are compared" in among.message


def test_runs_by_different_judges_are_undecided_and_not_a_regression(runs, make, save, store):
    before = runs(before=0)["before"]
    rows = [make.row(n, sentences=BAD) for n in range(20)]
    judge = replace(make.manifest("x", 20).judge, uri="openai:other")
    after = StoredSide(store, save(rows, "after", judge=judge))
    found = outcome(before, after)
    assert found.passed is None
    assert "undecided, the judges differ: offline and openai:other" in found.message


def test_a_metric_that_the_baseline_does_not_have_is_refused(runs):
    sides = runs(before=0, after=0)
    comparison = compare_runs(sides["before"], sides["after"])
    with pytest.raises(SetupError, match="does not have the metric 'groundednes'") as caught:
        regression_outcomes(comparison, ["groundednes"])
    assert caught.value.code == "E0601"


def test_a_metric_that_is_no_longer_measured_is_undecided(runs, make, save, store):
    before = runs(before=0)["before"]
    rows = [make.row(n, sentences=GOOD) for n in range(20)]
    rows = [
        replace(row, scores=tuple(s for s in row.scores if s.metric != "groundedness"))
        for row in rows
    ]
    metrics = ("chunk_relevance", "answer_relevance", "latency")
    after = StoredSide(store, save(rows, "after", metrics=metrics))
    outcomes = {
        one.gate.metric: one.passed for one in regression_outcomes(compare_runs(before, after))
    }
    assert outcomes == {
        "chunk_relevance": True,
        "groundedness": None,
        "answer_relevance": True,
        "latency": True,
    }
    assert outcome(before, after).message == (
        "no regression of groundedness: undecided, the baseline measures it and this run does not"
    )


def failed(row):
    """The row as it is where the application failed on it."""
    reason = "the application failed on this row, so there is no response"
    scores = [
        Score(score.metric, Status.NOT_APPLICABLE, reason=reason)
        if score.metric == "groundedness"
        else score
        for score in row.scores
    ]
    return replace(row, scores=tuple(scores))


@pytest.mark.parametrize(("floor", "passed"), [(None, None), (0.8, None), (0.7, True)])
def test_rows_of_the_baseline_that_are_gone_or_have_no_response_are_missed(
    floor, passed, runs, make, save, store
):
    before = runs(before=0)["before"]
    rows = [make.row(n, sentences=GOOD) for n in range(16)]
    after = StoredSide(store, save([failed(rows[0]), *rows[1:]], "after"))
    found = outcome(before, after, floor=floor)
    # Of 20 rows four are gone, and on one the application failed: a share of .75 is left.
    assert found.passed is passed
    assert "5 of the 20 rows of the baseline are not in this run" in found.message


def test_a_floor_that_is_met_exactly_is_met(runs, make, save, store):
    before = runs(before=0)["before"]
    rows = [make.row(n, sentences=GOOD) for n in range(18)]
    found = outcome(before, StoredSide(store, save(rows, "after")), floor=0.9)
    assert found.passed is True  # 18 of 20 rows are a share of .9
    assert "2 of the 20 rows of the baseline are not in this run" in found.message


def test_a_metric_that_falls_on_the_rows_that_are_left_fails_whatever_the_floor(
    runs, make, save, store
):
    before = runs(before=0)["before"]
    rows = [make.row(n, sentences=BAD) for n in range(12)]
    assert outcome(before, StoredSide(store, save(rows, "after"))).passed is False


def test_what_the_baseline_has_no_value_of_is_not_held(runs, make, save, store):
    rows = [failed(make.row(n, sentences=GOOD)) for n in range(20)]
    before = StoredSide(store, save(rows, "before"))
    outcomes = regression_outcomes(compare_runs(before, runs(after=0)["after"]))
    assert "groundedness" not in {one.gate.metric for one in outcomes}
    # Asked for by name, it is undecided.
    assert outcome(before, before).passed is None


def test_where_no_row_changed_the_interval_says_what_may_hide(runs):
    sides = runs(before=0, after=0)
    found = outcome(sides["before"], sides["after"])
    assert found.passed is True
    # 20 rows without a change: 1 - .025 ** (1 / 20) = .168 is the exact interval's end.
    assert found.message.endswith("; a change below 0.168 may not show")


def test_runs_without_a_common_row_decide_nothing(runs, make, save, store):
    before = runs(before=0)["before"]
    after = StoredSide(store, save([make.row(0, "other")], "after"))
    outcomes = regression_outcomes(compare_runs(before, after))
    assert {one.passed for one in outcomes} == {None}


def test_a_baseline_file_gives_the_figures_of_its_run_and_holds_no_text(runs, store, tmp_path):
    sides = runs(before=2, after=14)
    file = tmp_path / "baseline.jsonl"
    write_baseline(store, "before", file)
    text = file.read_text()
    assert "requests a minute" not in text
    assert len(text.splitlines()) == 21
    from_file = compare_runs(read_baseline(file), sides["after"])
    from_store = compare_runs(sides["before"], sides["after"])
    assert from_file.metrics == from_store.metrics
    assert (from_file.fixed, from_file.broken) == (from_store.fixed, from_store.broken)


@pytest.mark.parametrize("content", ["", "{}", "nonsense", '{"kind": "ragassay baseline"}'])
def test_a_file_that_is_no_baseline_is_refused(content, tmp_path):
    file = tmp_path / "b.jsonl"
    file.write_text(content)
    with pytest.raises(DataError) as caught:
        read_baseline(file)
    assert caught.value.code == "E0607"


def test_a_gate_on_an_interval_is_met_missed_or_undecided(runs):
    sides = runs(none=0, half=10, all=20)
    passed = {}
    for name in sides:
        summary = summarise(sides[name].store, name)
        (found,) = check_gates(summary, ["interval(groundedness)>=0.6"]).outcomes
        passed[name] = found.passed
    # Of 20 rows, half: 0.5 with an interval from about 0.3 to 0.7.
    assert passed == {"none": True, "half": None, "all": False}


@pytest.mark.parametrize(
    ("gate", "passed", "words"),
    [
        ("judge_cost<=0.2", True, "it is $0.1254"),  # 0.1234 billed and 0.002 that may be
        ("judge_cost<=0.125", False, "it is $0.1254"),
        ("judge_calls<=85", True, "it is 85"),  # 84 answered, one of which nobody knows
        ("coverage(groundedness)>=1", True, "20 of 20 judged (100 %)"),
        ("coverage(latency)>=1", None, "nothing was asked of a judge"),
    ],
)
def test_a_gate_on_cost_calls_or_coverage(runs, gate, passed, words):
    side = runs(run=0)["run"]
    (found,) = check_gates(summarise(side.store, "run"), [gate]).outcomes
    assert found.passed is passed
    assert words in found.message
