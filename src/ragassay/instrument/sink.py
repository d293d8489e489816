"""The sink of spans: written by a thread of its own, to a collector or to a file.

The collector is the one that OTEL_EXPORTER_OTLP_ENDPOINT (or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT)
names, over HTTP as OTLP JSON. Without one the spans go to `traces.jsonl` beside the store, one
OTLP JSON object a line, which `ragassay evaluate` reads. What waits is bounded in size: a
collector that is down, or a full disk, costs spans and one warning, and no memory. Where spans
come faster than they are written, whole traces are dropped: a part of one would be a wrong row.
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

MOST_WAITING = 32 << 20
"""The size of the spans that wait to be written, as `_size` counts it, from which no trace is begun
any more. Those that were begun before have as much again.
"""

BATCH = 1 << 20
"""The size of the spans in one line of the file, or in one request. Between two of them a busy
application may keep the thread waiting for the interpreter, whatever is in them.
"""

SPAN = 1_024
"""What is counted for a span beside its texts: about its fields, and the objects that hold them."""

PAUSE = 0.2
"""Seconds in which further spans may join those that wait."""

LARGEST_FILE = 64 << 20
"""Bytes from which the file becomes `traces.1.jsonl`, in place of the one before."""

MOST_ANSWER = 1 << 16
"""Bytes of an answer of a collector that are read."""

TIMEOUT = 5.0
"""Seconds that a collector may take for a request."""

AFTER_FAILURE = 5.0
"""Seconds after a failure in which spans are dropped unwritten: what is down takes no work from the
application.
"""

AT_EXIT = 1.0
"""Seconds that the end of the process waits for the last spans; again, where some were written
meanwhile, up to `TIMEOUT`.
"""

FILE = "traces.jsonl"
_OLD_FILE = "traces.1.jsonl"
_LOCK_FILE = "traces.lock"


class _Sink:
    """The spans that wait, and the thread that writes them."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.lost = 0
        self.is_full = False
        self._waiting: deque[tuple[OwnSpan, int]] = deque()
        self._waiting_size = 0
        # Not a plain lock: a stream that is collected inside of it puts a span.
        self._lock = threading.RLock()
        self._has_failed = False
        self._has_dropped = False
        self._has_warned = False
        self._has_told_refused = False
        self._dropped_until = 0.0
        self._wake = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._hurry = threading.Event()
        threading.Thread(target=self._write_on, name="ragassay-traces", daemon=True).start()

    def put(self, span: OwnSpan) -> None:
        size = _size(span)
        with self._lock:
            if not span.is_kept or self._waiting_size + size > 2 * MOST_WAITING:
                self._has_dropped = True
                self.lost += 1
            else:
                self._waiting.append((span, size))
                self._waiting_size += size
                self.is_full = self._waiting_size >= MOST_WAITING
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
                self._write(self._take())
            self._warn()
            self._idle.set()
            # A span that came in between would else be waited for without need of it.
            if self._waiting:
                self._idle.clear()
                self._wake.set()

    def waiting(self) -> int:
        """How many spans are not written yet."""
        return len(self._waiting)

    def _take(self) -> list[OwnSpan]:
        batch: list[OwnSpan] = []
        taken = 0
        # This thread alone takes spans, so that the lock is not held while it does.
        while self._waiting and taken < BATCH:
            span, size = self._waiting.popleft()
            batch.append(span)
            taken += size
        with self._lock:
            self._waiting_size -= taken
            self.is_full = self._waiting_size >= MOST_WAITING
        return batch

    def _write(self, batch: Sequence[OwnSpan]) -> None:
        if time.monotonic() < self._dropped_until:
            self._lose(batch)
            return
        try:
            body = otlp_json(batch)
            endpoint = _endpoint()
            if endpoint:
                self._refused(*_post(endpoint, body))
            else:
                append(traces_file(), body)
        except TooLarge:
            if len(batch) > 1:
                # One of them may be what is too large: the others are not to go with it.
                half = len(batch) // 2
                self._write(batch[:half])
                self._write(batch[half:])
            else:
                self._refused(1, "a span is larger than the collector takes")
        except Exception as error:
            self._lose(batch)
            # A collector that refuses one request is not down.
            if getattr(error, "code", 0) != 400:
                self._dropped_until = time.monotonic() + AFTER_FAILURE
            if not self._has_failed:
                self._has_failed = True
                LOGGER.warning(
                    "spans cannot be written and are dropped: %s: %s (said once)",
                    type(error).__name__,
                    error,
                )

    def _refused(self, spans: int, why: str) -> None:
        """Count spans that the collector did not take, and say so once."""
        if not spans:
            return
        with self._lock:
            self.lost += spans
        if not self._has_told_refused:
            self._has_told_refused = True
            LOGGER.warning("the collector refused %d spans: %s (said once)", spans, why[:200])

    def _lose(self, batch: Sequence[OwnSpan]) -> None:
        with self._lock:
            self.lost += len(batch)

    def _warn(self) -> None:
        # Where the spans cannot be written, that was said, and is why they wait.
        if self._has_dropped and not self._has_warned and not self._has_failed:
            self._has_warned = True
            LOGGER.warning(
                "spans come faster than they are written: %d were dropped so far, by whole traces "
                "(said once; ragassay.instrument.lost_spans() counts them)",
                self.lost,
            )


