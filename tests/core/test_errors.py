"""Every error says what, where and what to do, under a code that is in the catalogue."""

import pickle
import re
from pathlib import Path

import pytest

import ragassay
from ragassay.core import (
    BudgetExhausted,
    DataError,
    EnvironmentFailure,
    GateFailed,
    Incomplete,
    NothingToDo,
    ProviderError,
    SetupError,
    nearest,
    shorten,
)
from ragassay.core.error_catalogue import error_catalogue
from ragassay.core.errors import CODES

SOURCES = sorted(Path(ragassay.__file__).parent.rglob("*.py"))


def test_an_error_prints_code_what_where_why_and_fix() -> None:
    error = SetupError(
        "E0201",
        "No metric has that name.",
        where="--metrics",
        why="grounded",
        fix="see ragassay metrics",
    )
    assert str(error).splitlines() == [
        "E0201: No metric has that name.",
        "  where: --metrics",
        "  why: grounded",
        "  fix: see ragassay metrics",
    ]


def test_a_notebook_shows_an_error_without_the_traceback_through_the_package() -> None:
    with pytest.raises(DataError) as caught:
        ragassay.evaluate("nowhere.jsonl")
    lines = caught.value._render_traceback_()
    assert lines[0].startswith(f"{caught.value.code}: ")
    assert lines[-1] == f"  more: ragassay explain {caught.value.code}"
    assert len(lines) <= 5


def test_a_code_outside_the_catalogue_cannot_be_raised() -> None:
    with pytest.raises(KeyError, match="E9999"):
        SetupError("E9999", "x")


def test_every_code_in_the_source_is_in_the_catalogue_and_every_catalogued_code_is_used() -> None:
    used = set()
    for path in SOURCES:
        used |= set(re.findall(r'"(E\d{4})"', path.read_text()))
    assert used <= set(error_catalogue())
    assert set(error_catalogue()) - used == set(), "codes that nothing raises"


def test_every_code_that_can_be_raised_has_an_entry_in_the_catalogue_and_no_other_has() -> None:
    assert set(error_catalogue()) == CODES


def test_exit_codes_are_those_of_the_documented_table() -> None:
    table = {
        GateFailed: 1,
        SetupError: 2,
        DataError: 2,
        Incomplete: 3,
        BudgetExhausted: 4,
        EnvironmentFailure: 5,
        ProviderError: 5,
        NothingToDo: 6,
    }
    assert {kind: kind.exit_code for kind in table} == table


def test_an_error_survives_the_way_to_another_process() -> None:
    error = DataError(
        "E0301", "A line is not valid JSON.", where="rows.jsonl:3", why="{", fix="mend it"
    )
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.code, str(again)) == (DataError, "E0301", str(error))


def test_nearest_names_a_likely_choice_and_keeps_quiet_otherwise() -> None:
    assert (
        nearest("groundednes", ["groundedness", "faithfulness"]) == " Did you mean 'groundedness'?"
    )
    assert nearest("zzz", ["groundedness"]) == ""


def test_shorten_gives_one_printable_line() -> None:
    assert shorten("a\x1b[31m\nb") == "a\\x1b[31m\\nb"
    assert shorten("x" * 100, 10) == "x" * 9 + "…"
