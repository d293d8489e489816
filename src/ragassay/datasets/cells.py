"""Parsers of cells: one function a field, from whatever form it comes in to the Sample's type.

Each function takes the value and a list of Problems, adds what is wrong, and returns the field's
value, or None. None, and in tables NaN, means absent. Strings that hold a list (JSON, or Python's
repr as DataFrame.to_csv writes it) are read as that list; nothing is ever evaluated but single
quoted literals.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import orjson

from ragassay.core import Context
from ragassay.datasets.source import show


class Problem(NamedTuple):
    """One thing that is wrong with a row. code: of the catalogue; what: names the field; why: the
    value, shortened.
    """

    code: str
    what: str
    why: str


Problems = list[Problem]

NUMBER = re.compile(r"\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\s*", re.ASCII)
_LITERAL = r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*\""""
_TEXTS = re.compile(rf"\s*(?P<text>{_LITERAL})(?P<end>\s*,\s*|\s+|\s*\]\s*\Z)", re.DOTALL)
_REPR_LIMIT = 200_000
"""Longest Python list of objects (not of texts) that is read from one cell."""
_ESCAPED_LIMIT = 20_000
"""Most texts with a backslash in a Python list in one cell: each is parsed on its own."""

TEXT_KEYS = ("text", "content", "page_content", "chunk", "passage", "body", "document.content")
ID_KEYS = ("id", "doc_id", "doc_uri", "document_id", "source", "uri", "url", "document.id")
SCORE_KEYS = ("score", "similarity", "relevance_score", "document.score")
GRADE_KEYS = ("grade", "relevance", "score", "rating")
_RETRIEVED_KEYS = ("retrieved_context", "retrieved_contexts", "contexts", "context")
_MESSAGE_KEYS = (
    "content",
    "text",
    "question",
    "query",
    "input",
    "user_input",
    "prompt",
    "response",
    "answer",
    "output",
    "completion",
    "value",
)


