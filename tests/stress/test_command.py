"""The command's own mistakes: each a coded error before the system is asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ragassay.cli.app import app
from ragassay.core import RagAssayError
from stress.test_application import ROWS


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "set.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    return tmp_path


def stress(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["stress", "--rows", "set.jsonl", *words])
    if isinstance(done.exception, RagAssayError):
        return done.exception.exit_code, done.exception.code
    return done.exit_code, done.output


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--numbers", "1,x"], (2, "E0101")),
        (["--numbers", "0"], (2, "E0101")),
        (["--numbers", "1,60"], (2, "E0101")),
        (["--kinds", "rndom"], (2, "E0101")),
        (["--positions", ""], (2, "E0101")),
        (["--arms", "added,other"], (2, "E0101")),
        (["--policy", "x"], (2, "E0101")),
        (["--tolerance", "1.5"], (2, "E0101")),
        (["--corpus", "missing.txt"], (2, "E0102")),
        (["--numbers", "20", "--noise"], (6, "E1101")),
        (["--integration"], (6, "E1101")),
    ],
)
def test_a_mistake_is_named_before_anything_is_asked(
    words: list[str], expected: tuple[int, str]
) -> None:
    assert stress("--app", "never.loaded:answer", *words) == expected


def test_a_forecast_as_json_has_askings_and_power() -> None:
    code, out = stress("--forecast", "--json", "--numbers", "1", "--noise")
    assert code == 0
    found = json.loads(out)
    assert found["kind"] == "stress_forecast"
    assert found["askings"]["noise"] == 8 * (4 * 2 + 4 * 3)  # no middle of one in the added arm
    assert found["undelivered"] == 0
    assert 0 < found["power"]["power"] < 1


def test_a_system_that_fails_on_every_asking_leaves_with_three(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "down.py").write_text("def answer(question, contexts):\n    raise OSError('down')\n")
    monkeypatch.syspath_prepend(folder)
    small = ["--noise", "--numbers", "1", "--kinds", "same-topic", "--positions", "last"]
    code, out = stress("--app", "down:answer", *small, "--arms", "added")
    assert code == 3
    assert "Fails. It gives no answer in 32 of 32 askings." in out
