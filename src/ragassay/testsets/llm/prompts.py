"""What the writer and the checker are asked. Texts of documents stand in fences: they are data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragassay.core import ChatCall, Message
from ragassay.judges.fence import NOTICE, fence
from ragassay.testsets.plan import Slot
from ragassay.testsets.values import (
    BRIDGE,
    COMPARE,
    COUNTERFACTUAL,
    FALSE_PREMISE,
    FOLLOW_UP,
    REASONING,
    SIMPLE,
    UNANSWERABLE,
    Passage,
    Question,
)

WRITE, ANSWER, RATE = "testset_question", "testset_answer", "testset_rating"
"""Names of the forms of reply."""

_KINDS: Mapping[str, str] = {
    SIMPLE: "It asks for one fact that a passage states.",
    BRIDGE: (
        "It needs both passages in a chain: the first gives a link, which the question describes"
        " and does not name, and the second gives the answer about that link."
    ),
    COMPARE: "It compares one fact of the first passage with one of the second.",
    REASONING: (
        "Its answer is worked out from several stated facts. List the steps in order; write each"
        " calculation as `A + B = C` (or -, *, /) with the numbers as they stand in the passage."
    ),
    UNANSWERABLE: (
        "It is about something in the passage, sounds natural, and neither the passage nor common"
        " knowledge answers it. Leave the answer empty, and quote nothing."
    ),
    COUNTERFACTUAL: (
        "It supposes that a stated date or number were another one, and asks what would follow."
        " Write the calculation as a step, `A + B = C`, with the stated number."
    ),
    FALSE_PREMISE: (
        "It takes for granted something that the passage shows to be false, such as another year or"
        " name. The answer says what is true instead."
    ),
    FOLLOW_UP: (
        "It is the second turn of a conversation: give the first question and answer as the earlier"
        " turn, and refer to their subject by a pronoun."
    ),
}
_STYLES: Mapping[str, str] = {
    "question": "a plain question",
    "search words": "words typed into a search box, without a question mark",
    "conversation": "a sentence to an assistant",
}

_WRITER = f"""You write questions for a test of a search system. You see passages of documents, \
and write one question that a real user of these documents might ask.

- The question stands alone: a reader who has not seen the passages knows what is meant. Name \
people, things, places and years; never say "the text" or "the passage".
- Use words of your own, not those of the passage, except for names.
- The answer is short, complete, and rests on the passages alone.
- Each quote is copied from a passage letter by letter, and together they prove the answer.
- Write in the language of the passages.

{NOTICE}

Reply with one JSON object: {{"question": ..., "answer": ..., "quotes": [...], "steps": [...], \
"earlier_question": ..., "earlier_answer": ...}}. Leave out what the task does not ask for."""

_READER = f"""You answer a question from passages alone. What you know otherwise does not count.

- If the passages do not answer it, say so; do not guess.
- If the question takes something for granted that the passages show to be false, the answer says \
what is true.

{NOTICE}

Reply with one JSON object: {{"answerable": true or false, "answer": ..., "reason": ...}}."""

_CLOSED_BOOK = f"""You answer a question from what you know, without any document.

- If you are not sure of the answer, say that you are not; do not guess.

{NOTICE}

Reply with one JSON object: {{"answerable": true or false, "answer": ..., "reason": ...}}."""

_RATER = f"""You decide whether a question may be used to test a search system.

- same_answer: whether the second answer says the same as the reference.
- stands_alone: whether a reader who sees no passage knows what is asked for. A question with an \
earlier turn may refer to it.
- clarity: 1 (nobody knows what is meant) to 5 (one meaning only).
- answerability: "yes" if the evidence settles it, "no" if not.
- difficulty: 1 (one fact, in plain sight) to 5 (several steps).
- include: "yes" if you would put it into the test, "no" if not.

{NOTICE}

