"""A benchmark that is stopped by Ctrl-C: what it prints, what it raises, and what it keeps."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from ragassay.testing import ServerProcess

ROWS = 60
STOPPED = "Stopped before all rows were judged: the same command goes on where it was"

# What a program of the user's own does: it names the rows, the server and the store.
PROGRAM = """
import sys
from ragassay.core import Interrupted
from ragassay.trust.measure import benchmark

labels, url, store = sys.argv[1:]
try:
    benchmark(labels, "openai:m", metric="chunk_relevance", base_url=url, store=store)
except Interrupted as error:
    print(error)
"""


def write_labels(path: Path) -> Path:
    """Labelled rows no two of which ask anything alike."""
    lines = []
    for number in range(ROWS):
        row = {
            "id": f"r{number}",
            "question": "When was the bridge opened?",
            "contexts": [f"The bridge was opened in 1932. Note {number}."],
            "response": "In 1932.",
            "label": number % 2,
        }
        lines.append(json.dumps(row) + "\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path


def stop_by_ctrl_c(command: list[str], server: ServerProcess) -> subprocess.CompletedProcess[str]:
    """Run the command, press Ctrl-C once some rows are judged, and wait for its end."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OPENAI_API_KEY": "not-a-key"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    deadline = time.monotonic() + 300
    while server.stats()["answers"] < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def test_ctrl_c_ends_the_command_with_130_and_one_line_and_keeps_the_answers(
    tmp_path: Path,
) -> None:
    labels = write_labels(tmp_path / "rows.jsonl")
    with ServerProcess(latency=0.5) as server:
        command = [
            *(sys.executable, "-m", "ragassay", "benchmark", str(labels)),
            *("--judge", "openai:m", "--metric", "chunk_relevance", "--base-url", server.url),
            *("--draws", "100", "--store", str(tmp_path / "s.db")),
        ]
        stopped = stop_by_ctrl_c(command, server)
        assert (stopped.returncode, stopped.stdout) == (130, "")
        assert stopped.stderr.splitlines() == [
            "looks like RagAssay rows",
            "read id, question, contexts, response, label by their own names",
            f"sent to {server.url.split('/')[2]}: question, contexts",
            *(line for line in stopped.stderr.splitlines() if line.startswith("about 60 calls ")),
            "Stopping: the calls in flight are finished and kept. Ctrl-C again ends at once.",
            STOPPED,
        ]
        again = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert again.returncode == 0, again.stderr
        books = server.stats()
        assert (books["prompts_answered"], books["answered_twice"]) == (ROWS, 0)


def test_ctrl_c_in_a_program_raises_interrupted_and_no_keyboard_interrupt(tmp_path: Path) -> None:
    labels = write_labels(tmp_path / "rows.jsonl")
    with ServerProcess(latency=0.5) as server:
        program = [sys.executable, "-c", PROGRAM, str(labels), server.url, str(tmp_path / "s.db")]
        stopped = stop_by_ctrl_c(program, server)
    assert stopped.returncode == 0, stopped.stderr
    assert stopped.stdout == f"{STOPPED}\n"
