"""Benchmarks of recorded judges: figures by hand, cuts, scales, pairs, differences, absences."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragassay.core import DataError, JudgeBenchmark, JudgeFigures, SetupError
from ragassay.runs.label_scales import default_cut
from ragassay.trust.measure.benchmarks import benchmark
from ragassay.trust.measure.context import judges_of
from support.examples import examples


def rows_of(labels: list[Any], verdicts: list[Any], **others: list[Any]) -> list[dict[str, Any]]:
    return [
        {
            "id": f"r{i}",
            "label": label,
            "j": verdict,
            **{name: column[i] for name, column in others.items()},
        }
        for i, (label, verdict) in enumerate(zip(labels, verdicts, strict=True))
    ]


def only(found: JudgeBenchmark) -> JudgeFigures:
    (judge,) = found.judges
    return judge


def value(judge: JudgeFigures, name: str) -> float | None:
    figure = judge.figure(name)
    assert figure is not None, name
    return figure.value


def numbers(thing: object) -> list[float]:
    """Every float anywhere inside a value."""
    if isinstance(thing, float):
        return [thing]
    if is_dataclass(thing) and not isinstance(thing, type):
        return [x for field in fields(thing) for x in numbers(getattr(thing, field.name))]
    if isinstance(thing, dict):
        return [x for inner in thing.values() for x in numbers(inner)]
    return [x for inner in thing for x in numbers(inner)] if isinstance(thing, tuple | list) else []


def test_a_hand_worked_table_gives_its_figures() -> None:
    # 40 rows: tp 15, fn 5, fp 3, tn 17. Precision 15/18, recall 15/20, kappa = (32/40 - 1/2) /
    # (1/2) = .6.
    labels = [1] * 20 + [0] * 20
    verdicts = [1] * 15 + [0] * 5 + [1] * 3 + [0] * 17
    judge = only(benchmark(rows_of(labels, verdicts), "recorded:j", draws=200))
    assert judge.n == 40
    assert judge.confusion == ((17, 3), (5, 15))
    assert judge.confusion_scores == ("fail", "pass")
    assert value(judge, "precision") == pytest.approx(15 / 18)
    assert value(judge, "recall") == pytest.approx(0.75)
    assert value(judge, "kappa") == pytest.approx(0.6)
    assert value(judge, "f1") == pytest.approx(30 / 38)
    kappa = judge.figure("kappa")
    assert kappa is not None
    assert kappa.interval is not None
    assert kappa.interval.low < 0.6 < kappa.interval.high


def test_pooled_and_macro_figures_are_not_the_same_and_named_apart() -> None:
    # Slice a: 20 rows, all judged right. Slice b: 20 rows of which 10 are judged right.
    labels = ([1] * 10 + [0] * 10) * 2
    verdicts = [1] * 10 + [0] * 10 + [1] * 5 + [0] * 5 + [1] * 5 + [0] * 5
    judge = only(
        benchmark(rows_of(labels, verdicts, slice=["a"] * 20 + ["b"] * 20), "recorded:j", draws=200)
    )
    macro = {figure.name: figure.value for figure in judge.macro}
    assert [part.value for part in judge.slices] == ["a", "b"]
    assert value(judge, "kappa") == pytest.approx(0.5)
    assert macro["kappa"] == pytest.approx((1 + 0) / 2)
    assert macro["f1"] == pytest.approx((1 + 0.5) / 2)
    assert value(judge, "f1") == pytest.approx(0.75)


def test_each_judge_is_measured_on_its_own_rows_and_differences_on_the_rows_of_all() -> None:
    labels = [1, 0] * 20
    rows = rows_of(
        labels, labels, k=[1 - label if i < 10 else label for i, label in enumerate(labels)]
    )
    for one in rows[30:]:
        one["k"] = None
    found = benchmark(rows, "recorded:j,k", draws=200)
    first, second = found.judges
    assert (first.n, second.n) == (40, 30)
    assert second.missing == {"no verdict recorded": 10}
    assert value(first, "accuracy") == 1.0
    assert value(second, "accuracy") == pytest.approx(20 / 30)
    kappa = next(one for one in found.differences if one.figure == "kappa")
    # Over the 30 common rows the second is right on 20: kappa (20/30 - 1/2) / (1/2) = 1/3.
    assert (kappa.a, kappa.b, kappa.n) == ("recorded:j", "recorded:k", 30)
    assert kappa.difference == pytest.approx(1 / 3 - 1)
    assert any("over the 30 rows that all 2 judges judged" in warning for warning in found.warnings)


def test_graded_labels_and_judges_on_one_scale_are_compared_grade_by_grade_and_cut_alike() -> None:
    labels, verdicts = [0, 1, 2, 3] * 5, [0, 2, 2, 2] * 5
    found = benchmark(rows_of(labels, verdicts), "recorded:j", draws=200)
    judge = only(found)
    assert found.set_up.graded
    assert found.set_up.cut == 2
    assert found.set_up.judge_cut == 2
    assert value(judge, "graded_accuracy") == 0.5
    assert value(judge, "off_by_1") == 1.0
    assert judge.confusion_scores == ("0", "1", "2", "3")
    assert judge.confusion[1] == (0, 0, 5, 0)
    assert value(judge, "precision") == pytest.approx(10 / 15)
    assert value(judge, "recall") == 1.0


def test_a_yes_or_no_judge_of_graded_labels_passes_at_yes_and_shares_no_scale() -> None:
    found = benchmark(rows_of([0, 1, 2, 3] * 5, [0, 0, 1, 1] * 5), "recorded:j", draws=200)
    assert not found.set_up.graded
    assert only(found).judge_cut == 1.0
    assert value(only(found), "kappa") == 1.0


def test_scores_between_0_and_1_pass_from_a_half_and_that_is_said() -> None:
    rows = rows_of([0, 0, 1, 1] * 5, [0.1, 0.6, 0.5, 0.9] * 5)
    judge = only(benchmark(rows, "recorded:j", draws=200))
    assert judge.judge_cut == 0.5
    assert value(judge, "recall") == 1.0
    assert value(judge, "precision") == pytest.approx(2 / 3)
    assert any("passes from 0.5 on" in warning for warning in judge.warnings)
    assert value(only(benchmark(rows, "recorded:j", judge_cut=0.7, draws=200)), "precision") == 1.0
    assert judge.reliability
    assert judge.cut_curve


@pytest.mark.parametrize(
    ("scale", "cut"),
    [((0, 1), 1), ((0, 0.5, 1), 1), ((0, 1, 2, 3), 2), ((1, 2), 2), ((-2, -1, 0, 0.5, 2), 0.5)],
)
def test_the_cut_of_usual_scales_is_known(scale: tuple[float, ...], cut: float) -> None:
    assert default_cut(scale) == cut


def test_a_label_off_the_scale_of_all_others_is_named_with_its_line() -> None:
    with pytest.raises(DataError) as caught:
        benchmark(rows_of([0, 1] * 20 + [7], [0, 1] * 20 + [1]), "recorded:j")
    assert caught.value.code == "E0313"
    assert caught.value.where == "line 41"
    assert caught.value.why == "7, where the others are 0, 1"
    found = benchmark(rows_of([0, 1] * 20 + [7], [0, 1] * 20 + [1]), "recorded:j", cut=1, draws=200)
    assert only(found).n == 41


def test_the_cut_of_other_scales_must_be_given_for_labels_and_for_scores() -> None:
    with pytest.raises(SetupError, match="--cut 3"):
        benchmark(rows_of([1, 2, 3, 4, 5], [1, 2, 3, 4, 5]), "recorded:j")
    with pytest.raises(SetupError, match="--judge-cut"):
        benchmark(rows_of([0, 1, 1], [10, 80, 90]), "recorded:j")


@pytest.mark.parametrize("scores", [(0.9, 0.1), (3, 1), (1, 0)])
def test_pairs_of_scores_are_no_winners(scores: tuple[float, float]) -> None:
    # The higher score wins. Of 40 pairs half are the second one's; the judge is wrong on 4 of each,
    # and names no winner of two more.
    high, low = scores
    first, second = [high, low], [low, high]
    pairs = ([first] * 16 + [second] * 4) + ([second] * 16 + [first] * 4) + [[high, high]] * 2
    labels = [1.0] * 20 + [2.0] * 20 + [1.0, 2.0]
    judge = only(benchmark(rows_of(labels, pairs), "recorded:j", draws=200))
    assert judge.n == 40
    assert judge.position == ()
    assert value(judge, "accuracy") == pytest.approx(32 / 40)
    assert any("2 with equal scores name none" in warning for warning in judge.warnings)


def test_pairs_in_both_orders_count_a_lost_order_as_not_right_and_never_as_a_verdict() -> None:
    # Rows: right in both orders; right only in the first; no winner in the second; no winner in
    # either.
    pairs = [[1, 1], [2, 1], [1, None], [None, None]]
    judge = only(benchmark(rows_of([1, 2, 1, 2], pairs), "recorded:j", draws=200))
    position = {figure.name: figure.value for figure in judge.position}
    assert position == {
        "accuracy": 0.5,
        "accuracy_order1": 0.75,
        "accuracy_order2": 0.25,
        "consistent": 0.25,
        # Shown first was: one of two winners; none of two; the only one.
        "first_shown": pytest.approx((0.5 + 0 + 1) / 3),
    }
    accuracy = judge.figure("accuracy")
    assert accuracy is not None
    assert accuracy.n == 5
    assert accuracy.value == pytest.approx(4 / 5)
    assert any("3 of 8 comparisons" in warning for warning in judge.warnings)


def test_a_judge_that_prefers_what_it_is_shown_first_is_said_to_and_one_that_does_not_is_not() -> (
    None
):
    # Of 30 pairs the first judge names in 24 whatever stands first: 24 * 0.5 too many.
    labels = [1, 2] * 15
    by_place = [[1, 2] if row < 24 else [label] * 2 for row, label in enumerate(labels)]
    judge = only(benchmark(rows_of(labels, by_place), "recorded:j", draws=200))
    said = [warning for warning in judge.warnings if "shown first" in warning]
    assert len(said) == 1
    assert "0.90 of its winners were shown first" in said[0]
    steady = [[label] * 2 for label in labels]
    fair = only(benchmark(rows_of(labels, steady), "recorded:j", draws=200))
    assert not any("shown first" in warning for warning in fair.warnings)
    assert {figure.name: figure.value for figure in fair.position}["first_shown"] == 0.5


def test_scores_of_two_answers_are_compared_as_second_less_first() -> None:
    judge = only(
        benchmark(
            rows_of([-1, 0, 1, 2] * 4, [[0.9, 0.1], [0.5, 0.5], [0.2, 0.4], [0, 1]] * 4),
            "recorded:j",
            draws=200,
        )
    )
    assert value(judge, "spearman") == pytest.approx(1.0)
    assert value(judge, "kappa") == 1.0
    with pytest.raises(SetupError, match="What the pairs"):
        benchmark(rows_of([0, 1], [[0.1, 0.2], [0.3, 0.4]]), "recorded:j")


def test_the_most_expensive_disagreements_come_first_with_both_rationales() -> None:
    rows = rows_of(
        [1, 0, 0, 1], [0.4, 0.9, 0.6, 0.9], question=["q"] * 4, response=["a", "b", "c", "d"]
    )
    rows[1] |= {"judge_text": {"j": "looks right"}, "human_rationale": "it is not"}
    worst = only(benchmark(rows, "recorded:j", judge_cut=0.5, draws=200, worst=2)).disagreements
    assert [one.id for one in worst] == ["r1", "r0"]
    assert worst[0].cost == pytest.approx(0.9)
    assert (worst[0].response, worst[0].judge_rationale, worst[0].human_rationale) == (
        "b",
        "looks right",
        "it is not",
    )
    dear = only(
        benchmark(rows, "recorded:j", judge_cut=0.5, fn_cost=5.0, draws=200, worst=1)
    ).disagreements
    assert dear[0].id == "r0"
    assert dear[0].cost == pytest.approx(3.0)


BAD: dict[str, tuple[list[dict[str, Any]], str]] = {
    "one class only": (rows_of([1] * 12, [1, 0] * 6), "every labelled row passes"),
    "a constant judge": (rows_of([1, 0] * 6, [1] * 12), "tells nothing apart"),
    "fewer than ten clusters": (
        rows_of([1, 0] * 6, [1, 0] * 6, group=list("aabbccddeeff")),
        "only 6 clusters",
    ),
    "one cluster": (rows_of([1, 0] * 6, [1, 0] * 6, group=["a"] * 12), "only 1 cluster"),
    "one row": (rows_of([1], [1]), "every labelled row passes"),
    "missing labels": (rows_of([1, 0, None] * 5, [1, 0, 1] * 5), "5 of 15 rows have no label"),
    "missing verdicts": (rows_of([1, 0] * 6, [1, 0, None, None] * 3), "no verdict on 6 of 12"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gives_a_warning_and_never_a_nan(name: str) -> None:
    rows, words = BAD[name]
    found = benchmark(rows, "recorded:j", draws=200)
    said = [*found.warnings, *(warning for judge in found.judges for warning in judge.warnings)]
    assert any(words in warning for warning in said), said
    assert all(math.isfinite(number) for number in numbers(found))
    for figure in only(found).pooled:
        assert figure.value is not None or figure.reason, figure.name


def test_verdicts_of_another_file_are_matched_by_id_and_what_does_not_match_is_counted(
    tmp_path: Path,
) -> None:
    path = tmp_path / "judged.csv"
    path.write_text("id,verdict\nr0,yes\nr1,no\nr9,yes\n")
    judge = only(benchmark(rows_of([1, 0, 1], [1, 1, 1]), f"recorded:{path}#verdict", draws=200))
    assert judge.n == 2
    assert judge.missing == {"no row of this id in judged.csv": 1}
    assert value(judge, "accuracy") == 1.0
    assert any(
        "1 row of judged.csv is not among the labelled ones" in warning
        for warning in judge.warnings
    )
    path.write_text("id,verdict\nx,yes\n")
    with pytest.raises(DataError, match="E0315"):
        benchmark(rows_of([1, 0], [1, 1]), f"recorded:{path}#verdict")
    path.write_text("id,verdict\nr0,yes\n")
    with pytest.raises(SetupError, match="Did you mean 'verdict'"):
        benchmark(rows_of([1, 0], [1, 1]), f"recorded:{path}#verdct")


def test_names_after_a_recorded_judge_are_recorded_ones_too() -> None:
    assert judges_of("recorded:a,b,offline,run:last") == (
        "recorded:a",
        "recorded:b",
        "offline",
        "run:last",
    )
    assert judges_of("cascade:offline,openai:m@0.8,offline") == (
        "cascade:offline,openai:m@0.8",
        "offline",
    )
    assert judges_of("cascade:offline>openai:m,offline") == ("cascade:offline>openai:m", "offline")
    assert judges_of("checked:openai:m,offline,openai:m") == (
        "checked:openai:m,offline",
        "openai:m",
    )
    assert judges_of(["openai:m", "recorded:a, b"]) == ("openai:m", "recorded:a", "recorded:b")
    with pytest.raises(SetupError, match="No judge is named"):
        judges_of(" , ")


def test_the_same_benchmark_twice_is_the_same_but_for_the_time() -> None:
    rows = rows_of([1, 0, 1, 1] * 6, [1, 0, 0, 1] * 6)
    first, second = (benchmark(rows, "recorded:j", draws=200, seed=3) for _ in range(2))
    assert first.judges == second.judges
    assert first.set_up == second.set_up


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([0, 1, 2, 3, None]), st.sampled_from([0, 1, 2, 3, None])),
        min_size=1,
        max_size=30,
    )
)
def test_counts_add_up_and_nothing_is_ever_nan(cells: list[tuple[int | None, int | None]]) -> None:
    rows = rows_of([label for label, _ in cells], [verdict for _, verdict in cells])
    labelled = [(label, verdict) for label, verdict in cells if label is not None]
    if not labelled or all(verdict is None for _, verdict in labelled):
        with pytest.raises((DataError, SetupError)):
            benchmark(rows, "recorded:j", draws=100)
        return
    found = benchmark(rows, "recorded:j", draws=100, cut=2, judge_cut=2)
    judge = only(found)
    assert judge.n + sum(judge.missing.values()) == found.labelled == len(labelled)
    assert sum(map(sum, judge.confusion)) == judge.n
    assert all(math.isfinite(number) for number in numbers(found))
