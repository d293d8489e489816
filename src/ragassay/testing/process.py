"""The local LLM server as a process of its own, which outlives a client that is killed."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any

from ragassay.testing.prompts import Body
from ragassay.testing.server import LLMServer


class ServerProcess:
    """`python -m ragassay.testing` as a context manager, scripted over HTTP.

        with ServerProcess(latency=0.05) as server:
            server.script(fault_rates={"500": 0.05})
            server.stats()

    settings: the attributes of `LLMServer`, as JSON can hold them.
    """

    command: tuple[str, ...] = ("-m", "ragassay.testing")
    """What Python runs: the server's module or file."""

    def __init__(self, **settings: Any) -> None:
        self._settings = settings
        self.url = ""

    def __enter__(self) -> ServerProcess:
        # A test process that is killed closes its end of the pipe, and no server is left behind.
        command = [sys.executable, *self.command, "--until-stdin-closes"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        self.url = json.loads(self._process.stdout.readline())["url"]
        self.script(**self._settings)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.wait(10)
        assert self._process.stdout is not None
        assert self._process.stdin is not None
        self._process.stdout.close()
        self._process.stdin.close()

    def stats(self) -> dict[str, Any]:
        """The server's record, see `LLMServer.stats`."""
        return dict(self._ask("/stats", None))

    def bodies(self) -> list[Body]:
        """The requests kept so far; none are unless `script(keep_bodies=True)`."""
        return list(self._ask("/bodies", None))

    def script(self, **settings: Any) -> None:
        """Set attributes, see `LLMServer.script` (JSON values only)."""
        self._ask("/script", json.dumps(settings).encode())

    def _ask(self, path: str, data: bytes | None) -> Any:
        address = self.url.removesuffix("/v1") + path
        # The loopback is asked directly, whatever proxy the environment names.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(urllib.request.Request(address, data=data), timeout=10) as reply:
            return json.load(reply)


def main(arguments: Sequence[str] | None = None, kind: type[LLMServer] = LLMServer) -> None:
    """Serve on the command line until interrupted.

    The first line of output is {"port": ..., "url": ...}.
    """
    parser = argparse.ArgumentParser(
        prog="python -m ragassay.testing",
        description="A local LLM server that speaks the OpenAI protocol, for tests.",
    )
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before a reply")
    parser.add_argument("--sigma", type=float, default=0.0, help="lognormal spread of the latency")
    parser.add_argument("--key", help="the API key that it wants")
    parser.add_argument("--no-schema", action="store_true", help="refuse response_format")
    parser.add_argument("--faults", default="", help="comma-separated, one a request")
    parser.add_argument("--fault-rates", default="", help="such as 429=0.05,500=0.02")
    parser.add_argument("--seed", type=int, default=0, help="of the faults' dice")
    parser.add_argument(
        "--until-stdin-closes", action="store_true", help="end with the process that started it"
    )
    options = parser.parse_args(arguments)
    if options.until_stdin_closes:
        threading.Thread(target=_end_with_stdin, daemon=True).start()
    rates: dict[str, float] = {}
    for part in options.fault_rates.split(","):
        if part:
            name, _, rate = part.partition("=")
            rates[name] = float(rate)
    faults = options.faults.split(",") if options.faults else []
    server = kind(
        port=options.port,
        latency=options.latency,
        sigma=options.sigma,
        key=options.key,
        no_schema=options.no_schema,
        seed=options.seed,
        faults=[fault or None for fault in faults],
        fault_rates=rates,
        keep_bodies=False,
    )
    with suppress(KeyboardInterrupt):
        asyncio.run(server.serve(announce=True))


def _end_with_stdin() -> None:
    sys.stdin.read()
    # Not sys.exit, which in a thread ends the thread alone.
    os._exit(0)
