"""How is the user's own application run on a row: what it is given, what it may return, and what becomes of its errors?

The application is any callable, synchronous (then it runs in a thread) or asynchronous. It is given the question, or the
whole row when its first parameter is called `row` or `sample`. What it returns becomes response and contexts; how long it
took and what it raised are kept with the row. A row on which it fails is a row with an error, never a lost one.
"""

from __future__ import annotations

import asyncio
import inspect
import math
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from ragassay.core import AppUsage, Context, Sample, SetupError, shorten

App = Callable[..., Any]

# What applications and the common frameworks call these things, in the order in which they are looked for.
_RESPONSE = ("response", "answer", "output", "result", "generated_answer", "text", "content", "reply", "output_text")
_CONTEXTS = (
    "contexts", "retrieved_contexts", "retrieval_context", "context", "source_documents", "source_nodes", "documents",
    "sources", "chunks", "passages",
)  # fmt: skip
_TEXT = ("text", "page_content", "content", "chunk", "passage")
_ID = ("id", "doc_id", "document_id", "node_id", "id_")
_USAGE = {
    "input_tokens": ("input_tokens", "prompt_tokens"),
    "output_tokens": ("output_tokens", "completion_tokens"),
    "total_tokens": ("total_tokens",),
    "cost": ("cost", "total_cost"),
    "latency": ("latency",),
}
_MOST_ERROR = 500


