"""What does RagAssay make of the verdicts? Its own metric flows, answered by hand from the rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypedDict

from benchmarks.parity.rows import Row, contexts

from ragassay.core import Context, Evidence, Judgment, Request, Sample, Score, Status
from ragassay.metrics import parse


class Number(TypedDict, total=False):
    """A value with what was measured of it, or why there is none."""

    value: float
    absent: str
    asked: int
    judged: int
    verdict: str


def sample_of(row: Row) -> Sample:
    """The row as the Sample that a user would hand over."""
    return Sample(
        row["id"],
        question=row["question"],
        response=row["response"],
        reference=row["reference"],
        contexts=tuple(
            Context(text, id_) for text, id_ in zip(contexts(row), row["ids"], strict=True)
        ),
        relevant_ids=dict.fromkeys(row["relevant_ids"], 1.0),
    )


def measure(expression: str, row: Row) -> Number:
    """The Score of one metric on one row, in short."""
    score = play(expression, row)
    counts = score.counts
    number: Number = {
        "asked": counts.asked,
        "judged": counts.judged,
        "verdict": "" if score.verdict is None else str(score.verdict),
    }
    if score.value is None:
        number["absent"] = f"{score.status}: {score.reason}"
    else:
        number["value"] = score.value
    return number


def play(expression: str, row: Row) -> Score:
    """Drive the flow of a metric with the row's verdicts until it returns its Score."""
    judge, flow = Judge(row), parse(expression).flow(sample_of(row))
    try:
        requests = next(flow)
        while True:
            requests = flow.send(tuple(judge.answer(request) for request in requests))
    except StopIteration as done:
        score: Score = done.value
        return score


class Judge:
    """Answers every Request from the row; what the row has no verdict for is unparsed, as a lost
    reply is.
    """

    def __init__(self, row: Row) -> None:
        self.row = row
        self.supported = dict(zip(row["claims"], row["claim_in_context"], strict=True))
        self.supported |= dict(zip(row["statements"], row["statement_in_context"], strict=True))
        self.stated = dict(zip(row["claims"], row["claim_in_reference"], strict=True))
        self.stated |= dict(zip(row["statements"], row["statement_in_response"], strict=True))
        self.chunk_of = {text: i for i, text in enumerate(contexts(row))}

    def answer(self, request: Request) -> Judgment:
        """The Judgment of one Request."""
        kinds: dict[str, Callable[[Request], Judgment]] = {
            "groundedness": self.groundedness,
            "entailment": self.entailment,
            "context_relevance": self.relevance,
            "sentence_relevance": self.sentences,
            "questions": self.questions,
            "entities": self.entities,
            "similarity": self.similarity,
            "answer_relevance": self.answers,
        }
        if request.rubric in kinds:
            return kinds[request.rubric](request)
        name, _, number = request.rubric.rpartition("_dual_")
        top = 4 if name == "answer_accuracy" else 2
        rating = self.row["dual"][name][int(number) - 1]
        return _lost(request) if rating is None else _rated(request, rating, rating / top)

    def groundedness(self, request: Request) -> Judgment:
        edges = self.supported[request.text("claim")]
        if edges is None:
            return _lost(request)
        sources = tuple(chunk for chunk, holds in enumerate(edges) if holds)
        return _rated(request, 3 if sources else 0, 1.0 if sources else 0.0, sources=sources)

    def entailment(self, request: Request) -> Judgment:
        stated = self.stated[request.text("claim")]
        return (
            _lost(request)
            if stated is None
            else _rated(request, "stated" if stated else "not_stated", float(stated))
        )

    def relevance(self, request: Request) -> Judgment:
        useful = self.row["chunk_useful"][self.chunk_of[request.text("context")]]
        return (
            _lost(request) if useful is None else _rated(request, 3 if useful else 0, float(useful))
        )

    def answers(self, request: Request) -> Judgment:
        """Asked where nothing was retrieved, to see whether the response admits it; it never does
        here.
        """
        return _rated(request, 3, 1.0)

    def sentences(self, request: Request) -> Judgment:
        text = request.text("context")
        chunk = self.chunk_of[text]
        wanted = zip(self.row["chunks"][chunk], self.row["sentence_relevant"][chunk], strict=True)
        quotes = [sentence for sentence, relevant in wanted if relevant]
        found = tuple(Evidence(0, text.index(q), text.index(q) + len(q), q) for q in quotes)
        return Judgment(request.key, "parity", request.rubric, Status.JUDGED, evidence=found)

    def questions(self, request: Request) -> Judgment:
        if not self.row["questions"]:
            return _lost(request)
        flags = ("noncommittal",) if all(self.row["noncommittal"]) else ()
        return Judgment(
            request.key,
            "parity",
            request.rubric,
            Status.JUDGED,
            texts=tuple(self.row["questions"]),
            flags=flags,
        )

    def entities(self, request: Request) -> Judgment:
        of = "reference" if request.text("text") == self.row["reference"] else "contexts"
        return Judgment(
            request.key,
            "parity",
            request.rubric,
            Status.JUDGED,
            texts=tuple(self.row["entities"][of]),
        )

    def similarity(self, request: Request) -> Judgment:
        a, b = (self.row["vectors"][request.text(name)] for name in ("text", "other"))
        cosine = _dot(a, b) / math.sqrt(_dot(a, a) * _dot(b, b))
        return Judgment(
            request.key, "parity", request.rubric, Status.JUDGED, value=min(1.0, max(0.0, cosine))
        )


def _dot(a: list[float], b: list[float]) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def _rated(
    request: Request, rating: float | str, value: float, *, sources: tuple[int, ...] | None = None
) -> Judgment:
    return Judgment(
        request.key,
        "parity",
        request.rubric,
        Status.JUDGED,
        rating,
        value,
        passes=value >= 0.5,
        sources=sources,
    )


def _lost(request: Request) -> Judgment:
    return Judgment(
        request.key, "parity", request.rubric, Status.UNPARSED, reason="no verdict in the reply"
    )
