"""Step 2c: the network on pairs written by hand, beside what it knows already.

    python training/train_written.py BASE --start WEIGHTS [--work build/training] [--out FOLDER]

Goes on from the weights of the second stage, and writes --out/model.safetensors. Half of the tokens
are pairs written by hand (training/written.py says which), the rest train rows, made examples and
the entailment pack. At the end pairs that were kept aside are looked at, before and after.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import numpy as np  # noqa: E402
from training.draws import Bundle, Bundles, Recipe, Rows, batches, mixed  # noqa: E402
from training.entailment import SHARES, part_of  # noqa: E402
from training.export_model import find_model  # noqa: E402
from training.learn import predict, train  # noqa: E402
from training.measure import auroc, support_odds  # noqa: E402
from training.network import Network, load  # noqa: E402
from training.pairs import LENGTH, Maker, Pair  # noqa: E402
from training.prepare_entailment import pack  # noqa: E402
from training.prepare_pairs import WEIGHTS, arguments  # noqa: E402
from training.prepare_pairs import load as prepared  # noqa: E402
from training.train_network import write  # noqa: E402
from training.written import SOURCE, built_on, examples, is_aside  # noqa: E402

RECIPE = Recipe(
    steps=450,
    rate=8e-5,
    warmup=0.1,
    decay=0.95,
    made=0.4,
    average=0.3,
    seed=23,
    bundled=0.65,
    shares=(("support", 0.56), ("relevance", 0.19), ("answer", 0.25)),
)
# Of the tokens that are drawn in bundles; the rest is the entailment pack's.
WRITTEN = 0.75


def drawn(
    rows: Sequence[Pair], written: Sequence[Bundle], packed: Sequence[Bundle], recipe: Recipe
) -> Iterator[list[Pair]]:
    """The batches of the stage."""
    generator = np.random.default_rng(recipe.seed)
    bundles = [*written, *packed]
    sources = {bundle[0].source for bundle in bundles}
    parts = {source: source if source == SOURCE else part_of(source) for source in sources}
    shares = {part: (1 - WRITTEN) * share for part, share in SHARES.items()} | {SOURCE: WRITTEN}
    drawing = Bundles(bundles, parts, shares, generator)
    return batches(
        mixed(Rows(rows, recipe, generator), drawing, recipe.bundled, generator), recipe, generator
    )


def looked_at(network: Network, pairs: Sequence[Bundle]) -> str:
    """How the network tells the answers of pairs apart."""
    odds = support_odds(predict(network, [one for pair in pairs for one in pair]))
    y = np.array([one.label for pair in pairs for one in pair])
    right = float(np.mean(odds[0::2] > odds[1::2]))
    return f"{len(pairs)} pairs kept aside: in order {right:.3f}, AUROC {auroc(y, odds):.3f}"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--start", type=Path, required=True, help="weights to begin from")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--steps", type=int, default=RECIPE.steps)
    options = parser.parse_args()
    out = options.out or options.work / "checkpoint"
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        tokenizer = find_model(options.base, Path(scratch)) / "tokenizer.json"
        (out / "tokenizer.json").write_bytes(tokenizer.read_bytes())
        learning = Maker(WEIGHTS, tokenizer, length=LENGTH, room=LENGTH)
        reading = Maker(WEIGHTS, tokenizer)
    found = built_on()
    learned = [learning.pairs(examples(pair)) for pair in found if not is_aside(pair)]
    aside = [reading.pairs(examples(pair)) for pair in found if is_aside(pair)]
    network = load(options.start)
    print("before:", looked_at(network, aside), flush=True)
    recipe = replace(RECIPE, steps=options.steps)
    rows = [*prepared(options.work, "train"), *prepared(options.work, "made")]
    train(network, drawn(rows, learned, pack(options.work), recipe), recipe)
    print("after:", looked_at(network, aside))
    write(network, out / "model.safetensors")


if __name__ == "__main__":
    main()
