"""Which side of a pair of opposites a text takes, and whether it negates it.

"Prohibited" is the opposite of "allowed", and "not allowed" the same as it: both are the concept
"allow" with a minus.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import NamedTuple

from ragassay.models.offline.facts.clauses import Reading, Word
from ragassay.models.offline.facts.concepts import base_stem
from ragassay.models.offline.facts.number_words import SMALL
from ragassay.models.offline.facts.word_lists import lines, word_set

NEGATIONS = word_set("negations")
"""Words that turn what follows them."""

_PASSED_OVER = word_set("passed_over")
_REACH = 5


class Side(NamedTuple):
    """A concept in a text: which, which side of it (1 or -1), and where.

    exclusive: the sides of the concept exclude each other. negated: whether a negation turned it.
    """

    concept: str
    sign: int
    exclusive: bool
    negated: bool
    opposite_named: bool
    word: Word


@cache
def _concepts() -> dict[str, list[tuple[str, int, bool]]]:
    """Word -> its concepts, each with the side and whether it is exclusive."""
    table: dict[str, list[tuple[str, int, bool]]] = {}
    for line in lines("opposites"):
        exclusive = line.endswith("!")
        left, _, right = line.rstrip("! ").partition("=")
        name = "opposite:" + left.split()[0]
        for sign, side in ((1, left), (-1, right)):
            for word in side.split():
                table.setdefault(word, []).append((name, sign, exclusive))
    return table


def are_opposites(one: str, other: str) -> bool:
    """Whether two words, in lower case, take the two sides of one concept."""
    mine, theirs = _concepts().get(one, ()), _concepts().get(other, ())
    return any(
        concept == its and sign != other_sign
        for (concept, sign, _), (its, other_sign, _) in product(mine, theirs)
    )


def sides(reading: Reading) -> list[Side]:
    """The concepts of a text: pairs of opposites, and every other content word, which a negation
    may turn.
    """
    negated = _negated(reading.words)
    table = _concepts()
    lowers = [word.lower for word in reading.words]
    found: list[Side] = []
    for index, word in enumerate(reading.words):
        concepts = table.get(word.lower, ())
        if not concepts and not word.content:
            continue
        turned = index in negated
        flip = -1 if turned else 1
        if _is_number(word) or _is_bound(lowers, index):
            continue
        if concepts and is_inner_name(reading, word):
            concepts = ()
        for concept, sign, exclusive in concepts:
            if word.lower in _COMPARING:
                concept = f"{concept} {_next_stem(reading.words, index)}"
            found.append(Side(concept, flip * sign, exclusive, turned, True, word))
        # Where the sides exclude each other, "not the one" is the other one, and said already.
        is_said = bool(concepts) and any(exclusive for _, _, exclusive in concepts)
        if word.content and not is_said:
            found.append(Side(base_stem(word.lower), flip, True, turned, False, word))
    return found


def is_inner_name(reading: Reading, word: Word) -> bool:
    """Whether a word has a capital inside its sentence: "the Start plan"."""
    return word.written[0].isupper() and word.start != reading.sentences[word.sentence][0]


def _is_number(word: Word) -> bool:
    return word.lower[0].isdigit() or word.lower in SMALL


_COMPARING = frozenset(["more", "most", "greater", "greatest", "less", "least", "fewer", "fewest"])


def _is_bound(lowers: Sequence[str], index: int) -> bool:
    """Whether a word is part of a bound: "at least", "or more", "no later than". lowers: the words
    of the text in lower case.
    """
    if lowers[index] in _BOUNDS and index and lowers[index - 1] in ("at", "or", "no", "not"):
        return True
    if index + 2 >= len(lowers) or lowers[index + 1] != "than":
        return False
    return lowers[index + 2][0].isdigit()


def _next_stem(words: Sequence[Word], index: int) -> str:
    """What is more or less."""
    at = index + 1
    return words[at].stem if at < len(words) and words[at].content else ""


def _negated(words: Sequence[Word]) -> frozenset[int]:
    """Which words a negation turns: the first content words behind it in its clause."""
    turned: set[int] = set()
    for index in [at for at, word in enumerate(words) if is_negation(word)]:
        target = _target(words, index)
        if target is None:
            continue
        if target in turned:  # twice is not at all
            turned.discard(target)
        else:
            turned.add(target)
    return frozenset(turned)


# "no more than 5" is a bound, and "not only" is not a no.
_NOT_NEGATED = frozenset(
    ["more", "less", "fewer", "later", "longer", "earlier", "shorter", "sooner", "only", "matter"]
)


_BOUNDS = _NOT_NEGATED | _COMPARING
EXCEPTIONS = frozenset(("unless", "except", "excluding", "only", "solely", "exclusively"))


@cache
def _lexical() -> frozenset[str]:
    """Words that negate by what they mean: "forbidden", "excluded"."""
    found: set[str] = set()
    for word, concepts in _concepts().items():
        if any(sign < 0 and exclusive for _, sign, exclusive in concepts):
            found.add(word)
    return frozenset(found)


def turns(word: Word) -> bool:
    """Whether a word turns what its clause says: a negation, "unless", "forbidden"."""
    return is_negation(word) or is_exception(word) or word.lower in _lexical()


def is_exception(word: Word) -> bool:
    """Whether a word makes an exception: "unless"."""
    return word.lower in EXCEPTIONS


def is_negation(word: Word) -> bool:
    """Whether a word negates what follows it."""
    lower = word.lower
    return lower in NEGATIONS or lower.endswith("n't")


def is_full_negation(words: Sequence[Word], at: int) -> bool:
    """Whether a word negates more than a bound: not the one of "no more than 5"."""
    if not is_negation(words[at]):
        return False
    return at + 1 == len(words) or words[at + 1].lower not in _NOT_NEGATED


def _target(words: Sequence[Word], index: int) -> int | None:
    clause = words[index].clause
    if index + 1 < len(words) and words[index + 1].start - words[index].end > 1:
        return None  # "No. It is ..."
    for at in range(index + 1, min(len(words), index + 1 + _REACH)):
        if words[at].clause != clause:
            return None
        if words[at].lower not in _PASSED_OVER:
            if words[at].lower in _NOT_NEGATED or words[at].lower[0].isdigit():
                return None
            return at
    return None
