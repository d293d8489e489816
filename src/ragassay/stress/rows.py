"""The rows of a stress test: which of them can be tested, and why the others cannot.

A test shows what a system makes of more, fewer or other passages. That needs a row whose own
passages hold its answer; a row without is left out and named.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragassay.core import Context, DataError, NothingToDo, Sample, SetupError, shorten
from ragassay.stress.answer import Answer
from ragassay.stress.passages import Passage
from ragassay.stress.set_rows import document_passages, with_evidence


@dataclass(frozen=True, slots=True)
class StressRow:
    """A row that can be tested. support: places of the passages that hold the answer. answer: None
    for a row that the corpus cannot answer.
    """

    sample: Sample
    answer: Answer | None
    support: tuple[int, ...] = ()

    @property
    def id(self) -> str:
        """The row's id."""
        return self.sample.id

    @property
    def question(self) -> str:
        """The question."""
        return self.sample.question or ""

    @property
    def contexts(self) -> tuple[Context, ...]:
        """The row's own passages."""
        return self.sample.contexts or ()

    @property
    def cluster(self) -> str:
        """The cluster of the row; its own where it has none."""
        return self.sample.cluster or self.sample.id


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A row that is not tested. test: by which test, "" for all of them."""

    id: str
    reason: str
    test: str = ""


@dataclass(frozen=True, slots=True)
class TestRows:
    """The rows of a file. answerable: with passages that hold the answer; unanswerable: that the
    corpus cannot answer, by what the file says. passages: all passages of all rows. notes: what to
    know of a test set that they are of.
    """

    __test__ = False  # no test class of pytest

    answerable: tuple[StressRow, ...]
    unanswerable: tuple[StressRow, ...]
    left_out: tuple[LeftOut, ...]
    passages: tuple[Passage, ...]
    source: str
    notes: tuple[str, ...] = ()


def read_rows(
    rows: object,
    *,
    corpus: object = None,
    mapping: Mapping[str, str] | None = None,
    format: str | None = None,
    limit: int | None = None,
    seed: int = 0,
) -> TestRows:
    """The rows of a source that `evaluate` reads; those of a test set with the passages that hold
    their evidence. corpus: more rows, whose passages are taken as distractors, or a folder of
    documents. seed: of the passages that are drawn from many. Raises SetupError and DataError as
    `evaluate`, NothingToDo E1101 where no row can be tested.
    """
    samples, left_out, source = _samples(rows, mapping, format)
    docs = Path(corpus) if isinstance(corpus, str | Path) and Path(corpus).is_dir() else None
    given = with_evidence(rows, samples[:limit], docs, seed)
    passages = [*_passages(given.samples), *given.passages]
    if docs is None and corpus is not None:
        passages += _corpus_passages(corpus)
    elif docs is not None and not given.passages:
        passages += document_passages(docs)
    answerable: list[StressRow] = []
    unanswerable: list[StressRow] = []
    for sample in given.samples:
        row, reason = _sorted_in(sample)
        if sample.id in given.reasons:
            row, reason = None, given.reasons[sample.id]
        if row is None:
            left_out.append(LeftOut(sample.id, reason))
        elif row.answer is None:
            unanswerable.append(row)
        else:
            answerable.append(row)
    if not answerable and not unanswerable:
        raise NothingToDo(
            "E1101",
            "No row can be tested.",
            where=source,
            why=f"{left_out[0].id}: {left_out[0].reason}" if left_out else "there is no row",
            fix="give rows with question, reference and the contexts that hold the answer",
        )
    return TestRows(
        tuple(answerable),
        tuple(unanswerable),
        tuple(left_out),
        tuple(passages),
        source,
        given.notes,
    )


def _samples(
    rows: object, mapping: Mapping[str, str] | None, format: str | None
) -> tuple[list[Sample], list[LeftOut], str]:
    from ragassay.datasets import open_rows

    dataset = open_rows(rows, mapping=mapping or {}, format=format)
    dataset.scan()
    samples: list[Sample] = []
    left_out: list[LeftOut] = []
    for row in dataset:
        if isinstance(row, Sample):
            samples.append(row)
        else:
            left_out.append(LeftOut(row.id, f"{row.place}: {row.what}"))
    return samples, left_out, dataset.source


def _corpus_passages(corpus: object) -> list[Passage]:
    """The passages of a corpus: rows with contexts, texts, or a text file with one passage a
    line.
    """
    if isinstance(corpus, list | tuple) and all(isinstance(text, str) for text in corpus):
        found = [Passage(text.strip()) for text in corpus if text.strip()]
    elif isinstance(corpus, str | Path) and Path(corpus).suffix == ".txt":
        try:
            lines = Path(corpus).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(
                "E0102",
                "The corpus cannot be read.",
                where=str(corpus),
                why=str(error),
                fix="name a text file in UTF-8 with one passage a line, or a file of rows",
            ) from None
        found = [Passage(line.strip()) for line in lines if line.strip()]
    else:
        samples, _, _ = _samples(corpus, None, None)
        found = list(_passages(samples))
    if not found:
        raise SetupError(
            "E1102",
            "The corpus holds no passage.",
            where=shorten(str(corpus), 80),
            fix="give rows with contexts, a folder of documents, or a .txt file with one passage a"
            " line",
        )
    return found


def _passages(samples: Iterable[Sample]) -> Iterable[Passage]:
    for sample in samples:
        for context in sample.contexts or ():
            yield Passage(context.text, context.id or "", sample.cluster or sample.id)


def _sorted_in(sample: Sample) -> tuple[StressRow | None, str]:
    """The row as it can be tested, or None and why it cannot."""
    if not (sample.question or "").strip():
        return None, "it has no question"
    if sample.answerable is False:
        return StressRow(sample, None), ""
    reference = sample.reference or " ".join(sample.expected_facts or ())
    if not reference.strip():
        return None, "it has no reference"
    if not sample.contexts:
        return None, "it has no contexts"
    answer = Answer(sample.question or "", reference)
    if answer.is_named_in_question:
        return None, "its question names the answer, as passages about it do"
    if not answer.is_checkable:
        return None, "passages cannot be searched for a yes or no"
    support = _support(sample.contexts, answer)
    if not support:
        return None, "its contexts do not hold the answer"
    return StressRow(sample, answer, support), ""


def _support(contexts: Sequence[Context], answer: Answer) -> tuple[int, ...]:
    """Places of the passages that hold the answer; where only all of them together do, of each that
    holds a part of it.
    """
    whole = tuple(n for n, context in enumerate(contexts) if answer.is_stated_in(context.text))
    if whole:
        return whole
    if not answer.is_stated_in("\n".join(context.text for context in contexts)):
        return ()
    return tuple(n for n, context in enumerate(contexts) if answer.leaks_in(context.text))
