"""Lines and tables as one HTML page that needs no network and no script."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from pathlib import Path

from markupsafe import Markup

from ragassay.report.pages import FOLDER, environment, hash_of, write_whole
from ragassay.report.tables import Block, Chart, Table

_LEFT, _TOP, _WIDTH, _HEIGHT = 46.0, 12.0, 420.0, 230.0  # the field inside a chart of 480 x 280
_BAR = 4.0
"""Between the intervals of two curves at one step."""


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A chart with its places on the page. ticks: (place, words). lines: (name, points of each
    unbroken piece). bars: (number of the curve, across, lower end, upper end) of each interval.
    """

    chart: Chart
    x_ticks: list[tuple[str, str]]
    y_ticks: list[tuple[str, str]]
    lines: list[tuple[str, list[str]]]
    bars: list[tuple[int, str, str, str]]


Part = Table | _Drawn | list[str]


def write_blocks_html(title: str, blocks: Iterable[Block], path: str | Path) -> None:
    """Write a report as a page: its first line is the headline. Raises EnvironmentFailure E0107
    when it cannot be written.
    """
    sections = sections_of(blocks)
    names = ["report.css"]
    if any(isinstance(part, _Drawn) for part in chain.from_iterable(sections)):
        names += ["benchmark.css", "curves.css"]
    style = "".join((FOLDER / name).read_text(encoding="utf-8") for name in names)
    policy = (
        f"default-src 'none'; style-src '{hash_of(style)}'; base-uri 'none'; form-action 'none'"
    )
    page = environment().get_template("blocks.html.j2")
    write_whole(
        path,
        page.generate(title=title, policy=policy, style=Markup(style), sections=sections),
    )


def sections_of(blocks: Iterable[Block]) -> list[list[Part]]:
    """The blocks between empty lines; lines that follow each other are one paragraph."""
    sections: list[list[Part]] = [[]]
    for block in blocks:
        if block == "":
            sections.append([])
        elif isinstance(block, Table):
            sections[-1].append(block)
        elif isinstance(block, Chart):
            sections[-1].append(_drawn(block))
        elif sections[-1] and isinstance(sections[-1][-1], list):
            sections[-1][-1].append(block)
        else:
            sections[-1].append([block])
    return [section for section in sections if section]


def _drawn(chart: Chart) -> _Drawn:
    """A chart with the places of its points."""
    last = max(1, len(chart.steps) - 1)
    across = [_LEFT + _WIDTH * n / last for n in range(len(chart.steps))]
    lines = []
    for name, values in chart.series:
        points = list(zip(across, values, strict=True))
        pieces = []
        for is_there, piece in groupby(points, key=lambda point: point[1] is not None):
            if is_there:
                pieces.append(" ".join(f"{x:.1f},{_height(y):.1f}" for x, y in piece))
        lines.append((name, pieces))
    return _Drawn(
        chart,
        [(f"{x:.1f}", step) for x, step in zip(across, chart.steps, strict=True)],
        [(f"{_height(share):.1f}", f"{share:.0%}") for share in (0.0, 0.25, 0.5, 0.75, 1.0)],
        lines,
        list(_bars(chart, across)),
    )


def _bars(chart: Chart, across: Sequence[float]) -> Iterator[tuple[int, str, str, str]]:
    """The intervals of the curves, those of one step beside each other."""
    middle = (len(chart.intervals) - 1) / 2
    for number, intervals in enumerate(chart.intervals):
        for x, ends in zip(across, intervals, strict=True):
            if ends is not None:
                low, high = ends
                place = x + _BAR * (number - middle)
                yield number + 1, f"{place:.1f}", f"{_height(low):.1f}", f"{_height(high):.1f}"


def _height(share: float | None) -> float:
    return _TOP + _HEIGHT * (1 - (share or 0.0))
