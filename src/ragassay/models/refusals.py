"""What a server refuses of a request, by its own words, and the request that goes on without it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ragassay.core import ChatCall
from ragassay.models.capabilities import LIMITS, Capabilities
from ragassay.models.failures import TOO_LONG

LEAST_TOKENS = 64
"""The shortest reply that is still asked for where a context is nearly full."""

_FORMAT = re.compile(
    r"response[_ ]?format|json[_ ]?schema|json[_ ]?object|structured[_ ]?output|guided|grammar"
    r"|response_?(?:json_?)?schema|responseMimeType|response_mime_type|output_?config|output_format"
    r"|textFormat|json mode|schema is too complex|schemas? contains?|JSON Schema not supported",
    re.I,
)
# A schema that is refused for what stands in it, not for being one.
_SCHEMA_PART = re.compile(
    r"features? not supported|too complex|enum|additional_?properties|could not understand"
    r"|invalid schema|unknown name|min_?items|unsupported (?:schema|keyword)|compil|union",
    re.I,
)
_TOOL = re.compile(r"\btools?\b|tool_choice|toolConfig|function[ _-]?call", re.I)
_SYSTEM = re.compile(
    r"system role|system (?:message|prompt|instruction)s?[^.]{0,40}not (?:support|allow|enabl)"
    r"|(?:n't|not|no) (?:support|allow|accept)[^.]{0,40}system (?:message|prompt|instruction)"
    r"|'system'|\"system\"|`system`|developer instruction is not enabled|roles must alternate"
    r"|only user and assistant roles|unexpected role",
    re.I,
)
_THINKING_OFF = re.compile(r"enable_thinking\W+(?:\w+\s+){0,2}must be (?:set to )?false", re.I)
_STREAM = re.compile(
    r"enable[_ ]thinking|only (?:supports? )?(?:the )?stream|stream(?:ing)? (?:mode )?only"
    r"|(?:requires?|must (?:use|be|set)|set|needs?)[^.]{0,30}\bstream(?:ing)?\b"
    r"|\bstream\W{0,3}(?:must be|should be|to|=)\W{0,3}true|non-?streaming[^.]{0,40}not"
    r"|stream(?:ing)? is required",
    re.I,
)
_EFFORT = re.compile(
    r"reasoning|effort|thinking|enable_thinking|chat_template_kwargs|include_reasoning", re.I
)
# Anthropic's models take the one or the other, by their generation.
_WANTS_EFFORT = re.compile(
    r"thinking\W{1,3}type\W{1,3}enabled\W.*(?:not supported|adaptive)", re.I | re.S
)
_WANTS_BUDGET = re.compile(r"'adaptive' found|adaptive\W.*not supported", re.I | re.S)
_LIMIT_NAME = re.compile(
    r"max(?:imum)?[_ ](?:completion_|output_|new_)?tokens|maxOutputTokens|maxTokens"
    r"|completion tokens|output tokens|num_predict",
    re.I,
)
_TOO_MANY = re.compile(
    r"too (?:large|high|big|many|long)|at most|maximum|less than|exceed|range|greater|upper|up to"
    r"|must be|> ?[0-9]|afford|lower",
    re.I,
)
_UNKNOWN = re.compile(
    r"unsupported|not support|extra|forbidden|unknown|unrecogni[sz]ed|unexpected|not permitted"
    r"|not allowed|cannot find field|instead|invalid param|deprecated",
    re.I,
)
_NUMBER = re.compile(r"(?<![\w.])([0-9][0-9,]{0,11})(?![\w.]*[a-z])", re.I)
_SUM = re.compile(r"(?<![0-9,])([0-9,]{1,12}) ?\+ ?[0-9,]{1,12} ?> ?([0-9,]{1,12})")
"""Prompt + reply > context, in numbers."""
_CONTEXT = re.compile(
    r"(?:context (?:length|limit|window|size)[^0-9]{0,40}|must be <=? ?)([0-9,]{1,12})", re.I
)
_PROMPT = re.compile(
    r"(?<![0-9,])([0-9,]{1,12}) (?:in the (?:messages|prompt|input)|(?:text )?input tokens"
    r"|`?inputs`? tokens|prompt tokens|of text input|tokens from the input)",
    re.I,
)
_CHARS_A_TOKEN = 2.5  # of a prompt whose tokens nobody tells: rather too many tokens than too few


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that a server refused: the call, what was sent of it, and the server's words.

    limit: the tokens that were asked for, None where no limit was sent. formats: the ones that the
    dialect has, the strictest first. effort: how much the model was told to think, "" for nothing.
    """

    call: ChatCall
    known: Capabilities
    limit: int | None
    formats: Sequence[str]
    status: int
    text: str
    effort: str = ""


def without_refused(refusal: Refusal) -> Capabilities | None:
    """What to go on with, or None where the refusal is about something that cannot be left out."""
    if refusal.status == 402:  # credits for a shorter reply are left
        return _shorter(refusal) if "afford" in refusal.text else None
    if refusal.status not in (400, 404, 405, 415, 422, 500, 501):
        return None
    # Templates and grammars fail with a 500; whatever else it is may pass.
    for rule in _RULES if refusal.status != 500 else (_system_role, _format):
        changed = rule(refusal)
        if changed is not None:
            return changed
    return None


def simpler_format(known: Capabilities, formats: Sequence[str], text: str) -> Capabilities | None:
    """The next way to ask for the form of a reply; None after the last one."""
    left = list(formats[formats.index(known.format) + 1 :]) if known.format in formats else []
    lower = text.lower()
    # What the server says it has not, or what it was not complaining of, is not tried.
    if "simple_schema" in left and not _SCHEMA_PART.search(text):
        left.remove("simple_schema")
    if "object" in left and ("must be 'json_schema' or 'text'" in lower or _no_object(lower)):
        left.remove("object")
    return replace(known, format=left[0]) if left else None


