"""Does the answer that scores higher also read better to people? Reference-based scores, offline.

    python benchmarks/human_correlation/run.py [--data ../shared/data]

All 200 rows of ragchecker_meta (nothing is fitted on them, and the offline model was trained on
none): two answers to a question, and how much better the second is to two annotators (-2 .. 2) in
correctness, completeness and overall. For each score: Pearson, Spearman and Kendall (tau-b) of
(score of answer 2 - score of answer 1) with the human label. The rows have no contexts, so that
only scores against the reference can be computed. Peer on the same rows: RAGChecker as its authors
recorded it, one score a criterion.

Intervals: 95 %, bootstrap over questions; beside Pearson the paired difference to token F1 on the
same rows.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau, rankdata

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
RESULTS = ROOT / "benchmarks/results"

import ragassay
from ragassay.core import SetupError
from ragassay.metrics import parse

SEED, RESAMPLES = 20261121, 1000
CRITERIA = ("correctness", "completeness", "overall")
PLAIN = "token_f1"
METRICS = (
    PLAIN,
    "token_recall",
    "rouge_l",
    "bleu",
    "chrf",
    "exact_match",
    "semantic_similarity",
    "answer_correctness_lexical",
    "answer_correctness_claims",
    "answer_correctness_claims(similarity_weight=0)",
    "answer_correctness_claims(similarity_weight=0, part=precision)",
    "answer_correctness_claims(similarity_weight=0, part=recall)",
    "correctness",
)
"""Every reference-based metric of the catalogue that the offline judge answers."""
Floats = NDArray[np.float64]


def load(data: Path) -> list[dict[str, Any]]:
    """The rows that have human labels."""
    with gzip.open(
        data / "ragchecker_meta/ragchecker_meta.jsonl.gz", "rt", encoding="utf-8"
    ) as lines:
        return [row for row in map(json.loads, lines) if row.get("labels")]


def differences(rows: Sequence[dict[str, Any]]) -> tuple[dict[str, Floats], list[str]]:
    """Score of answer 2 - score of answer 1 by metric, nan where either is absent; and the metrics
    that do not exist.
    """
    known, absent = {}, []
    for name in METRICS:
        try:
            known[str(parse(name))] = name
        except SetupError:
            absent.append(name)
    asked = [
        {
            "id": f"{row['id']}/{n}",
            "question": row["question"],
            "reference": row["reference"],
            "response": row[field],
        }
        for row in rows
        for n, field in ((1, "response"), (2, "response_2"))
    ]
    values: dict[str, dict[str, float]] = {name: {} for name in known}
    with tempfile.TemporaryDirectory() as folder:
        metrics = list(known.values())
        with ragassay.evaluate(
            asked, metrics, judge="offline", store=f"{folder}/runs.db", no_network=True
        ) as run:
            for result in run.rows():
                for score in result.scores:
                    if score.value is not None:
                        values[score.metric][result.id] = score.value
    nan = math.nan
    return {
        name: np.array([of.get(f"{r['id']}/2", nan) - of.get(f"{r['id']}/1", nan) for r in rows])
        for name, of in values.items()
    }, absent


def pearson(a: Floats, b: Floats) -> float:
    """Pearson's correlation; nan where one side does not vary."""
    a, b = a - a.mean(), b - b.mean()
    scale = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / scale if scale > 0 else math.nan


def spearman(a: Floats, b: Floats) -> float:
    """Pearson's correlation of the ranks, ties at their mean."""
    return pearson(rankdata(a), rankdata(b))


def kendall(a: Floats, b: Floats) -> float:
    """Kendall's tau-b; nan where one side does not vary."""
    return float(kendalltau(a, b).statistic)


MEASURES = {"pearson": pearson, "spearman": spearman, "kendall": kendall}


def draws(groups: Sequence[str], n: int) -> list[NDArray[np.int64]]:
    """Row numbers of every resample: whole questions, drawn with replacement."""
    members: dict[str, list[int]] = {}
    for at, group in enumerate(groups):
        members.setdefault(group, []).append(at)
    clusters = [np.array(rows) for rows in members.values()]
    generator = np.random.default_rng(SEED)
    return [
        np.concatenate([clusters[c] for c in generator.integers(0, len(clusters), len(clusters))])
        for _ in range(n)
    ]


