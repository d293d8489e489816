"""RagAssay's test sets beside those of Ragas and DeepEval: the same documents, the same writer.

The writer is a script behind a server of its own (`scripted_writer`, `scripted_replies`): it has
flaws, the same share for all. Each generator runs with its defaults in an environment of its own,
which `--environments DIR` keeps. What is counted is counted here, by the same rules for all.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.parity.pairs import Peer
from benchmarks.parity.run import ELSEWHERE, QUIET, ROOT, environment
from benchmarks.testsets.corpora import SEEN, clapnq
from benchmarks.testsets.scripted_replies import ScriptedServer
from benchmarks.testsets.scripted_writer import NO_ANSWER, TOO_GENERAL, facts, plain

from ragassay.testsets.duplicates import Duplicates
from ragassay.testsets.values import Question

TITLE = "Beside Ragas and DeepEval"
LATENCY = 0.05
"""Seconds that the server takes for a reply."""

PATIENCE = 900
"""Seconds that one generator may take for one set."""

DOCUMENTS, LEAST_WORDS, LEAST_FACTS = 60, 100, 2
TYPES = {"simple": 0.6, "multi-hop compare": 0.4}
"""The types that RagAssay is asked for: those that the writer's one rule can make."""

_RAGAS = Peer(
    "ragas",
    ("ragas==0.4.3", "langchain-community==0.3.31", "rapidfuzz==3.14.6", "bpe-openai==0.1.4"),
    "ragas_driver",
)
_DEEPEVAL = Peer(
    "deepeval",
    (
        "deepeval==4.3.1",
        "chromadb==1.5.9",
        "langchain-community==0.4.2",
        "langchain-text-splitters==1.1.3",
        "tiktoken==0.14.0",
        "bpe-openai==0.1.4",
    ),
    "deepeval_driver",
)


@dataclass(frozen=True, slots=True)
class Run:
    """One generator as it is set up. peer: None for RagAssay. only: the sets that it makes."""

    name: str
    module: str
    peer: Peer | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    only: tuple[str, ...] = ()


RUNS = (
    Run("RagAssay, rules check", "ragassay_driver", None, {"types": TYPES, "judge": "offline"}),
    Run(
        "RagAssay, a model checks",
        "ragassay_driver",
        None,
        {"types": TYPES, "judge": "openai:mock-judge"},
    ),
    Run("Ragas, OpenAI", "ragas_driver", _RAGAS, {"is_async": False}),
    Run("Ragas, AsyncOpenAI", "ragas_driver", _RAGAS, {"is_async": True}, ("passages",)),
    Run("DeepEval", "deepeval_driver", _DEEPEVAL),
)

SETS = {
    "passages": f"{DOCUMENTS} passages of clapnq",
    "short": "one document of 50 words",
    "same": "ten documents that say the same",
}


def measure(options: Any) -> dict[str, Any]:
    """What each generator makes of each set of documents."""
    texts = _texts(options.data, 12 if options.quick else DOCUMENTS)
    asked = {"passages": len(texts["passages"]), "short": 5, "same": 10}
    figures: dict[str, Any] = {
        "python": platform.python_version(),
        "asked": asked,
        "words": [len(text.split()) for text in texts["passages"]],
    }
    kept = getattr(options, "environments", None)
    with tempfile.TemporaryDirectory() as folder:
        for name in SETS:
            figures[name] = {}
            for run in RUNS:
                if run.only and name not in run.only:
                    continue
                home = Path(folder) / f"{name}-{len(figures[name])}"
                _write(home / "docs", texts[name])
                made = _made(run, home, asked[name], kept or Path(folder))
                figures[name][run.name] = _counted(made, texts[name], asked[name])
    return figures


