"""A scripted writer, the same for every generator: what it makes of the passages that it is shown.

One rule makes each question: of a sentence it takes the first year, number or name, and puts
"which year", "which number" or "which name" at its place. The reader, the critic and the rest know
the rule, so that they are right about such questions, whoever asks. Of the replies that write a new
question one in ten asks what was asked of that passage first, one in ten is too general; of those
that write an answer one in ten holds what stands nowhere. All is drawn from a hash of the prompt.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

REPEATED, GENERAL, WRONG = 0.1, 0.1, 0.1
"""Shares of replies with a flaw: the passage's first question once more, too general, wrong."""

TOO_GENERAL = "What does the text say about the subject?"
NO_ANSWER = "The context does not tell."
STRANGER = "Ada Winterbourne"

_SENTENCE = re.compile(r"[^\s].*?(?:[.!?](?=\s)|$)", re.S)
_YEAR = re.compile(r"\b(?:1[0-9]|20)\d\d\b")
_NUMBER = re.compile(r"\b\d[\d,]*\d\b|\b\d\b")
_NAME = re.compile(r"\b[A-Z][\w'’-]+(?: (?:of |the |de )?[A-Z][\w'’-]+)*")
_WORD = re.compile(r"[a-z0-9]+")
_ASKED = re.compile(r"\bwhich (?:year|number|name)\b")
_KINDS = ((_YEAR, "which year"), (_NUMBER, "which number"), (_NAME, "which name"))
_BEFORE, _AFTER = 9, 4
"""Words of the sentence that a question keeps before and after the answer's place."""

_FEWEST, _MOST = 6, 60
"""Words of a sentence that is asked about."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A sentence with what can be asked of it. core: the question without its subject."""

    sentence: str
    subject: str
    core: str
    answer: str

    @property
    def question(self) -> str:
        """The whole question."""
        return f"{self.subject}: {self.core}?"


def draw(prompt: str, salt: str) -> float:
    """A number in [0, 1) that the prompt alone decides."""
    found = hashlib.sha256(f"{salt}\0{prompt}".encode()).digest()
    return int.from_bytes(found[:6], "big") / 2**48


def plain(text: str) -> str:
    """The words of a text in small letters."""
    return " ".join(_WORD.findall(text.lower()))


def tidy(text: str) -> str:
    """A text on one line, with plain quotes and without blanks before its marks."""
    text = text.replace("``", '"').replace("''", '"')
    return re.sub(r"\s+([,.;:?!)%])", r"\1", " ".join(text.split()))


def parts(text: str) -> tuple[str, list[str]]:
    """The subject of a passage, which is its first line where that is a title, and its
    sentences.
    """
    text = re.sub(r"^\s*<\d+-hop>\s*", "", text.strip())
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    subject = lines[0].lstrip("# ") if len(lines) > 1 else ""
    if len(subject.split()) > 15 or subject.endswith("."):
        subject = ""
    body = [line for line in lines if not subject or line.lstrip("# ") != subject]
    sentences: list[str] = []
    for line in body:
        sentences += [match[0].strip() for match in _SENTENCE.finditer(line)]
    if not subject:
        names = [name for _, name in _names(" ".join(sentences))]
        subject = max(names, key=len, default="The first")
    return subject, sentences


def facts(passage: str) -> list[Fact]:
    """What can be asked of a passage: at most one question a sentence, in their order."""
    subject, sentences = parts(passage)
    found: dict[str, Fact] = {}
    for sentence in sentences:
        if _FEWEST <= len(sentence.split()) <= _MOST:
            fact = _fact(sentence, subject)
            if fact is not None:
                found.setdefault(fact.core, fact)
    return list(found.values())


def _names(text: str) -> list[tuple[int, str]]:
    """Names, with their places. A single word that opens a sentence need not be one."""
    return [
        (match.start(), match[0])
        for match in _NAME.finditer(text)
        if match.start() > 0 or " " in match[0]
    ]


def _fact(sentence: str, subject: str) -> Fact | None:
    for pattern, asking in _KINDS:
        for match in pattern.finditer(sentence):
            if pattern is _NAME and match.start() == 0:
                continue
            if set(plain(match[0]).split()) <= set(plain(subject).split()):
                continue
            before = _clause(sentence[: match.start()], is_before=True)
            after = _clause(sentence[match.end() :], is_before=False)
            core = tidy(f"{before} {asking} {after}")
            if plain(match[0]) not in plain(core) and len(core.split()) > 4:
                return Fact(sentence, subject, core, match[0])
    return None


