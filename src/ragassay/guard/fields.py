"""The fields of the row that a guard judges, from the arguments and the result of a function."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragassay.core import Context, SetupError, shorten
from ragassay.datasets.names import CONTEXT_NAMES, QUESTION_NAMES
from ragassay.datasets.outputs import contexts_in, question_in, responses_in
from ragassay.instrument.arguments import Argument, named_argument, only_argument, parameters_of
from ragassay.instrument.documents import as_contexts, listed

_LOGGER = logging.getLogger("ragassay.guard")

Source = str | Callable[["GuardedCall"], object] | None
"""Where a field comes from: the name of a parameter, a function of the call, or as usual."""


@dataclass(frozen=True, slots=True)
class GuardedCall:
    """A call of a guarded function. arguments: by the names of its parameters. returned: what it
    returned; None for a guard of questions, which judges before the call.
    """

    arguments: Mapping[str, Any]
    returned: object = None


class CallFields:
    """Reads question, contexts and response of the calls of one function. question, contexts: where
    they come from; by default the parameters with usual names, and what the function returned.
    """

    def __init__(
        self, function: Callable[..., Any], question: Source, contexts: Source, *, kind: str
    ) -> None:
        self._function = function
        self._kind = kind
        self._question = question if callable(question) else self._parameter(question)
        self._contexts = contexts if callable(contexts) else self._parameter(contexts)
        if self._question is None:
            self._question = named_argument(function, QUESTION_NAMES) or only_argument(function)
        if self._contexts is None:
            self._contexts = named_argument(function, CONTEXT_NAMES)

    def _parameter(self, name: str | None) -> Argument | None:
        if name is None:
            return None
        found = named_argument(self._function, (name,))
        if found is None:
            has = ", ".join(parameter.name for parameter in parameters_of(self._function))
            raise SetupError(
                "E0101",
                f"The guarded function has no parameter {shorten(name, 40)!r}.",
                where=f"ragassay.guard.{self._kind}",
                why=f"it has {has or 'none'}",
                fix="name one of them, or give a function of the GuardedCall",
            )
        return found

    @property
    def knows_question(self) -> bool:
        """Whether there is a parameter for it, or a function that says it."""
        return self._question is not None

    def question(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
        """The question of a call; None where it holds none, or none that can be read: the guard is
        without it then, and takes the way that was named.
        """
        try:
            value = self._value(self._question, args, kwargs, None)
            return value if isinstance(value, str) else question_in(value)
        except Exception:
            _LOGGER.warning("the question of a guarded call cannot be read", exc_info=True)
            return None

    def contexts(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], returned: object
    ) -> tuple[Context, ...] | None:
        """The contexts that the call was given or returned; None where it says nothing of them, or
        nothing that can be read.
        """
        try:
            return self._contexts_of_call(args, kwargs, returned)
        except Exception:
            _LOGGER.warning("the contexts of a guarded call cannot be read", exc_info=True)
            return None

    def _contexts_of_call(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], returned: object
    ) -> tuple[Context, ...] | None:
        if callable(self._contexts):
            return _contexts_of(self._value(self._contexts, args, kwargs, returned))
        found = _contexts_of(_beside_the_answer(returned))
        if found is not None:
            return found
        return _contexts_of(self._value(self._contexts, args, kwargs, returned))

    def _value(
        self,
        source: Argument | Callable[[GuardedCall], object] | None,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        returned: object,
    ) -> object:
        if source is None:
            return None
        if isinstance(source, Argument):
            return source.of(args, kwargs)
        bound = inspect.signature(self._function).bind(*args, **kwargs)
        bound.apply_defaults()
        return source(GuardedCall(bound.arguments, returned))


def _beside_the_answer(returned: object) -> object:
    """What a function returned as contexts beside its answer; None where it returned none."""
    if returned is None or isinstance(returned, str):
        return None
    if isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[0], str):
        return returned[1]  # a pair: response and contexts
    return contexts_in(returned)


def _contexts_of(value: object) -> tuple[Context, ...] | None:
    if value is None:
        return None
    if isinstance(value, str):
        return (Context(value),)
    documents = listed(value)
    return None if documents is None else as_contexts(documents)


def responses_of(returned: object) -> Sequence[str] | None:
    """The texts of the answer in what a function returned, all that whoever called it gets; None
    where it holds none that can be read.
    """
    if isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[0], str):
        return returned[:1]  # a pair: response and contexts
    try:
        return responses_in(returned) or None
    except Exception:
        _LOGGER.warning("the answer of a guarded call cannot be read", exc_info=True)
        return None
