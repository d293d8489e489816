"""The clauses of a text, and whether each affirms or denies what it says."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from ragassay.models.offline.facts.clauses import Reading, Word
from ragassay.models.offline.facts.polarity import (
    EXCEPTIONS,
    NEGATIONS,
    is_exception,
    is_negation,
)
from ragassay.models.offline.facts.word_lists import word_set

BESIDE = 0.6
"""Weight of a word that stands in the sentence of a clause and not in it."""

_BARE = re.compile(
    r"\b(?:is|are|was|were|do|does|did|has|have|can|may|will|must)(?: not|n't)\W*$", re.IGNORECASE
)
_BUT_NOT = re.compile(r"\W*(?:but|and) (?:not|never)\b", re.IGNORECASE)
_NO_DENIAL = re.compile(
    r"\b(?:not only|no (?:more|less|fewer|later|earlier|longer|sooner|matter|doubt|cost|charge)"
    r"|not (?:more|less|fewer|later|earlier|longer|exceed)|at no|why not|or not)\b",
    re.IGNORECASE,
)


_IF = re.compile(r"\W*(?:if|when|whether|unless|until|except)\b", re.IGNORECASE)
_THAN = re.compile(r"\bthan\b", re.IGNORECASE)
_BEING = frozenset(["is", "are", "was", "were", "be", "been", "being", "remain", "remains"])
_OF_A_NOUN = frozenset(["without", "nothing", "none", "hardly"])


class PolarClause(NamedTuple):
    """A clause of a text: whether it denies, and how much each of its words counts. target: stem of
    the word that a negation stands at; "" where a word itself denies, or what is denied is left
    out. in_sentence: words of the whole sentence that deny.
    """

    start: int
    end: int
    denies: bool
    stems: Mapping[str, float]
    target: str
    in_sentence: int


def polar_clauses(reading: Reading) -> Iterator[PolarClause]:
    """The clauses of a text of which it is told whether they deny."""
    text = reading.text
    before: Mapping[str, float] = {}
    # Most clauses have no word that denies or excepts: only the others are looked at word by word.
    marks = _marked()
    marked = [word for word in reading.words if word.lower in marks or word.lower.endswith("n't")]
    marked_clauses = {word.clause for word in marked}
    denials: dict[int, int] = {}
    for word in marked:
        if word.sentence not in denials:
            place = reading.sentences[word.sentence]
            denials[word.sentence] = _denials_in(reading.words_in(*place))
    last = -1
    for clause, (start, end) in enumerate(reading.clauses):
        words = reading.words_in(start, end)
        sentence = reading.sentence_of_clause[clause]
        is_marked = clause in marked_clauses
        turning = {at for at in range(len(words)) if is_marked and _turns(words, at)}
        own: dict[str, float] = {}
        for at, word in enumerate(words):
            if word.content and at not in turning:
                own[word.stem] = 1.0
        stems = own
        if sentence == last:
            # What is left out is told before: "towels are included, parking is not".
            near = 1.0 if _leaves_out(reading, start, end) else BESIDE
            stems = {**{stem: near * value for stem, value in before.items()}, **own}
        before, last = stems, sentence
        is_mixed = is_marked and _has_mixing_word(words, turning)
        if not is_mixed and not _is_mixed(text, turning, (start, end)):
            target = _target(words, min(turning)) if turning else ""
            in_sentence = denials.get(sentence, 0)
            yield PolarClause(start, end, bool(turning), stems, target, in_sentence)


@cache
def _marked() -> frozenset[str]:
    """Words that may deny or except something, beside those in "n't"."""
    return NEGATIONS | EXCEPTIONS | _OF_A_NOUN | _denials()


def _has_mixing_word(words: Sequence[Word], turning: Collection[int]) -> bool:
    """Whether the words leave open if a clause affirms or denies."""
    if len(turning) > 1 or any(map(is_exception, words)):
        return True
    return any(word.lower in _OF_A_NOUN for word in words)


def _is_mixed(text: str, turning: Collection[int], place: tuple[int, int]) -> bool:
    """Whether the text leaves open if a clause affirms or denies."""
    if _IF.match(text, *place):
        return True
    # All of these have a "no" in them, and to look for it costs little.
    if "no" in text[slice(*place)].lower() and _NO_DENIAL.search(text, *place):
        return True
    return bool(turning and _THAN.search(text, *place))


def _denials_in(words: Sequence[Word]) -> int:
    denials = 0
    for at, word in enumerate(words):
        denials += is_negation(word) or is_exception(word) or _turns(words, at)
    return denials


def _target(words: Sequence[Word], at: int) -> str:
    """Stem of the first content word that a negation stands before."""
    if not is_negation(words[at]):
        return ""
    return next((word.stem for word in words[at + 1 :] if word.content), "")


def _leaves_out(reading: Reading, start: int, end: int) -> bool:
    """Whether a clause takes what it says from the one before it."""
    text = reading.text[start:end]
    lower = text.lower()
    if "not" not in lower and "n't" not in lower and "never" not in lower:
        return False
    return _BARE.search(text) is not None or _BUT_NOT.match(text) is not None


def _turns(words: Sequence[Word], at: int) -> bool:
    """Whether a word denies what its clause says; "the unsupported cluster" denies nothing."""
    word = words[at]
    if word.lower in _denials():
        is_predicate = bool(at) and words[at - 1].lower in _BEING
        return is_predicate or at + 1 == len(words) or not words[at + 1].content
    # "Costs nothing", "without charge": what they deny is no deed. "Never" of a title is none.
    return is_negation(word) and word.lower not in _OF_A_NOUN and not _is_of_a_title(words, at)


def _is_of_a_title(words: Sequence[Word], at: int) -> bool:
    """Whether a word stands with a capital beside another: "Never Let Me Down"."""
    if at + 1 == len(words) or not words[at].written[0].isupper():
        return False
    return words[at + 1].written[0].isupper() and len(words[at + 1].written) > 1


@cache
def _denials() -> frozenset[str]:
    return word_set("denials")
