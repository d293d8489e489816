"""From an application in production to an alert: a sample is judged, and quality falls."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from support.receiver import Receiver
from support.shell import Shell
from support.traffic import RIGHT, export, turn

# As long as the right answer, so that nothing but the quality changes.
WRONG = "The city library was founded in 1850."


@pytest.fixture
def webhook() -> Iterator[ThreadingHTTPServer]:
    """A server that keeps what is posted to it, in `received`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["content-length"])
            server.received.append(json.loads(self.rfile.read(size)))  # type: ignore[attr-defined]
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.received = []  # type: ignore[attr-defined]
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


GUARANTEE = "chance of ever raising a false alarm: at most 5% from each arming on"


def send(receiver: Receiver, kind: str, answers: list[str]) -> None:
    turns = [turn(f"{kind} {n}", answer) for n, answer in enumerate(answers)]
    assert receiver.post("/v1/traces", export(turns), "application/json").status_code == 200


def test_a_sample_of_what_arrives_is_judged_and_a_fall_in_quality_alerts(
    shell: Shell, webhook: ThreadingHTTPServer
) -> None:
    address = f"http://127.0.0.1:{webhook.server_port}/hooks/SECRET"
    watch = (
        "ragassay watch --once --judge offline --metrics groundedness --sample 0.5 --budget 5/day"
        f" --mark 'groundedness>=0.8' --alert-to {address}"
    )
    with Receiver(shell.folder) as receiver:
        nothing = shell(watch)
        assert nothing.lines[0] == (
            "traffic: no row arrived in the last 24 h. Nothing is measured."
        )
        send(receiver, "good", [RIGHT] * 60)
        well = shell(watch)
        assert well.lines[0] == (
            "traffic: 60 rows in 60 sessions in the last 24 h; 26 judged by offline"
        )
        # sampled = judged + dropped + pending, exactly.
        assert well.lines[1] == (
            "since the start 60 arrived, 26 sampled = 26 judged + 0 dropped + 0 pending"
        )
        assert any(line.startswith("groundedness passes  100.0%") for line in well.lines)
        assert (
            "chance of ever raising a false alarm: at most 5% from each arming on" in well.lines
        ), "the guarantee stands beside the marks"
        assert not webhook.received  # type: ignore[attr-defined]

        send(receiver, "bad", [WRONG] * 60)
        fallen = shell(watch)
        assert re.search(
            r"ALERT groundedness>=0.8 does not hold: 0\.\d+ over the latest \d+ sessions",
            fallen.err,
        )
        assert any(line.startswith("ALERT ") for line in fallen.lines)
        received = webhook.received  # type: ignore[attr-defined]
        # Scores that fall may be told of as a drift, too, by how the hours lie.
        (alert,) = [each for each in received if each["kind"] == "mark"]
        assert alert["watch"] == "traffic"
        assert alert["about"] == "groundedness>=0.8"
        assert (
            alert["guarantee"]
            == "chance of ever raising a false alarm: at most 5% from each arming on"
        )
        # The address may be a secret: of it only the host is shown.
        assert "SECRET" not in fallen.out + fallen.err
        assert f"webhook 127.0.0.1:{webhook.server_port}: told" in fallen.messages

        # Told once; and nothing is judged or counted twice.
        again = json.loads(shell(watch + " --json", at_most=10_000).out)
        assert again["arrived"] == 120
        assert again["sampled"] == again["judged"] == 55
        assert len(again["alerts"]) == len(received)
