"""DeepEval's `Synthesizer` on documents, with its defaults.

It takes no number of questions: one context is asked for of each document, and as many questions of
a context as make the number.
"""

# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-call,misc"
from __future__ import annotations

from pathlib import Path

from benchmarks.testsets.drivers.sealed import Row, Task, documents, local_tokens, run
from deepeval.models import OpenAIEmbeddingModel, OpenAIModel
from deepeval.synthesizer import Synthesizer
from deepeval.synthesizer.config import ContextConstructionConfig, FiltrationConfig


def make(task: Task) -> tuple[list[Row], list[str]]:
    """The goldens of the documents. What is missing is told nowhere."""
    model = OpenAIModel(model="gpt-4o-mini", base_url=task["url"], api_key="none")
    embedder = OpenAIEmbeddingModel(
        model="text-embedding-3-small", base_url=task["url"], api_key="none"
    )
    paths = documents(task)
    synthesizer = Synthesizer(model=model, filtration_config=FiltrationConfig(critic_model=model))
    goldens = synthesizer.generate_goldens_from_docs(
        [str(path) for path in paths],
        max_goldens_per_context=max(1, task["size"] // len(paths)),
        context_construction_config=ContextConstructionConfig(
            embedder=embedder, critic_model=model, max_contexts_per_document=1
        ),
    )
    rows = []
    for golden in goldens:
        evolutions = (golden.additional_metadata or {}).get("evolutions") or ["none"]
        rows.append(
            {
                "question": golden.input,
                "answer": golden.expected_output,
                "contexts": golden.context,
                "documents": [Path(golden.source_file).name],
                "type": ", ".join(map(str, evolutions)),
            }
        )
    return rows, []


if __name__ == "__main__":
    local_tokens()
    run("deepeval", make)
