"""The user's own settings of a model: what is sent, what is stored, what cannot be."""

from __future__ import annotations

import asyncio
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import ragassay
from ragassay.core import RagAssayError, SetupError
from ragassay.models.chat_model import ChatModel
from ragassay.models.headers import check_header, is_secret, storable
from ragassay.models.settings import ModelSettings
from ragassay.runs.options import Options, make_options
from ragassay.testing import LLMServer
from support.commands import run_in_process
from support.native_server import NativeServer

ROWS = [
    {
        "id": "a",
        "question": "When was it founded?",
        "contexts": ["It was founded in 1911."],
        "response": "It was founded in 1911.",
    }
]


def evaluate(server: LLMServer, store: Path, **options: Any) -> ragassay.Run:
    return ragassay.evaluate(
        ROWS, "groundedness", judge="openai:mock", base_url=server.url, store=store, **options
    )


def test_settings_reach_the_server_as_they_are_given(tmp_path: Path) -> None:
    with LLMServer() as server:
        run = evaluate(
            server,
            tmp_path / "s.db",
            max_tokens=700,
            temperature=0.5,
            reasoning_effort="high",
            extra_body={"top_p": 0.9, "provider": {"order": ["a"]}},
            headers={"X-Team": "search"},
        )
        run.close()
    body = server.bodies[0]
    assert (body["max_tokens"], body["temperature"]) == (700, 0.5)
    assert (body["reasoning_effort"], body["top_p"]) == ("high", 0.9)
    assert body["provider"] == {"order": ["a"]}
    assert server.headers[0]["X-Team"] == "search"


@pytest.mark.parametrize(
    "changed",
    [
        {"max_tokens": 900},
        {"reasoning_effort": "low"},
        {"extra_body": {"top_p": 0.1}},
        {"headers": {"X-Route": "large"}},
        {"temperature": 0.7},
    ],
)
def test_what_may_change_an_answer_makes_another_judge(
    changed: dict[str, Any], tmp_path: Path
) -> None:
    with LLMServer() as server:
        evaluate(server, tmp_path / "s.db").close()
        evaluate(server, tmp_path / "s.db", **changed).close()
        assert server.calls == 2
        evaluate(server, tmp_path / "s.db", **changed).close()
        assert server.calls == 2


def test_a_secret_header_is_neither_stored_nor_part_of_the_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATE_TOKEN", "canary-from-the-environment")
    with LLMServer() as server:
        first = evaluate(
            server,
            tmp_path / "s.db",
            headers=["X-Api-Key: canary-on-the-line", "X-Gate-Token: $GATE_TOKEN"],
        )
        stored = first.manifest.options["headers"]
        first.close()
        evaluate(server, tmp_path / "s.db", headers=["X-Api-Key: another"]).close()
        assert server.calls == 2  # the token's variable is part of what is asked, its value is not
    assert stored == ["X-Api-Key: (not stored)", "X-Gate-Token: $GATE_TOKEN"]
    sent = server.headers[0]
    assert sent["X-Api-Key"] == "canary-on-the-line"
    assert sent["X-Gate-Token"] == "canary-from-the-environment"
    assert b"canary" not in (tmp_path / "s.db").read_bytes()


