"""What a command checks and writes at the end of a run, and what a resume of it takes over."""

from pathlib import Path

import pytest

from ragassay.report import FinalSteps


@pytest.mark.parametrize(
    ("ci", "gates", "floor", "expected"),
    [
        ("", ["a>=0"], None, None),
        ("true", ["a>=0"], None, 1.0),
        ("true", ["a>=0"], 0.5, 0.5),
        ("true", [], None, None),
    ],
)
def test_where_ci_is_set_gates_ask_for_all_rows_unless_a_floor_is_given(
    monkeypatch, ci, gates, floor, expected
):
    monkeypatch.setenv("CI", ci)
    assert FinalSteps.from_options(gates, floor, None, None).min_coverage == expected


def test_final_steps_stored_with_a_run_read_back_with_absolute_paths(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    steps = FinalSteps(("a>=0.5", "b<=1"), 0.9999999, Path("r.html"), Path("with blank.xml"))
    again = FinalSteps.from_manifest(steps.to_manifest())
    assert again == FinalSteps(
        ("a>=0.5", "b<=1"), 0.9999999, tmp_path / "r.html", tmp_path / "with blank.xml"
    )
    assert (
        again.as_options()
        == f"--gate 'a>=0.5' --gate 'b<=1' --min-coverage 0.9999999 --html {tmp_path}/r.html"
        f" --junit '{tmp_path}/with blank.xml'"
    )
    assert FinalSteps().to_manifest() == {}


def test_each_final_step_of_a_resume_replaces_the_stored_one(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    stored = FinalSteps(("a>=0.5",), 0.5, Path("a.html"), None)
    assert stored.without(FinalSteps()) == FinalSteps().and_also(stored) == stored
    given = FinalSteps(("b>=0",), None, None, Path("b.xml"))
    assert stored.without(given) == FinalSteps((), 0.5, Path("a.html"), None)
    assert given.and_also(stored.without(given)) == FinalSteps(
        ("b>=0",), 0.5, Path("a.html"), Path("b.xml")
    )
    # Gates that were stored without a floor get that of where the run goes on.
    monkeypatch.setenv("CI", "true")
    assert FinalSteps().and_also(FinalSteps(("a>=0.5",))).min_coverage == 1.0


@pytest.mark.parametrize(
    "own",
    [
        None,
        5,
        "text",
        [1],
        {},
        {"gates": 5},
        {"gates": "groundedness>=0.8"},
        {"html": 5},
        {"min_coverage": "much"},
        {"min_coverage": [1]},
    ],
)
def test_what_a_program_stores_under_the_same_name_is_not_read_as_gates(own):
    assert FinalSteps.from_manifest({"command": own}) == FinalSteps()
