"""Plain overlap with the gold answers as a stand-in for a person's "this answer is right".

    python benchmarks/answer_overlap/run.py [--data ../shared/data]

All rows of evouna (five systems on Natural Questions and TriviaQA) and openqa_eval (twelve systems
on Natural Questions): nothing is fitted, so no split is held back. Verdicts: gold-token recall >=
0.5 (also with SQuAD's own normalisation, which knows ASCII punctuation only, as the published
figures have it), token F1 >= 0.5, exact match (each the best over the gold answers), and the judges
recorded in openqa_eval on the same rows. Cohen's kappa with the human label; 95 % intervals from a
bootstrap over questions.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import re
import string
import sys
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
RESULTS = ROOT / "benchmarks/results"

from ragassay.core import Request, Sample
from ragassay.judges import declines
from ragassay.judges.offline.word_overlap import SAID, calls_of, shares_of, wrong_fact
from ragassay.metrics.graph.statements import statements_of
from ragassay.models import offline
from ragassay.models.offline.engine import Engine
from ragassay.scoring import best_of, exact_match, gold_token_recall, token_f1

SEED, RESAMPLES, MARK = 20261121, 2000, 0.5
EXPECTED = {"evouna NQ": 0.71, "evouna TQ": 0.76}
_ASCII_MARKS = str.maketrans("", "", string.punctuation)


def squad_recall(response: str, gold: list[str]) -> float | None:
    """Gold-token recall as SQuAD's evaluation cuts tokens; None when no gold answer holds one."""

    def cut(text: str) -> Counter[str]:
        return Counter(re.sub(r"\b(a|an|the)\b", " ", text.lower().translate(_ASCII_MARKS)).split())

    ours, right = cut(response), [cut(answer) for answer in gold]
    return max(
        ((ours & answer).total() / answer.total() for answer in right if answer), default=None
    )


@cache
def judged_offline(response: str, reference: str, question: str) -> float | None:
    """Whether the offline judge of `correctness` calls a response right: 1 or 0; None where the
    reference holds no word.
    """
    statements = statements_of(Sample("row", reference=reference))
    if not shares_of(response, statements):
        return None
    if declines(response):
        return 0.0
    inputs: dict[str, str | tuple[str, ...]] = {
        "question": question,
        "response": response,
        "statements": statements,
    }
    calls = calls_of(Request("correctness", inputs))
    facts = [engine().answer(call) for call in calls if call.task == "facts"]
    with_words = [statement for _, statement in shares_of(response, statements)]
    if wrong_fact(response, with_words, facts, question):
        return 0.0
    said = (engine().answer(call).probability for call in calls if call.task == "support")
    return float(all(probability >= SAID for probability in said))


@lru_cache(maxsize=1)
def engine() -> Engine:
    return Engine.load(Path(offline.__file__).parent / "weights")


def first_gold(row: dict[str, Any]) -> float | None:
    """The offline judge, with the first gold answer as the row's reference."""
    return judged_offline(row["response"], row["reference"][0], row["question"])


def only_gold(row: dict[str, Any]) -> float | None:
    """The same, where there is no other gold answer."""
    return first_gold(row) if len(row["reference"]) == 1 else None


RULE, ALONE = (
    "offline `correctness`, first gold answer as the reference",
    "the same, questions with one gold answer",
)
VERDICTS: dict[str, Callable[[str, list[str]], float | None]] = {
    "gold-token recall >= 0.5": gold_token_recall,
    "the same, ASCII normalisation of SQuAD": squad_recall,
    "token F1 >= 0.5": lambda response, gold: best_of(token_f1, response, gold),
    "exact match": lambda response, gold: best_of(exact_match, response, gold),
}
OFFLINE: dict[str, Callable[[dict[str, Any]], float | None]] = {RULE: first_gold, ALONE: only_gold}
JUDGES = ("gpt-4", "text-davinci-003", "bem")
Counts = NDArray[np.float64]


