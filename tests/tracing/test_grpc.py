"""OTLP over gRPC, by gRPC's own client and by OpenTelemetry's exporter: the same intake as HTTP's,
its refusals in the codes by which exporters decide whether to come again.
"""

from __future__ import annotations

import asyncio
import gzip
import re
import sqlite3
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from ragassay.core import SetupError
from ragassay.store import Store
from ragassay.tracing.grpc_server import MOST_READING, GrpcServer
from ragassay.tracing.intake import Intake
from support.receiver import Receiver

TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
LOGS = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
TOKEN = (("authorization", "Bearer secret"),)
MIB = 1 << 20


class Served:
    """An intake behind gRPC in a loop of its own, and a client of it."""

    def __init__(self, store: Store) -> None:
        self.intake = Intake(store, "secret")
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.server = GrpcServer(self.intake, "127.0.0.1", 0)
        self.intake.start()
        self.port = self.run(self.server.start())
        self.channel = grpc.insecure_channel(f"127.0.0.1:{self.port}")

    def run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(20)

    def close(self) -> None:
        self.channel.close()
        self.run(self.server.stop())
        self.intake.stop()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    def export(self, message: bytes, method: str = TRACES, **options: Any) -> bytes:
        call = self.channel.unary_unary(method)
        return call(message, timeout=120, **{"metadata": TOKEN, **options})

    def takes(self, message: bytes) -> bool:
        """Whether it is taken now."""
        try:
            self.export(message)
        except grpc.RpcError:
            return False
        return True

    def refusal(self, message: bytes, **options: Any) -> tuple[str, str, float]:
        """(code, words, seconds after which to come again, 0 where the answer names none)."""
        with pytest.raises(grpc.RpcError) as raised:
            self.export(message, **options)
        error = raised.value
        retry = RetryInfo()
        for key, value in error.trailing_metadata():
            if key == "grpc-status-details-bin":
                status = Status.FromString(value)
                assert (status.code, status.message) == (error.code().value[0], error.details())
                assert status.details[0].Unpack(retry)
        return error.code().name, error.details(), retry.retry_delay.ToTimedelta().total_seconds()

    @property
    def counts(self) -> tuple[int, ...]:
        counts = self.intake.counters.counts
        return counts.received, counts.stored, counts.duplicate, counts.rejected


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Store.open(tmp_path / "store.db") as store:
        each = Served(store)
        yield each
        each.close()


def export_of(trace: int, count: int = 3) -> bytes:
    """An export of a trace with so many spans."""
    message = ExportTraceServiceRequest()
    scope = message.resource_spans.add().scope_spans.add()
    for number in range(1, count + 1):
        span = scope.spans.add(name=f"span {number}", span_id=number.to_bytes(8, "big"))
        span.trace_id = trace.to_bytes(16, "big")
    return message.SerializeToString()


def test_every_record_is_stored_rejected_or_known_already(served: Served) -> None:
    bad = ExportTraceServiceRequest.FromString(export_of(1, 4))
    bad.resource_spans[0].scope_spans[0].spans[3].trace_id = bytes(16)
    partial = ExportTraceServiceResponse.FromString(
        served.export(bad.SerializeToString())
    ).partial_success
    assert partial.rejected_spans == 1
    assert partial.error_message == "1 x the id of its trace is not 16 bytes, or zero"
    for compression in (grpc.Compression.Gzip, grpc.Compression.Deflate):
        # Long enough that gRPC compresses it.
        assert served.export(export_of(2, 60), compression=compression) == b""
    assert served.counts == (124, 63, 60, 1)
    logs = ExportLogsServiceRequest()
    records = logs.resource_logs.add().scope_logs.add().log_records
    records.add(event_name="gen_ai.x", trace_id=bytes([1] * 16))
    records.add(event_name="app started", trace_id=bytes([1] * 16))
    answer = ExportLogsServiceResponse.FromString(
        served.export(logs.SerializeToString(), method=LOGS)
    )
    assert answer.partial_success.rejected_log_records == 1
    assert served.counts == (126, 64, 60, 2)
    assert (
        'ragassay_requests_total{path="opentelemetry.proto.collector.trace.v1.TraceService",'
        'status="0"} 3'
    ) in served.intake.counters.lines()


@pytest.mark.parametrize("metadata", [(), (("authorization", "Bearer wrong"),)])
def test_nothing_is_read_without_the_token(served: Served, metadata: Any) -> None:
    code, words, retry = served.refusal(export_of(1), metadata=metadata)
    assert (code, retry) == ("UNAUTHENTICATED", 0)
    assert words == "authorization: Bearer TOKEN is missing or wrong"
    assert served.counts == (0, 0, 0, 0)


