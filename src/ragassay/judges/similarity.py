"""The similarity of two texts: the cosine of their vectors, whoever judges the rest.

It is a measurement and no verdict: there is no scale, no rubric file and no pass mark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragassay.core import (
    Ask,
    CallFailed,
    JudgeFlow,
    Judgment,
    MatchCall,
    MatchReply,
    Reply,
    Request,
    SetupError,
    Status,
    digest,
    shorten,
)
from ragassay.judges.text_rules.own_content import nothing_seen

SIMILARITY = "similarity"
_REF = f"{SIMILARITY}@1"
_GROUP = 16


@dataclass(frozen=True, slots=True)
class SimilarityJudge:
    """Answers Requests "similarity" (inputs text and other) by MatchCalls of that task.

    model_version: what identifies the encoder and its weights. A Judgment's value is the cosine,
    negative ones as 0; it has no rating and neither passes nor fails. A text without anything in it
    has no meaning to compare: not applicable.
    """

    model_version: str

    @property
    def uri(self) -> str:
        """Always "offline"."""
        return "offline"

    @property
    def agreement(self) -> str:
        """There is no verdict that could agree with people."""
        return "a cosine is no verdict"

    def rubric_version(self, rubric: str) -> str:
        """ "similarity@1". Raises SetupError E0203 for any other rubric."""
        if rubric != SIMILARITY:
            raise SetupError(
                "E0203",
                f"What measures similarity cannot answer the rubric {shorten(rubric)!r}.",
                fix=f"ask it {SIMILARITY} only",
            )
        return _REF

    def fingerprint(self, rubric: str) -> str:
        """Hash of the encoder's version. Raises as `rubric_version`."""
        return digest(self.rubric_version(rubric), self.model_version)

    def groups(self, requests: Sequence[Request]) -> list[tuple[Request, ...]]:
        """Up to 16 Requests, in order: nothing is shared between them but the overhead."""
        return [
            tuple(requests[start : start + _GROUP]) for start in range(0, len(requests), _GROUP)
        ]

    def answer(self, requests: tuple[Request, ...]) -> JudgeFlow:
        """One Ask for the whole group; nothing is asked about an empty text."""
        fingerprint = self.fingerprint(requests[0].rubric)
        unique = tuple({request.key: request for request in requests}.values())
        to_ask: list[Request] = []
        empty: list[Request] = []
        for request in unique:
            if nothing_seen(request.text("text")) or nothing_seen(request.text("other")):
                empty.append(request)
            else:
                to_ask.append(request)
        calls = tuple(MatchCall("similarity", r.text("text"), (r.text("other"),)) for r in to_ask)
        replies = (yield Ask(calls)) if calls else ()
        judgments = [
            _judgment(request, reply, fingerprint)
            for request, reply in zip(to_ask, replies, strict=True)
        ]
        return (*judgments, *(_empty(request, fingerprint) for request in empty))


def _empty(request: Request, fingerprint: str) -> Judgment:
    place = "first" if nothing_seen(request.text("text")) else "second"
    reason = f"the {place} of the two texts is empty"
    return Judgment(request.key, fingerprint, _REF, Status.NOT_APPLICABLE, reason=reason)


def _judgment(request: Request, reply: Reply, fingerprint: str) -> Judgment:
    def lost(status: Status, reason: str) -> Judgment:
        return Judgment(request.key, fingerprint, _REF, status, reason=reason, spend=reply.spend)

    if isinstance(reply, CallFailed):
        status = Status.OVER_BUDGET if reply.kind == "over_budget" else Status.FAILED
        return lost(status, reply.message or reply.kind)
    if not isinstance(reply, MatchReply):
        return lost(Status.FAILED, "the model gave a reply of another kind")
    if not 0.0 <= reply.probability <= 1.0:  # false for NaN as well
        return lost(Status.UNPARSED, "the encoder gave no cosine between 0 and 1")
    return Judgment(
        request.key,
        fingerprint,
        _REF,
        Status.JUDGED,
        value=reply.probability,
        spend=reply.spend,
        rationale=f"Closeness of meaning: {reply.probability:.2f}.",
    )
