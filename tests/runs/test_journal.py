"""Judgments are durable before anyone may use them, and many share one commit."""

import asyncio
from typing import Any, Never

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.core import EnvironmentFailure, Judgment, Request, RowResult, Sample, Status
from ragassay.runs import Journal
from ragassay.runs.journal import BLOCK_ROWS, BloomFilter
from ragassay.store import Store


def judgment(key):
    return Judgment(key, "judge", "r@1", Status.JUDGED, rating=1, value=1.0)


class Watched:
    """A real store that counts its commits and can be told to fail."""

    def __init__(self, store) -> None:
        self.store, self.commits, self.fail = store, 0, None

    def put_judgments(self, run_id, judgments, exchanges=()) -> None:
        if self.fail:
            raise self.fail
        self.commits += 1
        self.store.put_judgments(run_id, judgments, exchanges)

    def get_judgments(self, addresses, *, run_id=None):
        return self.store.get_judgments(addresses, run_id=run_id)

    def put_rows(self, run_id, results) -> None:
        self.store.put_rows(run_id, results)


@pytest.fixture
def watched(tmp_path, make_manifest):
    with Store.open(tmp_path / "s.db") as store:
        store.create_run(make_manifest("run-1"))
        store.create_run(make_manifest("run-2"))
        yield Watched(store)


@pytest.fixture
def make_row_result():
    return lambda index: RowResult(index, Sample(f"row-{index}", question="q"))


def test_what_put_has_returned_for_is_in_the_store(watched) -> None:
    async def main():
        async with Journal(watched, "run-1") as journal:
            await journal.put([judgment("a"), judgment("b")])
            return watched.store.get_judgments([("judge", "a"), ("judge", "b"), ("judge", "c")])

    assert set(asyncio.run(main())) == {("judge", "a"), ("judge", "b")}


@pytest.mark.slow
def test_judgments_that_wait_together_share_commits(watched) -> None:
    async def main() -> None:
        async with Journal(watched, "run-1") as journal:
            await asyncio.gather(*(journal.put([judgment(str(i))]) for i in range(500)))

    asyncio.run(main())
    assert watched.commits < 50
    assert len(watched.store.get_judgments([("judge", str(i)) for i in range(500)])) == 500


def test_a_failing_store_is_raised_to_everyone_who_waits(watched) -> None:
    async def main():
        async with Journal(watched, "run-1") as journal:
            watched.fail = EnvironmentFailure("E0506", "The disk is full.")
            return await asyncio.gather(
                *(journal.put([judgment(str(i))]) for i in range(5)), return_exceptions=True
            )

    results = asyncio.run(main())
    assert [type(r) for r in results] == [EnvironmentFailure] * 5


def test_a_failure_to_write_rows_is_reported_at_once_and_not_only_to_whoever_brings_the_next_one(
    watched, make_row_result
) -> None:
    full = EnvironmentFailure("E0506", "The disk is full.")

    def fails(run_id, results) -> Never:
        raise full

    watched.put_rows = fails

    reported: list[Any] = []

    async def main() -> None:
        async with Journal(watched, "run-1", on_failure=reported.append) as journal:
            await journal.put_rows([make_row_result(0)])
            for _ in range(500):
                if reported:
                    break
                await asyncio.sleep(0.01)

    with pytest.raises(EnvironmentFailure):  # at the end as well, since nobody brought another row
        asyncio.run(main())
    assert reported[0] is full


def test_with_the_cache_off_only_the_runs_own_judgments_are_found(watched) -> None:
    watched.store.put_judgments("run-2", [judgment("a")])
    watched.store.put_judgments("run-1", [judgment("b")])

    async def main(own):
        async with Journal(watched, "run-1", own_run_only=own) as journal:
            return set(await journal.lookup([("judge", "a"), ("judge", "b")]))

    assert asyncio.run(main(False)) == {("judge", "a"), ("judge", "b")}
    assert asyncio.run(main(True)) == {("judge", "b")}


class Looking(Watched):
    """Also counts what it is asked."""

    def __init__(self, store) -> None:
        super().__init__(store)
        self.asked: list[Any] = []

    def get_judgments(self, addresses, *, run_id=None):
        self.asked += addresses
        return super().get_judgments(addresses, run_id=run_id)

    def last_judgment(self):
        return self.store.last_judgment()


def test_of_a_judge_that_is_new_only_what_this_run_has_put_is_looked_up(watched) -> None:
    looking = Looking(watched.store)

    async def main():
        async with Journal(looking, "run-1", new_judges=["judge"]) as journal:
            before = await journal.lookup([("judge", "a"), ("judge", "b")])
            await journal.put([judgment("a")])
            after = await journal.lookup([("judge", "a"), ("judge", "b"), ("other", "c")])
            return before, set(after)

    assert asyncio.run(main()) == ({}, {("judge", "a")})
    assert looking.asked == [("judge", "a"), ("other", "c")]


def test_a_judge_is_no_longer_new_once_another_run_has_written(watched, make_row_result) -> None:
    looking = Looking(watched.store)

    async def main():
        async with Journal(looking, "run-1", new_judges=["judge"]) as journal:
            await journal.put([judgment("mine")])
            watched.store.put_judgments("run-2", [judgment("theirs")])
            await journal.put_rows([make_row_result(n) for n in range(BLOCK_ROWS)])
            deadline = asyncio.get_running_loop().time() + 5
            while not (found := await journal.lookup([("judge", "theirs")])):
                assert asyncio.get_running_loop().time() < deadline
                await asyncio.sleep(0.02)
            return set(found)

    assert asyncio.run(main()) == {("judge", "theirs")}


@given(
    st.sets(
        st.one_of(st.text(max_size=20), st.integers(0, 2**128 - 1).map(lambda n: f"{n:032x}")),
        max_size=50,
    )
)
def test_what_was_seen_is_never_called_unseen(keys) -> None:
    keys_put = BloomFilter()
    for key in keys:
        keys_put.add(key)
    assert all(key in keys_put for key in keys)


def test_of_keys_that_were_not_seen_hardly_one_is_taken_for_seen() -> None:
    keys_put = BloomFilter()
    for n in range(20_000):
        keys_put.add(Request("r", {"text": str(n)}).key)
    wrong = sum(Request("r", {"text": f"other {n}"}).key in keys_put for n in range(5_000))
    assert wrong <= 5


def test_a_judgment_that_cannot_be_stored_fails_nobody_elses(watched) -> None:
    bad = Judgment("bad", "judge", "r@1", Status.JUDGED, rating=1, value=float("nan"))

    async def main():
        async with Journal(watched, "run-1") as journal:
            work = [journal.put([judgment(str(i)) if i != 3 else bad]) for i in range(6)]
            return await asyncio.gather(*work, return_exceptions=True)

    results = asyncio.run(main())
    assert [type(result) for result in results] == [type(None)] * 3 + [ValueError] + [
        type(None)
    ] * 2
    assert len(watched.store.get_judgments([("judge", str(i)) for i in range(6)])) == 5
