"""Rules that plant one fault of a kind in an answer that its passages support.

Each rule yields the answers that it can make of one; none where no edit would certainly make it
false. They share no code and no tables with training/edits.py, from which the judge learnt.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from benchmarks.planted_faults.words import (
    ANTONYMS,
    DAYS,
    FIRST_NAMES,
    MONEY,
    MONTHS,
    PAST,
    PERSONS,
    PLACES,
    PLURALS,
    QUANTIFIERS,
    SHORT_UNITS,
    SMALL,
    UNITS,
)

WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
# A number after one of these may be changed and the sentence stay true.
BOUND = re.compile(
    r"(?:\b(?:at least|at most|more than|less than|fewer than|up to|over|under|about|around|nearly"
    r"|almost|approximately|roughly|some|above|below|no|minimum of|maximum of|by|before|after)"
    r"|[~<>≥≤])\s*[$£€]?$",
    re.IGNORECASE,
)
NUMBER = re.compile(r"(?<![\w.,:/#–-])\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?<![\w.,:/#–-])\d+(?:\.\d+)?")
# What makes digits the part of something else: a date, a time, a score, a name, an ordinal.
NO_NUMBER_AFTER = re.compile(r"[-–:/]\d|\.\d|,\d|(?:st|nd|rd|th)\b|s\b|['’]|-\w|[A-Za-z]{3,}")
# Numbers in words; not in "three on three", "five-sixths", "Part Two".
SPOKEN = re.compile(
    r"(?<![-–])\b(?:" + "|".join(SMALL[1:]) + r")\b(?!\s*-\s*(?!year|month|week|day|hour)|\s+on\b)",
    re.IGNORECASE,
)
# Numbers behind one of these are names of things.
LABEL = re.compile(
    rf"\b(?:{'|'.join(MONTHS)}|No|Section|Chapter|Version|Part|position|boeing|xbox|step|flight"
    r"|billboard)\.?\s*$",
    re.IGNORECASE,
)
YEAR = re.compile(
    r"(?<![\w.,$£€-])(?:1[0-9]|20)\d\d(?![\w%]|[.,-]\d|\s+(?:people|men|women|years|miles|km))"
)


class Evidence:
    """The passages of an answer, as the rules look at them."""

    def __init__(self, contexts: tuple[str, ...]) -> None:
        self.text = "\n".join(contexts)
        self.sentences = [one for one in SENTENCE.split(self.text) if one.strip()]

    def has(self, word: str) -> bool:
        """Whether it stands there as a word of its own."""
        return _stands(word, self.text)

    def nearest(self, answer: str) -> str:
        """The sentence with most of the answer's words."""
        words = set(WORD.findall(answer.lower()))
        return max(
            self.sentences,
            key=lambda one: len(words & set(WORD.findall(one.lower()))),
            default="",
        )


class Place(NamedTuple):
    """A stretch of the answer."""

    start: int
    end: int


Rule = Callable[[str, Evidence], Iterator[str]]


def _stands(word: str, text: str) -> bool:
    return re.search(rf"(?<![\w.,]){re.escape(word)}(?!\w|[.,]\d)", text) is not None


def _put(answer: str, at: Place | re.Match[str], new: str) -> str:
    start, end = (at.start, at.end) if isinstance(at, Place) else at.span()
    return answer[:start] + new + answer[end:]


def _cased(new: str, old: str) -> str:
    return new[:1].upper() + new[1:] if old[:1].isupper() else new


def _word_after(text: str, end: int) -> str:
    found = WORD.search(text, end)
    return found.group().lower() if found else ""


# Numbers


def number(answer: str, evidence: Evidence) -> Iterator[str]:
    """A number that the passages have, replaced by one of theirs that counts something else, or by
    one they have not.
    """
    for at in _numbers(answer):
        if not evidence.has(at.group()) or answer.count(at.group()) > 1:
            continue
        for new in (*_others_in(answer, at, evidence), *_shifted(at.group(), evidence)):
            yield _put(answer, at, new)
    for at in SPOKEN.finditer(answer):
        spoken = at.group().lower()
        digits = str(SMALL.index(spoken) + 1)
        if not (_stands(spoken, evidence.text.lower()) or evidence.has(digits)):
            continue
        if BOUND.search(answer[: at.start()]):
            continue
        for step in (2, 4, -1):
            place = SMALL.index(spoken) + step
            if 1 <= place < len(SMALL) and not _stands(SMALL[place], evidence.text.lower()):
                yield _put(answer, at, _cased(SMALL[place], at.group()))
                break


