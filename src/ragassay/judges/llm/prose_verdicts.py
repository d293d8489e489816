"""What a reply says of its verdicts outside of them: a correction in prose, a list of other
ratings, the rest of an entry whose string ended too early.

None of it is read as a verdict. It only takes away the verdicts that it disagrees with.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from ragassay.judges.llm.copied_fields import field_names
from ragassay.judges.llm.entries import Verdict
from ragassay.judges.rubric import Rubric

_MOST_MENTIONS = 400
_MOST_CHARS = 300
_WORD = r"\b(?:rating|rated|rate|score|verdict|grade)s?\b"
_CORRECTION = re.compile(
    r"\b(?:correct(?:ion|ed|ing)|on\s++reflection|revis(?:ed|ion)|final|instead|should|must)\b",
    re.I,
)
# Numbers of other things.
_OF_ANOTHER_THING = re.compile(r"\b(?:passage|context|chunk|source|scale|from|between)\b", re.I)


def says_anything(around: Sequence[str]) -> bool:
    """Whether anything but blanks and a code fence stands around the values of an answer."""
    return any(piece.strip("` \t\r\njson") for piece in around)


class ProseVerdicts:
    """Finds what the text outside of the values of an answer says of ratings. around: the pieces of
    that text in order; the pieces from `behind` on stand behind a value.
    """

    def __init__(self, rubric: Rubric, around: Sequence[str]) -> None:
        self._around = around
        self._behind = around[1:]
        self._names = field_names(rubric)
        ratings = rubric.scale.ratings if rubric.scale is not None else ()
        spelt = "|".join(sorted((re.escape(str(rating)) for rating in ratings), reverse=True))
        self._rating = re.compile(
            rf"(?P<between>[^0-9]{{0,60}}?)(?<![\w.])(?P<rating>{spelt})(?!\w|\.\d)", re.I
        )
        self._has_ratings = bool(ratings)

    def has_rest_of_an_entry(self) -> bool:
        """Whether a field and the end of an object or list stand behind a value, as they do where a
        string has ended too early.
        """
        names = "|".join(map(re.escape, sorted(self._names)))
        field = re.compile(rf"""["'](?:{names})["']\s*+:""", re.I)
        for piece in self._behind:
            is_rest = piece.count("}") > piece.count("{") or piece.count("]") > piece.count("[")
            if is_rest and field.search(piece) is not None:
                return True
        return False

    def disagreeing(self, verdicts: Mapping[str, Verdict]) -> set[str]:
        """The ids of the verdicts that the prose disagrees with."""
        if not self._has_ratings or not verdicts:
            return set()
        wrong: set[str] = set()
        mentions = 0
        for piece in self._around:
            for name, window, direct in _mentions(piece, verdicts):
                mentions += 1
                if mentions > _MOST_MENTIONS:
                    return set(verdicts)
                if self._says_another(window, direct, verdicts[name]):
                    wrong.add(name)
        return wrong | self._corrected(verdicts)

    def _says_another(self, window: str, direct: str, verdict: Verdict) -> bool:
        stated = self._direct(direct)
        if stated is None:
            stated = next(self._stated(window), None)
        return stated is not None and stated != str(verdict.rating).casefold()

    def _corrected(self, verdicts: Mapping[str, Verdict]) -> set[str]:
        """The verdicts that a correction behind them may be about, where it names no item."""
        for piece in self._behind:
            text = piece[:10_000]
            if _CORRECTION.search(text) is None or any(name in text for name in verdicts):
                continue
            stated = set(self._stated(text))
            if stated and any(
                str(each.rating).casefold() not in stated for each in verdicts.values()
            ):
                return set(verdicts)
        return set()

    def _direct(self, text: str) -> str | None:
        """The rating that follows an id at once: `id: 2`, `id | 2`, `id is 2`."""
        match = re.match(r"[\s\"'`*)\]]*+(?:[:=|>,\-–—→]|is\b|was\b)[\s\"'`*:=|>\-]*+", text)
        if match is None:
            return None
        found = self._rating.match(text, match.end())
        return found["rating"].casefold() if found is not None and not found["between"] else None

    def _stated(self, text: str) -> Iterator[str]:
        """The ratings that follow a word for a rating."""
        for word in re.finditer(_WORD, text, re.I):
            found = self._rating.match(text, word.end())
            if found is not None and _OF_ANOTHER_THING.search(found["between"]) is None:
                yield found["rating"].casefold()


def _mentions(text: str, ids: Collection[str]) -> Iterator[tuple[str, str, str]]:
    """Each id in a text, the words around it without ids, and what stands behind it."""
    if not text or not any(name in text for name in ids):
        return
    any_id = re.compile("|".join(map(re.escape, sorted(ids, key=len, reverse=True))))
    found = list(any_id.finditer(text))
    for at, match in enumerate(found):
        start = max(found[at - 1].end() if at else 0, match.start() - _MOST_CHARS)
        stop = found[at + 1].start() if at + 1 < len(found) else len(text)
        before = text[start : match.start()].rpartition("\n")[2]
        behind = text[match.end() : min(stop, match.end() + _MOST_CHARS)]
        yield match[0], f"{before} {behind}", behind
