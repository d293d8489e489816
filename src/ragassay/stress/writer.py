"""A writer model for distractors and false answers: asked through the run engine, checked by
rules.

What it writes is used where it passes the same checks as what the rules make; where it does not,
the rules take its place.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ragassay.api import evaluate
from ragassay.core import (
    BudgetExhausted,
    Counts,
    Interrupted,
    Ledger,
    Part,
    Request,
    RunState,
    Sample,
    Score,
    Status,
)
from ragassay.judges.text_rules.abstention import declines
from ragassay.metrics.base import MetricBase, MetricFlow
from ragassay.metrics.declaration import Declaration
from ragassay.stress.distractors import MARK, Written
from ragassay.stress.rows import StressRow
from ragassay.stress.swaps import Change

FALSE_ANSWERS = 8
PASSAGES = 4
SHORTEST_PASSAGE, LONGEST_PASSAGE = 8, 200
"""Words of a passage that is used."""
_RUBRICS = {"false_answers": FALSE_ANSWERS, "topic_passages": PASSAGES}


@dataclass(frozen=True, slots=True)
class WrittenTexts(MetricBase):
    """What a writer writes for a row, as the parts of a Score. It measures nothing."""

    declaration: ClassVar[Declaration] = Declaration(
        name="stress_written",
        title="What a writer model wrote for a stress test.",
        formula="no value is meant by it",
        needs=("question", "reference"),
        rubrics=tuple(_RUBRICS),
        source="RagAssay",
        calls="2",
    )
    reference: ClassVar[str] = "ragassay.stress.writer:WRITTEN_TEXTS"

    @property
    def rubrics(self) -> tuple[str, ...]:
        """The rubrics that it asks."""
        return tuple(_RUBRICS)

    def flow(self, sample: Sample) -> MetricFlow:
        asked = {"question": sample.question or "", "response": sample.reference or ""}
        requests = []
        for rubric, number in _RUBRICS.items():
            requests.append(Request(rubric, {**asked, "count": str(number)}))
        judgments = yield tuple(requests)
        parts: list[Part] = []
        for rubric, judgment in zip(_RUBRICS, judgments, strict=True):
            if judgment.judged:
                parts += [Part(rubric, Status.JUDGED, text=text) for text in judgment.texts]
            else:
                parts.append(Part(rubric, judgment.status, reason=judgment.reason))
        return Score(
            metric=str(self),
            status=Status.JUDGED,
            value=1.0,
            counts=Counts.of(part.status for part in parts),
            parts=tuple(parts),
        )


WRITTEN_TEXTS = WrittenTexts()


@dataclass(frozen=True, slots=True)
class WriterResult:
    """What a writer made. by_row: id -> what passed the checks. asked: rows. refused: texts
    that did not pass. failed: rows for which nothing came that can be used. ledger: what it
    cost.
    """

    by_row: Mapping[str, Written]
    asked: int
    refused: int
    failed: int
    ledger: Ledger

    def note(self, writer: str) -> str:
        """One line for the report."""
        return (
            f"{writer} wrote for {self.asked - self.failed} of {self.asked} questions;"
            f" {self.refused} texts were refused by the checks, and rules took their place."
        )


def written(
    rows: Sequence[StressRow],
    writer: str,
    *,
    store: str | os.PathLike[str] | None,
    options: Mapping[str, Any],
) -> WriterResult:
    """Ask the writer for each row that has an answer. options: of `evaluate`, for its model. What
    was written before for the same question is not bought again. Raises BudgetExhausted E0604 at a
    cap, and as `evaluate`.
    """
    asked = [row for row in rows if row.answer is not None]
    samples = []
    for row in asked:
        assert row.answer is not None
        samples.append(
            Sample(row.id, question=row.question, reference=row.answer.text, cluster=row.cluster)
        )
    run = evaluate(
        samples,
        [WRITTEN_TEXTS],
        judge=writer,
        store=store,
        name=f"stress test: written by {writer}",
        **options,
    )
    with run:
        _raise_if_stopped(run.state, run.id, run.stop_reason)
        parts = {row.id: row.scores[0].parts if row.scores else () for row in run.rows()}
        ledger = run.ledger
    found: dict[str, Written] = {}
    refused = failed = 0
    for row in asked:
        made, bad = _checked(row, parts.get(row.id, ()))
        refused += bad
        if made.changes or made.passages:
            found[row.id] = made
        else:
            failed += 1
    return WriterResult(found, len(asked), refused, failed, ledger)


def _checked(row: StressRow, parts: Sequence[Part]) -> tuple[Written, int]:
    """What may be used of what was written for a row, and how much may not."""
    answers = _distinct(p.text for p in parts if p.kind == "false_answers" and p.text.strip())
    passages = _distinct(p.text for p in parts if p.kind == "topic_passages" and p.text.strip())
    good = [text for text in answers if _is_false_answer(row, text)]
    fit = [text for text in passages if _is_passage(row, text)]
    assert row.answer is not None
    changes = tuple(Change(row.answer.text, text, text) for text in good)
    refused = len(answers) - len(good) + len(passages) - len(fit)
    return Written(changes, tuple(fit)), refused


def _distinct(texts: Any) -> list[str]:
    unique: dict[str, str] = {}
    for text in texts:
        line = " ".join(text.split())
        unique.setdefault(line.casefold(), line)
    return list(unique.values())


def _is_false_answer(row: StressRow, text: str) -> bool:
    """Whether a text is another answer of about the same length, and not the right one."""
    answer = row.answer
    assert answer is not None
    if len(text.split()) > len(answer.text.split()) + 3 or declines(text):
        return False
    return not answer.leaks_in(text) and MARK not in text


def _is_passage(row: StressRow, text: str) -> bool:
    """Whether a text is a passage that does not give the answer away."""
    assert row.answer is not None
    if not SHORTEST_PASSAGE <= len(text.split()) <= LONGEST_PASSAGE or declines(text):
        return False
    return not row.answer.leaks_in(text) and MARK not in text


def _raise_if_stopped(state: RunState, run_id: str, why: str) -> None:
    if state is RunState.FINISHED:
        return
    if state is RunState.BUDGET:
        raise BudgetExhausted(
            "E0604",
            "A cap was reached before the writer was done.",
            where=f"run {run_id}",
            why=why,
            fix="the same command with a higher --max-calls or --max-cost goes on where it was",
        )
    raise Interrupted("Stopped: the same command goes on where it was")
