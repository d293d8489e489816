"""How the offline model's heads are fitted: figures of train rows -> boosted trees -> a calibration curve.

    python training/train_offline.py [--data ../shared/data]

Reads `train` splits for fitting, `dev` splits only to print how the choice of model looks; never `test`. Writes
heads.npz and card.json (file hashes; agreement figures are added by benchmarks/offline_judge). Needs scikit-learn.
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
from collections.abc import Iterable
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

from training.offline_data import (  # noqa: E402
    LOADERS,
    Example,
    made_answer,
    made_relevance,
    made_support,
)

from ragassay.models.offline.encoder import Encoder  # noqa: E402
from ragassay.models.offline.engine import ENCODER, HEADS, VOCABULARY, Engine, rarity  # noqa: E402
from ragassay.models.offline.features import TASKS  # noqa: E402
from ragassay.models.offline.heads import Head, pack  # noqa: E402
from ragassay.models.offline.reading import CONTENT, tokens  # noqa: E402
from ragassay.models.offline.wordpiece import WordPiece  # noqa: E402

WEIGHTS = ROOT / "src/ragassay/models/offline/weights"
SEED = 20261120
MADE_SHARE = {"support": 0.2, "relevance": 0.1, "answer": 0.6}
# From which probability the judge says yes. Probabilities are at even odds. A response passes when at least 0.9 of its
# claims pass, and most claims of RAG applications are supported: with a cut of 0.5 most good responses of several
# sentences would fail. 0.2 is where the mean of two figures is best: balanced accuracy of claims (dev, mean of sets) and of
# whole responses (training/choose_cut.py, train and dev). See docs/decisions/0002-offline-model.md.
CUTS = {"support": 0.2, "relevance": 0.5, "answer": 0.5}
Floats = NDArray[np.float64]

# More of the figure can only help (+1) or hurt (-1): what a reader expects, and what keeps odd inputs sane.
MONOTONE = {
    "support": {
        "coverage": 1, "coverage_near": 1, "coverage_listed": 1, "coverage_best": 1, "missing_words": -1,
        "rarest_missing": -1, "bigrams": 1, "trigrams": 1, "fivegrams": 1, "numbers_found": 1, "numbers_near": 1,
        "numbers_missing": -1, "names_found": 1, "names_near": 1, "names_missing": -1, "negation_mismatch": -1,
        "cosine": 1, "align": 1, "align_low": 1, "align_least": 1,
    },
    "relevance": {
        "coverage": 1, "coverage_near": 1, "coverage_best": 1, "coverage_head": 1, "rarest_missing": -1,
        "missing_words": -1, "bigrams": 1, "names_found": 1, "names_missing": -1, "cosine": 1, "align": 1,
        "align_low": 1,
    },
    "answer": {"cosine": 1, "align_low": 1, "yes_fits": 1, "number_fits": 1, "year_fits": 1, "name_fits": 1},
}  # fmt: skip


def idf(texts: Iterable[str], tokenizer: WordPiece, size: int) -> dict[str, NDArray[np.generic]]:
    """Inverse document frequencies of word stems (those in at least 3 passages) and of word pieces."""
    seen: Counter[int] = Counter()
    pieces: Counter[int] = Counter()
    count = 0
    for text in texts:
        count += 1
        seen.update({t.key for t in tokens(text) if t.kind & CONTENT})
        pieces.update(set(tokenizer.encode(text, 4096)))
    kept = sorted(key for key, times in seen.items() if times >= 3)
    scale = math.log(count)
    return {
        "words.keys": np.array(kept, np.uint32),
        "words.idf": np.array([math.log(count / seen[key]) / scale for key in kept], np.float32),
        "words.unseen": np.array(math.log(count / 1.5) / scale),
        "pieces.idf": np.array([math.log(count / (pieces[i] + 1)) / scale for i in range(size)], np.float32).clip(0.01),
    }


def weigh(examples: list[Example], made_share: float) -> Floats:
    """Weights: a set counts as the root of its size, its two classes alike; made examples share `made_share`."""
    sizes = Counter(e.source for e in examples)
    classes = Counter((e.source, e.label) for e in examples)
    kinds = Counter(source for source, _ in classes)
    weights = np.array([math.sqrt(sizes[e.source]) / kinds[e.source] / classes[e.source, e.label] for e in examples])
    made = np.array([e.source.startswith("made:") for e in examples])
    if made.any():
        weights[made] *= made_share / (1 - made_share) * weights[~made].sum() / weights[made].sum()
    # Prior one half over everything: a probability of .5 is where the two mistakes cost the same.
    labels = np.array([e.label for e in examples])
    for label in (0, 1):
        weights[labels == label] *= 0.5 / weights[labels == label].sum()
    return np.asarray(weights * len(examples), np.float64)


def fit(
    x: Floats, y: NDArray[np.int64], weights: Floats, names: tuple[str, ...], task: str
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
        monotonic_cst=[MONOTONE[task].get(name, 0) for name in names],
        random_state=SEED,
    ).fit(x, y, sample_weight=weights)


def export(model: HistGradientBoostingClassifier, names: tuple[str, ...], curve: tuple[Floats, Floats]) -> Head:
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
        found = list(pool.map(lambda i: engine.figures(examples[i].call)[1].figures, order))
    names = tuple(found[0])
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
            print(f"    {source:20} n {len(at):5}  balanced accuracy {scores[-1][0]:.3f}  AUC {scores[-1][1]:.3f}")
        else:
            print(f"    {source:20} n {len(at):5}  label {y[0]}: share right {np.mean((p >= 0.5) == y[0]):.3f}")
    accuracy, area = np.mean(scores, axis=0)
    print(f"    {'mean of sets':20}          balanced accuracy {accuracy:.3f}  AUC {area:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("RAGASSAY_DATA", ROOT.parent / "shared/data"))
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    parser.add_argument("--cache", type=Path, help="keep figures here between runs (while the model is being chosen)")
    options = parser.parse_args()
    data = Path(options.data)
    started = time.monotonic()
    real = {task: list(load(data, "train")) for task, load in LOADERS.items()}
    made = {
        "support": list(made_support(data, SEED, 1500)),
        "relevance": list(made_relevance(data, SEED, 600)),
        "answer": list(made_answer(data, SEED, 1500)),
    }
    dev = {task: list(load(data, "dev")) for task, load in LOADERS.items()}
    vocabulary = (options.out / VOCABULARY).read_text(encoding="utf-8")
    words = vocabulary.split("\n")
    passages = sorted({p for e in real["support"] + real["relevance"] for p in e.call.passages})
    arrays = idf(passages, WordPiece(words), len(words))
    engine = Engine(Encoder((options.out / ENCODER).read_bytes(), vocabulary), rarity(arrays), {})
    for task in TASKS:
        examples = real[task] + made[task]
        cached = options.cache / f"{task}.npz" if options.cache else None
        if cached and cached.exists():
            stored = np.load(cached)
            names, x, x_dev = tuple(map(str, stored["names"])), stored["x"], stored["x_dev"]
        else:
            names, x = figures(engine, examples)
            _, x_dev = figures(engine, dev[task])
            if cached:
                np.savez(cached, names=np.array(names), x=x, x_dev=x_dev)
        y = np.array([e.label for e in examples])
        weights = weigh(examples, MADE_SHARE[task])
        odds = np.zeros(len(y))
        for inside, outside in GroupKFold(5).split(x, y, [e.group for e in examples]):
            odds[outside] = fit(x[inside], y[inside], weights[inside], names, task).decision_function(x[outside])
        curve = calibrate(odds, y, weights)
        head = export(fit(x, y, weights, names, task), names, curve)
        print(f"{task}: {len(real[task])} rows and {len(made[task])} made ones; {time.monotonic() - started:.0f} s")
        print("  train, out of fold:")
        by_set(examples, np.interp(odds, *curve))
        print("  dev:")
        by_set(dev[task], np.array([head.probability(dict(zip(names, row, strict=True))) for row in x_dev]))
        arrays |= pack(task, head)
    with (options.out / HEADS).open("wb") as target:
        np.savez_compressed(target, allow_pickle=False, **arrays)
    hashes = {n: hashlib.sha256((options.out / n).read_bytes()).hexdigest() for n in (ENCODER, VOCABULARY, HEADS)}
    card = {"model": "ragassay offline judge", "files": hashes, "cuts": CUTS, "agreement": {}}
    (options.out / "card.json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    print(f"written; {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
