"""The corpus: the passages of all documents, an index of their words, clusters of documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ragassay.core import NothingToDo, digest
from ragassay.testsets.chunks import WORDS, chunks, count_words
from ragassay.testsets.clusters import clusters
from ragassay.testsets.documents import read_documents
from ragassay.testsets.search import WordSearch
from ragassay.testsets.values import Document, Passage, Skipped

_LEAST_WORDS = 8
"""Of a document: shorter ones say nothing that can be asked for."""

_GAP = 2
"""Characters between two chunks of a document, as between paragraphs."""


@dataclass
class Corpus:
    """Passages in the order of the documents.

    skipped: what could not be read. documents: ids in order; first: of each document, its first
    passage. repeated: documents whose text another one has, too.
    """

    passages: list[Passage] = field(default_factory=list)
    documents: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    repeated: int = 0
    seed: int = 0

    @cached_property
    def search(self) -> WordSearch:
        """The index of the passages, with their titles."""
        return WordSearch(f"{passage.title} {passage.text}" for passage in self.passages)

    @cached_property
    def topics(self) -> list[int]:
        """The cluster of each document."""
        owners = [self.numbers[passage.document] for passage in self.passages]
        return clusters(self.search, owners, len(self.documents), self.seed)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Document id -> its place among the documents."""
        return {name: number for number, name in enumerate(self.documents)}

    def topic(self, document: str) -> str:
        """The name of a document's cluster."""
        return f"topic {self.topics[self.numbers[document]] + 1}"

    def of_document(self, number: int) -> list[Passage]:
        """The passages of a document."""
        last = len(self.passages)
        if number + 1 < len(self.first):
            last = self.first[number + 1]
        return self.passages[self.first[number] : last]

    def text_of(self, document: str) -> str:
        """The text of a document as far as its passages hold it, each at its place."""
        text = ""
        for passage in self.of_document(self.numbers[document]):
            text = text.ljust(passage.start) + passage.text
        return text

    @cached_property
    def digests(self) -> dict[str, str]:
        """Document id -> a short hash of its text."""
        found = {}
        for number, name in enumerate(self.documents):
            pieces = [(passage.start, passage.text) for passage in self.of_document(number)]
            found[name] = digest(pieces)[:12]
        return found

    def sizes(self) -> Sequence[int]:
        """Words of each passage."""
        return [count_words(passage.text) for passage in self.passages]


def read_corpus(source: object, *, words: int = WORDS, seed: int = 0) -> Corpus:
    """Read documents and cut them. Raises DataError E0801 and NothingToDo E0802 (no document with
    text).
    """
    corpus = Corpus(seed=seed)
    seen: set[int] = set()
    ids: dict[str, int] = {}
    for document in read_documents(source, corpus.skipped):
        _add(corpus, document, words, seen, ids)
    if not corpus.passages:
        why = "; ".join(f"{skip.where}: {skip.why}" for skip in corpus.skipped[:3])
        more = len(corpus.skipped) - 3
        raise NothingToDo(
            "E0802",
            "There is no document with text to make questions from.",
            where=str(source) if not isinstance(source, list) else "",
            why=why + (f"; and {more} more" if more > 0 else ""),
            fix="name a folder, or a file of Markdown, text, HTML, PDF, JSONL or CSV",
        )
    return corpus


def _add(
    corpus: Corpus, document: Document, words: int, seen: set[int], ids: dict[str, int]
) -> None:
    """Add a document's passages; one that says nothing, or the same as another, is named."""
    if count_words(document.text) < _LEAST_WORDS:
        corpus.skipped.append(Skipped(document.id, f"fewer than {_LEAST_WORDS} words"))
        return
    # A hash of the process is enough: it is compared with others of this process alone.
    mark = hash(" ".join(document.text.split()))
    if mark in seen:
        corpus.repeated += 1
        corpus.skipped.append(Skipped(document.id, "the same text as another document"))
        return
    seen.add(mark)
    name, offset = _place(corpus, document, ids)
    for start, end in chunks(document, words):
        number = len(corpus.passages)
        text = document.text[start:end]
        passage = Passage(number, name, text, document.title, offset + start)
        corpus.passages.append(passage)


def _place(corpus: Corpus, document: Document, ids: dict[str, int]) -> tuple[str, int]:
    """The name of a document in the corpus and where its text begins there: a chunk behind one of
    the same document goes on with it, and an id that is taken gets a number.
    """
    name = document.id
    last = corpus.passages[-1] if corpus.passages else None
    if document.is_part and last is not None and last.document == name:
        return name, last.start + len(last.text) + _GAP
    while name in ids:
        ids[document.id] += 1
        name = f"{document.id}#{ids[document.id]}"
    ids[name] = 1
    corpus.first.append(len(corpus.passages))
    corpus.documents.append(name)
    return name, 0
