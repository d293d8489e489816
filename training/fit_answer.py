"""How is the head for answers fitted? Figures of train rows -> boosted trees -> a calibration
curve.

    python training/fit_answer.py [--data ../shared/data]

Reads `train` splits for fitting, `dev` splits only to print how it does; never `test`. Writes
heads.npz. Needs scikit-learn; takes minutes on two cores.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import sys
import time
import zlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import GroupKFold

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from training.offline_data import LOADERS, Example, made_answer  # noqa: E402

from ragassay.models import offline  # noqa: E402
from ragassay.models.offline.engine import HEADS, Engine  # noqa: E402
from ragassay.models.offline.heads import Head, pack  # noqa: E402

WEIGHTS = Path(offline.__file__).parent / "weights"
SEED = 20261120
# Made examples weigh so much in all.
MADE_SHARE = 0.6
TASK = "answer"
Floats = NDArray[np.float64]

# More of the figure can only help (+1) or hurt (-1): what a reader expects, and what keeps odd
# inputs sane.
MONOTONE = {
    "cosine": 1,
    "align_low": 1,
    "yes_fits": 1,
    "number_fits": 1,
    "year_fits": 1,
    "name_fits": 1,
}
LEFT_OUT = frozenset({"align_least"})


def weigh(examples: list[Example], made_share: float) -> Floats:
    """Weights: a set counts as the root of its size, its two classes alike; made examples share
    `made_share`.
    """
    sizes = Counter(e.source for e in examples)
    classes = Counter((e.source, e.label) for e in examples)
    kinds = Counter(source for source, _ in classes)
    weights = np.array(
        [
            math.sqrt(sizes[e.source]) / kinds[e.source] / classes[e.source, e.label]
            for e in examples
        ]
    )
    made = np.array([e.source.startswith("made:") for e in examples])
    if made.any():
        weights[made] *= made_share / (1 - made_share) * weights[~made].sum() / weights[made].sum()
    # Prior one half over everything: a probability of .5 is where the two mistakes cost the same.
    labels = np.array([e.label for e in examples])
    for label in (0, 1):
        weights[labels == label] *= 0.5 / weights[labels == label].sum()
    return np.asarray(weights * len(examples), np.float64)


def fit(
    x: Floats, y: NDArray[np.int64], weights: Floats, names: tuple[str, ...]
) -> HistGradientBoostingClassifier:
    """Boosted trees of depth 4 under the monotone constraints."""
    return HistGradientBoostingClassifier(
        learning_rate=0.06,
        max_iter=160,
        max_depth=4,
        max_leaf_nodes=12,
        min_samples_leaf=40,
        l2_regularization=5.0,
        max_features=0.5,
        early_stopping=False,
        monotonic_cst=[MONOTONE.get(name, 0) for name in names],
        random_state=SEED,
    ).fit(x, y, sample_weight=weights)


def export(
    model: HistGradientBoostingClassifier, names: tuple[str, ...], curve: tuple[Floats, Floats]
) -> Head:
    """scikit-learn's trees as arrays."""
    trees = [stage[0].nodes for stage in model._predictors]
    most = max(map(len, trees))
    shape = (len(trees), most)
    feature, left, right = (np.zeros(shape, np.int16) for _ in range(3))
    cut, value = np.zeros(shape), np.zeros(shape)
    for t, nodes in enumerate(trees):
        for n, node in enumerate(nodes):
            leaf = bool(node["is_leaf"])
            feature[t, n] = 0 if leaf else node["feature_idx"]
            cut[t, n] = 0.0 if leaf else node["num_threshold"]
            left[t, n], right[t, n] = (n, n) if leaf else (node["left"], node["right"])
            value[t, n] = node["value"] if leaf else 0.0
    depth = int(max(nodes["depth"].max() for nodes in trees))
    start = float(np.ravel(model._baseline_prediction)[0])
    return Head(names, start, feature, cut, left, right, value, depth, *curve)


def calibrate(odds: Floats, y: NDArray[np.int64], weights: Floats) -> tuple[Floats, Floats]:
    """Platt's curve from out-of-fold log-odds, as points."""
    platt = LogisticRegression(C=1e6).fit(odds[:, None], y, sample_weight=weights)
    x = np.linspace(-8.0, 8.0, 129)
    return x, np.asarray(platt.predict_proba(x[:, None])[:, 1], np.float64)


def figures(engine: Engine, examples: list[Example]) -> tuple[tuple[str, ...], Floats]:
    """Figures [examples, names] of the examples."""
    # Examples of one passage lie side by side, so that it is read once.
    beside = [zlib.crc32(e.call.passages[0].encode("utf-8", "replace")) for e in examples]
    order = sorted(range(len(examples)), key=beside.__getitem__)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda i: engine.figures(examples[i].call), order))
    names = tuple(name for name in found[0] if name not in LEFT_OUT)
    matrix = np.zeros((len(examples), len(names)))
    for i, row in zip(order, found, strict=True):
        matrix[i] = [row[name] for name in names]
    return names, matrix


def by_set(examples: list[Example], probabilities: Floats) -> None:
    """Print balanced accuracy (p >= .5) and AUC of every set, and their means."""
    scores = []
    for source in sorted({e.source for e in examples}):
        at = [i for i, e in enumerate(examples) if e.source == source]
        y = np.array([examples[i].label for i in at])
        p = probabilities[at]
        if len(set(y.tolist())) == 2:
            scores.append((balanced_accuracy_score(y, p >= 0.5), roc_auc_score(y, p)))
            print(
                f"    {source:20} n {len(at):5}  balanced accuracy {scores[-1][0]:.3f}  AUC"
                f" {scores[-1][1]:.3f}"
            )
        else:
            print(
                f"    {source:20} n {len(at):5}  label {y[0]}: share right"
                f" {np.mean((p >= 0.5) == y[0]):.3f}"
            )
    accuracy, area = np.mean(scores, axis=0)
    print(f"    {'mean of sets':20}          balanced accuracy {accuracy:.3f}  AUC {area:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("RAGASSAY_DATA", ROOT.parent / "shared/data")
    )
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    options = parser.parse_args()
    data = Path(options.data)
    started = time.monotonic()
    real = list(LOADERS[TASK](data, "train"))
    made = list(made_answer(data, SEED, 1500))
    examples, dev = real + made, list(LOADERS[TASK](data, "dev"))
    engine = Engine.load(options.out)
    names, x = figures(engine, examples)
    _, x_dev = figures(engine, dev)
    y = np.array([e.label for e in examples])
    weights = weigh(examples, MADE_SHARE)
    odds = np.zeros(len(y))
    for inside, outside in GroupKFold(5).split(x, y, [e.group for e in examples]):
        odds[outside] = fit(x[inside], y[inside], weights[inside], names).decision_function(
            x[outside]
        )
    curve = calibrate(odds, y, weights)
    head = export(fit(x, y, weights, names), names, curve)
    print(f"{len(real)} rows and {len(made)} made ones; {time.monotonic() - started:.0f} s")
    print("  train, out of fold:")
    by_set(examples, np.interp(odds, *curve))
    print("  dev:")
    by_set(dev, np.array([head.probability(dict(zip(names, row, strict=True))) for row in x_dev]))
    with (options.out / HEADS).open("wb") as target:
        np.savez_compressed(target, allow_pickle=False, **pack(TASK, head))
    card = json.loads((options.out / "card.json").read_text(encoding="utf-8"))
    card["files"][HEADS] = hashlib.sha256((options.out / HEADS).read_bytes()).hexdigest()
    card["agreement"] = {}  # of other trees
    (options.out / "card.json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    print(f"written; {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
