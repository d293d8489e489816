"""Of two runs that ask the same at the same time, one gets the question; no claim outlives its
run.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import select, update

from ragassay.core import Judgment, Spend, Status
from ragassay.store import Claimed, OtherRuns, Store, schema

A, B, C = ("j", "a"), ("j", "b"), ("j", "c")
Opener = Callable[[], Store]


def judgment(address: tuple[str, str], status: Status = Status.JUDGED) -> Judgment:
    rating = 3 if status is Status.JUDGED else None
    judge, key = address
    return Judgment(key, judge, "groundedness", status, rating=rating, spend=Spend(1, cost=0.5))


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    """Where the store of the test is."""
    if request.param == "sqlite":
        return tmp_path / "store.db"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def another(place: str | Path, make_manifest) -> Iterator[Opener]:
    """The store opened once more, as another process opens it, with a run of its own."""
    stores: list[Store] = []

    def open_one() -> Store:
        store = Store.open(place)
        stores.append(store)
        store.create_run(make_manifest(f"run-{len(stores)}"))
        store.acquire(f"run-{len(stores)}")
        return store

    yield open_one
    for store in stores:
        store.close()


@pytest.fixture
def two(another: Opener) -> tuple[Store, Store]:
    """Two stores whose runs, run-1 and run-2, ask the same judge."""
    one, other = another(), another()
    one.begin_asking("run-1", ["j"])
    other.begin_asking("run-2", ["j"])
    one.begin_claiming("run-1")
    return one, other


def test_a_run_that_is_alone_claims_nothing(another: Opener) -> None:
    one = another()
    assert one.begin_asking("run-1", ["j"]) == OtherRuns(0, True)
    assert one.others_asking("run-1") == OtherRuns(0, True)
    assert one.claims("run-1") == frozenset()


def test_runs_that_ask_the_same_judge_see_each_other_and_whether_both_claim(
    another: Opener,
) -> None:
    one, other = another(), another()
    one.begin_asking("run-1", ["i", "j"])
    assert other.begin_asking("run-2", ["j", "k"]) == OtherRuns(1, False)
    # The second claims from its beginning; the first once it has heard of it.
    assert one.others_asking("run-1") == OtherRuns(1, True)
    one.begin_claiming("run-1")
    assert other.others_asking("run-2") == OtherRuns(1, True)


def test_runs_of_different_judges_are_none_of_each_others_business(another: Opener) -> None:
    one, other = another(), another()
    one.begin_asking("run-1", ["j"])
    assert other.begin_asking("run-2", ["k"]) == OtherRuns(0, True)


def test_of_two_that_ask_a_question_the_first_is_granted_it(two: tuple[Store, Store]) -> None:
    one, other = two
    assert one.claim("run-1", [A, B]) == Claimed({}, frozenset([A, B]))
    assert other.claim("run-2", [B, C]) == Claimed({}, frozenset([C]))
    assert other.open_to_claim("run-2", [A, B, C]) == [C]
    assert one.claim("run-1", [A, B]) == Claimed({}, frozenset([A, B]))  # its own, once more


def test_the_other_one_gets_the_judgment_as_soon_as_it_is_there(two: tuple[Store, Store]) -> None:
    one, other = two
    one.claim("run-1", [A, B])
    one.put_judgments("run-1", [judgment(A)])
    assert one.claims("run-1") == frozenset([B])
    assert other.open_to_claim("run-2", [A, B]) == [A]
    assert other.claim("run-2", [A, B]) == Claimed({A: judgment(A)}, frozenset())
    assert other.claims("run-2") == frozenset()


def test_a_question_whose_judgment_failed_is_the_others_to_ask(two: tuple[Store, Store]) -> None:
    one, other = two
    one.claim("run-1", [A])
    one.put_judgments("run-1", [judgment(A, Status.FAILED)])
    assert other.claim("run-2", [A]) == Claimed({}, frozenset([A]))


def test_what_is_stored_already_is_not_claimed(two: tuple[Store, Store]) -> None:
    one, other = two
    one.put_judgments("run-1", [judgment(A)])
    assert other.claim("run-2", [A]) == Claimed({A: judgment(A)}, frozenset())
    assert one.open_to_claim("run-1", [A]) == [A]


@pytest.mark.parametrize("end", ["end_asking", "release", "close"])
def test_claims_end_with_their_run(two: tuple[Store, Store], end: str) -> None:
    one, other = two
    one.claim("run-1", [A])
    one.close() if end == "close" else getattr(one, end)("run-1")
    assert other.others_asking("run-2") == OtherRuns(0, True)
    assert other.claim("run-2", [A]) == Claimed({}, frozenset([A]))


def test_claims_that_are_given_up_are_the_others(two: tuple[Store, Store]) -> None:
    one, other = two
    one.claim("run-1", [A, B])
    one.give_up_claims("run-1", [A])
    assert one.claims("run-1") == frozenset([B])
    assert other.claim("run-2", [A, B]) == Claimed({}, frozenset([A]))


def test_a_run_stops_claiming_only_where_it_is_alone(two: tuple[Store, Store]) -> None:
    one, other = two
    assert not one.stop_claiming("run-1")
    other.end_asking("run-2")
    assert one.stop_claiming("run-1")
    other.begin_asking("run-2", ["j"])
    assert other.others_asking("run-2") == OtherRuns(1, False)


def test_the_claims_of_a_run_that_was_not_seen_for_a_minute_are_anybodys(
    two: tuple[Store, Store],
) -> None:
    one, other = two
    one.claim("run-1", [A])
    assert other.open_to_claim("run-2", [A]) == []
    # As if its process had been suspended: it is there, and gives no sign of life.
    locks = schema.run_locks
    number = select(schema.runs.c.id).where(schema.runs.c.run_id == "run-1").scalar_subquery()
    late = update(locks).where(locks.c.run == number).values(seen=locks.c.seen - 61)
    other.access.execute(late)
    assert other.others_asking("run-2") == OtherRuns(0, True)
    assert other.claim("run-2", [A]) == Claimed({}, frozenset([A]))
    # It goes on, and is listed again.
    one.access.execute(update(locks).where(locks.c.run == number).values(seen=locks.c.seen + 61))
    assert one.others_asking("run-1") == OtherRuns(1, True)
    assert one.claim("run-1", [A]) == Claimed({}, frozenset())


def test_the_claims_of_a_process_that_was_killed_are_taken_over_at_once(
    place: str | Path, another: Opener
) -> None:
    other = another()
    other.begin_asking("run-1", ["j"])
    code = """
        import sys, time
        from ragassay.core import JudgeInfo, Manifest
        from ragassay.store import Store
        store = Store.open(sys.argv[1])
        info = JudgeInfo("openai:m", {}, {}, "")
        store.create_run(Manifest("killed", "", "", "memory", "", 0, {}, (), info))
        store.acquire("killed")
        store.begin_asking("killed", ["j"])
        assert store.claim("killed", [("j", "a")]).granted
        print("claimed", flush=True)
        time.sleep(60)
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), str(place)],
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "claimed\n"
        assert other.claim("run-1", [A]) == Claimed({}, frozenset())
        assert other.others_asking("run-1") == OtherRuns(1, True)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        assert other.open_to_claim("run-1", [A]) == [A]
        assert other.claim("run-1", [A]) == Claimed({}, frozenset([A]))
        assert other.others_asking("run-1") == OtherRuns(0, True)


@pytest.mark.timing
def test_many_that_claim_the_same_at_once_get_each_question_once(another: Opener) -> None:
    stores = [another() for _ in range(4)]
    addresses = [("j", f"{n:03}") for n in range(300)]
    granted: list[list[tuple[str, str]]] = [[] for _ in stores]

    def work(n: int) -> None:
        run_id = f"run-{n + 1}"
        stores[n].begin_asking(run_id, ["j"])
        for start in range(0, 300, 20):
            portion = addresses[start : start + 20]
            granted[n] += stores[n].claim(run_id, portion[:: 1 if n % 2 else -1]).granted

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(address for each in granted for address in each) == addresses
    assert time.monotonic() - begun < 60
