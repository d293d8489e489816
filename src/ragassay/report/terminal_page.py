"""A terminal page: lines, tables and marks, on a terminal of any width, with or without colour.

Everything judged is hostile: texts go through `plain` and into rich `Text`, so neither escapes nor
markup act.
"""

from __future__ import annotations

import io
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ragassay.report.text import one_line, plain

WIDE = 120  # columns from which the figures of a metric fit on one line

STYLE = {
    "pass": "green",
    "fail": "red",
    "undecided": "yellow",
    "no verdict": "dim",
    "supported": "green",
    "admits not knowing": "green",
    "relevant": "green",
    "not supported": "red",
    "not relevant": "red",
    "not judged": "yellow",
    "in the reference": "green",
    "stated": "green",
    "used": "green",
    "kept": "green",
    "found": "green",
    "supports it": "green",
    "not in the reference": "red",
    "missing": "red",
    "not used": "red",
    "broken": "red",
    "not found": "red",
    "does not support it": "red",
}
SIGNS = {"green": "✓", "red": "✗", "yellow": "?", "dim": "·", "": "·"}
_ASCII = {"✓": "+", "✗": "x", "?": "?", "·": "-"}
_REPLACED = str.maketrans(
    {
        "–": "-",
        "…": "...",
        "→": "->",
        "≥": ">=",
        "“": '"',
        "”": '"',
        "×": "x",
        "✓": "+",
        "✗": "x",
        "·": "-",
    }
)


class Page(ABC):
    """Where a report is written: lines, titles and tables, on a terminal or in a notebook."""

    width: int
    """Characters that fit on one line."""

    @abstractmethod
    def line(self, words: str = "", style: str = "", indent: int = 0) -> None:
        """A paragraph. style: "bold", "dim" or a colour; indent: in characters."""

    @abstractmethod
    def gap(self) -> None:
        """An empty line."""

    @abstractmethod
    def marked(self, word: str, words: str, indent: int = 2) -> None:
        """A line that starts with sign and word: "✗ not supported  the claim"."""

    @abstractmethod
    def table(
        self, heads: Iterable[tuple[str, bool]], rows: Iterable[Iterable[str | tuple[str, str]]]
    ) -> None:
        """heads: words, and whether the column is right-aligned. A pair is a cell with a second,
        dim line.
        """

    def cut(self, words: str, style: str = "", indent: int = 0) -> None:
        """One line, cut with "…" where the page ends."""
        self.line(one_line(words, self.width - indent), style, indent)

    def note(self, words: str) -> None:
        """A dim line under a table."""
        self.line(words, "dim", indent=2)

    def title(self, words: str) -> None:
        """A heading after an empty line."""
        self.gap()
        self.line(words, "bold")


def page_on(place: Console | Page) -> Page:
    """The page of a console; a page itself."""
    return place if isinstance(place, Page) else TerminalPage(place)


_GLUE = "\ue000"
"""Stands for a blank at which no line is broken; of private use, so that no text has it."""
_KEPT_TOGETHER = re.compile(r"ragassay [^()]{1,70}\)|\d (?:s|ms|min|h|%)(?![\w/])")
"""Commands to copy, and figures with their units."""


def _glued(match: re.Match[str]) -> str:
    return match[0].replace(" ", _GLUE)


class TerminalPage(Page):
    """A console that prints only what its encoding can carry.

    A pipe on Windows or a terminal in the C locale has no signs such as "✓": printing one would end
    the command with a UnicodeEncodeError after the whole run.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self.width = console.width
        self._encoding = console.encoding or "utf-8"

    @classmethod
    def in_memory(cls, width: int) -> TerminalPage:
        """A page without colour that is read with `written`."""
        return cls(Console(file=io.StringIO(), width=width, no_color=True, highlight=False))

    def written(self) -> str:
        """What was written on a page in memory."""
        file = self.console.file
        assert isinstance(file, io.StringIO)
        return file.getvalue()

    def text(self, words: str, style: str = "") -> Text:
        return Text(self._fit(plain(words)), style=style, overflow="fold")

    def _fit(self, words: str) -> str:
        try:
            words.encode(self._encoding)
        except UnicodeEncodeError:
            # Look-alikes where there are some; a question mark for what is left.
            known_signs = words.translate(_REPLACED)
            return known_signs.encode(self._encoding, "replace").decode(self._encoding)
        return words

    def line(self, words: str = "", style: str = "", indent: int = 0) -> None:
        # After what the encoding cannot carry was replaced: it has no such glue either.
        fitted = self.text(words).plain
        text = Text(_KEPT_TOGETHER.sub(_glued, fitted), style=style, overflow="fold")
        # Line by line: a padded paragraph of several lines has blanks up to the end of each.
        for each in text.wrap(self.console, max(self.width - indent, 1)):
            each.rstrip()
            line = Text(each.plain.replace(_GLUE, " "), style=style)
            self.console.print(Padding(line, (0, 0, 0, indent), expand=False))

    def gap(self) -> None:
        self.console.print()

    def marked(self, word: str, words: str, indent: int = 2) -> None:
        style = STYLE.get(word, "")
        # The sign says the same as the colour, for those who see no colour.
        text = self.text(f"{SIGNS[style]} {word}  ", style)
        text.append_text(self.text(words))
        self.console.print(Padding(text, (0, 0, 0, indent), expand=False))

    def table(
        self, heads: Iterable[tuple[str, bool]], rows: Iterable[Iterable[str | tuple[str, str]]]
    ) -> None:
        table = Table(
            box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", show_edge=False
        )
        for head, right in heads:
            # An id that is broken over two lines cannot be copied, and a metric's name cannot be
            # read.
            whole = head in ("run", "metric")
            table.add_column(
                self.text(head),
                justify="right" if right else "left",
                overflow="fold",
                no_wrap=whole,
            )
        for row in rows:
            table.add_row(*map(self._cell, row))
        self.console.print(Padding(table, (0, 0, 0, 2), expand=False))

    def _cell(self, cell: str | tuple[str, str]) -> Text:
        if isinstance(cell, str):
            return self.text(cell)
        first, second = cell
        text = self.text(first)
        if second:
            text.append("\n")
            text.append_text(self.text(second, "dim"))
        return text
