"""The code blocks of a Markdown page, and what they do when they are run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(
    r"^```(?P<language>\w*)[^\n]*\n(?P<code>.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Block:
    """language: "python", "bash", "text" ...; line: of its first code line, from 1."""

    language: str
    code: str
    line: int


def blocks(text: str) -> list[Block]:
    """The fenced code blocks of a page, in order."""
    return [
        Block(found["language"], found["code"], text.count("\n", 0, found.start("code")) + 1)
        for found in FENCE.finditer(text)
    ]


def steps(code: str) -> list[tuple[str, str | None]]:
    """(script, expected output) pairs of a bash block.

    Without a line that starts with "$ " the whole block is one script of which only the exit code
    counts. Otherwise each such line (with the "> " lines after it) is a script, and the lines up to
    the next one are the output it must print.
    """
    if not re.search(r"^\$ ", code, re.MULTILINE):
        return [(code, None)]
    found: list[tuple[str, str | None]] = []
    for part in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        more = next(
            (i for i, line in enumerate(lines[1:], 1) if not line.startswith("> ")), len(lines)
        )
        script = "\n".join([lines[0], *(line[2:] for line in lines[1:more])])
        found.append((script, "\n".join(lines[more:]) or None))
    return found


def matches(expected: str, printed: str) -> bool:
    """Whether the output is as the page shows it; "..." stands for any text, spaces at line ends do
    not count.
    """
    pattern = ".*".join(re.escape(tidy(part)) for part in expected.strip().split("..."))
    return re.fullmatch(pattern, tidy(printed.strip()), re.DOTALL) is not None


def tidy(text: str) -> str:
    """The text without blanks at the ends of its lines."""
    return re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)


def run(block: Block, folder: Path) -> str:
    """Run a python or bash block in `folder`; what went wrong, "" when all is as the page says."""
    environment = {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
        "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry),
        "HOME": str(folder),
        "COLUMNS": "120",
        "LANG": "C.UTF-8",
        "NO_COLOR": "1",
        "RAGASSAY_TEST_REPLIES": os.environ.get("RAGASSAY_TEST_REPLIES", ""),
    }
    for script, expected in (
        [(block.code, None)] if block.language == "python" else steps(block.code)
    ):
        command = (
            [sys.executable, "-c", script]
            if block.language == "python"
            else ["bash", "-euo", "pipefail", "-c", script]
        )
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=500
        )
        if done.returncode != 0:
            return (
                f"exit code {done.returncode}"
                f" of:\n{script}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
            )
        if expected is not None and not matches(expected, done.stdout + done.stderr):
            return (
                f"another output of:\n{script}\n{done.stdout}{done.stderr}\nexpected:\n{expected}"
            )
    return ""
