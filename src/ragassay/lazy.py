"""Names of a package that are imported from their modules when they are first asked for.

The door of a heavy room stays light with it. It stands beside the rooms and not in `core`, which
takes longer to import than the package itself may.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module


def lazy_names(package: str, modules: Mapping[str, Sequence[str]]) -> Callable[[str], object]:
    """The `__getattr__` (PEP 562) of a package's `__init__`. modules: the public names by the
    module of the package that defines them.
    """
    module_of: dict[str, str] = {}
    for module, names in modules.items():
        module_of.update(dict.fromkeys(names, module))

    def get(name: str) -> object:
        # The error leaves `from package import submodule` to the import system.
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{module_of[name]}"), name)

    return get