Reply with one JSON object: {{"reason": ..., "same_answer": "yes" or "no", \
"stands_alone": "yes" or "no", "clarity": 1-5, "answerability": "yes" or "no", \
"difficulty": 1-5, "include": "yes" or "no"}}."""

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_YES = {"type": "string", "enum": ["yes", "no"]}
_POINTS = {"type": "integer", "minimum": 1, "maximum": 5}


def _schema(fields: Mapping[str, object], needed: Sequence[str]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": dict(fields),
        "required": list(needed),
        "additionalProperties": False,
    }


_QUESTION_FORM = _schema(
    {
        "question": _TEXT,
        "answer": _TEXT,
        "quotes": _TEXTS,
        "steps": _TEXTS,
        "earlier_question": _TEXT,
        "earlier_answer": _TEXT,
    },
    ("question", "answer", "quotes"),
)
_ANSWER_FORM = _schema(
    {"answerable": {"type": "boolean"}, "answer": _TEXT, "reason": _TEXT}, ("answerable", "answer")
)
_RATING_FORM = _schema(
    {
        "reason": _TEXT,
        "same_answer": _YES,
        "stands_alone": _YES,
        "clarity": _POINTS,
        "answerability": _YES,
        "difficulty": _POINTS,
        "include": _YES,
    },
    ("same_answer", "stands_alone", "clarity", "answerability", "difficulty", "include"),
)


def write_call(
    model: str,
    slot: Slot,
    passages: Sequence[Passage],
    known: Sequence[str],
    rejected: int = 0,
    before: int = 0,
) -> ChatCall:
    """The call that asks for one question. known: questions that are there already; rejected:
    proposals for the slot that were turned away; before: questions on the same passage that are
    asked for at the same time, before this one.
    """
    parts = [_fenced(passages)]
    task = (
        f"Write a question of the type {slot.type!r}. {_KINDS[slot.type]}"
        f" It is {_STYLES[slot.style]}, as from a {slot.persona},"
        f" of difficulty {slot.difficulty} of 5."
    )
    if known:
        listed = "\n".join(fence("question", text) for text in known)
        task += f" It is none of these, and asks for something else:\n{listed}"
    if rejected:
        # Also what makes it another call: the same one would be answered from the store.
        task += f"\nProposals turned away so far: {rejected}. Write another question."
    if before:
        task += f"\nOthers write on the same passage: leave out the {before} nearest questions."
    return _call(model, WRITE, _WRITER, [*parts, task], _QUESTION_FORM, 0.7)


def answer_call(model: str, question: Question, texts: Sequence[str]) -> ChatCall:
    """The call that asks for an answer from texts; without texts from what the model knows."""
    system = _READER if texts else _CLOSED_BOOK
    numbered = [fence(f"passage {n}", text) for n, text in enumerate(texts, 1)]
    return _call(model, ANSWER, system, [*numbered, asked(question)], _ANSWER_FORM, 0.0)


def rate_call(model: str, question: Question, answer: str) -> ChatCall:
    """The call for the quality filter. answer: the checker's own, from the evidence."""
    quotes = [fence(f"evidence {n}", e.quote) for n, e in enumerate(question.evidence, 1)]
    reference = question.reference or "(the documents do not answer it)"
    parts = [*quotes, fence("reference", reference), fence("second answer", answer or "(none)")]
    return _call(model, RATE, _RATER, [*parts, asked(question)], _RATING_FORM, 0.0)


def asked(question: Question) -> str:
    """The question, with the turns before it."""
    turns = [
        fence(f"earlier turn {n}", f"{turn.question} - {turn.answer}")
        for n, turn in enumerate(question.history, 1)
    ]
    return "\n\n".join([*turns, fence("question", question.question)])


def _fenced(passages: Sequence[Passage]) -> str:
    shown = []
    for number, passage in enumerate(passages, 1):
        title = f"{passage.title}\n" if passage.title else ""
        shown.append(fence(f"passage {number}", f"{title}{passage.text}"))
    return "\n\n".join(shown)


def _call(
    model: str,
    name: str,
    system: str,
    parts: Sequence[str],
    schema: Mapping[str, object],
    temperature: float,
) -> ChatCall:
    return ChatCall(
        (Message("system", system), Message("user", "\n\n".join(parts))),
        schema=schema,
        schema_name=name,
        max_tokens=1024,
        temperature=temperature,
        model=model,
    )
