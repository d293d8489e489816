"""What a notebook shows of results: small, without script, escaped, in the printed words."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

import pytest

import ragassay
from ragassay.core import Status
from ragassay.report import compare
from ragassay.report.notebook_page import LONGEST, as_html, as_text
from ragassay.runs.run import Run

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\x1b[31m\u202e"


class Elements(HTMLParser):
    """The elements of a piece of HTML, which must all be closed; and its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def words_of(piece: str) -> str:
    """The text of a piece of HTML, as one line."""
    return " ".join(html.unescape(re.sub("<[^>]+>", " ", piece)).split())


@pytest.fixture
def results(make, save, store, mixed):
    """A run, a row, a score, a comparison."""
    # Whatever is taken from the package makes results show themselves.
    assert callable(ragassay.evaluate)
    row = store.row(mixed, "row-3")
    return {
        "run": Run(store, mixed),
        "row": row,
        "score": row.score("groundedness"),
        "comparison": compare(store, mixed, mixed),
    }


@pytest.mark.parametrize("name", ["run", "row", "score", "comparison"])
def test_each_result_shows_itself_without_script_and_prints_the_same_words(results, name):
    result = results[name]
    piece = result._repr_html_()
    elements = Elements(piece)
    assert not elements.open
    assert elements.names <= {"div", "table", "tr", "th", "td", "b"}
    assert elements.attributes <= {"style", "class"}
    shown, printed = words_of(piece), str(result)
    for word in re.findall(r"[A-Za-z_]{4,}", printed):
        assert word in shown, word


def test_what_is_judged_is_escaped(make, save, store):
    run = save([make.row(0, question=HOSTILE, contexts=(HOSTILE,), sentences=((HOSTILE, 0),))])
    row = store.row(run, "row-1")
    for piece in (as_html(row), as_html(row.score("groundedness"))):
        assert Elements(piece).names <= {"div", "table", "tr", "th", "td", "b"}
        assert not {"\x1b", "\u202e"} & set(piece)
    assert HOSTILE[:25] in words_of(as_html(row))
    assert "\x1b" not in as_text(row)


def test_colours_are_those_of_the_page_but_for_signs(results):
    for piece in (results["run"]._repr_html_(), results["row"]._repr_html_()):
        coloured = re.findall(r'style="([^"]*color:[^"]*)"', piece)
        assert coloured
        assert all(re.fullmatch(r"color:#[0-9a-f]{6}", style) for style in coloured)


def test_a_row_with_long_texts_is_cut_and_says_so(make, save, store):
    run = save([make.row(0, contexts=("word " * 1000,) * 100, chunks=(3,) * 100)])
    piece = as_html(store.row(run, "row-1"))
    assert len(piece.encode()) <= LONGEST
    assert "cut here: the whole of it is in the HTML report" in piece
    assert not Elements(piece).open


def test_a_score_without_a_value_says_why(make, save, store):
    run = save([make.row(0, answer="n/a")])
    score = store.row(run, "row-1").score("answer_relevance")
    assert score.status is Status.NOT_APPLICABLE
    assert "not applicable: the row has no response" in str(score)
