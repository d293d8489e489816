"""The choice of rows: each has exactly the chance that is stated, and estimates stay true."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragassay.core import RowResult, Sample, Score, SetupError, Status
from ragassay.scoring.label_rounds import combined
from ragassay.trust.sampling import METHODS, Candidate, Choice, candidates, choose
from support.examples import examples

# Twelve rows of two slices; the judge is sure of some, lost on one.
SMALL = [
    Candidate(f"r{i}", p, cluster="big" if i < 6 else None, slice="a" if i % 3 else "b")
    for i, p in enumerate([0.5, 0.6, 0.02, 0.97, 0.4, 0.9, 0.5, 1.0, 0.0, None, 0.75, 0.3])
]


def frequencies(
    trials: int, rows: Sequence[Candidate], n: int, **options: object
) -> tuple[Counter[str], Counter[str]]:
    """How often each row was chosen, and how often for the audit."""
    seen, audited = Counter[str](), Counter[str]()
    for seed in range(trials):
        choice = choose(rows, n, seed=seed, **options)  # type: ignore[arg-type]
        seen.update(row.id for row in choice.rows)
        audited.update(row.id for row in choice.rows if row.stream == "audit")
    return seen, audited


def stated(rows: Sequence[Candidate], n: int, **options: object) -> dict[str, float]:
    """The stated probability of every row: it does not depend on the draw, so a few draws show them
    all.
    """
    found: dict[str, float] = {}
    for seed in range(200):
        for row in choose(rows, n, seed=seed, **options).rows:  # type: ignore[arg-type]
            assert found.setdefault(row.id, row.inclusion_probability) == pytest.approx(
                row.inclusion_probability
            )
    return found


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("per_cluster", [None, 2])
def test_rows_are_chosen_as_often_as_their_stated_probability_says(
    method: str, per_cluster: int | None
) -> None:
    trials, n = 2000, 5
    chance = stated(SMALL, n, method=method, per_cluster=per_cluster)
    seen, audited = frequencies(trials, SMALL, n, method=method, per_cluster=per_cluster)
    assert set(chance) == {row.id for row in SMALL}
    assert sum(chance.values()) == pytest.approx(n)
    even = choose(SMALL, n, method=method, per_cluster=per_cluster).audit_probability
    for row in SMALL:
        error = 4.5 * np.sqrt(chance[row.id] * (1 - chance[row.id]) / trials) + 1e-9
        assert abs(seen[row.id] / trials - chance[row.id]) <= error, row.id
        assert abs(audited[row.id] / trials - even) <= 4.5 * np.sqrt(even * (1 - even) / trials), (
            row.id
        )


def test_the_active_method_prefers_rows_of_which_the_judge_is_unsure_and_forgets_none() -> None:
    chance = stated(SMALL, 4, method="active")
    assert chance["r0"] > chance["r4"] > chance["r5"] > chance["r3"] > chance["r8"] > 0
    assert chance["r9"] == pytest.approx(chance["r0"])  # the judge was lost: as unsure as can be
    assert min(chance.values()) >= 0.2 * 4 / 12  # the audit's part


def test_the_audit_is_about_a_fifth_of_what_is_chosen() -> None:
    rows = [Candidate(f"r{i}", (i % 100) / 100, slice=str(i % 3)) for i in range(1000)]
    sizes = [
        sum(row.stream == "audit" for row in choose(rows, 100, seed=seed).rows)
        for seed in range(200)
    ]
    assert np.mean(sizes) == pytest.approx(20, abs=0.5)
    assert min(sizes) >= 14
    assert max(sizes) <= 26


def test_no_cluster_gives_more_rows_than_it_may() -> None:
    rows = [Candidate(f"r{i}", 0.5, cluster=f"c{i % 4}" if i < 40 else None) for i in range(60)]
    for seed in range(300):
        where = Counter(
            {row.id: row.cluster for row in rows}[chosen.id]
            for chosen in choose(rows, 15, per_cluster=3, seed=seed).rows
        )
        assert sum(where.values()) == 15
        assert max(count for cluster, count in where.items() if cluster is not None) <= 3
    # 4 clusters * 1 + 20 rows without one = 24 at most.
    short = choose(rows, 30, per_cluster=1)
    assert len(short.rows) == 24
    assert short.notes[0].startswith("24 rows instead of 30")


def test_strata_get_their_share_to_within_one_row() -> None:
    # Half of the rows at p = 0.5 (sd 0.5), half at p = 0.9 (sd 0.3): without an audit Neyman's 5 :
    # 3.
    rows = [Candidate(f"r{i}", 0.5 if i % 2 else 0.9) for i in range(200)]
    for seed in range(50):
        chosen = choose(rows, 40, method="stratified", audit=0.0, seed=seed).rows
        assert sum(int(row.id[1:]) % 2 for row in chosen) == 25
        assert len({row.stratum for row in chosen}) == 2


def test_a_seed_gives_the_same_choice_and_another_seed_another() -> None:
    rows = [Candidate(f"r{i}", i / 100) for i in range(100)]
    assert choose(rows, 10, seed=3) == choose(rows, 10, seed=3)
    assert choose(rows, 10, seed=3) != choose(rows, 10, seed=4)


def test_rows_of_earlier_rounds_are_not_chosen_again_and_running_out_is_said() -> None:
    rows = [Candidate(f"r{i}", i / 10) for i in range(10)]
    first = choose(rows, 6)
    second = choose(rows, 6, taken=[row.id for row in first.rows], round=2)
    assert not {row.id for row in first.rows} & {row.id for row in second.rows}
    assert [row.inclusion_probability for row in second.rows] == [1.0] * 4
    assert second.pool == 4
    assert second.notes == ("4 rows instead of 6: there are no more to choose from",)
    assert {row.round for row in second.rows} == {2}
    assert choose(rows, 6, taken=[row.id for row in rows]) == Choice(
        (), 0, 6, 0.0, ("no row is left to label",)
    )


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(SetupError, match=r"E0101(.|\n)*'active'"):
        choose(SMALL, 3, method="actve")
    for bad in ({"n": 0}, {"n": 3, "audit": 1.5}, {"n": 3, "per_cluster": 0}):
        with pytest.raises(SetupError, match="E0101"):
            choose(SMALL, **bad)
    with pytest.raises(ValueError, match="one id"):
        choose([Candidate("a", 0.5), Candidate("a", 0.5)], 1)
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        choose([Candidate("a", 1.5)], 1)


def test_a_score_at_its_pass_mark_is_where_the_judge_is_most_in_doubt() -> None:
    def row(row_id: str, value: float | None, status: Status = Status.JUDGED) -> RowResult:
        score = Score("groundedness", status, value, pass_mark=0.9)
        return RowResult(0, Sample(row_id, slices={"kind": "faq"}, cluster="doc"), (score,))

    found = candidates(
        [
            row("a", 0.9),
            row("b", 0.45),
            row("c", 0.95),
            row("d", None, Status.FAILED),
            row("e", None, Status.NOT_APPLICABLE),
        ],
        "groundedness",
        slice="kind",
    )
    # 0.45 is half of the mark: half of 0.5. 0.95 is half of the way from the mark to 1.
    assert [(one.id, one.probability) for one in found] == [
        ("a", 0.5),
        ("b", 0.25),
        ("c", pytest.approx(0.75)),
        ("d", None),
    ]
    assert {(one.cluster, one.slice) for one in found} == {("doc", "faq")}


# ---- what the choice is for: estimates ----


def population(n: int, seed: int) -> tuple[list[Candidate], np.ndarray, np.ndarray]:
    """Rows of a calibrated judge that is sure of most."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.3, 0.3, n)
    truth = (rng.random(n) < p).astype(float)
    return [Candidate(str(i), float(x)) for i, x in enumerate(p)], p, truth


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_weighted_by_inverse_probabilities_the_labels_give_the_true_rate(method: str) -> None:
    rows, _, truth = population(400, 1)
    plain, audited = [], []
    for seed in range(600):
        choice = choose(rows, 60, method=method, seed=seed)
        plain.append(
            sum(truth[int(row.id)] / row.inclusion_probability for row in choice.rows) / 400
        )
        audit = [
            truth[int(row.id)] / choice.audit_probability
            for row in choice.rows
            if row.stream == "audit"
        ]
        audited.append(sum(audit) / 400)
    for totals in (plain, audited):  # four and a half standard errors
        assert abs(np.mean(totals) - truth.mean()) < 4.5 * np.std(totals) / np.sqrt(600)


