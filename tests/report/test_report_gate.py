"""When is a run good enough? Exit codes 0, 1 and 3, and gates that fail closed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragassay.core import Incomplete, RunState, Score, SetupError, Status
from ragassay.report import check_gates, conclude, parse_gate, summarise


@pytest.fixture
def summary(store, mixed):
    return summarise(store, mixed)  # groundedness 0.75, pass rate 4/6, coverage 7/8


@pytest.mark.parametrize(
    ("text", "figure", "metric", "op", "threshold"),
    [
        ("groundedness>=0.8", "mean", "groundedness", ">=", 0.8),
        (" groundedness > .5 ", "mean", "groundedness", ">", 0.5),
        ("latency<=2", "mean", "latency", "<=", 2.0),
        ("cost<1e-3", "mean", "cost", "<", 0.001),
        ("pass_rate(groundedness)>=0.9", "pass_rate", "groundedness", ">=", 0.9),
        ("lower(groundedness)>=0.75", "lower", "groundedness", ">=", 0.75),
        ("upper(latency)<3", "upper", "latency", "<", 3.0),
        ("chunk_relevance(rubric=x)>=0.8", "mean", "chunk_relevance(rubric=x)", ">=", 0.8),
        ("lower(pass_rate(groundedness))>=0.6", "lower(pass_rate)", "groundedness", ">=", 0.6),
        (
            "upper(pass_rate(chunk_relevance(rubric=x)))<0.6",
            "upper(pass_rate)",
            "chunk_relevance(rubric=x)",
            "<",
            0.6,
        ),
        ("lower(chunk_relevance(rubric=x))>=0.8", "lower", "chunk_relevance(rubric=x)", ">=", 0.8),
    ],
)
def test_a_gate_is_read(text, figure, metric, op, threshold):
    gate = parse_gate(text)
    assert (gate.figure, gate.metric, gate.op, gate.threshold) == (figure, metric, op, threshold)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "groundedness",
        ">=0.8",
        "groundedness>=",
        "groundedness=0.8",
        "groundedness>=high",
        "groundedness>=nan",
        "groundedness>=0.8 and more",
    ],
)
def test_a_malformed_gate_is_refused_with_an_example(text):
    with pytest.raises(SetupError) as caught:
        parse_gate(text)
    assert caught.value.code == "E0601"
    assert "groundedness>=0.8" in caught.value.fix


def test_a_gate_on_a_metric_that_is_not_in_the_run_names_the_nearest(summary):
    with pytest.raises(SetupError, match="E0601") as caught:
        check_gates(summary, ["groundednes>=0.8"])
    assert "Did you mean 'groundedness'?" in caught.value.fix


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gates", "floor", "code"),
    [
        ([], None, 0),
        (["groundedness>=0.75"], None, 0),
        (["groundedness>0.75"], None, 1),
        (["pass_rate(groundedness)>=0.55", "latency<2"], None, 0),
        (["pass_rate(groundedness)>=0.6"], None, 3),  # 4 of 7 or 5 of 7: one row is undecided
        (["pass_rate(groundedness)>=0.75"], None, 1),
        (["pass_rate(groundedness)<=0.6"], None, 3),
        (["pass_rate(answer_relevance)>=1"], None, 0),
        (["lower(pass_rate(groundedness))>=0.2"], None, 0),
        (["lower(pass_rate(groundedness))>=0.9"], None, 1),
        (["upper(pass_rate(groundedness))>=0.95"], None, 1),
        (["lower(pass_rate(latency))>=0.1"], None, 3),
        (["lower(groundedness)>=0.7"], None, 1),
        (["lower(latency)>=0.1"], None, 3),
        (["pass_rate(latency)>=0.1"], None, 3),
        (["groundedness>=0.75"], 0.85, 0),
        (["groundedness>=0.75"], 0.95, 3),
        (["groundedness>=0.9"], 0.95, 1),
        ([], 1.0, 3),
    ],
)
def test_the_exit_code_says_met_failed_or_incomplete(summary, gates, floor, code):
    assert check_gates(summary, gates, floor).exit_code == code


def test_a_figure_that_does_not_exist_is_neither_met_nor_failed(summary):
    outcome = check_gates(summary, ["pass_rate(latency)>=0"]).outcomes[0]
    assert outcome.passed is None
    assert "there is no pass_rate of latency" in outcome.message


def test_pending_rows_make_a_run_incomplete(make, save, store):
    s = summarise(store, save([make.row(0)], total=2, state=RunState.BUDGET))
    result = check_gates(s, ["groundedness>=0.8"])
    assert result.exit_code == 3
    assert "1 of 2 rows are not evaluated yet" in result.incomplete


def test_messages_name_the_figure(summary):
    result = check_gates(summary, ["groundedness>=0.8"], 0.95)
    assert result.outcomes[0].message == "groundedness>=0.8: not met, it is 0.750 over 6 of 8 rows"
    assert result.outcomes[0].rows == 6
    assert any("groundedness: 7 of 8 judged" in line for line in result.incomplete)
    assert any("7 of 8 rows are scored" in line for line in result.incomplete)


def test_a_parsed_gate_is_checked_like_its_text(summary):
    result = check_gates(summary, [parse_gate("groundedness>=0.7")])
    assert result == check_gates(summary, ["groundedness>=0.7"])
    assert result.to_json() == {
        "gates": [
            {
                "gate": "groundedness>=0.7",
                "value": pytest.approx(0.75),
                "passed": True,
                "message": "groundedness>=0.7: met, it is 0.750 over 6 of 8 rows",
                "rows": 6,
                "note": "",
            }
        ],
        "incomplete": [],
        "exit_code": 0,
    }


def test_undecided_rows_leave_a_pass_rate_between_two_bounds(summary):
    # 4 pass, 2 fail, 1 undecided: 4/7 = 57 % or 5/7 = 71 %
    outcome = check_gates(summary, ["pass_rate(groundedness)>=0.6"]).outcomes[0]
    assert outcome.passed is None
    assert outcome.value == pytest.approx(4 / 6)
    assert (
        "undecided, it is 67 % over 6 of 8 rows, and between 57 % and 71 % with the 1 undecided"
        in outcome.message
    )


def test_one_row_of_ten_does_not_meet_a_gate_for_all(make, save, store):
    rows = [make.row(i, answer=3 if i == 0 else "n/a") for i in range(10)]
    s = summarise(store, save(rows))
    assert check_gates(s, ["answer_relevance>=0.9"]).exit_code == 0
    assert (
        "met, it is 1.000 over 1 of 10 rows"
        in check_gates(s, ["answer_relevance>=0.9"]).outcomes[0].message
    )
    result = check_gates(s, ["answer_relevance>=0.9"], 0.5)
    assert result.exit_code == 3
    assert result.incomplete == (
        (
            "answer_relevance: a value in 1 of 10 rows, below the floor of 50 %: the row has no"
            " response (9)"
        ),
    )
    assert check_gates(s, ["answer_relevance>=0.9"], 0.1).exit_code == 0
    assert (
        check_gates(s, ["groundedness>=0.9"], 1.0).exit_code == 0
    )  # a metric without a gate may lack its field


@pytest.mark.parametrize(
    "reason",
    ["the application failed on this row, so there is no response", "the response is empty"],
)
def test_rows_on_which_the_application_failed_do_not_meet_a_gate_for_all(reason, make, save, store):
    rows = [make.row(i) for i in range(10)]
    for i in range(1, 10):
        scores = [
            Score(score.metric, Status.NOT_APPLICABLE, reason=reason)
            if score.metric == "answer_relevance"
            else score
            for score in rows[i].scores
        ]
        rows[i] = replace(rows[i], scores=tuple(scores))
    s = summarise(store, save(rows))
    (outcome,) = check_gates(s, ["answer_relevance>=0.9"]).outcomes
    assert outcome.message == (
        "answer_relevance>=0.9: met, it is 1.000 over 1 of 10 rows (9 without a response)"
    )
    result = check_gates(s, ["answer_relevance>=0.9"], 0.5)
    assert result.exit_code == 3
    assert result.incomplete == (
        f"answer_relevance: a value in 1 of 10 rows, below the floor of 50 %: {reason} (9)",
    )
    (told,) = conclude(s, result, resume="ragassay resume", store="").messages[-1:]
    assert isinstance(told, Incomplete)
    assert told.code == "E0603"
    assert told.fix.startswith("see which rows have no response, and why: ragassay show run1")