def _texts(data: Path, count: int) -> dict[str, list[str]]:
    """The documents of each set, as Markdown with a title."""
    found: dict[str, str] = {}
    for document in clapnq(data)[SEEN:]:
        text = f"# {document['title']}\n\n{document['text']}\n"
        is_fit = len(text.split()) >= LEAST_WORDS and len(facts(text)) >= LEAST_FACTS
        if is_fit:
            found.setdefault(document["title"], text)
    passages = list(found.values())[:count]
    short = " ".join(passages[0].split("\n\n", 1)[1].split()[:50])
    title = passages[0].split("\n")[0]
    return {
        "passages": passages,
        "short": [f"{title}\n\n{short}\n"],
        "same": [passages[1]] * 10,
    }


def _write(folder: Path, texts: Iterable[str]) -> None:
    folder.mkdir(parents=True)
    for number, text in enumerate(texts, 1):
        (folder / f"{number:03d}.md").write_text(text, encoding="utf-8")


def _made(run: Run, home: Path, size: int, environments: Path) -> dict[str, Any]:
    """What one generator made of the documents in a folder, and what the server saw of it."""
    python: Path | None = Path(sys.executable)
    if run.peer is not None:
        python, why = environment(run.peer, environments)
        if python is None:
            return {"rows": [], "gaps": [], "raised": f"not installed: {why}"}
    paths = f"{ROOT}{os.pathsep}{ROOT / 'src'}" if run.peer is None else str(ROOT)
    told = {**os.environ, **QUIET, "HOME": str(home), "PYTHONPATH": paths, "OPENAI_API_KEY": "none"}
    out = home / "made.json"
    with ScriptedServer(LATENCY) as server:
        task = {"folder": str(home / "docs"), "size": size, "url": server.url, **run.more}
        (home / "task.json").write_text(json.dumps(task), encoding="utf-8")
        module = f"benchmarks.testsets.drivers.{run.module}"
        command = [str(python), "-m", module, str(home / "task.json"), str(out)]
        done = subprocess.run(
            command,
            cwd=home,
            env=told,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        seen = {
            **server.stats(),
            "calls": server.calls + server.preflights,
            "embedded": server.embedded,
            "embedded_tokens": server.embedded_tokens,
            "kinds": dict(server.kinds),
        }
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        return {"rows": [], "gaps": [], "raised": ELSEWHERE.sub("...", last)[:200], **seen}
    return {**json.loads(out.read_text(encoding="utf-8")), **seen}


_KEPT = (
    "version",
    "gaps",
    "raised",
    "wall",
    "cpu",
    "calls",
    "answered_twice",
    "answers",
    "prompts",
    "input_tokens",
    "output_tokens",
    "embedded",
    "embedded_tokens",
    "kinds",
)


def _counted(made: Mapping[str, Any], texts: list[str], asked: int) -> dict[str, Any]:
    """The figures of one set."""
    rows = made["rows"]
    documents: set[str] = set()
    for row in rows:
        documents.update(row["documents"])
    questions = [plain(row["question"]) for row in rows]
    general = sum(plain(TOO_GENERAL) in question for question in questions)
    return {
        **{name: made[name] for name in _KEPT if name in made},
        "asked": asked,
        "delivered": len(rows),
        "same_words": len(questions) - len(set(questions)),
        "near": _near([row["question"] for row in rows]),
        "general": general,
        "in_evidence": sum(map(_is_in_evidence, rows)),
        "covered": len(documents),
        "documents": len(texts),
        "types": dict(Counter(row["type"] for row in rows)),
    }


def _near(questions: Iterable[str]) -> int:
    """Near duplicates of one before them, by RagAssay's own rule, of the questions alone."""
    seen = Duplicates()
    count = 0
    for number, text in enumerate(questions):
        question = Question(str(number), text, "", "simple")
        if seen.of(question):
            count += 1
        else:
            seen.take(question)
    return count


def _is_in_evidence(row: Mapping[str, Any]) -> bool:
    """Whether each part of the answer stands in the evidence, word for word."""
    evidence = f" {plain(' '.join(row['contexts'] or []))} "
    parts = str(row["answer"] or NO_ANSWER).split(" and ")
    is_whole = f" {plain(' and '.join(parts))} " in evidence
    return is_whole or all(f" {plain(part)} " in evidence for part in parts)


_HEAD = (
    "| generator | asked | delivered | missing | same words | near duplicates | too general"
    " | answer in its evidence | documents | calls | of these again | tokens in, out | vectors"
    " | wall s | CPU s | end |",
    "|---|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|",
)


def page(figures: dict[str, Any]) -> list[str]:
    """The part of the page."""
    words = sorted(figures["words"])
    versions: dict[str, None] = {}
    for name, row in figures["passages"].items():
        if row.get("version"):
            versions[f"{name.split(',')[0]} {row['version']}"] = None
    lines = [
        f"The same files for all: {len(words)} passages of clapnq, {words[0]} to {words[-1]} words"
        f" ({words[len(words) // 2]} in the middle), each of another title and none of the {SEEN}"
        " that rules were written on; one document of 50 words; ten files with one text. The"
        " same scripted model for all, over HTTP: it asks for the year, number or name of a"
        " sentence by one rule, and reads, rates and summarises by it. Of the replies with a new"
        " question 10 % ask the passage's first one again and 10 % are too general (*What does the"
        " text say about the subject?*); of those with an answer 10 % hold what stands nowhere; all"
        " by a hash of the prompt. It leaves styles and personas aside. Vectors are hashed words.",
        "",
        f"{', '.join(versions)}, Python {figures['python']}, {LATENCY * 1000:.0f} ms a reply, each"
        " in an environment of its own without a network. Ragas with its default transforms and"
        " distribution; DeepEval with its default filter, seven evolutions and expected outputs:"
        " it takes no number of questions, so it is asked for one context of each document."
        " RagAssay is asked for 60 % simple and 40 % comparing questions, the types that the one"
        " rule can write. Both peers stop without tiktoken's tables, which come from the network:"
        " they count tokens by those of bpe-openai. Ragas 0.4.3 cannot be imported beside"
        " langchain-community 0.4, and gets 0.3.31. Near duplicates are counted by RagAssay's own"
        " rule; an answer stands in its evidence word for word. Evidence is a quote in RagAssay"
        " and the whole passage in the others.",
    ]
    for name, title in SETS.items():
        lines += ["", f"### {title[0].upper()}{title[1:]}", "", *_HEAD]
        lines += [_line(run, row) for run, row in figures[name].items()]
        for run, row in figures[name].items():
            if row["gaps"]:
                lines += ["", f"{run}: {'; '.join(row['gaps'])}."]
    return [*lines, "", *_KINDS_MADE, *_kinds(figures["passages"])]


def _line(name: str, row: Mapping[str, Any]) -> str:
    """One row of a table."""
    count, missing = row["delivered"], row["asked"] - row["delivered"]
    told = f"{missing} named" if row["gaps"] else f"{missing}, not said"
    if row["raised"]:
        told = f"{missing}, by an error"
    if missing <= 0:
        told = "none" if not missing else f"none, {-missing} too many"
    cells = [
        name,
        row["asked"],
        count,
        told,
        row["same_words"],
        row["near"],
        row["general"],
        f"{row['in_evidence']} of {count}",
        f"{row['covered']} of {row['documents']}",
        row.get("calls", 0),
        row.get("answers", 0) - row.get("prompts", 0),
        f"{row.get('input_tokens', 0):,}, {row.get('output_tokens', 0):,}",
        row.get("embedded", 0),
        f"{row.get('wall', 0):.0f}",
        f"{row.get('cpu', 0):.1f}",
        row["raised"] or "well",
    ]
    return f"| {' | '.join(map(str, cells))} |"


_KINDS_MADE = ("Types that were delivered of the passages:", "")


def _kinds(rows: Mapping[str, Mapping[str, Any]]) -> list[str]:
    lines = []
    for name, row in rows.items():
        told = ", ".join(f"{kind} {count}" for kind, count in sorted(row["types"].items()))
        lines.append(f"- {name}: {told or 'none'}")
    return lines
