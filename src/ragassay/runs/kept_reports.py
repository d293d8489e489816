"""Reports that are kept in the store, so that they can be looked at again: an optimisation, a test
set, the probing of a judge.

A report is kept as a record like those of measured judges: copies, merges and checks of the store
take it along, and the list of runs leaves it out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from typing import Any

from ragassay.core import MEASURING, JudgeInfo, Ledger, Manifest, RunState, digest
from ragassay.report.tables import Block, Chart, Table
from ragassay.runs.report_items import ItemGroup, ReportItem, in_groups, put_items
from ragassay.store import Store
from ragassay.version import __version__

OPTIMISATION, TEST_SET, PROBING = "optimisation", "test set", "probing"
KINDS = (OPTIMISATION, TEST_SET, PROBING)
_KEPT = "report"
_LOOKED_THROUGH = 2_000
"""Records among which the reports are looked for, the newest ones."""


@dataclass(frozen=True, slots=True)
class KeptReport:
    """A report as it was printed. kind: one of KINDS. headline: its first line. before, after: the
    texts of the rubric that an optimisation changed, "" where none is. groups: of its items, which
    are read with `items_of`. runs: ids of the runs whose rows it rests on.
    """

    id: str
    kind: str
    title: str
    created: str
    blocks: tuple[Block, ...]
    before: str = ""
    after: str = ""
    groups: tuple[ItemGroup, ...] = ()
    runs: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        """The first line, which says what came of it."""
        return next((block for block in self.blocks if isinstance(block, str) and block), "")


def keep_report(
    store: Store,
    kind: str,
    title: str,
    blocks: Iterable[Block],
    *,
    judge: str = "",
    before: str = "",
    after: str = "",
    items: Iterable[ReportItem] = (),
    runs: Sequence[str] = (),
) -> None:
    """Keep a report with its items. The same one again is there already."""
    content = {"kind": kind, "title": title, "blocks": [_plain(block) for block in blocks]}
    content |= {"before": before, "after": after}
    kept, groups = in_groups(items)
    if kept or runs:
        content |= {"groups": [list(group) for group in groups], "runs": list(runs)}
    parts = [content, [astuple(item) for item in kept]] if kept else [content]
    key = digest(_KEPT, *parts)
    run_id = f"{_KEPT}-{key[:20]}"
    manifest = Manifest(
        run_id=run_id,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        version=__version__,
        source="memory",
        source_hash=key,
        rows=len(kept),
        mapping={},
        metrics=(),
        judge=JudgeInfo(judge, {}, {}, ""),
        name=f"{MEASURING}{kind} {title}",
        kept={_KEPT: content},
    )
    try:
        store.create_run(manifest)
    except ValueError:
        if store.run(run_id).state is RunState.FINISHED:
            return
    store.acquire(run_id)
    try:
        put_items(store, run_id, kept)
        store.update_run(
            run_id, state=RunState.FINISHED, stop_reason="", ledger=Ledger(), seconds=0.0
        )
    finally:
        store.release(run_id)


def kept_reports(store: Store, kind: str = "") -> list[KeptReport]:
    """The reports, newest first. kind: only those of this kind."""
    found = []
    for stored in store.runs(_LOOKED_THROUGH, names="measuring"):
        report = _report(stored.manifest)
        if report is not None and kind in ("", report.kind):
            found.append(report)
    return found


def kept_report(store: Store, run_id: str) -> KeptReport | None:
    """The report of this id, None where there is none."""
    if not run_id.startswith(f"{_KEPT}-") or not store.has_run(run_id):
        return None
    return _report(store.run(run_id).manifest)


def _report(manifest: Manifest) -> KeptReport | None:
    content = manifest.kept.get(_KEPT)
    if not isinstance(content, Mapping):
        return None
    return KeptReport(
        id=manifest.run_id,
        kind=str(content["kind"]),
        title=str(content["title"]),
        created=manifest.created,
        blocks=tuple(_block(plain) for plain in _list(content["blocks"])),
        before=str(content["before"]),
        after=str(content["after"]),
        groups=tuple(ItemGroup(*group) for group in _list(content.get("groups"))),  # type: ignore[misc]
        runs=tuple(map(str, _list(content.get("runs")))),
    )


def _plain(block: Block) -> object:
    """A block as JSON-like values."""
    if isinstance(block, Table):
        return {"head": list(block.head), "rows": [list(row) for row in block.rows]}
    if isinstance(block, Chart):
        return {
            "title": block.title,
            "text": block.text,
            "step_name": block.step_name,
            "steps": list(block.steps),
            "series": [[name, list(values)] for name, values in block.series],
            "intervals": [list(intervals) for intervals in block.intervals],
        }
    return block


def _block(plain: Any) -> Block:
    if isinstance(plain, str):
        return plain
    if "head" in plain:
        rows = tuple(tuple(map(str, row)) for row in plain["rows"])
        return Table(tuple(map(str, plain["head"])), rows)
    series = tuple((str(name), tuple(values)) for name, values in plain["series"])
    steps = tuple(map(str, plain["steps"]))
    # Reports that were kept before curves had intervals hold none.
    intervals = tuple(_intervals(ends) for ends in plain.get("intervals", ()))
    return Chart(plain["title"], plain["text"], plain["step_name"], steps, series, intervals)


def _intervals(plain: Sequence[Any]) -> tuple[tuple[float, float] | None, ...]:
    return tuple(None if ends is None else (ends[0], ends[1]) for ends in plain)


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else ()
