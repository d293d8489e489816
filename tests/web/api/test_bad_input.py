"""Whatever is wrong with a request, the answer is a problem with a code, its place and the remedy;
nothing is lost, and nothing of the machine is told.
"""

from __future__ import annotations

import base64
import gzip
import http.client
import json
import socket
import time
from contextlib import ExitStack, suppress
from urllib.parse import quote

import pytest

from ragassay.core import EnvironmentFailure
from ragassay.core.error_catalogue import error_catalogue
from ragassay.web import malformed
from ragassay.web.api import reading
from ragassay.web.api.messages import Refused
from ragassay.web.api.operations import exports
from ragassay.web.api.problems import status_of
from ragassay.web.api.table import MOST_ROWS_BYTES
from web.api.conftest import ROW, Program

LABELS = "/runs/run1/labels"
JSON = {"Content-Type": "application/json"}
LABEL = {"id": "row-1", "label": 1}


def problem(answer) -> dict:
    """The problem, which tells nothing of the machine."""
    status, headers, content = answer
    assert headers["content-type"] == "application/problem+json", content
    text = content.decode()
    for word in ("Traceback", 'File "', "site-packages", "/tmp/", "runs.db", "sqlite"):
        assert word not in text
    found = json.loads(text)
    assert found["status"] == status
    assert found["code"] in error_catalogue()
    assert found["title"]
    assert found["detail"]
    assert found["remedy"]
    return found


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code", "where"),
    [
        ("GET", "/runs/nothing", None, 404, "E0103", ""),
        ("GET", "/runs/%00", None, 404, "E0103", ""),
        ("GET", "/runs/..%2f..%2fetc", None, 404, "E1404", ""),
        ("GET", "/runs/run1/rows/99", None, 404, "E0108", ""),
        ("GET", "/runs/run1/rows/-1", None, 404, "E0108", ""),
        ("GET", "/runs/run1/rows?verdict=x", None, 422, "E1409", "verdict"),
        ("GET", "/runs/run1/rows?sort=value", None, 422, "E1409", "sort"),
        ("GET", "/runs/run1/rows?metric=x", None, 422, "E1409", "metric"),
        ("GET", "/runs/run1/rows?slice=x", None, 422, "E1409", "slice"),
        ("GET", "/runs/run1/rows?cursor=x", None, 422, "E1409", "cursor"),
        ("GET", "/runs/run1/rows?cursor=é", None, 422, "E1409", "cursor"),
        ("GET", "/runs/run1/rows?limit=0", None, 422, "E1409", "limit"),
        ("GET", "/runs/run1/rows?limit=1_0", None, 422, "E1409", "limit"),
        ("GET", "/runs/run1/rows?limit=5&limit=6", None, 422, "E1409", "limit"),
        ("GET", "/runs/run1/rows?limits=5", None, 422, "E1409", "limits"),
        ("GET", "/runs/run1/rows?id=row-1&q=x", None, 422, "E1409", "id"),
        ("GET", "/runs?all=yes", None, 422, "E1409", "all"),
        ("GET", "/runs/run1?x=1", None, 422, "E1409", "x"),
        ("GET", "/runs/run1/rows?q=%ff", None, 400, "E1408", "the address"),
        ("GET", "/runs/run1/export?format=exe", None, 422, "E1409", "format"),
        ("GET", "/compare?a=run1", None, 422, "E1409", "b"),
        ("GET", "/compare?a=run1&b=run2&margin=nan", None, 422, "E1409", "margin"),
        ("GET", "/errors/E9999", None, 404, "E1404", "E9999"),
        ("POST", "/judge/nothing", {"row": ROW}, 404, "E0201", ""),
        ("POST", "/judge/os:system", {"row": ROW}, 404, "E0201", ""),
        ("POST", "/judge/groundedness", {"row": {}}, 422, "E1409", "/row"),
        ("POST", "/judge/groundedness", {"row": {"rows": 1}}, 422, "E1409", "/row/rows"),
        ("POST", "/judge/groundedness", {"row": {"response": 5}}, 422, "E0303", "/row"),
        ("POST", "/judge/groundedness", {"row": {"judge": "x"}}, 422, "E1409", "/row/judge"),
        *(
            ("POST", "/judge/groundedness", {"row": {name: "/x"}}, 422, "E1409", f"/row/{name}")
            for name in ("store", "base_url", "api_key_env", "headers", "rubrics", "ca", "proxy")
        ),
        (
            "POST",
            "/judge/groundedness",
            {"row": ROW, "parameters": {"pass_mark": "0.5, claims=llm"}},
            422,
            "E0202",
            "/parameters/pass_mark",
        ),
        (
            "POST",
            "/judge/groundedness",
            {"row": ROW, "parameters": {"x": 1}},
            422,
            "E0202",
            "/parameters/x",
        ),
        (
            "POST",
            "/judge/groundedness",
            {"row": ROW, "parameters": {"pass_mark": 7}},
            422,
            "E0202",
            "/parameters/pass_mark",
        ),
        ("POST", "/runs", {"rows": [ROW, ROW]}, 422, "E0306", "/rows/1/id"),
        ("POST", "/runs", {"rows": [{**ROW, "question": 5}]}, 422, "E0303", "/rows/0"),
        ("POST", "/runs", {"rows": [{}]}, 422, "E0307", "/rows"),
        (
            "POST",
            "/judge/groundedness",
            {"row": ROW, "base_url": "http://x"},
            422,
            "E1409",
            "/base_url",
        ),
        (
            "POST",
            "/judge/groundedness",
            {"row": ROW, "judge": "local:/etc"},
            422,
            "E1410",
            "/judge",
        ),
        ("POST", "/runs", {"rows": []}, 422, "E1409", "/rows"),
        ("POST", "/runs", {"rows": [1]}, 422, "E1409", "/rows/0"),
        ("POST", "/runs", {"rows": [ROW], "max_calls": "5"}, 422, "E1409", "/max_calls"),
        ("POST", "/runs", {"rows": [ROW], "app": "os:system"}, 422, "E1409", "/app"),
        ("POST", "/runs", {"rows": [ROW], "headers": ["a: $HOME"]}, 422, "E1409", "/headers"),
        ("POST", "/runs", {"rows": [ROW], "metrics": ["os:system"]}, 422, "E1410", "/metrics/0"),
        ("POST", "/runs", {"rows": [ROW], "metrics": ["nothing"]}, 422, "E0201", "/metrics/0"),
        ("POST", "/runs", {"rows": [ROW], "judge": "openai:gpt"}, 422, "E1410", "/judge"),
        ("POST", "/runs/run1/cancel", None, 409, "E1412", "run run1"),
        ("POST", LABELS, {"labels": [{"id": "row-1"}]}, 422, "E1409", "/labels/0/label"),
        ("POST", LABELS, {"metric": "x", "labels": [LABEL]}, 422, "E0201", "/metric"),
        (
            "POST",
            LABELS,
            {"metric": "groundedness", "labels": [{"id": "no", "label": 1}]},
            422,
            "E0315",
            "/labels/0/id",
        ),
    ],
)
def test_a_mistake_is_named_by_its_place(method, path, body, status, code, where, program) -> None:
    found = problem(program(method, path.replace("é", "%C3%A9"), body))
    assert (found["status"], found["code"]) == (status, code), found
    if where:
        assert where in (found["where"], *(each["where"] for each in found["problems"]))
    if method == "POST":
        # Neither an option of the command, nor the file in which the rows lay.
        assert "--" not in found["remedy"] or "--allow-judge" in found["remedy"]
        assert ".jsonl" not in json.dumps(found)


