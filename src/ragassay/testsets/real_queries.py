"""Queries that users asked, as questions of a test set: without personal data and secrets, each
once, drawn as often as they were asked.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragassay.core import Sample, digest
from ragassay.datasets import open_rows
from ragassay.judges.llm.redaction import Redaction
from ragassay.judges.llm.sensitive import check_installed
from ragassay.testsets.duplicates import Duplicates
from ragassay.testsets.values import REAL, Question

_LEAST_LETTERS = 3


@dataclass(frozen=True, slots=True)
class RealQueries:
    """The distinct queries of a log, in the order of their first asking.

    read: queries of the log. redacted: those in which something was replaced. repeated: those that
    are near duplicates of one before them, and count in its weight. empty: those without words.
    """

    questions: tuple[Question, ...]
    read: int
    redacted: int
    repeated: int
    empty: int

    def words(self) -> str:
        """In one line."""
        return (
            f"{self.read:,} real queries: {len(self.questions):,} distinct ones, {self.repeated:,}"
            f" repeated, {self.redacted:,} with something redacted, {self.empty:,} without words"
        )


def read_real(source: object) -> RealQueries:
    """The queries of a file of rows, or of a list of texts. Raises SetupError where the packages
    that find secrets and phone numbers are not installed, and as `open_rows`.
    """
    check_installed()
    seen = Duplicates(by_meaning=False)
    found: dict[str, Question] = {}
    read = redacted = repeated = empty = 0
    for text, reference in _texts(source):
        read += 1
        clean = Redaction().text(text)
        redacted += clean != text
        if sum(map(str.isalnum, clean)) < _LEAST_LETTERS:
            empty += 1
            continue
        name = f"real-{digest(clean)[:10]}"
        question = Question(
            id=name,
            question=clean,
            reference=Redaction().text(reference),
            type=REAL,
            style="search words",
            cluster=name,
            topic=REAL,
            origin=REAL,
        )
        same = seen.of(question)
        if same:
            first = same.rpartition(" ")[2]
            found[first] = replace(found[first], weight=found[first].weight + 1)
            repeated += 1
            continue
        seen.take(question)
        found[name] = question
    return RealQueries(tuple(found.values()), read, redacted, repeated, empty)


def draw(queries: Sequence[Question], count: int, seed: int) -> list[Question]:
    """So many of the queries, drawn without putting back, each as likely as it was asked often
    (Efraimidis & Spirakis 2006); in the order of the log. The chance of each is fixed by the seed
    and the query, so that a longer log changes few of those that are drawn.
    """
    keys = {
        query.id: random.Random(f"{seed} {query.id}").random() ** (1 / query.weight)
        for query in queries
    }
    chosen = set(sorted(keys, key=lambda name: -keys[name])[:count])
    return [query for query in queries if query.id in chosen]


def _texts(source: object) -> list[tuple[str, str]]:
    """(query, reference) of each row; "" where there is no reference."""
    if isinstance(source, list | tuple):
        return [(text, "") for text in source if isinstance(text, str)]
    texts = []
    for sample in open_rows(source, make_ids=True):
        if isinstance(sample, Sample) and sample.question:
            texts.append((sample.question, sample.reference or ""))
    return texts
