"""How a driver runs a generator: it reads a task, reaches this machine alone, and writes JSON.

A driver runs in the environment of one generator. What is returned, and what is raised, is what a
user would see, so it is kept as it comes.
"""

# mypy: disable-error-code="import-not-found,import-untyped"
from __future__ import annotations

import json
import logging
import random
import re
import resource
import socket
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

Task = dict[str, Any]
"""folder: of the documents; size: questions asked for; url: of the model; more by generator."""

Row = dict[str, Any]
"""question, answer, contexts (the evidence that is named), documents, type."""

Make = Callable[[Task], tuple[list[Row], list[str]]]
"""Makes the rows, and says what it told of those that are missing."""

_PATH = re.compile(r"\S*[/\\]\S*")


def seal() -> None:
    """Leave no way to another machine."""
    connect, look_up = socket.socket.connect, socket.getaddrinfo

    def connect_here(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            _refuse(address[0])
        connect(self, address)

    def look_up_here(host: Any, *more: Any, **named: Any) -> Any:
        _refuse(host)
        return look_up(host, *more, **named)

    socket.socket.connect = connect_here  # type: ignore[method-assign,assignment]
    socket.getaddrinfo = look_up_here


def _refuse(host: Any) -> None:
    name = host.decode() if isinstance(host, bytes) else str(host)
    if name not in ("127.0.0.1", "::1", "localhost"):
        raise ConnectionError(f"no network here ({name})")


def local_tokens() -> None:
    """Count tokens by the tables of bpe-openai: tiktoken fetches its own from the network, and both
    peers stop without them.
    """
    import bpe_openai
    import tiktoken

    encoding = bpe_openai.get_encoding("o200k_base")

    class Local:
        def encode(self, text: str, **_: Any) -> list[int]:
            return list(encoding.encode(text))

        def decode(self, tokens: list[int]) -> str:
            return str(encoding.decode(tokens))

    tiktoken.get_encoding = lambda _: Local()
    tiktoken.encoding_for_model = lambda _: Local()


def documents(task: Task) -> list[Path]:
    """The files of a task, in order."""
    return sorted(Path(task["folder"]).glob("*.md"))


def run(package: str, make: Make) -> None:
    """Make what the task on the command line asks for, and write what came of it."""
    task: Task = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    seal()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    random.seed(0)
    rows: list[Row] = []
    gaps: list[str] = []
    raised = ""
    begun, cpu = time.monotonic(), _cpu()
    try:
        rows, gaps = make(task)
    except Exception as error:  # whatever a generator raises is its answer
        told = _PATH.sub("...", " ".join(str(error).split()))
        raised = f"{type(error).__name__}: {told[:160]}"
    result = {
        "version": version(package),
        "rows": rows,
        "gaps": gaps,
        "raised": raised,
        "wall": time.monotonic() - begun,
        "cpu": _cpu() - cpu,
    }
    Path(sys.argv[2]).write_text(json.dumps(result), encoding="utf-8")


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
