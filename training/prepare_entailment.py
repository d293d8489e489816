"""Step 1b: the entailment pack, read into token ids once.

    python training/prepare_entailment.py BASE [--data ../shared/data] [--work build/training]

Writes pack.pkl (bundles of pairs) and pack_dev.pkl (pairs of the pack's own dev split, to see how
the stage goes) into --work, and prints what was left out. No PyTorch is needed. Five minutes on two
cores.
"""

from __future__ import annotations

import pickle
import random
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from training.entailment import SHARES, learned, part_of, taken  # noqa: E402
from training.export_model import find_model  # noqa: E402
from training.pairs import Maker, Pair  # noqa: E402
from training.prepare_pairs import MADE_LENGTH, SEED, WEIGHTS, arguments  # noqa: E402

# Pairs of the pack's dev split that are looked at.
LOOKED_AT = 400


def pack(work: Path) -> list[list[Pair]]:
    """The bundles that were prepared."""
    found: list[list[Pair]] = pickle.loads((work / "pack.pkl").read_bytes())
    return found


def some(bundles: list[list[Pair]]) -> list[Pair]:
    """Bundles of each part by its share, until there are enough."""
    chance = random.Random(SEED)
    chance.shuffle(bundles)
    kept: list[Pair] = []
    room = {part: LOOKED_AT * share for part, share in SHARES.items()}
    for bundle in bundles:
        part = part_of(bundle[0].source)
        if room[part] > 0:
            room[part] -= len(bundle)
            kept += bundle
    return kept


def main() -> None:
    options = arguments(__doc__).parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    found = taken(options.data / "nli", options.data)
    with tempfile.TemporaryDirectory() as scratch:
        folder = find_model(options.base, Path(scratch))
        for part, aside in (("pack", False), ("pack_dev", True)):
            started = time.monotonic()
            maker = Maker(WEIGHTS, folder / "tokenizer.json", length=MADE_LENGTH, room=MADE_LENGTH)
            made = (
                maker.pairs(bundle, figures=False)
                for bundle in learned(found, aside=aside, seed=SEED)
            )
            bundles = [bundle for bundle in made if bundle]
            kept: list[list[Pair]] | list[Pair] = some(bundles) if aside else bundles
            (options.work / f"{part}.pkl").write_bytes(pickle.dumps(kept))
            print(f"{part}: {len(bundles)} bundles, {time.monotonic() - started:.0f} s")
            sizes: dict[str, Counter[str]] = defaultdict(Counter)
            for p in (p for bundle in bundles for p in bundle):
                sizes[p.source] += Counter(pairs=1, tokens=len(p.ids), yes=p.label)
            for source, size in sizes.items():
                print(
                    f"  {part_of(source):10} {source:24} {size['pairs']:6} pairs, label 1"
                    f" {size['yes']}, {size['tokens'] / size['pairs']:.0f} tokens on average,"
                    f" {size['tokens'] / 1e6:.2f} M"
                )


if __name__ == "__main__":
    main()
