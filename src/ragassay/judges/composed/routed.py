"""A judge that is a different one for each rubric, and one judge to the rest of the program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragassay.core import JudgeFlow, Request
from ragassay.judges.base import Judge


@dataclass(frozen=True, slots=True)
class RoutedJudge:
    """A main judge, and others for single rubrics (such as the encoder for "similarity").

    main: named in reports, and asked everything that is not routed. others: rubric id -> the judge
    that answers it. Each Judgment carries the fingerprint of the judge that gave it, so that a run
    with another main judge reuses the rest.
    """

    main: Judge
    others: Mapping[str, Judge]

    @property
    def uri(self) -> str:
        """The main judge's."""
        return self.main.uri

    @property
    def agreement(self) -> str:
        """The main judge's."""
        return self.main.agreement

    def _of(self, rubric: str) -> Judge:
        return self.others.get(rubric, self.main)

    def rubric_version(self, rubric: str) -> str:
        """As the judge says that answers this rubric; raises as that one does."""
        return self._of(rubric).rubric_version(rubric)

    def fingerprint(self, rubric: str) -> str:
        """As the judge says that answers this rubric; raises as that one does."""
        return self._of(rubric).fingerprint(rubric)

    def groups(self, requests: Sequence[Request]) -> list[tuple[Request, ...]]:
        """The groups of each judge over the Requests that are its own, in order; the first
        Request's judge comes first.
        """
        requests_by_judge: dict[int, tuple[Judge, list[Request]]] = {}
        for request in requests:
            judge = self._of(request.rubric)
            requests_by_judge.setdefault(id(judge), (judge, []))[1].append(request)
        groups: list[tuple[Request, ...]] = []
        for judge, requests_of_judge in requests_by_judge.values():
            groups += judge.groups(requests_of_judge)
        return groups

    def answer(self, requests: tuple[Request, ...]) -> JudgeFlow:
        """The flow of the judge that answers these Requests, which are one of its groups."""
        return self._of(requests[0].rubric).answer(requests)
