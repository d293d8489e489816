"""Which retrievals of a turn a reranker stands for: those whose documents it was given.

A reranker says what it left of them, and that is what the model was given. A retrieval that it had
nothing to do with is beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ragassay.datasets.names import TEXT_KEYS
from ragassay.datasets.outputs import part
from ragassay.datasets.spans import names
from ragassay.datasets.spans.retriever import documents_inside, documents_of, reranked_by
from ragassay.datasets.spans.span import Span
from ragassay.datasets.spans.tree import everything, outermost


def retrievals_of(spans: Sequence[Span]) -> tuple[list[Span], bool]:
    """The spans whose documents the model was given: of retrievals that are not inside another one,
    and of rerankers in place of those that they were given. False beside them where it is not known
    which those were: then these are all retrievals.
    """
    rerankers = list(outermost(spans, lambda span: span.kind == "RERANKER" and _says(span)))
    retrievers = list(outermost(spans, lambda span: span.kind == "RETRIEVER"))
    if not rerankers:
        return retrievers, True
    reranking = _reranking(rerankers, retrievers)
    given = {*rerankers}
    for retriever in retrievers:
        is_reranked = _is_reranked(retriever, reranking)
        if is_reranked is None:
            return retrievers, False
        if not is_reranked:
            given.add(retriever)
    return [span for span in everything(spans) if span in given], True


def _says(span: Span) -> bool:
    return documents_of(span) is not None


@dataclass(frozen=True, slots=True)
class _Reranking:
    """What the rerankers of a turn say. inside: the spans in them. marks: of the documents that
    they were given and left. start: of the last of them. names_inputs: whether all of them say what
    they were given. queries: what they ranked for, where that is what a retrieval had searched for;
    empty where one of them ranked for something else.
    """

    inside: set[Span]
    marks: set[str]
    start: int
    names_inputs: bool
    queries: set[str]


def _reranking(rerankers: Sequence[Span], retrievers: Sequence[Span]) -> _Reranking:
    marks: set[str] = set()
    names_inputs = True
    for reranker in rerankers:
        given = reranked_by(reranker)
        names_inputs = names_inputs and given is not None
        marks |= _marks([*(given or ()), *(documents_of(reranker) or ())])
    searched = {query for query in map(_query, retrievers) if query is not None}
    ranked = {str(reranker.value((names.RERANKER_QUERY,))) for reranker in rerankers}
    return _Reranking(
        set(everything(rerankers)),
        marks,
        max(reranker.start for reranker in rerankers),
        names_inputs,
        ranked if ranked <= searched else set(),
    )


def _is_reranked(retriever: Span, reranking: _Reranking) -> bool | None:
    """Whether what a retrieval found went through a reranker; None where that is not known."""
    found = documents_of(retriever)
    if found is None:
        found = documents_inside(retriever)
    is_earlier = retriever.start < reranking.start
    if retriever in reranking.inside:
        return True
    if found is None:
        return is_earlier and retriever.error is None
    # A retrieval that found nothing changes nothing, wherever it belongs.
    if not found or not reranking.marks.isdisjoint(_marks(found)):
        return True
    if not is_earlier or reranking.names_inputs:
        return False
    # They ranked for what another retrieval had searched for, and may all the same have been given
    # the documents of this one, and left none of them.
    is_for_another = reranking.queries and _query(retriever) not in reranking.queries
    return None if is_for_another else True


def _query(retriever: Span) -> str | None:
    query = retriever.value((*names.QUERIES, *names.INPUTS))
    return query if isinstance(query, str) else None


def _marks(documents: Sequence[Any]) -> set[str]:
    """What documents are known by: their texts, or their ids where they have none."""
    marks: set[str] = set()
    for document in documents:
        if isinstance(document, dict):
            mark = part(document, TEXT_KEYS) or part(document, names.DOCUMENT_IDS)
            marks.add(str(mark))
    return marks
