"""Reading a request: its parameters and its body, with every mistake named by its place."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import orjson
from pydantic import BaseModel, ValidationError

from ragassay.core import nearest, shorten
from ragassay.datasets.formats.json_files import repeated_key
from ragassay.web.api.messages import Operation, Problem, Refused
from ragassay.web.guard import Receive

M = TypeVar("M", bound=BaseModel)

PATIENCE_S = 30.0
"""How long a body may take to arrive."""
MOST_PARAMETERS = 50
MOST_PROBLEMS = 20
LONGEST_KEY = 200
DEEPEST = 100
"""Objects and lists in each other, of a body."""


_KINDS = ("float", "str", "int", "bool")
_WORDS = {
    "missing": "is missing",
    "string_type": "should be a text",
    "string_too_short": "should have at least {min_length:,} character{s}",
    "string_too_long": "should have at most {max_length:,} characters",
    "int_type": "should be a whole number",
    "float_type": "should be a number",
    "finite_number": "should be a number that is finite",
    "bool_type": "should be true or false",
    "list_type": "should be a list",
    "dict_type": "should be an object",
    "too_short": "should have at least {min_length:,} item{s}",
    "too_long": "should have at most {max_length:,} items",
    "greater_than": "should be more than {gt:,.10g}",
    "greater_than_equal": "should be {ge:,.10g} or more",
    "less_than_equal": "should be {le:,.10g} or less",
    "literal_error": "should be {expected}",
    "value_error": "{error}",
}
"""Kind of a mistake, as pydantic has it -> what is said of the value."""


class Left(Exception):
    """The client went away before its request was whole."""


def query_of(model: type[BaseModel] | None, text: str) -> Any:
    """The parameters of an address as the operation's model. Raises Refused E1408, E1409."""
    try:
        pairs = parse_qsl(
            text, keep_blank_values=True, max_num_fields=MOST_PARAMETERS, errors="strict"
        )
    except ValueError as error:
        # Bytes that are no UTF-8, or too many parameters.
        raise Refused("E1408", "The parameters cannot be read.", where="the address") from error
    values: dict[str, str] = {}
    problems = []
    for name, value in pairs:
        if name in values:
            problems.append(Problem(name, "is given twice"))
        if model is None:
            problems.append(Problem(name, "is no parameter of this address, which takes none"))
        values[name] = value
    if problems:
        raise _wrong(problems)
    return None if model is None else _checked(model, values, in_body=False)


async def body_of(operation: Operation, headers: Mapping[str, str], receive: Receive) -> Any:
    """The body as the operation's model, or the bytes of a file. Raises Refused E1406 to E1409,
    Left.
    """
    if operation.body is None and not operation.takes:
        return None
    kind = media_type(headers)
    if not operation.needs_body and not kind and _announces_none(headers):
        return operation.body()
    if kind not in (operation.takes or ("application/json",)):
        takes = ", ".join(operation.takes) or "application/json"
        raise Refused(
            "E1407",
            "The body is of a type that is not taken here.",
            where="Content-Type",
            why=kind[:80] or "none is named",
            fix=f"send {takes}",
        )
    _check_encoding(headers)
    length = headers.get("content-length", "")
    if length and int(length) > operation.most_bytes:
        raise too_large(operation)
    try:
        async with asyncio.timeout(PATIENCE_S):
            content = await _all_of(receive, operation)
    except TimeoutError:
        raise Refused(
            "E1408",
            "The body did not arrive in time.",
            why=f"it was not whole after {PATIENCE_S:g} s",
            status=408,
        ) from None
    if operation.takes:
        return content
    # In a thread: a body of megabytes must not hold up the other requests.
    return await asyncio.to_thread(_object_of, operation.body, content)


def _announces_none(headers: Mapping[str, str]) -> bool:
    """Whether the head says of no body."""
    return headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers


def key_of(headers: Mapping[str, str]) -> str:
    """The Idempotency-Key, "" for none. Raises Refused E1409."""
    key = headers.get("idempotency-key", "")
    if len(key) > LONGEST_KEY or not (key.isascii() and key.isprintable()):
        what = f"is no text of 1 to {LONGEST_KEY} visible characters of ASCII"
        raise _wrong([Problem("Idempotency-Key", what)])
    return key


