"""The worst case of a call: the most tokens, and so the most dollars, that it can take.

Budgets reserve it before a call is sent, and the log of replies notes it, since nobody knows what
a call without an answer was billed.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import NamedTuple

from ragassay.core import Call, ChatCall
from ragassay.dispatch.account import exact

PriceOf = Callable[[int, int], float | None]
"""(input tokens, output tokens) -> US dollars, None when the price is not known."""

OutputLimit = Callable[[ChatCall], int]
"""The most output tokens that a call may take: those of the answer, and those in which the model
thinks before it.
"""

TOKENS_PER_MESSAGE = 16
"""Room for what a chat template adds around a message."""

TITLE_OF_SCHEMA = 64
"""Room for the words that introduce the schema where it is sent as part of the prompt."""


class CallSize(NamedTuple):
    """What is known of a call before it is sent. kind: calls of one kind are alike. input_bound:
    the most tokens of the input; answer_budget: of the answer; thinking: of what precedes it.
    """

    kind: str
    input_bound: int
    answer_budget: int
    thinking: int

    @property
    def model(self) -> str:
        """The model that the call is for, "" where it names none."""
        return self.kind.rpartition(" ")[0]

    @property
    def limit(self) -> int:
        """The most tokens of the reply."""
        return self.answer_budget + self.thinking


def answer_budget(call: ChatCall) -> int:
    """The output limit of a model that does not think: the budget for the answer."""
    return call.max_tokens


def output_limit_of(model: object) -> OutputLimit:
    """The output limit as the model says it (`Model.output_limit`), which may grow during a run."""
    limit: OutputLimit = getattr(model, "output_limit", answer_budget)
    return limit


def worst_case_tokens(call: Call, output_limit: OutputLimit = answer_budget) -> tuple[int, int]:
    """Upper bounds on the input and output tokens of a call.

    A token of a byte-level vocabulary covers at least one byte, so bytes bound the input;
    output_limit bounds the output.
    """
    if not isinstance(call, ChatCall):
        return 0, 0
    size = sum(size_in_bytes(m.content) + TOKENS_PER_MESSAGE for m in call.messages)
    if call.schema is not None:
        size += size_in_bytes(call.schema_text) + TITLE_OF_SCHEMA
    return size, output_limit(call)


def size_of(call: ChatCall, output_limit: OutputLimit = answer_budget) -> CallSize:
    """The size of a call; its kind is the rubric of which it asks, and the model that it is for."""
    input_bound, output_bound = worst_case_tokens(call, output_limit)
    kind = f"{call.model} {call.schema_name}" if call.model else call.schema_name
    # A server may take less than the budget for the answer.
    answer = min(call.max_tokens, output_bound)
    return CallSize(kind, input_bound, answer, output_bound - answer)


def worst_case(
    price: PriceOf, call: Call, output_limit: OutputLimit = answer_budget
) -> Decimal | None:
    """US dollars that a call costs at most; None when the price is not known."""
    if price(1000, 1000) is None:  # a price is known for any number of tokens, or for none
        return None
    cost = price(*worst_case_tokens(call, output_limit))
    return None if cost is None else exact(cost)


def size_in_bytes(text: str) -> int:
    """Bytes of the text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
