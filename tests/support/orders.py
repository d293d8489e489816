"""Do results depend on how calls overlap? One run after another over recorded answers that arrive
in another order each time.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ragassay
from ragassay.report import as_json, summary_json
from ragassay.testing import LLMServer
from support.invariants import canonical, check_ledger, check_run

METRICS = (
    "groundedness, faithfulness, context_relevance, chunk_relevance, answer_relevance, abstention,"
    " context_precision, app_cost"
)
_TIMES = frozenset(
    {"latency", "seconds", "created", "checked", "duration", "run_id", "concurrency"}
)


def rows(count: int) -> list[dict[str, Any]]:
    """Rows of which many share contexts and questions, so that calls have twins in flight."""
    return [
        {
            "id": f"r{n}",
            "question": f"When was bridge {n % 7} built?",
            "reference": f"In 19{n % 7:02}.",
            "contexts": [
                f"Bridge {n % 5} was built in 19{n % 5:02}.",
                "Trams run on it.",
                f"It is number {n % 3}.",
            ],
            "response": f"Bridge {n % 7} was built in 19{n % 7:02}. It is red. Trams run on it.",
            "cost": n / 100,
            "slices": {"kind": str(n % 3)},
            "cluster": f"c{n % 7}",
        }
        for n in range(count)
    ]


@contextmanager
def server() -> Iterator[LLMServer]:
    """A server that answers a prompt always alike, and when it likes: the seed says the order."""
    with LLMServer(latency=0.004, sigma=1.0, keep_bodies=False, price=(1.0, 2.0)) as made:
        yield made


def prints(
    asked: LLMServer, count: int, concurrency: int, seed: int, folder: Path
) -> dict[str, str]:
    """Digests of what a run says under this overlap: rows, summary, page and exports."""
    asked.script(seed=seed, reset=True)
    store = folder / f"{concurrency}-{seed}.db"
    with ragassay.evaluate(
        rows(count),
        METRICS,
        judge="openai:mock",
        base_url=asked.url,
        concurrency=concurrency,
        price="1,2",
        store=store,
    ) as run:
        check_run(store, run.id)
        check_ledger(run.ledger, asked.stats(), complete=True)
        said = {
            "rows": canonical(store, run.id),
            "summary": (
                json.dumps(
                    _still(as_json(summary_json(run.summary)), run.id), sort_keys=True
                ).encode()
            ),
            "page": _page(run.html(folder / "page.html").read_text(), run),
            "jsonl": run.export(folder / "rows.jsonl").read_bytes(),
            "csv": run.export(folder / "rows.csv").read_bytes(),
            "calls": str(asked.stats()["answers"]).encode(),
        }
        said["text"] = _page(str(run), run)
    return {name: hashlib.sha256(data).hexdigest() for name, data in said.items()}


def _still(value: Any, run: str) -> Any:
    """Without what no two runs share: their name, when they were and how long they took."""
    if isinstance(value, dict):
        return {name: _still(item, run) for name, item in value.items() if name not in _TIMES}
    if isinstance(value, list):
        return [_still(item, run) for item in value]
    return value.replace(run, "RUN") if isinstance(value, str) else value


def _page(text: str, run: ragassay.Run) -> bytes:
    """The page without the run's name, its time and how long it took."""
    text = (
        text.replace(run.id, "RUN")
        .replace(run.manifest.created, "TIME")
        .replace(run.manifest.created[:10], "DAY")
    )
    text = text.replace(run.store_location, "STORE").replace(Path(run.store_location).name, "STORE")
    text = re.sub(r"\d\d:\d\d(:\d\d)?", "CLOCK", text)
    return re.sub(r"\d+(\.\d+)? (s|ms|min|seconds?)\b", "TOOK", text).encode()
