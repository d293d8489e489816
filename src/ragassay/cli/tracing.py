"""The command that receives traces, and received traces as rows of `evaluate`."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from ragassay.cli.output import note, print_lines, store_file
from ragassay.cli.parameters import StoreOption
from ragassay.core.counting import count
from ragassay.core.errors import SetupError

if TYPE_CHECKING:
    from ragassay.store import Store
    from ragassay.tracing.endpoint import TraceEndpoint

TOKEN = "RAGASSAY_TRACES_TOKEN"
"""Variable with the token that senders show."""
_QUIET_S = 30.0

GrpcPortOption = Annotated[
    int | None,
    typer.Option(
        min=0, max=65535, help="Port for OTLP over gRPC, too; 4317 is usual. Extra: grpc."
    ),
]


def receive(  # plain: a parameter is an option with its help
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any free one.")
    ] = 4318,
    grpc_port: GrpcPortOption = None,
    quiet: Annotated[
        float, typer.Option(min=0, help="Seconds without a new span until a trace is a row.")
    ] = _QUIET_S,
    keep_days: Annotated[
        float | None,
        typer.Option(min=0, help="Days after which spans and rows are deleted [default: never]."),
    ] = None,
    store: StoreOption = None,
) -> None:
    """Receive traces by OTLP over HTTP (and gRPC) and make rows of them, until it is stopped.

    The token that senders show is in RAGASSAY_TRACES_TOKEN; without it one is made for this start.
    """
    from ragassay.store import Store, shown_location
    from ragassay.tracing.endpoint import TraceEndpoint
    from ragassay.tracing.job import AssemblyJob, Patience
    from ragassay.tracing.otlp import messages

    token = _token(host)
    messages()
    if grpc_port is not None:
        from ragassay.tracing.grpc_server import grpc_library

        grpc_library()
    location = store_file(store)
    with Store.open(location) as opened, _listening(host, port) as sock:
        patience = Patience(quiet_s=quiet, keep_days=keep_days)
        job = AssemblyJob(opened.span_records, patience)
        endpoint = TraceEndpoint(opened, token, job)
        http = shown_address(host, sock.getsockname()[1])

        def say(grpc: int | None) -> None:
            lines = [f"receiving traces on {http} into {shown_location(location)}"]
            if grpc is not None:
                lines.append(f"and over gRPC on {shown_address(host, grpc)}")
            print_lines(
                *lines,
                "",
                f"  export OTEL_EXPORTER_OTLP_ENDPOINT={http}",
                f"  export OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20{token}",
                "  ragassay evaluate traces:last-24h",
            )

        _serve(endpoint, sock, host, grpc_port, say)
        counts = endpoint.counters.counts
        note(
            f"received {count(counts.received, 'record')}: {counts.stored:,} stored,"
            f" {counts.duplicate:,} known already, {counts.rejected:,} rejected"
        )


def shown_address(host: str, port: int) -> str:
    """The URL of a host and port."""
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}"


def _token(host: str) -> str:
    """The token that senders have to show. Raises SetupError where anybody could reach a token that
    only this terminal knows.
    """
    import secrets

    token = os.environ.get(TOKEN, "").strip()
    if token:
        return token
    if not _is_loopback(host):
        raise SetupError(
            "E0104",
            f"Without {TOKEN} traces are only received on this machine.",
            where=f"--host {host}",
            why="others could write into the store",
            fix=f"export {TOKEN}=$(openssl rand -hex 24), or --host 127.0.0.1",
        )
    return secrets.token_urlsafe(24)


def _is_loopback(host: str) -> bool:
    import ipaddress

    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@contextlib.contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that listens there. Raises SetupError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((host, port))
        except OSError as error:
            raise SetupError(
                "E0101",
                f"Nothing can listen on {host} port {port}.",
                where=f"--port {port}",
                why=str(error),
                fix="another program may use it: --port 0 takes any free one",
            ) from error
        yield sock


def _serve(
    endpoint: TraceEndpoint,
    sock: socket.socket,
    host: str,
    grpc_port: int | None,
    say: Callable[[int | None], None],
) -> None:
    """Answer requests until SIGINT or SIGTERM. grpc_port: None where gRPC is not wanted. say: told
    the port of gRPC when requests are taken. Raises SetupError.
    """
    import uvicorn

    from ragassay.tracing.grpc_server import GrpcServer, with_grpc

    grpc = None if grpc_port is None else GrpcServer(endpoint.intake, host, grpc_port)

    class Server(uvicorn.Server):
        """A server that a signal ends as it should end: with what waits stored, and code 0."""

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            former = {each: signal.signal(each, self.handle_exit) for each in _ENDS}
            try:
                yield
            finally:
                for each, handler in former.items():
                    signal.signal(each, handler)

    config = uvicorn.Config(
        endpoint,
        log_level="warning",
        access_log=False,
        lifespan="on",
        server_header=False,
        timeout_graceful_shutdown=5,
    )
    with_grpc(Server, grpc, say)(config).run(sockets=[sock])


_ENDS = (signal.SIGINT, signal.SIGTERM)


def rows_of(argument: str, store: str | None) -> str:
    """The file of rows that an argument of `evaluate` names: itself, or the rows of received traces
    of a period.
    """
    if not argument.startswith("traces:"):
        return argument
    from ragassay.store import Store
    from ragassay.tracing.received import snapshot

    with Store.open(store_file(store), make=False) as opened:
        _put_together(opened)
        taken = snapshot(opened, argument)
    for line in taken.lines:
        note(line)
    return str(taken.path)


def _put_together(store: Store) -> None:
    """Make rows of what is ready, where nothing is running that does."""
    from ragassay.tracing.job import AssemblyJob

    if not store.database.read_only:
        AssemblyJob(store.span_records).catch_up()
