"""The gates on a question and the rest of the corpus: is its answer the only one, or is an
unanswerable one answered somewhere.
"""

from __future__ import annotations

from itertools import chain

from ragassay.core.boundaries import boundaries
from ragassay.testsets.corpus import Corpus
from ragassay.testsets.gates.answers import holds
from ragassay.testsets.values import FALSE_PREMISE, SIMPLE, GateVerdict, Question
from ragassay.testsets.words import content, stem

UNIQUE, NOWHERE = "the only answer in the corpus", "answered nowhere"

TOP = 5
"""Passages that are looked at, the best by their words."""

_ALL = 0.999
_EXPLANATION = 12
"""Words of an answer above which it explains something."""

_MOST_HELD = 0.85
"""Share of the words of an unanswerable question, by rarity, that one passage may hold."""


def unique_gate(question: Question, corpus: Corpus) -> GateVerdict:
    """Whether no passage of another document speaks of all that is asked and gives another
    answer.
    """
    if question.type not in (SIMPLE, FALSE_PREMISE) or not question.answerable:
        return GateVerdict(UNIQUE, None, "not applicable to this type")
    own = set(question.documents)
    also: list[str] = []
    for place in corpus.search.best(question.question, TOP + len(own)):
        passage = corpus.passages[place]
        text = f"{passage.title} {passage.text}"
        if passage.document in own or _speaks_of(question, text, corpus) < _ALL:
            continue
        if not holds(text, question.reference):
            return GateVerdict(UNIQUE, False, f"{passage.document} may answer it otherwise")
        also.append(passage.document)
    if also:
        return GateVerdict(UNIQUE, True, f"the same answer stands in {', '.join(also)}")
    return GateVerdict(UNIQUE, True, f"none of the {TOP} nearest passages speaks of all of it")


def _speaks_of(question: Question, text: str, corpus: Corpus) -> float:
    """Share of a question's words that a passage holds; of one that is answered by an explanation,
    that one line or sentence of it holds: a page may have all its words, each in another place.
    """
    if len(question.reference.split()) <= _EXPLANATION:
        return held_by(question.question, text, corpus)
    sentences = [text[start:end] for start, end in boundaries(text)]
    lines = chain.from_iterable(map(str.splitlines, sentences))
    return max((held_by(question.question, line, corpus) for line in lines), default=0.0)


def nowhere_gate(question: Question, corpus: Corpus) -> GateVerdict:
    """Whether no passage speaks of nearly all that an unanswerable question asks."""
    if question.answerable:
        return GateVerdict(NOWHERE, None, "answerable")
    most, where = 0.0, ""
    for place in corpus.search.best(question.question, TOP):
        passage = corpus.passages[place]
        share = held_by(question.question, f"{passage.title} {passage.text}", corpus)
        if share > most:
            most, where = share, passage.document
    if most > _MOST_HELD:
        return GateVerdict(NOWHERE, False, f"{where} holds {most:.0%} of its words, by rarity")
    return GateVerdict(NOWHERE, True, f"at most {most:.0%} of its words stand in one passage")


def held_by(question: str, text: str, corpus: Corpus) -> float:
    """Share of a question's words that a text holds, weighted by rarity; words that the corpus
    does not have weigh most.
    """
    search = corpus.search
    rarest = float(search.idf.max()) if len(search.idf) else 1.0
    weights = {}
    for word in map(stem, content(question)):
        number = search.numbers.get(word)
        weights[word] = rarest if number is None else float(search.idf[number])
    known = {stem(word) for word in content(text)}
    total = sum(weights.values())
    held = sum(weight for word, weight in weights.items() if word in known)
    return held / total if total else 0.0
