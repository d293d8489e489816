"""The graph of the BERT encoder as ONNX, written by hand and without weights.

One input is the sum of a text's embeddings, `embedded` [1, tokens, 384]; looking them up is the
caller's. The other, `keep` [kept], names the places that the last layer is computed for; the output
`tokens` [1, kept, 384] are their last hidden states. Texts are never padded, so there is no mask.
Every weight is an external initializer that the caller hands over by name; onnxruntime's fused
operators stand where they are faster (MultiHeadAttention, BiasGelu, DynamicQuantizeMatMul), and Sum
before LayerNormalization where its own fusion is slower (docs/decisions).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

LAYERS, HEADS, WIDTH, EPSILON = 6, 12, 384, 1e-12
Array = NDArray[Any]
Weights = dict[str, NDArray[np.float32]]
# A channel is calmed that is louder than so many median ones; the inputs of these matrices have no
# loud ones.
CALM, QUIET = 2.0, ".projected"
_KINDS = {"float32": TensorProto.FLOAT, "int8": TensorProto.INT8}


def arrays(
    weights: Weights, *, int8: bool, heard: Mapping[str, Heard] | None = None
) -> dict[str, Array]:
    """The initializers of the graph, from weights with BERT's names. int8: matrices with one scale
    an output channel.

    heard: name of a matrix -> what its inputs are like. Where given, loud input channels are
    calmed: a channel that is ten times as loud as the others would leave them a tenth of the steps.
    The matrix makes up for it.
    """
    found: dict[str, Array] = {
        f"norm.{n}": weights[f"embeddings.LayerNorm.{n}"] for n in ("weight", "bias")
    }

    def dense(name: str, matrix: Array, bias: Array) -> None:
        found[f"{name}.bias"] = bias
        if int8:
            moments = None
            if heard is not None:
                moments = heard[name].moments
                if not name.endswith(QUIET):
                    calm = found[f"{name}.calm"] = 1 / heard[name].calm()
                    matrix, moments = matrix / calm[:, None], moments * np.outer(calm, calm)
            found[f"{name}.weight"], found[f"{name}.scale"] = quantise(matrix, moments)
        else:
            found[f"{name}.weight"] = matrix

    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        parts = [f"{at}attention.self.{part}" for part in ("query", "key", "value")]
        dense(
            f"{layer}.qkv",
            np.concatenate([weights[f"{part}.weight"].T for part in parts], axis=1),
            np.concatenate([weights[f"{part}.bias"] for part in parts]),
        )
        for ours, theirs in (
            ("projected", "attention.output"),
            ("wide", "intermediate"),
            ("narrow", "output"),
        ):
            dense(
                f"{layer}.{ours}",
                weights[f"{at}{theirs}.dense.weight"].T,
                weights[f"{at}{theirs}.dense.bias"],
            )
        for ours, theirs in (("norm1", "attention.output"), ("norm2", "output")):
            for n in ("weight", "bias"):
                found[f"{layer}.{ours}.{n}"] = weights[f"{at}{theirs}.LayerNorm.{n}"]
    return {name: np.ascontiguousarray(value) for name, value in found.items()}


class Heard(NamedTuple):
    """The inputs of a matrix on real texts. loudest [channels]: highest absolute value; moments:
    sum of x x'.
    """

    loudest: Array
    moments: Array

    def calm(self) -> NDArray[np.float32]:
        """What to divide each channel by: how far its loudest value is above CALM times the median
        channel's.
        """
        loud = np.maximum(1, self.loudest / (CALM * np.median(self.loudest)))
        return np.asarray(loud, np.float32)


def quantise(
    matrix: Array, moments: Array | None = None
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Per column: integers of at most 64 and their scale. Seven bits: on CPUs without VNNI products
    of eight saturate.

    moments: of the inputs. With them, what rounding one row does to the products is made up for by
    the rows after it (GPTQ, Frantar et al. 2022); else every number is rounded by itself.
    """
    scale = np.asarray(np.abs(matrix).max(axis=0) / np.float32(64), np.float32)
    if moments is None:
        return np.clip(np.rint(matrix / scale), -64, 64).astype(np.int8), scale
    damped = moments + np.eye(len(moments)) * 0.01 * float(np.diag(moments).mean())
    steps = np.linalg.cholesky(np.linalg.inv(damped)).T
    left, packed = matrix.astype(np.float64), np.zeros(matrix.shape, np.int8)
    for row in range(len(left)):
        packed[row] = np.clip(np.rint(left[row] / scale), -64, 64)
        missed = (left[row] - packed[row] * scale) / steps[row, row]
        left[row + 1 :] -= np.outer(steps[row, row + 1 :], missed)
    return packed, scale


