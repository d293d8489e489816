"""Where may `evaluate` be called from? Every place a program may be in, each as a function that
returns the digest of a run.

    python tests/support/hosts.py HOST[,HOST] TIMES BASE_URL FOLDER

prints host and digest of each run, one after another in one process: all digests, from all hosts,
must be equal. It fails when an event loop was patched.
"""

from __future__ import annotations

import asyncio
import hashlib
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import ragassay
from support.invariants import canonical

ROWS = [
    {
        "id": f"r{n}",
        "question": "When was it built?",
        "contexts": [f"It was built in 19{n:02}.", "Trams run."],
        "response": f"It was built in 19{n:02}. It is red.",
    }
    for n in range(6)
]
URL, FOLDER = "", Path()
_names = count()
_lock = threading.Lock()


def _options() -> dict[str, Any]:
    with _lock:
        name = f"{os.getpid()}-{next(_names)}.db"
    return {"judge": "openai:mock", "base_url": URL, "store": FOLDER / name}


METRICS = "groundedness, answer_relevance, context_relevance, semantic_similarity"


def _digest(run: ragassay.Run) -> str:
    with run:
        assert run.state == "finished", run.stop_reason
        return hashlib.sha256(canonical(run.store_location, run.id)).hexdigest()


def plain() -> str:
    return _digest(ragassay.evaluate(ROWS, METRICS, **_options()))


async def awaited() -> str:
    return _digest(await ragassay.aevaluate(ROWS, METRICS, **_options()))


def script() -> str:
    return plain()


def thread() -> str:
    found: list[str] = []
    worker = threading.Thread(target=lambda: found.append(plain()))
    worker.start()
    worker.join()
    return found[0]


def notebook() -> str:
    """A cell of Jupyter: synchronous code under a running loop."""

    async def cell() -> str:
        found = plain()
        assert asyncio.get_running_loop() is loop
        return found

    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(cell())
    finally:
        loop.close()


def awaited_cell() -> str:
    return asyncio.run(awaited())


def test_runner() -> str:
    """One runner for all tests of a module, as pytest-asyncio has: the loop outlives each run."""
    with asyncio.Runner() as runner:
        first, second = runner.run(awaited()), runner.run(awaited())
        assert first == second
        assert len(asyncio.all_tasks(runner.get_loop())) == 0
        return second


def server() -> str:
    """Handlers of a web server: some await, some call in a thread, all at once."""

    async def main() -> set[str]:
        return set(
            await asyncio.gather(
                awaited(), awaited(), asyncio.to_thread(plain), asyncio.to_thread(plain)
            )
        )

    (found,) = asyncio.run(main())
    return found


def in_a_metric() -> str:
    """A run inside a metric of another run."""
    found: list[str] = []

    @ragassay.metric
    def outer(response: str) -> bool:
        found.append(plain())
        return True

    ragassay.evaluate([{"id": "a", "response": "x"}], [outer], store=_options()["store"]).close()
    return found[0]


def in_an_application() -> str:
    found: list[str] = []

    def app(question: str) -> str:
        found.append(plain())
        return "x"

    ragassay.evaluate(
        [{"id": "a", "question": "x?"}], "app_error", app=app, store=_options()["store"]
    ).close()
    return found[0]


def in_an_async_application() -> str:
    found: list[str] = []

    async def app(question: str) -> str:
        found.append(await awaited())
        found.append(plain())  # blocks its own loop, and comes back
        return "x"

    ragassay.evaluate(
        [{"id": "a", "question": "x?"}], "app_error", app=app, store=_options()["store"]
    ).close()
    assert found[0] == found[1]
    return found[0]


def in_a_watch() -> str:
    """A direct question while a run goes on."""
    found: list[str] = []

    def watch(progress: Any) -> None:
        if not found:
            found.append(plain())

    _digest(ragassay.evaluate(ROWS, METRICS, watch=watch, **_options()))
    return found[0]


def _child(queue: Any) -> None:
    try:
        queue.put(plain())
    except BaseException as error:
        queue.put(repr(error))


def fork() -> str:
    """A process that has run before is forked, and the child runs as well (gunicorn,
    multiprocessing).
    """
    first = plain()
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=_child, args=(queue,))
    child.start()
    child.join(300)
    if child.is_alive():
        child.kill()
        raise AssertionError("the forked child hangs")
    assert queue.get() == first
    return first


def other_loop() -> str:
    """uvloop, where it is installed."""
    import uvloop  # type: ignore[import-not-found, unused-ignore]

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return str(runner.run(awaited()))


HOSTS: dict[str, Callable[[], str]] = {
    f.__name__: f
    for f in (
        script,
        thread,
        notebook,
        awaited_cell,
        test_runner,
        server,
        in_a_metric,
        in_an_application,
        in_an_async_application,
        in_a_watch,
        fork,
    )
}
try:
    import uvloop  # type: ignore[import-not-found, unused-ignore]  # noqa: F401
except ImportError:
    pass
else:
    HOSTS["uvloop"] = other_loop


def _patches() -> list[object]:
    return [
        asyncio.run,
        asyncio.get_event_loop,
        asyncio.run_coroutine_threadsafe,
        asyncio.BaseEventLoop.run_until_complete,
        asyncio.BaseEventLoop.run_forever,
        asyncio.Task,
        asyncio.Future,
        type(asyncio.get_event_loop_policy()),
    ]


def main() -> None:
    global URL, FOLDER
    hosts, times, URL, FOLDER = (
        sys.argv[1].split(","),
        int(sys.argv[2]),
        sys.argv[3],
        Path(sys.argv[4]),
    )
    before = _patches()
    for host in hosts * times:
        print(host, HOSTS[host](), flush=True)
    assert _patches() == before, "an event loop was patched"
    assert not {"nest_asyncio", "nest_asyncio2"} & sys.modules.keys()


if __name__ == "__main__":
    main()
