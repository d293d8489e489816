"""Agreement of people: krippendorff, statsmodels, scikit-learn and irrCAC as references,
hand-worked tables, real votes.
"""

from __future__ import annotations

import gzip
import itertools
import json
import os
import warnings
from pathlib import Path
from typing import Literal

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa
from statsmodels.stats.multitest import multipletests

from ragassay.core import HumanLabel
from ragassay.scoring.annotators import COEFFICIENTS, Votes, alt_test, coefficient, measure, votes
from support.examples import examples
from support.present import present

DATA = Path(os.environ.get("RAGASSAY_DATA", Path(__file__).parents[3] / "shared" / "data"))
NAN = np.nan
LEVELS: dict[str, Literal["nominal", "ordinal", "interval", "ratio"]] = {
    "alpha": "nominal",
    "alpha_ordinal": "ordinal",
    "alpha_interval": "interval",
    "alpha_ratio": "ratio",
}


def table(values, clusters=None):
    values = np.array(values, dtype=float)
    n, people = values.shape
    cluster = np.arange(n) if clusters is None else np.asarray(clusters)
    return Votes(
        tuple(f"p{i}" for i in range(people)), tuple(f"r{i}" for i in range(n)), values, cluster
    )


def noisy(seed, n=80, people=3, values=4, right=0.7, gaps=0.0, clusters=None):
    """People who give the row's true value with probability `right`, else any."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, values, n)
    labels = np.stack(
        [np.where(rng.random(n) < right, truth, rng.integers(0, values, n)) for _ in range(people)],
        1,
    )
    labels = np.where(rng.random(labels.shape) < gaps, NAN, labels)
    return table(labels, None if clusters is None else np.arange(n) % clusters), truth


# ---- references ----


@pytest.mark.parametrize("name", LEVELS)
def test_alpha_with_gaps_equals_the_krippendorff_package(name):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        values = rng.integers(
            0, rng.integers(2, 6), (rng.integers(4, 40), rng.integers(2, 6))
        ).astype(float)
        values[rng.random(values.shape) < 0.3] = NAN
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = krippendorff.alpha(values.T, level_of_measurement=LEVELS[name])
        assert coefficient(name, values) == pytest.approx(expected, abs=1e-10)


def test_alpha_of_numbers_that_are_no_grades_equals_the_krippendorff_package_too():
    values = np.random.default_rng(1).normal(5, 1, (50, 3)) + np.random.default_rng(2).normal(
        0, 2, (50, 1)
    )
    values = np.abs(np.round(values, 3))
    for name, level in LEVELS.items():
        expected = krippendorff.alpha(values.T, level_of_measurement=level)
        assert coefficient(name, values) == pytest.approx(expected, abs=1e-10)


def test_fleiss_kappa_equals_statsmodels_where_everyone_labels_every_row():
    for seed in range(20):
        values = noisy(seed, people=2 + seed % 4)[0].values
        expected = fleiss_kappa(aggregate_raters(values.astype(int))[0])
        assert coefficient("fleiss_kappa", values) == pytest.approx(expected, abs=1e-10)


def test_with_gaps_fleiss_kappa_and_ac1_equal_irrcac():
    # Of the package irrCAC 0.4.4: CAC(frame).fleiss() and .gwet(), four people, twelve rows.
    n = None
    rows = [
        [n, 3, n, 3],
        [1, 2, 1, 1],
        [3, n, 3, 1],
        [2, 1, n, 0],
        [n, 0, 0, 3],
        [0, n, 3, 0],
        [1, 1, 1, 3],
        [0, 0, 0, n],
        [0, 0, 2, 1],
        [2, 2, 2, 0],
        [n, 3, 3, 1],
        [1, 1, 1, n],
    ]
    values = np.array(rows, dtype=float)
    assert coefficient("ac1", values) == pytest.approx(0.33905652358691, abs=1e-12)
    assert coefficient("fleiss_kappa", values) == pytest.approx(0.315553208344336, abs=1e-12)
    assert coefficient("observed_agreement", values) == pytest.approx(0.5)


def test_pairs_of_people_have_cohens_kappa_of_scikit_learn_over_the_rows_that_both_labelled():
    given_votes, _ = noisy(3, n=120, gaps=0.2)
    agreement = measure(given_votes, draws=100)
    assert [(pair.a, pair.b) for pair in agreement.pairs] == [
        ("p0", "p1"),
        ("p0", "p2"),
        ("p1", "p2"),
    ]
    for pair, (i, j) in zip(agreement.pairs, itertools.combinations(range(3), 2), strict=True):
        both = ~np.isnan(given_votes.values[:, [i, j]]).any(1)
        a, b = given_votes.values[both, i].astype(int), given_votes.values[both, j].astype(int)
        by_name = {figure.name: figure.value for figure in pair.figures}
        assert pair.n == both.sum()
        assert by_name["graded_accuracy"] == pytest.approx((a == b).mean())
        for name, weights in (
            ("graded_kappa", None),
            ("kappa_linear", "linear"),
            ("kappa_quadratic", "quadratic"),
        ):
            assert by_name[name] == pytest.approx(
                cohen_kappa_score(a, b, weights=weights), abs=1e-10
            )


def reference_alt_test(judge, values, epsilon, rate, score):
    """The test as the paper states it, row by row, with scipy and statsmodels."""
    people, ps, advantage = [], [], []
    for j in range(values.shape[1]):
        judge_wins, person_wins = [], []
        for i in range(len(values)):
            others = [v for k, v in enumerate(values[i]) if k != j and not np.isnan(v)]
            if np.isnan(values[i, j]) or not others or np.isnan(judge[i]):
                continue
            f, h = score(judge[i], others), score(values[i, j], others)
            judge_wins.append(float(f >= h - 1e-12))
            person_wins.append(float(h >= f - 1e-12))
        gaps = np.array(person_wins) - np.array(judge_wins)
        ps.append(stats.ttest_1samp(gaps, epsilon, alternative="less").pvalue)
        advantage.append(np.mean(judge_wins))
        people.append(len(gaps))
    beaten = multipletests(ps, rate, method="fdr_by")[0]
    return people, ps, beaten, float(np.mean(advantage))


def accuracy(value, others):
    return np.mean([value == other for other in others])


def rmse(value, others):
    return -np.sqrt(np.mean([(value - other) ** 2 for other in others]))


@pytest.mark.parametrize(("name", "score"), [("accuracy", accuracy), ("rmse", rmse)])
@pytest.mark.parametrize("seed", range(6))
def test_the_alternative_annotator_test_equals_the_papers_procedure_on_independent_rows(
    name, score, seed
):
    given_votes, truth = noisy(seed, n=70, people=3 + seed % 2, gaps=0.15)
    rng = np.random.default_rng(seed + 100)
    judge = np.where(rng.random(70) < 0.4 + 0.1 * seed, truth, rng.integers(0, 4, 70)).astype(float)
    judge[3] = NAN
    test = alt_test(judge, given_votes, epsilon=0.1, score=name, draws=100)
    n, ps, beaten, advantage = reference_alt_test(judge, given_votes.values, 0.1, 0.05, score)
    assert [person.n for person in test.people] == n
    assert [person.p for person in test.people] == pytest.approx(ps, abs=1e-10)
    assert [person.beaten for person in test.people] == list(beaten)
    assert test.winning_rate == pytest.approx(np.mean(beaten))
    assert test.advantage.value == pytest.approx(advantage)
    assert test.may_replace is bool(np.mean(beaten) >= 0.5)


# ---- hand-worked ----


def test_alpha_of_krippendorffs_own_example():
    # Krippendorff 2011, "Computing Krippendorff's alpha-reliability", C: four observers, twelve
    # units, gaps.
    rows = [
        [1, 1, NAN, 1],
        [2, 2, 3, 2],
        [3, 3, 3, 3],
        [3, 3, 3, 3],
        [2, 2, 2, 2],
        [1, 2, 3, 4],
        [4, 4, 4, 4],
        [1, 1, 2, 1],
        [2, 2, 2, 2],
        [NAN, 5, 5, 5],
        [NAN, NAN, 1, 1],
        [NAN, NAN, 3, NAN],
    ]
    agreement = measure(table(rows), draws=100)
    published = {
        "alpha": 0.743,
        "alpha_ordinal": 0.815,
        "alpha_interval": 0.849,
        "alpha_ratio": 0.797,
    }
    for name, value in published.items():
        assert present(agreement.figure(name)).value == pytest.approx(value, abs=5e-4)
    assert (agreement.rows, agreement.shared) == (12, 11)
    assert agreement.warnings == ("rows with one label only, which say nothing of agreement: 1",)


def test_two_values_and_two_people_by_hand():
    # 4 yes-yes, 1 yes-no, 2 no-yes, 3 no-no: observed 0.7.
    agreement = measure(table([[1, 1]] * 4 + [[1, 0]] + [[0, 1]] * 2 + [[0, 0]] * 3), draws=100)
    assert present(agreement.figure("observed_agreement")).value == pytest.approx(0.7)
    # Scott's pi: q = 11/20, chance q^2 + (1-q)^2 = 0.505; AC1: chance 2 q (1-q) = 0.495.
    assert present(agreement.figure("fleiss_kappa")).value == pytest.approx((0.7 - 0.505) / 0.495)
    assert present(agreement.figure("ac1")).value == pytest.approx((0.7 - 0.495) / 0.505)
    # alpha: 1 - 19 * 6 / (2 * 11 * 9), ordered pairs.
    assert present(agreement.figure("alpha")).value == pytest.approx(1 - 19 * 6 / 198)
    # Cohen: chance 0.5 * 0.6 + 0.5 * 0.4 = 0.5.
    assert {figure.name: figure.value for figure in agreement.pairs[0].figures} == pytest.approx(
        {"accuracy": 0.7, "kappa": 0.4}
    )
    assert {figure.name for figure in agreement.figures} == {
        "observed_agreement",
        "alpha",
        "fleiss_kappa",
        "ac1",
    }


def test_a_judge_that_copies_the_majority_beats_everyone_and_one_that_says_the_opposite_no_one():
    given_votes, _ = noisy(1, n=60, people=3, values=2, right=0.8)
    majority = (given_votes.values.sum(1) >= 2).astype(float)
    good = alt_test(majority, given_votes)
    assert (good.winning_rate, good.may_replace, good.advantage.value) == (1.0, True, 1.0)
    bad = alt_test(1 - majority, given_votes)
    assert (bad.winning_rate, bad.may_replace) == (0.0, False)
    interval = present(good.advantage.interval)
    assert interval.high == 1.0
    assert 0.9 < interval.low < 1.0


def test_where_judge_and_person_never_differ_p_is_the_chance_of_not_having_met_a_difference():
    # Everyone says the same on 40 rows: no gap is seen; a share of 0.2 of gaps goes unmet with 0.8
    # ** 40.
    same = table([[1, 1, 1]] * 20 + [[0, 0, 0]] * 20)
    test = alt_test([1.0] * 20 + [0.0] * 20, same, epsilon=0.2)
    assert [person.p for person in test.people] == pytest.approx([0.8**40] * 3)
    # In ten clusters only ten chances to meet one: 0.8 ** 10, and with three people 0.05 / (1 + 1/2
    # + 1/3) = 0.027.
    grouped = table([[1, 1, 1]] * 20 + [[0, 0, 0]] * 20, np.arange(40) // 4)
    test = alt_test([1.0] * 20 + [0.0] * 20, grouped, epsilon=0.2)
    assert [person.p for person in test.people] == pytest.approx([0.8**10] * 3)
    assert test.winning_rate == 0.0
    assert [person.p for person in alt_test([1.0] * 20 + [0.0] * 20, same, epsilon=0.0).people] == [
        1.0
    ] * 3


def test_rows_of_one_cluster_count_as_less_than_rows_of_their_own():
    given_votes, truth = noisy(4, n=60, right=0.85)
    doubled = Votes(
        given_votes.people,
        tuple(f"r{i}" for i in range(120)),
        np.repeat(given_votes.values, 2, axis=0),
        np.arange(120) // 2,
    )
    once = alt_test(truth.astype(float), given_votes, epsilon=0.05)
    twice = alt_test(np.repeat(truth, 2).astype(float), doubled, epsilon=0.05)
    assert [one.p for one in twice.people] == pytest.approx([one.p for one in once.people])
    single, pair = measure(given_votes, draws=400), measure(doubled, draws=400)
    for name in ("observed_agreement", "fleiss_kappa"):
        a = present(present(single.figure(name)).interval)
        b = present(present(pair.figure(name)).interval)
        assert b.method.startswith("cluster")
        assert b.high - b.low == pytest.approx(a.high - a.low, rel=0.15)


# ---- what is not defined, and what to beware of ----


def test_two_people_are_tested_with_a_warning_that_the_test_needs_three():
    given_votes, truth = noisy(5, n=60, people=2, right=0.9)
    test = alt_test(truth.astype(float), given_votes)
    assert test.winning_rate == 1.0
    assert test.warnings[0].startswith("two people only")


def test_people_with_few_rows_are_not_tested_and_without_any_there_is_no_answer():
    given_votes, truth = noisy(6, n=60)
    values = given_votes.values.copy()
    values[20:, 2] = NAN
    test = alt_test(truth.astype(float), table(values))
    assert [person.p is None for person in test.people] == [False, False, True]
    assert test.people[2].reason == "not tested: labelled 20 of the shared rows, fewer than 30"
    nobody = alt_test(truth[:10].astype(float), table(given_votes.values[:10]))
    assert (nobody.winning_rate, nobody.may_replace, nobody.advantage.value) == (None, None, None)
    assert nobody.advantage.reason == "not defined: nobody could be tested"


def test_people_who_saw_few_rows_are_named_because_they_may_have_been_called_in_on_doubtful_ones():
    given_votes, truth = noisy(7, n=120)
    values = given_votes.values.copy()
    values[40:, 2] = NAN
    test = alt_test(truth.astype(float), table(values))
    assert any(warning.startswith("p2 labelled 40 of 120 rows") for warning in test.warnings)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([], "no row has labels of two people"),
        ([[1], [0]], "no row has labels of two people"),
        ([[1, NAN], [NAN, 0]], "no row has labels of two people"),
        ([[1, 1], [1, 1]], "everyone gave every row the same value"),
    ],
)
def test_what_is_not_defined_says_why(rows, reason):
    agreement = measure(table(rows if rows else np.zeros((0, 2))), draws=100)
    alpha = present(agreement.figure("alpha"))
    assert alpha.value is None
    assert reason in alpha.reason
    assert alpha.interval is None


def test_few_rows_that_differ_from_the_commonest_value_give_a_figure_without_interval():
    agreement = measure(table([[1, 1]] * 40 + [[1, 0], [0, 0]]), draws=100)
    alpha = present(agreement.figure("alpha"))
    assert alpha.value is not None
    assert alpha.interval is None
    assert alpha.reason == "no interval: only 2 rows hold any but the commonest value"
    assert present(agreement.figure("observed_agreement")).interval is not None


def test_all_rows_in_one_cluster_give_figures_without_intervals():
    given_votes, _ = noisy(8, clusters=1)
    agreement = measure(given_votes, draws=100)
    assert all(figure.interval is None and figure.value is not None for figure in agreement.figures)
    assert agreement.figures[0].reason == "no interval: all rows lie in one cluster"
    assert agreement.warnings == ("only 1 cluster: read the intervals with care",)


def test_invalid_arguments_of_the_annotator_figures_are_refused():
    given_votes, truth = noisy(9)
    with pytest.raises(ValueError, match="every row"):
        alt_test(truth[:5].astype(float), given_votes)
    for bad in ({"score": "f1"}, {"epsilon": 1.0}, {"rate": 0.0}):
        with pytest.raises(ValueError):
            alt_test(truth.astype(float), given_votes, **bad)
    with pytest.raises(ValueError, match="100 draws"):
        measure(given_votes, draws=10)
    with pytest.raises(ValueError, match="finite"):
        table([[np.inf, 1]])
    with pytest.raises(ValueError, match="twice"):
        votes([HumanLabel("a", "g", "x", 1), HumanLabel("a", "g", "x", 0)])


def test_labels_become_a_table_with_gaps_and_clusters():
    labels = [
        HumanLabel("a", "g", "x", 1),
        HumanLabel("b", "g", "y", 0),
        HumanLabel("a", "g", "y", 2),
        HumanLabel("c", "g", "x", 3),
    ]
    given_votes = votes(labels, {"a": "d1", "c": "d1"})
    assert (given_votes.people, given_votes.rows) == (("x", "y"), ("a", "b", "c"))
    assert np.array_equal(
        given_votes.values, np.array([[1, 2], [NAN, 0], [3, NAN]]), equal_nan=True
    )
    assert given_votes.cluster.tolist() == [0, 1, 0]


# ---- laws ----

cells = st.lists(
    st.lists(st.sampled_from([0.0, 1.0, 2.0, NAN]), min_size=3, max_size=3), min_size=1, max_size=25
)


@settings(max_examples=examples(80), deadline=None)
@given(cells, st.permutations(range(3)))
def test_neither_the_order_of_people_nor_of_rows_matters_and_no_figure_leaves_its_range(
    rows, order
):
    values = np.array(rows)
    for name in COEFFICIENTS:
        value = coefficient(name, values)
        again = coefficient(name, values[::-1][:, list(order)])
        assert (value is None) == (again is None)
        if value is not None:
            assert value == pytest.approx(again, abs=1e-12)
            assert value <= 1 + 1e-9
            lone = (~np.isnan(values)).sum(1) == 1
            assert value >= -1 - 1e-9 or (name in ("fleiss_kappa", "ac1") and lone.any())


@settings(max_examples=examples(40), deadline=None)
@given(cells)
def test_intervals_hold_their_value_and_nothing_is_nan(rows):
    agreement = measure(table(rows), draws=100)
    for figure in [
        *agreement.figures,
        *(figure for pair in agreement.pairs for figure in pair.figures),
    ]:
        assert figure.value is None or np.isfinite(figure.value)
        assert (figure.value is not None) or figure.reason
        if figure.interval is not None:
            low, high = figure.interval.low, figure.interval.high
            assert low - 1e-12 <= present(figure.value) <= high + 1e-12


def test_the_same_seed_gives_the_same_intervals():
    given_votes, _ = noisy(10)
    assert measure(given_votes, draws=200, seed=1) == measure(given_votes, draws=200, seed=1)
    assert measure(given_votes, draws=200, seed=1) != measure(given_votes, draws=200, seed=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "people", "values", "right", "size"),
    [(30, 3, 2, 0.6, 1), (60, 2, 4, 0.7, 1), (120, 3, 3, 0.8, 4)],
)
def test_the_interval_of_alpha_holds_the_truth_at_least_nineteen_times_in_twenty_or_nearly(
    n, people, values, right, size
):
    # Two people both give the true value with probability right^2, else agree by chance: alpha =
    # right^2.
    covered = total = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        truth = np.repeat(rng.integers(0, values, n // size), size)
        rows = np.stack(
            [
                np.where(rng.random(n) < right, truth, rng.integers(0, values, n))
                for _ in range(people)
            ],
            1,
        )
        agreement = measure(
            table(rows, np.arange(n) // size), draws=200, seed=seed, pair_figures=()
        )
        interval = present(agreement.figure("alpha")).interval
        if interval is not None:
            total += 1
            covered += interval.low <= right**2 <= interval.high
    assert total >= 140
    assert covered / total >= 0.91  # 0.95 less two and a half standard errors of 150 trials


# ---- real people ----


def real(name, quality=None):
    path = DATA / name / f"{name}.jsonl.gz"
    if not path.is_file():
        pytest.skip("the folder ../shared/data (or RAGASSAY_DATA) is not there")
    with gzip.open(path, "rt") as file:
        rows = [json.loads(line) for line in file]
    labels = [
        HumanLabel(row["id"], quality or name, f"annotator {place}", float(value))
        for row in rows
        for place, value in enumerate(
            row["votes"] if quality is None else row["votes"].get(quality, []), 1
        )
    ]
    return (
        labels,
        {row["id"]: row["group"] for row in rows},
        {row["id"]: row["judges"] for row in rows},
    )


def published(name):
    return json.loads((DATA / "reference_agreement.json").read_text())[name]


def test_the_two_annotators_of_openqa_agree_as_published():
    labels, clusters, judges = real("openqa_eval")
    both = votes([label for label in labels if label.annotator != "annotator 3"], clusters)
    names = ("accuracy", "balanced_accuracy", "f1", "kappa", "precision", "recall")
    (pair,) = measure(both, draws=200, pair_figures=names).pairs
    expected = published("openqa_eval")["annotator1 vs annotator2"]
    assert pair.n == expected["n"]
    for figure in pair.figures:
        assert round(present(figure.value), 4) == expected[figure.name], figure.name
    # By question there is less to go by than by row: 202 questions, 990 answers.
    judge = [NAN if judges[row].get("gpt-4") is None else judges[row]["gpt-4"] for row in both.rows]
    test = alt_test(judge, both)
    assert (test.people[0].n, test.people[0].clusters) == (980, 202)
    assert test.may_replace is True
    better = [present(person.person_rate) > present(person.judge_rate) for person in test.people]
    assert better == [True, True]
    assert alt_test(judge, both, epsilon=0.0).winning_rate == 0.0  # yet worse than either person


@pytest.mark.parametrize("quality", ["correctness", "completeness", "overall"])
def test_the_two_annotators_of_ragchecker_agree_as_published(quality):
    labels, clusters, _ = real("ragchecker_meta", quality)
    agreement = measure(votes(labels, clusters), draws=200)
    expected = published("ragchecker_meta")[f"annotators/{quality}"]
    by_name = {figure.name: figure.value for figure in agreement.pairs[0].figures}
    by_name["kappa"] = by_name["graded_kappa"]
    for name, value in expected.items():
        assert round(present(by_name[name]), 4) == value, name


def test_three_annotators_of_conversations_get_intervals_by_conversation():
    labels, clusters, judges = real("mtrag_human", "faithfulness")
    given_votes = votes(labels, clusters)
    agreement = measure(given_votes, draws=400)
    values = given_votes.values
    alpha = present(agreement.figure("alpha_ordinal"))
    assert alpha.value == pytest.approx(
        krippendorff.alpha(values.T, level_of_measurement="ordinal"), abs=1e-10
    )
    assert agreement.clusters == len(set(clusters.values()))
    alone = measure(
        Votes(given_votes.people, given_votes.rows, values, np.arange(len(values))), draws=400
    )
    by_row = present(present(alone.figure("alpha_ordinal")).interval)
    by_cluster = present(alpha.interval)
    assert by_cluster.high - by_cluster.low > 1.2 * (by_row.high - by_row.low)
    judge = [1 + 3 * judges[row]["rl_f"] for row in given_votes.rows]
    tested = alt_test(judge, given_votes, score="rmse", epsilon=0.1)
    assert len(tested.people) == 3
    assert all(person.p is not None for person in tested.people)
