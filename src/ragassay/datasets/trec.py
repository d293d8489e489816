"""Relevance judgements (qrels) and rankings (runs), read and written in the forms of TREC and BEIR.

qrels: TREC's `topic iteration document grade`, separated by blanks, or BEIR's table `query-id
corpus-id score`, separated by tabs, with its header. Run: TREC's `topic Q0 document rank score
tag`. Empty lines and lines that begin with # are passed over, as trec_eval does; every file may end
in .gz.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from ragassay.core import BadRow, Context, DataError, NothingToDo, Sample, shorten
from ragassay.datasets.cells import NUMBER
from ragassay.datasets.source import (
    READ_ERRORS,
    broken_file,
    find_file,
    line_limit,
    open_bytes,
    read_line,
)
from ragassay.datasets.writing import Target, WriteReport, name_of, opened

Qrels = Mapping[str, Mapping[str, float]]
"""Topic -> document id -> grade (0 and below: judged not relevant)."""

Run = Mapping[str, tuple[tuple[str, float], ...]]
"""Topic -> (document id, score) in rank order."""

_BEIR_HEADER = ("query-id", "corpus-id", "score")
_BLANK = " \t\r\n\v\f"
_BLANKS = re.compile(f"[{_BLANK}]+")
"""What separates fields: the blanks of ASCII, as in trec_eval; others may stand in an id."""


def read_qrels(path: str | PathLike[str]) -> dict[str, dict[str, float]]:
    """The judgements of a file: topic -> document id -> grade.

    Three cells separated by tabs are BEIR's form, whose first line is a header; four fields are
    TREC's. Raises DataError (E0312) for a malformed line or a document judged twice for a topic,
    naming file and line, and NothingToDo (E0309) when the file judges nothing.
    """
    file = find_file(Path(path))
    qrels: dict[str, dict[str, float]] = {}
    may_be_header = True
    for line, text in _lines(file):
        topic, document, grade = _judgement(file, line, text)
        # Only BEIR's form has a header; TREC's first line with a bad grade is a mistake.
        is_header = may_be_header and text.count("\t") == 2 and not NUMBER.fullmatch(grade)
        may_be_header = False
        if is_header:
            continue
        if not topic or not document:
            raise _malformed(file, line, text, "lacks the topic or the document", "write both ids")
        judged = qrels.setdefault(topic, {})
        if document in judged:
            raise _malformed(
                file,
                line,
                text,
                f"judges {shorten(document, 40)!r} a second time",
                "keep one of the two",
            )
        judged[document] = _number(file, line, text, grade, "grade")
    if not qrels:
        raise _empty(file)
    return qrels


def _judgement(file: Path, line: int, text: str) -> tuple[str, str, str]:
    """(topic, document, grade) of a line of qrels, in BEIR's or TREC's form."""
    cells = text.split("\t")
    if len(cells) == 3:
        topic, document, grade = map(str.strip, cells)
        return topic, document, grade
    fields = _BLANKS.split(text.strip(_BLANK))
    if len(fields) != 4:
        raise _malformed(
            file,
            line,
            text,
            f"has {len(fields)} fields",
            "write: topic 0 document grade, or BEIR's three cells separated by tabs",
        )
    topic, _, document, grade = fields
    return topic, document, grade


def read_run(path: str | PathLike[str]) -> dict[str, tuple[tuple[str, float], ...]]:
    """The rankings of a TREC run file: topic -> ((document id, score), ...) in trec_eval's order.

    That is by score, descending, scores in single precision; equal scores by document id,
    descending. The file's rank column and the order of its lines count for nothing. Raises as
    `read_qrels` does.
    """
    file = find_file(Path(path))
    rankings: dict[str, dict[str, float]] = {}
    for line, text in _lines(file):
        # What follows the tag counts for nothing, as in trec_eval.
        fields = _BLANKS.split(text.strip(_BLANK), 6)
        if len(fields) < 6:
            raise _malformed(
                file,
                line,
                text,
                f"has {len(fields)} fields",
                "write: topic Q0 document rank score tag",
            )
        topic, _, document, _, score, *_ = fields
        ranked = rankings.setdefault(topic, {})
        if document in ranked:
            raise _malformed(
                file,
                line,
                text,
                f"retrieves {shorten(document, 40)!r} a second time",
                "keep the better of the two",
            )
        ranked[document] = _number(file, line, text, score, "score")
    if not rankings:
        raise _empty(file)
    return {topic: in_order(ranked.items()) for topic, ranked in rankings.items()}


def in_order(scored: Iterable[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    """(document id, score) pairs in trec_eval's order."""
    return tuple(sorted(scored, key=_trec_eval_key, reverse=True))


