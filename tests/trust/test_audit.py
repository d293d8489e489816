"""The audit of printed rows: exactly what one confusion matrix can and cannot give."""

from __future__ import annotations

import itertools
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
from ragassay.trust.audit import TableAudit, audit_row, audit_table, describe
from support.examples import examples

PUBLISHED = Path(__file__).parents[2] / "docs" / "data" / "triad-benchmark.csv"
FIGURES: dict[str, Callable[..., float]] = {
    "precision": precision_score,
    "recall": recall_score,
    "f1": f1_score,
    "accuracy": accuracy_score,
    "balanced_accuracy": balanced_accuracy_score,
    "kappa": cohen_kappa_score,
    "mcc": matthews_corrcoef,
}


@pytest.fixture(scope="module")
def published() -> TableAudit:
    return audit_table(str(PUBLISHED))


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


def test_all_rows_of_the_published_triad_benchmark_are_audited(published: TableAudit) -> None:
    assert [row.nature for row in published.rows] == [
        *4 * ["macro"],
        *6 * ["pooled"],
        "inconsistent",
    ]
    *_, before, after = published.rows
    # On balanced classes with no false pass, kappa is recall: .6050. It is printed a row too low.
    assert [round(end, 3) for end in before.implied["kappa"]] == [0.605, 0.605]
    assert [round(end, 3) for end in after.implied["kappa"]] == [0.65, 0.65]


def share_of_positives(precision: float, recall: float, kappa: float) -> float:
    """The share of positives v at which precision P and recall R give this kappa.

    As shares of all rows, TP = v R, and q = TP / P = s v rows pass, with s = R / P. Then
        observed agreement  po = TP + TN = 2 TP + 1 - v - q = 1 - v - s v + 2 R v
        agreement by chance pe = q v + (1 - q) (1 - v)      = 1 - v - s v + 2 s v v
    so that po - pe = 2 v (R - s v) and 1 - pe = v (1 + s - 2 s v), and
        kappa = 2 (R - s v) / (1 + s - 2 s v).
    Solved for v: 2 s v (1 - kappa) = 2 R - kappa (1 + s); divided by 2 s, where R / s = P:
        v = (2 P - kappa (1 + 1 / s)) / (2 (1 - kappa)).
    """
    return (2 * precision - kappa * (1 + precision / recall)) / (2 * (1 - kappa))


def ends(figures: tuple[str, str, str]) -> tuple[float, float]:
    """The lowest and highest share of positives of what rounds to the printed figures.

    v is linear in P and in 1 / R and a quotient of linear functions in kappa: it moves one way with
    each of the three, and its ends lie in corners of the box of half a printed step around them.
    """
    around = []
    for text in figures:
        half_step = 0.5 * 10.0 ** -len(text.partition(".")[2])
        around.append((float(text) - half_step, float(text) + half_step))
    shares = [share_of_positives(*corner) for corner in itertools.product(*around)]
    return min(shares), max(shares)


@pytest.mark.parametrize(
    ("name", "figures", "share"),
    [
        # Taken as pooled, which F1 speaks against.
        ("groundedness, Bespoke-MiniCheck-7B", (".7610", ".8038", ".5525"), 0.4988),
        ("groundedness, MLflow faithfulness", (".6693", ".8902", ".4155"), 0.5224),
        ("groundedness, TruLens optimised", (".7830", ".8515", ".5358"), 0.5790),
        # (1.2 - .4529 * (1 + .6 / .6449)) / (2 * .5471) = (1.2 - .87427) / 1.0942 = .2977
        ("context relevance, UMBRELA", (".6000", ".6449", ".4529"), 0.2977),
        ("context relevance, MLflow relevance", (".5973", ".6885", ".4873"), 0.2775),
        ("context relevance, TruLens optimised", (".5129", ".8660", ".4769"), 0.2547),
        # Stated are balanced classes, .5: the kappa is another judge's.
        ("answer relevance, TruLens optimised", (".9924", ".6550", ".605"), 0.5863),
    ],
)
def test_a_published_row_implies_the_prevalence_that_follows_from_its_three_figures(
    name: str, figures: tuple[str, str, str], share: float, published: TableAudit
) -> None:
    [row] = [row for row in published.rows if row.name == name]
    printed = {figure.name: figure.text for figure in row.printed}
    assert (printed["precision"], printed["recall"], printed["kappa"]) == figures
    assert share_of_positives(*map(float, figures)) == pytest.approx(share, abs=5e-5)
    low, high = ends(figures)
    # The auditor's bounds lie around the true ends, or within where F1 narrows them, by less than
    # a tenth of what two rows of the table differ by.
    assert row.implied["prevalence"] == pytest.approx((low, high), abs=1e-3)
    assert row.implied["prevalence"][0] <= share <= row.implied["prevalence"][1]
    assert any("prevalence" in line for line in row.lines)