def _numbers(answer: str) -> Iterator[re.Match[str]]:
    """Numbers that are no part of a date, a name or a bound."""
    for at in NUMBER.finditer(answer):
        before, after = answer[: at.start()], answer[at.end() :]
        if NO_NUMBER_AFTER.match(after) or BOUND.search(before) or YEAR.fullmatch(at.group()):
            continue
        if LABEL.search(before) or _listed(before, after) or re.match(r"\s+[-–]\s", after):
            continue
        if re.match(rf"\s+(?:of\s+)?(?:{'|'.join(MONTHS)})\b", after, re.IGNORECASE):
            continue
        yield at


def _listed(before: str, after: str) -> bool:
    """Whether a number only numbers the points of a list."""
    return (
        re.search(r"(?:^|[\s(*])$", before) is not None
        and re.match(r"\.\s+[A-Z*]|\)", after) is not None
    )


def _others_in(answer: str, at: re.Match[str], evidence: Evidence) -> Iterator[str]:
    """Numbers of the passages of the same form, before another word, apart by more than a sixth."""
    value, counted = _value(at.group()), _word_after(answer, at.end())
    mark = answer[at.end() : at.end() + 1]
    money = answer[at.start() - 1 : at.start()] in MONEY
    for other in _numbers(evidence.text):
        found = _value(other.group())
        same_form = (
            evidence.text[other.end() : other.end() + 1] == "%",
            evidence.text[other.start() - 1 : other.start()] in MONEY,
            other.group().count("."),
        ) == (mark == "%", money, at.group().count("."))
        if not same_form or other.group() in answer or not _apart(value, found):
            continue
        if mark != "%" and _word_after(evidence.text, other.end()) == counted:
            continue
        yield other.group()


def _shifted(old: str, evidence: Evidence) -> Iterator[str]:
    """The number with another first digit, where the passages have none like it."""
    for digit in "37528146":
        new = digit + old[1:]
        if digit == old[0] or evidence.has(new) or not _apart(_value(old), _value(new)):
            continue
        yield new
        return


def _value(number: str) -> float:
    return float(number.replace(",", ""))


def _apart(one: float, other: float) -> bool:
    """Whether no rounding makes them equal, and they are of a like size."""
    low, high = sorted((one, other))
    return low > 0 and 1.17 <= high / low <= 20


# Units, dates, names


def unit(answer: str, evidence: Evidence) -> Iterator[str]:
    """The unit of a number that the passages have, replaced by another of the same dimension."""
    plain = evidence.text.lower()
    for at in re.finditer(r"(?<=\d)(\s?-?)([A-Za-z/°]+)\b|(?<=[a-z])([ -])([a-z]+)\b", answer):
        spoken = at.group(2) or at.group(4)
        gap = at.group(1) if at.group(2) else at.group(3)
        counted = WORD.findall(answer[: at.start()])[-1:]
        if not counted or not _counts(counted[0]) or not _stands(counted[0].lower(), plain):
            continue
        new = SHORT_UNITS.get(spoken) if counted[0][-1].isdigit() else None
        new = new or _other_unit(spoken)
        if new is None or spoken.lower() not in plain or f"{counted[0]} {new}".lower() in plain:
            continue
        yield _put(answer, at, gap + new)
    for at in re.finditer(r"[$£€](?=\d)", answer):
        amount = re.match(r"[\d.,]*\d", answer[at.end() :])
        if amount and at.group() + amount.group() in evidence.text:
            yield _put(answer, at, MONEY[at.group()])


def _counts(word: str) -> bool:
    return word[-1].isdigit() or word.lower() in SMALL


def _other_unit(spoken: str) -> str | None:
    """Another unit in the same number of grammar; None for what is no unit."""
    for one, other in UNITS.items():
        if spoken == one:
            return other
        if spoken == PLURALS.get(one, one + "s"):
            return PLURALS.get(other, other + "s")
    return None


