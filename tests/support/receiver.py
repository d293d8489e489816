"""The command that receives traces, as a process, and spans sent to it by OpenTelemetry's SDK."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

import ragassay

_PACKAGE = str(Path(ragassay.__file__).parents[1])


class Receiver:
    """`ragassay receive` in a folder, on a free port. A context manager; `killed` ends it as a
    crash does, `stopped` as Ctrl-C does.
    """

    def __init__(self, folder: Path, *options: str, token: str = "", port: int = 0) -> None:
        self.folder = folder
        self.options = options
        self.environment = {"PYTHONPATH": _PACKAGE, "PYTHONUNBUFFERED": "1"}
        if token:
            self.environment["RAGASSAY_TRACES_TOKEN"] = token
        self.port = port
        self.lines: list[str] = []

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ragassay", "receive", "--port", str(self.port), *self.options],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **self.environment},
        )
        assert self.process.stdout is not None
        while not any("ragassay evaluate" in line for line in self.lines):
            line = self.process.stdout.readline()
            if not line:
                _, errors = self.process.communicate()
                raise AssertionError(errors)
            self.lines.append(line.rstrip())
        self._errors: list[str] = []
        self._reader = threading.Thread(target=self._read_errors, daemon=True)
        self._reader.start()
        exported = dict(
            line.strip().removeprefix("export ").split("=", 1)
            for line in self.lines
            if line.strip().startswith("export ")
        )
        self.address = exported["OTEL_EXPORTER_OTLP_ENDPOINT"]
        self.port = int(self.address.rsplit(":", 1)[1])
        self.exported: Mapping[str, str] = exported
        token = exported["OTEL_EXPORTER_OTLP_HEADERS"].removeprefix("authorization=Bearer%20")
        self.headers = {"authorization": f"Bearer {token}"}
        self._wait_until_ready()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.killed()
        self._reader.join(120)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self._errors += self.process.stderr.read().splitlines()

    def _wait_until_ready(self) -> None:
        until = time.monotonic() + 300
        while time.monotonic() < until:
            try:
                if httpx.get(f"{self.address}/readyz").status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.05)
        raise AssertionError("it does not get ready")

    def killed(self) -> None:
        """End it as kill -9 does."""
        self.process.kill()
        self.process.wait()

    def stopped(self) -> list[str]:
        """End it as Ctrl-C does; what it wrote to standard error."""
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(120) == 0, self._errors
        self._reader.join(120)
        return self._errors

    def metric(self, name: str) -> float:
        """A value of /metrics."""
        for line in httpx.get(f"{self.address}/metrics").text.splitlines():
            if line.startswith(f"{name} "):
                return float(line.split()[1])
        raise KeyError(name)

    def post(self, path: str, content: bytes, kind: str, **headers: str) -> httpx.Response:
        """One export by hand."""
        sent = {**self.headers, "content-type": kind, **headers}
        return httpx.post(f"{self.address}{path}", content=content, headers=sent, timeout=120)


def send(receiver: Receiver, spans: Sequence[Mapping[str, Any]], scope: str) -> None:
    """Have OpenTelemetry's SDK make and send a trace: spans with name, attributes and the place of
    their parent in the list (None for a root), by its exporter as the environment sets it.
    """
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    provider = TracerProvider()
    before = {name: os.environ.get(name) for name in receiver.exported}
    os.environ.update(receiver.exported)
    try:
        provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    tracer = provider.get_tracer(scope)
    made: list[Any] = []
    for span in spans:
        parent = span.get("parent")
        context = None if parent is None else trace.set_span_in_context(made[parent])
        attributes = dict(span["attributes"])
        made.append(tracer.start_span(span["name"], context=context, attributes=attributes))
    # Children end before their parents, so a parent arrives last.
    for each in reversed(made):
        each.end()
    provider.shutdown()
