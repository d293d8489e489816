"""The values of a test set: documents, passages, questions with evidence, verdicts of gates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

SIMPLE, BRIDGE, COMPARE = "simple", "multi-hop bridge", "multi-hop compare"
REASONING, UNANSWERABLE = "reasoning", "unanswerable"
COUNTERFACTUAL, FALSE_PREMISE, FOLLOW_UP = "counterfactual", "false premise", "multi-turn"

TYPES = (
    SIMPLE,
    BRIDGE,
    COMPARE,
    REASONING,
    UNANSWERABLE,
    COUNTERFACTUAL,
    FALSE_PREMISE,
    FOLLOW_UP,
)
"""Types of questions, in the order of tables."""

REAL = "real"
"""The type of a question that users asked."""

STYLES = ("question", "search words", "conversation")
PERSONAS = ("newcomer", "expert", "person in a hurry")


@dataclass(frozen=True, slots=True)
class Document:
    """A document as it was read. id: its path in the folder, or the id that its file gives.

    is_chunk: whether it is a chunk of the user's own, which is left as it is. is_part: whether its
    id is that of a document, of which chunks that follow each other are parts.
    """

    id: str
    text: str
    title: str = ""
    is_chunk: bool = False
    is_part: bool = False


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document at [start, end) of its text; number: its place in the corpus, from
    0.
    """

    number: int
    document: str
    text: str
    title: str = ""
    start: int = 0


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or record that could not be read, and why."""

    where: str
    why: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """What an answer rests on: a quote at [start, end) of a document's text."""

    document: str
    start: int
    end: int
    quote: str


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """What one gate says of a question. passed: None where it does not apply or could not be
    asked; the rationale says which.
    """

    gate: str
    passed: bool | None
    rationale: str


@dataclass(frozen=True, slots=True)
class Turn:
    """An earlier turn of a conversation: what the user asked and what was answered."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question of a test set.

    reference: the right answer; of an unanswerable question "". evidence: where the answer stands.
    steps: the facts or steps of a right answer, in order. history: earlier turns. cluster: the
    document that the row belongs to. topic: the cluster of documents that the plan counts it
    under. origin: "offline", the writer's URI, or "real". verdicts: of the gates, in order.
    """

    id: str
    question: str
    reference: str
    type: str
    evidence: tuple[Evidence, ...] = ()
    answerable: bool = True
    persona: str = ""
    style: str = "question"
    difficulty: int = 1
    cluster: str = ""
    topic: str = ""
    steps: tuple[str, ...] = ()
    history: tuple[Turn, ...] = ()
    origin: str = "offline"
    verdicts: tuple[GateVerdict, ...] = ()
    weight: int = 1
    """How often users asked it, of a real one."""
    accepted: bool | None = None
    """What people said of it in a spot check; None where nobody looked."""

    @property
    def documents(self) -> tuple[str, ...]:
        """The documents that its evidence stands in, each once."""
        return tuple(dict.fromkeys(evidence.document for evidence in self.evidence))


@dataclass(frozen=True, slots=True)
class Gap:
    """Questions that were asked for and could not be delivered."""

    type: str
    topic: str
    asked: int
    delivered: int
    reason: str


@dataclass(frozen=True, slots=True)
class SpotCheck:
    """What people said of a sample of the set. high: the upper end of the exact interval (95 %,
    Clopper & Pearson) of the error rate. new: questions that a refresh added since, for which the
    sample says nothing.
    """

    checked: int
    rejected: int
    low: float
    high: float
    new: int = 0

    def words(self) -> str:
        """In words, as it is shown wherever the set is used."""
        said = f"people rejected {self.rejected} of {self.checked} questions"
        share = f"{self.low:.0%} to {self.high:.0%}"
        if not self.new:
            return f"{said} ({share} of all, at 95 %)"
        return f"{said} ({share} of those kept, at 95 %); {self.new} came since"


@dataclass(frozen=True, slots=True)
class SetInfo:
    """How a test set was made; each row of its file holds it.

    source: the documents, as they were named. words: of a passage, about. version: from 1, raised
    by each refresh. spot_check: None where nobody has looked. corpus: a hash of the documents.
    came_from: a hash of the version before, "" for the first. documents: id -> hash of its text,
    where there are not too many.
    """

    source: str
    words: int
    seed: int
    writer: str
    judge: str
    asked: int
    version: int = 1
    spot_check: SpotCheck | None = None
    corpus: str = ""
    came_from: str = ""
    documents: Mapping[str, str] = field(default_factory=dict)

    def note(self) -> str:
        """What to know of the set, in one line."""
        made = "made offline by rules, easier than real questions"
        if self.writer != "offline":
            made = f"written by {self.writer}, checked by {self.judge}"
        if self.writer == "real":
            made = "of real queries"
        checked = "no spot check by people" if self.spot_check is None else self.spot_check.words()
        return f"test set, version {self.version}, {made}; {checked}"