def test_the_other_published_rows_leave_the_prevalence_open_or_state_it(
    published: TableAudit,
) -> None:
    rows = {row.name: row for row in published.rows}
    for name in (
        "groundedness, TruLens not optimised",
        "context relevance, TruLens not optimised",
        # Stated: balanced classes. With P = 1, s = R and kappa = 2 R (1 - v) / (1 + R - 2 R v),
        # which is R at v = .5: both rows agree with that.
        "answer relevance, MLflow answer relevance",
        "answer relevance, TruLens not optimised",
    ):
        assert "prevalence" not in rows[name].implied
    assert share_of_positives(1.0, 0.665, 0.665) == pytest.approx(0.5)
    assert share_of_positives(1.0, 0.605, 0.605) == pytest.approx(0.5)


def test_published_rows_are_held_against_each_other_within_their_table_only(
    published: TableAudit,
) -> None:
    of_groundedness = "sample LLM-AggreFact hold-out, groundedness: "
    of_relevance = "sample TREC DL 2021 and 2022, context relevance: "
    means = "no share of positives fits both, so not pooled over one set of rows"
    others = "no share of positives fits both, so not one set of rows"
    bespoke = "groundedness, Bespoke-MiniCheck-7B 0.499"
    mlflow = "groundedness, MLflow faithfulness 0.522 to 0.523"
    optimised = "groundedness, TruLens optimised 0.579"
    umbrela = "context relevance, UMBRELA 0.297 to 0.298"
    chunk = "context relevance, MLflow relevance 0.277 to 0.278"
    later = "context relevance, TruLens optimised 0.254 to 0.255"
    assert list(published.together) == [
        f"{of_groundedness}{bespoke} and {mlflow}: {means}",
        f"{of_groundedness}{bespoke} and {optimised}: {means}",
        f"{of_groundedness}from groundedness, Bespoke-MiniCheck-7B to groundedness, TruLens"
        " optimised precision and recall both rise, and kappa falls",
        f"{of_groundedness}{mlflow} and {optimised}: {means}",
        f"{of_relevance}{umbrela} and {chunk}: {others}",
        f"{of_relevance}{umbrela} and {later}: {others}",
        f"{of_relevance}{chunk} and {later}: {others}",
    ]


@pytest.mark.parametrize(
    ("first", "second", "held"),
    [
        ({}, {}, False),
        ({"metric": "m"}, {"metric": "m"}, False),
        ({"dataset": "s"}, {"dataset": "s"}, True),
        ({"dataset": "s"}, {"dataset": "t"}, False),
        ({"dataset": "s", "metric": "m"}, {"dataset": "s", "metric": "other"}, False),
        ({"dataset": "s", "task": "a"}, {"dataset": "s", "task": "b"}, False),
        ({"dataset": "s", "n": "400"}, {"dataset": "s", "n": "380"}, False),
        ({"n": "400"}, {"n": "400"}, True),
    ],
)
def test_rows_are_held_against_each_other_where_all_says_that_they_are_of_one_sample(
    first: dict[str, str], second: dict[str, str], held: bool
) -> None:
    rows = [
        {"name": "A", "precision": ".800", "recall": ".600", "kappa": ".550", **first},
        {"name": "B", "precision": ".850", "recall": ".700", "kappa": ".400", **second},
    ]
    assert bool(audit_table(rows).together) == held


def test_a_row_is_called_by_its_judge_where_the_dataset_stands_before_it() -> None:
    row = {"Dataset": "s", "Judge": "A", "precision": ".8", "recall": ".6"}
    assert [one.name for one in audit_table([row]).rows] == ["A"]


@pytest.mark.slow
@settings(max_examples=examples(15), deadline=None)
@given(
    st.integers(5, 300),
    st.integers(5, 300),
    st.lists(st.floats(0.05, 0.95), min_size=4, max_size=4),
)
def test_two_judges_of_the_same_rows_never_contradict_each_other(
    positives: int, negatives: int, shares: list[float]
) -> None:
    rows = []
    for name, (recall, rate) in (("A", shares[:2]), ("B", shares[2:])):
        tp, fp = max(1, round(recall * positives)), round(rate * negatives)
        figures = printed(tp, fp, positives - tp, negatives - fp)
        shown = {figure: figures[figure] for figure in ("precision", "recall", "kappa")}
        rows.append({"name": name, "dataset": "s", **shown})
    assert audit_table(rows).together == ()


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
    # v = (2 P - kappa (1 + P / R)) / (2 (1 - kappa)), as in `share_of_positives`: with P .80, R .60
    # and kappa .55 it is (1.6 - .55 * 2.3333) / .9 = .352; with .85, .70 and .40 it is
    # (1.7 - .4 * 2.2143) / 1.2 = .679. Precision and recall both rise, and kappa falls.
    rows = [
        {"name": "A", "dataset": "s", "precision": ".800", "recall": ".600", "kappa": ".550"},
        {"name": "B", "dataset": "s", "precision": ".850", "recall": ".700", "kappa": ".400"},
        {"name": "C", "dataset": "t", "precision": ".850", "recall": ".700", "kappa": ".400"},
    ]
    first, second = audit_table(rows).together
    assert first.startswith("sample s: A 0.349 to 0.354 and B 0.677 to 0.680: no share")
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
