"""A proxy before a database that cuts the connection at a commit: before it is handed on, or after
it happened.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self


class CuttingProxy:
    """Listens on `port` and hands on to `target`. `arm("before" | "after" | "stuck")` has the next
    COMMIT cut once; `first` is called before that.
    """

    def __init__(self, target: int) -> None:
        self._target, self._armed, self.cuts = target, "", 0
        self._first: Callable[[], object] | None = None
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._threads: list[threading.Thread] = []
        self._sockets: list[socket.socket] = []

    def arm(self, when: str, first: Callable[[], object] | None = None) -> None:
        """Cut the connection of the next COMMIT, before the server gets it or after it has
        answered.
        """
        self._armed, self._first = when, first

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self._target))
            except OSError:  # it is down: so are we
                client.close()
                continue
            self._sockets += [client, server]
            muted = threading.Event()
            self._spawn(self._forward, client, server, muted)
            self._spawn(self._back, server, client, muted)

    def _spawn(self, work: object, *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)  # type: ignore[arg-type]
        thread.start()
        self._threads.append(thread)

    def _forward(
        self, client: socket.socket, server: socket.socket, muted: threading.Event
    ) -> None:
        try:
            while data := client.recv(1 << 16):
                if b"COMMIT\0" in data and self._armed:
                    when, self._armed = self._armed, ""
                    self.cuts += 1
                    if self._first is not None:
                        self._first()
                    if (
                        when == "stuck"
                    ):  # the server hears nothing more, and is not told that nobody is there
                        _drop(client)
                        return
                    if when == "before":
                        break
                    muted.set()  # the answer is swallowed, then both ends are cut
                server.sendall(data)
        except OSError:
            pass
        _drop(client, server)

    def _back(self, server: socket.socket, client: socket.socket, muted: threading.Event) -> None:
        try:
            while data := server.recv(1 << 16):
                if muted.is_set():
                    break
                client.sendall(data)
        except OSError:
            pass
        _drop(client, server)

    def __enter__(self) -> Self:
        self._spawn(self._accept)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        _drop(*self._sockets)
        for thread in self._threads:
            thread.join(5)
        for one in self._sockets:
            one.close()


def _drop(*sockets: socket.socket) -> None:
    for one in sockets:
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
