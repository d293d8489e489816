"""The files and batches of a provider's batch API: its requests, and the lines of its answers.

What is sent when, stored and billed is not known here; see `batch`.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

import aiohttp
import orjson
from yarl import URL

from ragassay.core import CallError, ChatCall, ChatReply, Message, Spend
from ragassay.models.capabilities import Capabilities
from ragassay.models.chat_model import ChatModel
from ragassay.models.failures import FILTERED
from ragassay.models.http_client import FAILURES
from ragassay.models.refusals import Refusal, without_refused
from ragassay.models.server_reply import MAX_BODY, MAX_ERROR, parse_json, read_body

T = TypeVar("T")

LONGEST_PAUSE = 60.0
"""Seconds between two polls, or two tries of a request, at most."""

NOT_FOUND = (404, 410)
"""Status codes by which a provider says that it no longer has a batch or file."""

FILE_TIMEOUT = aiohttp.ClientTimeout(total=3600.0, sock_connect=10.0, sock_read=120.0)
"""A file has up to 200 MB."""

CLOCK_DIFFERENCE = 24 * 3600.0
"""Seconds by which the provider's clock may differ from ours."""

COMPLETION_WINDOW = "24h"
"""The only window that the API offers."""

LABEL = "ragassay_batch"
"""Metadata key under which a batch carries our token, to be recognized without a receipt."""

FULL_CALL = ChatCall((Message("user", ""),), schema={}, seed=0)
"""A call that uses everything a server may refuse."""


Answers = dict[str, ChatReply | CallError]
"""By the content hash of the request."""


