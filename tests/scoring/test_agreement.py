"""Figures of agreement: scikit-learn, scipy and krippendorff as references, hand-worked tables,
laws, odd inputs, real labels.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import warnings
from pathlib import Path

import krippendorff
import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics

from ragassay.core import FIGURES
from ragassay.scoring import agreement, coefficients
from ragassay.scoring.agreement import Ratings
from ragassay.scoring.ratings import Kinds
from support.examples import examples
from support.present import present

DATA = Path(os.environ.get("RAGASSAY_DATA", Path(__file__).parents[3] / "shared" / "data"))
SEEDS = range(6)


def rows(seed=0, n=200, clusters=40, slices=0, graded=True):
    """Rows whose judge sees people's grade 0-3 through noise."""
    rng = np.random.default_rng(seed)
    cluster = rng.integers(0, clusters, n)
    quality = rng.normal(size=n) + rng.normal(size=clusters)[cluster]
    seen = quality + rng.normal(size=n)
    cuts = [-1.0, 0.2, 1.0]
    label, grade = np.digitize(quality, cuts), np.digitize(seen, cuts)
    chosen = rng.integers(0, slices, n) if slices else None
    names = tuple(f"s{i}" for i in range(slices))
    if graded:
        return Ratings(
            label.astype(float),
            grade.astype(float),
            grade >= 2,
            label >= 2,
            grade / 3,
            (label, grade),
            (0.0, 1.0, 2.0, 3.0),
            cluster,
            chosen,
            names,
        )
    unit = np.round(1 / (1 + np.exp(-seen)), 3)
    return Ratings(
        label.astype(float), unit, unit >= 0.5, label >= 2, unit, None, (), cluster, chosen, names
    )


def by_name(figures):
    return {figure.name: figure for figure in figures}


# ---- references ----


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("graded", [True, False])
def test_every_figure_agrees_with_an_independent_library(seed, graded):
    r = rows(seed, graded=graded)
    truth, passes = r.truth, r.passes
    tn, fp, fn, tp = metrics.confusion_matrix(truth, passes).ravel()
    coders = np.array([truth, passes], dtype=float)
    expected = {
        "precision": metrics.precision_score(truth, passes),
        "recall": metrics.recall_score(truth, passes),
        "f1": metrics.f1_score(truth, passes),
        "accuracy": metrics.accuracy_score(truth, passes),
        "balanced_accuracy": metrics.balanced_accuracy_score(truth, passes),
        "kappa": metrics.cohen_kappa_score(truth, passes),
        "alpha": krippendorff.alpha(coders, level_of_measurement="nominal"),
        "mcc": metrics.matthews_corrcoef(truth, passes),
        "false_positive_rate": fp / (fp + tn),
        "false_negative_rate": fn / (fn + tp),
        "specificity": metrics.recall_score(~truth, ~passes),
        "prevalence": truth.mean(),
        "pass_rate": passes.mean(),
        "auc": metrics.roc_auc_score(truth, r.score),
        "brier": metrics.brier_score_loss(truth, r.unit),
        "pearson": stats.pearsonr(r.score, r.label).statistic,
        "spearman": stats.spearmanr(r.score, r.label).statistic,
        "kendall": stats.kendalltau(r.score, r.label).statistic,
    }
    if graded:
        label, grade = r.grades
        expected |= {
            "graded_accuracy": metrics.accuracy_score(label, grade),
            "graded_kappa": metrics.cohen_kappa_score(label, grade),
            "kappa_linear": metrics.cohen_kappa_score(label, grade, weights="linear"),
            "kappa_quadratic": metrics.cohen_kappa_score(label, grade, weights="quadratic"),
            "alpha_ordinal": krippendorff.alpha(
                np.array([label, grade], dtype=float), level_of_measurement="ordinal"
            ),
            "off_by_1": (np.abs(label - grade) <= 1).mean(),
        }
    assert set(r.figures()) == expected.keys() | {"ac1", "ece"}
    for name, value in expected.items():
        assert agreement.point(name, r) == pytest.approx(value, abs=1e-10), name


