"""How much of a thing a text speaks of (all, most, some, none), and whether something must be
or may.
"""

from __future__ import annotations

from dataclasses import dataclass

from ragassay.models.offline.facts.clauses import Reading, Word

_LEVELS_TEXT = {
    "all": (
        "all every each always entire entirely everyone everybody everything whole both any anyone"
        " anybody fully"
    ),
    "most": ("most majority usually mostly generally typically mainly chiefly predominantly"),
    "some": "some sometimes several few part partly partially occasionally certain",
    "none": "no none never nobody neither",
}
_MODALS_TEXT = {
    "must": "must shall mandatory required compulsory obligatory",
    "may": "may might can could optional optionally voluntary",
}


def _by_word(levels: dict[str, str]) -> dict[str, str]:
    table: dict[str, str] = {}
    for level, words in levels.items():
        table |= dict.fromkeys(words.split(), level)
    return table


_LEVELS, _MODALS = _by_word(_LEVELS_TEXT), _by_word(_MODALS_TEXT)
# Before a number these are bounds: "at most 3", "all 50 states" keeps its sense.
_BOUND = frozenset(("at", "than"))
CONFLICTS = frozenset(
    frozenset(pair)
    for pair in (
        ("all", "most"),
        ("all", "some"),
        ("all", "none"),
        ("most", "none"),
        ("some", "none"),
        ("must", "may"),
    )
)
"""Levels of one thing that do not fit together in an answer that is to stick to its source."""

OVERSTATED = (("most", "some"),)
"""Level of a claim, and that of the passages which says less. Who says "some" where they say "most"
is right.
"""

_REACH, _FAR = 5, 8
_ANY = frozenset(("any", "anyone", "anybody"))
_NOT = frozenset(("not", "never", "isn't", "aren't", "don't", "doesn't", "cannot", "can't"))
_LEAST_MOST, _LEAST_ALL = 50.0, 99.0


def fits_share(level: str, percent: float) -> bool | None:
    """Whether so many per cent are a level: 3 % are not most. None where both may be said."""
    if level == "most":
        return percent > _LEAST_MOST
    if level == "all":
        return percent >= _LEAST_ALL
    if level == "none":
        return percent == 0
    return None


@dataclass(frozen=True, slots=True)
class Level:
    """A level and the word that it is said of."""

    level: str
    head: Word
    word: Word


def levels(reading: Reading) -> list[Level]:
    """The quantifiers and modals of a text, each with the next content word of its clause."""
    found: list[Level] = []
    for index, word in enumerate(reading.words):
        level = _LEVELS.get(word.lower) or _MODALS.get(word.lower)
        if level is None or (index and reading.words[index - 1].lower in _BOUND):
            continue
        if level == "may" and word.lower == "may" and word.written[0].isupper() and index:
            continue  # the month
        if word.lower in _ANY and _is_denied(reading, index):
            continue  # "is not covered by any insurance": by none
        head = _head(reading, index)
        if head is not None:
            found.append(Level(level, head, word))
    return found


def _is_denied(reading: Reading, index: int) -> bool:
    before = reading.words[max(0, index - _FAR) : index]
    clause = reading.words[index].clause
    return any(word.lower in _NOT for word in before if word.clause == clause)


def _head(reading: Reading, index: int) -> Word | None:
    words = reading.words
    for at in range(index + 1, min(len(words), index + 1 + _REACH)):
        if words[at].clause != words[index].clause:
            return None
        if words[at].lower in ("not", "n't", "no"):
            return None
        if words[at].content and words[at].lower not in _LEVELS:
            return words[at]
    return None