def date(answer: str, evidence: Evidence) -> Iterator[str]:
    """A year, month or day of the week that the passages have, replaced by another one."""
    for at in YEAR.finditer(answer):
        before = answer[: at.start()]
        known = evidence.has(at.group()) and answer.count(at.group()) == 1
        dated = re.search(
            rf"(?:\b(?:in|since|from|until|during|of|{'|'.join(MONTHS)})|,)\s*$", before
        )
        if not known or not dated:
            continue
        there = {one.group() for one in YEAR.finditer(evidence.text)}
        others = sorted(one for one in there if one not in answer and _near(one, at.group()))
        for new in (*others, *_years(at.group(), there)):
            yield _put(answer, at, new)
    for table in (MONTHS, DAYS):
        yield from _calendar(answer, evidence, table)


def _near(one: str, other: str) -> bool:
    return 0 < abs(int(one) - int(other)) <= 60


def _years(old: str, there: set[str]) -> Iterator[str]:
    for step in (-3, -7, -11, -13):
        if str(int(old) + step) not in there:
            yield str(int(old) + step)
            return


def _calendar(answer: str, evidence: Evidence, table: tuple[str, ...]) -> Iterator[str]:
    for at in re.finditer(r"\b(?:" + "|".join(table) + r")\b", answer):
        before = answer[: at.start()]
        if not evidence.has(at.group()) or answer.count(at.group()) > 1:
            continue
        if re.search(r"\b(?:after|before|by)\s+(?:\w+\s+)?$", before):
            continue
        # "March" and "May" are other words as well.
        if at.group() in ("March", "May") and not re.search(r"\b(?:in|of|on|\d+)\s+$", before):
            continue
        place = table.index(at.group())
        free = [one for one in table[place + 2 :] + table[:place] if not evidence.has(one)]
        if free:
            yield _put(answer, at, free[place % len(free)])


NAME = re.compile(r"[A-Z][a-zé’'-]+(?:\s+[A-Z]\.)?(?:\s+[A-Z][a-zé’'-]+)+")


def name(answer: str, evidence: Evidence) -> Iterator[str]:
    """A person, country, town or people that the passages have, replaced by another of its type."""
    for at in NAME.finditer(answer):
        first, last = at.group().split()[0], at.group().split()[-1]
        if first.lower() not in FIRST_NAMES or not evidence.has(last):
            continue
        if len(at.group().split()) > 3 or not last[-1].isalpha():
            continue
        if answer.count(last) > 1 or answer.count(first) > 1:
            continue
        nearest = evidence.nearest(answer)
        for other in _persons(evidence):
            if last not in other and other not in nearest and other.split()[-1] not in answer:
                yield _put(answer, at, other)
        new = PERSONS[len(answer) % len(PERSONS)]
        if new.split()[-1] not in evidence.text:
            yield _put(answer, at, new)
    for table in PLACES.values():
        for at in re.finditer(r"\b(?:" + "|".join(table) + r")\b(?!\s+[A-Z])", answer):
            if not evidence.has(at.group()) or answer.count(at.group()) > 1:
                continue
            if re.search(r"[A-Z][\w.]*[ -]$|\bNew $", answer[: at.start()]):
                continue
            others = [one for one in table if not evidence.has(one)]
            yield _put(answer, at, others[(len(answer) * 7) % len(others)])


def _persons(evidence: Evidence) -> Iterator[str]:
    for at in NAME.finditer(evidence.text):
        words = at.group().split()
        if words[0].lower() in FIRST_NAMES and len(words) == 2 and words[1][-1].isalpha():
            yield at.group()


# Negation, antonyms, quantifiers

NEGATED = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|hardly|rarely|unless"
    r"|unable|failed|refused?|denie[sd]|un(?:likely|known))\b|n['’ ]\s?t\b",
    re.IGNORECASE,
)
AUXILIARY = re.compile(
    r"\b(is|are|was|were|will|would|should|must|can|did|does|has been|have been|had been)\b"
    r"(?=\s+(?!not\b|to\b|n['’]t|also\b|only\b|just\b|all\b|both\b|often\b|sometimes\b|usually\b"
    r"|always\b|now\b|still\b|most\b|many\b|some\b|probably\b|likely\b|possibly\b|what\b|how\b"
    r"|the same\b)[\w$£€\"])"
)
# Negating behind one of these is no plain contradiction of the answer.
SUBORDINATE = re.compile(
    r"\b(?:who|which|that|if|when|while|because|as|although|though|whether|where|what|how|all"
    r"|every|each|some|many|most|may|might|could|i|think|believe|hope|know|feel|sure)\b",
    re.IGNORECASE,
)


