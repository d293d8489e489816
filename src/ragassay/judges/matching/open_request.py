"""One Request on its way through a judge over match calls: its calls, and how it is settled."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragassay.core import (
    CallFailed,
    Evidence,
    Judgment,
    MatchCall,
    MatchReply,
    Reply,
    Request,
    Spend,
    Status,
)
from ragassay.judges.rubric import Rubric
from ragassay.judges.scale import Rating

_CITATION = re.compile(
    r"\s?(?:\[\^?\d{1,3}(?:\s?[,;–-]\s?\^?\d{1,3})*\]|【\d{1,3}(?::\d{1,3})?(?:†[^】\n]{0,80})?】)"
)

_INSTEAD = (
    "name a language model with --judge openai:MODEL, or a model in a folder with --judge"
    " local:FOLDER"
)
_UNREAD = {
    "unread_code": f"code: the claim is code, which the offline judge does not read; {_INSTEAD}",
    "unread_table": (
        "table: a number of the claim stands in a table whose row and column it does not name, so"
        f" that the offline judge cannot place it; {_INSTEAD}"
    ),
    "unread_sum": (
        "sum: the claim gives a total or a mean of several numbers, which the offline judge does"
        f" not compute; {_INSTEAD}"
    ),
}
"""Figure of a reply -> why there is no verdict."""

_NEAR_CUT = (
    "near its cut: of so unsure a yes, people agree with about half; name a language model with"
    " --judge openai:MODEL, or label such rows: ragassay label next"
)


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """A Request with what it takes to answer it.

    cut: the probability from which a call says yes. near: below it, a yes is too near the cut to
    be told (0 = every yes counts).
    """

    request: Request
    rubric: Rubric
    fingerprint: str
    cut: float
    calls: tuple[MatchCall, ...] = ()
    near: float = 0.0

    def is_near_cut(self, probability: float) -> bool:
        """Whether a probability says yes, and so barely that it is no verdict."""
        return self.cut <= probability < self.near

    def passes(self, rating: Rating) -> bool:
        """Whether a rating reaches the rubric's own pass mark."""
        assert self.rubric.scale is not None
        return self.rubric.scale.passes(rating)

    def near_cut(self, probability: float, replies: Sequence[Reply]) -> Judgment:
        """No rating, since the model's yes is too near its cut."""
        told = f"The probability is {probability:.2f}, too near the cut: {self.cut:.2f}; yes counts"
        return replace(
            self.lost(Status.ABSTAINED, _NEAR_CUT, spent(replies)),
            probability=probability,
            rationale=f"{told} from {self.near:.2f} on.",
        )

    def replies(self, replies: Sequence[Reply]) -> list[MatchReply] | Judgment:
        """The replies to all calls; or the Judgment without a rating, when one of them is no usable
        reply.
        """
        usable: list[MatchReply] = []
        for reply in replies:
            if isinstance(reply, CallFailed):
                status = Status.OVER_BUDGET if reply.kind == "over_budget" else Status.FAILED
                return self.lost(status, reply.message or reply.kind, spent(replies))
            if not isinstance(reply, MatchReply):
                return self.lost(
                    Status.FAILED, "the model gave a reply of another kind", spent(replies)
                )
            if not 0.0 <= reply.probability <= 1.0:  # false for NaN as well
                reason = "the model gave no probability between 0 and 1"
                return self.lost(Status.UNPARSED, reason, spent(replies))
            unread = next((why for name, why in _UNREAD.items() if name in reply.features), "")
            if unread:
                return self.lost(Status.ABSTAINED, unread, spent(replies))
            usable.append(reply)
        if len(usable) != len(self.calls):
            return self.lost(Status.FAILED, "the model gave too few replies", spent(replies))
        return usable

    def lost(self, status: Status, reason: str, spend: Spend | None = None) -> Judgment:
        """No rating, and why."""
        return Judgment(
            self.request.key,
            self.fingerprint,
            self.rubric.ref,
            status,
            reason=reason,
            spend=spend or Spend(),
        )

    def rated(
        self,
        rating: Rating,
        rationale: str,
        *,
        probability: float | None = None,
        evidence: tuple[Evidence, ...] = (),
        flags: tuple[str, ...] = (),
        spend: Spend | None = None,
        sources: tuple[int, ...] | None = None,
    ) -> Judgment:
        """A rating on the rubric's scale."""
        assert self.rubric.scale is not None
        return Judgment(
            self.request.key,
            self.fingerprint,
            self.rubric.ref,
            Status.JUDGED,
            rating=rating,
            value=self.rubric.scale.value(rating),
            probability=probability,
            rationale=rationale,
            evidence=evidence,
            flags=flags,
            spend=spend or Spend(),
            passes=self.rubric.scale.passes(rating),
            sources=sources,
        )


def spent(replies: Sequence[Reply]) -> Spend:
    """What the replies cost together."""
    total = Spend()
    for reply in replies:
        total += reply.spend
    return total


def without_citations(text: str) -> str:
    """The text without marks such as [2], [1, 3] or 【4】.

    The model would look for their numbers in the passages.
    """
    bare = _CITATION.sub("", text)
    return bare if bare.strip() else text


def verified_evidence(reply: MatchReply, call: MatchCall) -> tuple[Evidence, ...]:
    """The evidence whose quote really stands where it says.

    An answer is no context, so it gives no evidence.
    """
    if call.task == "answer":
        return ()
    return tuple(evidence for evidence in reply.evidence if _stands_in(evidence, call.passages))


def _stands_in(evidence: Evidence, passages: Sequence[str]) -> bool:
    if not 0 <= evidence.context < len(passages):
        return False
    return passages[evidence.context][evidence.start : evidence.end] == evidence.quote