def _trec_eval_key(pair: tuple[str, float]) -> tuple[float, str]:
    document, score = pair
    # trec_eval keeps scores as C floats, so that scores that differ less are a tie there.
    return ctypes.c_float(score).value, document


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    limit = line_limit(path)
    number = 0
    with open_bytes(path) as file:
        while True:
            try:
                line, size = read_line(file, limit)
            except READ_ERRORS as error:
                raise broken_file(path, error) from error
            if not size:
                return
            number += 1
            if not line:
                raise _malformed(
                    path,
                    number,
                    "",
                    "is longer than any line of such a file",
                    "write one document a line",
                )
            if line.isspace() or line.lstrip()[:1] == b"#":
                continue
            try:
                yield number, line.decode("utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise DataError(
                    "E0305",
                    f"{path.name}:{number} is not valid UTF-8.",
                    where=f"{path}:{number}",
                    why=shorten(repr(line[max(error.start - 10, 0) : error.start + 10])),
                    fix="save the file as UTF-8",
                ) from error


def _number(path: Path, line: int, text: str, value: str, what: str) -> float:
    # Not float() alone: it reads "1_000" and "infinity", too.
    number = math.nan
    if NUMBER.fullmatch(value) and len(value) < 400:
        number = float(value)
    if not math.isfinite(number):
        raise _malformed(
            path,
            line,
            text,
            f"has the {what} {shorten(value, 40)!r}",
            f"write the {what} as a number",
        )
    return number


def _malformed(path: Path, line: int, text: str, what: str, fix: str) -> DataError:
    return DataError(
        "E0312",
        f"{path.name}:{line} {what}.",
        where=f"{path}:{line}",
        why=shorten(text.replace("\t", " ")),
        fix=fix,
    )


def _empty(path: Path) -> NothingToDo:
    return NothingToDo(
        "E0309", f"{path.name} holds no line.", where=str(path), fix="write one document a line"
    )


class TopicCounts(NamedTuple):
    """How the topics of a run and of qrels meet."""

    both: int
    only_in_qrels: int
    only_in_run: int

    @property
    def lines(self) -> tuple[str, ...]:
        """The counts for the user."""
        lines = [f"topics in both the run and the qrels: {self.both:,}"]
        if self.only_in_qrels:
            lines.append(
                f"topics of the qrels only, for which nothing was retrieved: {self.only_in_qrels:,}"
            )
        if self.only_in_run:
            lines.append(f"topics of the run only, which are not measured: {self.only_in_run:,}")
        return tuple(lines)


def count_topics(run: Run, qrels: Qrels) -> TopicCounts:
    """How many topics are in both, in the qrels only, and in the run only."""
    both = len(run.keys() & qrels.keys())
    return TopicCounts(both, len(qrels) - both, len(run) - both)


def retrieval_rows(run: Run, qrels: Qrels) -> Iterator[Sample]:
    """One Sample a topic of the qrels, in their order, for the document metrics.

    Its contexts are the ranking, with ids and scores and empty texts; a topic that the run does not
    have retrieved nothing (trec_eval -c). Topics of the run without judgements are left out;
    `count_topics` tells how many.
    """
    for line, (topic, grades) in enumerate(qrels.items(), 1):
        contexts = tuple(Context("", document, score) for document, score in run.get(topic, ()))
        yield Sample(topic, contexts=contexts, relevant_ids=dict(grades), line=line)


