"""The file of certificates: it reads back the same, and shows that one was changed."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragassay.core import DataError
from ragassay.store.certificate_file import dumps, from_json, loads, to_json
from support.certificates import certificate
from support.examples import examples


def test_a_file_of_certificates_reads_back_the_same_whatever_their_order() -> None:
    several = [
        certificate(),
        certificate(30, dataset="wice"),
        certificate(metric="answer_relevance"),
    ]
    data = dumps(several)
    assert dumps(reversed(several)) == data
    assert sorted(loads(data), key=lambda c: c.id) == sorted(several, key=lambda c: c.id)


def leaves(plain: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(plain, dict):
        for name, value in plain.items():
            yield from leaves(value, (*path, name))
    elif isinstance(plain, list | tuple):
        for i, value in enumerate(plain):
            yield from leaves(value, (*path, i))
    else:
        yield path


PLAIN = json.loads(json.dumps(to_json(certificate())))
LEAVES = [path for path in leaves(PLAIN) if path != ("created",)]


def change(plain: Any, path: tuple[Any, ...]) -> Any:
    changed = copy.deepcopy(plain)
    at = changed
    for step in path[:-1]:
        at = at[step]
    old = at[path[-1]]
    at[path[-1]] = (
        (not old)
        if isinstance(old, bool)
        else old + 1
        if isinstance(old, int | float)
        else f"{old}x"
    )
    return changed


@settings(max_examples=examples(150), deadline=None)
@given(st.sampled_from(LEAVES))
def test_a_change_of_any_single_value_is_found_out(path: tuple[Any, ...]) -> None:
    assert from_json(PLAIN).id == PLAIN["id"]
    with pytest.raises(DataError, match="E0317"):
        from_json(change(PLAIN, path))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"nonsense",
        b"[]",
        b"{}",
        b'{"schema":2,"certificates":[]}',
        b'{"schema":1,"certificates":{}}',
        b'{"schema":1,"certificates":[1]}',
        b'{"schema":1,"certificates":[{"schema":1,"kind_of":"certificate"}]}',
        b"[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_what_is_no_file_of_certificates_is_refused_with_what_is_wrong(data: bytes) -> None:
    with pytest.raises(DataError, match="E0317"):
        loads(data, "certificates.json")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "0.5", True, 10**400])
def test_a_figure_that_is_no_finite_number_is_refused(value: object) -> None:
    plain = copy.deepcopy(PLAIN)
    plain["pooled"][0]["value"] = value
    with pytest.raises(DataError, match="E0317"):
        from_json(plain)


def test_a_word_where_true_or_false_belongs_is_refused() -> None:
    plain = copy.deepcopy(PLAIN)
    plain["set_up"]["graded"] = "no"
    with pytest.raises(DataError, match="E0317"):
        from_json(plain)


def test_a_number_written_without_its_decimals_is_still_the_same_certificate() -> None:
    """JSON written by other programs says 1 for 1.0."""
    plain = copy.deepcopy(PLAIN)
    plain["set_up"]["cut"], plain["set_up"]["scale"] = 1, [0, 1]
    assert from_json(plain) == from_json(PLAIN)
