"""What is read of the passages beside a text: whole when short, else the sentences that share most
with it.
"""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from ragassay.models import offline
from ragassay.models.offline.features import Rarity
from ragassay.models.offline.reading import read
from ragassay.models.offline.windows import (
    LONGEST,
    LONGEST_TEXT,
    MOST_PARTS,
    ROOM,
    choose,
    network_input,
    parts,
)
from ragassay.models.offline.wordpiece import WordPiece
from support.examples import examples

VOCABULARY = (
    (Path(offline.__file__).parent / "weights/vocab.txt").read_text(encoding="utf-8").split("\n")
)
TOKENIZER = WordPiece(VOCABULARY)
RARITY = Rarity({}, 1.0)
FILLER = [f"Sentence number {n} tells of clouds, wind and rain over the sea." for n in range(80)]
FACT = "The lighthouse keeper was called Amundsen."


def size(text: str) -> int:
    return len(TOKENIZER.ids(text, LONGEST_TEXT + 1))


def said(ids: tuple[int, ...]) -> str:
    return " ".join(VOCABULARY[i] for i in ids).replace(" ##", "")


def test_short_passages_are_read_whole_and_in_order() -> None:
    found = network_input(
        "Who kept it?", read(("One two. Three four.", "Five six.")), RARITY, TOKENIZER
    )
    assert found is not None
    assert said(found.ids) == "[CLS] who kept it ? [SEP] one two . three four . five six . [SEP]"
    assert said(found.ids[1 : 1 + found.text]) == "who kept it ?"


def test_of_long_passages_the_sentence_with_the_rare_words_is_read_wherever_it_stands() -> None:
    for at in (0, 40, 80):
        passage = " ".join([*FILLER[:at], FACT, *FILLER[at:]])
        found = network_input(
            "The keeper of the lighthouse was Amundsen.", read((passage,)), RARITY, TOKENIZER
        )
        assert found is not None
        assert "the lighthouse keeper was called am" in said(found.ids)
        assert ROOM - 20 < len(found.ids) - found.text - 3 <= ROOM


def test_the_neighbours_of_a_sentence_come_before_others() -> None:
    sentences = [*FILLER[:40], "It burned down in a storm.", FACT, "He died there.", *FILLER[40:]]
    passage_index = read((" ".join(sentences),))
    chosen = choose(
        "Amundsen kept the lighthouse",
        passage_index,
        RARITY,
        30,
        lambda unit: len(TOKENIZER.ids(passage_index.text(unit), 99)),
    )
    assert [passage_index.text(unit) for unit in chosen] == sentences[40:43]


def test_a_neighbour_in_another_passage_is_none() -> None:
    def beside(*passages: str) -> list[str]:
        passage_index = read(passages)
        room = len(TOKENIZER.ids(FACT, 99)) + 5
        chosen = choose(
            "Amundsen",
            passage_index,
            RARITY,
            room,
            lambda unit: len(TOKENIZER.ids(passage_index.text(unit), 99)),
        )
        return [passage_index.text(unit) for unit in chosen]

    assert beside("Snow fell.", f"It burned down. {FACT}") == ["It burned down.", FACT]
    assert beside("Snow fell.", "It burned down.", FACT) == ["Snow fell.", FACT]


def test_long_texts_and_sentences_are_cut_and_leave_each_other_room() -> None:
    found = network_input("word " * 5000, read(("rain " * 5000,)), RARITY, TOKENIZER)
    assert found is not None
    assert found.text == LONGEST_TEXT
    assert LONGEST - 70 < len(found.ids) <= LONGEST
    unbroken = network_input("rain", read(("x" * 100_000,)), RARITY, TOKENIZER)
    assert unbroken is not None
    assert len(unbroken.ids) <= LONGEST


def test_a_claim_of_several_sentences_is_read_by_them_and_one_sentence_as_it_is() -> None:
    claim = "It opened in 1890.  Nobody came! Ok. The keeper left."
    assert [claim[a:b] for a, b in parts(claim, size)] == [
        "It opened in 1890.",
        "Nobody came! Ok.",
        "The keeper left.",
    ]
    assert parts(" One sentence only. ", size) == [(0, 20)]
    assert parts("", size) == [(0, 0)]
    short = "No. It opened in 1890 for the town."
    assert [short[a:b] for a, b in parts(short, size)] == [short]


def test_of_very_many_sentences_some_are_read_together() -> None:
    claim = " ".join(f"The keeper wrote page {n}." for n in range(100))
    found = parts(claim, size)
    assert len(found) <= MOST_PARTS
    assert claim[slice(*found[0])] == " ".join(f"The keeper wrote page {n}." for n in range(7))
    assert claim[slice(*found[-1])].endswith("The keeper wrote page 99.")


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "Ok. ",
                "铁塔已被拆毁。",
                "The keeper left for the town. ",
                "word " * 90,
                "漢" * 200,
                "\n",
                "x",
            ]
        ),
        max_size=40,
    )
)
def test_every_word_of_a_claim_is_in_a_part_that_is_read_whole(pieces: list[str]) -> None:
    claim = "".join(pieces)
    places = parts(claim, size)
    assert all(size(claim[start:end]) <= LONGEST_TEXT for start, end in places)
    assert [start for start, _ in places] == sorted(start for start, _ in places)
    assert "".join("".join(claim[start:end] for start, end in places).split()) == "".join(
        claim.split()
    )


def test_nothing_to_read_is_no_pair() -> None:
    for text, passages in (
        ("", ("a",)),
        ("a", ()),
        ("a", ("", " \n")),
        ("\x00", ("a",)),
        ("a", ("\x00",)),
    ):
        assert network_input(text, read(passages), RARITY, TOKENIZER) is None


@settings(max_examples=examples(100), deadline=None)
@given(
    st.text(st.characters(), max_size=60),
    st.lists(st.text(st.characters(), max_size=80), max_size=3),
)
def test_any_texts_make_a_pair_of_a_known_form_or_none(text: str, passages: list[str]) -> None:
    found = network_input(text, read(tuple(passages)), RARITY, TOKENIZER)
    if found is not None:
        ids = found.ids
        assert (ids[0], ids[found.text + 1], ids[-1]) == (
            TOKENIZER.start,
            TOKENIZER.end,
            TOKENIZER.end,
        )
        assert ids[1 : found.text + 1] == TOKENIZER.ids(text, LONGEST_TEXT)


@settings(max_examples=examples(200), deadline=None)
@given(st.text(st.characters() | st.sampled_from("Éßİ ﬁ 漢字’-. Σας"), max_size=40))
def test_every_token_has_the_place_of_its_word(text: str) -> None:
    places = TOKENIZER.places(text, 1000)
    assert len(places) == len(TOKENIZER.ids(text, 1000))
    assert all(0 <= start < end <= len(text) for start, end in places)
    assert places == sorted(places)


def test_the_places_are_those_of_the_words_as_they_were_written() -> None:
    text = "Ångström's naïve café, 1,234 m: 漢字"
    words = [text[start:end] for start, end in dict.fromkeys(TOKENIZER.places(text, 100))]
    assert words == [
        "Ångström",
        "'",
        "s",
        "naïve",
        "café",
        ",",
        "1",
        ",",
        "234",
        "m",
        ":",
        "漢",
        "字",
    ]
