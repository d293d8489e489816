"""The map of what users ask: questions that use the same words lie together, with the rates of each
cluster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ragassay.scoring.point_map import SCATTERED, point_map
from ragassay.scoring.word_vectors import word_vectors, words_of
from ragassay.store.spans import SpanRecords
from ragassay.store.watches import WatchRow
from ragassay.watch.drift import questions_of
from ragassay.watch.figures import Rate, rates_of, response_shares

MOST_POINTS = 20_000
LEAST_POINTS = 20
_WORDS = 4


@dataclass(frozen=True, slots=True)
class Cluster:
    """Questions that use the same words. number: from 1, the largest first. words: those that set
    it apart. share: of all questions. rates: over its rows.
    """

    number: int
    words: tuple[str, ...]
    rows: int
    share: float
    rates: tuple[Rate, ...]


@dataclass(frozen=True, slots=True)
class TrafficMap:
    """places: x, y in [0, 1] and the number of the cluster (0: none) of each question. kept: share
    of a question's ten nearest neighbours that are near it on the plane, too; variance: share of
    the spread that the plane shows.
    """

    places: tuple[tuple[float, float, int], ...]
    clusters: tuple[Cluster, ...]
    scattered: int
    kept: float
    variance: float


def traffic_map(
    rows: Sequence[WatchRow], spans: SpanRecords, seed: int
) -> tuple[TrafficMap | None, str]:
    """The map of the newest rows, or why there is none."""
    asked = questions_of(rows[-MOST_POINTS:], spans)
    if len(asked) < LEAST_POINTS:
        return None, f"no map: {len(asked)} questions, at least {LEAST_POINTS} are needed"
    drawn = point_map(word_vectors([question for _, question in asked]), seed=seed)
    members: dict[int, list[int]] = {}
    for at, number in enumerate(drawn.cluster.tolist()):
        members.setdefault(number, []).append(at)
    scattered = len(members.pop(SCATTERED, []))
    everywhere = _rows_by_word([question for _, question in asked])
    clusters, shares = [], response_shares(rows)
    for number in sorted(members):
        own = [asked[at] for at in members[number]]
        clusters.append(
            Cluster(
                number + 1,
                _telling_words([question for _, question in own], everywhere, len(asked)),
                len(own),
                len(own) / len(asked),
                tuple(rates_of([row for row, _ in own], shares)),
            )
        )
    places = zip(drawn.places.tolist(), drawn.cluster.tolist(), strict=True)
    found = tuple((x, y, number + 1) for (x, y), number in places)
    return TrafficMap(found, tuple(clusters), scattered, drawn.kept, drawn.variance), ""


def _rows_by_word(questions: Sequence[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for question in questions:
        counts.update(set(words_of(question)))
    return counts


def _telling_words(
    questions: Sequence[str], everywhere: Counter[str], total: int
) -> tuple[str, ...]:
    """The words whose share of the cluster's questions is most above their share of all."""
    own = _rows_by_word(questions)
    gaps = {word: own[word] / len(questions) - everywhere[word] / total for word in own}
    ordered = sorted(gaps, key=lambda word: (-gaps[word], -own[word], word))
    return tuple(ordered[:_WORDS])
