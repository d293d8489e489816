"""What does Ragas make of the verdicts? Its collections and its classic metrics, with a scripted
model.
"""

# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-call,misc"
from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

from benchmarks.parity.drivers.sealed import Compute, run
from benchmarks.parity.rows import Row, any_chunk, chunk_supports, contexts
from langchain_core.outputs import Generation, LLMResult
from ragas.dataset_schema import SingleTurnSample
from ragas.embeddings.base import BaseRagasEmbedding
from ragas.llms.base import InstructorBaseRagasLLM
from ragas.metrics import collections as new
from ragas.run_config import RunConfig

# Some of these names are also instances in ragas.metrics, which hide the modules from a plain
# import.
_answer_correctness, _answer_relevance, _context_entities_recall, _context_precision = (
    import_module(f"ragas.metrics.{name}")
    for name in (
        "_answer_correctness",
        "_answer_relevance",
        "_context_entities_recall",
        "_context_precision",
    )
)
_context_recall, _faithfulness, _noise_sensitivity, _nv_metrics = (
    import_module(f"ragas.metrics.{name}")
    for name in ("_context_recall", "_faithfulness", "_noise_sensitivity", "_nv_metrics")
)
RETRIES = 5
"""How often the light metrics ask again after a rating off the scale."""
Reply = dict[str, Any]


class Scripted(InstructorBaseRagasLLM):
    """A model whose replies are known beforehand, in the order in which the metric asks."""

    is_async = True

    def __init__(self, replies: Iterable[Reply]) -> None:
        self.replies: Iterator[Reply] = iter(replies)

    def generate(self, prompt: str, response_model: Any) -> Any:
        return response_model.model_validate(next(self.replies, None))

    async def agenerate(self, prompt: str, response_model: Any) -> Any:
        return self.generate(prompt, response_model)

    async def agenerate_text(self, prompt: Any, **_: Any) -> LLMResult:
        """The light classic metrics read a rating off free text."""
        return LLMResult(generations=[[Generation(text=str(next(self.replies)["rating"]))]])


class Vectors(BaseRagasEmbedding):
    """Embeddings that are known beforehand."""

    def __init__(self, row: Row) -> None:
        super().__init__()
        self.of = row["vectors"]

    def embed_text(self, text: str, **_: Any) -> list[float]:
        return self.of[text.strip()]

    async def aembed_text(self, text: str, **_: Any) -> list[float]:
        return self.of[text.strip()]

    def embed_query(self, text: str) -> list[float]:
        return self.of[text.strip()]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.of[text.strip()] for text in texts]


def nli(texts: list[str], verdicts: list[bool | None]) -> Reply:
    """The reply with a verdict per statement; a statement without one is left out, as a model
    leaves it out.
    """
    pairs = zip(texts, verdicts, strict=True)
    return {
        "statements": [
            {"statement": s, "reason": "so", "verdict": int(v)} for s, v in pairs if v is not None
        ]
    }


def column(edges: list[list[bool] | None], chunk: int) -> list[bool | None]:
    return [None if edge is None else edge[chunk] for edge in edges]


def for_faithfulness(row: Row) -> list[Reply]:
    return [{"statements": row["claims"]}, nli(row["claims"], any_chunk(row["claim_in_context"]))]


def for_precision(row: Row, edges: list[list[bool] | None]) -> list[Reply]:
    """One verdict per chunk: it is useful when it supports a statement. Where all of those are
    lost, so is it.
    """
    if edges and all(edge is None for edge in edges):
        return []
    return [{"reason": "so", "verdict": int(v)} for v in chunk_supports(edges, len(row["chunks"]))]


def for_recall(row: Row) -> list[Reply]:
    pairs = zip(row["statements"], any_chunk(row["statement_in_context"]), strict=True)
    return [
        {
            "classifications": [
                {"statement": s, "reason": "so", "attributed": int(v)}
                for s, v in pairs
                if v is not None
            ]
        }
    ]


def for_noise(row: Row) -> list[Reply]:
    replies: list[Reply] = [{"statements": row["statements"]}, {"statements": row["claims"]}]
    for chunk in range(len(row["chunks"])):
        replies.append(nli(row["statements"], column(row["statement_in_context"], chunk)))
        replies.append(nli(row["claims"], column(row["claim_in_context"], chunk)))
    return [*replies, nli(row["claims"], row["claim_in_reference"])]


