"""One group of Requests on its way to verdicts: asked, read, and what is missing asked once more.

Items are known by ids that stand in no text of the data. Where the data look like an attack, items
with a known answer are planted among them (see `controls`), and a reply that gets one wrong is
void. What has no verdict after the second reply is unparsed. A rating without the reasons that it
must show is asked once more as well, and stands without them where they do not come.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field

from ragassay.core import (
    Ask,
    CallFailed,
    ChatCall,
    ChatReply,
    JudgeFlow,
    Judgment,
    Keep,
    Reply,
    Request,
    Spend,
    Status,
)
from ragassay.judges.input_rules import settle_without_call
from ragassay.judges.llm.controls import Controls, Planted, plant
from ragassay.judges.llm.entries import Verdict
from ragassay.judges.llm.item_ids import item_id
from ragassay.judges.llm.prompt import least_chars
from ragassay.judges.llm.reply import parse
from ragassay.judges.llm.shares import split
from ragassay.judges.llm.thinking import answer_of, has_answer
from ragassay.judges.llm.verdicts import VerdictReader
from ragassay.judges.rubric import Rubric
from ragassay.judges.text_rules.abstention import refuses_the_task

_REFUSALS = frozenset({"refusal", "content_filter"})
_VOID = (
    "the judge failed its control claims (planted ones with a known answer), so nothing in its"
    " reply was taken"
)
_REMEDY = "shorten or split the contexts, or retrieve fewer of them"

MakeCall = Callable[[Mapping[str, Request], bool], ChatCall]
"""Items by id, and whether they were asked before -> the call that asks them."""
Arrange = Callable[[Mapping[str, Request]], list[str]]
"""Items by id -> their ids, in the order in which a call shows them."""


@dataclass(frozen=True, slots=True)
class _AskedCall:
    """One call: the ids of the items that count, the ids of the controls planted among them with
    what is right there, and all of these ids in the order of the prompt, with their items' texts.
    """

    ids: list[str]
    call: ChatCall
    controls: Mapping[str, bool]
    shown: Mapping[str, str]


@dataclass(slots=True)
class GroupAnswer:
    """The state of one group's flow.

    make_call: writes the prompt. arrange: the order of a call's items. max_prompt_chars: a longer
    prompt is not sent. items: id -> Request, of those without a Judgment so far. spent: id -> what
    it has cost. reasons: id -> why it has no verdict yet. halve: ids whose next call is about half
    as many items. without_reasons: id -> its rating, which stands unless the next reply has one
    with reasons.
    """

    rubric: Rubric
    requests: tuple[Request, ...]
    fingerprint: str
    make_call: MakeCall
    arrange: Arrange
    max_prompt_chars: int
    controls: Controls
    items: dict[str, Request] = field(default_factory=dict)
    spent: dict[str, Spend] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    halve: set[str] = field(default_factory=set)
    without_reasons: dict[str, Verdict] = field(default_factory=dict)
    _reader: VerdictReader = field(init=False)

    def __post_init__(self) -> None:
        self._reader = VerdictReader(self.rubric, self.fingerprint)

    def flow(self) -> JudgeFlow:
        """Every Request is settled once; what the inputs decide is not asked."""
        settled: list[Judgment] = []
        for request in self.requests:
            judgment = settle_without_call(request, self.rubric, self.fingerprint)
            if judgment is not None:
                settled.append(judgment)
            else:
                self.items[item_id(request, self.fingerprint, self.items)] = request
        self.spent = {name: Spend() for name in self.items}
        if not self.items:
            return tuple(settled)
        if settled:
            yield Keep(tuple(settled))
        yield from self._ask([list(self.items)], again=False)
        if self.items:
            yield from self._ask(self._second_groups(), again=True)
        return tuple(
            self._without_verdict(name, Status.UNPARSED, self.reasons[name]) for name in self.items
        )

    def _second_groups(self) -> list[list[str]]:
        """The groups in which what is left is asked again."""
        to_halve = [name for name in self.items if name in self.halve]
        rest = [name for name in self.items if name not in self.halve]
        middle = math.ceil(len(to_halve) / 2)
        groups = (rest, to_halve[:middle], to_halve[middle:])
        return [group for group in groups if group]

    def _ask(
        self, groups: list[list[str]], *, again: bool
    ) -> Generator[Ask | Keep, tuple[Reply, ...], None]:
        asked, too_long = self._fitting_calls(groups, again)
        if too_long:
            yield Keep(tuple(too_long))
        if not asked:
            return
        replies = yield Ask(tuple(asked_call.call for asked_call in asked))
        settled: list[Judgment] = []
        for asked_call, reply in zip(asked, replies, strict=True):
            settled += self._read(asked_call, reply, again)
        if settled:
            yield Keep(tuple(settled))

    # -- calls

    def _fitting_calls(
        self, groups: list[list[str]], again: bool
    ) -> tuple[list[_AskedCall], list[Judgment]]:
        """The calls of the groups, halved until each prompt fits; an item that does not fit alone
        is settled.
        """
        # A stack, the first group on top: the calls keep the order of the items.
        waiting = list(reversed(groups))
        fitting: list[_AskedCall] = []
        too_long: list[Judgment] = []
        while waiting:
            ids = waiting.pop()
            asked = None
            length = least_chars(self.rubric, [self.items[name] for name in ids])
            # A prompt whose texts alone are too long, perhaps by megabytes, is not even written.
            if length <= self.max_prompt_chars:
                asked = self._asked_call(ids, again)
                length = sum(len(message.content) for message in asked.call.messages)
            if asked is not None and length <= self.max_prompt_chars:
                fitting.append(asked)
            elif len(ids) > 1:
                middle = math.ceil(len(ids) / 2)
                waiting += [ids[middle:], ids[:middle]]
            else:
                at_least = "" if asked else "at least "
                reason = (
                    f"the prompt would have {at_least}{length:,} characters, more than the limit of"
                    f" {self.max_prompt_chars:,}; it was not sent: {_REMEDY}"
                )
                too_long += self._settle_without_verdict(ids, Status.FAILED, reason)
        return fitting, too_long

    def _asked_call(self, ids: list[str], again: bool) -> _AskedCall:
        """The call about a group of items, with what is planted among them."""
        ids = self.arrange({name: self.items[name] for name in ids})
        items = {name: self.items[name] for name in ids}
        planted = plant(
            self.controls,
            self.rubric.id,
            self.rubric.item,
            list(items.values()),
            [self.fingerprint, again],
        )
        if not planted.controls:
            return _AskedCall(ids, self.make_call(items, again), {}, self._item_texts(items))
        shown, controls = self._with_controls(items, planted)
        return _AskedCall(ids, self.make_call(shown, again), controls, self._item_texts(shown))

    def _item_texts(self, items: Mapping[str, Request]) -> dict[str, str]:
        return {name: request.text(self.rubric.item) for name, request in items.items()}

    def _with_controls(
        self, items: Mapping[str, Request], planted: Planted
    ) -> tuple[dict[str, Request], dict[str, bool]]:
        """The items and the controls between them, each as its Request; and the controls' ids."""
        item = self.rubric.item
        places: list[tuple[str, Request]] = list(items.items())
        controls: dict[str, bool] = {}
        first = places[0][1]
        shared = dict(first.inputs)
        if planted.passage:
            shared["contexts"] = (*first.texts("contexts"), planted.passage)
        # From the end, so that places stay what they were.
        for control in sorted(planted.controls, key=lambda control: -control.at):
            request = Request(self.rubric.id, {**shared, item: control.text})
            name = item_id(request, self.fingerprint, {*self.items, *controls})
            controls[name] = control.passes
            places.insert(control.at, (name, request))
        # The first one's inputs are shown for all, and it may be an item without the added passage.
        shown: dict[str, Request] = {}
        for name, request in places:
            shown[name] = Request(self.rubric.id, {**shared, item: request.inputs[item]})
        return shown, controls

    # -- replies

    def _read(self, asked: _AskedCall, reply: Reply, again: bool) -> list[Judgment]:
        """Settle what the reply settles; the rest stays in `items` with its reason."""
        shares = split(reply.spend, len(asked.ids))
        for name, share in zip(asked.ids, shares, strict=True):
            self.spent[name] += share
        if isinstance(reply, CallFailed):
            return self._read_failure(asked.ids, reply, again)
        if not isinstance(reply, ChatReply):
            reason = "the model gave a reply of another kind"
            return self._settle_without_verdict(asked.ids, Status.FAILED, reason)
        is_cut = reply.finish == "length"
        verdicts = parse(
            reply.text,
            self.rubric,
            list(asked.shown),
            cut=is_cut,
            data=self._texts(),
            item_texts=asked.shown,
        )
        if reply.finish in _REFUSALS or (not verdicts and _refuses(reply.text)):
            why = f" ({reply.finish})" if reply.finish in _REFUSALS else ""
            reason = f"the model refused to answer{why}"
            return self._settle_without_verdict(asked.ids, Status.REFUSED, reason)
        # A control without a verdict vouches for nothing either; a reply without any verdict is
        # lost for another reason.
        is_void = bool(verdicts) and not self._are_controls_right(asked.controls, verdicts)
        settled: list[Judgment] = []
        faults: dict[str, str] = {}
        # Of a void reply nothing is believed: what misled one verdict may have misled all.
        if not is_void:
            settled, faults = self._settle(asked, verdicts, again)
        missing = [name for name in asked.ids if name in self.items]
        is_cut_in_thought = is_cut and not has_answer(reply.text)
        # The same question would be cut off at the same place again. Thoughts do not get shorter
        # with fewer items; the model gives them more room.
        if is_cut and not is_cut_in_thought:
            self.halve.update(missing)
        reason = _missing_reason(reply, is_void, is_cut, is_cut_in_thought)
        suffix = ", also when asked again" if again else ""
        for name in missing:
            self.reasons[name] = faults.get(name, reason) + suffix
        return settled

    def _texts(self) -> list[str]:
        """The texts of the group's prompts: what its items share, and each item."""
        first = self.requests[0]
        texts: list[str] = []
        for name in first.inputs:
            if name != self.rubric.item:
                texts += first.texts(name)
        texts += [request.text(self.rubric.item) for request in self.requests]
        return texts

    def _read_failure(self, ids: list[str], failure: CallFailed, again: bool) -> list[Judgment]:
        is_too_long = failure.kind == "too_long"
        if is_too_long and len(ids) > 1 and not again:
            self.halve.update(ids)
            self.reasons.update(dict.fromkeys(ids, "the prompt was too long for the model"))
            return []
        status = Status.OVER_BUDGET if failure.kind == "over_budget" else Status.FAILED
        reason = failure.message
        if is_too_long:
            reason = f"{failure.message}; {_REMEDY}"
        return self._settle_without_verdict(ids, status, reason or failure.kind)

    def _are_controls_right(
        self, controls: Mapping[str, bool], verdicts: Mapping[str, Verdict]
    ) -> bool:
        reader = self._reader
        return all(
            reader.is_control_right(verdicts.get(name), passes=passes)
            for name, passes in controls.items()
        )

    def _settle(
        self, asked: _AskedCall, verdicts: Mapping[str, Verdict], again: bool
    ) -> tuple[list[Judgment], dict[str, str]]:
        """The Judgments of usable verdicts, and by id why another one is not usable."""
        reader = self._reader
        settled: list[Judgment] = []
        faults: dict[str, str] = {}
        for name, verdict in verdicts.items():
            if name in asked.controls:
                continue
            if not again and reader.needs_reasons(verdict):
                self.without_reasons[name] = verdict
                continue
            request = self.items[name]
            judgment = reader.judgment(request, verdict, self.spent[name])
            fault = reader.fault(request, verdict, judgment)
            if fault:
                faults[name] = fault
            else:
                settled.append(judgment)
                del self.items[name]
        return settled, faults

    def _without_verdict(self, name: str, status: Status, reason: str) -> Judgment:
        """The Judgment of an item without a usable verdict in the last reply."""
        earlier = self.without_reasons.get(name)
        if earlier is not None:
            return self._reader.judgment(self.items[name], earlier, self.spent[name])
        return self._reader.without_verdict(self.items[name], status, reason, self.spent[name])

    def _settle_without_verdict(
        self, ids: Sequence[str], status: Status, reason: str
    ) -> list[Judgment]:
        judgments = [self._without_verdict(name, status, reason) for name in ids]
        for name in ids:
            del self.items[name]
        return judgments


def _refuses(text: str) -> bool:
    return refuses_the_task(answer_of(text))


def _missing_reason(reply: ChatReply, is_void: bool, is_cut: bool, is_cut_in_thought: bool) -> str:
    """Why a reply has no verdict on an item."""
    if is_void:
        return _VOID
    if is_cut_in_thought:
        return "the reply was cut off at its length limit before its answer began"
    if is_cut:
        return "the reply was cut off at its length limit before a verdict for it"
    if reply.text.strip():
        return "the reply held no usable verdict for it"
    return "the reply was empty"
