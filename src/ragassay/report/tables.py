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


Block = str | Table
"""A line or a table of a report."""


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
