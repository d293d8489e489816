"""Whether a text is one that the offline model can read: English, in words.

Most words of an English text are whole words of the model's vocabulary; of a text in another
language hardly one in five is. Names and numbers say nothing, so that only words in small letters
count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from ragassay.models.offline.reading import STOP_WORDS

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_OTHER_SCRIPT = re.compile(r"[^\W\d_A-Za-z\u00aa-\u024f\u1e00-\u1eff]")
_READ = 20_000  # characters of a text
_LEAST_WORDS = 3
_LEAST_LETTERS = 4  # shorter words of the vocabulary are pieces, and words of other languages
_SHARE = 0.4
"""Of the words of an English text at least so many are known."""

_FEW_WORDS, _SHARE_OF_FEW = 8, 0.2
"""Of fewer words than these a line of terms may hold few others: "kinase inhibits its ligase"."""


class LanguageCheck:
    """Tells English texts from others. vocabulary: of the model, whole words and pieces."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        whole = {word for word in vocabulary if len(word) >= _LEAST_LETTERS and word.isalpha()}
        self._known = frozenset(whole) | STOP_WORDS

    @classmethod
    def of_file(cls, path: Path) -> LanguageCheck:
        """The check by a vocabulary file, read once for this process. Raises OSError."""
        return _of_file(path)

    def is_foreign(self, text: str) -> bool:
        """Whether a text is written in another language than English. Too few words say nothing."""
        text = text[:_READ]
        words = _WORD.findall(text)
        if not text.isascii():
            in_other_script = len(_OTHER_SCRIPT.findall(text))
            if 2 * in_other_script > sum(map(len, words)):
                return in_other_script > 1
        small = [word for word in words if len(word) > 1 and word.islower()]
        known = sum(map(self._is_known, small))
        if len(small) < _LEAST_WORDS:
            # Two words say enough where none is known and one has a letter that English has not.
            return len(small) == 2 and not known and not "".join(small).isascii()
        share = _SHARE if len(small) >= _FEW_WORDS else _SHARE_OF_FEW
        return known < share * len(small)

    def any_foreign(self, texts: Iterable[str]) -> bool:
        """Whether one of the texts is."""
        return any(map(self.is_foreign, texts))

    def _is_known(self, word: str) -> bool:
        return word.replace("\u2019", "'").removesuffix("'s") in self._known


@lru_cache(maxsize=1)
def _of_file(path: Path) -> LanguageCheck:
    return LanguageCheck(path.read_text(encoding="utf-8").split("\n"))
