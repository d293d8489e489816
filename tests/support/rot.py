"""What does a damaged store show? Journals cut at any byte, flipped bits, zeroed blocks, swapped
pages.

Never a wrong value: whatever reads the store either gives exactly what was stored, or says that it
is damaged.
"""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

import ragassay
from ragassay.core import Judgment, Manifest, RagAssayError, Status
from ragassay.report import row_json, summary_json
from ragassay.store import Store
from ragassay.testing import LLMServer
from support.faults import Clock, dice, make_rows

PAGE, WAL_HEAD, FRAME_HEAD = 4096, 32, 24
Damage = Callable[[bytearray, Random], None]


def make_store(folder: Path, rows: int = 12) -> Path:
    """A finished run in a store that nobody has open."""
    with LLMServer() as server:
        ragassay.evaluate(
            make_rows(rows),
            store=folder / "whole.db",
            judge="openai:mock",
            base_url=server.url,
            price="1,2",
            name="rot",
        ).close()
    return folder / "whole.db"


def everything(path: Path) -> dict[str, Any]:
    """All values that a reader can be shown, each read in its own way: rows, lines, judgments, run,
    summary.
    """
    with Store.open(path) as store:
        run_id = store.resolve("last")
        stored = store.run(run_id)
        rows = list(store.rows(run_id))
        keys = sorted(
            {part.key for row in rows for score in row.scores for part in score.parts if part.key}
        )
        prints = sorted(set(stored.manifest.judge.fingerprints.values()))
        judgments = store.get_judgments([(one, key) for one in prints for key in keys])
        worst = [row.id for row in store.rows(run_id, order="worst")]
        values = {
            "rows": [row_json(row) for row in rows],
            "worst": worst,
            "by id": [
                row_json(found) for row in rows if (found := store.row(run_id, row.id)) is not None
            ],
            "lines": [repr(line) for line in store.score_lines(run_id)],
            "judgments": {json.dumps(asdict(j), default=str) for j in judgments.values()},
            "manifest": asdict(stored.manifest),
            "ledger": asdict(stored.ledger),
            "run": [stored.state.value, stored.rows, stored.done, stored.bad],
        }
    with ragassay.open_run(store=path) as run:
        values["summary"] = summary_json(run.summary)
    return values


def flip(data: bytearray, chance: Random) -> None:
    """One bit."""
    at = chance.randrange(len(data))
    data[at] ^= 1 << chance.randrange(8)