REFUSED: dict[str, tuple[str, bytes]] = {
    "a bomb": ("INVALID_ARGUMENT", gzip.compress(bytes(64 * MIB))),
    "a bomb of the other kind": ("INVALID_ARGUMENT", zlib.compress(bytes(64 * MIB))),
    "a bomb in a bomb": ("INVALID_ARGUMENT", gzip.compress(gzip.compress(bytes(32 * MIB)))),
    "cut compression": ("INVALID_ARGUMENT", gzip.compress(b"x" * 1000)[:-8]),
    "no export": ("INVALID_ARGUMENT", b"\xff\xff\xff"),
    "a cut export": ("INVALID_ARGUMENT", export_of(1)[:-3]),
    "too large": ("RESOURCE_EXHAUSTED", bytes(9 * MIB)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_export_is_refused_for_good(served: Served, name: str) -> None:
    code, message = REFUSED[name]
    assert served.refusal(message)[::2] == (code, 0)
    assert served.counts == (0, 0, 0, 0)
    assert served.export(export_of(1)) == b""


def test_a_bomb_takes_no_memory_to_speak_of(served: Served) -> None:
    bomb = gzip.compress(bytes(512 * MIB), 1)
    before = rss()
    # gRPC itself would unpack it whole before anybody is asked.
    assert served.refusal(bomb)[1] == "unpacked, a request may have 32 MiB; send smaller batches"
    assert rss() - before < 100 * MIB


def rss() -> int:
    """Bytes of memory of this process."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


def test_more_than_can_be_stored_is_told_when_to_come_again(served: Served) -> None:
    served.intake.under_way = 8 * MIB
    refusal = served.refusal(export_of(1))
    assert refusal == ("RESOURCE_EXHAUSTED", "too many exports at once", 1)
    served.intake.under_way = 0
    assert served.export(export_of(1)) == b""


def test_a_locked_store_is_told_apart_and_nothing_acknowledged_is_lost(
    served: Served, tmp_path: Path
) -> None:
    served.export(export_of(1))
    other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    refusal = served.refusal(export_of(2))
    assert refusal == ("UNAVAILABLE", "the store does not answer now", 1)
    other.execute("COMMIT")
    # It comes again, as its sender was told, and is there once.
    until = time.monotonic() + 120
    while not served.takes(export_of(2)):
        assert time.monotonic() < until
    assert other.execute("SELECT count(*) FROM spans").fetchone() == (6,)
    other.close()


def test_senders_that_send_nothing_are_bounded_and_let_go(served: Served, monkeypatch) -> None:
    monkeypatch.setattr("ragassay.tracing.grpc_server.BODY_S", 0.5)
    never = threading.Event()

    def nothing() -> Iterator[bytes]:
        never.wait(10)
        yield from ()

    waiting = [
        served.channel.stream_unary(TRACES).future(nothing(), metadata=TOKEN)
        for _ in range(MOST_READING)
    ]
    codes = {each.exception(timeout=120).code().name for each in waiting}
    never.set()
    assert codes == {"DEADLINE_EXCEEDED"}
    assert served.export(export_of(1)) == b""


def test_a_port_that_is_taken_and_a_library_that_is_missing_are_said(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SetupError) as taken:
        served.run(GrpcServer(served.intake, "127.0.0.1", served.port).start())
    assert (taken.value.code, taken.value.where) == ("E0101", f"--grpc-port {served.port}")
    monkeypatch.setitem(sys.modules, "grpc.aio", None)
    with pytest.raises(SetupError) as missing:
        served.run(GrpcServer(served.intake, "127.0.0.1", 0).start())
    assert (missing.value.code, missing.value.fix) == (
        "E0105",
        'pip install "ragassay[server,grpc]"',
    )


def test_the_command_receives_both_and_a_span_is_stored_once(tmp_path: Path) -> None:
    with Receiver(tmp_path, "--grpc-port", "0") as receiver:
        words, _, address = receiver.lines[1].rpartition(" ")
        assert words == "and over gRPC on"
        assert receiver.post("/v1/traces", export_of(1), "application/x-protobuf").is_success
        with grpc.insecure_channel(address.removeprefix("http://")) as channel:
            metadata = tuple(receiver.headers.items())
            assert channel.unary_unary(TRACES)(export_of(1), metadata=metadata) == b""
        stored = "received 6 records: 3 stored, 3 known already, 0 rejected"
        assert receiver.stopped() == [stored]


def test_spans_come_from_the_exporter_of_opentelemetry(served: Served) -> None:
    exporters = pytest.importorskip("opentelemetry.exporter.otlp.proto.grpc.trace_exporter")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    for compression in (grpc.Compression.NoCompression, grpc.Compression.Gzip):
        exporter = exporters.OTLPSpanExporter(
            endpoint=f"http://127.0.0.1:{served.port}", headers=TOKEN, compression=compression
        )
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        provider.get_tracer("app").start_span("answer " * 100).end()
        provider.shutdown()
    assert served.counts == (2, 2, 0, 0)
