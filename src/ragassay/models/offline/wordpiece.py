"""How a text becomes token ids: BERT's uncased WordPiece, in plain Python with a cache of words.

The `tokenizers` library gives the same ids (tests compare them); it is not a dependency because it
brings a hub client with it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache

PAD, UNKNOWN, START, END = "[PAD]", "[UNK]", "[CLS]", "[SEP]"
_LONGEST_WORD = 100
_CACHE_WORDS = 50_000
_CACHED_TEXTS, _LONGEST_CACHED = 2048, 512
# One token before word pieces: a run of word characters, or one character that stands alone.
_PLAIN = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]")
_CJK = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


def _alone(c: str) -> bool:
    """Whether the character is a token of its own: punctuation, ASCII symbols."""
    return (
        "!" <= c <= "/"
        or ":" <= c <= "@"
        or "[" <= c <= "`"
        or "{" <= c <= "~"
        or unicodedata.category(c)[0] == "P"
    )


def _is_cjk(c: str) -> bool:
    point = ord(c)
    return point >= 0x3400 and any(low <= point <= high for low, high in _CJK)


def _clean(c: str) -> str:
    """Control characters vanish, white space of any kind becomes a space, CJK characters get spaces
    around.
    """
    if c in "\t\n\r" or (c.isspace() and unicodedata.category(c)[0] != "C"):
        return " "
    if c in "\0\ufffd" or unicodedata.category(c) in ("Cc", "Cf", "Co"):
        return ""
    return f" {c} " if _is_cjk(c) else c


def _unmarked(c: str) -> str:
    """A character without its accents. One by one: Python brings a long run of accents into order
    in quadratic time.
    """
    apart = unicodedata.normalize("NFD", c)
    return "".join(c for c in apart if unicodedata.category(c) != "Mn")


class _Table(dict[int, str]):
    """What a function makes of each character, for str.translate; made once."""

    def __init__(self, make: Callable[[str], str]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, point: int) -> str:
        self[point] = self._make(chr(point))
        return self[point]


_CLEANED, _UNMARKED = _Table(_clean), _Table(_unmarked)


def _bare(text: str) -> str:
    """Without accents, then in lower case, as in the reference: a capital with an accent may
    lower-case to two marks.
    """
    return text.translate(_UNMARKED).lower()


def _flat(text: str) -> tuple[str, Sequence[int]]:
    """The text as it is split into words, and which character of it each one comes from."""
    if text.isascii() and text.isprintable():
        return text.lower(), range(len(text))
    characters, origin = list[str](), list[int]()
    for at, c in enumerate(text):
        plain = _bare(_CLEANED[ord(c)])
        characters.append(plain)
        origin += [at] * len(plain)
    # Only the case of a few letters depends on their neighbours, and no length does.
    return "".join(characters), origin


class WordPiece:
    """Uncased WordPiece over a vocabulary (line number = id).

    Raises KeyError when the vocabulary lacks one of [UNK], [CLS], [SEP].
    """

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._ids = {word: at for at, word in enumerate(vocabulary) if word}
        self._unknown, self.start, self.end = (self._ids[name] for name in (UNKNOWN, START, END))
        self._words: dict[str, tuple[int, ...]] = {}
        # The sentences of a row's passages are read again for every claim.
        self._read_cached = lru_cache(maxsize=_CACHED_TEXTS)(self._read)

    def encode(self, text: str, limit: int) -> list[int]:
        """[CLS] ids [SEP], at most `limit` ids. Unpaired surrogates count as nothing."""
        return [self.start, *self.ids(text, limit - 2), self.end]

    def ids(self, text: str, limit: int) -> tuple[int, ...]:
        """The first `limit` ids of a text, without marks."""
        if len(text) <= _LONGEST_CACHED:
            return self._read_cached(text, limit)
        return self._read(text, limit)

    def _read(self, text: str, limit: int) -> tuple[int, ...]:
        ids: list[int] = []
        for word in self.split(text):
            ids += self.pieces(word)
            if len(ids) >= limit:
                break
        return tuple(ids[:limit])

    def split(self, text: str) -> list[str]:
        """Lower-cased words and single punctuation marks."""
        if text.isascii() and text.isprintable():
            return _PLAIN.findall(text.lower())
        words: list[str] = []
        for chunk in _bare(text.translate(_CLEANED)).split():
            if chunk.isalnum():  # none of its characters stands alone
                words.append(chunk)
                continue
            at = 0
            for i, c in enumerate(chunk):
                if _alone(c):
                    if at < i:
                        words.append(chunk[at:i])
                    words.append(c)
                    at = i + 1
            if at < len(chunk):
                words.append(chunk[at:])
        return words

    def places(self, text: str, limit: int) -> list[tuple[int, int]]:
        """For each of `ids(text, limit)`: start and end of its word in the text as it was given."""
        flat, origin = _flat(text)
        at = 0
        places: list[tuple[int, int]] = []
        for word in self.split(text):
            while at < len(flat) and flat[at].isspace():
                at += 1
            end = min(at + len(word), len(origin))
            if at < end:
                places += [(origin[at], origin[end - 1] + 1)] * len(self.pieces(word))
            at = end
            if len(places) >= limit:
                break
        return places[:limit]

    def pieces(self, word: str) -> tuple[int, ...]:
        """Ids of one word: the longest known pieces from the left, or [UNK] when they do not cover
        it.
        """
        ids = self._words.get(word)
        if ids is None:
            ids = self._cut(word)
            if len(word) > _LONGEST_WORD:
                return ids
            if len(self._words) >= _CACHE_WORDS:
                self._words.clear()
            self._words[word] = ids
        return ids

    def _cut(self, word: str) -> tuple[int, ...]:
        if len(word) > _LONGEST_WORD:
            return (self._unknown,)
        ids: list[int] = []
        start, end = 0, len(word)
        while start < end:
            for stop in range(end, start, -1):
                piece = word[start:stop] if start == 0 else "##" + word[start:stop]
                if piece in self._ids:
                    ids.append(self._ids[piece])
                    start = stop
                    break
            else:
                return (self._unknown,)
        return tuple(ids)
