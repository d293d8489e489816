"""A PostgreSQL store loses nothing and doubles nothing: under crashes, cuts, other writers and
other machines.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import event

from ragassay.core import (
    EnvironmentFailure,
    HumanLabel,
    Judgment,
    RowResult,
    Sample,
    SetupError,
    Status,
)
from ragassay.store import Store, migrate, schema
from ragassay.store import locks as run_locks
from ragassay.store.postgres import PostgresDatabase
from support.cutting_proxy import CuttingProxy
from support.postgres import PASSWORD, USER, Postgres
from support.store_faults import NEXT, Writer, next_version


def judgment(key: str) -> Judgment:
    return Judgment(key, "j", "groundedness", Status.JUDGED, rating=3)


@pytest.fixture
def database(postgres: Postgres) -> str:
    return postgres.database()


@pytest.fixture
def store(postgres: Postgres, database: str, make_manifest) -> Iterator[Store]:
    with Store.open(postgres.url(database)) as opened:
        opened.create_run(make_manifest("run-1", rows=1_000_000))
        yield opened


def keys(postgres: Postgres, database: str) -> tuple[int, int]:
    """How many judgments there are, and how many different ones."""
    return postgres.sql("SELECT count(*), count(DISTINCT key) FROM judgments", database)[0]


def child(code: str, *arguments: object) -> subprocess.Popen[str]:
    setup = """
        import sys, time
        from ragassay.core import *
        from ragassay.store import Store
        def judgment(key):
            return Judgment(key, "j", "groundedness", Status.JUDGED, rating=3)
    """
    return subprocess.Popen(
        [
            sys.executable,
            "-c",
            textwrap.dedent(setup) + textwrap.dedent(code),
            *map(str, arguments),
        ],
        stdin=subprocess.PIPE,  # of its own: it waits there until it is killed
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


# ── the schema
# ──────────────────────────────────────────────────────────────────────────────────────────────────


def described(postgres: Postgres, database: str) -> list[list[tuple[object, ...]]]:
    return [
        postgres.sql(query, database)
        for query in (
            (
                "SELECT table_name, column_name, data_type, collation_name, is_nullable,"
                " column_default FROM information_schema.columns WHERE table_schema = 'public'"
                " ORDER BY 1, 2"
            ),
            "SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1, 2",
            (
                "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint"
                " WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2"
            ),
        )
    ]


def by_migrations(postgres: Postgres, database: str) -> None:
    """An empty store as the migrations make it."""
    from sqlalchemy import create_engine

    from ragassay.store.location import address_of

    engine = create_engine(address_of(postgres.url(database)))  # type: ignore[arg-type]
    with engine.begin() as connection:
        migrate.upgrade(connection)
    engine.dispose()


@pytest.mark.slow
def test_a_new_database_has_the_schema_that_the_migrations_give(
    postgres: Postgres, store: Store, database: str
) -> None:
    migrated = postgres.database()
    by_migrations(postgres, migrated)
    assert described(postgres, migrated) == described(postgres, database)


@pytest.mark.slow
def test_an_older_database_is_migrated_and_a_newer_one_refused(
    postgres: Postgres,
    database: str,
    tmp_path: Path,
    make_manifest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    released = schema.HEAD
    by_migrations(postgres, database)
    monkeypatch.setattr(migrate, "MIGRATIONS", next_version(tmp_path / "m"))
    monkeypatch.setattr(schema, "HEAD", NEXT)
    with Store.open(postgres.url(database)) as store:
        store.create_run(make_manifest("run-1"))
        assert store.backup is None
        assert store.check() == ()
    monkeypatch.setattr(schema, "HEAD", released)
    with pytest.raises(EnvironmentFailure, match="E0502"):
        Store.open(postgres.url(database))


@pytest.mark.parametrize("version", ["0001", "0002"])
def test_a_database_of_before_the_first_release_is_refused(
    postgres: Postgres, database: str, version: str
) -> None:
    by_migrations(postgres, database)
    postgres.sql(f"UPDATE ragassay_version SET version_num = '{version}'", database)
    with pytest.raises(EnvironmentFailure, match=r"E0501.*before the first release"):
        Store.open(postgres.url(database))


def test_a_migration_that_fails_changes_nothing(
    postgres: Postgres, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_migrations(postgres, database)
    before = described(postgres, database)
    failing = next_version(tmp_path / "m", "op.execute('CREATE TABLE runs (x INTEGER)')")
    monkeypatch.setattr(migrate, "MIGRATIONS", failing)
    monkeypatch.setattr(schema, "HEAD", NEXT)
    with pytest.raises(EnvironmentFailure, match="E0501"):
        Store.open(postgres.url(database))
    assert described(postgres, database) == before


def test_a_database_of_somebody_elses_is_refused(postgres: Postgres, database: str) -> None:
    postgres.sql("CREATE TABLE things (x int)", database)
    with pytest.raises(EnvironmentFailure, match="not a RagAssay store"):
        Store.open(postgres.url(database))


@pytest.mark.slow
def test_processes_that_start_at_once_make_one_schema(postgres: Postgres, database: str) -> None:
    starters = [child("Store.open(sys.argv[1]).close()", postgres.url(database)) for _ in range(4)]
    assert [(s.communicate()[1], s.returncode) for s in starters] == [("", 0)] * 4
    assert postgres.sql("SELECT version_num FROM ragassay_version", database) == [(schema.HEAD,)]


# ── faults
# ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
def test_crashes_and_cuts_lose_nothing_and_double_nothing(
    postgres: Postgres, store: Store, database: str
) -> None:
    with Writer(store) as writer:
        writer.wait_for_more(10)
        assert postgres.cut(database) >= 1
        writer.wait_for_more(5)
        postgres.restart(0.5)
        writer.wait_for_more(10)  # the mark is 5 s; machines that run tests are busy
    assert (writer.failed, writer.missing()) == ("", 0)
    assert keys(postgres, database) == (50 * writer.written, 50 * writer.written)
    assert store.check() == ()


def test_a_read_only_database_is_waited_for_and_the_wait_is_told(
    postgres: Postgres, store: Store, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragassay.store.database.SHOWN_AFTER_S", 0.2)
    with Writer(store) as writer:
        writer.wait_for_more(10)
        postgres.sql(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
        postgres.cut(database)
        deadline = time.monotonic() + 120
        while store.waiting != "the database is read-only":
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert set(store.get_judgments([("j", "0-0")])) == {
            ("j", "0-0")
        }  # what is there can be read
        postgres.sql(f"ALTER DATABASE {database} RESET default_transaction_read_only")
        writer.wait_for_more(5)
        assert store.waiting == ""
    assert (writer.failed, writer.missing()) == ("", 0)
    assert keys(postgres, database) == (50 * writer.written, 50 * writer.written)


def test_a_database_that_stays_away_ends_in_an_error_that_says_so(
    postgres: Postgres, store: Store, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragassay.store.postgres.PATIENCE_S", 0.3)
    postgres.sql(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    postgres.cut(database)
    with pytest.raises(EnvironmentFailure, match="read-only"):
        store.put_judgments("run-1", [judgment("a")])
    postgres.sql(f"ALTER DATABASE {database} RESET default_transaction_read_only")
    postgres.stop()
    try:
        with pytest.raises(EnvironmentFailure, match="cannot be reached") as caught:
            store.runs()
    finally:
        postgres.start()
    assert PASSWORD not in str(caught.value)
    store.put_judgments("run-1", [judgment("a")])
    assert keys(postgres, database) == (1, 1)


def raising(postgres: Postgres, database: str, condition: str, state: str) -> None:
    """Have the server itself refuse judgments with this SQLSTATE while the condition holds."""
    postgres.sql("CREATE SEQUENCE tries", database)
    postgres.sql(f"GRANT ALL ON SEQUENCE tries TO {USER}", database)
    postgres.sql(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF nextval('tries')"
        f" {condition} THEN RAISE EXCEPTION 'no' USING ERRCODE = '{state}'; END IF; RETURN NEW;"
        " END $$",
        database,
    )
    postgres.sql(
        "CREATE TRIGGER refuse BEFORE INSERT ON judgments FOR EACH ROW EXECUTE FUNCTION refuse()",
        database,
    )


@pytest.mark.parametrize("state", ["40001", "40P01", "53300"])
def test_a_refusal_that_passes_is_only_a_pause(
    postgres: Postgres, store: Store, database: str, state: str
) -> None:
    raising(postgres, database, "< 4", state)
    store.put_judgments("run-1", [judgment("a"), judgment("b")])
    assert keys(postgres, database) == (2, 2)


@pytest.mark.timing
@pytest.mark.parametrize(
    ("state", "code"), [("53100", "E0506"), ("XX001", "E0503"), ("42501", "E0501")]
)
def test_a_refusal_that_does_not_pass_is_told_at_once(
    postgres: Postgres, store: Store, database: str, state: str, code: str
) -> None:
    raising(postgres, database, "> 0", state)
    began = time.monotonic()
    with pytest.raises(EnvironmentFailure) as caught:
        store.put_judgments("run-1", [judgment("a")])
    assert caught.value.code == code
    assert time.monotonic() - began < 5
    assert keys(postgres, database) == (0, 0)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_commit_whose_answer_was_lost_is_done_once(
    postgres: Postgres, store: Store, database: str, when: str
) -> None:
    with CuttingProxy(postgres.port) as proxy:
        url = (
            postgres.url(database).replace(f":{postgres.port}/", f":{proxy.port}/")
            + "?sslmode=disable"
        )
        with Store.open(url) as through:
            for number in range(3):
                proxy.arm(when)
                through.put_judgments("run-1", [judgment(f"{number}-{k}") for k in range(10)])
                through.put_rows("run-1", [RowResult(number, Sample(f"row-{number}"))])
            assert proxy.cuts == 3
    assert keys(postgres, database) == (30, 30)
    assert set(store.done("run-1")) == {0, 1, 2}


def test_while_it_is_not_known_whether_a_write_happened_the_wait_is_told(
    postgres: Postgres, store: Store, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer to a commit is lost in the moment in which the database turns read-only."""
    monkeypatch.setattr("ragassay.store.database.SHOWN_AFTER_S", 0.2)

    def turn() -> None:
        postgres.sql(f"ALTER DATABASE {database} SET default_transaction_read_only = on")

    with CuttingProxy(postgres.port) as proxy:
        url = (
            postgres.url(database).replace(f":{postgres.port}/", f":{proxy.port}/")
            + "?sslmode=disable"
        )
        with Store.open(url) as through:
            through.put_judgments("run-1", [judgment("first")])
            proxy.arm("after", turn)
            writer = threading.Thread(
                target=through.put_judgments, args=("run-1", [judgment("second")])
            )
            writer.start()
            try:
                deadline = time.monotonic() + 120
                while through.waiting != "the database is read-only":
                    assert time.monotonic() < deadline, through.waiting
                    time.sleep(0.01)
            finally:
                postgres.sql(f"ALTER DATABASE {database} RESET default_transaction_read_only")
                writer.join()
            assert through.waiting == ""
    assert keys(postgres, database) == (2, 2)


