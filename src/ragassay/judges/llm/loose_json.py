"""A reader of what is nearly JSON: Python literals, trailing commas, comments, stray quotes.

Only the form is loose. Each value stands in the text as it is returned: no quote and no bracket
that is missing is added, a missing comma only where none but it can be missing, and a key given
twice makes the whole value unreadable. NaN and infinities are numbers that are on no scale.
"""

from __future__ import annotations

import re

# What one text may cost: a reply about twenty items has less than a thousand tokens.
MOST_TOKENS = 8_000
_MOST_DEPTH = 24

SAFE_REPAIRS = frozenset({"trailing_comma", "escapes", "python_words", "odd_blanks", "no_number"})
"""Repairs of a value whose strings begin and end as in JSON."""

_BLANK = re.compile(
    r"(?:[\s\ufeff\u200b\u2060]++|//[^\n]*+|#[^\n]*+|/\*[^*]*+(?:\*(?!/)[^*]*+)*+\*/)*+"
)
# A quote that ends a string stands before a mark of the syntax or a comment; another one is a part
# of the string, as the one in 'it's so'.
_NOT_THE_END = r"(?!\s*+(?:[,:}\]]|/[/*]))"
_DOUBLE = re.compile(rf'"((?:[^"\\]++|\\.|"{_NOT_THE_END})*+)"', re.DOTALL)
_SINGLE = re.compile(rf"'((?:[^'\\]++|\\.|'{_NOT_THE_END})*+)'", re.DOTALL)
_KEY = re.compile(r""" "(?:[^"\\]++|\\.)*+" | '(?:[^'\\]++|\\.)*+' """, re.DOTALL | re.VERBOSE)
_BARE_KEY = re.compile(r"[A-Za-z0-9_][\w-]*+", re.ASCII)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?([eE][+-]?[0-9]{1,2})?(?![\w.+-])")
_WORD = re.compile(r"[A-Za-z]++")
_WORDS: dict[str, object] = {
    "true": True,
    "false": False,
    "null": None,
    "True": True,
    "False": False,
    "None": None,
}
_NO_NUMBER = re.compile(r"(?:NaN|-?Infinity)\b")
_ELLIPSIS = re.compile(r"(?:\.{3}|…)[\s,]*+")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\", "/": "/"}
_SURROGATE = re.compile("[\ud800-\udfff]")


class _Unreadable(ValueError):
    """No value of this form, or one that costs too much to read."""