def write_qrels(samples: Iterable[Sample | BadRow], target: Target) -> WriteReport:
    """Write the relevant_ids of Samples as TREC qrels, the row's id as the topic; BEIR's form when
    the path ends in .tsv.

    Rows without judgements have no line and are counted. Raises DataError (E0312) for an id that
    holds a blank, and as `write_rows`.
    """
    is_table = name_of(target).lower().removesuffix(".gz").endswith(".tsv")
    lost: Counter[str] = Counter()
    rows = bad = 0
    with opened(target) as write:
        if is_table:
            write("\t".join(_BEIR_HEADER).encode() + b"\n")
        for sample in samples:
            if isinstance(sample, BadRow):
                bad += 1
                continue
            if not sample.relevant_ids:
                lost["a row without judgements"] += 1
                continue
            rows += 1
            for document, grade in sample.relevant_ids.items():
                write(_qrels_line(sample.id, document, grade, is_table))
    return WriteReport("qrels", name_of(target), rows, bad, dict(lost), {})


def _qrels_line(topic: str, document: str, grade: float, is_table: bool) -> bytes:
    # trec_eval reads whole grades only; a fraction is written all the same, for other tools.
    grade_text = str(int(grade)) if grade == int(grade) else repr(grade)
    topic = _field(topic, is_table)
    document = _field(document, is_table)
    if is_table:
        return f"{topic}\t{document}\t{grade_text}\n".encode()
    return f"{topic} 0 {document} {grade_text}\n".encode()


def write_run(
    samples: Iterable[Sample | BadRow], target: Target, tag: str = "ragassay"
) -> WriteReport:
    """Write the rankings of Samples as a TREC run, the row's id as the topic.

    trec_eval ranks by score alone, so where the contexts have no scores, or scores that give
    another order, the scores are n, n-1, ... 1; how often is reported. An id that is ranked twice
    is written once, at its best rank. Chunks without an id and rows without chunks have no line and
    are counted. Raises as `write_qrels`.
    """
    lost: Counter[str] = Counter()
    rows = bad = 0
    with opened(target) as write:
        for sample in samples:
            if isinstance(sample, BadRow):
                bad += 1
                continue
            if not sample.contexts:
                lost["a row without chunks"] += 1
                continue
            rows += 1
            ranking = _ranking(sample.contexts, lost)
            for rank, (document, score) in enumerate(ranking, 1):
                line = f"{_field(sample.id)} Q0 {_field(document)} {rank} {score!r} {_field(tag)}\n"
                write(line.encode())
    # A sum of trues may be zero: nothing was lost.
    losses = {part: count for part, count in lost.items() if count}
    return WriteReport("run", name_of(target), rows, bad, losses, {})


def _ranking(contexts: Iterable[Context], lost: Counter[str]) -> list[tuple[str, float]]:
    """(document, score) in rank order, with scores that trec_eval ranks in this order."""
    ranked: dict[str, float | None] = {}
    unnamed = False
    for chunk in contexts:
        if chunk.id is None:
            unnamed = True
        else:
            ranked.setdefault(chunk.id, chunk.score)
    lost["a chunk without an id"] += unnamed
    scores = [(document, score) for document, score in ranked.items() if score is not None]
    if len(scores) == len(ranked) and in_order(scores) == tuple(scores):
        return scores
    lost["contexts.score (written by rank)"] += bool(scores)
    best = len(ranked)
    return [(document, float(best - place)) for place, document in enumerate(ranked)]


def _field(value: str, table: bool = False) -> str:
    """An id as it stands in a line. table: cells are separated by tabs, so that it may hold
    spaces.
    """
    separators = _BLANK[1:] if table else _BLANK
    is_cut = any(blank in value for blank in separators)
    # A line that begins with # is a comment to most readers.
    if is_cut or not value.strip(_BLANK) or value.startswith("#"):
        raise DataError(
            "E0312",
            f"The id {shorten(value, 40)!r} cannot stand in a file whose fields are separated by"
            " blanks.",
            why="it is empty, holds a blank or begins with #",
            fix="give ids without blanks",
        )
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise DataError(
            "E0305", f"The id {shorten(value, 40)!r} is not Unicode.", fix="correct the id"
        ) from error
    return value
