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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import orjson

from ragassay.core import Context
from ragassay.datasets.names import HIT_LISTS, HIT_WRAPPERS
from ragassay.datasets.names import TEXT_KEYS as TEXT_KEYS
from ragassay.datasets.outputs import (
    contexts_in,
    document_fields,
    messages_in,
    question_in,
    reference_in,
    response_in,
    unwrapped,
)
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

ID_KEYS = (
    "id",
    "doc_id",
    "doc_uri",
    "document_id",
    # LlamaIndex.
    "node_id",
    "id_",
    "source",
    "uri",
    "url",
    "document.id",
)
SCORE_KEYS = ("score", "similarity", "relevance_score", "document.score")
GRADE_KEYS = ("grade", "relevance", "score", "rating")
_NO_MESSAGE = "an error without a message"


def kind(value: object) -> str:
    """What a value is, in the words of the messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    for types, word in _KINDS:
        if isinstance(value, types):
            return word
    return f"a {type(value).__name__}"


_KINDS: tuple[tuple[Any, str], ...] = (
    (str, "a text"),
    (int | float, "a number"),
    (list | tuple, "a list"),
    (dict, "an object"),
    (bytes, "bytes"),
)


def wrong(field: str, value: object, expected: str, problems: Problems) -> None:
    problems.append(Problem("E0303", f"{field} is {kind(value)}, expected {expected}", show(value)))


def text(value: object, field: str, problems: Problems) -> str | None:
    """A text, exactly as it is. Numbers are not texts."""
    if isinstance(value, str):
        if value.isascii():  # known of a text without looking at it; encoding copies it
            return value
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            what = (
                f"{field} holds an unpaired surrogate at character {error.start}, which is not"
                " Unicode"
            )
            near = value[max(error.start - 10, 0) : error.start + 10]
            problems.append(Problem("E0305", what, show(near)))
            return None
        return value
    if value is not None:
        wrong(field, value, "a text", problems)
    return None


def spoken(value: object, field: str, problems: Problems) -> str | None:
    """A question or response: a text, or an object or list that holds it in one of the forms of
    `outputs`: a chat request or reply, messages, what a framework returned.
    """
    if isinstance(value, dict | list):
        found = _spoken_in(value, field)
        if found is not None:
            return text(found, field, problems)
        if _is_silent(value):
            return None
    return text(value, field, problems)


def says(value: object, field: str) -> bool:
    """Whether `spoken` knows where a question or response is in an object or list, or that there is
    none.
    """
    return _spoken_in(value, field) is not None or _is_silent(value)


def holds_objects(value: object) -> bool:
    """Whether it is an object, or a list of nothing but objects."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(item, dict) for item in value)
    return isinstance(value, dict)


def _spoken_in(value: object, field: str) -> str | None:
    if field == "question":
        return question_in(value)
    return reference_in(value) if field == "reference" else response_in(value)


def _is_silent(value: object) -> bool:
    """Whether it retrieved and gave no answer, or the user had the last word."""
    return contexts_in(value) is not None or bool(messages_in(value)) or _is_gap(value)


def _is_gap(value: object) -> bool:
    """Whether an object has keys and nothing under any of them."""
    return (
        isinstance(value, dict)
        and bool(value)
        and not any(item is not None for item in value.values())
    )


def failure(value: object, field: str, problems: Problems, notes: Counter[str]) -> str | None:
    """What the application said when it failed: a text, or an object with a message. Empty, false
    and 0: it did not.

    A number other than 0 is a measure of its own (an error rate) and not read, which is noted.
    """
    # An error may be an object in a list, whose message is an object again.
    for _ in range(4):
        if isinstance(value, dict) and value:
            value = _first(value, ("message", "error", "detail", "type")) or _NO_MESSAGE
        elif isinstance(value, list) and value:
            value = value[0] or _NO_MESSAGE
    if isinstance(value, str):
        return text(value, field, problems) or None
    if value is True:
        return "true"
    if not value:
        return None
    if isinstance(value, dict | list):
        return _NO_MESSAGE
    notes["error cells hold no text and were not read"] += 1
    return None


