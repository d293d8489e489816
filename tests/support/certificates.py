"""Certificates, and what they are made of: rows, a profile, a judge's figures, a benchmark."""

from __future__ import annotations

import random
from typing import Any

from ragassay.core import (
    Certificate,
    Context,
    Figure,
    Interval,
    JudgeBenchmark,
    JudgeFigures,
    Profile,
    Sample,
    SetUp,
)
from ragassay.scoring import shift
from ragassay.trust.certificate_issue import issue

WORDS = (
    "the",
    "limit",
    "of",
    "the",
    "service",
    "is",
    "twenty",
    "requests",
    "a",
    "minute",
    "and",
    "it",
    "was",
    "raised",
    "in",
    "may",
    "after",
    "a",
    "long",
    "talk",
)


def sample(i: int, words: int = 20, contexts: int = 1, seed: int = 0) -> Sample:
    """The i-th row: a response of about so many words, and contexts of 40 words each."""
    chance = random.Random(seed * 10_000 + i)
    response = [chance.choice(WORDS) for _ in range(max(1, words + chance.randint(-3, 3)))]
    texts = tuple(
        Context(" ".join(chance.choice(WORDS) for _ in range(40))) for _ in range(contexts)
    )
    return Sample(
        f"row-{i}",
        "What is the limit of the service?",
        texts,
        " ".join(response) + ".",
        reference="twenty",
    )


def profile(words: int = 20, n: int = 300, contexts: int = 1) -> Profile:
    """What n such rows are like."""
    return shift.profile(shift.features(sample(i, words, contexts, seed=1)) for i in range(n))


def interval(low: float, high: float) -> Interval:
    return Interval(low, high, 0.95, "cluster bootstrap t, Fisher z")


def judge(
    kappa: float = 0.52, name: str = "offline", prints: dict[str, str] | None = None, n: int = 3412
) -> JudgeFigures:
    """The figures of a judge. prints: its fingerprints, by rubric."""
    figures = (
        Figure("kappa", kappa, interval(kappa - 0.05, kappa + 0.05), n),
        Figure("balanced_accuracy", 0.78, interval(0.75, 0.81), n),
        Figure("auc", None, None, n, "one class only"),
    )
    prints = {"groundedness": "f1"} if prints is None else prints
    return JudgeFigures(name, n, 200, {"no claim": 3}, figures, fingerprints=prints, judge_cut=None)


def benchmark(
    of: JudgeFigures, metric: str = "groundedness", source: str = "/data/begin.jsonl"
) -> JudgeBenchmark:
    """The benchmark of one judge."""
    set_up = SetUp("label", (0.0, 1.0), 1.0, metric, cluster="group", where=("split=test",))
    return JudgeBenchmark(
        source, "ab" * 16, set_up, 3500, 3415, (of,), created="2026-11-21T00:00:00+00:00"
    )


def certificate(
    words: int = 20, *, metric: str = "groundedness", dataset: str = "begin", **more: Any
) -> Certificate:
    """A certificate on rows of so many words. more: as for `judge`."""
    figures = judge(**more)
    return issue(
        benchmark(figures, metric),
        figures,
        rubrics={"groundedness": "groundedness@2"},
        profile=profile(words),
        version="0.1.0",
        dataset=dataset,
    )
