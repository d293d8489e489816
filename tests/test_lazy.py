"""The light doors: packages whose names are imported when they are first asked for."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

import pytest

DOORS = (
    "ragassay",
    "ragassay.core",
    "ragassay.datasets",
    "ragassay.distributed",
    "ragassay.guard",
    "ragassay.instrument",
    "ragassay.judges",
    "ragassay.report",
    "ragassay.runs",
    "ragassay.store",
    "ragassay.trust",
    "ragassay.trust.measure",
)


@pytest.mark.parametrize("package", DOORS)
def test_every_public_name_of_a_light_door_can_be_imported(package: str) -> None:
    door = import_module(package)
    for name in door.__all__:
        assert getattr(door, name) is not None


@pytest.mark.parametrize("package", DOORS)
def test_a_name_that_a_light_door_does_not_have_is_an_attribute_error(package: str) -> None:
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        import_module(package).nothing  # noqa: B018


@pytest.mark.parametrize("package", DOORS[1:])  # guard and watch of the first are modules
def test_no_module_of_a_light_door_hides_a_name_of_it(package: str) -> None:
    """Importing a module binds its name in the package, before a lazy name can be asked for."""
    door = import_module(package)
    for module in iter_modules(door.__path__):
        if module.name in door.__all__:
            import_module(f"{package}.{module.name}")
            assert not isinstance(getattr(door, module.name), ModuleType)
