"""What a text says on its surface: sentences with exact offsets, words, numbers, names and
negations, as arrays.

Everything here takes time and memory linear in the length of the text. A word is kept as a 32-bit
number (CRC of its stem), so that a long context costs a few bytes a word.
"""

from __future__ import annotations

import re
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragassay.core.boundaries import boundaries
from ragassay.models.offline.cache import SizedCache

Words = NDArray[np.uint32]

# A "sentence" of more characters is cut into windows at white space: lists, tables and scripts
# without full stops would otherwise be one unit that matches everything.
LONGEST_UNIT = 320
# The splitter sees the text in pieces of about this size, so that a text without any boundary costs
# linear time too.
_PIECE = 20_000
# Passages of more characters than this in all are read by one thread at a time.
_LONG = 200_000

_TOKEN = re.compile(
    # scripts written without spaces: one sign, one word
    r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]"
    r"|\d+(?:[.,:/]\d+)*"
    r"|[^\W\d_]+(?:['’][^\W\d_]+)?"
)
_NUMBER_WORDS = {
    "one": "1",
    "two": "2",
    "three": "3",
    "four": "4",
    "five": "5",
    "six": "6",
    "seven": "7",
    "eight": "8",
    "nine": "9",
    "ten": "10",
    "eleven": "11",
    "twelve": "12",
    "thirteen": "13",
    "fourteen": "14",
    "fifteen": "15",
    "sixteen": "16",
    "seventeen": "17",
    "eighteen": "18",
    "nineteen": "19",
    "twenty": "20",
    "thirty": "30",
    "forty": "40",
    "fifty": "50",
    "sixty": "60",
    "seventy": "70",
    "eighty": "80",
    "ninety": "90",
    "first": "1",
    "second": "2",
    "third": "3",
}
_NEGATIONS_TEXT = """
not no never none nobody nothing neither nor cannot without hardly barely unable fail failed fails
lack lacks lacked deny denied denies refuse refused false untrue unlikely instead except
"""
_NEGATIONS = frozenset(_NEGATIONS_TEXT.split())
_STOP_TEXT = """
a an the this that these those there here it its he him his she her hers they them their theirs we
us our ours i me my mine you your yours who whom whose which what when where why how is am are was
were be been being do does did done doing have has had having will would shall should can could may
might must of in on at by for with from to into onto about as than then so such and or but if
because while although though also too very just only own same both each few more most other some
any all not no nor never up down out off over under again further once s t d ll m re ve yes yeah oh
well really
"""
STOP_WORDS = frozenset(_STOP_TEXT.split())
NAME, NUMBER, NEGATION, CONTENT = 1, 2, 4, 8


class Token(NamedTuple):
    """One word: its number (CRC of the stem) and what it is (bits NUMBER, NEGATION, CONTENT)."""

    key: int
    kind: int


