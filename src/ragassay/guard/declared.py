"""The guards as an application declares them: filter of contexts, block of input, of output."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar, overload

from ragassay.guard.decorated import guard_contexts, guard_input, guard_output
from ragassay.guard.fields import Source
from ragassay.guard.guards import Guard, guards
from ragassay.guard.result import GuardResult
from ragassay.guard.settings import RAISES, make_settings
from ragassay.guard.streaming import astream_of, stream_of
from ragassay.metrics import Metric

T = TypeVar("T")

OnResult = Callable[[GuardResult], object]


def context_filter(
    metric: str | Metric,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    on_error: str | None = None,
    deadline_ms: float | None = None,
    question: Source = None,
    shadow: bool = False,
    on_result: OnResult | None = None,
    **judge: Any,
) -> Guard:
    """A decorator of a retriever: chunks that do not reach the mark are left out, the others keep
    their order and are the very objects that the function returned.

    metric: of each chunk, such as "context_relevance" (a printed name, or a function under
    `@ragassay.metric`). at_least: what a chunk's score has to reach, in the metric's range;
    at_most for a metric of which lower is better. on_error: "pass" keeps a chunk that was not
    judged, "block" leaves it out. deadline_ms: milliseconds from the call of the guard to its
    decision. question: the parameter that holds it, or a function of the GuardedCall; by default
    one with a usual name, or the only one. shadow: judge in the background and leave nothing out.
    on_result: called with each GuardResult. judge: who judges, as for `ragassay.evaluate` (judge,
    base_url, api_key_env, rubrics ...); offline by default.

    Raises SetupError for what is wrong with these.
    """
    settings = make_settings(
        "context_filter",
        metric,
        at_least=at_least,
        at_most=at_most,
        on_error=on_error,
        deadline_ms=deadline_ms,
        shadow=shadow,
        instead=RAISES,
        on_result=on_result,
        options=judge,
    )
    return Guard(settings, partial(guard_contexts, question=question))


def block_input(
    metric: str | Metric,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    on_error: str | None = None,
    deadline_ms: float | None = None,
    question: Source = None,
    instead: object = RAISES,
    shadow: bool = False,
    on_result: OnResult | None = None,
    **judge: Any,
) -> Guard:
    """A decorator of what answers questions: a question that does not reach the mark is not passed
    on, and the function is not called.

    metric: of the question; one that reads a response alone ("safety") is given the question in its
    place. instead: what is returned for a blocked question, a value or a function of the
    GuardResult; without it `Blocked` is raised. The others are those of `context_filter`.
    """
    settings = make_settings(
        "block_input",
        metric,
        at_least=at_least,
        at_most=at_most,
        on_error=on_error,
        deadline_ms=deadline_ms,
        shadow=shadow,
        instead=instead,
        on_result=on_result,
        options=judge,
    )
    return Guard(settings, partial(guard_input, question=question))


def block_output(
    metric: str | Metric,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    on_error: str | None = None,
    deadline_ms: float | None = None,
    question: Source = None,
    contexts: Source = None,
    instead: object = RAISES,
    shadow: bool = False,
    on_result: OnResult | None = None,
    **judge: Any,
) -> Guard:
    """A decorator of what answers questions: an answer that does not reach the mark is not
    returned. A function that yields its answer piece by piece is guarded sentence by sentence, as
    `stream` does.

    contexts: the parameter that holds them, or a function of the GuardedCall; by default what the
    function returned beside its answer, else a parameter with a usual name, else what retrievers
    under `context_filter` or `ragassay.retriever` returned while it ran. The others are those of
    `block_input`.
    """
    settings = make_settings(
        "block_output",
        metric,
        at_least=at_least,
        at_most=at_most,
        on_error=on_error,
        deadline_ms=deadline_ms,
        shadow=shadow,
        instead=instead,
        on_result=on_result,
        options=judge,
    )
    return Guard(settings, partial(guard_output, question=question, contexts=contexts))


@overload
def stream(
    pieces: AsyncIterable[T],
    metric: str | Metric,
    *,
    contexts: Sequence[object] | None = None,
    question: str | None = None,
    text: Callable[[T], str | None] | None = None,
    **settings: Any,
) -> AsyncIterator[str]: ...


@overload
def stream(
    pieces: Iterable[T],
    metric: str | Metric,
    *,
    contexts: Sequence[object] | None = None,
    question: str | None = None,
    text: Callable[[T], str | None] | None = None,
    **settings: Any,
) -> Iterator[str]: ...


def stream(
    pieces: Iterable[T] | AsyncIterable[T],
    metric: str | Metric,
    *,
    contexts: Sequence[object] | None = None,
    question: str | None = None,
    text: Callable[[T], str | None] | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    on_error: str | None = None,
    deadline_ms: float | None = None,
    instead: object = RAISES,
    shadow: bool = False,
    on_result: OnResult | None = None,
    **judge: Any,
) -> Iterator[str] | AsyncIterator[str]:
    """An answer that comes piece by piece, released sentence by sentence once each is judged.

    What is released is, joined, the answer as it came. Of a sentence that is blocked, and of all
    behind it, not a character is released: `Blocked` is raised, or `instead` (a text, or a function
    of the GuardResult that returns one) is the last piece. pieces: texts, or what `text` takes the
    text of; an asynchronous iterator where these are one. deadline_ms: of each sentence. The others
    are those of `block_output`.
    """
    settings = make_settings(
        "stream",
        metric,
        at_least=at_least,
        at_most=at_most,
        on_error=on_error,
        deadline_ms=deadline_ms,
        shadow=shadow,
        instead=instead,
        on_result=on_result,
        options=judge,
    )
    guard = Guard(settings, guard_output)

    def fields() -> dict[str, Any]:
        return {"question": question, "contexts": contexts}

    if isinstance(pieces, AsyncIterable):
        return astream_of(guard, pieces, fields, text)
    return stream_of(guard, pieces, fields, text)


def warm(*, freeze: bool = True) -> None:
    """Make the judges of all guards that are declared ready, so that the first question does not
    wait for a model to load. One example is judged for each: behind a server that is one paid call.

    freeze: leave the objects that exist now, mostly modules, out of Python's later collections of
    garbage (`gc.freeze`): else one of all objects stops every thread for 50 to 150 ms now and then,
    which no deadline survives.

    Raises SetupError, EnvironmentFailure or ProviderError for a judge that cannot work.
    """
    done: set[str] = set()
    for guard in list(guards):
        key = f"{guard.settings.metric} {sorted(guard.settings.options.items())}"
        if key not in done:
            done.add(key)
            guard.warm()
    if freeze:
        gc.collect()
        gc.freeze()
