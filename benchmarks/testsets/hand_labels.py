"""Questions labelled by hand: is the answer in the evidence, does the question stand alone?

labels.jsonl has 520 questions that the offline writer made of paragraphs that no rule had been
written on: 200 of a first round, and, after the rules were mended each time, 200 and 120 of other
paragraphs in two more. Each was read with its evidence, and labelled as a careful person would. The
rules were mended once more after the third round, so what the gates of today do is also counted on
these questions: how many of the bad ones they still let through, and how many good ones they keep.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.testsets.corpora import hotpot

from ragassay.scoring import clustered_rate_interval
from ragassay.testsets.corpus import Corpus, read_corpus
from ragassay.testsets.gates.run import failed, rule_verdicts
from ragassay.testsets.values import Evidence, Question, Turn

TITLE = "Labelled by hand"
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


def measure(options: Any) -> dict[str, Any]:
    """Rates by round, and what today's gates do with the good and the bad ones."""
    figures: dict[str, Any] = {}
    corpus = corpus_of(options.data)
    rows = labelled()
    for number in (1, 2, 3):
        chosen = [row for row in rows if row["round"] == number]
        figures[f"round {number}"] = {
            "answer right": _rate(chosen, "answer_right"),
            "stands alone": _rate(chosen, "stands_alone"),
            "unanswerable is answered": _rate(chosen, "answered_elsewhere"),
        }
    kept = {"good": [0, 0], "bad": [0, 0]}
    for row in rows:
        question = question_of(row, corpus)
        if question is None:
            continue
        is_good = row["stands_alone"] and row["answer_right"] is not False
        counts = kept["good" if is_good else "bad"]
        counts[0] += failed(rule_verdicts(question, corpus)) is None
        counts[1] += 1
    figures["gates of today"] = kept
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
        "520 questions of the offline writer, from paragraphs of hotpotqa_context that no rule had"
        " been written on, each read with its evidence. Asked: answer in the evidence at least .98,"
        " at most 2 % that cannot stand alone, at most 1 % of the unanswerable answered after all.",
        "",
        "| round | figure | value [95 %] | questions |",
        "|---|---|---|--:|",
    ]
    for name in ("round 1", "round 2", "round 3"):
        for figure, (value, low, high, rows) in figures[name].items():
            lines.append(f"| {name} | {figure} | {value:.3f} [{low:.3f}, {high:.3f}] | {rows} |")
    good, bad = figures["gates of today"]["good"], figures["gates of today"]["bad"]
    lines += [
        "",
        "Between the rounds the rules were mended, and once more after the third; what was mended"
        " last was not labelled again. One answered question of round 2 asks what a roller coaster"
        " was called before, where a passage names the one that it replaced. All had passed"
        " the gates when they were made; those of today alone, without the rules by which the"
        f" writer passes over a sentence, keep {good[0]} of {good[1]} good questions and let"
        f" {bad[0]} of {bad[1]} bad ones through.",
    ]
    return lines
