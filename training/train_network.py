"""Step 2: the network, first on made examples, then more and more on human rows. Needs PyTorch; a
GPU is used when there is one.

    python training/train_network.py BASE [--work build/training] [--out build/training/checkpoint]

Writes model.safetensors (BERT's names and the heads) and tokenizer.json. `--leave SET ...` keeps
the rows of sets out (leave-one-set-out); `--share 0.25` takes a part of the labelled groups
(learning curve); `--scale 0.3` makes every stage shorter; `--start FILE --stage N` goes on from the
weights that a stage wrote (stage1.safetensors ...). `--replay` draws as many tokens of the
entailment pack again in the second stage as a third of it has, beside as many of the others as
without it. `--keep FOLDER` writes the state of each stage there every ten minutes and on SIGTERM,
and `--resume` goes on from it. `--look` prints figures of development rows now and then
(training/glance.py; after prepare_entailment.py).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import numpy as np  # noqa: E402
import torch  # noqa: E402
from safetensors.torch import save_file  # noqa: E402
from training.draws import Bundle, Bundles, Recipe, Rows, batches, mixed  # noqa: E402
from training.entailment import SHARES, part_of  # noqa: E402
from training.export_model import find_model  # noqa: E402
from training.glance import Glance  # noqa: E402
from training.keeper import Keeper  # noqa: E402
from training.learn import train  # noqa: E402
from training.network import Network, load, to_bert  # noqa: E402
from training.offline_data import MEASURED  # noqa: E402
from training.pairs import Maker, Pair  # noqa: E402
from training.prepare_entailment import pack  # noqa: E402
from training.prepare_pairs import WEIGHTS, arguments  # noqa: E402
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


# What is drawn of the entailment pack again in the second stage: the tokens of a third of it.
REPLAYED = 1 / 3


def drawn(
    pairs: Sequence[Pair], recipe: Recipe, bundles: Sequence[Bundle] = ()
) -> Iterator[list[Pair]]:
    """The batches of a stage."""
    generator = np.random.default_rng(recipe.seed)
    rows = Rows(pairs, recipe, generator)
    if not recipe.bundled:
        return batches(rows, recipe, generator)
    parts = {b[0].source: part_of(b[0].source) for b in bundles}
    packed = Bundles(bundles, parts, SHARES, generator)
    return batches(mixed(rows, packed, recipe.bundled, generator), recipe, generator)


def _tokens_of_a_batch(chosen: Iterator[list[Pair]]) -> float:
    return float(np.mean([sum(len(p.ids) for p in batch) for batch in islice(chosen, 500)]))


def with_replay(
    recipe: Recipe, pairs: Sequence[Pair], bundles: Sequence[Bundle], scale: float
) -> Recipe:
    """The recipe with a part of the entailment pack on top of what it draws."""
    before = recipe.steps * _tokens_of_a_batch(drawn(pairs, recipe))
    again = scale * REPLAYED * sum(len(p.ids) for bundle in bundles for p in bundle)
    recipe = replace(recipe, bundled=again / (before + again))
    each = _tokens_of_a_batch(drawn(pairs, recipe, bundles))
    return replace(recipe, steps=round((before + again) / each))


def scaled(
    recipe: Recipe, scale: float, pairs: Sequence[Pair], bundles: Sequence[Bundle]
) -> Recipe:
    """A stage's recipe at a share of its steps, with the pack replayed where there is one."""
    recipe = replace(recipe, steps=max(1, round(recipe.steps * scale)))
    return with_replay(recipe, pairs, bundles, scale) if bundles else recipe


class Again(NamedTuple):
    """A network that the second stage was run on, and in how many steps."""

    network: Network
    steps: int


def again(
    parser: argparse.ArgumentParser,
) -> tuple[argparse.Namespace, Path, Callable[[list[Pair]], Again]]:
    """The options of a step that runs the second stage again, the checkpoint's folder, and how the
    stage is run on pairs: from `--start`, at `--scale`, with `--replay`.
    """
    parser.add_argument("--out", type=Path)
    parser.add_argument(
        "--scale", type=float, default=1.0, help="share of the second stage's steps"
    )
    parser.add_argument("--start", type=Path, help="weights that the second stage begins from")
    parser.add_argument("--replay", action="store_true", help="a third of the pack again")
    options = parser.parse_args()
    out = options.out or options.work / "checkpoint"
    bundles = pack(options.work) if options.replay else []

    def run(pairs: list[Pair]) -> Again:
        recipe = scaled(STAGES[-1], options.scale, pairs, bundles)
        network = load(options.start or out / "stage1.safetensors")
        train(network, drawn(pairs, recipe, bundles), recipe)
        return Again(network, recipe.steps)

    return options, out, run


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
    parser.add_argument("--replay", action="store_true", help="a third of the pack again, at last")
    parser.add_argument("--keep", type=Path, help="folder of the states of the stages")
    parser.add_argument("--resume", action="store_true", help="go on from the state in --keep")
    parser.add_argument("--look", action="store_true", help="look at development rows meanwhile")
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
        maker = Maker(WEIGHTS, folder / "tokenizer.json")
        torch.manual_seed(STAGES[0].seed)  # the heads begin at random
        network = load(options.start or folder / "model.safetensors")
    if torch.cuda.is_available():
        network.cuda()
    look = Glance(options.work, maker) if options.look else None
    for number, recipe in enumerate(STAGES[options.stage - 1 :], options.stage):
        used = [p for p in pairs if not of_set(p, MEASURED)] if recipe.general else pairs
        bundles = pack(options.work) if options.replay and number == len(STAGES) else []
        recipe = scaled(recipe, options.scale, used, bundles)
        print(f"stage {number}: {recipe}", flush=True)
        keeper = None
        if options.keep:
            keeper = Keeper(options.keep / f"stage{number}", resume=options.resume)
        train(network, drawn(used, recipe, bundles), recipe, keeper=keeper, look=look)
        write(network, out / f"stage{number}.safetensors")
    write(network, out / "model.safetensors")


if __name__ == "__main__":
    main()
