"""A graph of onnxruntime as all models here run it: one thread a pass, nothing reported."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Its official builds report sessions to their maker from 1.29 on, unless this is set before the
# library is loaded.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
import onnxruntime

Arrays = Mapping[str, NDArray[Any]]


class OnnxSession:
    """Safe across threads. Raises the errors of onnxruntime for a graph that cannot be read.

    graph: its bytes, or the path of its file, beside which it may keep its weights. weights: those
    that are not in the graph.
    """

    def __init__(self, graph: bytes | str, weights: Arrays | None = None) -> None:
        options = onnxruntime.SessionOptions()
        # Parallel work is done by the caller's threads, a text each: nothing waits, and no text is
        # cut into parts.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False
        options.log_severity_level = 3
        onnxruntime.disable_telemetry_events()  # where somebody else had loaded it before
        values = {
            name: onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(w))
            for name, w in (weights or {}).items()
        }
        options.add_external_initializers(list(values), list(values.values()))
        # The session reads them where they lie and does not keep them alive.
        self._values = values
        self._session = onnxruntime.InferenceSession(
            graph, options, providers=["CPUExecutionProvider"]
        )

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the graph's inputs."""
        return tuple(each.name for each in self._session.get_inputs())

    def run(self, inputs: Arrays) -> list[Any]:
        """The graph's outputs, in its order."""
        outputs: list[Any] = self._session.run(None, dict(inputs))
        return outputs
