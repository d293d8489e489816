"""Which server do the tests of batches talk to? The scripted LLM server with the provider's files
and batches.

    with BatchServer(batch_latency=0.2, batch_faults=["expire", None]) as server: ...

A batch is answered, and billed at half of the price, when it is accepted, whoever comes to fetch
it; its files are there after `batch_latency` seconds, in an order of their own. Single lines fail
as the LLM server's script says (a status puts the line into the error file). The server's books:
`batches` (submitted), `lines` (bought), `bought_twice` (custom ids answered in more than one
batch), and those of the LLM server.

Faults, one word a batch ordered (batch_faults):
    invalid      the batch fails validation             token_limit  too many tokens wait already
    expire       half of the lines are not answered     cancel       as expire, by somebody's hand
    lost         the batch is taken, the receipt never arrives
    429 500 401  the order is answered with this status
    duplicates   lines come twice        strays      lines of nobody come too
    malformed    lines that are no JSON  missing     a line is left out
    no_file      all was answered, and no file is named
Faults of looking and fetching, one word a request (look_faults): a status, or "reset"; of fetching
alone: file_faults; of handing a file over: upload_faults. most_lines: a batch of more lines fails
with the limit of tokens that wait.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
from aiohttp import web

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from ragassay.testing import LLMServer, ServerProcess
from ragassay.testing.process import main
from ragassay.testing.prompts import prompt_digest
from ragassay.testing.replies import STATUS, error, refusal, rejection


class BatchServer(LLMServer):
    """See the module."""

    def __init__(self, **settings: Any) -> None:
        self.batch_latency: float = settings.pop("batch_latency", 0.0)
        self.batch_faults: list[str | None] = list(settings.pop("batch_faults", ()))
        self.look_faults: list[str | None] = list(settings.pop("look_faults", ()))
        self.file_faults: list[str | None] = list(settings.pop("file_faults", ()))
        self.upload_faults: list[str | None] = list(settings.pop("upload_faults", ()))
        self.most_lines: int | None = settings.pop("most_lines", None)
        self._files: dict[str, bytes] = {}
        self._batches: dict[str, dict[str, Any]] = {}
        super().__init__(**settings)

    def reset(self) -> None:
        """Empty books; files and batches stay."""
        super().reset()
        self.lines = 0
        self.looks = 0
        self.custom_ids: Counter[str] = Counter()

    def add_routes(self, app: web.Application) -> None:
        """The provider's files and batches."""
        app.router.add_post("/v1/files", self._upload)
        app.router.add_get("/v1/files/{file}/content", self._content)
        app.router.add_post("/v1/batches", self._order)
        app.router.add_get("/v1/batches", self._list)
        app.router.add_get("/v1/batches/{batch}", self._look)

    def stats(self) -> dict[str, Any]:
        """The books, with those of the batches."""
        return super().stats() | {
            "batches": len(self._batches),
            "statuses_of_batches": [
                self._shown(batch)["status"] for batch in self._batches.values()
            ],
            "lines": self.lines,
            "looks": self.looks,
            "bought_twice": sum(1 for n in self.custom_ids.values() if n > 1),
        }

    async def _upload(self, request: web.Request) -> web.Response:
        if not self._has_key(request):
            return error(401, "Incorrect API key provided", "invalid_api_key")
        form = await request.post()
        fault = self.upload_faults.pop(0) if self.upload_faults else None
        if fault is not None:
            self.injected[f"upload {fault}"] += 1
            return error(
                int(fault), "The file storage limit of the organization is reached.", "storage"
            )
        assert form["purpose"] == "batch"
        field = form["file"]
        assert isinstance(field, web.FileField)
        name = self._file(field.file.read())
        return web.json_response(
            {"id": name, "object": "file", "purpose": "batch", "bytes": len(self._files[name])}
        )

    def _file(self, data: bytes) -> str:
        name = f"file-{len(self._files) + 1}"
        self._files[name] = data
        return name

    async def _order(self, request: web.Request) -> web.StreamResponse:
        if not self._has_key(request):
            return error(401, "Incorrect API key provided", "invalid_api_key")
        order = await request.json()
        assert (order["endpoint"], order["completion_window"]) == ("/v1/chat/completions", "24h")
        fault = self.batch_faults.pop(0) if self.batch_faults else None
        if fault is not None:
            self.injected[fault] += 1
            if STATUS.fullmatch(fault):
                return error(int(fault), f"scripted {fault}", "scripted")
        name = f"batch_{len(self._batches) + 1}"
        batch = {
            "id": name,
            "object": "batch",
            "endpoint": order["endpoint"],
            "input_file_id": order["input_file_id"],
            "metadata": order.get("metadata"),
            "created_at": int(time.time()),
            "begun": time.monotonic(),
        }
        batch |= self._answer_all(self._files[order["input_file_id"]], fault)
        self._batches[name] = batch
        if fault == "lost":
            refused = await refusal(request, "reset", "")
            assert refused is not None
            return refused
        return web.json_response(self._shown(batch))

    def _answer_all(self, data: bytes, fault: str | None) -> dict[str, Any]:
        asked = [orjson.loads(line) for line in data.splitlines()]
        if fault == "token_limit" or (self.most_lines is not None and len(asked) > self.most_lines):
            return self._failed(
                "token_limit_exceeded",
                "Enqueued token limit reached for mock in organization o.",
                None,
            )
        if fault == "invalid":
            return self._failed("invalid_json_line", "This line is not parseable as valid JSON.", 1)
        given: list[bytes] = []
        wrong: list[bytes] = []
        usual, self.price = self.price, (self.price[0] / 2, self.price[1] / 2)
        for at, line in enumerate(asked):
            name, body = line["custom_id"], line["body"]
            if fault in ("expire", "cancel") and at >= len(asked) // 2:
                code = "batch_expired" if fault == "expire" else "batch_cancelled"
                expired = {"code": code, "message": "This request could not be executed."}
                wrong.append(_line(name, None, expired))
                continue
            if fault == "missing" and at == 0:
                continue
            status, reply = self._answer_one(name, body)
            line = _line(name, {"status_code": status, "request_id": "", "body": reply}, None)
            (given if status == 200 else wrong).append(line)
        self.price = usual
        counts = {"total": len(asked), "completed": len(given), "failed": len(wrong)}
        random.Random(len(asked)).shuffle(given)
        files = {
            which: self._file(b"\n".join(lines) + b"\n") if lines else None
            for which, lines in (
                ("output_file_id", _damaged(given, fault)),
                ("error_file_id", wrong),
            )
        }
        if fault == "no_file":
            files = {}
        ends = {"expire": "expired", "cancel": "cancelled"}.get(fault or "", "completed")
        return {"ends": ends, "counts": counts, "files": files, "errors": None}

    def _answer_one(self, name: str, body: dict[str, Any]) -> tuple[int, object]:
        """The HTTP status and the body of the answer to one line, as the chat endpoint gives it."""
        trouble = self._next_fault(body)
        refused = rejection(body, self.rejects)
        if refused is None and trouble is not None and STATUS.fullmatch(trouble):
            self.injected[trouble] += 1
            refused = error(int(trouble), f"scripted {trouble}", f"scripted_{trouble}")
        self.asked[prompt_digest(body)] += 1
        if self.keep_bodies:
            self.bodies.append(body)
        if refused is not None:
            assert isinstance(refused.body, bytes)
            return refused.status, orjson.loads(refused.body)
        reply = self._reply(body, orjson.dumps(body), trouble or "")
        self.lines += 1
        self.custom_ids[name] += 1
        self.answered[prompt_digest(body)] += 1
        return 200, reply

    def _failed(self, code: str, message: str, line: int | None) -> dict[str, Any]:
        error = {"code": code, "message": message, "param": None, "line": line}
        return {
            "ends": "failed",
            "counts": {"total": 0, "completed": 0, "failed": 0},
            "files": {},
            "errors": {"object": "list", "data": [error]},
        }

    def _shown(self, batch: dict[str, Any]) -> dict[str, Any]:
        shown = {k: v for k, v in batch.items() if k not in ("begun", "ends", "counts", "files")}
        shown |= {"output_file_id": None, "error_file_id": None}
        age, counts = time.monotonic() - batch["begun"], dict(batch["counts"])
        if age < self.batch_latency:
            share = age / self.batch_latency
            counts |= {"completed": int(counts["completed"] * share), "failed": 0}
            return shown | {"status": "in_progress", "errors": None, "request_counts": counts}
        return shown | batch["files"] | {"status": batch["ends"], "request_counts": counts}

    async def _stumble(self, request: web.Request) -> web.StreamResponse | None:
        if not self._has_key(request):
            return error(401, "Incorrect API key provided", "invalid_api_key")
        self.looks += 1
        fault = self.look_faults.pop(0) if self.look_faults else None
        if fault is None:
            return None
        self.injected[f"look {fault}"] += 1
        return await refusal(request, fault, "")

    async def _look(self, request: web.Request) -> web.StreamResponse:
        if (trouble := await self._stumble(request)) is not None:
            return trouble
        batch = self._batches.get(request.match_info["batch"])
        return (
            error(404, "No batch of that id", "not_found")
            if batch is None
            else web.json_response(self._shown(batch))
        )

    async def _content(self, request: web.Request) -> web.StreamResponse:
        if (trouble := await self._stumble(request)) is not None:
            return trouble
        fault = self.file_faults.pop(0) if self.file_faults else None
        if fault is not None:
            self.injected[f"file {fault}"] += 1
            return error(int(fault), f"scripted {fault}", "scripted")
        data = self._files.get(request.match_info["file"])
        return (
            error(404, "No file of that id", "not_found")
            if data is None
            else web.Response(body=data)
        )

    async def _list(self, request: web.Request) -> web.StreamResponse:
        if (trouble := await self._stumble(request)) is not None:
            return trouble
        newest = [self._shown(batch) for batch in reversed(self._batches.values())]
        after = request.query.get("after")
        start = next((n + 1 for n, one in enumerate(newest) if one["id"] == after), 0)
        page = newest[start : start + int(request.query.get("limit", 20))]
        return web.json_response(
            {"object": "list", "data": page, "has_more": start + len(page) < len(newest)}
        )


class BatchProcess(ServerProcess):
    """`python batch_server.py` as a context manager."""

    command = (str(Path(__file__).resolve()),)


def _line(name: str, response: dict[str, Any] | None, error: dict[str, Any] | None) -> bytes:
    return orjson.dumps(
        {"id": f"batch_req_{name}", "custom_id": name, "response": response, "error": error}
    )


def _damaged(lines: list[bytes], fault: str | None) -> list[bytes]:
    """The lines of an output file as the scripted fault leaves them."""
    if fault == "duplicates":
        return lines * 2
    if fault == "strays":
        stray = _line("f" * 32, {"status_code": 200, "body": {}}, None)
        return [*lines, stray, b'{"custom_id": 3}', b"[]"]
    if fault == "malformed":
        return [b"{not json", *lines, b'\xff\xfe"', b"null"]
    return lines


if __name__ == "__main__":
    main(kind=BatchServer)
