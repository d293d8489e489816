"""From a program in another language: rows are posted, followed, read, labelled, compared with what
the command prints, and one row is judged at once; each mistake says what to do.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from support.shell import Shell, normalised

TOKEN = "a-token-of-at-least-22-characters"
ROWS = [
    {
        "id": "kept",
        "question": "How long does the warranty cover the battery?",
        "contexts": ["The warranty covers the battery for two years."],
        "response": "The warranty covers the battery for two years.",
    },
    {
        "id": "planted",
        "question": "How long does the warranty cover the battery?",
        "contexts": ["The warranty covers the battery for two years."],
        "response": "The warranty covers the battery for nine years.",
    },
]


class Program:
    """A program that knows the address and the token, and nothing else of RagAssay."""

    def __init__(self, address: str) -> None:
        self.place = urlsplit(address).netloc

    def __call__(
        self, method: str, path: str, body: object = None, *, token: str = TOKEN, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection(self.place, timeout=1200)
        sent = {"Authorization": f"Bearer {token}"} | headers
        data = body if isinstance(body, bytes | None) else json.dumps(body)
        if data is not None:
            sent.setdefault("Content-Type", "application/json")
        connection.request(method, f"/api/v1{path}", data, sent)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, content

    def value(self, method: str, path: str, body: object = None) -> Any:
        """The JSON of an answer that went well."""
        status, _, content = self(method, path, body)
        assert status in (200, 202), content
        return json.loads(content)


@contextmanager
def serving(shell: Shell) -> Iterator[Program]:
    """`ragassay serve`, stopped as a user stops it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ragassay", "serve", "--port", "0"],
        cwd=shell.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, "COLUMNS": "80", "RAGASSAY_WEB_TOKEN": TOKEN},
    )
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline().rstrip() for _ in range(5)]
        assert lines[1:] == [
            "Sign in with the token in RAGASSAY_WEB_TOKEN.",
            f"Traces: export OTEL_EXPORTER_OTLP_ENDPOINT={lines[0].rstrip('/')}",
            "export OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20$RAGASSAY_WEB_TOKEN",
            "Ctrl-C stops the server.",
        ]
        yield Program(lines[0])
    finally:
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert normalised(err)[-1] == "stopped; what was labelled is in the store"


def events(content: bytes) -> list[tuple[str, Any]]:
    found = []
    for block in content.decode().strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines())
        found.append((fields["event"], json.loads(fields["data"])))
    return found


def test_rows_are_posted_followed_read_and_labelled_with_the_numbers_of_the_command(
    shell: Shell,
) -> None:
    # There is a store already: a server does not make one where a slip named the place.
    shell.write("first.jsonl", json.dumps(ROWS[0]))
    shell("ragassay evaluate first.jsonl --metrics groundedness --name first")
    with serving(shell) as program:
        body = {"rows": ROWS, "metrics": ["groundedness"], "name": "posted"}
        status, headers, content = program("POST", "/runs", body)
        begun = json.loads(content)
        assert (status, begun["state"], begun["total"]) == (202, "running", 2)
        run = begun["run_id"]
        assert headers["location"] == f"/api/v1/runs/{run}"

        # Followed until it stops.
        status, headers, content = program("GET", f"/runs/{run}/events")
        assert headers["content-type"].startswith("text/event-stream")
        name, last = events(content)[-1]
        assert (name, last["state"], last["done"]) == ("end", "finished", 2)

        # Every figure is the command's.
        summary = program.value("GET", "/runs/posted/summary")
        assert summary["headline"] == "1 of 2 rows pass, 1 fail, 0 undecided"
        assert summary == json.loads(shell("ragassay show posted --json", at_most=2000).out)
        (failing,) = program.value("GET", f"/runs/{run}/rows?verdict=fail")["items"]
        assert (failing["id"], failing["cause"]) == ("planted", "ungrounded")
        row = program.value("GET", f"/runs/{run}/rows/{failing['index']}")
        (part,) = row["scores"][0]["parts"]
        assert (part["passed"], row["diagnosis"]["cause"]["name"]) == (False, "ungrounded")
        _, headers, content = program("GET", f"/runs/{run}/export?format=csv")
        shell(f"ragassay export {run} --format csv --output scores.csv")
        assert content == (shell.folder / "scores.csv").read_bytes()
        status, _, content = program(
            "GET", f"/runs/{run}/export?format=csv", **{"If-None-Match": headers["etag"]}
        )
        assert (status, content) == (304, b"")

        # A person's label of a row, which the command finds.
        labels = [{"id": "planted", "label": "no", "annotator": "ann"}]
        kept = program.value("POST", f"/runs/{run}/labels", {"labels": labels})
        assert (kept["kept"], kept["metrics"]) == (1, ["groundedness"])
        (label,) = program.value("GET", f"/runs/{run}/labels")["items"]
        assert (label["row_id"], label["value"], label["annotator"]) == ("planted", 0.0, "ann")

        # One row, at once.
        question = {"row": {name: ROWS[1][name] for name in ("contexts", "response")}}
        score = program.value("POST", "/judge/groundedness", question)
        assert (score["verdict"], score["value"]) == ("fail", row["scores"][0]["value"])

        # A mistake says what is wrong, where, and what to do; a wrong token says nothing more.
        status, headers, content = program("POST", "/runs", {"rows": ROWS, "metric": ["x"]})
        problem = json.loads(content)
        assert (status, headers["content-type"]) == (422, "application/problem+json")
        assert (problem["code"], problem["where"]) == ("E1409", "/metric")
        assert "Did you mean 'metrics'?" in problem["why"]
        entry = program.value("GET", "/errors/E1409")
        assert problem["title"] == entry["meaning"]
        status, _, content = program("GET", f"/runs/{run}", token="x" * 30)
        assert (status, json.loads(content)["code"]) == (401, "E1401")
