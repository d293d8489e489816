"""Ranking measures against numbers worked by hand, and against trec_eval's own expected output."""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.scoring import (
    average_precision,
    document_recall,
    hit_rate,
    ndcg_at_k,
    precision_at_k,
    r_precision,
    rank_by_score,
    recall_at_k,
    reciprocal_rank,
)

# a and b relevant (grades 1 and 3), c relevant and not retrieved (2), n judged not relevant, x and
# y unjudged.
GRADES = {"a": 1.0, "b": 3.0, "c": 2.0, "n": 0.0}
RANKING = ("x", "b", "n", "a", "y")


def test_measures_of_a_small_ranking_are_those_worked_by_hand() -> None:
    assert precision_at_k(RANKING, GRADES, 2) == 1 / 2  # x, b
    assert (
        precision_at_k(RANKING, GRADES, 10) == 2 / 10
    )  # divides by k, not by the 5 that were retrieved
    assert recall_at_k(RANKING, GRADES, 2) == 1 / 3
    assert document_recall(RANKING, GRADES) == 2 / 3
    assert reciprocal_rank(RANKING, GRADES) == 1 / 2
    assert average_precision(RANKING, GRADES) == pytest.approx((1 / 2 + 2 / 4) / 3)
    assert r_precision(RANKING, GRADES) == 1 / 3  # R = 3: x, b, n
    assert hit_rate(RANKING, GRADES, 1) == 0.0
    assert hit_rate(RANKING, GRADES, 2) == 1.0
    # Linear gain: b at rank 2 gains 3 / log2(3), a at rank 4 gains 1 / log2(5); best order is 3, 2,
    # 1.
    best = 3 + 2 / math.log2(3) + 1 / 2
    assert ndcg_at_k(RANKING, GRADES) == pytest.approx((3 / math.log2(3) + 1 / math.log2(5)) / best)
    assert ndcg_at_k(RANKING, GRADES, 2) == pytest.approx(
        (3 / math.log2(3)) / (3 + 2 / math.log2(3))
    )


def test_a_repeated_id_counts_once_at_its_best_rank_and_later_ones_close_up() -> None:
    twice, once = ("x", "b", "b", "x", "a"), ("x", "b", "a")
    for k in (1, 2, 3, 5):
        assert precision_at_k(twice, GRADES, k) == precision_at_k(once, GRADES, k)
        assert ndcg_at_k(twice, GRADES, k) == ndcg_at_k(once, GRADES, k)
    assert average_precision(twice, GRADES) == average_precision(once, GRADES)


MEASURES: dict[str, Callable[[tuple[str, ...], dict[str, float]], float | None]] = {
    "P": lambda r, g: precision_at_k(r, g, 3),
    "recall": lambda r, g: recall_at_k(r, g, 3),
    "set_recall": document_recall,
    "success": lambda r, g: hit_rate(r, g, 3),
    "recip_rank": reciprocal_rank,
    "map": average_precision,
    "Rprec": r_precision,
    "ndcg": ndcg_at_k,
    "ndcg_cut": lambda r, g: ndcg_at_k(r, g, 3),
}


@pytest.mark.parametrize("name", MEASURES)
def test_without_a_relevant_document_there_is_nothing_to_measure(name: str) -> None:
    assert MEASURES[name](("a",), {}) is None
    assert MEASURES[name](("a",), {"a": 0.0, "b": -1.0}) is None


@pytest.mark.parametrize("name", MEASURES)
def test_an_empty_ranking_finds_nothing(name: str) -> None:
    assert MEASURES[name]((), {"a": 1.0}) == 0.0


@pytest.mark.parametrize("k", [0, -1])
def test_a_cut_below_one_is_refused(k: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        precision_at_k(RANKING, GRADES, k)


IDS = st.lists(st.sampled_from("abcdefgh"), max_size=12).map(tuple)
JUDGED = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-1, 4).map(float), max_size=8)


@pytest.mark.parametrize("name", MEASURES)
@given(ranking=IDS, grades=JUDGED)
def test_every_measure_stays_in_range_and_no_irrelevant_tail_changes_its_cut(
    name: str, ranking: tuple[str, ...], grades: dict[str, float]
) -> None:
    value = MEASURES[name](ranking, grades)
    assert value is None or 0.0 <= value <= 1.0
    if name not in {"P", "recall", "success", "ndcg_cut"}:
        assert MEASURES[name]((*ranking, "unjudged"), grades) == value


