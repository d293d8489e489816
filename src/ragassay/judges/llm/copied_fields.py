"""Fields of a reply that may be a copy of the data: a judge that quotes a text without escaping it
lets that text end the judge's string and go on with fields of its own.

Such a reply is valid JSON by accident. What gives it away is that all between the end of the string
and the field stands in the data as well: the judge writes nothing there. Blanks, case, escapes and
the kind of quotes do not count, for a judge may change them as it copies.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from ragassay.judges.rubric import Rubric

_TOKEN = re.compile(r'"((?:[^"\\]++|\\.)*+)"(\s*+:)?', re.DOTALL)
_UNICODE_ESCAPE = re.compile(r"\\++[ux]\{?([0-9a-fA-F]{2,4})\}?")
_NO_MATTER = re.compile(r"[\\\u00ad\u200b\u200c\u200d\u2060\ufeff]++")
_ENDS_A_NAME = re.compile(
    r"(?=[^\w\s:]|\s)[\s\u200b\u200c\u200d\u2060\ufeff\u00ad]*+(?:&\w++;|[^\w\s:])[^\w:]*+:"
)
_BLANKS = re.compile(r"\s++")
_BLANKS_AROUND_A_MARK = re.compile(r" ?([\",:\[\]{}]) ?")
_LAST_WORD = re.compile(r"(\w++)\W*+$")
# Scripts that put no spaces between words begin somewhere here.
_FIRST_WITHOUT_SPACES = 0x0E00
_QUOTES = str.maketrans(dict.fromkeys("'“”„‟″«»‘’‚‛`´＂", '"'))
_MARKS = ",[]{}"
# Where a quotation begins: the quote that ends a string there may be the judge's own, put before
# words of the data.
_BEGINS_A_QUOTATION = re.compile(r"(?:^|[\s:;,(\[{<>=\-–—\"'“”„‘’«»`])$")
_MOST_CHARS = 300
_MOST_FIELDS = 1_000


def field_names(rubric: Rubric) -> frozenset[str]:
    """The fields of an entry that decide what it says, in small letters."""
    names = {flag.name for flag in rubric.flags}
    if rubric.writes == "ratings":
        names.add("rating")
    if rubric.writes == "claims":
        names.add("trivial")
    if rubric.asks_sources:
        names.add("supported_by")
    return frozenset(name.casefold() for name in names)


class CopiedFields:
    """Finds fields of a reply that stand in the data. data: the texts of the prompt."""

    def __init__(self, rubric: Rubric, ids: Sequence[str], data: Iterable[str]) -> None:
        self._names = field_names(rubric)
        self._ids = frozenset(ids)
        # Most texts hold none, and those of a prompt are looked at with each of its replies.
        likely = [text for text in data if _may_hold_a_field(text)]
        self.texts = list(filter(None, map(self._with_fields, likely)))
        """The texts that hold such a field, in the form in which they are compared."""

    def any_in(self, raw: str) -> bool:
        """Whether a field of a JSON value, as it stands in the reply, may be one of the data."""
        if not self.texts:
            return False
        seen: set[tuple[str, str]] = set()
        for before, between in self._fields(raw):
            seen.add((before, between))
            if len(seen) > _MOST_FIELDS:
                return True
        return any(_stands_in(text, *each) for text, each in product(self.texts, seen))

    def _with_fields(self, text: str) -> str:
        """The text in the form in which it is compared; "" where it holds no field."""
        low = text.lower()
        may_spell = any(escape in low for escape in ("\\u", "\\x", "&#"))
        if not may_spell and not any(_is_field_in(low, name) for name in self._names):
            return ""
        plain = _plain(text)
        return plain if any(f'"{name}":' in plain for name in self._names) else ""

    def _fields(self, raw: str) -> Iterator[tuple[str, str]]:
        """Of each field that decides: the end of the string before it, and what stands between."""
        said, end = "", -1
        for token in _TOKEN.finditer(raw):
            if token[2] is None:
                # Nothing but the judge writes an id.
                said, end = (token[1][-40:], token.end()) if token[1] not in self._ids else ("", -1)
            elif end >= 0 and _plain(token[1][:80]) in self._names:
                start = max(end, token.end() - _MOST_CHARS)
                yield said, _plain(raw[start : token.end()]).lstrip(_MARKS)


def _may_hold_a_field(text: str) -> bool:
    """Whether a text has a colon, or an escape that may spell one."""
    return ":" in text or "\\" in text or "&#" in text


def _is_field_in(low: str, name: str) -> bool:
    """Whether a quote and a colon follow a name somewhere in a text of small letters."""
    at = low.find(name)
    while at >= 0:
        at += len(name)
        if _ENDS_A_NAME.match(low, at) is not None:
            return True
        at = low.find(name, at)
    return False


def _plain(text: str) -> str:
    """A text without what may change as it is copied."""
    if "&" in text:
        text = html.unescape(text)
    if "\\" in text:
        text = _UNICODE_ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    text = _NO_MATTER.sub("", text.translate(_QUOTES))
    return _BLANKS_AROUND_A_MARK.sub(r"\1", _BLANKS.sub(" ", text)).strip().casefold()


def _stands_in(text: str, said: str, between: str) -> bool:
    """Whether a field stands in a text behind the same end of a string."""
    at = text.find(between)
    if at < 0:
        return False
    if _BEGINS_A_QUOTATION.search(said) is not None:
        return True
    last = _last_word(_plain(said))
    for _ in range(_MOST_FIELDS):
        before = text[max(0, at - 80) : at].rstrip(_MARKS)
        if not before or (before[-1] == '"' and _may_be_one(_last_word(before), last)):
            return True
        at = text.find(between, at + 1)
        if at < 0:
            return False
    return True


def _last_word(text: str) -> str:
    match = _LAST_WORD.search(text[-40:])
    if match is None:
        return ""
    word = match[1]
    return word[-1] if ord(word[-1]) >= _FIRST_WITHOUT_SPACES else word


def _may_be_one(one: str, other: str) -> bool:
    """Whether two ends of a string may be one, of which a judge may have taken a part."""
    return one.endswith(other) or other.endswith(one)
