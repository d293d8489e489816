"""The API over the store of hand-made runs, asked as a program asks it."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from typing import Any

import pytest

from ragassay.web import Server
from web.conftest import Client

ROW = {
    "id": "bridge",
    "question": "When was the bridge opened?",
    "contexts": ["The bridge was opened in 1937."],
    "response": "The bridge was opened in 1937.",
    "reference": "1937",
}


class Program:
    """Asks the API of a server."""

    def __init__(self, server: Server) -> None:
        self.server = server

    def __call__(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        *,
        token: str | None = None,
    ) -> tuple[int, dict[str, str], bytes]:
        """One request of /api/v1 + path. token: "" = none, None = the right one. A header "" is
        left out."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=300)
        shown = self.server.settings.token if token is None else token
        sent = {"Authorization": f"Bearer {shown}" if shown else ""}
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        if data is not None:
            sent["Content-Type"] = "application/json"
        sent |= headers or {}
        connection.request(method, f"/api/v1{path}", data, {k: v for k, v in sent.items() if v})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, content

    def value(self, method: str, path: str, body: object = None, status: int = 200) -> Any:
        """The JSON of an answer with this status."""
        found, _, content = self(method, path, body)
        assert found == status, (found, content)
        return json.loads(content)


@pytest.fixture(scope="module")
def program(site: Client) -> Program:
    return Program(site.server)


def after(path: str, of: Program) -> list[tuple[str, Any]]:
    """The events of a stream, read to its end."""
    _, _, content = of("GET", path)
    found = []
    for block in content.decode().strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines())
        found.append((fields["event"], json.loads(fields["data"])))
    return found