def build(
    initializers: Mapping[str, Array], *, gelu: str = "BiasGelu", show: Sequence[str] = ()
) -> onnx.ModelProto:
    """The graph for initializers of these names and shapes. gelu: "BiasGelu", or "FastGelu", which
    takes a tanh for the error function and less time. show: nodes whose results are outputs as
    well.
    """
    nodes: list[onnx.NodeProto] = []

    def node(op: str, inputs: list[str], output: str, domain: str = "", **attributes: Any) -> str:
        nodes.append(
            helper.make_node(op, inputs, [output], name=output, domain=domain, **attributes)
        )
        return output

    def fused(op: str, inputs: list[str], output: str, **attributes: Any) -> str:
        return node(op, inputs, output, "com.microsoft", **attributes)

    def dense(x: str, name: str, *, biased: bool = True) -> str:
        if f"{name}.calm" in initializers:
            x = node("Mul", [x, f"{name}.calm"], f"{name}.calmed")
        if f"{name}.scale" in initializers:
            inputs = [
                x,
                f"{name}.weight",
                f"{name}.scale",
                *(["", f"{name}.bias"] if biased else []),
            ]
            return fused("DynamicQuantizeMatMul", inputs, name)
        product = node("MatMul", [x, f"{name}.weight"], f"{name}.product")
        return node("Add", [product, f"{name}.bias"], name) if biased else product

    def norm(x: str, name: str) -> str:
        return node(
            "LayerNormalization",
            [x, f"{name}.weight", f"{name}.bias"],
            name,
            axis=-1,
            epsilon=EPSILON,
        )

    x = norm("embedded", "norm")
    for layer in range(LAYERS):
        qkv = dense(x, f"{layer}.qkv")
        q, k, v = (f"{layer}.{part}" for part in "qkv")
        nodes.append(
            helper.make_node("Split", [qkv, "thirds"], [q, k, v], name=f"{layer}.split", axis=-1)
        )
        if layer == LAYERS - 1:
            q = node("Gather", [q, "keep"], "kept.q", axis=1)
            x = node("Gather", [x, "keep"], "kept", axis=1)
        attended = fused("MultiHeadAttention", [q, k, v], f"{layer}.attended", num_heads=HEADS)
        # Sum, not Add: onnxruntime fuses Add with LayerNormalization into an operator that is
        # slower here.
        x = norm(
            node("Sum", [dense(attended, f"{layer}.projected"), x], f"{layer}.sum1"),
            f"{layer}.norm1",
        )
        wide = dense(x, f"{layer}.wide", biased=False)
        wide = fused(gelu, [wide, f"{layer}.wide.bias"], f"{layer}.gelu")
        x = norm(
            node("Sum", [dense(wide, f"{layer}.narrow"), x], f"{layer}.sum2"), f"{layer}.norm2"
        )
    node("Identity", [x], "tokens")
    constants = [numpy_helper.from_array(np.array([WIDTH] * 3, np.int64), "thirds")]
    for name, value in initializers.items():
        constants.append(_outside(name, value))
    graph = helper.make_graph(
        nodes,
        "encoder",
        [
            helper.make_tensor_value_info("embedded", TensorProto.FLOAT, [1, "length", WIDTH]),
            helper.make_tensor_value_info("keep", TensorProto.INT64, ["kept"]),
        ],
        [
            helper.make_tensor_value_info("tokens", TensorProto.FLOAT, [1, "kept", WIDTH]),
            *(helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in show),
        ],
        constants,
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="ragassay")


def _outside(name: str, value: Array) -> onnx.TensorProto:
    tensor = TensorProto(name=name, dims=value.shape, data_type=_KINDS[str(value.dtype)])
    tensor.data_location = TensorProto.EXTERNAL
    for key, said in (("location", "weights"), ("length", str(value.nbytes))):
        tensor.external_data.add(key=key, value=said)
    return tensor


def inputs_of() -> dict[str, str]:
    """Name of a matrix -> the node that it multiplies."""
    found = {}
    for layer in range(LAYERS):
        found[f"{layer}.qkv"] = f"{layer - 1}.norm2" if layer else "norm"
        found[f"{layer}.projected"] = f"{layer}.attended"
        found[f"{layer}.wide"], found[f"{layer}.narrow"] = f"{layer}.norm1", f"{layer}.gelu"
    return found
