"""Step 2a: the network on the entailment pack, between the made examples and the human rows.

    python training/train_entailment.py BASE [--work build/training] [--keep FOLDER [--resume]]

Goes on from --out/stage1.safetensors (or --start) and writes --out/entailment.safetensors, where
`train_network.py --start ... --stage 2 --replay` begins. Four fifths of the tokens are the pack's
(training/entailment.py says which), a fifth those of the train rows and made examples, so that what
is known is not forgotten. Every quarter of an hour some development rows are looked at. Every ten
minutes, and on SIGTERM, the state is written to --keep; `--resume` goes on from there, step for
step as if nothing had been.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import torch  # noqa: E402
from training.draws import Recipe  # noqa: E402
from training.export_model import find_model  # noqa: E402
from training.glance import Glance  # noqa: E402
from training.keeper import Keeper  # noqa: E402
from training.learn import train  # noqa: E402
from training.network import load  # noqa: E402
from training.pairs import Maker  # noqa: E402
from training.prepare_entailment import pack  # noqa: E402
from training.prepare_pairs import WEIGHTS, arguments  # noqa: E402
from training.prepare_pairs import load as prepared  # noqa: E402
from training.train_network import drawn, write  # noqa: E402

RECIPE = Recipe(
    steps=2200,
    rate=1.5e-4,
    warmup=0.05,
    decay=0.95,
    made=0.5,
    average=0.1,
    seed=11,
    bundled=0.8,
    tokens=4096,
    shares=(("support", 0.6), ("relevance", 0.15), ("answer", 0.25)),
)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--start", type=Path, help="weights to begin from")
    parser.add_argument("--keep", type=Path, help="folder of the state (default: in --out)")
    parser.add_argument("--resume", action="store_true", help="go on from the state")
    parser.add_argument("--steps", type=int, default=RECIPE.steps)
    options = parser.parse_args()
    out = options.out or options.work / "checkpoint"
    recipe = replace(RECIPE, steps=options.steps)
    keeper = Keeper(options.keep or out / "stage_entailment", resume=options.resume)
    with tempfile.TemporaryDirectory() as scratch:
        maker = Maker(WEIGHTS, find_model(options.base, Path(scratch)) / "tokenizer.json")
    network = load(options.start or out / "stage1.safetensors")
    if torch.cuda.is_available():
        network.cuda()
    pairs = [*prepared(options.work, "train"), *prepared(options.work, "made")]
    chosen = drawn(pairs, recipe, pack(options.work))
    train(network, chosen, recipe, keeper=keeper, look=Glance(options.work, maker))
    write(network, out / "entailment.safetensors")


if __name__ == "__main__":
    main()
