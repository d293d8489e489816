"""The sink of spans: written by a thread of its own, to a collector or to a file.

The collector is the one that OTEL_EXPORTER_OTLP_ENDPOINT (or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT)
names, over HTTP as OTLP JSON. Without one the spans go to `traces.jsonl` beside the store, one
OTLP JSON object a line, which `ragassay evaluate` reads. What waits is bounded in number: a
collector that is down, or a full disk, costs spans and one warning, and no memory.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from ragassay.instrument.spans import LOGGER, SCOPE, AttributeValue, OwnSpan
from ragassay.instrument.untraced import stop_tracing

try:
    import fcntl
except ImportError:  # Windows: one process writes the file
    fcntl = None  # type: ignore[assignment]

MOST_WAITING = 4_096
"""Spans that wait to be written; further ones push out the oldest."""

BATCH = 64
"""Spans in one line of the file, or in one request."""

PAUSE = 0.2
"""Seconds in which further spans may join those that wait."""

LARGEST_FILE = 64 << 20
"""Bytes from which the file becomes `traces.1.jsonl`, in place of the one before."""

TIMEOUT = 5.0
"""Seconds that a collector may take for a request."""

AFTER_FAILURE = 5.0
"""Seconds after a failure in which spans are dropped unwritten: what is down takes no work from the
application.
"""

AT_EXIT = 1.0
"""Seconds that the end of the process may wait for the last spans."""

FILE = "traces.jsonl"
_OLD_FILE = "traces.1.jsonl"
_LOCK_FILE = "traces.lock"


class _Sink:
    """The spans that wait, and the thread that writes them."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self._waiting: deque[OwnSpan] = deque()
        self._lost = 0
        self._warned = False
        self._dropped_until = 0.0
        self._wake = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._hurry = threading.Event()
        threading.Thread(target=self._write_on, name="ragassay-traces", daemon=True).start()

    def put(self, span: OwnSpan) -> None:
        if len(self._waiting) >= MOST_WAITING:
            with contextlib.suppress(IndexError):
                self._waiting.popleft()
            self._lost += 1
        self._waiting.append(span)
        self._idle.clear()
        if not self._wake.is_set():
            self._wake.set()

    def flush(self, seconds: float) -> bool:
        """Whether everything was written, or given up, within these seconds."""
        self._hurry.set()
        try:
            return self._idle.wait(seconds)
        finally:
            self._hurry.clear()

    def _write_on(self) -> None:
        stop_tracing()
        while True:
            self._wake.wait()
            self._hurry.wait(PAUSE)
            self._wake.clear()
            while self._waiting:
                batch = self._take()
                if batch:
                    self._write(batch)
            self._idle.set()
            # A span that came in between would else be waited for without need of it.
            if self._waiting:
                self._idle.clear()
                self._wake.set()

    def _take(self) -> list[OwnSpan]:
        batch: list[OwnSpan] = []
        with contextlib.suppress(IndexError):
            while len(batch) < BATCH:
                batch.append(self._waiting.popleft())
        return batch

    def _write(self, batch: Sequence[OwnSpan]) -> None:
        if time.monotonic() < self._dropped_until:
            self._lost += len(batch)
            return
        try:
            body = otlp_json(batch)
            endpoint = _endpoint()
            if endpoint:
                _post(endpoint, body)
            else:
                append(traces_file(), body)
        except Exception as error:
            self._lost += len(batch)
            self._dropped_until = time.monotonic() + AFTER_FAILURE
            if not self._warned:
                self._warned = True
                LOGGER.warning(
                    "spans cannot be written and are dropped: %s: %s (said once)",
                    type(error).__name__,
                    error,
                )


_lock = threading.Lock()
_sink: _Sink | None = None


def put(span: OwnSpan) -> None:
    """Hand over a span that has ended. Takes microseconds, and raises nothing."""
    global _sink
    try:
        sink = _sink
        if sink is None or sink.process != os.getpid():
            with _lock:
                if _sink is None or _sink.process != os.getpid():
                    _sink = _Sink()
                sink = _sink
        sink.put(span)
    except Exception:
        LOGGER.debug("a span was lost", exc_info=True)


