"""How SQLite looks up what a write needs: by its places, never by walking through the run."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import create_engine, event, text

from ragassay.core import Diagnosis, JudgeInfo, Manifest, RowResult, Sample, Verdict
from ragassay.store import Store
from ragassay.store.sqlite import SqliteDatabase


def row(index: int) -> RowResult:
    return RowResult(index, Sample(f"row-{index}", "q"), (), Diagnosis(Verdict.PASS))


def test_a_commit_of_rows_looks_up_each_of_them_and_does_not_walk_through_the_run(
    tmp_path: Path,
) -> None:
    asked = list[tuple[str, tuple[object, ...]]]()
    with Store.open(tmp_path / "store.db") as store:
        store.create_run(Manifest("r", "", "", "memory", "", 0, {}, (), JudgeInfo("j", {}, {}, "")))
        store.put_rows("r", [row(n) for n in range(2_000)])

        assert isinstance(store.database, SqliteDatabase)

        @event.listens_for(store.database._writer, "before_cursor_execute")
        def _note(
            _c: object, _cursor: object, statement: str, given: tuple[object, ...], *_: object
        ) -> None:
            if statement.startswith("SELECT rows.idx"):
                asked.append((statement, given))

        store.put_rows("r", [row(n) for n in range(1_990, 2_064)])
        assert len(list(store.rows("r"))) == 2_064
    assert asked
    engine = create_engine(f"sqlite:///{tmp_path / 'store.db'}")
    with engine.connect() as connection:
        for statement, given in asked:
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", given).all()
            assert all("idx=?" in step[3] for step in plan if "rows" in step[3]), plan
        assert connection.execute(text("SELECT count(*) FROM rows")).scalar() == 2_064
    engine.dispose()
