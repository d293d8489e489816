"""Doses of spans for `ragassay receive`: rate and wait at a pace, lag, cost, gRPC, one large trace,
kills, overload, bad spans, a full disk, retention, and twenty minutes with `ragassay serve`.

    python benchmarks/ingest/run.py [--seconds 60] [--pace 12000] [--kills 20] [--only pace,kills]

The sender is one process on the same cores as the receiver: 512 spans of about 2 KB a request,
packed by gzip while it sends. A request counts when it is acknowledged, which is after the commit.
Writes benchmarks/results/ingest.md.
"""

from __future__ import annotations

import argparse
import gzip
import http.client
import itertools
import json
import math
import os
import random
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
)

from support.receiver import Receiver

SPANS = 512
SPAN_BYTES = 2_000
CONNECTIONS = 8
RESULTS = ROOT / "benchmarks/results"
PACKED = {"content-type": "application/x-protobuf", "content-encoding": "gzip"}
_TRACE_MARK = b"\xa5" * 16
_WORDS = 4_000


class Export:
    """Requests of 512 spans whose trace is new each time: one template whose id is replaced. A
    trace has 64 spans, the first of them its root.
    """

    def __init__(self, seed: int = 1, malformed: int = 0) -> None:
        chance = random.Random(seed)
        words = ["".join(chance.choices("abcdefghij", k=6)) for _ in range(_WORDS)]
        message = ExportTraceServiceRequest()
        resource_spans = message.resource_spans.add()
        attribute = resource_spans.resource.attributes.add()
        attribute.key, attribute.value.string_value = "service.name", "dose"
        scope = resource_spans.scope_spans.add()
        scope.scope.name = "openinference.instrumentation.langchain"
        for number in range(SPANS):
            span = scope.spans.add()
            span.trace_id = _TRACE_MARK[:15] + bytes([number // 64])
            span.span_id = (number + 1).to_bytes(8, "big")
            if number % 64:
                span.parent_span_id = (number - number % 64 + 1).to_bytes(8, "big")
            span.name = "step"
            span.start_time_unix_nano = 1_790_000_000_000_000_000 + number
            span.end_time_unix_nano = 1_790_000_001_000_000_000 + number
            kind = "RETRIEVER" if number % 64 == 1 else "CHAIN"
            self._add(span, "openinference.span.kind", kind)
            self._add(span, "input.value", " ".join(chance.choices(words, k=60)))
            while span.ByteSize() < SPAN_BYTES:
                text = " ".join(chance.choices(words, k=20))
                self._add(span, f"note.{len(span.attributes)}", text)
        for span in scope.spans[SPANS - malformed :]:
            span.span_id = b"short"
        self._template = message.SerializeToString()
        self.malformed = malformed

    @staticmethod
    def _add(span: Any, key: str, text: str) -> None:
        attribute = span.attributes.add()
        attribute.key, attribute.value.string_value = key, text

    def body(self, number: int) -> bytes:
        """The request of a number, packed."""
        return gzip.compress(self.plain(number), 1)

    def plain(self, number: int) -> bytes:
        """The request of a number."""
        return bytes(self._template).replace(_TRACE_MARK[:15], number.to_bytes(15, "big"))

    def questions(self, first: int, count: int) -> bytes:
        """So many traces of an answered question each, as a chain of LangChain sends them: the
        chain, its retriever with four documents of 100 words, and its model.
        """
        message = ExportTraceServiceRequest()
        scope = message.resource_spans.add().scope_spans.add()
        scope.scope.name = "openinference.instrumentation.langchain"
        words, answer = "some words of a passage " * 20, "It opened in 1932, after ten years. "
        for number in range(first, first + count):
            question = f"When did house {number} open?"
            messages = {
                "llm.input_messages.0.message.role": "user",
                "llm.input_messages.0.message.content": words * 4 + question,
                "llm.output_messages.0.message.role": "assistant",
                "llm.output_messages.0.message.content": answer * 3,
            }
            documents = {
                f"retrieval.documents.{place}.document.{part}": text
                for place in range(4)
                for part, text in (("content", f"{place} {words}"), ("id", f"document {place}"))
            }
            parts: list[tuple[str, dict[str, str]]] = [
                ("CHAIN", {"input.value": question, "output.value": answer * 3}),
                ("RETRIEVER", {"input.value": question, **documents}),
                ("LLM", messages),
            ]
            for place, (kind, attributes) in enumerate(parts):
                span = scope.spans.add(name=kind.lower(), trace_id=(number + 1).to_bytes(16, "big"))
                span.span_id = (place + 1).to_bytes(8, "big")
                if place:
                    span.parent_span_id = (1).to_bytes(8, "big")
                span.start_time_unix_nano = 1_790_000_000_000_000_000 + number + place
                span.end_time_unix_nano = span.start_time_unix_nano + 1_000_000
                for key, text in {"openinference.span.kind": kind, **attributes}.items():
                    self._add(span, key, text)
        return bytes(message.SerializeToString())

    def of_one_trace(self, first: int, count: int, *, ends: bool) -> bytes:
        """So many spans of one trace, with ten attributes each; the last one its root where it
        ends.
        """
        message = ExportTraceServiceRequest()
        scope = message.resource_spans.add().scope_spans.add()
        for number in range(first, first + count):
            span = scope.spans.add(name="step", trace_id=b"\x01" * 16)
            span.span_id = (number + 1).to_bytes(8, "big")
            span.start_time_unix_nano = 1_790_000_000_000_000_000 + number
            span.end_time_unix_nano = span.start_time_unix_nano + 1_000
            self._add(span, "openinference.span.kind", "CHAIN")
            for note in range(9):
                self._add(span, f"note.{note}", "word " * 12)
            if ends and number == first + count - 1:
                self._add(span, "input.value", "When did it open?")
                self._add(span, "output.value", "In 1932.")
            else:
                span.parent_span_id = (100_000).to_bytes(8, "big")
        return bytes(message.SerializeToString())


@dataclass
class Dose:
    """What came of a dose of requests."""

    acknowledged: list[int] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    without_retry: int = 0
    rejected: int = 0
    seconds: float = 0.0
    most_rss: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def rate(self) -> float:
        """Spans acknowledged a second."""
        return len(self.acknowledged) * SPANS / self.seconds if self.seconds else 0.0

    def answered(
        self, number: int, status: int, content: bytes, waited: float, told_when: bool
    ) -> None:
        """Note an answer. told_when: whether it says when to come again."""
        self.statuses[status] += 1
        if status == 200:
            self.waits.append(waited)
            self.acknowledged.append(number)
            self.rejected += _rejected(content)
        else:
            self.without_retry += not told_when

    def quantile(self, share: float) -> float:
        """Milliseconds that requests waited for their acknowledgement."""
        ordered = sorted(self.waits)
        return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def send(
    receiver: Receiver | Served,
    export: Export,
    *,
    seconds: float,
    pace: float | None,
    connections: int = CONNECTIONS,
    first: int = 1,
    bodies: deque[bytes] | None = None,
) -> Dose:
    """Send requests for so long, at a pace in spans a second, or as fast as they are taken. bodies:
    packed beforehand; what is refused is sent again, as exporters do, and the dose ends with the
    last one.
    """
    dose = Dose()
    began = time.monotonic()
    counter = iter(range(10**9))

    def body_of(number: int) -> bytes | None:
        """The next body, None where there is none."""
        if bodies is None:
            return export.body(first + number)
        return bodies.popleft() if bodies else None

    def work() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", receiver.port, timeout=30)
        while True:
            with dose.lock:
                number = next(counter)
            if pace is not None:
                due = began + number * SPANS / pace
                time.sleep(max(0.0, due - time.monotonic()))
            body = body_of(number)
            if body is None or time.monotonic() - began > seconds:
                break
            sent = time.monotonic()
            try:
                connection.request("POST", "/v1/traces", body, {**receiver.headers, **PACKED})
                answer = connection.getresponse()
                content = answer.read()
            except (OSError, http.client.HTTPException):
                connection.close()
                if receiver.process.poll() is not None:
                    return
                continue
            retry = bool(answer.headers.get("retry-after"))
            with dose.lock:
                dose.answered(
                    first + number, answer.status, content, time.monotonic() - sent, retry
                )
            if bodies is not None and answer.status != 200:
                bodies.append(body)
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(connections)]
    for each in threads:
        each.start()
    while any(each.is_alive() for each in threads):
        dose.most_rss = max(dose.most_rss, rss(receiver.process.pid))
        time.sleep(0.1)
    dose.seconds = time.monotonic() - began
    return dose


def _rejected(content: bytes) -> int:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
        ExportTraceServiceResponse,
    )

    answer = ExportTraceServiceResponse.FromString(content)
    return int(answer.partial_success.rejected_spans)


