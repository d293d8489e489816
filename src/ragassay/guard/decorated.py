"""Functions under a guard: plain ones, coroutine functions, and those that yield their answer."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ragassay.core import Context, SetupError
from ragassay.guard.chunks import Chunks, chunks_in
from ragassay.guard.fields import CallFields, Source, responses_of
from ragassay.guard.streaming import astream_of, stream_of
from ragassay.instrument import retrieved
from ragassay.instrument.documents import UNREADABLE, readable

if TYPE_CHECKING:
    from ragassay.guard.guards import Guard
    from ragassay.guard.result import GuardResult

F = TypeVar("F", bound=Callable[..., Any])


def guard_contexts(guard: Guard, function: F, *, question: Source = None) -> F:
    """A retriever whose chunks are judged before they are returned."""
    fields = CallFields(function, question, None, kind="context_filter")
    _need_question(fields, "context_filter")
    _refuse_generators(function, "context_filter")

    def begin(args: Any, kwargs: Any, chunks: Chunks | None) -> dict[str, Any]:
        """What is judged of a call: of chunks that cannot be read, that there are none."""
        # One context for each document: positions must be those of what was returned.
        contexts = None if chunks is None else [readable(each) for each in chunks.documents]
        return {"question": fields.question(args, kwargs), "contexts": contexts}

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def afiltered(*args: Any, **kwargs: Any) -> Any:
            # What a retriever inside collects is not what this one passes on.
            with retrieved.apart():
                returned = await function(*args, **kwargs)
                chunks = chunks_in(returned)
            row = begin(args, kwargs, chunks)
            if guard.settings.shadow:
                guard.look_on(**row)
                return _passed_on(returned, chunks, None)
            return _passed_on(returned, chunks, await guard.acheck(**row))

        return cast(F, afiltered)

    @functools.wraps(function)
    def filtered(*args: Any, **kwargs: Any) -> Any:
        with retrieved.apart():
            returned = function(*args, **kwargs)
            chunks = chunks_in(returned)
        row = begin(args, kwargs, chunks)
        if guard.settings.shadow:
            guard.look_on(**row)
            return _passed_on(returned, chunks, None)
        return _passed_on(returned, chunks, guard.check(**row))

    return cast(F, filtered)


def _passed_on(returned: object, chunks: Chunks | None, result: GuardResult | None) -> object:
    """What was returned with the chunks that are kept alone: the very objects, in their order,
    where they stood. result: None where all are.
    """
    if chunks is None:
        return [] if result is not None and result.blocked else returned
    kept = range(len(chunks.documents)) if result is None else result.kept
    contexts = [readable(chunks.documents[place]) for place in kept]
    retrieved.add([context for context in contexts if context is not UNREADABLE])
    return chunks.only(frozenset(kept))


def guard_input(guard: Guard, function: F, *, question: Source = None) -> F:
    """A function that is called with questions that reach the mark alone."""
    fields = CallFields(function, question, None, kind="block_input")
    _need_question(fields, "block_input")

    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        return _input_of_generators(guard, function, fields)
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def acalled(*args: Any, **kwargs: Any) -> Any:
            result = await _acheck_question(guard, fields.question(args, kwargs))
            if result is not None and result.blocked:
                return guard.replacement(result)
            return await function(*args, **kwargs)

        return cast(F, acalled)

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        result = _check_question(guard, fields.question(args, kwargs))
        if result is not None and result.blocked:
            return guard.replacement(result)
        return function(*args, **kwargs)

    return cast(F, called)


def _input_of_generators(guard: Guard, function: F, fields: CallFields) -> F:
    """The same for a function that yields its answer: the question is judged with the first
    piece.
    """
    if inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        async def ayielding(*args: Any, **kwargs: Any) -> Any:
            result = await _acheck_question(guard, fields.question(args, kwargs))
            if result is not None and result.blocked:
                instead = guard.replacement(result)
                if instead is not None:
                    yield instead
                return
            pieces = function(*args, **kwargs)
            try:
                async for piece in pieces:
                    yield piece
            finally:
                await pieces.aclose()

        return cast(F, ayielding)

    @functools.wraps(function)
    def yielding(*args: Any, **kwargs: Any) -> Any:
        result = _check_question(guard, fields.question(args, kwargs))
        if result is not None and result.blocked:
            instead = guard.replacement(result)
            if instead is not None:
                yield instead
            return
        yield from function(*args, **kwargs)

    return cast(F, yielding)


def _check_question(guard: Guard, question: str | None) -> GuardResult | None:
    if guard.settings.shadow:
        guard.look_on(question=question)
        return None
    return guard.check(question=question)


async def _acheck_question(guard: Guard, question: str | None) -> GuardResult | None:
    if guard.settings.shadow:
        guard.look_on(question=question)
        return None
    return await guard.acheck(question=question)


def guard_output(
    guard: Guard, function: F, *, question: Source = None, contexts: Source = None
) -> F:
    """A function whose answers are judged before they are returned or released."""
    fields = CallFields(function, question, contexts, kind="block_output")
    if inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        def ayielding(*args: Any, **kwargs: Any) -> Any:
            call = _OutputCall(guard, fields, args, kwargs)
            return call.astream(function(*args, **kwargs))

        return cast(F, ayielding)

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def acalled(*args: Any, **kwargs: Any) -> Any:
            call = _OutputCall(guard, fields, args, kwargs)
            with retrieved.collecting(call.collected):
                returned = await function(*args, **kwargs)
            streamed = call.streamed(returned)
            if streamed is not None:
                return streamed
            row = call.row(returned)
            if guard.settings.shadow:
                guard.look_on(**row)
                return returned
            result = await guard.acheck(**row)
            return guard.replacement(result) if result.blocked else returned

        return cast(F, acalled)

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        call = _OutputCall(guard, fields, args, kwargs)
        with retrieved.collecting(call.collected):
            returned = function(*args, **kwargs)
        streamed = call.streamed(returned)
        if streamed is not None:
            return streamed
        row = call.row(returned)
        if guard.settings.shadow:
            guard.look_on(**row)
            return returned
        result = guard.check(**row)
        return guard.replacement(result) if result.blocked else returned

    return cast(F, called)


class _OutputCall:
    """One call of a function whose answer is guarded. collected: what was retrieved while it
    ran.
    """

    def __init__(self, guard: Guard, fields: CallFields, args: Any, kwargs: Any) -> None:
        self._guard = guard
        self._fields = fields
        self._args = args
        self._kwargs = kwargs
        self.collected: list[Context] = []

    def row(self, returned: object) -> dict[str, Any]:
        """What is judged of an answer."""
        return {**self._without_response(returned), "response": responses_of(returned)}

    def _without_response(self, returned: object) -> dict[str, Any]:
        contexts: Sequence[Context] | None
        contexts = self._fields.contexts(self._args, self._kwargs, returned)
        if contexts is None and self.collected:
            contexts = tuple(self.collected)
        question = self._fields.question(self._args, self._kwargs)
        return {"question": question, "contexts": contexts}

    def streamed(self, returned: object) -> object | None:
        """The released sentences of an answer that is a generator; None where it is none."""
        if isinstance(returned, Generator):
            return self.stream(returned)
        if isinstance(returned, AsyncGenerator):
            return self.astream(returned)
        return None

    def stream(self, pieces: Generator[Any, Any, Any]) -> Generator[str, None, None]:
        """The released sentences; the retriever may run with the first one."""
        return stream_of(self._guard, self._collecting(pieces), self._fields_of_stream, None)

    def astream(self, pieces: AsyncGenerator[Any, Any]) -> AsyncGenerator[str, None]:
        """The same for an asynchronous answer."""
        return astream_of(self._guard, self._acollecting(pieces), self._fields_of_stream, None)

    def _fields_of_stream(self) -> dict[str, Any]:
        return self._without_response(None)

    def _collecting(self, pieces: Generator[Any, Any, Any]) -> Generator[Any, None, None]:
        """The pieces; what is retrieved while one is made is collected, and nothing of the
        consumer's.
        """
        try:
            while True:
                with retrieved.collecting(self.collected):
                    piece = next(pieces, _END)
                if piece is _END:
                    return
                yield piece
        finally:
            pieces.close()

    async def _acollecting(self, pieces: AsyncGenerator[Any, Any]) -> AsyncGenerator[Any, None]:
        try:
            while True:
                with retrieved.collecting(self.collected):
                    piece = await anext(pieces, _END)
                if piece is _END:
                    return
                yield piece
        finally:
            await pieces.aclose()


_END = object()


def _need_question(fields: CallFields, kind: str) -> None:
    if fields.knows_question:
        return
    raise SetupError(
        "E0101",
        "The guard cannot tell which parameter of the function is the question.",
        where=f"ragassay.guard.{kind}",
        fix='name it: question="PARAMETER", or give a function of the GuardedCall',
    )


def _refuse_generators(function: Callable[..., Any], kind: str) -> None:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise SetupError(
            "E0101",
            "A retriever under a context filter returns a list; this one yields.",
            where=f"ragassay.guard.{kind}",
            fix="return the chunks as a list",
        )
