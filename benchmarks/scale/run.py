"""Own cost of a row, from a thousand rows to a million.

    python benchmarks/scale/run.py [--rows 1000 10000 100000] [--metrics answer_relevance]
    [--formats jsonl]

A judge that answers at once, without a model, and rows of about 1.2 KB. All the rest is real: the
scan of the file, the engine, the journal (no judgment is used before it is on disk), the diagnosis,
the store, the summary, and the resume of a run that is done but for its last row. Every step is a
process of its own, so that its peak memory is its own. Rows a second: wall-clock time from the
first look at the file until the run is stored. Journal: judgments a second through the journal
alone, in commits that gather what has arrived. Huge rows: CPU seconds and peak memory of a run over
one row of 1 and of 10 MB, as one context or as 10,000; the LLM path asks the tests' server. Writes
benchmarks/results/scale.json and scale.md.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import itertools
import json
import os
import platform
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
sys.path.insert(0, str(ROOT / "src"))
sys.path.insert(0, str(ROOT / "tests"))

from ragassay.core import JudgeFlow, Judgment, Request, Status

GOALS = {
    "rows_per_second": 10_000.0,
    "peak_mb": 250.0,
    "summary_s": 20.0,
    "resume_s": 10.0,
    "journal_per_second": 20_000.0,
}

WORDS = [
    "river",
    "bridge",
    "council",
    "harbour",
    "engine",
    "winter",
    "letter",
    "market",
    "village",
    "teacher",
    "signal",
    "copper",
    "forest",
    "lantern",
    "archive",
    "garden",
    "captain",
    "museum",
    "station",
    "theatre",
    "orchard",
    "factory",
    "island",
    "railway",
    "painter",
    "chapel",
    "district",
    "festival",
    "reservoir",
]


@dataclass(frozen=True)
class NoOpJudge:
    """Answers every Request at once with the same rating, and asks no model."""

    uri: str = "no-op"
    agreement: str = "none: it does not look"

    def rubric_version(self, rubric: str) -> str:
        """ "id@0"."""
        return f"{rubric}@0"

    def fingerprint(self, rubric: str) -> str:
        """The rubric's own name."""
        return f"no-op:{rubric}"

    def groups(self, requests: Sequence[Request]) -> list[tuple[Request, ...]]:
        """All at once."""
        return [tuple(requests)]

    def answer(self, requests: tuple[Request, ...]) -> JudgeFlow:
        """A pass for each."""
        return tuple(
            Judgment(
                request.key,
                self.fingerprint(request.rubric),
                f"{request.rubric}@0",
                Status.JUDGED,
                rating=3,
                value=1.0,
                rationale="It was not looked at.",
                passes=True,
            )
            for request in requests
        )
        yield


def make_rows(count: int) -> Iterator[dict[str, Any]]:
    """Rows of about 1.2 KB: 4 contexts, a response of two sentences, a slice; no two alike."""
    dice = random.Random(1)
    for number in range(count):
        contexts = [
            f"Record {number} part {place}: " + " ".join(dice.choices(WORDS, k=29)) + "."
            for place in range(4)
        ]
        year, who, whom = 1900 + number % 99, dice.choice(WORDS), dice.choice(WORDS)
        yield {
            "id": f"row-{number:07}",
            "question": f"What did record {number} say of the {who}?",
            "contexts": contexts,
            "response": (
                f"The {who} of {number} met the {whom} in {year}. It was seen by the"
                f" {dice.choice(WORDS)}."
            ),
            "slices": {"kind": WORDS[number % 7]},
        }


