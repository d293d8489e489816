"""The reader of one file as one document: Markdown, text, HTML, PDF."""

from __future__ import annotations

import codecs
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ragassay.core import SetupError
from ragassay.testsets.values import Document

MOST_BYTES = 64 << 20
"""Of a file that is read whole. A larger one is a dump that holds many documents."""

_HTML = (".html", ".htm", ".xhtml")
_PDF = (".pdf",)
_MARKDOWN = (".md", ".markdown", ".mdx")
READ_AS_TEXT = frozenset((*_MARKDOWN, ".txt", ".text", ".rst", ".adoc", *_HTML, *_PDF))
"""The endings of the files that are read."""

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_HEADING = re.compile(r"^#\s+(.+?)\s*#*\s*$", re.MULTILINE)
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


def read_file(path: Path, name: str) -> Document:
    """The document in a file. Raises OSError, ValueError with the reason where it has no text, and
    SetupError E0416 where the library for its kind is not installed.
    """
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise ValueError(f"{size >> 20} MB; files over {MOST_BYTES >> 20} MB are to be split")
    ending = path.suffix.lower()
    title = ""
    if ending in _PDF:
        text = _pdf_text(path)
    elif ending in _HTML:
        title, text = _html_text(path.read_bytes())
    else:
        text = _decoded(path.read_bytes())
        if ending in _MARKDOWN:
            title = _markdown_title(text)
    if not text.strip():
        raise ValueError("no text" + (" (scanned pages?)" if ending in _PDF else ""))
    return Document(name, text, title)


def _decoded(data: bytes) -> str:
    """The text of a file. Raises ValueError for what is no text."""
    if data.startswith(_UTF_16):
        return data.decode("utf-16")
    if b"\0" in data[:8192]:
        raise ValueError("a binary file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"no text in UTF-8 (byte {error.start:,})") from None


def _markdown_title(text: str) -> str:
    found = _HEADING.search(_FRONT_MATTER.sub("", text))
    return found[1] if found else ""


_NO_TEXT = ("script", "style", "noscript", "template", "nav", "footer")
_DEEPEST = 3_000
"""Tags within each other that a page may have; one that leaves its paragraphs open has some."""
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_BLOCKS = (
    *(*_HEADINGS, "p", "li", "tr", "div", "br", "section", "article", "header", "ul", "ol", "dl"),
    *("dt", "dd", "pre", "blockquote", "table", "caption", "figcaption", "details", "summary"),
)


def _html_text(data: bytes) -> tuple[str, str]:
    """Title and text of a page, a line for each block and row of a table, without scripts, styles
    and navigation. Raises ValueError for what is no text.
    """
    try:
        from bs4 import BeautifulSoup
    except ImportError as error:
        raise _not_installed("HTML") from error
    if b"\0" in data[:8192] and not data.startswith(_UTF_16):
        raise ValueError("a binary file")
    with _quiet("bs4"):
        page = BeautifulSoup(data, "html.parser")
    _check_depth(page)
    _drop_navigation(page)
    first = page.find("h1") or page.find("title")
    title = first.get_text(" ", strip=True) if first else ""
    _mark_structure(page)
    body = page.body or page
    text = body.get_text()
    if text.count("\ufffd") * 20 > len(text):
        raise ValueError("no text in an encoding that is known")
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return title, re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _check_depth(page: Any) -> None:
    """Raise ValueError for a page whose tags are nested so deep that reading it takes minutes: the
    library walks down all of them for each one.
    """
    depths = {id(page): 0}
    for tag in page.find_all(True):
        depth = depths[id(tag.parent)] + 1
        if depth > _DEEPEST:
            raise ValueError(f"a page with tags nested more than {_DEEPEST:,} deep")
        depths[id(tag)] = depth


def _drop_navigation(page: Any) -> None:
    """Take out scripts, styles and navigation."""
    for part in page(_NO_TEXT):
        part.decompose()
    for part in page("header"):
        # The head of a site is navigation, that of an article its title.
        if part.find("h1") is None:
            part.decompose()


def _mark_structure(page: Any) -> None:
    """Write headings as in Markdown, since what stands below one may be the answer to it, and keep
    cells and blocks apart.
    """
    for heading in page.find_all(_HEADINGS):
        heading.insert(0, "#" * int(heading.name[1]) + " ")
    for question in page.find_all(["summary", "dt"]):
        if question.get_text().strip().endswith("?"):
            question.insert(0, "### ")
    for cell in page.find_all(["td", "th"]):
        if cell.find_next_sibling(["td", "th"]) is not None:
            cell.append(" | ")
    for block in page.find_all(_BLOCKS):
        block.insert_before("\n\n")
        block.append("\n\n")


@contextmanager
def _quiet(library: str) -> Iterator[None]:
    """A library's warnings on damaged files go nowhere: what cannot be read is named."""
    logger = logging.getLogger(library)
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)


def _pdf_text(path: Path) -> str:
    """The text of a PDF, a blank line between pages."""
    try:
        from pypdf import PdfReader
        from pypdf.errors import PyPdfError
    except ImportError as error:
        raise _not_installed("PDF") from error
    try:
        with _quiet("pypdf"):
            reader = PdfReader(path)
            if reader.is_encrypted and not reader.decrypt(""):
                raise ValueError("a PDF with a password")
            return "\n\n".join(page.extract_text() for page in reader.pages)
    except (PyPdfError, KeyError, RecursionError, AttributeError, TypeError) as error:
        # The library meets damaged files with errors of all kinds.
        raise ValueError(f"a PDF that cannot be read ({type(error).__name__})") from error


def _not_installed(kind: str) -> SetupError:
    return SetupError(
        "E0416",
        f"Reading {kind} needs a package that is not installed.",
        fix="pip install 'ragassay[documents]'",
    )