def media_type(headers: Mapping[str, str]) -> str:
    """The media type of the body, without its parameters."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _check_encoding(headers: Mapping[str, str]) -> None:
    coding = headers.get("content-encoding", "identity").strip().lower()
    charset = "utf-8"
    for piece in headers.get("content-type", "").split(";")[1:]:
        name, _, value = piece.partition("=")
        if name.strip().lower() == "charset":
            charset = value.strip().strip('"').lower()
    if coding != "identity" or charset not in ("utf-8", "utf8", "us-ascii"):
        raise Refused(
            "E1407",
            "The body is in an encoding that is not taken.",
            where="Content-Encoding" if coding != "identity" else "Content-Type",
            why=(coding if coding != "identity" else charset)[:40],
            fix="send UTF-8, not compressed",
        )


def too_large(operation: Operation) -> Refused:
    """The error of a body that is too large."""
    return Refused(
        "E1406",
        "The body is too large.",
        why=f"at most {operation.most_bytes:,} bytes are taken here",
        fix=operation.if_too_large,
    )


async def _all_of(receive: Receive, operation: Operation) -> bytes:
    pieces, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Left
        piece = message.get("body", b"")
        size += len(piece)
        if size > operation.most_bytes:
            raise too_large(operation)
        pieces.append(piece)
        if not message.get("more_body", False):
            return b"".join(pieces)


def _object_of(model: type[BaseModel], content: bytes) -> Any:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _no_json(
            f"byte {error.start}", f"the byte {content[error.start]:#04x} there is no UTF-8"
        ) from None
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise _no_json(f"line {error.lineno}, column {error.colno}", error.msg[:200]) from None
    if _is_deeper(value, DEEPEST):
        raise Refused(
            "E1408",
            "The body is nested too deep.",
            why=f"objects and lists lie more than {DEEPEST} deep in each other",
            fix="send rows whose fields are texts, numbers and lists of them",
        )
    if isinstance(value, dict):
        _refuse_repeated_names(content, value)
    return _checked(model, value, in_body=True)


def _is_deeper(value: object, most: int) -> bool:
    """Whether objects and lists lie deeper in each other than so."""
    level: list[Any] = [value]
    for _ in range(most + 1):
        inner: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                inner += each.values()
            elif isinstance(each, list):
                inner += each
        level = [each for each in inner if isinstance(each, dict | list)]
        if not level:
            return False
    return True


def _no_json(where: str, why: str) -> Refused:
    return Refused(
        "E1408",
        "The body is no JSON.",
        where=where,
        why=why,
        fix="send a JSON object in UTF-8; numbers are finite",
    )


def _refuse_repeated_names(content: bytes, value: dict[str, Any]) -> None:
    """Raise Refused E1408 where a name stands twice in one object: parsers keep one of the values,
    and which one the client meant is not known.
    """
    name = repeated_key(content, value)
    if name is not None:
        raise Refused(
            "E1408",
            "A name stands twice in one object of the body.",
            where=shorten(name),
            why="which of its values counts is not known",
            fix="send each field once",
        )


def _checked(model: type[M], value: object, *, in_body: bool) -> M:
    """The model of the values. Raises Refused E1409 with everything that is wrong with them."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        problems: list[Problem] = []
        for each in error.errors(include_url=False, include_input=False):
            if len(problems) == MOST_PROBLEMS:
                break
            # pydantic names the kind behind a field that may be of several: that is no place.
            parts = [str(part)[:80] for part in each["loc"] if part not in _KINDS]
            where = "".join(f"/{part}" for part in parts) if in_body else "/".join(parts)
            problem = Problem(where, _words(each, model))
            if problem.where not in {known.where for known in problems}:
                problems.append(problem)
        raise _wrong(problems) from None


def _words(problem: Mapping[str, Any], model: type[BaseModel]) -> str:
    if problem["type"] in ("model_type", "model_attributes_type"):
        return "should be a JSON object"
    if problem["type"] == "extra_forbidden":
        name = str(problem["loc"][-1])
        return f"is no field of this request.{nearest(name, model.model_fields)}"
    told = dict(problem.get("ctx", {}))
    told["s"] = "" if told.get("min_length") == 1 else "s"
    words = _WORDS.get(problem["type"])
    return str(words.format(**told) if words else problem["msg"])[:300]


def _wrong(problems: list[Problem]) -> Refused:
    first = problems[0]
    return Refused(
        "E1409",
        "The request says something that cannot be taken.",
        where=first.where,
        why=first.what,
        fix="see the operation in /api/v1/openapi.json",
        problems=tuple(problems),
    )
