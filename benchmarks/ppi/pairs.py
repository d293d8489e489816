"""Which pairs of row sets are shifted, and which are not? Drawn from labelled data for the
measurement of refusals.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from ragassay.core import Context, Sample
from ragassay.scoring import shift

GROUNDED = (
    "wice",
    "factcheck_gpt",
    "summedits",
    "begin",
    "faithdial_audit",
    "q2_wow",
    "scifact",
    "summac_val",
)
RUN_ROWS = 800


@dataclass(frozen=True)
class Rows:
    """Rows of one population: features, hashed words, cluster, and what a chosen sample may be
    chosen by.
    """

    features: list[dict[str, float]]
    terms: list[tuple[int, ...]]
    clusters: list[str]
    label: list[float]

    def take(self, places: Sequence[int]) -> Rows:
        return Rows(
            [self.features[i] for i in places],
            [self.terms[i] for i in places],
            [self.clusters[i] for i in places],
            [self.label[i] for i in places],
        )

    def __len__(self) -> int:
        return len(self.features)


@dataclass(frozen=True)
class Pair:
    """A calibration set and a run; kind: how they differ, "" of "same ..." where they do not."""

    kind: str
    name: str
    labels: Rows
    run: Rows


def read(data: Path, name: str) -> list[dict[str, Any]]:
    """The labelled rows of a set."""
    with gzip.open(data / name / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [row for row in map(json.loads, lines) if row.get("label") is not None]


def rows_of(raw: Sequence[Mapping[str, Any]]) -> Rows:
    """Features and hashed words of raw rows."""
    samples = [
        Sample(
            row["id"],
            question=row.get("question"),
            contexts=tuple(Context(text) for text in row["contexts"])
            if row.get("contexts")
            else None,
            response=row.get("response"),
            reference="; ".join(map(str, row["reference"]))
            if isinstance(row.get("reference"), list)
            else None,
        )
        for row in raw
    ]
    return Rows(
        [shift.features(sample) for sample in samples],
        [shift.terms(sample) for sample in samples],
        [str(row["group"]) for row in raw],
        [float(row["label"]) for row in raw],
    )


def populations(data: Path, split: str) -> dict[str, dict[str, dict[str, Rows]]]:
    """kind -> family -> population -> rows of the split ("train" or "test")."""
    # Sets with their official dev and test only: dev stands in for train.
    raw = {}
    for name in (*GROUNDED, "evouna"):
        every = read(data, name)
        wanted = {"train": {"train", "dev"}, "test": {"test"}}[split]
        raw[name] = [row for row in every if row["split"] in wanted]
    both = {name: rows_of(rows) for name, rows in raw.items()}

    def parts(name: str, field: str, least: int = 60) -> dict[str, Rows]:
        places: dict[str, list[int]] = {}
        for i, row in enumerate(raw[name]):
            places.setdefault(str(row.get(field)), []).append(i)
        return {
            value: both[name].take(found)
            for value, found in sorted(places.items())
            if len(found) >= least
        }

    return {
        "another data set": {
            "groundedness": {name: both[name] for name in GROUNDED if len(both[name]) >= 60}
        },
        "another slice": {
            name: parts(name, "slice")
            for name in ("summedits", "begin", "evouna", "summac_val", "faithdial_audit")
        },
        "another system, same questions": {
            name: parts(name, "source_model") for name in ("evouna", "begin")
        },
    }


def _draw(rows: Rows, n: int, rng: np.random.Generator) -> tuple[list[int], list[int]]:
    """Places of whole clusters until n rows, and the places left."""
    names = sorted(set(rows.clusters))
    order = {names[k]: i for i, k in enumerate(rng.permutation(len(names)))}
    places = sorted(range(len(rows)), key=lambda i: order[rows.clusters[i]])
    cut = min(n, len(places) // 2)
    last = rows.clusters[places[cut - 1]]
    rest = [i for i in places[cut:] if rows.clusters[i] != last]
    return places[:cut], rest


def shifted(data: Path, split: str, n: int, seed: int) -> Iterator[Pair]:
    """Every ordered pair of populations of one family: n labels of the one, a run of the other."""
    rng = np.random.default_rng(seed)
    for kind, families in populations(data, split).items():
        for family, found in families.items():
            for a, b in permutations(found, 2):
                first = found[a].take(rng.permutation(len(found[a]))[:n].tolist())
                second = found[b].take(rng.permutation(len(found[b]))[:RUN_ROWS].tolist())
                yield Pair(kind, f"{family}: {a} -> {b}", first, second)
    for kind, rows in chosen(data, split):
        name, population, places = rows
        picked = places[:n]
        others = sorted(set(range(len(population))) - set(picked))[:RUN_ROWS]
        if len(picked) >= 60:
            yield Pair(kind, name, population.take(picked), population.take(others))


def chosen(data: Path, split: str) -> Iterator[tuple[str, tuple[str, Rows, list[int]]]]:
    """Labels inside the run that were not drawn at random: the longest responses, and only the
    failures.
    """
    for found in populations(data, split)["another data set"].values():
        for name, rows in found.items():
            half = np.random.default_rng(0).permutation(len(rows)).tolist()
            length = [rows.features[i].get("response_words", 0.0) for i in range(len(rows))]
            top = sorted(half[: len(half) // 2], key=lambda i: -length[i])
            yield "chosen: the longest quarter", (name, rows, top[: len(half) // 8])
            yield (
                "chosen: failures only",
                (name, rows, [i for i in half if rows.label[i] == min(rows.label)]),
            )


def alike(data: Path, split: str, n: int, times: int, seed: int) -> Iterator[Pair]:
    """Random splits of one population, whole clusters on a side, and rows picked one by one."""
    rng = np.random.default_rng(seed)
    for kind, families in populations(data, split).items():
        for family, found in families.items():
            for name, rows in found.items():
                for _ in range(times):
                    first, second = _draw(rows, n, rng)
                    if len(second) >= 30:
                        yield Pair(
                            f"same, clusters apart ({kind})",
                            f"{family}: {name}",
                            rows.take(first),
                            rows.take(second[:RUN_ROWS]),
                        )
                    order = rng.permutation(len(rows)).tolist()
                    yield Pair(
                        f"same, rows at random ({kind})",
                        f"{family}: {name}",
                        rows.take(order[: min(n, len(order) // 2)]),
                        rows.take(order[min(n, len(order) // 2) :][:RUN_ROWS]),
                    )
