"""Speed and memory of scoring alone, when every judgment is known.

    python benchmarks/scoring_speed/run.py [--rows 20000] [--flow-rows 400]

A row: 5 chunks, 6 claims of the response, 4 statements of the reference, 10 ranked ids of which 3
are relevant.

- Verdict arithmetic: every function of `ragassay.scoring` that a metric of the catalogue calls on
  verdicts, ratings and
  ids, as often as the catalogue does. Limit: 20,000 rows a second, memory flat.
- Text measures: the functions that read texts (token F1, ROUGE-L, entities ...), on a response of
  about 60 words, a
  reference of 40 and chunks of 60, each by itself.
- Flows: the metrics as they are, Request by Request, with the known Judgment handed to each:
  cutting the texts into
  claims, making Requests, Parts and Scores. No judge, runner or store.

A function that a metric imports and nothing here calls is named. Rates are rows a CPU second of one
process; memory is the peak of a fresh process.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
RESULTS = ROOT / "benchmarks/results"

from ragassay import scoring
from ragassay.core import (
    AppUsage,
    Context,
    Evidence,
    Judgment,
    Request,
    Sample,
    Score,
    Status,
)
from ragassay.metrics import Metric, catalogue, default_metrics, parse
from ragassay.scoring import (
    all_supported,
    average_precision,
    claim_weight,
    decide,
    document_recall,
    entities,
    entities_present,
    f_beta,
    hit_rate,
    mean,
    ndcg_at_k,
    noise,
    precision_at_k,
    precision_of_ranking,
    recall_at_k,
    reciprocal_rank,
    supported_share,
    unsupported_shares,
    utilization,
    weighted_share,
)

SEED, LIMIT = 20261121, 20_000
NOUNS = [
    "tower",
    "bridge",
    "harbour",
    "museum",
    "station",
    "castle",
    "library",
    "garden",
    "theatre",
    "market",
    "palace",
    "tunnel",
]
VERBS = ["was opened", "rebuilt", "sold", "painted", "measured", "closed"]
PLACES = ("Paris", "Lisbon", "Vienna", "Oslo", "Dublin", "Athens")


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Data of one row: ids and their grades, ratings of chunks, edges of its claim graph."""

    ranking: tuple[str, ...]
    grades: dict[str, float]
    ratings: tuple[float, ...]
    supported: list[bool]
    right: list[bool]
    sources: list[tuple[int, ...]]
    in_contexts: list[bool]
    in_response: list[bool]
    relevant: list[bool]
    weights: list[float]
    values: tuple[float, ...]


def verdicts(count: int) -> Iterator[Verdicts]:
    """Rows one after the other, a thousand different ones."""
    chance = random.Random(SEED)
    made = []
    for _ in range(1000):
        ids = chance.sample([f"document-{n}" for n in range(30)], 10)
        sources = [
            tuple(sorted(chance.sample(range(5), chance.choice((0, 1, 1, 2))))) for _ in range(6)
        ]
        made.append(
            Verdicts(
                tuple(ids),
                {ids[2]: 1.0, ids[7]: 2.0, "document-x": 1.0},
                tuple(chance.randint(0, 3) / 3 for _ in range(5)),
                [bool(found) for found in sources],
                [chance.random() < 0.6 for _ in range(6)],
                sources,
                [chance.random() < 0.7 for _ in range(4)],
                [chance.random() < 0.6 for _ in range(4)],
                [chance.random() < 0.5 for _ in range(5)],
                [chance.choice((1.0, 1.5, 2.0, 3.0)) for _ in range(6)],
                (chance.random(), chance.random()),
            )
        )
    for n in range(count):
        yield made[n % 1000]


