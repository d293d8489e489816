"""OTLP over gRPC: the services for traces and logs, in front of the intake that HTTP has, too.

A request's token is looked at before its message is read, and messages are unpacked by the intake:
gRPC itself would read first, and unpack without a bound.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ragassay.core import SetupError
from ragassay.tracing.decoding import Signal
from ragassay.tracing.intake import BODY_S, Intake, Refusal, Refused, acknowledgement
from ragassay.tracing.wire import field, varint

if TYPE_CHECKING:
    import uvicorn

MOST_MESSAGE = 8 << 20
"""Bytes of a message as sent; gRPC refuses a larger one with RESOURCE_EXHAUSTED."""
MOST_READING = 16
"""Messages that are read at once: each may take its whole size before it is known."""
_STOP_S = 5.0
"""Seconds that requests under way have at the end."""
_SERVICES: Mapping[str, Signal] = {
    "opentelemetry.proto.collector.trace.v1.TraceService": "traces",
    "opentelemetry.proto.collector.logs.v1.LogsService": "logs",
}
"""Service -> what its method Export brings."""
_CODES: Mapping[Refusal, str] = {
    Refusal.MALFORMED: "INVALID_ARGUMENT",
    Refusal.TOO_LARGE: "INVALID_ARGUMENT",
    Refusal.NO_TOKEN: "UNAUTHENTICATED",
    Refusal.LATE: "DEADLINE_EXCEEDED",
    Refusal.BUSY: "RESOURCE_EXHAUSTED",
    Refusal.AWAY: "UNAVAILABLE",
}
_STARTS = ((b"\x1f\x8b", "gzip"), (b"\x78", "deflate"))
"""How a compressed message begins, which no export does: its first field is number 1."""


class GrpcServer:
    """The services over one intake, in the running event loop.

    host: an address or a name. port: 0 for any free one.
    """

    def __init__(self, intake: Intake, host: str, port: int) -> None:
        self._intake = intake
        self._address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._port = port
        self._reading = 0
        self._server: Any = None

    async def start(self) -> int:
        """Begin to take requests; the port. Raises SetupError where nothing can listen there, or
        the extra is missing.
        """
        grpc = grpc_library()
        options = (
            ("grpc.max_receive_message_length", MOST_MESSAGE),
            ("grpc.per_message_decompression", 0),
            ("grpc.so_reuseport", 0),
        )
        self._server = grpc.aio.server(options=options)
        self._server.add_generic_rpc_handlers(self._services(grpc))
        try:
            port = self._server.add_insecure_port(self._address)
        except RuntimeError as error:
            raise SetupError(
                "E0101",
                f"Nothing can listen on {self._address} for gRPC.",
                where=f"--grpc-port {self._port}",
                why=str(error)[:200],
                fix="another program may use it: --grpc-port 0 takes any free one",
            ) from None
        await self._server.start()
        return int(port)

    async def stop(self) -> None:
        """Take no further requests, and end those under way."""
        await self._server.stop(_STOP_S)

    def _services(self, grpc: Any) -> tuple[Any, ...]:
        # As streams of one message: a unary method is only called when its message has been read.
        services: list[Any] = []
        for service, signal in _SERVICES.items():
            export = grpc.stream_unary_rpc_method_handler(self._handler(service, signal))
            services.append(grpc.method_handlers_generic_handler(service, {"Export": export}))
        return tuple(services)

    def _handler(self, service: str, signal: Signal) -> Any:
        async def export(_: Any, context: Any) -> bytes:
            grpc = grpc_library()
            try:
                answer = await self._taken(signal, context, grpc)
            except Refused as refused:
                code = getattr(grpc.StatusCode, _CODES[refused.why])
                self._intake.counters.answered(service, code.value[0])
                await context.abort(code, refused.message, _details(code.value[0], refused))
                raise  # `abort` has raised
            self._intake.counters.answered(service, 0)
            return answer

        return export

    async def _taken(self, signal: Signal, context: Any, grpc: Any) -> bytes:
        """Read and store an export; the message of the answer. Raises Refused."""
        given = dict(context.invocation_metadata() or ())
        self._intake.check_token(str(given.get("authorization", "")))
        message = await self._message(context, grpc)
        with self._intake.room(len(message)):
            encoding = "identity"
            for start, name in _STARTS:
                encoding = name if message.startswith(start) else encoding
            rejected = await self._intake.store(signal, message, encoding, False)
        return acknowledgement(signal, rejected, False)

    async def _message(self, context: Any, grpc: Any) -> bytes:
        """The message of a request. Raises Refused."""
        if self._reading >= MOST_READING:
            raise Refused(Refusal.BUSY, "too many exports at once", retry_s=1)
        self._reading += 1
        try:
            message = await asyncio.wait_for(context.read(), BODY_S)
        except TimeoutError:
            words = f"the message did not arrive in {BODY_S:g} seconds"
            raise Refused(Refusal.LATE, words) from None
        finally:
            self._reading -= 1
        if message is grpc.aio.EOF:
            raise Refused(Refusal.MALFORMED, "there is no message")
        return bytes(message)


def grpc_library() -> Any:
    """gRPC, imported when it is first needed. Raises SetupError E0105 where the extra is not
    installed.
    """
    # Its own log goes to the terminal; what is wrong is said by us.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    try:
        import grpc.aio
    except ImportError as error:
        raise SetupError(
            "E0105",
            "Receiving traces over gRPC needs the library of gRPC.",
            where="ragassay receive --grpc-port",
            why=str(error),
            fix='pip install "ragassay[server,grpc]"',
        ) from error
    return grpc


def _details(code: int, refused: Refused) -> tuple[tuple[str, bytes], ...]:
    """The trailing metadata of a refusal: a google.rpc.Status, with a google.rpc.RetryInfo where it
    is to come again, without which exporters do not.
    """
    if not refused.retry_s:
        return ()
    duration = b"\x08" + varint(refused.retry_s)
    retry = field(1, b"type.googleapis.com/google.rpc.RetryInfo") + field(2, field(1, duration))
    status = b"\x08" + varint(code) + field(2, refused.message.encode()) + field(3, retry)
    return (("grpc-status-details-bin", status),)


def with_grpc(
    server: type[uvicorn.Server], grpc: GrpcServer | None, say: Callable[[int | None], None]
) -> type[uvicorn.Server]:
    """This server of uvicorn with gRPC in the same event loop: both begin and end together. grpc:
    None where it is not wanted. say: told the port of gRPC, or None, when requests are taken.
    """

    class Both(server):  # type: ignore[valid-type, misc]
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            # Before HTTP: where gRPC cannot listen, nothing has been begun.
            port = None if grpc is None else await grpc.start()
            await super().startup(sockets)
            say(port)

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            if grpc is not None:
                await grpc.stop()
            await super().shutdown(sockets)

    return Both
