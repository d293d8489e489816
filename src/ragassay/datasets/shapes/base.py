"""The row shape of a tool: how its rows are recognised and read, and how a Sample is written as
one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ragassay.core import Context, Sample


@dataclass(frozen=True, slots=True)
class Shape:
    """How one tool's rows are recognised and read.

    all_of, any_of: columns that give it away. reads: field -> the column that is preferred for it.
    skips: column -> why it is not read. lists: field -> path through lists ("turns.-1.answer", -1
    for the last), read where a row has it. also: field -> dotted column that is read where no other
    is, even when the first rows do not have it (free metadata, where our own fields travel). marks:
    columns whose names end in this are human labels. draws: columns that say how rows were drawn
    for labelling, which measurements read and rows do not hold. whole: the contexts cell is the
    text of one chunk, never a list. separator: what stands between chunks that are joined into one
    text. numbered: contexts are written "[1] ...", "[2] ...". timed: start_time and end_time are
    the run's. trailing: a conversation without a response column ends with the response. is_trace:
    the row is a trace as a whole. adapt: changes a copy of reads and one of skips by the columns
    that are there. detect: recognises rows in place of all_of and any_of, where names are free.
    order: of being tried, the lowest first; a shape with names that no other tool uses goes before
    one with common names.
    """

    name: str
    all_of: tuple[str, ...]
    any_of: tuple[str, ...]
    reads: Mapping[str, str]
    skips: Mapping[str, str]
    lists: Mapping[str, str] = field(default_factory=dict)
    also: Mapping[str, str] = field(default_factory=dict)
    marks: str = ""
    draws: frozenset[str] = frozenset()
    whole: bool = False
    separator: str = ""
    timed: bool = False
    trailing: bool = False
    is_trace: bool = False
    numbered: bool = False
    adapt: Callable[[set[str], dict[str, str], dict[str, str]], None] | None = None
    detect: Callable[[set[str]], bool] | None = None
    order: int = 100

    def fits(self, columns: set[str]) -> bool:
        """Whether rows with these columns are of this shape."""
        if self.detect is not None:
            return self.detect(columns)
        return set(self.all_of) <= columns and any(name in columns for name in self.any_of)


@dataclass(frozen=True, slots=True)
class Writer:
    """How a Sample is written as one tool's row.

    row: the row as a JSON-like dict; it counts into the Counter what of this Sample it had to leave
    out, beyond the parts that `held` does not name. held: the parts of a Sample that the shape
    holds (see `parts`). columns: dotted names, the header of a table. needs: fields that the tool
    cannot do without. native: the file format that the tool reads ("jsonl", "json" for an array,
    "tsv"). key: the name under which a JSON file of the tool holds its rows.
    """

    row: Callable[[Sample, Counter[str]], dict[str, object]]
    held: frozenset[str]
    columns: tuple[str, ...]
    needs: tuple[str, ...] = ()
    native: str = "jsonl"
    key: str = ""


def parts(sample: Sample) -> set[str]:
    """What the Sample says, by part: field names, and contexts.id, contexts.score,
    relevant_ids.grade, usage.cost ...
    """
    present = {name for name in _MAY_BE_ABSENT if getattr(sample, name) is not None}
    present |= {name for name in _MAY_BE_EMPTY if getattr(sample, name)}
    for chunk in sample.contexts or ():
        if chunk.id is not None:
            present.add("contexts.id")
        if chunk.score is not None:
            present.add("contexts.score")
    grades = (sample.relevant_ids or {}).values()
    # A grade of 1 is what an id without a grade is read as, so that nothing is lost of it.
    if any(grade != 1.0 for grade in grades):
        present.add("relevant_ids.grade")
    if sample.usage is not None:
        for name in ("input_tokens", "output_tokens", "total_tokens", "cost", "latency"):
            if getattr(sample.usage, name) is not None:
                present.add(f"usage.{name}")
    return present


_MAY_BE_ABSENT = (
    "question",
    "contexts",
    "response",
    "reference",
    "expected_facts",
    "relevant_ids",
    "answerable",
    "cluster",
    "feedback",
)
_MAY_BE_EMPTY = ("guidelines", "slices", "labels", "error")


USAGE = frozenset(
    {
        "usage.input_tokens",
        "usage.output_tokens",
        "usage.total_tokens",
        "usage.cost",
        "usage.latency",
    }
)
KNOWLEDGE = (
    "relevant_ids",
    "expected_facts",
    "guidelines",
    "answerable",
    "slices",
    "cluster",
    "labels",
)
"""What is known about a row: it travels in the free metadata of the tools that have some."""


def texts(contexts: tuple[Context, ...] | None) -> list[str] | None:
    """The chunks' texts in rank order."""
    return None if contexts is None else [chunk.text for chunk in contexts]


def relevant(sample: Sample) -> list[str] | None:
    """The ids with a grade of at least 1, for shapes that have no grades."""
    if sample.relevant_ids is None:
        return None
    return [document for document, grade in sample.relevant_ids.items() if grade >= 1]


def usage_figure(sample: Sample, name: str) -> float | None:
    """One figure of the application's usage."""
    return None if sample.usage is None else getattr(sample.usage, name)


def knowledge(sample: Sample) -> dict[str, object]:
    """What is known about the row, by our own field names; absent fields are left out."""
    values: dict[str, object] = {}
    for name in KNOWLEDGE:
        value = getattr(sample, name)
        if value is None or (name in _MAY_BE_EMPTY and not value):
            continue
        # JSON has lists and objects only.
        if isinstance(value, tuple):
            value = list(value)
        elif isinstance(value, Mapping):
            value = dict(value)
        values[name] = value
    return values
