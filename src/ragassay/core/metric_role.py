"""The part that a metric plays in the diagnosis, as data.

A metric declares it. The diagnosis is given the roles of the metrics beside their scores, and names
no metric: a new one takes part through its declaration alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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

    # A pass: the contexts hold what an answer needs. That they are about the question is less.
    EVIDENCE_PRESENT = "evidence_present"
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
class Showing:
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
    shows: tuple[Showing, ...] = ()


NO_ROLE = Role()
"""The role of a metric that declares none: its failure is a cause of its own kind, named last."""