def kind(value: object) -> str:
    """What a value is, in the words of the messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    for types, word in (
        (str, "a text"),
        (int | float, "a number"),
        (list | tuple, "a list"),
        (dict, "an object"),
        (bytes, "bytes"),
    ):
        if isinstance(value, types):
            return word
    return f"a {type(value).__name__}"


def wrong(field: str, value: object, expected: str, problems: Problems) -> None:
    problems.append(Problem("E0303", f"{field} is {kind(value)}, expected {expected}", show(value)))


def text(value: object, field: str, problems: Problems) -> str | None:
    """A text, exactly as it is. Numbers are not texts."""
    if isinstance(value, str):
        if not value.isascii():
            try:
                value.encode("utf-8")
            except UnicodeEncodeError as error:
                problems.append(
                    Problem(
                        "E0305",
                        f"{field} holds an unpaired surrogate at character {error.start}, which is"
                        " not Unicode",
                        show(value[max(error.start - 10, 0) : error.start + 10]),
                    )
                )
                return None
        return value
    if value is not None:
        wrong(field, value, "a text", problems)
    return None


def spoken(value: object, field: str, problems: Problems) -> str | None:
    """A question or response: a text, or a chat request or reply as MLflow and Databricks log it.

    {"messages": [...]} and a list of messages give the last message of the user (for the response:
    the last message); {"choices": [{"message": {...}}]} the first choice; {"content": ...},
    {"query": ...} that text.
    """
    for _ in range(6):
        if value is None or isinstance(value, str):
            break
        if (
            isinstance(value, dict)
            and value
            and all(
                k in _RETRIEVED_KEYS or (v is None and k in _MESSAGE_KEYS) for k, v in value.items()
            )
        ):
            return None  # an output that says what was retrieved and no answer
        inner = _inner(value, last_of="user" if field == "question" else "")
        if inner is None:
            break
        value = inner
    return text(value, field, problems)


def _inner(value: object, last_of: str) -> object:
    """What is inside a chat request or reply, None where it is none. last_of: whose last message
    counts, "" for anyone's.
    """
    if isinstance(value, dict):
        return _inner_of_object(value)
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        if all(_is_message(item) for item in value):
            return _last_message(value, last_of)
        return _joined_parts(value)
    return None


def _inner_of_object(value: Mapping[str, object]) -> object:
    for key in ("messages", "choices", "message", *_MESSAGE_KEYS):
        inner = value.get(key)
        if inner is None:
            continue
        if key == "choices" and isinstance(inner, list):
            if not inner:
                continue  # a model that gave nothing
            return inner[0]
        return inner
    return None


def _is_message(item: Mapping[str, object]) -> bool:
    return "content" in item and ("role" in item or "type" in item)


def _last_message(messages: list[dict[str, object]], last_of: str) -> object:
    if last_of:
        messages = [each for each in messages if _role(each) in ("user", "human")]
    return messages[-1] if messages else None


def _role(message: Mapping[str, object]) -> object:
    return message.get("role", message.get("type"))


def _joined_parts(parts: list[dict[str, object]]) -> str | None:
    """The text of a message that is given in parts."""
    texts = [
        part.get("text")
        for part in parts
        if part.get("type") in ("text", "input_text", "output_text")
    ]
    known = [text for text in texts if isinstance(text, str)]
    return "".join(known) if texts and len(known) == len(texts) else None


def last_reply(value: object) -> object:
    """What the assistant said after the last turn of the user, in a list of messages; None where it
    said nothing.
    """
    if isinstance(value, list):
        for message in reversed(value):
            role = _role(message) if isinstance(message, dict) else None
            if role in ("user", "human"):
                return None
            if role in ("assistant", "ai") and message.get("content"):
                return message["content"]
    return None


def failure(value: object, field: str, problems: Problems, notes: Counter[str]) -> str | None:
    """What the application said when it failed: a text, or an object with a message. Empty, false
    and 0: it did not.

    A number other than 0 is a measure of its own (an error rate) and not read, which is noted.
    """
    for _ in range(4):  # an object in a list, and its message
        if isinstance(value, dict) and value:
            value = (
                _first(value, ("message", "error", "detail", "type"))
                or "an error without a message"
            )
        elif isinstance(value, list) and value:
            value = value[0] or "an error without a message"
    if isinstance(value, str):
        return text(value, field, problems) or None
    if isinstance(value, bool) or not value:
        return "true" if value is True else None
    if isinstance(value, dict | list):
        return "an error without a message"
    notes["error cells hold no text and were not read"] += 1
    return None


def name(value: object, field: str, problems: Problems) -> str | None:
    """An id or a slice's value: a text, or a number as its digits (7.0, as tables with gaps write
    7, is "7").
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if value.bit_length() <= 256 else text(value, field, problems)
    if isinstance(value, float):
        if not math.isfinite(value):
            _finite(value, field, problems)
            return None
        if (
            abs(value) >= 2**53
        ):  # what the file said was rounded on the way, and two ids could become one
            problems.append(
                Problem(
                    "E0303",
                    f"{field} is a number too long to be read exactly; write it as a text",
                    show(value),
                )
            )
            return None
        return str(int(value)) if value.is_integer() else repr(value)
    return text(value, field, problems)


def identity(value: object, field: str, problems: Problems) -> str | None:
    """A row or document id: a text or a number; an empty text is no id."""
    if isinstance(value, bool):
        wrong(field, value, "a text or a number", problems)
        return None
    return name(value, field, problems) or None


def number(value: object, field: str, problems: Problems, textual: bool = True) -> float | None:
    """A finite number; true and false are not numbers. textual: digits in a text are a number,
    too.
    """
    if isinstance(value, str) and textual:
        if not value.strip():
            return None
        if NUMBER.fullmatch(value) and len(value) < 400:
            return _finite(float(value), field, problems)
        if value.strip().lower().lstrip("+-") in ("nan", "inf", "infinity"):
            problems.append(Problem("E0304", f"{field} is not a finite number", show(value)))
            return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return _finite(float(value), field, problems)
        except OverflowError:
            problems.append(
                Problem("E0304", f"{field} is beyond the range of a double", show(value))
            )
    elif value is not None:
        wrong(field, value, "a number", problems)
    return None


def _finite(value: float, field: str, problems: Problems) -> float | None:
    if math.isfinite(value):
        return value + 0.0  # -0.0 + 0.0 is 0.0: one zero, one hash
    problems.append(Problem("E0304", f"{field} is not a finite number", show(value)))
    return None


MOST_AMOUNT = 1e100
"""Tokens, dollars and seconds beyond this are no measurement: a mean of them would overflow."""


def amount(value: object, field: str, problems: Problems) -> float | None:
    """A number that is not negative."""
    found = number(value, field, problems)
    if found is not None and found < 0:
        problems.append(Problem("E0303", f"{field} is negative", show(value)))
        return None
    if found is not None and found > MOST_AMOUNT:
        problems.append(Problem("E0304", f"{field} is more than anything could be", show(value)))
        return None
    return found


