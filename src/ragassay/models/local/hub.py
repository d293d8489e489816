"""The folder of a local model: a path, or the cached copy of a model of the Hugging Face hub."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, NamedTuple

from ragassay.core import EnvironmentFailure, SetupError, shorten
from ragassay.models.local.folder import (
    CONFIG,
    GRAPHS,
    SAFETENSORS,
    SAFETENSORS_INDEX,
    TOKENIZER,
    no_weights,
)

_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+(?:@[\w./-]+)?")
# What is fetched beside the weights.
_BESIDE = (
    "config.json",
    "tokenizer*",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab*",
    "merges.txt",
    "*.model",
    "ragassay.yaml",
    "ragassay.json",
)
INSTALL = "pip install 'ragassay[local-onnx]' (ONNX) or 'ragassay[local]' (safetensors, PyTorch)"


class Location(NamedTuple):
    """Where a model lies. hub_name: its name on the hub without the revision, "" for a folder."""

    folder: Path
    hub_name: str


def locate(
    name: str, *, no_network: bool, file: str | None = None, only_config: bool = False
) -> Location:
    """The folder of a model that is named by its path or hub name ("ORG/NAME" or
    "ORG/NAME@REVISION"); fetched from the hub where it is not cached and `no_network` allows it.

    A path wins where a folder is there. file: the weights, where they are chosen by hand.
    only_config: config.json and the tokenizer, no weights. Raises SetupError E0414 for what is
    neither, E0105 without huggingface_hub, EnvironmentFailure E0415 where the hub does not give the
    model, E0413 where it has no weights that are loaded.
    """
    if not name.strip():
        raise _no_model(name, "the name is missing")
    path = Path(os.path.expanduser(name))
    if path.is_dir():
        return Location(path, "")
    if path.is_file():
        raise _no_model(name, "it is a file; name the folder that it lies in")
    if name.startswith((".", "~", os.sep)) or not _HUB_NAME.fullmatch(name):
        raise _no_model(name, "there is no such folder, and it is no ORG/NAME of the hub")
    hub_name, _, revision = name.partition("@")
    wanted = _Wanted(hub_name, revision or None, file, only_config)
    return Location(_snapshot(wanted, no_network), hub_name)


class _Wanted(NamedTuple):
    """What is asked of the hub."""

    name: str
    revision: str | None
    file: str | None
    only_config: bool

    def is_in(self, folder: Path) -> bool:
        """Whether the folder has all of it."""
        if self.only_config:
            return (folder / TOKENIZER).is_file()
        names = (self.file,) if self.file else (*GRAPHS, SAFETENSORS, SAFETENSORS_INDEX)
        return any((folder / name).is_file() for name in names)


def _no_model(name: str, why: str) -> SetupError:
    return SetupError(
        "E0414",
        f"There is no local model {shorten(name, 120)!r}.",
        where="--judge",
        why=why,
        fix="give the path of a folder, or a name such as cross-encoder/nli-deberta-v3-base",
    )


def _snapshot(wanted: _Wanted, no_network: bool) -> Path:
    """The cached copy where it is complete, so that the hub is asked once and a run does not depend
    on it; else what the hub gives.
    """
    hub = _hub()
    no_network = no_network or hub.constants.HF_HUB_OFFLINE
    config = hub.try_to_load_from_cache(wanted.name, CONFIG, revision=wanted.revision)
    cached = Path(config).parent if isinstance(config, str) else None
    if cached is not None and (no_network or wanted.is_in(cached)):
        return cached
    if no_network:
        raise _not_fetched(wanted.name, "", "no network is allowed")
    try:
        patterns = [*_BESIDE, *_weights_of(wanted, hub)]
        return Path(
            hub.snapshot_download(wanted.name, revision=wanted.revision, allow_patterns=patterns)
        )
    except EnvironmentFailure:
        raise
    except Exception as error:  # its own kinds, those of its HTTP library, and OSError
        why = f"{type(error).__name__}: {shorten(str(error))}"
        raise _not_fetched(wanted.name, ", and was not fetched", why) from error


def _weights_of(wanted: _Wanted, hub: Any) -> list[str]:
    """The hub's files that hold the weights: one format and precision, not all."""
    if wanted.only_config:
        return []
    siblings = hub.HfApi().model_info(wanted.name, revision=wanted.revision).siblings
    files = [str(each.rfilename) for each in siblings or ()]
    for graph in (wanted.file, *GRAPHS) if wanted.file else GRAPHS:
        if graph in files:
            return [name for name in files if name.startswith(str(graph))]
    if SAFETENSORS in files:
        return [SAFETENSORS]
    if SAFETENSORS_INDEX in files:
        shards = [name for name in files if name.endswith(".safetensors") and "/" not in name]
        return [SAFETENSORS_INDEX, *shards]
    raise no_weights(f"local:{wanted.name}", files)


def _not_fetched(name: str, what: str, why: str) -> EnvironmentFailure:
    return EnvironmentFailure(
        "E0415",
        f"{shorten(name, 80)} is no folder here and no model in the cache of the Hugging Face"
        f" hub{what}.",
        where=f"local:{name}",
        why=why,
        fix=(
            f"download it where there is a network (hf download {name}) and name its folder, or"
            " set HF_HOME to a cache that has it"
        ),
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
