"""Pairs made by rules from rows that people called supported.

The good twin is the row as it is. Dev rows come first; where they give too few pairs of a kind,
train rows fill up, under a source of their own, since the judge was fitted on many of them. Nothing
of the data is kept in the repository: the pairs are made when they are measured, and the same data
give the same pairs.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.offline_judge.labelled import rows
from benchmarks.planted_faults.faults import RULES, Evidence
from benchmarks.planted_faults.pairs import Pair

# Set -> the label from which people called a response supported; in clapnq all answers were
# written from the passage by people.
DEV, TRAIN = "rules, dev rows", "rules, train rows"
SETS = {
    "wice": 1.0,
    "factcheck_gpt": 1.0,
    "summedits": 1.0,
    "begin": 1.0,
    "faithdial_audit": 1.0,
    "q2_wow": 1.0,
    "summac_val": 1.0,
    "scifact": 1.0,
    "mtrag_human": 4.0,
    "clapnq": 1.0,
}
Row = dict[str, Any]
A_KIND = 320
A_CLUSTER = 8
LONGEST = 1500  # words of passages


def supported(data: Path, split: str) -> list[Row]:
    """The rows of a split whose response people called supported. The dev split of scifact is
    measured as its test split elsewhere, and is left out.
    """
    names = [name for name in SETS if (name, split) != ("scifact", "dev")]
    return [row for name in names for row in rows(data, name) if _counts(row, split)]


def _counts(row: Row, split: str) -> bool:
    if row["split"] != split or row["label"] is None or row["label"] < SETS[row["dataset"]]:
        return False
    words = sum(len(one.split()) for one in row["contexts"])
    return bool(row.get("response")) and 0 < words <= LONGEST


def made_pairs(data: Path) -> list[Pair]:
    """At most A_KIND pairs of each kind, at most A_CLUSTER of them from one document."""
    dev, train = supported(data, "dev"), supported(data, "train")
    found: list[Pair] = []
    for kind in RULES:
        first = _of_kind(kind, dev, DEV)[:A_KIND]
        found += first
        found += _of_kind(kind, train, TRAIN)[: A_KIND - len(first)]
    return found


def _of_kind(kind: str, found: list[Row], source: str) -> list[Pair]:
    """All pairs of a kind, none twice: first one of each document, then a second one of each ..."""
    made = [pair for row in found if (pair := _planted(kind, row, source)) is not None]
    made.sort(key=lambda one: _chance(one.id))
    turns: list[list[Pair]] = [[] for _ in range(A_CLUSTER)]
    seen: set[str] = set()
    of_cluster: Counter[str] = Counter()
    for pair in made:
        turn = of_cluster[pair.cluster]
        if pair.bad not in seen and turn < A_CLUSTER:
            seen.add(pair.bad)
            of_cluster[pair.cluster] += 1
            turns[turn].append(pair)
    return [pair for turn in turns for pair in turn]


def _planted(kind: str, row: Row, source: str) -> Pair | None:
    contexts = tuple(row["contexts"])
    good = row["response"]
    bad = list(_false(kind, good, Evidence(contexts)))
    if not bad:
        return None
    name = f"{kind}:{row['id']}"
    return Pair(
        id=name,
        kind=kind,
        question=row.get("question"),
        contexts=contexts,
        good=good,
        bad=bad[_chance(name) % len(bad)],
        source=source,
        cluster=f"{row['dataset']}:{row['group']}",
    )


def _false(kind: str, good: str, evidence: Evidence) -> Iterator[str]:
    return (one for one in RULES[kind](good, evidence) if one != good)


def _chance(text: str) -> int:
    """A number that looks drawn and is the same in every run."""
    return zlib.crc32(text.encode())
