"""A server over a store of hand-made rows, asked over real HTTP and in a real browser."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser

from ragassay.core import Ledger, RunState, Spend
from ragassay.store import Store
from ragassay.web import Server, WebSettings, start_server
from report.conftest import Maker
from support.browsing import chromium
from support.otlp_json import openinference_request

INVENTED = (("The limit is 20 requests a minute.", 3), ("It was raised to 90 in May.", 0))


@dataclass
class Reply:
    """An answer of the server."""

    status: int
    headers: Mapping[str, str]
    text: str
    cookies: list[str]


class Client:
    """Asks a server; signed in with the token that a program sends, unless it says otherwise."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.host = f"127.0.0.1:{server.port}"

    def ask(
        self,
        path: str,
        method: str = "GET",
        form: Mapping[str, str] | None = None,
        *,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        host: str | None = None,
    ) -> Reply:
        """One request. token: "" = none, None = the right one."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=120)
        sent = {"Host": self.host if host is None else host}
        given = self.server.settings.token if token is None else token
        if given:
            sent["Authorization"] = f"Bearer {given}"
        body = None
        if form is not None:
            body = urlencode(form)
            sent["Content-Type"] = "application/x-www-form-urlencoded"
        if method == "POST":
            sent["Origin"] = f"http://{self.host}"
        sent |= headers or {}
        connection.request(method, path, body, {k: v for k, v in sent.items() if v != ""})
        answer = connection.getresponse()
        text = answer.read().decode("utf-8")
        found = {name.lower(): value for name, value in answer.getheaders()}
        cookies = answer.headers.get_all("set-cookie") or []
        connection.close()
        return Reply(answer.status, found, text, cookies)


@contextmanager
def serving(store: Store, settings: WebSettings | None = None) -> Iterator[Client]:
    """A server over a store, until the block ends."""
    # Tests ask more often than people do.
    server = start_server(store, settings or WebSettings(rate=100_000.0))
    thread = server.start()
    try:
        yield Client(server)
    finally:
        server.stop()
        thread.join(120)
        assert not thread.is_alive()


def save(store: Store, rows, run_id: str = "run1", **more):
    """Keep rows as a finished run."""
    state = more.pop("state", RunState.FINISHED)
    store.create_run(Maker().manifest(run_id, more.pop("total", len(rows)), **more))
    store.put_rows(run_id, rows)
    ledger = Ledger(Spend(84, 40_000, 5_000, 1_000, 0.1234, 9.0), 1, 0.002, 7, 2)
    store.update_run(run_id, state=state, stop_reason="", ledger=ledger, seconds=12.5)
    return run_id


def mixed_rows(make: Maker):
    """Eight rows: 4 pass, 2 fail, 1 undecided, 1 unreadable."""
    return [
        make.row(0, slices={"kind": "fact"}),
        make.row(1, slices={"kind": "fact"}),
        make.row(2, sentences=INVENTED, slices={"kind": "history"}),
        make.row(3, slices={"kind": "fact"}),
        make.row(4, sentences=(("Nobody knows.", None),), slices={"kind": "history"}),
        make.row(
            5,
            chunks=(0, 1),
            contexts=("Cats sleep.", "Dogs bark."),
            slices={"kind": "history"},
            sentences=(("Cats bark.", 1),),
            cause="retrieval_irrelevant",
        ),
        make.row(6, slices={"kind": "fact"}, answer="n/a"),
        make.bad(7),
    ]


TRACE = "5b8efff798038103d269b633813fc60c"


def receive(store: Store, *requests: object) -> None:
    """Keep exports of spans as if they had been sent, and make rows of them."""
    from ragassay.tracing.decoding import decode
    from ragassay.tracing.job import AssemblyJob

    for request in requests:
        batch = decode("traces", json.dumps(request).encode(), True)
        store.span_records.put(batch.spans, batch.logs, 1_795_000_000_000)
    AssemblyJob(store.span_records).catch_up(everything=True)


@pytest.fixture
def make() -> Maker:
    return Maker()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "runs.db") as opened:
        yield opened


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Iterator[Client]:
    """Two runs, the second of which mended a row; rows to label; shared by a module's tests."""
    make = Maker()
    with Store.open(tmp_path_factory.mktemp("site") / "runs.db") as store:
        save(store, mixed_rows(make), name="before")
        better = mixed_rows(make)
        better[2] = make.row(2, slices={"kind": "history"})
        save(store, better, "run2", name="after", created="2026-11-21T09:00:00Z")
        from ragassay.trust.measure.label_rounds import choose_to_label

        choose_to_label(store, "run1", "groundedness", 4)
        receive(store, openinference_request("Who?", "Anna.", [("who", ["Anna did."])]))
        with serving(store) as client:
            client.store = store  # type: ignore[attr-defined]
            yield client


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started