def rss(pid: int) -> int:
    """Bytes of memory of a process, 0 where it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS")), 0)


def cpu_seconds(pid: int) -> float:
    """What a process has used of the processors."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def identity(receiver: Receiver | Served) -> tuple[bool, dict[str, int]]:
    """(whether received is stored + rejected + duplicate, the four)."""
    names = ("received", "stored", "duplicate", "rejected")
    counts = {name: int(receiver.metric(f"ragassay_records_{name}_total")) for name in names}
    return counts["received"] == sum(counts[name] for name in names[1:]), counts


def stored_keys(folder: Path) -> list[bytes]:
    """The keys of all spans in the store of a folder."""
    (path,) = (folder / ".ragassay").glob("*.db")
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    keys = [bytes(key) for (key,) in connection.execute("SELECT key FROM spans")]
    connection.close()
    return keys


def lost_and_twice(folder: Path, acknowledged: list[int]) -> tuple[int, int]:
    """(spans acknowledged and not stored, spans stored twice)."""
    keys = stored_keys(folder)
    known = set(keys)
    lost = 0
    for number in acknowledged:
        trace = number.to_bytes(15, "big")
        for place in range(SPANS):
            key = trace + bytes([place // 64]) + (place + 1).to_bytes(8, "big")
            lost += key not in known
    return lost, len(keys) - len(known)


def run_pace(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """A dose at a pace, then one as fast as it goes, and how long the assembler takes after it."""
    with Receiver(folder, "--quiet", "1") as receiver:
        cpu_before = cpu_seconds(receiver.process.pid)
        paced = send(receiver, Export(), seconds=options.seconds, pace=options.pace)
        holds, counts = identity(receiver)
        cpu = cpu_seconds(receiver.process.pid) - cpu_before
        began = time.monotonic()
        while receiver.metric("ragassay_assembly_lag_seconds") and time.monotonic() - began < 120:
            time.sleep(0.5)
        drained = time.monotonic() - began
        waiting = receiver.metric("ragassay_assembly_lag_seconds")
    lost, twice = lost_and_twice(folder, paced.acknowledged)
    return {
        "offered spans/s": options.pace,
        "acknowledged spans/s": round(paced.rate),
        "receiver's CPU, us a span": round(1e6 * cpu / max(1, counts["received"]), 1),
        "p50 ms": round(paced.quantile(0.5)),
        "p99 ms": round(paced.quantile(0.99)),
        "answers": dict(paced.statuses),
        "most RSS MB": round(paced.most_rss / 1e6),
        "received = stored + rejected + duplicate": holds,
        "counts": counts,
        "lost": lost,
        "twice": twice,
        "s until the assembler was done": round(drained, 1) if not waiting else "over 120",
    }


def run_lag(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """A dose of 2,000 spans a second: how far the assembler lags."""
    lags: list[float] = []
    stop = threading.Event()
    with Receiver(folder, "--quiet", "1") as receiver:

        def watch() -> None:
            while not stop.wait(1.0):
                lags.append(receiver.metric("ragassay_assembly_lag_seconds"))

        watching = threading.Thread(target=watch)
        watching.start()
        dose = send(receiver, Export(), seconds=options.seconds / 2, pace=2_000)
        stop.set()
        watching.join()
    return {
        "acknowledged spans/s": round(dose.rate),
        "p99 ms": round(dose.quantile(0.99)),
        "largest lag s": round(max(lags, default=0.0), 1),
    }


def run_overload(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """As many requests as 64 connections can send, packed beforehand, every span new."""
    export = Export()
    packed = [export.body(n) for n in range(1, int(options.seconds * 40))]
    share = len(packed) // 3
    with Receiver(folder) as receiver:
        alone = send(
            receiver,
            export,
            seconds=options.seconds / 4,
            pace=None,
            connections=4,
            bodies=deque(packed[:share]),
        )
    shutil.rmtree(folder / ".ragassay")
    with Receiver(folder) as receiver:
        dose = send(
            receiver,
            export,
            seconds=options.seconds / 2,
            pace=None,
            connections=64,
            bodies=deque(packed[share:]),
        )
        holds, counts = identity(receiver)
    other = sum(count for status, count in dose.statuses.items() if status not in (200, 429, 503))
    return {
        "spans/s of 4 connections": round(alone.rate),
        "spans/s of 64 connections": round(dose.rate),
        "of those stored, known already": f"{counts['stored']}, {counts['duplicate']}",
        "goodput: share of 4 connections": round(dose.rate / alone.rate, 2) if alone.rate else None,
        "goodput: share of K1's 12,000": round(dose.rate / 12_000, 2),
        "answers": dict(dose.statuses),
        "refusals without Retry-After": dose.without_retry,
        "other answers": other,
        "p99 ms of what was taken": round(dose.quantile(0.99)),
        "most RSS MB": round(dose.most_rss / 1e6),
        "received = stored + rejected + duplicate": holds,
    }


def run_cpu(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """What each step costs of a processor, in this process alone and without HTTP: a figure that
    other work on the machine changes little.
    """
    from ragassay.store import Store
    from ragassay.tracing.decoding import decode
    from ragassay.tracing.job import AssemblyJob

    export = Export()
    packed = [export.body(number) for number in range(1, 81)]
    count = len(packed) * SPANS

    def cost(work: Callable[[], object]) -> tuple[float, Any]:
        began = time.process_time()
        made = work()
        return round(1e6 * (time.process_time() - began) / count, 1), made

    unpacking, plain = cost(lambda: [gzip.decompress(body) for body in packed])
    decoding, batches = cost(lambda: [decode("traces", body, False) for body in plain])
    with Store.open(folder / "store.db") as store:
        records = store.span_records

        def put() -> None:
            for first in range(0, len(batches), 8):
                spans = [span for batch in batches[first : first + 8] for span in batch.spans]
                records.put(spans, [], 1_000)

        storing, _ = cost(put)
        assembling, rows = cost(lambda: AssemblyJob(records).catch_up(everything=True))
    acknowledged = unpacking + decoding + storing
    return {
        "us a span: unpack": unpacking,
        "us a span: decode": decoding,
        "us a span: store, in commits of 8 requests": storing,
        "us a span until the acknowledgement": round(acknowledged, 1),
        "us a span: index and put together": assembling,
        "spans/s of a core until the acknowledgement": round(1e6 / acknowledged),
        "spans/s of a core put together": round(1e6 / assembling),
        "rows": rows,
    }


def run_rows(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """How many rows a second of one core are made of short traces, in this process alone."""
    from ragassay.store import Store
    from ragassay.tracing.decoding import decode
    from ragassay.tracing.job import AssemblyJob

    export, count = Export(), 5_000
    with Store.open(folder / "store.db") as store:
        records = store.span_records
        for first in range(0, count, 100):
            batch = decode("traces", export.questions(first, 100), False)
            records.put(list(batch.spans), [], 1_000)
        began = time.process_time()
        made = AssemblyJob(records).catch_up(everything=True)
        taken = time.process_time() - began
        assert made == store.span_records.totals().rows == count
    return {"rows": count, "rows/s of a core": round(count / taken)}


def run_grpc(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """A dose over gRPC, 512 spans a message, packed by gzip as gRPC does it."""
    import grpc

    method = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
    export = Export()
    codes: Counter[str] = Counter()
    waits: list[float] = []
    with Receiver(folder, "--grpc-port", "0", "--quiet", "1") as receiver:
        address = receiver.lines[1].rpartition("http://")[2]
        metadata = tuple(receiver.headers.items())
        counter = iter(range(1, 10**9))
        cpu_before = cpu_seconds(receiver.process.pid)
        began = time.monotonic()

        def work() -> None:
            with grpc.insecure_channel(address, compression=grpc.Compression.Gzip) as channel:
                call = channel.unary_unary(method)
                while time.monotonic() - began < options.seconds / 2:
                    body = export.plain(next(counter))
                    sent = time.monotonic()
                    try:
                        call(body, metadata=metadata, timeout=30)
                    except grpc.RpcError as error:
                        codes[error.code().name] += 1
                        continue
                    codes["OK"] += 1
                    waits.append(time.monotonic() - sent)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        seconds = time.monotonic() - began
        cpu = cpu_seconds(receiver.process.pid) - cpu_before
        holds, counts = identity(receiver)
    dose = Dose(waits=waits)
    return {
        "acknowledged spans/s": round(codes["OK"] * SPANS / seconds),
        "receiver's CPU, us a span": round(1e6 * cpu / max(1, counts["received"]), 1),
        "p50 ms": round(dose.quantile(0.5)),
        "p99 ms": round(dose.quantile(0.99)),
        "answers": dict(codes),
        "received = stored + rejected + duplicate": holds,
        "stored": counts["stored"],
    }


def run_one(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """One trace of 100,000 spans, its root last, and what the receiver takes in memory for it."""
    export = Export()
    with Receiver(folder, "--quiet", "1") as receiver:
        before = rss(receiver.process.pid)
        headers = {"content-encoding": "gzip"}
        for first in range(0, 100_000, 5_000):
            body = gzip.compress(export.of_one_trace(first, 5_000, ends=first == 95_000), 1)
            answer = receiver.post("/v1/traces", body, "application/x-protobuf", **headers)
            assert answer.status_code == 200, answer.content
        began, most = time.monotonic(), 0
        while not receiver.metric("ragassay_trace_revisions_total"):
            most = max(most, rss(receiver.process.pid))
            time.sleep(0.1)
        seconds = time.monotonic() - began
    return {
        "RSS MB before": round(before / 1e6),
        "most RSS MB": round(most / 1e6),
        "s from the last span to the row": round(seconds, 1),
    }


def run_kills(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Kills in the middle of sending, each followed by a start on the same store."""
    acknowledged: list[int] = []
    ready: list[float] = []
    for kill in range(options.kills):
        began = time.monotonic()
        with Receiver(folder) as receiver:
            ready.append(time.monotonic() - began)
            killer = threading.Timer(0.5 + 0.07 * kill, receiver.killed)
            killer.start()
            dose = send(receiver, Export(), seconds=30, pace=None, first=1 + kill * 1_000_000)
            killer.join()
            acknowledged += dose.acknowledged
    lost, twice = lost_and_twice(folder, acknowledged)
    return {
        "kills": options.kills,
        "spans acknowledged": len(acknowledged) * SPANS,
        "lost": lost,
        "twice": twice,
        "s until ready, median": round(statistics.median(ready), 2),
        "s until ready, most": round(max(ready), 2),
    }


def run_bad(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """One span in a hundred without an id; all requests come once more at the end."""
    export = Export(malformed=5)
    with Receiver(folder) as receiver:
        first = send(receiver, export, seconds=options.seconds / 8, pace=6_000)
        again = send(receiver, export, seconds=options.seconds / 8, pace=6_000)
        holds, counts = identity(receiver)
    return {
        "requests": len(first.acknowledged) + len(again.acknowledged),
        "rejected, as they were told": first.rejected + again.rejected,
        "rejected, as it should be": 5 * (len(first.acknowledged) + len(again.acknowledged)),
        "counts": counts,
        "received = stored + rejected + duplicate": holds,
    }


def run_full(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """A disk that is full while spans come in, and then is not."""
    export = Export()
    with Receiver(folder) as receiver:
        before = send(receiver, export, seconds=2, pace=4_000)
        size = max(each.stat().st_size for each in (folder / ".ragassay").iterdir())
        limits = (size, resource.RLIM_INFINITY)
        resource.prlimit(receiver.process.pid, resource.RLIMIT_FSIZE, limits)
        full = send(receiver, export, seconds=5, pace=4_000, first=100_000)
        free = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(receiver.process.pid, resource.RLIMIT_FSIZE, free)
        began = time.monotonic()
        after = send(receiver, export, seconds=4, pace=4_000, first=200_000)
        recovered = time.monotonic() - began
        holds, _ = identity(receiver)
    taken = before.acknowledged + full.acknowledged + after.acknowledged
    lost, twice = lost_and_twice(folder, taken)
    return {
        "answers before": dict(before.statuses),
        "answers while it was full": dict(full.statuses),
        "answers after": dict(after.statuses),
        "refusals without Retry-After": full.without_retry,
        "lost": lost,
        "twice": twice,
        "s of the dose after": round(recovered, 1),
        "received = stored + rejected + duplicate": holds,
    }


def run_retention(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Old spans that are deleted while new ones come in."""
    from ragassay.store import Store
    from ragassay.store.spans import StoredSpan

    old = 200_000
    with Store.open(folder / ".ragassay/store.db") as store:
        for first in range(0, old, 10_000):
            spans = [
                StoredSpan((number + 1).to_bytes(24, "little"), b"", True, False, 0, 0, b"x" * 500)
                for number in range(first, first + 10_000)
            ]
            store.span_records.put(spans, [], 1000)
    with Receiver(folder, "--keep-days", "1") as receiver:
        dose = send(receiver, Export(), seconds=options.seconds / 3, pace=3_000)
        dropped = int(receiver.metric("ragassay_spans_dropped_by_age_total"))
    return {
        "old spans": old,
        "deleted in the dose": dropped,
        "acknowledged spans/s": round(dose.rate),
        "answers": dict(dose.statuses),
        "p99 ms": round(dose.quantile(0.99)),
        "longest wait ms": round(1000 * max(dose.waits, default=0.0)),
    }


class Served:
    """`ragassay serve` in a folder, on a free port: pages and receiver. A context manager."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.headers = {"authorization": "Bearer a-token-of-the-benchmark-0123456789"}

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ragassay", "serve", "--port", "0", "--quiet", "1"],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT / "src"),
                "RAGASSAY_WEB_TOKEN": self.headers["authorization"].removeprefix("Bearer "),
            },
        )
        assert self.process.stdout is not None
        address = self.process.stdout.readline().strip().rstrip("/")
        self.port = int(address.rsplit(":", 1)[1])
        until = time.monotonic() + 30
        while self.fetch("/readyz")[1] != 200 and time.monotonic() < until:
            time.sleep(0.1)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def fetch(self, path: str) -> tuple[float, int, str]:
        """(seconds, status, text) of a page; status 0 where nobody answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        began = time.monotonic()
        try:
            connection.request("GET", path, headers=self.headers)
            answer = connection.getresponse()
            text = answer.read().decode()
        except (OSError, http.client.HTTPException):
            return time.monotonic() - began, 0, ""
        finally:
            connection.close()
        return time.monotonic() - began, answer.status, text

    def metric(self, name: str) -> float:
        """A figure of `/metrics`; 0 where it is not there."""
        lines = self.fetch("/metrics")[2].splitlines()
        return next((float(line.split()[-1]) for line in lines if line.startswith(name)), 0.0)


@dataclass
class Looked:
    """What somebody who looks at the pages all the time saw, and how the server grew meanwhile."""

    waits: dict[str, list[float]] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)
    memory: list[tuple[float, int]] = field(default_factory=list)
    most_log: int = 0
    lags: list[float] = field(default_factory=list)

    def look(self, server: Served, stop: threading.Event, began: float) -> None:
        """Ask for a page a second, in turn, until told to stop."""
        trace = (1).to_bytes(15, "big") + bytes(1)
        pages = {"traces": "/traces", "a trace": f"/traces/{trace.hex()}", "traffic": "/traffic"}
        turn = itertools.cycle(pages)
        minute = 0
        while not stop.wait(1.0):
            page = next(turn)
            waited, status, _ = server.fetch(pages[page])
            self.waits.setdefault(page, []).append(waited)
            self.statuses[status] += 1
            self.memory.append((time.monotonic() - began, rss(server.process.pid)))
            log = (server.folder / ".ragassay").glob("*.db-wal")
            self.most_log = max([self.most_log, *(path.stat().st_size for path in log)])
            if time.monotonic() - began > 60 * minute:
                minute += 1
                self.lags.append(server.metric("ragassay_assembly_lag_seconds"))

    def slope(self, after: float) -> float:
        """MB an hour that memory grew by after so many seconds, by least squares."""
        later = [(at / 3600, size / 1e6) for at, size in self.memory if at >= after]
        if len(later) < 3:
            return math.nan
        return statistics.linear_regression(*zip(*later, strict=True)).slope

    def quantiles(self) -> dict[str, str]:
        """Milliseconds that a page took: median and 95th percentile, by page and of all."""
        by_page = {**self.waits, "all": list(itertools.chain(*self.waits.values()))}
        told = {}
        for page, waits in by_page.items():
            ordered = sorted(waits)
            late = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
            told[page] = f"{1000 * statistics.median(ordered):.0f}, {1000 * late:.0f}"
        return told


def run_endurance(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """3,000 spans a second for --minutes, while somebody looks at the pages."""
    seen = Looked()
    stop = threading.Event()
    with Served(folder) as server:
        looking = threading.Thread(target=seen.look, args=(server, stop, time.monotonic()))
        looking.start()
        dose = send(server, Export(), seconds=60 * options.minutes, pace=3_000)
        stop.set()
        looking.join()
        holds, counts = identity(server)
    lost, twice = lost_and_twice(folder, dose.acknowledged)
    (database,) = (folder / ".ragassay").glob("*.db")
    return {
        "minutes": options.minutes,
        "acknowledged spans/s": round(dose.rate),
        "answers": dict(dose.statuses),
        "p99 ms": round(dose.quantile(0.99)),
        "lost": lost,
        "twice": twice,
        "received = stored + rejected + duplicate": holds,
        "counts": counts,
        "largest lag of the assembler, s": round(max(seen.lags, default=0.0), 1),
        "pages asked for": dict(seen.statuses),
        **{f"{page}: median and p95 ms": told for page, told in seen.quantiles().items()},
        "most RSS MB": round(dose.most_rss / 1e6),
        "RSS, MB an hour after 10 minutes": round(seen.slope(600), 1),
        "most of the write-ahead log, MiB": round(seen.most_log / 2**20, 1),
        "store, MB": round(database.stat().st_size / 1e6),
    }


DOSES = {
    "pace": ("K1, K8: a pace", run_pace),
    "lag": ("K1: the assembler's lag at 2,000 spans/s", run_lag),
    "cpu": ("What a span costs of a processor", run_cpu),
    "rows": ("Rows made of short traces", run_rows),
    "grpc": ("Over gRPC", run_grpc),
    "one": ("One trace of 100,000 spans", run_one),
    "kills": ("K2: kill -9", run_kills),
    "overload": ("K3: overload", run_overload),
    "bad": ("K5: bad spans", run_bad),
    "full": ("K6: a full disk", run_full),
    "retention": ("K7: retention under load", run_retention),
    "endurance": ("K4: 3,000 spans/s with somebody at the pages", run_endurance),
}


def main() -> None:
    """Run the doses, print what came of them, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--pace", type=float, default=12_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=20, help="of the dose `endurance`")
    parser.add_argument("--only", default=",".join(DOSES))
    parser.add_argument("--no-write", action="store_true")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    for name in options.only.split(","):
        title, dose = DOSES[name]
        folder = Path(tempfile.mkdtemp(prefix="ragassay-ingest-"))
        load = os.getloadavg()[0]
        try:
            results[title] = {**dose(folder, options), "load before": round(load, 1)}
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        print(title, json.dumps(results[title]), flush=True)
        if not options.no_write:
            write(results, options)


def write(results: dict[str, Any], options: argparse.Namespace) -> None:
    """The results as JSON and as a page."""
    command = (
        f"python benchmarks/ingest/run.py --seconds {options.seconds:g} --pace {options.pace:g}"
        f" --kills {options.kills} --only {options.only}"
    )
    stored = {"command": command, "cores": os.cpu_count(), "results": results}
    (RESULTS / "ingest.json").write_text(json.dumps(stored, indent=1) + "\n")
    lines = [
        "# Spans received",
        "",
        f"`{command}`, {os.cpu_count()} cores shared by the sender, the receiver and its"
        " assembler, SQLite, 512 spans of 2 KB a request, gzip; acknowledged after the commit."
        " `load before`: processes that other work kept running or waiting when the dose began.",
    ]
    for title, figures in results.items():
        lines += ["", f"## {title}", "", "| figure | value |", "|---|---|"]
        lines += [f"| {name} | {value} |" for name, value in figures.items()]
    (RESULTS / "ingest.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