@pytest.mark.parametrize(
    ("content", "headers", "status", "code"),
    [
        (b"", JSON, 400, "E1408"),
        (b'{"rows": [', JSON, 400, "E1408"),
        (b'{"rows": [NaN]}', JSON, 400, "E1408"),
        (b"[" * 100_000, JSON, 400, "E1408"),
        (b'{"rows": ["\\ud800"]}', JSON, 400, "E1408"),
        ('{"rows": ["é"]}'.encode("latin-1"), JSON, 400, "E1408"),
        ('{"rows": []}'.encode("utf-16"), JSON, 400, "E1408"),
        (b'{"rows": [{"response": "a", "response": "b"}]}', JSON, 400, "E1408"),
        (b"[]", JSON, 422, "E1409"),
        (b"{}", {"Content-Type": "application/json; charset=latin-1"}, 415, "E1407"),
        (gzip.compress(b"{}", mtime=0), {**JSON, "Content-Encoding": "gzip"}, 415, "E1407"),
        (b"{}", {"Content-Type": "text/csv"}, 415, "E1407"),
        (b"{}", {**JSON, "Content-Length": str(MOST_ROWS_BYTES + 1)}, 413, "E1406"),
    ],
)
def test_a_body_that_cannot_be_read_is_refused(content, headers, status, code, program) -> None:
    assert (problem(program("POST", "/runs", content, headers))["code"]) == code
    assert program("POST", "/runs", content, headers)[0] == status


