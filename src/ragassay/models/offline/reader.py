"""The trained network over a text and a window: log-odds of each task, and of each token."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ragassay.models.offline.cache import SharedCache
from ragassay.models.offline.network import Network, Vectors
from ragassay.models.offline.windows import NetworkInput
from ragassay.models.onnx_session import Arrays

_CACHED_INPUTS = 4096


class NetworkOutput(NamedTuple):
    """Log-odds that the network gives for one text and its window.

    support [3]: logits of supported, contradicted, not mentioned. relevance, answer: log-odds of
    a yes.

    unsupported [tokens of the text]: log-odds that the window does not support the token.
    """

    support: Vectors
    relevance: float
    answer: float
    unsupported: Vectors


class Reader:
    """The network's outputs. Safe across threads; an input that was read lately is not read
    again.
    """

    def __init__(self, network: Network, arrays: Arrays) -> None:
        self._network = network
        self._types: Vectors = arrays["types"]
        self._heads = {
            name: (arrays[f"{name}.weight"].T, arrays[f"{name}.bias"])
            for name in ("support", "relevance", "answer", "span")
        }
        self._outputs = SharedCache(self._read, _CACHED_INPUTS)

    def read(self, network_input: NetworkInput) -> NetworkOutput:
        """The output for an input: the same bits whatever is read before or beside it."""
        return self._outputs.of(network_input)

    def _read(self, network_input: NetworkInput) -> NetworkOutput:
        first = network_input.text + 2
        types = self._types[(np.arange(len(network_input.ids)) >= first).astype(np.int64)]
        states = self._network.states(network_input.ids, 1 + network_input.text, types)

        def head(name: str, of: Vectors) -> Vectors:
            weight, bias = self._heads[name]
            # Not `@`: its library may start threads of its own, and has other bits on other
            # machines.
            output: Vectors = np.einsum("tw,wo->to", of, weight) + bias
            return output

        start = states[:1]
        return NetworkOutput(
            head("support", start)[0],
            float(head("relevance", start)[0, 0]),
            float(head("answer", start)[0, 0]),
            head("span", states[1:])[:, 0],
        )