def test_a_proxys_password_is_not_stored() -> None:
    options = Options(proxy="http://user:canary@proxy.example:3128")
    assert options.to_json()["proxy"] == "http://proxy.example:3128"
    assert options.to_json(with_secrets=True)["proxy"] == options.proxy


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"max_tokens": 0}, "--max-tokens"),
        ({"max_tokens": 10_000_001}, "--max-tokens"),
        ({"max_tokens": 10**23}, "--max-tokens"),
        ({"reasoning_effort": "enormous"}, "--reasoning-effort"),
        ({"extra_body": "{top_p: 1}"}, "--extra-body"),
        ({"extra_body": "[1]"}, "--extra-body"),
        ({"extra_body": '{"messages": []}'}, "--extra-body"),
        ({"extra_body": '{"stream": true}'}, "--extra-body"),
        ({"headers": ["no colon"]}, "--header"),
        ({"headers": ["X-A: b\r\nX-Evil: c"]}, "--header"),
        ({"headers": [": value"]}, "--header"),
        ({"proxy": "socks5://127.0.0.1:1080"}, "--proxy"),
        ({"proxy": "proxy.example:3128"}, "--proxy"),
        ({"ca": "no/such/file.pem"}, "--ca"),
        ({"temperature": -1.0}, "--temperature"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_with_its_option(
    options: dict[str, Any], where: str
) -> None:
    with pytest.raises(SetupError) as caught:
        make_options(options)
    assert (caught.value.code, caught.value.where) == ("E0101", where)
    assert caught.value.fix


def test_a_file_that_holds_no_certificate_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("-----BEGIN NOTHING-----\n")
    with pytest.raises(SetupError, match="no certificate in PEM form"):
        make_options({"ca": str(tmp_path / "ca.pem")})


def test_a_header_from_a_variable_that_is_not_set_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_SUCH_TOKEN", raising=False)
    settings = ModelSettings(headers=("X-Token: ${NO_SUCH_TOKEN}",))
    with pytest.raises(SetupError, match="NO_SUCH_TOKEN, which is not set"):
        settings.header_values()


@pytest.mark.parametrize(
    ("header", "secret"),
    [
        ("Authorization: Bearer x", True),
        ("api-key: x", True),
        ("Cookie: a=b", True),
        ("X-Team: search", False),
        ("Authorization: Bearer $TOKEN", False),
    ],
)
def test_a_header_is_secret_by_its_name(header: str, secret: bool) -> None:
    assert is_secret(check_header(header)) is secret
    assert storable(header) == (f"{header.partition(':')[0]}: (not stored)" if secret else header)


def test_the_users_own_limit_of_a_reply_is_not_grown() -> None:
    from ragassay.core import ChatCall, ChatReply, Message

    async def two(server: LLMServer) -> list[str]:
        model = ChatModel("mock", base_url=server.url, settings=ModelSettings(max_tokens=300))
        finishes: list[str] = []
        try:
            for _ in range(2):
                reply = await model.call(ChatCall((Message("user", "x"),)))
                assert isinstance(reply, ChatReply)
                finishes.append(reply.finish)
        finally:
            await model.close()
        return finishes

    with LLMServer(thinks=1000) as server:
        assert asyncio.run(two(server)) == ["length", "length"]
        assert [body["max_tokens"] for body in server.bodies] == [300, 300]


HEADERS = [
    "X-Api-Key: canary-on-the-line",
    "X-Route: $OUTSIDE",
    "X-Session: Bearer canary-session",
    "X-Pw: pre-canary-$OUTSIDE",
]


class EchoServer(NativeServer):
    """A gateway whose every answer repeats what it has been sent, as a reason or as an error."""

    def __init__(self, status: int) -> None:
        super().__init__({})
        self.status = status
        self.seen = ""

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        body = json.loads(await request.read())
        prompt = body.pop("messages")[-1]["content"]
        self.seen = json.dumps([dict(request.headers), body])
        if self.status != 200:
            return web.json_response({"error": {"message": self.seen}}, status=self.status)
        ids = re.findall(r"[0-9a-f]{8,32}", prompt.rpartition("One entry for each TAG:")[2])
        verdicts = [
            {"id": tag, "reasoning": self.seen, "quotes": [], "supported_by": [1], "rating": 3}
            for tag in dict.fromkeys(ids)
        ]
        message = {"content": json.dumps({"verdicts": verdicts})}
        return web.json_response({"choices": [{"message": message, "finish_reason": "stop"}]})


@pytest.mark.parametrize("status", [200, 400])
def test_what_a_server_echoes_of_the_users_secrets_is_neither_stored_nor_shown(
    status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUTSIDE", "canary-0815-outside")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-of-the-key")
    shown = ""
    with EchoServer(status) as server:
        try:
            run = ragassay.evaluate(
                ROWS,
                "groundedness",
                judge="openai:mock",
                base_url=server.url,
                store=tmp_path / "s.db",
                headers=HEADERS,
                extra_body={"api_key": "canary-in-the-body", "top_p": 0.9},
            )
            shown = str(list(run.rows()))
            run.close()
        except RagAssayError as error:
            shown = str(error)
    assert all(
        word in server.seen for word in ("canary-on-the-line", "canary-0815", "canary-in-the-body")
    )
    assert "[key]" in shown
    assert "canary" not in shown
    for file in tmp_path.rglob("*"):
        assert file.is_dir() or b"canary" not in file.read_bytes()


def test_a_header_of_the_users_own_replaces_ours_in_any_case_of_letters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-ours")
    with NativeServer({}) as server:
        model = ChatModel(
            "m",
            base_url=server.url,
            key="sk-ours",
            settings=ModelSettings(headers=("authorization: Bearer theirs",)),
        )
        sent = {name.lower(): value for name, value in model._headers().items()}
    names = [name.lower() for name in model._headers()]
    assert names.count("authorization") == 1
    assert sent["authorization"] == "Bearer theirs"


def test_a_form_of_replies_of_the_users_own_replaces_ours_as_a_whole(tmp_path: Path) -> None:
    form = {"type": "json_object"}
    with LLMServer() as server:
        evaluate(server, tmp_path / "s.db", extra_body={"response_format": form}).close()
    assert server.bodies[0]["response_format"] == form


def test_no_temperature_is_sent_where_the_command_says_none(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps(ROWS[0]))
    with LLMServer() as server:
        judge = ["--judge", "openai:mock", "--base-url", server.url]
        command = ["evaluate", str(rows), "-m", "groundedness", *judge]
        for number, value in enumerate(("none", "0.5")):
            store = ["--store", str(tmp_path / f"{number}.db")]
            arguments = [*command, *store, "--temperature", value]
            done = run_in_process(tmp_path, *arguments, environment=os.environ)
            assert done.returncode == 0, done.stderr
        wrong = [*command, "--store", "wrong.db", "--temperature", "warm"]
        done = run_in_process(tmp_path, *wrong, environment=os.environ)
    assert done.returncode == 2
    assert "'warm' is neither a number nor none" in done.stderr
    assert "temperature" not in server.bodies[0]
    assert server.bodies[1]["temperature"] == 0.5


def test_a_run_with_a_secret_field_is_resumed_with_the_field_given_again(tmp_path: Path) -> None:
    body = {"api_key": "canary-in-the-body", "top_p": 0.9}
    with LLMServer() as server:
        run = evaluate(server, tmp_path / "s.db", extra_body=body)
        run_id, stored = run.id, run.manifest.options["extra_body"]
        run.close()
        with pytest.raises(SetupError, match="'api_key' is not stored"):
            ragassay.resume(run_id, store=tmp_path / "s.db", rows=ROWS)
        again = ragassay.resume(run_id, store=tmp_path / "s.db", rows=ROWS, extra_body=body)
        again.close()
        other = body | {"api_key": "another"}
        with pytest.raises(SetupError) as caught:  # it is another judge
            ragassay.resume(run_id, store=tmp_path / "s.db", rows=ROWS, extra_body=other)
    assert json.loads(str(stored)) == {"api_key": "(not stored)", "top_p": 0.9}
    assert caught.value.code == "E0106"