@pytest.mark.slow
def test_the_corrected_rate_errs_less_when_rows_are_chosen_by_doubt() -> None:
    rows, p, truth = population(600, 2)
    error = {}
    for method in METHODS:
        found = []
        for seed in range(400):
            chosen = choose(rows, 60, method=method, seed=seed).rows
            gaps = sum((truth[int(r.id)] - p[int(r.id)]) / r.inclusion_probability for r in chosen)
            found.append(p.mean() + gaps / 600)  # the judge's mean corrected by the labels
        error[method] = float(np.sqrt(np.mean((np.array(found) - truth.mean()) ** 2)))
    # By arithmetic: mean sd over root mean square sd is about 0.75 here; the audit's fifth costs
    # some of it.
    assert error["active"] < 0.9 * error["uniform"]
    assert error["stratified"] < 0.9 * error["uniform"]


def test_rounds_of_equal_chances_count_as_one_simple_random_sample() -> None:
    # 10 of 100, then 10 of the other 90: every weight 100 / 20.
    found = combined([(1, 0.1)] * 10 + [(2, 10 / 90)] * 10, 100)
    assert found == pytest.approx([0.2] * 20)
    assert combined([(1, 0.3), (1, 0.6)], 5) == (0.3, 0.6)
    # 8 + 4 + 3 of 40: 15 / 40.
    three = [(1, 8 / 40)] * 8 + [(2, 4 / 32)] * 4 + [(3, 3 / 28)] * 3
    assert combined(three, 40) == pytest.approx([15 / 40] * 15)