def arithmetic(v: Verdicts) -> list[object]:
    """Every reduction of the catalogue over the verdicts of one row, with the verdicts under the
    pass marks.
    """
    ids, grades, held = v.ranking, v.grades, sum(v.supported)
    precision, recall = supported_share(v.right), supported_share(v.in_response)
    return [
        # retrieval by id
        precision_at_k(ids, grades, 5),
        recall_at_k(ids, grades, 5),
        hit_rate(ids, grades, 5),
        ndcg_at_k(ids, grades, 10),
        reciprocal_rank(ids, grades),
        average_precision(ids, grades),
        document_recall(ids, grades),
        precision_at_k(ids, grades, 10),  # document precision
        # chunks: graded, yes/no, two templates, the ratio of sentences, the three kinds of context
        # precision
        mean(v.ratings),
        max(v.ratings),
        supported_share(v.relevant),
        mean(v.values),
        mean(v.ratings),
        precision_of_ranking(v.relevant),
        precision_of_ranking(v.in_contexts),
        precision_of_ranking(v.supported),
        # claims against the contexts
        mean(v.ratings),
        decide(held, 0, 6, 0.9),
        supported_share(v.supported),
        decide(held, 1, 7, 0.9),
        all_supported(v.supported),
        weighted_share(v.supported, v.weights),
        decide(held, 0, 6, 1.0),
        # the claim graph
        supported_share(v.in_contexts),
        decide(sum(v.in_contexts), 0, 4, 0.9),
        precision,
        recall,
        f_beta(precision, recall),
        utilization(v.in_contexts, v.in_response),
        unsupported_shares(v.right, v.supported),
        noise(v.right, v.sources, {0, 2}, "relevant"),
        noise(v.right, v.sources, {0, 2}, "irrelevant"),
        # two templates of the response, of the answer; questions; guidelines; citations, precision
        # and recall
        mean(v.values),
        mean(v.values),
        mean(v.ratings[:3]),
        supported_share(v.in_response),
        supported_share(v.right),
        supported_share(v.supported),
    ]


TEXTS: dict[str, Callable[[Sample], object]] = {
    "claim_weight, 6 claims": lambda s: [
        claim_weight(text) for text in (s.response or "").split(". ")
    ],
    **{
        name: (lambda measure: lambda s: measure(s.response, s.reference))(getattr(scoring, name))
        for name in ("exact_match", "token_recall", "token_f1", "rouge_l", "bleu", "chrf")
    },
    "entities of the reference": lambda s: entities(s.reference or ""),
    "entity_recall or entities_present, 8 entities in 5 chunks": lambda s: entities_present(
        ("Paris", "Oslo", "Vienna", "1999", "312 metres", "US", "Alan Smith", "1,000"),
        [c.text for c in s.contexts or ()],
    ),
}


def samples(count: int) -> Iterator[Sample]:
    """Rows with texts, no two alike."""
    chance = random.Random(SEED)

    def sentence(n: int) -> str:
        return (
            f"The {chance.choice(NOUNS)} number {n} in {chance.choice(PLACES)}"
            f" {chance.choice(VERBS)} in {chance.randint(1800, 2020)}"
        )

    for n in range(count):
        texts = [" ".join(sentence(n) + "." for _ in range(6)) for _ in range(5)]
        yield Sample(
            f"row-{n}",
            question=f"What became of the {chance.choice(NOUNS)} number {n}?",
            contexts=tuple(Context(text, f"document-{k}") for k, text in enumerate(texts)),
            response=" ".join(
                sentence(n) + (f" [{k % 5 + 1}]." if k % 2 else ".") for k in range(6)
            ),
            reference=" ".join(sentence(n) + "." for _ in range(4)),
            relevant_ids={"document-1": 1.0, "document-3": 2.0, "document-9": 1.0},
            guidelines=("Be kind.", "Be brief."),
            usage=AppUsage(300, 40, None, 0.001, 0.8),
        )


def known(request: Request, turn: int) -> Judgment:
    """A judgment as a store would hand it back, made beforehand; which one it is goes round."""
    return _KNOWN.get(request.rubric, _RATED)[turn % 4]


