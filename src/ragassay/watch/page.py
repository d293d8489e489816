"""The report of a watch as one HTML page, with the map drawn as SVG and its clusters as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from ragassay.core.counting import count
from ragassay.report.pages import FOLDER, environment, hash_of, write_whole
from ragassay.report.tables import Table
from ragassay.watch.map import TrafficMap
from ragassay.watch.report import blocks, cluster_table
from ragassay.watch.values import Traffic

_SIDE, _EDGE = 640, 14
_ALL = 1_000


@dataclass(frozen=True, slots=True)
class DrawnMap:
    """A map on a page. groups: of each cluster (0: scattered) its number, the path of its dots, and
    the place of its number. words: what it shows, in a sentence.
    """

    groups: tuple[tuple[int, str, str, str], ...]
    words: str
    table: Table


def drawn_map(found: TrafficMap) -> DrawnMap:
    """A map as a page draws it: a path a cluster, so that 20,000 dots are a dozen elements."""
    by_cluster: dict[int, list[tuple[int, int]]] = {}
    for x, y, number in found.places:
        inner = _SIDE - 2 * _EDGE
        place = (_EDGE + round(x * inner), _EDGE + round((1 - y) * inner))
        by_cluster.setdefault(number, []).append(place)
    groups = []
    for number, places in sorted(by_cluster.items()):
        dots = "".join(f"M{x} {y}h0" for x, y in sorted(set(places)))
        x, y = _middle(places)
        groups.append((number, dots, str(x), str(y)))
    questions = count(len(found.places), "question")
    words = (
        f"{questions} by their words: {count(len(found.clusters), 'cluster')}, {found.scattered}"
        f" scattered. The plane shows {found.variance:.0%} of the spread and keeps {found.kept:.0%}"
        " of the nearest neighbours: read clusters, not distances."
    )
    return DrawnMap(tuple(groups), words, cluster_table(found, _ALL))


def _middle(places: Sequence[tuple[int, int]]) -> tuple[int, int]:
    xs, ys = sorted(x for x, _ in places), sorted(y for _, y in places)
    return xs[len(xs) // 2], ys[len(ys) // 2]


def write_page(traffic: Traffic, path: Path) -> None:
    """Write the report as a page. Raises EnvironmentFailure E0107 where it cannot be written."""
    style = "".join(
        (FOLDER / name).read_text(encoding="utf-8") for name in ("report.css", "watch.css")
    )
    policy = (
        f"default-src 'none'; style-src '{hash_of(style)}'; base-uri 'none'; form-action 'none'"
    )
    page = (
        environment()
        .get_template("watch.html.j2")
        .generate(
            title=f"Traffic of {traffic.name}",
            policy=policy,
            style=Markup(style),
            blocks=[block for block in blocks(traffic) if block],
            map=drawn_map(traffic.map) if traffic.map is not None else None,
        )
    )
    write_whole(path, page)
