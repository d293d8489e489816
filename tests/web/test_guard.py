"""Nobody gets in whom the route table does not let in, by no name, method, origin or path; every
answer carries the headers that keep a page from doing what it must not.
"""

from __future__ import annotations

import http.client
import re
from typing import Any

import pytest

from ragassay.core import SetupError
from ragassay.store import Store
from ragassay.web import WebSettings
from ragassay.web.guard import MOST_BYTES, RateLimit
from ragassay.web.routes import ROUTES, Access
from ragassay.web.sessions import LASTS_S, WRONG_A_MINUTE, Role, Sessions, TooManyTries
from ragassay.web.settings import new_token
from ragassay.web.views.signing import own_path
from web.conftest import TRACE, Client, save, serving

FILLED = {
    "{run}": "run1",
    "{index}": "2",
    "{name}": "nothing.css",
    "{certificate}": "0",
    "{trace}": TRACE,
    "{report}": "report-0",
    "{item}": "0",
}
QUERY = {
    "/runs/{run}/metric": "?name=groundedness",
    "/runs/{run}/label": "?metric=groundedness",
    "/runs/{run}/labels/decide": "?metric=groundedness",
    "/compare": "?a=run1&b=run2",
    "/compare/row": "?a=run1&b=run2&id=row-3",
}
HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


# The security table: what each route may do, written by hand. A route that is added has to be
# thought about here as well, or the build fails.
SECURITY = {
    "public": ("GET /static/{name}", "POST /sign-in"),
    "signed in": (
        "POST /sign-out",
        "POST /theme",
        "GET /",
        "GET /runs/{run}",
        "GET /runs/{run}/progress",
        "GET /runs/{run}/metric",
        "GET /runs/{run}/causes",
        "GET /runs/{run}/rows",
        "GET /runs/{run}/rows/{index}",
        "GET /runs/{run}/rows/{index}/asked",
        "GET /runs/{run}/export",
        "GET /runs/{run}/cost",
        "GET /runs/{run}/labels",
        "GET /compare",
        "GET /costs",
        "GET /find",
        "GET /compare/row",
        "GET /judges",
        "GET /judges/{certificate}",
        "GET /reports",
        "GET /reports/{report}",
        "GET /reports/{report}/items",
        "GET /reports/{report}/items/{item}",
        "GET /runs/{run}/trust",
        "GET /traces",
        "GET /traces/{trace}",
        "GET /traffic",
    ),
    "labelling": ("GET /runs/{run}/label", "POST /runs/{run}/label"),
    "admin": (
        "POST /runs/{run}/labels/choose",
        "POST /runs/{run}/labels/upload",
        "GET /runs/{run}/labels/decide",
        "POST /runs/{run}/labels/decide",
    ),
}


def address(route) -> str:
    path = route.path
    for name, value in FILLED.items():
        path = path.replace(name, value)
    return path + QUERY.get(route.path, "")


def check_headers(reply) -> None:
    for name, value in HEADERS.items():
        assert reply.headers[name] == value, (name, reply.headers)
    policy = reply.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    for part in ("object-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"):
        assert part in policy or "sandbox" in policy
    assert "server" not in reply.headers
    assert reply.headers["cache-control"] in ("no-store", "public, max-age=31536000, immutable")


def test_the_application_serves_the_table_and_nothing_else(site: Client) -> None:
    served = set()
    routes: list[Any] = list(site.server.application.fastapi.routes)
    for route in routes:
        for method in route.methods - {"HEAD"}:
            served.add((method, route.path))
    assert served == {(route.method, route.path) for route in ROUTES}


def test_every_route_has_an_entry_in_the_security_table_that_says_who_may() -> None:
    by_access: dict[str, set[str]] = {}
    for route in ROUTES:
        by_access.setdefault(route.access, set()).add(f"{route.method} {route.path}")
    assert by_access == {access: set(routes) for access, routes in SECURITY.items()}


