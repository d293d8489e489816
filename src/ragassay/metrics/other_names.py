"""The names that other tools have for metrics of the catalogue."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ragassay.metrics.registry import catalogue

MLFLOW_JUDGES: Mapping[str, str] = {
    # Agent Evaluation, then mlflow.genai.judges.
    "relevance_to_query": "answer_relevance",
    "guideline_adherence": "guidelines",
    "is_context_relevant": "chunk_relevance",
    "is_context_sufficient": "context_sufficiency",
    "is_correct": "correctness",
    "is_grounded": "groundedness",
    "is_safe": "safety",
    "meets_guidelines": "guidelines",
}
"""The name of a judge in MLflow -> the metric, where it is another name."""

_BETWEEN = re.compile(r", | / ")
_OTHER_QUANTITY = "another quantity"
"""How a declaration begins to say that the name is the same and what it names is not."""


def called_elsewhere(name: str) -> tuple[str, ...]:
    """The metrics that some other tool calls so, however it writes the name ("ResponseRelevancy",
    "relevance_to_query"); () where no tool does, or only for another quantity.
    """
    wanted = _bare(name)
    found = [metric for judge, metric in MLFLOW_JUDGES.items() if _bare(judge) == wanted]
    for metric, kind in catalogue().items():
        for other in kind.declaration.elsewhere:
            names = [_bare(one) for one in _BETWEEN.split(other.name)]
            if wanted in names and not other.differs.startswith(_OTHER_QUANTITY):
                found.append(metric)
    return tuple(dict.fromkeys(found))


def _bare(name: str) -> str:
    return name.lower().replace("_", "").replace(" ", "")
