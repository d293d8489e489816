"""Nobody is answered without the token, under a foreign name or from a page of another site; every
answer carries the headers that keep it from being used otherwise.
"""

from __future__ import annotations

import http.client
import json
import re
from pathlib import Path
from typing import Any

import pytest

from ragassay.store import Store
from ragassay.web import WebSettings
from ragassay.web.api.messages import Operation
from ragassay.web.api.openapi import PATH
from ragassay.web.api.table import BASE, OPERATIONS
from ragassay.web.sessions import Role
from report.conftest import Maker
from web.api.conftest import ROW, Program
from web.conftest import Client, mixed_rows, save, serving

FILLED = {"{run}": "run1", "{index}": "2", "{code}": "E0301", "{certificate}": "0", "{metric}": "x"}
QUERY = {"/runs/{run}/labels/progress": "?metric=groundedness", "/compare": "?a=run1&b=run2"}
HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
EVERY = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"}


def address(operation: Operation) -> str:
    path = operation.path.removeprefix(BASE)
    query = QUERY.get(path, "")
    for name, value in FILLED.items():
        path = path.replace(name, value)
    return path + query


def check_headers(headers: dict[str, str]) -> None:
    for name, value in HEADERS.items():
        assert headers[name] == value, name
    policy = headers["content-security-policy"]
    for part in ("default-src 'none'", "object-src 'none'", "base-uri 'none'", "sandbox"):
        assert part in policy
    assert "unsafe" not in policy
    assert "server" not in headers
    assert not any(name.startswith("access-control-") for name in headers)


def check_refused(answer, status: int, code: str) -> None:
    found, headers, content = answer
    assert (found, headers["content-type"]) == (status, "application/problem+json")
    problem = json.loads(content)
    assert (problem["status"], problem["code"]) == (status, code)
    assert problem["remedy"]
    check_headers(headers)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_an_operation_answers_its_token_and_nobody_else(operation, program: Program) -> None:
    path, method = address(operation), operation.method
    for wrong in ("", "x" * 43):
        check_refused(program(method, path, token=wrong), 401, "E1401")
    # A cookie of the pages counts for nothing here.
    signed_in = {
        "Cookie": f"ragassay-session-{program.server.port}={program.server.settings.token}"
    }
    check_refused(program(method, path, headers=signed_in, token=""), 401, "E1401")
    status, headers, content = program(method, path)
    check_headers(headers)
    if method == "GET" and "{certificate}" not in operation.path:
        assert status == 200, content
    else:
        assert status in (404, 409, 415, 422), content
    taken = {each.method for each in OPERATIONS if each.path == operation.path}
    for other in sorted(EVERY - taken - ({"HEAD"} if "GET" in taken else set())):
        found, headers, _ = program(other, path)
        assert (found, headers["allow"]) == (405, ", ".join(sorted(taken))), other
        check_headers(headers)


def test_the_table_alone_is_served(program: Program) -> None:
    paths = program.value("GET", "/openapi.json")["paths"]
    served = {(path, method.upper()) for path, each in paths.items() for method in each}
    assert served == {(each.path, each.method) for each in OPERATIONS} | {(PATH, "GET")}
    assert len({each.name for each in OPERATIONS}) == len(OPERATIONS)
    for path in ("", "/", "/nothing", "/runs/", "/runs/run1/nothing", "/runs//rows", "/../secret"):
        check_refused(program("GET", path), 404, "E1404")


@pytest.mark.parametrize("host", ["evil.test", "evil.test:{port}", "127.0.0.1:1", ""])
def test_a_foreign_name_reads_and_changes_nothing(host: str, program: Program) -> None:
    port = program.server.port
    for method in ("GET", "POST", "DELETE"):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        connection.putrequest(method, "/api/v1/runs", skip_host=True)
        if host:
            connection.putheader("Host", host.format(port=port))
        connection.putheader("Authorization", f"Bearer {program.server.settings.token}")
        connection.endheaders()
        answer = connection.getresponse()
        assert answer.status in (400, 421)
        assert b"run1" not in answer.read()
        connection.close()


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.test"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_page_of_another_site_reads_and_changes_nothing(
    headers, program: Program, site: Client
) -> None:
    store = site.store  # type: ignore[attr-defined]
    before = store.labels("run1")
    body = {"metric": "groundedness", "labels": [{"id": "row-1", "label": 1}]}
    for method, path, sent in (
        ("GET", "/runs", None),
        ("GET", "/runs/run1/events", None),
        ("POST", "/runs/run1/labels", body),
        ("PATCH", "/runs/run1/labels", body),
        ("OPTIONS", "/runs", None),
    ):
        check_refused(program(method, path, sent, headers), 403, "E1403")
    assert store.labels("run1") == before


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""],
)
def test_a_body_that_a_form_could_send_changes_nothing(kind: str, program: Program, site) -> None:
    before = site.store.labels("run1")
    content = json.dumps({"metric": "groundedness", "labels": [{"id": "row-1", "label": 1}]})
    answer = program("POST", "/runs/run1/labels", content.encode(), {"Content-Type": kind})
    check_refused(answer, 415, "E1407")
    assert site.store.labels("run1") == before


def test_reading_changes_nothing(program: Program, site) -> None:
    def stored():
        return site.store.last_judgment(), site.store.labels("run1"), site.store.count_runs()

    before = stored()
    for operation in OPERATIONS:
        if operation.method == "GET":
            program("GET", address(operation))
            program("HEAD", address(operation))
    assert stored() == before


