"""The standard benchmark sets, and labelled rows made from questions with gold answers.

A set is data: task, metric, label scale and cut, what the labels are. `trec_rows` joins
relevance grades with texts, `make_answer_negatives` makes answers that do not answer. Labels that
it makes are constructed: a row passes because it was built so, not because a person looked at it,
and a benchmark on them says so (kind "human and constructed").
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ragassay.core import SetupError, nearest, shorten


@dataclass(frozen=True, slots=True)
class BenchmarkSet:
    """A standard benchmark set.

    labels: what the label's numbers mean; cut: from which one on a row passes; kind: as in a
    certificate; source: who set it up so.
    """

    name: str
    task: str
    metric: str
    labels: str
    scale: tuple[float, ...]
    cut: float
    kind: str
    cluster: str
    source: str


_SETS = (
    BenchmarkSet(
        "groundedness",
        "groundedness",
        "groundedness",
        "1 = the context supports the claim, 0 = it does not (partly supported counts as 0)",
        (0.0, 1.0),
        1.0,
        "human",
        "the source document",
        "claim verification, as LLM-AggreFact (Tang et al. 2024, arXiv:2404.10774)",
    ),
    BenchmarkSet(
        "context_relevance",
        "context_relevance",
        "context_relevance",
        "0 irrelevant, 1 related, 2 highly relevant, 3 perfectly relevant; 2 and 3 pass",
        (0.0, 1.0, 2.0, 3.0),
        2.0,
        "human",
        "the query",
        "TREC Deep Learning passage grades (Craswell et al. 2020, arXiv:2003.07820)",
    ),
    BenchmarkSet(
        "answer_relevance",
        "answer_relevance",
        "answer_relevance",
        "1 = the gold answer of the question, 0 = made not to answer it",
        (0.0, 1.0),
        1.0,
        "human and constructed",
        "the question",
        "gold and shuffled answers of HotpotQA (Yang et al. 2018), as for the RAG triad",
    ),
)

BENCHMARK_SETS: Mapping[str, BenchmarkSet] = {standard.name: standard for standard in _SETS}
"""Name -> the set."""

NEGATIVES = ("shuffled", "same_type", "evasive", "refusal")
"""Kinds of answers that do not answer: of another question; of another question whose answer is of
the same type; talk around the question; a refusal.
"""

_EVASIVE = (
    "That depends on a number of things, and views on it differ.",
    "It is a good question, and many people have taken an interest in it over the years.",
    "There is a lot that could be said here; the subject has a long and varied history.",
    "Much has been written about this, and the sources do not all look at it in the same way.",
    "As with most matters of this kind, one would have to look at it from several sides.",
    "This is widely discussed, and it remains of interest to this day.",
)
_REFUSALS = (
    "I'm sorry, but I can't help with that.",
    "I don't have enough information to answer this question.",
    "I cannot answer that.",
    "Unfortunately, I am not able to give an answer here.",
    "The documents that I was given do not say, so I can't tell.",
    "I'd rather not comment on this.",
)

_TRIES = 20  # random draws of another question before all are looked through
_YEAR = re.compile(r"(?:1\d|20)\d\d")
_NUMBER = re.compile(
    r"[-+]?[\d][\d.,]*(?:\s*(?:%|percent|million|billion|thousand|km|miles|years|people))?"
)
_PLACE_ASKED = re.compile(
    r"\b(?:where|(?:which|what) (?:city|country|state|town|county|place|island|continent))\b", re.I
)
_PERSON_ASKED = re.compile(r"\b(?:who|whose|whom)\b", re.I)
_NAME = re.compile(r"[A-Z][\w.'-]*(?: (?:of|de|van|von|the|da|di|la|le|[A-Z][\w.'-]*)){0,5}")


def make_answer_negatives(
    rows: Iterable[Mapping[str, object]],
    kinds: Sequence[str] = NEGATIVES,
    *,
    seed: int = 0,
    question: str = "question",
    reference: str = "reference",
) -> Iterator[dict[str, object]]:
    """Labelled rows for answer relevance from questions with gold answers: constructed labels,
    repeatable.

    Every question gives one row with its gold answer (label 1, slice "gold") and one row that does
    not answer it (label 0, slice = the kind), kinds taken in turn over shuffled questions, so that
    both classes are balanced. Both rows are of one cluster: the question. A foreign answer never
    equals a gold answer of the question, and a yes or no is never given to another yes-or-no
    question, which it might answer. Where no other question has an answer of the type (same_type),
    the row is a shuffled one and says so.

    rows: mappings with `question` and `reference` (a text, or a list of equally good ones, the
    first is used); rows without either are skipped. Yields dicts with id, question, response,
    label, task, slice, cluster, reference, label_kind "constructed". Raises SetupError E0205 for an
    unknown kind or with fewer than two usable questions.

    >>> made = list(make_answer_negatives([{"id": "a", "question": "Who wrote it?", "reference":
    "Jane Austen"}, ...                                    {"id": "b", "question": "In what year?",
    "reference": "1813"}], ["shuffled"]))
    >>> [(row["id"], row["response"], row["label"]) for row in made][:2]
    [('a/gold', 'Jane Austen', 1), ('a/shuffled', '1813', 0)]
    """
    _check_kinds(kinds)
    questions = _questions(rows, question, reference)
    if len(questions) < 2 or not kinds:
        raise SetupError(
            "E0205",
            "There are too few questions with gold answers to make wrong ones from.",
            where="rows",
            why=f"{len(questions)} usable",
            fix=f"give rows with {question} and {reference}",
        )
    rng = random.Random(seed)
    order = list(range(len(questions)))
    rng.shuffle(order)
    # In turn over shuffled questions: every kind as often, and none tied to a part of the file.
    kind_of = {at: kinds[turn % len(kinds)] for turn, at in enumerate(order)}
    other_answers = _OtherAnswers(questions, rng)
    for at, item in enumerate(questions):
        yield _row(item, item.answers[0], 1, "gold")
        kind = kind_of[at]
        if kind == "evasive":
            yield _row(item, rng.choice(_EVASIVE), 0, kind)
        elif kind == "refusal":
            yield _row(item, rng.choice(_REFUSALS), 0, kind)
        else:
            yield from other_answers.row(item, kind)


def _check_kinds(kinds: Sequence[str]) -> None:
    for kind in kinds:
        if kind not in NEGATIVES:
            raise SetupError(
                "E0205",
                "No kind of wrong answer is called"
                f" {shorten(kind, 40)!r}.{nearest(kind, NEGATIVES)}",
                where="kinds",
                fix="choose from " + ", ".join(NEGATIVES),
            )


def answer_type(question: str, answer: str) -> str:
    """What kind of thing an answer is, by simple rules: "yes_no", "year", "number", "place",
    "person", "name" or "text". The question decides between places and people; a name that neither
    is asked for is a "name".
    """
    # The order of the tests decides: a year is a number as well.
    bare = answer.strip().rstrip(".").strip()
    if bare.lower() in ("yes", "no"):
        return "yes_no"
    if _YEAR.fullmatch(bare):
        return "year"
    if len(bare) < 60 and _NUMBER.fullmatch(bare):
        return "number"
    if len(bare) < 80 and _NAME.fullmatch(bare):
        if _PLACE_ASKED.search(question):
            return "place"
        return "person" if _PERSON_ASKED.search(question) else "name"
    return "text"


def trec_rows(
    qrels: Mapping[str, Mapping[str, float]],
    queries: Mapping[str, str],
    passages: Mapping[str, str],
) -> Iterator[dict[str, object]]:
    """Labelled rows for context relevance: one per judged (query, passage) of which both texts are
    at hand.

    qrels: query id -> document id -> grade, as `datasets.read_qrels` returns. queries, passages: id
    -> text. A label is the grade, 0 to 3 (2 and 3 pass by the standard set-up); the query is the
    cluster.
    """
    for qid, grades in qrels.items():
        for docid, grade in grades.items():
            if qid in queries and docid in passages:
                yield {
                    "id": f"{qid}/{docid}",
                    "question": queries[qid],
                    "contexts": [passages[docid]],
                    "label": grade,
                    "task": "context_relevance",
                    "cluster": qid,
                }


@dataclass(frozen=True, slots=True)
class _Question:
    id: str
    text: str
    answers: tuple[str, ...]
    type: str


def _questions(
    rows: Iterable[Mapping[str, object]], question: str, reference: str
) -> list[_Question]:
    """The usable questions, each text once."""
    questions: dict[str, _Question] = {}
    for place, row in enumerate(rows, 1):
        text = row.get(question)
        answers = _gold_answers(row.get(reference))
        # A question that stands twice would be two rows of one text in two clusters.
        if not isinstance(text, str) or not text.strip() or not answers or text in questions:
            continue
        row_id = str(row.get("id") or f"row-{place}")
        questions[text] = _Question(row_id, text, answers, answer_type(text, answers[0]))
    return list(questions.values())


def _gold_answers(cell: object) -> tuple[str, ...]:
    """The gold answers of a cell: one text, or a list of equally good ones."""
    cells = cell if isinstance(cell, list | tuple) else [cell]
    texts = [text.strip() for text in cells if isinstance(text, str)]
    return tuple(text for text in texts if text)


class _OtherAnswers:
    """Answers of other questions as wrong answers of a question."""

    def __init__(self, questions: Sequence[_Question], rng: random.Random) -> None:
        self._questions = questions
        self._rng = rng
        self._by_type: dict[str, list[int]] = {}
        for at, question in enumerate(questions):
            self._by_type.setdefault(question.type, []).append(at)

    def row(self, question: _Question, kind: str) -> Iterator[dict[str, object]]:
        """The row of a question with the answer of another; none where every answer fits.

        Where no other answer is of its type (same_type), the row is a shuffled one and says so.
        """
        other = None
        if kind == "same_type":
            other = self._foreign(self._by_type[question.type], question)
        if other is None:
            kind = "shuffled"
            other = self._foreign(range(len(self._questions)), question)
        if other is not None:
            yield _row(question, other.answers[0], 0, kind)

    def _foreign(self, among: Sequence[int], question: _Question) -> _Question | None:
        """A question whose answer is not an answer of this one; None where there is none."""
        # Nearly always the first draw is foreign; looking through all of them for each question
        # would take the square of their number.
        for _ in range(_TRIES):
            other = self._questions[among[self._rng.randrange(len(among))]]
            if _is_foreign(other, question):
                return other
        candidates = [self._questions[at] for at in among]
        foreign = [other for other in candidates if _is_foreign(other, question)]
        return self._rng.choice(foreign) if foreign else None


def _is_foreign(other: _Question, question: _Question) -> bool:
    """Whether no answer of the other question answers this one; a yes or no might."""
    if question.type == other.type == "yes_no":
        return False
    own = {answer.casefold() for answer in question.answers}
    return own.isdisjoint(answer.casefold() for answer in other.answers)


def _row(question: _Question, response: str, label: int, kind: str) -> dict[str, object]:
    return {
        "id": f"{question.id}/{kind}",
        "question": question.text,
        "response": response,
        "label": label,
        "task": "answer_relevance",
        "slice": kind,
        "cluster": question.id,
        "reference": list(question.answers),
        "label_kind": "constructed",
    }