def test_ac1_as_in_gwets_worked_paradox():
    # Gwet 2008: 118 agreed positives, 5 and 2 discordant, none agreed negative: kappa about -.02
    # though 94 % agree.
    truth = np.array([True] * 118 + [True] * 5 + [False] * 2)
    passes = np.array([True] * 118 + [False] * 5 + [True] * 2)
    q = (123 + 120) / 250  # mean of both pass rates
    chance = 2 * q * (1 - q)
    assert agreement.ac1(truth, passes) == pytest.approx(
        (118 / 125 - chance) / (1 - chance), abs=1e-12
    )
    assert agreement.ac1(truth, passes) == pytest.approx(0.9408, abs=5e-5)
    assert agreement.binary("kappa", truth, passes) == pytest.approx(-0.0234, abs=5e-5)


def test_ece_by_hand():
    # bin [.1, .2): scores .1, .15, one pass of two: |.125 - .5| * 2; bin [.9, 1]: .9, 1.0, both
    # pass: |.95 - 1| * 2; of 4
    truth = np.array([True, False, True, True])
    unit = np.array([0.1, 0.15, 0.9, 1.0])
    assert agreement.ece(truth, unit) == pytest.approx((0.375 * 2 + 0.05 * 2) / 4)


def test_nominal_alpha_of_grades_agrees_with_krippendorff():
    label, grade = rows(3).grades
    expected = krippendorff.alpha(
        np.array([label, grade], dtype=float), level_of_measurement="nominal"
    )
    assert agreement.alpha(label, grade) == pytest.approx(expected, abs=1e-10)


def test_weights_of_a_kappa_follow_the_points_of_the_scale():
    label, grade = np.array([0, 1, 2, 2]), np.array([0, 2, 2, 1])
    even = present(agreement.kappa(label, grade, "linear", points=(0, 0.5, 1)))
    assert even == pytest.approx(metrics.cohen_kappa_score(label, grade, weights="linear"))
    # 1 and 2 are now close.
    assert present(agreement.kappa(label, grade, "linear", points=(0, 0.9, 1))) > even


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=60))
def test_kendall_agrees_with_scipy_under_any_ties(pairs):
    x, y = np.array(pairs, dtype=float).T
    tau = agreement.kendall(x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = stats.kendalltau(x, y).statistic
    assert tau is None if math.isnan(expected) else tau == pytest.approx(expected, abs=1e-10)


# ---- resampled counts are the plain figures ----


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("graded", [True, False])
def test_weighted_counts_give_the_plain_figure_of_the_resampled_rows(seed, graded):
    r = rows(seed, n=120, graded=graded)
    drawn = np.random.default_rng(seed).integers(0, len(r), len(r))
    kinds = Kinds(r)
    weight = np.bincount(kinds.of_row[drawn], minlength=kinds.count).astype(float)
    names = r.figures()
    again = r.rows(drawn)
    for name, value in zip(names, kinds.values(weight, names), strict=True):
        assert value == pytest.approx(agreement.point(name, again), abs=1e-9), name


def test_many_distinct_scores_are_grouped_for_the_spread_only():
    rng = np.random.default_rng(0)
    label = rng.normal(size=3000)
    unit = 1 / (1 + np.exp(-label - rng.normal(size=3000)))
    r = Ratings(label, unit, unit >= 0.5, label >= 0, unit)
    kinds = Kinds(r)
    grouped = kinds.values(np.bincount(kinds.of_row).astype(float), r.figures())
    for name, value in zip(r.figures(), grouped, strict=True):
        assert value == pytest.approx(agreement.point(name, r), abs=0.02), (
            name
        )  # tau-b of groups is a little higher
    assert by_name(agreement.figures(r, draws=200).pooled)["auc"].value == pytest.approx(
        metrics.roc_auc_score(r.truth, unit), abs=1e-12
    )


def test_the_spread_is_that_of_an_ordinary_cluster_bootstrap():
    r = rows(5, n=400, clusters=40)
    drawn, _ = agreement._draw(
        r, ("auc", "kappa_quadratic", "kendall"), [agreement._part(r)], 1500, 0
    )
    rng = np.random.default_rng(9)
    members = [np.flatnonzero(r.cluster == code) for code in np.unique(r.cluster)]
    plain = []
    for _ in range(400):
        again = r.rows(
            np.concatenate([members[i] for i in rng.integers(0, len(members), len(members))])
        )
        plain.append(
            [
                present(agreement.point(name, again))
                for name in ("auc", "kappa_quadratic", "kendall")
            ]
        )
    assert drawn[:, 0].std(0) == pytest.approx(np.std(plain, axis=0), rel=0.12)


# ---- laws ----

tables = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 7), st.integers(0, 2)),
    min_size=1,
    max_size=60,
)


