"""The user's system in the shapes that a stress test can ask: with the passages, with a wrapped
retriever, over HTTP, or recorded.

Each is made into what the engine runs on a row. What the system returns is read as `evaluate --app`
reads it; the passages that it returns do not replace those that it was given.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ragassay.core import Sample, SetupError, shorten
from ragassay.runs.application import name_of, read_answer
from ragassay.stress.http_app import HttpApp
from ragassay.stress.retriever import WrappedRetriever

RowApp = Callable[[Sample], Any]
"""What the engine runs: a function of the planned row."""


@contextmanager
def opened_app(
    app: str | Callable[..., Any],
    *,
    retriever: str | None = None,
    headers: Sequence[str] = (),
) -> Iterator[RowApp]:
    """The system as the engine runs it; a retriever is replaced until the context ends.

    app: a function or "module:function" of (question, contexts), of the question alone with
    `retriever`, or of the row; or the http(s):// address of an endpoint. retriever:
    "module:function" that the system calls for its passages, and which is replaced during the
    test. headers: "Name: value" for an endpoint. Raises SetupError E1103 for what cannot be given
    passages, E0109 for what cannot be called.
    """
    if isinstance(app, str) and app.startswith(("http://", "https://")):
        if retriever is not None:
            raise SetupError(
                "E0104",
                "A retriever can be replaced in this process only, and the system is an endpoint.",
                where="--retriever",
                fix="leave it out: the endpoint gets the contexts with the question",
            )
        yield HttpApp(app, headers)
        return
    function = _loaded(app) if isinstance(app, str) else app
    if not callable(function):
        raise SetupError(
            "E0109",
            "The application is not something that can be called.",
            where="app",
            why=f"it is a {type(function).__name__}",
            fix="give a function of (question, contexts)",
        )
    if retriever is None:
        yield _with_contexts(function)
        return
    replaced = WrappedRetriever(retriever)
    try:
        yield _wrapped(function, replaced)
    finally:
        replaced.restore()


def _loaded(name: str) -> Any:
    """The function behind "module:function". Raises SetupError E0109."""
    from ragassay.metrics import load

    module, colon, function = name.partition(":")
    if not colon or not module or not function.isidentifier():
        raise SetupError(
            "E0109",
            "The application is named as module:function, or by its http:// address.",
            where=f"--app {shorten(name, 60)}",
            fix="for example --app my_app:answer, for the function answer in my_app.py",
        )
    try:
        return load(module, function)
    except ImportError as error:
        raise SetupError(
            "E0109",
            f"The application {shorten(name, 60)} cannot be loaded.",
            where=f"--app {shorten(name, 60)}",
            why=shorten(str(error), 200),
            fix="run this where Python can import the module, or hand the function over in Python",
        ) from error


def _with_contexts(function: Callable[..., Any]) -> RowApp:
    """A function of (question, contexts), or of the row."""
    names = _parameters(function)
    if names and names[0] in ("row", "sample"):
        return _as_row_app(function, function)
    if len(names) < 2:
        raise SetupError(
            "E1103",
            "The application takes no contexts, so that nothing can be put before it.",
            where=f"app {shorten(name_of(function), 60)}",
            why=f"it takes ({', '.join(names)})",
            fix="let it take (question, contexts), or name the retriever that it calls: --retriever"
            " my_app:retrieve",
        )

    def call(row: Sample) -> Any:
        return function(row.question, [context.text for context in row.contexts or ()])

    return _as_row_app(function, call)


def _wrapped(function: Callable[..., Any], retriever: WrappedRetriever) -> RowApp:
    """A function of the question that calls a retriever."""
    if inspect.iscoroutinefunction(function):

        async def ask(row: Sample) -> Any:
            with retriever.giving(row) as given:
                returned = await function(row.question)
            given.check()
            return returned

        return _as_row_app(function, ask)

    def call(row: Sample) -> Any:
        with retriever.giving(row) as given:
            returned = function(row.question)
        given.check()
        return returned

    return _as_row_app(function, call)


def _as_row_app(function: Callable[..., Any], call: Callable[[Sample], Any]) -> RowApp:
    """`call` as the engine runs it, under the name of the user's function."""

    async def read_later(row: Sample, returned: Awaitable[Any]) -> Mapping[str, Any]:
        return response_of(row, await returned)

    async def answer_later(row: Sample) -> Mapping[str, Any]:
        return await read_later(row, call(row))

    def answer(row: Sample) -> Any:
        returned = call(row)
        # A plain function may return what an asynchronous one gave it.
        if inspect.isawaitable(returned):
            return read_later(row, returned)
        return response_of(row, returned)

    wrapped: RowApp = answer_later if _is_asynchronous(function, call) else answer
    wrapped.__module__ = str(getattr(function, "__module__", ""))
    wrapped.__qualname__ = str(getattr(function, "__qualname__", type(function).__qualname__))
    return wrapped


def _is_asynchronous(*functions: Callable[..., Any]) -> bool:
    for function in functions:
        if inspect.iscoroutinefunction(function):
            return True
        if inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004
            return True
    return False


def response_of(row: Sample, returned: Any) -> Mapping[str, Any]:
    """What the engine is to read of what a system returned: its response, usage and error, without
    its passages. Raises TypeError where there is no response.
    """
    answered = read_answer(row, returned)
    usage = answered.usage
    figures = {} if usage is None else {"latency": usage.latency, "cost": usage.cost}
    given = {name: value for name, value in figures.items() if value is not None}
    return {"response": answered.response, "error": answered.error, **given}


def _parameters(function: Callable[..., Any]) -> list[str]:
    """The names of the positional parameters; two for a function that does not tell."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a builtin without a signature
        return ["question", "contexts"]
    names: list[str] = []
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            return [*names, "question", "contexts"]
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
    return names
