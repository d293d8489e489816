"""The audit of printed rows: exactly what one confusion matrix can and cannot give."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    cohen_kappa_score,
    f1_score,
    matthews_corrcoef,
    precision_score,
    recall_score,
)

from ragassay.core import DataError
from ragassay.trust.audit import audit_row, audit_table, describe
from support.examples import examples

DOCS = Path(__file__).parents[2] / "docs"
FIGURES: dict[str, Callable[..., float]] = {
    "precision": precision_score,
    "recall": recall_score,
    "f1": f1_score,
    "accuracy": accuracy_score,
    "balanced_accuracy": balanced_accuracy_score,
    "kappa": cohen_kappa_score,
    "mcc": matthews_corrcoef,
}


def printed(tp: int, fp: int, fn: int, tn: int, decimals: int = 4) -> dict[str, Any]:
    """A row as a table prints it, by scikit-learn."""
    truth, passes = [1] * (tp + fn) + [0] * (fp + tn), [1] * tp + [0] * fn + [1] * fp + [0] * tn
    return {name: f"{figure(truth, passes):.{decimals}f}" for name, figure in FIGURES.items()}


def test_the_published_answer_relevance_row_implies_another_kappa_than_it_prints() -> None:
    # Balanced classes, P .9924, R .655: false positive rate .655 * (1 - .9924) / .9924 = .0050, and
    # on balanced classes kappa = R - F = .650.
    row = audit_row(
        "answer relevance",
        {"precision": ".9924", "recall": ".655", "kappa": ".605", "balanced": "yes"},
    )
    assert row.nature == "inconsistent"
    assert "kappa" in row.culprits
    low, high = row.implied["kappa"]
    assert low < 0.655 - 0.655 * 0.0076 / 0.9924 < high
    assert high - low < 0.0015
    assert (
        "without kappa the rest is possible, and implies kappa 0.650, printed is .605" in row.lines
    )


def test_with_f1_and_the_number_of_rows_only_kappa_is_left_to_blame() -> None:
    row = audit_row(
        "x",
        {"P": "99.24%", "R": "65.5%", "F1": "78.92%", "kappa": ".605", "n": 400, "positives": 200},
    )
    assert row.nature == "inconsistent"
    assert row.culprits == ("kappa",)
    mended = audit_row(
        "x",
        {"P": "99.24%", "R": "65.5%", "F1": "78.92%", "kappa": ".650", "n": 400, "positives": 200},
    )
    assert mended.nature == "pooled"


def test_an_f1_below_the_harmonic_mean_is_a_mean_over_parts_and_one_above_is_neither() -> None:
    # Two parts with P, R = (.9, .5) and (.5, .9): means .7 and .7, F1 of each .6429; the harmonic
    # mean is .7.
    below = audit_row("macro", {"precision": "0.700", "recall": "0.700", "f1": "0.643"})
    above = audit_row("odd", {"precision": "0.700", "recall": "0.700", "f1": "0.750"})
    pooled = audit_row("pooled", {"precision": "0.700", "recall": "0.700", "f1": "0.700"})
    assert (below.nature, above.nature, pooled.nature) == ("macro", "inconsistent", "pooled")
    assert below.implied["f1"] == pytest.approx((0.6995, 0.7005))


def test_two_figures_contradict_nothing_and_that_is_said() -> None:
    assert audit_row("x", {"precision": ".9", "recall": ".8"}).nature == "undetermined"
    assert audit_row("x", {"kappa": ".9"}).nature == "undetermined"
    assert audit_row("x", {"precision": "-", "recall": ""}).printed == ()


def test_whole_counts_decide_where_shares_alone_could_not() -> None:
    # Of 10 positives no whole number is .655; as shares alone it is possible.
    row = {"precision": "0.9924", "recall": "0.655", "f1": "0.7892", "kappa": "0.650"}
    assert audit_row("x", row | {"balanced": "yes"}).nature == "pooled"
    assert audit_row("x", row | {"n": "20", "positives": "10"}).nature == "inconsistent"


@pytest.mark.slow
@settings(max_examples=examples(25), deadline=None)
@given(st.integers(5, 400), st.integers(1, 400), st.integers(1, 400), st.integers(5, 400))
def test_what_one_matrix_really_gives_is_never_called_impossible(
    tp: int, fp: int, fn: int, tn: int
) -> None:
    row = audit_row("true", printed(tp, fp, fn, tn))
    assert row.nature == "pooled", row.lines
    counted = audit_row(
        "true", printed(tp, fp, fn, tn) | {"n": tp + fp + fn + tn, "positives": tp + fn}
    )
    assert counted.nature == "pooled", counted.lines
    truth = fp / (fp + tn)
    if "false_positive_rate" in row.implied:
        low, high = row.implied["false_positive_rate"]
        assert low - 1e-9 <= truth <= high + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("figure", ["kappa", "mcc", "accuracy", "f1", "balanced_accuracy"])
def test_one_figure_moved_by_two_points_is_found_out(figure: str) -> None:
    row = printed(300, 60, 90, 250)
    assert audit_row("true", row).nature == "pooled"
    moved = audit_row("moved", row | {figure: f"{float(row[figure]) + 0.02:.4f}"})
    assert moved.nature == "inconsistent"
    if figure != "f1":
        low, high = moved.implied[figure]
        assert moved.culprits == (figure,)
        assert low <= float(row[figure]) + 5e-5
        assert high >= float(row[figure]) - 5e-5


def test_a_table_is_read_from_csv_and_json_with_the_decimals_that_it_prints(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(
        "Judge,Precision,Recall,F1 score\nA,0.70,0.70,0.64\nB,70%,70%,70%\n"
    )
    found = audit_table(str(tmp_path / "table.csv"))
    assert [(row.name, row.nature) for row in found.rows] == [("A", "macro"), ("B", "pooled")]
    assert found.rows[0].printed[0].low == pytest.approx(0.695)
    assert describe(found)[0] == "A: macro"
    (tmp_path / "table.json").write_text(
        json.dumps([{"name": "A", "precision": 0.7, "recall": 0.7, "f1": 0.5}])
    )
    assert audit_table(str(tmp_path / "table.json")).rows[0].nature == "macro"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"precision": "high", "recall": "0.5"}, "no figure"),
        ({"precision": "120%", "recall": "0.5"}, "out of its range"),
        ({"name": "x"}, "prints no figure"),
    ],
)
def test_what_is_no_table_of_figures_is_refused(row: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        audit_table([row])
    assert caught.value.code == "E0316"


def test_all_rows_of_the_published_triad_benchmark_are_audited() -> None:
    found = audit_table(str(DOCS / "data" / "triad-benchmark.csv"))
    assert [row.nature for row in found.rows] == [
        *4 * ["macro"],
        *6 * ["pooled"],
        "inconsistent",
    ]
    *_, before, after = found.rows
    # On balanced classes with no false pass, kappa is recall: .6050. It is printed a row too low.
    assert [round(end, 3) for end in before.implied["kappa"]] == [0.605, 0.605]
    assert [round(end, 3) for end in after.implied["kappa"]] == [0.65, 0.65]


def test_the_rows_of_one_sample_imply_several_prevalences() -> None:
    from docs_pages.triad_benchmark import prevalence, printed_rows

    implied = {}
    for row in printed_rows():
        span = prevalence(row)
        if span is not None:
            implied[row["name"]] = round(sum(span) / 2, 2)
    # Worked by hand for UMBRELA: kappa = 2 (r - F) q (1 - q) / ((r q + F (1 - q)) + q - 2 q (...)),
    # with F = r q (1 - p) / (p (1 - q)); q = .298 gives .4529.
    assert implied == {
        "groundedness, Bespoke-MiniCheck-7B": 0.50,
        "groundedness, MLflow faithfulness": 0.52,
        "groundedness, TruLens optimised": 0.58,
        "context relevance, UMBRELA": 0.30,
        "context relevance, MLflow relevance": 0.28,
        "context relevance, TruLens optimised": 0.25,
        "answer relevance, MLflow answer relevance": 0.50,
        "answer relevance, TruLens optimised": 0.59,
    }


def test_both_files_of_the_published_figures_hold_the_same_ones() -> None:
    from docs_pages.triad_benchmark import printed_rows, published_tables

    printed = []
    for row in printed_rows():
        printed.append([float(row[name] or 0) for name in ("precision", "recall", "f1", "kappa")])
    tabled = []
    for one in published_tables():
        for judge in one["judges"]:
            tabled.append([judge.get(name, 0.0) for name in ("precision", "recall", "f1", "kappa")])
    assert printed == tabled


def test_rows_of_one_sample_that_imply_different_shares_of_positives_are_named() -> None:
    # With P .80 and R .60 a kappa of .55 needs 35.5 to 37 % of positives; with .85 and .70, a kappa
    # of .40 needs about 69 %. Precision and recall both rise, and kappa falls.
    rows = [
        {"name": "A", "dataset": "s", "precision": ".800", "recall": ".600", "kappa": ".550"},
        {"name": "B", "dataset": "s", "precision": ".850", "recall": ".700", "kappa": ".400"},
        {"name": "C", "dataset": "t", "precision": ".850", "recall": ".700", "kappa": ".400"},
    ]
    first, second = audit_table(rows).together
    assert first.startswith("sample s: A 0.3")
    assert "and B 0.6" in first
    assert second == ("sample s: from A to B precision and recall both rise, and kappa falls")


def test_printed_figures_are_held_against_printed_counts() -> None:
    # Recall is 40 / 60, precision 40 / 50, kappa 2 (40 * 30 - 10 * 20) / (50 * 40 + 60 * 50) = .4.
    counts = {"tp": 40, "fp": 10, "fn": 20, "tn": 30}
    right = audit_row("D", {"precision": ".8", "recall": ".667", "kappa": ".40", **counts})
    assert right.nature == "pooled"
    wrong = audit_row("C", {"precision": ".8", "recall": ".60", "n": 120, **counts})
    assert wrong.nature == "inconsistent"
    assert wrong.culprits == ("n", "recall")
    assert "  the counts give recall 0.6667, printed is .60" in [f"  {x}" for x in wrong.lines]