@given(grades=JUDGED)
def test_the_best_order_has_an_ndcg_of_one(grades: dict[str, float]) -> None:
    best = tuple(sorted(grades, key=lambda id_: -grades[id_]))
    assert ndcg_at_k(best, grades) in (1.0, None)


def test_equal_scores_are_ordered_by_id_descending_and_single_precision_decides_what_is_equal() -> (
    None
):
    assert rank_by_score([("a", 1.0), ("c", 1.0), ("b", 2.0)]) == ("b", "c", "a")
    assert rank_by_score([("a", 1.00000001), ("b", 1.0)]) == ("b", "a")  # one float32
    assert rank_by_score([("a", 1e300), ("b", 5.0)]) == ("a", "b")


DATA = (
    Path(os.environ.get("RAGASSAY_DATA", Path(__file__).parents[2] / ".." / "shared" / "data"))
    / "ir_reference"
)
needs_data = pytest.mark.skipif(
    not DATA.is_dir(),
    reason=(
        f"trec_eval's reference output is not at {DATA} (set RAGASSAY_DATA); hand-worked"
        " numbers ran"
    ),
)

Run = dict[str, tuple[str, ...]]
Qrels = dict[str, dict[str, float]]


def read_run(path: Path) -> Run:
    scored: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for line in path.read_text().splitlines():
        query, _, document, _, score, _ = line.split()
        scored[query].append((document, float(score)))
    return {query: rank_by_score(pairs) for query, pairs in scored.items()}


def read_qrels(path: Path) -> Qrels:
    qrels: Qrels = defaultdict(dict)
    for line in path.read_text().splitlines():
        query, _, document, grade = line.split()
        qrels[query][document] = float(grade)
    return qrels


def computed(
    measure: str, ranking: tuple[str, ...], grades: dict[str, float], level: float
) -> float | None:
    name, _, cut = measure.rpartition("_")
    if name in {"P", "recall", "success", "ndcg_cut"}:
        k = int(cut)
        if name == "ndcg_cut":
            return ndcg_at_k(ranking, grades, k)
        of_cut = {"P": precision_at_k, "recall": recall_at_k, "success": hit_rate}[name]
        return of_cut(ranking, grades, k, relevant_from=level)
    if measure == "ndcg":
        return ndcg_at_k(ranking, grades)
    whole = {
        "map": average_precision,
        "Rprec": r_precision,
        "recip_rank": reciprocal_rank,
        "set_recall": document_recall,
    }
    return whole[measure](ranking, grades, relevant_from=level) if measure in whole else None


def parity(expected: str, qrels: str, run: str, level: float) -> int:
    """Compare every figure of the expected output that we compute; how many there were."""
    folder = DATA / "trec_eval"
    rankings, judged = read_run(folder / run), read_qrels(folder / qrels)
    compared = 0
    for line in (folder / expected).read_text().splitlines():
        measure, query, text = line.split()
        if query == "all":
            values = [computed(measure, rankings[q], judged[q], level) for q in sorted(rankings)]
            value = (
                sum(v or 0.0 for v in values) / len(values)
                if any(v is not None for v in values)
                else None
            )
        else:
            value = computed(measure, rankings[query], judged[query], level)
        if value is None:
            continue  # a measure that is not ours
        assert f"{value:.4f}" == text, (measure, query)
        compared += 1
    return compared


@needs_data
@pytest.mark.parametrize(
    ("expected", "qrels", "level", "figures"),
    # Measures: map, Rprec, recip_rank, ndcg, set_recall; P, recall, ndcg_cut at 9 cuts; success at
    # 3.
    [
        ("out.test.a", "qrels.test", 1.0, 35),
        ("out.test.aq", "qrels.test", 1.0, 4 * 35),
        ("out.test.aql", "qrels.rel_level", 2.0, 4 * 35),
    ],
)
def test_every_figure_equals_trec_evals_own_to_four_decimals(
    expected: str, qrels: str, level: float, figures: int
) -> None:
    assert parity(expected, qrels, "results.test", level) == figures


@needs_data
def test_the_cacm_run_has_the_figures_its_source_documents() -> None:
    rankings, judged = (
        read_run(DATA / "cacm" / "cacm-bm25.run.txt"),
        read_qrels(DATA / "cacm" / "qrels.cacm.txt"),
    )
    queries = sorted(set(rankings) & set(judged))
    precision = [precision_at_k(rankings[q], judged[q], 30) or 0.0 for q in queries]
    averages = [average_precision(rankings[q], judged[q]) or 0.0 for q in queries]
    assert f"{sum(precision) / len(queries):.4f}" == "0.1942"
    assert f"{sum(averages) / len(queries):.4f}" == "0.2744"
