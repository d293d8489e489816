"""The command as a user types it in a folder of their own, and what it prints there."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import ragassay

SCREEN = 40
"""Lines that a command may print: what a reader takes in at once."""

_PATHS = os.pathsep.join(
    [str(Path(__file__).parent / "startup"), str(Path(ragassay.__file__).parents[1])]
)
"""Where the command finds the package: where the tests found it, whatever else is installed. And
the memory of the offline model's replies.
"""

_DIFFERS_BY_RUN = (
    (re.compile(r"\b\d{8}-\d{6}-[0-9a-f]{6}\b"), "RUN"),
    (re.compile(r"\b\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}\+00:00)?"), "WHEN"),
    (re.compile(r"\b\d+\.\d+ s in all"), "SECONDS in all"),
    (re.compile(r"http://127\.0\.0\.1:\d+/v1"), "SERVER"),
    (re.compile(r"\bfingerprint [0-9a-f]{12}\b"), "fingerprint HASH"),
)


@dataclass(frozen=True)
class Printed:
    """What one command printed: `out` on standard output, `err` on standard error, as they came."""

    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """Standard output by line, with RUN, WHEN, SECONDS, SERVER and HASH for what differs from
        run to run, and without the spaces that fill a table.
        """
        return normalised(self.out)

    @property
    def messages(self) -> list[str]:
        """Standard error likewise."""
        return normalised(self.err)

    def block(self, heading: str) -> list[str]:
        """The lines from the one that begins with `heading` up to the next empty line."""
        start = next(n for n, line in enumerate(self.lines) if line.startswith(heading))
        end = next((n for n in range(start, len(self.lines)) if not self.lines[n]), None)
        return self.lines[start:end]

    def command(self, start: str) -> str:
        """The printed command that begins so, to be typed as it stands."""
        return next(
            line.strip() for line in self.out.splitlines() if line.strip().startswith(start)
        )


class Shell:
    """A shell in one folder: it runs the command, and checks the code that it leaves with."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, line: str, *, code: int = 0, at_most: int = SCREEN) -> Printed:
        """Run a line that begins with `ragassay`; it may print so many lines on standard output."""
        program, *words = shlex.split(line)
        assert program == "ragassay"
        done = subprocess.run(
            [sys.executable, "-m", "ragassay", *words],
            cwd=self.folder,
            capture_output=True,
            encoding="utf-8",
            timeout=500,
            env={**os.environ, "COLUMNS": "100", "PYTHONPATH": _PATHS},
        )
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        assert "Traceback" not in done.stdout + done.stderr
        assert done.stdout.count("\n") <= at_most, done.stdout
        return Printed(done.stdout, done.stderr)

    def write(self, name: str, text: str) -> Path:
        """A file of the user's in the folder."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def read(self, name: str) -> str:
        """A file that the command wrote in the folder."""
        return (self.folder / name).read_text(encoding="utf-8")


def normalised(text: str) -> list[str]:
    """The text by line, with names for what differs from run to run."""
    for pattern, name in _DIFFERS_BY_RUN:
        text = pattern.sub(name, text)
    return [line.rstrip() for line in text.splitlines()]
