"""The reader of files with a document a record: JSONL, JSON, CSV, TSV, and BEIR's corpus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ragassay.core import RagAssayError, shorten
from ragassay.datasets import open_records
from ragassay.datasets.columns import normal
from ragassay.datasets.names import TEXT_KEYS
from ragassay.testsets.values import Document, Skipped

_ENDINGS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv")
RECORD_ENDINGS = (*_ENDINGS, *(f"{ending}.gz" for ending in _ENDINGS))
"""The endings of files that hold a document a record."""

_IDS = ("id", "_id")
_DOCUMENT_IDS = ("doc_id", "document_id", "docid")
_CHUNK_IDS = ("chunk_id", "passage_id")
_SOURCES = ("url", "source")
"""Columns whose values name a document, of which several records may be chunks."""
_TEXTS = (*TEXT_KEYS, "contents", "document_text", "abstract")
_TITLES = ("title", "heading", "name")


def read_records(path: Path, skipped: list[Skipped], name: str = "") -> Iterator[Document]:
    """The records of a file as documents that are left as they are (the user's own chunks), one at
    a time. name: of the file in its folder, for records without an id. skipped: grows by records
    without a text.
    """
    try:
        records = open_records(path)
        for line, _, row in records:
            document = _document(row, f"{name or path.name}#{line}")
            if document is None:
                skipped.append(Skipped(records.where(line), f"no text in {_columns(row)}"))
            else:
                yield document
        for what, count in records.bad.items():
            skipped.append(Skipped(path.name, f"{count} records: {what}"))
    except RagAssayError as error:
        skipped.append(Skipped(path.name, f"{error.code}: {error.what}"))


def _document(row: Mapping[str, Any], place: str) -> Document | None:
    named = {normal(str(name)): value for name, value in row.items()}
    text = _first(named, _TEXTS)
    if not text.strip():
        return None
    title = _first(named, _TITLES)
    for ids, is_part in ((_IDS, False), (_DOCUMENT_IDS, True), (_CHUNK_IDS, False)):
        if own := _first(named, ids):
            return Document(own, text, title, is_chunk=True, is_part=is_part)
    source = _first(named, _SOURCES)
    return Document(source or place, text, title, is_chunk=True, is_part=bool(source))


def _first(named: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """The first of these cells that holds a text or a number, as a text."""
    for name in names:
        value = named.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return str(value)
    return ""


def _columns(row: Mapping[str, Any]) -> str:
    return shorten(", ".join(map(str, row)), 60)
