"""A user's suite in a folder of its own, run by pytest as a process that finds the plugin by its
entry point, as an installed package has it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import ragassay

_PACKAGE = Path(ragassay.__file__).parents[1]
_PROJECT = Path(__file__).parents[2] / "pyproject.toml"


_OTHERS = (
    "schemathesis",
    "hypothesispytest",
    "llmock",
    "anyio",
    "rerunfailures",
    "timeout",
)
"""Plugins of the environment of these tests, each of which costs every process of a session time;
the first warns where collecting fails.
"""


@dataclass(frozen=True)
class Ran:
    """What a run of pytest left: its exit code, and what it printed."""

    code: int
    out: str

    @property
    def last(self) -> str:
        """The line with the counts, without the time."""
        return self.out.strip().splitlines()[-1].rpartition(" in ")[0].strip("= ")

    def outcome(self, test: str) -> str:
        """The word that -v prints for a test."""
        lines = [line for line in self.out.splitlines() if f"::{test} " in line]
        return lines[0].split()[1]


class Suite:
    """A folder with tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "suite"
        self.folder.mkdir()
        self._metadata = folder / "metadata"
        _write_metadata(self._metadata)

    def write(self, name: str, text: str) -> None:
        """A file of the suite."""
        (self.folder / name).write_text(text, encoding="utf-8")

    def __call__(self, *options: str, **variables: str) -> Ran:
        """Run pytest with these options; variables are added to the environment."""
        paths = [str(_PACKAGE), str(self._metadata), os.environ.get("PYTHONPATH", "")]
        command = [sys.executable, "-m", "pytest"]
        for name in _OTHERS:
            command += ["-p", f"no:{name}"]
        if "--lf" not in options and "--keep" not in options:
            command += ["-p", "no:cacheprovider"]
        done = subprocess.run(
            [*command, *(option for option in options if option != "--keep")],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=500,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "100", **variables},
        )
        assert "INTERNALERROR" not in done.stdout, done.stdout
        return Ran(done.returncode, done.stdout)


def _write_metadata(folder: Path) -> None:
    project = tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]
    info = folder / "ragassay-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ragassay\nVersion: 0.1.0\n")
    (info / "RECORD").write_text("")
    lines = ["[pytest11]"]
    lines += [f"{name} = {value}" for name, value in project["entry-points"]["pytest11"].items()]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
