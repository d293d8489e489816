"""Counterfactual robustness: what the system does where its passages say something false.

It is asked without passages first: what it then knows is what it may hold against them. A declared
policy says which behaviour is fine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ragassay.stress.figures import Rate, rate
from ragassay.stress.levels import CLOSED, SHARES, Share
from ragassay.stress.outcomes import Outcome, Outcomes
from ragassay.stress.responses import Manner


class Follows(StrEnum):
    """What a response follows."""

    CONTEXT = "the false passages"
    PRIOR = "the true answer"
    FLAGS = "flags the conflict"
    BOTH = "gives both"
    ABSTAINS = "abstains"
    OTHER = "something else"
    ERROR = "no answer"


class Policy(StrEnum):
    """What a system is to do where its passages contradict what is true."""

    FOLLOW = "follow"
    FLAG = "flag"
    RESIST = "resist"


FINE: Mapping[Policy, frozenset[Follows]] = {
    Policy.FOLLOW: frozenset((Follows.CONTEXT, Follows.FLAGS, Follows.BOTH)),
    Policy.FLAG: frozenset((Follows.FLAGS, Follows.BOTH)),
    Policy.RESIST: frozenset((Follows.PRIOR, Follows.FLAGS, Follows.BOTH, Follows.ABSTAINS)),
}
POLICY_WORDS = {
    Policy.FOLLOW: "following the passages or flagging a conflict is fine",
    Policy.FLAG: "a conflict has to be flagged",
    Policy.RESIST: "false passages must not be followed without a word",
}


@dataclass(frozen=True, slots=True)
class ShareResult:
    """What responses follow at a share of false passages. classes: -> ids of rows."""

    share: Share
    of: int
    classes: Mapping[Follows, tuple[str, ...]]

    def part(self, follows: Follows) -> float | None:
        """The share of rows in a class, None without rows."""
        return len(self.classes.get(follows, ())) / self.of if self.of else None


@dataclass(frozen=True, slots=True)
class CounterfactualResult:
    """The whole test. known: share of rows that it answers right without passages. shares: by
    rising share of false passages. against_policy: share of rows, where all passages are false,
    that do what the policy does not allow. prior_when_known: share that holds to the true
    answer of those that it knew.
    """

    policy: Policy
    known: Rate
    shares: tuple[ShareResult, ...]
    against_policy: Rate
    follows: Mapping[Follows, Rate]
    prior_when_known: Rate


def counterfactual_result(
    outcomes: Outcomes, policy: Policy = Policy.FOLLOW
) -> CounterfactualResult | None:
    """The test of false passages, None where no row is in it."""
    plan = outcomes.plan
    if not plan.planted:
        return None
    rows = [row for row in plan.rows if row.id in plan.planted]
    known = []
    for row in rows:
        outcome = outcomes.get(row.id, CLOSED)
        known.append((row.id, row.cluster, None if outcome is None else outcome.states_answer))
    all_false = SHARES[-1]
    found = [(row, outcomes.get(row.id, all_false.key)) for row in rows]
    seen = [(row, follows(outcome)) for row, outcome in found if outcome is not None]
    fine = FINE[policy]
    rates = {}
    for one in Follows:
        rates[one] = rate(str(one), ((row.id, row.cluster, did is one) for row, did in seen))
    knew = {row_id for row_id, _, right in known if right}
    return CounterfactualResult(
        policy,
        rate("right without passages", known),
        tuple(_share_result(outcomes, share) for share in sorted(SHARES, key=lambda s: s.value)),
        rate("against the policy", ((row.id, row.cluster, did not in fine) for row, did in seen)),
        rates,
        rate(
            "keeps the true answer where it knew it",
            ((row.id, row.cluster, did is Follows.PRIOR) for row, did in seen if row.id in knew),
        ),
    )


def follows(outcome: Outcome) -> Follows:
    """What a response to false passages follows."""
    if outcome.manner in (Manner.ERROR, Manner.EMPTY):
        return Follows.ERROR
    if outcome.flags:
        return Follows.FLAGS
    if outcome.says_wrong and outcome.states_answer:
        return Follows.BOTH
    if outcome.says_wrong:
        return Follows.CONTEXT
    if outcome.states_answer:
        return Follows.PRIOR
    return Follows.ABSTAINS if outcome.declines else Follows.OTHER


def _share_result(outcomes: Outcomes, share: Share) -> ShareResult:
    classes: dict[Follows, list[str]] = {}
    of = 0
    for row_id in outcomes.plan.planted:
        outcome = outcomes.get(row_id, share.key)
        if outcome is not None:
            of += 1
            classes.setdefault(follows(outcome), []).append(row_id)
    return ShareResult(share, of, {name: tuple(ids) for name, ids in sorted(classes.items())})
