"""How rare is a word? Inverse document frequencies of stems and word pieces over the passages of
train rows: rarity.npz, and its hash in card.json.

python training/count_words.py [--data ../shared/data]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from training.export_model import hashes  # noqa: E402
from training.graph import Array  # noqa: E402
from training.offline_data import relevance, support_train  # noqa: E402

from ragassay.models.offline.engine import RARITY, VOCABULARY  # noqa: E402
from ragassay.models.offline.reading import CONTENT, tokens  # noqa: E402
from ragassay.models.offline.wordpiece import WordPiece  # noqa: E402

FOLDER = ROOT / "src/ragassay/models/offline/weights"


def idf(texts: Iterable[str], tokenizer: WordPiece, size: int) -> dict[str, Array]:
    """Stems in at least three texts with their idf, on a scale where a word of one text has about
    1; that of unseen ones; and that of each word piece.
    """
    seen: Counter[int] = Counter()
    pieces: Counter[int] = Counter()
    count = 0
    for text in texts:
        count += 1
        seen.update({t.key for t in tokens(text) if t.kind & CONTENT})
        pieces.update(set(tokenizer.encode(text, 4096)))
    kept = sorted(key for key, times in seen.items() if times >= 3)
    scale = math.log(count)
    return {
        "keys": np.array(kept, np.uint32),
        "idf": np.array([math.log(count / seen[key]) / scale for key in kept], np.float32),
        "unseen": np.array(math.log(count / 1.5) / scale),
        "pieces": np.array(
            [math.log(count / (pieces[i] + 1)) / scale for i in range(size)], np.float32
        ).clip(0.01),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("RAGASSAY_DATA", ROOT.parent / "shared/data")
    )
    parser.add_argument("--out", type=Path, default=FOLDER)
    options = parser.parse_args()
    learned = (*support_train(options.data), *relevance(options.data, "train"))
    passages = sorted({p for example in learned for p in example.call.passages})
    vocabulary = (options.out / VOCABULARY).read_text(encoding="utf-8").split("\n")
    arrays = idf(passages, WordPiece(vocabulary), len(vocabulary))
    with (options.out / RARITY).open("wb") as target:
        np.savez_compressed(target, allow_pickle=False, **arrays)
    card = json.loads((options.out / "card.json").read_text(encoding="utf-8"))
    card = {**card, "files": hashes(options.out), "agreement": {}}
    (options.out / "card.json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    print(f"{len(arrays['keys']):,} stems of {len(passages):,} passages")


if __name__ == "__main__":
    main()
