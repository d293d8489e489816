"""Step 3: logits and lexical figures to one calibrated probability, on development rows.

    python training/calibrate.py BASE [--work build/training] [--out build/training/checkpoint]

Reads the network of step 2, writes combiner.json beside it, and prints every development set:
balanced accuracy at the cut, AUROC and calibration error; also with each set left out of the fit of
the line, for the least supported sentence of a text and for the mean of them, and for fixed weights
of the network beside the figures. begin and scifact are looked at, not fitted on.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from training.combine import NETWORK, Figures, Line, fit, line_inputs, save  # noqa: E402
from training.learn import apart, joined, predict  # noqa: E402
from training.measure import auroc, balanced_accuracy, by_set, calibration_error  # noqa: E402
from training.network import load as network_from  # noqa: E402
from training.pairs import Pair  # noqa: E402
from training.prepare_pairs import arguments, figure_names  # noqa: E402
from training.prepare_pairs import load as prepared  # noqa: E402

# Looked at only: development rows that share passages with test rows may choose, and not fit.
LOOKED_AT = frozenset({"begin", "scifact"})
WEIGHTS = (0.2, 0.35, 0.5, 0.65, 0.8)
Floats = NDArray[np.float64]


def development(work: Path) -> list[Pair]:
    """The human development rows, and the made examples that were kept aside."""
    return [*prepared(work, "dev"), *prepared(work, "made_dev")]


def told(pairs: Sequence[Pair], line: Line, logits: NDArray[np.float32], title: str) -> None:
    """Print every set."""
    y = np.array([p.label for p in pairs])
    p = line.probability(line_inputs(pairs, logits))
    print(
        f"{title}: {len(pairs)} rows, calibration error {calibration_error(y, p):.3f}, cut"
        f" {line.cut}"
    )
    for name, (count, accuracy, best, area) in by_set(
        [q.source for q in pairs], y, p, line.cut
    ).items():
        print(
            f"  {name:20} n {count:6.0f}  balanced accuracy {accuracy:.3f} (best cut {best:.3f}) "
            f" AUROC {area:.3f}"
        )


def left_out(
    task: str,
    names: Sequence[str],
    train: Sequence[Pair],
    dev: Sequence[Pair],
    logits: NDArray[np.float32],
    network: float | None = None,
) -> tuple[float, float]:
    """Mean balanced accuracy and AUROC of the sets when the figures and the line are fitted without
    the set they are used on. network: its weight beside the figures, None: fitted.
    """
    found = []
    for name in sorted({p.source for p in dev if not p.source.startswith("made:")}):
        rest = np.array([p.source != name for p in dev])
        aside = [p for p in dev if p.source == name]
        y = np.array([p.label for p in aside])
        if len(set(y.tolist())) == 2 and rest.any():
            rest &= np.array([p.source not in LOOKED_AT for p in dev])
            figures = Figures([p for p in train if p.source != name])
            line = fit(
                task,
                names,
                figures,
                [p for p, kept in zip(dev, rest, strict=True) if kept],
                logits[rest],
                network=network,
            )
            p = line.probability(line_inputs(aside, logits[[p.source == name for p in dev]]))
            found.append((balanced_accuracy(y, p >= line.cut), auroc(y, p)))
    accuracy, area = np.mean(found, axis=0)
    return float(accuracy), float(area)


def of_sentences(weights: Path, dev: Sequence[Pair], kept: Path) -> NDArray[np.float32]:
    """Logits of every sentence of the rows. They take ten minutes, so they are kept beside the hash
    of the weights.
    """
    digest = hashlib.sha256(weights.read_bytes()).hexdigest()
    parts = apart(dev)
    if kept.exists():
        with np.load(kept) as stored:
            if str(stored["weights"]) == digest and len(stored["logits"]) == len(parts):
                known: NDArray[np.float32] = stored["logits"]
                return known
    each: NDArray[np.float32] = predict(network_from(weights), parts)
    np.savez(kept, weights=digest, logits=each)
    return each


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    out = options.out or options.work / "checkpoint"
    train, dev, names = (
        prepared(options.work, "train"),
        development(options.work),
        figure_names(options.work),
    )
    each = of_sentences(out / "model.safetensors", dev, options.work / "dev_logits.npz")
    logits, mean = joined(dev, each), joined(dev, each, "mean")
    lines = {}
    for task in ("support", "relevance", "answer"):
        at = np.array([p.task == task for p in dev])
        pairs = [p for p in dev if p.task == task]
        learned = [p for p in train if p.task == task]
        used = np.array([p.source not in LOOKED_AT for p in pairs])
        kept = [p for p in pairs if p.source not in LOOKED_AT]
        lines[task] = fit(
            task, names[task], Figures(learned), kept, logits[at][used], network=NETWORK.get(task)
        )
        human = np.array([not p.source.startswith("made:") for p in pairs])
        told(
            [p for p, kept in zip(pairs, human, strict=True) if kept],
            lines[task],
            logits[at][human],
            task,
        )
        if not human.all():
            told(
                [p for p, kept in zip(pairs, ~human, strict=True) if kept],
                lines[task],
                logits[at][~human],
                "made",
            )
        for title, read in (("least supported sentence", logits), ("mean of sentences", mean)):
            for weight in (None, *WEIGHTS) if task == "support" else (None,):
                found = left_out(task, names[task], learned, pairs, read[at], weight)
                print(
                    f"  each set left out of the line, {title}, weight of the network"
                    f" {'fitted' if weight is None else weight}: balanced accuracy"
                    f" {found[0]:.3f}, AUROC {found[1]:.3f}"
                )
    save(lines, out / "combiner.json")


if __name__ == "__main__":
    main()
