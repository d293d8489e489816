"""The options of a run: what derives from their declarations agrees with them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import pytest

import ragassay
from ragassay.core import SetupError
from ragassay.runs.options import (
    NOT_OPTIONS,
    OnResume,
    Options,
    declared_options,
    make_options,
)

DECLARED = declared_options()


def signature_of_evaluate() -> Mapping[str, inspect.Parameter]:
    return inspect.signature(ragassay.evaluate).parameters


def test_the_signature_of_evaluate_has_every_option_and_nothing_else() -> None:
    parameters = signature_of_evaluate()
    assert parameters.keys() - NOT_OPTIONS == DECLARED.keys() - NOT_OPTIONS
    assert parameters.keys() >= NOT_OPTIONS


def test_the_defaults_of_evaluate_are_the_declared_ones() -> None:
    defaults = {name: each.default for name, each in signature_of_evaluate().items()}
    del defaults["rows"]
    assert make_options(defaults) == Options() == make_options({})


@pytest.mark.parametrize("name", sorted(DECLARED.keys() - NOT_OPTIONS))
def test_the_types_of_evaluate_take_what_is_declared(name: str) -> None:
    hints = inspect.get_annotations(ragassay.evaluate)
    written = hints[name] if isinstance(hints[name], str) else str(hints[name])
    declared = DECLARED[name]
    if isinstance(declared.default, tuple | Mapping) or name in ("app", "extra_body"):
        return  # it takes more there, and is converted
    kind = Options.__dataclass_fields__[name].type
    assert written == kind


def test_the_docstring_of_evaluate_names_every_option() -> None:
    words = inspect.getdoc(ragassay.evaluate) or ""
    assert [name for name in DECLARED if name not in words] == []


def test_options_read_back_from_json_are_the_same() -> None:
    options = Options(
        metrics=("a", "b"), mapping={"question": "q"}, slices=("s",), temperature=None, limit=3
    )
    assert Options.from_json(options.to_json()) == options


def test_none_stands_for_the_default_except_where_it_is_a_value() -> None:
    options = make_options(dict.fromkeys(DECLARED))
    assert options == Options(temperature=None)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"limit": 0}, "limit must be a number from 1 up."),
        ({"max_cost": float("inf")}, "max_cost must be a number from 0 up."),
        ({"call_timeout": 0}, "call_timeout must be a number from 0.001 up."),
        ({"claims": "words"}, "claims is 'sentences', 'filtered' or 'llm'."),
        ({"controls": "on"}, "controls is 'auto', 'always' or 'off'."),
        ({"order": "random"}, "order is 'shuffled', 'given' or 'both'."),
        ({"engine": "dask"}, "engine is either 'local' or 'ray'."),
    ],
)
def test_a_value_that_no_run_can_have_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(SetupError) as error:
        make_options(values)
    assert (error.value.code, error.value.what) == ("E0101", message)


def test_what_a_resume_sets_for_later_resumes_are_the_caps_and_the_price() -> None:
    lasting = {name for name, each in DECLARED.items() if each.on_resume is OnResume.LASTING}
    assert lasting == Options().lasting().keys() == {"max_calls", "max_cost", "price"}
