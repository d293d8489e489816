"""The user's own application, run on rows: what it is given, what it may return, and its errors.

The application is any callable, synchronous or asynchronous. It is given the question, or the
whole row when its first parameter is called `row` or `sample`. What it returns becomes response and
contexts; how long it took and what it raised are kept with the row. A row on which it fails is a
row with an error, never a lost one.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import math
import os
import re
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

from ragassay.core import AppUsage, Context, Sample, SetupError, message_of, shorten
from ragassay.datasets.cells import ID_KEYS, TEXT_KEYS
from ragassay.datasets.names import RESPONSE_NAMES
from ragassay.datasets.outputs import contexts_in, part, response_in, unwrapped
from ragassay.datasets.unread import unread_columns
from ragassay.runs.threads import end_thread, in_daemon_thread

App = Callable[..., Any]

_USAGE = {
    "input_tokens": ("input_tokens", "prompt_tokens"),
    "output_tokens": ("output_tokens", "completion_tokens"),
    "total_tokens": ("total_tokens",),
    "cost": ("cost", "total_cost"),
    "latency": ("latency",),
}
_MOST_ERROR = 500
_BLOCKED_AFTER = 0.25
"""Seconds after which an event loop that runs nothing new is taken to be blocked."""
_MOST_CONTEXTS = 100_000
"""Contexts from which on an answer is refused: an iterator may have no end."""
_SHORTEST_SECRET = 8
"""Characters from which a value is replaced: a shorter one would be found in ordinary words."""
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.I)
_SECRET = re.compile(
    r"(?P<before>\b(?:sk|pk|rk)-|\bBearer\s{1,4}|(?<=://)[^\s:@/]{0,100}:)[^\s@\"']{6,400}", re.I
)


class Application:
    """A user's callable, ready to be run on rows.

    timeout: seconds a row. concurrency: rows at once. in_callers_loop: an asynchronous one runs in
    the caller's event loop.

    A synchronous application gets a thread for every call, an asynchronous one a thread with an
    event loop for all of them, or with `in_callers_loop` the loop of the caller, to which its
    clients may belong.
    One that hangs, blocks or exits holds up neither the run (but for one that blocks the caller's
    loop), nor later rows, nor the end of the process: a loop that is blocked is left behind, and
    another one takes its place.
    """

    def __init__(
        self, function: App, *, timeout: float, concurrency: int, in_callers_loop: bool = False
    ) -> None:
        if not callable(function):
            raise SetupError(
                "E0109",
                "The application is not something that can be called.",
                where="app",
                why=f"it is a {type(function).__name__}",
                fix="give a function of the question: app=my_rag",
            )
        self._function = function
        self._timeout = timeout
        self._in_callers_loop = in_callers_loop
        self._wants_row = _wants_row(function)
        self._asynchronous = _is_asynchronous(function)
        self._slots = asyncio.Semaphore(concurrency)
        self._loops: list[_Loop] = []  # the last one is in use
        self._starting = threading.Lock()

    async def answer(
        self, sample: Sample, store: Callable[[Sample], Awaitable[None]] | None = None
    ) -> Sample:
        """The row with what the application made of it. Never raises for what the application does.

        store: makes the answer durable, before the next row takes this one's slot.
        """
        if sample.question is None:
            return replace(sample, error="the row has no question to run the application on")
        async with self._slots:
            started = time.perf_counter()
            answering, give_up = self._start(sample)
            try:
                await asyncio.wait({answering}, timeout=self._timeout)
                if answering.done():
                    answered = answering.result()
                else:
                    failed = replace(
                        sample, response=None, error=f"no answer in {self._timeout:g} s"
                    )
                    answered = _with_latency(failed, time.perf_counter() - started)
                    answering.cancel()
                    # Before another row takes the slot, and perhaps a loop that is blocked.
                    await give_up()
            finally:
                answering.cancel()
            if store is not None:
                await store(answered)
            return answered

    def _start(
        self, sample: Sample
    ) -> tuple[asyncio.Future[Sample], Callable[[], Awaitable[None]]]:
        """The answer to come, and what is to be done when nobody waits for it any longer."""
        if self._asynchronous and self._in_callers_loop:
            answer = self._answer_asynchronously(sample, self._call)
            return asyncio.ensure_future(answer), _do_nothing
        if self._asynchronous:
            loop = self._own_loop()
            answer = self._answer_asynchronously(sample, self._call)
            future = asyncio.run_coroutine_threadsafe(answer, loop.loop)
            return asyncio.wrap_future(future), lambda: self._abandon_if_blocked(loop)
        done, thread = in_daemon_thread(lambda: self._answer_synchronously(sample))

        async def end() -> None:
            end_thread(thread)

        return done, end

    def _call(self, sample: Sample) -> Any:
        return self._function(sample if self._wants_row else sample.question)

    def _answer_synchronously(self, sample: Sample) -> Sample:
        """The row as a synchronous application answered it, or with what was raised: anything at
        all, by the call or by the object that it returned.
        """
        started = time.perf_counter()
        try:
            returned = self._call(sample)
            if inspect.isawaitable(returned):
                # A plain function that returns what an asynchronous one gave it.
                return self._await_in_own_loop(sample, returned)
            took = time.perf_counter() - started
            return _with_latency(read_answer(sample, returned), took)
        except BaseException as error:
            return _with_error(sample, error, time.perf_counter() - started)

    def _await_in_own_loop(self, sample: Sample, awaitable: Awaitable[Any]) -> Sample:
        """The row as an awaitable answers it in the application's own loop."""

        def already_called(_: Sample) -> Awaitable[Any]:
            return awaitable

        answer = self._answer_asynchronously(sample, already_called)
        return asyncio.run_coroutine_threadsafe(answer, self._own_loop().loop).result()

    async def _answer_asynchronously(self, sample: Sample, call: Callable[[Sample], Any]) -> Sample:
        """The row as an asynchronous application answered it, or with what was raised."""
        started = time.perf_counter()
        try:
            returned = await call(sample)
            took = time.perf_counter() - started
            # Reading is the application's code as well: a returned object may do anything when it
            # is looked at.
            return await in_daemon_thread(
                lambda: _with_latency(read_answer(sample, returned), took)
            )[0]
        except BaseException as error:
            return _with_error(sample, error, time.perf_counter() - started)

    def _own_loop(self) -> _Loop:
        with self._starting:
            if not self._loops or self._loops[-1].blocked:
                self._loops.append(_Loop())
            return self._loops[-1]

    async def _abandon_if_blocked(self, loop: _Loop) -> None:
        """Check whether the loop still runs what it is given; else later rows get another one."""
        turns = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop.loop))
        done, _ = await asyncio.wait({turns}, timeout=_BLOCKED_AFTER)
        if not done and not loop.blocked:
            loop.blocked = True
            # Ends the call that blocks it, where it can be ended; the others there go on.
            end_thread(loop.thread)

    def close(self) -> None:
        """End the loops; a call that still goes on is not waited for."""
        with self._starting:
            for loop in self._loops:
                loop.end()