def test_a_body_without_a_length_is_cut_off(program: Program) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", program.server.port, timeout=120)
    chunks = [b" " * 65536] * 20
    headers = {**JSON, "Authorization": f"Bearer {program.server.settings.token}"}
    connection.request("POST", f"/api/v1{LABELS}", iter(chunks), headers, encode_chunked=True)
    answer = connection.getresponse()
    assert (answer.status, json.loads(answer.read())["code"]) == (413, "E1406")
    connection.close()


def _half(program: Program) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", program.server.port), timeout=120)
    head = (
        f"POST /api/v1{LABELS} HTTP/1.1\r\nHost: 127.0.0.1:{program.server.port}\r\n"
        f"Authorization: Bearer {program.server.settings.token}\r\n"
        "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n"
    )
    connection.sendall(head.encode() + b'{"labels": [{"id": "row-1", "la')
    return connection


def test_a_body_that_was_half_sent_changes_nothing_and_gives_its_place_back(
    program: Program, site, monkeypatch
) -> None:
    bodies = site.server.application.api.bodies
    _half(program).close()
    monkeypatch.setattr(reading, "PATIENCE_S", 0.2)
    with _half(program) as connection:
        answer = connection.recv(65536).decode()
    assert answer.startswith("HTTP/1.1 408")
    assert '"code":"E1408"' in answer
    # A client that ends its side and reads on is told so, and does not wait for the deadline.
    monkeypatch.setattr(reading, "PATIENCE_S", 600)
    with _half(program) as connection:
        connection.shutdown(socket.SHUT_WR)
        answer = connection.recv(65536).decode()
        assert connection.recv(1) == b""
    assert answer.startswith("HTTP/1.1 400")
    assert '"code":"E1408"' in answer
    assert "ended before it was whole" in answer
    assert program("GET", LABELS)[0] == 200
    assert bodies.taken == 0
    assert site.store.labels("run1") == ()


def test_clients_that_send_or_fetch_slowly_keep_nobody_else_waiting(
    program: Program, site, monkeypatch
) -> None:
    api = site.server.application.api
    for places in (api.places, api.costly):
        monkeypatch.setattr(places, "_most", 1)
    monkeypatch.setattr(api.bodies, "_most", 3)
    monkeypatch.setattr(api.files, "_most", 2)
    large = b"x" * 30_000_000
    monkeypatch.setattr(exports, "export", lambda store, run, form, path: path.write_bytes(large))
    head = (
        f"GET /api/v1/runs/run1/export HTTP/1.1\r\nHost: 127.0.0.1:{program.server.port}\r\n"
        f"Authorization: Bearer {program.server.settings.token}\r\n\r\n"
    )
    with ExitStack() as slow:
        for _ in range(2):
            slow.enter_context(_half(program))
            fetching = slow.enter_context(
                socket.create_connection(("127.0.0.1", program.server.port), timeout=60)
            )
            fetching.sendall(head.encode())
            assert fetching.recv(15) == b"HTTP/1.1 200 OK"
        assert (api.bodies.taken, api.files.taken, api.places.taken) == (2, 2, 0)
        judged = program("POST", "/judge/token_f1", {"row": ROW | {"reference": "In Rome."}})
        assert judged[0] == 200
        assert program("GET", "/runs/run1/summary")[0] == 200
        # Those of their own kind are told to come again.
        assert problem(program("GET", "/runs/run1/export"))["code"] == "E1411"
    deadline = time.monotonic() + 60
    while api.bodies.taken or api.files.taken:
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize(
    "sent",
    [
        b"no request\r\n\r\n",
        b"GET /api/v1/runs HTTP/1.1\r\nHost 127.0.0.1\r\n\r\n",
        b"POST /api/v1/runs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
    ],
)
def test_bytes_that_are_no_http_are_told_so_with_a_code(sent: bytes, program: Program) -> None:
    address = ("127.0.0.1", program.server.port)
    with socket.create_connection(address, timeout=120) as connection:
        connection.sendall(sent)
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        found = problem((answer.status, headers, answer.read()))
        assert (found["status"], found["code"]) == (400, "E1408")
        assert connection.recv(1) == b""


