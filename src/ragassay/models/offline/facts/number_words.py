"""Numbers in words: "twenty-five", "two and a half million", "a dozen"."""

from __future__ import annotations

import re
from fractions import Fraction

from ragassay.models.offline.facts.folding import folded

_ONES_TEXT = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen
"""
_TENS_TEXT = "twenty thirty forty fifty sixty seventy eighty ninety"
SMALL = {word: number for number, word in enumerate(_ONES_TEXT.split())}
SMALL |= {word: 10 * number for number, word in enumerate(_TENS_TEXT.split(), 2)}
MAGNITUDES = {
    "hundred": 10**2,
    "thousand": 10**3,
    "lakh": 10**5,
    "million": 10**6,
    "mn": 10**6,
    "crore": 10**7,
    "billion": 10**9,
    "bn": 10**9,
    "trillion": 10**12,
    "tn": 10**12,
}
"""What multiplies the number before it."""

_GROUPS = {"dozen": 12, "couple": 2, "score": 20}
_PARTS = {"half": Fraction(1, 2), "third": Fraction(1, 3), "quarter": Fraction(1, 4)}
_PARTS |= {"fifth": Fraction(1, 5), "tenth": Fraction(1, 10)}
_PARTS |= {f"{word}s": value for word, value in _PARTS.items()} | {"halves": Fraction(1, 2)}

_ORDINALS_TEXT = """
first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth
fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth
"""
ORDINALS = {word: number for number, word in enumerate(_ORDINALS_TEXT.split(), 1)}

_small = "|".join(sorted(SMALL, key=len, reverse=True))
_magnitude = "hundred|thousand|lakh|million|crore|billion|trillion"
# "Two hundred and five"; "three and five" are two numbers.
_and = r"(?:(?<=hundred)|(?<=thousand)|(?<=million)|(?<=billion))[ ]and[ ]"
_cardinal = rf"(?:{_small}|{_magnitude})"
PATTERN = (
    r"\b(?:one|two|three|four)[ -](?:half|thirds?|fifths?|tenths?|quarters?(?=[ ]of\b))\b(?!-)|"
    rf"\b(?:(?:a|an)[ ])?{_cardinal}(?:(?:[ -]|{_and}){_cardinal})*"
    r"(?:[ ]and[ ]a[ ](?:half|quarter))?(?:[ ](?:hundred|thousand|million|billion|trillion))?\b"
    r"|\b(?:a|one|half a|two|three)[ ](?:dozen)\b|\ba[ ]couple(?:[ ]of)?\b"
    r"|\ba[ ](?:third|quarter|fifth|tenth)(?=[ ]of\b|[ ](?:more|less|larger|smaller|higher|lower)"
    r"\b|[.,;])|\b(?:a[ ])?(?:half|quarter)(?=[ ](?:of[ ])?(?:an?|the)[ ])"
)
"""A regular expression for a number in words (flags: ignore case)."""

_WORD = re.compile(r"[a-z]+")


def value_of(words: str) -> Fraction | None:
    """The number that the words say; None where they are no number of this form."""
    found = _WORD.findall(folded(words))
    part = _part(found)
    if part is not None:
        return part
    total, current, seen = Fraction(0), Fraction(0), False
    for index, word in enumerate(found):
        if word in SMALL:
            current += SMALL[word]
        elif word == "hundred":
            current = (current or Fraction(1)) * 100
        elif word in MAGNITUDES:
            total += (current or Fraction(1)) * MAGNITUDES[word]
            current = Fraction(0)
        elif word in _GROUPS:
            current = (current or Fraction(1)) * _GROUPS[word]
        elif word in _PARTS and index:
            # "two and a half million": the part belongs to what follows.
            current += _PARTS[word]
        elif word in ("a", "an", "and", "of"):
            continue
        else:
            return None
        seen = True
    return total + current if seen else None


def _part(words: list[str]) -> Fraction | None:
    """A part of a whole: "half", "a quarter", "two thirds", "half a dozen"."""
    words = [word for word in words if word not in ("a", "an", "of")]
    if words == ["half", "dozen"]:
        return Fraction(6)
    if len(words) == 1 and words[0] in _PARTS:
        return _PARTS[words[0]]
    if len(words) == 2 and words[0] in SMALL and words[1] in _PARTS:
        return SMALL[words[0]] * _PARTS[words[1]]
    return None
