"""The file of a test set: rows of the product's own format, JSON Lines, with what only a test set
knows under `evidence` and `testset`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from ragassay.core import DataError, RagAssayError, digest
from ragassay.datasets import open_records
from ragassay.report.jsonable import as_json
from ragassay.report.pages import write_whole
from ragassay.testsets.values import (
    REAL,
    Evidence,
    GateVerdict,
    Question,
    SetInfo,
    SpotCheck,
    Turn,
)

_NONE: Mapping[str, str] = {}


def write_set(path: str | os.PathLike[str], info: SetInfo, questions: Iterable[Question]) -> None:
    """Write a set: the file is whole or not there. Raises EnvironmentFailure E0107."""
    write_whole(Path(path), _lines(info, questions))


def _lines(info: SetInfo, questions: Iterable[Question]) -> Iterator[str]:
    for row in _rows(info, questions):
        yield orjson.dumps(as_json(row)).decode() + "\n"


def _rows(info: SetInfo, questions: Iterable[Question]) -> Iterator[dict[str, object]]:
    documents = info.documents
    for question in questions:
        yield row_of(info, question, documents)
        # The list of documents stands in the first row alone.
        documents = {}


def rows_of(info: SetInfo, questions: Iterable[Question]) -> list[dict[str, object]]:
    """The rows of a set as plain values, as they are read from its file."""
    return [orjson.loads(line) for line in _lines(info, questions)]


def digest_of(info: SetInfo, questions: Iterable[Question]) -> str:
    """A hash of all that the file of a set holds."""
    return digest(list(_lines(info, questions)))


def row_of(
    info: SetInfo, question: Question, documents: Mapping[str, str] = _NONE
) -> dict[str, object]:
    """The row of a question, as `evaluate` reads it. documents: that it lists."""
    row: dict[str, object] = {"id": question.id, "question": _asked(question)}
    if question.reference:
        row["reference"] = question.reference
    if question.documents:
        row["relevant_ids"] = list(question.documents)
    # Whether the documents answer what users asked is not known.
    if question.type != REAL:
        row["answerable"] = question.answerable
    row["cluster"] = question.cluster
    row["slices"] = {
        "type": question.type,
        "difficulty": str(question.difficulty),
        "persona": question.persona,
        "style": question.style,
        "topic": question.topic,
    }
    row["evidence"] = question.evidence
    row["testset"] = {
        "note": info.note(),
        "set": replace(info, documents=documents),
        "origin": question.origin,
        "weight": question.weight,
        "steps": question.steps,
        "gates": question.verdicts,
        "accepted": question.accepted,
    }
    return row


def _asked(question: Question) -> object:
    """The question; of a conversation all its messages, of which the last one is asked."""
    if not question.history:
        return question.question
    messages: list[dict[str, str]] = []
    for turn in question.history:
        messages.append({"role": "user", "content": turn.question})
        messages.append({"role": "assistant", "content": turn.answer})
    return [*messages, {"role": "user", "content": question.question}]


def is_of_a_set(row: object) -> bool:
    """Whether a row is one of a test set: it holds its evidence and how the set was made."""
    return isinstance(row, Mapping) and isinstance(row.get("testset"), Mapping)


def read_set(path: object) -> tuple[SetInfo, list[Question]]:
    """A set as it was written. path: of its file, or its rows. Raises DataError E0804 for what is
    none.
    """
    questions: list[Question] = []
    info: SetInfo | None = None
    try:
        for line, _, row in open_records(path):
            found, question = _question(row, line)
            # The first row names the documents; it may have been taken out by hand.
            if info is None or found.documents:
                info = found
            questions.append(question)
    except KeyError as error:
        raise _no_set(path, f"line {line}: it has no {error.args[0]!r}") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise _no_set(path, f"line {line}: {error}") from error
    except RagAssayError as error:
        if error.code == "E0804":
            raise
        raise _no_set(path, f"{error.code}: {error.what}") from error
    if info is None:
        raise _no_set(path, "it has no row")
    return info, questions


def _no_set(path: object, why: str) -> DataError:
    return DataError(
        "E0804",
        "This is no file of a test set.",
        where=str(path) if isinstance(path, str | os.PathLike) else "",
        why=why,
        fix="name a file that `ragassay testset make` wrote",
    )


def _question(row: Mapping[str, Any], line: int) -> tuple[SetInfo, Question]:
    own = row["testset"]
    text, history = _turns(row["question"])
    slices = row["slices"]
    question = Question(
        id=str(row["id"]),
        question=text,
        reference=str(row.get("reference") or ""),
        type=str(slices["type"]),
        evidence=tuple(Evidence(**place) for place in row["evidence"]),
        answerable=bool(row.get("answerable", True)),
        persona=str(slices["persona"]),
        style=str(slices["style"]),
        difficulty=int(slices["difficulty"]),
        cluster=str(row["cluster"]),
        topic=str(slices["topic"]),
        steps=tuple(map(str, own["steps"])),
        history=history,
        origin=str(own["origin"]),
        verdicts=tuple(GateVerdict(**verdict) for verdict in own["gates"]),
        weight=int(own.get("weight") or 1),
        accepted=_label(own.get("accepted")),
    )
    return _info(own["set"]), question


def _info(fields: Mapping[str, Any]) -> SetInfo:
    checked = fields.get("spot_check")
    spot_check = SpotCheck(**checked) if checked else None
    return SetInfo(**{**fields, "spot_check": spot_check})


def _label(value: object) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise TypeError("`accepted` is true, false or null")
    return value


def _turns(asked: object) -> tuple[str, tuple[Turn, ...]]:
    if isinstance(asked, str):
        return asked, ()
    if not isinstance(asked, list):
        raise TypeError("the question is neither a text nor messages")
    texts = [str(message["content"]) for message in asked]
    pairs = zip(texts[:-1:2], texts[1:-1:2], strict=True)
    return texts[-1], tuple(Turn(question, answer) for question, answer in pairs)
