"""A class with the fast `__init__` is the dataclass it was: arguments, defaults, equality,
replace, pickle, frozen.
"""

import copy
import dataclasses
import inspect
import pickle
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from ragassay import core
from ragassay.core.fast_init import fast_init


@dataclass(frozen=True, slots=True)
class Plain:
    name: str
    size: int = 3
    notes: Mapping[str, int] = field(default_factory=dict)
    _kept: str = field(default="", init=False, repr=False, compare=False)


@fast_init
@dataclass(frozen=True, slots=True)
class Swift:
    name: str
    size: int = 3
    notes: Mapping[str, int] = field(default_factory=dict)
    _kept: str = field(default="", init=False, repr=False, compare=False)


@pytest.mark.parametrize(
    ("args", "kwargs"), [(("a",), {}), (("a", 4), {}), ((), {"notes": {"x": 1}, "name": "b"})]
)
def test_it_takes_what_the_dataclass_takes(args, kwargs) -> None:
    assert dataclasses.asdict(Swift(*args, **kwargs)) == dataclasses.asdict(Plain(*args, **kwargs))


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [((), {}), (("a", 1, {}, "kept"), {}), (("a",), {"_kept": "x"}), (("a",), {"name": "b"})],
)
def test_it_refuses_what_the_dataclass_refuses(args, kwargs) -> None:
    for kind in (Plain, Swift):
        with pytest.raises(TypeError):
            kind(*args, **kwargs)


def test_each_has_its_own_of_what_is_made_for_it() -> None:
    assert Swift("a").notes is not Swift("a").notes


def test_it_is_frozen_equal_copied_replaced_and_pickled_as_before() -> None:
    one = Swift("a", 5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.size = 6  # type: ignore[misc]
    assert one == Swift("a", 5)
    assert one != Swift("a", 6)
    assert repr(one) == "Swift(name='a', size=5, notes={})"
    assert dataclasses.replace(one, size=7) == Swift("a", 7)
    assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == one


def test_every_value_of_the_core_keeps_its_signature() -> None:
    """What `help` and editors show: the names and defaults of the fields, in their order."""
    for kind in (
        core.Spend,
        core.Judgment,
        core.Part,
        core.Counts,
        core.Score,
        core.Context,
        core.Sample,
        core.Request,
        core.RowResult,
        core.Diagnosis,
        core.ChatCall,
        core.ChatReply,
        core.Message,
        core.Evidence,
    ):
        shown = list(inspect.signature(kind).parameters.values())
        taken = [f for f in dataclasses.fields(kind) if f.init]
        assert [p.name for p in shown] == [f.name for f in taken]
        for parameter, f in zip(shown, taken, strict=True):
            has_default = (
                f.default is not dataclasses.MISSING or f.default_factory is not dataclasses.MISSING
            )
            assert (parameter.default is not inspect.Parameter.empty) == has_default
            assert parameter.annotation == f.type


def test_what_libraries_ask_of_a_signature_is_what_the_dataclass_says() -> None:
    plain, quick = inspect.signature(Plain), inspect.signature(Swift)
    assert str(plain) == str(quick)  # the sentinel of what is made for each value too
    assert Swift.__init__.__module__ == Plain.__init__.__module__ == __name__
    for kind in (core.Sample, core.Part, core.Judgment, core.RowResult):
        assert inspect.signature(kind, eval_str=True).parameters
        assert typing.get_type_hints(kind.__init__)
        assert kind.__init__.__module__ == kind.__module__
