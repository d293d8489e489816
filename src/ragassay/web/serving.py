"""A running server: its socket, uvicorn, and the address to hand out."""

from __future__ import annotations

import errno
import socket
import threading
from typing import TYPE_CHECKING

from ragassay.core import EnvironmentFailure, SetupError
from ragassay.web.settings import WebSettings, is_loopback

if TYPE_CHECKING:
    from collections.abc import Callable

    import uvicorn

    from ragassay.store import Store
    from ragassay.tracing.grpc_server import GrpcServer
    from ragassay.web.application import Application

USUAL_PORT = 8417
DRAIN_S = 3
"""How long answers that are under way may take when the server stops."""


def needs_libraries() -> None:
    """Raise SetupError E0105 where the extra `server` is not installed."""
    try:
        import fastapi  # noqa: F401 - whether it is there
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise SetupError(
            "E0105",
            "The web application needs the libraries fastapi and uvicorn.",
            why=str(error),
            fix='pip install "ragassay[server]"',
        ) from error


class Server:
    """The web application over one store, listening. `serve` answers until `stop`."""

    def __init__(self, store: Store, settings: WebSettings, *, usual_port: bool = False) -> None:
        import uvicorn

        from ragassay.web.application import make_application
        from ragassay.web.malformed import Protocol

        self.settings = settings.checked()
        self.socket = _listening(self.settings, usual_port)
        self.application: Application = make_application(store, self.settings)
        config = uvicorn.Config(
            self.application.asgi,
            http=Protocol,
            log_config=None,
            access_log=False,
            server_header=False,
            # A header of a proxy that anybody can send is not believed.
            proxy_headers=False,
            lifespan="off",
            timeout_graceful_shutdown=DRAIN_S,
        )
        self.on_grpc: Callable[[int | None], None] = lambda port: None
        """Told the port of gRPC once that answers."""
        self._uvicorn = _uvicorn_server(config, self._grpc(), lambda port: self.on_grpc(port))

    def _grpc(self) -> GrpcServer | None:
        (traces, ingest) = (self.settings.traces, self.application.site.ingest)
        if ingest is None or traces is None or traces.grpc_port is None:
            return None
        from ragassay.tracing.grpc_server import GrpcServer

        return GrpcServer(ingest.intake, self.settings.host, traces.grpc_port)

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.socket.getsockname()[1])

    @property
    def address(self) -> str:
        """The URL of the server, without a token."""
        host = self.settings.host
        if host in ("0.0.0.0", "::"):
            host = "127.0.0.1" if host == "0.0.0.0" else "::1"
        shown = f"[{host}]" if ":" in host else host
        return f"http://{shown}:{self.port}"

    def link(self, path: str = "/") -> str:
        """An address that signs in. The token stands in the fragment, which browsers keep to
        themselves: it is in no request line, log or referrer.
        """
        return f"{self.address}{path}#token={self.settings.token}"

    def serve(self) -> None:
        """Answer until the process is told to stop (Ctrl-C, SIGTERM) or `stop` is called."""
        try:
            self._uvicorn.run(sockets=[self.socket])
        finally:
            self.close()

    def start(self) -> threading.Thread:
        """Answer in a thread of its own, and return it when the server is ready."""
        thread = threading.Thread(target=self.serve, name="web", daemon=True)
        thread.start()
        ready = threading.Event()
        while not self._uvicorn.started and thread.is_alive():
            ready.wait(0.01)
        return thread

    def stop(self) -> None:
        """Let answers under way end, and stop."""
        self._uvicorn.should_exit = True

    def close(self) -> None:
        """Give the socket and what runs in the background back."""
        self.socket.close()
        self.application.close()


def start_server(store: Store, settings: WebSettings, *, usual_port: bool = False) -> Server:
    """A server that listens and does not answer yet.

    usual_port: where no port is named, 8417 if it is free. Raises SetupError E0902 where others
    could reach it without a token, E0105 without its libraries, EnvironmentFailure E0901 where the
    address cannot be taken.
    """
    needs_libraries()
    if settings.traces is not None and settings.traces.grpc_port is not None:
        from ragassay.tracing.grpc_server import grpc_library

        grpc_library()
    return Server(store, settings, usual_port=usual_port)


def _uvicorn_server(
    config: uvicorn.Config, grpc: GrpcServer | None, say: Callable[[int | None], None]
) -> uvicorn.Server:
    """uvicorn's server, with gRPC where it is wanted. say: told its port once it answers."""
    import uvicorn

    if grpc is None:
        return uvicorn.Server(config)
    from ragassay.tracing.grpc_server import with_grpc

    return with_grpc(uvicorn.Server, grpc, say)(config)


def _listening(settings: WebSettings, usual_port: bool) -> socket.socket:
    if usual_port and not settings.port:
        try:
            return _bound(settings.host, USUAL_PORT)
        except EnvironmentFailure:
            pass  # another one is as good
    return _bound(settings.host, settings.port)


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        taken = error.errno == errno.EADDRINUSE
        raise EnvironmentFailure(
            "E0901",
            "The port is in use." if taken else "The server cannot listen there.",
            where=f"{host}:{port}",
            why=error.strerror or str(error),
            fix="name another port with --port, or leave it out to get a free one",
        ) from error
    return listening


def opens_a_browser(settings: WebSettings, terminal: bool) -> bool:
    """Whether a browser is opened: only for somebody who sits at this machine's terminal."""
    return terminal and is_loopback(settings.host)
