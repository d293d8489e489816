"""Figures of a test set: how far it is from its sources, how diverse it is, what it covers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from ragassay.core import Figure, Interval
from ragassay.core.counting import count
from ragassay.scoring import MeanAccumulator, clustered_rate_interval
from ragassay.testsets.corpus import Corpus
from ragassay.testsets.duplicates import Duplicates
from ragassay.testsets.values import REAL, Question
from ragassay.testsets.words import content, words

_NO_DOCUMENTS = "the documents of the set are not at hand: name them with --docs"


def set_figures(questions: Sequence[Question], corpus: Corpus | None) -> tuple[Figure, ...]:
    """All figures. Without the corpus, those that need it are absent with the reason."""
    figures = [_duplicates(questions), _diversity(questions)]
    if corpus is None:
        names = ("words taken from the source", "found first by BM25", "documents covered")
        return (*figures, *(Figure(name, None, reason=_NO_DOCUMENTS) for name in names))
    return (
        *figures,
        _overlap(questions, corpus),
        _found(questions, corpus),
        _covered(questions, corpus),
    )


def _duplicates(questions: Sequence[Question]) -> Figure:
    """Share of questions that are near duplicates of one before them. All are compared, so that the
    share has no interval.
    """
    seen = Duplicates()
    found = 0
    for question in questions:
        if seen.of(question):
            found += 1
        else:
            seen.take(question)
    value = found / len(questions) if questions else None
    return Figure("near duplicates", value, None, len(questions), f"{found:,} of all, counted")


def _diversity(questions: Sequence[Question]) -> Figure:
    """Entropy of the content words, as a share of its maximum (all words different)."""
    counts: Counter[str] = Counter()
    for question in questions:
        counts.update(content(question.question))
    total = counts.total()
    if total < 2:
        return Figure("diversity of words", None, reason="too few words")
    entropy = -math.fsum(n / total * math.log(n / total) for n in counts.values())
    value = entropy / math.log(total)
    return Figure("diversity of words", value, None, len(questions), "1: no word comes twice")


def _overlap(questions: Sequence[Question], corpus: Corpus) -> Figure:
    from ragassay.testsets.offline_run import source_overlap

    mean = MeanAccumulator()
    for question in questions:
        if any(document not in corpus.numbers for document in question.documents):
            continue
        share = source_overlap(question, corpus)
        if share is not None:
            mean.add(share, question.cluster)
    result = mean.result()
    note = "real questions about passages: .64"
    return Figure("words taken from the source", result.mean, result.interval, result.n, note)


def _found(questions: Sequence[Question], corpus: Corpus) -> Figure:
    """Share of questions for which a search by words finds a right document first."""
    found: dict[str, list[int]] = {}
    for question in questions:
        if not question.documents or question.history:
            continue
        best = corpus.search.best(question.question, 1)
        first = corpus.passages[best[0]].document if best else ""
        found.setdefault(question.cluster, []).append(first in question.documents)
    rows = sum(map(len, found.values()))
    total = sum(map(sum, found.values()))
    interval: Interval | None = clustered_rate_interval((sum(f), len(f)) for f in found.values())
    value = total / rows if rows else None
    return Figure("found first by BM25", value, interval, rows, "real questions: .87")


def _covered(questions: Sequence[Question], corpus: Corpus) -> Figure:
    """Share of documents that a question is about, of as many as there are questions at most; what
    users asked is about none that is known.
    """
    used: set[str] = set()
    written = [question for question in questions if question.type != REAL]
    for question in written:
        used.update(question.documents or (question.cluster,))
    used &= corpus.numbers.keys()
    possible = min(len(corpus.documents), len(written)) or 1
    reason = f"{len(used):,} of {count(len(corpus.documents), 'document')}"
    if possible < len(corpus.documents):
        reason += f"; {possible:,} are the most that so many questions reach"
    return Figure("documents covered", min(1.0, len(used) / possible), None, possible, reason)


def words_of_questions(questions: Sequence[Question]) -> float:
    """Mean number of words of a question."""
    lengths = [len(words(question.question)) for question in questions]
    return sum(lengths) / len(lengths) if lengths else 0.0
