"""How does a language model answer Requests? One call a group, missing verdicts asked again once,
then unparsed.

The prompt is the rubric (system part, the same for all rows), then the data in fences, what varies
last, then the form of the reply. Items are known by ids that are hashes of their Request and stand
in no text of the data. Everything that comes back goes through `reply.parse`; every quote is looked
up in the contexts. Where the data look like an attack, claims with a known answer are planted among
the items (see `controls`), and a reply that gets one wrong is void.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from ragassay.core import (
    Ask,
    CallFailed,
    ChatCall,
    ChatReply,
    Evidence,
    JudgeFlow,
    Judgment,
    Keep,
    Message,
    Reply,
    Request,
    SetupError,
    Spend,
    Status,
    digest,
)
from ragassay.judges.fence import fence
from ragassay.judges.input_rules import RULES, settle_without_call
from ragassay.judges.llm.controls import PLANTED, Controls, Planted, check_controls, plant
from ragassay.judges.llm.controls import VERSION as CONTROLS_VERSION
from ragassay.judges.llm.quotes import Finder
from ragassay.judges.llm.reply import Verdict, parse, schema
from ragassay.judges.registry import RubricRegistry
from ragassay.judges.rubric import FORM, LISTS, Rubric
from ragassay.judges.scale import Rating
from ragassay.judges.text_rules.abstention import refuses_the_task
from ragassay.judges.text_rules.text_shape import shape_of

_AGAIN = (
    "An earlier reply held no usable verdict for the ids below. Give one entry for each of them, in"
    " exactly the form that was described."
)
# Words; of the scripts that put no spaces between them each character is one.
_WORD = re.compile(
    r"[^\W\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]+|[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]"
)
_WORDS_WITH_A_CLAIM = 3
_REFUSALS = frozenset({"refusal", "content_filter"})
_VOID = (
    "the judge failed its control claims (planted ones with a known answer), so nothing in its"
    " reply was taken"
)
_WAYS_OUT = "shorten or split the contexts, or retrieve fewer of them"
# Room for a reply, in tokens: a base, and so much an item; claims, quotes and texts can repeat the
# whole item. So many quotes are looked up; more would make the time grow with quotes times text.
_MOST_QUOTES, _MOST_QUOTES_BESIDE_A_RATING = 500, 20
_BASE_TOKENS, _ITEM_TOKENS, _MOST_TOKENS = 512, 320, 8192


@dataclass(frozen=True, slots=True)
class LLMJudge:
    """A judge that asks a chat model.

    uri: the model. single_calls: one call an item instead of one a group. max_prompt_chars: a
    longer prompt is not sent. temperature, seed: as in ChatCall. parameters: whatever else
    determines the model's answers (such as the server's address); it goes into the fingerprint.
    controls: when control claims are planted; "auto" = where the data of a call look like an
    attack, so that any other call costs and says what it would without them.
    """

    uri: str
    rubrics: RubricRegistry
    single_calls: bool = False
    max_prompt_chars: int = 400_000
    temperature: float | None = 0.0
    seed: int | None = None
    parameters: Mapping[str, object] = field(default_factory=dict)
    controls: Controls = "auto"
    # What is the same for every Request of a rubric is written once: fingerprints and system
    # prompts.
    _known: dict[tuple[str, str], str] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        check_controls(self.controls)

    @property
    def agreement(self) -> str:
        """What is known of its agreement with people."""
        return "unmeasured: no human labels have been compared with this judge"

    def rubric_version(self, rubric: str) -> str:
        """ "id@version" of the rubric. Raises SetupError E0203 for one that is not in the registry."""
        return self.rubrics.get(rubric).ref

    def fingerprint(self, rubric: str) -> str:
        """Hash of the rubric's text, the model, the form of the prompt, the parameters, and when
        controls are planted.
        """
        known = self._known.get(("fingerprint", rubric))
        if known is None:
            settings = (self.temperature, self.seed, self.single_calls, dict(self.parameters))
            planted = (
                (self.controls, CONTROLS_VERSION)
                if rubric in PLANTED and self.controls != "off"
                else ()
            )
            known = digest(
                "llm", FORM, RULES, self.rubrics.get(rubric).digest, self.uri, settings, planted
            )
            self._known["fingerprint", rubric] = known
        return known

    def _system(self, rubric: Rubric, shape: str) -> str:
        known = self._known.get((rubric.id, shape))
        if known is None:
            known = self._known[rubric.id, shape] = rubric.system_prompt(shape)
        return known

    def batches(self, requests: Sequence[Request]) -> list[tuple[Request, ...]]:
        """Groups of one rubric and equal inputs but for the item: at most `batch` items, within the
        size limit.
        """
        groups: list[list[Request]] = []
        open_group: dict[
            object, tuple[int, int]
        ] = {}  # what is shared -> (index of the group, its size in characters)
        for request in requests:
            rubric = self.rubrics.get(request.rubric)
            shared = {name: text for name, text in request.inputs.items() if name != rubric.item}
            key = (rubric.id, tuple(sorted(shared.items())), self._shape(rubric, request))
            size = len(request.inputs.get(rubric.item, "")) + 120
            most = 1 if self.single_calls else rubric.batch
            at, held = open_group.get(key, (-1, 0))
            if at < 0 or len(groups[at]) >= most or held + size > self.max_prompt_chars:
                at, held = len(groups), self._overhead(rubric, shared)
                groups.append([])
            groups[at].append(request)
            open_group[key] = at, held + size
        return [tuple(group) for group in groups]

    def answer(self, requests: tuple[Request, ...]) -> JudgeFlow:
        """The flow for one group; see the module's first lines."""
        rubric = self.rubrics.get(requests[0].rubric)
        self._check_inputs(rubric, requests)
        round_ = _Round(
            self, rubric, tuple({request.key: request for request in requests}.values())
        )
        return round_.flow()

    # -- the prompt

    def _shape(self, rubric: Rubric, request: Request) -> str:
        return shape_of(request.text(rubric.wording_by)) if rubric.wording_by else ""

    def _overhead(self, rubric: Rubric, shared: Mapping[str, object]) -> int:
        texts = [
            text
            for value in shared.values()
            for text in (value if isinstance(value, tuple) else (value,))
        ]
        return (
            len(rubric.system)
            + len(rubric.user)
            + 4000
            + sum(len(str(text)) + 80 for text in texts)
        )

    def _check_inputs(self, rubric: Rubric, requests: Sequence[Request]) -> None:
        for name in rubric.inputs:
            if any(name not in request.inputs for request in requests):
                given = ", ".join(requests[0].inputs)
                raise SetupError(
                    "E0204",
                    f"The rubric {rubric.ref} reads {name!r}, but the metric gives only {given}.",
                    fix=f"change `inputs` of the rubric {rubric.id}",
                )

    def call(
        self, rubric: Rubric, items: Mapping[str, Request], *, again: bool = False
    ) -> ChatCall:
        """The call that asks these items (id -> Request of one group)."""
        first = next(iter(items.values()))
        shape = self._shape(rubric, first)
        texts = {
            name: _shown(name, first.inputs[name]) for name in rubric.inputs if name != rubric.item
        }
        texts[rubric.item] = "\n\n".join(
            f"{rubric.item} with the id {name}:\n{_shown(rubric.item, request.inputs[rubric.item])}"
            for name, request in items.items()
        )
        form = schema(rubric, list(items))
        user = [
            rubric.user_prompt(texts, shape),
            *([_AGAIN] if again else []),
            f"Give a verdict for each of these ids: {', '.join(items)}",
            f"The JSON Schema of the reply: {_written(form)}",
        ]
        length = _ITEM_TOKENS * len(items)
        if rubric.writes == "claims":
            length = len(first.text(rubric.item))
        elif rubric.writes != "ratings":
            length += sum(len(request.text(rubric.item)) for request in items.values())
        return ChatCall(
            (Message("system", self._system(rubric, shape)), Message("user", "\n\n".join(user))),
            schema=form,
            schema_name=rubric.id,
            max_tokens=min(_MOST_TOKENS, _BASE_TOKENS + length),
            temperature=self.temperature,
            seed=self.seed,
        )


