"""The weights after the first stage, kept small: an hour on two cores that leave-one-set-out runs
need not spend again.

    python training/first_stage.py pack BASE STAGE1.safetensors [KEPT.npz]     # writes the last
    python training/first_stage.py unpack BASE STAGE1.safetensors [KEPT.npz]   # reads it

KEPT.npz is training/first_stage.npz where it is not given; another file can keep the weights after
a later stage, such as that on entailment. It holds what training changed of each array of
all-MiniLM-L6-v2, in steps of a 15th of a row's largest change; other arrays whole. The rounding is
a fraction of what the second stage moves them by.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import numpy as np  # noqa: E402
from safetensors.numpy import load_file, save_file  # noqa: E402
from training.export_model import WORDS, find_model  # noqa: E402

KEPT = ROOT / "training/first_stage.npz"
STEPS = 15


def pack(base: dict[str, np.ndarray], weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays of the file. Word embeddings are those of the start."""
    kept: dict[str, np.ndarray] = {}
    for name, value in weights.items():
        if name == WORDS:
            continue
        if name in base and value.ndim == 2:
            change = value - base[name]
            scale = np.maximum(np.abs(change).max(axis=1, keepdims=True) / STEPS, 1e-12).astype(
                np.float32
            )
            kept[f"steps/{name}"], kept[f"scale/{name}"] = (
                np.rint(change / scale).astype(np.int8),
                scale,
            )
        else:
            kept[f"whole/{name}"] = value
    return kept


def unpack(base: dict[str, np.ndarray], kept: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The weights again."""
    weights = {WORDS: base[WORDS]}
    for stored, value in kept.items():
        kind, name = stored.split("/", 1)
        if kind == "whole":
            weights[name] = value
        elif kind == "steps":
            weights[name] = base[name] + value.astype(np.float32) * kept[f"scale/{name}"]
    return weights


def main() -> None:
    if len(sys.argv) not in (4, 5) or sys.argv[1] not in ("pack", "unpack"):
        raise SystemExit(__doc__)
    path = Path(sys.argv[4]) if len(sys.argv) == 5 else KEPT
    with tempfile.TemporaryDirectory() as scratch:
        base = load_file(find_model(Path(sys.argv[2]), Path(scratch)) / "model.safetensors")
    if sys.argv[1] == "pack":
        weights = load_file(sys.argv[3])
        kept = pack(base, weights)
        np.savez_compressed(path, allow_pickle=False, **kept)
        again = unpack(base, kept)
        worst = max(float(np.abs(again[name] - weights[name]).max()) for name in weights)
        print(f"{path.stat().st_size / 1e6:.2f} MB, largest rounding {worst:.5f}")
    else:
        Path(sys.argv[3]).parent.mkdir(parents=True, exist_ok=True)
        with np.load(path, allow_pickle=False) as stored:
            save_file(unpack(base, {name: stored[name] for name in stored.files}), sys.argv[3])


if __name__ == "__main__":
    main()