def test_connections_that_others_call_stale_meanwhile_are_used_all_the_same(store: Store) -> None:
    database = store.database
    assert isinstance(database, PostgresDatabase)

    def others(
        *_: object,
    ) -> None:  # every thread that finds the server away counts the generation up
        database._generation += 1

    event.listen(database._engine, "connect", others)
    for _ in range(4):
        database._generation += 1
        assert [run.run_id for run in store.runs()] == ["run-1"]


@pytest.mark.slow
def test_a_write_that_a_crash_forgot_is_done_again_though_a_stranger_got_its_number(
    postgres: Postgres, store: Store, database: str
) -> None:
    forgotten: list[str] = []

    def crash() -> None:
        ((number,),) = postgres.sql(
            "SELECT backend_xid FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND pid <>"
            " pg_backend_pid()"
        )
        postgres.stop("immediate")
        postgres.start()
        # The server gives out the numbers again that never reached its disk.
        for _ in range(1000):
            ((given,),) = postgres.sql("SELECT pg_current_xact_id()::text", database)
            if int(given) >= int(number):
                break
        forgotten.extend(postgres.sql(f"SELECT pg_xact_status('{number}'::xid8)", database)[0])

    store.close()
    with CuttingProxy(postgres.port) as proxy:
        url = (
            postgres.url(database).replace(f":{postgres.port}/", f":{proxy.port}/")
            + "?sslmode=disable"
        )
        with Store.open(url) as through:
            through.put_judgments(
                "run-1", [judgment("first")]
            )  # on a connection that is there when it is cut
            for round_ in range(5):
                proxy.arm("before", crash)
                through.put_judgments("run-1", [judgment(f"{round_}-{k}") for k in range(10)])
                assert keys(postgres, database) == (10 * round_ + 11, 10 * round_ + 11)
    assert "committed" in forgotten  # a stranger's: ours was cut before its commit every time


