"""The measures of shared wording: they compare the response with the reference, and ask nothing."""

from __future__ import annotations

from dataclasses import replace

from ragassay.core import Sample, Score, Status, Verdict
from ragassay.metrics.base import MetricBase, MetricFlow
from ragassay.metrics.declaration import Declaration, Elsewhere
from ragassay.metrics.reduction import EMPTY, blank

MAX_CHARS = 1_000_000
"""Longer texts are not compared: no answer has 200,000 words, and the n-grams of one would fill the
memory.
"""
NEEDS = ("response", "reference")
EDGE_CASES = (
    "the response is empty: 0, flag empty_response",
    "the reference holds no word: not applicable",
    f"a text of more than {MAX_CHARS:,} characters: failed",
)


def declare(
    name: str,
    title: str,
    formula: str,
    source: str,
    *elsewhere: Elsewhere,
    edge_cases: tuple[str, ...] = (),
) -> Declaration:
    """The declaration of a measure of shared wording."""
    return Declaration(
        name=name,
        title=title,
        formula=formula,
        needs=NEEDS,
        judged=False,
        source=source,
        edge_cases=(*EDGE_CASES, *edge_cases),
        calls="none",
        elsewhere=elsewhere,
    )


class Lexical(MetricBase):
    """A measure of response and reference; no verdict but where `mark` says from where the row
    passes.
    """

    def measure(self, response: str, reference: str) -> float | None:
        """The value in [0, 1]; None when the reference holds nothing to find."""
        raise NotImplementedError

    def mark(self) -> float | None:
        """The value from which the row passes, or None."""
        return None

    def flow(self, sample: Sample) -> MetricFlow:
        absent = self.missing(sample)
        if absent is not None:
            return absent
        response, reference = sample.response or "", sample.reference or ""
        if too_long := longer_than_compared(response, reference):
            return Score(metric=str(self), status=Status.FAILED, reason=too_long)
        value = self.measure(response, reference)
        if value is None:
            return self.not_applicable("the reference holds no word")
        score = Score(
            metric=str(self),
            status=Status.JUDGED,
            value=value,
            flags=(EMPTY,) if blank(response) else (),
        )
        mark = self.mark()
        if mark is None:
            return score
        return replace(
            score, verdict=Verdict.PASS if value >= mark else Verdict.FAIL, pass_mark=mark
        )
        yield  # asks nothing, and is a flow all the same


def longer_than_compared(response: str, reference: str) -> str:
    """Why the two texts are not compared, "" where they are."""
    for name, text in (("response", response), ("reference", reference)):
        if len(text) > MAX_CHARS:
            return f"the {name} has more than {MAX_CHARS:,} characters, the most that are compared"
    return ""