def name(value: object, field: str, problems: Problems) -> str | None:
    """An id or a slice's value: a text, or a number as its digits (7.0, as tables with gaps write
    7, is "7").
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if value.bit_length() <= 256:
            return str(value)
        return text(value, field, problems)  # refused, as no text: Python prints no endless digits
    if isinstance(value, float):
        return _digits(value, field, problems)
    return text(value, field, problems)


def _digits(value: float, field: str, problems: Problems) -> str | None:
    if not math.isfinite(value):
        _finite(value, field, problems)
        return None
    # From here on a double skips whole numbers: the file's number was rounded on the way, and two
    # ids could become one.
    if abs(value) >= 2**53:
        what = f"{field} is a number too long to be read exactly; write it as a text"
        problems.append(Problem("E0303", what, show(value)))
        return None
    return str(int(value)) if value.is_integer() else repr(value)


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
    size = number(value, field, problems)
    if size is None:
        return None
    if size < 0:
        problems.append(Problem("E0303", f"{field} is negative", show(value)))
        return None
    if size > MOST_AMOUNT:
        problems.append(Problem("E0304", f"{field} is more than anything could be", show(value)))
        return None
    return size


def count(value: object, field: str, problems: Problems) -> int | None:
    """A whole number that is not negative."""
    size = amount(value, field, problems)
    if size is None:
        return None
    if not size.is_integer():
        problems.append(Problem("E0303", f"{field} is not a whole number", show(value)))
        return None
    return int(size)


def truth(value: object, field: str, problems: Problems) -> bool | None:
    """true or false, also as 1 and 0, yes and no, answerable and unanswerable."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float) and value in (0, 1):
        return value == 1
    if isinstance(value, str):
        word = value.strip().lower()
        if word in _TRUTH:
            return _TRUTH[word]
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
        parsed = _python_value(value)
    return value if parsed is None else parsed


def _python_value(value: str) -> object:
    """What a text that begins with [ or { says as Python's repr; None where it is none."""
    # Lists of texts have a parser of their own: ast builds nodes for each.
    if value.lstrip().startswith("["):
        texts = _python_texts(value)
        if texts is not None:
            return texts
    if len(value) > _REPR_LIMIT:
        return None
    return _literal(value.strip())


def _python_texts(value: str) -> list[str] | None:
    """['a', "b"] as repr writes it, also with the blanks of a numpy array between the texts."""
    if re.fullmatch(r"\s*\[\s*\]\s*", value):
        return []
    position = value.index("[") + 1
    items: list[str] = []
    escaped = 0
    while match := _TEXTS.match(value, position):
        literal = match["text"]
        # Without a backslash a literal says just what stands between its quotes.
        item: object = literal[1:-1]
        if "\\" in literal or "\r" in literal or "\0" in literal:
            escaped += 1
            item = _literal(literal) if escaped <= _ESCAPED_LIMIT else None
        if not isinstance(item, str):
            return None
        items.append(item)
        position = match.end()
        if position == len(value) and "]" in match["end"]:
            return items
    return None


def _literal(value: str) -> object:
    """A Python literal without evaluating anything; None when it is not one."""
    try:
        with warnings.catch_warnings():
            # An unknown escape in the data is no warning that a user could act on.
            warnings.simplefilter("ignore")
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
        value = _chunks_of_text(value, notes)
    elif isinstance(value, dict):
        value = contexts_in(value) or _hits(value) or _from_lists(value) or [value]
    elif document_fields(value) is not None:
        value = [value]
    if not isinstance(value, list | tuple):
        wrong(field, value, "a list of texts", problems)
        return None
    if len(value) == 1 and isinstance(value[0], list | tuple) and not _is_chunk(value[0]):
        value = value[0]  # a batch of one question, as vector stores answer it
    chunks: list[Context] = []
    for place, item in enumerate(value):
        # Most chunks are plain texts; they go without a call and a name for their place.
        if type(item) is str and item.isascii():
            chunks.append(Context(item))
            continue
        chunk = _context(item, f"{field}[{place}]", problems)
        if chunk is not None:
            chunks.append(chunk)
    return tuple(chunks)


def _chunks_of_text(value: str, notes: Counter[str]) -> list[object] | tuple[object, ...]:
    """The list that a text holds, or the text as the only chunk."""
    parsed = unpack(value)
    if isinstance(parsed, list | tuple) and all(isinstance(item, str | dict) for item in parsed):
        return parsed
    numbered = numbered_chunks(value)
    # One alone may be a passage that begins with a mark of a note.
    if len(numbered) > 1:
        return numbered
    if value.lstrip().startswith("["):
        notes["contexts cells that begin with [ and hold no list were read as one text"] += 1
    return [value]


def numbered_chunks(value: str) -> list[object]:
    """The chunks of "[1] ...", a blank line, "[2] ...", as sheets for labels have them; none where
    the text is no such list.
    """
    if not value.startswith("[1] "):
        return []
    chunks: list[object] = []
    rest = value.removeprefix("[1] ")
    while True:
        chunk, mark, rest = rest.partition(f"\n\n[{len(chunks) + 2}] ")
        chunks.append(chunk)
        if not mark:
            return chunks


