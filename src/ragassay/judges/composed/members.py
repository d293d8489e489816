"""How does one judge ask several others? Their flows are advanced together, and what they answer is
kept as theirs.

A member's Judgment is made durable under the member's own fingerprint as soon as it is there: a run
that is killed between two members buys nothing twice, and what was judged by the member alone
before is not asked again.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from ragassay.core import (
    Ask,
    Call,
    ChatCall,
    JudgeFlow,
    Judgment,
    Keep,
    RagAssayError,
    Recall,
    Reply,
    Request,
    Spend,
    Status,
    is_fault,
    shorten,
)
from ragassay.judges.base import Judge

Answers = dict[str, Judgment]
"""Key of the Request -> one member's Judgment."""


@dataclass(slots=True)
class _Flow:
    """One member's flow for one of its batches. asked: the calls it waits for; kept: Judgments not
    handed on yet.
    """

    member: int
    judge: Judge
    requests: tuple[Request, ...]
    flow: JudgeFlow
    asked: tuple[Call, ...] = ()
    kept: list[Judgment] = field(default_factory=list)
    ended: bool = False

    def advance(self, replies: tuple[Reply, ...] | None) -> None:
        """On to the next Ask, or to the end. A member's own fault is the end of this flow, not of
        the others.
        """
        self.asked = ()
        try:
            step = next(self.flow) if replies is None else self.flow.send(replies)
            while not isinstance(step, Ask):
                if isinstance(step, Keep):
                    self.kept += step.judgments
                step = self.flow.send(())
            self.asked = tuple(
                replace(call, model=self.judge.uri) if isinstance(call, ChatCall) else call
                for call in step.calls
            )
        except StopIteration as end:
            self.kept += end.value
            self.ended = True
        except RagAssayError:
            raise
        except BaseException as error:
            if not is_fault(error):
                raise
            self.kept += self._lost(f"it raised {type(error).__name__}: {shorten(str(error), 200)}")
            self.ended = True

    def _lost(self, reason: str) -> list[Judgment]:
        rubric, known = self.requests[0].rubric, {judgment.key for judgment in self.kept}
        fingerprint, ref = self.judge.fingerprint(rubric), self.judge.rubric_version(rubric)
        return [
            Judgment(r.key, fingerprint, ref, Status.FAILED, reason=reason)
            for r in self.requests
            if r.key not in known
        ]


def ask_members(
    members: Sequence[Judge], requests: Sequence[Request]
) -> Generator[Ask | Keep | Recall, tuple[Reply, ...], list[Answers]]:
    """Each member's Judgments of these Requests, which have one rubric; what was known already
    costs nothing.

    A Request that a member did not settle is not in its Answers.
    """
    rubric = requests[0].rubric
    fingerprints = [member.fingerprint(rubric) for member in members]
    pairs = tuple(
        (fingerprint, request.key) for fingerprint in fingerprints for request in requests
    )
    known = cast(tuple[Judgment, ...], (yield Recall(pairs)))
    found: list[Answers] = [{} for _ in members]
    for judgment in known:
        found[fingerprints.index(judgment.judge)][judgment.key] = replace(judgment, spend=Spend())
    flows = [
        _Flow(number, member, group, member.answer(group))
        for number, member in enumerate(members)
        for group in member.batches(
            [request for request in requests if request.key not in found[number]]
        )
    ]
    for flow in flows:
        flow.advance(None)
    while flows:
        if kept := tuple(judgment for flow in flows for judgment in flow.kept):
            yield Keep(kept, beside=True)
        for flow in flows:
            found[flow.member].update({judgment.key: judgment for judgment in flow.kept})
            flow.kept = []
        flows = [flow for flow in flows if not flow.ended]
        if not flows:
            break
        replies = yield Ask(tuple(call for flow in flows for call in flow.asked))
        at = 0
        for flow in flows:
            own = replies[at : at + len(flow.asked)]
            at += len(own)
            flow.advance(own)
    return found


def batches_of_first_online(
    members: Sequence[Judge], requests: Sequence[Request]
) -> list[tuple[Request, ...]]:
    """Groups as the first member makes them that sends its texts somewhere: its calls are the ones
    that cost.
    """
    return next((m for m in members if m.uri != "offline"), members[0]).batches(requests)
