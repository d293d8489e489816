"""A panel: several judges are asked, and the majority of those that answered decides.

A member without a verdict has no vote, and more than half of the members must have one. A tie is no
verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragassay.core import (
    REPAIRED,
    Evidence,
    JudgeFlow,
    Judgment,
    Request,
    SetupError,
    Spend,
    Status,
    digest,
    shorten,
)
from ragassay.judges.base import Judge
from ragassay.judges.composed.members import ask_members, groups_of_first_online
from ragassay.judges.registry import RubricRegistry
from ragassay.judges.scale import Rating, Scale

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
        """The members that answer this rubric; of a vote all.

        Raises SetupError E0203 where one of a vote cannot.
        """
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
        """ "id@version". Raises SetupError E0203 for a rubric that is not in the registry, or that
        a member cannot answer.
        """
        return self._asked(rubric)[0].rubric_version(rubric)

    def fingerprint(self, rubric: str) -> str:
        """Hash of the rule and the fingerprints of the members that are asked. Raises as
        `rubric_version`.
        """
        return digest(
            "panel", _RULES, [member.fingerprint(rubric) for member in self._asked(rubric)]
        )

    def groups(self, requests: Sequence[Request]) -> list[tuple[Request, ...]]:
        """The groups of the first member that is not offline; the others make their own."""
        return groups_of_first_online(self.members, requests)

    def answer(self, requests: tuple[Request, ...]) -> JudgeFlow:
        """All members asked at once, then one verdict for each Request."""
        unique = tuple({request.key: request for request in requests}.values())
        rubric = unique[0].rubric
        members = self._asked(rubric)
        scale = self.rubrics.get(rubric).scale
        ref = self.rubric_version(rubric)
        fingerprint = self.fingerprint(rubric)
        answers = yield from ask_members(members, unique)
        judgments: list[Judgment] = []
        for request in unique:
            votes: list[Vote] = []
            for member, answers_of_member in zip(members, answers, strict=True):
                votes.append((member.uri, answers_of_member.get(request.key)))
            judgment = _single_vote(votes[0]) if scale is None else verdict(votes, scale)
            judgments.append(
                replace(judgment, key=request.key, judge=fingerprint, rubric=ref, spend=Spend())
            )
        return tuple(judgments)


def _single_vote(vote: Vote) -> Judgment:
    uri, judgment = vote
    if judgment is not None:
        return judgment
    return Judgment("", "", "", Status.FAILED, reason=f"{uri} gave no verdict")


def verdict(votes: Sequence[Vote], scale: Scale) -> Judgment:
    """The panel's Judgment, without key, fingerprint and rubric; see `PanelJudge`."""
    usable = [
        judgment for _, judgment in votes if judgment is not None and _has_vote(judgment, scale)
    ]
    rationale = "\n".join(_line(uri, judgment) for uri, judgment in votes)
    lost = _why_no_verdict(votes, usable, rationale)
    if lost is not None:
        status, reason = lost
        return Judgment("", "", "", status, reason=reason, rationale=rationale)
    missing = len(votes) - len(usable)
    passing = _passing(usable)
    passes = 2 * passing > len(usable)
    winners = [judgment for judgment in usable if judgment.passes is passes]
    rating = _middle(winners, scale)
    without = f", {missing} gave no verdict" if missing else ""
    evidence: dict[Evidence, None] = {}
    for judgment in winners:
        evidence.update(dict.fromkeys(judgment.evidence))
    return Judgment(
        "",
        "",
        "",
        Status.JUDGED,
        rating=rating,
        value=scale.value(rating),
        probability=_mean_probability(usable),
        rationale=f"{passing} of {len(votes)} members pass it{without}.\n{rationale}",
        evidence=tuple(evidence),
        flags=(*_flags_of_most(winners), *_repairs(winners)),
        passes=passes,
        sources=_sources(winners),
    )


def _has_vote(judgment: Judgment, scale: Scale) -> bool:
    """Whether a member's Judgment is a vote."""
    return judgment.judged and judgment.passes is not None and judgment.rating in scale.ratings


