"""The endpoint over real HTTP: what it takes, what it refuses and how, and what it never loses."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import resource
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from ragassay.store import Store
from ragassay.tracing.endpoint import TraceEndpoint
from ragassay.tracing.job import AssemblyJob
from support.otlp_json import request, span
from support.receiver import Receiver

JSON, PROTOBUF = "application/json", "application/x-protobuf"
MIB = 1 << 20


@pytest.fixture(scope="module")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    with Receiver(tmp_path_factory.mktemp("receiver")) as started:
        yield started


def export(trace: int, count: int = 3, text: str = "") -> ExportTraceServiceRequest:
    """An export of a trace with so many spans."""
    message = ExportTraceServiceRequest()
    scope = message.resource_spans.add().scope_spans.add()
    for number in range(1, count + 1):
        each = scope.spans.add()
        each.trace_id = trace.to_bytes(16, "big")
        each.span_id = number.to_bytes(8, "big")
        each.name = text or f"span {number}"
    return message


def in_json(trace: int, count: int = 3) -> bytes:
    name = f"{trace:032x}"
    return json.dumps(request([span(name, n, None, {}) for n in range(1, count + 1)])).encode()


def counts(receiver: Receiver) -> tuple[float, ...]:
    """(received, stored, duplicate, rejected)."""
    names = ("received", "stored", "duplicate", "rejected")
    return tuple(receiver.metric(f"ragassay_records_{name}_total") for name in names)


def test_every_record_is_stored_rejected_or_known_already(receiver: Receiver) -> None:
    before = counts(receiver)
    message = export(1, 4)
    message.resource_spans[0].scope_spans[0].spans[3].trace_id = bytes(16)
    body = message.SerializeToString()
    first = receiver.post("/v1/traces", body, PROTOBUF)
    partial = ExportTraceServiceResponse.FromString(first.content).partial_success
    assert (first.status_code, partial.rejected_spans) == (200, 1)
    assert partial.error_message == "1 x the id of its trace is not 16 bytes, or zero"
    # The same again, packed, then in the other encoding.
    again = receiver.post(
        "/v1/traces", gzip.compress(body), PROTOBUF, **{"content-encoding": "gzip"}
    )
    assert again.status_code == 200
    in_other = receiver.post(
        "/v1/traces", zlib.compress(in_json(1)), JSON, **{"content-encoding": "deflate"}
    )
    assert (in_other.status_code, in_other.json()) == (200, {})
    after = counts(receiver)
    received, stored, duplicate, rejected = (b - a for a, b in zip(before, after, strict=True))
    assert (received, stored, duplicate, rejected) == (11, 3, 6, 2)
    assert received == stored + duplicate + rejected


def test_all_parts_of_a_compressed_body_are_stored(receiver: Receiver) -> None:
    before = counts(receiver)
    body = b"".join(gzip.compress(export(trace).SerializeToString()) for trace in (11, 12))
    answer = receiver.post("/v1/traces", body, PROTOBUF, **{"content-encoding": "gzip"})
    assert answer.status_code == 200
    assert counts(receiver)[1] - before[1] == 6


@pytest.mark.parametrize(("kind", "megabytes", "status"), [
    (PROTOBUF, 7, 200), (PROTOBUF, 15, 200), (PROTOBUF, 17, 413), (JSON, 7, 200), (JSON, 9, 413),
])  # fmt: skip
def test_a_large_export_is_taken_up_to_the_limit_where_nothing_else_is_under_way(
    receiver: Receiver, kind: str, megabytes: int, status: int
) -> None:
    before = counts(receiver)
    text = "word " * (204 << 10)
    body = export(9000 + megabytes, megabytes, text).SerializeToString()
    if kind == JSON:
        trace = f"{megabytes:032x}"
        spans = [span(trace, number + 1, None, {"x": text}) for number in range(megabytes)]
        body = json.dumps(request(spans)).encode()
    assert abs(len(body) / (1 << 20) - megabytes) < 0.5
    assert receiver.post("/v1/traces", body, kind).status_code == status
    stored = counts(receiver)[1] - before[1]
    assert stored == (megabytes if status == 200 else 0)


def test_rejections_are_counted_in_the_encoding_of_the_request(receiver: Receiver) -> None:
    bad = {**span("0" * 32, 1, None, {})}
    answer = receiver.post("/v1/traces", json.dumps(request([bad, bad])).encode(), JSON)
    assert answer.headers["content-type"] == JSON
    assert answer.json() == {
        "partialSuccess": {
            "rejectedSpans": "2",
            "errorMessage": "2 x the id of its trace is not 16 bytes, or zero",
        }
    }


@pytest.mark.parametrize("header", [{}, {"authorization": "Bearer wrong"}, {"authorization": "x"}])
def test_nothing_is_taken_without_the_token(receiver: Receiver, header: dict[str, str]) -> None:
    before = counts(receiver)
    answer = httpx.post(
        f"{receiver.address}/v1/traces",
        content=export(2).SerializeToString(),
        headers={"content-type": PROTOBUF, **header},
    )
    assert answer.status_code == 401
    assert counts(receiver) == before


def test_whoever_has_the_token_can_read_nothing(receiver: Receiver) -> None:
    for path in ("/", "/v1/traces", "/v1/spans", "/runs"):
        answer = httpx.get(f"{receiver.address}{path}", headers=receiver.headers)
        assert answer.status_code in (404, 405)


GZIP = {"content-encoding": "gzip"}
REFUSED: dict[str, tuple[int, bytes, str, dict[str, str]]] = {
    "a bomb": (413, gzip.compress(bytes(64 * MIB)), PROTOBUF, GZIP),
    "a bomb in JSON": (413, gzip.compress(b" " * (9 * MIB)), JSON, GZIP),
    "a bomb in a bomb": (400, gzip.compress(gzip.compress(bytes(32 * MIB))), PROTOBUF, GZIP),
    "packed twice": (415, b"x", PROTOBUF, {"content-encoding": "gzip, gzip"}),
    "packed in another way": (415, b"x", PROTOBUF, {"content-encoding": "br"}),
    "cut compression": (400, gzip.compress(b"x" * 1000)[:-8], PROTOBUF, GZIP),
    "damaged compression": (400, b"\x1f\x8b\x08\x00nothing", PROTOBUF, GZIP),
    "too many compressed parts": (400, gzip.compress(b"") * 10_000, PROTOBUF, GZIP),
    "more behind its compression": (400, gzip.compress(b"") + b"more", PROTOBUF, GZIP),
    "deep JSON": (400, b"[" * 100_000, JSON, {}),
    "no export": (400, b"\xff\xff\xff", PROTOBUF, {}),
    "another type": (415, b"x", "text/plain", {}),
    "logs sent as traces": (400, b'{"resourceLogs": []}', JSON, {}),
    "too large": (413, bytes(17 * MIB), PROTOBUF, {}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_export_is_refused_at_once(receiver: Receiver, name: str) -> None:
    status, body, kind, headers = REFUSED[name]
    before = counts(receiver)
    began = time.monotonic()
    answer = receiver.post("/v1/traces", body, kind, **headers)
    assert answer.status_code == status, answer.content
    assert time.monotonic() - began < 5
    assert counts(receiver) == before
    assert httpx.get(f"{receiver.address}/healthz").status_code == 200


def test_a_million_attributes_take_no_memory_to_speak_of(receiver: Receiver) -> None:
    pairs = b",".join(b'{"key":"k","value":{"intValue":"1"}}' for _ in range(1_000_000))
    body = b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"attributes":[' + pairs + b"]}]}]}]}"
    before = rss(receiver)
    packed = receiver.post("/v1/traces", gzip.compress(body, 1), JSON, **GZIP)
    assert packed.status_code == 413
    message = ExportTraceServiceRequest()
    each = message.resource_spans.add().scope_spans.add().spans.add()
    for _ in range(1_000_000):
        each.attributes.add().key = "k"
    answer = receiver.post("/v1/traces", message.SerializeToString(), PROTOBUF)
    partial = ExportTraceServiceResponse.FromString(answer.content).partial_success
    assert partial.error_message == "1 x it is larger than 4 MiB"
    assert rss(receiver) - before < 64 * MIB


def rss(receiver: Receiver) -> int:
    """Bytes of memory of the process."""
    text = Path(f"/proc/{receiver.process.pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", text)
    assert found is not None
    return int(found[1]) * 1024


def test_senders_that_never_finish_do_not_hold_up_others(receiver: Receiver) -> None:
    import socket

    host, port = "127.0.0.1", receiver.port
    idle: list[socket.socket] = []
    try:
        for _ in range(200):
            connection = socket.create_connection((host, port), timeout=120)
            connection.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Le")
            idle.append(connection)
        began = time.monotonic()
        assert receiver.post("/v1/traces", export(3).SerializeToString(), PROTOBUF).is_success
        assert time.monotonic() - began < 2
    finally:
        for connection in idle:
            connection.close()


def test_senders_that_announce_much_and_stall_do_not_hold_up_others(receiver: Receiver) -> None:
    import socket

    head = b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n"
    token = f"Authorization: {receiver.headers['authorization']}\r\n".encode()
    stalled = [socket.create_connection(("127.0.0.1", receiver.port), timeout=30) for _ in "123"]
    try:
        for connection in stalled:
            connection.sendall(head + token + b"Content-Length: 4194304\r\n\r\nx")
        time.sleep(0.3)
        assert receiver.post("/v1/traces", export(4).SerializeToString(), PROTOBUF).is_success
        began = time.monotonic()
        assert all(b" 408 " in connection.recv(100) for connection in stalled)
        assert time.monotonic() - began < 10, "long before the 30 s of a body that goes on"
    finally:
        for connection in stalled:
            connection.close()


def test_small_bodies_that_unpack_to_millions_of_values_do_not_hold_up_others(
    receiver: Receiver,
) -> None:
    spans = b'[{"attributes":[%b{}]}]' % (b"{}," * 2_000_000)
    heavy = gzip.compress(b'{"resourceSpans":[{"scopeSpans":[{"spans":%b}]}]}' % spans)
    assert len(heavy) < 10_000
    before = rss(receiver)
    with ThreadPoolExecutor(4) as pool:
        sent = [pool.submit(receiver.post, "/v1/traces", heavy, JSON, **GZIP) for _ in range(4)]
        time.sleep(0.1)
        began = time.monotonic()
        assert receiver.post(
            "/v1/traces", gzip.compress(export(5).SerializeToString()), PROTOBUF, **GZIP
        ).is_success
        assert time.monotonic() - began < 10
        assert {each.result().status_code for each in sent} == {400}
    assert rss(receiver) - before < 64 * MIB


def test_a_locked_store_is_answered_with_503_and_nothing_acknowledged_is_lost(
    tmp_path: Path,
) -> None:
    with Receiver(tmp_path) as receiver:
        assert receiver.post("/v1/traces", export(1).SerializeToString(), PROTOBUF).is_success
        (path,) = (tmp_path / ".ragassay").glob("*.db")
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        began = time.monotonic()
        refused = receiver.post("/v1/traces", export(2).SerializeToString(), PROTOBUF)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert time.monotonic() - began < 2
        ready = httpx.get(f"{receiver.address}/readyz")
        assert (ready.status_code, ready.text) == (503, "the store does not answer now\n")
        other.execute("COMMIT")
        # It comes again, as its sender was told, and is there once.
        until = time.monotonic() + 120
        while receiver.post("/v1/traces", export(2).SerializeToString(), PROTOBUF).is_error:
            assert time.monotonic() < until
        assert other.execute("SELECT count(*) FROM spans").fetchone() == (6,)
        assert httpx.get(f"{receiver.address}/readyz").text == "ready\n"
        other.close()


def test_a_full_disk_is_answered_with_503_until_there_is_room_again(tmp_path: Path) -> None:
    with Receiver(tmp_path) as receiver:
        assert receiver.post("/v1/traces", export(1).SerializeToString(), PROTOBUF).is_success
        pid = receiver.process.pid
        # No file may grow, as with a quota.
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
        refused = receiver.post("/v1/traces", export(2).SerializeToString(), PROTOBUF)
        assert (refused.status_code, "retry-after" in refused.headers) == (503, True)
        assert httpx.get(f"{receiver.address}/readyz").status_code == 503
        free = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, free)
        until = time.monotonic() + 120
        while receiver.post("/v1/traces", export(2).SerializeToString(), PROTOBUF).is_error:
            assert time.monotonic() < until
        assert httpx.get(f"{receiver.address}/readyz").status_code == 200
        assert receiver.metric("ragassay_records_stored_total") == 6


def _send_until_killed(receiver: Receiver, sender: int, acknowledged: list[int]) -> None:
    number = 0
    with httpx.Client(headers={**receiver.headers, "content-type": PROTOBUF}) as client:
        while True:
            number += 1
            trace = sender * 1_000_000 + number
            body = export(trace, 20).SerializeToString()
            try:
                answer = client.post(f"{receiver.address}/v1/traces", content=body)
            except httpx.TransportError:
                return
            if answer.is_success:
                acknowledged.append(trace)


def test_what_was_acknowledged_is_there_once_after_kill_9(tmp_path: Path) -> None:
    acknowledged: list[int] = []
    for start in range(3):
        with Receiver(tmp_path) as receiver:
            senders = [
                threading.Thread(
                    target=_send_until_killed, args=(receiver, 10 * start + n + 1, acknowledged)
                )
                for n in range(3)
            ]
            for each in senders:
                each.start()
            time.sleep(0.4 + 0.1 * start)
            receiver.killed()
            for each in senders:
                each.join()
    assert len(acknowledged) > 20
    with Receiver(tmp_path):
        (path,) = (tmp_path / ".ragassay").glob("*.db")
        connection = sqlite3.connect(path)
        stored = [bytes(key) for (key,) in connection.execute("SELECT key FROM spans")]
        connection.close()
    assert len(stored) == len(set(stored))
    wanted = {
        trace.to_bytes(16, "big") + n.to_bytes(8, "big")
        for trace in acknowledged
        for n in range(1, 21)
    }
    assert wanted <= set(stored)


def test_metrics_are_lines_that_prometheus_reads(receiver: Receiver) -> None:
    answer = httpx.get(f"{receiver.address}/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    line = re.compile(r'# TYPE \w+ (counter|gauge)|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [\d.]+')
    assert all(line.fullmatch(each) for each in answer.text.splitlines())
    assert "ragassay_assembly_lag_seconds" in answer.text


def test_a_store_that_does_not_answer_holds_up_neither_metrics_nor_exports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragassay.tracing.endpoint._METRICS_S", 0.2)
    away = threading.Event()

    class Job(AssemblyJob):
        def lines(self) -> list[str]:
            away.wait(20)
            return super().lines()

    async def look() -> list[str]:
        application: Any = endpoint
        transport = httpx.ASGITransport(application)
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
            first, second, health = await asyncio.gather(
                client.get("/metrics"), client.get("/metrics"), client.get("/healthz")
            )
            assert health.text == "ok\n"
            away.set()
            while "ragassay_assembly_lag_seconds" not in (await client.get("/metrics")).text:
                await asyncio.sleep(0.01)
            return [first.text, second.text]

    with Store.open(tmp_path / "store.db") as store:
        endpoint = TraceEndpoint(store, "", Job(store.span_records))
        endpoint.start()
        held_up = asyncio.run(look())
        endpoint.stop()
    for text in held_up:
        assert "ragassay_records_received_total 0" in text
        assert "ragassay_assembly_lag_seconds" not in text


def test_beyond_this_machine_nothing_is_received_without_a_token(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="E0104"), Receiver(tmp_path, "--host", "0.0.0.0"):
        pass
