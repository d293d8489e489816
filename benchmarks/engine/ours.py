"""Our driver for the common bench: the triad over its rows, with the arguments and the result line
of its peers' drivers.

    python ours.py --bench FOLDER --rows rows.json --n 100 --concurrency 32 --base-url URL --out
    result.json

Set-up, timed apart like that of the peers: imports and a run over one row, after which the server's
books start anew. Timed: `ragassay.evaluate` from the file of rows to the scores, journal, store and
summary included.
"""

from __future__ import annotations

import importlib
import json
import sys
import urllib.request
from pathlib import Path
from typing import Any

METRICS = "context_relevance, groundedness, answer_relevance"


def load(a: Any) -> Any:
    """Import, and run one row, so that what Python loads on first use is loaded."""
    import ragassay

    rows = json.loads(Path(a.rows).read_text(encoding="utf-8"))[: a.n]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    first = [{**rows[0], "id": "first", "question": "Which row is the first of all?"}]
    ragassay.evaluate(first, METRICS, **_options(a))
    root = a.base_url.removesuffix("/v1")
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
        f"{root}/reset", data=b"", timeout=10
    ).close()
    return ragassay


def evaluate(ragassay: Any, rows: list[dict[str, Any]], a: Any) -> dict[str, list[float | None]]:
    """The scores of all rows, by metric."""
    with ragassay.evaluate("rows.jsonl", METRICS, **_options(a)) as run:
        assert run.summary.pending == run.summary.bad == 0
        table: dict[str, dict[str, float | None]] = {}
        for row in run.rows():
            for score in row.scores:
                counts = score.counts
                whole = counts.judged == counts.asked
                table.setdefault(score.metric, {})[row.sample.id] = score.value if whole else None
    return {name: [by.get(row["id"]) for row in rows] for name, by in table.items()}


def _options(a: Any) -> dict[str, Any]:
    return {
        "judge": f"openai:{a.model}",
        "base_url": a.base_url,
        "store": "store.db",
        "concurrency": a.concurrency,
        "cache": False,
    }


if __name__ == "__main__":
    at = sys.argv.index("--bench")
    sys.path.insert(0, f"{sys.argv[at + 1]}/peers")
    del sys.argv[at : at + 2]
    importlib.import_module("common").run("ragassay", load, evaluate)
