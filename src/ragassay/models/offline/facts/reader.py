"""What a claim says that its passages deny or do not hold: numbers, dates, names, sides, levels.

Each fact of the claim is set beside the facts of its kind in the passages, and the words around it
beside the words around them: which of them speaks of the same thing. Where that one says another
thing, and none that is as near says the same, the claim is in conflict. A number, date or name that
stands nowhere is absent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, product
from operator import attrgetter
from typing import TypeVar

from ragassay.models.offline.facts.another_name import told_of_another_name
from ragassay.models.offline.facts.clauses import Reading, Word
from ragassay.models.offline.facts.comparisons import turned_comparisons
from ragassay.models.offline.facts.computed_comparisons import computed_comparisons, turned
from ragassay.models.offline.facts.concepts import sign_between
from ragassay.models.offline.facts.contrary import contraries
from ragassay.models.offline.facts.crossed import crossed
from ragassay.models.offline.facts.crossed_values import crossed_values
from ragassay.models.offline.facts.dates import Date
from ragassay.models.offline.facts.denied_clauses import denied_clauses
from ragassay.models.offline.facts.directions import direction
from ragassay.models.offline.facts.elsewhere import elsewhere
from ragassay.models.offline.facts.exchange import exchanged
from ragassay.models.offline.facts.finding import (
    ABSENT,
    BOTH_SAID,
    CONFLICT,
    MARGINS,
    Candidate,
    Finding,
    Match,
    Place,
)
from ragassay.models.offline.facts.frames import exchanged_parts
from ragassay.models.offline.facts.half_named import half_named
from ragassay.models.offline.facts.left_behind import left_behind
from ragassay.models.offline.facts.meaning import STILL_TO
from ragassay.models.offline.facts.names import Name, is_short_for, same_name
from ragassay.models.offline.facts.near_quotes import near_quotes
from ragassay.models.offline.facts.no_effect import changes_of_unchanged, denied_changes
from ragassay.models.offline.facts.opposed import opposed_sentences
from ragassay.models.offline.facts.paired import Paired
from ragassay.models.offline.facts.polarity import Side
from ragassay.models.offline.facts.quantifiers import CONFLICTS, OVERSTATED, Level, fits_share
from ragassay.models.offline.facts.quantities import COUNT, Quantity, is_turned
from ragassay.models.offline.facts.rates import Rate, is_one_amount, rates
from ragassay.models.offline.facts.replaced import replaced_names
from ragassay.models.offline.facts.roles import turned_roles
from ragassay.models.offline.facts.same_quantity import (
    close,
    equal,
    is_computed,
    may_be_told_otherwise,
    of_one_scale,
    same_quantity,
    says_little,
)
from ragassay.models.offline.facts.text_facts import TextFacts
from ragassay.models.offline.facts.told_of_another import ToldOfAnother
from ragassay.models.offline.facts.turned_clauses import turned_clauses
from ragassay.models.offline.facts.unlike import is_set_against
from ragassay.models.offline.facts.unrestricted import unrestricted
from ragassay.models.offline.features import Rarity

_Fact = TypeVar("_Fact", Quantity, Date)

_UPWARDS = {"at least": True, "more than": True, "at most": False, "less than": False}

_NOUN_BEHIND = re.compile(r" [a-z]+")
_TODAY = re.compile(r"\b(?:this|last|next) (?:year|season)\b", re.IGNORECASE)
_COMPARED = re.compile(
    r"\b(?:than|compared with|against)(?: in| on| (?:that|those) (?:of|in))? $", re.IGNORECASE
)
_SIGNED = re.compile(r"\bBy (?:[A-Z][\w.'’-]*\s+){1,4}on $")
_EXCEPT = re.compile(r"\W*(?:except|excluding|but not)\b", re.IGNORECASE)
_LEAST_BESIDE = 2
"""Content words of a sentence beside a name, fewer of which say nothing of it."""

_ASKED, _SHORT = 0.4, 8
"""Weight of a question's words for what a claim of so many content words says."""

_UNTIL = re.compile(r"\b(?:until|till)(?: the| about)?\s*$", re.IGNORECASE)
_UNTIL_THEN = {"open": "clos", "clos": "open"}
"""Stems of what lasts until a time, and of what happens then."""

_WHEN = frozenset(("before", "after"))
"""Opposites of which a negation makes the one the other."""

