"""The network of a local model: token ids to outputs, by onnxruntime or by PyTorch.

Each pass has one input and no padding, as in the offline model: an input that shares its pass with
others has other outputs in their last digits (and quantised models more than that), and then a
verdict would depend on the rows beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ragassay.core import EnvironmentFailure, shorten
from ragassay.models.local.folder import Weights, unusable
from ragassay.models.local.parts import Parts

Outputs = NDArray[np.float32]
_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})


class Network(Protocol):
    """Safe across threads."""

    def run(self, ids: Sequence[int], types: Sequence[int]) -> Outputs:
        """The outputs (logits) of one input: [labels] of a sequence classifier, [tokens, labels] of
        a token classifier, [vocabulary] of an encoder-decoder.
        """
        ...


class OnnxNetwork:
    """A graph in ONNX. Its first output counts."""

    def __init__(self, weights: Weights, folder: Path) -> None:
        from ragassay.models.onnx_session import OnnxSession

        path = weights.files[0]
        try:
            self._session = OnnxSession(str(path))
        except Exception as error:  # onnxruntime raises its own kinds for a broken file
            raise not_loaded(folder, path.name, error) from None
        unknown = set(self._session.inputs) - _INPUTS
        if unknown or "input_ids" not in self._session.inputs:
            why = f"{path.name} takes the inputs {', '.join(self._session.inputs)}"
            fix = "export it with input_ids, attention_mask and token_type_ids only"
            raise unusable(str(folder), why, fix)

    def run(self, ids: Sequence[int], types: Sequence[int]) -> Outputs:
        """As `Network.run`. Raises the errors of onnxruntime."""
        values = {
            "input_ids": np.array([ids], np.int64),
            "attention_mask": np.ones((1, len(ids)), np.int64),
            "token_type_ids": np.array([types], np.int64),
        }
        outputs = self._session.run({name: values[name] for name in self._session.inputs})
        return _of_one(outputs[0])


def _of_one(outputs: Any) -> Outputs:
    """The outputs without the dimension of the batch. Raises ValueError for outputs of more than
    one input.
    """
    array = np.asarray(outputs, np.float32)
    if array.ndim not in (2, 3) or array.shape[0] != 1:
        raise ValueError(f"the output has the shape {array.shape}")
    single: Outputs = array[0]
    return single


def not_loaded(folder: Path, name: str, error: BaseException) -> EnvironmentFailure:
    """E0413 for weights that a library cannot load."""
    why = f"{name} cannot be loaded: {type(error).__name__}: {shorten(str(error), 500)}"
    return unusable(str(folder), why, "download or export the model again")


def open_network(parts: Parts) -> Network:
    """The network of these parts. Raises EnvironmentFailure E0413 for weights that cannot be
    loaded.
    """
    if parts.weights.format == "onnx":
        return OnnxNetwork(parts.weights, parts.folder)
    from ragassay.models.local.torch_network import TorchNetwork

    return TorchNetwork(parts)
