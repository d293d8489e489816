"""A test set made with language models: rounds in which each open slot gets a proposal."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ragassay.core import ChatCall, digest
from ragassay.testsets.corpus import Corpus
from ragassay.testsets.duplicates import Duplicates
from ragassay.testsets.gates.run import failed, rule_verdicts
from ragassay.testsets.llm.checker import Checker
from ragassay.testsets.llm.prompts import write_call
from ragassay.testsets.llm.replies import read_question
from ragassay.testsets.made import DUPLICATE, MadeSet
from ragassay.testsets.offline.writer import OfflineWriter
from ragassay.testsets.plan import Slot
from ragassay.testsets.purchases import Purchases
from ragassay.testsets.values import (
    BRIDGE,
    COMPARE,
    GateVerdict,
    Passage,
    Question,
)

ROUNDS = 3
"""Proposals for one slot at most."""

_SHOWN = 5
"""Questions on the same document that the writer is told of."""

_AT_ONCE = 64
"""Slots of one step: what is accepted in it is known to the next one."""

_FIRST = 8
"""Slots of the first step. A writer that has no question for any of them is not asked on."""

_ONE_DOCUMENT = GateVerdict("there is no second document", False, "nothing was asked")


@dataclass
class ModelFilling:
    """Fills the slots of a plan. writer: the model's URI. checker: None where rules alone check.

    told: told of each step: questions accepted, and calls bought.
    """

    made: MadeSet
    writer: str
    purchases: Purchases
    checker: Checker | None
    seed: int = 0
    told: Callable[[int, int], None] | None = None
    _asked: int = 0
    _read: int = 0
    _given: Counter[int] = field(default_factory=Counter)
    _orders: dict[str, list[int]] = field(default_factory=dict)

    async def run(self) -> None:
        """Fill what can be filled, in at most ROUNDS proposals a slot."""
        await self._rounds()
        for reason, count in self.purchases.failures.most_common(3):
            self.made.notes.append(f"{count} calls gave no reply: {reason}")

    async def _rounds(self) -> None:
        for number in range(ROUNDS):
            for slots in _steps(self.made.open_slots(), is_first=number == 0):
                await self._step(slots, number)
                if self.told is not None:
                    sent = self.purchases.ledger.confirmed.calls
                    self.told(len(self.made.accepted), sent)
                if self._asked >= _FIRST and not self._read:
                    told = f"none of {self._asked} replies held a question"
                    self.made.notes.append(f"{told}, so the writer was not asked on")
                    return

    async def _step(self, slots: list[Slot], number: int) -> None:
        chosen = []
        for slot in slots:
            passages = self._passages(slot, number)
            if slot.type in (BRIDGE, COMPARE) and len(passages) < 2:
                self.made.reject(slot, _ONE_DOCUMENT, "")
            else:
                chosen.append((slot, passages))
        calls = self._calls(chosen, number)
        replies = await self.purchases.ask(calls)
        self._asked += len(calls)
        proposed: list[tuple[Slot, Question, tuple[GateVerdict, ...]]] = []
        together = Duplicates(seed=self.seed)
        for (slot, passages), reply in zip(chosen, replies, strict=True):
            topic = self.made.corpus.topic(passages[0].document)
            question = read_question(reply, slot, passages, topic, self.writer)
            if isinstance(question, str):
                self.made.reject(slot, GateVerdict(question, False, "no question could be read"))
                continue
            self._read += 1
            verdicts = rule_verdicts(question, self.made.corpus)
            bad = failed(verdicts) or self._duplicate(question, together)
            if bad is not None:
                self.made.reject(slot, bad, question.question)
            else:
                together.take(question)
                proposed.append((slot, question, verdicts))
        await self._take(proposed)

    def _calls(self, chosen: list[tuple[Slot, list[Passage]]], number: int) -> list[ChatCall]:
        """The calls of a step. Those on the same passage differ: the same words would be answered
        with the same question.
        """
        calls = []
        before: Counter[int] = Counter()
        for slot, passages in chosen:
            place = passages[0].number
            known = self._known(passages[0].document)
            calls.append(write_call(self.writer, slot, passages, known, number, before[place]))
            before[place] += 1
        return calls

    def _duplicate(self, question: Question, together: Duplicates) -> GateVerdict | None:
        """Nothing is paid to check a question that is there already, or that the same step holds.

        together: the proposals of the step so far.
        """
        why = self.made.duplicates.of(question) or together.of(question)
        return GateVerdict(DUPLICATE, False, why) if why else None

    async def _take(self, proposed: list[tuple[Slot, Question, tuple[GateVerdict, ...]]]) -> None:
        if self.checker is None:
            for slot, question, verdicts in proposed:
                self.made.offer(slot, question, verdicts)
            return
        checked = await self.checker.check([question for _, question, _ in proposed])
        for (slot, _, verdicts), (question, further) in zip(proposed, checked, strict=True):
            self.made.offer(slot, question, (*verdicts, *further))

    def _known(self, document: str) -> list[str]:
        """Questions on a document that were accepted."""
        found = []
        for question in self.made.questions():
            if document in question.documents or document == question.cluster:
                found.append(question.question)
        return found[-_SHOWN:]

    def _passages(self, slot: Slot, number: int) -> list[Passage]:
        """The passages that a proposal is made of: those of the slot's topic that the fewest
        questions are about and that were given least often, in an order of chance.
        """
        corpus = self.made.corpus
        place = self._least_given(slot, number)
        passage = corpus.passages[place]
        self._given[place] += 1
        if slot.type not in (BRIDGE, COMPARE):
            return [passage]
        partner = _partner(corpus, passage)
        return [passage] if partner is None else [passage, partner]

    def _least_given(self, slot: Slot, number: int) -> int:
        corpus = self.made.corpus
        best, least = 0, None
        for place in self._order(slot.topic):
            uses = self.made.uses.get(corpus.passages[place].document, 0)
            weight = (uses, self._given[place])
            if least is None or weight < least:
                best, least = place, weight
            if weight == (0, 0):
                break
        return best

    def _order(self, topic: str) -> list[int]:
        """The passages of a topic in an order of chance, made once."""
        if not self._orders:
            corpus = self.made.corpus
            for place, passage in enumerate(corpus.passages):
                self._orders.setdefault(corpus.topic(passage.document), []).append(place)
            for name, places in self._orders.items():
                random.Random(digest(self.seed, name)).shuffle(places)
        return self._orders[topic]


def _steps(slots: list[Slot], *, is_first: bool) -> Iterator[list[Slot]]:
    """The slots that are asked about at once: few in the very first step."""
    few = _FIRST if is_first else 0
    if slots[:few]:
        yield slots[:few]
    for start in range(few, len(slots), _AT_ONCE):
        yield slots[start : start + _AT_ONCE]


def _partner(corpus: Corpus, passage: Passage) -> Passage | None:
    """The nearest passage of another document, by words."""
    text = f"{passage.title} {passage.text[:600]}"
    for place in corpus.search.best(text, 20):
        other = corpus.passages[place]
        if other.document != passage.document:
            return other
    return None


async def checked_offline(made: MadeSet, writer: OfflineWriter, checker: Checker) -> None:
    """Fill the slots with drafts of the offline writer that pass the rules and the checker."""
    spent: set[str] = set()
    for _ in range(ROUNDS):
        proposed: list[tuple[Slot, Question, tuple[GateVerdict, ...]]] = []
        for slot in made.open_slots():
            found = _next_draft(made, writer, slot, spent)
            if found is not None:
                proposed.append((slot, *found))
        checked = await checker.check([question for _, question, _ in proposed])
        for (slot, _, verdicts), (question, further) in zip(proposed, checked, strict=True):
            made.offer(slot, question, (*verdicts, *further))


def _next_draft(
    made: MadeSet, writer: OfflineWriter, slot: Slot, spent: set[str]
) -> tuple[Question, tuple[GateVerdict, ...]] | None:
    """The next draft for a slot that passes the rules; None where there is none."""
    for question in writer.candidates(slot, made.uses):
        if question.id in spent:
            continue
        spent.add(question.id)
        verdicts = rule_verdicts(question, made.corpus)
        bad = failed(verdicts)
        if bad is None:
            return question, verdicts
        made.reject(slot, bad, question.question)
    return None
