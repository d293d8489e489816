"""What does the judge do on a set that it never saw? Groundedness on test rows, each set left out
in turn.

    python training/leave_out.py BASE [--work build/training] [--out build/training/checkpoint]
    [--scale 1] [--start WEIGHTS] [--replay] [--in-no-training]

Two sets at a time are left out of rows, made examples, the weights of the figures, the line and the
cut; not of what was chosen before (the recipe, how often words occur). The runs begin at the
weights of the first stage, which uses no text of any measured set but the public abstracts of
scifact, or at --start, such as those after the entailment pack, which has none (`--replay`: a third
of it again). wice, begin and ragtruth_qa are in no training; for wice the line is fitted without
it. Needs stage1.safetensors and the model.safetensors of the whole training in --out. Writes the
networks there as without_SETS.safetensors, and takes those that are there already; and
benchmarks/results/offline_loso.json, which the benchmark shows. As long as three times the second
stage; with --in-no-training those three sets alone, in minutes.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import numpy as np  # noqa: E402
from benchmarks.offline_judge.figures import Sample, mean_over, shown  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from training.calibrate import LOOKED_AT, development, of_sentences  # noqa: E402
from training.combine import NETWORK, Figures, Line, fit, line_inputs  # noqa: E402
from training.export_model import find_model  # noqa: E402
from training.learn import joined, predict  # noqa: E402
from training.network import load  # noqa: E402
from training.offline_data import support_test  # noqa: E402
from training.pairs import Maker, Pair  # noqa: E402
from training.prepare_pairs import WEIGHTS, arguments, figure_names  # noqa: E402
from training.prepare_pairs import load as prepared  # noqa: E402
from training.train_network import again, of_set, taken, write  # noqa: E402

# Together those that are not alike; the two of dialogues are apart, as a set left out alone would
# leave the other.
FOLDS = (("factcheck_gpt", "q2_wow"), ("summedits", "faithdial_audit"), ("scifact", "summac_val"))
UNSEEN = (("wice",), ("begin", "ragtruth_qa"))
FIGURES = ("balanced_accuracy", "auroc")
NOTE = (
    "Two sets at a time left out of all training, of the line and of the cut; the second stage at"
    " {scale:.2f} of its length. "
)
IN_NO_TRAINING = (
    "wice, begin and ragtruth_qa are in no training; the line and the cut are chosen without the"
    " set."
)


def line_without(
    leave: Collection[str], work: Path, dev: Sequence[Pair], logits: NDArray[np.float32]
) -> Line:
    """The line of groundedness from the development rows of all other sets. logits [dev, 6]."""
    learned = [p for p in prepared(work, "train") if p.task == "support" and not of_set(p, leave)]
    aside = [at for at, p in enumerate(dev) if p.source not in LOOKED_AT and not of_set(p, leave)]
    return fit(
        "support",
        figure_names(work)["support"],
        Figures(learned),
        [dev[at] for at in aside],
        logits[aside],
        network=NETWORK["support"],
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument(
        "--in-no-training", action="store_true", help="only the sets that need no new training"
    )
    options, out, run = again(parser)
    with tempfile.TemporaryDirectory() as scratch:
        maker = Maker(WEIGHTS, find_model(options.base, Path(scratch)) / "tokenizer.json")
        tests = maker.pairs(support_test(options.data), apart=True)
    every = development(options.work)
    at = [i for i, p in enumerate(every) if p.task == "support"]
    dev = [every[i] for i in at]
    each = of_sentences(out / "model.safetensors", every, options.work / "dev_logits.npz")
    whole = joined(every, each)[at]
    found: dict[str, tuple[float, float]] = {}
    draws = {}
    for fold in UNSEEN if options.in_no_training else (*UNSEEN, *FOLDS):
        print("left out:", *fold, flush=True)
        kept = out / f"without_{'_'.join(fold)}.safetensors"
        if fold in FOLDS and not kept.exists():
            rest = taken(
                [*prepared(options.work, "train"), *prepared(options.work, "made")], fold, 1.0
            )
            write(run(rest).network, kept)
        network = load(kept if fold in FOLDS else out / "model.safetensors")
        logits = predict(network, dev) if fold in FOLDS else whole
        line = line_without(fold, options.work, dev, logits)
        for name in fold:
            mine: list[Pair] = [p for p in tests if p.source == name]
            x = line_inputs(mine, predict(network, mine))
            sample = Sample([p.label for p in mine], [p.group for p in mine])
            draws[name] = sample.draws(line.probability(x), line.cut)
            found[name] = tuple(float(draws[name][figure][0]) for figure in FIGURES)  # type: ignore[assignment]
            print(
                f"  {name}: balanced accuracy {found[name][0]:.3f} at {line.cut}, AUROC"
                f" {found[name][1]:.3f}",
                flush=True,
            )
    folds = "" if options.in_no_training else NOTE.format(scale=options.scale)
    result = {
        "note": f"{folds}{IN_NO_TRAINING}",
        "sets": {name: shown(draws[name], FIGURES) for name in sorted(draws)},
        "macro": mean_over([draws[name] for name in sorted(draws)], FIGURES),
    }
    path = ROOT / "benchmarks/results/offline_loso.json"
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print("mean:", {figure: round(result["macro"][figure], 3) for figure in FIGURES})  # type: ignore[index]


if __name__ == "__main__":
    main()