def interval(values: Sequence[float]) -> list[float] | None:
    """The middle 95 %; None when a correlation was undefined in most resamples."""
    kept = [value for value in values if not math.isnan(value)]
    return (
        [float(v) for v in np.quantile(kept, (0.025, 0.975))]
        if 2 * len(kept) > len(values)
        else None
    )


def correlate(
    score: Floats, label: Floats, plain: Floats, resamples: Sequence[NDArray[np.int64]]
) -> dict[str, Any]:
    """Every correlation with its interval, and Pearson's difference to token F1 over the rows that
    have both.
    """
    there = ~np.isnan(score)
    result: dict[str, Any] = {"n": int(there.sum()), "differ": int((score[there] != 0).sum())}
    kept = [at[there[at]] for at in resamples]
    for name, measure in MEASURES.items():
        value = measure(score[there], label[there])
        result[name] = None if math.isnan(value) else value
        result[f"{name}_interval"] = interval([measure(score[at], label[at]) for at in kept])
    both = there & ~np.isnan(plain)
    shared = [at[both[at]] for at in resamples]
    gap = pearson(score[both], label[both]) - pearson(plain[both], label[both])
    result["over_token_f1"] = None if math.isnan(gap) else gap
    gaps = [pearson(score[at], label[at]) - pearson(plain[at], label[at]) for at in shared]
    result["over_token_f1_interval"] = interval(gaps)
    return result


def shown(value: float | None, reach: list[float] | None = None, sign: str = "") -> str:
    """A figure with its interval."""
    if value is None:
        return "undefined"
    return f"{value:{sign}.3f}" + (
        f" [{reach[0]:{sign}.3f}, {reach[1]:{sign}.3f}]" if reach else ""
    )


def markdown(result: dict[str, Any]) -> str:
    """The result as tables, best Pearson first."""
    conditions = result["conditions"]
    out = [
        "# Reference-based scores against people",
        "",
        (
            f"{conditions['date']}; Python {conditions['python']}; offline judge;"
            f" `{conditions['command']}`. Correlation of the difference of two answers' scores with"
            f" how much better people find the second; {conditions['rows']} pairs,"
            f" {conditions['questions']} questions. Intervals: 95 %, bootstrap over questions."
            " Differ: pairs whose scores differ."
        ),
        "",
    ]
    for criterion, figures in result["criteria"].items():
        out += [
            f"## {criterion}",
            "",
            "| score | n | differ | Pearson | Spearman | Kendall | Pearson over token F1 |",
        ]
        out += ["|---|---:|---:|---|---|---|---|"]
        for name, f in sorted(figures.items(), key=lambda item: -(item[1]["pearson"] or -2.0)):
            cells = [shown(f[m], f[f"{m}_interval"]) for m in MEASURES]
            gap = (
                "" if name == PLAIN else shown(f["over_token_f1"], f["over_token_f1_interval"], "+")
            )
            out.append(f"| {name} | {f['n']} | {f['differ']} | {' | '.join(cells)} | {gap} |")
        out.append("")
    if result["absent"]:
        out += [f"Not in this version: {', '.join(result['absent'])}.", ""]
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("RAGASSAY_DATA", ROOT.parent / "shared/data")
    )
    rows = load(Path(parser.parse_args().data))
    scores, absent = differences(rows)
    groups = [row["group"] for row in rows]
    resamples = draws(groups, RESAMPLES)
    criteria: dict[str, Any] = {}
    for criterion in CRITERIA:
        label = np.array([float(row["labels"][criterion]) for row in rows])
        recorded = [row["judges"]["ragchecker"][criterion] for row in rows]
        peers = {
            "RAGChecker (recorded)": np.array(
                [float(second) - float(first) for first, second in recorded]
            )
        }
        criteria[criterion] = {
            name: correlate(score, label, scores[PLAIN], resamples)
            for name, score in {**scores, **peers}.items()
        }
    result = {
        "conditions": {
            "date": datetime.now(UTC).date().isoformat(),
            "python": platform.python_version(),
            "command": "python benchmarks/human_correlation/run.py",
            "rows": len(rows),
            "questions": len(set(groups)),
        },
        "absent": absent,
        "criteria": criteria,
    }
    RESULTS.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, indent=1, sort_keys=True, allow_nan=False)
    (RESULTS / "human_correlation.json").write_text(text + "\n", encoding="utf-8")
    page = markdown(result)
    (RESULTS / "human_correlation.md").write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
