"""The bound in practice: a client that only sends the very requests of ours, and parses the JSON of
the answers.

    python bare.py --bench FOLDER --bodies bodies.jsonl --rows rows.json --n 100 ... (arguments of
    the common bench)

One aiohttp session, so many workers as may be in flight, the bodies ready as bytes: no prompt is
made, no verdict read, nothing kept.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
from itertools import islice
from pathlib import Path
from typing import Any

CALLS_A_ROW = 3


def load(a: Any) -> list[bytes]:
    """Import, and read the requests."""
    importlib.import_module("aiohttp")
    importlib.import_module("orjson")
    with Path(BODIES).open("rb") as lines:
        return [line.rstrip(b"\n") for line in islice(lines, CALLS_A_ROW * a.n)]


def evaluate(bodies: list[bytes], rows: list[Any], a: Any) -> dict[str, list[float]]:
    """Send them all; 1.0 for each row."""
    import aiohttp
    import orjson

    async def main() -> None:
        left = iter(bodies)
        headers = {"Content-Type": "application/json"}
        connector = aiohttp.TCPConnector(limit=a.concurrency)
        async with aiohttp.ClientSession(connector=connector, headers=headers) as session:

            async def worker() -> None:
                for body in left:
                    async with session.post(
                        f"{a.base_url}/chat/completions", data=body
                    ) as response:
                        orjson.loads(await response.read())

            await asyncio.gather(*(worker() for _ in range(a.concurrency)))

    asyncio.run(main())
    return {"sent": [1.0] * len(rows)}


def _taken(option: str) -> str:
    at = sys.argv.index(option)
    value = sys.argv[at + 1]
    del sys.argv[at : at + 2]
    return value


if __name__ == "__main__":
    sys.path.insert(0, f"{_taken('--bench')}/peers")
    BODIES = _taken("--bodies")
    importlib.import_module("common").run("bare", load, evaluate)