def test_a_reader_changes_nothing_and_a_labeller_only_labels(store: Store, make) -> None:
    save(store, [make.row(0)])
    roles = {Role.READER: "r" * 22, Role.LABELLER: "l" * 22}
    with serving(store, WebSettings(roles=roles)) as client:
        for route in ROUTES:
            form: dict[str, str] | None = {} if route.method == "POST" else None
            for role in (*Role, None):
                if route.path == "/sign-in":
                    continue
                token = "" if role is None else roles.get(role, client.server.settings.token)
                status = client.ask(address(route), route.method, form, token=token).status
                needed = route.access.role
                if needed is None:
                    assert status not in (401, 403)
                elif role is None:
                    assert status == 401
                else:
                    assert (status == 403) == (not role.may(needed)), (route, role)


def test_two_roles_with_one_token_are_refused() -> None:
    with pytest.raises(SetupError) as refused:
        WebSettings(token="x" * 22, roles={Role.READER: "x" * 22}).checked()
    assert refused.value.code == "E0902"


def test_who_asks_too_often_is_told_when_to_come_again(store: Store) -> None:
    with serving(store, WebSettings(rate=2)) as client:
        statuses = [client.ask("/", token="").status for _ in range(40)]
        assert set(statuses) == {401, 429}
        assert statuses[:20] == [401] * 20  # ten seconds' worth at once
        late = client.ask("/", token="")
        assert late.status == 429
        assert late.headers["retry-after"] == "1"
        check_headers(late)


def test_a_caller_may_go_on_after_a_pause_and_others_are_not_counted_with_it() -> None:
    now = [0.0]
    limit = RateLimit(2, lambda: now[0])
    assert [limit.wait_s("a") for _ in range(21)] == [0.0] * 20 + [0.5]
    assert limit.wait_s("b") == 0.0
    now[0] = 0.5
    assert limit.wait_s("a") == 0.0
    assert limit.wait_s("a") == pytest.approx(0.5)


def test_after_ten_wrong_tokens_a_further_one_waits_and_the_right_one_does_not(
    store: Store,
) -> None:
    with serving(store) as client:
        for _ in range(WRONG_A_MINUTE):
            assert client.ask("/sign-in", "POST", {"token": "x"}, token="").status == 401
        refused = client.ask("/sign-in", "POST", {"token": "x"}, token="")
        assert refused.status == 429
        assert 0 < int(refused.headers["retry-after"]) <= 60
        # From the same address: a proxy's is that of everybody.
        form = {"token": client.server.settings.token}
        signed_in = client.ask("/sign-in", "POST", form, token="")
        assert signed_in.status == 303
        (cookie,) = signed_in.cookies
        value = cookie.partition(";")[0]
        assert client.ask("/", token="", headers={"Cookie": value}).status == 200


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_every_route_answers_with_its_token_and_refuses_without(route, site: Client) -> None:
    form: dict[str, str] | None = {} if route.method == "POST" else None
    if route.access is not Access.PUBLIC:
        for wrong in ("", "x" * 43):
            refused = site.ask(address(route), route.method, form, token=wrong)
            assert refused.status == 401
            assert "Sign in" in refused.text
            assert "before" not in refused.text.replace("before this was sent", "")
            check_headers(refused)
    answered = site.ask(address(route), route.method, form)
    assert answered.status in (200, 303, 400, 401, 404)
    check_headers(answered)
    if (
        route.method == "GET"
        and "{name}" not in route.path
        and "{cert" not in route.path
        and "{report" not in route.path
    ):
        assert answered.status == 200, answered.text[:500]
    for method in {"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"} - {route.method}:
        if any(other[:2] == (method, route.path) for other in ROUTES):
            continue
        other = site.ask(address(route), method, {} if method == "POST" else None)
        assert other.status in (404, 405), method
        check_headers(other)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/nothing", 404),
        ("/runs/nothing", 404),
        ("/runs/run1/rows/99", 404),
        ("/runs/run1/rows?verdict=x", 400),
        ("/runs/run1/rows?after=x", 400),
        ("/runs/run1/rows?sort=x", 400),
        ("/runs/run1/metric?name=x", 404),
        ("/runs/run1/export?format=exe", 400),
        ("/compare?a=run1&b=run2&from=-1", 400),
        ("/runs/..%2f..%2fetc/rows", 404),
        ("/static/..%2fapp.js", 404),
        ("/runs/run1/label?metric=nothing", 404),
    ],
)
def test_an_error_is_a_page_that_names_no_place_of_ours(path, status, site: Client) -> None:
    reply = site.ask(path)
    assert reply.status == status
    check_headers(reply)
    for word in (
        "Traceback",
        'File "',
        "site-packages",
        "ragassay/web",
        site.server.settings.token,
    ):
        assert word not in reply.text


