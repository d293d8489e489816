"""The folder of a local model: a path, or the cached copy of a model of the Hugging Face hub."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, NamedTuple

from ragassay.core import EnvironmentFailure, SetupError, shorten
from ragassay.models.local.folder import SAFETENSORS, SAFETENSORS_INDEX

_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+(?:@[\w./-]+)?")
# What is fetched beside the weights.
_BESIDE = ("config.json", "tokenizer*", "special_tokens_map.json", "ragassay.yaml", "ragassay.json")
INSTALL = "pip install 'ragassay[local-onnx]' (ONNX) or 'ragassay[local]' (safetensors, PyTorch)"


class Location(NamedTuple):
    """Where a model lies. hub_name: its name on the hub without the revision, "" for a folder."""

    folder: Path
    hub_name: str


def locate(name: str, *, no_network: bool, only_config: bool = False) -> Location:
    """The folder of a model that is named by its path or hub name ("ORG/NAME" or
    "ORG/NAME@REVISION"); fetched from the hub where it is not cached and `no_network` allows it.

    A path wins where a folder is there. only_config: config.json and the tokenizer, no weights.
    Raises SetupError E0414 for what is neither, E0105 without huggingface_hub, EnvironmentFailure
    E0415 where the hub does not give the model.
    """
    path = Path(name).expanduser()
    if path.is_dir():
        return Location(path, "")
    if path.is_file():
        raise _no_model(name, "it is a file; name the folder that it lies in")
    if name.startswith((".", "~", os.sep)) or not _HUB_NAME.fullmatch(name):
        raise _no_model(name, "there is no such folder, and it is no ORG/NAME of the hub")
    hub_name, _, revision = name.partition("@")
    folder = _snapshot(hub_name, revision or None, no_network=no_network, only_config=only_config)
    return Location(folder, hub_name)


def _no_model(name: str, why: str) -> SetupError:
    return SetupError(
        "E0414",
        f"There is no local model {shorten(name, 120)!r}.",
        where="--judge",
        why=why,
        fix="give the path of a folder, or a name such as cross-encoder/nli-deberta-v3-base",
    )


def _snapshot(name: str, revision: str | None, *, no_network: bool, only_config: bool) -> Path:
    hub = _hub()
    try:
        if no_network or hub.constants.HF_HUB_OFFLINE:
            return Path(hub.snapshot_download(name, revision=revision, local_files_only=True))
        patterns = list(_BESIDE)
        if not only_config:
            files = hub.HfApi().list_repo_files(name, revision=revision)
            patterns += _weight_files(files)
        return Path(hub.snapshot_download(name, revision=revision, allow_patterns=patterns))
    except Exception as error:  # its own kinds, those of its HTTP library, and OSError
        raise _not_fetched(name, no_network, error) from error


def _weight_files(files: list[str]) -> list[str]:
    """Those of the hub's files that hold the weights: one format and precision, not all."""
    for graph in ("model.onnx", "onnx/model.onnx"):
        if graph in files:
            return [name for name in files if name.startswith(graph)]
    if SAFETENSORS in files:
        return [SAFETENSORS]
    shards = [name for name in files if name.endswith(".safetensors") and "/" not in name]
    return [SAFETENSORS_INDEX, *shards] if SAFETENSORS_INDEX in files else []


def _not_fetched(name: str, no_network: bool, error: Exception) -> EnvironmentFailure:
    fix = (
        f"download it where there is a network (hf download {name}) and name its folder, or set"
        " HF_HOME to a cache that has it"
    )
    if no_network:
        fix += ", or leave --no-network out"
    return EnvironmentFailure(
        "E0415",
        f"The model {shorten(name, 80)} is not in the cache of the Hugging Face hub"
        + (", and --no-network forbids to fetch it." if no_network else ", and was not fetched."),
        where=f"local:{name}",
        why=f"{type(error).__name__}: {shorten(str(error))}",
        fix=fix,
    )


def _hub() -> Any:
    try:
        import huggingface_hub
        import huggingface_hub.constants
    except ImportError as error:
        raise SetupError(
            "E0105",
            "Names of the Hugging Face hub need huggingface_hub, which is not installed.",
            where="--judge",
            why=shorten(str(error)),
            fix=f"{INSTALL}; or give the path of a folder",
        ) from error
    return huggingface_hub
