"""The rows of a test set, which have evidence in place of passages: they get the passages of their
documents that hold it, as a retriever would find them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from ragassay.core import Context, RagAssayError, Sample
from ragassay.datasets import open_records
from ragassay.stress.passages import Passage
from ragassay.testsets.check import corpus_of
from ragassay.testsets.corpus import Corpus, read_corpus
from ragassay.testsets.set_files import is_of_a_set, read_set
from ragassay.testsets.values import (
    COMPARE,
    COUNTERFACTUAL,
    FALSE_PREMISE,
    FOLLOW_UP,
    REASONING,
    Evidence,
    Question,
    SetInfo,
)

WORKED_OUT = frozenset((COMPARE, REASONING, COUNTERFACTUAL, FALSE_PREMISE))
"""Types whose answer stands in no passage, so that none can be searched for it."""
MOST_PASSAGES = 5_000
"""Of a corpus that distractors are taken from whole; of a larger one, those near to a question and
as many drawn by chance.
"""
_NEAR = 40
_OWN = 3
"""Passages, the nearest, of a question that the documents do not answer."""


@dataclass(frozen=True, slots=True)
class SetRows:
    """What a test set knows of its rows. samples: all rows, those of the set with passages.
    reasons: row id -> why it cannot be tested. passages: of the documents, for distractors. notes:
    what to know of the set.
    """

    samples: Sequence[Sample]
    reasons: Mapping[str, str] = field(default_factory=dict)
    passages: Sequence[Passage] = ()
    notes: tuple[str, ...] = ()


def with_evidence(rows: object, samples: Sequence[Sample], docs: Path | None, seed: int) -> SetRows:
    """The samples of rows, those of a test set with the passages that hold their evidence.

    rows: what the samples were read from; where that is no test set, they stay as they are. docs:
    the set's documents, where they are not at the place that it names; without any, a passage is
    the quote itself. Raises DataError E0801 and NothingToDo E0802 for documents that are named and
    cannot be read.
    """
    found = _set_of(rows)
    if found is None:
        return SetRows(samples)
    info, questions = found
    corpus, _ = corpus_of(info, docs)
    notes = [info.note()]
    if corpus is None:
        notes.append(
            f"the set's documents are not at {info.source or '(memory)'}: its quotes stand for"
            " passages; name the folder with --corpus"
        )
    by_id = {question.id: question for question in questions}
    reasons = {q.id: _WHY[q.type] for q in questions if q.type in _WHY}
    given = [_with_passages(sample, by_id.get(sample.id), corpus) for sample in samples]
    passages = () if corpus is None else tuple(_passages(corpus, questions, seed))
    return SetRows(given, reasons, passages, tuple(notes))


_WHY = {
    **dict.fromkeys(WORKED_OUT, "its answer is worked out, and stands in no passage"),
    FOLLOW_UP: "it refers to a turn before it, which the system is not given",
}


def _set_of(rows: object) -> tuple[SetInfo, list[Question]] | None:
    """The test set that rows are read from, None where they are none."""
    if not isinstance(rows, str | Path | list | tuple):
        return None
    try:
        first = next(islice(open_records(rows), 1), None)
        if first is None or not is_of_a_set(first[2]):
            return None
        return read_set(rows)
    except RagAssayError:
        # Rows that were changed by hand may be no set any more; they are rows all the same.
        return None


def _with_passages(sample: Sample, question: Question | None, corpus: Corpus | None) -> Sample:
    if question is None or sample.contexts:
        return sample
    contexts: dict[str, Context] = {}
    for evidence in question.evidence:
        for context in _holding(evidence, corpus):
            contexts.setdefault(context.text, context)
    if not question.evidence and corpus is not None:
        for place in corpus.search.best(question.question, _OWN):
            passage = corpus.passages[place]
            contexts.setdefault(passage.text, Context(passage.text, passage.document))
    return replace(sample, contexts=tuple(contexts.values())) if contexts else sample


def _holding(evidence: Evidence, corpus: Corpus | None) -> Iterator[Context]:
    """The passages that a quote stands in; the quote itself where they are not at hand."""
    number = None if corpus is None else corpus.numbers.get(evidence.document)
    held = []
    if corpus is not None and number is not None:
        for passage in corpus.of_document(number):
            end = passage.start + len(passage.text)
            if passage.start < evidence.end and evidence.start < end:
                held.append(passage.text)
    # A document that has changed since may hold another text at this place.
    if _plain(evidence.quote) not in _plain(" ".join(held)):
        held = [evidence.quote]
    for text in held:
        yield Context(text, evidence.document)


def _plain(text: str) -> str:
    return " ".join(text.split())


def document_passages(docs: Path) -> list[Passage]:
    """The passages of a folder of documents. Raises NothingToDo E0802 where none has text."""
    corpus = read_corpus(docs)
    return [Passage(p.text, p.document, p.document) for p in corpus.passages]


def _passages(corpus: Corpus, questions: Sequence[Question], seed: int) -> Iterator[Passage]:
    places: Sequence[int] = range(len(corpus.passages))
    if len(places) > MOST_PASSAGES:
        near = set(random.Random(f"{seed}|passages").sample(places, MOST_PASSAGES // 2))
        for question in questions:
            near.update(corpus.search.best(question.question, _NEAR))
        places = sorted(near)
    for place in places:
        passage = corpus.passages[place]
        yield Passage(passage.text, passage.document, passage.document)