@pytest.mark.parametrize("upgrade", ["h2c", "websocket"])
def test_an_offer_of_another_protocol_costs_no_body(upgrade: str, program: Program) -> None:
    # As Java's client sends it with every first request.
    connection = http.client.HTTPConnection("127.0.0.1", program.server.port, timeout=120)
    for label in (1, 0):
        headers = {
            "Authorization": f"Bearer {program.server.settings.token}",
            "Content-Type": "application/json",
            "Connection": "Upgrade, HTTP2-Settings",
            "Upgrade": upgrade,
            "HTTP2-Settings": "AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA",
        }
        labels = [{"id": "row-1", "label": label, "annotator": "ann"}]
        body = json.dumps({"metric": "groundedness", "labels": labels, "replace": True})
        connection.request("POST", f"/api/v1{LABELS}", body, headers)
        answer = connection.getresponse()
        assert (answer.status, json.loads(answer.read())["kept"]) == (200, 1)
    connection.close()


def test_a_client_that_ends_its_side_behind_a_whole_request_is_answered(program: Program) -> None:
    head = (
        f"GET /api/v1/runs HTTP/1.1\r\nHost: 127.0.0.1:{program.server.port}\r\n"
        f"Authorization: Bearer {program.server.settings.token}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", program.server.port), timeout=120) as connection:
        connection.sendall(head.encode())
        connection.shutdown(socket.SHUT_WR)
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        assert (answer.status, json.loads(answer.read())["total"]) == (200, 2)
        assert connection.recv(1) == b"", "it was the last answer"


def test_fields_behind_a_body_are_none_of_the_head(program: Program) -> None:
    token, port = program.server.settings.token, program.server.port
    sent = (
        f"POST /api/v1{LABELS} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        f"2\r\n{{}}\r\n0\r\nAuthorization: Bearer {token}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port), timeout=120) as connection:
        connection.sendall(sent.encode())
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        assert answer.status == 401


@pytest.mark.parametrize(("depth", "status"), [(80, 202), (150, 400), (900, 400)])
def test_what_is_nested_too_deep_is_refused_and_nothing_of_it_begins(
    depth: int, status: int, program: Program
) -> None:
    inner = '{"a": ' * depth + "1" + "}" * depth
    body = '{"rows": [{"response": "x", "reference": "x", "m": %s}], "metrics": ["exact_match"]}'
    answer = program("POST", "/runs", (body % inner).encode())
    assert answer[0] == status
    if status == 400:
        assert problem(answer)["code"] == "E1408"


@pytest.mark.parametrize("number", [2**63, 2**53 + 1, -(2**64), 1e300])
def test_a_cursor_with_a_number_of_nobody_is_refused(number: float, program: Program) -> None:
    given = program.value("GET", "/runs/run1/rows?limit=1")["next"]
    mark, (_, index) = json.loads(base64.urlsafe_b64decode(given + "=" * (-len(given) % 4)))
    made = base64.urlsafe_b64encode(json.dumps([mark, [number, index]]).encode()).decode()
    found = problem(program("GET", f"/runs/run1/rows?limit=1&cursor={made.rstrip('=')}"))
    assert (found["status"], found["code"]) == (422, "E1409")


def test_a_round_of_labels_and_a_limit_of_rows_have_bounds(program: Program) -> None:
    sheet = b"id,label,annotator,round\nrow-1,1,zed,99999999999999999999\n"
    kind = {"Content-Type": "text/csv"}
    found = problem(program("POST", f"{LABELS}/import?metric=groundedness", sheet, kind))
    assert (found["status"], found["code"]) == (422, "E0313")
    assert "a round is a whole number up to 1,000,000" in found["why"]
    assert program("GET", LABELS)[0] == 200
    body = {"rows": [{"response": "x", "reference": "x"}], "limit": 2**63}
    found = problem(program("POST", "/runs", body))
    assert (found["status"], found["where"]) == (422, "/limit")


