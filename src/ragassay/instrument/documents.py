"""Retrieved documents in the forms of the frameworks, as contexts: text, id and score.

Read are texts, mappings, and objects with attributes: `Context`, LangChain's documents (also in
pairs with a score), LlamaIndex' nodes, Haystack's documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ragassay.core.sample import Context
from ragassay.datasets.names import HIT_WRAPPERS, TEXT_KEYS
from ragassay.datasets.outputs import contexts_in, part
from ragassay.instrument.spans import LOGGER

TextOf = Callable[[Any], str]
"""The text of a document, by its id."""


class Textless(NamedTuple):
    """What is known of a document that has no text, or cannot be read."""

    id: str | None
    score: float | None


_UNKNOWN = Textless(None, None)

_IDS = ("id", "doc_id", "document_id", "doc_uri", "node_id", "id_", "uri", "source")
_INNER = ("node", "document")
# Where the answers of search engines and vector stores have a document that is none itself.
_HITS = tuple([name for name in HIT_WRAPPERS if name not in _INNER])
_SCORES = ("score", "similarity", "relevance_score")


UNREADABLE = Context("")
"""The context of a document whose text cannot be read."""


def listed(returned: object) -> Sequence[Any] | None:
    """The documents that a retriever returned, as they are; None where it returned none that are
    known.
    """
    if isinstance(returned, list | tuple):
        return returned
    if returned is None or isinstance(returned, str | bytes):
        return None
    found = contexts_in(returned)
    if isinstance(found, list | tuple):
        return found
    # A mapping's keys and a file's lines are no documents; sets have no order.
    if isinstance(returned, Mapping) or not isinstance(returned, Sequence):
        return None
    return returned


def as_context(document: object) -> Context | None:
    """One document as a context; None where it has no text."""
    if isinstance(document, str):
        return Context(document)
    if isinstance(document, Context):
        return document
    score: object = None
    if isinstance(document, tuple) and len(document) == 2:
        document, score = document  # similarity_search_with_score
        if isinstance(document, str):
            return Context(document, None, _number(score))
    inner = _first(document, _INNER)
    holder = document if inner is None or isinstance(inner, str) else inner
    text = _first(holder, TEXT_KEYS)
    if text is None:
        text = _first(_first(document, (*_HITS, "metadata")), TEXT_KEYS)
    if not isinstance(text, str):
        return None
    own_id = _first(holder, _IDS)
    if own_id is None:
        own_id = part(part(holder, ("metadata", "meta")), _IDS)
    if score is None:
        score = _first(document, _SCORES)
    return Context(text, None if own_id is None else str(own_id)[:1000], _number(score))


def _first(holder: object, names: Sequence[str]) -> Any:
    """`part`, with the short way for a plain dict: a span is to cost microseconds."""
    if type(holder) is not dict:
        return part(holder, names)
    for name in names:
        value = holder.get(name)
        if value is not None:
            return value
    return None


def readable(document: object) -> Context:
    """The document as a context; UNREADABLE where it has no text, or cannot be read at all."""
    try:
        return as_context(document) or UNREADABLE
    except Exception:  # whatever an object of a framework raises when it is looked at
        return UNREADABLE


def as_contexts(documents: Iterable[object]) -> tuple[Context, ...]:
    """Those of the documents that have a text, in their order."""
    contexts = [as_context(document) for document in documents]
    return tuple([context for context in contexts if context is not None])


def as_traced(document: object, text_of: TextOf | None = None) -> Context | Textless:
    """One document as it is written to a span. One without a text keeps its place: a list that
    lacked it would look whole, and the answer would be blamed for what it was told by it.

    text_of: for ids alone, in pairs with a score, or in objects without a text.
    """
    known = _UNKNOWN
    try:
        context = as_context(document) if text_of is None else _with_own_text(document)
        if context is not None:
            return context
        own_id, score = _id_and_score(document)
        known = Textless(None if own_id is None else str(own_id)[:1000], _number(score))
        text = None if text_of is None or own_id is None else text_of(own_id)
        if isinstance(text, str):
            return Context(text, *known)
    except Exception:
        # Whatever an object of a framework raises when it is looked at, or `text_of`.
        LOGGER.debug("a document has no text", exc_info=True)
    return known


def _is_id(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _with_own_text(document: object) -> Context | None:
    if _is_id(document):
        return None
    if isinstance(document, tuple) and len(document) == 2 and _is_id(document[0]):
        return None
    context = as_context(document)
    return context if context is not None and context.text else None


def _id_and_score(document: object) -> tuple[Any, object]:
    if _is_id(document):
        return document, None
    if isinstance(document, tuple) and len(document) == 2:
        own_id, score = document
        return (own_id if _is_id(own_id) else _first(own_id, _IDS)), score
    return _first(document, _IDS), _first(document, _SCORES)


def _number(value: object) -> float | None:
    if value is None or isinstance(value, bool):
        return None
    try:
        # NumPy's numbers, which vector stores return.
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
