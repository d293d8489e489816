"""The row shapes of tools: how each is recognised and read, and how it is written. One file a
tool.
"""

from ragassay.datasets.shapes import (
    ares,
    deepeval,
    inspect,
    langsmith,
    mlflow,
    phoenix,
    ragas,
    ragassay,
    ragchecker,
    trulens,
)
from ragassay.datasets.shapes.base import Shape, Writer

SHAPES: tuple[Shape, ...] = (
    ragassay.SHAPE,
    ares.SHAPE,
    ares.UNLABELLED,
    ragas.SHAPE,
    deepeval.SHAPE,
    ragchecker.SHAPE,
    mlflow.AGENT_EVALUATION,
    mlflow.WITH_EXPECTATIONS,
    langsmith.RUNS,
    langsmith.EXAMPLES,
    langsmith.EXPERIMENT,
    mlflow.SHAPE,
    phoenix.SHAPE,
    trulens.SHAPE,
    *ragas.OLDER,
    inspect.SHAPE,
    Shape("input/output", ("input",), ("output",), {"question": "input", "response": "output"}, {}),
)
"""In the order in which they are tried: the first that fits decides."""

WRITERS: dict[str, Writer] = {
    "ragassay": ragassay.WRITER,
    "ragas": ragas.WRITER,
    "deepeval": deepeval.WRITER,
    "mlflow": mlflow.WRITER,
    "trulens": trulens.WRITER,
    "ragchecker": ragchecker.WRITER,
    "ares": ares.WRITER,
    "phoenix": phoenix.WRITER,
    "langsmith": langsmith.WRITER,
    "inspect": inspect.WRITER,
}
"""The shapes that rows can be written in."""

__all__ = ["SHAPES", "WRITERS", "Shape", "Writer"]