_RATED = tuple(
    Judgment(
        "k",
        "judge",
        "rubric",
        Status.JUDGED,
        rating=n,
        value=n / 3,
        rationale="Passage 2 says so.",
        passes=n >= 2,
        evidence=(Evidence(1, 0, 3, "The"),) if n >= 2 else (),
        sources=(1, 3) if n >= 2 else (),
    )
    for n in range(4)
)
_TEXTS = Judgment(
    "k", "judge", "texts", Status.JUDGED, texts=("What is it?", "Where is it?", "Since when?")
)
_KNOWN: dict[str, tuple[Judgment, ...]] = dict.fromkeys(
    ("claims", "questions", "entities"), (_TEXTS,) * 4
)
_KNOWN["sentence_relevance"] = (replace(_TEXTS, texts=(), evidence=(Evidence(0, 0, 20, ""),)),) * 4
_KNOWN["similarity"] = tuple(
    Judgment("k", "judge", "similarity", Status.JUDGED, value=n / 4) for n in range(4)
)


def play(metric: Metric, sample: Sample) -> tuple[Score, int]:
    """Drive one flow with known judgments; its Score and how many Requests it made."""
    flow, asked = metric.flow(sample), 0
    try:
        requests = next(flow)
        while True:
            answers = tuple(known(request, asked + n) for n, request in enumerate(requests))
            asked += len(requests)
            requests = flow.send(answers)
    except StopIteration as done:
        score: Score = done.value
        return score, asked


def playable() -> tuple[list[Metric], dict[str, str]]:
    """The metrics that give a value on such rows, and why the others do not."""
    fed, skipped = [], {}
    sample = next(samples(1))
    for name in catalogue():
        metric = parse(name)
        score = play(metric, sample)[0]
        if score.value is None:
            skipped[name] = score.reason or score.status.value
        else:
            fed.append(metric)
    return fed, skipped


def uncalled() -> list[str]:
    """Functions of `ragassay.scoring` that a metric imports and nothing here calls."""
    used: set[str] = set()
    for path in (ROOT / "src/ragassay/metrics").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "ragassay.scoring":
                used |= {alias.name for alias in node.names}
    mine = Path(__file__).read_text(encoding="utf-8").partition("def arithmetic")[2]
    return sorted(
        name for name in used if callable(getattr(scoring, name, None)) and name not in mine
    )


def rate(work: Callable[[], int]) -> float:
    """Rows a CPU second, median of five rounds."""
    rates = []
    for _ in range(5):
        started = time.process_time()
        rows = work()
        rates.append(rows / (time.process_time() - started))
    return statistics.median(rates)


def over_verdicts(count: int) -> int:
    for row in verdicts(count):
        arithmetic(row)
    return count


def over_samples(metrics: list[Metric], rows: Iterator[Sample]) -> int:
    count = 0
    for count, row in enumerate(rows, 1):  # noqa: B007
        for metric in metrics:
            play(metric, row)
    return count


def child(what: str, count: int) -> None:
    """Work through so many rows in a fresh process and print its peak memory."""
    if what == "arithmetic":
        over_verdicts(count)
    else:
        over_samples([parse(name) for name in default_metrics()], samples(count))
    # Not getrusage: its peak holds what the parent held when it started this process.
    lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    print(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024)


def peak(what: str, count: int) -> float:
    """Peak resident MB of a fresh process that works through so many rows."""
    done = subprocess.run(
        [sys.executable, __file__, "--child", what, str(count)],
        check=True,
        capture_output=True,
        text=True,
    )
    return float(done.stdout)