class Application:
    """A user's callable, ready to be run on rows.

    name: "module:function" where it can be found again by that name, else how it is shown. timeout: seconds a row.
    concurrency: rows at once.
    """

    def __init__(self, function: App, name: str, *, timeout: float = 120.0, concurrency: int = 8) -> None:
        if not callable(function):
            raise SetupError(
                "E0109", "The application is not something that can be called.", where="app",
                why=f"it is a {type(function).__name__}", fix="give a function of the question: app=my_rag",
            )  # fmt: skip
        self.name, self._function, self._timeout = name, function, timeout
        self._wants_row = _wants_row(function)
        self._asynchronous = _is_asynchronous(function)
        self._slots = asyncio.Semaphore(concurrency)
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix="ragassay-app")

    async def answer(self, sample: Sample) -> Sample:
        """The row with what the application made of it. Never raises for what the application does."""
        if sample.question is None:
            return replace(sample, error="the row has no question to run the application on")
        async with self._slots:
            started = time.perf_counter()
            try:
                returned = await asyncio.wait_for(self._call(sample), self._timeout)
                answered = read_answer(sample, returned)
            except asyncio.CancelledError:
                raise
            except TimeoutError as error:
                took = time.perf_counter() - started
                why = "" if took >= self._timeout else f": {error}"  # its own TimeoutError is an error like any other
                said = f"no answer in {self._timeout:g} s" if not why else f"TimeoutError{why}"
                answered = replace(sample, response=None, error=shorten(said, _MOST_ERROR))
            except Exception as error:
                said = f"{type(error).__name__}: {error}".rstrip(": ")
                answered = replace(sample, response=None, error=shorten(said, _MOST_ERROR))
            return _timed(answered, time.perf_counter() - started)

    async def _call(self, sample: Sample) -> Any:
        given = sample if self._wants_row else sample.question
        try:
            if self._asynchronous:
                return await self._function(given)
            returned = await asyncio.get_running_loop().run_in_executor(self._threads, self._function, given)
            return await returned if inspect.isawaitable(returned) else returned
        except SystemExit as error:  # out of a task it would end the event loop and with it the run
            raise RuntimeError(f"it called exit({error.code})") from error

    def close(self) -> None:
        """Let go of the threads; one that still runs the application is not waited for."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def open_application(app: str | App, *, timeout: float, concurrency: int) -> Application:
    """The application behind "module:function" or a callable. Raises SetupError E0109 when there is none."""
    if not isinstance(app, str):
        return Application(app, name_of(app), timeout=timeout, concurrency=concurrency)
    from ragassay.metrics import load

    module, colon, name = app.partition(":")
    if not colon or not module or not name.isidentifier():
        raise SetupError(
            "E0109", "The application is named as module:function.", where=f"--app {shorten(app, 60)}",
            fix="for example --app my_rag:answer, for the function answer in my_rag.py",
        )  # fmt: skip
    try:
        function = load(module, name)
    except ImportError as error:
        raise SetupError(
            "E0109", f"The application {shorten(app, 60)} cannot be loaded.", where=f"--app {shorten(app, 60)}",
            why=shorten(str(error), 200),
            fix="hand it over: app=my_rag" if module == "__main__"
            else "run this where Python can import the module, or name it as module:function",
        ) from error  # fmt: skip
    return Application(function, app, timeout=timeout, concurrency=concurrency)  # type: ignore[arg-type]


def name_of(app: App) -> str:
    """ "module:function" of a function that can be imported again by it, else a name to show."""
    module, name = getattr(app, "__module__", ""), getattr(app, "__qualname__", type(app).__qualname__)
    return f"{module}:{name}"


def read_answer(sample: Sample, returned: Any) -> Sample:
    """The row with the response, contexts and usage that an application returned.

    It may return a text; a pair (response, contexts); a mapping or an object with a response (`response`, `answer`,
    `output`, `result` ...) and contexts (`contexts`, `source_documents`, `source_nodes` ...). A context is a text, a
    mapping or an object with a text and perhaps an id and a score. Contexts that are not returned stay those of the row.
    Raises TypeError, saying what was expected, for anything else.
    """
    if isinstance(returned, str):
        return replace(sample, response=returned, error=None)
    if isinstance(returned, tuple) and len(returned) == 2:
        returned = {"response": returned[0], "contexts": returned[1]}
    response = _first(returned, _RESPONSE)
    if response is not None and not isinstance(response, str):
        response = _first(response, ("content", "text"))  # a chat message
    if not isinstance(response, str):
        raise TypeError(
            f"the application returned {_kind(returned)}; expected a text, (response, contexts), or a mapping or object "
            f"with one of {', '.join(_RESPONSE[:4])}"
        )
    contexts = _first(returned, _CONTEXTS)
    error = _first(returned, ("error",))
    return replace(
        sample,
        response=response,
        contexts=sample.contexts if contexts is None else _contexts(contexts),
        usage=_usage(returned, sample.usage),
        error=error if isinstance(error, str) and error else None,
    )


def _contexts(value: Any) -> tuple[Context, ...]:
    if isinstance(value, str):
        return (Context(value),)
    if isinstance(value, Mapping) or not hasattr(value, "__iter__"):
        raise TypeError(f"the application returned {_kind(value)} as contexts; expected a list of texts or documents")
    return tuple(_context(item, n) for n, item in enumerate(value, 1))


def _context(item: Any, n: int) -> Context:
    if isinstance(item, Context):
        return item
    if isinstance(item, str):
        return Context(item)
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], int | float):  # (document, score)
        return replace(_context(item[0], n), score=_number(item[1]))
    node = _first(item, ("node",))  # a scored node wraps the node
    text = _first(item if node is None else node, _TEXT)
    if not isinstance(text, str):
        raise TypeError(f"context {n} that the application returned is {_kind(item)}; expected a text or a document")
    metadata = _first(item, ("metadata",))
    id_ = _first(item if node is None else node, _ID)
    if id_ is None and isinstance(metadata, Mapping):
        id_ = _first(metadata, (*_ID, "source"))
    return Context(text, id=None if id_ is None else str(id_), score=_number(_first(item, ("score",))))


def _usage(returned: Any, known: AppUsage | None) -> AppUsage | None:
    reported = _first(returned, ("usage",))
    found: dict[str, float] = {}
    for field, names in _USAGE.items():
        value = _number(_first(reported, names) if reported is not None else None)
        if value is None:
            value = _number(_first(returned, (field,)))
        if value is not None and value >= 0:
            found[field] = value if field in ("cost", "latency") else int(value)
    return replace(known or AppUsage(), **found) if found else known  # type: ignore[arg-type]


def _timed(sample: Sample, seconds: float) -> Sample:
    """The row with the measured latency, where the application reports none of its own."""
    usage = sample.usage or AppUsage()
    return sample if usage.latency is not None else replace(sample, usage=replace(usage, latency=round(seconds, 6)))


def _first(value: Any, names: tuple[str, ...]) -> Any:
    for name in names:
        found = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
        if found is not None and not (callable(found) and not isinstance(value, Mapping)):
            return found
    return None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value


def _kind(value: Any) -> str:
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
            "E0109", "The application takes no argument.", where="app", why=name_of(function),
            fix="let it take the question (or the row, as a parameter called `row`)",
        )  # fmt: skip
    return first.name in ("row", "sample")


def _is_asynchronous(function: App) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004
