"""One hundred thousand chunks: time and memory of reading, planning, and the search for duplicates.

Each step is measured in a process of its own: CPU seconds, wall seconds and the highest resident
memory of the process.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

TITLE = "A hundred thousand chunks"
CHUNKS = 100_000
QUESTIONS = 10_000
STEPS = ("read", "index", "cluster", "duplicates", "make 200 questions")

_CHILD = """
import json, resource, sys, time
from pathlib import Path
from ragassay.testsets.corpus import read_corpus
step, path = sys.argv[1], sys.argv[2]
begun, cpu = time.monotonic(), time.process_time()
if step == "duplicates":
    from ragassay.testsets.duplicates import Duplicates
    from ragassay.testsets.values import Question
    seen, found = Duplicates(), 0
    for number, line in enumerate(Path(path).with_name("questions.txt").read_text().splitlines()):
        question = Question(str(number), line, str(number), "simple")
        if seen.of(question):
            found += 1
        else:
            seen.take(question)
elif step.startswith("make"):
    from ragassay.testsets.door import make_testset
    made = make_testset(path, size=200)
    found = len(made.questions)
else:
    corpus = read_corpus(path)
    found = len(corpus.passages)
    if step != "read":
        corpus.search
    if step == "cluster":
        found = len(set(corpus.topics))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"found": found, "cpu": time.process_time() - cpu,
                  "wall": time.monotonic() - begun, "MB": peak}))
"""


def measure(options: Any) -> dict[str, Any]:
    """CPU seconds, wall seconds and memory of each step."""
    figures: dict[str, Any] = {"chunks": CHUNKS, "questions": QUESTIONS}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chunks.jsonl"
        figures["megabytes"] = _write(options.data, path)
        for step in STEPS:
            command = [sys.executable, "-c", _CHILD, step, str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            figures[step] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _write(data: Path, path: Path) -> int:
    """Chunks of about 100 words, each of sentences of several abstracts of SciFact, so that words
    are as rare and as common as in real ones; and questions, one in ten nearly said before.
    """
    from benchmarks.testsets.corpora import scifact

    dice = random.Random(0)
    sentences = []
    for document in scifact(data, 5000):
        sentences += [s.strip() + "." for s in document["text"].split(". ") if len(s) > 40]
    with path.open("w", encoding="utf-8") as file:
        for number in range(CHUNKS):
            text = f"Chunk {number}. " + " ".join(dice.sample(sentences, 4))
            file.write(json.dumps({"id": f"c{number}", "text": text}) + "\n")
    asked: list[str] = []
    for number in range(QUESTIONS):
        if number % 10 == 9:
            asked.append(asked[-5].replace("What is known of", "What is known about"))
        else:
            words = dice.choice(sentences).split()[:9]
            asked.append(f"What is known of {' '.join(words)} {number}?")
    path.with_name("questions.txt").write_text("\n".join(asked), encoding="utf-8")
    return path.stat().st_size >> 20


def page(figures: dict[str, Any]) -> list[str]:
    """The part of the page."""
    lines = [
        f"A file of {figures['chunks']:,} chunks, {figures['megabytes']} MB, and"
        f" {figures['questions']:,} questions among which near duplicates are searched. Each"
        " step in a process of its own, from the file; `index` reads first, `cluster` reads and"
        " indexes.",
        "",
        "| step | found | CPU s | wall s, beside other work | highest memory, MB |",
        "|---|--:|--:|--:|--:|",
    ]
    for step in STEPS:
        row = figures[step]
        cells = f"{row['found']:,} | {row['cpu']:.0f} | {row['wall']:.0f} | {row['MB']:.0f}"
        lines.append(f"| {step} | {cells} |")
    return lines
