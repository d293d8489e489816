"""Ten scripted systems with one planted behaviour each, and the rows they are asked about.

Each draws its behaviour by row from a probability of the row's document, so that rows of a
document are alike (an intra-cluster correlation of about 0.1). A replicate draws documents and
rows anew: the planted effect is the mean over documents, and known.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ragassay.core import Sample
from ragassay.stress.headline import Weakness
from ragassay.stress.levels import Kind, Position
from ragassay.stress.plan import PlannedRow

DOCUMENTS, PER_DOCUMENT = 30, 5
RIGHT = 0.8
"""Share of questions that a system can answer with clean passages."""
ALIKE = 0.1
"""The intra-cluster correlation that is planted."""
NAMES_TEXT = """
Halden Brook Corvin Dunmore Elster Farrow Gresham Holt Ister Jarrow Kessel Lorne Marden Norwell
Ostrand Pelham Quill Rowan Selby Thorne Ulmer Varden Wexley Yarm Zennor Ashby Birch Calder Denby
Exmoor
"""
NAMES = NAMES_TEXT.split()
THINGS = ("bridge", "mill", "station", "theatre", "harbour")


def rows_of_one_fact() -> list[Sample]:
    """150 questions of 30 documents, each with a year as its answer and two passages."""
    rows = []
    for place, name in enumerate(NAMES):
        for number, thing in enumerate(THINGS):
            year = 1700 + 7 * place + 41 * number
            rows.append(
                Sample(
                    f"{name}-{thing}",
                    question=f"When was the {name} {thing} opened?",
                    reference=str(year),
                    contexts=_contexts(
                        f"The {name} {thing} was opened in {year}. People came from all around.",
                        f"{name} is a town on a river. It is known for its market.",
                    ),
                    cluster=name,
                )
            )
    return rows


def rows_of_two_facts() -> list[Sample]:
    """150 questions of 30 documents, each with two facts in two passages."""
    rows = []
    for place, name in enumerate(NAMES):
        for number, thing in enumerate(THINGS):
            first, second = 1700 + 7 * place + 41 * number, 1702 + 5 * place + 43 * number
            other = f"{THINGS[(number + 1) % len(THINGS)]}house"
            facts = (
                f"The {name} {thing} was opened in {first}.",
                f"The {name} {other} was closed in {second + 1}.",
            )
            rows.append(
                Sample(
                    f"{name}-{thing}",
                    question=f"What happened in {name}, to which building, and in which year?",
                    expected_facts=facts,
                    contexts=_contexts(*facts),
                    cluster=name,
                )
            )
    return rows


def _contexts(*texts: str) -> tuple:  # type: ignore[type-arg]
    from ragassay.core import Context

    return tuple(Context(text) for text in texts)


@dataclass
class Draws:
    """The chances of one replicate. Each named behaviour has a probability by document and a
    uniform number by row; what a row does is the same at every level.
    """

    rng: np.random.Generator
    _by_document: dict[tuple[str, str], float] = field(default_factory=dict)
    _by_row: dict[tuple[str, str], float] = field(default_factory=dict)

    def does(self, planned: PlannedRow, behaviour: str, mean: float) -> bool:
        """Whether a row shows a behaviour that `mean` of all rows show."""
        document = (planned.row.cluster, behaviour)
        if document not in self._by_document:
            size = 1 / ALIKE - 1
            chance = self.rng.beta(mean * size, (1 - mean) * size) if 0 < mean < 1 else mean
            self._by_document[document] = float(chance)
        row = (planned.row.id, behaviour)
        if row not in self._by_row:
            self._by_row[row] = float(self.rng.random())
        return self._by_row[row] < self._by_document[document]

    def now(self, mean: float) -> bool:
        """Whether something happens this once."""
        return bool(self.rng.random() < mean)


Respond = Callable[[PlannedRow, Draws], str]


def _test(planned: PlannedRow) -> str:
    return planned.key.partition("/")[0]


def _kind(planned: PlannedRow) -> str:
    return planned.key.split("/")[2] if _test(planned) == "noise" else ""


def _position(planned: PlannedRow) -> str:
    return planned.key.split("/")[4] if _test(planned) == "noise" else ""


def _truth(planned: PlannedRow) -> str:
    assert planned.row.answer is not None
    return planned.row.answer.text


def _wrong(planned: PlannedRow) -> str:
    return str(2100 + zlib.crc32(planned.row.id.encode()) % 400)


def answered(planned: PlannedRow, draws: Draws) -> str:
    """What a sound system says: the truth of `RIGHT` of the questions, and what its passages
    give.
    """
    test = _test(planned)
    if test in ("negative", "closed-book"):
        return "The passages do not say when it was opened."
    if test == "counterfactual":
        return f"It was opened in {planned.says[0]}."
    if test == "integration" or planned.row.sample.expected_facts:
        return _told(planned)
    can = draws.does(planned, "right", RIGHT)
    return f"It was opened in {_truth(planned) if can else _wrong(planned)}."


def _told(planned: PlannedRow, most: int | None = None) -> str:
    """The facts that the passages hold, as a response."""
    return " ".join(context.text for context in planned.contexts[:most]) or "I do not know."


def blind(planned: PlannedRow, draws: Draws) -> str:
    return answered(planned, draws)


def position_sensitive(planned: PlannedRow, draws: Draws) -> str:
    hurt = _position(planned) == Position.FIRST and draws.does(planned, "position", 0.4)
    return _instead(planned, hurt, draws)


def _instead(planned: PlannedRow, hurt: bool, draws: Draws) -> str:
    return f"It was opened in {_wrong(planned)}." if hurt else answered(planned, draws)


def always_answers(planned: PlannedRow, draws: Draws) -> str:
    if _test(planned) == "negative" and draws.does(planned, "answers", 0.8):
        return f"It was opened in {_wrong(planned)}."
    return answered(planned, draws)


def always_refuses(planned: PlannedRow, draws: Draws) -> str:
    if draws.does(planned, "refuses", 0.6):
        return "I do not know."
    return answered(planned, draws)


def follows_its_prior(planned: PlannedRow, draws: Draws) -> str:
    knows = draws.does(planned, "knows", 0.6)
    if knows and _test(planned) in ("counterfactual", "closed-book"):
        return f"It was opened in {_truth(planned)}."
    return answered(planned, draws)


def flags_conflicts(planned: PlannedRow, draws: Draws) -> str:
    if _test(planned) == "counterfactual" and draws.does(planned, "flags", 0.7):
        return f"The passages contradict what is known: they say {planned.says[0]}."
    return answered(planned, draws)


def merges_wrongly(planned: PlannedRow, draws: Draws) -> str:
    if not (_test(planned) == "clean" and draws.does(planned, "merges", 0.5)):
        return answered(planned, draws)
    first, second = (context.text for context in planned.contexts)
    one, other = first[-5:-1], second[-5:-1]
    return first.replace(one, other) + " " + second.replace(other, one)


def reads_one_source(planned: PlannedRow, draws: Draws) -> str:
    if draws.does(planned, "one source", 0.8):
        return _told(planned, 1)
    return answered(planned, draws)


def flaky(planned: PlannedRow, draws: Draws) -> str:
    return _instead(planned, draws.now(0.3), draws)


def injectable(planned: PlannedRow, draws: Draws) -> str:
    if _kind(planned) == Kind.INJECTED and draws.does(planned, "obeys", 0.5):
        return planned.marks[0]
    return answered(planned, draws)


@dataclass(frozen=True)
class System:
    """A scripted system. tests: what it is put to. weakness: what the headline has to be, None for
    none. planted: figure -> its true value.
    """

    respond: Respond
    tests: tuple[str, ...]
    weakness: Weakness | None
    planted: dict[str, float]
    facts: bool = False


_HURT = -0.4 * RIGHT
_FLAKY = RIGHT * 2 * 0.3 * 0.7
SYSTEMS: dict[str, System] = {
    "blind to noise": System(blind, ("noise",), None, {}),
    "position-sensitive": System(
        position_sensitive, ("noise",), Weakness.POSITION, {"noise at first": _HURT}
    ),
    "always answers": System(
        always_answers, ("rejection",), Weakness.ANSWERS, {"rejected": 0.2, "over-refused": 0.0}
    ),
    "always refuses": System(
        always_refuses,
        ("rejection",),
        Weakness.REFUSES,
        {"over-refused": 0.6},
    ),
    "follows its prior": System(
        follows_its_prior,
        ("counterfactual",),
        Weakness.PRIOR,
        {"against the policy": 0.6, "known": 0.6},
    ),
    "flags conflicts": System(flags_conflicts, ("counterfactual",), None, {"flags": 0.7}),
    "merges wrongly": System(
        merges_wrongly, ("integration",), Weakness.MERGES, {"wrongly merged": 0.5}, facts=True
    ),
    "reads one source": System(
        reads_one_source, ("integration",), Weakness.ONE_SOURCE, {"omitted": 0.4}, facts=True
    ),
    "flaky": System(flaky, ("noise",), Weakness.FLAKY, {"changed": _FLAKY}),
    "injectable": System(injectable, ("noise",), Weakness.INJECTED, {"injected": -0.5 * RIGHT}),
}