def stem(word: str) -> str:
    """A lower-cased word without its commonest English endings: rough on purpose, both sides are
    cut alike.
    """
    word = word.replace("’", "'")
    if word.endswith("'s"):
        word = word[:-2]
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    for ending in ("ing", "ed", "es", "ly", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word[:-1] if len(word) > 4 and word[-1] == "e" else word


@lru_cache(maxsize=50_000)
def _token(lower: str) -> Token:
    if lower[0].isdigit():
        number = lower.replace(",", "").rstrip(".")
        return Token(zlib.crc32(number.encode("utf-8", "replace")), NUMBER | CONTENT)
    if lower in _NUMBER_WORDS:
        kind = NUMBER | CONTENT if lower not in ("one", "first", "second", "third") else CONTENT
        return Token(zlib.crc32(_NUMBER_WORDS[lower].encode()), kind)
    negation = NEGATION if lower in _NEGATIONS or lower.endswith(("n't", "n’t")) else 0
    content = 0 if lower in STOP_WORDS or lower.endswith(("n't", "n’t")) else CONTENT
    return Token(zlib.crc32(stem(lower).encode("utf-8", "replace")), negation | content)


def has_words(text: str) -> bool:
    """Whether there is a word or a number in the text."""
    return _TOKEN.search(text) is not None


def tokens(text: str) -> list[Token]:
    """The words of a text in order."""
    return [_token(word[:64].lower()) for word in _TOKEN.findall(text)]


# Between two words of which the second opens a sentence.
_ENDS = frozenset(".!?\n:")


@lru_cache(maxsize=64)
def named_tokens(text: str) -> tuple[Token, ...]:
    """As `tokens`, with the bit NAME on words with a capital that do not open a sentence, or with
    two capitals.
    """
    named: list[Token] = []
    opens = True
    last = 0
    for match in _TOKEN.finditer(text):
        word = match.group()[:64]
        opens = opens or not _ENDS.isdisjoint(text[last : match.start()])
        token = _token(word.lower())
        capital = word[0].isupper() and (not opens or (len(word) > 1 and word[1].isupper()))
        if capital and token.kind & CONTENT:
            token = Token(token.key, token.kind | NAME)
        named.append(token)
        opens, last = False, match.end()
    return tuple(named)


def units(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of the sentences of a text, in order, without surrounding white space; none is
    empty.

    Sentences of more than LONGEST_UNIT characters are cut at white space, or anywhere when there is
    none.
    """
    at = 0
    while at < len(text):
        stop = at + _PIECE
        if stop < len(text):
            # A piece ends after a line or a sentence where one ends in its second half.
            for mark in ("\n", ". ", " "):
                cut = text.rfind(mark, at + _PIECE // 2, stop)
                if cut >= 0:
                    stop = cut + len(mark)
                    break
        for start, end in boundaries(text[at:stop]):
            yield from _windows(text, at + start, at + end)
        at = stop


def _windows(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    while end - start > LONGEST_UNIT:
        low = start + LONGEST_UNIT // 2
        cut = max(text.rfind(mark, low, start + LONGEST_UNIT) for mark in "\n ;,|\t")
        stop = cut + 1 if cut >= 0 else start + LONGEST_UNIT
        tail = stop
        while tail > start and text[tail - 1].isspace():
            tail -= 1
        if tail > start:
            yield start, tail
        start = stop
        while start < end and text[start].isspace():
            start += 1
    if start < end:
        yield start, end


@dataclass(frozen=True, slots=True)
class PassageIndex:
    """The passages of a call, read once: a word's number, its unit, and every unit's place.

    keys [words]: CRC numbers; a 0 stands between units. unit_of [words]: index of the unit. places
    [units, 3]: passage, start, end. negated [units]: whether the unit holds a negation. size:
    characters read.
    """

    passages: tuple[str, ...]
    keys: Words
    unit_of: NDArray[np.int32]
    places: NDArray[np.int32]
    negated: NDArray[np.bool_]
    size: int

    def text(self, unit: int) -> str:
        """The unit's text, verbatim."""
        place: list[int] = self.places[unit].tolist()
        passage, start, end = place
        return self.passages[passage][start:end]


_NEGATED = 1 << 32
_MOST_CODES = 50_000


class _Codes(dict[str, int]):
    """Word as written -> the number of its stem, with _NEGATED on top where it negates: looking it
    up is all that most words of a long text cost.
    """

    def __missing__(self, word: str) -> int:
        token = _token(word[:64].lower())
        code = token.key | (_NEGATED if token.kind & NEGATION else 0)
        if len(self) < _MOST_CODES and len(word) <= 64:
            self[word] = code
        return code


_CODES = _Codes()


def read(passages: Sequence[str]) -> PassageIndex:
    """The index of passages: their units and words as numbers."""
    parts: list[NDArray[np.uint64]] = []
    lengths: list[int] = []
    places: list[tuple[int, int, int]] = []
    for index, passage in enumerate(passages):
        codes: list[int] = []
        for start, end in units(passage):
            words = _TOKEN.findall(passage, start, end)
            codes += map(_CODES.__getitem__, words)
            codes.append(0)
            lengths.append(len(words) + 1)
            places.append((index, start, end))
            if len(codes) > _PIECE:  # numbers of Python take four times the room
                parts.append(np.array(codes, np.uint64))
                codes = []
        parts.append(np.array(codes, np.uint64))
    joined = np.concatenate(parts) if parts else np.zeros(0, np.uint64)
    starts = np.cumsum([0, *lengths[:-1]]) if lengths else np.zeros(0, np.int64)
    return PassageIndex(
        passages=tuple(passages),
        keys=joined.astype(np.uint32),  # the lower half
        unit_of=np.repeat(np.arange(len(places), dtype=np.int32), lengths),
        places=np.array(places, np.int32).reshape(-1, 3),
        negated=(
            np.bitwise_or.reduceat(joined, starts) >= _NEGATED if lengths else np.zeros(0, np.bool_)
        ),
        size=sum(map(len, passages)),
    )


def join(passage_indexes: Sequence[PassageIndex]) -> PassageIndex:
    """The index of several passages out of the index of each, as if they were read together."""
    before = np.cumsum([0, *(len(passage_index.places) for passage_index in passage_indexes[:-1])])
    shifts = [np.array([index, 0, 0], np.int32) for index in range(len(passage_indexes))]
    return PassageIndex(
        passages=tuple(passage_index.passages[0] for passage_index in passage_indexes),
        keys=np.concatenate([passage_index.keys for passage_index in passage_indexes]),
        unit_of=np.concatenate(
            [s.unit_of + np.int32(n) for s, n in zip(passage_indexes, before, strict=True)]
        ),
        places=np.concatenate(
            [s.places + shift for s, shift in zip(passage_indexes, shifts, strict=True)]
        ),
        negated=np.concatenate([passage_index.negated for passage_index in passage_indexes]),
        size=sum(passage_index.size for passage_index in passage_indexes),
    )


class PassageIndexes:
    """A cache of the indexes used last, at most `characters` of text in all (the newest always
    stays). Safe across threads.
    """

    def __init__(
        self, characters: int = 8_000_000, reader: Callable[[Sequence[str]], PassageIndex] = read
    ) -> None:
        self._reader = reader
        self._stored = SizedCache[tuple[str, ...], PassageIndex](characters)
        self._long = threading.Lock()

    def read(self, passages: tuple[str, ...]) -> PassageIndex:
        """The index of these passages, stored or read now."""
        passage_index = self._stored.get(passages)
        if passage_index is None and sum(map(len, passages)) > _LONG:
            # One at a time: the claims of a row with a 10 MB context must not each read it, side by
            # side.
            with self._long:
                passage_index = self._stored.get(passages) or self._read_and_store(passages)
        return passage_index or self._read_and_store(passages)

    def _read_and_store(self, passages: tuple[str, ...]) -> PassageIndex:
        if 1 < len(passages) <= 64 and sum(map(len, passages)) <= _LONG:
            # The chunks of a row are each judged alone and then all together: they are read once.
            passage_index = join([self.read((passage,)) for passage in passages])
        else:
            passage_index = self._reader(passages)
        self._stored.put(passages, passage_index, passage_index.size)
        return passage_index