def measure(rows: int, flow_rows: int) -> dict[str, Any]:
    """All figures."""
    texts = list(samples(flow_rows))
    fed, skipped = playable()
    default = [metric for metric in fed if metric.declaration.name in default_metrics()]
    single = {}
    for metric in fed:
        started = time.process_time()
        over_samples([metric], iter(texts))
        single[str(metric)] = 1e6 * (time.process_time() - started) / len(texts)
    functions = {}
    for name, of in TEXTS.items():
        started = time.process_time()
        for sample in texts:
            of(sample)
        functions[name] = 1e6 * (time.process_time() - started) / len(texts)
    return {
        "arithmetic": rate(lambda: over_verdicts(rows)),
        "reductions": len(arithmetic(next(verdicts(1)))),
        "arithmetic_mb": {str(n): peak("arithmetic", n) for n in (10_000, 100_000)},
        "texts_us": functions,
        "uncalled": uncalled(),
        "default": {
            "metrics": len(default),
            "rate": rate(lambda: over_samples(default, iter(texts))),
        },
        "catalogue": {"metrics": len(fed), "rate": rate(lambda: over_samples(fed, iter(texts)))},
        "default_mb": {str(n): peak("flows", n) for n in (1_000, 10_000)},
        "metric_us": single,
        "skipped": skipped,
    }


def markdown(result: dict[str, Any]) -> str:
    """The result as tables."""
    speed = result["arithmetic"]
    few, many = result["arithmetic_mb"].values()
    flow_few, flow_many = result["default_mb"].values()
    texts = sum(result["texts_us"].values())
    out = [
        "# Scoring alone",
        "",
        (
            f"{result['date']}; Python {platform.python_version()}; {len(os.sched_getaffinity(0))}"
            f" cores; load before {result['load_before']:.1f}; `python"
            " benchmarks/scoring_speed/run.py`; 5 chunks, 6 claims, 4 statements, 10 ids; rates"
            " are rows a CPU second of one process."
        ),
        "",
        "| what | measured | limit | |",
        "|---|---:|---:|---|",
        (
            f"| verdict arithmetic of the whole catalogue, {result['reductions']} reductions a row"
            f" | {speed:,.0f} rows/s | {LIMIT:,} |"
            f" {'reached' if speed >= LIMIT else 'NOT reached'} |"
        ),
        (
            f"| its peak memory, 10,000 rows and 100,000 | {few:.1f} and {many:.1f} MB | flat |"
            f" {many - few:+.1f} MB |"
        ),
        f"| text measures, all of them on a row | {1e6 / texts:,.0f} rows/s | | |",
        (
            f"| flows of the default set, {result['default']['metrics']} metrics |"
            f" {result['default']['rate']:,.0f} rows/s | | |"
        ),
        (
            f"| flows of the whole catalogue, {result['catalogue']['metrics']} metrics |"
            f" {result['catalogue']['rate']:,.0f} rows/s | | |"
        ),
        (
            f"| peak memory of the default set, 1,000 rows and 10,000 | {flow_few:.1f} and"
            f" {flow_many:.1f} MB | flat | {flow_many - flow_few:+.1f} MB |"
        ),
        "",
        "## Microseconds a row of each text measure",
        "",
        *(
            f"- {name}: {value:.1f}"
            for name, value in sorted(result["texts_us"].items(), key=lambda item: -item[1])
        ),
        "",
        "## Microseconds a row of each metric's whole flow",
        "",
        *(
            f"- {name}: {value:.0f}"
            for name, value in sorted(result["metric_us"].items(), key=lambda item: -item[1])
        ),
    ]
    if result["skipped"]:
        out += ["", "Not fed by this script:", ""]
        out += [f"- {name}: {why}" for name, why in result["skipped"].items()]
    if result["uncalled"]:
        out += ["", f"Called by a metric and not measured: {', '.join(result['uncalled'])}."]
    return "\n".join(out) + "\n"


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], int(sys.argv[3]))
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--flow-rows", type=int, default=400)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    result = {
        "date": datetime.now(UTC).date().isoformat(),
        "load_before": load,
        **measure(options.rows, options.flow_rows),
    }
    RESULTS.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, indent=1, sort_keys=True)
    (RESULTS / "scoring_speed.json").write_text(text + "\n", encoding="utf-8")
    page = markdown(result)
    (RESULTS / "scoring_speed.md").write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
