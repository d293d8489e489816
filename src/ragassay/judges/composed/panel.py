"""How do several judges give one verdict? All are asked; the majority of those that answered
decides.

A member without a verdict has no vote, and more than half of the members must have one. A tie is no
verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragassay.core import JudgeFlow, Judgment, Request, SetupError, Spend, Status, digest, shorten
from ragassay.judges.base import Judge
from ragassay.judges.composed.members import ask_members, batches_of_first_online
from ragassay.judges.registry import RubricRegistry
from ragassay.judges.scale import Scale

# Raised when the rule of voting changes: verdicts given under the old one are then not reused.
_RULES = 1
_SHOWN = 600

Vote = tuple[str, Judgment | None]
"""A member's URI and its Judgment, None where it gave none."""


@dataclass(frozen=True, slots=True)
class PanelJudge:
    """A judge that asks two judges or more, in the order of `members`, and takes the majority.

    Pass or fail is the majority of the votes. The rating is the median of the ratings on the side
    that won, the lower one of two in the middle; of categories the one named most often there. A
    rubric that writes texts cannot be voted on: the first member that knows it answers it alone.
    What the members' calls cost is with the members' own Judgments, which are kept as well.
    """

    uri: str
    members: tuple[Judge, ...]
    rubrics: RubricRegistry

    @property
    def agreement(self) -> str:
        """What is known of its agreement with people."""
        return (
            f"unmeasured: no human labels have been compared with this panel of {len(self.members)}"
        )

    def _asked(self, rubric: str) -> tuple[Judge, ...]:
        """The members that answer this rubric. Raises SetupError E0203 where one of a vote cannot."""
        if self.rubrics.get(rubric).scale is not None:
            for member in self.members:
                member.rubric_version(rubric)
            return self.members
        for member in self.members[:-1]:
            try:
                member.rubric_version(rubric)
            except SetupError:
                continue
            return (member,)
        return self.members[-1:]

    def rubric_version(self, rubric: str) -> str:
        """ "id@version". Raises SetupError E0203 for a rubric that is not in the registry, or that a
        member cannot answer.
        """
        return self._asked(rubric)[0].rubric_version(rubric)

    def fingerprint(self, rubric: str) -> str:
        """Hash of the rule and the fingerprints of the members that are asked. Raises as
        `rubric_version`.
        """
        return digest(
            "panel", _RULES, [member.fingerprint(rubric) for member in self._asked(rubric)]
        )

    def batches(self, requests: Sequence[Request]) -> list[tuple[Request, ...]]:
        """The batches of the first member that is not offline; the others make their own of each."""
        return batches_of_first_online(self.members, requests)

    def answer(self, requests: tuple[Request, ...]) -> JudgeFlow:
        """All members asked at once, then one verdict for each Request."""
        unique = tuple({request.key: request for request in requests}.values())
        members, scale = self._asked(unique[0].rubric), self.rubrics.get(unique[0].rubric).scale
        ref, fingerprint = self.rubric_version(unique[0].rubric), self.fingerprint(unique[0].rubric)
        answers = yield from ask_members(members, unique)
        out = []
        for request in unique:
            votes = [
                (member.uri, own.get(request.key))
                for member, own in zip(members, answers, strict=True)
            ]
            judgment = _alone(votes[0]) if scale is None else verdict(votes, scale)
            out.append(
                replace(judgment, key=request.key, judge=fingerprint, rubric=ref, spend=Spend())
            )
        return tuple(out)


def _alone(vote: Vote) -> Judgment:
    return vote[1] or Judgment("", "", "", Status.FAILED, reason=f"{vote[0]} gave no verdict")


def verdict(votes: Sequence[Vote], scale: Scale) -> Judgment:
    """The panel's Judgment, without key, fingerprint and rubric; see `PanelJudge`."""
    cast = [
        (uri, j)
        for uri, j in votes
        if j is not None and j.judged and j.passes is not None and j.rating in scale.ratings
    ]
    statuses = {Status.FAILED if j is None else j.status for _, j in votes}
    said = "\n".join(_line(uri, judgment) for uri, judgment in votes)
    missing = len(votes) - len(cast)

    def lost(status: Status, reason: str) -> Judgment:
        return Judgment("", "", "", status, reason=reason, rationale=said)

    if Status.OVER_BUDGET in statuses:  # the missing member is asked when the run goes on
        return lost(
            Status.OVER_BUDGET, "a cap was reached before all members of the panel had judged"
        )
    if not cast and len(statuses) == 1 and Status.JUDGED not in statuses:
        return lost(
            statuses.pop(), f"no member of the panel gave a verdict: {shorten(said, _SHOWN)}"
        )
    if 2 * len(cast) <= len(votes):
        reason = (
            f"only {len(cast)} of {len(votes)} members of the panel gave a verdict:"
            f" {shorten(said, _SHOWN)}"
        )
        return lost(Status.FAILED, reason)
    passing = sum(j.passes is True for _, j in cast)
    if 2 * passing == len(cast):
        reason = f"the panel is tied, {passing} to {passing}"
        # With a member missing the tie may be broken when it is asked again; without, it is the
        # panel's answer.
        return lost(
            Status.FAILED if missing else Status.ABSTAINED,
            reason + (f", {missing} missing" if missing else ""),
        )
    passes = 2 * passing > len(cast)
    winners = [j for _, j in cast if j.passes is passes]
    rating = _middle(winners, scale)
    probabilities = [j.probability for _, j in cast]
    return Judgment(
        "",
        "",
        "",
        Status.JUDGED,
        rating=rating,
        value=scale.value(rating),
        probability=(
            None
            if None in probabilities
            else sum(p for p in probabilities if p is not None) / len(cast)
        ),
        rationale=(
            f"{passing} of {len(votes)} members pass"
            f" it{f', {missing} gave no verdict' if missing else ''}.\n{said}"
        ),
        evidence=tuple(dict.fromkeys(e for j in winners for e in j.evidence)),
        flags=_most([j.flags for j in winners]),
        passes=passes,
        sources=_sources(winners),
    )


def _middle(winners: Sequence[Judgment], scale: Scale) -> int | str:
    named = [scale.ratings.index(j.rating) for j in winners if j.rating is not None]
    if scale.pass_mark is not None:
        return scale.ratings[sorted(named)[(len(named) - 1) // 2]]
    counted = Counter(named)
    return scale.ratings[min(counted, key=lambda at: (-counted[at], at))]


def _most(lists: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """What more than half of the lists hold."""
    counted = Counter(word for words in lists for word in dict.fromkeys(words))
    return tuple(word for word, n in counted.items() if 2 * n > len(lists))


def _sources(winners: Sequence[Judgment]) -> tuple[int, ...] | None:
    """The contexts that at least half of those name that name any; None where nobody was asked for
    them.
    """
    named = [j.sources for j in winners if j.sources is not None]
    if not named:
        return None
    counted = Counter(source for sources in named for source in sources)
    return tuple(sorted(source for source, n in counted.items() if 2 * n >= len(named))) or (
        () if not counted else None
    )


def _line(uri: str, judgment: Judgment | None) -> str:
    if judgment is None:
        return f"[{uri}] no verdict"
    if not judgment.judged:
        return f"[{uri}] {judgment.status.value}: {shorten(judgment.reason, _SHOWN)}"
    vote = "passes" if judgment.passes else "fails"
    return f"[{uri}] {judgment.rating}, {vote}: {shorten(judgment.rationale, _SHOWN)}"
