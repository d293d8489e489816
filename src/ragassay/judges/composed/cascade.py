"""When is a cheap judge's verdict enough? Where it is confident enough; the rest is asked of an
expensive one.

The confidence from which it is comes from rows with human labels (`scoring.selective`): it is a
number of the set-up, and the cascade claims nothing for it on other data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragassay.core import JudgeFlow, Judgment, Keep, Request, SetupError, Spend, Status, digest
from ragassay.judges.base import Judge
from ragassay.judges.composed.members import ask_members
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
    at, mark = scale.ratings.index(judgment.rating), scale.ratings.index(scale.pass_mark)
    place, side = (at - mark + 1, len(scale.points) - mark) if at >= mark else (mark - at, mark)
    return place / side if side > 1 else None


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
        last = self.expensive.fingerprint(rubric)
        first = (
            (self.cheap.fingerprint(rubric), self.threshold)
            if rates(self.cheap, rubric, self.rubrics)
            else None
        )
        return digest("cascade", _RULES, first, last)

    def batches(self, requests: Sequence[Request]) -> list[tuple[Request, ...]]:
        """The expensive one's batches; the cheap one makes its own of each."""
        return self.expensive.batches(requests)

    def answer(self, requests: tuple[Request, ...]) -> JudgeFlow:
        """The cheap one's verdicts settled as soon as they are there, then the rest asked of the
        expensive one.
        """
        unique = tuple({request.key: request for request in requests}.values())
        rubric = unique[0].rubric
        fingerprint, ref, scale = (
            self.fingerprint(rubric),
            self.rubric_version(rubric),
            self.rubrics.get(rubric).scale,
        )

        def own(judgment: Judgment, why: str, flags: tuple[str, ...] = ()) -> Judgment:
            said = f"{why}\n{judgment.rationale}" if judgment.rationale else why
            return replace(
                judgment,
                judge=fingerprint,
                rubric=ref,
                spend=Spend(),
                rationale=said,
                flags=(*judgment.flags, *flags),
            )

        left, sure = list(unique), dict[str, str]()
        if rates(self.cheap, rubric, self.rubrics):
            assert scale is not None
            (first,) = yield from ask_members((self.cheap,), unique)
            taken, left = list[Judgment](), []
            for request in unique:
                judgment = first.get(request.key)
                found = None if judgment is None else confidence(judgment, scale)
                if judgment is not None and found is not None and found >= self.threshold:
                    why = (
                        f"Judged by {self.cheap.uri}, confidence {found:.2f} (enough from"
                        f" {self.threshold:g})."
                    )
                    taken.append(own(judgment, why))
                else:
                    left.append(request)
                    sure[request.key] = (
                        "without a verdict" if found is None else f"too unsure ({found:.2f})"
                    )
            if not left:
                return tuple(taken)
            if taken:
                yield Keep(tuple(taken))
        (last,) = yield from ask_members((self.expensive,), left)
        out = []
        for request in left:
            judgment = last.get(request.key)
            before = f"; {self.cheap.uri} was {sure[request.key]}" if request.key in sure else ""
            if judgment is None:
                reason = f"{self.expensive.uri} gave no verdict{before}"
                judgment = Judgment(request.key, fingerprint, ref, Status.FAILED, reason=reason)
            if scale is None:
                out.append(replace(judgment, judge=fingerprint, rubric=ref, spend=Spend()))
            else:
                out.append(own(judgment, f"Judged by {self.expensive.uri}{before}.", (ESCALATED,)))
        return tuple(out)
