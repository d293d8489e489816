"""Would more labelled rows help? Development figures of groundedness after training on shares of
the human rows.

    python training/learning_curve.py BASE [--work build/training] [--out build/training/checkpoint]
    [--scale 1] [--start WEIGHTS] [--replay]

Every run is the second stage from the weights of the first, on a share of the rows that people
labelled (whole groups, also where examples were made from their labels) and all other made
examples; none is the first stage alone. Test rows are not read. Writes
benchmarks/results/offline_learning_curve.json.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import numpy as np  # noqa: E402
from training.calibrate import LOOKED_AT, development  # noqa: E402
from training.combine import NETWORK, Figures, fit, line_inputs  # noqa: E402
from training.learn import predict  # noqa: E402
from training.measure import by_set, support_odds  # noqa: E402
from training.network import load  # noqa: E402
from training.prepare_pairs import arguments, figure_names  # noqa: E402
from training.prepare_pairs import load as prepared  # noqa: E402
from training.train_network import again, taken  # noqa: E402

SHARES = (0.0, 0.1, 0.3, 1.0)


def main() -> None:
    options, out, run = again(arguments(__doc__))
    human, made = prepared(options.work, "train"), prepared(options.work, "made")
    aside = [p for p in development(options.work) if p.task == "support"]
    own = [p for p in aside if not p.source.startswith("made:")]
    y, sources = np.array([p.label for p in own]), [p.source for p in own]
    points = []
    for share in SHARES:
        pairs = taken([*human, *made], (), share)
        if share:
            network, steps = run(pairs)
        else:
            network, steps = load(options.start or out / "stage1.safetensors"), 0
        logits = predict(network, aside)
        told = logits[[i for i, p in enumerate(aside) if not p.source.startswith("made:")]]
        used = [i for i, p in enumerate(aside) if p.source not in LOOKED_AT]
        # The figures' weights come from all rows: what is asked here is what the network learns
        # from more of them.
        figures = Figures([p for p in human if p.task == "support"])
        names = figure_names(options.work)["support"]
        line = fit(
            "support",
            names,
            figures,
            [aside[i] for i in used],
            logits[used],
            network=NETWORK["support"],
        )
        p = line.probability(line_inputs(own, told))
        _, _, best, area = by_set(sources, y, support_odds(told))["macro"]
        _, accuracy, _, whole = by_set(sources, y, p, line.cut)["macro"]
        rows = (
            sum(p.task == "support" and not p.source.startswith("made:") for p in pairs)
            if share
            else 0
        )
        points.append(
            {
                "share": share,
                "rows": rows,
                "network_best_cut": best,
                "network_auroc": area,
                "line": accuracy,
                "line_auroc": whole,
            }
        )
        print({name: round(value, 3) for name, value in points[-1].items()}, flush=True)
    result = {
        "note": (f"Second stage of {steps} steps from the first; means over development sets."),
        "points": points,
    }
    path = ROOT / "benchmarks/results/offline_learning_curve.json"
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
