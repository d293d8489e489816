"""Judgments are durable before anyone may use them, and many share one commit."""

import asyncio

import pytest

from ragassay.core import EnvironmentFailure, Judgment, Status
from ragassay.runner import Journal
from ragassay.store import Store


def judgment(key):
    return Judgment(key, "judge", "r@1", Status.JUDGED, rating=1, value=1.0)


class Watched:
    """A real store that counts its commits and can be told to fail."""

    def __init__(self, store):
        self.store, self.commits, self.fail = store, 0, None

    def put_judgments(self, run_id, judgments):
        if self.fail:
            raise self.fail
        self.commits += 1
        self.store.put_judgments(run_id, judgments)

    def get_judgments(self, pairs, *, run_id=None):
        return self.store.get_judgments(pairs, run_id=run_id)

    def put_rows(self, run_id, results):
        self.store.put_rows(run_id, results)


@pytest.fixture
def watched(tmp_path, make_manifest):
    with Store.open(tmp_path / "s.db") as store:
        store.create_run(make_manifest("run-1"))
        store.create_run(make_manifest("run-2"))
        yield Watched(store)


def test_what_put_has_returned_for_is_in_the_store(watched):
    async def main():
        async with Journal(watched, "run-1") as journal:
            await journal.put([judgment("a"), judgment("b")])
            return watched.store.get_judgments([("judge", "a"), ("judge", "b"), ("judge", "c")])

    assert set(asyncio.run(main())) == {("judge", "a"), ("judge", "b")}


def test_judgments_that_wait_together_share_commits(watched):
    async def main():
        async with Journal(watched, "run-1") as journal:
            await asyncio.gather(*(journal.put([judgment(str(i))]) for i in range(500)))

    asyncio.run(main())
    assert watched.commits < 50
    assert len(watched.store.get_judgments([("judge", str(i)) for i in range(500)])) == 500


def test_a_failing_store_is_raised_to_everyone_who_waits(watched):
    async def main():
        async with Journal(watched, "run-1") as journal:
            watched.fail = EnvironmentFailure("E0506", "The disk is full.")
            return await asyncio.gather(*(journal.put([judgment(str(i))]) for i in range(5)), return_exceptions=True)

    results = asyncio.run(main())
    assert [type(r) for r in results] == [EnvironmentFailure] * 5


def test_with_the_cache_off_only_the_runs_own_judgments_are_found(watched):
    watched.store.put_judgments("run-2", [judgment("a")])
    watched.store.put_judgments("run-1", [judgment("b")])

    async def main(own):
        async with Journal(watched, "run-1", own_run_only=own) as journal:
            return set(await journal.lookup([("judge", "a"), ("judge", "b")]))

    assert asyncio.run(main(False)) == {("judge", "a"), ("judge", "b")}
    assert asyncio.run(main(True)) == {("judge", "b")}
