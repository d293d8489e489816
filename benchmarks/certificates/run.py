"""Agreement of the offline judge with people on every labelled set, and its certificates.

    python benchmarks/certificates/run.py [--data PATH] [--draws 2000] [--check]

Runs `ragassay benchmark` for the offline judge on the test splits of all groundedness, context
relevance, answer relevance and answer correctness sets, one certificate a set and, where a task has
several sets, one over all of them (slices = sets: pooled and macro). Writes
src/ragassay/models/offline/certificates.json and benchmarks/results/certificates.{json,md}; the
page docs/certificates.md is then to be made anew (`make docs`). --check: writes nothing and fails
when a figure differs from the certificates that are there.

The cut on human labels is the set's own (README of each set); rows of one source document, question
or conversation (`group`) are one cluster. The offline judge's weights were fitted on train rows and
chosen on dev rows of some of these sets; which ones stands in every certificate.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
RESULTS = ROOT / "benchmarks/results"

from benchmarks.offline_judge.labelled import learned_questions
from training.offline_data import question_key

from ragassay.core import Certificate, Figure, JudgeFigures
from ragassay.models.offline.certificates import CERTIFICATES
from ragassay.store.certificate_file import dumps, loads
from ragassay.trust.certificate_issue import issue
from ragassay.trust.measure.benchmarks import run_benchmark
from ragassay.version import __version__

SHOWN = ("kappa", "balanced_accuracy", "precision", "recall", "f1", "auc", "ece")
LIMIT_SECONDS = 15 * 60


@dataclass(frozen=True, slots=True)
class Set:
    """A labelled set. splits: of its rows; slice: only rows of this one; cut: a label of at least
    this passes.

    kind: whose labels they are. seen: whether other rows of the set served to make the offline
    judge; None where it is a rule that was fitted to nothing.
    """

    name: str
    seen: bool | None
    splits: tuple[str, ...] = ("test",)
    slice: str = ""
    cut: float = 1.0
    kind: str = "human"
    note: str = ""


TASKS: dict[str, tuple[str, tuple[Set, ...]]] = {
    "groundedness": (
        "groundedness",
        (
            Set("begin", False),
            Set("factcheck_gpt", True),
            Set("faithdial_audit", True),
            Set("mtrag_human", True, cut=3.0, note="median of three people on 1-4, passes from 3"),
            Set("q2_wow", True),
            Set("ragtruth_qa", False),
            Set(
                "scifact",
                True,
                ("dev",),
                note="the official validation part; the labels of its test part are not public",
            ),
            Set("summac_val", True, ("test", "official_test")),
            Set("summedits", True),
            Set("wice", False, slice="claim", note="one row a claim, with the whole article"),
        ),
    ),
    "context_relevance": (
        "context_relevance",
        (
            Set(
                "hotpotqa_context",
                True,
                kind="human and constructed",
                note=(
                    "people marked the relevant passages; the others were retrieved and nobody"
                    " looked at them; without rows whose question a train row has"
                ),
            ),
        ),
    ),
    "answer_relevance": (
        "answer_relevance",
        (
            Set("haluquestqa", True, note="passes when no irrelevant span was marked"),
            Set(
                "hotpotqa_answer",
                True,
                kind="constructed",
                note=(
                    "gold answers, and gold answers of other questions; without "
                    "rows whose question a train row has"
                ),
            ),
        ),
    ),
    "answer_correctness": (
        "correctness",
        (
            Set("evouna", None, note="the first of several accepted answers is the reference"),
            Set("openqa_eval", None, note="the first of several accepted answers is the reference"),
        ),
    ),
}


# Tasks whose sets share questions across their splits: rows whose question a train row of any set
# has are left out.
SHARED = ("context_relevance", "answer_relevance")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--data", type=Path, default=Path(os.environ.get("RAGASSAY_DATA", "../shared/data"))
    )
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    started = time.perf_counter()
    made: list[tuple[str, Certificate]] = []
    with tempfile.TemporaryDirectory() as folder:
        for task, (metric, sets) in TASKS.items():
            for group in (*((one,) for one in sets), *((sets,) if len(sets) > 1 else ())):
                certificate = certify(
                    task, metric, group, options.data, Path(folder), options.draws
                )
                made.append((task, certificate))
                kappa = certificate.figure("kappa")
                print(
                    f"{metric} on {certificate.dataset}: n {certificate.n}, kappa {shown(kappa)}",
                    flush=True,
                )
    seconds = time.perf_counter() - started
    if options.check:
        check([certificate for _, certificate in made])
        return
    CERTIFICATES.write_bytes(dumps(certificate for _, certificate in made))
    write_results(made, seconds, options.draws)
    print(
        f"{len(made)} certificates in {seconds:.0f} s, {CERTIFICATES.stat().st_size / 1024:.0f} kB"
    )


def certify(
    task: str, metric: str, sets: tuple[Set, ...], data: Path, folder: Path, draws: int
) -> Certificate:
    """The certificate of the offline judge on these sets; the answers are kept in a store in the
    folder.
    """
    together = len(sets) > 1
    name = f"all {len(sets)} {task.replace('_', ' ')} sets" if together else sets[0].name
    path = folder / f"{name.replace(' ', '_')}.jsonl"
    with path.open("w", encoding="utf-8", newline="\n") as out:
        for one in sets:
            for row in rows_of(one, task, data):
                out.write(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n")
    found = run_benchmark(
        str(path),
        "offline",
        metric=metric,
        cut=1.0,
        cluster="group",
        slice="dataset" if together else "slice",
        draws=draws,
        store=folder / "judged.db",
        no_network=True,
        certificate=False,
    )
    judge: JudgeFigures = found.benchmark.judges[0]
    return issue(
        found.benchmark,
        judge,
        rubrics=found.rubrics["offline"],
        profile=found.profiles["offline"],
        version=__version__,
        kind=kind_of(sets),
        dataset=name,
        note=note_of(sets),
    )


def rows_of(one: Set, task: str, data: Path) -> Iterator[dict[str, Any]]:
    """The rows that count, with the label as 0 or 1 at the set's own cut; the words of other judges
    are left out.
    """
    with gzip.open(data / one.name / f"{one.name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if row["split"] not in one.splits or (one.slice and row["slice"] != one.slice):
                continue
            if row["label"] is None or row["task"] != task:
                continue
            if task in SHARED and question_key(row["question"]) in learned_questions(data):
                continue
            kept = {
                name: row[name]
                for name in (
                    "id",
                    "dataset",
                    "slice",
                    "group",
                    "question",
                    "contexts",
                    "response",
                    "reference",
                    "others",
                )
                if name in row
            }
            yield {**kept, "label": float(row["label"] >= one.cut), "task": task}


def kind_of(sets: tuple[Set, ...]) -> str:
    kinds = {one.kind for one in sets}
    return kinds.pop() if len(kinds) == 1 else "human and constructed"


def note_of(sets: tuple[Set, ...]) -> str:
    """What a reader has to know of the data."""
    if len(sets) > 1:
        seen = ", ".join(one.name for one in sets if one.seen)
        return made_with(sets[0].seen, seen)
    one = sets[0]
    splits = "" if one.splits == ("test",) else f"splits {' and '.join(one.splits)}"
    seen_words = made_with(one.seen, "this set" if one.seen else "")
    return "; ".join(words for words in (seen_words, one.note, splits) if words)


def made_with(seen: bool | None, names: str) -> str:
    """What the judge knew of sets like these before it was measured."""
    if seen is None:
        return "the judge is a fixed rule about words, fitted to no labels"
    return (
        f"the judge was made with other rows of {names}"
        if names
        else "its network was trained without rows of this set"
    )


def check(made: list[Certificate]) -> None:
    """Compare with the certificates that are there, figure by figure."""
    there = {(c.metric, c.dataset): c for c in loads(CERTIFICATES.read_bytes())}
    wrong = [
        f"{c.metric} on {c.dataset}"
        for c in made
        if (c.metric, c.dataset) not in there or there[c.metric, c.dataset].id != c.id
    ]
    if wrong or len(there) != len(made):
        raise SystemExit(
            f"not as in {CERTIFICATES.name}: {', '.join(wrong) or 'another number of certificates'}"
        )
    print(f"all {len(made)} certificates are as in {CERTIFICATES.name}")


def shown(figure: Figure | None) -> str:
    if figure is None or figure.value is None:
        return "–"
    reach = f" [{figure.interval.low:.2f}, {figure.interval.high:.2f}]" if figure.interval else ""
    return f"{figure.value:.2f}{reach}"


def write_results(made: list[tuple[str, Certificate]], seconds: float, draws: int) -> None:
    machine = (
        f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python"
        f" {platform.python_version()}"
    )
    record = {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "version": __version__,
        "machine": machine,
        "seconds": round(seconds, 1),
        "limit_seconds": LIMIT_SECONDS,
        "draws": draws,
        "certificates": [
            {
                "task": task,
                "metric": c.metric,
                "dataset": c.dataset,
                "id": c.id,
                "labels": c.n,
                "clusters": c.clusters,
                "kind": c.kind,
                "note": c.note,
                "missing": dict(c.missing),
                "pooled": {f.name: figure_json(f) for f in c.pooled},
                "macro": {f.name: figure_json(f) for f in c.macro},
            }
            for task, c in made
        ],
    }
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False)
    (RESULTS / "certificates.json").write_text(text + "\n", encoding="utf-8")
    (RESULTS / "certificates.md").write_text(
        markdown(made, seconds, draws, machine), encoding="utf-8"
    )


def figure_json(figure: Figure) -> dict[str, object]:
    interval = [figure.interval.low, figure.interval.high] if figure.interval else None
    return {"value": figure.value, "interval": interval, "n": figure.n, "reason": figure.reason}


def markdown(made: list[tuple[str, Certificate]], seconds: float, draws: int, machine: str) -> str:
    """All figures as one table."""
    heads = [
        "metric",
        "labelled set",
        "labels",
        "clusters",
        *(name.replace("_", " ") for name in SHOWN),
    ]
    lines = [
        "# Certificates of the offline judge",
        "",
        (
            f"`python benchmarks/certificates/run.py`: {seconds:.0f} s ({machine}). Test splits"
            f" only; 95 % intervals from {draws:,} cluster-bootstrap draws, clusters being source"
            " documents, questions or conversations. Rows over several sets are given pooled (all"
            " rows together) and macro (mean over the sets of each set's figure). †: labels that"
            " were constructed, wholly or in part. °: the network was trained without rows of this"
            " set (wice's dev rows served to calibrate)."
        ),
        "",
        "| " + " | ".join(heads) + " |",
        "| --- | --- |" + " ---: |" * (len(heads) - 2),
    ]
    unseen = {one.name for _, sets in TASKS.values() for one in sets if one.seen is False}
    for _, c in made:
        mark = ("†" if c.kind != "human" else "") + ("°" if c.dataset in unseen else "")
        together = c.dataset.startswith("all ")
        views = [("pooled", c.pooled), ("macro", c.macro)] if together else [("", c.pooled)]
        for view, figures in views:
            by_name = {figure.name: figure for figure in figures}
            name = f"{c.dataset}{mark}" + (f", {view}" if view else "")
            cells = [
                c.metric,
                name,
                f"{c.n:,}",
                f"{c.clusters:,}",
                *(shown(by_name.get(figure)) for figure in SHOWN),
            ]
            lines.append("| " + " | ".join(cells) + " |")
    notes = [f"- {c.metric} on {c.dataset}: {c.note}." for _, c in made]
    missing = [
        f"- {c.metric} on {c.dataset}: {n:,} rows {reason}."
        for _, c in made
        for reason, n in c.missing.items()
    ]
    return "\n".join(
        [*lines, "", *notes, *(["", "Rows without a figure:", "", *missing] if missing else []), ""]
    )


if __name__ == "__main__":
    main()