async def _do_nothing() -> None:
    """Give up a call in the caller's own loop: cancelling it was all that can be done there."""


class _Loop:
    """An event loop in a thread of its own. blocked: a call in it lets no other one run."""

    def __init__(self) -> None:
        self.blocked = False
        started = threading.Event()

        async def serve() -> None:
            self.loop, self._end = asyncio.get_running_loop(), asyncio.Event()
            started.set()
            await self._end.wait()

        def run() -> None:
            try:
                asyncio.run(serve())
            except BaseException:
                # One that was ended where it blocked may break anywhere, and nobody waits for it.
                if not self.blocked:
                    raise

        self.thread = threading.Thread(target=run, name="ragassay-app-loop", daemon=True)
        self.thread.start()
        # Callers use `loop` at once, and it is there only once the thread runs.
        started.wait()

    def end(self) -> None:
        with suppress(RuntimeError):  # it is closed already
            self.loop.call_soon_threadsafe(self._end.set)


def _with_error(sample: Sample, error: BaseException, took: float) -> Sample:
    return _with_latency(replace(sample, response=None, error=redacted(_description(error))), took)


def _description(error: BaseException) -> str:
    """What was raised, in one short line; an error that cannot say what it is keeps its name."""
    if isinstance(error, SystemExit):
        return f"it called exit({shorten(error.code, 40)})"
    return shorten(f"{type(error).__name__}: {message_of(error)}".rstrip(": "), _MOST_ERROR)


def redacted(text: str) -> str:
    """The text without what looks like a key or a password: it is stored and shown."""
    for name, value in os.environ.items():
        if _SECRET_NAME.search(name) and len(value) >= _SHORTEST_SECRET:
            text = text.replace(value, "***")
    return _SECRET.sub(r"\g<before>***", text)


def open_application(
    app: str | App, *, timeout: float, concurrency: int, in_callers_loop: bool = False
) -> Application:
    """The application behind "module:function" or a callable. Raises SetupError E0109 when there is
    none.
    """
    if not isinstance(app, str):
        return Application(
            app, timeout=timeout, concurrency=concurrency, in_callers_loop=in_callers_loop
        )
    from ragassay.metrics import load

    module, colon, name = app.partition(":")
    if not colon or not module or not name.isidentifier():
        raise SetupError(
            "E0109",
            "The application is named as module:function.",
            where=f"--app {shorten(app, 60)}",
            fix="for example --app my_rag:answer, for the function answer in my_rag.py",
        )
    try:
        function = cast(App, load(module, name))
    except ImportError as error:
        raise SetupError(
            "E0109",
            f"The application {shorten(app, 60)} cannot be loaded.",
            where=f"--app {shorten(app, 60)}",
            why=shorten(str(error), 200),
            fix=(
                "hand it over: app=my_rag"
                if module == "__main__"
                else "run this where Python can import the module, or name it as module:function"
            ),
        ) from error
    return Application(
        function, timeout=timeout, concurrency=concurrency, in_callers_loop=in_callers_loop
    )


def name_of(app: App) -> str:
    """ "module:function" of a function that can be imported again by it, else a name to show."""
    module = getattr(app, "__module__", "")
    name = getattr(app, "__qualname__", type(app).__qualname__)
    return f"{module}:{name}"


