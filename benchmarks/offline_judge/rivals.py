"""What do plain rules about words reach on the same rows? Unigram coverage, and ten lexical figures
under two learners.

Nothing here reads meaning: no vectors, no model. The learners are fitted on train rows, each set
with the same weight and its two classes alike; every cut is chosen on dev rows by the rule that the
offline judge's is.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from benchmarks.offline_judge.labelled import Labelled
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ragassay.core import MatchCall

Floats = NDArray[np.float64]

WORD = re.compile(r"\w+")
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
NUMBER = re.compile(r"\d[\d.,]*")
NAME = re.compile(r"(?<=[\w,;:)] )[A-Z][a-z]+")
NEGATION = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|\w+n't)\b", re.IGNORECASE
)
_STOP = """
the a an and or of to in on at by for with from as is are was were be been it its this that
these those he she they we you i his her their our your has have had do does did but not
"""
STOP = frozenset(_STOP.split())
TEN = (
    "words found",
    "content words found",
    "pairs of words found",
    "triples of words found",
    "numbers found",
    "names found",
    "words found in the best sentence",
    "words of the claim",
    "words of the passages",
    "negated on one side only",
)


def unigrams(call: MatchCall) -> float:
    """Share of the text's distinct lower-cased words that stand in the passages."""
    words = set(WORD.findall(call.text.lower()))
    return (
        len(words & set(WORD.findall(" ".join(call.passages).lower()))) / len(words)
        if words
        else 0.0
    )


def ten(call: MatchCall) -> list[float]:
    """The ten lexical figures of a claim and its passages, in the order of TEN."""
    passage = "\n".join(call.passages)
    words, held = WORD.findall(call.text.lower()), WORD.findall(passage.lower())
    there = set(held)
    sentences = [set(WORD.findall(one.lower())) for one in SENTENCE.split(passage)]
    best = max(sentences, key=lambda one: _share(set(words), one), default=set())
    content = set(words) - STOP
    return [
        _share(set(words), there),
        _share(content, there),
        _share(set(itertools.pairwise(words)), set(itertools.pairwise(held))),
        _share(
            set(zip(words, words[1:], words[2:], strict=False)),
            set(zip(held, held[1:], held[2:], strict=False)),
        ),
        _share(_numbers(call.text), _numbers(passage)),
        _share({name.lower() for name in NAME.findall(call.text)}, there),
        _share(content, best),
        float(np.log1p(len(words))),
        float(np.log1p(len(held))),
        float(
            bool(NEGATION.search(call.text))
            != bool(NEGATION.search(" ".join(_holding(passage, best))))
        ),
    ]


def _share(wanted: set[object], there: set[object]) -> float:
    return len(wanted & there) / len(wanted) if wanted else 1.0


def _numbers(text: str) -> set[object]:
    return {one.rstrip(".,").replace(",", "") for one in NUMBER.findall(text)}


def _holding(passage: str, best: set[str]) -> list[str]:
    return [one for one in SENTENCE.split(passage) if set(WORD.findall(one.lower())) == best][:1]


def fit(train: Sequence[Labelled], learner: str) -> Rival:
    """A learner over the ten figures: "logistic" or "boosting"."""
    x = np.array([ten(one.call) for one in train])
    y = np.array([one.label for one in train])
    counts = Counter((one.source, one.label) for one in train)
    weights = np.array([len(train) / len(counts) / counts[one.source, one.label] for one in train])
    if learner == "logistic":
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        model.fit(x, y, logisticregression__sample_weight=weights)
    else:
        model = HistGradientBoostingClassifier(
            max_depth=3, max_iter=150, learning_rate=0.06, random_state=0
        )
        model.fit(x, y, sample_weight=weights)
    return Rival(model)


class Rival:
    """A fitted learner."""

    def __init__(self, model: object) -> None:
        self._model = model

    def probabilities(self, rows: Sequence[Labelled]) -> Floats:
        """Its probability that each row is supported."""
        found: Floats = self._model.predict_proba(np.array([ten(one.call) for one in rows]))[:, 1]  # type: ignore[attr-defined]
        return found
