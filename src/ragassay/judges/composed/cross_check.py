"""Is a judge's verdict strongly doubted by another one? The verdict stands; where the other is sure
of the opposite it says so.

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
        own = self.main.fingerprint(rubric)
        by = (
            (self.check.fingerprint(rubric), self.threshold)
            if rates(self.check, rubric, self.rubrics)
            else None
        )
        return digest("checked", _RULES, own, by)

    def batches(self, requests: Sequence[Request]) -> list[tuple[Request, ...]]:
        """The main judge's batches; the other one makes its own of each."""
        return self.main.batches(requests)

    def answer(self, requests: tuple[Request, ...]) -> JudgeFlow:
        """Both asked at once, then the main judge's verdicts, marked where they are disputed."""
        unique = tuple({request.key: request for request in requests}.values())
        rubric = unique[0].rubric
        fingerprint, ref, scale = (
            self.fingerprint(rubric),
            self.rubric_version(rubric),
            self.rubrics.get(rubric).scale,
        )
        members = (
            (self.main, self.check) if rates(self.check, rubric, self.rubrics) else (self.main,)
        )
        answers = yield from ask_members(members, unique)
        out = []
        for request in unique:
            judgment = answers[0].get(request.key) or Judgment(
                request.key,
                fingerprint,
                ref,
                Status.FAILED,
                reason=f"{self.main.uri} gave no verdict",
            )
            judgment = replace(judgment, judge=fingerprint, rubric=ref, spend=Spend())
            other = answers[1].get(request.key) if len(answers) > 1 else None
            if (
                scale is not None
                and other is not None
                and judgment.judged
                and judgment.passes is not None
            ):
                sure = confidence(other, scale)
                if (
                    sure is not None
                    and other.passes is not judgment.passes
                    and sure >= self.threshold
                ):
                    verdict = "pass" if other.passes else "fail"
                    doubt = (
                        f"Disputed: {self.check.uri} says {verdict} with confidence {sure:.2f}."
                        f" {other.rationale}"
                    )
                    judgment = replace(
                        judgment,
                        flags=(*judgment.flags, DISPUTED),
                        rationale=f"{judgment.rationale}\n{doubt}" if judgment.rationale else doubt,
                    )
            out.append(judgment)
        return tuple(out)
