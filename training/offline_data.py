"""Which labelled texts the offline model is fitted and measured on, as MatchCalls with labels.

Every loader yields `Example`s of one split of one set. Only sets whose licence allows any use
without a non-commercial clause are listed for training; test-only sets are listed apart.
Constructed examples (made here from train texts, never from dev or test) are marked by their set's
name: "made:...".
"""

from __future__ import annotations

import difflib
import gzip
import json
import random
import re
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from ragassay.core import MatchCall

Row = dict[str, Any]


UNTOLD, SUPPORTED, CONTRADICTED, NOT_MENTIONED = -1, 0, 1, 2


class Example(NamedTuple):
    """A call with its label (1 = supported, relevant, answers it). group: what stays on one side of
    a split.

    kind: of a claim, which class it is: SUPPORTED, CONTRADICTED or NOT_MENTIONED, or UNTOLD when
    people only said that it is not supported. spans: which parts of the claim are not supported, as
    start and end; None when nobody said.
    """

    source: str
    group: str
    call: MatchCall
    label: int
    kind: int = UNTOLD
    spans: tuple[tuple[int, int], ...] | None = None


def rows(data: Path, name: str, split: str) -> Iterator[Row]:
    """The rows of a split of a set. ragtruth, wice and others without that split give none."""
    with gzip.open(data / name / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if row["split"] == split:
                yield row


@lru_cache(maxsize=64)
def crossing(data: Path, name: str) -> frozenset[str]:
    """Groups with rows in `train` and another split: official splits of scifact share abstracts."""
    splits: dict[bool, set[str]] = {True: set(), False: set()}
    with gzip.open(data / name / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            splits[row["split"] == "train"].add(row["group"])
    return frozenset(splits[True] & splits[False])


ASKED = (
    "evouna",
    "openqa_eval",
    "nq_open",
    "factcheck_gpt",
    "mtrag_human",
    "clapnq",
    "haluquestqa",
    "hotpotqa_answer",
    "hotpotqa_context",
)


def question_key(question: str | None) -> str:
    """A question as it is compared: words in lower case."""
    return " ".join(re.findall(r"\w+", (question or "").lower()))


@lru_cache(maxsize=4)
def asked_elsewhere(data: Path) -> frozenset[str]:
    """The questions of all rows that are not `train`, in any set: sets share questions across their
    splits.
    """
    with_question = (
        row for name in ASKED for split in ("dev", "test") for row in rows(data, name, split)
    )
    return frozenset(question_key(row.get("question")) for row in with_question) - {""}


def _support(row: Row, label: int) -> Example:
    call = MatchCall("support", row["response"], tuple(row["contexts"]), row.get("question"))
    group = f"{row['dataset']}:{row['group']}"
    if label:
        return Example(row["dataset"], group, call, 1, SUPPORTED, ())
    return Example(row["dataset"], group, call, 0, _kind(row), _spans(row))


_CLASSES = {
    ("factcheck_gpt", "refute"): CONTRADICTED,
    ("factcheck_gpt", "irrelevant"): NOT_MENTIONED,
    ("scifact", "CONTRADICT"): CONTRADICTED,
    ("scifact", "NOT_ENOUGH_INFO"): NOT_MENTIONED,
    ("wice", "not_supported"): NOT_MENTIONED,
}
_CHANGES = {"antonym_swap", "entity_modification", "negation_insertion_removal"}


def _kind(row: Row) -> int:
    """Which kind of unsupported a row is, where its set says so."""
    if row["dataset"] == "summedits":
        edits = set(row["meta"]["edit_types"])
        if edits and edits <= _CHANGES:
            return CONTRADICTED
        return NOT_MENTIONED if edits == {"hallucinated_fact_insertion"} else UNTOLD
    return _CLASSES.get((row["dataset"], str(row.get("label_raw"))), UNTOLD)


def _spans(row: Row) -> tuple[tuple[int, int], ...] | None:
    """What an inconsistent edit of summedits changed in the consistent summary it was made from."""
    if row["dataset"] != "summedits" or not row["meta"]["edit_types"]:
        return None
    return changed(row["meta"]["seed_summary"], row["response"])


def changed(before: str, after: str) -> tuple[tuple[int, int], ...] | None:
    """The parts of `after` that are not in `before`, by words; None when words only went missing or
    nothing changed.

    Of a deletion the words around it are told, since they say something else now.
    """
    words = [m.span() for m in re.finditer(r"\w+|[^\w\s]", after)]
    old = re.findall(r"\w+|[^\w\s]", before.lower())
    new = [after[a:b].lower() for a, b in words]
    found: list[tuple[int, int]] = []
    for kind, _, _, low, high in difflib.SequenceMatcher(
        None, old, new, autojunk=False
    ).get_opcodes():
        if kind == "delete" and words:
            low, high = max(0, low - 1), min(len(words), low + 1)
        if kind != "equal" and high > low:
            found.append((words[low][0], words[high - 1][1]))
    return tuple(found) or None


def _relevance(row: Row, text: str, label: int) -> Example:
    return Example(
        row["dataset"],
        f"{row['dataset']}:{row['group']}",
        MatchCall("relevance", text, (row["contexts"][0],)),
        label,
    )


def _answer(row: Row, response: str, label: int) -> Example:
    return Example(
        row["dataset"],
        f"{row['dataset']}:{row['group']}",
        MatchCall("answer", row["question"], (response,)),
        label,
    )


SUPPORT_TRAIN = (
    "factcheck_gpt",
    "summedits",
    "faithdial_audit",
    "q2_wow",
    "scifact",
    "summac_val",
    "mtrag_human",
    "clapnq",
)
# Of these groundedness is measured, and they have train rows.
MEASURED = ("factcheck_gpt", "summedits", "faithdial_audit", "q2_wow", "scifact", "summac_val")
SUPPORT_TEST = (
    "factcheck_gpt",
    "summedits",
    "faithdial_audit",
    "q2_wow",
    "summac_val",
    "mtrag_human",
)
# Sets that were never trained on: wice and begin have no train split here, of ragtruth_qa only the
# test split exists.
SUPPORT_UNSEEN = ("wice", "ragtruth_qa", "begin")
SUPPORT_DEV = (
    "wice",
    "factcheck_gpt",
    "summedits",
    "begin",
    "faithdial_audit",
    "q2_wow",
    "summac_val",
)
RELEVANCE = ("hotpotqa_context", "clapnq", "factcheck_gpt")
ANSWER = ("hotpotqa_answer", "haluquestqa")


def support(data: Path, split: str, names: tuple[str, ...]) -> Iterator[Example]:
    """Claims (or whole responses) against passages, with human labels.

    Of `train` no group is given that has rows in another split too; `crossing` gives only those of
    `train`, which can serve as development rows.
    """
    for name in names:
        shared = crossing(data, name) if split in ("train", "crossing") else frozenset[str]()
        for row in rows(data, name, "train" if split == "crossing" else split):
            if (row["group"] in shared) != (split == "crossing"):
                continue
            if row["label"] is None or not row["contexts"] or not row.get("response"):
                continue
            if name == "clapnq":
                # Written from the passage by annotators: a positive only where it is answerable.
                if row["label"] == 1:
                    yield _support(row, 1)
            else:
                yield _support(
                    row, int(row["label"] >= 3 if name == "mtrag_human" else row["label"] >= 0.5)
                )


# Of these sets, whose dev splits are small or of few sources, a sixth of the train groups serves as
# development rows too.
HELD = ("factcheck_gpt", "q2_wow", "summedits")


def held(source: str, group: str) -> bool:
    """Whether a train group ("set:group") is kept for development."""
    return source in HELD and zlib.crc32(group.encode()) % 6 == 0


def support_train(data: Path, names: tuple[str, ...] = SUPPORT_TRAIN) -> list[Example]:
    """The human train rows to fit on: none whose passages a test row (of scifact: a dev row) has
    too.
    """
    measured = {e.call.passages for e in support(data, "test", (*SUPPORT_TEST, *SUPPORT_UNSEEN))}
    measured |= {e.call.passages for e in support(data, "dev", ("scifact",))}
    return [
        e
        for e in support(data, "train", names)
        if e.call.passages not in measured and not held(e.source, e.group)
    ]


def support_dev(data: Path) -> list[Example]:
    """The human rows to choose and calibrate on: dev splits and the held train rows, none with the
    passages of a row that is fitted on; for scifact, whose dev split is measured as its test, the
    train rows of abstracts that its dev split has too.
    """
    fitted = {e.call.passages for e in support_train(data)}
    found = [*support(data, "dev", SUPPORT_DEV), *support(data, "crossing", ("scifact",))]
    found += [e for e in support(data, "train", HELD) if held(e.source, e.group)]
    return [e for e in found if e.call.passages not in fitted]


def support_test(data: Path) -> list[Example]:
    """The rows that groundedness is measured on; of scifact its dev split."""
    sets = (
        "factcheck_gpt",
        "summedits",
        "faithdial_audit",
        "q2_wow",
        "summac_val",
        *SUPPORT_UNSEEN,
    )
    return [*support(data, "test", sets), *support(data, "dev", ("scifact",))]


def relevance(data: Path, split: str, names: tuple[str, ...] = RELEVANCE) -> Iterator[Example]:
    """Questions (of factcheck_gpt: claims) against one passage. Of `train` no question or passage
    that another split has, and no group that is kept for development.
    """
    elsewhere = frozenset[str]()
    for name in names:
        if split == "train":
            elsewhere = frozenset(
                c
                for other in ("dev", "test")
                for r in rows(data, name, other)
                for c in r["contexts"][:1]
            )
        for row in rows(data, name, split):
            if not row["contexts"] or row["contexts"][0] in elsewhere:
                continue
            if split == "train" and (
                held(name, f"{name}:{row['group']}")
                or question_key(row.get("question")) in asked_elsewhere(data)
            ):
                continue
            if name == "factcheck_gpt":
                yield _relevance(row, row["response"], int(row["label_raw"] != "irrelevant"))
            elif row["label"] is not None:
                yield _relevance(row, row["question"], int(row["label"]))


def answer(data: Path, split: str, names: tuple[str, ...] = ANSWER) -> Iterator[Example]:
    """Questions against answers; the labels of hotpotqa_answer are constructed (gold or shuffled
    answers). Of `train` no question that another split of any set has.
    """
    for name in names:
        for row in rows(data, name, split):
            if split == "train" and question_key(row["question"]) in asked_elsewhere(data):
                continue
            if row.get("response") and row["label"] is not None:
                yield _answer(row, row["response"], int(row["label"]))


def made_relevance(data: Path, seed: int, count: int) -> Iterator[Example]:
    """Questions of train rows with the passage of another question (0)."""
    random_ = random.Random(seed)
    pool = [e for e in relevance(data, "train") if e.label == 1]
    random_.shuffle(pool)
    for at, example in enumerate(pool[:count]):
        other = pool[(at + 1) % len(pool)]
        if other.group != example.group:
            call = MatchCall("relevance", example.call.text, other.call.passages)
            yield Example("made:elsewhere", example.group, call, 0)


def made_answer(data: Path, seed: int, count: int, rounds: int = 3) -> Iterator[Example]:
    """Train questions with an answer a system gave to it (1, right or wrong: relevance is not
    correctness), with answers to other questions (0), one a round, and with the question itself
    handed back (0).
    """
    random_ = random.Random(seed)

    def given(row: Row) -> str:
        reference = row.get("reference") or ""
        return str(
            row.get("response") or (reference[0] if isinstance(reference, list) else reference)
        )

    for name in ASKED:
        pool: dict[str, list[Row]] = {}
        for row in rows(data, name, "train"):
            # An unanswerable question has no answer to lend, and a foreign answer is not one to
            # lend again.
            lends = not (name in ("clapnq", "hotpotqa_answer") and row["label"] == 0)
            if (
                row.get("question")
                and lends
                and given(row)
                and question_key(row["question"]) not in asked_elsewhere(data)
            ):
                pool.setdefault(row["group"], []).append(row)
        source = f"made:{name}"
        for turn in range(rounds):
            groups = sorted(pool)
            random_.shuffle(groups)
            for at, group in enumerate(groups[:count]):
                row = random_.choice(pool[group])
                other = random_.choice(pool[groups[(at + 1) % len(groups)]])
                # haluquestqa's own answers are already there; it lends only long answers to other
                # questions.
                if name != "haluquestqa":
                    yield Example(
                        source,
                        f"{name}:{group}",
                        MatchCall("answer", row["question"], (given(row),)),
                        1,
                    )
                if given(other).lower() != given(row).lower():
                    yield Example(
                        source,
                        f"{name}:{group}",
                        MatchCall("answer", row["question"], (given(other),)),
                        0,
                    )
                if turn == 0 and at % 10 == 0:
                    call = MatchCall("answer", row["question"], (row["question"],))
                    yield Example(source, f"{name}:{group}", call, 0)


LOADERS: dict[str, Callable[[Path, str], Iterator[Example]]] = {
    "support": lambda data, split: support(data, split, SUPPORT_TRAIN),
    "relevance": relevance,
    "answer": answer,
}
