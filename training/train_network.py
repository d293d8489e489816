"""Step 2: the network, first on made examples, then more and more on human rows. Needs PyTorch; a
GPU is used when there is one.

    python training/train_network.py BASE [--work build/training] [--out build/training/checkpoint]

Writes model.safetensors (BERT's names and the heads) and tokenizer.json. `--leave SET ...` keeps
the rows of sets out (leave-one-set-out); `--share 0.25` takes a part of the labelled groups
(learning curve); `--scale 0.3` makes every stage shorter; `--start FILE --stage N` goes on from the
weights that a stage wrote (stage1.safetensors ...).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import zlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import torch  # noqa: E402
from safetensors.torch import save_file  # noqa: E402
from training.export_model import find_model  # noqa: E402
from training.learn import Recipe, train  # noqa: E402
from training.network import Network, load, to_bert  # noqa: E402
from training.offline_data import MEASURED  # noqa: E402
from training.pairs import Pair  # noqa: E402
from training.prepare_pairs import arguments  # noqa: E402
from training.prepare_pairs import load as prepared  # noqa: E402

# How the shipped weights were made (docs/decisions/0011-training-the-judge.md): first made examples
# from texts of sets that groundedness is not measured on, then the human rows and the made examples
# of all.
STAGES = (
    Recipe(
        steps=4000,
        rate=2e-4,
        warmup=0.05,
        decay=0.95,
        made=0.9,
        average=0.05,
        general=True,
        shares=(("support", 0.6), ("relevance", 0.15), ("answer", 0.25)),
    ),
    Recipe(
        steps=2400,
        rate=1.5e-4,
        decay=0.95,
        made=0.4,
        average=0.2,
        seed=7,
        shares=(("support", 0.56), ("relevance", 0.19), ("answer", 0.25)),
    ),
)


def again(text: str | None) -> tuple[argparse.Namespace, Path, Recipe]:
    """The options of a step that runs the second stage again, the checkpoint's folder, and the
    recipe at `--scale`.
    """
    parser = arguments(text)
    parser.add_argument("--out", type=Path)
    parser.add_argument(
        "--scale", type=float, default=1.0, help="share of the second stage's steps"
    )
    options = parser.parse_args()
    recipe = replace(STAGES[-1], steps=max(1, round(STAGES[-1].steps * options.scale)))
    return options, options.out or options.work / "checkpoint", recipe


def write(network: Network, path: Path) -> None:
    """The network's weights under BERT's names."""
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(
        {
            name: value.detach().cpu().contiguous().clone()
            for name, value in to_bert(network.state_dict()).items()
        },
        path,
    )


def of_set(pair: Pair, names: Iterable[str]) -> bool:
    """Whether a pair is a row of one of the sets or made from its texts."""
    return any(pair.source == name or pair.group.startswith(f"{name}:") for name in names)


# Made examples that say what people said of a row.
FROM_LABELS = frozenset(
    {"made:told", "made:edit", "made:retold", "made:answer", "made:factcc", "made:hop"}
)


def taken(pairs: list[Pair], leave: Iterable[str], share: float) -> list[Pair]:
    """Without some sets, and with a share of the groups that people labelled."""
    kept = []
    for p in pairs:
        human = not p.source.startswith("made:") or p.source in FROM_LABELS
        if not of_set(p, leave) and (
            not human or zlib.crc32(p.group.encode()) % 1000 < 1000 * share
        ):
            kept.append(p)
    return kept


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--leave", nargs="+", default=[], help="sets that are not trained on")
    parser.add_argument("--share", type=float, default=1.0, help="share of the human rows")
    parser.add_argument("--start", type=Path, help="weights to begin from")
    parser.add_argument("--stage", type=int, default=1, help="the first stage to run")
    parser.add_argument("--scale", type=float, default=1.0, help="share of every stage's steps")
    options = parser.parse_args()
    out = options.out or options.work / "checkpoint"
    pairs = taken(
        [*prepared(options.work, "train"), *prepared(options.work, "made")],
        options.leave,
        options.share,
    )
    with tempfile.TemporaryDirectory() as scratch:
        folder = find_model(options.base, Path(scratch))
        out.mkdir(parents=True, exist_ok=True)
        (out / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
        torch.manual_seed(STAGES[0].seed)  # the heads begin at random
        network = load(options.start or folder / "model.safetensors")
    if torch.cuda.is_available():
        network.cuda()
    for number, recipe in enumerate(STAGES[options.stage - 1 :], options.stage):
        print(f"stage {number}")
        used = [p for p in pairs if not of_set(p, MEASURED)] if recipe.general else pairs
        train(
            network,
            used,
            replace(recipe, steps=max(1, round(recipe.steps * options.scale))),
            every=200,
        )
        write(network, out / f"stage{number}.safetensors")
    write(network, out / "model.safetensors")


if __name__ == "__main__":
    main()
