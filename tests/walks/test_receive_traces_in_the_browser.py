"""A team's server takes the spans of a running application: a turn becomes a row on the page, is
judged, and its spans are shown beside what broke.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, expect

from support.browsing import Tab, chromium
from support.otlp_json import openinference_request
from support.receiver import send
from support.shell import Shell

PASSAGE = "The city library was founded in 1911."
WRONG = "The city library was founded in 1850."
TURN: list[dict[str, Any]] = [
    {
        "name": "answer",
        "attributes": {
            "openinference.span.kind": "CHAIN",
            "input.value": "When was the library founded?",
            "output.value": WRONG,
        },
    },
    {
        "name": "search the library",
        "parent": 0,
        "attributes": {
            "openinference.span.kind": "RETRIEVER",
            "input.value": "library founded",
            "retrieval.documents.0.document.content": PASSAGE,
        },
    },
]


@dataclass
class Team:
    """A server as a team starts it: its address, its token, what senders have to set."""

    address: str
    token: str
    lines: list[str]

    @property
    def exported(self) -> Mapping[str, str]:
        return {
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.address,
            "OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer%20{self.token}",
        }

    def page(self, path: str) -> str:
        headers = {"authorization": f"Bearer {self.token}"}
        return httpx.get(f"{self.address}{path}", headers=headers).text


@contextmanager
def serving(shell: Shell) -> Iterator[Team]:
    token = "a-token-of-the-team-0123456789"
    process = subprocess.Popen(
        [sys.executable, "-m", "ragassay", "serve", "--port", "0", "--quiet", "0.1"],
        cwd=shell.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, "COLUMNS": "80", "RAGASSAY_WEB_TOKEN": token},
    )
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline().rstrip() for _ in range(5)]
        yield Team(lines[0].rstrip("/"), token, lines)
    finally:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, (out, err)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


def test_a_span_sent_to_the_server_becomes_a_row_and_its_waterfall_stands_beside_what_broke(
    shell: Shell, browser: Browser
) -> None:
    with serving(shell) as team:
        assert team.lines[1:] == [
            "Sign in with the token in RAGASSAY_WEB_TOKEN.",
            f"Traces: export OTEL_EXPORTER_OTLP_ENDPOINT={team.address}",
            "export OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20$RAGASSAY_WEB_TOKEN",
            "Ctrl-C stops the server.",
        ]
        assert httpx.get(f"{team.address}/readyz").text == "ready\n"
        assert httpx.post(f"{team.address}/v1/traces", content=b"").status_code == 401
        send(team, TURN, "openinference.instrumentation.test")  # type: ignore[arg-type]
        until = time.monotonic() + 120
        while "1 turn of 1 trace" not in team.page("/traces") and time.monotonic() < until:
            time.sleep(0.1)
        metrics = httpx.get(f"{team.address}/metrics").text
        assert "ragassay_records_received_total 2" in metrics
        shell("ragassay evaluate traces:all --metrics groundedness")

        tab = Tab(browser, team.address)
        page = tab.page
        page.goto(f"{team.address}/traces")
        page.get_by_label("Token").fill(team.token)
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator("h1")).to_have_text("1 turn of 1 trace")
        health = page.locator("table.facts")
        expect(health).to_contain_text("– stored")
        page.locator("tbody a[data-item]").click()
        expect(page.locator(".spans tbody tr")).to_have_count(2)
        expect(page.locator(".turn")).to_contain_text("read from")
        page.get_by_role("link", name="in traces-").click()
        # The row: what is wrong in it, and below the spans that it was made of.
        expect(page.locator("mark.n")).to_contain_text("1850")
        page.locator(".spans summary").nth(1).click()
        expect(page.locator(".spans .said").nth(1)).to_contain_text(PASSAGE)
        assert tab.seen == []
        assert tab.ran() == []
        tab.close()


def test_who_may_send_traces_may_read_nothing(shell: Shell, monkeypatch) -> None:
    monkeypatch.setenv("RAGASSAY_TRACES_TOKEN", "another-token-for-senders-0123")
    with serving(shell) as team:
        request = openinference_request("Who?", "Anna.", [])
        for token, status in ((team.token, 401), ("another-token-for-senders-0123", 200)):
            headers = {"authorization": f"Bearer {token}"}
            sent = httpx.post(f"{team.address}/v1/traces", json=request, headers=headers)
            assert sent.status_code == status, token
        headers = {"authorization": "Bearer another-token-for-senders-0123"}
        assert httpx.get(f"{team.address}/traces", headers=headers).status_code == 401
