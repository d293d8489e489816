"""Whether an answer that is not right is one in part: what it says holds, and something is missing.

No judge is asked for it. The chunks support every claim. Where claims were compared with the
reference, it states them all and lacks a statement. Else the chunks that support the claims are
those that support the reference, so that neither denies the other, and the words agree: every
figure of the answer stands in the reference or the question, and so does most of what it adds to
the question; and it lacks a good part of the reference, for one that has nearly all of its words is
no part, but another answer.
"""

from __future__ import annotations

import re

from ragassay.core import Sample, Score, Shown
from ragassay.diagnosis.chunks import sources_of
from ragassay.diagnosis.evidence import quoted
from ragassay.diagnosis.facts import facts_of, supports_reference
from ragassay.diagnosis.row import ABSTENTION, Row

_WORD = re.compile(r"\w+(?:[.,:]\d+)*")
_LEAST_LETTERS = 3
"""A shorter word, unless it is a number, tells nothing of what a text is about."""
_NUMBERS = re.compile(
    r"one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|forty"
    r"|fifty|sixty|seventy|eighty|ninety|hundred|thousand|once|twice|half|first|second|third"
)
_MOST_OF_A_PART = 2 / 3
"""Of what the reference adds to the question, a part has no larger share."""


def states_a_part(row: Row) -> str:
    """What shows that the answer is right in part, "" where it may be wrong."""
    facts = facts_of(row)
    if "grounded" not in facts or "answer_beside" in facts:
        return ""
    compared = row.showing(Shown.TRUE_CLAIMS)
    if any("precision" in score.extra for score in compared):
        are_true = all(score.extra.get("precision", 1.0) == 1 for score in compared)
        return facts.get("statements_missing", "") if are_true else ""
    reference = row.sample.reference or ""
    if not (_from_chunks_of_the_reference(row) and _agrees_in_words(row.sample, reference)):
        return ""
    return f"the reference states {quoted(reference)}"


def _from_chunks_of_the_reference(row: Row) -> bool:
    """Whether each claim is supported by a chunk that supports the reference, too."""
    claims = row.showing(Shown.SUPPORTED_CLAIMS)
    if not supports_reference(row) or not claims:
        return False
    of_reference: set[int] = set()
    for score in row.showing(Shown.REFERENCE_SUPPORTED):
        of_reference.update(*_sources(score, "statement"))
    of_claims = _sources(claims[0], "claim")
    return bool(of_claims) and all(not of_reference.isdisjoint(each) for each in of_claims)


def _sources(score: Score, kind: str) -> list[tuple[int, ...]]:
    """The chunks that support each part of this kind."""
    parts = [part for part in score.parts if part.kind == kind and part.passed is not None]
    return [sources_of(part) for part in parts if ABSTENTION not in part.flags]


def _agrees_in_words(sample: Sample, reference: str) -> bool:
    """Whether what the answer adds to the question is mostly the reference's, its figures all, and
    much of the reference is missing.
    """
    asked = set(_words(sample.question or ""))
    added = set(_words(sample.response or "")) - asked
    stated = set(_words(reference)) - asked
    shared = added & stated
    figures = {word for word in added if word[0].isdigit() or _NUMBERS.fullmatch(word)}
    is_less = len(shared) <= _MOST_OF_A_PART * len(stated)
    return figures <= stated and 2 * len(shared) > len(added) and is_less


def _words(text: str) -> list[str]:
    """Its words in small letters and its numbers, without the shortest words."""
    words = [word.lower() for word in _WORD.findall(text)]
    return [word for word in words if len(word) >= _LEAST_LETTERS or word[0].isdigit()]
