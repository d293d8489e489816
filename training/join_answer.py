"""How do the network and the trees judge an answer together? Two weights and an offset, on
development rows.

    python training/join_answer.py [--data ../shared/data]

Runs after the export and `fit_answer.py`, on the arrays as they ship. Writes the line of the task
`answer` into combiner.json and its hash into card.json. Prints what ten-fold cross-validation over
the development groups says.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import numpy as np  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.metrics import f1_score  # noqa: E402
from sklearn.model_selection import GroupKFold, cross_val_predict  # noqa: E402
from training.export_model import FOLDER, hashes  # noqa: E402
from training.measure import auroc, balanced_accuracy, weigh  # noqa: E402
from training.offline_data import answer  # noqa: E402

from ragassay.models.offline.combiner import TREES, inputs  # noqa: E402
from ragassay.models.offline.engine import COMBINER, HEADS, Engine  # noqa: E402
from ragassay.models.offline.heads import unpack  # noqa: E402
from ragassay.models.offline.windows import network_input  # noqa: E402

# Log-odds beyond this count as this.
_TOP = 12.0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("RAGASSAY_DATA", ROOT.parent / "shared/data")
    )
    data = Path(parser.parse_args().data)
    engine = Engine.load(FOLDER)
    with np.load(FOLDER / HEADS) as stored:
        trees = unpack("answer", {name: stored[name] for name in stored.files})
    found, x = [], []
    for example in answer(data, "dev"):
        read = network_input(
            example.call.text, engine.passage_index(example.call), engine.rarity, engine.tokenizer
        )
        if read is not None:
            odds = inputs("answer", engine.reader.read(read))["odds"]
            x.append([min(odds, _TOP), min(trees.odds(engine.figures(example.call)), _TOP)])
            found.append(example)
    both, y, sources = np.array(x), np.array([e.label for e in found]), [e.source for e in found]
    weights, groups = weigh(sources), [e.group for e in found]
    line = LogisticRegression(C=1.0)
    p = cross_val_predict(
        line,
        both,
        y,
        groups=groups,
        cv=GroupKFold(10),
        method="predict_proba",
        params={"sample_weight": weights},
    )[:, 1]
    for name in dict.fromkeys(sources):
        at = np.array([s == name for s in sources])
        print(
            f"{name}: AUROC {auroc(y[at], p[at]):.3f} (network {auroc(y[at], both[at, 0]):.3f},"
            f" trees {auroc(y[at], both[at, 1]):.3f}), balanced accuracy"
            f" {balanced_accuracy(y[at], p[at] >= 0.5):.3f}, F1 {f1_score(y[at], p[at] >= 0.5):.3f}"
        )
    line.fit(both, y, sample_weight=weights)
    lines = json.loads((FOLDER / COMBINER).read_text(encoding="utf-8"))
    lines["answer"] = {
        "names": ["odds", TREES],
        "weights": line.coef_[0].tolist(),
        "caps": [_TOP, _TOP],
        "offset": float(line.intercept_[0]),
        "cut": 0.5,
    }
    (FOLDER / COMBINER).write_text(json.dumps(lines, indent=1) + "\n", encoding="utf-8")
    card = json.loads((FOLDER / "card.json").read_text(encoding="utf-8"))
    card = {
        **card,
        "files": hashes(FOLDER),
        "cuts": {**card["cuts"], "answer": 0.5},
        "agreement": {},
    }
    (FOLDER / "card.json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