def _hits(answer: Mapping[str, Any]) -> list[object] | None:
    """The hits of a search engine's answer; Elasticsearch has them two levels down."""
    for name in HIT_LISTS:
        hits = answer.get(name)
        if isinstance(hits, dict):
            hits = hits.get(name)
        if isinstance(hits, list):
            return hits
    return None


def _from_lists(table: Mapping[str, Any]) -> list[object] | None:
    """The chunks of an object that holds a list for each of their parts, as Hugging Face stores a
    list of objects; None for any other object.
    """
    bodies = next((table[name] for name in TEXT_KEYS if isinstance(table.get(name), list)), None)
    if bodies is None or not all(isinstance(body, str) for body in bodies):
        return None
    whole = {
        name: column
        for name, column in table.items()
        if isinstance(column, list) and len(column) == len(bodies)
    }
    return [dict(zip(whole, chunk, strict=True)) for chunk in zip(*whole.values(), strict=True)]


def _is_scored(item: Sequence[object]) -> bool:
    """Whether it is a chunk with its score, as LangChain's similarity_search_with_score gives."""
    if len(item) != 2 or type(item[1]) not in (int, float):
        return False
    return isinstance(item[0], dict | str) or document_fields(item[0]) is not None


def _is_titled(item: Sequence[object]) -> bool:
    """Whether it is a title and the sentences of a chunk, as HotpotQA has them."""
    return (
        len(item) == 2
        and isinstance(item[0], str)
        and isinstance(item[1], list | tuple)
        and all(isinstance(sentence, str) for sentence in item[1])
    )


def _is_chunk(item: Sequence[object]) -> bool:
    """Whether a list is one chunk."""
    return _is_scored(item) or _is_titled(item)


def chunk_text(item: object) -> object:
    """The text of a chunk in any of the forms in which chunks are given; None where it has none."""
    if isinstance(item, list | tuple) and _is_scored(item):
        item = item[0]
    item = document_fields(item) or item
    if not isinstance(item, dict):
        return item if isinstance(item, str) else None
    return _text_in(_without_wrapper(item))


def _text_in(fields: Mapping[str, Any]) -> object:
    """The text of a chunk without its wrapper; None where it has none."""
    content = _first(fields, TEXT_KEYS)
    metadata = fields.get("metadata")
    if content is None and isinstance(metadata, dict):
        content = _first(metadata, TEXT_KEYS)  # Pinecone keeps nothing beside it
    if isinstance(content, dict):
        content = content.get("text")  # Amazon's knowledge bases
    return content


def _context(item: object, field: str, problems: Problems) -> Context | None:
    if isinstance(item, list | tuple) and _is_titled(item):
        body = text(" ".join(" ".join(item[1]).split()), field, problems)
        return None if body is None else Context(body, identity(item[0], f"{field}.id", problems))
    if isinstance(item, list | tuple) and _is_scored(item):
        chunk = _context(item[0], field, problems)
        score = number(item[1], f"{field}.score", problems)
        return None if chunk is None else replace(chunk, score=score)
    item = document_fields(item) or item
    if not isinstance(item, dict):
        if item is None:
            wrong(field, item, "a text", problems)
        body = text(item, field, problems)
        return None if body is None else Context(body)
    item = dict(_without_wrapper(item))
    content = _text_in(item)
    metadata = item.get("metadata")
    body = text(content, f"{field}.text", problems)
    if content is None:
        what = f"{field} has no text (looked for {', '.join(TEXT_KEYS[:4])})"
        problems.append(Problem("E0303", what, show(item)))
    own_id = _first(item, ID_KEYS)
    # LangChain's documents have no id of their own; loaders put the source into the metadata.
    if own_id is None and isinstance(metadata, dict):
        own_id = _first(metadata, ID_KEYS)
    document_id = identity(own_id, f"{field}.id", problems)
    score = number(_first(item, SCORE_KEYS), f"{field}.score", problems)
    return None if body is None else Context(body, document_id, score)


def _without_wrapper(item: dict[str, Any]) -> Mapping[str, Any]:
    """A chunk whose text or fields stand under a key of their own, as search hits have them, as one
    flat object. What the hit itself says goes before.
    """
    for name in HIT_WRAPPERS:
        inner = item.get(name)
        if isinstance(inner, str):
            return {"text": inner, **item}
        if isinstance(inner, dict):
            return inner | {key: value for key, value in item.items() if key != name}
    fields: Mapping[str, Any] = unwrapped(item)
    return fields


