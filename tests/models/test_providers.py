"""Each provider is asked where it is, with its key where it wants it, in the dialect it speaks."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest
from aiohttp import web

from ragassay.core import CallError, ChatCall, ChatReply, Message, SetupError
from ragassay.models import connect
from ragassay.models.chat_model import ChatModel
from ragassay.models.connect import all_providers, schemes
from ragassay.models.settings import ModelSettings
from support.native_server import NativeServer

KEY = "canary-0123456789abcdef"
SCHEMA = {
    "type": "object",
    "properties": {"rating": {"type": "integer", "enum": [0, 1, 2, 3]}},
    "required": ["rating"],
    "additionalProperties": False,
}
CALL = ChatCall(
    (Message("system", "You judge."), Message("user", "Is it so?")), schema=SCHEMA, max_tokens=500
)
ANSWER = '{"rating": 2}'

REPLIES: dict[str, dict[str, Any]] = {
    "openai": {
        "choices": [{"message": {"content": ANSWER}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20},
    },
    "anthropic": {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": ANSWER}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 40, "cache_read_input_tokens": 60, "output_tokens": 20},
    },
    "gemini": {
        "candidates": [
            {"content": {"parts": [{"text": ANSWER}], "role": "model"}, "finishReason": "STOP"}
        ],
        "usageMetadata": {
            "promptTokenCount": 100,
            "candidatesTokenCount": 15,
            "thoughtsTokenCount": 5,
            "totalTokenCount": 120,
        },
    },
    "bedrock": {
        "output": {"message": {"role": "assistant", "content": [{"text": ANSWER}]}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 100, "outputTokens": 20, "totalTokens": 120},
    },
    "cohere": {
        "message": {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]},
        "finish_reason": "COMPLETE",
        "usage": {"billed_units": {"input_tokens": 100, "output_tokens": 20}},
    },
}
NATIVE = {
    "anthropic": ("/messages", "x-api-key", KEY),
    "gemini": ("/models/m:generateContent", "x-goog-api-key", KEY),
    "bedrock": ("/model/m/converse", "Authorization", f"Bearer {KEY}"),
    "cohere": ("/chat", "Authorization", f"Bearer {KEY}"),
    "openai": ("/chat/completions", "Authorization", f"Bearer {KEY}"),
    "mistral": ("/chat/completions", "Authorization", f"Bearer {KEY}"),
}


def ask(model: ChatModel, call: ChatCall = CALL) -> ChatReply:
    async def main() -> ChatReply:
        try:
            reply = await model.call(call)
        finally:
            await model.close()
        assert isinstance(reply, ChatReply)
        return reply

    return asyncio.run(main())


def opened(uri: str, **options: Any) -> ChatModel:
    model = connect(uri, **options)
    assert isinstance(model, ChatModel)
    return model


@pytest.mark.parametrize("scheme", sorted(NATIVE))
def test_a_provider_is_asked_in_its_own_dialect_with_its_own_header(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_KEY", KEY)
    with NativeServer(REPLIES.get(scheme, REPLIES["openai"])) as server:
        reply = ask(opened(f"{scheme}:m", base_url=server.url, api_key_env="THE_KEY"))
    path, header, value = NATIVE[scheme]
    assert server.paths == [path]
    assert server.headers[0][header] == value
    assert (reply.text, reply.finish) == (ANSWER, "stop")
    assert (reply.spend.input_tokens, reply.spend.output_tokens) == (100, 20)


def test_anthropic_is_given_the_rules_apart_and_marked_for_its_cache() -> None:
    with NativeServer(REPLIES["anthropic"]) as server:
        reply = ask(opened("anthropic:claude-x", base_url=server.url))
    body = server.bodies[0]
    assert server.headers[0]["anthropic-version"] == "2023-06-01"
    assert body["system"] == [
        {"type": "text", "text": "You judge.", "cache_control": {"type": "ephemeral"}}
    ]
    assert body["messages"] == [{"role": "user", "content": "Is it so?"}]
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}}
    assert body["max_tokens"] == 500
    assert "seed" not in body
    assert reply.spend.cached_tokens == 60


@pytest.mark.parametrize(("effort", "budget"), [("low", 2_048), ("high", 24_576)])
def test_a_budget_of_thinking_is_the_efforts_and_stands_beside_the_answer(
    effort: str, budget: int
) -> None:
    thought = {**REPLIES["anthropic"], "usage": {"input_tokens": 9, "output_tokens": budget}}
    with NativeServer(thought) as server:
        model = opened(
            "anthropic:claude-haiku-4-5",
            base_url=server.url,
            settings=ModelSettings(reasoning_effort=effort),
        )
        for _ in range(3):
            ask(model)
    for body in server.bodies:  # what was thought does not make the next budget grow
        assert body["thinking"] == {"type": "enabled", "budget_tokens": budget}
        assert body["max_tokens"] == 500 + budget
        assert "temperature" not in body


def test_models_of_anthropic_that_take_an_effort_are_told_one() -> None:
    settings = ModelSettings(reasoning_effort="medium")
    with NativeServer(REPLIES["anthropic"]) as server:
        ask(opened("anthropic:claude-opus-4-7", base_url=server.url, settings=settings))
    (body,) = server.bodies
    assert body["thinking"] == {"type": "adaptive"}
    assert body["output_config"]["effort"] == "medium"
    assert body["output_config"]["format"]["schema"] == SCHEMA


@pytest.mark.parametrize(
    ("model", "message", "kind"),
    [
        (
            "claude-next",
            '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive"'
            ' and "output_config.effort" to control thinking behavior.',
            "adaptive",
        ),
        (
            "claude-opus-4-8-mini",
            "thinking: Input tag 'adaptive' found using 'type' does not match any of the expected"
            " tags: 'disabled', 'enabled'",
            "enabled",
        ),
    ],
)
def test_how_a_model_is_told_to_think_is_learnt_from_its_refusal(
    model: str, message: str, kind: str
) -> None:
    refusal = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    with NativeServer(REPLIES["anthropic"], first=[(400, refusal)]) as server:
        settings = ModelSettings(reasoning_effort="high")
        judge = opened(f"anthropic:{model}", base_url=server.url, settings=settings)
        ask(judge)
        ask(judge)
    kinds = [body["thinking"]["type"] for body in server.bodies]
    assert kinds[1:] == [kind, kind]
    assert kinds[0] != kind


def test_gemini_falls_back_to_its_own_schema_whose_enumerations_hold_texts_only() -> None:
    refusal = {
        "error": {
            "code": 400,
            "message": "Invalid value at 'generation_config.response_json_schema': enum: only"
            " allowed for STRING type",
            "status": "INVALID_ARGUMENT",
        }
    }
    with NativeServer(REPLIES["gemini"], first=[(400, refusal)]) as server:
        reply = ask(opened("gemini:m", base_url=server.url))
    assert reply.text == ANSWER
    assert reply.spend.calls == 2
    first, second = (body["generationConfig"] for body in server.bodies)
    assert first["responseJsonSchema"] == SCHEMA
    assert second["responseSchema"] == {
        "type": "object",
        "properties": {"rating": {"type": "integer"}},
        "required": ["rating"],
    }
    assert server.bodies[1]["systemInstruction"] == {"parts": [{"text": "You judge."}]}


def test_gemini_under_openai_speaks_the_protocol_of_openai(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    with NativeServer(REPLIES["openai"]) as server:
        ask(opened("gemini:m", base_url=f"{server.url}/v1beta/openai"))
    assert server.paths == ["/v1beta/openai/chat/completions"]
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("scheme", ["azure", "openai"])
def test_a_classic_deployment_of_azure_has_its_version_in_the_address(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
    with NativeServer(REPLIES["openai"]) as server:
        base = f"{server.url}/openai/deployments/judge?api-version=2024-06-01"
        ask(opened(f"{scheme}:judge", base_url=base))
    assert server.paths == ["/openai/deployments/judge/chat/completions?api-version=2024-06-01"]
    assert server.headers[0]["api-key"] == KEY
    assert "Authorization" not in server.headers[0]


def test_azure_makes_the_address_from_its_resource_and_takes_a_token_in_place_of_the_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("AZURE_OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("AZURE_OPENAI_AD_TOKEN", KEY)
    with NativeServer(REPLIES["openai"]) as server:
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.url)
        monkeypatch.setenv("OPENAI_API_VERSION", "2025-01-01")
        ask(opened("azure:judge"))
        ask(opened("azure:judge", base_url=f"{server.url}/openai/v1"))
    assert server.paths == [
        "/openai/deployments/judge/chat/completions?api-version=2025-01-01",
        "/openai/v1/chat/completions",
    ]
    assert [headers["Authorization"] for headers in server.headers] == [f"Bearer {KEY}"] * 2


def test_mistral_calls_the_seed_otherwise_and_openrouter_the_effort() -> None:
    settings = ModelSettings(reasoning_effort="low")
    call = ChatCall((Message("user", "hi"),), seed=7)
    with NativeServer(REPLIES["openai"]) as server:
        ask(opened("mistral:m", base_url=server.url), call)
        ask(opened("openrouter:m", base_url=server.url, settings=settings), call)
        ask(opened("groq:m", base_url=server.url, settings=settings), call)
    mistral, openrouter, groq = server.bodies
    assert mistral["random_seed"] == 7
    assert openrouter["reasoning"] == {"effort": "low"}
    assert groq["reasoning_effort"] == "low"


def test_bedrock_without_a_bearer_token_says_how_to_get_a_signature(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from ragassay.models import aws

    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK", raising=False)
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    aws.credentials.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "botocore.session", None)
    with pytest.raises(SetupError) as caught:
        connect("bedrock:us.amazon.nova-2-lite-v1:0")
    assert caught.value.code == "E0416"
    assert "ragassay[bedrock]" in caught.value.fix


def test_bedrock_without_a_region_sends_nothing_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    with pytest.raises(SetupError) as caught:
        connect("bedrock:us.amazon.nova-2-lite-v1:0")
    assert caught.value.code == "E0101"
    assert "AWS_REGION" in caught.value.fix


def test_the_id_of_a_bedrock_model_is_escaped_in_the_address() -> None:
    with NativeServer(REPLIES["bedrock"]) as server:
        model = ChatModel(
            "us.amazon.nova-2-lite-v1:0",
            base_url=server.url,
            key=KEY,
            provider=opened_provider("bedrock"),
        )
        assert ask(model).text == ANSWER
    assert server.paths == ["/model/us.amazon.nova-2-lite-v1%3A0/converse"]


def opened_provider(scheme: str) -> Any:
    return next(provider for provider in all_providers() if provider.scheme == scheme)


def test_every_provider_is_named_as_its_module_and_asks_for_its_own_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert {provider.scheme for provider in all_providers()} | {"local"} == set(schemes())
    for provider in all_providers():
        for variable in (*provider.keys, provider.token_env, *provider.address_env):
            if variable:
                monkeypatch.delenv(variable, raising=False)
    for provider in all_providers():
        hosted = provider.base_url is not None and "127.0.0.1" not in provider.base_url
        if not hosted:
            continue
        with pytest.raises(SetupError) as caught:
            connect(f"{provider.scheme}:m")
        assert (caught.value.code, caught.value.where) == ("E0402", provider.keys[0])


@pytest.mark.parametrize(
    ("host", "base"),
    [
        ("", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0:11500", "http://127.0.0.1:11500/v1"),
        ("https://gpu.example", "https://gpu.example/v1"),
    ],
)
def test_ollama_is_where_its_own_variable_says(
    host: str, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert opened("ollama:qwen3:8b").base_url == base


def test_databricks_and_azure_want_to_know_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("DATABRICKS_HOST", "AZURE_OPENAI_ENDPOINT"):
        monkeypatch.delenv(variable, raising=False)
    for uri in ("databricks:m", "azure:m"):
        with pytest.raises(SetupError) as caught:
            connect(uri)
        assert (caught.value.code, caught.value.where) == ("E0101", "--base-url")
    monkeypatch.setenv("DATABRICKS_HOST", "adb-1.azuredatabricks.net")
    monkeypatch.setenv("DATABRICKS_TOKEN", KEY)
    assert opened("databricks:m").base_url == "https://adb-1.azuredatabricks.net/serving-endpoints"


def test_a_refused_key_names_the_variable_of_the_provider() -> None:
    with (
        NativeServer(web.json_response({"error": "no"}, status=401)) as server,
        pytest.raises(CallError) as caught,
    ):
        ask(opened("groq:m", base_url=server.url))
    assert caught.value.fatal
    assert "is GROQ_API_KEY set?" in caught.value.message


def test_a_reply_is_read_whoever_gives_it_in_whatever_dialect() -> None:
    """A gateway may answer in the words of the server behind it."""
    for scheme, reply in REPLIES.items():
        with NativeServer(orjson.loads(orjson.dumps(reply))) as server:
            answered = ask(opened("openai:m", base_url=server.url))
        assert answered.text == ANSWER, scheme
        assert answered.spend.output_tokens == 20, scheme


def test_an_authorization_of_the_users_own_goes_in_place_of_the_key() -> None:
    settings = ModelSettings(headers=("Authorization: Bearer canary",))
    with NativeServer(REPLIES["anthropic"]) as server:
        ask(opened("anthropic:claude-x", base_url=server.url, settings=settings))
    headers = {name.lower(): value for name, value in server.headers[0].items()}
    assert headers["authorization"] == "Bearer canary"
    assert "x-api-key" not in headers
