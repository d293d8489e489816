"""Shares of pairs judged rightly, with intervals, beside the marks that the judge is to reach."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from benchmarks.planted_faults.pairs import KINDS, Pair

from ragassay.scoring import clustered_rate_interval

MARKS = {"bad_fail": 0.9, "good_pass": 0.9, "undecided": 0.1}


class Judged(NamedTuple):
    """A pair with the verdicts ("pass", "fail", "undecided") of its answers and the share of their
    words that stand in the passages.
    """

    pair: Pair
    good: str
    bad: str
    overlap_good: float
    overlap_bad: float


def figures(found: Sequence[Judged]) -> dict[str, Any]:
    """By source, by kind and over all kinds: see `_of`."""
    result: dict[str, Any] = {}
    for source in dict.fromkeys(one.pair.source for one in found):
        here = [one for one in found if one.pair.source == source]
        cut = best_cut(here)
        known = [kind for kind in KINDS if any(one.pair.kind == kind for one in here)]
        others = sorted({one.pair.kind for one in here} - set(KINDS))
        result[source] = {
            kind: _of([one for one in here if one.pair.kind == kind], cut)
            for kind in (*known, *others)
        }
        result[source]["all"] = _of(here, cut)
    return result


def best_cut(found: Sequence[Judged]) -> float:
    """The share of words from which on an answer passes that judges most answers rightly."""
    cuts = sorted({one.overlap_good for one in found} | {one.overlap_bad for one in found})
    return max(
        (*cuts, 1.01),
        key=lambda cut: sum((one.overlap_good >= cut) - (one.overlap_bad >= cut) for one in found),
    )


def _of(found: Sequence[Judged], cut: float) -> dict[str, Any]:
    """Counts of verdicts, the rates beside the marks, which marks are reached, and the two rates of
    word overlap.
    """
    rates = {
        "bad_fail": _rate(found, lambda one: one.bad == "fail"),
        "good_pass": _rate(found, lambda one: one.good == "pass"),
    }
    undecided = sum((one.bad == "undecided") + (one.good == "undecided") for one in found)
    share = undecided / (2 * len(found))
    return {
        "pairs": len(found),
        "bad": _verdicts([one.bad for one in found]),
        "good": _verdicts([one.good for one in found]),
        **rates,
        "undecided": share,
        "both_right": _rate(found, lambda one: (one.bad, one.good) == ("fail", "pass")),
        "reached": {
            **{name: rate["rate"] >= MARKS[name] for name, rate in rates.items()},
            "undecided": share <= MARKS["undecided"],
        },
        "overlap": {
            "bad_fail": sum(one.overlap_bad < cut for one in found) / len(found),
            "good_pass": sum(one.overlap_good >= cut for one in found) / len(found),
        },
    }


def _verdicts(said: Sequence[str]) -> dict[str, int]:
    return {verdict: said.count(verdict) for verdict in ("fail", "pass", "undecided")}


def _rate(found: Sequence[Judged], right: Callable[[Judged], bool]) -> dict[str, Any]:
    """The share of pairs that are right, with its interval over clusters."""
    clusters: defaultdict[str, list[bool]] = defaultdict(list)
    for one in found:
        clusters[one.pair.cluster].append(right(one))
    interval = clustered_rate_interval([(sum(hits), len(hits)) for hits in clusters.values()])
    return {
        "rate": sum(right(one) for one in found) / len(found),
        "interval": None if interval is None else [interval.low, interval.high],
    }
