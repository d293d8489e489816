"""The gates on a question and its evidence: the quote, the answer in it, and each hop's need."""

from __future__ import annotations

import re

from ragassay.models.offline.facts.dates import dates
from ragassay.models.offline.facts.quantities import quantities
from ragassay.testsets.corpus import Corpus
from ragassay.testsets.gates.answers import holds
from ragassay.testsets.values import (
    BRIDGE,
    COMPARE,
    COUNTERFACTUAL,
    FALSE_PREMISE,
    REASONING,
    GateVerdict,
    Question,
)
from ragassay.testsets.words import stems

QUOTE, ANSWER, HOPS = "quote in the source", "answerable from the evidence", "each hop needed"

COMPUTED = (REASONING, COUNTERFACTUAL)
"""Types whose answer is worked out from the evidence, and stands in it only in parts."""

_SUM = re.compile(r"(-?\d[\d,.]*)\s*([+*/×-])\s*(-?\d[\d,.]*)\s*=\s*(-?\d[\d,.]*)")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_ABOUT = 0.25
"""Share of the question's words, by rarity, that its documents have to hold: questions in other
words share few.
"""


def quote_gate(question: Question, corpus: Corpus) -> GateVerdict:
    """Whether each quote stands in its document, at its place."""
    if not question.evidence:
        if question.answerable:
            return GateVerdict(QUOTE, False, "no evidence is quoted")
        return GateVerdict(QUOTE, None, "unanswerable: nothing is quoted")
    for evidence in question.evidence:
        if evidence.document not in corpus.numbers:
            return GateVerdict(QUOTE, False, f"there is no document {evidence.document!r}")
        text = corpus.text_of(evidence.document)
        if not evidence.quote or text[evidence.start : evidence.end] != evidence.quote:
            return GateVerdict(QUOTE, False, f"the quote is not in {evidence.document}")
    return GateVerdict(QUOTE, True, f"{len(question.evidence)} quotes, each at its place")


def answer_gate(question: Question) -> GateVerdict:
    """Whether the evidence gives the answer: it stands there, or is worked out from what does."""
    if not question.answerable:
        return GateVerdict(ANSWER, None, "unanswerable")
    quotes = "\n".join(evidence.quote for evidence in question.evidence)
    sums = [_SUM.search(step) for step in question.steps]
    found = [match for match in sums if match]
    if found:
        return _computed(question, quotes, found)
    if question.type in (COMPARE, FALSE_PREMISE, REASONING):
        is_there = _facts_held(question, quotes)
        why = "every number of the steps" if is_there else "a number of the steps is not"
        return GateVerdict(ANSWER, is_there, f"{why} in the evidence")
    unfit = _unfit(question)
    if unfit:
        return GateVerdict(ANSWER, False, unfit)
    if not holds(quotes, question.reference):
        return GateVerdict(ANSWER, False, "the evidence does not hold the answer")
    return GateVerdict(ANSWER, True, "the evidence holds the answer")


_WHEN = re.compile(r"(?i)\bwhen\s+(?:was|were|did|is|does|will)\b|\b(?:which|what) (?:year|date)\b")
_COUNT = re.compile(r"(?i)\bhow (?:many|much|old|long|tall|far)\b")


def _unfit(question: Question) -> str:
    """Why an answer cannot be one to such a question: a date or a number is asked for, and it is
    none; "" where it may be one.
    """
    answer = question.reference
    if _WHEN.search(question.question) and not (dates(answer) or _NUMBER.search(answer)):
        return "a date is asked for, and the answer is none"
    if _COUNT.search(question.question) and not (quantities(answer) or dates(answer)):
        return "a number is asked for, and the answer is none"
    return ""


def about_gate(question: Question, corpus: Corpus) -> GateVerdict:
    """Whether the evidence is about what is asked for: its documents hold a quarter of the words
    of the question, weighted by rarity.
    """
    name = "evidence on the question"
    if not question.evidence or question.history:
        return GateVerdict(name, None, "not applicable")
    search = corpus.search
    known: set[str] = set()
    for document in question.documents:
        if document in corpus.numbers:
            for passage in corpus.of_document(corpus.numbers[document]):
                known.update(stems(f"{passage.title} {passage.text}"))
    names = [word for word in set(stems(question.question)) if word in search.numbers]
    total = sum(float(search.idf[search.numbers[word]]) for word in names)
    held = sum(float(search.idf[search.numbers[word]]) for word in names if word in known)
    share = held / total if total else 0.0
    return GateVerdict(name, share >= _ABOUT, f"{share:.0%} of its words, by rarity")


def _computed(question: Question, quotes: str, sums: list[re.Match[str]]) -> GateVerdict:
    """The verdict on an answer that steps work out."""
    known = {_value(text) for text in _NUMBER.findall(f"{quotes} {question.question}")}
    result = 0.0
    for match in sums:
        left, sign, right, result = _value(match[1]), match[2], _value(match[3]), _value(match[4])
        if not {left, right} <= known:
            return GateVerdict(ANSWER, False, f"a number of {match[0]!r} stands nowhere")
        if abs(_calculated(left, sign, right) - result) > 1e-6 * max(1.0, abs(result)):
            return GateVerdict(ANSWER, False, f"{match[0]!r} is not right")
        known.add(result)
    if result not in {_value(text) for text in _NUMBER.findall(question.reference)}:
        return GateVerdict(ANSWER, False, "the answer is not what the steps come to")
    return GateVerdict(ANSWER, True, f"worked out: {sums[-1][0]}")


def _calculated(left: float, sign: str, right: float) -> float:
    if sign == "+":
        return left + right
    if sign == "-":
        return left - right
    if sign == "/":
        return left / right if right else float("inf")
    return left * right


def _value(text: str) -> float:
    try:
        return float(text.replace(",", "").rstrip("."))
    except ValueError:
        return float("nan")


def _facts_held(question: Question, quotes: str) -> bool:
    """Whether each number of the answer stands in the evidence or in the question, and the answer
    shares its words with the evidence.
    """
    known = {_value(text) for text in _NUMBER.findall(f"{quotes} {question.question}")}
    numbers = {_value(text) for text in _NUMBER.findall(question.reference)}
    shared = set(stems(question.reference)) & set(stems(quotes))
    return numbers <= known and bool(shared)


def hops_gate(question: Question) -> GateVerdict:
    """Whether each quote of a question over several is needed for its answer."""
    if question.type not in (BRIDGE, COMPARE, REASONING) or not question.answerable:
        return GateVerdict(HOPS, None, "one hop")
    if len(question.evidence) < 2:
        return GateVerdict(HOPS, False, "one quote for several hops")
    for left_out in question.evidence:
        others = [evidence.quote for evidence in question.evidence if evidence is not left_out]
        if not _is_needed(question, left_out.quote, " ".join(others)):
            return GateVerdict(HOPS, False, "one quote says nothing that the others do not")
    return GateVerdict(HOPS, True, "each quote gives a fact of its own")


def _is_needed(question: Question, quote: str, others: str) -> bool:
    """Whether a quote gives something that the others do not: a part of the answer, or of a chain
    what the question says of its link.
    """
    if question.type == BRIDGE:
        if not holds(others, question.reference):
            return True
        own = set(stems(quote)) - set(stems(others))
        return bool(own & set(stems(question.question)))
    if set(_NUMBER.findall(quote)) - set(_NUMBER.findall(others)):
        return True
    return not set(stems(quote)) <= set(stems(others))
