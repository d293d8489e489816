"""Does a stage go the right way? Some hundred development rows, looked at now and then while it
runs.

Dev rows of sets that nothing was made from, a held-out slice of the entailment pack, and twins of
the planted faults that the rules were built on: an answer, and the same answer with one fault. No
test row and no pair that was held back is read.
"""

from __future__ import annotations

import pickle
import random
from pathlib import Path

import numpy as np
from benchmarks.planted_faults.pairs import BY_HAND, read_pairs
from training.learn import predict
from training.measure import auroc, best_balanced, support_odds
from training.network import Network
from training.offline_data import Example
from training.pairs import Maker, Pair
from training.prepare_pairs import SEED
from training.prepare_pairs import load as prepared

from ragassay.core import MatchCall

SETS = ("wice", "begin", "factcheck_gpt")
# Rows of a set, half of them supported; twins of a file.
ROWS, TWINS = 120, 100
TWIN_FILES = ("everyday, built on", "paraphrased, built on")


def _some(found: list[Pair], count: int) -> list[Pair]:
    chance = random.Random(SEED)
    kept = []
    for label in (0, 1):
        of_label = [p for p in found if p.label == label]
        kept += chance.sample(of_label, min(count // 2, len(of_label)))
    return kept


class Glance:
    """What is looked at, read once; called with a network it gives a line of figures."""

    def __init__(self, work: Path, maker: Maker) -> None:
        dev = [p._replace(sentences=()) for p in prepared(work, "dev") if p.task == "support"]
        self._dev = {name: _some([p for p in dev if p.source == name], ROWS) for name in SETS}
        self._pack: list[Pair] = pickle.loads((work / "pack_dev.pkl").read_bytes())
        self._twins: dict[str, list[Pair]] = {}
        for name in TWIN_FILES:
            found = read_pairs(BY_HAND[name], name)
            twins = [
                Example(name, twin.id, MatchCall("support", said, twin.contexts), label)
                for twin in random.Random(SEED).sample(found, min(TWINS, len(found)))
                for said, label in ((twin.good, 1), (twin.bad, 0))
            ]
            self._twins[name] = maker.pairs(twins, figures=False)
            assert len(self._twins[name]) == len(twins)

    def __call__(self, network: Network) -> str:
        told = []
        for name, found in self._dev.items():
            odds = support_odds(predict(network, found))
            y = np.array([p.label for p in found])
            told.append(f"{name} {best_balanced(y, odds):.3f}/{auroc(y, odds):.3f}")
        told.append(self._of_pack(network))
        for name, found in self._twins.items():
            odds = support_odds(predict(network, found))
            told.append(f"{name} {float(np.mean(odds[0::2] > odds[1::2])):.3f}")
        return "; ".join(told)

    def _of_pack(self, network: Network) -> str:
        logits = predict(network, self._pack)
        y = np.array([p.label for p in self._pack])
        kinds = np.array([p.kind for p in self._pack])
        relevance = np.array([p.task == "relevance" for p in self._pack])
        three = kinds >= 0
        right = logits[three, :3].argmax(1) == kinds[three]
        odds = support_odds(logits)
        return (
            f"pack: three classes {float(right.mean()):.3f} of {len(right)}, supported"
            f" {auroc(y[~relevance], odds[~relevance]):.3f}, relevance"
            f" {auroc(y[relevance], logits[relevance, 0].astype(np.float64)):.3f}"
        )
