"""Measures of a ranking of document ids by graded relevance, with the numbers of NIST's trec_eval.

Every function takes `ranking` (document ids, best first) and `grades` (document id -> grade). Rules
shared by all:

- An id that is repeated in a ranking counts once, at its best rank; later ones close up.
- A document is relevant when its grade is at least `relevant_from` (trec_eval's -l, default 1); an
  id without a grade is not relevant.
- With no relevant document there is nothing to measure: the result is None, never 0. (trec_eval
  prints 0 there.)
- An empty ranking finds nothing: 0.

Results lie in [0, 1], higher is better. Buckley & Voorhees, "Retrieval System Evaluation", TREC
(MIT Press, 2005).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Mapping, Sequence

RELEVANT_FROM = 1.0


def rank_by_score(scored: Iterable[tuple[str, float]]) -> tuple[str, ...]:
    """Ids in the order trec_eval gives them: score descending, equal scores by id descending.

    trec_eval ignores the rank column of a run file and holds scores in single precision, so scores
    that differ only beyond it are equal here too.
    """

    def by_score_and_id(document: tuple[str, float]) -> tuple[float, str]:
        id_, score = document
        return _single(score), id_

    return tuple(id_ for id_, _ in sorted(scored, key=by_score_and_id, reverse=True))


def precision_at_k(
    ranking: Sequence[str],
    grades: Mapping[str, float],
    k: int,
    *,
    relevant_from: float = RELEVANT_FROM,
) -> float | None:
    """Relevant documents among the first k, divided by k, also when the ranking is shorter
    (trec_eval P_k).

    >>> precision_at_k(["a", "x", "b"], {"a": 1, "b": 1, "c": 1}, 5)
    0.4
    """
    if not _relevant(grades, relevant_from):
        return None
    return _hits(ranking, grades, k, relevant_from) / _cut(k)


def recall_at_k(
    ranking: Sequence[str],
    grades: Mapping[str, float],
    k: int,
    *,
    relevant_from: float = RELEVANT_FROM,
) -> float | None:
    """Relevant documents among the first k, divided by all relevant ones (trec_eval recall_k)."""
    relevant = _relevant(grades, relevant_from)
    return _hits(ranking, grades, _cut(k), relevant_from) / relevant if relevant else None


def document_recall(
    ranking: Sequence[str], grades: Mapping[str, float], *, relevant_from: float = RELEVANT_FROM
) -> float | None:
    """Relevant documents anywhere in the ranking, divided by all relevant ones (trec_eval
    set_recall).
    """
    relevant = _relevant(grades, relevant_from)
    return _hits(ranking, grades, None, relevant_from) / relevant if relevant else None


def hit_rate(
    ranking: Sequence[str],
    grades: Mapping[str, float],
    k: int,
    *,
    relevant_from: float = RELEVANT_FROM,
) -> float | None:
    """1 when a relevant document is among the first k, else 0 (trec_eval success_k)."""
    if not _relevant(grades, relevant_from):
        return None
    return 1.0 if _hits(ranking, grades, _cut(k), relevant_from) else 0.0


def reciprocal_rank(
    ranking: Sequence[str], grades: Mapping[str, float], *, relevant_from: float = RELEVANT_FROM
) -> float | None:
    """1 / rank of the first relevant document, 0 when none is in the ranking (trec_eval
    recip_rank).
    """
    if not _relevant(grades, relevant_from):
        return None
    for rank, id_ in enumerate(_distinct(ranking), 1):
        if grades.get(id_, 0.0) >= relevant_from:
            return 1.0 / rank
    return 0.0


def average_precision(
    ranking: Sequence[str], grades: Mapping[str, float], *, relevant_from: float = RELEVANT_FROM
) -> float | None:
    """Mean over all relevant documents of the precision at their rank, 0 for those not found
    (trec_eval map).
    """
    relevant = _relevant(grades, relevant_from)
    if not relevant:
        return None
    hits, total = 0, 0.0
    for rank, id_ in enumerate(_distinct(ranking), 1):
        if grades.get(id_, 0.0) >= relevant_from:
            hits += 1
            total += hits / rank
    return total / relevant


def r_precision(
    ranking: Sequence[str], grades: Mapping[str, float], *, relevant_from: float = RELEVANT_FROM
) -> float | None:
    """Precision at R, R = number of relevant documents (trec_eval Rprec)."""
    relevant = _relevant(grades, relevant_from)
    return _hits(ranking, grades, relevant, relevant_from) / relevant if relevant else None


def ndcg_at_k(
    ranking: Sequence[str], grades: Mapping[str, float], k: int | None = None
) -> float | None:
    """DCG of the first k over the DCG of the best possible first k; k None = the whole ranking.

    DCG = sum over ranks of grade / log2(rank + 1): linear gain, so a grade of 3 is worth three of
    1; grades of 0 and below gain nothing (trec_eval ndcg_cut_k and ndcg). None when no grade is
    above 0. Järvelin & Kekäläinen, "Cumulated gain-based evaluation of IR techniques", TOIS 2002.
    """
    cut = None if k is None else _cut(k)
    best = _dcg(sorted((g for g in grades.values() if g > 0), reverse=True)[:cut])
    if best == 0.0:
        return None
    gains = [max(0.0, grades.get(id_, 0.0)) for id_ in _distinct(ranking)]
    # Rounding may lift a perfect ranking to 1 + 1e-16.
    return min(1.0, _dcg(gains[:cut]) / best)


def _dcg(gains: Sequence[float]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def _distinct(ranking: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(ranking))


def _relevant(grades: Mapping[str, float], relevant_from: float) -> int:
    return sum(1 for grade in grades.values() if grade >= relevant_from)


def _hits(
    ranking: Sequence[str], grades: Mapping[str, float], k: int | None, relevant_from: float
) -> int:
    return sum(1 for id_ in _distinct(ranking)[:k] if grades.get(id_, 0.0) >= relevant_from)


def _cut(k: int) -> int:
    """k, checked. A rank of 0 or less would slice the ranking from its end."""
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    return k


def _single(score: float) -> float:
    """The score in single precision, infinite beyond its range, as C converts it."""
    try:
        return float(struct.unpack("f", struct.pack("f", score))[0])
    except OverflowError:
        return math.copysign(math.inf, score)
