"""A metric as data: what it is called, needs, measures and means, apart from whoever computes it.

Reports, diagnosis, the default set and the pages of the documentation read it, so that a new metric
is one file and no list of names elsewhere has to learn of it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum

from ragassay.core import NO_ROLE, Role


class Area(StrEnum):
    """The part of the application that a metric measures."""

    RETRIEVAL = "retrieval"
    RESPONSE = "response"
    OPERATION = "operation"


@dataclass(frozen=True, slots=True)
class PartWords:
    """How reports word the parts of one kind: a part that passes, one that fails, and the title of
    the section that lists them ("" where they are listed elsewhere).
    """

    kind: str
    passed: str
    failed: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What the quantity is called in another tool, and how the number there differs ("" = the same
    quantity).
    """

    tool: str
    name: str
    differs: str = ""


@dataclass(frozen=True, slots=True)
class Declaration:
    """A metric as data.

    title: one line. needs: Sample fields without which it is not applicable; "a|b" = one of them.
    area: what it measures. level: "row", "claim" or "chunk". low, high: the range (high None =
    unbounded). higher_is_better: None where neither end is. unit: "" for ratios, else "USD", "s",
    "tokens". judged: whether it asks a judge. rubrics: the ones it asks. source: paper or standard.
    edge_cases: one sentence each. calls: LLM calls a row, in words. default: its place among the
    metrics measured when nothing is asked for, None where it is not one of them. mark_of: what a
    pass mark is compared with, where that is not the row's value ("of claims"). mark_words: marks
    that reports word in a way of their own. part_words: how reports word its parts. role: what it
    means to the diagnosis. elsewhere: the names of other tools; `aka` lists them in short.
    """

    name: str
    title: str
    formula: str
    needs: tuple[str, ...]
    area: Area = Area.RESPONSE
    level: str = "row"
    low: float = 0.0
    high: float | None = 1.0
    higher_is_better: bool | None = True
    unit: str = ""
    judged: bool = True
    rubrics: tuple[str, ...] = ()
    source: str = ""
    edge_cases: tuple[str, ...] = ()
    calls: str = ""
    default: int | None = None
    mark_of: str = ""
    mark_words: tuple[tuple[float, str], ...] = ()
    part_words: tuple[PartWords, ...] = ()
    role: Role = NO_ROLE
    elsewhere: tuple[Elsewhere, ...] = ()

    def to_json(self) -> dict[str, object]:
        """What a reader of metrics wants to know, JSON-like.

        How reports word the metric, and its rank in the diagnosis, are left out: they may change
        with any report. stage: where it stands in the causal order, "" for nowhere.
        """
        values: dict[str, object] = {}
        for name, value in asdict(self).items():
            if name not in ("mark_of", "mark_words", "part_words", "role"):
                # "edges" is what readers of the JSON know the edge cases by.
                values["edges" if name == "edge_cases" else name] = value
        return values | {"default": self.default is not None, "stage": self.role.stage}

    @property
    def aka(self) -> tuple[str, ...]:
        """ "name (tool)" of every name elsewhere."""
        return tuple(f"{other.name} ({other.tool})" for other in self.elsewhere)