def _size(span: OwnSpan) -> int:
    size = SPAN
    for value in span.attributes.values():
        if type(value) is str:
            size += len(value)
    return size


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


def prepare() -> None:
    """Import what sends spans now, and not beside a call of the application."""
    if _endpoint():
        import urllib.request  # noqa: F401


def has_room() -> bool:
    """Whether a trace that begins now is going to be written."""
    sink = _sink
    return sink is None or not sink.is_full or sink.process != os.getpid()


def lost_spans() -> int:
    """How many spans of this process were not written: they came too fast, or could not be."""
    sink = _sink
    return 0 if sink is None or sink.process != os.getpid() else sink.lost


def flush(seconds: float = TIMEOUT) -> bool:
    """Wait until all spans that have ended are written; False where that takes longer."""
    sink = _sink
    return sink is None or sink.process != os.getpid() or sink.flush(seconds)


def _renew_lock() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def _flush_at_exit() -> None:
    """Write what waits, as long as that goes on, and say what is left."""
    sink = _sink
    if sink is None or sink.process != os.getpid():
        return
    end = time.monotonic() + TIMEOUT
    before = sink.waiting() + 1
    while before > sink.waiting() and time.monotonic() < end:
        before = sink.waiting()
        if sink.flush(AT_EXIT):
            return
    LOGGER.warning("the process ended before %d spans were written", sink.waiting())


atexit.register(_flush_at_exit)


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


class TooLarge(Exception):
    """The collector takes no request as large as this one."""


def _post(url: str, body: bytes) -> tuple[int, str]:
    """Send a batch; tried again after a moment where the collector is full. How many spans it did
    not take, and why. Raises TooLarge.
    """
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    if not url.startswith(("http://", "https://")):
        raise ValueError(f"the endpoint {url!r} is no http address")
    request = Request(url, data=body, headers=_headers(), method="POST")
    for last in (False, True):
        try:
            with urlopen(request, timeout=TIMEOUT) as response:
                return _partial_success(response.read(MOST_ANSWER))
        except HTTPError as error:
            if error.code == 413:
                raise TooLarge from None
            if last or error.code not in (429, 502, 503, 504):
                raise
            asked = error.headers.get("retry-after", "")
            time.sleep(min(float(asked) if asked.isdecimal() else 1.0, TIMEOUT))
    raise AssertionError("the last try returns or raises")


def _partial_success(answer: bytes) -> tuple[int, str]:
    """How many spans a collector says that it did not take, and why."""
    import orjson

    try:
        said = orjson.loads(answer)["partialSuccess"]
        return int(said.get("rejectedSpans") or 0), str(said.get("errorMessage") or "")
    except (ValueError, KeyError, TypeError, AttributeError):
        return 0, ""  # nothing is said of it, or not in JSON


def otlp_json(spans: Iterable[OwnSpan]) -> bytes:
    """The spans as one object of OTLP's JSON."""
    from ragassay.version import __version__

    service = os.environ.get("OTEL_SERVICE_NAME") or "unknown_service"
    resource = _json({"attributes": _attributes({"service.name": service})})
    scope = _json({"name": SCOPE, "version": __version__})
    written: list[bytes] = []
    for span in spans:
        written.append(_json(_span(span)))
        # Else a thread of the application waits 5 ms for the interpreter (sys.getswitchinterval).
        time.sleep(0)
    return b'{"resourceSpans":[{"resource":%b,"scopeSpans":[{"scope":%b,"spans":[%b]}]}]}' % (
        resource,
        scope,
        b",".join(written),
    )


def _json(value: Any) -> bytes:
    import orjson

    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        # Unpaired surrogates, which a text may hold and UTF-8 may not.
        return orjson.dumps(_clean(value))


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