@pytest.mark.slow
def test_over_rounds_that_look_at_earlier_labels_the_total_stays_true() -> None:
    rows, _, truth = population(120, 3)
    totals = []
    for seed in range(1500):
        first = choose(rows, 15, seed=2 * seed)
        rate = np.mean([truth[int(row.id)] for row in first.rows])
        # The second round depends on what people said in the first.
        method = "active" if rate > truth.mean() else "uniform"
        second = choose(
            rows, 20, method=method, taken=[r.id for r in first.rows], round=2, seed=2 * seed + 1
        )
        every = [*first.rows, *second.rows]
        chance = combined([(row.round, row.inclusion_probability) for row in every], 120)
        totals.append(
            sum(truth[int(row.id)] / q for row, q in zip(every, chance, strict=True)) / 120
        )
    assert abs(np.mean(totals) - truth.mean()) < 4.5 * np.std(totals) / np.sqrt(1500)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(
        st.tuples(st.one_of(st.none(), st.floats(0, 1)), st.sampled_from(["x", "y", None])),
        min_size=1,
        max_size=40,
    ),
    st.integers(1, 45),
    st.sampled_from(METHODS),
    st.floats(0, 1),
    st.sampled_from([None, 1, 3]),
    st.integers(0, 9),
)
def test_any_choice_has_the_size_asked_for_and_chances_in_range(
    rows: list[tuple[float | None, str | None]],
    n: int,
    method: str,
    audit: float,
    limit: int | None,
    seed: int,
) -> None:
    given_rows = [Candidate(f"r{i}", p, cluster) for i, (p, cluster) in enumerate(rows)]
    choice = choose(given_rows, n, method=method, audit=audit, per_cluster=limit, seed=seed)
    sizes = Counter(cluster or f"own {i}" for i, (_, cluster) in enumerate(rows))
    most = sum(min(count, limit or count) for count in sizes.values())
    assert len(choice.rows) == len({row.id for row in choice.rows}) == min(n, most)
    assert all(0 < row.inclusion_probability <= 1 for row in choice.rows)
    assert all(
        0 < q <= 1
        for q in combined(
            [(row.round, row.inclusion_probability) for row in choice.rows], len(rows)
        )
    )
