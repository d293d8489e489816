"""Guards in a FastAPI application, over real HTTP: routes, streams, and many requests at once."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import uvicorn
from fastapi import FastAPI
from fastapi.responses import JSONResponse, StreamingResponse

import ragassay
from ragassay import guard


@ragassay.metric
def supported(response: str, contexts: list[str]) -> bool:
    """Whether a chunk holds the response."""
    return any(response.strip() in text for text in contexts)


def application() -> FastAPI:
    app = FastAPI()
    strict = guard.block_output(supported, at_least=1, on_error="block", deadline_ms=20_000)

    @app.exception_handler(guard.Blocked)
    async def blocked(request, error: guard.Blocked) -> JSONResponse:
        return JSONResponse({"blocked": error.result.summary}, status_code=422)

    @app.get("/answer")
    @strict
    async def answer(question: str, year: int = 1932) -> dict[str, object]:
        return {"answer": f"It opened in {year}.", "contexts": ["It opened in 1932."]}

    @app.get("/plain")
    @strict
    def plain(question: str, year: int = 1932) -> dict[str, object]:
        return {"answer": f"It opened in {year}.", "contexts": ["It opened in 1932."]}

    @app.get("/stream")
    async def stream(question: str) -> StreamingResponse:
        async def pieces() -> AsyncIterator[str]:
            yield "It opened in 1932. It "
            yield "cost 77 million. "

        released = guard.stream(
            pieces(),
            supported,
            at_least=1,
            on_error="block",
            deadline_ms=20_000,
            contexts=["It opened in 1932."],
            instead="(held back)",
        )
        return StreamingResponse(released, media_type="text/plain")

    return app


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    config = uvicorn.Config(application(), host="127.0.0.1", port=0, log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 120
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(120)


def get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=120) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.mark.parametrize("route", ["answer", "plain"])
def test_a_guarded_route_keeps_its_parameters_and_its_answer(address, route) -> None:
    status, body = get(f"{address}/{route}?question=q")
    assert (status, json.loads(body)["answer"]) == (200, "It opened in 1932.")
    status, body = get(f"{address}/{route}?question=q&year=1957")
    assert status == 422
    assert json.loads(body) == {"blocked": "supported is 0.00, at least 1 is asked"}
    assert get(f"{address}/{route}?question=q&year=soon")[0] == 422
    assert "1957" not in get(f"{address}/{route}?question=q&year=1957")[1]


def test_a_guarded_stream_ends_before_what_is_not_supported(address) -> None:
    assert get(f"{address}/stream?question=q") == (200, "It opened in 1932. (held back)")


def test_requests_at_once_each_get_their_own_decision(address) -> None:
    years = [1932 if n % 2 else 1957 for n in range(40)]
    with ThreadPoolExecutor(8) as pool:
        urls = [f"{address}/answer?question=q&year={year}" for year in years]
        statuses = [status for status, _ in pool.map(get, urls)]
    assert statuses == [200 if year == 1932 else 422 for year in years]