def test_labels_of_two_scales_are_refused_although_they_come_one_by_one(program: Program) -> None:
    def post(value: float, row: str) -> tuple[int, dict[str, str], bytes]:
        labels = [{"id": row, "label": value, "annotator": "of two scales"}]
        return program("POST", LABELS, {"metric": "groundedness", "labels": labels})

    assert post(2, "row-1")[0] == 200
    before = program.value("GET", LABELS)["total"]
    refused = problem(post(0.5, "row-2"))
    assert (refused["code"], refused["where"]) == ("E0313", "/labels")
    assert "`scale`" in refused["remedy"]
    assert program.value("GET", LABELS)["total"] == before


def test_what_needs_nothing_of_a_body_needs_no_body(program: Program) -> None:
    # The run was not posted, so that it cannot go on here: that is said, and not that a type lacks.
    for body, status in ((None, 409), ({}, 409)):
        assert problem(program("POST", "/runs/run1/resume", body))["status"] == status
    found = problem(program("POST", LABELS))
    assert (found["status"], found["code"]) == (415, "E1407")


def test_places_in_a_body_are_those_of_the_body(program: Program) -> None:
    labels = [{"id": "row-1", "label": None}]
    found = problem(program("POST", LABELS, {"metric": "groundedness", "labels": labels}))
    assert [each["where"] for each in found["problems"]] == ["/labels/0/label"]
    body = {"rows": [{"response": "x", "reference": "x"}], "preset": "nosuch"}
    assert problem(program("POST", "/runs", body))["where"] == "/preset"


def _label(row: str, value: object, annotator: str = "poe") -> dict[str, object]:
    return {"id": row, "label": value, "annotator": annotator}


WORD = "the label {!r} is neither a number nor a known word"
DIFFERS = "differs from /labels/{}, of the same person and row"
NO_METRIC = "No metric is called {!r}."
NO_NAME = "is a name that nobody who labels can have"


@pytest.mark.parametrize(
    ("path", "body", "problems"),
    [
        (
            LABELS,
            # A label may be a text that looks like a place.
            [_label("row-1", 1), _label("row-2", "maybe"), _label("row-3", "; row 9: x")],
            {"/labels/1": WORD.format("maybe"), "/labels/2": WORD.format("; row 9: x")},
        ),
        (
            LABELS,
            [_label("row-1", "?", f"p{n}") for n in range(30)],
            # No more than twenty are named.
            {f"/labels/{n}": WORD.format("?") for n in range(20)},
        ),
        (LABELS, [_label("row-1", 1), _label("row-1", 0)], {"/labels/1": DIFFERS.format(0)}),
        (
            LABELS,
            [_label("row-1", 1), _label("row-1", 0), _label("row-2", 0), _label("row-2", 1)],
            {"/labels/1": DIFFERS.format(0), "/labels/3": DIFFERS.format(2)},
        ),
        (
            LABELS,
            [_label("x", 1), _label("y", 1)],
            {"/labels/0/id": "is no row of the run", "/labels/1/id": "is no row of the run"},
        ),
        (
            LABELS,
            [_label("row-1", 1), _label("row-1", 1, "po\te")],
            {"/labels/1/annotator": NO_NAME},
        ),
        (
            "/runs",
            ["exact_match", "nothing", "token_f1(x=1)"],
            {
                "/metrics/1": NO_METRIC.format("nothing"),
                "/metrics/2": "token_f1 has no parameter 'x': write token_f1(parameter=value),"
                " separated by commas.",
            },
        ),
        (
            "/judge/groundedness",
            {"pass_mrk": 0.5, "pass_mark": 7},
            {
                "/parameters/pass_mrk": "is no parameter of groundedness. Did you mean"
                " 'pass_mark'?",
                "/parameters/pass_mark": "groundedness cannot take pass_mark=7.0: give a number"
                " from 0 to 1.",
            },
        ),
    ],
)
def test_everything_that_is_wrong_is_named_at_once_each_by_its_place(
    path: str, body, problems, program: Program
) -> None:
    sent = {
        LABELS: {"metric": "groundedness", "labels": body},
        "/runs": {"rows": [ROW], "metrics": body},
        "/judge/groundedness": {"row": ROW, "parameters": body},
    }
    found = problem(program("POST", path, sent[path]))
    assert {each["where"]: each["what"] for each in found["problems"]} == problems
    assert found["where"] == next(iter(problems))
    if path == "/runs":
        assert found["remedy"].startswith("GET /api/v1/metrics")


