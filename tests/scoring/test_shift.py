"""Tests of whether two sets of rows are alike."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstwobign

from ragassay.core import Context, Sample
from ragassay.scoring import shift
from support.examples import examples


def rows(n: int, seed: int, length: float = 3.0, spread: float = 0.5) -> list[dict[str, float]]:
    rng = np.random.default_rng(seed)
    return [
        {
            "response_words": float(rng.normal(length, spread)),
            "response_digits": float(rng.random() * 0.1),
        }
        for _ in range(n)
    ]


def test_features_of_a_row_by_hand():
    features = shift.features(
        Sample(
            "1",
            question="Who wrote it?",
            contexts=(Context("Ann wrote it in 1999."),),
            response="Ann wrote it. Yes.",
        )
    )
    assert features["question_words"] == pytest.approx(np.log(4))
    assert features["question_mark"] == 1.0
    assert features["question_asks"] == 1.0
    assert features["contexts"] == pytest.approx(np.log(2))
    assert features["context_words"] == pytest.approx(np.log(6))
    assert features["context_digits"] == pytest.approx(4 / 21)
    assert features["response_sentences"] == pytest.approx(np.log(3))
    assert features["response_in_contexts"] == pytest.approx(3 / 4)  # ann, wrote, it; not yes
    assert features["response_in_question"] == pytest.approx(2 / 4)
    assert set(features) <= set(shift.FEATURES)


def test_what_a_row_lacks_has_no_feature():
    assert shift.features(Sample("1")) == {}
    assert "context_words" not in shift.features(Sample("1", contexts=()))


@given(st.text(max_size=200), st.text(max_size=200))
def test_features_of_any_text_are_finite_and_terms_are_in_range(question, response):
    sample = Sample(
        "1", question=question, contexts=(Context(response), Context(question)), response=response
    )
    assert all(np.isfinite(value) for value in shift.features(sample).values())
    assert all(0 <= term < shift.TERMS for term in shift.terms(sample))


@pytest.mark.timing
@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["a" * 2_000_000, "? " * 1_000_000, "\ud800" * 500_000, "́" * 1_000_000]
)
def test_hostile_text_is_measured_in_linear_time(text):
    started = time.perf_counter()
    sample = Sample("1", question=text, contexts=(Context(text),), response=text)
    shift.features(sample)
    shift.terms(sample)
    assert time.perf_counter() - started < 5


def test_a_profile_keeps_quantiles_and_shares_and_no_row():
    profile = shift.profile([{"response_words": float(i)} for i in range(64)] + [{}] * 64)
    assert profile.n == 128
    assert profile.present == {"response_words": 0.5}
    assert len(profile.quantiles["response_words"]) == 33
    assert profile.quantiles["response_words"][16] == 31.0  # half of 0 .. 63 lie at or below 31
    assert (profile.quantiles["response_words"][0], profile.quantiles["response_words"][-1]) == (
        0.0,
        63.0,
    )


def test_rows_of_the_same_kind_are_like_the_profile():
    known = shift.profile(rows(2000, 1))
    refused = sum(not shift.against(known, rows(300, seed)).alike for seed in range(2, 42))
    assert refused <= 1


def test_longer_responses_are_unlike_and_the_reason_says_how_much():
    known = shift.profile(rows(2000, 1, length=3.0))
    result = shift.against(known, rows(300, 2, length=3.0 + np.log(4)))
    assert not result.alike
    assert result.feature == "response_words"
    assert "times as long" in result.why
    assert result.p is not None
    assert result.p < 1e-6
    assert result.size > 0.7


def test_a_tiny_difference_is_no_shift_however_many_rows_show_it():
    known = shift.profile(rows(20_000, 1, length=3.0))
    result = shift.against(known, rows(20_000, 2, length=3.1))
    assert result.alike
    assert result.p is not None
    assert result.p < 1e-6


def test_with_few_rows_the_reason_states_what_they_could_detect():
    result = shift.against(shift.profile(rows(2000, 1)), rows(8, 2))
    assert result.alike
    assert "8 rows would only show" in result.why


def test_a_field_that_the_measured_rows_lacked_is_a_shift():
    known = shift.profile(rows(500, 1))
    result = shift.against(known, [{**row, "contexts": 1.0} for row in rows(500, 2)])
    assert not result.alike
    assert result.feature == "contexts"
    assert "100% of the rows here" in result.why


def test_sets_with_too_little_to_compare_are_alike():
    assert shift.against(shift.profile([]), rows(5, 1)).why == "no rows to compare"
    assert shift.against(shift.profile(rows(5, 1)), []).alike
    assert shift.two_sets(rows(1, 1), rows(9, 1)).why.startswith("fewer than two rows")
    assert shift.two_sets([{}] * 5, [{}] * 5).alike


@pytest.mark.parametrize("gap", [0.05, 0.1, 0.2])
def test_kolmogorovs_limit_equals_scipys(gap):
    root = np.sqrt(400 * 600 / 1000)
    assert shift.kolmogorov(gap, 400, 600) == pytest.approx(
        kstwobign.sf(gap * (root + 0.12 + 0.11 / root)), abs=1e-10
    )


@pytest.mark.slow
def test_two_sets_of_one_kind_are_alike_and_of_two_kinds_are_not():
    refused = sum(
        not shift.two_sets(rows(100, seed), rows(300, 100 + seed), seed=seed).alike
        for seed in range(12)
    )
    assert refused <= 1
    assert not shift.two_sets(rows(100, 1), rows(300, 2, length=3.6)).alike
    assert not shift.two_sets(rows(150, 1, spread=0.5), rows(300, 2, spread=1.5)).alike


def test_other_words_are_a_shift_where_the_numbers_are_the_same():
    sea = [
        "the whale swims in the deep sea",
        "a ship sails on cold water",
        "the tide moves the boat",
    ]
    law = [
        "the court hears a hard case",
        "a judge rules on the old law",
        "the jury finds the man free",
    ]
    bags = [
        [shift.terms(Sample(str(i), response=texts[i % 3])) for i in range(60)]
        for texts in (sea, law)
    ]
    result = shift.two_sets(rows(60, 1), rows(60, 2), terms=(bags[0], bags[1]))
    assert not result.alike
    assert result.size > 0.9
    assert shift.two_sets(rows(60, 1), rows(60, 2), terms=(bags[0], bags[0])).alike


@pytest.mark.slow
def test_rows_of_few_clusters_do_not_count_as_many():
    # Every cluster has its own length, so two random handfuls of clusters always differ; that is no
    # shift.
    def clustered(seed):
        rng = np.random.default_rng(seed)
        levels = rng.normal(3, 1, 8)
        return [{"response_words": float(levels[i % 8] + rng.normal(0, 0.1))} for i in range(160)]

    names = [str(i % 8) for i in range(160)]
    refused = blind = 0
    for seed in range(15):
        a, b = clustered(seed), clustered(100 + seed)
        mine, theirs = ["a" + name for name in names], ["b" + name for name in names]
        refused += not shift.two_sets(a, b, clusters=(mine, theirs), seed=seed).alike
        blind += not shift.two_sets(a, b, seed=seed).alike
    assert refused <= 2
    assert blind == 15


def test_the_same_seed_gives_the_same_answer():
    assert shift.two_sets(rows(80, 1), rows(90, 2), seed=5) == shift.two_sets(
        rows(80, 1), rows(90, 2), seed=5
    )


def test_clusters_must_be_given_for_every_row():
    with pytest.raises(ValueError, match="for every row"):
        shift.two_sets(rows(5, 1), rows(5, 2), clusters=(["a"], ["b"] * 5))


@settings(max_examples=examples(20), deadline=None)
@given(st.integers(2, 40), st.integers(2, 40), st.integers(0, 1000))
def test_sizes_and_p_values_stay_in_their_range(n, m, seed):
    for result in (
        shift.two_sets(rows(n, seed), rows(m, seed + 1), seed=seed),
        shift.against(shift.profile(rows(n, seed)), rows(m, seed + 1)),
    ):
        assert 0 <= result.size <= 1
        assert result.p is not None
        assert 0 < result.p <= 1