def _passing(usable: Sequence[Judgment]) -> int:
    return sum(judgment.passes is True for judgment in usable)


def _why_no_verdict(
    votes: Sequence[Vote], usable: Sequence[Judgment], rationale: str
) -> tuple[Status, str] | None:
    """Why the panel has no verdict; None where it has one."""
    statuses = {Status.FAILED if judgment is None else judgment.status for _, judgment in votes}
    missing = len(votes) - len(usable)
    if Status.OVER_BUDGET in statuses:  # the missing member is asked when the run goes on
        reason = "a cap was reached before all members of the panel had judged"
        return Status.OVER_BUDGET, reason
    if not usable and len(statuses) == 1 and Status.JUDGED not in statuses:
        reason = f"no member of the panel gave a verdict: {shorten(rationale, _SHOWN)}"
        return statuses.pop(), reason
    if 2 * len(usable) <= len(votes):
        reason = (
            f"only {len(usable)} of {len(votes)} members of the panel gave a verdict:"
            f" {shorten(rationale, _SHOWN)}"
        )
        return Status.FAILED, reason
    passing = _passing(usable)
    if 2 * passing != len(usable):
        return None
    reason = f"the panel is tied, {passing} to {passing}"
    # With a member missing the tie may be broken when it is asked again; without, it is the panel's
    # answer.
    if missing:
        return Status.FAILED, f"{reason}, {missing} missing"
    return Status.ABSTAINED, reason


def _mean_probability(usable: Sequence[Judgment]) -> float | None:
    """The mean of the members' probabilities; None where one gave none."""
    probabilities: list[float] = []
    for judgment in usable:
        if judgment.probability is None:
            return None
        probabilities.append(judgment.probability)
    return sum(probabilities) / len(usable)


def _middle(winners: Sequence[Judgment], scale: Scale) -> Rating:
    """The median of the ratings, the lower one of two; of categories the most frequent one."""
    places: list[int] = []
    for judgment in winners:
        if judgment.rating is not None:
            places.append(scale.ratings.index(judgment.rating))
    if scale.pass_mark is not None:
        return scale.ratings[sorted(places)[(len(places) - 1) // 2]]
    counts = Counter(places)
    most_frequent = min(counts, key=lambda place: (-counts[place], place))
    return scale.ratings[most_frequent]


def _flags_of_most(winners: Sequence[Judgment]) -> tuple[str, ...]:
    """What more than half of the Judgments flag; not how their replies were read."""
    counts = Counter[str]()
    for judgment in winners:
        counts.update(dict.fromkeys(judgment.flags, 1))
        counts.subtract(judgment.reading)
    return tuple(flag for flag, count in counts.items() if 2 * count > len(winners))


def _repairs(winners: Sequence[Judgment]) -> list[str]:
    """What was repaired in any of the replies. A member without a rationale leaves the panel, whose
    rationale names its members, with one.
    """
    repairs: set[str] = set()
    for judgment in winners:
        repairs.update(flag for flag in judgment.reading if flag.startswith(REPAIRED))
    return sorted(repairs)


def _sources(winners: Sequence[Judgment]) -> tuple[int, ...] | None:
    """The contexts that at least half of those name that name any; None where nobody was asked for
    them.
    """
    lists = [judgment.sources for judgment in winners if judgment.sources is not None]
    if not lists:
        return None
    counts = Counter[int]()
    for sources in lists:
        counts.update(sources)
    if not counts:
        return ()
    named = sorted(source for source, count in counts.items() if 2 * count >= len(lists))
    return tuple(named) or None


def _line(uri: str, judgment: Judgment | None) -> str:
    """One member's vote in words."""
    if judgment is None:
        return f"[{uri}] no verdict"
    if not judgment.judged:
        return f"[{uri}] {judgment.status.value}: {shorten(judgment.reason, _SHOWN)}"
    vote = "passes" if judgment.passes else "fails"
    return f"[{uri}] {judgment.rating}, {vote}: {shorten(judgment.rationale, _SHOWN)}"
