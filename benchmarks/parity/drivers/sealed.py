"""How does a driver reach the rows and nothing else? It reads a file, opens no connection, and
prints JSON.

A driver runs in the throw-away environment of one peer. It hands the verdicts of every row to the
peer's own metric code and prints what that gives: a number, or why there is none. NaN and
exceptions are what a user would see, so they are kept as they come.
"""

from __future__ import annotations

import json
import logging
import math
import socket
import sys
import warnings
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn, SupportsFloat

from benchmarks.parity.rows import Row

Compute = Callable[[Row], Any]


def refuse(*_: object, **__: object) -> NoReturn:
    """Stands for every connection: a driver has no business on a network."""
    raise ConnectionError("drivers use no network")


def run(package: str, metrics: Mapping[str, Compute]) -> None:
    """Compute every metric on every row of the file named on the command line; print the values as
    one JSON object.
    """
    socket.socket.connect = refuse  # type: ignore[method-assign]
    socket.getaddrinfo = refuse
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    rows: list[Row] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    values = {
        name: {row["id"]: outcome(compute, row) for row in rows}
        for name, compute in metrics.items()
    }
    result = json.dumps({"version": version(package), "values": values})
    Path(sys.argv[2]).write_text(result + "\n", encoding="utf-8")


def outcome(compute: Compute, row: Row) -> dict[str, float | str]:
    """The value as {"value": x}, or {"absent": what a user sees instead}."""
    try:
        value: SupportsFloat | None = compute(row)
        if value is None:
            return {"absent": "None"}
        number = float(value)
    except Exception as error:  # whatever the peer raises is its answer
        return {"absent": f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"}
    return {"value": number} if math.isfinite(number) else {"absent": str(number)}