def load(data: Path) -> dict[str, list[dict[str, Any]]]:
    """The rows by set and slice; TriviaQA is "TQ" in its source."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name in ("evouna", "openqa_eval"):
        with gzip.open(data / name / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                found.setdefault(f"{name} {row['slice']}", []).append(row)
    return found


def kappa(cells: Counts) -> Counts:
    """Cohen's kappa of tables [label no/yes x verdict no/yes], flattened to the last axis; nan
    where undefined.
    """
    n = cells.sum(-1)
    agreed = (cells[..., 0] + cells[..., 3]) / n
    labels, verdicts = (cells[..., 2] + cells[..., 3]) / n, (cells[..., 1] + cells[..., 3]) / n
    chance = labels * verdicts + (1 - labels) * (1 - verdicts)
    with np.errstate(invalid="ignore", divide="ignore"):
        result: Counts = (agreed - chance) / (1 - chance)
    return result


def agreement(labels: list[int], verdicts: list[int], groups: list[str]) -> dict[str, Any]:
    """Kappa with its interval, accuracy, and how often right and wrong answers are called right."""
    index = {group: at for at, group in enumerate(dict.fromkeys(groups))}
    cells = np.zeros((len(index), 4))
    for label, verdict, group in zip(labels, verdicts, groups, strict=True):
        cells[index[group], 2 * label + verdict] += 1
    generator = np.random.default_rng(SEED)
    weights = generator.multinomial(len(index), np.full(len(index), 1 / len(index)), size=RESAMPLES)
    drawn = kappa(weights.astype(np.float64) @ cells)
    total = cells.sum(0)
    return {
        "n": len(labels),
        "questions": len(index),
        "kappa": float(kappa(total)),
        "kappa_interval": [float(v) for v in np.nanquantile(drawn, (0.025, 0.975))],
        "accuracy": float((total[0] + total[3]) / total.sum()),
        "right_called_right": float(total[3] / (total[2] + total[3])),
        "wrong_called_right": float(total[1] / (total[0] + total[1])),
    }


def judge(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Every verdict over the rows that have it; rows whose gold answers hold no token have none
    from overlap.
    """
    result: dict[str, Any] = {}
    values_of = {
        name: [measure(row["response"], row["reference"]) for row in rows]
        for name, measure in VERDICTS.items()
    }
    values_of |= {name: list(map(measure, rows)) for name, measure in OFFLINE.items()}
    for name, values in values_of.items():
        kept = [(row, value) for row, value in zip(rows, values, strict=True) if value is not None]
        result[name] = agreement(
            [row["label"] for row, _ in kept],
            [int(value >= MARK) for _, value in kept],
            [row["group"] for row, _ in kept],
        )
    for name in JUDGES:
        seen = [row for row in rows if name in row["judges"]]
        if seen:
            result[f"{name} (recorded)"] = agreement(
                [row["label"] for row in seen],
                [int(row["judges"][name]) for row in seen],
                [row["group"] for row in seen],
            )
    return result


def markdown(result: dict[str, Any]) -> str:
    """The result as tables."""
    conditions = result["conditions"]
    out = [
        "# Overlap with the gold answers against people",
        "",
        (
            f"{conditions['date']}; Python {conditions['python']}; `{conditions['command']}`. All"
            " rows of all splits (nothing is fitted). Interval: 95 %, bootstrap over questions."
        ),
        "",
    ]
    for name, figures in result["sets"].items():
        expected = (
            f"; expected about {EXPECTED[name]:.2f} for gold-token recall"
            if name in EXPECTED
            else ""
        )
        out += [f"## {name}{expected}", ""]
        out += [
            "| verdict | n | questions | kappa | accuracy | right answers called right | wrong ones"
            " called right |"
        ]
        out += ["|---|---:|---:|---|---:|---:|---:|"]
        for verdict, f in figures.items():
            low, high = f["kappa_interval"]
            out.append(
                f"| {verdict} | {f['n']:,} | {f['questions']:,} | {f['kappa']:.3f} [{low:.3f},"
                f" {high:.3f}] | {f['accuracy']:.3f} | {f['right_called_right']:.3f} |"
                f" {f['wrong_called_right']:.3f} |"
            )
        out.append("")
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("RAGASSAY_DATA", ROOT.parent / "shared/data")
    )
    data = Path(parser.parse_args().data)
    result = {
        "conditions": {
            "date": datetime.now(UTC).date().isoformat(),
            "python": platform.python_version(),
            "command": "python benchmarks/answer_overlap/run.py",
            "mark": MARK,
        },
        "sets": {name: judge(rows) for name, rows in load(data).items()},
    }
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "answer_overlap.json").write_text(
        json.dumps(result, indent=1, sort_keys=True) + "\n", encoding="utf-8"
    )
    text = markdown(result)
    (RESULTS / "answer_overlap.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
