"""The way to the server: proxies, certificates, and what is said of either."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest
from aiohttp import web

from ragassay.core import CallError, ChatCall, ChatReply, Message
from ragassay.dispatch.run_errors import unreachable
from ragassay.models import connect
from ragassay.models.chat_model import ChatModel
from ragassay.models.settings import ModelSettings
from support.native_server import NativeServer

CALL = ChatCall((Message("user", "hi"),))
REPLY = {"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]}


def ask(base_url: str, **settings: str) -> ChatReply:
    async def main() -> ChatReply:
        model = connect("openai:m", base_url=base_url, settings=ModelSettings(**settings))  # type: ignore[arg-type]
        assert isinstance(model, ChatModel)
        try:
            reply = await model.call(CALL)
        finally:
            await model.close()
        assert isinstance(reply, ChatReply)
        return reply

    return asyncio.run(main())


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate of 127.0.0.1 that no authority has signed, and its key."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("tls")
    pem, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        [
            *(program, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", str(key), "-out", str(pem)),
        ],
        check=True,
        capture_output=True,
    )
    return pem, key


def serving(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return context


def test_a_certificate_that_does_not_verify_ends_at_once(certificate: tuple[Path, Path]) -> None:
    with (
        NativeServer(REPLY, context=serving(certificate)) as server,
        pytest.raises(CallError) as caught,
    ):
        ask(server.url)
    error = caught.value
    assert (error.kind, error.fatal, error.maybe_billed) == ("certificate", True, False)
    assert "self-signed" in error.message
    assert server.paths == []


def test_a_certificate_of_an_authority_that_the_user_names_verifies(
    certificate: tuple[Path, Path],
) -> None:
    with NativeServer(REPLY, context=serving(certificate)) as server:
        assert ask(server.url, ca=str(certificate[0])).text == "yes"


def test_a_proxy_is_used_where_the_user_names_one() -> None:
    with NativeServer(REPLY) as proxy:
        assert ask("http://judge.example/v1", proxy=proxy.url).text == "yes"
    assert proxy.paths == ["http://judge.example/v1/chat/completions"]


@pytest.mark.parametrize("variable", ["http_proxy", "HTTP_PROXY", "all_proxy"])
def test_the_proxy_of_the_environment_is_used_but_for_its_exceptions(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with NativeServer(REPLY) as proxy, NativeServer(REPLY) as server:
        monkeypatch.setenv(variable, proxy.url)
        assert ask("http://judge.example/v1").text == "yes"
        # What listens on this machine only cannot be reached by a proxy elsewhere.
        assert ask(server.url).text == "yes"
        monkeypatch.setenv("no_proxy", "judge.invalid")
        with pytest.raises(CallError) as caught:
            ask("http://judge.invalid/v1")
    assert caught.value.kind == "network"
    assert proxy.paths == ["http://judge.example/v1/chat/completions"]
    assert len(server.paths) == 1


def test_a_proxy_that_asks_for_a_password_is_told_apart_from_the_server() -> None:
    asks = web.Response(status=407, headers={"Proxy-Authenticate": "Basic realm=x"})
    with NativeServer(asks) as proxy, pytest.raises(CallError) as caught:
        ask("http://judge.example/v1", proxy=proxy.url)
    error = caught.value
    assert (error.kind, error.fatal, error.maybe_billed) == ("proxy", True, False)
    assert "asks for a password" in error.message


def test_a_proxys_password_is_sent_to_it_and_not_to_the_server() -> None:
    with NativeServer(REPLY) as proxy:
        address = proxy.url.replace("http://", "http://user:canary@")
        ask("http://judge.example/v1", proxy=address)
    assert proxy.headers[0]["Proxy-Authorization"].startswith("Basic ")


def test_a_proxy_that_is_not_there_is_a_network_failure_that_names_it() -> None:
    with pytest.raises(CallError) as caught:
        ask("http://judge.example/v1", proxy="http://127.0.0.1:9")
    assert caught.value.kind == "network"
    assert "the proxy 127.0.0.1:9 cannot be reached" in caught.value.message


def test_a_server_that_is_not_there_is_named_without_the_librarys_own_words() -> None:
    with pytest.raises(CallError) as caught:
        ask("http://127.0.0.1:9/v1")
    assert caught.value.message.startswith("127.0.0.1:9: ")
    assert "Connect call failed" in caught.value.message
    assert "ssl" not in caught.value.message


def test_a_server_that_speaks_no_tls_is_told_apart() -> None:
    with NativeServer(REPLY) as server, pytest.raises(CallError) as caught:
        ask(server.url.replace("http://", "https://"))
    error = caught.value
    assert (error.kind, error.maybe_billed) == ("network", False)
    assert "the server speaks plain HTTP" in error.message
    assert "use http://" in error.message
    assert "WRONG_VERSION" not in error.message


def test_the_fix_of_a_proxy_that_is_not_there_names_the_proxy() -> None:
    with pytest.raises(CallError) as caught:
        ask("http://judge.example/v1", proxy="http://127.0.0.1:9")
    error = unreachable("openai:m", caught.value)
    assert "--proxy" in error.fix
    assert "--base-url" not in error.fix
    assert "(--proxy names it)" in error.why


def test_a_proxys_password_that_it_echoes_is_not_shown() -> None:
    # base64 of "us@er:can/ary", which the address has to write otherwise
    encoded = "dXNAZXI6Y2FuL2FyeQ=="
    echo = f"denied: Basic {encoded}, that is us@er:can/ary or us%40er:can%2Fary"
    reply = web.json_response({"error": {"message": echo}}, status=400)
    with NativeServer(reply) as proxy:
        address = proxy.url.replace("http://", "http://us%40er:can%2Fary@")
        with pytest.raises(CallError) as caught:
            ask("http://judge.example/v1", proxy=address)
    assert proxy.headers[0]["Proxy-Authorization"] == f"Basic {encoded}"
    message = caught.value.message
    assert "denied: Basic [key], that is [key] or [key]" in message


def test_a_proxy_that_speaks_no_tls_is_told_apart_from_the_server() -> None:
    with NativeServer(REPLY) as proxy, pytest.raises(CallError) as caught:
        ask("http://judge.example/v1", proxy=proxy.url.replace("http://", "https://"))
    assert caught.value.message.startswith(f"the proxy 127.0.0.1:{proxy.port} cannot be reached")
    assert "use http://" in caught.value.message
