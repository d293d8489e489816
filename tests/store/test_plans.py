"""How SQLite looks up what a write needs: by its places, never by walking through the run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine, create_engine, event

from ragassay.core import Diagnosis, JudgeInfo, Manifest, RowResult, Sample, Verdict
from ragassay.store import Store
from support.traffic import arrive, turn


@contextmanager
def statements(beginning: str) -> Iterator[list[tuple[str, tuple[object, ...]]]]:
    """The statements that are sent meanwhile and begin so, with their values."""
    sent = list[tuple[str, tuple[object, ...]]]()

    def note(
        _c: object, _cursor: object, statement: str, given: tuple[object, ...], *_: object
    ) -> None:
        if statement.startswith(beginning):
            sent.append((statement, given))

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(Engine, "before_cursor_execute", note)


def plans(path: Path, sent: list[tuple[str, tuple[object, ...]]]) -> list[list[str]]:
    """How SQLite answers each of the statements."""
    engine = create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        found = [
            [step[3] for step in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {each}", given)]
            for each, given in sent
        ]
    engine.dispose()
    return found


def row(index: int) -> RowResult:
    return RowResult(index, Sample(f"row-{index}", "q"), (), Diagnosis(Verdict.PASS))


def test_a_commit_of_rows_looks_up_each_of_them_and_does_not_walk_through_the_run(
    tmp_path: Path,
) -> None:
    with Store.open(tmp_path / "store.db") as store:
        store.create_run(Manifest("r", "", "", "memory", "", 0, {}, (), JudgeInfo("j", {}, {}, "")))
        store.put_rows("r", [row(n) for n in range(2_000)])
        with statements("SELECT rows.idx") as sent:
            store.put_rows("r", [row(n) for n in range(1_990, 2_064)])
        assert len(list(store.rows("r"))) == 2_064
    assert sent
    for plan in plans(tmp_path / "store.db", sent):
        assert all("idx=?" in step for step in plan if "rows" in step), plan


def test_the_newest_received_rows_are_looked_up_and_not_sorted_out_of_all(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.db") as store:
        arrive(store, [turn(f"turn {n}") for n in range(5)], 1_790_000_000.0)
        with statements("SELECT trace") as sent:
            first = store.span_records.newest_rows(3)
            last = first[-1]
            rest = store.span_records.newest_rows(3, (last.received, last.trace, last.number))
    found = [each.trace for each in (*first, *rest)]
    assert found == sorted(found, reverse=True)
    assert len(found) == 5
    assert len(sent) == 2
    for plan in plans(tmp_path / "store.db", sent):
        assert not any("SCAN" in step or step == "USE TEMP B-TREE FOR ORDER BY" for step in plan)
