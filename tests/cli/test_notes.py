"""Notes on stderr: wrapped to the terminal, commands in one piece, counted."""

from __future__ import annotations

import pytest

from ragassay.cli.output import Notes, console, height, height_of_gates, show
from ragassay.core import GateFailed
from ragassay.report import Gate, GateOutcome, GateResult, render_gates

LONG = "read " + ", ".join(f"response.tokenUsage.column_{n} as field_{n}" for n in range(6))


def test_a_note_is_wrapped_at_its_blanks_and_its_lines_are_counted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    notes = Notes()
    notes(LONG)
    notes("looks like promptfoo rows")
    lines = capsys.readouterr().err.splitlines()
    assert notes.lines == len(lines) > 3
    assert max(map(len, lines)) <= 80
    assert " ".join(line.strip() for line in lines[:-1]) == LONG


def test_a_command_to_copy_stays_in_one_piece_and_so_does_all_in_a_pipe(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    command = "To go on: ragassay resume 20261129-052745-b94957 --store " + "a/" * 40 + "st.db"
    Notes()(command)
    monkeypatch.delenv("COLUMNS")
    Notes()(LONG)
    assert capsys.readouterr().err.splitlines() == [command, LONG]


def test_what_the_end_of_a_run_prints_under_its_summary_is_counted_beforehand(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for message in (LONG, GateFailed("E0602", "A gate was not met.", why="it is 0.4", fix="look")):
        show(message)
        assert height(message) == len(capsys.readouterr().err.splitlines()) > 1
    gate = Gate("groundedness>=0.9", "mean", "groundedness", ">=", 0.9)
    outcome = GateOutcome(gate, 0.4, False, "groundedness>=0.9: not met, it is 0.4 " + "so " * 30)
    gates = GateResult((outcome,), (), 1)
    render_gates(gates, console())
    assert height_of_gates(gates) == capsys.readouterr().out.count("\n") > 3
