"""The documents of a test set: a file, a folder of files, or a folder in BEIR's form, read one at
a time.

What cannot be read is named and left out: one bad file does not end the reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from ragassay.core import DataError, SetupError
from ragassay.testsets.documents.files import READ_AS_TEXT, read_file
from ragassay.testsets.documents.records import RECORD_ENDINGS, read_records
from ragassay.testsets.values import Document, Skipped

__all__ = ["read_documents"]

_CORPUS = ("corpus.jsonl", "corpus.jsonl.gz")


def read_documents(source: object, skipped: list[Skipped]) -> Iterator[Document]:
    """The documents of a path, or Documents as they are.

    A folder is read with what is below it, in the order of names; with a corpus.jsonl in it, it is
    BEIR's, and that file alone is read. skipped: grows by what could not be read. Raises DataError
    E0801 where there is no such path, SetupError E0416 where a path names one file and the library
    for its kind is not installed; in a folder such a file is left out, with what to install.
    """
    if not isinstance(source, str | Path):
        yield from _in_memory(source, skipped)
        return
    path = Path(source)
    if not path.exists():
        raise DataError(
            "E0801",
            "There are no documents at this path.",
            where=str(path),
            fix="name a folder, or a file of Markdown, text, HTML, PDF, JSONL or CSV",
        )
    if path.is_file():
        yield from _read(path, path.name, skipped)
        return
    corpus = next((path / name for name in _CORPUS if (path / name).is_file()), None)
    if corpus is not None:
        yield from read_records(corpus, skipped)
        return
    for file in sorted(path.rglob("*")):
        name = file.relative_to(path)
        is_hidden = any(part.startswith(".") for part in name.parts)
        if not file.is_file() or is_hidden:
            continue
        try:
            yield from _read(file, name.as_posix(), skipped)
        except SetupError as error:
            skipped.append(Skipped(name.as_posix(), f"{error.what} To read it: {error.fix}"))


def _read(path: Path, name: str, skipped: list[Skipped]) -> Iterator[Document]:
    lower = path.name.lower()
    if lower.endswith(RECORD_ENDINGS):
        yield from read_records(path, skipped, name)
        return
    if path.suffix.lower() not in READ_AS_TEXT:
        skipped.append(Skipped(name, f"files of this kind ({path.suffix or 'no ending'})"))
        return
    try:
        document = read_file(path, name)
    except (OSError, ValueError) as error:
        skipped.append(Skipped(name, str(error)))
        return
    yield document


def _in_memory(source: object, skipped: list[Skipped]) -> Iterator[Document]:
    if not isinstance(source, Iterable):
        raise DataError(
            "E0801",
            "These are no documents.",
            why=type(source).__name__,
            fix="give a path, or a list of texts or of objects with `id` and `text`",
        )
    for number, item in enumerate(source, 1):
        if isinstance(item, Document):
            yield item
        elif isinstance(item, str) and item.strip():
            yield Document(f"document-{number}", item)
        elif isinstance(item, dict) and str(item.get("text") or "").strip():
            name = str(item.get("id") or f"document-{number}")
            yield Document(name, str(item["text"]), str(item.get("title") or ""), True)
        else:
            skipped.append(Skipped(f"document {number}", "no text"))