def for_correctness(row: Row) -> list[Reply]:
    def texts(of: list[str], verdicts: list[bool | None], wanted: bool) -> list[Reply]:
        return [
            {"statement": s, "reason": "so"}
            for s, v in zip(of, verdicts, strict=True)
            if v is wanted
        ]

    judged = {
        "TP": texts(row["claims"], row["claim_in_reference"], True),
        "FP": texts(row["claims"], row["claim_in_reference"], False),
        "FN": texts(row["statements"], row["statement_in_response"], False),
    }
    return [{"statements": row["claims"]}, {"statements": row["statements"]}, judged]


def for_factual(row: Row) -> list[Reply]:
    replies: list[Reply] = [{"claims": row["claims"]}]
    if row["claims"]:
        replies.append(nli(row["claims"], row["claim_in_reference"]))
    replies.append({"claims": row["statements"]})
    if row["statements"]:
        replies.append(nli(row["statements"], row["statement_in_response"]))
    return replies


def for_dual(row: Row, name: str) -> list[Reply]:
    """A lost rating is one off the scale, however often it is asked again."""
    replies: list[Reply] = []
    for rating in row["dual"][name]:
        replies += [{"rating": rating}] if rating is not None else [{"rating": 9}] * RETRIES
    return replies


def for_reverse(row: Row) -> list[Reply]:
    pairs = list(zip(row["questions"], row["noncommittal"], strict=True))
    return [{"question": q, "noncommittal": int(n)} for q, n in pairs] or [
        {"question": "", "noncommittal": 0}
    ] * 3


def collection(metric: Any, **fields: str) -> Any:
    """The coroutine's value for a collections metric; `fields` maps its arguments to fields of the
    row.
    """
    return asyncio.run(metric.ascore(**fields)).value


def classic(metric: Any, row: Row) -> Any:
    sample = SingleTurnSample(
        user_input=row["question"],
        response=row["response"],
        reference=row["reference"],
        retrieved_contexts=contexts(row),
        retrieved_context_ids=row["ids"],
        reference_context_ids=row["relevant_ids"],
    )
    metric.init(RunConfig(max_retries=1))
    return asyncio.run(metric.single_turn_ascore(sample))


def relevancy(row: Row) -> Any:
    """The classic class counts one reply of a structured client as all of them, so its arithmetic
    is called itself.
    """
    answers = [
        _answer_relevance.ResponseRelevanceOutput.model_validate(reply)
        for reply in for_reverse(row)
    ]
    metric = _answer_relevance.ResponseRelevancy(embeddings=Vectors(row))
    return metric._calculate_score(answers, {"user_input": row["question"]})


