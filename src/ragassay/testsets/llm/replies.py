"""The reading of replies: a question with its evidence, an answer, a rating; or why there is
none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ragassay.core import digest
from ragassay.judges.llm.loose_json import LooseReader
from ragassay.judges.llm.objects import objects
from ragassay.judges.llm.quotes import find
from ragassay.judges.llm.thinking import answer_of
from ragassay.judges.text_rules.abstention import refuses_the_task
from ragassay.testsets.plan import Slot
from ragassay.testsets.values import (
    FOLLOW_UP,
    UNANSWERABLE,
    Evidence,
    Passage,
    Question,
    Turn,
)

_MOST_CHARS = 20_000
_MOST_QUOTES, _MOST_STEPS = 6, 8


class ReadAnswer(NamedTuple):
    """What the checker answered. answerable: None where the reply could not be read."""

    answerable: bool | None
    answer: str = ""
    reason: str = ""


class Rating(NamedTuple):
    """The quality filter. Points from 1 to 5; None where the reply could not be read."""

    same_answer: bool = False
    stands_alone: bool = False
    clarity: int | None = None
    answerability: bool = False
    difficulty: int | None = None
    include: bool = False
    reason: str = ""


def read_question(
    text: str | None, slot: Slot, passages: Sequence[Passage], topic: str, origin: str
) -> Question | str:
    """The question of a reply, or why there is none."""
    if text is None:
        return "the writer gave no reply"
    fields = _fields(text)
    if fields is None:
        return "the writer refused" if refuses_the_task(text) else "the reply holds no question"
    asked = _text(fields, "question")
    if not asked:
        return "the reply holds no question"
    is_answerable = slot.type != UNANSWERABLE
    evidence = _evidence(_list(fields, "quotes")[:_MOST_QUOTES], passages)
    if is_answerable and not evidence:
        return "no quote of the reply is in the passages"
    history: tuple[Turn, ...] = ()
    if slot.type == FOLLOW_UP:
        first, said = _text(fields, "earlier_question"), _text(fields, "earlier_answer")
        if not first or not said:
            return "the reply holds no earlier turn"
        history = (Turn(first, said),)
    return Question(
        id=f"{slot.type.replace(' ', '-')}-{digest(asked, passages[0].document)[:8]}",
        question=asked,
        reference=_text(fields, "answer") if is_answerable else "",
        type=slot.type,
        evidence=evidence if is_answerable else (),
        answerable=is_answerable,
        persona=slot.persona,
        style=slot.style,
        difficulty=slot.difficulty,
        cluster=passages[0].document,
        topic=topic,
        steps=tuple(_list(fields, "steps")[:_MOST_STEPS]),
        history=history,
        origin=origin,
    )


def _evidence(quotes: Sequence[str], passages: Sequence[Passage]) -> tuple[Evidence, ...]:
    """The quotes that stand in a passage, at their places; () where one of them stands nowhere."""
    texts = [passage.text for passage in passages]
    places: dict[Evidence, None] = {}
    for quote in quotes:
        if not quote.strip():
            continue
        found = find(quote, texts)
        if not found:
            return ()
        for place in found:
            passage = passages[place.context]
            start = passage.start + place.start
            end = passage.start + place.end
            places[Evidence(passage.document, start, end, place.quote)] = None
    return tuple(places)


def read_answer(text: str | None) -> ReadAnswer:
    """The checker's answer."""
    fields = _fields(text or "")
    if fields is None or not isinstance(fields.get("answerable"), bool | str):
        return ReadAnswer(None, reason="the checker's reply could not be read")
    return ReadAnswer(_yes(fields["answerable"]), _text(fields, "answer"), _text(fields, "reason"))


def read_rating(text: str | None) -> Rating:
    """The checker's rating."""
    fields = _fields(text or "")
    if fields is None:
        return Rating(reason="the checker's reply could not be read")
    return Rating(
        same_answer=_yes(fields.get("same_answer")),
        stands_alone=_yes(fields.get("stands_alone")),
        clarity=_points(fields.get("clarity")),
        answerability=_yes(fields.get("answerability")),
        difficulty=_points(fields.get("difficulty")),
        include=_yes(fields.get("include")),
        reason=_text(fields, "reason"),
    )


def _fields(text: str) -> Mapping[str, Any] | None:
    """The last JSON object of a reply, behind what a model thinks; a nearly right one, too."""
    answer = answer_of(text[:_MOST_CHARS], is_cut=len(text) > _MOST_CHARS)
    last: Mapping[str, Any] | None = None
    for placed in objects(answer):
        last = placed.value
    if last is not None:
        return last
    start = answer.find("{")
    read = LooseReader(answer).read(start) if start >= 0 else None
    return read[0] if read is not None and isinstance(read[0], dict) else None


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    return " ".join(value.split()) if isinstance(value, str) else ""


def _list(fields: Mapping[str, Any], name: str) -> list[str]:
    value = fields.get(name)
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, str)]


def _yes(value: object) -> bool:
    return value is True or (isinstance(value, str) and value.strip().lower() in ("yes", "true"))


def _points(value: object) -> int | None:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return value if is_whole and 1 <= value <= 5 else None  # type: ignore[return-value,operator]
