"""The items that a kept report rests on: what led a judge astray, the questions of a test set, the
candidates of a search. Each can be looked at by itself.

An item is kept as a row of the report's record, so that copies, merges and checks of a store take
it along, and a list of reports reads none of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ragassay.core import RowResult, Sample
from ragassay.store import Store

MOST_ITEMS = 2_000
"""Items of one group that are kept; how many there were is kept with them."""
MOST_LETTERS = 20_000
"""Of one text of an item; a longer one ends with "…"."""
_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class ReportItem:
    """One thing that a report rests on.

    group: under which it is listed. outcome: what came of it, one line. texts: (name, text). before
    and after: what is set side by side, "" and "" where nothing is. run and index: the run and the
    row where all of it was judged, "" and 0 where there is none.
    """

    group: str
    title: str
    outcome: str
    texts: tuple[tuple[str, str], ...] = ()
    before: str = ""
    after: str = ""
    run: str = ""
    index: int = 0


class ItemGroup(NamedTuple):
    """The items of one group: the number of the first, how many are kept, how many there were."""

    name: str
    start: int
    kept: int
    total: int


def in_groups(items: Iterable[ReportItem]) -> tuple[list[ReportItem], list[ItemGroup]]:
    """The items that are kept, those of a group together, and the groups, in the order in which
    they come.
    """
    by_group: dict[str, list[ReportItem]] = {}
    for item in items:
        by_group.setdefault(item.group, []).append(item)
    kept: list[ReportItem] = []
    groups = []
    for name, members in by_group.items():
        shown = members[:MOST_ITEMS]
        groups.append(ItemGroup(name, len(kept), len(shown), len(members)))
        kept += map(_cut, shown)
    return kept, groups


def sample_text(sample: Sample) -> str:
    """The texts of a row as one, to be set beside another's."""
    texts = [("Question", sample.question)]
    for number, context in enumerate(sample.contexts or (), 1):
        texts.append((f"Context {number}", context.text))
    texts += [("Response", sample.response), ("Reference", sample.reference)]
    return "\n\n".join(f"{name}\n{text}" for name, text in texts if text is not None)


def put_items(store: Store, run_id: str, items: Sequence[ReportItem]) -> None:
    """Keep the items as rows of the report's record, whose lock the caller has."""
    for start in range(0, len(items), _AT_ONCE):
        some = items[start : start + _AT_ONCE]
        store.put_rows(run_id, [_row(start + n, item) for n, item in enumerate(some)])


def items_of(store: Store, run_id: str, start: int, count: int) -> Iterator[tuple[int, ReportItem]]:
    """(number, item) from number `start` on, at most `count`."""
    for row in store.rows(run_id, order="index", limit=count, offset=start):
        yield row.index, _item(row)


def item_at(store: Store, run_id: str, number: int) -> ReportItem | None:
    """The item of this number, None where there is none."""
    row = store.row_at(run_id, number)
    return None if row is None else _item(row)


def _cut(item: ReportItem) -> ReportItem:
    texts = tuple((name, _shortened(text)) for name, text in item.texts)
    return replace(
        item,
        texts=texts,
        title=_shortened(item.title),
        outcome=_shortened(item.outcome),
        before=_shortened(item.before),
        after=_shortened(item.after),
    )


def _shortened(text: str) -> str:
    return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}…"


def _row(number: int, item: ReportItem) -> RowResult:
    content = {
        "outcome": item.outcome,
        "texts": item.texts,
        "before": item.before,
        "after": item.after,
        "run": item.run,
        "index": item.index,
    }
    # ASCII: half a surrogate pair is no text that a database takes.
    plain = json.dumps([item.group, item.title, content])
    return RowResult(number, Sample(f"item-{number + 1}", response=plain))


def _item(row: RowResult) -> ReportItem:
    assert row.sample is not None
    group, title, content = json.loads(row.sample.response or "")
    texts = tuple((str(name), str(text)) for name, text in content["texts"])
    return ReportItem(group, title, **{**content, "texts": texts})
