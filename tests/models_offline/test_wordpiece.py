"""Our WordPiece gives the ids of the `tokenizers` library."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import BertWordPieceTokenizer

from ragassay.models import offline
from ragassay.models.offline.wordpiece import WordPiece

VOCABULARY = Path(offline.__file__).parent / "weights" / "vocab.txt"
OURS = WordPiece(VOCABULARY.read_text(encoding="utf-8").split("\n"))
THEIRS = BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)

REAL = [
    "The Eiffel Tower (French: tour Eiffel) is 330 metres tall; it opened on 31 March 1889.",
    "Net sales rose 6.35%, i.e. $3.1 billion - not £2bn - in Q3/2021!",
    "İstanbul'da  ÀÉÎÕÜ naïve façade\tcafé\nZürich STRASSE straße ǅ",
    "東京は日本の首都です。 한국어 문장 ไทย हिन्दी עברית العربية",
    "e-mail: a_b@c.org — “quoted” … ‘it’s’ 🙂👍🏽 x²+y₁ ½",
    "a" * 101 + " " + "b" * 100,
    "\u200b\ufeff\x00\x07 soft\u00adhyphen \ufffd",
    "",
    "   ",
]


@pytest.mark.parametrize("text", REAL)
def test_real_and_odd_texts_give_the_ids_of_the_reference(text: str) -> None:
    assert OURS.encode(text, 10_000) == THEIRS.encode(text).ids


# Characters assigned after Unicode 9 are classed differently by the reference's older tables.
OLD = st.characters(codec="utf-8").filter(lambda c: unicodedata.ucd_3_2_0.category(c) != "Cn")


@given(st.text(OLD, max_size=80))
def test_any_text_of_settled_characters_gives_the_ids_of_the_reference(text: str) -> None:
    assert OURS.encode(text, 10_000) == THEIRS.encode(text).ids


@given(st.text(max_size=60), st.integers(2, 12))
def test_a_limit_cuts_the_ids_and_keeps_both_marks(text: str, limit: int) -> None:
    ids = OURS.encode(text, limit)
    everything = OURS.encode(text, 10_000)
    assert len(ids) == min(limit, len(everything))
    assert ids[:-1] == everything[: len(ids) - 1]
    assert ids[-1] == everything[-1]


def test_unpaired_surrogates_do_not_stop_it() -> None:
    assert OURS.encode("a \ud800 b", 10)[0] == OURS.encode("a", 10)[0]
