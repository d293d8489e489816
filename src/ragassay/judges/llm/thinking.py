"""The answer in a reply of a model that thinks aloud: what stands behind and between its thoughts.

A verdict inside the thoughts is a draft and counts for nothing, and thoughts without an end hold no
answer. A mark of thinking inside a JSON string is text: judged data may hold any of them, and a
judge that quotes such data has not begun to think. So is one that a sentence speaks of.
"""

from __future__ import annotations

import re

from ragassay.judges.llm.top_values import VALUE_START, TopValues

_TAG = r"""
    <(?:
      /?+(?:think|thinking|thoughts?|reasoning|seed:think)\s*+>
    | \|(?:begin|end)_of_thought\|>
    | \|(?:start|end)_thinking\|>
    # The channels of gpt-oss: a final one is the answer, and so is a call of a tool.
    | (?:\|start\|>assistant<)?+\|channel\|>\s*+
      (?P<answers>final|commentary\s++to=)?+[^<{\[]{0,120}+(?:<\|constrain\|>\s*+\w*+\s*+)?(?:<\|message\|>)?
    )
"""
_FLAGS = re.IGNORECASE | re.VERBOSE
# One first character makes a search as fast as a search for that: nearly all texts lack the others.
_TAGS = re.compile(_TAG, _FLAGS)
_ALL_MARKS = re.compile(rf"{_TAG} | \[/?+think\] | ◁/?+think▷ | assistantfinal", _FLAGS)
# The channels of gpt-oss where a server has dropped the special tokens.
_WITHOUT_TOKENS = "assistantfinal"
_ANALYSIS = re.compile(r"\s*+analysis", re.IGNORECASE)
_EDGE = re.compile(r"/|begin_of_|end_of_|start_|end_")
# Marks, and values with marks in them, of which an honest reply has a few: a hostile one is left
# unread.
_MOST_STEPS = 500
# What may stand before an answer that has begun.
_BEFORE_AN_ANSWER = re.compile(r"\s*+(?:```\w*+\s*+)?")
# A sentence that speaks of a mark: words of its line before it, and behind it a mark of punctuation
# or a word for what it is.
_WORDS_BEFORE = re.compile(r"[^\W\d_]{2,}[ \t]++[\"'`“‘«(]?$|[^\W\d_][ \t]*+[\"'`“‘«(]$")
_SPEAKS_OF_IT = re.compile(
    r"[\"'`”’»)]*+[,;:!?)]|[\"'`”’»)]*+\.(?:\s|$)"
    r"|[\"'`”’»)]*+[ \t]++(?:tags?|tokens?|marks?|markers?|elements?|blocks?)\b",
    re.IGNORECASE,
)
_JUST_BEFORE = frozenset(" \t\"'`“‘«(")
_MOST_BEFORE = 20


def _has_rare_marks(text: str) -> bool:
    if "THINK]" in text or "◁" in text:
        return True
    return text[:1] != "{" and _ANALYSIS.match(text) is not None


class _Marks:
    """The marks of thinking in one text, but for those inside JSON values: there they are text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lacks_tokens = _ANALYSIS.match(text) is not None
        self._pattern = _ALL_MARKS if _has_rare_marks(text) else _TAGS
        self._values = TopValues(text)
        self.steps_left = _MOST_STEPS

    def first(self, at: int) -> re.Match[str] | None:
        """The first mark from there on; None also where no step is left."""
        mark = self._next(at)
        while mark is not None:
            self.steps_left -= 1
            if self.steps_left <= 0:
                return None
            value = self._values.first(at, mark.start())
            if value is None:
                if not self._is_spoken_of(mark):
                    return mark
                at = mark.end()
                mark = self._next(at)
                continue
            at = value.end
            if mark.start() < at:
                mark = self._next(at)
        return None

    def _is_spoken_of(self, mark: re.Match[str]) -> bool:
        before = self._text[max(0, mark.start() - _MOST_BEFORE) : mark.start()]
        return (
            before[-1:] in _JUST_BEFORE
            and _WORDS_BEFORE.search(before.rpartition("\n")[2]) is not None
            and _SPEAKS_OF_IT.match(self._text, mark.end()) is not None
        )

    def closing(self, opening: re.Match[str]) -> re.Match[str] | None:
        """The first mark behind an opening one that ends its thoughts."""
        name = _name(opening)
        mark = self.first(opening.end())
        while mark is not None and not (_is_close(mark) and _name(mark) == name):
            mark = self.first(mark.end())
        return mark

    def _next(self, at: int) -> re.Match[str] | None:
        for mark in self._pattern.finditer(self._text, at):
            if self._lacks_tokens or mark[0].casefold() != _WITHOUT_TOKENS:
                return mark
        return None


def answer_of(text: str, *, is_cut: bool = False) -> str:
    """The text without the thoughts in it; "" where it is nothing but thoughts.

    is_cut: the text was cut off, so that its last value may be without an end.
    """
    # Nearly all replies end here.
    if "<" not in text and not _has_rare_marks(text):
        return text
    marks = _Marks(text)
    pieces: list[str] = []
    start = 0
    mark = marks.first(0)
    while mark is not None:
        if _is_close(mark):
            # Whatever came before is thoughts: where they begin is not said, as in replies to
            # prompts that end with the opening mark.
            pieces = []
            start = mark.end()
        elif is_cut and _stands_in_an_answer(text, start, mark.start()):
            break
        else:
            pieces.append(text[start : mark.start()])
            close = marks.closing(mark)
            start = len(text) if close is None else close.end()
        mark = marks.first(start)
    if marks.steps_left <= 0:
        return ""
    pieces.append(text[start:])
    return "\n".join(pieces)


def has_answer(text: str) -> bool:
    """Whether a reply that was cut off had come to its answer."""
    return bool(answer_of(text, is_cut=True).strip())


def _stands_in_an_answer(text: str, start: int, at: int) -> bool:
    """Whether a value begins at once and has no end: what stands there may be in its string."""
    before = _BEFORE_AN_ANSWER.match(text, start)
    if before is None or VALUE_START.match(text, before.end(), at) is None:
        return False
    value = TopValues(text).first(before.end(), at)
    return value is not None and value.is_broken


def _is_close(mark: re.Match[str]) -> bool:
    if mark["answers"] is not None or mark[0].casefold() == _WITHOUT_TOKENS:
        return True
    return mark[0][1] == "/" or mark[0][:6].casefold() == "<|end_"


def _name(mark: re.Match[str]) -> str:
    word = mark[0].casefold()
    if "|channel|" in word:
        return "channel"
    return "".join(_EDGE.sub("", word).split())
