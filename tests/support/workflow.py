"""A job of GitHub Actions run step by step, as its runner does: each step a script for `bash -e`,
with the variables and files that a step has there.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ragassay

_PACKAGE = str(Path(ragassay.__file__).parents[1])
_EXPRESSION = re.compile(r"\$\{\{\s*([\w.]+)\s*\}\}")
_PROGRAMS = {
    "ragassay": f'exec "{sys.executable}" -m ragassay "$@"',
    # What the job fetches from elsewhere and tells to others.
    "pip": 'echo "pip $*" >> "$TOLD"',
    "gh": 'echo "gh $*" >> "$TOLD"',
}


@dataclass(frozen=True)
class Step:
    """What a step left. log: both streams, which the runner reads for commands."""

    name: str
    code: int
    log: str
    summary: str

    @property
    def commands(self) -> list[str]:
        """The lines that the runner obeys: two colons first, or the older form anywhere."""
        return [
            line
            for line in self.log.splitlines()
            if line.lstrip().startswith("::") or "##[" in line
        ]


@dataclass
class Job:
    """The checkout, the values of `${{ }}`, and what came of it. told: what other programs were
    called with.
    """

    folder: Path
    values: Mapping[str, str]
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.checkout = self.folder / "checkout"
        self.checkout.mkdir(parents=True)
        for name in ("bin", "temp", "home"):
            (self.folder / name).mkdir()
        for name, script in _PROGRAMS.items():
            program = self.folder / "bin" / name
            program.write_text(f"#!/bin/sh\n{script}\n")
            program.chmod(0o755)

    @property
    def failed(self) -> bool:
        """Whether a step failed."""
        return any(step.code for step in self.steps)

    @property
    def told(self) -> list[str]:
        """The calls of pip and gh, one a line."""
        file = self.folder / "told"
        return file.read_text().splitlines() if file.exists() else []

    def run(self, steps: list[dict[str, Any]]) -> None:
        """Run the steps in order. After one that failed only those run that say always()."""
        for number, step in enumerate(steps):
            if "run" in step and self._is_due(str(step.get("if", ""))):
                self.steps.append(self._step(number, step))

    def _is_due(self, condition: str) -> bool:
        if "hashFiles('comment.md')" in condition and not (self.checkout / "comment.md").exists():
            return False
        return "always()" in condition or not self.failed

    def _step(self, number: int, step: dict[str, Any]) -> Step:
        script = self.folder / "temp" / f"{number}.sh"
        script.write_text(self._filled(step["run"]))
        summary = self.folder / "temp" / f"step_summary_{number}"
        summary.touch()
        variables = {name: self._filled(text) for name, text in step.get("env", {}).items()}
        done = subprocess.run(
            ["bash", "-e", str(script)],
            cwd=self.checkout,
            env=self._environment(summary) | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=500,
            check=False,
        )
        name = step.get("name", step["run"])
        return Step(name, done.returncode, done.stdout, summary.read_text(encoding="utf-8"))

    def _filled(self, text: str) -> str:
        return _EXPRESSION.sub(lambda found: self.values[found.group(1)], text)

    def _environment(self, summary: Path) -> dict[str, str]:
        """The variables of a step, and no others: not even those of these tests."""
        return {
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKSPACE": str(self.checkout),
            "GITHUB_STEP_SUMMARY": str(summary),
            "GITHUB_OUTPUT": str(self.folder / "temp" / "output"),
            "GITHUB_ENV": str(self.folder / "temp" / "env"),
            "GITHUB_EVENT_NAME": "pull_request",
            "GITHUB_REPOSITORY": "team/rag",
            "GITHUB_RUN_ID": "17",
            "GITHUB_JOB": "evaluate",
            "RUNNER_TEMP": str(self.folder / "temp"),
            "RUNNER_OS": "Linux",
            "HOME": str(self.folder / "home"),
            "LANG": "C.UTF-8",
            "PATH": os.pathsep.join([str(self.folder / "bin"), "/usr/bin", "/bin"]),
            "PYTHONPATH": _PACKAGE,
            "TOLD": str(self.folder / "told"),
        }
