"""Speed of the offline model, alone in one process with its weights loaded.

Three shapes: what the network reads at most at once, a claim and a window of 384 tokens together; a
claim as it is judged, with a passage of 357 tokens of which a window of 224 is read, twice where
the words make two sentences; and a row of the triad (4 contexts of 100 words, 4 claims, a question,
the response). No text is used twice, so that no cache helps.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.offline_judge.labelled import claims

from ragassay.core import MatchCall
from ragassay.models.offline import OfflineModel
from ragassay.models.offline.engine import Engine
from ragassay.models.offline.windows import NetworkInput
from ragassay.models.offline.wordpiece import WordPiece

WINDOW, CLAIM = 384, 24
SEED = 20261120
_WEIGHTS = Path(__file__).parents[2] / "src/ragassay/models/offline/weights"


def measured(data: Path, rows: int = 200, windows: int = 300) -> dict[str, Any]:
    """Rows a second, milliseconds a window, and the sizes of the files that the card names."""
    card = json.loads((_WEIGHTS / "card.json").read_text(encoding="utf-8"))
    tests = claims(data, "test", ("wice", "factcheck_gpt"))
    triads = _triads(tests, rows + 10)
    wall, cpu = _timed(
        [call for row in triads[:10] for call in row], [call for row in triads[10:] for call in row]
    )
    full = list(_windows(tests, windows + 10))
    wall_claim, cpu_claim = _timed(full[:10], full[10:])
    wall_window, cpu_window = _read(full[:10], full[10:])
    return {
        "rows": rows,
        "rows_per_second": rows / wall,
        "cpu_ms_per_row": 1000 * cpu / rows,
        "windows": windows,
        "ms_per_window": 1000 * wall_window / windows,
        "cpu_ms_per_window": 1000 * cpu_window / windows,
        "ms_per_claim": 1000 * wall_claim / windows,
        "cpu_ms_per_claim": 1000 * cpu_claim / windows,
        "bytes": {name: (_WEIGHTS / name).stat().st_size for name in sorted(card["files"])},
    }


def _timed(warm: list[MatchCall], calls: list[MatchCall]) -> tuple[float, float]:
    model = OfflineModel()
    model.score(warm)
    wall, cpu = time.perf_counter(), time.process_time()
    model.score(calls)
    return time.perf_counter() - wall, time.process_time() - cpu


def _read(warm: list[MatchCall], calls: list[MatchCall]) -> tuple[float, float]:
    """The network alone, over a claim and all of its passage: WINDOW tokens."""
    engine = Engine.load(_WEIGHTS)

    def whole(call: MatchCall) -> NetworkInput:
        text, window = (engine.tokenizer.ids(one, WINDOW) for one in (call.text, call.passages[0]))
        ids = (engine.tokenizer.start, *text, engine.tokenizer.end, *window)
        return NetworkInput((*ids[: WINDOW - 1], engine.tokenizer.end), len(text))

    pairs = [whole(call) for call in (*warm, *calls)]
    assert sum(len(one.ids) for one in pairs) > 0.99 * WINDOW * len(pairs)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(engine.reader.read, pairs[: len(warm)]))
        wall, cpu = time.perf_counter(), time.process_time()
        list(pool.map(engine.reader.read, pairs[len(warm) :]))
        return time.perf_counter() - wall, time.process_time() - cpu


def _windows(tests: list[Any], count: int) -> Iterator[MatchCall]:
    """Claims of CLAIM tokens, each with a passage of its own that fills the rest of a window."""
    tokenizer = WordPiece((_WEIGHTS / "vocab.txt").read_text(encoding="utf-8").split("\n"))

    def tokens(words: list[str]) -> int:
        return len(tokenizer.encode(" ".join(words), 2 * WINDOW)) - 2

    words = [word for one in tests for word in " ".join(one.call.passages).split()]
    at = 0

    def taken(room: int) -> str:
        """The next words that just fit into so many tokens."""
        nonlocal at
        size = room // 2
        while tokens(words[at : at + size + 1]) <= room:
            size += 1
        at += size
        return " ".join(words[at - size : at])

    for _ in range(count):
        yield MatchCall("support", taken(CLAIM), (taken(WINDOW - CLAIM - 3),))


def _triads(tests: list[Any], count: int) -> list[list[MatchCall]]:
    chosen = random.Random(SEED)
    contexts, said, questions = [], [], []
    for one in tests:
        words = one.call.passages[0].split()
        contexts += [" ".join(words[at : at + 100]) for at in range(0, len(words) - 100, 100)]
        said.append(one.call.text)
        if one.call.question:
            questions.append(one.call.question)
    made = []
    for _ in range(count):
        passages, four = tuple(chosen.sample(contexts, 4)), chosen.sample(said, 4)
        question = chosen.choice(questions)
        made.append(
            [MatchCall("relevance", question, (passage,)) for passage in passages]
            + [MatchCall("support", claim, passages, question) for claim in four]
            + [MatchCall("answer", question, (" ".join(four),))]
        )
    return made
