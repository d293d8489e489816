"""Questions labelled by hand: is the answer in the evidence, does the question stand alone?

labels.jsonl has 951 questions that the offline writer made of paragraphs that no rule had been
written on, each read with its evidence and labelled as a careful person would: 200, 200 and 120 of
three rounds of its first rules, and, after these were written anew, 171, 128 and 132 of three more.
The rules were mended after each round; each round has other paragraphs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.testsets.corpora import hotpot

from ragassay.scoring import clustered_rate_interval
from ragassay.testsets.corpus import Corpus, read_corpus
from ragassay.testsets.values import Evidence, Question, Turn

TITLE = "Labelled by hand"
ROUNDS = (1, 2, 3, 4, 5, 6)
_FILE = Path(__file__).with_name("labels.jsonl")


def labelled() -> list[dict[str, Any]]:
    """The rows of the file."""
    return [json.loads(line) for line in _FILE.read_text(encoding="utf-8").splitlines()]


def corpus_of(data: Path) -> Corpus:
    """The paragraphs that the questions were made of, by title."""
    documents: dict[str, dict[str, str]] = {}
    for split in ("train", "dev", "test"):
        for document in hotpot(data, split, 10**6):
            documents.setdefault(document["title"], {**document, "id": document["title"]})
    return read_corpus(list(documents.values()))


def question_of(row: dict[str, Any], corpus: Corpus) -> Question | None:
    """The question of a row with its quotes; None where its paragraphs are not there."""
    evidence = []
    for title, start, end in row["evidence"]:
        if title not in corpus.numbers:
            return None
        quote = corpus.text_of(title)[start:end]
        evidence.append(Evidence(title, start, end, quote))
    return Question(
        id=row["question"],
        question=row["question"],
        reference=row["reference"],
        type=row["type"],
        evidence=tuple(evidence),
        answerable=row["answer_right"] is not None,
        cluster=row["cluster"],
        steps=tuple(row["steps"]),
        history=tuple(Turn(*turn) for turn in row["history"]),
    )


def measure(_options: Any) -> dict[str, Any]:
    """Rates by round."""
    figures: dict[str, Any] = {}
    rows = labelled()
    for number in ROUNDS:
        chosen = [row for row in rows if row["round"] == number]
        figures[f"round {number}"] = {
            "answer right": _rate(chosen, "answer_right"),
            "stands alone": _rate(chosen, "stands_alone"),
            "unanswerable is answered": _rate(chosen, "answered_elsewhere"),
        }
    return figures


def _rate(rows: list[dict[str, Any]], name: str) -> list[float]:
    """Share, interval and rows."""
    clusters: dict[str, list[int]] = {}
    for row in rows:
        if row[name] is not None:
            counts = clusters.setdefault(row["cluster"], [0, 0])
            counts[0] += bool(row[name])
            counts[1] += 1
    good, total = (sum(counts[part] for counts in clusters.values()) for part in (0, 1))
    interval = clustered_rate_interval((a, b) for a, b in clusters.values())
    assert interval is not None
    return [good / total, interval.low, interval.high, total]


def page(figures: dict[str, Any]) -> list[str]:
    """The part of the page."""
    lines = [
        "951 questions of the offline writer, from paragraphs of hotpotqa_context that no rule had"
        " been written on, each read with its evidence. Asked: answer in the evidence at least .98,"
        " at most 2 % that cannot stand alone, at most 1 % of the unanswerable answered after all.",
        "",
        "| round | figure | value [95 %] | questions |",
        "|---|---|---|--:|",
    ]
    for name in (f"round {number}" for number in ROUNDS):
        for figure, (value, low, high, rows) in figures[name].items():
            lines.append(f"| {name} | {figure} | {value:.3f} [{low:.3f}, {high:.3f}] | {rows} |")
    lines += [
        "",
        "Rounds 1 to 3 are of the first rules, 4 to 6 of those that took their place. The rules"
        " were mended after each round. Before round 6 another draw of questions of its paragraphs"
        " was looked at (1 of 116 answers wrong, 1 of 132 without sense), and who is a person and"
        " what is a place was mended; the round is the draw after it. An unanswerable question was"
        " searched for in all passages by its words. One of round 2 asks what a roller coaster was"
        " called before, where a passage names the one that it replaced.",
    ]
    return lines
