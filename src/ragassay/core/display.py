"""How a result shows itself: in a notebook as HTML, printed as text.

Reports stand above the values that they show, so whoever knows both says here how it is done.
"""

from __future__ import annotations

from collections.abc import Callable

_writers: dict[str, Callable[[object], str]] = {}


def show_with(*, html: Callable[[object], str], text: Callable[[object], str]) -> None:
    """Show results by these functions from now on."""
    _writers.update(html=html, text=text)


class Displayed:
    """A value with a report of its own."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        """The report as a piece of HTML, for notebooks; None where no reports are at hand."""
        write = _writers.get("html")
        return None if write is None else write(self)

    def __str__(self) -> str:
        write = _writers.get("text")
        return repr(self) if write is None else write(self)
