"""The offline writer: candidates for the cells of a plan, from facts of the corpus."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, pairwise

from ragassay.core import digest
from ragassay.models.offline import OfflineModel
from ragassay.testsets.corpus import Corpus
from ragassay.testsets.offline.abbreviations import abbreviations, without_ambiguous
from ragassay.testsets.offline.clauses import clauses, sentences
from ragassay.testsets.offline.definitions import defined
from ragassay.testsets.offline.drafts import (
    Draft,
    bridge,
    compare,
    counterfactual,
    false_premise,
    follow_up,
    reasoning,
    simple,
)
from ragassay.testsets.offline.explanations import explained
from ragassay.testsets.offline.facts import Fact, facts
from ragassay.testsets.offline.headings import asked_by_headings
from ragassay.testsets.offline.unanswerable import unanswerable
from ragassay.testsets.plan import Slot
from ragassay.testsets.values import (
    SIMPLE,
    Evidence,
    Passage,
    Question,
)
from ragassay.testsets.words import overlap

OFFLINE = "offline"
LABEL = "written offline by rules: easier than real questions"

_MOST_PASSAGES = 5000
"""Passages that are read for facts; of a larger corpus an even sample."""

_NO_SECOND = ("what is", "subject", "other", "why")
"""What the second fact of two hops does not ask for."""

_DEFINITION, _USE, _OTHER_TOPIC = 0.7, 3.0, 1.0
"""What counts against a draft beside its words: that it asks for a definition, each question about
the same document, and another topic than is wanted.
"""


@dataclass
class OfflineWriter:
    """Proposes questions without a model.

    seed: of the order in which equal drafts are proposed, and of what is chosen by chance.
    """

    corpus: Corpus
    seed: int = 0
    foreign: list[str] = field(default_factory=list)
    """Documents in another language than English, which this writer does not read."""
    abbreviations: set[str] = field(default_factory=set)
    """Ids of the questions for what an abbreviation stands for that were proposed."""
    headings: set[str] = field(default_factory=set)
    """Ids of those that headings ask, in the words of who wrote the document."""
    _costs: dict[int, float] = field(default_factory=dict, repr=False)

    @cached_property
    def by_document(self) -> dict[str, list[Fact]]:
        """Document -> its facts, in order."""
        model = OfflineModel()
        found: dict[str, list[Fact]] = {}
        step = max(1, -(-len(self.corpus.passages) // _MOST_PASSAGES))
        for passage in self.corpus.passages[::step]:
            if model.is_foreign([passage.text[:2000]]):
                if passage.document not in self.foreign:
                    self.foreign.append(passage.document)
                continue
            found.setdefault(passage.document, []).extend(every_fact(passage))
        return without_ambiguous(_without_shared_titles(found))

    @property
    def askable(self) -> list[str]:
        """The documents that it can ask about."""
        return [document for document, made in self.by_document.items() if made]

    @cached_property
    def drafts(self) -> dict[str, list[Draft]]:
        """Type -> drafts, those with the least overlap and the least used documents first."""
        dice = random.Random(self.seed)
        drafts: dict[str, list[Draft]] = {}
        for draft in self._all(dice):
            drafts.setdefault(draft.type, []).append(draft)
        for made in drafts.values():
            made.sort(key=lambda draft: (self._cost(draft), digest(self.seed, draft.direct)))
        return drafts

    def _cost(self, draft: Draft) -> float:
        """What counts against a draft: the words that it takes from its source, and being a
        definition, the easiest question of all.
        """
        known = self._costs.get(id(draft))
        if known is None:
            share = overlap(draft.direct, _sources(draft)) if draft.answerable else None
            known = 1.0 if share is None else 2 * share
            if draft.type == SIMPLE and draft.facts[0].is_easy:
                known += _DEFINITION
            if draft.type == SIMPLE and draft.facts[0].is_heading:
                known = 0.0
            self._costs[id(draft)] = known
        return known

    def _all(self, dice: random.Random) -> Iterator[Draft]:
        kinds = {fact.clause.subject: fact.clause.kind for fact in self._facts()}
        names = sorted(kinds)
        dice.shuffle(names)
        for made in self.by_document.values():
            for number, fact in enumerate(made):
                yield simple(fact)
                yield from _of(counterfactual(fact, dice.randrange(6)))
                yield from _of(false_premise(fact, dice.randrange(6)))
                yield from unanswerable(fact, self.corpus, names, kinds)
                for other in made[:number]:
                    yield from _of(follow_up(other, fact))
            yield from reasoning(made)
        yield from self._across(dice)

    def _facts(self) -> list[Fact]:
        return list(chain.from_iterable(self.by_document.values()))

    def _across(self, dice: random.Random) -> Iterator[Draft]:
        """Drafts over two documents."""
        every = self._facts()
        dated = [fact for fact in every if fact.year is not None]
        dice.shuffle(dated)
        for first, second in pairwise(dated):
            if first.passage.document != second.passage.document:
                yield from _of(compare(first, second))
        titled: dict[str, list[Fact]] = {}
        for fact in every:
            titled.setdefault(fact.clause.subject.lower(), []).append(fact)
        for fact in every:
            about = titled.get(fact.answer.lower(), ())
            # Facts of one document alone are surely about one thing.
            if len({other.passage.document for other in about}) > 1:
                continue
            for other in about:
                is_apart = other.passage.document != fact.passage.document
                if is_apart and other.asks not in _NO_SECOND:
                    yield from _of(bridge(fact, other))

    def candidates(self, slot: Slot, uses: Mapping[str, int]) -> Iterator[Question]:
        """Questions for one slot of a plan, the best first: of its topic before others, far from
        the words of their source, and of documents that few questions are about.

        uses: document -> questions about it so far.
        """
        ranked = []
        for place, draft in enumerate(self.drafts.get(slot.type, ())):
            document = draft.facts[0].passage.document
            cost = self._cost(draft) + _USE * uses.get(document, 0)
            if self.corpus.topic(document) != slot.topic:
                cost += _OTHER_TOPIC
            ranked.append((cost, place))
        for _, place in sorted(ranked):
            draft = self.drafts[slot.type][place]
            question = self._question(draft, slot)
            if draft.type == SIMPLE and draft.facts[0].is_abbreviation:
                self.abbreviations.add(question.id)
            if draft.type == SIMPLE and draft.facts[0].is_heading:
                self.headings.add(question.id)
            yield question

    def _question(self, draft: Draft, slot: Slot) -> Question:
        text = styled(draft, slot.style, slot.persona)
        evidence = _evidence(draft) if draft.answerable else ()
        document = draft.facts[0].passage.document
        return Question(
            id=f"{slot.type.replace(' ', '-')}-{digest(text, document)[:8]}",
            question=text,
            reference=draft.answer,
            type=draft.type,
            evidence=evidence,
            answerable=draft.answerable,
            persona=slot.persona,
            style=slot.style,
            difficulty=draft.difficulty,
            cluster=document,
            topic=self.corpus.topic(document),
            steps=draft.steps,
            history=draft.history,
            origin=OFFLINE,
        )


def styled(draft: Draft, style: str, persona: str) -> str:
    """The draft in a style: as a question, as it is typed into a search box, or in conversation."""
    if style == "search words":
        typed = draft.keywords or draft.direct
        return typed.lower()
    if style == "conversation" and draft.indirect:
        opening = {"expert": "Please tell me", "newcomer": "Can you tell me"}.get(persona)
        if draft.type == SIMPLE and draft.facts[0].asks == "what is":
            opening = {"expert": "Please explain"}.get(persona, "Can you explain")
        return f"{opening or 'Do you know'} {draft.indirect}{'.' if persona == 'expert' else '?'}"
    return draft.direct + "?"


def every_fact(passage: Passage) -> list[Fact]:
    """All that can be asked of a passage: of its clauses, definitions, abbreviations, headings."""
    read = clauses(passage)
    found = facts(passage, read)
    for clause in read:
        found += defined(passage, clause)
    places = sentences(passage)
    found += explained(passage, places, read)
    found += abbreviations(passage, places)
    found += asked_by_headings(passage)
    return found


def _without_shared_titles(found: Mapping[str, list[Fact]]) -> dict[str, list[Fact]]:
    """The facts without those of a subject that several titles begin with: "Frida", the film and
    the album.
    """
    owners: dict[str, set[str]] = {}
    for made in found.values():
        for fact in made:
            title = fact.passage.title
            base = re.sub(r"\s*\([^)]*\)$", "", title).strip().lower()
            owners.setdefault(base, set()).add(title)
    kept: dict[str, list[Fact]] = {}
    for document, made in found.items():
        kept[document] = [
            fact for fact in made if len(owners.get(fact.clause.subject.lower(), ())) < 2
        ]
    return kept


def _evidence(draft: Draft) -> tuple[Evidence, ...]:
    places: dict[Evidence, None] = {}
    for fact in draft.facts:
        passage, clause = fact.passage, fact.clause
        quote = passage.text[clause.start : clause.end]
        start = passage.start + clause.start
        places[Evidence(passage.document, start, start + len(quote), quote)] = None
    return tuple(places)


def _sources(draft: Draft) -> list[str]:
    return [f"{fact.passage.title} {fact.passage.text}" for fact in draft.facts]


def _of(draft: Draft | None) -> Iterator[Draft]:
    if draft is not None:
        yield draft
