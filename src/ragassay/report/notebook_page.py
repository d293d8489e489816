"""What a notebook shows of a run, a row, a score, a comparison or another result: the
report of the terminal as a small piece of HTML.

It holds no script, asks for nothing from anywhere, and takes the colours of the page it stands in,
dark or light. Everything judged is escaped.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from functools import singledispatch

from ragassay.core import Certificate, JudgeBenchmark, RowResult, Score, Summary
from ragassay.report.benchmark import render_benchmark
from ragassay.report.certificates import render_certificate
from ragassay.report.comparison import Comparison
from ragassay.report.tables import Reported, Table
from ragassay.report.terminal import render_row, render_score
from ragassay.report.terminal_comparison import render_comparison
from ragassay.report.terminal_page import SIGNS, STYLE, Page, TerminalPage
from ragassay.report.terminal_summary import render_summary
from ragassay.report.text import page as printable
from ragassay.report.text import plain

LONGEST = 200_000
"""Bytes of one piece: a notebook keeps it in its file."""

_CSS = {"bold": "font-weight:600", "dim": "opacity:.7"}
_SIGN_COLOURS = {"green": "#2e9e4f", "red": "#d9484e", "yellow": "#b98900"}
_CELL = "padding:0 1em 0 0;vertical-align:top;border:0;background:none"


@singledispatch
def write(value: object, page: Page) -> None:
    """Write a value on a page as its report."""
    raise TypeError(f"no report of a {type(value).__name__}")


@write.register
def _(value: Summary, page: Page) -> None:
    render_summary(value, page)


@write.register
def _(value: RowResult, page: Page) -> None:
    render_row(value, page)


@write.register
def _(value: Score, page: Page) -> None:
    render_score(value, page)


@write.register
def _(value: Comparison, page: Page) -> None:
    render_comparison(value, page)


@write.register
def _(value: Certificate, page: Page) -> None:
    render_certificate(value, page)


@write.register
def _(value: JudgeBenchmark, page: Page) -> None:
    render_benchmark(value, page)


@write.register
def _(value: Reported, page: Page) -> None:
    for number, block in enumerate(value.blocks()):
        if isinstance(block, Table):
            page.table([(head, False) for head in block.head], block.rows)
        elif block:
            page.line(block, "" if number else "bold")
        else:
            page.gap()


def as_html(value: object) -> str:
    """The report of a value as a piece of HTML of at most `LONGEST` bytes."""
    page = HtmlPage()
    write(value, page)
    return page.html()


def as_text(value: object, width: int = 100) -> str:
    """The report of a value as plain text without colour."""
    page = TerminalPage.in_memory(width)
    write(value, page)
    return page.written().rstrip("\n")


class HtmlPage(Page):
    """A report as HTML with styles of its own on each element, which editors leave alone."""

    width = 110

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._bytes = 0
        self._cut = False

    def html(self) -> str:
        """What was written."""
        rest = "<div>… cut here: the whole of it is in the HTML report</div>" if self._cut else ""
        return (
            '<div class="ragassay" style="max-width:70em;line-height:1.45;text-align:left">'
            f"{''.join(self._pieces)}{rest}</div>"
        )

    def line(self, words: str = "", style: str = "", indent: int = 0) -> None:
        css = f"margin-left:{indent / 2:g}em;white-space:pre-wrap"
        if style in _CSS:
            css += f";{_CSS[style]}"
        self._add(f'<div style="{css}">{_escaped(words)}</div>')

    def gap(self) -> None:
        self._add('<div style="height:.7em"></div>')

    def marked(self, word: str, words: str, indent: int = 2) -> None:
        style = STYLE.get(word, "")
        colour = _SIGN_COLOURS.get(style)
        css = f' style="color:{colour}"' if colour else ""
        self._add(
            f'<div style="margin-left:{indent / 2:g}em;white-space:pre-wrap"><b{css}>'
            f"{SIGNS[style]} {_escaped(word)}</b>&ensp;{_escaped(words)}</div>"
        )

    def table(
        self, heads: Iterable[tuple[str, bool]], rows: Iterable[Iterable[str | tuple[str, str]]]
    ) -> None:
        columns = list(heads)
        aligned = ["right" if right else "left" for _, right in columns]
        lines = []
        if any(head for head, _ in columns):
            named = zip(columns, aligned, strict=True)
            cells = "".join(_cell("th", head, side) for (head, _), side in named)
            lines.append(f"<tr>{cells}</tr>")
        for row in rows:
            cells = "".join(_cell("td", c, side) for c, side in zip(row, aligned, strict=True))
            lines.append(f'<tr style="background:none">{cells}</tr>')
        table = '<table style="border-collapse:collapse;margin:0 0 0 1em;font-size:inherit">'
        self._add(f"{table}{''.join(lines)}</table>")

    def _add(self, piece: str) -> None:
        self._bytes += len(piece.encode())
        if self._bytes > LONGEST - 1000:
            self._cut = True
        else:
            self._pieces.append(piece)


def _cell(tag: str, cell: str | tuple[str, str], side: str) -> str:
    weight = ";font-weight:400;opacity:.7" if tag == "th" else ""
    first, second = cell if isinstance(cell, tuple) else (cell, "")
    below = f'<div style="opacity:.7">{_escaped(second)}</div>' if second else ""
    css = f"{_CELL};text-align:{side}{weight}"
    return f'<{tag} style="{css}">{_escaped(first)}{below}</{tag}>'


def _escaped(words: str) -> str:
    return html.escape(printable(plain(words)))
