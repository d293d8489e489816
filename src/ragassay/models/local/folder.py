"""The files of a local model: found, refused where they are unsafe, and hashed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from ragassay.core import EnvironmentFailure, shorten

CONFIG, TOKENIZER, TOKENIZER_CONFIG = "config.json", "tokenizer.json", "tokenizer_config.json"
SAFETENSORS, SAFETENSORS_INDEX = "model.safetensors", "model.safetensors.index.json"
GRAPHS = ("model.onnx", "onnx/model.onnx")
# Endings of files whose reading may run code of whoever wrote them, and those of other frameworks.
UNSAFE = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".h5", ".msgpack")
_BLOCK = 1 << 20


def unusable(where: str, why: str, fix: str) -> EnvironmentFailure:
    """E0413 for a local model."""
    return EnvironmentFailure(
        "E0413", "The local model cannot be used.", where=where, why=why, fix=fix
    )


@dataclass(frozen=True, slots=True)
class Weights:
    """The files of the weights; the first is the one that is opened."""

    format: Literal["onnx", "safetensors"]
    files: tuple[Path, ...]


def read_json(path: Path) -> dict[str, Any]:
    """The mapping in a JSON file of a model. Raises EnvironmentFailure E0413."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise unusable(
            str(path.parent),
            f"it has no {path.name}",
            "name the folder that the model was saved to (save_pretrained), with all its files",
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        why = f"{path.name} cannot be read: {shorten(str(error))}"
        raise unusable(str(path.parent), why, "download or save the model again") from None
    if not isinstance(content, dict):
        why = f"{path.name} is no JSON object"
        raise unusable(str(path.parent), why, "download or save the model again")
    return content


def find_weights(folder: Path, name: str | None) -> Weights:
    """The weights of a folder: the file that is named, else an ONNX graph, else safetensors.

    Raises EnvironmentFailure E0413 where there are none, or unsafe ones only.
    """
    if name is not None:
        return _named_weights(folder, name)
    for graph in GRAPHS:
        if (folder / graph).is_file():
            return _graph(folder / graph)
    if (folder / SAFETENSORS).is_file():
        return Weights("safetensors", (folder / SAFETENSORS,))
    if (folder / SAFETENSORS_INDEX).is_file():
        return _shards(folder / SAFETENSORS_INDEX)
    # Such as model_quantized.onnx, where it is the only one.
    graphs = sorted([*folder.glob("*.onnx"), *folder.glob("onnx/*.onnx")])
    if len(graphs) == 1:
        return _graph(graphs[0])
    if graphs:
        names = ", ".join(str(graph.relative_to(folder)) for graph in graphs)
        why = f"it has several graphs: {shorten(names)}"
        fix = "name one of them: file: NAME in ragassay.yaml, ?file=NAME"
        raise unusable(str(folder), why, fix)
    raise no_weights(str(folder), [path.name for path in sorted(folder.iterdir())])


def _named_weights(folder: Path, name: str) -> Weights:
    path = folder / name
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise unusable(str(folder), f"file: {name} lies outside of the folder", "name one within")
    if not path.is_file():
        raise unusable(str(folder), f"there is no {name} in it", "name a file of the folder")
    if name.endswith(".onnx"):
        return _graph(path)
    if name.endswith(".index.json"):
        return _shards(path)
    if name.endswith(".safetensors"):
        return Weights("safetensors", (path,))
    raise unusable(str(folder), f"{name} is neither ONNX nor safetensors", _CONVERT)


def _graph(path: Path) -> Weights:
    # Weights of more than 2 GB lie beside the graph.
    beside = [
        file
        for file in path.parent.iterdir()
        if file.name.startswith((f"{path.name}_data", f"{path.name}.data"))
    ]
    return Weights("onnx", (path, *sorted(beside)))


def _shards(index: Path) -> Weights:
    names = read_json(index).get("weight_map")
    if not isinstance(names, dict) or not names:
        raise unusable(str(index.parent), f"{index.name} names no files", "download it again")
    files = tuple(index.parent / str(name) for name in sorted(set(names.values())))
    for file in files:
        if file.parent != index.parent or not file.name.endswith(".safetensors"):
            raise unusable(str(index.parent), f"{index.name} names {file.name}", _CONVERT)
        if not file.is_file():
            raise unusable(str(index.parent), f"it has no {file.name}", "download it again")
    return Weights("safetensors", (index, *files))


_CONVERT = (
    "save the model as safetensors (save_pretrained of transformers does), or export it to ONNX"
    " (optimum-cli export onnx)"
)


def no_weights(where: str, files: Sequence[str]) -> EnvironmentFailure:
    """E0413 for a model with these files, none of which is loaded."""
    unsafe = [name for name in files if name.endswith(UNSAFE)]
    if unsafe:
        why = (
            f"it has {shorten(', '.join(unsafe), 80)} only, a format that is not loaded: reading it"
            " may run code of whoever wrote it"
        )
        return unusable(where, why, _CONVERT)
    return unusable(where, "it has neither model.onnx nor model.safetensors", _CONVERT)


def file_digest(path: Path) -> str:
    """SHA-256 of a file, hex; read once in a process while it does not change. Raises
    EnvironmentFailure E0413.
    """
    try:
        stat = path.stat()
        return _hash(path, stat.st_size, stat.st_mtime_ns)
    except OSError as error:
        why = f"{path.name} cannot be read: {error.strerror or error}"
        raise unusable(str(path.parent), why, "look at the file's rights and the disk") from None


@lru_cache(maxsize=64)
def _hash(path: Path, _size: int, _changed: int) -> str:
    content = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            content.update(block)
    return content.hexdigest()