def made(table):
    label, grade, cluster, chosen = (np.array(column) for column in zip(*table, strict=True))
    return Ratings(
        label.astype(float),
        grade.astype(float),
        grade >= 2,
        label >= 2,
        grade / 3,
        (label, grade),
        (0.0, 1.0, 2.0, 3.0),
        cluster,
        chosen,
        ("a", "b", "c"),
    )


SIGNED = {
    "kappa",
    "ac1",
    "alpha",
    "mcc",
    "graded_kappa",
    "kappa_linear",
    "kappa_quadratic",
    "alpha_ordinal",
    "pearson",
}
SIGNED |= {"spearman", "kendall"}


@settings(max_examples=examples(60), deadline=None)
@given(tables)
def test_every_figure_is_finite_in_range_and_inside_its_interval_or_says_why_not(table):
    result = agreement.figures(made(table), draws=100)
    every = [
        *result.pooled,
        *result.macro,
        *(figure for part in result.slices for figure in part.figures),
    ]
    for figure in every:
        if figure.value is None:
            assert figure.reason
            assert figure.interval is None
            continue
        low = -1 if figure.name in SIGNED else 0
        assert low - 1e-9 <= figure.value <= 1 + 1e-9, figure
        if figure.interval is None:
            assert figure.reason.startswith("no interval"), figure
        else:
            ends = (figure.interval.low, figure.interval.high)
            assert all(map(math.isfinite, ends))
            assert low <= ends[0] <= figure.value + 1e-12, figure
            assert figure.value - 1e-12 <= ends[1] <= 1, figure


