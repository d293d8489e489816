"""The file formats that rows are read from, one module a family of formats.

A format is found by being here: each module lists what it reads in FORMATS.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from ragassay.datasets.formats.base import Format


def _all_formats() -> Mapping[str, Format]:
    """Name -> format: the text formats first, which users mostly have, and by name within."""
    formats: list[Format] = []
    for module in pkgutil.iter_modules(__path__):
        if module.name != "base":
            formats.extend(import_module(f"{__name__}.{module.name}").FORMATS)
    formats.sort(key=_place)
    return MappingProxyType({format.name: format for format in formats})


def _place(format: Format) -> tuple[bool, str]:
    return not format.compressible, format.name


# Eager, since the modules are light: a reader that needs a library imports it when it is opened.
FORMATS = _all_formats()
"""Name -> format."""

__all__ = ["FORMATS", "Format"]
