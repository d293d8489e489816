"""How is a frozen dataclass made fast? By writing its slots directly, where the dataclass's own way
asks for each by name.
"""

from __future__ import annotations

import dataclasses
import sys
from typing import Any, TypeVar

T = TypeVar("T")
_NO: Any = dataclasses.MISSING


def swift(kind: type[T]) -> type[T]:
    """Class decorator, above `@dataclass(frozen=True, slots=True)`: the same `__init__`, in two
    thirds of the time.

    For values of which each row has dozens. Not for a class with `__post_init__`, InitVars,
    keyword-only fields or a field that is no argument and has no plain default.
    """
    fields = dataclasses.fields(kind)  # type: ignore[arg-type]  # it is one: see above
    before = kind.__init__
    defaults = list(
        before.__defaults__ or ()
    )  # of the last arguments; of one that is made for each value, a sentinel
    names: dict[str, Any] = {}
    taken, lines = list[str](), list[str]()
    with_default = [f for f in fields if f.init and (f.default, f.default_factory) != (_NO, _NO)]
    for f, default in zip(with_default, defaults, strict=True):
        names[f"default_{f.name}"] = default
    for f in fields:
        names[f"set_{f.name}"] = getattr(kind, f.name).__set__
        if not f.init:
            names[f"default_{f.name}"] = f.default
        else:
            taken.append(f"{f.name}=default_{f.name}" if f"default_{f.name}" in names else f.name)
        value = f.name if f.init else f"default_{f.name}"
        if f.default_factory is not _NO:
            names[f"make_{f.name}"] = f.default_factory
            value = f"make_{f.name}() if {f.name} is default_{f.name} else {f.name}"
        lines.append(f"        set_{f.name}(self, {value})")
    text = [
        f"def make({', '.join(names)}):",
        f"    def __init__(self, {', '.join(taken)}):",
        *lines,
        "    return __init__",
    ]
    made: dict[str, Any] = {}
    exec(
        "\n".join(text), vars(sys.modules[kind.__module__]), made
    )  # so that its annotations mean what they did
    init = made["make"](**names)
    init.__qualname__, init.__annotations__ = before.__qualname__, before.__annotations__
    kind.__init__ = init  # type: ignore[method-assign]
    return kind