def _first(item: Mapping[str, object], keys: Iterable[str]) -> object:
    """The value of the first of these keys that has one."""
    for key in keys:
        value = item.get(key)
        if value is not None:
            return value
    return None


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
    # Two passes: what is no text at all is named before texts that are not Unicode.
    for place, item in enumerate(value):
        if not isinstance(item, str):
            wrong(f"{field}[{place}]", item, "a text", problems)
    parts: list[str] = []
    for place, item in enumerate(value):
        if isinstance(item, str):
            part = text(item, f"{field}[{place}]", problems)
            if part is not None:
                parts.append(part)
    return tuple(parts)


def _named_texts(texts_by_name: Mapping[str, object]) -> list[object]:
    """The texts of an object of named texts or lists of texts."""
    texts: list[object] = []
    for part in texts_by_name.values():
        items = part if isinstance(part, list) else [part]
        texts += [item for item in items if item is not None]
    return texts


def reference(
    value: object, field: str, problems: Problems, notes: Counter[str], textual: bool
) -> str | None:
    """The right answer: a text, or the first of a list of them (in CSV, of a list written as a
    text).
    """
    # Only in a text file: elsewhere a list is a list, and a text that begins with [ is a text.
    if textual and isinstance(value, str) and value.startswith("["):
        parsed = unpack(value)
        if isinstance(parsed, list) and all(isinstance(item, str) for item in parsed):
            value = parsed or value
    if isinstance(value, list | tuple):
        if len(value) > 1:
            notes["rows hold several references; the first is read"] += 1
        value = value[0] if value else None
    if isinstance(value, dict):
        return spoken(value, field, problems)
    return text(value, field, problems)


def grades(value: object, field: str, problems: Problems) -> dict[str, float] | None:
    """Relevant documents: a list of ids, an object id -> grade, a list of objects with an id, or
    one id.
    """
    value = unpack(value)
    if value is None or value == "":
        return None
    if isinstance(value, dict):
        return _grades_by_id(value, field, problems)
    items = value if isinstance(value, list | tuple) else [value]
    by_id: dict[str, float] = {}
    for place, item in enumerate(items):
        where = f"{field}[{place}]"
        key, stated = _document_and_grade(item)
        document_id = identity(key, where, problems)
        # An id without a grade is relevant: that is why it stands in the list.
        grade = 1.0 if stated is None else number(stated, f"{where}.grade", problems)
        if key is None:
            wrong(where, key, "a document id", problems)
        if document_id is not None and grade is not None:
            by_id[document_id] = max(grade, by_id.get(document_id, grade))
    return by_id


def _grades_by_id(
    value: Mapping[object, object], field: str, problems: Problems
) -> dict[str, float]:
    by_id: dict[str, float] = {}
    for key, stated in value.items():
        grade = number(stated, f"{field}[{str(key)[:40]!r}]", problems)
        document_id = text(str(key), f"{field} id", problems)
        if grade is not None and document_id is not None:
            by_id[document_id] = grade
    return by_id


def _document_and_grade(item: object) -> tuple[object, object]:
    """(id, grade) of an item of a list; the grade is None where it has none."""
    if isinstance(item, dict):
        return _first(item, ID_KEYS), _first(item, GRADE_KEYS)
    if isinstance(item, list | tuple) and len(item) == 2:  # a map column of Arrow
        return item[0], item[1]
    return item, None


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
    if isinstance(value, int | float):
        return number(value, field, problems)
    if textual and isinstance(value, str):
        if value == "":
            return None
        if NUMBER.fullmatch(value):
            return number(value, field, problems)
    return text(value, field, problems)


def pairs(value: object, field: str, problems: Problems) -> list[tuple[str, object]]:
    """The named values of an object (or of one written as a text, or of a map column), those that
    are null left out.
    """
    value = unpack(value)
    if value is None or value == "":
        return []
    if isinstance(value, list) and all(map(_is_named_value, value)):
        value = dict(value)
    if not isinstance(value, dict):
        wrong(field, value, "an object of named values", problems)
        return []
    values: list[tuple[str, object]] = []
    for key, item in value.items():
        if item is None:
            continue
        name_of_item = text(str(key), f"the name in {field}", problems)
        if name_of_item is not None:
            values.append((name_of_item, item))
    return values


def _is_named_value(item: object) -> bool:
    """Whether it is a pair of a text and a value, as map columns of Arrow have them."""
    return isinstance(item, list | tuple) and len(item) == 2 and isinstance(item[0], str)
