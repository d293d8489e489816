"""The judge: it answers Requests, as a flow over model Calls. Judges compose: one interface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ragassay.core import JudgeFlow, Request


class Judge(Protocol):
    """Answers Requests.

    uri: how the user named it ("offline", "openai:MODEL"). `agreement`: one sentence on its
    measured agreement with people, or "unmeasured on data like yours".
    """

    @property
    def uri(self) -> str: ...

    @property
    def agreement(self) -> str: ...

    def rubric_version(self, rubric: str) -> str:
        """ "id@version" of the rubric it would use. Raises SetupError for a rubric it does not
        know.
        """
        ...

    def fingerprint(self, rubric: str) -> str:
        """Hash of what determines its answers for this rubric: rubric text, model, parameters."""
        ...

    def groups(self, requests: Sequence[Request]) -> list[tuple[Request, ...]]:
        """Split Requests into groups that are answered together (same rubric, shared inputs, within
        limits).

        Order is kept inside a group; every Request is in exactly one group; no group is empty.
        """
        ...

    def answer(self, requests: tuple[Request, ...]) -> JudgeFlow:
        """The flow for one group. Every Request is settled exactly once, also when calls fail."""
        ...
