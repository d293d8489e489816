"""Lexical figures of a text and its passages: shared words, numbers, names and negations.

The combiners take them beside the network's output.

One function a task. All figures are plain floats; most lie in [0, 1]; an empty text gives zeros,
not errors. Some are of a short list of sentences only, those that share most words with the text.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragassay.models.offline.reading import (
    CONTENT,
    NAME,
    NEGATION,
    NUMBER,
    PassageIndex,
    Token,
    Words,
    named_tokens,
)

Floats = NDArray[np.float64]

# Sentences on the short list of a call.
SUPPORT_LIST, RELEVANCE_LIST, ANSWER_LIST = 2, 1, 2
# Words of the text that are looked up; what is longer than this is no claim.
_MOST_WORDS = 256


@dataclass(frozen=True, slots=True)
class Rarity:
    """How rare words are: inverse document frequencies counted on training passages.

    words: CRC of the stem -> idf; a word that is not there has `unseen`.
    """

    words: Mapping[int, float]
    unseen: float

    def of(self, tokens: Sequence[Token]) -> Floats:
        """idf of each word."""
        return np.array([self.words.get(t.key, self.unseen) for t in tokens], np.float64)

    def of_stem(self, stem: str) -> float:
        """idf of the word with this stem."""
        return self.words.get(zlib.crc32(stem.encode("utf-8", "replace")), self.unseen)


class TextFigures(NamedTuple):
    """The figures of one call. units: those that share enough with the text, best first. listed:
    the short list that they were chosen from.
    """

    figures: dict[str, float]
    units: tuple[int, ...]
    listed: tuple[int, ...]


class Query(NamedTuple):
    """The distinct content words of a text with their weights and kinds."""

    tokens: list[Token]
    keys: NDArray[np.uint32]
    kinds: NDArray[np.int64]
    weights: Floats
    order: NDArray[np.uint32]  # all words in order, for n-grams
    negated: bool


def query_of(text: str, rarity: Rarity, skip: frozenset[int] = frozenset()) -> Query:
    everything = named_tokens(text[: 40 * _MOST_WORDS])[: 2 * _MOST_WORDS]
    kinds: dict[int, int] = {}
    for token in everything:
        if token.kind & CONTENT and token.key not in skip:
            kinds[token.key] = kinds.get(token.key, 0) | token.kind
    chosen = [Token(key, kind) for key, kind in sorted(kinds.items())][:_MOST_WORDS]
    return Query(
        tokens=chosen,
        keys=np.array([t.key for t in chosen], np.uint32),
        kinds=np.array([t.kind for t in chosen], np.int64),
        weights=rarity.of(chosen),
        order=np.array([t.key for t in everything], np.uint32),
        negated=any(t.kind & NEGATION for t in everything),
    )


def distinct(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each value once, rising. Of values that are nearly in order, faster than np.unique."""
    ordered = np.sort(values, kind="stable")
    if not len(ordered):
        return ordered
    is_new = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    once: NDArray[np.int64] = ordered[is_new]
    return once