def read_answer(sample: Sample, returned: Any) -> Sample:
    """The row with the response, contexts and usage that an application returned.

    It may return a text; a pair (response, contexts); a mapping or an object with a response and
    contexts by any of the names and in any of the forms that are known of columns
    (`datasets.names`, `datasets.outputs`). A context is a text, a mapping or an object with a text
    and perhaps an id and a score. Contexts that are not returned stay those of the row. Raises
    TypeError, saying what was expected, for anything else, and for contexts under a name that is
    not known.
    """
    if isinstance(returned, str):
        return replace(sample, response=returned, error=None)
    if isinstance(returned, tuple) and len(returned) == 2:
        returned = {"response": returned[0], "contexts": returned[1]}
    response = None if returned is None else response_in(returned)
    if not isinstance(response, str):
        raise TypeError(
            f"the application returned {_type_name(returned)}; expected a text,"
            f" (response, contexts), or a mapping or object with one of"
            f" {', '.join(RESPONSE_NAMES[:4])}"
        )
    contexts = contexts_in(returned)
    if contexts is None and sample.contexts is None:
        _refuse_unread_contexts(returned)
    error = part(returned, ("error",))
    return replace(
        sample,
        response=response,
        contexts=sample.contexts if contexts is None else _contexts(contexts),
        usage=_usage(returned, sample.usage),
        error=error if isinstance(error, str) and error else None,
    )


def _refuse_unread_contexts(returned: Any) -> None:
    """Raise TypeError where a mapping without known contexts holds what looks like them: the row
    would be judged without.
    """
    if not isinstance(returned, Mapping):
        return
    plain = {str(key): value for key, value in returned.items()}
    for unread in unread_columns([plain], RESPONSE_NAMES, ("contexts",)):
        if unread.is_clear:
            raise TypeError(
                f"the application returned {_type_name(returned)}; {unread.candidates[0]} looks"
                " like its contexts and is not read: return it as contexts"
            )


def _contexts(value: Any) -> tuple[Context, ...]:
    if isinstance(value, str):
        return (Context(value),)
    if isinstance(value, Mapping) or not hasattr(value, "__iter__"):
        raise TypeError(
            f"the application returned {_type_name(value)} as contexts; expected a list of texts or"
            " documents"
        )
    items = itertools.islice(value, _MOST_CONTEXTS + 1)
    contexts = tuple(_context(item, number) for number, item in enumerate(items, 1))
    if len(contexts) > _MOST_CONTEXTS:
        raise TypeError(f"the application returned more than {_MOST_CONTEXTS:,} contexts")
    return contexts


def _context(item: Any, n: int) -> Context:
    if isinstance(item, Context):
        return item
    if isinstance(item, str):
        return Context(item)
    is_scored = isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], int | float)
    if is_scored:  # (document, score)
        return replace(_context(item[0], n), score=_number(item[1]))
    node = part(item, ("node",))  # a scored node wraps the node
    body = unwrapped(item if node is None else node)
    text = part(body, TEXT_KEYS)
    if not isinstance(text, str):
        raise TypeError(
            f"context {n} that the application returned is {_type_name(item)}; expected a text or a"
            " document"
        )
    metadata = part(body, ("metadata",))
    id_ = part(body, ID_KEYS)
    if id_ is None and isinstance(metadata, Mapping):
        id_ = part(metadata, ID_KEYS)
    return Context(
        text, id=None if id_ is None else str(id_), score=_number(part(item, ("score",)))
    )


def _usage(returned: Any, row_usage: AppUsage | None) -> AppUsage | None:
    reported = part(returned, ("usage",))
    values: dict[str, float] = {}
    for field, names in _USAGE.items():
        value = _number(part(reported, names) if reported is not None else None)
        if value is None:
            value = _number(part(returned, (field,)))
        if value is not None and value >= 0:
            values[field] = value if field in ("cost", "latency") else int(value)
    if not values:
        return row_usage
    return replace(row_usage or AppUsage(), **values)  # type: ignore[arg-type]


def _with_latency(sample: Sample, seconds: float) -> Sample:
    """The row with the measured latency, where the application reports none of its own."""
    usage = sample.usage or AppUsage()
    if usage.latency is not None:
        return sample
    return replace(sample, usage=replace(usage, latency=round(seconds, 6)))


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:  # an integer of hundreds of digits
        return None


def _type_name(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"a mapping with the keys {shorten(', '.join(map(str, value)) or '(none)', 100)}"
    return "nothing (None)" if value is None else f"a {type(value).__name__}"


def _wants_row(function: App) -> bool:
    try:
        first = next(iter(inspect.signature(function).parameters.values()), None)
    except (TypeError, ValueError):  # a builtin without a signature
        return False
    if first is None:
        raise SetupError(
            "E0109",
            "The application takes no argument.",
            where="app",
            why=name_of(function),
            fix="let it take the question (or the row, as a parameter called `row`)",
        )
    return first.name in ("row", "sample")


def _is_asynchronous(function: App) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004
    )
