"""The URIs of judges: what a composed one is made of, and local folders as absolute paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragassay.judges import composition, with_absolute_folders
from ragassay.judges.composed.members import runs_here


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The current folder, with models/m and models/n in it."""
    (tmp_path / "models" / "m").mkdir(parents=True)
    (tmp_path / "models" / "n").mkdir()
    monkeypatch.chdir(tmp_path)
    return str(tmp_path)


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("local:models/m", "local:{}/models/m"),
        ("LOCAL: models/m", "local:{}/models/m"),
        ("local:./models/../models/m/", "local:{}/models/m"),
        ("local:models/m?cut=0.3&task=support", "local:{}/models/m?cut=0.3&task=support"),
        (
            "panel:local:models/m+offline+local:models/n",
            "panel:local:{0}/models/m+offline+local:{0}/models/n",
        ),
        ("cascade:local:models/m>openai:x@0.9", "cascade:local:{}/models/m>openai:x@0.9"),
        ("checked:openai:x>local:models/m@0.9", "checked:openai:x>local:{}/models/m@0.9"),
        (
            "cascade:offline,local:models/m?cut=0.3@0.9",
            "cascade:offline,local:{}/models/m?cut=0.3@0.9",
        ),
    ],
)
def test_a_folder_of_a_local_model_is_stored_as_an_absolute_path(
    here: str, written: str, stored: str
) -> None:
    assert with_absolute_folders(written) == stored.format(here)


@pytest.mark.parametrize(
    "uri",
    [
        "offline",
        "openai:models/m",
        "local:org/name",
        "local:org/name@main",
        "local:nowhere?cut=0.3",
        "local:",
        "panel:offline+openai:a",
        "cascade:local:org/name>offline@0.9",
    ],
)
def test_other_uris_stay_as_they_are(here: str, uri: str) -> None:
    assert with_absolute_folders(uri) == uri


def test_a_path_whose_full_form_could_not_be_read_again_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a+b" / "m").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a+b")
    assert with_absolute_folders("panel:local:m+offline") == "panel:local:m+offline"


def test_a_home_is_written_out(here: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", here)
    assert with_absolute_folders("local:~/models/m") == f"local:{here}/models/m"


def test_what_is_stored_is_composed_of_the_same_members(here: str) -> None:
    composed = composition(with_absolute_folders("cascade:local:models/m?cut=0.3>offline@0.8"))
    assert composed is not None
    assert composed.members == (f"local:{here}/models/m?cut=0.3", "offline")
    assert composed.threshold == 0.8


@pytest.mark.parametrize(
    ("uri", "is_here"), [("offline", True), ("local:m", True), ("openai:local:m", False)]
)
def test_which_judges_run_on_this_machine(uri: str, is_here: bool) -> None:
    assert runs_here(uri) is is_here
