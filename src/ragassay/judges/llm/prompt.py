"""The prompt of one call: the rubric, the data in fences, and the form of the reply.

The system part is the same for all rows. In the user part what varies between calls stands last, so
that a provider's cache of prompts is hit. Every byte is part of what a judgment depends on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ragassay.core import ChatCall, Message, Request
from ragassay.judges.fence import fence
from ragassay.judges.llm.reply_form import schema
from ragassay.judges.rubric import LISTS, Rubric
from ragassay.judges.text_rules.text_shape import shape_of

_AGAIN = (
    "An earlier reply held no usable verdict for the ids below. Give one entry for each, in exactly"
    " the form that was described."
)
# Room for a reply, in tokens: a base, and so much an item. A verdict with its reasons takes 70 and
# each quote some 30 more; models that lay their JSON out in lines take twice that. Claims, quotes
# and texts can repeat the whole item.
_BASE_TOKENS, _ITEM_TOKENS, _QUOTES_TOKENS, _MOST_TOKENS = 512, 200, 120, 8192
# Characters around the texts, at most: the form of the reply, titles, fences.
_PROMPT_CHARS, _FENCE_CHARS = 4000, 80


@dataclass(frozen=True, slots=True)
class Sampling:
    """The settings of the model that a call carries."""

    temperature: float | None
    seed: int | None


def input_shape(rubric: Rubric, request: Request) -> str:
    """The shape of the input that decides on the wording; "" where the rubric has one wording."""
    if not rubric.wording_by:
        return ""
    return shape_of(request.text(rubric.wording_by))


def chat_call(
    rubric: Rubric,
    items: Mapping[str, Request],
    system_prompt: str,
    sampling: Sampling,
    *,
    again: bool,
    last_first: bool = False,
) -> ChatCall:
    """The call that asks these items (id -> Request of one group), in their order.

    again: an earlier reply held no verdict on them. last_first: the texts of a list are shown from
    the last to the first.
    """
    parts = [_data(rubric, items, last_first)]
    if again:
        parts.append(_AGAIN)
    parts.append(f"One entry for each TAG: {', '.join(items)}")
    return ChatCall(
        (Message("system", system_prompt), Message("user", "\n\n".join(parts))),
        schema=schema(rubric, list(items)),
        schema_name=rubric.id,
        max_tokens=_reply_tokens(rubric, items),
        temperature=sampling.temperature,
        seed=sampling.seed,
    )


def _data(rubric: Rubric, items: Mapping[str, Request], last_first: bool) -> str:
    """The part of the prompt with the texts to judge."""
    first = next(iter(items.values()))
    texts: dict[str, str] = {}
    for name in rubric.inputs:
        if name != rubric.item:
            texts[name] = _fenced(name, first.inputs[name], last_first)
    shown: list[str] = []
    for name, request in items.items():
        shown.append(fence(rubric.item, request.text(rubric.item), name))
    texts[rubric.item] = "\n\n".join(shown)
    return rubric.user_prompt(texts, input_shape(rubric, first))


def _fenced(name: str, value: str | tuple[str, ...], last_first: bool) -> str:
    """An input between fences; of a list each text, with its number, which it keeps wherever it
    stands.
    """
    if isinstance(value, str):
        return fence(name, value) if value.strip() else f"({name}: no text)"
    if not value:
        return f"({name}: none)"
    word = LISTS.get(name, name)
    texts = [fence(f"{word} {n}", text) for n, text in enumerate(value, 1)]
    if last_first:
        texts.reverse()
    return "\n\n".join(texts)


def _reply_tokens(rubric: Rubric, items: Mapping[str, Request]) -> int:
    quotes = _QUOTES_TOKENS if rubric.asks_quotes or rubric.writes != "ratings" else 0
    length = (_ITEM_TOKENS + quotes) * len(items)
    if rubric.writes == "claims":
        first = next(iter(items.values()))
        length = len(first.text(rubric.item))
    elif rubric.writes != "ratings":
        length += sum(len(request.text(rubric.item)) for request in items.values())
    return min(_MOST_TOKENS, _BASE_TOKENS + length)


# -- lengths, in characters


def most_chars(rubric: Rubric, shared: Mapping[str, object]) -> int:
    """Characters of a prompt without its items, at most. shared: the inputs but for the item."""
    length = len(rubric.system) + len(rubric.user) + _PROMPT_CHARS
    for value in shared.values():
        texts = value if isinstance(value, tuple) else (value,)
        length += sum(len(str(text)) + _FENCE_CHARS for text in texts)
    return length


def least_chars(rubric: Rubric, requests: list[Request]) -> int:
    """Characters that the prompt has at least: those of the texts that it shows."""
    length = 0
    for name in rubric.inputs:
        if name != rubric.item:
            length += sum(map(len, requests[0].texts(name)))
    for request in requests:
        length += sum(map(len, request.texts(rubric.item)))
    return length
