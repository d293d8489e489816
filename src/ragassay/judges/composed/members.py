"""The asking of several judges by one: their flows are advanced together.

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
    JudgmentAddress,
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
    """One member's flow for one of its groups.

    member: its place among the members. calls, addresses: those it waits for. judgments: those not
    yet passed on, among them those of the judges that a member asks in its turn.
    """

    member: int
    judge: Judge
    requests: tuple[Request, ...]
    flow: JudgeFlow
    calls: tuple[Call, ...] = ()
    addresses: tuple[JudgmentAddress, ...] = ()
    judgments: list[Judgment] = field(default_factory=list)
    ended: bool = False

    @property
    def fingerprint(self) -> str:
        """The member's own: a Judgment under another one is of a judge that it asks."""
        return self.judge.fingerprint(self.requests[0].rubric)

    def advance(self, replies: tuple[Reply, ...] | None) -> None:
        """On to the next Ask or Recall, or to the end. A member's own fault is the end of this
        flow, not of the others.
        """
        self.calls = self.addresses = ()
        try:
            step = next(self.flow) if replies is None else self.flow.send(replies)
            while isinstance(step, Keep):
                self.judgments += step.judgments
                step = self.flow.send(())
            if isinstance(step, Recall):
                self.addresses = step.addresses
            else:
                self.calls = tuple(self._addressed(call) for call in step.calls)
        except StopIteration as end:
            self.judgments += end.value
            self.ended = True
        except RagAssayError:
            raise
        except BaseException as error:
            if not is_fault(error):
                raise
            # One member's fault is one vote less; the others' answers are paid for and count.
            reason = f"it raised {type(error).__name__}: {shorten(str(error), 200)}"
            self.judgments += self._failed(reason)
            self.ended = True

    def _addressed(self, call: Call) -> Call:
        """The call with the name of the model that it is for."""
        if isinstance(call, ChatCall):
            return replace(call, model=self.judge.uri)
        return call

    def _failed(self, reason: str) -> list[Judgment]:
        """A Judgment without a rating for each Request that has none."""
        rubric = self.requests[0].rubric
        fingerprint = self.fingerprint
        settled = {judgment.key for judgment in self.judgments if judgment.judge == fingerprint}
        ref = self.judge.rubric_version(rubric)
        failed: list[Judgment] = []
        for request in self.requests:
            if request.key not in settled:
                judgment = Judgment(request.key, fingerprint, ref, Status.FAILED, reason=reason)
                failed.append(judgment)
        return failed


def ask_members(
    members: Sequence[Judge], requests: Sequence[Request]
) -> Generator[Ask | Keep | Recall, tuple[Reply, ...], list[Answers]]:
    """Each member's Judgments of these Requests, which have one rubric; what is stored already
    costs nothing.

    A Request that a member did not settle is not in its Answers.
    """
    answers = yield from _stored_answers(members, requests)
    flows = _start_flows(members, requests, answers)
    while flows:
        judgments: list[Judgment] = []
        for flow in flows:
            judgments += flow.judgments
        if judgments:
            yield Keep(tuple(judgments), beside=True)
        for flow in flows:
            for judgment in flow.judgments:
                if judgment.judge == flow.fingerprint:
                    answers[flow.member][judgment.key] = judgment
            flow.judgments = []
        flows = [flow for flow in flows if not flow.ended]
        if flows:
            yield from _advance(flows)
    return answers


def _stored_answers(
    members: Sequence[Judge], requests: Sequence[Request]
) -> Generator[Recall, tuple[Reply, ...], list[Answers]]:
    """What is stored of each member's Judgments, which cost nothing now."""
    rubric = requests[0].rubric
    fingerprints = [member.fingerprint(rubric) for member in members]
    addresses: list[JudgmentAddress] = []
    for fingerprint in fingerprints:
        addresses += [(fingerprint, request.key) for request in requests]
    stored = cast(tuple[Judgment, ...], (yield Recall(tuple(addresses))))
    answers: list[Answers] = [{} for _ in members]
    for judgment in stored:
        member = fingerprints.index(judgment.judge)
        answers[member][judgment.key] = replace(judgment, spend=Spend())
    return answers


def _start_flows(
    members: Sequence[Judge], requests: Sequence[Request], answers: Sequence[Answers]
) -> list[_Flow]:
    """A flow for each group of what a member has no answer to, advanced to its first calls."""
    flows: list[_Flow] = []
    for number, member in enumerate(members):
        open_requests = [request for request in requests if request.key not in answers[number]]
        for group in member.groups(open_requests):
            flows.append(_Flow(number, member, group, member.answer(group)))
    for flow in flows:
        flow.advance(None)
    return flows


def _advance(flows: Sequence[_Flow]) -> Generator[Ask | Recall, tuple[Reply, ...], None]:
    """Look up, or else ask, what the flows wait for at once, and give each its own answers."""
    recalling = [flow for flow in flows if flow.addresses]
    if recalling:
        yield from _recall(recalling)
        return
    # One Ask for all of them, so that the members' calls are made at the same time.
    calls: list[Call] = []
    for flow in flows:
        calls += flow.calls
    replies = yield Ask(tuple(calls))
    at = 0
    for flow in flows:
        flow_replies = replies[at : at + len(flow.calls)]
        at += len(flow_replies)
        flow.advance(flow_replies)


def _recall(flows: Sequence[_Flow]) -> Generator[Recall, tuple[Reply, ...], None]:
    """Look up the Judgments that members which ask other judges wait for."""
    addresses: list[JudgmentAddress] = []
    for flow in flows:
        addresses += flow.addresses
    stored = cast(tuple[Judgment, ...], (yield Recall(tuple(addresses))))
    by_address = {(judgment.judge, judgment.key): judgment for judgment in stored}
    for flow in flows:
        own = [by_address[address] for address in flow.addresses if address in by_address]
        flow.advance(cast(tuple[Reply, ...], tuple(own)))


def runs_here(uri: str) -> bool:
    """Whether the judge's model runs on this machine, and its calls cost nothing."""
    return uri == "offline" or uri.startswith("local:")


def groups_of_first_online(
    members: Sequence[Judge], requests: Sequence[Request]
) -> list[tuple[Request, ...]]:
    """Groups as the first member makes them that sends its texts somewhere: its calls are the ones
    that cost.
    """
    for member in members:
        if not runs_here(member.uri):
            return member.groups(requests)
    return members[0].groups(requests)
