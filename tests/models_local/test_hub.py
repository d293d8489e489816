"""Models by their name on the hub: from its cache, over HTTP, and what is said without either."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ragassay.core import EnvironmentFailure, MatchCall, RagAssayError, SetupError
from ragassay.models.local import LocalModel
from support.local_models import classifier
from support.model_hub import COMMIT, ModelHub, cache_model, model_hub

CALL = MatchCall("support", "The tower is old.", ("The tower is in Paris.",))
# e^4 / (e^4 + e^1), as in test_local_model.py
PROBABILITY = 0.9526


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that HF_HOME names; the library reads the variable when it is imported."""
    import huggingface_hub.constants as constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "home" / "hub"))
    return tmp_path / "home"


def refused(name: str, **options: bool) -> RagAssayError:
    with pytest.raises((SetupError, EnvironmentFailure)) as caught:
        _ = LocalModel(name, **options).version
    return caught.value


@pytest.mark.parametrize("name", ["org/m", "org/m@main", f"org/m@{COMMIT}"])
def test_a_cached_model_is_used_without_the_network(home: Path, tmp_path: Path, name: str) -> None:
    folder = classifier(tmp_path / "m")
    snapshot = cache_model(home, "org/m", folder)
    model = LocalModel(name, no_network=True)
    assert model.parts.folder == snapshot
    assert model.score([CALL])[0].probability == PROBABILITY
    # The same files in a folder are the same judge.
    assert model.version == LocalModel(str(folder)).version


def test_a_model_that_is_not_cached_is_an_error_without_the_network(home: Path) -> None:
    error = refused("org/missing", no_network=True)
    assert (error.code, error.exit_code) == ("E0415", 5)
    assert "hf download org/missing" in error.fix


def test_another_revision_than_the_cached_one_is_not_taken(home: Path, tmp_path: Path) -> None:
    cache_model(home, "org/m", classifier(tmp_path / "m"))
    assert refused("org/m@v2", no_network=True).code == "E0415"


def test_a_cached_model_that_lacks_a_file_says_which(home: Path, tmp_path: Path) -> None:
    snapshot = cache_model(home, "org/m", classifier(tmp_path / "m"))
    (snapshot / "model.onnx").unlink()
    error = refused("org/m", no_network=True)
    assert (error.code, "model.onnx" in error.why) == ("E0413", True)


def test_the_base_of_a_model_may_be_a_name_of_the_hub(home: Path, tmp_path: Path) -> None:
    folder = classifier(tmp_path / "m")
    base = classifier(tmp_path / "base")
    cache_model(home, "org/base", base)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    model = LocalModel(f"{folder}?base=org/base", no_network=True)
    assert model.score([CALL])[0].probability == PROBABILITY


def test_names_without_the_library_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    error = refused("org/m")
    assert error.code == "E0105"
    assert "pip install 'ragassay[local-onnx]'" in error.fix


def ask(hub: ModelHub, home: Path, name: str) -> str:
    """What a process says that asks for the model's version, with this hub and cache."""
    code = (
        "import sys\n"
        "from ragassay.core import RagAssayError\n"
        "from ragassay.models.local import LocalModel\n"
        "try: print(LocalModel(sys.argv[1]).version)\n"
        "except RagAssayError as error: print(error.code, error.why)\n"
    )
    environment = {**os.environ, "HF_ENDPOINT": hub.url, "HF_HOME": str(home)}
    ended = subprocess.run(
        [sys.executable, "-c", code, name],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=500,
    )
    return ended.stdout.strip()


@pytest.mark.slow
def test_a_model_is_fetched_once_and_only_what_it_takes(tmp_path: Path) -> None:
    folder = classifier(tmp_path / "m")
    for name in ("pytorch_model.bin", "model.safetensors", "README.md", "tf_model.h5"):
        (folder / name).write_bytes(b"not needed")
    version = LocalModel(str(folder)).version
    with model_hub(m=folder) as hub:
        assert ask(hub, tmp_path / "home", "org/m") == version
        expected = ["config.json", "model.onnx", "tokenizer.json", "tokenizer_config.json"]
        assert sorted(hub.fetched) == expected
        hub.fetched.clear()
        assert ask(hub, tmp_path / "home", "org/m") == version
        assert hub.fetched == []


@pytest.mark.slow
def test_what_the_hub_cannot_give_is_said(tmp_path: Path) -> None:
    pickled = classifier(tmp_path / "m")
    (pickled / "model.onnx").rename(pickled / "pytorch_model.bin")
    with model_hub(pickled=pickled) as hub:
        assert ask(hub, tmp_path / "home", "org/missing").startswith("E0415 RepositoryNotFound")
        said = ask(hub, tmp_path / "home", "org/pickled")
        assert said.startswith("E0413 it has pytorch_model.bin only")
        assert hub.fetched == []
    assert ask(hub, tmp_path / "home", "org/pickled").startswith("E0415 ")  # nothing listens now
