"""The design calculator: statsmodels as the reference, laws, refusals, and printed power against
simulated power.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.power import TTestIndPower, TTestPower

from ragassay.scoring import paired_difference, rate_interval
from ragassay.scoring.design import QUESTIONS, noncentral_power, plan
from support.examples import examples
from support.present import present


@pytest.mark.parametrize("effect", [0.05, 0.2, 0.5, 1.5])
@pytest.mark.parametrize("n", [3, 10, 50, 2000])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_power_agrees_with_statsmodels(effect, n, level):
    one, two = TTestPower().power(effect, n, 1 - level), TTestIndPower().power(effect, n, 1 - level)
    for shift, freedom, wanted in (
        (effect * math.sqrt(n), n - 1, one),
        (effect * math.sqrt(n / 2), 2 * n - 2, two),
    ):
        ours = noncentral_power(shift, freedom, level)
        if math.isnan(wanted):  # theirs is not a number where it is close to 1
            assert 0.999 < ours <= 1
        else:
            assert ours == pytest.approx(wanted, abs=1e-10)


@pytest.mark.parametrize(("difference", "sd"), [(0.05, 0.3), (0.1, 0.2), (0.02, 0.4)])
def test_the_labels_needed_agree_with_statsmodels(difference, sd):
    wanted = math.ceil(TTestPower().solve_power(difference / sd, power=0.8, alpha=0.05))
    assert plan("paired", difference=difference, sd=sd).labels == wanted
    assert plan("target", difference=difference, sd=sd).labels == wanted
    each = math.ceil(TTestIndPower().solve_power(difference / sd, power=0.8, alpha=0.05))
    assert plan("unpaired", difference=difference, sd=sd).labels in (2 * each, 2 * each - 2)


def test_the_detectable_difference_agrees_with_statsmodels():
    wanted = 0.3 * TTestPower().solve_power(nobs=120, power=0.9, alpha=0.05)
    assert plan("paired", labels=120, sd=0.3, power=0.9).difference == pytest.approx(
        wanted, abs=1e-6
    )


def test_a_target_is_planned_for_wilsons_interval_by_hand():
    # From .9 down to .85: (1.959964 * sqrt(.09) + .841621 * sqrt(.1275))^2 / .05^2 = 315.9
    assert plan("target", difference=-0.05, rate=0.9).labels == 316


def test_the_labels_for_a_half_width_are_just_enough():
    design = plan("width", half_width=0.05, rate=0.9)
    n = design.labels
    interval = present(rate_interval(round(0.9 * n), n))
    shorter = present(rate_interval(round(0.9 * (n - 5)), n - 5))
    assert (interval.high - interval.low) / 2 == pytest.approx(0.05, abs=0.001)
    assert shorter.high - shorter.low > interval.high - interval.low
    assert plan("width", labels=n, rate=0.9).half_width == pytest.approx(design.half_width)


def test_clusters_multiply_the_labels_by_the_design_effect():
    alone = plan("paired", difference=0.05, discordance=0.2)
    clustered = plan("paired", difference=0.05, discordance=0.2, cluster_size=10, icc=0.1)
    assert clustered.design_effect == pytest.approx(1.9)
    assert clustered.labels / alone.labels == pytest.approx(1.9, abs=0.05)
    assert clustered.clusters == round(clustered.labels / 10)


@settings(max_examples=examples(40))
@given(
    st.sampled_from(["paired", "unpaired", "target"]),
    st.floats(0.02, 0.15),
    st.floats(0.55, 0.95),
    st.floats(1, 20),
    st.floats(0, 0.5),
)
def test_labels_difference_and_power_of_a_plan_are_consistent(
    question, difference, power, size, icc
):
    ask = partial(plan, question, cluster_size=size, icc=icc)
    ask = partial(ask, discordance=0.3) if question == "paired" else partial(ask, rate=0.4)
    needed = ask(difference=difference, power=power)
    assert needed.power >= power - 1e-9
    again = ask(difference=difference, power=power, labels=needed.labels)
    assert again.power == pytest.approx(needed.power)
    assert ask(power=power, labels=needed.labels).difference <= difference + 1e-9


def test_assumed_values_of_a_plan_are_stated():
    design = plan("paired", difference=0.05)
    assert design.assumed == ("the two differ on 20% of the rows",)
    assert design.assumed[0] in design.sentence
    assert plan("width", half_width=0.05).assumed == ("a rate of 50%",)


def test_a_rough_plan_carries_a_warning():
    assert plan("paired", difference=0.02, discordance=0.02, labels=100).warnings
    assert plan("target", labels=400, rate=0.9, cluster_size=50, icc=0.1).warnings
    assert not plan("paired", difference=0.05, discordance=0.2).warnings


@pytest.mark.parametrize(
    ("question", "options", "words"),
    [
        ("sideways", {"difference": 0.1}, "no question"),
        ("paired", {}, "give difference"),
        ("paired", {"difference": 0.0}, "difference of 0"),
        ("paired", {"difference": 0.3, "discordance": 0.2}, "needs at least that share"),
        ("paired", {"difference": 0.1, "rate": 0.5}, "not rate"),
        ("paired", {"difference": 0.1, "sd": 0.2, "discordance": 0.2}, "either sd"),
        ("paired", {"difference": 0.1, "sd": -1}, "sd must be positive"),
        ("unpaired", {"difference": 0.2, "rate": 0.9}, "cannot change"),
        ("unpaired", {"difference": 0.2, "discordance": 0.9}, "paired question"),
        ("target", {"difference": math.nan}, "finite"),
        ("target", {"difference": 0.1, "power": 1.0}, "power"),
        ("target", {"difference": 0.1, "level": 0.2}, "level"),
        ("target", {"difference": 0.1, "icc": 2}, "icc"),
        ("target", {"difference": 0.1, "rate": 1.0}, "share of the rows"),
        ("target", {"difference": 0.1, "cluster_size": 0.5}, "at least one row"),
        ("target", {"labels": 1}, "at least 2"),
        ("target", {"labels": 4, "cluster_size": 4}, "no difference, however large"),
        ("target", {"labels": 4, "half_width": 0.1}, "half_width belongs"),
        ("width", {}, "needs half_width or labels"),
        ("width", {"half_width": 0.1, "difference": 0.1}, "no difference"),
        ("width", {"half_width": 0.7}, "half_width must"),
        ("width", {"labels": 10, "cluster_size": 8}, "fewer than two clusters"),
        ("target", {"difference": 1e-7, "rate": 0.5}, "more than"),
    ],
)
def test_an_impossible_plan_is_refused_with_the_reason(question, options, words):
    with pytest.raises(ValueError, match=words):
        plan(question, **options)


def test_every_question_is_explained():
    assert set(QUESTIONS) == {"paired", "unpaired", "target", "width"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("discordance", "difference", "size", "icc"),
    [(0.2, 0.08, 1, 0.0), (0.1, 0.05, 1, 0.0), (0.3, 0.1, 5, 0.2)],
)
def test_printed_power_is_simulated_power_of_a_pair(discordance, difference, size, icc):
    """Rows differ with beta-binomial clusters; the pair is tested as runs are compared."""
    design = plan(
        "paired", difference=difference, discordance=discordance, cluster_size=size, icc=icc
    )
    rng, times, hits = np.random.default_rng(2), 700, 0
    up, groups = (discordance + difference) / 2, round(design.labels / size)
    for _ in range(times):
        # one of three outcomes a row; a row takes its cluster's own outcome with probability
        # sqrt(icc)
        outcomes = [1.0, -1.0, 0.0]
        p = [up, discordance - up, 1 - discordance]
        shared = np.repeat(rng.choice(outcomes, groups, p=p), size)
        own = rng.choice(outcomes, groups * size, p=p)
        d = np.where(rng.random(groups * size) < math.sqrt(icc), shared, own)
        names = (
            [None] * len(d)
            if size == 1
            else np.repeat([str(g) for g in range(groups)], size).tolist()
        )
        result = paired_difference(
            (0.5 - x / 2, 0.5 + x / 2, c) for x, c in zip(d.tolist(), names, strict=True)
        )
        hits += present(result.p) < 0.05
    assert hits / times == pytest.approx(design.power, abs=0.03 + 2 * math.sqrt(0.16 / times))
