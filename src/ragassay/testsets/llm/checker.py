"""The checker over a language model: it answers the question itself, with and without the evidence,
and rates it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ragassay.core import ChatCall, shorten
from ragassay.testsets.corpus import Corpus
from ragassay.testsets.gates.answers import same
from ragassay.testsets.llm.prompts import answer_call, rate_call
from ragassay.testsets.llm.replies import Rating, ReadAnswer, read_answer, read_rating
from ragassay.testsets.purchases import Purchases
from ragassay.testsets.values import BRIDGE, COMPARE, GateVerdict, Question

FROM_EVIDENCE = "the checker finds the answer in the evidence"
WITHOUT = "not answerable without its evidence"
ELSEWHERE = "the rest of the corpus says nothing else"
NEEDED = "each hop needed by the checker"
QUALITY = "quality filter"

OTHERS = 4
"""Other passages that the checker is shown, the nearest by their words."""

_LEAST_CLARITY = 3


_UNREAD = ReadAnswer(None)


@dataclass
class _Checked:
    """A question with what the checker has said of it so far."""

    question: Question
    verdicts: list[GateVerdict] = field(default_factory=list)
    answer: ReadAnswer = _UNREAD

    @property
    def is_open(self) -> bool:
        """Whether no gate has failed."""
        return all(verdict.passed is not False for verdict in self.verdicts)


@dataclass
class Checker:
    """Asks a language model about questions that have passed the rules."""

    model: str
    corpus: Corpus
    purchases: Purchases

    async def check(
        self, questions: Sequence[Question]
    ) -> list[tuple[Question, tuple[GateVerdict, ...]]]:
        """Each question, with the difficulty that the checker gives it, and the verdicts."""
        checked = [_Checked(question) for question in questions]
        await self._from_evidence([each for each in checked if each.question.answerable])
        await self._without([each for each in checked if each.is_open])
        await self._hops([each for each in checked if each.is_open])
        await self._rate([each for each in checked if each.is_open])
        return [(each.question, tuple(each.verdicts)) for each in checked]

    async def _from_evidence(self, checked: Sequence[_Checked]) -> None:
        calls = []
        for each in checked:
            quotes = [evidence.quote for evidence in each.question.evidence]
            calls.append(answer_call(self.model, each.question, self._with_titles(each, quotes)))
        for each, reply in zip(checked, await self._answers(calls), strict=True):
            each.answer = reply
            if reply.answerable is None:
                each.verdicts.append(GateVerdict(FROM_EVIDENCE, False, reply.reason))
            elif not reply.answerable:
                why = f"it finds none: {shorten(reply.reason, 120)}"
                each.verdicts.append(GateVerdict(FROM_EVIDENCE, False, why))
            else:
                # Whether it is the reference's answer is asked with the rating, where rules do not
                # see that it is.
                why = f"it answers {shorten(reply.answer, 80)!r}"
                each.verdicts.append(GateVerdict(FROM_EVIDENCE, True, why))

    def _with_titles(self, each: _Checked, quotes: list[str]) -> list[str]:
        """Quotes under the titles of their documents, which say what "it" means."""
        texts = []
        for evidence, quote in zip(each.question.evidence, quotes, strict=True):
            number = self.corpus.numbers.get(evidence.document)
            title = "" if number is None else self.corpus.of_document(number)[0].title
            texts.append(f"{title}\n{quote}" if title else quote)
        return texts

    async def _without(self, checked: Sequence[_Checked]) -> None:
        """Closed book, and from the nearest other passages."""
        closed = [answer_call(self.model, each.question, ()) for each in checked]
        others = [answer_call(self.model, each.question, self._others(each)) for each in checked]
        replies = await self._answers([*closed, *others])
        for place, each in enumerate(checked):
            self._judge_without(each, replies[place], replies[len(checked) + place])

    def _others(self, each: _Checked) -> list[str]:
        own = set(each.question.documents)
        if each.question.answerable:
            own.add(each.question.cluster)
        texts: list[str] = []
        for place in self.corpus.search.best(each.question.question, OTHERS + 20):
            passage = self.corpus.passages[place]
            if passage.document not in own and len(texts) < OTHERS:
                texts.append(f"{passage.title}\n{passage.text}".strip())
        # Without texts the call would be the one of the closed book.
        return texts or ["(no other passage is near)"]

    def _judge_without(self, each: _Checked, closed: ReadAnswer, others: ReadAnswer) -> None:
        question = each.question
        if closed.answerable is None or others.answerable is None:
            each.verdicts.append(GateVerdict(WITHOUT, None, "the checker's reply was not readable"))
            return
        if not question.answerable:
            is_told = others.answerable or closed.answerable
            why = "other passages, or common knowledge, answer it" if is_told else "nothing does"
            each.verdicts.append(GateVerdict(WITHOUT, not is_told, why))
            return
        if closed.answerable and same(closed.answer, question.reference):
            why = "the checker knows the answer without any document"
            each.verdicts.append(GateVerdict(WITHOUT, False, why))
            return
        each.verdicts.append(GateVerdict(WITHOUT, True, "the checker does not know it"))
        if others.answerable:
            is_same = same(others.answer, question.reference)
            why = (
                "other passages give the same answer"
                if is_same
                else (f"other passages say {shorten(others.answer, 80)!r}")
            )
            each.verdicts.append(GateVerdict(ELSEWHERE, is_same, why))

    async def _hops(self, checked: Sequence[_Checked]) -> None:
        """Each quote of a question over several left out in turn."""
        several = [each for each in checked if each.question.type in (BRIDGE, COMPARE)]
        calls: list[ChatCall] = []
        owners: list[_Checked] = []
        for each in several:
            quotes = [evidence.quote for evidence in each.question.evidence]
            shown = self._with_titles(each, quotes)
            for left_out in range(len(shown)):
                rest = [text for place, text in enumerate(shown) if place != left_out]
                calls.append(answer_call(self.model, each.question, rest or ["(nothing)"]))
                owners.append(each)
        for each, reply in zip(owners, await self._answers(calls), strict=True):
            if reply.answerable and same(reply.answer, each.question.reference):
                each.verdicts.append(GateVerdict(NEEDED, False, "one quote is enough"))

    async def _rate(self, checked: Sequence[_Checked]) -> None:
        calls = [rate_call(self.model, each.question, each.answer.answer) for each in checked]
        replies = await self.purchases.ask(calls)
        for each, reply in zip(checked, replies, strict=True):
            rating = read_rating(reply)
            each.verdicts.append(_quality(each, rating))
            if rating.difficulty is not None:
                each.question = replace(each.question, difficulty=rating.difficulty)

    async def _answers(self, calls: Sequence[ChatCall]) -> list[ReadAnswer]:
        return [read_answer(reply) for reply in await self.purchases.ask(calls)]


def _quality(each: _Checked, rating: Rating) -> GateVerdict:
    """The published filter: clarity, answerability, include, and the answers' agreement."""
    question = each.question
    problems: list[str] = []
    if rating.clarity is None:
        problems.append(rating.reason or "the rating has no clarity from 1 to 5")
    elif rating.clarity < _LEAST_CLARITY:
        problems.append(f"clarity {rating.clarity}")
    if not rating.stands_alone and not question.history:
        problems.append("it does not stand alone")
    if question.answerable:
        agrees = same(each.answer.answer, question.reference) or rating.same_answer
        if not agrees:
            problems.append(f"the checker answers {shorten(each.answer.answer, 60)!r}")
        if not rating.answerability:
            problems.append("the evidence does not settle it")
    if not rating.include:
        problems.append("the checker would not include it")
    said = shorten(rating.reason, 120)
    why = "; ".join(problems) or f"clarity {rating.clarity}, difficulty {rating.difficulty}"
    return GateVerdict(QUALITY, not problems, f"{why} ({said})" if said else why)
