"""The score of one row on a metric: a value, or its absence with the reason, and its evidence."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from ragassay.core.display import Displayed
from ragassay.core.fast_init import fast_init
from ragassay.core.judgment import Evidence, Status


class Verdict(StrEnum):
    """A Score under its pass mark."""

    PASS = "pass"
    FAIL = "fail"
    UNDECIDED = "undecided"  # it should have been judged and was not, or too little of it was


@fast_init
@dataclass(frozen=True, slots=True)
class Part:
    """One claim, chunk or statement inside a Score.

    kind: "claim" (of the response), "chunk", "statement" (of the reference, or a rating of the
    whole response), "guideline", "entity", "citation" or "question". text: the claim; "" where
    start/end locate it in the response. start, end: character offsets into the response (claims
    found there), else None. context: index of the chunk (kind "chunk"), else None. value in [0, 1]
    or None. passed: under the part's pass mark. rating: on the rubric's scale. sources: indices of
    the contexts that support it. The rest is carried over from the Judgment.
    """

    kind: str
    status: Status
    text: str = ""
    start: int | None = None
    end: int | None = None
    context: int | None = None
    rating: float | str | None = None
    value: float | None = None
    passed: bool | None = None
    probability: float | None = None
    weight: float | None = None
    rationale: str = ""
    evidence: tuple[Evidence, ...] = ()
    flags: tuple[str, ...] = ()
    reason: str = ""
    key: str = ""
    sources: tuple[int, ...] | None = None


@fast_init
@dataclass(frozen=True, slots=True)
class Counts:
    """How many things were asked, by the status of the answers. asked = judged + unjudged ones."""

    asked: int = 0
    judged: int = 0
    abstained: int = 0
    unparsed: int = 0
    refused: int = 0
    failed: int = 0
    over_budget: int = 0

    @property
    def coverage(self) -> float | None:
        """judged / asked; None when nothing was asked."""
        return self.judged / self.asked if self.asked else None

    @classmethod
    def of(cls, statuses: Iterable[Status]) -> Counts:
        """Count statuses; NOT_APPLICABLE is not asked."""
        asked = [status for status in statuses if status is not Status.NOT_APPLICABLE]
        judged = asked.count(Status.JUDGED)
        if judged == len(asked):  # as nearly always
            return cls(judged, judged)
        return cls(
            asked=len(asked), **{status.value: count for status, count in Counter(asked).items()}
        )

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.asked + other.asked,
            self.judged + other.judged,
            self.abstained + other.abstained,
            self.unparsed + other.unparsed,
            self.refused + other.refused,
            self.failed + other.failed,
            self.over_budget + other.over_budget,
        )


def _is_place(part: Part) -> bool:
    """Whether the part is a claim that is only known by its place in the response."""
    return part.kind == "claim" and not part.text and part.start is not None


@fast_init
@dataclass(frozen=True, slots=True)
class Score(Displayed):
    """A metric's value for one Sample.

    metric: the metric's printed name with its parameters ("groundedness"). value: in the metric's
    range (mostly [0, 1]) or None. status: JUDGED when there is a value, else why not; reason: in
    words, naming the missing field when NOT_APPLICABLE. verdict: None when not applicable or when
    the metric has no pass mark. pass_mark: the mark, shown with the verdict. extra: further figures
    of the same metric, such as the maximum. flags: e.g. "abstention", "partial" (judged < asked).
    """

    metric: str
    status: Status
    value: float | None = None
    reason: str = ""
    verdict: Verdict | None = None
    pass_mark: float | None = None
    counts: Counts = Counts()
    parts: tuple[Part, ...] = ()
    rationale: str = ""
    flags: tuple[str, ...] = ()
    extra: Mapping[str, float] = field(default_factory=dict)

    def with_claims(self, response: str | None) -> Score:
        """The score with the words of its claims, which a stored one takes from the response."""
        if not response or not any(_is_place(part) for part in self.parts):
            return self
        parts = []
        for part in self.parts:
            text = response[part.start : part.end] if _is_place(part) else part.text
            parts.append(replace(part, text=text))
        return replace(self, parts=tuple(parts))

    @property
    def probability(self) -> float | None:
        """The mean probability that the judge gave to the parts; None where it gave none."""
        given = [part.probability for part in self.parts if part.probability is not None]
        return math.fsum(given) / len(given) if given else None
