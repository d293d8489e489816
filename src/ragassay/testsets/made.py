"""The test set while it is made: what was accepted, what was rejected and why, and the gaps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ragassay.testsets.corpus import Corpus
from ragassay.testsets.duplicates import Duplicates
from ragassay.testsets.gates.run import failed
from ragassay.testsets.plan import Plan, Slot
from ragassay.testsets.values import Gap, GateVerdict, Question

DUPLICATE = "no near duplicate"


@dataclass
class MadeSet:
    """Accepted questions by slot.

    rejected: gate -> questions that it turned away. reasons: slot -> gate -> how often. uses:
    document -> questions about it.
    """

    corpus: Corpus
    plan: Plan
    duplicates: Duplicates
    accepted: dict[int, Question] = field(default_factory=dict)
    rejected: Counter[str] = field(default_factory=Counter)
    reasons: dict[int, Counter[str]] = field(default_factory=dict)
    uses: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    real: list[Question] = field(default_factory=list)
    examples: dict[str, str] = field(default_factory=dict)
    """Gate -> a question that it turned away, with its rationale."""

    def offer(self, slot: Slot, question: Question, verdicts: Iterable[GateVerdict]) -> bool:
        """Take a question for a slot, where its gates and the comparison with those before allow
        it.
        """
        given = tuple(verdicts)
        bad = failed(given)
        if bad is None:
            why = self.duplicates.of(question)
            bad = GateVerdict(DUPLICATE, not why, why or "like none of the others")
            given = (*given, bad)
        if bad.passed is False:
            self.reject(slot, bad, question.question)
            return False
        question = replace(question, verdicts=given)
        self.duplicates.take(question)
        self.accepted[slot.number] = question
        self.uses.update(question.documents or (question.cluster,))
        return True

    def reject(self, slot: Slot, verdict: GateVerdict, text: str = "") -> None:
        """Count what a gate turned away."""
        self.rejected[verdict.gate] += 1
        self.reasons.setdefault(slot.number, Counter())[verdict.gate] += 1
        if text and verdict.gate not in self.examples:
            self.examples[verdict.gate] = f"{text} ({verdict.rationale})"

    def open_slots(self) -> list[Slot]:
        """The slots that no question was accepted for."""
        return [slot for slot in self.plan.slots if slot.number not in self.accepted]

    def questions(self) -> list[Question]:
        """The accepted questions in the order of the plan."""
        return [self.accepted[number] for number in sorted(self.accepted)]

    def gaps(self, none: str) -> list[Gap]:
        """What falls short, by type, with the commonest reason. none: the reason where nothing was
        proposed.
        """
        asked = Counter(slot.type for slot in self.plan.slots)
        missing: dict[str, list[Slot]] = {}
        for slot in self.open_slots():
            missing.setdefault(slot.type, []).append(slot)
        gaps = []
        for type_, slots in missing.items():
            why: Counter[str] = Counter()
            for slot in slots:
                why.update(self.reasons.get(slot.number, {}))
            reason = none
            if why:
                counted = ", ".join(f"{gate} ({count})" for gate, count in why.most_common(2))
                reason = f"proposals failed: {counted}"
            gaps.append(Gap(type_, _topics(slots), asked[type_], asked[type_] - len(slots), reason))
        return gaps


def _topics(slots: list[Slot]) -> str:
    return ", ".join(sorted({slot.topic for slot in slots}))