def count(value: object, field: str, problems: Problems) -> int | None:
    """A whole number that is not negative."""
    found = amount(value, field, problems)
    if found is not None and not found.is_integer():
        problems.append(Problem("E0303", f"{field} is not a whole number", show(value)))
        return None
    return None if found is None else int(found)


def truth(value: object, field: str, problems: Problems) -> bool | None:
    """true or false, also as 1 and 0, yes and no, answerable and unanswerable."""
    if value is None or isinstance(value, bool):
        return value
    word = str(int(value)) if isinstance(value, int | float) and value in (0, 1) else value
    if isinstance(word, str):
        found = _TRUTH.get(word.strip().lower(), ...)
        if found is not ...:
            return found
    wrong(field, value, "true or false", problems)
    return None


_TRUTH: dict[str, bool | None] = {
    "": None,
    "true": True,
    "yes": True,
    "1": True,
    "1.0": True,
    "answerable": True,
    "false": False,
    "no": False,
    "0": False,
    "0.0": False,
    "unanswerable": False,
}


def unpack(value: object) -> object:
    """A list or object that is written as a text (JSON, or Python's repr), parsed; anything else as
    it is.
    """
    if not isinstance(value, str):
        return value
    start = value.lstrip()[:1]
    if start not in ("[", "{"):
        return value
    try:
        return orjson.loads(value)
    except ValueError:  # JSONDecodeError, and a text that is not Unicode
        found: object = _python_texts(value) if start == "[" else None
        if found is None and len(value) <= _REPR_LIMIT:
            found = _literal(value.strip())
        return value if found is None else found


def _python_texts(value: str) -> list[str] | None:
    """['a', "b"] as repr writes it, also with the blanks of a numpy array between the texts."""
    if re.fullmatch(r"\s*\[\s*\]\s*", value):
        return []
    position = value.index("[") + 1
    found: list[str] = []
    escaped = 0
    while match := _TEXTS.match(value, position):
        written = match["text"]
        item: object = written[1:-1]
        if "\\" in written or "\r" in written or "\0" in written:
            escaped += 1
            item = _literal(written) if escaped <= _ESCAPED_LIMIT else None
        if not isinstance(item, str):
            return None
        found.append(item)
        position = match.end()
        if position == len(value) and "]" in match["end"]:
            return found
    return None


