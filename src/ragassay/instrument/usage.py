"""Tokens that an answer took, and the model: read from what the client of a model returned, or said
by the application.
"""

from __future__ import annotations

from contextvars import ContextVar

from ragassay.datasets.outputs import part, tokens_of, usage_of
from ragassay.instrument.spans import LOGGER, AttributeValue

_MODELS = ("model", "model_name", "model_version")
_HOLDERS = ("response", "message")
"""What the last events of streams hold the whole reply in."""

Usage = dict[str, AttributeValue]
"""Attributes of a span."""

CURRENT: ContextVar[Usage | None] = ContextVar("ragassay_usage", default=None)
"""What is known of the call of a traced function that is running."""


def note_usage(
    *, input_tokens: int | None = None, output_tokens: int | None = None, model: str | None = None
) -> None:
    """Say what the answer that is being made took: called inside a function under
    `@ragassay.generator` or `@ragassay.trace`, where it returns a text alone. Several calls add up.
    Raises nothing; outside of such a function nothing is written.
    """
    known = CURRENT.get()
    if known is None:
        return
    try:
        said = _attributes(input_tokens, output_tokens, model)
        for name, value in said.items():
            before = known.get(name)
            is_sum = isinstance(before, int) and isinstance(value, int)
            known[name] = before + value if is_sum else value  # type: ignore[operator]
    except Exception:
        LOGGER.debug("the tokens of a call were not traced", exc_info=True)


def usage_in(returned: object) -> Usage:
    """What an object of a model's client says of its tokens, such as a completion of openai, its
    last piece of a stream, or a message of LangChain.
    """
    for holder in (returned, part(returned, _HOLDERS)):
        usage = usage_of(holder)
        if usage is not None:
            tokens = tokens_of(usage)
            return _attributes(
                tokens.get("input_tokens"), tokens.get("output_tokens"), part(holder, _MODELS)
            )
    return {}


def _attributes(input_tokens: object, output_tokens: object, model: object) -> Usage:
    attributes: Usage = {}
    for name, value in (
        ("llm.token_count.prompt", input_tokens),
        ("llm.token_count.completion", output_tokens),
    ):
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            attributes[name] = value
    if isinstance(model, str) and model:
        attributes["llm.model_name"] = model[:1000]
    return attributes
