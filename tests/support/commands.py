"""The command, run in this process: as fast as its work, with the output and exit code it has.

Starting Python and importing what a command needs takes longer than most commands. Tests that kill
a command or pipe its output start processes; so do the walks and the commands of the documentation.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from ragassay.cli.app import run


def run_in_process(
    folder: Path, *arguments: object, environment: Mapping[str, str]
) -> CompletedProcess[str]:
    """What `ragassay ARGUMENTS` prints and leaves with in this folder, under these variables."""
    command = ["ragassay", *map(str, arguments)]
    out, err = _stream(), _stream()
    with (
        _process_state(folder, command, environment),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        run()
    code = ended.value.code
    assert isinstance(code, int)
    return CompletedProcess(command, code, _text(out), _text(err))


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def _text(stream: io.TextIOWrapper) -> str:
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()


@contextlib.contextmanager
def _process_state(
    folder: Path, command: list[str], environment: Mapping[str, str]
) -> Iterator[None]:
    """The folder, arguments and variables of a process of its own, taken back afterwards."""
    arguments = sys.argv
    variables = dict(os.environ)
    modules_path = list(sys.path)
    current = Path.cwd()
    os.chdir(folder)
    sys.argv = command
    os.environ.update(environment)
    try:
        yield
    finally:
        os.chdir(current)
        sys.argv = arguments
        sys.path[:] = modules_path
        os.environ.clear()
        os.environ.update(variables)