def zero(data: bytearray, chance: Random) -> None:
    """A block of 512 or 4,096 bytes."""
    size = chance.choice((512, PAGE))
    at = chance.randrange(len(data) // size) * size
    data[at : at + size] = bytes(size)


def swap(data: bytearray, chance: Random) -> None:
    """Two pages change places."""
    a, b = (chance.randrange(1, len(data) // PAGE) * PAGE for _ in range(2))
    data[a : a + PAGE], data[b : b + PAGE] = data[b : b + PAGE], data[a : a + PAGE]


def shorten(data: bytearray, chance: Random) -> None:
    """The end is missing."""
    del data[chance.randrange(len(data)) :]


def scribble(data: bytearray, chance: Random) -> None:
    """A few bytes overwritten, removed or inserted."""
    for _ in range(chance.randint(1, 8)):
        at = chance.randrange(len(data))
        word = chance.randbytes(chance.randint(1, 16))
        kind = chance.random()
        if kind < 0.8:
            data[at : at + len(word)] = word
        elif kind < 0.9:
            del data[at : at + len(word)]
        else:
            data[at:at] = word


DAMAGES: dict[str, Damage] = {
    "bit": flip,
    "zero": zero,
    "swap": swap,
    "shorten": shorten,
    "bytes": scribble,
}


def rot(
    folder: Path,
    *,
    times: int,
    seed: int = 0,
    seconds: float = 1e9,
    kinds: tuple[str, ...] = tuple(DAMAGES),
) -> dict[str, Any]:
    """So many damages, or as many as fit into the seconds. harmless: in what holds no value, and
    everything reads the same; said: by an error of ours, or by `Store.check`; wrong: values that
    differ without a word.
    """
    whole = make_store(folder)
    truth, data, chance = everything(whole), whole.read_bytes(), dice(seed)
    counts = {"done": 0, "said": 0, "harmless": 0, "wrong": 0, "untyped": 0}
    problems: list[str] = []
    end, clock = time.monotonic() + seconds, Clock()
    while counts["done"] < times and time.monotonic() < end and not clock.over:
        kind = kinds[counts["done"] % len(kinds)]
        counts["done"] += 1
        damaged = bytearray(data)
        DAMAGES[kind](damaged, chance)
        target = folder / "rotten.db"
        for path in folder.glob("rotten.db*"):
            path.unlink()
        target.write_bytes(damaged)
        try:
            seen = everything(target)
        except RagAssayError:
            counts["said"] += 1
        except Exception as error:
            counts["untyped"] += 1
            problems.append(f"{kind} {counts['done']}: {type(error).__name__}: {str(error)[:150]}")
        else:
            # What is not found by its key (a judgment is then bought again, a row is said not to be
            # there) is no wrong value. One that differs is.
            if all(row in truth["by id"] for row in seen["by id"]):
                seen["by id"] = truth["by id"]
            seen["judgments"] = (
                truth["judgments"] if seen["judgments"] <= truth["judgments"] else seen["judgments"]
            )
            if seen == truth:
                counts["harmless"] += 1
            else:
                with Store.open(target) as store:
                    said = store.check()
                differ = [name for name in truth if seen[name] != truth[name]]
                counts["said" if said else "wrong"] += 1
                if not said or set(differ) & {
                    "rows",
                    "by id",
                    "lines",
                    "judgments",
                    "ledger",
                    "summary",
                }:
                    problems.append(
                        f"{kind} {counts['done']}: {differ} differ; check says {said[:2]}"
                    )
                    counts["wrong"] += bool(said)
    return {**counts, "problems": problems}


def cut_journal(folder: Path, *, times: int, seed: int = 0) -> dict[str, Any]:
    """The write-ahead journal cut at so many bytes of its end (all of them where times is 0): what
    is found must be exactly what had been committed by then.
    """
    chance, path = dice(seed), folder / "live.db"
    Store.open(path).close()  # the tables are in the file itself
    with Store.open(path) as store:
        store.create_run(_manifest())
        base = _frames((folder / "live.db-wal").read_bytes())[1]
        for number in range(60):
            store.put_judgments("run-1", [_judgment(number)])
        wal, data = (folder / "live.db-wal").read_bytes(), path.read_bytes()
    commits = _commits(wal)
    first = max(0, len(wal) - 65536)
    cuts = (
        range(first, len(wal) + 1)
        if times == 0
        else sorted(chance.randint(first, len(wal)) for _ in range(times))
    )
    wrong = done = 0
    clock = Clock()
    chance.shuffle(order := list(cuts))
    for cut in order:
        if clock.over:
            break
        done += 1
        target = folder / "cut.db"
        for old in folder.glob("cut.db*"):
            old.unlink()
        target.write_bytes(data)
        target.with_name("cut.db-wal").write_bytes(wal[:cut])
        expected = sum(end <= cut for end in commits) - base
        with Store.open(target) as store:
            found = store.get_judgments([("judge", f"key-{n}") for n in range(60)])
            sound = store.check()
        right = {key for _, key in found} == {f"key-{n}" for n in range(max(0, expected))}
        wrong += not right or bool(sound)
    return {"cuts": done, "wrong": wrong, "commits": len(commits)}


def rotten_journal(folder: Path, *, times: int, seed: int = 0) -> dict[str, Any]:
    """A bit of the journal flipped: what is found is a prefix of what was committed."""
    chance, path, wrong = dice(seed), folder / "rotten-live.db", 0
    Store.open(path).close()
    with Store.open(path) as store:
        store.create_run(_manifest())
        for number in range(40):
            store.put_judgments("run-1", [_judgment(number)])
        wal, data = (folder / "rotten-live.db-wal").read_bytes(), path.read_bytes()
    clock, done = Clock(), 0
    for _ in range(times):
        if clock.over:
            break
        done += 1
        target = folder / "flip.db"
        for old in folder.glob("flip.db*"):
            old.unlink()
        broken = bytearray(wal)
        flip(broken, chance)
        target.write_bytes(data)
        target.with_name("flip.db-wal").write_bytes(broken)
        try:
            with Store.open(target) as store:
                found = {
                    key
                    for _, key in store.get_judgments([("judge", f"key-{n}") for n in range(40)])
                }
                sound = store.check()
        except RagAssayError:
            continue
        wrong += found != {f"key-{n}" for n in range(len(found))} or bool(sound)
    return {"flips": done, "wrong": wrong}


def _manifest() -> Manifest:
    from ragassay.core import JudgeInfo

    info = JudgeInfo(
        "offline", {"groundedness": "groundedness@1"}, {"groundedness": "f" * 32}, "unmeasured"
    )
    return Manifest(
        "run-1", "2026-01-01T00:00:00Z", "0.1.0", "memory", "h", 3, {}, ("groundedness",), info
    )


def _judgment(number: int) -> Judgment:
    return Judgment(
        f"key-{number}",
        "judge",
        "groundedness@1",
        Status.JUDGED,
        2,
        0.5,
        rationale="word " * (number * 7 % 90),
    )


def _frames(wal: bytes) -> tuple[int, int]:
    """(frames, commits) of a journal."""
    return (len(wal) - WAL_HEAD) // (FRAME_HEAD + PAGE), len(_commits(wal))


def _commits(wal: bytes) -> list[int]:
    """The byte at which each commit is complete."""
    found, at = [], WAL_HEAD
    salt = wal[16:24]
    while at + FRAME_HEAD + PAGE <= len(wal) and wal[at + 8 : at + 16] == salt:
        size = struct.unpack_from(">I", wal, at + 4)[0]
        at += FRAME_HEAD + PAGE
        if size:
            found.append(at)
    return found
