"""A judge whose verdicts are checked by another one, and marked where that one is sure of the
opposite.

The second judge changes no value: what disagrees may be either one's mistake. It marks rows that
people should look at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragassay.core import JudgeFlow, Judgment, Request, Spend, Status, digest
from ragassay.judges.base import Judge
from ragassay.judges.composed.cascade import confidence, rates
from ragassay.judges.composed.members import ask_members
from ragassay.judges.registry import RubricRegistry
from ragassay.judges.scale import Scale

DISPUTED = "disputed"
"""The flag of a verdict of which the second judge is sure that it is the wrong one."""
# Raised when the rule changes: verdicts given under the old one are then not reused.
_RULES = 2


@dataclass(frozen=True, slots=True)
class CheckedJudge:
    """A judge that gives the verdicts of `main`, flagged "disputed" where `check` says the opposite
    with a confidence of `threshold` or more.

    A rubric that `check` cannot answer, or that writes texts, is not checked; nor is a verdict that
    one of them has none of. What the calls cost is with the members' own Judgments, which are kept
    as well.
    """

    uri: str
    main: Judge
    check: Judge
    threshold: float
    rubrics: RubricRegistry

    @property
    def agreement(self) -> str:
        """The main judge's: its verdicts are not changed."""
        return self.main.agreement

    def rubric_version(self, rubric: str) -> str:
        """As the main judge says; raises as that one does."""
        return self.main.rubric_version(rubric)

    def fingerprint(self, rubric: str) -> str:
        """Hash of the rule, the threshold and both members' fingerprints. Raises as
        `rubric_version`.
        """
        main = self.main.fingerprint(rubric)
        if not rates(self.check, rubric, self.rubrics):
            return digest("checked", _RULES, main, None)
        check = (self.check.fingerprint(rubric), self.threshold)
        return digest("checked", _RULES, main, check)

    def groups(self, requests: Sequence[Request]) -> list[tuple[Request, ...]]:
        """The main judge's groups; the checking judge splits each of them again."""
        return self.main.groups(requests)

    def answer(self, requests: tuple[Request, ...]) -> JudgeFlow:
        """Both asked at once, then the main judge's verdicts, marked where they are disputed."""
        unique = tuple({request.key: request for request in requests}.values())
        rubric = unique[0].rubric
        fingerprint = self.fingerprint(rubric)
        ref = self.rubric_version(rubric)
        scale = self.rubrics.get(rubric).scale
        members = [self.main]
        if rates(self.check, rubric, self.rubrics):
            members.append(self.check)
        answers = yield from ask_members(members, unique)
        judgments: list[Judgment] = []
        for request in unique:
            judgment = answers[0].get(request.key)
            if judgment is None:
                reason = f"{self.main.uri} gave no verdict"
                judgment = Judgment(request.key, fingerprint, ref, Status.FAILED, reason=reason)
            judgment = replace(judgment, judge=fingerprint, rubric=ref, spend=Spend())
            second = answers[1].get(request.key) if len(answers) > 1 else None
            if scale is not None and second is not None:
                judgment = self._marked(judgment, second, scale)
            judgments.append(judgment)
        return tuple(judgments)

    def _marked(self, judgment: Judgment, second: Judgment, scale: Scale) -> Judgment:
        """The judgment, flagged where the second one says the opposite and is sure of it."""
        if not judgment.judged or judgment.passes is None:
            return judgment
        sure = confidence(second, scale)
        if sure is None or sure < self.threshold or second.passes is judgment.passes:
            return judgment
        verdict = "pass" if second.passes else "fail"
        doubt = (
            f"Disputed: {self.check.uri} says {verdict} with confidence {sure:.2f}."
            f" {second.rationale}"
        )
        rationale = doubt
        if judgment.rationale:
            rationale = f"{judgment.rationale}\n{doubt}"
        return replace(judgment, flags=(*judgment.flags, DISPUTED), rationale=rationale)