def _literal(value: str) -> object:
    """A Python literal without evaluating anything; None when it is not one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # an unknown escape in hostile text is not the user's warning
            return ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def contexts(
    value: object, field: str, problems: Problems, notes: Counter[str]
) -> tuple[Context, ...] | None:
    """Chunks in rank order: a list of texts or objects, such a list as a text, or one text (one
    chunk).
    """
    if value is None:
        return None
    if isinstance(value, str):
        parsed = unpack(value)
        if isinstance(parsed, list | tuple) and all(isinstance(c, str | dict) for c in parsed):
            value = parsed
        else:
            if value.lstrip().startswith("["):
                notes[
                    "contexts cells that begin with [ and hold no list were read as one text"
                ] += 1
            value = [value]
    elif isinstance(value, dict):
        value = [value]
    if not isinstance(value, list | tuple):
        wrong(field, value, "a list of texts", problems)
        return None
    found = []
    for place, item in enumerate(value):
        if type(item) is str and item.isascii():
            found.append(Context(item))
        elif (chunk := _context(item, f"{field}[{place}]", problems)) is not None:
            found.append(chunk)
    return tuple(found)


def _context(item: object, field: str, problems: Problems) -> Context | None:
    if not isinstance(item, dict):
        if item is None:
            wrong(field, item, "a text", problems)
        body = text(item, field, problems)
        return None if body is None else Context(body)
    inner = item.get("document")
    if isinstance(inner, str):
        item = {"text": inner, **item}
    elif isinstance(inner, dict):
        item = {**inner, **{k: v for k, v in item.items() if k != "document"}}
    body = text(_first(item, TEXT_KEYS), f"{field}.text", problems)
    meta = item.get("metadata")
    doc = _first(item, ID_KEYS)
    if doc is None and isinstance(meta, dict):
        doc = _first(meta, ID_KEYS)
    if _first(item, TEXT_KEYS) is None:
        problems.append(
            Problem(
                "E0303", f"{field} has no text (looked for {', '.join(TEXT_KEYS[:4])})", show(item)
            )
        )
    found_id = identity(doc, f"{field}.id", problems)
    score = number(_first(item, SCORE_KEYS), f"{field}.score", problems)
    return None if body is None else Context(body, found_id, score)


def _first(item: Mapping[str, object], keys: Iterable[str]) -> object:
    return next((item[key] for key in keys if item.get(key) is not None), None)


def texts(value: object, field: str, problems: Problems) -> tuple[str, ...] | None:
    """Texts: a list, such a list as a text, one text, or an object of named (lists of) texts."""
    value = unpack(value)
    if value is None or value == "":
        return None
    if isinstance(value, str):
        value = [value]
    elif isinstance(value, dict):
        value = _named_texts(value)
    if not isinstance(value, list | tuple):
        wrong(field, value, "a list of texts", problems)
        return None
    for place, item in enumerate(value):
        if not isinstance(item, str):
            wrong(f"{field}[{place}]", item, "a text", problems)
    found = []
    for place, item in enumerate(value):
        if isinstance(item, str):
            part = text(item, f"{field}[{place}]", problems)
            if part is not None:
                found.append(part)
    return tuple(found)


def _named_texts(named: Mapping[str, object]) -> list[object]:
    """The texts of an object of named texts or lists of texts."""
    found: list[object] = []
    for part in named.values():
        items = part if isinstance(part, list) else [part]
        found += [item for item in items if item is not None]
    return found


def reference(
    value: object, field: str, problems: Problems, notes: Counter[str], textual: bool
) -> str | None:
    """The right answer: a text, or the first of a list of them (in CSV, of a list written as a
    text).
    """
    if textual and isinstance(value, str) and value.startswith("["):
        parsed = unpack(value)
        value = (
            parsed
            if isinstance(parsed, list) and parsed and all(isinstance(v, str) for v in parsed)
            else value
        )
    if isinstance(value, list | tuple):
        if len(value) > 1:
            notes["rows hold several references; the first is read"] += 1
        value = value[0] if value else None
    return (
        spoken(value, field, problems) if isinstance(value, dict) else text(value, field, problems)
    )


def grades(value: object, field: str, problems: Problems) -> dict[str, float] | None:
    """Relevant documents: a list of ids, an object id -> grade, a list of objects with an id, or
    one id.
    """
    value = unpack(value)
    if value is None or value == "":
        return None
    found: dict[str, float] = {}
    if isinstance(value, dict):
        for named, given in value.items():
            rank = number(given, f"{field}[{str(named)[:40]!r}]", problems)
            doc = text(str(named), f"{field} id", problems)
            if rank is not None and doc is not None:
                found[doc] = rank
        return found
    for place, item in enumerate(value if isinstance(value, list | tuple) else [value]):
        where = f"{field}[{place}]"
        grade: object = None
        key: object = item
        if isinstance(item, dict):
            key, grade = _first(item, ID_KEYS), _first(item, GRADE_KEYS)
        elif isinstance(item, list | tuple) and len(item) == 2:  # a map column of Arrow
            key, grade = item
        doc = identity(key, where, problems)
        rank = 1.0 if grade is None else number(grade, f"{where}.grade", problems)
        if key is None:
            wrong(where, key, "a document id", problems)
        if doc is not None and rank is not None:
            found[doc] = max(rank, found.get(doc, rank))
    return found


def label(value: object, field: str, problems: Problems, textual: bool) -> float | str | None:
    """A human label: a number, a text, or true and false as 1 and 0. textual: digits are a
    number.
    """
    if isinstance(value, dict) and "value" in value:  # a score with its explanation
        value = value["value"]
        if value is None or isinstance(value, dict | list):
            return None
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int | float) or (
        textual and isinstance(value, str) and NUMBER.fullmatch(value)
    ):
        return number(value, field, problems)
    return text(value, field, problems) if value != "" or not textual else None


def pairs(value: object, field: str, problems: Problems) -> list[tuple[str, object]]:
    """The named values of an object (or of one written as a text, or of a map column), those that
    are null left out.
    """
    value = unpack(value)
    if value is None or value == "":
        return []
    if isinstance(value, list) and all(
        isinstance(p, list | tuple) and len(p) == 2 and isinstance(p[0], str) for p in value
    ):
        value = dict(value)
    if not isinstance(value, dict):
        wrong(field, value, "an object of named values", problems)
        return []
    return [
        (key, v)
        for k, v in value.items()
        if v is not None and (key := text(str(k), f"the name in {field}", problems)) is not None
    ]
