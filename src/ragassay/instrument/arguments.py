"""The arguments of the application's functions: which of them is the question, which the contexts.

An argument is named by whoever decorates the function, or has a name by which questions and
contexts usually go. Places are found once, when the function is decorated: a call costs no more
than an index.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any


class Argument:
    """One parameter of a function, found by its name."""

    __slots__ = ("_default", "_place", "name")

    def __init__(self, name: str, place: int | None, default: object) -> None:
        self.name = name
        self._place = place
        self._default = default

    def of(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The argument of a call; None where it was not given and has no default."""
        if self._place is not None and self._place < len(args):
            return args[self._place]
        return kwargs.get(self.name, self._default)


def parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a function that hold one argument each, in order; none where they cannot be
    known.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions of C
        return []
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [each for each in signature.parameters.values() if each.kind not in several]


def named_argument(function: Callable[..., Any], names: Sequence[str]) -> Argument | None:
    """The first of these names that is a parameter of the function."""
    parameters = parameters_of(function)
    places = {parameter.name: place for place, parameter in enumerate(parameters)}
    for name in names:
        if name in places:
            return _argument(parameters, places[name])
    return None


def only_argument(function: Callable[..., Any]) -> Argument | None:
    """The one parameter without a default that is no `self`, whatever it is called; None where
    there are several.
    """
    parameters = parameters_of(function)
    own: list[int] = []
    for place, parameter in enumerate(parameters):
        is_instance = place == 0 and parameter.name in ("self", "cls")
        if parameter.default is inspect.Parameter.empty and not is_instance:
            own.append(place)
    return _argument(parameters, own[0]) if len(own) == 1 else None


def _argument(parameters: Sequence[inspect.Parameter], place: int) -> Argument:
    parameter = parameters[place]
    default = None if parameter.default is inspect.Parameter.empty else parameter.default
    by_name = parameter.kind is inspect.Parameter.KEYWORD_ONLY
    return Argument(parameter.name, None if by_name else place, default)