_EVERY = re.compile(
    r"\b(?:(?:every|each) (?:\w+ )?(?:hours?|days?|nights?|weeks?|months?|quarters?|years?)"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
    r"|hourly|daily|weekly|monthly|quarterly|yearly|annually)\b",
    re.IGNORECASE,
)
_MOST = re.compile(r"\b(?:most|majority|mostly|mainly|usually)\b", re.IGNORECASE)
_FROM_THEN_ON = re.compile(r"\bonly\b.*\b(?:once|after|from|past|until)\b", re.IGNORECASE)
_NOT_YET = re.compile(rf"\b(?:{STILL_TO})\b", re.IGNORECASE)

_AT_TIMES = frozenset(("opposite:open", "opposite:begin", "opposite:arrive"))
"""Concepts whose one side at a time may be the other side until then."""


class FactReader:
    """Sets a claim beside its passages. question: what the claim answers, whose numbers it may
    repeat. rarity: how rare words are.
    """

    def __init__(
        self,
        claim: TextFacts,
        passages: Sequence[TextFacts],
        question: TextFacts,
        rarity: Rarity,
    ) -> None:
        self._claim = claim
        self._passages = passages
        self._question = question
        self._rarity = rarity
        self._known_words = frozenset[str]().union(*(p.vocabulary for p in self._passages))
        self._is_known: dict[str, bool] = {}
        capitals = claim.capitals.union(*(p.capitals for p in self._passages))
        self._capitals = capitals
        self._names_of_claim = claim.names_with(capitals)
        self._asked = _asked(claim, question)
        self._names = [passage.names_with(capitals) for passage in passages]
        self._opposed = opposed_sentences(claim, passages)

    def findings(self) -> list[Finding]:
        """All that the claim says and the passages deny or do not hold."""
        claim = self._claim
        found: list[Finding | None] = []
        found += [self._number(quantity) for quantity in claim.quantities]
        found += [self._bound(quantity) for quantity in claim.quantities]
        found += [self._rate(rate) for rate in claim.once(rates)]
        found += [self._date(date) for date in claim.dates]
        found += [self._name(name) for name in self._names_of_claim]
        found += (
            exchanged(claim, self._passages, self._capitals, self._weight)
            or crossed(claim, self._passages, self._weight)
            or Paired(claim, self._passages, self._capitals, self._weight).findings()
        )
        found += turned_roles(
            claim, self._names_of_claim, self._passages, self._names
        ) or exchanged_parts(claim, self._names_of_claim, self._passages, self._names)
        found += turned_clauses(claim, self._passages)
        found += left_behind(claim, self._names_of_claim, self._passages, self._names)
        found += replaced_names(claim, self._passages, self._capitals)
        found += self._told_of_others()
        found += changes_of_unchanged(claim, self._passages)
        found += elsewhere(claim, self._passages, self._weight)
        found += unrestricted(claim, self._passages, self._weight)
        found += [self._direction(quantity) for quantity in claim.quantities]
        found += [self._direction(date) for date in claim.dates]
        found += turned_comparisons(claim, self._passages) or turned(
            claim, self._passages, computed_comparisons(claim, self._passages)
        )
        denied = denied_changes(claim, self._passages)
        sides = [self._side(side) for side in claim.sides if not _is_within(side, denied)]
        found += sides
        if not any(sides):  # which name the very word
            found += denied_clauses(claim, self._passages, self._weight)
            found += contraries(claim, self._passages, self._weight)
        found += [self._level(level) for level in claim.levels]
        told = [finding for finding in found if finding is not None]
        if not any(finding.status == CONFLICT for finding in told):
            told += near_quotes(claim, self._passages)
            told += crossed_values(claim, self._passages)
        return told

    # -- the rules

    def _number(self, mine: Quantity) -> Finding | None:
        if says_little(mine) or self._is_asked(mine):
            return None
        candidates: list[Candidate] = []
        for number, passage in enumerate(self._passages):
            for other in passage.quantities:
                same = same_quantity(mine, other)
                if same or (same is False and of_one_scale(mine, other)):
                    candidates.append(Candidate(number, other.start, other.end, same))
        if not any(candidate.same for candidate in candidates) and self._is_computed(mine):
            return None
        said = self._claim.reading.text[mine.start : mine.end].strip("$€£ ").lower()

        def twin(candidate: Candidate) -> Quantity | None:
            other = _beginning_at(self._passages[candidate.passage].quantities, candidate.start)
            here = (each for each in self._claim.quantities if each is not mine)
            return next((each for each in here if same_quantity(each, other)), None)

        return self._finding(
            "number",
            mine,
            candidates,
            may_be_absent=said not in self._known_words and not may_be_told_otherwise(mine),
            twin=twin,
        )

    def _rate(self, mine: Rate) -> Finding | None:
        """ "50 cents a week" against "50 cents a day"."""
        candidates: list[Candidate] = []
        for number, passage in enumerate(self._passages):
            for other in passage.once(rates):
                if is_one_amount(mine, other):
                    same = mine.unit == other.unit
                    candidates.append(Candidate(number, other.start, other.end, same))
        if any(candidate.same for candidate in candidates):
            return None
        if mine.amount is not None and self._stands(mine.amount) > len(candidates):
            return None  # of one of them it is not told for how long: "also the annual bonus"
        if mine.times and any(_EVERY.search(each.reading.text) for each in self._passages):
            return None  # "once a quarter" is "every three months"
        return self._finding("number", mine, candidates)

    def _stands(self, amount: Quantity) -> int:
        """How often the passages have an amount."""
        count = 0
        for passage in self._passages:
            for other in passage.quantities:
                count += other.measure == amount.measure and same_quantity(amount, other) is True
        return count

    def _bound(self, mine: Quantity) -> Finding | None:
        """ "At least" against "at most" of one number."""
        if not mine.bound:
            return None
        candidates: list[Candidate] = []
        for number, passage in enumerate(self._passages):
            for other in passage.quantities:
                # "Cards larger than 512 GB are not supported": at most that.
                if _denies_bound(passage, other) != _denies_bound(self._claim, mine):
                    continue
                if other.is_range and mine.measure == other.measure and _lies_beyond(mine, other):
                    candidates.append(Candidate(number, other.start, other.end, False))
                if not other.bound and mine.measure == other.measure and equal(mine, other):
                    candidates.append(Candidate(number, other.start, other.end, True))
                if other.bound and mine.measure == other.measure and equal(mine, other):
                    same = _UPWARDS[mine.bound] == _UPWARDS[other.bound]
                    candidates.append(Candidate(number, other.start, other.end, same))
        return self._finding("bound", mine, candidates)

    def _direction(self, mine: Quantity | Date) -> Finding | None:
        """ "Before" against "after" one time."""
        side = direction(self._claim.reading.text, mine.start)
        if not side:
            return None
        candidates: list[Candidate] = []
        for number, passage in enumerate(self._passages):
            for other in _alike(mine, passage):
                there = direction(passage.reading.text, other.start)
                if there:
                    candidates.append(Candidate(number, other.start, other.end, side == there))
        return self._finding("direction", mine, candidates)

    def _date(self, mine: Date) -> Finding | None:
        if mine.years and self._is_computed_year(mine.years[0]):
            return None
        if _is_compared_with(self._claim, mine):
            return None
        candidates: list[Candidate] = []
        for number, passage in enumerate(self._passages):
            for other in passage.dates:
                agrees = mine.agrees(other)
                alike = mine.is_end == other.is_end or (mine.day and mine.day == other.day)
                alike = alike or self._closes_then(mine, passage, other)
                if agrees or (mine.differs(other) and alike):
                    # Of "this year" nobody knows which one it is.
                    if not agrees and mine.years and _is_told_from_today(passage, other):
                        continue
                    if not agrees and _is_compared_with(passage, other):
                        continue
                    if not agrees and (_is_excepted(passage, other) or _signs(passage, other)):
                        continue
                    place = (number, other.start, other.end)
                    candidates.append(Candidate(*place, agrees, other.covers(mine)))
        if mine.day and any(candidate.same and candidate.is_whole for candidate in candidates):
            # The day is there: another year, or another month, is of another thing.
            candidates = [each for each in candidates if each.same or each.is_whole]
        said = self._claim.reading.text[mine.start : mine.end].lower()

        def twin(candidate: Candidate) -> Date | None:
            other = _beginning_at(self._passages[candidate.passage].dates, candidate.start)
            here = (each for each in self._claim.dates if each is not mine)
            return next((each for each in here if each.agrees(other)), None)

        may_be_absent = said not in self._known_words and not self._is_aside(mine)
        return self._finding("date", mine, candidates, may_be_absent=may_be_absent, twin=twin)

    def _closes_then(self, mine: Date, passage: TextFacts, other: Date) -> bool:
        """Whether one of two is a time until which something is open, the other when it closes."""
        lasts, there = _lasts_until(self._claim, mine.start), _lasts_until(passage, other.start)
        if lasts == there:
            return False
        text, date = (passage, other) if lasts else (self._claim, mine)
        return "clos" in text.near(date.start, date.end)

    def _is_aside(self, mine: Date) -> bool:
        """Whether a year only says which of several things is meant: "the film (2019)", "the 2017
        film".
        """
        text = self._claim.reading.text
        if mine.years is None or mine.month is not None:
            return False
        if text[mine.start - 1 : mine.start] == "(" and text[mine.end : mine.end + 1] == ")":
            return True
        before = text[max(0, mine.start - 4) : mine.start].lower()
        return before.endswith("the ") and _NOUN_BEHIND.match(text, mine.end) is not None

    def _name(self, mine: Name) -> Finding | None:
        is_unknown = not any(map(self._knows, mine.words))
        if is_unknown and not self._is_short_form(mine):
            said = self._claim.reading.text[mine.start : mine.end]
            if self._is_quoted(mine) or self._shouts:
                return None
            return Finding("name", ABSENT, mine.start, mine.end, said)
        beside = self._claim.content_by_sentence.get(
            self._claim.reading.sentence_at(mine.start), []
        )
        if len(beside) < len(mine.words) + _LEAST_BESIDE:
            return None
        return self._finding("name", mine, self._other_names(mine))

    def _is_quoted(self, mine: Name) -> bool:
        """Whether a name is part of a title in quotation marks, in which any word has a capital."""
        text = self._claim.reading.text
        start, end = self._claim.sentence(mine.start)
        opening = max(text.rfind(mark, start, mine.start) for mark in '"“')
        return opening >= 0 and any(mark in text[mine.end : end] for mark in '"”')

    @property
    def _shouts(self) -> bool:
        """Whether the claim is written in capitals."""
        return self._claim.reading.text.isupper()

    def _told_of_others(self) -> list[Finding]:
        asked = self._question.names_with(self._capitals)
        mine, theirs = self._names_of_claim, self._names
        rule = ToldOfAnother(self._claim, mine, self._passages, theirs, asked, self._weight)
        found = rule.findings()
        found += half_named(self._claim, mine, self._passages, theirs, self._knows)
        if not found:
            found = told_of_another_name(
                self._claim, mine, self._passages, theirs, asked, self._weight
            )
        return found

    def _side(self, mine: Side) -> Finding | None:
        if self._claim.is_comparison(mine.word):
            return None  # told by which is more than which
        if mine.word.lower in _WHEN and self._claim.denies(mine.word.start):
            return None  # "Not before a restart" is "only after" it.
        if _NOT_YET.search(self._claim.reading.text, *self._claim.sentence(mine.word.start)):
            return None  # "Still has to agree" is "has not agreed".
        # "Open until 9 pm" is "closes at 9 pm".
        if mine.concept in _AT_TIMES and any(d.minutes is not None for d in self._claim.dates):
            return None
        candidates: list[Candidate] = []
        opposed = self._opposed.get(mine.word.sentence, frozenset())
        reading = self._claim.reading
        said = reading.text[slice(*reading.clauses[mine.word.clause])]
        for number, passage in enumerate(self._passages):
            for other in passage.sides_by_concept.get(mine.concept, ()):
                if (number, other.word.sentence) not in opposed:
                    if is_set_against(said, passage, other.word.start):
                        continue
                    same = self._same_side(mine, passage, other)
                    start, end = other.word.start, other.word.end
                    candidates.append(Candidate(number, start, end, same))
        if mine.opposite_named:
            candidates += self._same_in_other_words(mine.word)
        if all(candidate.same for candidate in candidates) or self._says_both(mine):
            return None
        rule = "opposite" if mine.opposite_named else "negation"
        return self._finding(rule, mine.word, candidates)

    def _same_in_other_words(self, mine: Word) -> Iterator[Candidate]:
        """Where the passages say what a word says in another one: "need", of "required"."""
        clause = self._claim.meanings[mine.clause]
        words = self._claim.reading.words_in(clause.start, clause.end)
        item = next((each for each in clause.items if words[each.first] is mine), None)
        if item is None or not item.meanings:
            return
        for number, passage in enumerate(self._passages):
            for other in passage.meanings:
                if other.denies != clause.denies or item.keys.isdisjoint(other.keys):
                    continue
                there = passage.reading.words_in(other.start, other.end)
                for each in other.items:
                    word = there[each.first]
                    if word.stem != mine.stem and sign_between(item, each) > 0:
                        yield Candidate(number, word.start, word.end, True)

    def _says_both(self, mine: Side) -> bool:
        """Whether the claim takes the other side as well: "with fault or no fault"."""
        own = self._claim.sides_by_concept.get(mine.concept, ())
        return any(side.sign != mine.sign for side in own)

    def _same_side(self, mine: Side, passage: TextFacts, other: Side) -> bool:
        if other.sign == mine.sign or passage.compares(other.word.start):
            return True
        if self._claim.compares(mine.word.start):  # "not take more than 80 mg"
            return True
        # "Only increased once two years are over", "not raised in the first two years".
        is_one_side = mine.negated != other.negated and self._begins_later(mine.word)
        if mine.opposite_named and other.word.stem != mine.word.stem and not is_one_side:
            return False
        if mine.word.stem == other.word.stem and (
            self._claim.clause_denies(mine.word.start) == passage.clause_denies(other.word.start)
        ):
            return True
        # Two negations may turn one thing, and one may stand at another word of it.
        in_clause, in_sentence = self._claim.negations(mine)
        there_in_clause, there_in_sentence = passage.negations(other)
        if in_clause % 2 == there_in_clause % 2:
            return True
        both = in_sentence and there_in_sentence
        return bool(both) and in_sentence % 2 == there_in_sentence % 2

    def _begins_later(self, word: Word) -> bool:
        """Whether the sentence of a word says from when on something holds."""
        text = self._claim.reading.text
        return _FROM_THEN_ON.search(text, *self._claim.sentence(word.start)) is not None

    def _level(self, mine: Level) -> Finding | None:
        candidates: list[Candidate] = []
        for number, passage in enumerate(self._passages):
            for share in passage.quantities:
                if share.measure == "percent" and mine.head.stem in share.nouns[:2]:
                    same = fits_share(mine.level, share.low)
                    candidates.append(Candidate(number, share.start, share.end, same))
            for other in passage.levels:
                if other.head.stem == mine.head.stem:
                    same = _same_level(mine, other)
                    if same is False and _is_also_most(mine, passage, other):
                        continue
                    candidates.append(Candidate(number, other.word.start, other.word.end, same))
        return self._finding("quantifier", mine.word, candidates)

    # -- which of the facts speaks of the same thing

    def _finding(
        self,
        rule: str,
        mine: Quantity | Date | Name | Word | Rate,
        candidates: Iterable[Candidate],
        *,
        may_be_absent: bool = False,
        twin: Callable[[Candidate], _Fact | None] | None = None,
    ) -> Finding | None:
        """A conflict where what denies the fact is nearer to it than what agrees; absent where
        nothing agrees. twin: the fact of the claim that says elsewhere what a candidate says: of
        two values that it has both, either may be meant.
        """
        matches = self._matches(mine.start, mine.end, candidates)
        agreeing = max((m for m in matches if m.candidate.same), key=_score, default=None)
        denied = (m for m in matches if m.candidate.same is False)
        denying = max(denied, key=attrgetter("score"), default=None)
        said = self._claim.reading.text[mine.start : mine.end]
        if denying is not None and self._outweighs(rule, denying, agreeing, twin):
            number, start, end = denying.candidate[:3]
            passage = self._passages[number]
            found = passage.reading.text[start:end]
            place = Place(number, *passage.sentence(start))
            return Finding(rule, CONFLICT, mine.start, mine.end, said, found, place, denying.score)
        if may_be_absent and agreeing is None:
            return Finding(rule, ABSENT, mine.start, mine.end, said)
        return None

    def _outweighs(
        self,
        rule: str,
        denying: Match,
        agreeing: Match | None,
        twin: Callable[[Candidate], _Fact | None] | None,
    ) -> bool:
        margin = MARGINS[rule]
        if denying.score < margin.least:
            return False
        if agreeing is None:
            return True
        ahead = margin.ahead
        if self._in_one_sentence(denying.candidate, agreeing.candidate):
            ahead = margin.in_sentence
        other = twin(denying.candidate) if twin is not None else None
        if other is not None:
            ahead = BOTH_SAID
            if self._fit_as_told(other, denying, agreeing):
                return False
        return denying.score - _score(agreeing) >= ahead

    def _fit_as_told(self, twin: _Fact, denying: Match, agreeing: Match) -> bool:
        """Whether two facts of the claim fit two of the passages better as they are told than
        exchanged.
        """
        both = [agreeing.candidate, denying.candidate]
        exchanged_one, told = self._matches(twin.start, twin.end, both)
        return _score(agreeing) + told.score >= denying.score + exchanged_one.score

    def _matches(self, start: int, end: int, candidates: Iterable[Candidate]) -> list[Match]:
        weights = dict(self._claim.near(start, end))
        for word in self._asked:
            weights[word] = max(weights.get(word, 0.0), _ASKED)
        for word in self._told_of_opposed(start):
            weights.pop(word, None)
        around = {word: self._weight(word) * weight for word, weight in weights.items()}
        total = sum(around.values())
        lasts = _lasts_until(self._claim, start)
        matches: list[Match] = []
        for candidate in candidates:
            passage = self._passages[candidate.passage]
            other = passage.near(candidate.start, candidate.end)
            if lasts != _lasts_until(passage, candidate.start):
                # "Open until 9 pm" is "closes at 9 pm".
                other = {_UNTIL_THEN.get(word, word): weight for word, weight in other.items()}
            shared = sum(around[word] * other[word] for word in around.keys() & other.keys())
            matches.append(Match(candidate, shared / total if total else 0.0))
        return matches

    def _told_of_opposed(self, start: int) -> frozenset[str]:
        """The words that stand only in sentences on the opposite of what the claim's is on."""
        opposed = self._opposed.get(self._claim.reading.sentence_at(start), frozenset())
        there: set[str] = set()
        if opposed:
            elsewhere_told: set[str] = set()
            for number, passage in enumerate(self._passages):
                for sentence, words in passage.content_by_sentence.items():
                    told = there if (number, sentence) in opposed else elsewhere_told
                    told.update(word.stem for word in words)
            there -= elsewhere_told
        return frozenset(there)

    def _weight(self, word: str) -> float:
        return self._rarity.of_stem(word)

    def _in_one_sentence(self, one: Candidate, other: Candidate) -> bool:
        if one.passage != other.passage:
            return False
        passage = self._passages[one.passage]
        return passage.sentence(one.start) == passage.sentence(other.start)

    # -- what is no fault

    def _is_asked(self, quantity: Quantity) -> bool:
        """Whether a number is the question's own."""
        return any(same_quantity(quantity, other) for other in self._question.quantities)

    def _is_computed(self, quantity: Quantity) -> bool:
        """Whether a number follows from others, or lies between two years."""
        here = [other for other in self._claim.quantities if other is not quantity]
        stated: list[Quantity] = []
        for passage in self._passages:
            stated += passage.quantities
        if is_computed(self._claim.reading.text, quantity, here, stated):
            return True
        if quantity.measure not in ("time", COUNT):
            return False
        years = set(self._years((self._claim, *self._passages)))
        return any(close(quantity.written, one - other) for one, other in product(years, years))

    def _is_computed_year(self, year: int) -> bool:
        """Whether a year lies as many years from one that is named as some number says."""
        texts = (self._claim, self._question, *self._passages)
        spans: set[float] = set()
        for facts in texts:
            spans.update(q.written for q in facts.quantities if q.unit.startswith("year"))
        return any(abs(year - other) in spans for other in self._years(texts))

    def _years(self, texts: Iterable[TextFacts]) -> Iterator[int]:
        for facts in texts:
            for date in facts.dates:
                if date.years:
                    yield date.years[0]

    def _knows(self, word: str) -> bool:
        """Whether a word of a name stands in the passages, in this form or another."""
        knows = self._is_known.get(word)
        if knows is None:
            knows = any(passage.has_word_like(word) for passage in self._passages)
            self._is_known[word] = knows
        return knows

    def _is_short_form(self, name: Name) -> bool:
        """Whether a name is the initials of one in the passages, or the other way round."""
        if "".join(word[0] for word in name.words) in self._known_words:
            return True
        return any(is_short_for(name, other) for other in chain.from_iterable(self._names))

    def _other_names(self, mine: Name) -> Iterator[Candidate]:
        """That name in the passages, and others that stand where it stands, beside one and the same
        word.
        """
        before, behind = _beside(self._claim.reading, mine)
        for number, passage in enumerate(self._passages):
            for other in self._names[number]:
                if same_name(mine, other):
                    yield Candidate(number, other.start, other.end, True)
                    continue
                words = _beside(passage.reading, other)
                if (before and before == words[0]) or (behind and behind == words[1]):
                    yield Candidate(number, other.start, other.end, False)


