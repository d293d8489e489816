"""The bridge from synchronous callers to coroutines, also under a running event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def block_on(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine to its end, also where a loop is running already (a notebook): then in a
    thread of its own.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(make())
    result: list[T] = []
    failure: list[BaseException] = []
    task: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[T]]] = []

    async def main() -> T:
        inner = asyncio.ensure_future(make())
        task.append((asyncio.get_running_loop(), inner))
        return await inner

    def work() -> None:
        try:
            result.append(asyncio.run(main()))
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=work, name="ragassay-evaluate")
    thread.start()
    try:
        thread.join()
    except KeyboardInterrupt:
        # Ctrl-C reaches the main thread alone. The coroutine is cancelled, and ends in order.
        if task:
            task[0][0].call_soon_threadsafe(task[0][1].cancel)
        thread.join()
        raise
    if failure:
        raise failure[0]
    return result[0]
