"""A test set made offline: each slot of the plan is filled with the best draft that passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product

from ragassay.core.counting import count
from ragassay.testsets.corpus import Corpus
from ragassay.testsets.gates.run import rule_verdicts
from ragassay.testsets.made import MadeSet
from ragassay.testsets.offline.writer import OfflineWriter
from ragassay.testsets.plan import Slot
from ragassay.testsets.values import GateVerdict, Question
from ragassay.testsets.words import overlap

NOTHING_READ = "no sentence that the rules make one of"
OWN_WORDS = "in words of its own"

MEAN_OVERLAP = 0.65
"""Share of words taken from the source that a set may have on average. Questions that people ask
about passages have .64.
"""

_MOST_OVERLAP = 0.85
"""Of one question, as long as the mean allows no more."""

_FEW = 0.2
"""Share of the asked questions below which those in the words of their sources are taken, too."""

_ABBREVIATIONS = 0.1
"""Share of the questions that ask what an abbreviation stands for, at most."""

_SMALL = 20
"""Passages below which any question is better than none: a search among them is no task anyway."""

_MOST_TRIED = 400
"""Drafts that are tried for one slot."""


@dataclass
class OfflineFilling:
    """Fills the slots of a plan. told: told of each slot that is done."""

    made: MadeSet
    writer: OfflineWriter
    told: Callable[[int], None] | None = None
    _verdicts: dict[str, tuple[GateVerdict, ...]] = field(default_factory=dict)
    _shares: list[float] = field(default_factory=list)
    _abbreviations: int = 0
    _any_words: bool = False

    def run(self) -> None:
        """Fill what can be filled: first of documents that no question is about, then of the
        others; each time first far from the words of the sources, then as near as the mean allows.
        """
        limits: tuple[float, ...] = (_MOST_OVERLAP, 1.0)
        if len(self.made.corpus.passages) < _SMALL:
            limits = (1.0,)
        self._fill_all(limits)
        if len(self.made.accepted) < _FEW * len(self.made.plan.slots):
            self._any_words = True
            before = len(self.made.accepted)
            self._fill_all((1.0,))
            self._note_words(len(self.made.accepted) - before)
        self._note_languages()
        self._note_unread()

    def _fill_all(self, limits: tuple[float, ...]) -> None:
        spent: set[str] = set()
        for is_fresh, limit in product((True, False), limits):
            for slot in self.made.open_slots():
                self._fill(slot, limit, spent, is_fresh)
                if self.told is not None:
                    self.told(len(self.made.accepted))

    def _note_words(self, number: int) -> None:
        if number:
            self.made.notes.append(
                f"{count(number, 'question')} in the words of their sources: few others could be"
                " made; a search by words finds their sources too easily"
            )

    def _fill(self, slot: Slot, limit: float, spent: set[str], is_fresh: bool) -> None:
        """Fill one slot. spent: questions that are taken or were turned away. is_fresh: with one
        about a document that no question is about.
        """
        tried = 0
        for question in self.writer.candidates(slot, self.made.uses):
            if question.id in spent:
                continue
            if is_fresh and self.made.uses[question.cluster]:
                continue
            is_short = question.id in self.writer.abbreviations
            if is_short and self._abbreviations >= _ABBREVIATIONS * len(self.made.plan.slots):
                continue
            tried += 1
            if tried > _MOST_TRIED:
                return
            share = source_overlap(question, self.made.corpus)
            if question.id in self.writer.headings:
                # What the document itself asks is asked so.
                share = None
            if share is not None and not self._may_take(share, limit):
                self.made.reject(slot, GateVerdict(OWN_WORDS, False, f"{share:.0%} of its words"))
                continue
            spent.add(question.id)
            if self.made.offer(slot, question, self._verdicts_of(question)):
                self._abbreviations += is_short
                if share is not None:
                    self._shares.append(share)
                return

    def _may_take(self, share: float, limit: float) -> bool:
        if self._any_words or len(self.made.corpus.passages) < _SMALL:
            return True
        if share > limit:
            return False
        return (
            share <= MEAN_OVERLAP
            or (sum(self._shares) + share) / (len(self._shares) + 1) <= MEAN_OVERLAP
        )

    def _verdicts_of(self, question: Question) -> tuple[GateVerdict, ...]:
        known = self._verdicts.get(question.id)
        if known is None:
            known = self._verdicts[question.id] = rule_verdicts(question, self.made.corpus)
        return known

    def _note_unread(self) -> None:
        unread = len(self.made.corpus.documents) - len(self.writer.askable)
        if unread:
            self.made.notes.append(
                f"of {unread:,} of {count(len(self.made.corpus.documents), 'document')} the offline"
                " writer makes no question"
            )

    def _note_languages(self) -> None:
        foreign = self.writer.foreign
        if foreign:
            self.made.notes.append(
                f"the offline writer reads English alone, and passes over"
                f" {count(len(foreign), 'document')} ({', '.join(foreign[:3])}): name a language"
                " model with --writer"
            )


def source_overlap(question: Question, corpus: Corpus) -> float | None:
    """Share of a question's words that stand in the documents of its evidence; None without
    evidence, or where it is a follow-up, whose subject stands in the first turn.
    """
    if not question.evidence or question.history:
        return None
    texts = []
    for document in question.documents:
        for passage in corpus.of_document(corpus.numbers[document]):
            texts.append(f"{passage.title} {passage.text}")
    return overlap(question.question, texts)