def negation(answer: str, evidence: Evidence) -> Iterator[str]:
    """A "not" put into a main clause that has none, or taken out of one."""
    for start, sentence in _sentences(answer):
        if sentence.rstrip().endswith("?"):
            continue
        yield from _negated(answer, start, sentence)
        yield from _affirmed(answer, start, sentence)


def _sentences(answer: str) -> Iterator[tuple[int, str]]:
    start = 0
    for gap in SENTENCE.finditer(answer):
        yield start, answer[start : gap.start()]
        start = gap.end()
    yield start, answer[start:]


def _negated(answer: str, start: int, sentence: str) -> Iterator[str]:
    if NEGATED.search(sentence):
        return
    at = AUXILIARY.search(sentence)
    if at and not SUBORDINATE.search(sentence[: at.start()]):
        first = at.group().split()[0]
        yield _put(
            answer,
            Place(start + at.start(), start + at.start() + len(first)),
            "cannot" if first == "can" else f"{first} not",
        )
    for verb in re.finditer(r"(?<=\w )(?:" + "|".join(PAST) + r")\b", sentence):
        before = sentence[: verb.start()]
        if len(before.split()) > 6:
            continue
        subject = re.search(r"(?:^|, )(?:[A-Z][\w.'-]*\s|he\s|she\s|it\s|they\s)+$", before, re.I)
        clause = SUBORDINATE.search(before) or re.search(
            r"\b(?:was|were|is|are|be|been|had|has|have|to|did)\b", before
        )
        if subject and not clause:
            place = Place(start + verb.start(), start + verb.end())
            yield _put(answer, place, f"did not {PAST[verb.group()]}")


def _affirmed(answer: str, start: int, sentence: str) -> Iterator[str]:
    found = list(NEGATED.finditer(sentence))
    if len(found) != 1:
        return
    (at,) = found
    before, after = sentence[: at.start()], sentence[at.end() :]
    if re.search(r"\b(?:if|whether|or|may|might|sure|but|whose)\b", before + after[:14]):
        return
    here = Place(start + at.start(), start + at.end())
    if at.group() == "not" and re.search(
        r"\b(?:is|are|was|were|will|should|must|has|had|have) $", before
    ):
        if not re.match(r" (?:only|just|until|yet|all|every|necessarily|sure)\b", after):
            yield _put(answer, Place(here.start, here.end + 1), "")
    elif at.group() == "not" and re.search(r"\b(?:did|does|do) $", before):
        yield _put(answer, Place(here.start, here.end + 1), "")
    elif at.group() == "cannot":
        yield _put(answer, here, "can")
    elif at.group() == "never" and re.search(r"\b(?:has|had|have|was|were|is|are) $", before):
        yield _put(answer, Place(here.start, here.end + 1), "")
    elif at.group() == "without":
        yield _put(answer, here, "with")
    elif at.group() == "unable":
        yield _put(answer, here, "able")


def reversal(answer: str, evidence: Evidence) -> Iterator[str]:
    """A word replaced by its antonym, which the sentence it rests on has not."""
    nearest = evidence.nearest(answer).lower()
    for at in re.finditer(r"(?<![\w-])(?:" + "|".join(ANTONYMS) + r")(?![\w-])", answer):
        old, new = at.group(), ANTONYMS[at.group()]
        known = _stands(old, evidence.text.lower()) or old[:4] in nearest
        if not known or _stands(new, nearest) or answer.count(old) > 1:
            continue
        if NEGATED.search(answer[max(0, at.start() - 25) : at.start()]):
            continue
        if _means_else(old, answer[: at.start()], answer[at.end() :]):
            continue
        yield _with_article(answer, at, new)


