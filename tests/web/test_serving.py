"""A server takes an address, or says why it cannot."""

from __future__ import annotations

import socket

import grpc
import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ragassay.core import EnvironmentFailure, SetupError
from ragassay.store import Store
from ragassay.web import WebSettings, start_server
from ragassay.web.serving import opens_a_browser
from ragassay.web.settings import TraceSettings
from web.conftest import serving

EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


def test_a_port_in_use_is_a_coded_error(store: Store) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(EnvironmentFailure) as refused:
            start_server(store, WebSettings(port=port))
    assert refused.value.code == "E0901"
    assert refused.value.where == f"127.0.0.1:{port}"


def test_an_address_of_another_machine_is_the_same_error(store: Store) -> None:
    with pytest.raises(EnvironmentFailure) as refused:
        start_server(store, WebSettings(host="203.0.113.7", token="x" * 22))
    assert refused.value.code == "E0901"


def test_where_the_usual_port_is_taken_a_free_one_is_as_good(store: Store, monkeypatch) -> None:
    from ragassay.web import serving as module

    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        monkeypatch.setattr(module, "USUAL_PORT", other.getsockname()[1])
        server = start_server(store, WebSettings(), usual_port=True)
        assert server.port != other.getsockname()[1]
        server.close()


def test_a_port_that_is_none_is_refused(store: Store) -> None:
    with pytest.raises(SetupError, match="A port lies between"):
        start_server(store, WebSettings(port=70000))


def test_the_token_stands_in_the_fragment_alone(store: Store) -> None:
    with serving(store) as client:
        link = client.server.link("/runs/last")
    before, _, fragment = link.partition("#")
    assert client.server.settings.token not in before
    assert fragment == f"token={client.server.settings.token}"


def test_a_browser_is_opened_for_somebody_at_a_terminal_alone() -> None:
    assert opens_a_browser(WebSettings(), True)
    assert not opens_a_browser(WebSettings(), False)
    assert not opens_a_browser(WebSettings(host="0.0.0.0"), True)


def test_an_empty_store_and_one_that_gets_its_first_run_are_shown(store: Store, make) -> None:
    from web.conftest import save

    with serving(store) as client:
        assert "The store holds no run yet." in client.ask("/").text
        assert client.ask("/compare").status == 200
        save(store, [make.row(0)])
        assert "rows.jsonl" in client.ask("/").text


def test_spans_over_grpc_go_where_those_over_http_go(store: Store) -> None:
    message = ExportTraceServiceRequest()
    span = message.resource_spans.add().scope_spans.add().spans.add(name="turn")
    (span.trace_id, span.span_id) = (b"\x01" * 16, b"\x02" * 8)
    (span.start_time_unix_nano, span.end_time_unix_nano) = (10**18, 10**18 + 1)
    sent = message.SerializeToString()
    ports: list[int | None] = []
    traces = TraceSettings(token="for-senders-alone-0123456789", grpc_port=0)
    server = start_server(store, WebSettings(traces=traces))
    server.on_grpc = ports.append
    thread = server.start()
    shown = {"authorization": f"Bearer {traces.token}"}
    with grpc.insecure_channel(f"127.0.0.1:{ports[0]}") as channel:
        export = channel.unary_unary(EXPORT)
        with pytest.raises(grpc.RpcError) as refused:
            export(sent, metadata=(("authorization", "Bearer wrong"),))
        assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
        export(sent, metadata=tuple(shown.items()))
    kind = {"content-type": "application/x-protobuf"}
    httpx.post(f"{server.address}/v1/traces", content=sent, headers=shown | kind)
    metrics = httpx.get(f"{server.address}/metrics").text
    assert "ragassay_records_stored_total 1\n" in metrics
    assert "ragassay_records_duplicate_total 1\n" in metrics
    server.stop()
    thread.join(120)
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", ports[0])) != 0


def test_a_port_of_grpc_that_is_taken_is_said_before_anything_is_received(store: Store) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        server = start_server(store, WebSettings(traces=TraceSettings(grpc_port=port)))
        with pytest.raises(SetupError) as refused:
            server.serve()
    assert (refused.value.code, refused.value.where) == ("E0101", f"--grpc-port {port}")
