"""Where alerts go, over real HTTP: what hangs, redirects, refuses, and what may be a secret."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ragassay.core import SetupError
from ragassay.watch import targets
from ragassay.watch.targets import read_target, send
from support.traffic import WRONG, turn
from watch.conftest import Watched

ALERT = {"text": "groundedness>=0.8 does not hold <script> & more", "kind": "mark"}


class Hooks:
    """A server whose answers the test says; `got`: what was posted."""

    def __init__(self) -> None:
        self.answer: Callable[[BaseHTTPRequestHandler], None] = lambda each: None
        self.got: list[tuple[str, bytes]] = []
        hooks = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                hooks.got.append((self.path, body))
                hooks.answer(self)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        forever = {"poll_interval": 0.01}
        threading.Thread(target=self.server.serve_forever, kwargs=forever, daemon=True).start()


@pytest.fixture
def hooks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hooks]:
    monkeypatch.setattr(targets, "_PAUSES_S", (0.0, 0.0))
    server = Hooks()
    yield server
    server.server.shutdown()
    server.server.server_close()


def status(code: int, **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(code)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("content-length", "0")
        request.end_headers()

    return answer


def test_an_alert_arrives_as_json_and_as_slack_reads_it(hooks: Hooks) -> None:
    hooks.answer = status(204)
    assert send(read_target(f"{hooks.url}/a"), ALERT) == ""
    assert send(read_target(f"slack:{hooks.url}/b"), ALERT) == ""
    (first, plain), (second, slack) = hooks.got
    assert (first, second) == ("/a", "/b")
    assert json.loads(plain) == ALERT
    text = "groundedness&gt;=0.8 does not hold &lt;script&gt; &amp; more"
    assert json.loads(slack) == {"text": text}


def test_a_webhook_that_hangs_is_left_after_its_time(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(targets, "ATTEMPT_S", 0.3)
    done = threading.Event()
    hooks.answer = lambda _: None if done.wait(20) else pytest.fail("never let go")
    started = time.monotonic()
    assert send(read_target(hooks.url), ALERT) == "no answer within 0.3 s"
    assert time.monotonic() - started < 10
    assert len(hooks.got) == 3, "attempts are bounded"
    done.set()


@pytest.mark.parametrize(
    "place",
    [
        "http://127.0.0.1:9/",
        "http://localhost/",
        "http://169.254.169.254/latest/meta-data",
        "http://10.0.0.1/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://2130706433/",
        "http://0.0.0.0/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://[2002:a9fe:a9fe::1]/",
        "http://[::a9fe:a9fe]/",
        "http://[::ffff:0:a9fe:a9fe]/",
        "http://[fec0::1]/",
    ],
)
def test_a_redirect_to_a_private_address_is_not_followed(hooks: Hooks, place: str) -> None:
    hooks.answer = status(307, location=place)
    why = send(read_target(hooks.url), ALERT)
    assert why == "it redirects to a private address"
    assert len(hooks.got) == 1


def test_a_private_redirect_is_followed_where_that_is_allowed(hooks: Hooks) -> None:
    def once(request: BaseHTTPRequestHandler) -> None:
        to = status(308, location=f"{hooks.url}/there")
        (to if request.path == "/" else status(200))(request)

    hooks.answer = once
    assert send(read_target(f"{hooks.url}/"), ALERT, allow_private=True) == ""
    assert [path for path, _ in hooks.got] == ["/", "/there"]


@pytest.mark.parametrize(
    ("answer", "why", "attempts"),
    [
        (status(500), "it answered 500", 3),
        (status(429), "it answered 429", 3),
        (status(404), "it answered 404", 1),
        (status(302, location="http://example.org"), "it answered 302", 1),
        (status(307, location="file:///etc/passwd"), "it redirects to an address that is not", 1),
    ],
)
def test_what_may_pass_is_tried_again_and_nothing_else(
    hooks: Hooks, answer: Callable[..., None], why: str, attempts: int
) -> None:
    hooks.answer = answer
    assert send(read_target(hooks.url), ALERT).startswith(why)
    assert len(hooks.got) == attempts


def test_a_redirect_that_never_ends_is_left(hooks: Hooks) -> None:
    hooks.answer = status(307, location="/again")
    why = send(read_target(hooks.url), ALERT, allow_private=True)
    assert why == "it redirects again and again"
    assert len(hooks.got) == 4


def test_a_name_server_that_is_silent_holds_an_attempt_no_longer_than_it_may_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    silent = threading.Event()
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: silent.wait(60))
    monkeypatch.setattr("ragassay.watch.targets.ATTEMPT_S", 0.3)
    monkeypatch.setattr("ragassay.watch.targets._PAUSES_S", (0.0, 0.0))
    begun = time.monotonic()
    assert send(read_target("https://hooks.example.org/x"), ALERT) == "no answer within 0.3 s"
    assert time.monotonic() - begun < 30
    silent.set()


def test_of_an_address_only_the_host_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK", "slack:https://user:PASS@hooks.example.org:8443/T0/SECRET?x=KEY")
    target = read_target("env:HOOK")
    assert target.shown == "slack hooks.example.org:8443"
    assert "SECRET" not in repr(target)
    monkeypatch.setenv("HOOK", "htps://hooks.example.org/SECRET")
    with pytest.raises(SetupError, match="E1303") as raised:
        read_target("env:HOOK")
    assert "SECRET" not in str(raised.value)
    for slip in ("SECRETTOKEN", "hooks.example.org/SECRET", "slack:SECRET"):
        monkeypatch.setenv("HOOK", slip)
        with pytest.raises(SetupError, match="E1303") as raised:
            read_target("env:HOOK")
        assert "SECRET" not in str(raised.value)
        assert "env:HOOK" in str(raised.value)
        with pytest.raises(SetupError, match="E1303") as raised:
            read_target(slip)
        assert "SECRET" not in str(raised.value)


def test_two_channels_of_one_host_are_told_and_tried_each_by_itself(
    hooks: Hooks, watched: Watched
) -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        status(404 if request.path == "/broken" else 204)(request)

    hooks.answer = answer
    addresses = [f"{hooks.url}/broken", f"{hooks.url}/well", f"{hooks.url}/well"]
    options = {"marks": ["groundedness>=0.9"], "alert_to": addresses}
    watched.arrive([turn(f"bad {n}", WRONG) for n in range(30)])
    (alert, *_) = watched.step(**options).alerts
    assert sorted(alert["told"].values()) == ["", "it answered 404"]
    hooks.answer = status(204)
    hooks.got.clear()
    (alert, *_) = watched.step(**options).alerts
    assert [path for path, _ in hooks.got] == ["/broken"], "who was told is not told again"
    assert set(alert["told"].values()) == {""}
    # A target that is named later is not told of what was before its time.
    hooks.got.clear()
    watched.step(**options | {"alert_to": [*addresses, f"{hooks.url}/new"]})
    assert hooks.got == []


@pytest.mark.parametrize(
    "text", ["", "mail:me", "ftp://x", "command:", "env:UNSET_HERE", "http://"]
)
def test_what_is_no_target_is_refused(text: str) -> None:
    with pytest.raises(SetupError, match="E1303"):
        read_target(text)


def test_a_command_gets_the_alert_and_no_shell_reads_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    code = "import sys,pathlib;pathlib.Path(sys.argv[1]).write_text(sys.stdin.read())"
    program = tmp_path / "notify.py"
    program.write_text(code)
    target = read_target(f"command:{sys.executable} {program} {out} '; touch {tmp_path}/pwned'")
    assert send(target, ALERT) == ""
    assert json.loads(out.read_text()) == ALERT
    assert not (tmp_path / "pwned").exists()
    assert send(read_target("command:/no/such/program"), ALERT) == "No such file or directory"