def _means_else(old: str, before: str, after: str) -> bool:
    """Whether the word is used in a way in which its antonym would not contradict."""
    if old in ("before", "after"):
        return re.match(r"\s+(?:\w+ing\b|\d|he\b|she\b|it\b|they\b)", after) is None
    if old == "last" or (old == "first" and not re.search(r"\b(?:the|his|her)\s+$", before)):
        return True
    if old in ("more", "less", "most", "least"):
        return re.search(r"\b(?:for|one|any|no|at)\s+$", before) is not None
    aside = (
        r"\s+(?:names?|times?|place|out|up|down|on|off|in|as|for|to|downs|team|class|half|ones)\b"
    )
    return re.match(aside, after) is not None


def _with_article(answer: str, at: re.Match[str], new: str) -> str:
    """The word replaced, and the article before it made to fit."""
    article = re.search(r"\b([Aa])n? $", answer[: at.start()])
    if article is None:
        return _put(answer, at, new)
    fitting = article.group(1) + ("n " if new[0] in "aeiou" else " ")
    return answer[: article.start()] + fitting + new + answer[at.end() :]


def quantifier(answer: str, evidence: Evidence) -> Iterator[str]:
    """A quantifier, bound or modal replaced by one that rules the answer's own out."""
    longest = sorted(QUANTIFIERS, key=len, reverse=True)
    for at in re.finditer(r"(?<![\w-])(?:" + "|".join(longest) + r")(?![\w-])", answer, re.I):
        old = at.group().lower()
        before, after = answer[: at.start()], answer[at.end() :]
        if NEGATED.search(before[-30:]) or not _fits(old, before, after):
            continue
        new = _cased(QUANTIFIERS[old], at.group())
        yield _put(answer, at, new)


_NUMERIC = (
    *("at least", "at most", "more than", "less than", "fewer than"),
    *("up to", "almost", "nearly", "over"),
)
_PLURAL = ("all", "most", "many", "several", "some", "various", "numerous")


def _fits(old: str, before: str, after: str) -> bool:
    """Whether the words around let the quantifier be replaced and keep its meaning."""
    if old in _NUMERIC:
        if old == "over" and re.match(r"\s+\S+\s+(?:year|month|week|day|night|hour)", after):
            return False  # "over three years" may be "in the course of"
        return re.match(r"\s+[$£€]?\d|\s+(?:a|two|three|four|five|six|ten)\b", after) is not None
    if old in _PLURAL:
        follows = re.match(r"\s+(?:[a-z-]+\s+)?[a-z-]+s\b|\s+(?:people|men|women)\b", after)
        bad = re.search(
            r"(?:\b(?:the|a|at|of|how|so|too|as|not|my|his|their|its|that|second|one)|['’]\s?s)\s+$",
            before,
            re.IGNORECASE,
        )
        other = re.match(r"\s+(?:\w+(?:ous|less)|hundred|thousand|million)\b", after)
        return follows is not None and bad is None and other is None
    if old == "a variety of" and re.match(r"\s+(?:the|its|their|his|her)\b", after):
        return False
    if old in ("every", "each of") and re.match(rf"\s+(?:{'|'.join(SMALL)}|\d|other|day)", after):
        return False
    compared = re.search(r"\b(?:less|more|most|the)\s+$", before, re.IGNORECASE)
    return compared is None and not re.match(r"\s+accepted\b", after)


# Exchanges


SYMMETRIC = re.compile(
    r",|;|\b(?:and|or|with|met|meets|married|marries|between|near|like|unlike|alongside|versus|vs"
    r"|against|both|as|also|called|named|known|is a|was a|is the|was the)\b"
)
ACTION = re.compile(
    r"^\s+(?:\w+\s+)?(?:" + "|".join(PAST) + r"|beat|defeated|beats|joins?|takes?|signs?"
    r"|wrote|tells?|told|asked|asks|accused|killed|shot|led|leads|owns?|replaced|succeeded|bought"
    r"|buys|hired|fired|praised|criticised|criticized|paid|attacked|invaded|sued)\b"
    r"|\b(?:by|from|to|than)\s+(?:the\s+)?$"
)


