"""A scripted model over real HTTP: chat with calls of tools and streams, and embeddings, as the
clients of OpenAI's protocol ask for them.

`ragassay.testing.LLMServer` plays a judge, which calls no tools and embeds nothing; this one plays
the model of an application.
"""

from __future__ import annotations

import json
import math
import re
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Body = dict[str, Any]
_DIMENSIONS = 256


@dataclass(frozen=True)
class ToolCall:
    """A reply that asks for a tool, and says nothing."""

    name: str
    arguments: Mapping[str, Any]


Reply = str | ToolCall | int
"""What the model says, the tool that it asks for, or the status of HTTP that it fails with."""


class ScriptedModel:
    """The server, as a context manager. chat: the reply to a body of a request. broken: texts whose
    embedding fails with status 500.
    """

    def __init__(self, chat: Callable[[Body], Reply], broken: frozenset[str] = frozenset()) -> None:
        self.chat = chat
        self.broken = broken
        self.url = ""

    def __enter__(self) -> Self:
        handler = type("Handler", (_Handler,), {"script": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    """One connection, which the client may keep for further requests."""

    script: ScriptedModel
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith("/embeddings"):
            self._embed(body)
            return
        reply = self.script.chat(body)
        if isinstance(reply, int):
            self._fail(reply)
        elif body.get("stream"):
            self._send(b"".join(_events(body, reply)), "text/event-stream")
        else:
            self._send_json(_completion(body, reply))

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: requests are no output of the tests."""

    def _embed(self, body: Body) -> None:
        given = body["input"]
        texts = [given] if isinstance(given, str) else given
        if self.script.broken.intersection(texts):
            self._fail(500)
            return
        data = [
            {"object": "embedding", "index": place, "embedding": _embedding(text)}
            for place, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
        self._send_json({"object": "list", "model": body["model"], "data": data, "usage": usage})

    def _fail(self, status: int) -> None:
        error = {"message": "the model is away", "type": "server_error", "code": None}
        self._send_json({"error": error}, status)

    def _send_json(self, value: Mapping[str, Any], status: int = 200) -> None:
        self._send(json.dumps(value).encode(), "application/json", status)

    def _send(self, data: bytes, kind: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _embedding(text: str) -> list[float]:
    """A direction for each word: texts that share more words are nearer."""
    vector = [0.0] * _DIMENSIONS
    for word in set(re.findall(r"\w+", text.lower())):
        vector[zlib.crc32(word.encode()) % _DIMENSIONS] += 1.0
    length = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [value / length for value in vector]


def _message(reply: str | ToolCall) -> dict[str, Any]:
    if isinstance(reply, str):
        return {"role": "assistant", "content": reply}
    function = {"name": reply.name, "arguments": json.dumps(reply.arguments)}
    call_id = f"call_{zlib.crc32(function['arguments'].encode()):08x}"
    call = {"id": call_id, "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _finish(reply: str | ToolCall) -> str:
    return "stop" if isinstance(reply, str) else "tool_calls"


_USAGE = {"prompt_tokens": 40, "completion_tokens": 7, "total_tokens": 47}


def _whole(body: Body, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
    named = {"id": "chatcmpl-1", "object": kind, "created": 1_700_000_000, "model": body["model"]}
    return {**named, "choices": choices}


def _completion(body: Body, reply: str | ToolCall) -> dict[str, Any]:
    choice = {"index": 0, "message": _message(reply), "finish_reason": _finish(reply)}
    return {**_whole(body, "chat.completion", [choice]), "usage": _USAGE}


def _events(body: Body, reply: str | ToolCall) -> Iterator[bytes]:
    """The reply as server-sent events, a word each."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    if isinstance(reply, str):
        deltas += [{"content": word} for word in re.findall(r"\s*\S+\s*$|\s*\S+", reply)]
    else:
        calls = _message(reply)["tool_calls"]
        deltas.append({"tool_calls": [{"index": 0, **call} for call in calls]})
    for delta in deltas:
        yield _event(body, [{"index": 0, "delta": delta, "finish_reason": None}])
    yield _event(body, [{"index": 0, "delta": {}, "finish_reason": _finish(reply)}])
    if (body.get("stream_options") or {}).get("include_usage"):
        yield _event(body, [], usage=_USAGE)
    yield b"data: [DONE]\n\n"


def _event(body: Body, choices: list[dict[str, Any]], **more: Any) -> bytes:
    chunk = {**_whole(body, "chat.completion.chunk", choices), **more}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"