def _clause(text: str, *, is_before: bool) -> str:
    """The words next to the answer, up to a mark."""
    if is_before:
        near = re.split(r"[,;:.!?]\s", text)[-1].split()
        words = (near if len(near) > 3 else text.split())[-_BEFORE:]
    else:
        words = re.split(r"\s?[,;:.!?]", text)[0].split()[:_AFTER]
    return " ".join(words)


def new_questions(
    prompt: str,
    passages: Sequence[str],
    count: int = 1,
    known: Iterable[str] = (),
    about: Iterable[str] = (),
) -> list[tuple[str, list[Fact]]]:
    """Questions on the passages, each with the facts that it asks for: one of each passage.

    known: questions that are not to be asked again; about: words that they are to be about. Both
    are obeyed where it can be.
    """
    asked = set(map(plain, known))
    wanted = [plain(word) for word in about]
    by_passage = [found for found in map(facts, passages) if found]
    made: list[tuple[str, list[Fact]]] = []
    for number in range(count):
        flaw = draw(prompt, f"flaw {number}")
        if not by_passage or flaw < GENERAL:
            made.append((TOO_GENERAL, []))
            continue
        if flaw < GENERAL + REPEATED:
            chosen = [found[0] for found in by_passage]
        else:
            chosen = [_choice(prompt, number, found, asked, wanted) for found in by_passage]
        made.append((joined(chosen), chosen))
    unique: dict[str, list[Fact]] = {}
    for question, chosen in made:
        unique.setdefault(question, chosen)
    return list(unique.items())


def _choice(
    prompt: str, number: int, found: list[Fact], asked: set[str], wanted: list[str]
) -> Fact:
    """The next fact, from a place that the prompt decides."""
    start = int(draw(prompt, "place") * len(found)) + number
    turned = [found[(start + step) % len(found)] for step in range(len(found))]
    fresh = [fact for fact in turned if not _is_asked(fact, asked)]
    fitting = [fact for fact in fresh if _is_about(fact, wanted)]
    return (fitting or fresh or turned)[0]


def _is_asked(fact: Fact, asked: set[str]) -> bool:
    return any(plain(fact.core) in text for text in asked)


def _is_about(fact: Fact, wanted: list[str]) -> bool:
    return any(word in plain(fact.sentence) for word in wanted if word)


def joined(chosen: Sequence[Fact]) -> str:
    """One question for several facts."""
    return ", and ".join(fact.question.rstrip("?") for fact in chosen) + "?"


def evolved(prompt: str, question: str, passages: Sequence[str]) -> str:
    """A question made harder: another fact of the passages is asked for, too."""
    rest: list[Fact] = []
    for passage in passages:
        rest += [fact for fact in facts(passage) if plain(fact.core) not in plain(question)]
    if not rest:
        return question
    fact = rest[int(draw(prompt, "place") * len(rest))]
    return f"{question.rstrip('?.')}, and {fact.core}?"


def answer(question: str, passages: Sequence[str]) -> tuple[str, list[str]]:
    """What a reader finds in the passages: the answer and its sentences, or NO_ANSWER and none."""
    if plain(question) == plain(TOO_GENERAL) and passages:
        sentence = next(iter(parts(passages[0])[1]), "")
        return (sentence, [sentence]) if sentence else (NO_ANSWER, [])
    found: dict[int, Fact] = {}
    for passage in passages:
        for fact in facts(passage):
            place = plain(question).find(plain(fact.core))
            if place >= 0:
                found.setdefault(place, fact)
    if not found or len(found) < len(_ASKED.findall(question)):
        return NO_ANSWER, []
    chosen = [found[place] for place in sorted(found)]
    told = " and ".join(fact.answer for fact in chosen)
    return told, [fact.sentence for fact in chosen]


def written_answer(prompt: str, right: str, passages: Sequence[str]) -> str:
    """The answer as a writer gives it: one in ten stands nowhere."""
    if draw(prompt, "answer") >= WRONG:
        return right
    number = _NUMBER.search(right)
    texts = " ".join(passages)
    if number is None:
        return STRANGER
    value = int(number[0].replace(",", "")) + 13
    while str(value) in texts:
        value += 1
    return str(value)


def is_clear(question: str) -> bool:
    """Whether a critic knows what a question is about: it names something."""
    return plain(question) != plain(TOO_GENERAL)


def summary(text: str) -> str:
    """The first two sentences, after the subject."""
    subject, sentences = parts(text)
    return f"{subject}: {' '.join(sentences[:2])}"


def entities(text: str, most: int) -> list[str]:
    """Names, each once."""
    subject, sentences = parts(text)
    names = [name for _, name in _names(" ".join(sentences))]
    return list(dict.fromkeys([subject, *names]))[:most]