def swap(answer: str, evidence: Evidence) -> Iterator[str]:
    """Two names around a verb, or the numbers of two things, exchanged."""
    names = [at for at in _proper(answer) if evidence.has(at.group().split()[-1])]
    for left, right in itertools.pairwise(names):
        between = answer[left.end() : right.start()]
        if _part_of_a_name(answer, left) or _part_of_a_name(answer, right):
            continue
        if len(between.split()) > 8 or SYMMETRIC.search(between) or not ACTION.search(between):
            continue
        if answer.count(left.group()) > 1 or answer.count(right.group()) > 1:
            continue
        if _type(left.group()) != _type(right.group()):
            continue
        yield _exchanged(answer, left, right)
    numbers = [
        at
        for at in NUMBER.finditer(answer)
        if not YEAR.fullmatch(at.group()) and not _listed(answer[: at.start()], answer[at.end() :])
    ]
    for found in (numbers, list(YEAR.finditer(answer))):
        for left, right in itertools.pairwise(found):
            if _told_apart(answer, left, right, evidence):
                yield _exchanged(answer, left, right)


def _proper(answer: str) -> Iterator[re.Match[str]]:
    """Names in the middle of a sentence, or at its beginning where they are of several words or a
    place.
    """
    calendar = {*MONTHS, *DAYS}
    for at in re.finditer(r"(?:[A-Z][\w’'.-]*\w)(?:\s+(?:[A-Z][\w’'-]*\w))*", answer):
        opening = at.start() == 0 or re.search(r"[.!?]\s+$", answer[: at.start()])
        common = opening and " " not in at.group() and _type(at.group()) == ""
        titled = {"Mr", "Mrs", "Ms", "Dr", "The"} & set(at.group().split())
        if not common and not titled and not calendar & set(at.group().split()):
            yield at


def _part_of_a_name(answer: str, at: re.Match[str]) -> bool:
    """Whether a longer name goes on before or behind it ("Library of Congress")."""
    before, after = answer[: at.start()], answer[at.end() :]
    return (
        re.search(r"(?:[A-Z]\w*\s+(?:of|and|the|for|in|v\.?)\s+|\bA\s+|[\"“-])$", before)
        is not None
        or re.match(r"\s+(?:of|and|v\.?)\s|['’]s\s|[\"”-]|\s+[A-Z\d]", after) is not None
    )


def _type(name: str) -> str:
    for kind, table in PLACES.items():
        if name in table:
            return "place" if kind in ("country", "city", "state") else kind
    return "person" if name.split()[0].lower() in FIRST_NAMES else ""


def _exchanged(answer: str, left: re.Match[str], right: re.Match[str]) -> str:
    between = answer[left.end() : right.start()]
    return answer[: left.start()] + right.group() + between + left.group() + answer[right.end() :]


def _told_apart(answer: str, left: re.Match[str], right: re.Match[str], evidence: Evidence) -> bool:
    """Whether two numbers that are near each other count different things, or go from one to the
    other.
    """
    between = answer[left.end() : right.start()]
    known = evidence.has(left.group()) and evidence.has(right.group())
    if not known or left.group() == right.group() or len(between.split()) > 12:
        return False
    if LABEL.search(answer[: left.start()]) or LABEL.search(answer[: right.start()]):
        return False
    if NO_NUMBER_AFTER.match(answer[left.end() :]) or NO_NUMBER_AFTER.match(answer[right.end() :]):
        return False
    marks = (
        answer[left.end() : left.end() + 1] == "%",
        answer[right.end() : right.end() + 1] == "%",
    )
    if marks[0] != marks[1] or not between.strip(" .,%$£€"):
        return False
    if re.search(r"\bbetween\b|\brange\b", answer[: left.start()]):
        return False
    if re.search(
        rf"\b(?:{'|'.join(MONTHS)})\b", answer[max(0, left.start() - 12) : right.end() + 12]
    ):
        return False
    if re.search(r"\bor\b", between):
        return False
    if re.fullmatch(r"\s*(?:to|until|-)\s*[$£€]?\s*", between):
        return re.search(r"\bfrom\s+[$£€]?$", answer[: left.start()]) is not None
    return _word_after(answer, left.end()) != _word_after(answer, right.end())


RULES: dict[str, Rule] = {
    "number": number,
    "unit": unit,
    "date": date,
    "name": name,
    "negation": negation,
    "reversal": reversal,
    "quantifier": quantifier,
    "swap": swap,
}
