"""A sentence of the claim that repeats one of the passages with another name in it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import product

from ragassay.models.offline.facts.clauses import Word
from ragassay.models.offline.facts.finding import CONFLICT, Finding, Place
from ragassay.models.offline.facts.names import same_word
from ragassay.models.offline.facts.text_facts import TextFacts

_LEAST_SHARED = 3
"""Content words that the two sentences have in common, in one order."""

_LEAST_SHARE = 0.6
"""Of the content words of the claim's sentence."""

_LONGEST, _LONGEST_THERE = 3, 4
"""Content words of a name here and in the passages."""

_MOST_WORDS = 60
"""Content words of a sentence that is compared; a longer one is a list."""


def replaced_names(
    claim: TextFacts, passages: Sequence[TextFacts], capitals: Collection[str]
) -> list[Finding]:
    """Names of the claim that stand in the place of others of the passages. capitals: the words
    that are names.
    """
    found: list[Finding] = []
    for mine in claim.content_by_sentence.values():
        nearest = _nearest(mine, passages)
        if nearest is None:
            continue
        number, other = nearest
        passage = passages[number]
        for here, there in _replaced(mine, other):
            if _is_other_name(here, there, capitals):
                start, end = here[0].start, here[-1].end
                low, high = there[0].start, there[-1].end
                place = Place(number, *passage.sentence(low))
                said, says = claim.reading.text[start:end], passage.reading.text[low:high]
                found.append(Finding("name", CONFLICT, start, end, said, says, place, 1.0))
    return found


def _nearest(
    mine: Sequence[Word], passages: Sequence[TextFacts]
) -> tuple[int, Sequence[Word]] | None:
    """The sentence of the passages that shares most words, the shortest of several, and the number
    of its passage; None where none shares enough, or where it is too short or too long.
    """
    if not _is_compared(mine):
        return None
    stems = {word.stem for word in mine}
    best: tuple[int, int] = (0, 0)
    nearest: tuple[int, Sequence[Word]] | None = None
    for number, passage in enumerate(passages):
        for words, there in passage.once(_compared):
            shared = len(stems & there)
            if shared < max(_LEAST_SHARED, _LEAST_SHARE * len(stems)):
                continue
            if (shared, -len(words)) > best or nearest is None:
                best, nearest = (shared, -len(words)), (number, words)
    return nearest


def _compared(text: TextFacts) -> Sequence[tuple[Sequence[Word], frozenset[str]]]:
    """The content words of the sentences that are compared, and the stems of each."""
    found: list[tuple[Sequence[Word], frozenset[str]]] = []
    for words in text.content_by_sentence.values():
        if _is_compared(words):
            found.append((words, frozenset(word.stem for word in words)))
    return found


def _is_compared(words: Sequence[Word]) -> bool:
    return _LEAST_SHARED <= len(words) <= _MOST_WORDS


def _replaced(
    mine: Sequence[Word], other: Sequence[Word]
) -> Iterator[tuple[Sequence[Word], Sequence[Word]]]:
    """The stretches of the first sentence that are others in the second, of words that its whole
    does not have; none where the two are not told alike.
    """
    here, there = [word.stem for word in mine], [word.stem for word in other]
    steps = SequenceMatcher(None, here, there, autojunk=False).get_opcodes()
    kept = sum(end - start for tag, start, end, _, _ in steps if tag == "equal")
    if kept < max(_LEAST_SHARED, _LEAST_SHARE * len(here)):
        return
    for tag, start, end, low, high in steps:
        if tag != "replace" or end - start > _LONGEST or high - low > _LONGEST_THERE:
            continue
        if set(here[start:end]).isdisjoint(there) and set(there[low:high]).isdisjoint(here):
            yield mine[start:end], other[low:high]


def _is_other_name(here: Sequence[Word], there: Sequence[Word], capitals: Collection[str]) -> bool:
    """Whether two stretches are names of two things."""
    if any(word.written[0].isdigit() for word in (*here, *there)):
        return False
    if not all(word.lower in capitals and word.written[0].isupper() for word in here):
        return False
    if not any(word.lower in capitals for word in there):
        return False
    if any(same_word(mine.lower, theirs.lower) for mine, theirs in product(here, there)):
        return False
    return not same_word(_in_one(here), _in_one(there))


def _in_one(words: Sequence[Word]) -> str:
    """The words as one: "Southeast" is "South East"."""
    return "".join(word.lower for word in words)
