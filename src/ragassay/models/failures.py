"""What an answer without a reply means: the server's own words, and the kind of the failure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ragassay.core import CallError
from ragassay.models.retry_after import retry_after
from ragassay.models.server_reply import parse_json

TOO_LONG = re.compile(
    r"maximum context length|context[ _]length|context[ _](?:window|limit)|context[ _]size"
    r"|prompt is too long|prompt too long|input (?:length )?is too long|exceeds? (?:the )?context"
    r"|exceed_context_size|too many (?:input |prompt )?tokens|too_many_(?:prompt_)?tokens"
    r"|string_above_max_length|reduce the length|request too large|request body too large"
    r"|input tokens exceeded|exceeds? (?:the )?max(?:imum)? (?:prompt |input )?length"
    r"|length of all messages is too long|input token count|maximum (?:input|prompt) length"
    r"|max_input_tokens|exceeds the maximum (?:number|token)|range of input length"
    r"|exceeded model token limit|tokens_limit_reached|inputs?`? must have less than"
    r"|exceeds? the (?:model's )?(?:token|context) limit",
    re.I,
)
UNKNOWN_MODEL = re.compile(
    r"model_not_found|invalid[ _]model|unknown[ _]model|no such model|not a valid model"
    r"|model identifier is invalid|deploymentnotfound|model names? (?:are|is)\b"
    r"|access to (?:the |this )?model|on-demand throughput isn|model_not_supported"
    r"|reached (?:the|its) end of (?:its )?life"
    r"|model.{0,200}(?:not found|not exist|was removed|is invalid)",
    re.I | re.S,
)
NO_MONEY = re.compile(
    r"insufficient_quota|billing_hard_limit|billing_not_active|exceeded_current_quota"
    r"|insufficient[ _](?:account[ _])?(?:balance|credits?|funds)|credit balance|out of credits"
    r"|requires more credits|included credits|available credits|credits? (?:exhausted|depleted)"
    r"|payment required|billing details: |spend(?:ing)? limit|api usage limits|arrearage"
    r"|overdue[ _]?(?:balance|payment)|accountoverdue"
    r"|account (?:is |has been )?(?:suspended|deactivated|not active)",
    re.I,
)
WRONG_KEY = re.compile(
    r"incorrect api key|api[ _]key not valid|invalid[ _]api[ _]key|api_key_invalid|x-api-key"
    r"|missing authentication|authentication fails|api key is invalid|invalid authentication"
    r"|security token included|unauthorized|unauthenticated",
    re.I,
)
NO_RIGHT = re.compile(
    r"api[ _-]?key|\btokens?\b|credential|permission|access denied|expired|revoked|suspended"
    r"|disabled|unauthori[sz]ed|authenticat|not authori[sz]ed|account|subscription|region|country",
    re.I,
)
"""What a 403 says where it is about who asks. One about what is asked concerns that row alone."""
FILTERED = re.compile(
    r"content[_ ]?filter|content management policy|responsibleaipolicy|model_armor"
    r"|content[_ ]policy|content_?(?:blocked|violation)|violat\w+ (?:our )?(?:usage|safety|content)"
    r"|safety_check|inappropriate content|data_?inspection_?failed|content exists risk"
    r"|sensitive_?content|flagged (?:as|by|for)|prohibited_content",
    re.I,
)
JSON_FAILED = re.compile(
    r"json_validate_failed|failed to generate json|failed to validate json|tool_use_failed"
    r"|failed_generation",
    re.I,
)
"""The model wrote no JSON, and the server keeps what it wrote: another draw may succeed."""

_DEEPEST = 8  # envelopes around an error: a gateway's, the provider's behind it, its own text
_NAMES = (
    "message",
    "Message",
    "error",
    "errors",
    "msg",
    "detail",
    "title",
    "error_message",
    "error_msg",
    "status_msg",
    "base_resp",
    "fault",
    "faultstring",
)
_CODES = (
    "code",
    "type",
    "param",
    "status",
    "reason",
    "error_type",
    "error_code",
    "status_code",
    "failed_generation",
)


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
    if isinstance(data.get("retryDelay"), str):  # Google's, beside the words
        yield f"retry in {data['retryDelay']}"
    for inner in _inner_errors(data):
        yield from _words(inner, depth + 1)


def _inner_errors(data: Mapping[str, Any]) -> Iterable[object]:
    """What the provider behind a gateway said."""
    metadata = data.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    named = [raw] + [data.get(name) for name in _INNER]
    return [inner for inner in named if inner]


_INNER = ("inner_error", "innererror", "external_model_message", "details")


def error_inside(reply: Mapping[str, Any]) -> object:
    """The error that a reply holds in place of an answer; None where there is none."""
    choices = reply.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    in_choice = choice.get("error") if isinstance(choice, Mapping) else None
    named = [reply.get("error"), in_choice, reply.get("errors"), reply.get("base_resp")]
    found = next((error for error in named if error), None)
    if found is None and any(isinstance(reply.get(name), str) for name in _BARE):
        return reply
    return found


_BARE = ("message", "Message", "detail", "msg", "error_msg", "error_message")


def status_inside(error: object, text: str, *, has_answered: bool) -> int | None:
    """The status that an error inside a reply would have had by itself; None where it says none."""
    fields = error if isinstance(error, Mapping) else {}
    for name in ("code", "status", "status_code"):
        status = fields.get(name)
        number = int(status) if isinstance(status, str) and status.isdecimal() else status
        if isinstance(number, int) and 400 <= number < 600:
            return number
    if has_answered:  # its words may be an echo of some row
        return None
    if NO_MONEY.search(text):
        return 402
    return 401 if WRONG_KEY.search(text) else None


def is_filtered(status: int, text: str) -> bool:
    """Whether a filter has refused the texts of this call."""
    return status in (400, 403, 422, 451) and FILTERED.search(text) is not None


LISTED = " It has: "
"""Stands before the models that a server has, where it lists some."""


def names_model(text: str, model: str) -> bool:
    """Whether a 404 is for the model, and not for the address."""
    is_named = bool(model) and model in text
    return is_named or LISTED in text or UNKNOWN_MODEL.search(text) is not None


def is_unknown_model(status: int, text: str, *, has_answered: bool) -> bool:
    """Whether a server says that it does not have the model. Once it has answered, the model
    exists, and such words are an echo of some row.
    """
    if status == 404:
        # Of a server that answers, one 404 among its replies is a gateway's, and may pass.
        return not has_answered
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
    model: str = "",
) -> CallError:
    """What an answer with this status means.

    text: the server's words. what: the sentence that the user reads. has_answered: a call of this
    model has succeeded before. key_hint: what to say of the key where it is rejected. model: its
    name.
    """
    # A 400 may repeat the row that it refuses: its words count before the first answer only.
    own_words = status in (403, 412, 429) or (status == 400 and not has_answered)
    if status == 402 or (own_words and NO_MONEY.search(text)):
        return CallError("quota", what, fatal=True, status=status)
    is_no_model = is_unknown_model(status, text, has_answered=has_answered)
    is_wrong_key = status == 400 and not has_answered and WRONG_KEY.search(text) is not None
    if status == 403 and has_answered and text and NO_RIGHT.search(text) is None:
        # A firewall or a moderator takes offence at this row: the others may pass.
        return CallError("bad_request", what, status=status)
    if status == 403 and not is_no_model and text and not is_about_the_key(text):
        return CallError("refused", what, fatal=True, status=status)
    if status in (401, 407) or is_wrong_key or (status == 403 and not is_no_model):
        return CallError("auth", what + key_hint, fatal=True, status=status)
    if is_no_model:
        kind = "no_model" if status != 404 or names_model(text, model) else "no_address"
        return CallError(kind, what, fatal=True, status=status)
    if status in (400, 413, 422, 429, 500) and _is_too_long(status, text):
        return CallError("too_long", what, status=status)
    if 300 <= status < 400:
        return CallError("bad_request", what, fatal=True, status=status)
    if status in (404, 408, 409, 425, 429) or (status >= 500 and status not in (501, 505)):
        kind = {408: "timeout", 429: "rate_limit"}.get(status, "server")
        # Behind a gateway that lost the answer the model may have written it.
        return CallError(
            kind,
            what,
            retryable=True,
            retry_after=retry_after(headers, limited=status in (429, 503), text=text),
            maybe_billed=status in (502, 504, 524),
            status=status,
        )
    if status < 300:
        return CallError("bad_reply", what, retryable=True, maybe_billed=True, status=status)
    return CallError("bad_request", what, status=status)


def is_explained(status: int, text: str) -> bool:
    """Whether a rejection before the first answer is for the key, the money, the model or the size,
    or passes: then nothing that is left out of the request would help.
    """
    patterns = (NO_MONEY, WRONG_KEY, UNKNOWN_MODEL, TOO_LONG, FILTERED, _PASSES)
    return status not in (400, 422, 501) or any(pattern.search(text) for pattern in patterns)


_PASSES = re.compile(r"maintenance|overload|unavailable at|try again|later|capacity|busy", re.I)


_SAYS_NOTHING = frozenset(("error", "http", "status", "code", "invalid", "request"))


def is_about_the_key(text: str) -> bool:
    """Whether a 403 speaks of who asks, and not of how; one that says no more than its own name
    does.
    """
    words = set(re.findall(r"[a-z]+", text.lower())) - _SAYS_NOTHING
    says_nothing = words <= {"forbidden", "access", "denied"}
    return says_nothing or bool(NO_RIGHT.search(text) or WRONG_KEY.search(text))


def _is_too_long(status: int, text: str) -> bool:
    """Whether the request itself is too long. A rate that is exceeded passes with time, unless the
    request alone is more than it allows.
    """
    if status == 413:
        return True
    if status == 429:
        return re.search(r"request too large", text, re.I) is not None
    return TOO_LONG.search(text) is not None
