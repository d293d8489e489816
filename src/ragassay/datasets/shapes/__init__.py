"""The row shapes of tools: how each is recognised and read, and how it is written.

A shape is found by being here, one file a tool: SHAPES are the forms of its rows that are read, and
WRITER, where there is one, writes rows in its form.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from types import ModuleType

from ragassay.datasets.shapes.base import Shape, Writer


def _tools() -> dict[str, ModuleType]:
    """Name -> module of every tool, by name."""
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    return {name: import_module(f"{__name__}.{name}") for name in sorted(names) if name != "base"}


def _by_order(tools: dict[str, ModuleType]) -> tuple[Shape, ...]:
    shapes: list[Shape] = []
    for tool in tools.values():
        shapes.extend(tool.SHAPES)
    # The sort is stable: shapes of one order are tried by the names of their files.
    return tuple(sorted(shapes, key=lambda shape: shape.order))


_TOOLS = _tools()

SHAPES: tuple[Shape, ...] = _by_order(_TOOLS)
"""In the order in which they are tried: the first that fits decides."""

WRITERS: dict[str, Writer] = {
    name: tool.WRITER for name, tool in _TOOLS.items() if hasattr(tool, "WRITER")
}
"""Name -> writer of each shape that rows can be written in."""

__all__ = ["SHAPES", "WRITERS", "Shape", "Writer"]