@pytest.mark.slow
@settings(max_examples=examples(40), deadline=None)
@given(tables, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(table, random):
    mixed = list(table)
    random.shuffle(mixed)
    one, other = (
        agreement.figures(made(table), draws=100),
        agreement.figures(made(mixed), draws=100),
    )
    for a, b in zip([*one.pooled, *one.macro], [*other.pooled, *other.macro], strict=True):
        assert (a.name, a.n, a.reason) == (b.name, b.n, b.reason)
        assert a.value == pytest.approx(b.value, abs=1e-9)
        assert (a.interval is None) == (b.interval is None)
        if a.interval and b.interval:
            assert (a.interval.low, a.interval.high) == pytest.approx(
                (b.interval.low, b.interval.high), abs=1e-6
            )


@settings(max_examples=examples(60), deadline=None)
@given(tables)
def test_every_row_twice_leaves_the_figures_as_they_are(table):
    once, twice = made(table), made(table + table)
    for name in FIGURES:
        if name not in ("alpha", "alpha_ordinal"):  # Krippendorff's corrects for few values
            assert agreement.point(name, once) == pytest.approx(
                agreement.point(name, twice), abs=1e-9
            ), name


@settings(max_examples=examples(60), deadline=None)
@given(tables)
def test_people_and_judge_swapped_swap_precision_and_recall_and_leave_what_is_symmetric(table):
    r = made(table)
    swapped = Ratings(
        r.score, r.label, r.truth, r.passes, None, (r.grades[1], r.grades[0]), r.points
    )
    for name, other in [
        ("precision", "recall"),
        ("recall", "precision"),
        ("prevalence", "pass_rate"),
    ]:
        assert agreement.point(name, r) == agreement.point(other, swapped)
    for name in [
        "kappa",
        "mcc",
        "ac1",
        "alpha",
        "f1",
        "accuracy",
        *SIGNED,
        "off_by_1",
        "graded_accuracy",
    ]:
        assert agreement.point(name, r) == pytest.approx(
            agreement.point(name, swapped), abs=1e-9
        ), name


def test_the_same_seed_gives_the_same_intervals_and_another_one_others():
    r = rows(1, slices=3)
    assert agreement.figures(r, draws=200, seed=5) == agreement.figures(r, draws=200, seed=5)
    assert agreement.figures(r, draws=200, seed=5) != agreement.figures(r, draws=200, seed=6)


def test_rows_of_a_cluster_that_go_together_make_the_interval_wider():
    cluster = np.repeat(np.arange(40), 10)
    right = np.random.default_rng(0).random(40)[cluster] < 0.7
    truth = np.arange(400) % 2 == 0
    label = truth.astype(float)
    passes = truth == right
    together = Ratings(label, passes.astype(float), passes, truth, cluster=cluster)
    alone = Ratings(label, passes.astype(float), passes, truth)
    wide, narrow = (
        by_name(agreement.figures(r).pooled)["kappa"].interval for r in (together, alone)
    )
    assert wide.high - wide.low > 2.5 * (narrow.high - narrow.low)
    assert (wide.method, narrow.method) == (
        "cluster bootstrap t, Fisher z",
        "bootstrap t, Fisher z",
    )


# ---- slices ----


def test_macro_is_the_mean_over_slices_and_pooled_is_over_rows():
    r = rows(2, n=300, slices=3)
    result = agreement.figures(r, draws=200)
    own = [
        metrics.cohen_kappa_score(r.truth[r.slice == i], r.passes[r.slice == i]) for i in range(3)
    ]
    assert by_name(result.macro)["kappa"].value == pytest.approx(np.mean(own))
    assert by_name(result.pooled)["kappa"].value == pytest.approx(
        metrics.cohen_kappa_score(r.truth, r.passes)
    )
    assert [by_name(part.figures)["kappa"].value for part in result.slices] == pytest.approx(own)
    assert [part.n for part in result.slices] == [int((r.slice == i).sum()) for i in range(3)]


def test_a_slice_without_the_figure_is_left_out_of_macro_with_a_note():
    truth = np.array([True, False] * 20 + [False] * 20)
    passes = np.array([True, False] * 18 + [False, False, True, True] + [False] * 20)
    where = np.repeat([0, 1], [40, 20])
    r = Ratings(
        truth.astype(float),
        passes.astype(float),
        passes,
        truth,
        slice=where,
        slice_names=("a", "b", "empty"),
    )
    result = agreement.figures(r, draws=200)
    recall = by_name(result.macro)["recall"]
    assert recall.value == by_name(result.slices[0].figures)["recall"].value
    assert recall.reason == "not defined in 2 of 3 slices, which are left out"
    assert by_name(result.slices[2].figures)["accuracy"].reason == "no rows"


def test_without_slices_there_is_no_macro():
    assert agreement.figures(rows(), draws=100).macro == ()


# ---- odd inputs ----


def simple(truth, passes, **others):
    truth, passes = np.array(truth, dtype=bool), np.array(passes, dtype=bool)
    return Ratings(
        truth.astype(float), passes.astype(float), passes, truth, passes.astype(float), **others
    )


def test_one_class_only_leaves_out_what_needs_both_and_says_so():
    figures = by_name(agreement.figures(simple([1] * 20, [1] * 15 + [0] * 5)).pooled)
    assert figures["recall"].value == 0.75
    assert figures["recall"].interval is not None
    assert figures["specificity"].reason == "not defined: there are no rows that people fail"
    for name in ("specificity", "auc", "mcc", "balanced_accuracy", "false_positive_rate"):
        assert figures[name].value is None, name
    # It would be 0 whatever the judge does.
    assert figures["kappa"].value is None
    assert figures["kappa"].reason == "not defined: there are no rows that people fail"


def test_a_constant_judge_has_no_mcc_and_no_interval_of_auc():
    figures = by_name(agreement.figures(simple([1, 0] * 15, [1] * 30)).pooled)
    assert figures["mcc"].value is None
    assert figures["mcc"].reason == "not defined: there are no rows that the judge fails"
    assert (figures["auc"].value, figures["auc"].interval) == (0.5, None)
    assert figures["kappa"].value == 0
    assert figures["precision"].interval.low < 0.5 < figures["precision"].interval.high


def test_perfect_agreement_is_bounded_by_the_errors_that_may_have_been_missed():
    figures = by_name(agreement.figures(simple([1, 0] * 20, [1, 0] * 20)).pooled)
    assert figures["accuracy"].interval.low == pytest.approx(0.025 ** (1 / 40))
    assert figures["recall"].interval.low == pytest.approx(0.025 ** (1 / 20))
    assert figures["kappa"].interval.high == 1
    assert figures["kappa"].interval.low == pytest.approx(2 * 0.025 ** (1 / 20) - 1)


def test_one_cluster_gives_the_figures_without_intervals():
    figures = by_name(
        agreement.figures(
            simple([1, 0, 1, 0, 1, 1], [1, 0, 0, 0, 1, 1], cluster=np.zeros(6, int))
        ).pooled
    )
    assert figures["accuracy"].value == pytest.approx(5 / 6)
    assert figures["accuracy"].interval is None
    assert "too few clusters" in figures["accuracy"].reason


def test_five_clusters_give_an_interval_and_a_warning():
    figures = by_name(agreement.figures(rows(0, n=100, clusters=5)).pooled)
    assert figures["accuracy"].interval is not None
    assert figures["accuracy"].reason == "only 5 clusters: read the interval with care"


def test_no_rows_give_reasons_and_no_figures():
    result = agreement.figures(simple([], []))
    assert {figure.value for figure in result.pooled} == {None}
    assert {figure.reason for figure in result.pooled} == {"no rows"}
    assert agreement.cut_curve(simple([], [])) == ()
    assert agreement.reliability(simple([], [])) == ()


def test_binary_labels_have_no_correlations_and_graded_figures_need_grades():
    assert not {"pearson", "spearman", "kendall", "kappa_linear"} & set(
        simple([1, 0], [1, 0]).figures()
    )


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(ValueError, match="one value for each row"):
        Ratings(np.zeros(2), np.zeros(3), np.zeros(2, bool), np.zeros(2, bool))
    with pytest.raises(ValueError, match="finite"):
        Ratings(np.array([np.nan]), np.zeros(1), np.zeros(1, bool), np.zeros(1, bool))
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        Ratings(np.zeros(1), np.zeros(1), np.zeros(1, bool), np.zeros(1, bool), np.array([1.2]))
    with pytest.raises(ValueError, match="beyond its names"):
        simple([1], [1], slice=np.array([1]), slice_names=("a",))
    with pytest.raises(ValueError, match="not a figure"):
        agreement.figures(rows(), names=["kapa"])
    with pytest.raises(ValueError, match="100 draws"):
        agreement.figures(rows(), draws=10)


# ---- differences ----


def test_a_better_judge_differs_significantly_from_a_worse_one_and_the_same_judge_does_not():
    rng = np.random.default_rng(0)
    truth = rng.random(600) < 0.5
    good, bad = truth ^ (rng.random(600) < 0.1), truth ^ (rng.random(600) < 0.3)
    judges = {
        "bad": simple(truth, bad),
        "good": simple(truth, good),
        "good again": simple(truth, good),
    }
    differences = {
        (d.a, d.b, d.figure): d
        for d in agreement.differences(judges, ["kappa", "accuracy", "prevalence"])
    }
    assert len(differences) == 6
    gain = differences["bad", "good", "accuracy"]
    assert gain.difference == pytest.approx((truth == good).mean() - (truth == bad).mean())
    assert present(gain.interval).low > 0
    assert present(gain.p) < 0.001
    same = differences["good", "good again", "kappa"]
    assert same.difference == 0
    assert same.p == 1
    assert present(same.interval).low < 0 < present(same.interval).high


@pytest.mark.slow
def test_a_paired_difference_of_accuracies_has_the_standard_error_of_its_rows():
    rng = np.random.default_rng(1)
    truth = rng.random(2000) < 0.5
    a, b = truth ^ (rng.random(2000) < 0.2), truth ^ (rng.random(2000) < 0.25)
    (difference,) = agreement.differences(
        {"a": simple(truth, a), "b": simple(truth, b)}, ["accuracy"], draws=4000
    )
    gaps = (truth == b).astype(float) - (truth == a)
    error = gaps.std(ddof=1) / math.sqrt(2000)
    assert (
        present(difference.interval).high - present(difference.interval).low
    ) / 2 == pytest.approx(1.96 * error, rel=0.05)


def test_p_values_are_corrected_for_all_that_are_shown():
    judges = {"a": rows(0), "b": None}
    r = judges["a"]
    other = np.random.default_rng(4).permutation(r.grades[1])
    judges["b"] = Ratings(
        r.label,
        other.astype(float),
        other >= 2,
        r.truth,
        other / 3,
        (r.grades[0], other),
        r.points,
        r.cluster,
    )
    (alone,) = agreement.differences(judges, ["specificity"], draws=300)
    among = {d.figure: d for d in agreement.differences(judges, draws=300)}
    assert present(among["specificity"].p) >= present(alone.p)
    assert among["specificity"].interval == alone.interval


def test_judges_on_other_rows_are_not_compared():
    with pytest.raises(ValueError, match="same rows"):
        agreement.differences({"a": rows(0), "b": rows(1)})


# ---- tables and curves ----


def test_the_confusion_matrix_has_the_labels_in_rows():
    r = rows(0)
    confusion = agreement.confusion(r)
    assert confusion.labels == ("0", "1", "2", "3")
    assert np.array_equal(confusion.counts, metrics.confusion_matrix(*r.grades))
    assert agreement.confusion(simple([1, 1, 0], [1, 0, 0])).counts == ((1, 0), (1, 1))


def test_the_cut_curve_has_the_figures_of_each_cut():
    r = rows(3, graded=False)
    curve = agreement.cut_curve(r)
    assert [one.cut for one in curve] == sorted({*r.score.tolist()})
    for one in curve[1::20]:
        passes = r.score >= one.cut
        assert one.passes == passes.sum()
        assert one.precision == pytest.approx(metrics.precision_score(r.truth, passes))
        assert one.recall == pytest.approx(metrics.recall_score(r.truth, passes))
        assert one.kappa == pytest.approx(metrics.cohen_kappa_score(r.truth, passes))


def test_the_cut_curve_of_many_scores_is_thinned():
    score = np.random.default_rng(0).random(5000)
    r = Ratings((score > 0.4).astype(float), score, score > 0.5, score > 0.4)
    curve = agreement.cut_curve(r)
    assert len(curve) <= 200
    assert curve[0].passes == 5000


def test_reliability_bins_hold_their_rows_and_an_interval():
    r = rows(0, graded=False)
    bins = agreement.reliability(r)
    assert sum(one.n for one in bins) == len(r)
    for one in bins:
        inside = (r.unit >= one.low) & ((r.unit < one.high) | (one.high == 1))
        assert one.n == inside.sum()
        assert one.observed == pytest.approx(r.truth[inside].mean())
        assert present(one.interval).low <= one.observed <= present(one.interval).high


# ---- recorded judges next to human labels ----


def recorded(name):
    path = DATA / name / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip("the folder ../shared/data (or RAGASSAY_DATA) is not there")
    with gzip.open(path) as file:
        rows = [orjson.loads(line) for line in file]
    return rows, json.loads((DATA / "reference_agreement.json").read_text())[name]


def judged(rows, judge, cut, points=()):
    pairs = [
        (row["label"], row["judges"][judge]) for row in rows if row["judges"].get(judge) is not None
    ]
    label, score = np.array(pairs, dtype=float).T
    grades = (np.searchsorted(points, label), np.searchsorted(points, score)) if points else None
    return Ratings(label, score, score >= cut, label >= cut, None, grades, points)


ALIASES = {"accuracy": "graded_accuracy", "kappa": "graded_kappa"}


def test_the_published_agreement_of_33_recorded_judges_is_reproduced():
    rows, expected = recorded("llmjudge_labels")
    assert len(expected) == 33
    for judge, figures in expected.items():
        r = judged(rows, judge, 2, (0.0, 1.0, 2.0, 3.0))
        for name, value in figures.items():
            if name == "n":
                assert len(r) == value
            elif name == "binary":
                for inner, number in value.items():
                    assert agreement.point(inner, r) == pytest.approx(number, abs=5.1e-5), (
                        judge,
                        inner,
                    )
            else:
                assert agreement.point(ALIASES.get(name, name), r) == pytest.approx(
                    value, abs=5.1e-5
                ), (judge, name)


def test_the_agreement_of_judges_of_open_answers_is_reproduced():
    rows, expected = recorded("openqa_eval")
    for judge, figures in expected.items():
        if "vs" in judge:
            continue
        r = judged(rows, judge, 1)
        for name, value in figures.items():
            assert (len(r) if name == "n" else agreement.point(name, r)) == pytest.approx(
                value, abs=5.1e-5
            ), (
                judge,
                name,
            )


def test_the_agreement_of_judges_of_real_claims_is_reproduced():
    rows, expected = recorded("wice")
    claims = [row for row in rows if row["slice"] == "claim" and row["split"] == "test"]
    names = {
        "accuracy3": "graded_accuracy",
        "kappa3": "graded_kappa",
        "kappa3_linear": "kappa_linear",
    }
    scale = {"not_supported": 0.0, "partially_supported": 0.5, "supported": 1.0}
    checked = 0
    for judge, figures in expected.items():
        if "binary" not in figures:
            continue
        graded = [{**row, "label": scale[row["label_raw"]]} for row in claims]
        r = judged(graded, judge, 1.0, (0.0, 0.5, 1.0))
        for name, value in figures.items():
            if name == "binary":
                for inner, number in value.items():
                    assert agreement.point(inner, r) == pytest.approx(number, abs=5.1e-5), (
                        judge,
                        inner,
                    )
            else:
                got = len(r) if name == "n" else agreement.point(names.get(name, name), r)
                assert got == pytest.approx(value, abs=5.1e-5), (judge, name)
            checked += 1
    assert checked


def test_correlations_with_the_quality_of_multi_turn_answers_are_reproduced():
    rows, expected = recorded("mtrag_human")
    for judge, figures in expected.items():
        score = np.array([row["judges"][judge] for row in rows], dtype=float)
        label = np.array([row["label"] for row in rows], dtype=float)
        assert len(score) == figures["n"]
        assert agreement.kendall(score, label) == pytest.approx(
            figures["kendall_tau_b"], abs=5.1e-5
        )
        assert agreement.spearman(score, label) == pytest.approx(
            figures["spearman_faithfulness"], abs=5.1e-5
        )
        assert agreement.auc(label >= 3, score) == pytest.approx(
            figures["auroc_faithful_ge3"], abs=5.1e-5
        )
        for quality in ("appropriateness", "completeness"):
            other = np.array([row["labels"][quality] for row in rows], dtype=float)
            assert agreement.spearman(score, other) == pytest.approx(
                figures[f"spearman_{quality}"], abs=5.1e-5
            )


def test_a_name_that_is_no_figure_of_pass_or_fail_is_refused():
    assert "auc" not in coefficients.BINARY
    with pytest.raises(ValueError, match="auc"):
        agreement.binary("auc", np.array([True]), np.array([True]))