def test_a_fault_of_ours_is_a_number_in_the_log_and_no_stack(
    site: Client, monkeypatch, capfd
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("secret place")

    monkeypatch.setattr(site.server.application.site.store, "resolve", fail)
    reply = site.ask("/runs/run1")
    assert reply.status == 500
    assert "secret place" not in reply.text
    number = reply.text.partition("under ")[2][:8]
    assert f"error {number} in /runs/{{run}}" in capfd.readouterr().err
    check_headers(reply)


@pytest.mark.parametrize(
    "host",
    ["evil.test", "evil.test:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.evil.test:{port}",
     "127.0.0.1:{port}@evil.test", "", "[::1]:x", "127.0.0.1:{port}, evil.test"],
)  # fmt: skip
def test_a_foreign_host_reads_and_changes_nothing(host: str, site: Client) -> None:
    host = host.format(port=site.server.port)
    for method, path in (("GET", "/"), ("GET", "/static/x"), ("POST", "/sign-in"), ("GET", "/x")):
        connection = http.client.HTTPConnection("127.0.0.1", site.server.port, timeout=120)
        connection.putrequest(method, path, skip_host=True)
        if host:
            connection.putheader("Host", host)
        connection.putheader("Authorization", f"Bearer {site.server.settings.token}")
        connection.endheaders()
        reply = connection.getresponse()
        assert reply.status in (400, 421)
        assert b"run1" not in reply.read()
        connection.close()


def test_the_names_of_this_machine_and_those_allowed_are_answered(store: Store) -> None:
    with serving(store, WebSettings(names=("ragassay.example", "proxy.example:8443"))) as client:
        port = client.server.port
        for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}",
                     "ragassay.example", "ragassay.example:80", "proxy.example:8443"):  # fmt: skip
            assert client.ask("/", host=host).status == 200, host
        assert client.ask("/", host="proxy.example").status == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.test"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": ""},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "file://"},
    ],
)
def test_nothing_is_changed_from_another_site(headers, site: Client) -> None:
    before = len(site.store.to_label("run1", "answer_relevance"))  # type: ignore[attr-defined]
    form = {"metric": "answer_relevance", "n": "2", "method": "uniform"}
    reply = site.ask("/runs/run1/labels/choose", "POST", form, headers=headers)
    assert reply.status == 403
    assert len(site.store.to_label("run1", "answer_relevance")) == before  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/json", "multipart/form-data; boundary=x"]
)
def test_a_body_that_is_no_form_changes_nothing(kind: str, site: Client) -> None:
    store = site.store  # type: ignore[attr-defined]
    before = store.to_label("run1", "answer_relevance")
    form = {"metric": "answer_relevance", "n": "2", "method": "uniform"}
    reply = site.ask("/runs/run1/labels/choose", "POST", form, headers={"Content-Type": kind})
    assert reply.status in (400, 401)
    assert store.to_label("run1", "answer_relevance") == before


def test_reading_changes_nothing(site: Client) -> None:
    store = site.store  # type: ignore[attr-defined]
    before = (
        store.last_judgment(),
        store.labels("run1"),
        store.label_answers("run1", "groundedness"),
    )
    for route in ROUTES:
        if route.method == "GET":
            site.ask(address(route))
    after = store.last_judgment(), store.labels("run1"), store.label_answers("run1", "groundedness")
    assert before == after


def test_a_body_of_100_mb_is_refused_before_it_is_read(site: Client) -> None:
    reply = site.ask("/sign-in", "POST", {}, headers={"Content-Length": "104857600"})
    assert reply.status == 413
    check_headers(reply)


