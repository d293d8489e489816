"""A cascade: a cheap judge whose verdict counts where it is sure enough, else an expensive one.

The confidence from which it is comes from rows with human labels (`scoring.selective`): it is a
number of the set-up, and the cascade claims nothing for it on other data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ragassay.core import JudgeFlow, Judgment, Keep, Request, SetupError, Spend, Status, digest
from ragassay.judges.base import Judge
from ragassay.judges.composed.members import Answers, ask_members
from ragassay.judges.registry import RubricRegistry
from ragassay.judges.scale import Scale

ESCALATED = "escalated"
"""The flag of a verdict that the expensive judge gave."""
# Raised when the confidence or the rule changes: verdicts given under the old one are then not
# reused.
_RULES = 2


def confidence(judgment: Judgment, scale: Scale) -> float | None:
    """How sure a judge is of its pass or fail, in [0, 1]; None where it gave none.

    The probability it gives to the verdict it gave, where it has one. Else, on an ordered scale,
    the place of the rating among the k ratings of its side counted from the pass mark, over k: the
    ends of the scale have 1. A rating that is alone on its side (yes or no, categories) has None:
    there is nothing to go by.
    """
    if not judgment.judged or judgment.passes is None or judgment.rating is None:
        return None
    if judgment.probability is not None:
        return judgment.probability if judgment.passes else 1 - judgment.probability
    if scale.pass_mark is None or judgment.rating not in scale.ratings:
        return None
    place = scale.ratings.index(judgment.rating)
    mark = scale.ratings.index(scale.pass_mark)
    if place >= mark:
        distance, ratings_of_side = place - mark + 1, len(scale.points) - mark
    else:
        distance, ratings_of_side = mark - place, mark
    if ratings_of_side == 1:
        return None
    return distance / ratings_of_side


def rates(judge: Judge, rubric: str, rubrics: RubricRegistry) -> bool:
    """Whether the rubric has a scale and the judge answers it."""
    try:
        judge.rubric_version(rubric)
    except SetupError:
        return False
    return rubrics.get(rubric).scale is not None


@dataclass(frozen=True, slots=True)
class CascadeJudge:
    """A judge that asks `cheap`, and `expensive` where the cheap one's confidence is below
    `threshold` or it gave no verdict.

    Verdicts of the expensive one carry the flag "escalated". A rubric that the cheap one cannot
    answer, or that writes texts, of which no confidence is known, goes to the expensive one at
    once. What the calls cost is with the members' own Judgments, which are kept as well.
    """

    uri: str
    cheap: Judge
    expensive: Judge
    threshold: float
    rubrics: RubricRegistry

    @property
    def agreement(self) -> str:
        """What is known of its agreement with people."""
        return (
            "unmeasured: no human labels have been compared with this cascade; its threshold holds"
            " for rows like those it was certified on"
        )

    def rubric_version(self, rubric: str) -> str:
        """ "id@version" of the rubric. Raises SetupError E0203 for one that the expensive judge
        does not know.
        """
        return self.expensive.rubric_version(rubric)

    def fingerprint(self, rubric: str) -> str:
        """Hash of the rule, the threshold and both members' fingerprints. Raises as
        `rubric_version`.
        """
        expensive = self.expensive.fingerprint(rubric)
        if not rates(self.cheap, rubric, self.rubrics):
            return digest("cascade", _RULES, None, expensive)
        cheap = (self.cheap.fingerprint(rubric), self.threshold)
        return digest("cascade", _RULES, cheap, expensive)

    def groups(self, requests: Sequence[Request]) -> list[tuple[Request, ...]]:
        """The expensive judge's groups; the cheap judge splits each of them again."""
        return self.expensive.groups(requests)

    def answer(self, requests: tuple[Request, ...]) -> JudgeFlow:
        """The cheap one's verdicts settled as soon as they are there, then the rest asked of the
        expensive one.
        """
        unique = tuple({request.key: request for request in requests}.values())
        rubric = unique[0].rubric
        scale = self.rubrics.get(rubric).scale
        signature = _Signature(self.fingerprint(rubric), self.rubric_version(rubric))
        open_requests = list(unique)
        # Key of a Request -> what the cheap one said of it that was not enough.
        doubts: dict[str, str] = {}
        if rates(self.cheap, rubric, self.rubrics):
            assert scale is not None
            (answers,) = yield from ask_members((self.cheap,), unique)
            accepted = self._accepted(unique, answers, scale, signature, doubts)
            open_requests = [request for request in unique if request.key in doubts]
            if not open_requests:
                return tuple(accepted)
            # Stored before the expensive judge is asked: a kill meanwhile must not lose them.
            if accepted:
                yield Keep(tuple(accepted))
        (answers,) = yield from ask_members((self.expensive,), open_requests)
        return tuple(
            self._escalated(request, answers.get(request.key), scale, signature, doubts)
            for request in open_requests
        )

    def _accepted(
        self,
        requests: Sequence[Request],
        answers: Answers,
        scale: Scale,
        signature: _Signature,
        doubts: dict[str, str],
    ) -> list[Judgment]:
        """The cheap one's verdicts that are sure enough; `doubts` gets the rest."""
        accepted: list[Judgment] = []
        for request in requests:
            judgment = answers.get(request.key)
            certainty = None if judgment is None else confidence(judgment, scale)
            if judgment is not None and certainty is not None and certainty >= self.threshold:
                reason = (
                    f"Judged by {self.cheap.uri}, confidence {certainty:.2f} (enough from"
                    f" {self.threshold:g})."
                )
                accepted.append(signature.judgment(judgment, reason))
            elif certainty is None:
                doubts[request.key] = "without a verdict"
            else:
                doubts[request.key] = f"too unsure ({certainty:.2f})"
        return accepted

    def _escalated(
        self,
        request: Request,
        judgment: Judgment | None,
        scale: Scale | None,
        signature: _Signature,
        doubts: Mapping[str, str],
    ) -> Judgment:
        """The expensive one's verdict as the cascade's."""
        before = ""
        if request.key in doubts:
            before = f"; {self.cheap.uri} was {doubts[request.key]}"
        if judgment is None:
            reason = f"{self.expensive.uri} gave no verdict{before}"
            judgment = Judgment(
                request.key, signature.fingerprint, signature.ref, Status.FAILED, reason=reason
            )
        if scale is None:
            return replace(
                judgment, judge=signature.fingerprint, rubric=signature.ref, spend=Spend()
            )
        return signature.judgment(
            judgment, f"Judged by {self.expensive.uri}{before}.", (ESCALATED,)
        )


@dataclass(frozen=True, slots=True)
class _Signature:
    """What a Judgment of the cascade carries in place of the member's."""

    fingerprint: str
    ref: str

    def judgment(self, judgment: Judgment, reason: str, flags: tuple[str, ...] = ()) -> Judgment:
        """A member's Judgment as the cascade's: free, since the member's own has the cost."""
        rationale = reason
        if judgment.rationale:
            rationale = f"{reason}\n{judgment.rationale}"
        return replace(
            judgment,
            judge=self.fingerprint,
            rubric=self.ref,
            spend=Spend(),
            rationale=rationale,
            flags=(*judgment.flags, *flags),
        )
