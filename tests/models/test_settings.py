"""The user's own settings of a model: what is sent, what is stored, what cannot be."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.core import SetupError
from ragassay.models.settings import ModelSettings, check_header, is_secret, storable
from ragassay.runs.options import Options, make_options
from ragassay.testing import LLMServer

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
    from ragassay.models.chat_model import ChatModel

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
