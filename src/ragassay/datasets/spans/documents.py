"""What a turn retrieved: documents of retrievals, results of tools, variables of prompts.

They are tried in this order. What none of them says is not known, and never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragassay.datasets.names import TEXT_KEYS
from ragassay.datasets.outputs import (
    contexts_in,
    documents_written,
    messages_in,
    part,
    text_of,
    unwrapped,
)
from ragassay.datasets.spans import names
from ragassay.datasets.spans.calls import asked_in_call, is_call
from ragassay.datasets.spans.messages import tool_results_in, variables
from ragassay.datasets.spans.reranking import retrievals_of
from ragassay.datasets.spans.retriever import documents_inside, documents_of, has_text
from ragassay.datasets.spans.span import Span
from ragassay.datasets.spans.tree import around, everything, outermost

_DEEPEST_RESULT = 4
_NO_DOCUMENTS = ("LLM", "EMBEDDING", "TOOL")
"""Kinds of spans whose outputs are read elsewhere, or are no documents."""


@dataclass(frozen=True, slots=True)
class Retrieval:
    """One retrieval. query: what was searched for, None where it is not recorded. documents: what
    came back, None where that is not recorded. source: where the documents were read. error: what
    it failed with, where it gave nothing.
    """

    query: str | None
    documents: tuple[Any, ...] | None
    source: str
    error: str | None = None

    @property
    def is_failed(self) -> bool:
        """Whether it gave nothing, because it failed."""
        return self.error is not None


@dataclass(frozen=True, slots=True)
class Found:
    """The contexts of a turn. documents: in order, each once; None where they are not known.
    source: where they were read; missing: why they are not known.
    """

    documents: list[Any] | None
    source: str = ""
    missing: str = ""
    retrievals: tuple[Retrieval, ...] = ()


def contexts_of(spans: Sequence[Span]) -> Found:
    """What the retrievals of a turn found, from the outer ones of them. Its spans as a forest."""
    given, is_known = retrievals_of(spans)
    retrievals = tuple(_retrieval(span) for span in given)
    told = [each for each in retrievals if not each.is_failed]
    if is_known and told and all(each.documents is not None for each in told):
        return Found(_union(told), _source(retrievals), retrievals=retrievals)
    tools = [] if told else _results_of_tools(spans)
    if tools:
        return Found(_union(tools), _source(tools), retrievals=(*retrievals, *tools))
    results = _results_told(spans)
    if results:
        return Found(_union(results), _source(results), retrievals=retrievals or tuple(results))
    filled, name = _context_variables(spans)
    if filled:
        return Found(filled, f"the prompt's variable {name}", retrievals=retrievals)
    missing = "no texts" if is_known else "no reranked"
    if not told:
        missing = "failed" if retrievals else "no retrieval"
    return Found(None, missing=missing, retrievals=retrievals)


def unread_outputs(spans: Sequence[Span]) -> dict[str, object]:
    """Name of a span -> what it gave, of those that nobody calls a retrieval and that gave
    documents or texts: they are offered as contexts and never read unasked. Of spans of one name
    the last.
    """
    outputs: dict[str, object] = {}
    for span in everything(spans):
        output = None if span.kind in _NO_DOCUMENTS else _output_with_texts(span)
        if span.name and output is not None:
            outputs[span.name] = output
    return outputs


def _output_with_texts(span: Span) -> object:
    """The documents, the texts or the text that a span gave; None where it gave something else."""
    output = span.value(names.OUTPUTS)
    if isinstance(output, str):
        # What the root says is the response.
        return output if span.holder is not None and output.strip() else None
    is_plain_list = isinstance(output, list) and not messages_in(output)
    documents = output if is_plain_list else contexts_in(output)
    if isinstance(documents, str):
        return documents or None
    if not isinstance(documents, list) or not documents:
        return None
    return documents if all(has_text(each) or isinstance(each, str) for each in documents) else None


def _retrieval(span: Span) -> Retrieval:
    query = _query(span)
    documents = documents_of(span)
    if documents is None:
        # Retrievers inside may say what the one around them does not.
        documents = documents_inside(span)
    if documents is not None and all(map(has_text, documents)):
        return Retrieval(query, tuple(documents), "documents")
    for holder in around(span):
        if holder.kind == "TOOL":
            result = _tool_result(holder)
            if result is not None:
                return Retrieval(query, tuple(result), "result of the tool")
            break
    return Retrieval(query, None, "", span.error if documents is None else None)


def _query(span: Span) -> str | None:
    value = span.value(names.QUERIES)
    if value is None:
        value = span.value(names.INPUTS)
    if is_call(value):
        return asked_in_call(value)
    if isinstance(value, dict):
        value = part(value, ("query", "query_str", "input", "question"))
    return value if isinstance(value, str) and value else None


def _results_of_tools(spans: Sequence[Span]) -> list[Retrieval]:
    """What the tools gave in a turn in which nothing else was retrieved. A tool that asks a model
    gives an answer and no evidence.
    """
    results: list[Retrieval] = []
    for span in outermost(spans, _is_plain_tool):
        documents = _tool_result(span)
        if documents:
            results.append(Retrieval(None, tuple(documents), "result of the tool"))
    return results


def _is_plain_tool(span: Span) -> bool:
    if span.kind != "TOOL" or span.error is not None:
        return False
    return not any(inner.kind in ("LLM", "AGENT") for inner in everything(span.children))


def _results_told(spans: Sequence[Span]) -> list[Retrieval]:
    """What tools gave, as the last call of a model was told it."""
    models = [span for span in everything(spans) if span.kind == "LLM"]
    results: list[Retrieval] = []
    for said in tool_results_in(models[-1]) if models else ():
        documents = _documents_of_result(said)
        if documents:
            results.append(Retrieval(None, tuple(documents), "result of the tool"))
    return results


def _tool_result(span: Span) -> list[Any] | None:
    """The documents or the text that a tool gave; None where it is not recorded."""
    result = span.value(names.TOOL_RESULTS)
    return _documents_of_result(span.value(names.OUTPUTS) if result is None else result)


def _documents_of_result(result: Any) -> list[Any] | None:
    for _ in range(_DEEPEST_RESULT):
        if isinstance(result, str):
            return documents_written(result) or ([result] if result.strip() else None)
        if isinstance(result, list):
            fitting = result and all(has_text(each) or isinstance(each, str) for each in result)
            return result if fitting else None
        listed = contexts_in(result)
        if isinstance(listed, list) and listed:
            result = listed
            continue
        inner = part(result, ("output", "data", "result", "results"))
        if inner is None:
            text = text_of(unwrapped(result))
            return (documents_written(text) or [text]) if text else None
        result = inner
    return None


def _context_variables(spans: Sequence[Span]) -> tuple[list[Any], str]:
    """The texts that stood for what was retrieved in the prompts of the turn, and the variable's
    name.
    """
    texts: list[Any] = []
    read = ""
    for span in everything(spans):
        for name, text in variables(span).items():
            if name in names.CONTEXT_VARIABLES and text not in texts:
                texts.append(text)
                read = name
    return texts, read


def _union(retrievals: Sequence[Retrieval]) -> list[Any]:
    """The documents of all of them in order, each once."""
    found: list[Any] = []
    seen: set[tuple[object, object]] = set()
    for retrieval in retrievals:
        for document in retrieval.documents or ():
            key = _identity(document)
            if key not in seen:
                seen.add(key)
                found.append(document)
    return found


def _identity(document: object) -> tuple[object, object]:
    if not isinstance(document, Mapping):
        return "", str(document)
    own = part(document, names.DOCUMENT_IDS)
    return str(own), part(document, TEXT_KEYS)


def _source(retrievals: Sequence[Retrieval]) -> str:
    told = [each for each in retrievals if not each.is_failed]
    failed = len(retrievals) - len(told)
    beside = f", {failed} more failed" if failed else ""
    if all(each.source == "documents" for each in told):
        return f"documents of {_counted(len(told), 'retrieval')}{beside}"
    return f"results of {_counted(len(told), 'tool call')}{beside}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
