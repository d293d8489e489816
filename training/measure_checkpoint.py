"""Step 4: what the checkpoint says of rows it never saw, set by set, with intervals by group.

    python training/measure_checkpoint.py BASE --split dev|test [--work build/training] [--out build/training/checkpoint]

The macro of groundedness is the mean over wice, factcheck_gpt, summedits, begin, faithdial_audit, q2_wow, scifact (its
dev split stands for test), summac_val and ragtruth_qa. ragtruth_qa is judged as whole responses and by sentences: the
response counts as faithful as its weakest sentence is. `--split test` is for the end.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from training.combine import Line, line_inputs  # noqa: E402
from training.export_model import find_model  # noqa: E402
from training.learn import predict  # noqa: E402
from training.measure import auroc, balanced_accuracy, calibration_error, f1, intervals  # noqa: E402
from training.network import Network  # noqa: E402
from training.network import load as network_from  # noqa: E402
from training.offline_data import (  # noqa: E402
    SUPPORT_UNSEEN,
    Example,
    answer,
    relevance,
    support,
    support_dev,
)
from training.pairs import Maker, Pair  # noqa: E402
from training.prepare_pairs import WEIGHTS, arguments  # noqa: E402

from ragassay.core import MatchCall  # noqa: E402
from ragassay.models.offline.reading import units  # noqa: E402

Floats = NDArray[np.float64]
SETS = ("factcheck_gpt", "summedits", "faithdial_audit", "q2_wow", "summac_val", *SUPPORT_UNSEEN)


def lines(path: Path) -> dict[str, Line]:
    """combiner.json."""
    return {
        task: Line(tuple(v["names"]), np.array(v["weights"]), np.array(v["caps"]), v["offset"], v["cut"])
        for task, v in json.loads(path.read_text(encoding="utf-8")).items()
    }


def examples(data: Path, split: str) -> dict[str, list[Example]]:
    """The rows of a split, by task."""
    measured = (*support(data, "test", SETS), *support(data, "dev", ("scifact",)))
    claims = support_dev(data) if split == "dev" else list(measured)
    return {"support": claims, "relevance": list(relevance(data, split)), "answer": list(answer(data, split))}


def by_sentence(responses: Iterable[Example]) -> list[Example]:
    """Each sentence of each response as an example; the group is the response's number."""
    found = []
    for number, e in enumerate(responses):
        for start, end in units(e.call.text):
            if end - start >= 10:
                call = MatchCall("support", e.call.text[start:end], e.call.passages, e.call.question)
                found.append(Example(str(number), e.group, call, e.label))
    return found


class Judge:
    """A checkpoint: examples to probabilities."""

    def __init__(self, checkpoint: Path, tokenizer: Path) -> None:
        self._network: Network = network_from(checkpoint / "model.safetensors")
        self.lines = lines(checkpoint / "combiner.json")
        self._maker = Maker(WEIGHTS, tokenizer)

    def pairs(self, found: Iterable[Example]) -> list[Pair]:
        """What the network reads."""
        return self._maker.pairs(found, apart=True)

    def probabilities(self, pairs: list[Pair]) -> Floats:
        """Of pairs of one task."""
        task = pairs[0].task
        x = line_inputs(pairs, predict(self._network, pairs))
        return self.lines[task].probability(x)


def row(name: str, y: NDArray[np.int64], p: Floats, cut: float, clusters: list[str]) -> tuple[float, float]:
    """Print a set; its balanced accuracy and AUROC."""
    accuracy, area = balanced_accuracy(y, p >= cut), auroc(y, p)
    a = intervals(lambda i: balanced_accuracy(y[i], p[i] >= cut), clusters)
    b = intervals(lambda i: auroc(y[i], p[i]), clusters)
    print(f"  {name:18} n {len(y):5} positive {y.mean():.2f}  balanced accuracy {accuracy:.3f} ({a[0]:.3f}-{a[1]:.3f})  "
          f"AUROC {area:.3f} ({b[0]:.3f}-{b[1]:.3f})  ECE {calibration_error(y, p):.3f}")  # fmt: skip
    return accuracy, area


def responses(judge: Judge, found: list[Example]) -> None:
    """ragtruth_qa by sentences: AUROC, and F1 of "hallucinated" beside always-yes."""
    pairs = judge.pairs(by_sentence(found))
    p = judge.probabilities(pairs)
    y = np.array([e.label for e in found])
    clusters = [e.group for e in found]
    cut = judge.lines["support"].cut
    parts = [p[[i for i, q in enumerate(pairs) if q.source == str(n)]] for n in range(len(found))]
    wrong = (1 - y).astype(np.int64)
    print(f"  by sentence; F1 of hallucinated, always: {f1(wrong, np.ones(len(y), np.bool_)):.3f}")
    for name, value in {
        "lowest": np.array([v.min(initial=1) for v in parts]),
        "mean of odds": np.array([np.log(v / (1 - v)).mean() if len(v) else 0.0 for v in parts]),
        "share that passes": np.array([(v >= cut).mean() if len(v) else 1.0 for v in parts]),
    }.items():
        b = intervals(lambda i, v=value: auroc(y[i], v[i]), clusters)  # type: ignore[misc]
        at = {"lowest": cut, "mean of odds": float(np.log(cut / (1 - cut))), "share that passes": 0.9}[name]
        c = intervals(lambda i, v=value, at=at: f1(wrong[i], v[i] < at), clusters)  # type: ignore[misc]
        print(f"    {name:18} AUROC {auroc(y, value):.3f} ({b[0]:.3f}-{b[1]:.3f})  balanced accuracy "
              f"{balanced_accuracy(y, value >= at):.3f}  F1 {f1(wrong, value < at):.3f} ({c[0]:.3f}-{c[1]:.3f})")  # fmt: skip


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--split", choices=("dev", "test"), default="dev")
    options = parser.parse_args()
    out = options.out or options.work / "checkpoint"
    with tempfile.TemporaryDirectory() as scratch:
        judge = Judge(out, find_model(options.base, Path(scratch)) / "tokenizer.json")
        for task, found in examples(options.data, options.split).items():
            pairs = judge.pairs(found)
            p = judge.probabilities(pairs)
            y = np.array([q.label for q in pairs])
            cut = judge.lines[task].cut
            print(f"{task}, {options.split}: {len(y)} rows, cut {cut}, ECE {calibration_error(y, p):.3f}")
            figures = []
            for name in dict.fromkeys(q.source for q in pairs):
                at = np.array([i for i, q in enumerate(pairs) if q.source == name])
                if len(set(y[at].tolist())) == 2:
                    figures.append(row(name, y[at], p[at], cut, [pairs[i].group for i in at]))
                if task == "answer":
                    short = at[[len(found[i].call.passages[0].split()) <= 5 for i in at]]
                    yes = p >= cut
                    print(f"    {name}: F1 {f1(y[at], yes[at]):.3f}; right answers of at most five words that pass "
                          f"{yes[short][y[short] == 1].mean():.3f}")  # fmt: skip
            accuracy, area = np.mean(figures, axis=0)
            print(f"  mean of {len(figures)} sets: balanced accuracy {accuracy:.3f}  AUROC {area:.3f}")
        if options.split == "test":
            responses(judge, list(support(options.data, "test", ("ragtruth_qa",))))


if __name__ == "__main__":
    main()