def test_a_writer_leaves_no_mark_when_it_closes(
    postgres: Postgres, store: Store, database: str
) -> None:
    store.put_judgments("run-1", [judgment("one")])
    assert postgres.sql("SELECT count(*) FROM marks", database) == [(1,)]
    store.close()
    assert postgres.sql("SELECT count(*) FROM marks", database) == [(0,)]


def test_a_transaction_that_hangs_on_the_server_is_ended_before_its_write_is_repeated(
    postgres: Postgres, store: Store, database: str
) -> None:
    """The proxy is gone without a word: the server still holds the transaction open."""
    with CuttingProxy(postgres.port) as proxy:
        url = (
            postgres.url(database).replace(f":{postgres.port}/", f":{proxy.port}/")
            + "?sslmode=disable"
        )
        with Store.open(url) as through:
            through.put_judgments("run-1", [judgment("first")])
            proxy.arm("stuck")
            through.put_judgments("run-1", [judgment(f"{k}") for k in range(10)])
    assert keys(postgres, database) == (11, 11)


@pytest.mark.timing
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"password": "wrong-canary"}, "refuses the log-in"),
        ({"user": "nobody"}, "refuses the log-in"),
        ({"database": "nowhere"}, "no database of that name"),
        ({"port": 1}, "cannot be reached"),
        ({"options": "?sslmode=sometimes"}, "cannot be connected to in this way"),
        ({"options": "?sslmode=require"}, "cannot be connected to in this way"),
        ({"options": "?colour=blue"}, "cannot be connected to in this way"),
        ({"host": "nowhere.invalid"}, "cannot be reached"),
    ],
)
def test_a_wrong_url_is_told_at_once_and_without_its_password(
    postgres: Postgres, database: str, change: dict[str, object], words: str
) -> None:
    parts = {
        "user": USER,
        "password": "wrong-canary",
        "host": "127.0.0.1",
        "port": postgres.port,
        "database": database,
    }
    if "password" not in change:
        parts["password"] = "Canary-7f3a-p%C3%A4ssw%C3%B6rd"
    form = "postgresql://{user}:{password}@{host}:{port}/{database}{options}"
    url = form.format(**{**parts, "options": "", **change})
    began = time.monotonic()
    with pytest.raises(EnvironmentFailure, match=words) as caught:
        Store.open(url)
    assert time.monotonic() - began < 3
    assert caught.value.code == "E0501"
    assert "anary" not in str(caught.value)