def _is_within(side: Side, places: Iterable[tuple[int, int]]) -> bool:
    """Whether a word stands in one of these places."""
    return any(start <= side.word.start < end for start, end in places)


def _denies_bound(text: TextFacts, quantity: Quantity) -> bool:
    """Whether what holds within a bound is denied, and the bound not turned by that."""
    return text.denies(quantity.start) and not is_turned(text.reading.text, quantity.start)


def _lies_beyond(mine: Quantity, other: Quantity) -> bool:
    """Whether a bound leaves out a whole range: "at least four", of three to four."""
    is_alike = not set(mine.nouns[:1]).isdisjoint(other.nouns[:1]) or mine.measure != COUNT
    if _UPWARDS[mine.bound]:
        return is_alike and mine.low >= other.high
    return is_alike and mine.low <= other.low


def _alike(mine: Quantity | Date, passage: TextFacts) -> Iterator[Quantity | Date]:
    """The facts of a passage that name the same time or amount."""
    if isinstance(mine, Date):
        for date in passage.dates:
            if mine.agrees(date) and mine.covers(date) and date.covers(mine):
                yield date
        return
    for other in passage.quantities:
        if mine.measure == other.measure != COUNT and close(mine.low, other.low):
            yield other


def _is_compared_with(passage: TextFacts, date: Date) -> bool:
    """Whether a date is one that another is compared with: "less than in 2021"."""
    return _COMPARED.search(passage.reading.text, max(0, date.start - 20), date.start) is not None


