"""How is a frozen dataclass made fast? By writing its slots directly, where the dataclass's own way asks for each by name."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

T = TypeVar("T")


def swift(kind: type[T]) -> type[T]:
    """Class decorator, above `@dataclass(frozen=True, slots=True)`: the same `__init__`, in two thirds of the time.

    For values of which each row has dozens. Not for a class with `__post_init__`, InitVars or keyword-only fields.
    """
    names: dict[str, Any] = {"MISSING": dataclasses.MISSING}
    taken, lines = ["self"], list[str]()
    for f in dataclasses.fields(kind):  # type: ignore[arg-type]  # it is one: see above
        value = f.name
        names[f"set_{f.name}"] = getattr(kind, f.name).__set__
        if f.default is not dataclasses.MISSING:
            names[f"default_{f.name}"] = f.default
            value = f"default_{f.name}"
        elif f.default_factory is not dataclasses.MISSING:
            names[f"make_{f.name}"] = f.default_factory
            value = "MISSING"
        if f.init:
            taken.append(f.name if value == f.name else f"{f.name}={value}")
            value = f.name
        if f"make_{f.name}" in names:
            value = f"make_{f.name}() if {f.name} is MISSING else {f.name}"
        lines.append(f"    set_{f.name}(self, {value})")
    exec("\n".join([f"def __init__({', '.join(taken)}):", *lines]), names)
    made, before = names["__init__"], kind.__init__
    made.__qualname__, made.__annotations__ = before.__qualname__, before.__annotations__
    kind.__init__ = made  # type: ignore[method-assign]
    return kind
