"""Control items: items with a known answer, planted among those that are asked.

One must pass: a sentence of the contexts word for word, or the truth itself where an answer is held
against it. One must fail: a made-up statement about names that stand nowhere in the data. A judge
that was talked into rating everything alike, high or low, gets one of the two wrong, and its call
is void. Where each stands among the items, and which it is, follows from a hash; its id is made as
every other id is.

What this does not catch: a judge talked into a wrong verdict on one item only. Nothing is known
that must be relevant to any question, so that among passages and answers to a question only the
item that must fail is planted: a judge talked into rating those too low is not found out.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ragassay.core import Request, SetupError, digest, nearest
from ragassay.judges.llm.attack_signs import any_suspicious, suspicious
from ragassay.judges.text_rules.sentences import sentences

Controls = Literal["auto", "always", "off"]
CONTROLS: tuple[Controls, ...] = ("auto", "always", "off")
"""When they are planted: where the data of a call holds something suspicious, in every call, or
never.
"""

VERSION = 2
"""Raised when other claims are planted, or at other times: judgments made under the old ones are
then not reused.
"""

# Rubrics with items of a known answer -> the input that holds what must pass; "" where nothing
# must.
PLANTED: Mapping[str, str] = {
    "groundedness": "contexts",
    "claim_sources": "contexts",
    "response_groundedness_dual_1": "contexts",
    "response_groundedness_dual_2": "contexts",
    "entailment": "text",
    "correctness": "statements",
    "correctness_3": "statements",
    "answer_accuracy_dual_1": "other",
    "answer_accuracy_dual_2": "other",
    "context_relevance": "",
    "chunk_relevance": "",
    "answer_relevance": "",
    "answer_relevance_5": "",
}
# Inputs that are the truth as a whole: repeated in full, it is right. From others one sentence is
# taken.
_WHOLE = frozenset({"statements", "other"})
_MOST_WHOLE = 1_000
_READ = 20_000  # characters of a context in which a sentence is looked for
_LEAST_WORDS, _MOST_WORDS, _MOST_CHARS = 5, 45, 400
# A sentence that asks, is in the first person or says that something is not known may be rated
# otherwise, and rightly.
_NOT_PLAIN = frozenset(
    {
        "i",
        "we",
        "you",
        "my",
        "our",
        "your",
        "this",
        "these",
        "that",
        "those",
        "it",
        "they",
        "he",
        "she",
        "not",
        "no",
        "cannot",
        "unknown",
        "unclear",
        "ich",
        "wir",
        "je",
        "nous",
        "yo",
    }
)

_SYLLABLES = (
    "bar",
    "bel",
    "cor",
    "dal",
    "dren",
    "fal",
    "gor",
    "hel",
    "jas",
    "kel",
    "lor",
    "mar",
    "nev",
    "or",
    "pel",
    "quen",
    "ras",
    "sel",
    "tor",
    "ul",
    "vas",
    "wen",
    "yor",
    "zel",
)
_ENDS = ("a", "an", "by", "eth", "ia", "in", "is", "o", "on", "um")
_MADE_UP = (
    "{0} was founded in {1} by the {2} family.",
    "The {0} bridge near {2} carries about {1} vehicles a day.",
    "In {1}, {0} became the first head of the {2} council.",
    "The museum of {0} keeps {1} letters by the painter {2}.",
    "{0} and {2} signed their trade agreement in {1}.",
    "About {1} people live in {0}, most of them near lake {2}.",
    "The {0} prize of {1} went to the chemist {2}.",
    "The railway from {0} to {2} was closed in {1}.",
    "{0} bought the factory in {2} for {1} crowns.",
    "The observatory at {0} has {1} mirrors, made in {2}.",
    "Only {1} copies of the {0} atlas were printed in {2}.",
    "The harbour of {0} was moved to {2} after the flood of {1}.",
)


@dataclass(frozen=True, slots=True)
class Control:
    """A planted item. passes: an honest judge's verdict on it. at: before which item it stands."""

    text: str
    passes: bool
    at: int


@dataclass(frozen=True, slots=True)
class Planted:
    """What is planted in one call. passage: a text that is added behind the contexts, where none of
    them holds a sentence that could serve; "" nearly always.
    """

    controls: tuple[Control, ...] = ()
    passage: str = ""