def test_the_document_is_the_same_bytes_each_time_and_names_a_role_for_everything(
    program: Program,
) -> None:
    first, second = program("GET", "/openapi.json"), program("GET", "/openapi.json")
    assert first[2] == second[2]
    document: dict[str, Any] = json.loads(first[2])
    assert document["openapi"].startswith("3.1")
    writes = {each.name: each.role for each in OPERATIONS if each.method == "POST"}
    assert writes == {
        "evaluate": "admin",
        "cancelRun": "admin",
        "judge": "admin",
        "writeLabels": "labeller",
        "importLabels": "admin",
        "resumeRun": "admin",
    }
    assert {each.role for each in OPERATIONS if each.method == "GET"} == {"reader"}
    for operation in OPERATIONS:
        if operation.body is not None:
            operation.body.model_validate(operation.example)
    assert str(ROW["id"]) in first[2].decode()


def test_a_role_may_what_the_table_says_and_no_more(store: Store) -> None:
    save(store, mixed_rows(Maker()), name="before")
    save(store, mixed_rows(Maker()), "run2", name="after", created="2026-11-21T09:00:00Z")
    tokens = {Role.READER: "r" * 30, Role.LABELLER: "l" * 30}
    with serving(store, WebSettings(token="a" * 30, roles=tokens)) as client:
        program = Program(client.server)
        for role, token in (*tokens.items(), (Role.ADMIN, "a" * 30)):
            for operation in OPERATIONS:
                answer = program(operation.method, address(operation), token=token)
                if role.may(operation.role):
                    assert answer[0] not in (401, 403), (role, operation.name)
                else:
                    check_refused(answer, 403, "E1403")


def test_a_labeller_decides_for_nobody_and_changes_no_scale(store: Store) -> None:
    save(store, mixed_rows(Maker()))
    tokens = {Role.LABELLER: "l" * 30, Role.READER: "r" * 30}
    with serving(store, WebSettings(token="a" * 30, roles=tokens)) as client:
        program = Program(client.server)

        def write(token: str, who: str, label: float = 1, **more: Any):
            said = {"id": "row-1", "label": label, "annotator": who}
            body = {"metric": "groundedness", "labels": [said], **more}
            return program("POST", "/runs/run1/labels", body, token=token * 30)

        for who in ("decided by ann", "Decided  By ann", "\0judge", "ann\x1b[2J"):
            status, _, content = write("l", who)
            assert status in (400, 409, 422), content
            assert json.loads(content)["code"] == "E0101"
        check_refused(write("l", "ann", 5, scale=[0, 1, 2, 3, 5]), 403, "E1403")
        assert store.labels("run1") == ()
        assert write("l", "ann")[0] == 200
        assert write("a", "decided by boss")[0] == 200
        assert {label.annotator for label in store.labels("run1")} == {"ann", "decided by boss"}


def test_who_only_reads_is_not_told_where_files_lie(store: Store) -> None:
    save(store, mixed_rows(Maker()), source="/srv/team/rows.jsonl", options={"html": "/srv/r.html"})
    tokens = {Role.READER: "r" * 30}
    with serving(store, WebSettings(token="a" * 30, roles=tokens)) as client:
        program = Program(client.server)
        read = json.loads(program("GET", "/runs/run1", token="r" * 30)[2])["manifest"]
        assert (read["source"], read["options"]["html"]) == ("rows.jsonl", "r.html")
        own = json.loads(program("GET", "/runs/run1", token="a" * 30)[2])["manifest"]
        assert own["source"] == "/srv/team/rows.jsonl"
        page = client.ask("/", token="r" * 30).text
        assert str(store.location) not in page
        assert str(store.location) in client.ask("/").text


def test_no_operation_tells_who_only_reads_in_which_folder_the_server_works(
    store: Store, tmp_path: Path
) -> None:
    of_store = str(Path(store.location).parent)
    assert of_store == str(tmp_path)
    options = {"html": f"{of_store}/r.html", "rubrics": [f"{of_store}/own.yaml"]}
    kept = {"command": {"junit": f"{of_store}/junit.xml"}}
    for run, source in (("run1", "rows.jsonl"), ("run2", "posted-rows/6e1f.jsonl")):
        path = f"{of_store}/{source}"
        save(store, mixed_rows(Maker()), run, source=path, options=options, kept=kept)
    roles = {Role.READER: "r" * 30, Role.LABELLER: "l" * 30}
    told: dict[str, set[str]] = {}
    with serving(store, WebSettings(token="a" * 30, roles=roles, rate=1e5)) as client:
        program = Program(client.server)
        for token in ("a" * 30, *roles.values()):
            told[token[0]] = set()
            for operation in OPERATIONS:
                if operation.method != "GET":
                    continue
                status, _, content = program("GET", address(operation), token=token)
                assert status == 200 or operation.name == "getCertificate", operation.name
                if of_store.encode() in content:
                    told[token[0]].add(operation.name)
        read = json.loads(program("GET", "/compare?a=run1&b=run2", token="r" * 30)[2])
    # The admin's answers show that the walk would find the folder.
    assert told["a"] == {"listRuns", "getRun", "getSummary", "compareRuns"}
    assert told["r"] == told["l"] == set()
    assert (read["a"]["source"], read["b"]["source"]) == ("rows.jsonl", "posted rows")


def test_the_table_of_roles_in_the_documentation_is_the_one_that_is_served() -> None:
    page = (Path(__file__).parents[3] / "docs" / "http-api.md").read_text(encoding="utf-8")
    told = set(re.findall(r"^\| `(\w+) ([^`]+)` \| (\w+) \|", page, re.MULTILINE))
    served = {(each.method, each.path, str(each.role)) for each in OPERATIONS}
    served.add(("GET", PATH, "reader"))
    assert {(method, BASE + path, role) for method, path, role in told} == served