def test_a_label_that_contradicts_a_stored_one_is_named_by_its_place(program: Program) -> None:
    before = {"metric": "groundedness", "labels": [_label("row-4", 1, "uma")]}
    assert program("POST", LABELS, before)[0] == 200
    labels = [_label("row-5", 1, "uma"), _label("row-4", 0, "lea"), _label("row-4", 0, "uma")]
    found = problem(program("POST", LABELS, {"metric": "groundedness", "labels": labels}))
    assert (found["status"], found["code"], found["where"]) == (409, "E0314", "/labels/2")


@pytest.mark.parametrize("name", ["Authorization", "Idempotency-Key"])
def test_a_header_that_counts_once_is_refused_twice(name: str, program: Program) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", program.server.port, timeout=120)
    connection.putrequest("POST", "/api/v1/runs")
    if name != "Authorization":
        connection.putheader("Authorization", f"Bearer {program.server.settings.token}")
    for value in ("one", "two"):
        connection.putheader(name, value)
    connection.putheader("Content-Length", "0")
    connection.endheaders()
    answer = connection.getresponse()
    headers = {key.lower(): value for key, value in answer.getheaders()}
    found = problem((answer.status, headers, answer.read()))
    assert (found["status"], found["code"], found["where"]) == (400, "E1408", name)
    connection.close()


