"""Tables of a report, apart from whoever prints them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ragassay.core import Figure
from ragassay.core.display import Displayed
from ragassay.report.wording import number_words


@dataclass(frozen=True, slots=True)
class Table:
    """Names of the columns, and the cells of each row."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Ends = tuple[float, float]
"""The lower and the upper end of an interval."""


@dataclass(frozen=True, slots=True)
class Chart:
    """Shares as curves over some steps. text: what it shows, in a sentence. steps: their names,
    from left to right. series: name of a curve -> its values in [0, 1], None where there is
    none. intervals: of each curve the ends of the interval at each step, None where there is none;
    empty for curves without.
    """

    title: str
    text: str
    step_name: str
    steps: tuple[str, ...]
    series: tuple[tuple[str, tuple[float | None, ...]], ...]
    intervals: tuple[tuple[Ends | None, ...], ...] = ()


Block = str | Table | Chart
"""A line, a table or a chart of a report."""


class Reported(Displayed):
    """A result whose report is lines and tables, in a notebook, printed and in the terminal."""

    __slots__ = ()

    def blocks(self) -> Iterable[Block]:
        """The report: the outcome first; an empty line ends a part."""
        raise NotImplementedError


def figure_table(figures: Iterable[Figure]) -> Table:
    """Figures with their intervals, a row each; what is absent with the reason."""
    rows = []
    for figure in figures:
        value = number_words(figure.value, figure.interval, absent="-")
        rows.append((figure.name, value, str(figure.n), figure.reason))
    return Table(("figure", "value [95 %]", "rows", "note"), tuple(rows))