class Overlap:
    """Which unit holds which of the query's words. Works on the matches only, never on units x
    words.
    """

    def __init__(self, query: Query, passage_index: PassageIndex) -> None:
        self.query, self.passage_index = query, passage_index
        self.total = float(query.weights.sum()) or 1.0
        count = len(query.keys)
        units = len(passage_index.places)
        if count and len(passage_index.keys):
            at = np.minimum(np.searchsorted(query.keys, passage_index.keys), count - 1)
            hit = query.keys[at] == passage_index.keys
            self.pairs = distinct(passage_index.unit_of[hit].astype(np.int64) * count + at[hit])
        else:
            self.pairs = np.zeros(0, np.int64)
        self.unit, self.word = np.divmod(self.pairs, max(count, 1))
        self.scores = np.bincount(self.unit, query.weights[self.word], minlength=units) / self.total
        self.present = np.zeros(count, np.bool_)
        self.present[self.word] = True

    def words(self, first: int, last: int) -> NDArray[np.int64]:
        """Indices of the query's words in the units [first, last)."""
        low, high = self.unit.searchsorted((first, last)).tolist()
        return self.word[low:high]

    def best(self, count: int) -> list[int]:
        """The units with the highest share of the words, earlier ones first among equals."""
        units = len(self.scores)
        if units == 0:
            return []
        if units > 4 * count:
            floor = np.partition(self.scores, units - count)[units - count]
            # All above the floor are fewer than `count`; of those at the floor the first are
            # enough.
            at_floor = np.flatnonzero(self.scores == floor)[:count]
            among = np.concatenate([np.flatnonzero(self.scores > floor), at_floor])
        else:
            among = np.arange(units)
        order = np.lexsort((among, -self.scores[among]))
        return [int(u) for u in among[order[:count]]]

    def share(self, present: NDArray[np.bool_]) -> float:
        """Weighted share of the query's words that are present."""
        return float(np.add.reduce(self.query.weights[present])) / self.total

    def window(self, units: Sequence[int]) -> NDArray[np.bool_]:
        """Which words the units hold together."""
        present = np.zeros(len(self.query.keys), np.bool_)
        for unit in units:
            if 0 <= unit < len(self.scores):
                present[self.words(unit, unit + 1)] = True
        return present

    def near(self, unit: int, reach: int) -> NDArray[np.bool_]:
        """Which words a unit and its neighbours hold together."""
        present = np.zeros(len(self.query.keys), np.bool_)
        present[self.words(max(0, unit - reach), unit + reach + 1)] = True
        return present


def _share_of_kind(overlap: Overlap, kind: int, present: NDArray[np.bool_]) -> tuple[float, float]:
    """(share present, number missing) of the words of a kind; (1, 0) when there are none."""
    of_kind = (overlap.query.kinds & kind) != 0
    count = int(np.count_nonzero(of_kind))
    if not count:
        return 1.0, 0.0
    count_present = int(np.count_nonzero(present & of_kind))
    return count_present / count, float(count - count_present)


def _ngrams(
    order: NDArray[np.uint32], passage_index: PassageIndex, size: int, shared: NDArray[np.bool_]
) -> float:
    """Share of the text's n-grams that stand in the passages. shared [words]: which of
    the passages' words are in the text.
    """
    if len(order) < size or len(passage_index.keys) < size:
        return 0.0
    starts = np.flatnonzero(shared[: len(passage_index.keys) - size + 1])
    if len(starts) <= _FEW:
        return _few_ngrams(order.tolist(), passage_index.keys, size, starts)

    def codes(keys: NDArray[np.uint32], at: NDArray[np.int64]) -> NDArray[np.uint64]:
        code = np.zeros(len(at), np.uint64)
        for step in range(size):
            code = (
                code * np.uint64(0x9E3779B97F4A7C15)
                + keys[at + step].astype(np.uint64)
                + np.uint64(step + 1)
            )
        return code

    of_text = codes(order, np.arange(len(order) - size + 1))
    text_codes, places = np.unique(of_text, return_inverse=True)
    passage_codes = codes(passage_index.keys, starts)
    # The few are looked up for the many, and not the other way round: passages may hold millions of
    # words.
    at = np.minimum(np.searchsorted(text_codes, passage_codes), len(text_codes) - 1)
    present = np.zeros(len(text_codes), np.bool_)
    present[at[text_codes[at] == passage_codes]] = True
    return int(present[places].sum()) / len(places)


_FEW = 500
"""Places of the passages at which an n-gram of the text may begin, of which plain Python is faster
than numpy.
"""


def _few_ngrams(order: list[int], keys: Words, size: int, starts: NDArray[np.int64]) -> float:
    """As `_ngrams`, n-gram by n-gram."""
    there = set(map(tuple, keys[starts[:, None] + np.arange(size)].tolist()))
    grams = [tuple(order[at : at + size]) for at in range(len(order) - size + 1)]
    return sum(map(there.__contains__, grams)) / len(grams)


def _is_among(keys: Words, few: Words) -> NDArray[np.bool_]:
    """Which of the keys are among a few; as np.isin, which takes longer for a few."""
    if not len(few):
        return np.zeros(len(keys), np.bool_)
    ordered = np.sort(few)
    at = np.minimum(ordered.searchsorted(keys), len(ordered) - 1)
    among: NDArray[np.bool_] = ordered[at] == keys
    return among


