"""A request: one thing to ask about one row, a rubric and its inputs and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ragassay.core.fast_init import fast_init
from ragassay.core.fingerprint import digest

Input = str | tuple[str, ...]


@fast_init
@dataclass(frozen=True, slots=True)
class Request:
    """One thing to ask a judge.

    rubric: the rubric's id without version ("groundedness"); the judge knows which file that is.
    inputs: placeholder -> text, or texts in order ("contexts"). Two Requests with equal content
    are one Request: the runner asks once, whichever rows and metrics want it.
    """

    rubric: str
    inputs: Mapping[str, Input]
    _key: str = field(default="", init=False, repr=False, compare=False)

    @property
    def key(self) -> str:
        """Content hash of the Request (hex, 128 bit); independent of the row and of the judge."""
        if not self._key:  # asked for many times a Request, and contexts are long
            object.__setattr__(self, "_key", digest(self.rubric, dict(self.inputs)))
        return self._key

    def text(self, name: str) -> str:
        """The input `name`, which must be a single text."""
        value = self.inputs[name]
        if not isinstance(value, str):
            raise TypeError(f"input {name!r} of {self.rubric} is a list of texts")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """The input `name` as a tuple (a single text becomes a tuple of one)."""
        value = self.inputs[name]
        return (value,) if isinstance(value, str) else value