def test_a_head_that_does_not_come_is_not_waited_for_for_ever(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(malformed, "HEAD_S", 0.3)
    address = ("127.0.0.1", program.server.port)
    with socket.create_connection(address, timeout=120) as connection:
        connection.sendall(b"GET /api/v1/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: ")
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        found = problem((answer.status, headers, answer.read()))
        assert (found["status"], found["code"]) == (400, "E1408")
        assert connection.recv(1) == b""
    # A body takes its time, which has a bound of its own.
    body = json.dumps({"metric": "groundedness", "labels": [LABEL]}).encode()
    with socket.create_connection(address, timeout=120) as connection:
        token = program.server.settings.token
        head = (
            f"POST /api/v1{LABELS} HTTP/1.1\r\nHost: 127.0.0.1:{address[1]}\r\n"
            f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        connection.sendall(head.encode() + body[:9])
        time.sleep(0.6)
        connection.sendall(body[9:])
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        assert answer.status == 200


def _over(program: Program, *pieces: bytes) -> bytes:
    """What the server answers to bytes that come in these pieces, until it hangs up."""
    answer = b""
    with socket.create_connection(("127.0.0.1", program.server.port), timeout=60) as connection:
        for piece in pieces:
            connection.sendall(piece)
            time.sleep(0.2)
        with suppress(ConnectionError):
            while piece := connection.recv(65536):
                answer += piece
    return answer


def test_a_head_without_an_end_costs_64_kb_and_no_more(program: Program) -> None:
    address = ("127.0.0.1", program.server.port)
    sent = 0
    with socket.create_connection(address, timeout=60) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
        with suppress(ConnectionError):
            while sent < 64 << 20:
                connection.sendall(b"a" * (1 << 16))
                sent += 1 << 16
    assert sent < 32 << 20  # what the buffers of both sides hold
    answer = _over(program, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * 70_000)
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"head of the request is too long" in answer
    assert program("GET", "/runs/run1")[0] == 200


def test_bytes_for_https_are_refused_at_once(program: Program) -> None:
    started = time.monotonic()
    assert _over(program, b"\x16\x03\x01\x02\x00\x01\x00\x01").startswith(b"HTTP/1.1 400")
    assert time.monotonic() - started < malformed.HEAD_S / 2


def test_a_head_in_pieces_leaves_the_body_as_it_is(program: Program) -> None:
    reason = "a\r\nupgrade: x\r\nb\r\n\r\nc"
    sheet = f'id,label,annotator,rationale\nrow-1,1,pieces,"{reason}"\n'.encode()
    host = f"127.0.0.1:{program.server.port}"
    head = (
        f"POST /api/v1{LABELS}/import?metric=groundedness HTTP/1.1\r\nHost: {host}\r\n"
        f"Authorization: Bearer {program.server.settings.token}\r\nUpgr"
    ).encode()
    more = f"ade: h2c\r\nContent-Type: text/csv\r\nContent-Length: {len(sheet)}\r\n".encode()
    following = (
        f"GET /api/v1{LABELS} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n"
        f"Authorization: Bearer {program.server.settings.token}\r\n\r\n"
    ).encode()
    answer = _over(program, head, more, b"\r\n" + sheet, following)
    assert answer.count(b"HTTP/1.1 200 OK") == 2
    labels = program.value("GET", LABELS)["items"]
    (label,) = [label for label in labels if label["annotator"] == "pieces"]
    assert label["rationale"].splitlines() == reason.splitlines()


def test_mistakes_are_told_in_plain_words(program: Program) -> None:
    body = {
        "rows": [],
        "max_calls": -1,
        "price": "0.15",
        "order": "any",
        "cache": "yes",
        "name": "n" * 201,
        "metric": ["x"],
    }
    found = problem(program("POST", "/runs", body))
    assert {each["where"]: each["what"] for each in found["problems"]} == {
        "/rows": "should have at least 1 item",
        "/max_calls": "should be 0 or more",
        "/price": "should be IN,OUT, such as 0.15,0.60",
        "/order": "should be 'shuffled', 'given' or 'both'",
        "/cache": "should be true or false",
        "/name": "should have at most 200 characters",
        "/metric": "is no field of this request. Did you mean 'metrics'?",
    }


def test_a_fault_of_ours_is_a_number_in_the_log_and_no_stack(program, site, monkeypatch, capfd):
    def fail(*_: object) -> None:
        raise RuntimeError("secret place")

    monkeypatch.setattr(site.server.application.site.store, "resolve", fail)
    found = problem(program("GET", "/runs/run1"))
    assert (found["status"], found["code"]) == (500, "E1413")
    number = found["why"].rpartition(" ")[2]
    logged = capfd.readouterr().err
    assert f"error {number} " in logged
    assert "secret place" in logged


def test_a_fault_of_the_machine_names_none_of_its_files(program, site, monkeypatch, capfd) -> None:
    def fail(*_: object) -> None:
        raise EnvironmentFailure("E0502", "Full.", where="/var/lib/secret", why="no space in /var")

    monkeypatch.setattr(site.server.application.site.store, "resolve", fail)
    found = problem(program("GET", "/runs/run1"))
    assert (found["status"], found["where"], found["problems"]) == (503, "", [])
    assert "/var" not in json.dumps(found)
    assert "/var/lib/secret" in capfd.readouterr().err


def test_every_code_of_the_api_has_a_status_and_an_entry_over_http(program: Program) -> None:
    codes = {each["code"]: each for each in program.value("GET", "/errors")["items"]}
    assert set(codes) == set(error_catalogue())
    for code in (code for code in codes if code.startswith("E14")):
        assert program.value("GET", f"/errors/{code.lower()}") == codes[code]
        assert 400 <= status_of(Refused(code, "x")) <= 500


INJECTIONS = (
    "'", '"', "' OR '1'='1", "'; DROP TABLE runs; --", "1) UNION SELECT 1,2,3 --", "x%", "x_",
    "\\", "/*", "groundedness' --", "\u2019 OR 1=1", "a\u0000b", "NEAR(a b)", '"a" OR "b', "a*",
    "-a",
    "{a b}:c", "question:x", "^a", "AND", "' || (SELECT payload FROM runs) || '",
)  # fmt: skip


def test_a_word_is_never_a_command_of_the_database(program: Program, site) -> None:
    whole = program.value("GET", "/runs/run1/rows")
    for word in INJECTIONS:
        text = quote(word)
        for name in ("cause", "id"):
            assert program.value("GET", f"/runs/run1/rows?{name}={text}")["items"] == []
        assert program.value("GET", f"/runs/run1/rows?slice=kind%3D{text}")["items"] == []
        for path in (
            f"/runs/{text}",
            f"/runs/run1/scores?metric={text}",
            f"/runs/run1/labels?metric={text}",
            f"/runs/run1/rows?q={text}",
            f"/compare?a=run1&b={text}",
            f"/certificates?judge={text}",
            f"/certificates/{text}",
        ):
            assert program("GET", path)[0] in (200, 404, 422), path
    assert program.value("GET", "/runs/run1/rows") == whole
    assert site.store.check() == ()
