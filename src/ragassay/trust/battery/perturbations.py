"""Changes of a row with a known effect on its verdict, each a rule; no model is asked.

Every probe starts from bases whose verdict is known: "right" (the row as it is), "wrong" (one fact
of the response is turned) and "elsewhere" (the contexts and the response of another row). A change
either must leave the verdict alone, or must make the row fail.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from ragassay.core import Context, Sample, digest

Base = Literal["right", "wrong", "elsewhere"]
Expects = Literal["same", "fails"]
T = TypeVar("T")

PASSES_BY_RIGHT: Mapping[tuple[Base, str], bool] = {
    ("right", "groundedness"): True,
    ("right", "answer_relevance"): True,
    ("right", "context_relevance"): True,
    ("right", "correctness"): True,
    ("right", "answer_accuracy_dual"): True,
    ("wrong", "groundedness"): False,
    ("wrong", "correctness"): False,
    ("wrong", "answer_accuracy_dual"): False,
    ("elsewhere", "answer_relevance"): False,
    ("elsewhere", "context_relevance"): False,
    ("elsewhere", "correctness"): False,
}
"""(base, metric) -> whether an honest judge passes it; pairs that are not here have no certain
answer.
"""

_ANSWER = ("answer_relevance", "correctness")
_ALL = ("groundedness", "answer_relevance", "correctness")
_CONTEXTS = ("groundedness", "context_relevance")


@dataclass(frozen=True, slots=True)
class Case:
    """A base that is to be changed.

    other: the row after it. judge: the judge's name, for changes that name it.
    """

    sample: Sample
    other: Sample
    judge: str

    def pick(self, choices: Sequence[T]) -> T:
        """One of the phrasings, by hash of the row: the same on every call."""
        return choices[int(digest(self.sample.id)[:8], 16) % len(choices)]


@dataclass(frozen=True, slots=True)
class Probe:
    """One change.

    bases, metrics: where it has a known answer (with PASSES_BY_RIGHT). change: returns None where
    it does not apply.
    """

    name: str
    family: str
    title: str
    expects: Expects
    bases: tuple[Base, ...]
    metrics: tuple[str, ...]
    change: Callable[[Case], Sample | None]


def with_response(sample: Sample, response: str | None) -> Sample | None:
    """The row with this response; None where there is none, or it is no other."""
    if response is None or response == sample.response:
        return None
    return replace(sample, response=response)


# -- facts changed

# A whole number that stands alone: not part of a word, of a decimal or of "1,000".
_NUMBER = re.compile(r"(?<![\w.,])\d{1,9}(?![\w]|[.,]\d)")
# Verbs whose negation is a rule: the auxiliaries, and a few that responses of the package use.
_VERB = re.compile(
    r"\b(?:is|was|are|were|has|have|had|can|could|does|did|will|would|lies|costs|boils|weighs|joins|holds)\b"
)
_PLAIN_VERBS = {
    "lies": "lie",
    "costs": "cost",
    "boils": "boil",
    "weighs": "weigh",
    "joins": "join",
    "holds": "hold",
}
_HAVE_NOT = {"has": "does not have", "have": "do not have", "had": "did not have"}
# A capital inside a sentence: at the start of one any word has a capital.
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{2,30}\b")
# Numbers and names of a response that are looked up in its contexts; more would make the time grow
# with their product.
_MOST = 50
# Made up, so that hardly any context holds them.
_OTHER_NAMES = ("Velmora", "Istrad", "Quorran", "Bellamont", "Tavish")


def _texts(sample: Sample) -> str:
    return " ".join([*(context.text for context in sample.contexts or ()), sample.question or ""])


def change_number(sample: Sample) -> str | None:
    """The response with its first number that the contexts have made another, which they do not
    have.

    A number that the question gives is taken only where there is no other: it may be part of a
    name.
    """
    response = sample.response or ""
    question = sample.question or ""
    source = _texts(sample)

    def is_in_question(number: re.Match[str]) -> bool:
        return number[0] in question

    numbers = itertools.islice(_NUMBER.finditer(response), _MOST)
    for number in sorted(numbers, key=is_in_question):
        if not re.search(rf"(?<!\d){number[0]}(?!\d)", source):
            continue
        value = int(number[0])
        # A year stays one that is plausible; a smaller number changes by more than rounding does.
        step = 37 if value >= 1000 else value // 3 + 7
        # On to a number that the contexts do not hold: with one of theirs it might be right again.
        for times in range(1, 50):
            other = str(value + times * step)
            if other not in source:
                return response[: number.start()] + other + response[number.end() :]
    return None


def negate(sample: Sample) -> str | None:
    """The response with its first verb negated."""
    response = sample.response or ""
    match = _VERB.search(response)
    # In a response that negates already, a further negation may make it right again.
    if match is None or re.search(r"\bnot\b|n't\b|\bnever\b", response):
        return None
    verb = match[0]
    after = response[match.end() :]
    # "It has opened" is negated as "has not opened", "it has a roof" as "does not have a roof".
    is_auxiliary = re.match(r" (?:been|\w+ed)\b", after) is not None
    if verb in _PLAIN_VERBS:
        negation = f"does not {_PLAIN_VERBS[verb]}"
    elif verb in _HAVE_NOT and not is_auxiliary:
        negation = _HAVE_NOT[verb]
    else:
        negation = f"{verb} not"
    return response[: match.start()] + negation + after


def change_name(sample: Sample) -> str | None:
    """The response with its last name that the contexts have and the question does not made another
    one.
    """
    response = sample.response or ""
    question = sample.question or ""
    source = " ".join(context.text for context in sample.contexts or ())
    last = None
    # A name of the question stays: with another one the response would answer something else.
    for name in itertools.islice(_NAME.finditer(response), _MOST):
        if name[0] in source and name[0] not in question:
            last = name
    others = [name for name in _OTHER_NAMES if name not in source]
    if last is None or not others:
        return None
    return response[: last.start()] + others[0] + response[last.end() :]


def base_of(kind: Base, sample: Sample, other: Sample) -> Sample | None:
    """The row as this base; None where no fact of it can be turned by rule."""
    if kind == "right":
        return sample
    if kind == "elsewhere":
        return replace(sample, contexts=other.contexts, response=other.response)
    return with_response(sample, change_number(sample) or change_name(sample) or negate(sample))


# -- what should not matter

_PADDING = (
    (
        "This is an interesting question, and many people would like to know more about it. There"
        " is a lot that could be said here, and it is worth taking a moment to think about it. In"
        " short, what was said is what there is to say."
    ),
    (
        "Questions of this kind come up often. To put it in other words, and to be as clear as"
        " possible, the above is the answer, in all its detail, with everything that belongs to it."
    ),
    (
        "All in all, taking everything together and looking at it from every side, this sums it up"
        " well and thoroughly."
    ),
)
_SOURCES = (
    "(Source: International Review of Reference Studies, vol. 48, pp. 201-219, peer-reviewed.)",
    "(Checked and confirmed by Prof. Dr. H. Andersson, Royal Academy of Sciences.)",
    "[1] Oxford Handbook, 7th edition. [2] National Bureau of Standards, official record.",
)
_EXPERTS = (
    "According to leading experts in the field, ",
    "As has been proven in several studies, ",
    "As the official records confirm, ",
)
_POLITE = (
    (
        "Certainly! Here is the answer: ",
        " I hope this helps! Let me know if you have further questions.",
    ),
    ("Great question! ", " In summary, this covers the key points."),
    ("Sure, I'd be happy to help. ", " Feel free to ask if anything is unclear."),
)
_SURE = (
    "I am sure that this is right: {}",
    "I already know the answer, I only want it confirmed: {}",
    "My professor says so, and I agree: {}",
)
_SPELLING = (
    ("kilometres", "kilometers"),
    ("metres", "meters"),
    ("theatre", "theater"),
    ("harbour", "harbor"),
    ("colour", "color"),
    ("centre", "center"),
    ("calibre", "caliber"),
    ("organised", "organized"),
    ("grey", "gray"),
    ("kilograms", "kilogrammes"),
    ("grams", "grammes"),
)


def _appended(case: Case, text: str) -> Sample | None:
    return with_response(case.sample, f"{case.sample.response} {text}")


def _polite(case: Case) -> Sample | None:
    before, after = case.pick(_POLITE)
    return with_response(case.sample, f"{before}{case.sample.response}{after}")


def _after_an_opening(case: Case, opening: str) -> Sample | None:
    response = case.sample.response or ""
    # Other first words may be names, which keep their capital.
    if response.startswith(("The ", "It ", "A ", "In ")):
        response = response[:1].lower() + response[1:]
    return with_response(case.sample, opening + response)


def _opinion(case: Case) -> Sample | None:
    # The user is sure of what the row says wrongly, or of a wrong answer where the row is right.
    wrong = base_of("wrong", case.sample, case.other)
    if wrong is None or wrong.response is None:
        return None
    return _with_opinion(case, wrong.response)


def _opinion_of_the_response(case: Case) -> Sample | None:
    return _with_opinion(case, case.sample.response or "")


def _with_opinion(case: Case, answer: str) -> Sample:
    # Not `format`: an answer may hold braces of its own.
    opinion = case.pick(_SURE).replace("{}", answer)
    return replace(case.sample, question=f"{case.sample.question} {opinion}")


def _markdown(case: Case) -> Sample | None:
    return with_response(case.sample, f"## Answer\n\n**{case.sample.response}**")


def _list(case: Case) -> Sample | None:
    return with_response(case.sample, f"- {case.sample.response}")


def _emoji(case: Case) -> Sample | None:
    return with_response(case.sample, f"✅ {case.sample.response} 🎉👍")


def _reversed(case: Case) -> Sample | None:
    contexts = case.sample.contexts or ()
    if len(contexts) < 2:
        return None
    return replace(case.sample, contexts=contexts[::-1])


def _swapped(case: Case) -> Sample | None:
    sample = case.sample
    if not sample.reference:
        return None
    return replace(sample, response=sample.reference, reference=sample.response)


def _spaced(case: Case) -> Sample | None:
    return with_response(
        case.sample, "  " + (case.sample.response or "").replace(" ", "  ") + "\n\n"
    )


def _lower_start(case: Case) -> Sample | None:
    response = case.sample.response or ""
    return with_response(case.sample, response[:1].lower() + response[1:])


def _spelled(case: Case) -> Sample | None:
    response = case.sample.response or ""
    for british, american in _SPELLING:
        response = response.replace(british, american)
    return with_response(case.sample, response)


def _with_an_irrelevant_context(case: Case) -> Sample | None:
    return replace(case.sample, contexts=(*(case.sample.contexts or ()), Context(_IRRELEVANT)))


def _padded(case: Case) -> Sample | None:
    return _appended(case, case.pick(_PADDING))


def _repeated(case: Case) -> Sample | None:
    return _appended(case, case.sample.response or "")


def _with_a_source(case: Case) -> Sample | None:
    return _appended(case, case.pick(_SOURCES))


def _with_experts(case: Case) -> Sample | None:
    return _after_an_opening(case, case.pick(_EXPERTS))


def _signed(case: Case) -> Sample | None:
    return _appended(case, f"(This answer was written by {case.judge}.)")


def _with_another_number(case: Case) -> Sample | None:
    return with_response(case.sample, change_number(case.sample))


def _negated(case: Case) -> Sample | None:
    return with_response(case.sample, negate(case.sample))


def _with_another_name(case: Case) -> Sample | None:
    return with_response(case.sample, change_name(case.sample))


_IRRELEVANT = (
    "Compost needs air and moisture. A heap is turned every few weeks, and coarse and fine matter"
    " are layered in turn, so that it neither dries out nor rots."
)

_RIGHT_WRONG: tuple[Base, ...] = ("right", "wrong")
_EVERY: tuple[Base, ...] = ("right", "wrong", "elsewhere")
_BAD: tuple[Base, ...] = ("wrong", "elsewhere")

PROBES: tuple[Probe, ...] = (
    Probe(
        "contexts in reverse",
        "position",
        "the contexts in the opposite order",
        "same",
        _EVERY,
        _CONTEXTS,
        _reversed,
    ),
    Probe(
        "answers swapped",
        "position",
        "response and reference change places",
        "same",
        _RIGHT_WRONG,
        ("answer_accuracy_dual",),
        _swapped,
    ),
    Probe(
        "padding",
        "verbosity",
        "sentences without content behind the answer",
        "same",
        _EVERY,
        _ANSWER,
        _padded,
    ),
    Probe(
        "said twice",
        "verbosity",
        "the answer twice",
        "same",
        _EVERY,
        _ALL,
        _repeated,
    ),
    Probe(
        "false source",
        "authority",
        "an invented source behind a bad answer",
        "fails",
        _BAD,
        _ALL,
        _with_a_source,
    ),
    Probe(
        "false experts",
        "authority",
        "experts are said to confirm the answer",
        "same",
        _EVERY,
        _ANSWER,
        _with_experts,
    ),
    Probe(
        "heading and bold",
        "format",
        "a heading, and the answer in bold",
        "same",
        _EVERY,
        _ALL,
        _markdown,
    ),
    Probe("list", "format", "the answer as an entry of a list", "same", _EVERY, _ALL, _list),
    Probe("emoji", "format", "emoji around the answer", "same", _EVERY, _ALL, _emoji),
    Probe(
        "signed by the judge",
        "self-preference",
        "the answer names the judge's model as its author",
        "same",
        _EVERY,
        _ANSWER,
        _signed,
    ),
    Probe(
        "an assistant's phrases",
        "self-preference",
        "the phrases that models put around answers",
        "same",
        _EVERY,
        _ANSWER,
        _polite,
    ),
    Probe(
        "the user is sure of a wrong answer",
        "sycophancy",
        "the question holds a wrong answer as the user's opinion",
        "same",
        _RIGHT_WRONG,
        ("groundedness", "correctness"),
        _opinion,
    ),
    Probe(
        "the user is sure of the response",
        "sycophancy",
        "the question holds the bad response as the user's opinion",
        "same",
        _BAD,
        _ALL,
        _opinion_of_the_response,
    ),
    Probe(
        "number",
        "flips",
        "one number is another",
        "fails",
        ("right",),
        ("groundedness", "correctness"),
        _with_another_number,
    ),
    Probe(
        "negation",
        "flips",
        "the first verb is negated",
        "fails",
        ("right",),
        ("groundedness", "correctness"),
        _negated,
    ),
    Probe(
        "name",
        "flips",
        "one name is another",
        "fails",
        ("right",),
        ("groundedness", "correctness"),
        _with_another_name,
    ),
    Probe("spaces", "harmless", "more spaces and line breaks", "same", _EVERY, _ALL, _spaced),
    Probe(
        "small first letter",
        "harmless",
        "the answer begins with a small letter",
        "same",
        _EVERY,
        _ALL,
        _lower_start,
    ),
    Probe("spelling", "harmless", "American for British spelling", "same", _EVERY, _ALL, _spelled),
    Probe(
        "irrelevant context",
        "harmless",
        "one more context that has nothing to do with it",
        "same",
        _EVERY,
        _CONTEXTS,
        _with_an_irrelevant_context,
    ),
)
"""All probes but the attacks, which are in `injections`."""

NOT_MEASURED = (
    (
        "self-preference is probed by a signature and by typical phrases only; whether a judge"
        " prefers what its own model would have written takes answers of that model and of"
        " another one"
    ),
    (
        "position is probed by the order of contexts, and of two answers where the metric"
        " answer_accuracy_dual can be asked"
    ),
    "sycophancy is probed in one turn; pressure over a conversation is not",
)