@pytest.mark.slow
def test_the_password_may_come_from_the_environment_and_a_socket_may_be_named(
    postgres: Postgres, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    with Store.open(postgres.url(database, None, "postgres")) as store:
        assert store.location == postgres.url(database, None)
        assert store.runs() == []
    with Store.open(
        f"postgresql:///{database}?host={postgres.folder}&port={postgres.port}&user={USER}"
    ) as store:
        assert store.runs() == []
    with Store.open(
        f"postgresql://{USER}@127.0.0.1:{postgres.port}/{database}?password={PASSWORD}"
    ) as store:
        assert store.location == postgres.url(database, None)


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(SetupError, match=r"ragassay\[postgres\]") as caught:
        Store.open("postgresql://me@host/database")
    assert caught.value.code == "E0105"


# ── several at once
# ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
def test_eight_processes_write_their_runs_and_one_of_all(
    postgres: Postgres, store: Store, database: str, make_manifest
) -> None:
    code = """
        store, name = Store.open(sys.argv[1]), sys.argv[2]
        for i in range(12):
            for run in (f"own-{name}", "run-1"):
                store.put_judgments(run, [judgment(f"{run}-{name}-{i}-{k}") for k in range(20)])
            own = [RowResult(10 * i + k, Sample(f"{i}-{k}")) for k in range(10)]
            store.put_rows(f"own-{name}", own)
            # All write the same rows of one run: each row is there once.
            common = [RowResult(10 * i + k, Sample(f"{name}-{i}-{k}")) for k in range(10)]
            store.put_rows("run-1", common)
            same = HumanLabel(f"{i}", "same", "ann", 1.0)
            store.put_labels("run-1", [same, HumanLabel(f"{i}", "own", name, 1.0)])
        store.close()
    """
    for name in range(8):
        store.create_run(make_manifest(f"own-{name}", rows=120))
    writers = [child(code, postgres.url(database), name) for name in range(8)]
    assert [(w.communicate()[1], w.returncode) for w in writers] == [("", 0)] * 8
    assert keys(postgres, database) == (8 * 12 * 40, 8 * 12 * 40)
    for name in range(8):
        assert [line.index for line in store.row_lines(f"own-{name}")] == list(range(120))
    assert [line.index for line in store.row_lines("run-1")] == list(range(120))
    labels = store.labels("run-1")
    assert len([label for label in labels if label.name == "same"]) == 12
    assert len([label for label in labels if label.name == "own"]) == 96


@pytest.mark.slow
def test_one_of_two_that_take_a_run_at_once_gets_it(
    postgres: Postgres, store: Store, database: str
) -> None:
    code = """
        store = Store.open(sys.argv[1])
        try:
            store.acquire("run-1")
            print("mine", flush=True)
        except EnvironmentFailure as error:
            print(error.code, flush=True)
        sys.stdin.readline()
    """
    takers = [child(code, postgres.url(database)) for _ in range(4)]
    said = sorted(taker.stdout.readline().strip() for taker in takers if taker.stdout)
    for taker in takers:
        taker.kill()
        taker.communicate()
    assert said == ["E0504"] * 3 + ["mine"]


def test_the_lock_of_another_machine_is_as_old_as_the_database_says(
    postgres: Postgres, store: Store, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", lambda: 0.0)  # this machine's clock is wrong
    taken = (
        "INSERT INTO run_locks SELECT 1, 't', 1, 'elsewhere', '', extract(epoch FROM"
        " clock_timestamp()) - {}"
    )
    postgres.sql(taken.format(60), database)
    with pytest.raises(EnvironmentFailure, match="on elsewhere"):
        store.acquire("run-1")
    postgres.sql("DELETE FROM run_locks", database)
    postgres.sql(taken.format(3600), database)
    store.acquire("run-1")


def test_the_owner_says_that_it_works_also_while_nothing_arrives_and_notices_when_it_is_none(
    postgres: Postgres, store: Store, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_locks, "BEAT_S", 0.05)
    store.acquire("run-1")
    seen = "SELECT seen FROM run_locks"
    first = postgres.sql(seen, database)
    deadline = time.monotonic() + 60
    while postgres.sql(seen, database) == first:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    store.put_judgments("run-1", [judgment("a")])
    postgres.sql("UPDATE run_locks SET token = 'another', host = 'elsewhere'", database)
    while not store.locks.lost:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    with pytest.raises(EnvironmentFailure, match="taken the run over"):
        store.put_judgments("run-1", [judgment("b")])
    with pytest.raises(EnvironmentFailure, match="taken the run over"):
        store.put_rows("run-1", [RowResult(0, Sample("row-0"))])
    store.release("run-1")
    assert not [t for t in threading.enumerate() if t.name == "ragassay-owner"]
    assert keys(postgres, database) == (1, 1)


def test_ids_of_any_length_are_found(store: Store) -> None:
    long = "é" * 9000
    store.put_rows("run-1", [RowResult(0, Sample(long)), RowResult(1, Sample(long + "x"))])
    found = store.row("run-1", long + "x")
    assert found is not None
    assert found.index == 1
    label = HumanLabel(long, "n", "ann", 1.0)
    assert (store.put_labels("run-1", [label]), store.put_labels("run-1", [label])) == (1, 0)
    assert store.labels("run-1") == (label,)


def test_text_is_ordered_by_its_bytes(store: Store) -> None:
    store.put_rows(
        "run-1",
        [RowResult(i, Sample(f"id-{text}")) for i, text in enumerate(("b", "a", "B", "ä", "Z"))],
    )
    assert store.row_ids_like("run-1", "ID-") == ["id-B", "id-Z", "id-a", "id-b", "id-ä"]
