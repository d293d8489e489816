"""The Markdown blocks of a response: paragraphs, list items, table rows, headings and code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ragassay.judges.text_rules.trivial import STOPS, asserts, count_words, has_words

LAYOUT = ("code", "heading", "table heading")
"""Reasons to drop a block for what it is in the layout, and not for what it says."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]+|$)")
_MARKER = re.compile(r"[ \t]*(?:[-*+•‣◦–][ \t]+|\(?\d{1,3}[.)][ \t]+)")
_QUOTE = re.compile(r"[ \t]*(?:>[ \t]?)+")
_RULE = re.compile(r"[ \t]*(?:[-*_=~][ \t]*){3,}$")
_TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_CODE = re.compile(
    r"[={};]|\w\(|^\s*(?:#|//|--|/?\*|@|(?:if|elif|while|for|return|assert|import|from|def|class|with)\b)"
)
_BOLD_LINE = re.compile(r"[ \t]*(\*\*|__)(?=\S)([^*_]{1,120})\1(:?)[ \t]*$")

_MAX_TITLE_CHARS = 80
"""A longer line over a rule of dashes is a paragraph that a ruler follows, not a title."""


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that belong together. start, end: character offsets. drop: why the whole block is no
    claim, "" where it may hold some. whole: one piece, not cut into sentences.
    """

    start: int
    end: int
    drop: str = ""
    whole: bool = False


class _Special(NamedTuple):
    """A block that is not running text: the line after it, and the reason to drop it."""

    until: int
    drop: str


@dataclass(slots=True)
class _Lines:
    """The lines of a text. spans: start and end of each, line breaks excluded. first, last: the
    first and last line that hold text. unclosed: mark of a fence -> shortest such fence that no
    later line closes, so that each is looked for once.
    """

    spans: list[tuple[int, int]]
    texts: list[str]
    filled: list[bool]
    first: int
    last: int
    unclosed: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> _Lines:
        """The lines of a text."""
        spans = []
        start = 0
        for line_break in re.finditer(r"\r\n|\n|\r", text):
            spans.append((start, line_break.start()))
            start = line_break.end()
        spans.append((start, len(text)))
        texts = [text[start:end] for start, end in spans]
        filled = [bool(line.strip()) for line in texts]
        numbers = [i for i, full in enumerate(filled) if full] or [0]
        return cls(spans, texts, filled, first=numbers[0], last=numbers[-1])

    def next_text(self, i: int) -> str:
        """The line after line i, "" after the last one."""
        return self.texts[i + 1] if i + 1 < len(self.texts) else ""

    def stands_alone(self, i: int) -> bool:
        """Whether line i begins the text or follows an empty line."""
        return i == 0 or not self.filled[i - 1]


def blocks(text: str) -> Iterator[Block]:
    """The blocks of a text, in order."""
    lines = _Lines.of(text)
    paragraph: int | None = None  # start of the one that the next line may go on with
    for i, special in _walk(lines):
        if special is None and lines.filled[i]:
            if paragraph is not None and _opens_item(lines, i):
                yield Block(paragraph, lines.spans[i - 1][1])
                paragraph = None
            if paragraph is None:
                paragraph = lines.spans[i][0] + _marks(lines.texts[i])
            continue
        if paragraph is not None:
            yield Block(paragraph, lines.spans[i - 1][1])
            paragraph = None
        if special is not None:
            yield from _special_blocks(lines, i, special)
    if paragraph is not None:
        yield Block(paragraph, lines.spans[-1][1])


def _walk(lines: _Lines) -> Iterator[tuple[int, _Special | None]]:
    """Each line that may begin a block, with the special block that it begins, if any."""
    i = 0
    while i < len(lines.texts):
        special = _special(lines, i) if lines.filled[i] else None
        yield i, special
        i = i + 1 if special is None else special.until


def _opens_item(lines: _Lines, i: int) -> bool:
    """Whether line i begins a list item or a quotation, and does not go on with one."""
    line = lines.texts[i]
    if not _QUOTE.match(line) and not _MARKER.match(line):
        return False
    return not (_quoted(line) and _quoted(lines.texts[i - 1]))


def _special_blocks(lines: _Lines, i: int, special: _Special) -> Iterator[Block]:
    """The blocks of the special block that begins at line i."""
    start, end = lines.spans[i]
    line = lines.texts[i]
    if special.drop == "code":
        for first, after, drop in _fenced(lines.texts, i, special.until):
            yield Block(lines.spans[first][0], lines.spans[after - 1][1], drop)
    elif special.drop in LAYOUT and asserts(line):
        heading = _HEADING.match(line)
        marks = heading.end() if heading else _marks(line)
        yield Block(start + marks, end)
    else:
        yield Block(start + _marks(line), end, special.drop, whole=True)


def _quoted(line: str) -> bool:
    return line.lstrip().startswith(">")


def _marks(line: str) -> int:
    """Length of the list or quotation marks that a line begins with (a list inside a quotation has
    both).
    """
    at = 0
    for pattern in (_QUOTE, _MARKER):
        match = pattern.match(line, at)
        if match and line[match.end() :].strip():
            at = match.end()
    return at


def _special(lines: _Lines, i: int) -> _Special | None:
    """The special block that line i begins, None where it is running text."""
    line = lines.texts[i]
    if _FENCE.match(line):
        return _fence(lines, i)
    if _HEADING.match(line):
        return _Special(i + 1, "heading")
    # Before the rows of a table, which a rule such as |---|---| looks like.
    if _RULE.match(line) or ("|" in line and _TABLE_RULE.match(line)):
        return _Special(i + 1, "no words")
    following = lines.next_text(i)
    if "|" in line and "|" in following and _TABLE_RULE.match(following):
        return _Special(i + 1, "table heading")
    if _is_table_row(line):
        return _Special(i + 1, "")
    if _is_underlined_title(lines, i) or _is_bold_title(lines, i):
        return _Special(i + 1, "heading")
    return None


def _fence(lines: _Lines, i: int) -> _Special | None:
    """The code between the fence at line i and the one that closes it."""
    line = lines.texts[i]
    match = _FENCE.match(line)
    assert match is not None
    mark = match.group(1)[0]
    size = len(match.group(1))
    # A fence is closed by one at least as long, so where a shorter one was not, this one is not.
    if size < lines.unclosed.get(mark, size + 1):
        for j in range(i + 1, len(lines.texts)):
            close = lines.texts[j].strip()
            if len(close) >= size and close.strip(mark) == "":
                return _Special(j + 1, "code")
        lines.unclosed[mark] = size
    # It never ends: ordinary text, or it would hide all that follows.
    return None if has_words(line) else _Special(i + 1, "no words")


def _is_table_row(line: str) -> bool:
    bare = line.strip()
    return len(bare) > 1 and bare.startswith("|") and bare.endswith("|")


def _is_underlined_title(lines: _Lines, i: int) -> bool:
    line = lines.texts[i]
    underline = lines.next_text(i).strip()
    if len(line.strip()) > _MAX_TITLE_CHARS or line.rstrip()[-1] in STOPS:
        return False
    return lines.stands_alone(i) and len(underline) > 2 and set(underline) in ({"="}, {"-"})


def _is_bold_title(lines: _Lines, i: int) -> bool:
    bold = _BOLD_LINE.match(lines.texts[i])
    if bold is None or i >= lines.last or not lines.stands_alone(i):
        return False
    # A bold first line is often the answer itself; later ones, and those that end in a colon, are
    # headings.
    ends_in_colon = bool(bold.group(3)) or bold.group(2).endswith(":")
    return (i > lines.first or ends_in_colon) and bold.group(2)[-1] not in STOPS


def _fenced(texts: list[str], first: int, until: int) -> Iterator[tuple[int, int, str]]:
    """(first line, line after, "code" or "") of the parts of a fenced block: prose in it is no
    code.
    """
    begin = first  # of the part that is not given yet
    i = first
    while i < until:
        after = i + 1
        text = _FENCE.sub("", texts[i], count=1) if i == first else texts[i]
        if i > first and _is_prose_line(texts[i]):
            while after < until - 1 and _is_prose_line(texts[after]):
                after += 1
            text = " ".join(texts[i:after])
        if _is_prose(text):
            if begin < i:
                yield begin, i, "code"
            yield i, after, ""
            begin = after
        i = after
    if begin < until:
        yield begin, until, "code"


def _is_prose_line(line: str) -> bool:
    return bool(line.strip()) and not _CODE.search(line)


def _is_prose(text: str) -> bool:
    """Whether text inside a fence says something in words."""
    if not asserts(text) or count_words(text) < 4:
        return False
    return not _CODE.search(text) or text.rstrip()[-1] in STOPS
