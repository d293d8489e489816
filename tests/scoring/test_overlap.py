"""Overlap measures against numbers worked by hand, a brute-force subsequence, sacrebleu and
rouge-score.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.scoring import (
    best_of,
    bleu,
    chrf,
    exact_match,
    gold_token_recall,
    rouge_l,
    token_f1,
    token_precision,
    token_recall,
    tokens,
    words,
)

Measure = Callable[[str, str], float | None]
MEASURES: dict[str, Measure] = {
    "token_precision": token_precision,
    "token_recall": token_recall,
    "token_f1": token_f1,
    "exact_match": exact_match,
    "rouge_l": rouge_l,
    "chrf": chrf,
    "bleu": bleu,
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The quick, brown fox!", ["quick", "brown", "fox"]),
        ("An apple a day", ["apple", "day"]),
        (
            "doesn't U.S. well-known snake_case",
            ["doesnt", "us", "wellknown", "snakecase"],
        ),  # SQuAD deletes the marks
        ("doesn’t well‑known", ["doesnt", "wellknown"]),  # the same marks, better set
        (
            "Paris—the capital… of «France»",
            ["paris", "capital", "of", "france"],
        ),  # other punctuation separates
        ("$3,000.50 €5 100 °C", ["300050", "5", "100", "c"]),
        ("STRASSE Straße", ["strasse", "strasse"]),
        ("ﬁne １２", ["fine", "12"]),
        ("re\u0301sume\u0301 résumé", ["résumé", "résumé"]),
        ("soft\u00adhyphen zero\u200bwidth", ["softhyphen", "zerowidth"]),
        ("東京タワー opened", ["東", "京", "タ", "ワ", "ー", "opened"]),
        ("서울은 수도이다", ["서울은", "수도이다"]),  # Korean sets spaces
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),  # vowel signs belong to their word
        ("A", ["a"]),  # nothing but articles: they stay
        ("The the", ["the", "the"]),
        ("", []),
        (" ... !? ", []),
        (
            "a\x00b \ud800",
            ["b"],
        ),  # control characters and lone surrogates separate; "a" is an article
    ],
)
def test_an_answer_is_cut_into_tokens(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


def test_running_text_keeps_its_articles_and_every_mark_separates() -> None:
    assert words("The U.S. doesn't sleep_well.") == ["the", "u", "s", "doesn", "t", "sleep", "well"]


def test_token_shares_are_those_worked_by_hand() -> None:
    # response: it is tall tower tower (5), reference: tall tower of paris (4); shared: tall, tower
    # once.
    response, reference = "It is the tall tower, a tower", "tall tower of Paris"
    assert token_precision(response, reference) == 2 / 5
    assert token_recall(response, reference) == 2 / 4
    assert token_f1(response, reference) == pytest.approx(2 * 0.4 * 0.5 / (0.4 + 0.5))


def test_exact_match_looks_past_case_punctuation_and_articles_and_not_past_order() -> None:
    assert exact_match("the Eiffel Tower!", "Eiffel tower") == 1.0
    assert exact_match("Tower Eiffel", "Eiffel Tower") == 0.0
    assert exact_match("It is the Eiffel Tower", "Eiffel Tower") == 0.0


def test_gold_token_recall_is_the_best_over_the_right_answers_that_hold_a_token() -> None:
    # 1 of 3 (2 July 1923), 2 of 2 (July 1925).
    assert gold_token_recall("In July of 1925.", ["2 July 1923", "...", "July 1925"]) == 1.0
    assert gold_token_recall("In July.", ["2 July 1923"]) == 1 / 3
    assert gold_token_recall("", ["1923"]) == 0.0
    assert gold_token_recall("In July.", []) is None
    assert gold_token_recall("In July.", ["", "?"]) is None


def test_the_best_of_several_references_is_that_of_the_measure() -> None:
    assert best_of(exact_match, "1925", ["1923", "", "1925"]) == 1.0
    assert best_of(token_f1, "July 1925", ["1923", "1925"]) == pytest.approx(2 / 3)
    assert best_of(rouge_l, "July", ["", " "]) is None


def test_rouge_l_of_lins_example_is_that_of_the_paper() -> None:
    # Lin 2004, section 3.1: S1 "police killed the gunman", S2 shares police the gunman in order, S3
    # only "the gunman".
    assert rouge_l("police kill the gunman", "police killed the gunman") == 3 / 4
    assert rouge_l("the gunman kill police", "police killed the gunman") == 2 / 4
    # LCS "the cat on the mat" = 5 of 6 and 5 of 7 words: 2 * 5 / 13.
    assert rouge_l("the cat sat on the mat", "the cat lies there on the mat") == pytest.approx(
        10 / 13
    )


# (response, reference, bleu, chrf, rouge_l): sacrebleu 2.6.0 sentence_bleu and sentence_chrf / 100
# at their defaults, rouge-score 0.1.2 rougeL without stemming (only for ASCII, which is all it
# reads).
PEERS = [
    ("The cat sat on the mat.", "The cat is on the mat.", 0.488923, 0.671727, 0.833333),
    ("the the the the", "the cat", 0.159736, 0.178689, 0.333333),
    ("Paris", "Paris", 1.0, 1.0, 1.0),
    (
        "It opened in 1,999.5 days - really!",
        'It opened on 3 May 1999, in Paris & "Rome".',
        0.057738,
        0.274664,
        0.352941,
    ),
    ("a", "The quick brown fox", 0.0, 0.0, 0.0),
    (
        "The quick brown fox jumps over the lazy dog.",
        "The fast brown fox leaped over a lazy dog.",
        0.213644,
        0.439045,
        0.666667,
    ),
    ("Zürich liegt am Zürichsee.", "Zürich liegt an der Limmat.", 0.193577, 0.495877, None),
    ("東京は日本の首都です", "東京は日本の首都だ", 0.0, 0.807972, None),
    ("completely different", "nothing shared zq", 0.0, 0.085101, 0.0),
    ("one-two 3-4 U.S.A. &amp; co", "one-two 3-4 USA & co", 0.252119, 0.622993, 0.666667),
]


@pytest.mark.parametrize(("response", "reference", "b", "c", "r"), PEERS)
def test_bleu_chrf_and_rouge_l_equal_the_reference_implementations(
    response: str, reference: str, b: float, c: float, r: float | None
) -> None:
    assert bleu(response, reference) == pytest.approx(b, abs=1e-6)
    assert chrf(response, reference) == pytest.approx(c, abs=1e-6)
    if r is not None:
        assert rouge_l(response, reference) == pytest.approx(r, abs=1e-6)


@pytest.mark.parametrize("name", MEASURES)
def test_without_anything_in_the_reference_a_measure_is_undefined(name: str) -> None:
    assert MEASURES[name]("Paris", "") is None
    assert MEASURES[name]("", "") is None
    assert MEASURES[name]("Paris", " \n") is None


@pytest.mark.parametrize("name", MEASURES)
def test_an_empty_response_scores_nothing(name: str) -> None:
    assert MEASURES[name]("", "Paris in spring") == 0.0


def test_only_the_token_and_word_measures_take_punctuation_for_nothing() -> None:
    assert [MEASURES[name]("Paris", "?!") for name in MEASURES] == [
        None,
        None,
        None,
        None,
        None,
        0.0,
        0.0,
    ]


def brute(first: list[str], second: list[str]) -> int:
    """The longest common subsequence, by trying every subsequence of the shorter text."""
    first, second = sorted((first, second), key=len)
    for size in range(len(first), 0, -1):
        for chosen in itertools.combinations(first, size):
            rest = iter(second)
            if all(word in rest for word in chosen):
                return size
    return 0


SHORT = st.lists(st.sampled_from("vwxyz"), max_size=9)


@given(SHORT, SHORT)
def test_rouge_l_equals_trying_every_subsequence(first: list[str], second: list[str]) -> None:
    expected = 2 * brute(first, second) / (len(first) + len(second)) if second else None
    assert rouge_l(" ".join(first), " ".join(second)) == expected


def table(first: list[str], second: list[str]) -> int:
    """The longest common subsequence by the textbook's table, a row at a time."""
    row = [0] * (len(second) + 1)
    for word in first:
        above, row = row, [0]
        for at, other in enumerate(second):
            row.append(above[at] + 1 if word == other else max(row[at], above[at + 1]))
    return row[-1]


