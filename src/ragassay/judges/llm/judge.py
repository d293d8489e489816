"""The judge that asks a language model: which Requests share a call, and what its answers rest on.

A group of Requests is one call; `group` asks it and reads the reply, `prompt` writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragassay.core import ChatCall, JudgeFlow, Request, SetupError, digest
from ragassay.judges.input_rules import RULES
from ragassay.judges.llm.controls import PLANTED, Controls, check_controls
from ragassay.judges.llm.controls import VERSION as CONTROLS_VERSION
from ragassay.judges.llm.group import GroupAnswer
from ragassay.judges.llm.orders import VERSION as ORDERS_VERSION
from ragassay.judges.llm.orders import Order, arranged, check_order, reverses_lists
from ragassay.judges.llm.prompt import Sampling, chat_call, input_shape, most_chars
from ragassay.judges.llm.redaction import answer_redacted
from ragassay.judges.llm.sensitive import VERSION as REDACTION_VERSION
from ragassay.judges.registry import RubricRegistry
from ragassay.judges.rubric import FORM, Rubric

# Characters around an item in a prompt, at most: its id, its title and its fence.
_ITEM_CHARS = 120


@dataclass(frozen=True, slots=True)
class LLMJudge:
    """A judge that asks a chat model.

    uri: the model. single_calls: one call an item instead of one a group. max_prompt_chars: a
    longer prompt is not sent. temperature, seed: as in ChatCall. parameters: whatever else
    determines the model's answers (such as the server's address); it goes into the fingerprint.
    controls: when control claims are planted; "auto" = where the data of a call look like an
    attack, so that any other call costs and says what it would without them. order: in which a call
    shows its items, see `llm.orders`. redact: secrets and personal data of the texts are
    replaced by placeholders before anything is made of them, see `llm.redaction`.
    """

    uri: str
    rubrics: RubricRegistry
    single_calls: bool = False
    max_prompt_chars: int = 400_000
    temperature: float | None = 0.0
    seed: int | None = None
    parameters: Mapping[str, object] = field(default_factory=dict)
    controls: Controls = "auto"
    order: Order = "shuffled"
    redact: bool = False
    # Written once, since it is the same for every Request of a rubric: its fingerprint, and its
    # system prompt by the shape of the input.
    _fingerprints: dict[str, str] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _system_prompts: dict[tuple[str, str], str] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        check_controls(self.controls)
        check_order(self.order)

    @property
    def agreement(self) -> str:
        """What is known of its agreement with people."""
        return "unmeasured: no human labels have been compared with this judge"

    def rubric_version(self, rubric: str) -> str:
        """ "id@version" of the rubric. Raises SetupError E0203 for one not in the registry."""
        return self.rubrics.get(rubric).ref

    def fingerprint(self, rubric: str) -> str:
        """Hash of the rubric's text, the model, the form of the prompt, the parameters, when
        controls are planted, and the order of the items.
        """
        fingerprint = self._fingerprints.get(rubric)
        if fingerprint is None:
            fingerprint = self._fingerprints[rubric] = self._new_fingerprint(rubric)
        return fingerprint

    def _new_fingerprint(self, rubric: str) -> str:
        settings = (self.temperature, self.seed, self.single_calls, dict(self.parameters))
        planted: tuple[object, ...] = ()
        if rubric in PLANTED and self.controls != "off":
            planted = (self.controls, CONTROLS_VERSION)
        order = (self.order, ORDERS_VERSION)
        text = self.rubrics.get(rubric).digest
        # Nothing else where it is off, or every judgment stored without it would be asked again.
        redacted = (("redacted", REDACTION_VERSION),) if self.redact else ()
        return digest("llm", FORM, RULES, text, self.uri, settings, planted, order, *redacted)

    def groups(self, requests: Sequence[Request]) -> list[tuple[Request, ...]]:
        """Groups of one rubric and equal inputs but for the item: at most `batch` items, within the
        size limit.
        """
        groups: list[list[Request]] = []
        # What is shared -> the index of the group that is still open, and its characters.
        open_groups: dict[object, tuple[int, int]] = {}
        for request in requests:
            rubric = self.rubrics.get(request.rubric)
            shared = {name: text for name, text in request.inputs.items() if name != rubric.item}
            key = (rubric.id, tuple(sorted(shared.items())), input_shape(rubric, request))
            size = len(request.inputs.get(rubric.item, "")) + _ITEM_CHARS
            most_items = 1 if self.single_calls else rubric.batch
            index, chars = open_groups.get(key, (-1, 0))
            is_full = index < 0 or len(groups[index]) >= most_items
            if is_full or chars + size > self.max_prompt_chars:
                index = len(groups)
                chars = most_chars(rubric, shared)
                groups.append([])
            groups[index].append(request)
            open_groups[key] = (index, chars + size)
        return [tuple(group) for group in groups]

    def answer(self, requests: tuple[Request, ...]) -> JudgeFlow:
        """The flow for one group; see `llm.group`."""
        if self.redact:
            return answer_redacted(requests, self._answer)
        return self._answer(requests)

    def _answer(self, requests: tuple[Request, ...]) -> JudgeFlow:
        rubric = self.rubrics.get(requests[0].rubric)
        _check_inputs(rubric, requests)

        def make_call(items: Mapping[str, Request], again: bool) -> ChatCall:
            return self.call(rubric, items, again=again)

        def arrange(items: Mapping[str, Request]) -> list[str]:
            return arranged(self.order, items, (self.seed, self.parameters.get("sample")))

        unique = tuple({request.key: request for request in requests}.values())
        group = GroupAnswer(
            rubric,
            unique,
            self.fingerprint(rubric.id),
            make_call,
            arrange,
            self.max_prompt_chars,
            self.controls,
        )
        return group.flow()

    def call(
        self, rubric: Rubric, items: Mapping[str, Request], *, again: bool = False
    ) -> ChatCall:
        """The call that asks these items (id -> Request of one group)."""
        first = next(iter(items.values()))
        system_prompt = self._system_prompt(rubric, input_shape(rubric, first))
        sampling = Sampling(self.temperature, self.seed)
        return chat_call(
            rubric,
            items,
            system_prompt,
            sampling,
            again=again,
            last_first=reverses_lists(self.order),
        )

    def _system_prompt(self, rubric: Rubric, shape: str) -> str:
        key = (rubric.id, shape)
        prompt = self._system_prompts.get(key)
        if prompt is None:
            prompt = self._system_prompts[key] = rubric.system_prompt(shape)
        return prompt


def _check_inputs(rubric: Rubric, requests: Sequence[Request]) -> None:
    """Raise SetupError E0204 where the rubric reads what the metric does not give."""
    for name in rubric.inputs:
        if any(name not in request.inputs for request in requests):
            inputs = ", ".join(requests[0].inputs)
            raise SetupError(
                "E0204",
                f"The rubric {rubric.ref} reads {name!r}, but the metric gives only {inputs}.",
                fix=f"change `inputs` of the rubric {rubric.id}",
            )