def _is_excepted(passage: TextFacts, date: Date) -> bool:
    """Whether a date is one that a sentence excepts: "except on Sundays"."""
    start, _ = passage.reading.clauses[passage.reading.clause_at(date.start)]
    return _EXCEPT.match(passage.reading.text, start, date.start) is not None


def _signs(passage: TextFacts, date: Date) -> bool:
    """Whether a date is the one on which a text was written: "By Ida Holm on 2 March 2017"."""
    return _SIGNED.search(passage.reading.text, max(0, date.start - 60), date.start) is not None


def _asked(claim: TextFacts, question: TextFacts) -> frozenset[str]:
    """What the question speaks of, where the claim leaves it out: "No more than five years." """
    said = [word for word in claim.reading.words if word.content]
    if len(said) > _SHORT:
        return frozenset()
    return frozenset(word.stem for word in question.reading.words if word.content)


def _is_told_from_today(passage: TextFacts, date: Date) -> bool:
    """Whether the sentence of a date tells years from the day on which it was written."""
    start, end = passage.sentence(date.start)
    return _TODAY.search(passage.reading.text, start, end) is not None


def _lasts_until(text: TextFacts, start: int) -> bool:
    """Whether a time is one until which something lasts."""
    return _UNTIL.search(text.reading.text[max(0, start - 16) : start]) is not None