def test_a_body_without_a_length_is_cut_off(site: Client) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", site.server.port, timeout=120)
    chunks = [b"x" * 65536] * (MOST_BYTES // 65536 + 2)
    headers = {"Host": site.host, "Origin": f"http://{site.host}"}
    connection.request("POST", "/sign-in", iter(chunks), headers, encode_chunked=True)
    assert connection.getresponse().status == 413
    connection.close()


def test_the_token_is_exchanged_for_a_cookie_that_scripts_cannot_read(site: Client) -> None:
    form = {"token": site.server.settings.token, "after": "/compare"}
    reply = site.ask("/sign-in", "POST", form, token="")
    assert (reply.status, reply.headers["location"]) == (303, "/compare")
    (cookie,) = reply.cookies
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert site.server.settings.token not in cookie
    value = cookie.partition(";")[0]
    assert site.ask("/", token="", headers={"Cookie": value}).status == 200
    # Signed out here, the cookie is nothing any more, whoever kept it.
    assert site.ask("/sign-out", "POST", {}, token="", headers={"Cookie": value}).status == 303
    assert site.ask("/", token="", headers={"Cookie": value}).status == 401


def test_a_cookie_that_somebody_planted_is_no_session(site: Client) -> None:
    name = f"ragassay-session-{site.server.port}"
    for value in ("", "x", site.server.settings.token):
        cookie = {"Cookie": f"{name}={value}"}
        assert site.ask("/", token="", headers=cookie).status == 401


def test_a_label_sent_after_the_session_ended_says_that_it_was_not_saved(site: Client) -> None:
    form = {"metric": "groundedness", "row": "row-1", "value": "1"}
    reply = site.ask("/runs/run1/label", "POST", form, token="")
    assert reply.status == 401
    assert "was not saved yet" in reply.text
    # It is not lost: the page holds it, and sends it again once its reader is signed in.
    held = dict(re.findall(r'<input type="hidden" name="(\S+)" value="([^"]*)">', reply.text))
    assert held["lost_path"] == "/runs/run1/label"
    again = site.ask("/sign-in", "POST", held | {"token": site.server.settings.token}, token="")
    assert 'action="/runs/run1/label"' in again.text
    sent = dict(re.findall(r'<input type="hidden" name="(\S+)" value="([^"]*)">', again.text))
    assert sent == form


def test_wrong_tokens_are_counted_for_each_address_and_a_minute() -> None:
    token, now = new_token(), [0.0]
    sessions = Sessions(token, lambda: now[0])
    for second in range(WRONG_A_MINUTE):
        now[0] = float(second)
        assert sessions.begin("wrong", "there") == ""
    with pytest.raises(TooManyTries) as refused:
        sessions.begin("wrong", "there")
    # The first of ten was at 0, the last at 9.
    assert refused.value.wait_s == 51
    assert sessions.begin("wrong", "elsewhere") == ""
    for place in ("there", "elsewhere"):
        assert sessions.known(sessions.begin(token, place))
    now[0] = 60.0
    assert sessions.begin("wrong", "there") == ""


def test_a_session_ends_after_a_week() -> None:
    now = [0.0]
    sessions = Sessions(token := new_token(), lambda: now[0])
    value = sessions.begin(token)
    now[0] = LASTS_S - 1
    assert sessions.known(value)
    now[0] = LASTS_S + 1
    assert not sessions.known(value)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org"])
def test_an_address_that_others_reach_needs_a_token_of_128_bits(host: str) -> None:
    for token in ("", "short", "x" * 21):
        with pytest.raises(SetupError) as refused:
            WebSettings(host=host, token=token).checked()
        assert refused.value.code == "E0902"
    assert WebSettings(host=host, token="x" * 22).checked().token == "x" * 22


def test_this_machine_alone_gets_a_token_of_its_own_each_time() -> None:
    tokens = {WebSettings(host=host).checked().token for host in ("127.0.0.1", "localhost", "::1")}
    assert len(tokens) == 3
    assert all(len(token) >= 43 for token in tokens)
    assert all(token not in repr(WebSettings(token=token)) for token in tokens)


@pytest.mark.parametrize(
    "path",
    ["//evil.test", "/\\evil.test", "https://evil.test", "", "x", "/\nx", "/\tx", "javascript:x"],
)
def test_signing_in_leads_to_no_other_server(path: str) -> None:
    assert own_path(path) == "/"


def test_it_leads_back_to_the_page_that_was_asked_for() -> None:
    assert own_path("/runs/a%20b?q=%2F%2Fx&sort=id") == "/runs/a%20b?q=%2F%2Fx&sort=id"