def check_controls(value: str) -> Controls:
    """The option, if it is one. Raises SetupError E0101."""
    for option in CONTROLS:
        if value == option:
            return option
    raise SetupError(
        "E0101",
        f"controls is one of {', '.join(CONTROLS)}, not {value!r}.{nearest(str(value), CONTROLS)}",
        where="--controls",
        fix="use --controls auto (where a text looks like an attack), always, or off",
    )


def plant(
    when: Controls, rubric: str, item: str, requests: Sequence[Request], seed: object
) -> Planted:
    """The controls of one call that asks these Requests of one group; none where they are off.

    seed: what makes them differ from those of another call (JSON-like). The same arguments give the
    same controls.
    """
    if when == "off" or rubric not in PLANTED:
        return Planted()
    shared: list[str] = []
    for name in requests[0].inputs:
        if name != item:
            shared += requests[0].texts(name)
    asked = [request.text(item) for request in requests]
    if when == "auto" and not any_suspicious([*shared, *asked]):
        return Planted()
    dice = random.Random(digest("control", seed, shared, asked))
    # The draws are in a fixed order: the same seed must plant the same controls, also in a resume.
    made_up, names = _made_up(dice, [*shared, *asked])
    controls = [Control(made_up, False, dice.randint(0, len(asked)))]
    source = PLANTED[rubric]
    passage = ""
    if source:
        texts = requests[0].texts(source)
        plain = _whole(texts, asked) if source in _WHOLE else _plain(dice, texts, asked)
        if not plain and source == "contexts":
            plain, _ = _made_up(dice, [*shared, *asked, *names])
            passage = plain
        if plain:
            controls.insert(dice.randint(0, 1), Control(plain, True, dice.randint(0, len(asked))))
    return Planted(tuple(controls), passage)


def _made_up(dice: random.Random, texts: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """A statement about two names that no text holds, and the names."""
    everything = "\n".join(texts).casefold()
    names: list[str] = []
    while len(names) < 2:
        # The order of the draws is part of the result: the same seed must make the same names.
        syllables = [dice.choice(_SYLLABLES) for _ in range(2 + len(names) // 4)]
        name = "".join(syllables) + dice.choice(_ENDS)
        if name not in everything and name.capitalize() not in names:
            names.append(name.capitalize())
        elif dice.random() < 0.05:  # a text that holds them all: longer ones are made
            names = [name.capitalize() + str(dice.randint(10, 99)), *names][:2]
    year = str(dice.randint(1612, 1987))
    text = dice.choice(_MADE_UP)
    for place, word in (("{0}", names[0]), ("{1}", year), ("{2}", names[1])):
        text = text.replace(place, word)
    return text, tuple(names)


def _whole(texts: Sequence[str], asked: Sequence[str]) -> str:
    """All of the truth; "" where it is long, asked already, or looks like an attack itself."""
    truth = " ".join(text.strip() for text in texts)
    if len(truth) > _MOST_WHOLE or truth in asked or suspicious(truth):
        return ""
    return truth


def _plain(dice: random.Random, texts: Sequence[str], asked: Sequence[str]) -> str:
    """A sentence of the texts that states something and looks harmless, chosen by the dice; ""
    where there is none.
    """
    order = list(range(len(texts)))
    dice.shuffle(order)
    # A clean text first: a sentence beside an attack may be part of it.
    order.sort(key=lambda at: suspicious(texts[at][:_READ]))
    for at in order:
        text = texts[at][:_READ]
        candidates = [text[start:end] for start, end in sentences(text)]
        usable = [
            sentence
            for sentence in candidates
            if _is_plain_statement(sentence) and sentence not in asked
        ]
        if usable:
            return dice.choice(usable)
    return ""


def _is_plain_statement(sentence: str) -> bool:
    """Whether an honest judge must accept the sentence: it states something on its own."""
    if len(sentence) > _MOST_CHARS or "\n" in sentence:
        return False
    # Headings, list items and questions are no statements.
    if not sentence.endswith((".", "。")) or not sentence[0].isalnum():
        return False
    words = sentence.casefold().rstrip(".").replace(",", " ").replace("n't", " not").split()
    if not _LEAST_WORDS <= len(words) <= _MOST_WORDS:
        return False
    return _NOT_PLAIN.isdisjoint(words) and not suspicious(sentence)