def collections() -> dict[str, Compute]:
    def q(row: Row) -> dict[str, Any]:
        return {"user_input": row["question"]}

    def r(row: Row) -> dict[str, Any]:
        return {"response": row["response"]}

    def g(row: Row) -> dict[str, Any]:
        return {"reference": row["reference"]}

    def c(row: Row) -> dict[str, Any]:
        return {"retrieved_contexts": contexts(row)}

    def noise(mode: str) -> Compute:
        return lambda row: collection(
            new.NoiseSensitivity(llm=Scripted(for_noise(row)), mode=mode),
            **q(row),
            **r(row),
            **g(row),
            **c(row),
        )

    def factual(mode: str) -> Compute:
        return lambda row: collection(
            new.FactualCorrectness(llm=Scripted(for_factual(row)), mode=mode), **r(row), **g(row)
        )

    return {
        "Faithfulness": lambda row: collection(
            new.Faithfulness(llm=Scripted(for_faithfulness(row))), **q(row), **r(row), **c(row)
        ),
        "ContextPrecisionWithReference": lambda row: collection(
            new.ContextPrecisionWithReference(
                llm=Scripted(for_precision(row, row["statement_in_context"]))
            ),
            **q(row),
            **g(row),
            **c(row),
        ),
        "ContextPrecisionWithoutReference": lambda row: collection(
            new.ContextPrecisionWithoutReference(
                llm=Scripted(for_precision(row, row["claim_in_context"]))
            ),
            **q(row),
            **r(row),
            **c(row),
        ),
        "ContextRecall": lambda row: collection(
            new.ContextRecall(llm=Scripted(for_recall(row))), **q(row), **g(row), **c(row)
        ),
        "NoiseSensitivity(relevant)": noise("relevant"),
        "NoiseSensitivity(irrelevant)": noise("irrelevant"),
        "AnswerCorrectness": lambda row: collection(
            new.AnswerCorrectness(llm=Scripted(for_correctness(row)), embeddings=Vectors(row)),
            **q(row),
            **r(row),
            **g(row),
        ),
        "AnswerCorrectness(weights=[1, 0])": lambda row: collection(
            new.AnswerCorrectness(llm=Scripted(for_correctness(row)), weights=[1.0, 0.0]),
            **q(row),
            **r(row),
            **g(row),
        ),
        "FactualCorrectness(f1)": factual("f1"),
        "FactualCorrectness(precision)": factual("precision"),
        "FactualCorrectness(recall)": factual("recall"),
        "AnswerRelevancy": lambda row: collection(
            new.AnswerRelevancy(llm=Scripted(for_reverse(row)), embeddings=Vectors(row)),
            **q(row),
            **r(row),
        ),
        "ContextEntityRecall": lambda row: collection(
            new.ContextEntityRecall(
                llm=Scripted({"entities": row["entities"][of]} for of in ("reference", "contexts"))
            ),
            **g(row),
            **c(row),
        ),
        "ResponseGroundedness": lambda row: collection(
            new.ResponseGroundedness(llm=Scripted(for_dual(row, "response_groundedness"))),
            **r(row),
            **c(row),
        ),
        "ContextRelevance": lambda row: collection(
            new.ContextRelevance(llm=Scripted(for_dual(row, "context_relevance"))),
            **q(row),
            **c(row),
        ),
        "AnswerAccuracy": lambda row: collection(
            new.AnswerAccuracy(llm=Scripted(for_dual(row, "answer_accuracy"))),
            **q(row),
            **r(row),
            **g(row),
        ),
    }


def classics() -> dict[str, Compute]:
    def noise(mode: str) -> Compute:
        return lambda row: classic(
            _noise_sensitivity.NoiseSensitivity(llm=Scripted(for_noise(row)), mode=mode), row
        )

    return {
        "classic Faithfulness": lambda row: classic(
            _faithfulness.Faithfulness(llm=Scripted(for_faithfulness(row))), row
        ),
        "classic LLMContextPrecisionWithReference": lambda row: classic(
            _context_precision.LLMContextPrecisionWithReference(
                llm=Scripted(for_precision(row, row["statement_in_context"]))
            ),
            row,
        ),
        "classic LLMContextPrecisionWithoutReference": lambda row: classic(
            _context_precision.LLMContextPrecisionWithoutReference(
                llm=Scripted(for_precision(row, row["claim_in_context"]))
            ),
            row,
        ),
        "classic LLMContextRecall": lambda row: classic(
            _context_recall.LLMContextRecall(llm=Scripted(for_recall(row))), row
        ),
        "classic NoiseSensitivity(relevant)": noise("relevant"),
        "classic NoiseSensitivity(irrelevant)": noise("irrelevant"),
        "classic AnswerCorrectness": lambda row: classic(
            _answer_correctness.AnswerCorrectness(
                llm=Scripted(for_correctness(row)), embeddings=Vectors(row)
            ),
            row,
        ),
        "classic ResponseRelevancy": relevancy,
        "classic ContextEntityRecall": lambda row: classic(
            _context_entities_recall.ContextEntityRecall(
                llm=Scripted({"entities": row["entities"][of]} for of in ("reference", "contexts"))
            ),
            row,
        ),
        "classic ResponseGroundedness": lambda row: classic(
            _nv_metrics.ResponseGroundedness(llm=Scripted(for_dual(row, "response_groundedness"))),
            row,
        ),
        "classic ContextRelevance": lambda row: classic(
            _nv_metrics.ContextRelevance(llm=Scripted(for_dual(row, "context_relevance"))), row
        ),
        "classic AnswerAccuracy": lambda row: classic(
            _nv_metrics.AnswerAccuracy(llm=Scripted(for_dual(row, "answer_accuracy"))), row
        ),
        "IDBasedContextPrecision": lambda row: classic(
            _context_precision.IDBasedContextPrecision(), row
        ),
        "IDBasedContextRecall": lambda row: classic(_context_recall.IDBasedContextRecall(), row),
    }


if __name__ == "__main__":
    run("ragas", {**collections(), **classics()})