def _evidence(overlap: Overlap, listed: Sequence[int], most: int) -> tuple[int, ...]:
    """The units that serve the text best; a further one only when it adds words worth a tenth of
    the text.
    """
    order = sorted(listed, key=lambda unit: -overlap.scores[unit])
    if not order or overlap.scores[order[0]] < 0.2:
        return ()
    evidence = order[:1]
    present = overlap.window(evidence)
    for unit in order[1:]:
        more = present | overlap.window([unit])
        if len(evidence) < most and overlap.share(more) - overlap.share(present) >= 0.1:
            evidence.append(unit)
            present = more
    return tuple(evidence)


def support(claim: str, passage_index: PassageIndex, rarity: Rarity) -> TextFigures:
    """Figures for: do the passages support the claim?"""
    query = query_of(claim, rarity)
    overlap = Overlap(query, passage_index)
    listed = overlap.best(SUPPORT_LIST)
    evidence = _evidence(overlap, listed, 2)
    best = listed[int(np.argmax(overlap.scores[listed]))] if listed else -1
    together = overlap.window(listed)
    near = overlap.near(best, 2) if listed else together
    numbers_all, numbers_missing = _share_of_kind(overlap, NUMBER, overlap.present)
    numbers_near, _ = _share_of_kind(overlap, NUMBER, near)
    names_all, names_missing = _share_of_kind(overlap, NAME, overlap.present)
    names_near, _ = _share_of_kind(overlap, NAME, near)
    missing = query.weights[~overlap.present]
    negated_near = (
        bool(passage_index.negated[list(evidence or listed[:1])].any()) if listed else False
    )
    order = query.order
    shared = _is_among(passage_index.keys, order)
    bigrams = _ngrams(order, passage_index, 2, shared)
    # Where no two words stand together, no three do.
    trigrams = _ngrams(order, passage_index, 3, shared) if bigrams else 0.0
    figures = {
        "coverage": overlap.share(overlap.present),
        "coverage_near": overlap.share(near),
        "coverage_listed": overlap.share(together),
        "coverage_best": float(overlap.scores.max()) if len(overlap.scores) else 0.0,
        "missing_words": float(len(missing)),
        "rarest_missing": float(missing.max()) if len(missing) else 0.0,
        "bigrams": bigrams,
        "trigrams": trigrams,
        "fivegrams": _ngrams(order, passage_index, 5, shared) if trigrams else 0.0,
        "numbers_found": numbers_all,
        "numbers_near": numbers_near,
        "numbers_missing": numbers_missing,
        "names_found": names_all,
        "names_near": names_near,
        "names_missing": names_missing,
        "negation_mismatch": float(query.negated != negated_near),
        "claim_negated": float(query.negated),
        "claim_words": math.log1p(len(order)),
        "units": math.log1p(len(passage_index.places)),
        "has_number": float(bool((query.kinds & NUMBER).any())),
        "has_name": float(bool((query.kinds & NAME).any())),
    }
    return TextFigures(figures, evidence, tuple(listed))


# What a question asks for, recognized by its words: (figure, opening or contained words).
_ASKS = {
    "who": ("who", "whom", "whose"),
    "when": ("when", "year", "date", "century", "month"),
    "where": ("where", "country", "city", "state", "located"),
    "many": (
        "many",
        "much",
        "old",
        "long",
        "tall",
        "far",
        "age",
        "number",
        "population",
        "percentage",
    ),
    "why": ("why", "how", "explain", "reason", "purpose", "difference"),
}
_YES_NO_TEXT = """
is are was were do does did can could has have had will would should am may might isn't aren't don't
doesn't
"""
_YES_NO = frozenset(_YES_NO_TEXT.split())
_YES = frozenset(["yes", "no", "yeah", "nope", "correct", "incorrect", "true", "false", "indeed"])
_QUESTION_WORDS = frozenset(
    t.key for t in named_tokens("year date name number many much old long tall kind type")
)


def _asks(question: str) -> dict[str, float]:
    words = question.lower().replace("?", " ").split()[:64]
    distinct = set(words)
    figures: dict[str, float] = {}
    for name, cues in _ASKS.items():
        figures[f"asks_{name}"] = float(bool(distinct.intersection(cues)))
    figures["asks_yes_no"] = float(bool(words) and words[0] in _YES_NO)
    return figures


