"""Which labelled rows is the offline judge measured on? The test parts, and the dev and train parts
that rivals need.

The nine sets of groundedness and their test parts are fixed here, once for every figure. `scifact`
has no public test labels: its official validation part, named dev, is its test part, so it is never
a dev part here. Sets share questions across their splits: of context relevance and answers no dev
or test row is measured whose question a train row has.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from training.offline_data import ASKED, question_key

from ragassay.core import MatchCall

Row = dict[str, Any]

# Set -> the split that is its test part.
GROUNDEDNESS = {
    "wice": "test",
    "factcheck_gpt": "test",
    "summedits": "test",
    "begin": "test",
    "faithdial_audit": "test",
    "q2_wow": "test",
    "scifact": "dev",
    "summac_val": "test",
    "ragtruth_qa": "test",
}
RELEVANCE = ("hotpotqa_context", "clapnq", "factcheck_gpt")
ANSWER = ("hotpotqa_answer", "haluquestqa")


class Labelled(NamedTuple):
    """A row with what the model is asked of it and what people say (1: supported, relevant, answers
    it).

    source: the set. group: source document, question or conversation, the unit that intervals draw.
    """

    source: str
    group: str
    call: MatchCall
    label: int
    row: Row


def rows(data: Path, name: str) -> Iterator[Row]:
    """All rows of a set."""
    with gzip.open(data / name / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


@lru_cache(maxsize=4)
def learned_questions(data: Path) -> frozenset[str]:
    """The questions of train rows, of any set."""
    found = (
        row.get("question") for name in ASKED for row in rows(data, name) if row["split"] == "train"
    )
    return frozenset(map(question_key, found)) - {""}


def claims(data: Path, part: str, names: Sequence[str] = tuple(GROUNDEDNESS)) -> list[Labelled]:
    """Responses against their contexts, each as one claim. part: "train", "dev" or "test"."""
    found = []
    for name in names:
        test = GROUNDEDNESS[name]
        for row in rows(data, name):
            here = row["split"] == test if part == "test" else row["split"] == part and part != test
            if here and row["label"] is not None and row["contexts"] and row.get("response"):
                call = MatchCall(
                    "support", row["response"], tuple(row["contexts"]), row.get("question")
                )
                found.append(_labelled(row, call, row["label"] >= 0.5))
    return found


def passages(data: Path, part: str, names: Sequence[str] = RELEVANCE) -> list[Labelled]:
    """Questions against one passage each; in factcheck_gpt claims, for which a passage is
    irrelevant or not.
    """
    found = []
    for name in names:
        for row in rows(data, name):
            if row["split"] != part or not row["contexts"] or row["label"] is None:
                continue
            if part != "train" and question_key(row.get("question")) in learned_questions(data):
                continue
            claim = name == "factcheck_gpt"
            call = MatchCall(
                "relevance", row["response" if claim else "question"], (row["contexts"][0],)
            )
            found.append(
                _labelled(
                    row, call, row["label_raw"] != "irrelevant" if claim else row["label"] >= 0.5
                )
            )
    return found


def answers(data: Path, part: str, names: Sequence[str] = ANSWER) -> list[Labelled]:
    """Questions against responses."""
    found = []
    for name in names:
        for row in rows(data, name):
            learned = part != "train" and question_key(row["question"]) in learned_questions(data)
            if (
                row["split"] == part
                and row["label"] is not None
                and row.get("response")
                and not learned
            ):
                call = MatchCall("answer", row["question"], (row["response"],))
                found.append(_labelled(row, call, row["label"] >= 0.5))
    return found


def _labelled(row: Row, call: MatchCall, label: bool) -> Labelled:
    return Labelled(row["dataset"], f"{row['dataset']}:{row['group']}", call, int(label), row)
