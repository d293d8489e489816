"""The result of a guard: what it decided, on which score, how long it took, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Decision = Literal["pass", "block"]


@dataclass(frozen=True, slots=True)
class ChunkResult:
    """What a context filter decided about one chunk. position: its place among the chunks that
    were given, from 0. score: None where the judge gave none; then reason says why and on_error
    decided.
    """

    position: int
    verdict: Decision
    score: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardResult:
    """What a guard decided.

    guard: "context_filter", "block_input", "block_output" or "stream". metric: its printed name.
    verdict: "block" where the text is held back (of a context filter: where at least one chunk
    is). judged: whether a score decided; else on_error did, or there was nothing to judge. score:
    the metric's value (of a context filter: the mean over the judged chunks), None without one.
    mark: what the score had to reach, in words. latency_ms: milliseconds from the call of the
    guard to its decision. summary: why, in words that hold nothing of the texts: for users and
    traces. reason: the summary with what the judge says, which may quote them. shadow: the guard
    only looks on, and nothing was held back. chunks: one for each chunk of a context filter, in the
    order in which they were given.
    """

    guard: str
    metric: str
    verdict: Decision
    judged: bool
    score: float | None
    mark: str
    latency_ms: float
    summary: str
    reason: str
    shadow: bool = False
    chunks: tuple[ChunkResult, ...] = ()

    @property
    def blocked(self) -> bool:
        """Whether anything is held back: never in shadow mode."""
        return self.verdict == "block" and not self.shadow

    @property
    def kept(self) -> tuple[int, ...]:
        """Positions of the chunks that are passed on, in the order in which they were given."""
        return tuple([c.position for c in self.chunks if self.shadow or c.verdict == "pass"])


class Blocked(Exception):
    """A guard held back a question or an answer. result: why.

    No fault of the application's: it is raised so that nothing can go on with the text by mistake.
    `instead=` of the guard returns another value in place of raising it. Its message holds nothing
    of the text: it may come to users and into logs.
    """

    def __init__(self, result: GuardResult) -> None:
        super().__init__(f"{result.guard} with {result.metric}: {result.summary}")
        self.result = result

    def __reduce__(self) -> tuple[object, ...]:
        return (Blocked, (self.result,))
