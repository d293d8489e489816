"""Signs that a text speaks to its judge: a cheap look, which decides nothing about the text.

A hit costs a call two planted claims more (see `controls`), so a false alarm is cheap and a
miss is not. Plain words in a fixed list and two short patterns, linear in the text's length; an
attack in words that are not listed, such as a hint that reads like any other sentence, is not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import filterfalse

# Casefolded; each is rare in ordinary passages and usual in texts that address a judge or a model.
_TO_A_JUDGE = (
    "the judge must",
    "the judge should",
    "judges must",
    "judges should",
    "judge has to",
    "the judge will",
    "dear judge",
    "to the judge",
    "you, the judge",
    "you are a judge",
    "you are the judge",
    "as the judge",
    "act as judge",
    "act as a judge",
    "grader must",
    "grader should",
    "to the grader",
    "dear grader",
    "evaluator must",
    "evaluator should",
    "to the evaluator",
    "dear evaluator",
    "evaluator:",
    "grader:",
    " judge: ",
    "llm judge",
    "automatic judge",
    "ignore rubric",
    "not the rubric",
    "the rubric is",
    "rubric has",
    "rubric was",
    "grading criteria are",
    "language model must",
    "language model should",
    "language model reading",
    "if you are an ai",
    "if you are a language",
    "any ai",
    "ai reading",
    "highest rating",
    "top rating",
    "maximum rating",
    "give the highest",
    "the maximum score",
    "full score",
    "full marks",
    "perfect score",
    "highest possible",
    "lowest rating",
    "lowest score",
    "best possible",
    " rate this",
    " rate it",
    " rate all",
    " rate every",
    " rate each",
    " rate the ",
    "rating of 3",
    "rating 3",
    "a 3 out of",
    "score this",
    "score of 10",
    "score it",
    "rating is",
    "rating must",
    "rating to ",
    "verdict is",
    "verdict must",
    "verdict: ",
    " rating: ",
    " score: ",
    "mark it as",
    "mark this",
    "mark every",
    "mark all",
    "fully supported",
    "is supported by the passages",
    "counts as supported",
    "pre-approved",
    "preapproved",
    "verified by the",
    "already verified",
    "already been judged",
    "already judged",
    "do not check",
    "skip the check",
    "give it the",
    "give the maximum",
    "assign the",
    "respond with",
    "reply with",
    "reply only",
    "output only",
    "answer only with",
    "copy the ",
    "json below",
    "following json",
    "this json",
)
_TO_A_MODEL = (
    "ignore the",
    "ignore all",
    "ignore any",
    "ignore every",
    "ignore previous",
    "ignore prior",
    "ignore your",
    "ignore what",
    "ignore these",
    "disregard",
    "forget the",
    "forget all",
    "forget your",
    "forget everything",
    "forget what",
    "override",
    "new instruction",
    "instructions above",
    "instructions before",
    "previous instruction",
    "prior instruction",
    "earlier instruction",
    "above instruction",
    "system prompt",
    "system message",
    "system note",
    "system override",
    "developer mode",
    "you are now",
    "you must now",
    "from now on you",
    " act as a ",
    "pretend to be",
    "pretend that",
    "end of data",
    "end of the data",
    "end of passage",
    "end of context",
    "end of claim",
    "end of text",
    "begin instructions",
    "important:",
    "attention:",
    "note to ",
    "instruction:",
    "instructions:",
    "assistant:",
    "system:",
    "user:",
    "human:",
    "thought process",
    "step by step",
    "jailbreak",
    "prompt injection",
)
# "ignore" beside "instructions" or "rubric", and "rate" beside "highest", in other languages; stems
# where words bend.
_ELSEWHERE = (
    "ignorier",
    "missachte",
    "vergiss",
    "anweisung",
    "höchste bewertung",
    "höchste note",
    "höchstnote",
    "bewertungsras",
    "ignorez",
    "ignore les",
    "ignorer les",
    "oubliez",
    "la note la plus",
    "note maximale",
    "les instructions",
    "barème",
    "ignora ",
    "ignore la",
    "ignore las",
    "olvida",
    "instrucciones",
    "puntuación más",
    "puntuación máx",
    "rúbrica",
    "ignori ",
    "ignorare",
    "istruzioni",
    "punteggio",
    "dimentica",
    "ignore as",
    "instruções",
    "pontuação",
    "nota máxima",
    "negeer",
    "instructies",
    "hoogste",
    "beoordel",
    "zignoruj",
    "instrukcj",
    "najwyższ",
    "игнорир",
    "инструкц",
    "наивысш",
    "высшую оценку",
    "оценк",
    "yok say",
    "talimat",
    "en yüksek puan",
    "görmezden",
    "忽略",
    "无视",
    "指令",
    "最高分",
    "评分",
    "满分",
    "無視",
    "指示",
    "最高評価",
    "評価基準",
    "採点",
    "무시",
    "지시",
    "최고 점수",
    "채점",
    "تجاهل",
    "التعليمات",
    "أعلى",
    "अनदेखा",
    "निर्देश",
    "सर्वोच्च",
)
_TOKENS = (
    "<|",
    "|>",
    "[inst]",
    "[/inst]",
    "<<sys",
    "</s>",
    "<s>",
    "<start_of_turn",
    "<end_of_turn",
    "### instruction",
    "### system",
    "### response",
    "### assistant",
    "### user",
    "<system",
    "</system",
    "<assistant",
    "<instruction",
    "<!--",
    "-->",
    "<think",
    "<answer",
    "[//]:",
    "[comment]",
    "%%",
    "```json",
    "<script",
    "<verdict",
    "<rating",
)
_FORMS = (
    "<<<",
    ">>>",
    "‹‹",
    "››",
    "«««",
    "＜＜",
    "＞＞",
    "<end",
    "end |",
    "| end",
    "with the id",
    "with id",
    "each tag:",
    "the id ",
    '"id"',
    "'id'",
    " id:",
    '\\"id',
    '"verdict',
    "'verdict",
    '"rating',
    "'rating",
    '"reasoning',
    "'reasoning",
    '"score',
    "'score",
    '"supported_by',
    '"nothing_found',
    '"abstention',
    '"declined',
    '"quotes',
    "supported_by",
    "nothing_found",
    '\\"rating',
    "rating=",
    '{"',
    "{'",
    '{ "',
)
# What is looked for in a single word: it is the string, begins with it, ends with it, or holds it.
_Sign = tuple[str, str]
_IS, _BEGINS, _ENDS, _HOLDS = "is", "begins", "ends", "holds"
_COMMON = frozenset(
    {"the", "with", "from", "what", "your", "this", "these", "must", "been", "only", "have"}
)


def _by_sign() -> dict[_Sign, tuple[str, ...]]:
    """Sign -> the marks that show it: where no word of a text shows the sign, the text holds none
    of them.

    Between two spaces a mark has a whole word, before its first one the end of a word, behind its
    last one a beginning.
    """
    marks_by_sign: dict[_Sign, tuple[str, ...]] = {}
    for mark in (*_TO_A_JUDGE, *_TO_A_MODEL, *_ELSEWHERE, *_TOKENS, *_FORMS):
        first, *rest = mark.split(" ")
        *inner, last = rest or [""]
        signs = [
            (_ENDS if rest else _HOLDS, first),
            *((_IS, word) for word in inner),
            (_BEGINS, last),
        ]
        usable = [sign for sign in signs if sign[1]]
        sign = max(usable, key=lambda sign: (sign[1] not in _COMMON, len(sign[1]), sign[0] == _IS))
        marks_by_sign[sign] = (*marks_by_sign.get(sign, ()), mark)
    return marks_by_sign


_SIGNS = _by_sign()
# Two signs in five hold a character that ordinary words do not: in words without one they need not
# be looked for.
_RARE = re.compile(r"[^a-z0-9 .,;:()$–-]")
_PLAIN_SIGNS = [sign for sign in _SIGNS if not _RARE.search(sign[1])]
_INVISIBLE = re.compile(
    "[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufff9-\ufffb\U000e0000-\U000e0fff\x00-\x08]"
)
_MAYBE_AN_ID = re.compile(r"\b[0-9a-f]{8,32}\b")
_CACHED_TEXTS, _LONGEST_CACHED = 512, 8_000
_ALWAYS = ("",)  # a mark that every text holds

# Most texts are made of words that were seen before. Words (what stands between spaces) that show
# no sign, and those that show some, with the marks to look for.
_CLEAN: set[str] = set()
_is_clean = _CLEAN.__contains__
_MARKED: dict[str, tuple[str, ...]] = {}
_MOST_WORDS, _MOST_CHARS, _MOST_NEW = 40_000, 40, 1_000
_PART, _MOST_WORDS_OF_A_MARK = 65_536, 12
_SPACE = re.compile(r"\s")


def suspicious(text: str) -> bool:
    """Whether something in the text looks meant for its judge. Linear time."""
    # The contexts of a row come back with every metric's calls.
    if len(text) <= _LONGEST_CACHED:
        return _look_cached(text)
    return _look(text)


def any_suspicious(texts: Iterable[str]) -> bool:
    """Whether one of the texts is suspicious."""
    return any(suspicious(text) for text in texts)


def _look(text: str) -> bool:
    before: list[str] = []
    for part in _parts(text):
        words = before + part.casefold().split()
        if _marked(words):
            return True
        # A mark of several words may stand across two parts.
        before = words[-_MOST_WORDS_OF_A_MARK:]
    return False


def _parts(text: str) -> Iterator[str]:
    """The text in pieces that end at a space: the words of a huge one never fill the memory."""
    at = 0
    while len(text) - at > _PART:
        gap = _SPACE.search(text, at + _PART)
        end = len(text) if gap is None else gap.end()
        yield text[at:end]
        at = end
    yield text[at:] if at else text


def _marked(words: list[str]) -> bool:
    rest = [*filterfalse(_is_clean, words)]
    if not rest:
        return False
    marks: set[str] = set()
    new: list[str] = []
    for word in set(rest):
        marks_of_word = _MARKED.get(word)
        if marks_of_word is None:
            new.append(word)
        else:
            marks.update(marks_of_word)
    if new:
        marks.update(_marks_of_new_words(new))
    if not marks:
        return False
    flat = f" {' '.join(words)} "
    return any(mark in flat for mark in marks)


def _marks_of_new_words(words: list[str]) -> set[str]:
    """The marks to look for because of these words, each of which is remembered with its marks for
    the next text.
    """
    together = " ".join(words)
    candidates = _SIGNS if _RARE.search(together) else _PLAIN_SIGNS
    signs = [sign for sign in candidates if sign[1] in together]
    is_odd = _looks_odd(together)
    all_marks = set(_ALWAYS if is_odd else ())
    for sign in signs:
        all_marks.update(_SIGNS[sign])
    # No text to learn words from; and the time stays linear, whatever the words are.
    if len(words) > _MOST_NEW:
        return all_marks
    if len(_CLEAN) + len(_MARKED) > _MOST_WORDS:
        _CLEAN.clear()
        _MARKED.clear()
    for word in words:
        if len(word) > _MOST_CHARS:
            continue
        marks: list[str] = []
        for sign in signs:
            if sign[1] in word and _shows(word, sign):
                marks += _SIGNS[sign]
        if is_odd and _looks_odd(word):
            marks = list(_ALWAYS)
        if marks:
            _MARKED[word] = tuple(marks)
        else:
            _CLEAN.add(word)
    return all_marks


def _looks_odd(text: str) -> bool:
    """Whether a text holds characters that nobody sees, or something like the id of an item."""
    if _INVISIBLE.search(text) is not None:
        return True
    return any(map(_like_an_id, _MAYBE_AN_ID.findall(text)))


def _shows(word: str, sign: _Sign) -> bool:
    """Whether a word that holds the sign's string shows the sign."""
    how, what = sign
    if how == _IS:
        return word == what
    if how == _BEGINS:
        return word.startswith(what)
    return how == _HOLDS or word.endswith(what)


def _like_an_id(word: str) -> bool:
    # Digits alone are a number or a date, letters alone a word such as "defaced".
    return not word.isdigit() and not word.isalpha()


_look_cached = lru_cache(maxsize=_CACHED_TEXTS)(_look)