def _offers(text: str) -> dict[str, float]:
    """Figures for the kinds of answer that a text could hold."""
    tokens = named_tokens(text[:2000])
    words = [word.strip(".,;()") for word in text[:2000].lower().split()]
    has_name = any(token.kind & NAME for token in tokens)
    # A short answer may be nothing but a name, of which only the capital tells.
    if len(tokens) <= 6 and text[:1].isupper():
        has_name = True
    return {
        "has_number": float(any(token.kind & NUMBER for token in tokens)),
        "has_year": float(any(word.isdigit() and len(word) == 4 for word in words)),
        "has_name": float(has_name),
    }


def relevance(question: str, passage_index: PassageIndex, rarity: Rarity) -> TextFigures:
    """Figures for: does the passage help to answer the question?"""
    query = query_of(question, rarity, _QUESTION_WORDS)
    overlap = Overlap(query, passage_index)
    listed = overlap.best(RELEVANCE_LIST)
    evidence = _evidence(overlap, listed, 2)
    near = overlap.window(listed)
    names, names_missing = _share_of_kind(overlap, NAME, overlap.present)
    missing = query.weights[~overlap.present]
    head = overlap.window([0]) if len(passage_index.places) else near
    asked = _asks(question)
    offered = _offers(" ".join(passage_index.text(unit) for unit in listed))
    figures = {
        "coverage": overlap.share(overlap.present),
        "coverage_near": overlap.share(near),
        "coverage_best": float(overlap.scores.max()) if len(overlap.scores) else 0.0,
        "coverage_head": overlap.share(head),
        "rarest_missing": float(missing.max()) if len(missing) else 0.0,
        "rarest_found": float(query.weights[overlap.present].max())
        if overlap.present.any()
        else 0.0,
        "missing_words": float(len(missing)),
        "bigrams": _ngrams(
            query.order, passage_index, 2, _is_among(passage_index.keys, query.order)
        ),
        "names_found": names,
        "names_missing": names_missing,
        "question_words": math.log1p(len(query.order)),
        "units": math.log1p(len(passage_index.places)),
        "number_wanted": max(asked["asks_many"], asked["asks_when"])
        * (1.0 - offered["has_number"]),
        **asked,
    }
    return TextFigures(figures, evidence, tuple(listed))


def answer(question: str, passage_index: PassageIndex, rarity: Rarity) -> TextFigures:
    """Figures for: does the answer answer the question? (relevant and of the kind asked for, not:
    correct)
    """
    query = query_of(question, rarity, _QUESTION_WORDS)
    overlap = Overlap(query, passage_index)
    # The first sentence is always among them, whatever words it shares with the question.
    opening = range(min(ANSWER_LIST - 1, len(passage_index.places)))
    listed = sorted({*opening, *overlap.best(ANSWER_LIST)})[:ANSWER_LIST]
    evidence = _evidence(overlap, listed, 1)
    asked = _asks(question)
    response = passage_index.passages[0] if passage_index.passages else ""
    offered = _offers(response)
    words = response.lower().replace(",", " ").replace(".", " ").split()[:64]
    yes = float(bool(words) and words[0] in _YES)
    # The keys hold a 0 for each unit, which is no word.
    word_count = len(passage_index.keys) - len(passage_index.places)
    own_words = word_count - int(np.count_nonzero(_is_among(passage_index.keys, query.keys)))
    figures = {
        "coverage": overlap.share(overlap.present),
        "coverage_best": float(overlap.scores.max()) if len(overlap.scores) else 0.0,
        "bigrams": _ngrams(
            query.order, passage_index, 2, _is_among(passage_index.keys, query.order)
        ),
        "response_words": math.log1p(len(words)),
        "own_words": math.log1p(max(own_words, 0)),
        "question_words": math.log1p(len(query.order)),
        "yes": yes,
        "yes_fits": asked["asks_yes_no"] * yes,
        "number_fits": max(asked["asks_many"], asked["asks_when"]) * offered["has_number"],
        "year_fits": asked["asks_when"] * offered["has_year"],
        "name_fits": max(asked["asks_who"], asked["asks_where"]) * offered["has_name"],
        **offered,
        **asked,
    }
    return TextFigures(figures, evidence, tuple(listed))


TASKS: dict[str, Callable[[str, PassageIndex, Rarity], TextFigures]] = {
    "support": support,
    "relevance": relevance,
    "answer": answer,
}
