"""A hub of models on this machine, with the parts of the Hugging Face hub's API that a download
takes. Point HF_ENDPOINT at its `url`, in a process that has not imported huggingface_hub yet.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMIT = "a" * 40


@dataclass
class ModelHub:
    """The hub. models: name -> folder. fetched: the files that were downloaded, in order."""

    url: str
    models: dict[str, Path]
    fetched: list[str] = field(default_factory=list)


class _Handler(BaseHTTPRequestHandler):
    """Answers for the `hub` of its class."""

    hub: ModelHub
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self._answer(self.path.partition("?")[0].strip("/").split("/"))

    def do_GET(self) -> None:
        self._answer(self.path.partition("?")[0].strip("/").split("/"))

    def _answer(self, path: list[str]) -> None:
        if path[:2] == ["api", "models"] and "/".join(path[2:4]) in self.hub.models:
            self._describe("/".join(path[2:4]), is_tree="tree" in path)
        elif path[2:3] == ["resolve"] and "/".join(path[:2]) in self.hub.models:
            self._file(self.hub.models["/".join(path[:2])] / "/".join(path[4:]))
        else:
            self._send(404, b'{"error": "no such model"}', {"X-Error-Code": "RepoNotFound"})

    def _describe(self, name: str, *, is_tree: bool) -> None:
        folder = self.hub.models[name]
        files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        names = [str(path.relative_to(folder)) for path in files]
        content: object = {
            "id": name,
            "sha": COMMIT,
            "siblings": [{"rfilename": each} for each in names],
        }
        if is_tree:
            content = [
                {"type": "file", "path": each, "size": path.stat().st_size, "oid": _hash(path)}
                for each, path in zip(names, files, strict=True)
            ]
        self._send(200, json.dumps(content).encode(), {"Content-Type": "application/json"})

    def _file(self, path: Path) -> None:
        if self.command == "GET":
            self.hub.fetched.append(path.name)
        headers = {"ETag": f'"{_hash(path)}"', "X-Repo-Commit": COMMIT}
        self._send(200, path.read_bytes(), headers)

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)


@contextmanager
def model_hub(**models: Path) -> Iterator[ModelHub]:
    """A hub with these models, each under "org/NAME"."""
    hub = ModelHub("", {f"org/{name}": folder for name, folder in models.items()})

    handler = type("Handler", (_Handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    hub.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _hash(path: Path) -> str:
    return hashlib.sha1(path.read_bytes()).hexdigest()


def cache_model(home: Path, name: str, folder: Path) -> Path:
    """A snapshot of the folder in the cache under `home`, as a download leaves it. The snapshot."""
    cached = home / "hub" / f"models--{name.replace('/', '--')}"
    snapshot = cached / "snapshots" / COMMIT
    (cached / "blobs").mkdir(parents=True)
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text(COMMIT)
    for path in folder.rglob("*"):
        if path.is_file():
            blob = cached / "blobs" / _hash(path)
            blob.write_bytes(path.read_bytes())
            link = snapshot / path.relative_to(folder)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(blob)
    return snapshot
