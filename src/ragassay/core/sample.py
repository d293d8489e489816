"""A row: a question, the contexts retrieved for it, the response, and what is known about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ragassay.core.fast_init import fast_init

EMPTY: Mapping[str, str] = {}


@fast_init
@dataclass(frozen=True, slots=True)
class Context:
    """One retrieved chunk (also called passage). Its rank is its place in `Sample.contexts`, from
    1.

    text: the chunk as the application saw it. id: the document id, where the application has one.
    score: the retriever's own score, kept and shown, never computed with.
    """

    text: str
    id: str | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class AppUsage:
    """What the application (not the judge) spent on the row. Unknown parts are None, never 0.

    Tokens are counts, cost is in US dollars, latency in seconds.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cost: float | None = None
    latency: float | None = None


@fast_init
@dataclass(frozen=True, slots=True)
class Sample:
    """One row to evaluate. Everything but the id is optional; a metric says which field it lacks.

    contexts: in rank order; None = the row says nothing about retrieval, () = nothing was
    retrieved. response: None = absent, "" = the application answered nothing. reference: a right
    answer. expected_facts: statements a right answer must hold. relevant_ids: document id -> grade
    (1 where ungraded; 0 = judged not relevant); None = unknown. slices: name -> value (query type,
    source). cluster: the query or document the row belongs to. labels: human labels, name -> value.
    answerable: whether the corpus can answer the question. feedback: how satisfied each user was
    who rated the answer, from 0 to 1; None where nobody did. error: what the application said when
    it failed on this row, None where it did not. line: where the row stood in its source: its
    line, or its place in an array or table, from 1 (0 = unknown).
    """

    id: str
    question: str | None = None
    contexts: tuple[Context, ...] | None = None
    response: str | None = None
    reference: str | None = None
    expected_facts: tuple[str, ...] | None = None
    relevant_ids: Mapping[str, float] | None = None
    guidelines: tuple[str, ...] = ()
    answerable: bool | None = None
    slices: Mapping[str, str] = field(default_factory=dict)
    cluster: str | None = None
    usage: AppUsage | None = None
    labels: Mapping[str, float | str] = field(default_factory=dict)
    error: str | None = None
    line: int = 0
    feedback: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that could not be read: a record beside the others, never a silent gap.

    id: the row's id where it could be read, else "line-N", or "row-N" where rows are counted by
    position. line: as of a Sample. counted_by: what it counts.
    code: key of the error catalogue. what / why / fix: as in RagAssayError.
    """

    id: str
    line: int
    code: str
    what: str
    why: str = ""
    fix: str = ""
    counted_by: str = "line"

    @property
    def place(self) -> str:
        """Where it stood in its source: "line 3", or "row 3" of an array or table."""
        return f"{'row' if self.counted_by == 'position' else 'line'} {self.line}"