def write(path: Path, count: int) -> None:
    """The rows as a file of the format that its name ends in."""
    if path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            out = csv.writer(file)
            out.writerow(["id", "question", "contexts", "response", "kind"])
            for row in make_rows(count):
                contexts = json.dumps(row["contexts"])
                out.writerow(
                    [row["id"], row["question"], contexts, row["response"], row["slices"]["kind"]]
                )
    elif path.suffix == ".parquet":
        import pyarrow
        from pyarrow import parquet

        rows = make_rows(count)
        writer: Any = None
        while batch := list(itertools.islice(rows, 10_000)):
            table = pyarrow.Table.from_pylist([{**row, "slices": row["slices"]} for row in batch])
            writer = writer or parquet.ParquetWriter(path, table.schema)
            writer.write_table(table)
        writer.close()
    else:
        with path.open("w", encoding="utf-8") as file:
            for row in make_rows(count):
                file.write(json.dumps(row) + "\n")


def peak_mb() -> float:
    """The most memory that this process ever held, in MB. Not getrusage's figure: that begins with
    the parent's.
    """
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def cpu_s() -> float:
    """User and system time of this process, all threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


# -- the steps, each in a process of its own


def planned(source: Path, metrics: str) -> Any:
    """The plan of a run by the judge that does not look."""
    from ragassay.runs.options import make_options
    from ragassay.runs.plan import make_plan

    slices = ("kind",) if source.suffix == ".csv" else ()
    given = {"rows": source, "judge": "offline", "slices": slices}
    plan = make_plan(source, make_options(given), metrics)
    judge = NoOpJudge()
    prints = {rubric: judge.fingerprint(rubric) for rubric in plan.info.fingerprints}
    return replace(plan, judge=judge, info=replace(plan.info, fingerprints=prints))


def evaluate(source: Path, store: Path, metrics: str) -> dict[str, float]:
    """A whole run."""
    from ragassay import distributed
    from ragassay.runs.plan import manifest_of
    from ragassay.runs.session import Session  # what `ragassay.evaluate` does with a plan
    from ragassay.store import Store

    started, cpu = time.perf_counter(), cpu_s()
    plan = planned(source, metrics)
    scanned = time.perf_counter() - started
    opened, manifest = (
        Store.open(store),
        manifest_of(plan, "run", "2026-01-01T00:00:00+00:00", "0", ""),
    )
    opened.create_run(manifest)
    opened.acquire(manifest.run_id)
    run = asyncio.run(Session(plan, opened, manifest, distribution=distributed).run())
    seconds = time.perf_counter() - started
    rows = run.manifest.rows
    run.close()
    return {
        "rows": rows,
        "seconds": seconds,
        "scan_s": scanned,
        "rows_per_second": rows / seconds,
        "cpu_us_per_row": 1e6 * (cpu_s() - cpu) / rows,
        "peak_mb": peak_mb(),
    }


def summary(store: Path) -> dict[str, float]:
    """Means with intervals, pass rates, causes, slices and worst rows of the run."""
    import ragassay

    with ragassay.open_run("last", store=store) as run:
        started, cpu = time.perf_counter(), cpu_s()
        found = run.summary
        assert found.pending == 0
        return {
            "summary_s": time.perf_counter() - started,
            "cpu_s": cpu_s() - cpu,
            "peak_mb": peak_mb(),
        }


def resume(store: Path) -> dict[str, float]:
    """What a resume does before it takes its first row: which rows are done, and which are not."""
    from ragassay.store import Store

    with Store.open(store) as opened:
        run_id = opened.resolve("last")
        started = time.perf_counter()
        done = opened.done(run_id)
        left = sum(1 for index in range(len(done)) if index not in done)
        assert left == 0
        return {"resume_s": time.perf_counter() - started, "peak_mb": peak_mb()}


def journal(folder: Path, count: int) -> dict[str, float]:
    """Judgments through the journal alone, handed over as 64 workers would, 16 at a time."""
    from ragassay.core import JudgeInfo, Manifest
    from ragassay.runs import Journal
    from ragassay.store import Store

    judge = NoOpJudge()

    async def drive(store: Store) -> float:
        started = time.perf_counter()
        async with Journal(store, "r") as opened:
            numbers = iter(range(0, count, 16))

            async def worker() -> None:
                for first in numbers:
                    requests = tuple(Request("r", {"question": str(first + n)}) for n in range(16))
                    try:
                        next(judge.answer(requests))
                    except StopIteration as end:
                        await opened.put(end.value)

            await asyncio.gather(*(worker() for _ in range(64)))
        return time.perf_counter() - started

    info = JudgeInfo("no-op", {}, {}, "")
    with Store.open(folder / "journal.db") as store:
        store.create_run(Manifest("r", "", "", "memory", "", 0, {}, (), info))
        seconds = asyncio.run(drive(store))
    return {"journal_per_second": count / seconds, "peak_mb": peak_mb()}


def sentences(size: int) -> str:
    """So many characters of short sentences."""
    dice, made, length = random.Random(1), list[str](), 0
    while length < size:
        who, whom = dice.choice(WORDS), dice.choice(WORDS)
        made.append(
            f"The {who} of {len(made)} met the {whom} near the {dice.choice(WORDS)} in"
            f" {1900 + len(made) % 99}."
        )
        length += len(made[-1]) + 1
    return " ".join(made)[:size]


def huge(judge: str, contexts: int, megabytes: int, folder: Path) -> dict[str, float]:
    """One row whose contexts hold so many megabytes together."""
    import ragassay
    from ragassay.testing import ServerProcess

    small = {
        "id": "small",
        "question": "Who met?",
        "contexts": ["They met."],
        "response": "They met.",
    }
    text = sentences(megabytes * 2**20 // contexts)
    row = {
        "id": "huge",
        "question": "Whom did the river of 12 meet?",
        "contexts": [text] * contexts,
        "response": "The river of 12 met the bridge in 1912. It was seen by the council.",
    }
    if contexts > 1:
        row["contexts"] = [f"Part {place}. {text}" for place in range(contexts)]
    source = folder / "huge.jsonl"
    source.write_text(json.dumps(row) + "\n", encoding="utf-8")
    del row, text
    with ServerProcess() as server:
        server.script(keep_bodies=False)
        given: dict[str, Any] = {
            "judge": judge,
            "base_url": None if judge == "offline" else server.url,
        }
        ragassay.evaluate([small], store=folder / "huge.db", **given).close()
        cpu = cpu_s()
        run = ragassay.evaluate(source, store=folder / "huge.db", **given)
        assert run.summary.pending == 0
        run.close()
        return {"cpu_s": cpu_s() - cpu, "peak_mb": peak_mb()}


def step(name: str, *arguments: str) -> dict[str, float]:
    """One step in a process of its own."""
    command = [sys.executable, __file__, "--step", name, *arguments]
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    return dict(json.loads(out.splitlines()[-1]))


def measure(
    counts: Sequence[int], metrics: str, formats: Sequence[str], judgments: int
) -> dict[str, Any]:
    """All steps for every size and format."""
    found: list[dict[str, Any]] = []
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind in formats:
            for count in counts:
                source, store = folder / f"rows.{kind}", folder / f"{kind}-{count}.db"
                write(source, count)
                one = {
                    "format": kind,
                    "metrics": metrics,
                    "megabytes": source.stat().st_size / 2**20,
                }
                one |= step("evaluate", str(source), str(store), metrics)
                done, read = step("resume", str(store)), step("summary", str(store))
                one |= {
                    "resume_s": done["resume_s"],
                    "summary_s": read["summary_s"],
                    "summary_cpu_s": read["cpu_s"],
                }
                one |= {"resume_peak_mb": done["peak_mb"], "summary_peak_mb": read["peak_mb"]}
                one["store_megabytes"] = store.stat().st_size / 2**20
                for path in folder.iterdir():
                    path.unlink()
                found.append(one)
                print(
                    f"{count} rows ({kind}): {one['rows_per_second']:.0f} rows/s", file=sys.stderr
                )
        handed = step("journal", str(folder), str(judgments))
        large: list[dict[str, Any]] = []
        for judge, contexts in (("offline", 1), ("openai:mock", 1), ("openai:mock", 10_000)):
            for megabytes in (1, 10):
                said = {"judge": judge, "contexts": contexts, "megabytes": megabytes}
                large.append(said | step("huge", judge, str(contexts), str(megabytes), str(folder)))
                for path in folder.iterdir():
                    path.unlink()
    conditions = {
        "command": (
            "python benchmarks/scale/run.py --rows "
            + " ".join(map(str, counts))
            + f" --metrics {metrics} --formats {' '.join(formats)}"
        ),
        "cpus": os.cpu_count(),
        "machine": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "load_before": load,
    }
    return {
        "conditions": conditions,
        "goals": GOALS,
        "runs": found,
        "huge": large,
        "journal": {**handed, "judgments": judgments},
    }


def table(result: dict[str, Any]) -> str:
    """The figures as Markdown, each beside its goal."""
    said, journal_ = result["conditions"], result["journal"]
    lines = [
        "# What a row costs of our own",
        "",
        f"`{said['command']}`",
        "",
        f"A judge that answers at once; rows of about 1.2 KB. {said['cpus']} CPUs"
        f" ({said['machine']}), Python {said['python']}, load before {said['load_before']:.2f}"
        + (
            ": other work took most of the machine, so read the CPU and not the clock."
            if said["load_before"] > 1
            else "."
        ),
        "",
        (
            "| format | rows | MB | metrics | rows/s | CPU us a row | scan s | peak MB | summary s"
            " | its CPU s | its peak MB | resume s |"
        ),
        "| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        (
            f"| goal | | | | {GOALS['rows_per_second']:,.0f} | | | {GOALS['peak_mb']:.0f} |"
            f" {GOALS['summary_s']:.0f} | | {GOALS['peak_mb']:.0f} | {GOALS['resume_s']:.0f} |"
        ),
    ]
    lines += [
        f"| {r['format']} | {r['rows']:,} | {r['megabytes']:.0f} | {r['metrics']} |"
        f" {r['rows_per_second']:,.0f} | {r['cpu_us_per_row']:.0f} | {r['scan_s']:.1f} |"
        f" {r['peak_mb']:.0f} | {r['summary_s']:.1f} | {r['summary_cpu_s']:.1f} |"
        f" {r['summary_peak_mb']:.0f} | {r['resume_s']:.1f} |"
        for r in result["runs"]
    ]
    lines += [
        "",
        (
            f"Journal alone: {journal_['journal_per_second']:,.0f} judgments a second"
            f" ({journal_['judgments']:,} judgments; goal {GOALS['journal_per_second']:,.0f})."
        ),
        "",
        "| judge | contexts in the row | MB | CPU s of the run | peak MB |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {r['judge']} | {r['contexts']:,} | {r['megabytes']} | {r['cpu_s']:.2f} |"
        f" {r['peak_mb']:.0f} |"
        for r in result["huge"]
    ]
    lines += [
        "",
        (
            "Goal for 10 MB: at most 1 s and 250 MB + 40 MB; at most 12 times the seconds of 1 MB."
            " Of 10,000 contexts each eight are a call, which takes its own time."
        ),
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--metrics", default="answer_relevance")
    parser.add_argument("--formats", nargs="+", default=["jsonl"])
    parser.add_argument("--judgments", type=int, default=200_000)
    parser.add_argument("--step", nargs="+", help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.step:
        name, *given = a.step
        if name == "evaluate":
            found = evaluate(Path(given[0]), Path(given[1]), given[2])
        elif name == "journal":
            found = journal(Path(given[0]), int(given[1]))
        elif name == "huge":
            found = huge(given[0], int(given[1]), int(given[2]), Path(given[3]))
        else:
            found = {"summary": summary, "resume": resume}[name](Path(given[0]))
        print(json.dumps(found))
        return
    result = measure(a.rows, a.metrics, a.formats, a.judgments)
    text = table(result)
    print(text)
    (RESULTS / "scale.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    (RESULTS / "scale.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
