"""Names, figures, dates and titles that a text holds, and whether other texts hold them; by rules,
without a model.

The rules know English months, units and sentence openers, and take a capital letter for a name. So
every German noun counts as a name, and scripts without capitals (Chinese, Arabic, Hindi) yield only
figures and titles. One capitalised word that opens a sentence is a name where the text shows it: it
is all the sentence says, it stands inside a sentence elsewhere, or it has another capital or a
digit. Otherwise it is left out: "Water boils" and "Paris grows" look alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from ragassay.scoring.overlap import SPACELESS, compatible

# Chinese, Japanese and Korean: no space parts a figure from a word.
_EAST = r"\u2e80-\uffef\U00020000-\U0003ffff"
_NOT_INSIDE, _NOT_BEFORE = rf"(?<![.,])(?<![^\W{_EAST}])", rf"(?![^\W{_EAST}])"
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)\b\.?"
)
_DAY, _YEAR = r"\d{1,2}(?:st|nd|rd|th)?", r"\d{4}(?!\w)"
_DATE = (
    rf"\d{{4}}-\d\d-\d\d|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}|{_DAY} (?:of )?{_MONTH}(?:,? {_YEAR})?"
    rf"|{_MONTH} (?:{_YEAR}|{_DAY}(?!\w)(?:,? {_YEAR})?)"
)
_UNIT = (
    r"%|°[CF]?|(?:percent|per cent|(?:hundred|thousand|million|billion|trillion)(?:"
    r" (?:dollars|euros|pounds|yen|people|years))?"
    r"|dollars?|euros?|pounds?|yen|USD|EUR|GBP|years?|months?|weeks?|days?|hours?|minutes?|seconds?"
    r"|(?:kilo|centi|milli)?met(?:er|re)s?|miles?|feet|foot|inch(?:es)?|acres?|hectares?|(?:kilo|milli)?grams?|tons?"
    r"|tonnes?|lit(?:er|re)s?|degrees?|watts?|volts?|km/h|mph|km²|m²|km|cm|mm|m|ft|kg|mg|g|lbs?|ml|ms|[kMG]W|kWh"
    r"|[kMG]?Hz|[kMGT]B)(?!\w)"
)
_NUMBER = (
    rf"(?:[$€£¥] ?)?{_NOT_INSIDE}\d++(?:[.,]\d++)*+(?:st(?!\w)|nd(?!\w)|rd(?!\w)|th(?!\w)|["
    rf" -]?(?:{_UNIT}))?{_NOT_BEFORE}"
)
_MARK = r"(?m:^)[ \t]*\d{1,3}[.)](?=[ \t])|\[\d{1,4}(?:[,–-] ?\d{1,4}){0,20}\]"
_SCAN = (
    rf"(?P<mark>{_MARK})|(?P<date>{_NOT_INSIDE}(?:{_DATE}){_NOT_BEFORE})|(?P<number>{_NUMBER})"
    rf"|(?P<word>(?:[A-Z]\.){{2,}}|[^\W_{_EAST}]++(?:['’&.-][^\W_{_EAST}]++)*+)"
)
_TITLE = re.compile(r'[“„"]([^“”„"\n]{2,80})[”“"]|«([^«»\n]{2,80})»')
_STOP = re.compile(r"[.!?:;…。！？\n\r•*#|–—]|\s-\s")
_POSSESSIVE = re.compile(r"['’]s?$")
_JOIN = "of the de da di do dos das del della der den des du la le van von zu bin al el y e"
_OPENER = """
a about above after again against all also although among an and another any are as at be because
been before below between both but by can could despite did do does due during each either even
every few first following for from given had has have he hence her here his how however i if in
indeed instead into is it its last later like many me more moreover most much my neither never
next no nor not now of on once one only or other our out over perhaps please second several she
should similarly since so some sometimes still such than that the their them then there therefore
these they third this those though through thus to today together tomorrow too two under unlike
until up upon us very was we were what when where whereas whether which while who whom whose why
will with within without would yes yesterday yet you your
"""
_JOINS, _OPENERS = frozenset(_JOIN.split()), frozenset(_OPENER.split())
"""Words inside a name; words that may open a sentence, or a title, without being part of a name."""


@cache
def _scanner() -> re.Pattern[str]:
    """Compiled when first used: that takes longer than importing the package may."""
    return re.compile(_SCAN)


class _Token(NamedTuple):
    """A word, number or date. kind: which; fresh: whether it opens a sentence."""

    kind: str
    text: str
    start: int
    end: int
    fresh: bool


def entities(text: str) -> tuple[str, ...]:
    """Names, numbers with their units, dates and quoted titles; each once, in the order of its
    first occurrence.

    Names: runs of capitalised words ("University of the Arts"), acronyms, words with a capital
    inside; without a leading "The" and without a possessive. List numbers and marks such as [2] are
    none. Time is linear in the text.

    >>> entities("In 1889 the Eiffel Tower in Paris rose to 312 metres.")
    ('1889', 'Eiffel Tower', 'Paris', '312 metres')
    """
    text = compatible(text, "NFC")
    certain: list[tuple[int, str]] = []
    doubtful: list[tuple[int, str]] = []
    at = 0
    for match in _TITLE.finditer(text):
        title = (match[1] or match[2]).strip().rstrip(",.")
        if _is_title(title):
            _scan(text, at, match.start(), certain, doubtful)
            certain.append((match.start(), title))
            at = match.end()
    _scan(text, at, len(text), certain, doubtful)
    # A lone word that opens a sentence is a name where it is part of one elsewhere.
    certain_words = set(" ".join(name for _, name in certain).split())
    certain += [(start, name) for start, name in doubtful if name in certain_words]
    return tuple(dict.fromkeys(name for _, name in sorted(certain)))


def entity_recall(expected: Iterable[str], texts: Iterable[str]) -> float | None:
    """Expected entities that occur in one of the texts / expected entities, in [0, 1], higher is
    better.

    An entity that is expected twice, in whatever spelling, counts once; None when none is expected.
    See `entities_present`. Ragas, context entity recall.

    >>> entity_recall(["Café Müller", "1,000", "Rome"], ["the cafe Muller seats 1000"])
    0.6666666666666666
    """
    present = _present([_search_words(entity) for entity in expected], texts)
    return sum(present.values()) / len(present) if present else None


def entities_present(expected: Sequence[str], texts: Iterable[str]) -> tuple[bool | None, ...]:
    """Of each expected entity whether it occurs in one of the texts; None for one that holds no
    word.

    Compared as whole words without regard to case, accents, white space, punctuation or the commas
    of 1,000; a word of two to four capitals ("US", "WHO") keeps its case. Not the same: dates
    written differently, 5 million and 5,000,000, a surname alone. The texts are read once; time
    grows with the number of entities times their length.

    >>> entities_present(["US", "Rome"], ["he told us of Rome"])
    (False, True)
    """
    sought = [_search_words(entity) for entity in expected]
    present = _present(sought, texts)
    return tuple(present.get(words) for words in sought)


def _search_words(entity: str) -> tuple[str, bool]:
    """The words to look for, "" for none, and whether case counts."""
    plain = _plain(entity)
    strict = plain.isupper() and plain.isalpha() and 2 <= len(plain) <= 4
    return plain if strict else plain.casefold(), strict


def _present(
    sought: Iterable[tuple[str, bool]], texts: Iterable[str]
) -> dict[tuple[str, bool], bool]:
    """Whether the words of each stand in a text; nothing for those without words."""
    # A space around every word: plain substrings are whole words then.
    cased = [f" {_plain(text)} " for text in texts]
    folded = [text.casefold() for text in cased]
    out = {}
    for words, strict in set(sought):
        if words:
            whole = f" {words} "
            out[words, strict] = any(whole in text for text in (cased if strict else folded))
    return out


_LETTERS = str.maketrans(
    {
        "ø": "o",
        "Ø": "O",
        "ł": "l",
        "Ł": "L",
        "đ": "d",
        "Đ": "D",
        "ı": "i",
        "æ": "ae",
        "Æ": "AE",
        "œ": "oe",
        "Œ": "OE",
    }
)
_THOUSANDS = re.compile(r"[,'’\u00a0\u2009\u202f](?<=\d.)(?=\d{3}(?!\d))")
_ACCENTS = re.compile(r"[\u0300-\u036f]+")
_ACRONYM = re.compile(r"\b[^\W\d_]\.(?:[^\W\d_]\.)+")
_POSSESSED = re.compile(r"['’]s\b")
_WORDS = re.compile(r"[^\W_]++(?:(?<=\d)\.(?=\d)[^\W_]++)*+")


def _plain(text: str) -> str:
    """The words of a text, a space between them, in their own case and without accents."""
    text = (
        _POSSESSED.sub("", _THOUSANDS.sub("", text)).replace("%", " percent ").replace("&", " and ")
    )
    if not text.isascii():
        text = _ACCENTS.sub("", compatible(text, "NFKD").translate(_LETTERS))
    text = _ACRONYM.sub(lambda match: match[0].replace(".", ""), text)
    if not text.isascii():
        text = SPACELESS.sub(r" \g<0> ", text)
    return " ".join(_WORDS.findall(text))


def _is_title(text: str) -> bool:
    """Whether what is quoted is a title, not speech: at most ten words, most of them with a capital
    or digit.
    """
    words = text.split()
    high = sum(word[0].isupper() or word[0].isdigit() for word in words)
    return (
        0 < len(words) <= 10
        and (words[0][0].isupper() or words[0][0].isdigit())
        and 2 * high >= len(words)
    )


def _scan(
    text: str, start: int, end: int, certain: list[tuple[int, str]], doubtful: list[tuple[int, str]]
) -> None:
    """Add the entities between two places of a text, with their starts: to `certain`, or to
    `doubtful` where one is a single word that opens a sentence.
    """
    # `run`: capitalised words that make one name so far; `joins`: small words behind them, such as
    # "of the", that belong to the name if another capitalised word follows.
    run: list[_Token] = []
    joins: list[_Token] = []
    last = start
    tokens = _tokens(text, start, end)
    token = next(tokens, None)
    while token is not None:
        following = next(tokens, None)
        adjoins = False  # whether the token may go on with the run
        if run:
            gap = text[last : token.start]
            # "J. Smith": a stop behind a single capital ends no sentence, unless a word follows
            # that may open one.
            initial = gap == ". " and len(run[-1].text) == 1 and token.text.lower() not in _OPENERS
            adjoins = (gap == " " or initial) and not _POSSESSIVE.search(run[-1].text)
        if token.kind != "word":
            _close(run, token, certain, doubtful)
            run, joins = [], []
            certain.append((token.start, token.text))
        elif not token.text.islower() and any(char.isupper() for char in token.text):
            if adjoins:
                run += [*joins, token]
            else:
                _close(run, token, certain, doubtful)
                run = [token]
            joins = []
        elif adjoins and token.text in _JOINS and len(joins) < 2:
            joins.append(token)
        elif run:
            _close(run, token, certain, doubtful)
            run, joins = [], []
        last, token = token.end, following
    _close(run, None, certain, doubtful)


def _close(
    run: list[_Token],
    following: _Token | None,
    certain: list[tuple[int, str]],
    doubtful: list[tuple[int, str]],
) -> None:
    """Settle what a run of capitalised words is, given the token after it."""
    # Without the words that only open a sentence, or a title: "The Eiffel Tower".
    first = next((i for i, token in enumerate(run) if not _is_opener(token.text)), len(run))
    name = run[first:]
    if not name:
        return
    words = [token.text for token in name]
    words[-1] = _POSSESSIVE.sub("", words[-1])
    text = " ".join(words)
    if len(text) < 2:
        return
    opens_sentence = (
        len(name) == 1
        and name[0].fresh
        and not any(char.isupper() or char.isdigit() for char in text[1:])
    )
    if opens_sentence and following is not None and not following.fresh:
        doubtful.append((name[0].start, text))
    else:
        certain.append((name[0].start, text))


def _is_opener(word: str) -> bool:
    return re.split("['’]", word.lower(), maxsplit=1)[0] in _OPENERS and not (
        len(word) > 1 and word.isupper()
    )


def _tokens(text: str, start: int, end: int) -> Iterator[_Token]:
    """Words, numbers and dates between two places; list numbers and citation marks are skipped."""
    last, fresh = start, start == 0
    for match in _scanner().finditer(text, start, end):
        start, end = match.span()
        if not fresh and not (start == last + 1 and text[last] == " "):  # as between most words
            fresh = _STOP.search(text, last, start) is not None
        kind, last = match.lastgroup, end
        if kind == "mark" or kind is None:
            continue
        yield _Token(kind, match[0], start, end, fresh)
        fresh = False