def flush(seconds: float = TIMEOUT) -> bool:
    """Wait until all spans that have ended are written; False where that takes longer."""
    sink = _sink
    return sink is None or sink.process != os.getpid() or sink.flush(seconds)


def _renew_lock() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)
atexit.register(flush, AT_EXIT)


def traces_file() -> Path:
    """The file that spans go to: beside the store."""
    from ragassay.store.location import FOLDER, default_location

    location = default_location()
    folder = Path(FOLDER) if "://" in location else Path(location).expanduser().parent
    return folder / FILE


def append(file: Path, body: bytes) -> None:
    """Append one line. A file that has grown too large is put aside first, whichever of several
    processes finds it so.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    with _locked(file.with_name(_LOCK_FILE)):
        with contextlib.suppress(FileNotFoundError):
            if file.stat().st_size + len(body) > LARGEST_FILE:
                os.replace(file, file.with_name(_OLD_FILE))
        # Questions and answers are for whoever runs the application.
        handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            line = memoryview(body + b"\n")
            while line:
                line = line[os.write(handle, line) :]
        finally:
            os.close(handle)


@contextlib.contextmanager
def _locked(file: Path) -> Iterator[None]:
    if fcntl is None:
        yield
        return
    handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _endpoint() -> str:
    """Where spans are sent over HTTP; "" where nowhere."""
    own = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")
    if own:
        return own
    shared = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")
    return f"{shared.rstrip('/')}/v1/traces" if shared else ""


def _headers() -> dict[str, str]:
    """The headers of the variables that OpenTelemetry names: key=value pairs with commas."""
    headers = {"content-type": "application/json"}
    for variable in ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"):
        for pair in os.environ.get(variable, "").split(","):
            name, separator, value = pair.partition("=")
            if separator:
                headers[name.strip().lower()] = unquote(value.strip())
    return headers


def _post(url: str, body: bytes) -> None:
    """Send a batch; tried again after a moment where the collector is full."""
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    if not url.startswith(("http://", "https://")):
        raise ValueError(f"the endpoint {url!r} is no http address")
    request = Request(url, data=body, headers=_headers(), method="POST")
    for last in (False, True):
        try:
            with urlopen(request, timeout=TIMEOUT) as response:
                response.read()
            return
        except HTTPError as error:
            if last or error.code not in (429, 502, 503, 504):
                raise
            asked = error.headers.get("retry-after", "")
            time.sleep(min(float(asked) if asked.isdecimal() else 1.0, TIMEOUT))


def otlp_json(spans: Iterable[OwnSpan]) -> bytes:
    """The spans as one object of OTLP's JSON."""
    import orjson

    from ragassay.version import __version__

    service = os.environ.get("OTEL_SERVICE_NAME") or "unknown_service"
    content = {
        "resourceSpans": [
            {
                "resource": {"attributes": _attributes({"service.name": service})},
                "scopeSpans": [
                    {
                        "scope": {"name": SCOPE, "version": __version__},
                        "spans": [_span(span) for span in spans],
                    }
                ],
            }
        ]
    }
    try:
        return orjson.dumps(content)
    except orjson.JSONEncodeError:
        # Unpaired surrogates, which a text may hold and UTF-8 may not.
        return orjson.dumps(_clean(content))


def _span(span: OwnSpan) -> dict[str, Any]:
    written: dict[str, Any] = {
        "traceId": f"{span.trace_id:032x}",
        "spanId": f"{span.span_id:016x}",
        "name": span.name,
        "kind": 1,
        "startTimeUnixNano": str(span.started),
        "endTimeUnixNano": str(span.ended),
        "attributes": _attributes(span.attributes),
        "status": {"code": 2, "message": span.error} if span.error else {},
    }
    if span.parent_id:
        written["parentSpanId"] = f"{span.parent_id:016x}"
    return written


def _attributes(attributes: Mapping[str, AttributeValue]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: object) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list | tuple):
        return {"arrayValue": {"values": [_value(each) for each in value]}}
    return {"stringValue": str(value)}


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {key: _clean(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_clean(inner) for inner in value]
    return value