def test_rouge_l_equals_the_textbooks_table_where_the_bits_need_windows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import random

    import ragassay.scoring.overlap as overlap

    monkeypatch.setattr(overlap, "_WINDOW", 7)
    chance = random.Random(20261121)
    for _ in range(60):
        first = [chance.choice("vwxyz") for _ in range(chance.randint(15, 60))]
        second = [chance.choice("vwxyz") for _ in range(chance.randint(15, 60))]
        assert overlap._common_subsequence(first, second) == table(first, second)


TEXT = st.text(st.sampled_from("ab cde,.'-A1東é\u0301\n"), max_size=40) | st.text(max_size=40)


@pytest.mark.parametrize("name", MEASURES)
@given(response=TEXT, reference=TEXT)
def test_every_measure_is_a_share_or_undefined_and_equal_texts_are_perfect(
    name: str, response: str, reference: str
) -> None:
    value = MEASURES[name](response, reference)
    assert value is None or 0.0 <= value <= 1.0
    same = MEASURES[name](reference, reference)
    assert same is None or same == pytest.approx(1.0)


@given(TEXT, TEXT)
def test_f1_and_rouge_l_are_symmetric_and_precision_is_recall_the_other_way_round(
    a: str, b: str
) -> None:
    if tokens(a) and tokens(b):
        assert token_f1(a, b) == token_f1(b, a)
        assert token_precision(a, b) == token_recall(b, a)
    if words(a) and words(b):
        assert rouge_l(a, b) == rouge_l(b, a)


@given(TEXT, TEXT, st.sampled_from(["paris", "東"]))
def test_saying_more_never_lowers_the_recall_of_a_right_answer(
    response: str, reference: str, more: str
) -> None:
    before, after = token_recall(response, reference), token_recall(f"{response} {more}", reference)
    # A response of nothing but articles loses them when a word joins; it is the one exception.
    if before is not None and after is not None and not set(tokens(response)) <= {"a", "an", "the"}:
        assert after >= before


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("unit", ["a\u0301\u0316", "x y ", ". , ", "&amp;-\n", "東"])
def test_a_long_hostile_text_takes_a_second_and_no_more(name: str, unit: str) -> None:
    text = unit * (60_000 // len(unit))
    started = time.process_time()
    assert MEASURES[name](text, text + "z") is not None
    assert time.process_time() - started < 5