def _beginning_at(facts: Sequence[_Fact], start: int) -> _Fact:
    """The fact that begins there."""
    return next(fact for fact in facts if fact.start == start)


_PARTLY = 0.6
"""Weight of what agrees with a part of a fact alone, such as the month of a day."""


def _score(match: Match) -> float:
    return match.score if match.candidate.is_whole else _PARTLY * match.score


def _same_level(mine: Level, other: Level) -> bool | None:
    if mine.level == other.level:
        return True
    levels = mine.level, other.level
    return False if frozenset(levels) in CONFLICTS or levels in OVERSTATED else None


def _is_also_most(mine: Level, passage: TextFacts, other: Level) -> bool:
    """Whether a sentence tells of most things beside some: "some shops close at six, most at
    eight".
    """
    if (mine.level, other.level) not in OVERSTATED:
        return False
    return _MOST.search(passage.reading.text, *passage.sentence(other.word.start)) is not None


def _beside(reading: Reading, name: Name) -> tuple[str, str]:
    """Stems of the words right before and right behind a name, "" where its clause ends."""
    words = reading.words
    first, last = reading.first_word_at(name.start), reading.first_word_at(name.end)
    clause = words[first].clause
    before = words[first - 1].stem if first and words[first - 1].clause == clause else ""
    behind = words[last].stem if last < len(words) and words[last].clause == clause else ""
    return before, behind
