"""What an answer without a reply means: the server's own words, and the kind of the failure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ragassay.core import CallError
from ragassay.models.retry_after import retry_after
from ragassay.models.server_reply import parse_json

TOO_LONG = re.compile(
    r"maximum context length|context[ _]length|context[ _]window|context[ _]size|prompt is too"
    r" long|input is too long|exceeds? (?:the )?context|exceed_context_size"
    r"|too many (?:input |prompt )?tokens|too_many_(?:prompt_)?tokens|string_above_max_length"
    r"|reduce the length|request too large|input tokens exceeded|exceeds? (?:the )?maximum length"
    r"|length of all messages is too long|input token count|maximum input length"
    r"|max_input_tokens|prompt too long|exceeds the maximum (?:number|token)",
    re.I,
)
UNKNOWN_MODEL = re.compile(
    r"model_not_found|invalid model|unknown model|no such model|not a valid model"
    r"|model identifier is invalid|deploymentnotfound|model names? (?:are|is)\b"
    r"|reached the end of its life|model.{0,200}(?:not found|not exist|was removed|is invalid)",
    re.I | re.S,
)
NO_MONEY = re.compile(
    r"insufficient_quota|billing_hard_limit|insufficient[ _](?:balance|credits?)|credit balance"
    r"|out of credits|requires more credits|payment required|billing details: ",
    re.I,
)
WRONG_KEY = re.compile(
    r"incorrect api key|api[ _]key not valid|invalid[ _]api[ _]key|api_key_invalid|x-api-key"
    r"|missing authentication|authentication fails|api key is invalid|invalid authentication"
    r"|security token included|unauthorized|unauthenticated",
    re.I,
)
FILTERED = re.compile(
    r"content[_ ]?filter|content management policy|responsibleaipolicy|content policy|model_armor",
    re.I,
)
JSON_FAILED = re.compile(
    r"json_validate_failed|failed to generate json|failed to validate json|tool_use_failed"
    r"|failed_generation",
    re.I,
)
"""The model wrote no JSON, and the server keeps what it wrote: another draw may succeed."""

_DEEPEST = 4  # envelopes around an error: a gateway's, the provider's behind it, its own text
_NAMES = ("message", "error", "msg", "detail", "title", "error_message")
_CODES = ("code", "type", "param", "status", "error_type", "error_code", "failed_generation")


def error_text(body: bytes) -> str:
    """What a server says is wrong, with its codes: all that the rules above read. What stands in a
    gateway's envelope comes behind what the gateway says itself.
    """
    return text_of(parse_json(body)) or body.decode("utf-8", "replace").strip()


def text_of(error: object) -> str:
    """The words of an error that has been read as JSON; "" where there are none."""
    words = list(_words(error, 0)) if isinstance(error, (dict, list, str)) else []
    if not any(word.strip() for word in words):
        return ""
    first, *rest = dict.fromkeys(word for word in words if word.strip())
    return f"{first} ({', '.join(rest)})" if rest else first


def _words(data: object, depth: int) -> Iterator[str]:
    """The messages, then the codes, of an error in any of the forms that servers give them."""
    if depth > _DEEPEST:
        return
    if isinstance(data, str):
        inner = parse_json(data.encode()) if data.lstrip().startswith(("{", "[")) else None
        if isinstance(inner, (dict, list)):
            yield from _words(inner, depth + 1)
        else:
            yield data
    elif isinstance(data, list):
        for entry in data[:5]:
            yield from _words(entry, depth + 1)
    elif isinstance(data, dict):
        yield from _words_of_object(data, depth)


def _words_of_object(data: Mapping[str, Any], depth: int) -> Iterator[str]:
    for name in _NAMES:
        if data.get(name):
            yield from _words(data[name], depth + 1)
    place = data.get("loc")
    if isinstance(place, list):
        yield ".".join(map(str, place))
    for name in _CODES:
        value = data.get(name)
        if isinstance(value, (str, int)) and not isinstance(value, bool):
            yield str(value)
    for inner in _inner_errors(data):
        yield from _words(inner, depth + 1)


def _inner_errors(data: Mapping[str, Any]) -> Iterable[object]:
    """What the provider behind a gateway said."""
    metadata = data.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    named = (data.get("inner_error"), data.get("innererror"), data.get("external_model_message"))
    return [inner for inner in (raw, *named) if inner]


def is_unknown_model(status: int, text: str, *, has_answered: bool) -> bool:
    """Whether a server says that it does not have the model. Once it has answered, the model
    exists, and such words are an echo of some row.
    """
    if status == 404:
        return True
    if status not in (400, 403, 422) or has_answered:
        return False
    return UNKNOWN_MODEL.search(text) is not None


def failure(
    status: int,
    headers: Mapping[str, str],
    text: str,
    what: str,
    *,
    has_answered: bool,
    key_hint: str = "",
) -> CallError:
    """What an answer with this status means.

    text: the server's words. what: the sentence that the user reads. has_answered: a call of this
    model has succeeded before. key_hint: what to say of the key where it is rejected.
    """
    # A 400 may repeat the row that it refuses: its words count before the first answer only.
    own_words = status in (403, 429) or (status == 400 and not has_answered)
    if status == 402 or (own_words and NO_MONEY.search(text)):
        return CallError("quota", what, fatal=True, status=status)
    is_no_model = is_unknown_model(status, text, has_answered=has_answered)
    is_wrong_key = status == 400 and not has_answered and WRONG_KEY.search(text) is not None
    if status in (401, 407) or is_wrong_key or (status == 403 and not is_no_model):
        return CallError("auth", what + key_hint, fatal=True, status=status)
    if is_no_model:
        return CallError("no_model", what, fatal=True, status=status)
    if status in (400, 413, 422, 429, 500) and _is_too_long(status, text):
        return CallError("too_long", what, status=status)
    if 300 <= status < 400:
        return CallError("bad_request", what, fatal=True, status=status)
    if status in (408, 409, 425, 429) or (status >= 500 and status not in (501, 505)):
        kind = {408: "timeout", 429: "rate_limit"}.get(status, "server")
        # Behind a gateway that lost the answer the model may have written it.
        return CallError(
            kind,
            what,
            retryable=True,
            retry_after=retry_after(headers, limited=status == 429, text=text),
            maybe_billed=status in (502, 504, 524),
            status=status,
        )
    if status < 300:
        return CallError("bad_reply", what, retryable=True, maybe_billed=True, status=status)
    return CallError("bad_request", what, status=status)


def _is_too_long(status: int, text: str) -> bool:
    """Whether the request itself is too long. A rate that is exceeded passes with time, unless the
    request alone is more than it allows.
    """
    if status == 413:
        return True
    if status == 429:
        return re.search(r"request too large", text, re.I) is not None
    return TOO_LONG.search(text) is not None
