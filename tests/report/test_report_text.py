"""Nothing in a judged text commands a terminal, breaks XML or becomes a formula; marking never
loses a character.
"""

from __future__ import annotations

import json
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.report.marks import Span, segments
from ragassay.report.text import cell, one_line, page, plain, seen, unicode, xml


@pytest.mark.parametrize(
    ("hostile", "harmless"),
    [
        ("\x1b[31mred\x1b[0m", "\u241b[31mred\u241b[0m"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x07", "\u241b]8;;http://x\u2407link\u241b]8;;\u2407"),
        ("a\x9b31mb", "a\ufffd31mb"),
        ("abc\u202egnp.exe", "abcgnp.exe"),
        ("a\u2066b\u2069c", "abc"),
        ("one\r\ntwo\rthree\u2028four", "one\ntwo\nthree\nfour"),
        ("tab\there", "tab    here"),
        ("\x00\x7f", "\u2400\u2421"),
        ("\ud800", "\ufffd"),
        ("hid\U000e0041den", "hidden"),
    ],
)
def test_hostile_characters_become_harmless_ones(hostile, harmless):
    assert plain(hostile) == harmless


@given(st.text(st.characters(codec=None)))
def test_no_control_character_survives(text):
    assert all(c == "\n" or unicodedata.category(c) not in {"Cc", "Cs"} for c in plain(text))
    assert "\n" not in one_line(text)
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", plain(text))


def test_joiners_stay_because_scripts_and_emoji_need_them():
    assert plain("👩\u200d👧 می\u200cخواهم") == "👩\u200d👧 می\u200cخواهم"


def test_a_long_text_is_cut_and_says_so():
    assert one_line("word " * 100, 20) == "word word word word…"
    assert one_line("  a \n b  ") == "a b"


@given(st.text(st.characters(codec=None)))
def test_xml_and_page_texts_can_be_written_as_utf_8(text):
    xml(text).encode()
    page(text).encode()
    assert len(page(text)) == len(text)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\tx", "\rx"])
def test_a_formula_gets_an_apostrophe(text):
    assert cell(text) == "'" + text
    assert cell("1 = 1") == "1 = 1"


spans = st.lists(st.tuples(st.integers(-2, 30), st.integers(-2, 40)), max_size=8)


@given(st.text(max_size=30), spans)
def test_the_pieces_joined_are_the_text(text, places):
    marked = [Span(start, end, i) for i, (start, end) in enumerate(places)]
    pieces = list(segments(text, marked))
    assert "".join(piece.text for piece in pieces) == text
    for span in marked:
        if 0 <= span.start < span.end <= len(text):
            over = "".join(piece.text for piece in pieces if span.number in piece.over)
            assert over == text[span.start : span.end]
            assert sum(span.number in piece.begins for piece in pieces) == 1
            assert sum(span.number in piece.ends for piece in pieces) == 1


def test_overlapping_spans_share_the_piece_in_the_middle():
    pieces = list(segments("abcdef", [Span(0, 4, 1), Span(2, 6, 2)]))
    assert [(p.text, p.over) for p in pieces] == [("ab", (1,)), ("cd", (1, 2)), ("ef", (2,))]


def test_json_keeps_its_values_and_shows_what_would_command_a_terminal_or_hide() -> None:
    value = "a\x9b31mb\x7f\u202e\u2028\ufeff\U000e0041 é 😀 \u200d"
    written = seen(json.dumps(value, ensure_ascii=False))
    assert json.loads(written) == value
    assert written == '"a\\u009b31mb\\u007f\\u202e\\u2028\\ufeff\\udb40\\udc41 é 😀 \u200d"'


def test_only_what_no_encoder_takes_is_replaced_in_a_record() -> None:
    assert unicode("\x00\x1b\ud800\U0001f600") == "\x00\x1b\ufffd\U0001f600"
