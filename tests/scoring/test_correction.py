"""A metric of a run corrected by labels of some of its rows, or refused with the reason."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ragassay.core import DataError
from ragassay.scoring.correction import RowLabel, RunRow, corrected_metric


def world(
    total: int = 800, seed: int = 0, length: float = 3.0, prefix: str = "r"
) -> tuple[list[RunRow], list[float]]:
    """Rows of a lenient judge: it passes all good and a third of the bad ones. True rate .5."""
    rng = np.random.default_rng(seed)
    label = (rng.random(total) < 0.5).astype(float)
    score = np.maximum(label, rng.random(total) < 1 / 3)
    rows = [
        RunRow(
            f"{prefix}{i}",
            float(score[i]),
            slices={"kind": "even" if i % 2 == 0 else "odd"},
            features={"response_words": float(rng.normal(length, 0.5))},
        )
        for i in range(total)
    ]
    return rows, label.tolist()


@pytest.mark.slow
def test_labels_drawn_at_random_correct_a_lenient_judge():
    rows, truth = world()
    found = corrected_metric(
        rows, [RowLabel(f"r{i}", truth[i]) for i in range(200)], metric="groundedness"
    )
    assert found.estimate.judge is not None
    assert found.estimate.judge > 0.6
    assert found.estimate.interval is not None
    assert found.estimate.interval.low < np.mean(truth) < found.estimate.interval.high
    assert found.bias is not None
    assert 0.1 < found.bias < 0.25
    assert found.saved is not None
    assert found.saved > 50
    assert (found.rows, found.used, found.foreign, found.weighted) == (800, 200, False, False)
    assert found.shift is not None
    assert found.shift.alike
    assert any("drawn at random" in warning for warning in found.warnings)


def test_labels_of_the_rows_that_failed_are_refused_with_the_reason():
    rows, truth = world()
    picked = [i for i in range(800) if rows[i].value == 0.0][:100]
    with pytest.raises(DataError) as caught:
        corrected_metric(rows, [RowLabel(f"r{i}", truth[i]) for i in picked])
    assert caught.value.code == "E0605"
    assert "not drawn at random" in caught.value.what
    assert "judge" in caught.value.why
    assert caught.value.fix


def test_the_same_choice_is_used_when_its_probabilities_are_known():
    rows, truth = world(2000)
    rng = np.random.default_rng(5)
    chance = [0.3 if row.value == 0.0 else 0.05 for row in rows]
    picked = [i for i in range(2000) if rng.random() < chance[i]]
    found = corrected_metric(
        rows, [RowLabel(f"r{i}", truth[i], inclusion=chance[i]) for i in picked]
    )
    assert found.weighted
    assert found.shift is None
    assert found.estimate.interval is not None
    assert found.estimate.interval.low < 0.5 < found.estimate.interval.high
    assert (
        abs(np.mean([truth[i] for i in picked]) - 0.5) > 0.1
    )  # unweighted, these labels would be far off


def test_labels_of_unknown_choice_beside_known_ones_are_set_aside():
    rows, truth = world()
    labels = [RowLabel(f"r{i}", truth[i], inclusion=0.1) for i in range(80)] + [
        RowLabel("r90", 1.0),
        RowLabel("r91", 0.0),
    ]
    found = corrected_metric(rows, labels)
    assert found.used == 80
    assert list(found.unused.values()) == [2]


@pytest.mark.slow
def test_a_calibration_set_of_the_same_kind_is_used_and_of_another_kind_refused():
    rows, _ = world()
    others, truth = world(150, seed=9, prefix="c")
    labels = [RowLabel(row.id, value, row=row) for row, value in zip(others, truth, strict=True)]
    found = corrected_metric(rows, labels)
    assert found.foreign
    assert found.used == 150
    assert found.estimate.interval is not None
    assert found.estimate.interval.low < 0.5 < found.estimate.interval.high
    strangers, truth = world(150, seed=9, length=4.5, prefix="c")
    with pytest.raises(DataError) as caught:
        corrected_metric(
            rows,
            [RowLabel(row.id, value, row=row) for row, value in zip(strangers, truth, strict=True)],
        )
    assert caught.value.code == "E0605"
    assert "another population" in caught.value.what
    assert "responses" in caught.value.why


def test_a_calibration_set_of_few_documents_is_refused_as_unproven():
    rows, _ = world()
    others, truth = world(150, seed=9, prefix="c")
    few = [replace(row, cluster=f"d{i % 4}") for i, row in enumerate(others)]
    with pytest.raises(DataError, match="4 rows or clusters") as caught:
        corrected_metric(
            rows, [RowLabel(row.id, value, row=row) for row, value in zip(few, truth, strict=True)]
        )
    assert caught.value.code == "E0605"


def test_labels_that_match_no_row_are_refused_with_their_number():
    rows, _ = world(100)
    with pytest.raises(DataError) as caught:
        corrected_metric(rows, [RowLabel("x1", 1.0), RowLabel("x2", 0.0)])
    assert caught.value.code == "E0605"
    assert "2 not a row of this run" in caught.value.why
    with pytest.raises(DataError, match="no label"):
        corrected_metric(rows, [])


@pytest.mark.slow
def test_labels_off_the_scale_and_strange_ids_are_set_aside_and_counted():
    rows, truth = world()
    labels = [RowLabel(f"r{i}", truth[i]) for i in range(100)]
    found = corrected_metric(
        rows, [*labels, RowLabel("r200", 3.0), RowLabel("r201", float("nan")), RowLabel("zz", 1.0)]
    )
    assert found.unused == {
        "off the scale 0 to 1": 2,
        "not a row of this run, or the metric does not apply to it": 1,
    }
    assert (found.labels, found.used) == (103, 100)


def test_two_labels_of_one_row_count_as_their_mean_and_are_told():
    rows, truth = world()
    labels = [RowLabel(f"r{i}", truth[i]) for i in range(60)]
    found = corrected_metric(rows, [*labels, RowLabel("r0", 1 - truth[0])])
    assert found.used == 60
    assert found.estimate.labels_only == pytest.approx((sum(truth[:60]) - truth[0] + 0.5) / 60)
    assert "1 row has several labels: their mean counts" in found.warnings


def test_few_labels_stand_alone():
    rows, truth = world()
    found = corrected_metric(rows, [RowLabel(f"r{i}", truth[i]) for i in range(12)])
    assert found.estimate.method == "labels alone"
    assert found.saved == 0
    assert any("too few to see" in warning for warning in found.warnings)


def test_when_all_rows_are_labelled_there_is_nothing_to_test_and_the_mean_is_theirs():
    rows, truth = world(200)
    found = corrected_metric(rows, [RowLabel(f"r{i}", truth[i]) for i in range(200)])
    assert found.shift is None
    assert found.estimate.value == pytest.approx(np.mean(truth))


@pytest.mark.slow
def test_rows_that_the_judge_lost_do_not_pull_the_estimate():
    # The judge loses half of the bad rows: over the rows that it kept, the true rate would be 2 /
    # 3.
    kept = []
    for seed in range(25):
        rows, truth = world(600, seed=seed)
        rng = np.random.default_rng(seed)
        rows = [
            replace(row, value=None) if value == 0 and rng.random() < 0.5 else row
            for row, value in zip(rows, truth, strict=True)
        ]
        found = corrected_metric(rows, [RowLabel(f"r{i}", truth[i]) for i in range(120)])
        assert found.lost > 100
        assert any("without a judge's score" in warning for warning in found.warnings)
        assert found.estimate.value is not None
        kept.append(found.estimate.value)
    assert np.mean(kept) == pytest.approx(0.5, abs=0.03)


def test_a_run_without_any_score_rests_on_the_labels_alone():
    rows, truth = world(300)
    found = corrected_metric(
        [replace(row, value=None) for row in rows],
        [RowLabel(f"r{i}", truth[i]) for i in range(100)],
    )
    assert found.estimate.method == "labels alone"
    assert found.bias is None
    assert found.estimate.value == pytest.approx(np.mean(truth[:100]))


def test_each_slice_gets_its_own_estimate():
    rows, truth = world()
    found = corrected_metric(rows, [RowLabel(f"r{i}", truth[i]) for i in range(240)], by="kind")
    assert [
        (part.value, part.estimate.n_labelled, part.estimate.n_total) for part in found.slices
    ] == [
        ("even", 120, 400),
        ("odd", 120, 400),
    ]


@pytest.mark.slow
def test_clusters_widen_the_interval():
    rows, truth = world(800)
    labels = [RowLabel(f"r{i}", truth[i // 8 * 8]) for i in range(240)]
    apart = corrected_metric(rows, labels).estimate
    together = corrected_metric(
        [replace(row, cluster=f"d{i // 8}") for i, row in enumerate(rows)], labels
    ).estimate
    assert together.clusters == 30
    assert apart.labels_only_interval is not None
    assert together.labels_only_interval is not None
    narrow = apart.labels_only_interval.high - apart.labels_only_interval.low
    assert together.labels_only_interval.high - together.labels_only_interval.low > 1.5 * narrow


def test_two_rows_of_one_id_are_a_mistake_of_the_caller():
    rows, _ = world(5)
    with pytest.raises(ValueError, match="one id"):
        corrected_metric([*rows, rows[0]], [])


def test_the_correlation_is_that_of_verdicts_and_labels_weighted_by_their_chances() -> None:
    # Judge and label of eight rows; those at 0.5 count twice. Weighted: both pass 6, only the judge
    # 1, only people 1, none 4: (6 * 4 - 1 * 1) / sqrt(7 * 7 * 5 * 5) = 23 / 35.
    table = [(1, 1, 0.5)] * 3 + [(1, 0, 1.0), (0, 1, 1.0)] + [(0, 0, 0.5)] * 2
    rows = [RunRow(f"r{n}", float(judge)) for n, (judge, _, _) in enumerate(table)]
    labels = [RowLabel(f"r{n}", float(label), p) for n, (_, label, p) in enumerate(table)]
    assert corrected_metric(rows, labels).correlation == pytest.approx(23 / 35)
    one_sided = [RowLabel(label.id, 1.0, label.inclusion) for label in labels]
    assert corrected_metric(rows, one_sided).correlation is None