class LooseReader:
    """Reads values out of one text; what all of them cost together is bounded."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens_left = MOST_TOKENS
        self._repairs: set[str] = set()

    def read(self, at: int) -> tuple[object, int, frozenset[str]] | None:
        """The object or list that starts there, where it ends, and what of its form was repaired;
        None where none stands there.
        """
        self._repairs = set()
        try:
            value, end = self._value(at, 0)
        except _Unreadable:
            return None
        return value, end, frozenset(self._repairs)

    def _value(self, at: int, depth: int) -> tuple[object, int]:
        self._tokens_left -= 1
        if self._tokens_left < 0 or depth > _MOST_DEPTH:
            raise _Unreadable
        first = self._text[at : at + 1]
        if first == "{":
            return self._object(at + 1, depth + 1)
        if first == "[":
            return self._list(at + 1, depth + 1)
        if first in ('"', "'"):
            return self._string(at)
        return self._scalar(at)

    def _object(self, at: int, depth: int) -> tuple[dict[str, object], int]:
        members: dict[str, object] = {}
        at = self._blank(at)
        while self._text[at : at + 1] != "}":
            key, at = self._key(at)
            at = self._blank(at)
            if self._text[at : at + 1] != ":" or key in members:
                raise _Unreadable
            members[key], at = self._value(self._blank(at + 1), depth)
            at = self._after_member(at, "}", members[key])
            if depth == 1 and self._text[at : at + 1] == "]":
                at = self._behind_surplus_bracket(at)
        return members, at + 1

    def _behind_surplus_bracket(self, at: int) -> int:
        """At the end of the outermost object, before which one bracket too many stands."""
        at = self._blank(at + 1)
        if self._text[at : at + 1] != "}":
            raise _Unreadable
        self._repairs.add("surplus_bracket")
        return at

    def _list(self, at: int, depth: int) -> tuple[list[object], int]:
        items: list[object] = []
        at = self._blank(at)
        while self._text[at : at + 1] != "]":
            item, at = self._value(at, depth)
            items.append(item)
            at = self._after_member(at, "]", item)
            ellipsis = _ELLIPSIS.match(self._text, at)
            if ellipsis is not None and self._text[ellipsis.end() : ellipsis.end() + 1] == "]":
                at = ellipsis.end()
                self._repairs.add("ellipsis")
        return items, at + 1

    def _after_member(self, at: int, closing: str, member: object) -> int:
        """Behind the comma, or at the closing bracket."""
        at = self._blank(at)
        mark = self._text[at : at + 1]
        if mark == closing or (mark == "]" and isinstance(member, list)):
            return at
        if mark != ",":
            # Behind a string it might be the string that goes on.
            next_one = "{" if closing == "]" else '"'
            is_between = isinstance(member, dict) or (
                closing == "}" and not isinstance(member, str)
            )
            if mark == next_one and is_between:
                self._repairs.add("missing_comma")
                return at
            raise _Unreadable
        at = self._blank(at + 1)
        if self._text[at : at + 1] == closing:
            self._repairs.add("trailing_comma")
        return at

    def _key(self, at: int) -> tuple[str, int]:
        self._tokens_left -= 1
        bare = _BARE_KEY.match(self._text, at)
        if bare is not None:
            self._repairs.add("keys_without_quotes")
            return bare[0], bare.end()
        key = _KEY.match(self._text, at)
        if key is None:
            raise _Unreadable
        is_single = key[0][0] == "'"
        if is_single:
            self._repairs.add("single_quotes")
        return self._unescaped(key[0][1:-1], is_single), key.end()

    def _string(self, at: int) -> tuple[str, int]:
        quote = self._text[at]
        is_single = quote == "'"
        match = (_SINGLE if is_single else _DOUBLE).match(self._text, at)
        if match is None:
            raise _Unreadable
        if is_single:
            self._repairs.add("single_quotes")
        raw = match[1]
        if quote in raw and quote in _ESCAPE.sub("", raw):
            # With a brace it may be the end of one entry and the beginning of another.
            if "{" in raw or "}" in raw:
                raise _Unreadable
            self._repairs.add("quotes_without_escapes")
        return self._unescaped(raw, is_single), match.end()

    def _unescaped(self, raw: str, is_single: bool) -> str:
        if "\\" not in raw:
            return raw

        def character(match: re.Match[str]) -> str:
            code = match[1]
            if len(code) > 1:
                return chr(int(code[1:], 16))
            if code in _ESCAPES:
                return _ESCAPES[code]
            if not is_single:
                self._repairs.add("escapes")
            # A backslash before anything else stands for itself, as in \$ or in a path.
            return "'" if code == "'" else match[0]

        text = _ESCAPE.sub(character, raw)
        if _SURROGATE.search(text) is not None:
            # Two escapes that are one character.
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return text

    def _scalar(self, at: int) -> tuple[object, int]:
        number = _NUMBER.match(self._text, at)
        if number is not None:
            is_whole = number[1] is None and number[2] is None
            value = int(number[0]) if is_whole else float(number[0])
            return value, number.end()
        no_number = _NO_NUMBER.match(self._text, at)
        if no_number is not None:
            self._repairs.add("no_number")
            return float("nan"), no_number.end()
        word = _WORD.match(self._text, at)
        if word is None or word[0] not in _WORDS:
            raise _Unreadable
        if word[0][0].isupper():
            self._repairs.add("python_words")
        return _WORDS[word[0]], word.end()

    def _blank(self, at: int) -> int:
        match = _BLANK.match(self._text, at)
        if match is None or match.end() == at:
            return at
        blank = match[0]
        if "/" in blank or "#" in blank:
            self._repairs.add("comments")
        elif blank.strip(" \t\r\n"):
            self._repairs.add("odd_blanks")
        return match.end()
