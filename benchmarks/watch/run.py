"""What `ragassay watch` promises: false alarms, delays, power, bands and the map.

    python benchmarks/watch/run.py [--streams 2000] [--days 5000] [--evidently VENV]
        [--only NAME,...] [--no-write]

Streams are of sessions (1 to 6 rows of one session's own quality) with a daily season whose lowest
hour lies at the mark, where an alarm is hardest to hold back. Asked: at most alpha + 1 point of
2,000 such streams alarm; power at least 90 % of a test of fixed size; the band of a reweighted rate
covers the day's true rate on 94 to 96 % of days; a map of 20,000 points within 10 s and 400 MB,
twice the same bytes. Beside them, what Evidently tells by its defaults of the same streams of three
scalars, a day against the first one (evidently_days.py): --evidently names a virtual environment of
its own that it is installed in.

The test of fixed size knows when to look, and looks once; an alarm that keeps its promise at every
look pays for that. The column "best bet" says how much: the largest share of the streams that one
steady bet reaches, told the fall beforehand and with the whole capital from the first session on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src"), str(ROOT / "tests")]
RESULTS = ROOT / "benchmarks/results"

import numpy as np

from ragassay.scoring.evidence import DriftAlarm, MarkAlarm, Observed
from ragassay.scoring.intervals import t_quantile
from ragassay.scoring.point_map import point_map
from ragassay.scoring.reweighted import reweighted_mean
from ragassay.scoring.word_vectors import word_vectors
from ragassay.store import Store
from ragassay.store.watches import JUDGED, NAMED, PENDING, UNSAMPLED, WatchRow
from ragassay.watch import sampling
from ragassay.watch.counting import Drift
from ragassay.watch.figures import rates_of, response_shares
from support.steady_traffic import SteadyTraffic

SEED, ALPHA, MARK = 20261123, 0.05, 0.8
SESSIONS, DAY = 1_000, 100
"""Sessions of a stream, and of a day."""
SINGLE_BETS = np.geomspace(0.01, 0.5, 30)
"""Relative falls that a bet alone is tried for."""
DAYS, A_DAY = 10, 120
"""Days of a stream of scalars, and sessions of a day."""
TRAFFIC_SPREAD = 1.04
"""Standard deviation of the lengths of the responses of `SteadyTraffic`."""
FEWER = 500
"""Streams that do drift and are given to Evidently, of which one takes 30 ms."""


def season(at: np.ndarray[Any, Any], swing: float) -> np.ndarray[Any, Any]:
    """From 0 at the lowest hour to `swing` at the highest."""
    return swing * (1 - np.cos(2 * np.pi * at / DAY)) / 2


def stream(
    rng: np.random.Generator, mean: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """(rows that pass, rows) of each session, whose own rate is spread about its mean (beta)."""
    size = rng.integers(1, 7, len(mean))
    strength = 4.0
    rate = rng.beta(strength * mean, strength * (1 - mean))
    return rng.binomial(size, rate), size


def marks_held(streams: int) -> dict[str, Any]:
    """Streams at the mark: how many alarm, in 1,000 sessions, with and without sampling."""
    found = {}
    for name, swing in (("at the mark all day", 0.0), ("a season above the mark", 0.1)):
        rng = np.random.default_rng(SEED)
        alarmed = [_both(rng, swing) for _ in range(streams)]
        found[f"{name}, all rows"] = sum(every for every, _ in alarmed) / streams
        found[f"{name}, a tenth sampled"] = sum(some for _, some in alarmed) / streams
    return found


def _both(rng: np.random.Generator, swing: float) -> tuple[bool, bool]:
    """Whether a stream alarms with all rows judged, and with a tenth of the sessions."""
    passed, size = stream(rng, MARK + season(np.arange(SESSIONS), swing))
    sampled = rng.random(SESSIONS) < 0.1
    every, some = (MarkAlarm.fresh(MARK, "ever", ALPHA) for _ in range(2))
    told = [False, False]
    for at in range(SESSIONS):
        rows = [Observed(1.0)] * int(passed[at])
        rows += [Observed(0.0)] * int(size[at] - passed[at])
        told[0] = told[0] or every.add(rows, len(rows))
        if sampled[at]:
            fewer = [Observed(row.value, 0.1) for row in rows]
            told[1] = told[1] or some.add(fewer, len(rows), 0.1)
        if told[0] and told[1]:
            break
    return told[0], told[1]


def delays(streams: int) -> list[dict[str, Any]]:
    """Sessions from a fall to the alarm, after 500 good sessions at 0.85 with the mark at 0.8."""
    found = []
    for fallen in (0.75, 0.7, 0.6, 0.4):
        for promise, guarantee, level in (
            ("5 % ever", "ever", 0.05),
            ("one in 10,000", "between", 10_000.0),
        ):
            rng = np.random.default_rng(SEED + 1)
            waited = []
            for _ in range(streams):
                mean = np.where(np.arange(2_500) < 500, 0.85, fallen)
                passed, size = stream(rng, mean)
                alarm = MarkAlarm.fresh(MARK, guarantee, level)  # type: ignore[arg-type]
                at = _first_alarm(alarm, passed, size)
                # An alarm before the fall is a false one, told apart.
                if at is None or at >= 500:
                    waited.append(math.inf if at is None else at - 499)
            median, ninth = np.quantile(waited, (0.5, 0.9), method="higher")
            false = 1 - len(waited) / streams
            found.append(
                {"to": fallen, "promise": promise, "median": median, "p90": ninth, "early": false}
            )
    return found


def _first_alarm(
    alarm: MarkAlarm, passed: np.ndarray[Any, Any], size: np.ndarray[Any, Any]
) -> int | None:
    for at in range(len(size)):
        rows = [Observed(1.0)] * int(passed[at])
        rows += [Observed(0.0)] * int(size[at] - passed[at])
        if alarm.add(rows, len(rows)):
            return at
    return None


def power(streams: int) -> list[dict[str, Any]]:
    """Alarms within 1,000 sessions below the mark, beside one t-test of all 1,000 at their end."""
    found = []
    for below in (0.01, 0.02, 0.03, 0.04, 0.06):
        rng = np.random.default_rng(SEED + 2)
        alarms = tests = 0
        reached = np.zeros(len(SINGLE_BETS))
        for _ in range(streams):
            passed, size = stream(rng, np.full(SESSIONS, MARK - below))
            alarms += _first_alarm(MarkAlarm.fresh(MARK, "ever", ALPHA), passed, size) is not None
            means = passed / size
            t = (means.mean() - MARK) / (means.std(ddof=1) / math.sqrt(SESSIONS))
            tests += t < -t_quantile(1 - ALPHA, SESSIONS - 1)
            grown = np.cumsum(np.log1p(-np.outer(SINGLE_BETS, means - MARK) / (1 - MARK)), axis=1)
            reached += grown.max(axis=1) >= -math.log(ALPHA)
        best = float(reached.max()) / streams
        found.append(
            {"below": below, "alarm": alarms / streams, "test": tests / streams, "best": best}
        )
    return found


def drift(streams: int, evidently: Path | None) -> dict[str, Any]:
    """Ten days of three scalars with a daily season: how many streams are told to drift, by ours
    and by Evidently; and how many that do drift after five days.
    """
    found: dict[str, Any] = {}
    for name, moved in (("none", 0.0), ("half a standard deviation", 0.5), ("one", 1.0)):
        rng = np.random.default_rng(SEED + 3)
        hour = np.tile(np.arange(A_DAY) * 24 // A_DAY, DAYS)
        values = rng.normal(size=(streams, DAYS * A_DAY, 3))
        values += np.sin(hour / 24 * 2 * np.pi)[:, None]
        values[:, DAYS // 2 * A_DAY :, 0] += moved
        ours = sum(_told(each, hour, rng) for each in values)
        found[name] = {"ours": ours / streams}
        if evidently is not None:
            some = values if not moved else values[:FEWER]
            found[name]["evidently"] = {"streams": len(some), **_evidently(some, evidently)}
    return found


def _evidently(values: np.ndarray[Any, Any], venv: Path) -> dict[str, Any]:
    """What Evidently tells of streams, in its own environment."""
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        np.save(file, values)
        file.flush()
        script = Path(__file__).with_name("evidently_days.py")
        command = [str(venv / "bin/python"), str(script), file.name, str(DAYS)]
        done = subprocess.run(command, capture_output=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _told(
    values: np.ndarray[Any, Any], hour: np.ndarray[Any, Any], rng: np.random.Generator
) -> bool:
    alarms = [DriftAlarm.fresh(Drift.ALPHA / Drift.SCALARS) for _ in range(values.shape[1])]
    ties = rng.random(len(values))
    for row, at, tie in zip(values.tolist(), hour.tolist(), ties.tolist(), strict=True):
        for alarm, value in zip(alarms, row, strict=True):
            if alarm.add(value, at, tie):
                return True
    return False


def waiting(streams: int) -> dict[str, float]:
    """Three days of 40 rows an hour, three in ten suspicious and all of these sampled, while the
    judge has room for a third of what is sampled: the share of steady streams that are told to
    drift, and of those whose responses become half a standard deviation longer after two days.
    """
    told = {"steady": 0, "longer by a half": 0}
    for name in told:
        for seed in range(streams):
            with (
                tempfile.TemporaryDirectory() as folder,
                Store.open(Path(folder) / "store.db") as store,
            ):
                traffic = SteadyTraffic(store, SEED + seed)
                for hour in range(72):
                    changed = name != "steady" and hour >= 48
                    traffic.hour(shift=0.5 * TRAFFIC_SPREAD if changed else 0.0)
                told[name] += bool(traffic.alerts)
    return {"streams": streams, **{name: each / streams for name, each in told.items()}}


def bands(days: int) -> list[dict[str, Any]]:
    """Days of sessions, sampled by session, suspicious rows five times as often: how often the band
    covers the rate of all rows of the day.
    """
    found = []
    for share, sessions, rate in (
        (0.1, 2_000, 0.8),
        (0.1, 2_000, 0.95),
        (0.1, 1_400, 0.97),
        (0.1, 1_000, 0.98),
        (0.1, 600, 0.7),
        (0.1, 200, 0.85),
        (0.3, 1_000, 0.85),
        (0.02, 8_000, 0.8),
        (0.01, 3_000, 0.9),
    ):
        rng = np.random.default_rng(SEED + 4)
        covered, widths = 0, []
        for _ in range(days):
            mean = rate + season(np.arange(sessions) * DAY / sessions, 0.1 * (1 - rate))
            passed, size = stream(rng, mean)
            code = np.repeat(np.arange(sessions), size)
            order = np.arange(len(code)) - np.repeat(np.cumsum(size) - size, size)
            good = (order < passed[code]).astype(float)
            suspicious = rng.random(len(code)) < np.where(good == 1, 0.05, 0.4)
            chance = np.where(suspicious, min(1.0, 5 * share), share)
            inside = rng.random(sessions)[code] < chance
            result = reweighted_mean(good[inside], chance[inside], code[inside])
            if result.interval is not None:
                low, high = result.interval.low, result.interval.high
                covered += low - 1e-12 <= good.mean() <= high + 1e-12
                widths.append(high - low)
        found.append(
            {
                "sample": share,
                "sessions": sessions,
                "rate": rate,
                "covered": covered / days,
                "width": float(np.mean(widths)),
            }
        )
    return found


def bands_under_budgets(days: int) -> list[dict[str, Any]]:
    """Days in 48 steps, a tenth of the sessions going on in the next one: at each step the watch
    judges what its budget allows of what waits. How often the band covers the rate of all rows that
    it stands for, how far the rate is off, and the share of the day that is in no rate.
    """
    found = []
    for budget, a_step, a_day in (
        ("none", 10**9, 10**9),
        ("half of what is sampled, at every step", 16, 10**9),
        ("used up at half past three in the afternoon", 10**9, 1_000),
        ("a third of what is sampled, used up in the evening", 11, 450),
    ):
        rng = np.random.default_rng(SEED + 6)
        covered, off, unseen = [], [], []
        for day in range(days):
            rows = _watched_day(rng, day, a_step, a_day)
            sampled = [row for row, _ in rows if row.state != UNSAMPLED]
            shares = response_shares(sampled)
            seen = [good for row, good in rows if shares.get(row.figures["taken"], 0) > 0]
            (passes,) = rates_of(sampled, shares)
            truth = float(np.mean(seen))
            unseen.append(1 - len(seen) / len(rows))
            assert passes.value is not None
            off.append(passes.value - truth)
            if passes.interval is not None:
                covered.append(passes.interval.low <= truth <= passes.interval.high)
        found.append(
            {
                "budget": budget,
                "covered": float(np.mean(covered)),
                "off": float(np.mean(off)),
                "unseen": float(np.mean(unseen)),
            }
        )
    return found


def _watched_day(
    rng: np.random.Generator, day: int, a_step: int, a_day: int
) -> list[tuple[WatchRow, float]]:
    """The rows of a day with whether each is right, as the watch leaves them."""
    sessions, steps, share = 1_500, 48, 0.3
    mean = 0.8 + season(np.arange(sessions) * DAY / sessions, 0.15)
    passed, size = stream(rng, mean)
    rows: list[tuple[WatchRow, float]] = []
    for number in range(sessions):
        code = NAMED + hashlib.sha256(f"{day}/{number}".encode()).digest()[:12]
        goes_on = rng.random() < 0.1
        for each in range(size[number]):
            good = float(each < passed[number])
            taken = number * steps // sessions + (goes_on and each > size[number] // 2)
            chance = min(1.0, share * (5 if rng.random() < (0.05 if good else 0.4) else 1))
            inside = sampling.place(code, day, "sample") < chance
            figures = {"taken": int(taken), "verdicts": {"metric": "pass" if good else "fail"}}
            state = PENDING if inside else UNSAMPLED
            row = WatchRow(len(rows), b"", 0, code, 0, state, "", chance, 0, 0, figures)
            rows.append((row, good))
    left = a_day
    for step in range(steps + 1):
        waiting = [
            at
            for at, (row, _) in enumerate(rows)
            if row.state == PENDING and row.figures["taken"] <= step
        ]
        waiting.sort(key=lambda at: sampling.place(rows[at][0].session, day, "order"))
        judged = waiting[: min(a_step, left)]
        left -= len(judged)
        for at in judged:
            row, good = rows[at]
            rows[at] = (replace(row, state=JUDGED), good)
    return rows


def drawn_map(points: int) -> dict[str, Any]:
    """A map of questions about ten topics: time, memory, and whether twice gives the same bytes."""
    rng = np.random.default_rng(SEED + 5)
    topics = [[f"t{topic}w{word}" for word in range(30)] for topic in range(10)]
    shared = [f"shared{word}" for word in range(200)]
    truth = rng.integers(0, 10, points)
    texts = []
    for topic in truth.tolist():
        own = rng.choice(topics[topic], 5).tolist()
        texts.append(" ".join([*own, *rng.choice(shared, 4).tolist()]))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started, cpu = time.perf_counter(), time.process_time()
    made = point_map(word_vectors(texts), seed=0)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    again = point_map(word_vectors(texts), seed=0)
    digests = []
    for each in (made, again):
        digests.append(hashlib.sha256(each.places.tobytes() + each.cluster.tobytes()).hexdigest())
    pure = 0
    for cluster in range(int(made.cluster.max()) + 1):
        pure += int(np.bincount(truth[made.cluster == cluster]).max())
    return {
        "points": points,
        "seconds": seconds,
        "cpu_seconds": cpu,
        "peak_mb": peak / 1024,
        "before_mb": before / 1024,
        "same bytes": digests[0] == digests[1],
        "clusters": int(made.cluster.max()) + 1,
        "in clusters": float((made.cluster >= 0).mean()),
        "purity": pure / max(1, int((made.cluster >= 0).sum())),
        "neighbours kept": made.kept,
    }


def table(title: str, about: str, head: str, rows: list[str]) -> list[str]:
    """A part of the page."""
    columns = head.count("|") - 1
    return [
        "",
        f"## {title}",
        "",
        *([about, ""] if about else []),
        head,
        "|---" * columns + "|",
        *rows,
    ]


def written(figures: dict[str, Any], command: str) -> str:
    """The figures as a page."""
    lines = ["# Watching traffic: what is promised, and what came out", ""]
    lines.append(f"`{command}`, {platform.platform()}, {figures['when']}")
    pages = {
        "marks": of_marks,
        "delays": of_delays,
        "power": of_power,
        "drift": of_drift,
        "waiting": of_waiting,
        "bands": of_bands,
        "budgets": of_budgets,
        "map": of_map,
    }
    for name, page in pages.items():
        if name in figures:
            lines += page(figures)
    return "\n".join(lines) + "\n"


def of_marks(figures: dict[str, Any]) -> list[str]:
    """Streams whose mark holds."""
    rows = [
        f"| {name} | {share:.1%} | at most 5 % ever |" for name, share in figures["marks"].items()
    ]
    title = f"Streams that hold the mark and alarm ({figures['streams']} each)"
    return table(title, "1,000 sessions each.", "| stream | alarmed | promised |", rows)


def of_delays(figures: dict[str, Any]) -> list[str]:
    """Sessions from a fall to the alarm."""
    rows = []
    for each in figures["delays"]:
        waits = f"{each['median']:.0f} | {each['p90']:.0f} | {each['early']:.1%}"
        rows.append(f"| {each['to']} | {each['promise']} | {waits} |")
    about = "500 sessions at 0.85, then the fall; the mark is 0.8."
    head = "| falls to | promise | median | 90 % | alarmed before |"
    return table("Sessions from a fall to the alarm", about, head, rows)


def of_power(figures: dict[str, Any]) -> list[str]:
    """The alarm beside a test of fixed size."""
    rows = []
    for each in figures["power"]:
        ratio = each["alarm"] / each["test"] if each["test"] else math.nan
        shares = f"{each['alarm']:.1%} | {each['test']:.1%} | {ratio:.2f}"
        bound = each["best"] / each["test"] if each["test"] else math.nan
        rows.append(f"| {each['below']} | {shares} | {each['best']:.1%} | {bound:.2f} |")
    about = (
        "The test knows when to look, and looks once; the alarm keeps its promise at every look."
        " Best bet: what one steady bet reaches that was told the fall beforehand."
    )
    head = "| below the mark by | alarm | t-test | ratio | best bet | its ratio |"
    title = "Power within 1,000 sessions, beside one t-test at their end"
    return table(title, about, head, rows)


def of_drift(figures: dict[str, Any]) -> list[str]:
    """Streams that are told to drift."""
    rows = []
    about = "Three scalars, 120 sessions a day, with a daily season; one scalar moves on day five."
    for name, each in figures["drift"].items():
        told = each.get("evidently")
        theirs = "- | -"
        if told is not None:
            theirs = f"{told['a column']:.1%} | {told['the dataset']:.1%} of {told['streams']}"
        rows.append(f"| {name} | {each['ours']:.1%} | {theirs} |")
    told = figures["drift"]["none"].get("evidently")
    version = "" if told is None else f" {told['version']}"
    if told is not None:
        about += (
            f" Evidently{version} by its defaults, each day against the first. Its test is called"
            f" without the drawing of its report; {told['compared with reports']} figures of whole"
            f" reports lie at most {told['farthest apart']:.1g} from these."
        )
    head = f"| it moves by | ours | Evidently{version}: a column | Evidently: the dataset |"
    return table("Streams of ten days that are told to drift", about, head, rows)


def of_waiting(figures: dict[str, Any]) -> list[str]:
    """Streams that are told to drift while rows wait for a judge."""
    found = figures["waiting"]
    rows = [f"| {name} | {found[name]:.1%} |" for name in ("steady", "longer by a half")]
    about = (
        "Three days of 40 rows an hour; suspicious rows, which are shorter, are all sampled, and"
        " wait for a budget or are dropped after half a day."
    )
    title = f"Streams of which rows wait for a judge ({found['streams']:.0f} each)"
    return table(title, about, "| responses | told to drift |", rows)


def of_bands(figures: dict[str, Any]) -> list[str]:
    """How often bands cover."""
    rows = []
    for each in figures["bands"]:
        shown = f"{each['sample']} | {each['sessions']} | {each['rate']} | {each['covered']:.1%}"
        rows.append(f"| {shown} | {each['width']:.3f} |")
    head = "| sample | sessions | rate | covered | width |"
    return table(f"Bands of reweighted rates ({figures['days']} days each)", "", head, rows)


def of_budgets(figures: dict[str, Any]) -> list[str]:
    """How often bands cover where a budget leaves rows unjudged."""
    rows = [
        f"| {each['budget']} | {each['covered']:.1%} | {each['off']:+.4f} | {each['unseen']:.0%} |"
        for each in figures["budgets"]
    ]
    head = "| budget | covered | off in the mean | rows in no rate |"
    about = "1,500 sessions a day, three in ten sampled, suspicious rows more often, 48 steps."
    title = f"Bands under budgets ({figures['days'] // 10} days each)"
    return table(title, about, head, rows)


def of_map(figures: dict[str, Any]) -> list[str]:
    """Time, memory and bytes of a map."""
    rows = []
    for name, value in figures["map"].items():
        rows.append(
            f"| {name} | {value:.3g} |" if isinstance(value, float) else f"| {name} | {value} |"
        )
    return table("The map", "", "| what | figure |", rows)


def main() -> None:
    """Measure, print, and store."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--streams", type=int, default=2_000)
    parser.add_argument("--days", type=int, default=5_000)
    parser.add_argument("--evidently", type=Path)
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--only", default="map,marks,delays,power,drift,waiting,bands,budgets")
    parser.add_argument("--no-write", action="store_true")
    asked = parser.parse_args()
    chosen = asked.only.split(",")
    figures: dict[str, Any] = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "streams": asked.streams,
        "days": asked.days,
    }
    parts: dict[str, Callable[[], Any]] = {
        "map": lambda: drawn_map(asked.points),
        "marks": lambda: marks_held(asked.streams),
        "delays": lambda: delays(asked.streams // 5),
        "power": lambda: power(asked.streams // 5),
        "drift": lambda: drift(asked.streams, asked.evidently),
        "waiting": lambda: waiting(asked.streams // 20),
        "bands": lambda: bands(asked.days),
        "budgets": lambda: bands_under_budgets(asked.days // 10),
    }
    for name in chosen:
        figures[name] = parts[name]()
    page = written(figures, " ".join(["python", "benchmarks/watch/run.py", *sys.argv[1:]]))
    print(page)
    if not asked.no_write:
        (RESULTS / "watch.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
