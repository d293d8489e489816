"""A memory of the offline model's replies for the processes that tests start.

The same example rows are judged by dozens of tests, most of them in processes of their own, and
each would load the weights and run the network anew. With RAGASSAY_TEST_REPLIES set to a folder,
the first process that asks a call keeps the reply there, and the others read it. The replies are
the model's own: nothing is invented, and what the model says is tested without this memory.

Python imports a module of this name at its start where its folder is on PYTHONPATH.
"""

from __future__ import annotations

import hashlib
import importlib.abc
import importlib.machinery
import os
import pickle
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

VARIABLE = "RAGASSAY_TEST_REPLIES"
MODULE = "ragassay.models.offline.engine"


class RememberingEngine:
    """An engine that loads the real one for the first call that no process has asked yet."""

    def __init__(self, load: Any, folder: Path, replies: Path) -> None:
        self._load = load
        self._folder = folder
        self._replies = replies

    def answer(self, call: Any) -> Any:
        """The reply to a call, from the memory or from the model."""
        content = pickle.dumps(
            (str(self._folder), call.task, call.text, call.passages, call.question)
        )
        path = self._replies / hashlib.sha256(content).hexdigest()
        try:
            return pickle.loads(path.read_bytes())
        except OSError:
            reply = self._load(self._folder).answer(call)
        # Written whole and renamed, since other processes read meanwhile and some are killed.
        # Two threads may ask the same call at once, each with a file of its own.
        part = path.with_suffix(f".{uuid.uuid4().hex}")
        part.write_bytes(pickle.dumps(reply))
        part.replace(path)
        return reply

    def __getattr__(self, name: str) -> Any:
        return getattr(self._load(self._folder), name)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the engine's module as ever, and puts the memory in front of it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != MODULE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def run_and_patch(module: ModuleType) -> None:
                run(module)
                remember(module)

            spec.loader.exec_module = run_and_patch  # type: ignore[method-assign]
        return spec


def remember(module: ModuleType) -> None:
    """Have the module's shared engine ask the memory first, while the variable is set."""
    load = module.Engine.shared

    def shared(folder: Path) -> Any:
        replies = os.environ.get(VARIABLE)
        return load(folder) if not replies else RememberingEngine(load, folder, Path(replies))

    module.Engine.shared = staticmethod(shared)


def install() -> None:
    """Watch for the engine's import, once."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


if os.environ.get(VARIABLE):
    install()
