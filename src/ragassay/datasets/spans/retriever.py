"""The documents that one span of a retriever or a reranker says."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import Any

from ragassay.datasets.names import TEXT_KEYS
from ragassay.datasets.outputs import contexts_in, part
from ragassay.datasets.spans import names
from ragassay.datasets.spans.span import Span
from ragassay.datasets.spans.tree import around, outermost

_GIVEN = re.compile(r"(?:retrieval|reranker)\.(?:output_)?documents\.(\d{1,5})\.(.+)")
_RERANKED = re.compile(r"reranker\.input_documents\.(\d{1,5})\.(.+)")


def documents_of(span: Span) -> list[Any] | None:
    """The documents that a retriever gave: its output, where that holds their texts (it has the
    ids, too), else its attributes; None where it says nothing.
    """
    output = span.value(names.OUTPUTS)
    documents = output if isinstance(output, list) else contexts_in(output)
    if isinstance(documents, list) and documents and all(map(has_text, documents)):
        return documents
    listed = _listed(span, _GIVEN, names.DOCUMENT_LISTS)
    if listed is not None:
        return listed
    # Nothing was found: OpenInference leaves the attribute out, and the output says so.
    return [] if documents == [] else None


def reranked_by(span: Span) -> list[Any] | None:
    """The documents that a reranker was given; None where it does not say."""
    return _listed(span, _RERANKED, (names.RERANKED,))


def _listed(span: Span, numbered: re.Pattern[str], keys: tuple[str, ...]) -> list[Any] | None:
    """The documents whose fields are attributes of their own, else those of a list."""
    by_place: dict[int, dict[str, Any]] = {}
    for name, value in span.attributes.items():
        match = numbered.fullmatch(name)
        if match:
            by_place.setdefault(int(match[1]), {})[match[2]] = value
    if by_place:
        return [by_place[place] for place in sorted(by_place)]
    listed = span.value(keys)
    return listed if isinstance(listed, list) else None


def documents_inside(span: Span) -> list[Any] | None:
    """The documents of the retrievals in one that says none itself; None where one of them does
    not say them either: the others alone would be shown as the whole.
    """
    telling = outermost(span.children, lambda each: _retrieves(each) and _says(each))
    holders: set[Span] = set()
    for each in telling:
        # What is around one that was seen was seen with it.
        holders.update(takewhile(lambda holder: holder not in holders, around(each)))
    inner = outermost(span.children, lambda each: _retrieves(each) and each not in holders)
    found: list[Any] = []
    is_told = False
    for each in inner:
        documents = documents_of(each)
        if documents is None and each.error is not None:
            continue  # it failed, and gave nothing
        if documents is None:
            return None
        is_told = True
        found += documents
    return found if is_told else None


def _retrieves(span: Span) -> bool:
    return span.kind == "RETRIEVER"


def _says(span: Span) -> bool:
    return documents_of(span) is not None


def has_text(document: object) -> bool:
    """Whether a document holds its text, and not only its id."""
    if not isinstance(document, dict):
        return False
    text = part(document, TEXT_KEYS)
    return isinstance(text, str) and text != names.HIDDEN
