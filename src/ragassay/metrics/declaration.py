"""A metric as data: what it is called, needs, measures and means, apart from whoever computes it.

Reports, diagnosis, the default set and the pages of the documentation read it, so that a new metric
is one file and no list of names elsewhere has to learn of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Area(StrEnum):
    """The part of the application that a metric measures."""

    RETRIEVAL = "retrieval"
    RESPONSE = "response"
    OPERATION = "operation"


class Stage(StrEnum):
    """The step whose failure a metric shows, in causal order; OTHER has no place in that order."""

    APPLICATION = "application"
    RETRIEVAL = "retrieval"
    SUPPORT = "support"
    ANSWER = "answer"
    SAFETY = "safety"
    GUIDELINES = "guidelines"
    OTHER = "other"


class Shown(StrEnum):
    """What a metric's scores show of the row, for the rules of the diagnosis to read."""

    EVIDENCE_PRESENT = "evidence_present"  # a pass: the contexts hold what an answer needs
    REFERENCE_SUPPORTED = "reference_supported"  # a pass: the contexts support the reference
    RELEVANT_CHUNKS = "relevant_chunks"  # which chunks are relevant
    DOCUMENTS_RETRIEVED = "documents_retrieved"  # whether known documents were retrieved
    SUPPORTED_CLAIMS = "supported_claims"  # which claims the contexts support
    SUPPORTED_SHARE = "supported_share"  # how many claims the contexts support
    TRUE_CLAIMS = "true_claims"  # which claims the reference states, and how much of it
    INVENTED_SHARE = "invented_share"  # how many claims nothing states
    KNOWN_SHARE = "known_share"  # how many claims are right and in no chunk
    MISLED_SHARE = "misled_share"  # how many claims are wrong and from a chunk
    EVIDENCE_USED = "evidence_used"  # how much of the retrieved evidence the answer uses
    ANSWER_RIGHT = "answer_right"  # whether the answer as a whole is right
    ANSWER_RELEVANT = "answer_relevant"  # whether it answers the question that was asked
    DECLINED = "declined"  # whether the response declines to answer


@dataclass(frozen=True, slots=True)
class Evidence:
    """One thing that a metric shows. place: which metric is read first where several show it."""

    shown: Shown
    place: int = 1


@dataclass(frozen=True, slots=True)
class Role:
    """What a metric means to the diagnosis.

    stage: the step whose failure it shows. place: its place in causal order among all metrics; the
    numbers leave room between them. decides: where it gives a verdict, the other metrics of its
    stage only follow. cause: the root cause that its failure has; cause_at_zero: the one at the
    value 0, where that differs. needs_answer: it says nothing about a question that has no answer,
    once the response declines. yields_to: metrics whose pass outranks its failure. shows: what its
    scores show of the row.
    """

    stage: Stage = Stage.OTHER
    place: int = 0
    decides: bool = False
    cause: str = "other"
    cause_at_zero: str = ""
    needs_answer: bool = False
    yields_to: tuple[str, ...] = ()
    shows: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class PartWords:
    """How reports word the parts of one kind: a part that passes, one that fails, and the title of
    the section that lists them ("" where they are listed elsewhere).
    """

    kind: str
    passed: str
    failed: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What the quantity is called in another tool, and how the number there differs ("" = the same
    quantity).
    """

    tool: str
    name: str
    differs: str = ""


@dataclass(frozen=True, slots=True)
class Declaration:
    """A metric as data.

    title: one line. needs: Sample fields without which it is not applicable; "a|b" = one of them.
    area: what it measures. level: "row", "claim" or "chunk". low, high: the range (high None =
    unbounded). higher_is_better: None where neither end is. unit: "" for ratios, else "USD", "s",
    "tokens". judged: whether it asks a judge. rubrics: the ones it asks. source: paper or standard.
    edges: one sentence an edge case. calls: LLM calls a row, in words. default: its place among the
    metrics measured when nothing is asked for, None where it is not one of them. mark_of: what a
    pass mark is compared with, where that is not the row's value ("of claims"). mark_words: marks
    that reports word in a way of their own. part_words: how reports word its parts. role: what it
    means to the diagnosis. elsewhere: the names of other tools; `aka` lists them in short.
    """

    name: str
    title: str
    formula: str
    needs: tuple[str, ...]
    area: Area = Area.RESPONSE
    level: str = "row"
    low: float = 0.0
    high: float | None = 1.0
    higher_is_better: bool | None = True
    unit: str = ""
    judged: bool = True
    rubrics: tuple[str, ...] = ()
    source: str = ""
    edges: tuple[str, ...] = ()
    calls: str = ""
    default: int | None = None
    mark_of: str = ""
    mark_words: tuple[tuple[float, str], ...] = ()
    part_words: tuple[PartWords, ...] = ()
    role: Role = Role()
    elsewhere: tuple[Elsewhere, ...] = ()

    @property
    def aka(self) -> tuple[str, ...]:
        """ "name (tool)" of every name elsewhere."""
        return tuple(f"{other.name} ({other.tool})" for other in self.elsewhere)