def _no_object(text: str) -> bool:
    return "json_object" in text and "not support" in text and "json_schema" not in text


# -- the rules, in the order in which they are asked


def _thinking(refusal: Refusal) -> Capabilities | None:
    known = refusal.known
    if _THINKING_OFF.search(refusal.text) and not (known.thinking_off or known.stream):
        return replace(known, thinking_off=True)
    return None


def _streaming(refusal: Refusal) -> Capabilities | None:
    known = refusal.known
    if known.stream:
        if known.stream_usage and "stream_options" in refusal.text:
            return replace(known, stream_usage=False)
        return None
    return replace(known, stream=True) if _STREAM.search(refusal.text) else None


def _system_role(refusal: Refusal) -> Capabilities | None:
    has_one = any(message.role == "system" for message in refusal.call.messages)
    if refusal.known.system and has_one and _SYSTEM.search(refusal.text):
        return replace(refusal.known, system=False)
    return None


def _limit(refusal: Refusal) -> Capabilities | None:
    """The limit of a reply: what the context leaves, another name, another number, or none."""
    known, text = refusal.known, refusal.text
    if refusal.limit is None:
        return None
    within = _within_context(refusal)
    if within is not None:
        return within
    name = known.limit
    is_unknown = bool(name) and name in text and _UNKNOWN.search(text) is not None
    if is_unknown or (name == "max_tokens" and "max_completion_tokens" in text):
        refused = (*known.refused_limits, name)
        other = next(limit for limit in LIMITS if limit not in refused)
        return replace(known, limit=other, refused_limits=refused)
    is_too_long = _LIMIT_NAME.search(text) and _TOO_MANY.search(text)
    # What says how long a prompt may be is no limit of the reply, though it names that as well.
    if not is_too_long or (TOO_LONG.search(text) and not _LIMIT_MUST.search(text)):
        return None
    return _shorter(refusal)


_LIMIT_MUST = re.compile(
    r"max_(?:completion_|output_|new_)?tokens\W{0,3}(?:is|must|should|cannot|can't|may|exceed|>)",
    re.I,
)


def _shorter(refusal: Refusal) -> Capabilities | None:
    """A shorter reply: as long as the server says that it may be, else half as long."""
    sent = refusal.limit
    if sent is None or sent <= LEAST_TOKENS:
        return None
    allowed = [number for number in _numbers(refusal.text) if LEAST_TOKENS <= number < sent]
    longest = max(allowed, default=sent // 2)
    if allowed and "exclusive" in refusal.text:
        longest -= 1
    return replace(refusal.known, most_tokens=longest)


def _within_context(refusal: Refusal) -> Capabilities | None:
    """As long a reply as the context leaves beside the prompt, where the server names both; where
    it names the context alone, the prompt's tokens are estimated.
    """
    if refusal.limit is None:
        return None
    parts = _SUM.search(refusal.text)
    size, prompt = (_integer(parts[2]), _integer(parts[1])) if parts else _told(refusal)
    left = size - prompt
    if not LEAST_TOKENS <= left < refusal.limit:
        return None
    return replace(refusal.known, context=size, most_tokens=left)


def _told(refusal: Refusal) -> tuple[int, int]:
    """The tokens of the context and of the prompt; (0, 0) where no context is named."""
    context = _CONTEXT.search(refusal.text)
    if context is None:
        return 0, 0
    prompt = _PROMPT.search(refusal.text)
    if prompt is not None:
        return _integer(context[1]), _integer(prompt[1])
    characters = sum(len(message.content) for message in refusal.call.messages)
    return _integer(context[1]), int(characters / _CHARS_A_TOKEN)


def _format(refusal: Refusal) -> Capabilities | None:
    known = refusal.known
    if refusal.call.schema is None or known.format == "text" or TOO_LONG.search(refusal.text):
        return None
    is_about_it = (_TOOL if known.format == "tool" else _FORMAT).search(refusal.text)
    return simpler_format(known, refusal.formats, refusal.text) if is_about_it else None


def _sampling(refusal: Refusal) -> Capabilities | None:
    known, text = refusal.known, refusal.text.lower()
    if known.temperature and refusal.call.temperature is not None and "temperature" in text:
        return replace(known, temperature=False)
    if known.seed and refusal.call.seed is not None and re.search(r"\b(?:random_)?seed\b", text):
        return replace(known, seed=False)
    return None


def _thinking_form(refusal: Refusal) -> Capabilities | None:
    """Whether thinking is asked for by an effort or by a number of tokens."""
    known, text = refusal.known, refusal.text
    if not (refusal.effort and known.effort) or known.adaptive is not None:
        return None
    if _WANTS_EFFORT.search(text):
        return replace(known, adaptive=True)
    return replace(known, adaptive=False) if _WANTS_BUDGET.search(text) else None


def _effort(refusal: Refusal) -> Capabilities | None:
    if refusal.effort and refusal.known.effort and _EFFORT.search(refusal.text):
        return replace(refusal.known, effort=False)
    return None


_RULES: tuple[Callable[[Refusal], Capabilities | None], ...] = (
    _thinking,
    _thinking_form,
    _streaming,
    _system_role,
    _limit,
    _format,
    _sampling,
    _effort,
)


def _numbers(text: str) -> list[int]:
    return [_integer(number) for number in _NUMBER.findall(text)]


def _integer(text: str) -> int:
    return int(text.replace(",", "") or 0)