def _written(form: Mapping[str, object]) -> str:
    """The schema as JSON, as Python's own encoder would write it."""
    try:
        return orjson.dumps(form).decode()
    except TypeError:  # half of a surrogate pair in a rating's name
        return json.dumps(form, ensure_ascii=False, separators=(",", ":"))


def _shown(name: str, value: str | tuple[str, ...]) -> str:
    if isinstance(value, str):
        return fence(name, value) if value.strip() else f"({name}: no text)"
    word = LISTS.get(name, name)
    return (
        "\n\n".join(fence(f"{word} {n}", text) for n, text in enumerate(value, 1))
        or f"({name}: none)"
    )


# -- one group being answered


@dataclass(frozen=True, slots=True)
class _Asked:
    """One call: the ids of the items that count, and of the controls planted among them with what
    is right there.
    """

    group: list[str]
    call: ChatCall
    controls: Mapping[str, bool]


@dataclass(slots=True)
class _Round:
    """The state of one flow: what each Request has cost so far, and why those without a verdict
    have none.
    """

    judge: LLMJudge
    rubric: Rubric
    requests: tuple[Request, ...]
    items: dict[str, Request] = field(default_factory=dict)
    spent: dict[str, Spend] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    halve: set[str] = field(default_factory=set)
    fingerprint: str = ""

    def flow(self) -> JudgeFlow:
        self.fingerprint = self.judge.fingerprint(self.rubric.id)
        at_once = [self._known(request) for request in self.requests]
        for request, judgment in zip(self.requests, at_once, strict=True):
            if judgment is None:
                self.items[self._id(request, self.items)] = request
        self.spent = {name: Spend() for name in self.items}
        known = tuple(judgment for judgment in at_once if judgment is not None)
        if not self.items:
            return known
        if known:
            yield Keep(known)
        yield from self._ask([list(self.items)], again=False)
        if self.items:
            halves = [name for name in self.items if name in self.halve]
            rest = [name for name in self.items if name not in self.halve]
            middle = math.ceil(len(halves) / 2)
            yield from self._ask(
                [g for g in (rest, halves[:middle], halves[middle:]) if g], again=True
            )
        return tuple(self._lost(name, Status.UNPARSED, self.reasons[name]) for name in self.items)

    def _ask(
        self, groups: list[list[str]], *, again: bool
    ) -> Generator[Ask | Keep, tuple[Reply, ...], None]:
        asked, too_long = self._fit(groups, again)
        if too_long:
            yield Keep(tuple(too_long))
        if not asked:
            return
        replies = yield Ask(tuple(one.call for one in asked))
        settled: list[Judgment] = []
        for one, reply in zip(asked, replies, strict=True):
            settled += self._read(one, reply, again)
        if settled:
            yield Keep(tuple(settled))

    def _fit(self, groups: list[list[str]], again: bool) -> tuple[list[_Asked], list[Judgment]]:
        """The calls of the groups, halved until each prompt fits; an item that does not fit alone
        is settled.
        """
        waiting, fitting, lost = list(reversed(groups)), list[_Asked](), list[Judgment]()
        while waiting:
            group = waiting.pop()
            one, length = None, self._least(group)
            if (
                length <= self.judge.max_prompt_chars
            ):  # else a prompt of many megabytes is not even written
                one = self._asked(group, again)
                length = sum(len(message.content) for message in one.call.messages)
            if one is not None and length <= self.judge.max_prompt_chars:
                fitting.append(one)
            elif len(group) > 1:
                middle = math.ceil(len(group) / 2)
                waiting += [group[middle:], group[:middle]]
            else:
                reason = (
                    f"the prompt would have {'' if one else 'at least '}{length:,} characters, more"
                    f" than the limit of {self.judge.max_prompt_chars:,}; it was not sent:"
                    f" {_WAYS_OUT}"
                )
                lost.append(self._lost(group[0], Status.FAILED, reason))
                del self.items[group[0]]
        return fitting, lost

    def _least(self, group: list[str]) -> int:
        """Characters that the prompt has at least: those of the texts that it shows."""
        first = self.items[group[0]]
        shared = sum(
            len(text)
            for name in self.rubric.inputs
            if name != self.rubric.item
            for text in first.texts(name)
        )
        return shared + sum(
            len(text) for name in group for text in self.items[name].texts(self.rubric.item)
        )

    def _asked(self, group: list[str], again: bool) -> _Asked:
        """The call about a group of items, with what is planted among them."""
        rubric, items = self.rubric, {name: self.items[name] for name in group}
        planted = plant(
            self.judge.controls,
            rubric.id,
            rubric.item,
            list(items.values()),
            [self.fingerprint, again],
        )
        if not planted.controls:
            return _Asked(group, self.judge.call(rubric, items, again=again), {})
        shown, controls = self._among(items, planted)
        return _Asked(group, self.judge.call(rubric, shown, again=again), controls)

    def _among(
        self, items: Mapping[str, Request], planted: Planted
    ) -> tuple[dict[str, Request], dict[str, bool]]:
        """The items and the controls between them, each as its Request; and the controls' ids."""
        places: list[tuple[str, Request]] = list(items.items())
        first, controls = places[0][1], dict[str, bool]()
        shared = dict(first.inputs)
        if planted.passage:
            shared["contexts"] = (*first.texts("contexts"), planted.passage)
        for control in sorted(
            planted.controls, key=lambda c: -c.at
        ):  # from the end, so that places stay what they were
            request = Request(self.rubric.id, {**shared, self.rubric.item: control.text})
            name = self._id(request, taken={*self.items, *controls})
            controls[name] = control.passes
            places.insert(control.at, (name, request))
        # The first one's inputs are shown for all, and it may be an item without the added passage.
        shown = {
            name: Request(
                self.rubric.id, {**shared, self.rubric.item: request.inputs[self.rubric.item]}
            )
            for name, request in places
        }
        return shown, controls

    def _read(self, one: _Asked, reply: Reply, again: bool) -> list[Judgment]:
        """Settle what the reply settles; the rest stays in `items` with its reason."""
        group = one.group
        for name, share in zip(group, split(reply.spend, len(group)), strict=True):
            self.spent[name] += share
        if isinstance(reply, CallFailed):
            if reply.kind == "too_long" and len(group) > 1 and not again:
                self.halve.update(group)
                self.reasons.update(dict.fromkeys(group, "the prompt was too long for the model"))
                return []
            over = reply.kind == "over_budget"
            reason = f"{reply.message}; {_WAYS_OUT}" if reply.kind == "too_long" else reply.message
            return self._all_lost(
                group, Status.OVER_BUDGET if over else Status.FAILED, reason or reply.kind
            )
        if not isinstance(reply, ChatReply):
            return self._all_lost(group, Status.FAILED, "the model gave a reply of another kind")
        cut = reply.finish == "length"
        found = parse(reply.text, self.rubric, [*group, *one.controls], cut=cut)
        if reply.finish in _REFUSALS or (not found and refuses_the_task(reply.text)):
            why = "the model refused to answer" + (
                f" ({reply.finish})" if reply.finish in _REFUSALS else ""
            )
            return self._all_lost(group, Status.REFUSED, why)
        # A control without a verdict vouches for nothing either; a reply without any is lost for
        # another reason.
        void = bool(found) and any(
            not self._right(found.pop(name, None), right) for name, right in one.controls.items()
        )
        if void:
            found = {}
        settled, empty = list[Judgment](), dict[str, str]()
        for name, verdict in found.items():
            judgment = self._judged(name, verdict)
            if why := self._holds_nothing(name, verdict, judgment):
                empty[name] = why
            else:
                settled.append(judgment)
                del self.items[name]
        missing = [name for name in group if name in self.items]
        if cut:
            self.halve.update(missing)
        if cut and not void:
            reason = "the reply was cut off at its length limit before a verdict for it"
        elif void:
            reason = _VOID
        else:
            reason = (
                "the reply held no usable verdict for it"
                if reply.text.strip()
                else "the reply was empty"
            )
        for name in missing:
            self.reasons[name] = empty.get(name, reason) + (
                ", also when asked again" if again else ""
            )
        return settled

    def _right(self, verdict: Verdict | None, passes: bool) -> bool:
        """Whether the verdict on a control is the right one."""
        scale = self.rubric.scale
        if verdict is None or scale is None or verdict.rating is None:
            return False
        return scale.passes(self._rating(verdict)) is passes

    def _holds_nothing(self, name: str, verdict: Verdict, judgment: Judgment) -> str:
        """Why a reply in the right form says nothing that can be used, or ""."""
        # What states nothing is listed as trivial; an empty list takes the row out of the score,
        # which is what a response that says "there are no claims here" is after. The same holds for
        # questions.
        if self.rubric.writes == "claims" and not verdict.claims:
            words = _WORD.findall(self.items[name].text(self.rubric.item))
            return (
                "the reply lists no claims for a response that has text"
                if len(words) >= _WORDS_WITH_A_CLAIM
                else ""
            )
        if (
            self.rubric.id == "questions"
            and not verdict.texts
            and "noncommittal" not in verdict.flags
        ):
            return "the reply gives no question and does not call the response noncommittal"
        if (
            self.rubric.writes == "texts"
            and verdict.texts
            and not any(text.strip() for text in verdict.texts)
        ):
            return "the texts in the reply are empty"
        if self.rubric.writes == "quotes" and verdict.quotes and not judgment.evidence:
            return "none of the quotes in the reply stands in the text"
        return ""

    # -- Judgments

    def _known(self, request: Request) -> Judgment | None:
        return settle_without_call(request, self.rubric, self.fingerprint)

    def _id(self, request: Request, taken: Collection[str]) -> str:
        # No text of the data holds the id: else what a text says of it could be read as a verdict.
        full = digest("item", self.fingerprint, request.key)
        texts = [text for name in request.inputs for text in request.texts(name)]
        free = (
            full[:n]
            for n in range(8, 33)
            if full[:n] not in taken and not any(full[:n] in text for text in texts)
        )
        return next(free, full)

    def _judged(self, name: str, verdict: Verdict) -> Judgment:
        request, scale, rubric = self.items[name], self.rubric.scale, self.rubric
        evidence, lost = self._evidence(request, verdict)
        missed = ("quote_not_found",) if lost else ()
        if scale is None:
            trivial = (f"trivial:{n}" for n, claim in enumerate(verdict.claims) if claim.trivial)
            return Judgment(
                request.key,
                self.fingerprint,
                rubric.ref,
                Status.JUDGED,
                texts=verdict.texts or tuple(claim.text for claim in verdict.claims),
                evidence=evidence,
                flags=(*verdict.flags, *trivial, *missed),
                spend=self.spent[name],
            )
        end = self._end(verdict)
        rating = self._rating(verdict)
        passes = scale.passes(rating)
        return Judgment(
            request.key,
            self.fingerprint,
            rubric.ref,
            Status.JUDGED,
            rating=rating,
            value=scale.value(rating),
            rationale=verdict.reasoning.strip(),
            evidence=evidence,
            flags=(*verdict.flags, *missed),
            spend=self.spent[name],
            passes=passes,
            sources=self._sources(request, verdict, end, passes=passes),
        )

    def _end(self, verdict: Verdict) -> str:
        """ "highest" or "lowest" where a flag fixes the rating; of several the first in the rubric."""
        return next(
            (flag.end for flag in self.rubric.flags if flag.end and flag.name in verdict.flags), ""
        )

    def _rating(self, verdict: Verdict) -> Rating:
        """The rating; a flag that fixes it is stronger than the one beside it."""
        scale, end = self.rubric.scale, self._end(verdict)
        assert scale is not None
        assert verdict.rating is not None
        return verdict.rating if not end else scale.highest if end == "highest" else scale.lowest

    def _sources(
        self, request: Request, verdict: Verdict, end: str, *, passes: bool
    ) -> tuple[int, ...] | None:
        """The contexts that support the item; None where that was not asked, or a supported item is
        given none.
        """
        if not self.rubric.asks_sources:
            return None
        if (
            not passes or end == "highest"
        ):  # what is not supported has no sources; an abstention needs none
            return ()
        many = len(request.texts("contexts"))
        return tuple(n - 1 for n in verdict.sources or () if n <= many) or None

    def _evidence(self, request: Request, verdict: Verdict) -> tuple[tuple[Evidence, ...], bool]:
        """The quotes that stand in the contexts, and whether one does not."""
        name = next((name for name in ("contexts", "context") if name in self.rubric.inputs), "")
        if not verdict.quotes or not name:
            return (), False
        finder, found, lost = Finder(request.texts(name)), list[Evidence](), False
        most = _MOST_QUOTES if self.rubric.writes == "quotes" else _MOST_QUOTES_BESIDE_A_RATING
        if self.rubric.writes == "quotes" and len(verdict.quotes) > most:
            lost = True
        for quote in verdict.quotes[:most]:
            if not quote.text.strip():
                continue
            at = finder.find(quote.text, None if quote.passage is None else quote.passage - 1)
            found += at
            lost = lost or not at
        return tuple(dict.fromkeys(found)), lost

    def _lost(self, name: str, status: Status, reason: str) -> Judgment:
        key = self.items[name].key
        return Judgment(
            key, self.fingerprint, self.rubric.ref, status, reason=reason, spend=self.spent[name]
        )

    def _all_lost(self, group: list[str], status: Status, reason: str) -> list[Judgment]:
        lost = [self._lost(name, status, reason) for name in group]
        for name in group:
            del self.items[name]
        return lost


def split(spend: Spend, n: int) -> list[Spend]:
    """`n` shares of a call's spend that add up to it exactly, in any order; the first ones take
    what does not divide.

    The call itself counts with the first share, since there is no part of a call.
    """
    calls = [spend.calls] + [0] * (n - 1)
    tokens = [
        _parts(count, n) for count in (spend.input_tokens, spend.output_tokens, spend.cached_tokens)
    ]
    costs = [None] * n if spend.cost is None else _float_parts(spend.cost, n)
    seconds = _float_parts(spend.seconds, n)
    return [Spend(*shares) for shares in zip(calls, *tokens, costs, seconds, strict=True)]


def _parts(count: int, n: int) -> list[int]:
    each, left = divmod(count, n)
    return [each + (i < left) for i in range(n)]


def _float_parts(amount: float, n: int) -> list[float]:
    # Shares are whole multiples of the amount's last binary digit, so that sums of them are exact.
    unit = math.ulp(amount)
    return [part * unit for part in _parts(round(amount / unit), n)]