class BatchApi(ChatModel):
    """A chat model whose server has a batch API as well. Arguments as for `ChatModel`."""

    def __init__(self, name: str, **rest: Any) -> None:
        super().__init__(name, **rest)
        base = URL(self.base_url)
        self._files = base / "files"
        self._batches = base / "batches"
        self._retry_note = ""
        self._reached = False
        self.unmatched_lines = 0

    # -- batches

    async def _upload(self, data: bytes) -> str:
        """The provider's id of a file with these lines."""
        file = await self._retry(
            lambda: self._request("POST", self._files, file=data), "handing a batch over"
        )
        return id_of(file)

    async def _create_batch(self, file: str, run_id: str, token: str, since: str) -> str:
        """The provider's id of a batch of this file, labelled with `token`; created once, however
        often the provider has to be asked. since: when the first request is made.
        """
        order = {
            "input_file_id": file,
            "endpoint": "/v1/chat/completions",
            "completion_window": COMPLETION_WINDOW,
            "metadata": {"ragassay_run": run_id, LABEL: token},
        }
        maybe_created = False

        async def create() -> dict[str, Any]:
            nonlocal maybe_created
            if maybe_created:
                existing = await self._find_by_label(token, since)
                if existing is not None:
                    return existing
            try:
                return await self._request("POST", self._batches, body=order)
            except CallError as error:
                # The answer may be lost of a batch that exists: looked for before another is made.
                maybe_created = error.maybe_billed or (error.status or 0) >= 500
                raise

        return id_of(await self._retry(create, "submitting a batch"))

    async def _find_by_label(self, token: str, created: str) -> dict[str, Any] | None:
        async for theirs in self._listing(created):
            if label_of(theirs) == token:
                return theirs
        return None

    async def _listing(self, since: str) -> AsyncIterator[dict[str, Any]]:
        """The account's batches, newest first, back to that time."""
        begin = datetime.fromisoformat(since).timestamp() - CLOCK_DIFFERENCE
        after = ""
        while True:
            query = {"limit": "100"}
            if after:
                query["after"] = after
            url = self._batches.with_query(query)
            page = await self._retry(partial(self._request, "GET", url), "looking for a batch")
            data = page.get("data")
            entries = data if isinstance(data, list) else []
            batches = [entry for entry in entries if isinstance(entry, dict)]
            for batch in batches:
                created_at = batch.get("created_at")
                if isinstance(created_at, int) and created_at < begin:
                    return
                yield batch
            last = batches[-1].get("id") if batches else None
            if not page.get("has_more") or not isinstance(last, str) or last == after:
                return
            after = last

    # -- answers

    async def _read_file(self, file: str, asked_keys: frozenset[str], answers: Answers) -> None:
        failure: CallError | None = None
        try:
            url = self._files / file / "content"
            async with self._client.open("GET", url, timeout=FILE_TIMEOUT) as response:
                if response.status != 200:
                    text = self._error_text(await read_body(response, MAX_ERROR))
                    raise self._failure(response.status, response.headers, text)
                rest = b""
                async for chunk in response.content.iter_any():
                    *lines, rest = (rest + chunk).split(b"\n")
                    if len(rest) > MAX_BODY:
                        raise CallError(
                            "bad_reply", f"a line of the batch is longer than {MAX_BODY >> 20} MB"
                        )
                    for line in lines:
                        self._add_line(line, asked_keys, answers)
                self._add_line(rest, asked_keys, answers)
        except CallError as error:
            failure = error
        except FAILURES as error:
            failure = self._client.broken(error)
        if failure is not None:
            raise failure

    def _add_line(self, line: bytes, asked_keys: frozenset[str], answers: Answers) -> None:
        if not line.strip():
            return
        data = parse_json(line)
        key = data.get("custom_id") if isinstance(data, dict) else None
        if not isinstance(key, str) or key not in asked_keys:
            self.unmatched_lines += 1
            return
        if isinstance(answers.get(key), ChatReply):  # the first answer of a call counts
            return
        answers[key] = self._read_line(data)

    def _read_line(self, line: dict[str, Any]) -> ChatReply | CallError:
        """The reply, or the error, that one line of a file holds."""
        response = line.get("response")
        status = response.get("status_code") if isinstance(response, dict) else None
        if not isinstance(response, dict) or not isinstance(status, int):
            return self._line_without_response(line.get("error"))
        body = orjson.dumps(response.get("body"))
        if status == 200:
            try:
                reply = self._reply(body, {}, Spend(calls=1))
            except CallError as failure:
                return failure
            self._accepted |= {"batch"}
            return reply
        text = self._error_text(body)
        if status in (400, 422) and FILTERED.search(text):
            return ChatReply("", "content_filter", self.name, Spend(1))
        # A server that has accepted a full request does not refuse its fields now: the words come
        # from a row that the error repeats.
        if not self._accepted and self._learn_from_line(status, text):
            # Retried: the next body leaves out what this one was refused for.
            return CallError("server", text, retryable=True, status=status)
        return self._failure(status, {}, text)

    def _learn_from_line(self, status: int, text: str) -> bool:
        """Whether the error of one line is about a field of the request, which is then left out of
        the next ones.
        """
        formats = self.provider.dialect.formats
        limit = FULL_CALL.max_tokens
        refusal = Refusal(FULL_CALL, self._known, limit, formats, status, text)
        changed = without_refused(refusal)
        if changed is not None:
            self._known = changed
        first = Refusal(FULL_CALL, Capabilities(), limit, formats, status, text)
        return self._known != Capabilities() and without_refused(first) is not None

    def _line_without_response(self, error: object) -> CallError:
        """The error of a call that the provider has not answered."""
        if not error:
            text = "a line has neither an answer nor an error"
            return CallError("bad_reply", text, retryable=True, maybe_billed=True)
        text = self._error_text(orjson.dumps(error))
        code = error.get("code") if isinstance(error, dict) else None
        if code in ("batch_expired", "batch_cancelled"):
            return CallError(str(code).removeprefix("batch_"), f"no answer: {text}")
        return CallError("server", text, retryable=True, maybe_billed=False)

    # -- requests

    async def _retry(self, ask: Callable[[], Awaitable[T]], doing: str) -> T:
        """The result of `ask`, tried until it works or fails for good. There is no time limit: a
        batch loses nothing while its provider is away for an hour.
        """
        tries = 0
        pause = 0.5
        try:
            while True:
                try:
                    return await ask()
                except CallError as error:
                    if not error.retryable:
                        raise
                    tries += 1
                    # A host that never answered is more likely mistyped than away.
                    if tries == 5 and error.kind == "network" and not self._reached:
                        raise
                    if error.retry_after is None:
                        pause = min(2 * pause, LONGEST_PAUSE)
                    else:
                        pause = error.retry_after
                    self._retry_note = f"{doing} failed ({error.message}); again in {pause:.0f} s"
                await asyncio.sleep(pause)
        finally:
            self._retry_note = ""

    async def _request(
        self, method: str, url: URL, *, body: object | None = None, file: bytes | None = None
    ) -> dict[str, Any]:
        """One request of the batch API, and the object it answers with."""
        data: Any = None if body is None else orjson.dumps(body)
        headers: dict[str, str] = {}
        if file is not None:
            form = aiohttp.FormData({"purpose": "batch"})
            form.add_field(
                "file",
                io.BytesIO(file),
                filename="ragassay.jsonl",
                content_type="application/jsonl",
            )
            data = form()
            headers["Content-Type"] = data.headers["Content-Type"]  # the session's own is JSON
        failure: CallError | None = None
        try:
            async with self._client.open(
                method, url, data=data, headers=headers, timeout=FILE_TIMEOUT
            ) as response:
                self._reached = True
                status = response.status
                raw = await read_body(response, MAX_BODY)
                if status not in (200, 201):
                    if status in (404, 405, 501) and method == "POST":
                        what = f"{self._host} has no batch API (it answered {status} at {url.path})"
                        raise CallError("batch", what, fatal=True, status=status)
                    raise self._failure(status, response.headers, self._error_text(raw))
            answer = parse_json(raw)
            if not isinstance(answer, dict):
                raise self._bad_reply("the reply is not a JSON object")
            return answer
        except CallError as error:
            failure = error
        except FAILURES as error:
            failure = self._client.broken(error)
        raise failure


def label_of(theirs: Mapping[str, Any]) -> object:
    """The token with which we labelled a batch; None for a batch that is not ours."""
    labels = theirs.get("metadata")
    return labels.get(LABEL) if isinstance(labels, dict) else None


def id_of(theirs: Mapping[str, Any]) -> str:
    """The provider's id of a file or batch."""
    name = theirs.get("id")
    if not isinstance(name, str) or not name or len(name) > 200:
        raise CallError(
            "batch",
            "the server answered without an id: it has no batch API that we know",
            fatal=True,
        )
    return name
