"""What real servers refuse, each in its own words, and what the next request leaves out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from ragassay.core import CallError, ChatCall, ChatReply, Message
from ragassay.models import connect
from ragassay.models.capabilities import Capabilities
from ragassay.models.chat_model import ChatModel
from ragassay.models.refusals import Refusal, without_refused
from ragassay.models.settings import ModelSettings
from support.refusing_server import RefusingServer, Rule

KEY = "canary-0123456789abcdef"
SCHEMA = {
    "type": "object",
    "properties": {
        "rating": {"type": "integer", "enum": [0, 1, 2, 3]},
        "kind": {"type": "string", "enum": ["a", "b"]},
    },
    "required": ["rating", "kind"],
    "additionalProperties": False,
}
CALL = ChatCall(
    (Message("system", "You judge."), Message("user", "Is it so?")),
    schema=SCHEMA,
    max_tokens=1_000,
    seed=7,
)
ANSWER = '{"rating": 2, "kind": "a"}'
REPLY = {
    "choices": [{"message": {"content": ANSWER}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 100, "completion_tokens": 20},
}


def form(body: Any) -> str:
    """How a request says what form the reply shall have."""
    if "tools" in body:
        return "tool"
    asked = body.get("response_format", {})
    if asked.get("type") != "json_schema":
        return asked.get("type", "text")
    return "strict schema" if asked["json_schema"].get("strict") else "simple schema"


def error(message: str, **fields: object) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", **fields}}


def ask(
    server: RefusingServer,
    uri: str = "openai:m",
    *,
    calls: int = 1,
    settings: ModelSettings | None = None,
) -> ChatModel:
    """The model after so many calls, each of which was answered."""
    model = connect(uri, base_url=server.url, api_key_env="KEY", settings=settings)
    assert isinstance(model, ChatModel)

    async def main() -> None:
        try:
            for _ in range(calls):
                reply = await model.call(CALL)
                assert isinstance(reply, ChatReply)
                assert orjson.loads(reply.text) == orjson.loads(ANSWER)
        finally:
            await model.close()

    asyncio.run(main())
    return model


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", KEY)


def has_schema(body: Any) -> bool:
    return form(body).endswith("schema")


@pytest.mark.parametrize(
    ("rules", "forms"),
    [
        pytest.param(
            [Rule(has_schema, error("This response_format type is unavailable now"))],
            ["strict schema", "json_object"],
            id="DeepSeek: any object only",
        ),
        pytest.param(
            [
                Rule(
                    has_schema,
                    error(
                        "The parameter `response_format.type` specified in the request are not"
                        " valid: invalid value: `json_schema`, supported values are: `json_object`"
                        " and `text`."
                    ),
                )
            ],
            ["strict schema", "json_object"],
            id="Volcengine: any object only",
        ),
        pytest.param(
            [
                Rule(
                    lambda body: form(body) == "strict schema",
                    {
                        "object": "error",
                        "message": "The provided JSON schema contains features not supported by"
                        " xgrammar.",
                        "type": "BadRequestError",
                        "code": 400,
                    },
                )
            ],
            ["strict schema", "simple schema"],
            id="vLLM: features of a schema",
        ),
        pytest.param(
            [
                Rule(
                    lambda body: form(body) == "strict schema",
                    error(
                        "invalid schema for response format: response_format/json_schema/rating:"
                        " minItems is not supported"
                    ),
                )
            ],
            ["strict schema", "simple schema"],
            id="Groq: a keyword of a schema",
        ),
        pytest.param(
            [
                Rule(
                    has_schema,
                    error(
                        "Invalid parameter: 'response_format' of type 'json_schema' is not"
                        " supported with this model."
                    ),
                ),
                Rule(
                    lambda body: form(body) == "json_object",
                    error(
                        "Invalid parameter: 'response_format' of type 'json_object' is not"
                        " supported with this model."
                    ),
                ),
            ],
            ["strict schema", "json_object", "tool"],
            id="an old model: a tool call",
        ),
        pytest.param(
            [
                Rule(has_schema, error("response_format is not supported")),
                Rule(lambda body: form(body) == "json_object", error("json_object: no such mode")),
                Rule(
                    lambda body: form(body) == "tool",
                    error("Thinking mode does not support this tool_choice"),
                ),
            ],
            ["strict schema", "json_object", "tool", "text"],
            id="words only",
        ),
        pytest.param(
            [Rule(has_schema, {"error": "'response_format.type' must be 'text'"})],
            ["strict schema", "json_object"],
            id="an error that is a text",
        ),
        pytest.param(
            [
                Rule(
                    has_schema,
                    "Failed to deserialize the JSON body into the target type:"
                    " response_format.type: unknown variant `json_schema`",
                    422,
                )
            ],
            ["strict schema", "json_object"],
            id="a plain text with 422",
        ),
        pytest.param(
            [Rule(has_schema, error("failed to parse grammar", code=500), 500)],
            ["strict schema", "json_object"],
            id="llama.cpp: a grammar that fails with 500",
        ),
        pytest.param(
            [
                Rule(
                    has_schema,
                    {
                        "error": {
                            "message": "Provider returned error",
                            "code": 400,
                            "metadata": {
                                "raw": '{"error": {"message": "json_schema is not supported"}}'
                            },
                        }
                    },
                )
            ],
            ["strict schema", "json_object"],
            id="OpenRouter: the inner provider's words",
        ),
        pytest.param(
            [
                Rule(
                    has_schema,
                    {"error": {"message": "No endpoints found that support structured outputs"}},
                    404,
                )
            ],
            ["strict schema", "json_object"],
            id="OpenRouter: no provider behind it with this form",
        ),
    ],
)
def test_a_form_that_is_refused_is_followed_by_a_simpler_one(
    rules: list[Rule], forms: list[str]
) -> None:
    with RefusingServer(REPLY, *rules) as server:
        ask(server, calls=2)
    # The second call begins where the first one ended.
    assert list(map(form, server.bodies)) == [*forms, forms[-1]]


def test_gemini_takes_enumerations_of_texts_only() -> None:
    def has_numbers(body: Any) -> bool:
        return "responseJsonSchema" in body["generationConfig"]

    refused = {
        "error": {
            "code": 400,
            "message": "GenerateContentRequest.generation_config.response_schema.properties[rating]"
            ".enum: only allowed for STRING type",
            "status": "INVALID_ARGUMENT",
        }
    }
    reply = {
        "candidates": [{"content": {"parts": [{"text": ANSWER}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1},
    }
    with RefusingServer(reply, Rule(has_numbers, refused)) as server:
        ask(server, "gemini:g")
    sent = server.bodies[-1]["generationConfig"]["responseSchema"]["properties"]
    assert sent == {"rating": {"type": "integer"}, "kind": {"type": "string", "enum": ["a", "b"]}}


def test_groq_may_draw_again_before_it_is_asked_without_its_own_check() -> None:
    failed = error(
        "Failed to generate JSON. Please adjust your prompt.",
        code="json_validate_failed",
        failed_generation="```json\n{",
    )
    with RefusingServer(REPLY, Rule(has_schema, failed)) as server:
        ask(server)
    assert list(map(form, server.bodies)) == ["strict schema", "strict schema", "json_object"]


@pytest.mark.parametrize(
    ("status", "refused"),
    [
        (400, error("System role not supported")),
        (400, error("Unsupported value: 'messages[0].role' does not support 'system'")),
        (400, error("Developer instruction is not enabled for models/gemma-3-27b-it")),
        (400, error("Conversation roles must alternate user/assistant/user/assistant/...")),
        (400, {"message": "This model doesn't support system messages. Try again without."}),
        (500, error("Jinja Exception: System role not supported", code=500)),
    ],
)
def test_the_rules_go_to_the_user_where_there_is_no_system_role(
    status: int, refused: dict[str, Any]
) -> None:
    rule = Rule(lambda body: body["messages"][0]["role"] == "system", refused, status)
    with RefusingServer(REPLY, rule) as server:
        model = ask(server)
    assert server.bodies[-1]["messages"] == [{"role": "user", "content": "You judge.\n\nIs it so?"}]
    assert len(server.bodies) == 2
    assert "no system role" in " ".join(model.dropped())


def test_qwen_is_told_not_to_think_where_it_may_not_without_a_stream() -> None:
    refused = error(
        "parameter.enable_thinking must be set to false for non-streaming calls",
        code="invalid_parameter_error",
    )
    rule = Rule(lambda body: body.get("enable_thinking") is not False, refused)
    with RefusingServer(REPLY, rule) as server:
        ask(server, "qwen:qwen3-32b")
    assert len(server.bodies) == 2


@pytest.mark.parametrize(
    "message",
    [
        "enable thinking can not be support when `stream=False`.",
        "This model only support stream mode, please enable the stream parameter",
        "Requests with max_tokens > 5000 must have stream=true",
        "Streaming is required for this model",
    ],
)
def test_a_server_that_only_streams_is_asked_for_a_stream(message: str) -> None:
    chunk = {"choices": [{"delta": {"content": ANSWER}, "finish_reason": "stop"}]}
    streamed = orjson.dumps(chunk)

    from aiohttp import web

    reply = web.Response(
        body=b"data: " + streamed + b"\n\ndata: [DONE]\n\n", content_type="text/event-stream"
    )
    no_stream = Rule(lambda body: not body.get("stream"), error(message))
    no_usage = Rule(
        lambda body: "stream_options" in body,
        "Extra inputs are not permitted, field: 'stream_options'",
    )
    with RefusingServer(reply, no_stream, no_usage) as server:
        ask(server)
    assert [body.get("stream", False) for body in server.bodies] == [False, True, True]


@pytest.mark.parametrize(
    ("message", "name", "most"),
    [
        (
            "max_tokens is too large: 9000. This model supports at most 4096 completion tokens,"
            " whereas you provided 9000.",
            "max_tokens",
            4096,
        ),
        ("Range of max_tokens should be [1, 2048]", "max_tokens", 2048),
        (
            # It names the context in passing.
            "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens`"
            " is less than the `context_window` for this model",
            "max_tokens",
            8192,
        ),
        (
            "max_tokens: 9000 > 4096, which is the maximum allowed number of output tokens for"
            " claude-3-haiku-20240307",
            "max_tokens",
            4096,
        ),
        (
            "Unable to submit request because it has a max_tokens value of 9000 but the supported"
            " range is from 1 (inclusive) to 8193 (exclusive)",
            "max_tokens",
            8192,
        ),
        ("max_tokens is too high", "max_tokens", 4500),  # no number: half of 9,000
        (
            "The maximum tokens you requested exceeds the model limit of 4096. Try again with a"
            " maximum tokens value that is lower than 4096.",
            "max_tokens",
            4096,
        ),
    ],
)
def test_a_reply_that_is_too_long_is_asked_for_shorter(message: str, name: str, most: int) -> None:
    rule = Rule(lambda body: body.get("max_tokens", 0) > most, error(message))
    with RefusingServer(REPLY, rule) as server:
        model = ask(server, settings=ModelSettings(max_tokens=9000))
    assert server.bodies[-1][name] == most
    assert (model.known.most_tokens, len(server.bodies)) == (most, 2)


def test_a_credit_that_is_short_of_the_reply_buys_a_shorter_one() -> None:
    message = (
        "This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens,"
        " but can only afford 10114."
    )
    refused = Rule(lambda body: body["max_tokens"] > 10114, error(message, code=402), 402)
    with RefusingServer(REPLY, refused) as server:
        ask(server, settings=ModelSettings(max_tokens=65536))
    assert [body["max_tokens"] for body in server.bodies] == [65536, 10114]


@pytest.mark.parametrize(
    ("message", "most"),
    [
        (
            "This model's maximum context length is 4096 tokens. However, you requested 9404 tokens"
            " (404 in the messages, 9000 in the completion).",
            3692,  # 4,096 - 404
        ),
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 9000. This model's maximum"
            " context length is 4096 tokens and your request has 404 input tokens"
            " (9000 > 4096 - 404).",
            3692,
        ),
        (
            "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 404 `inputs` tokens and"
            " 9000 `max_new_tokens`",
            3692,
        ),
        (
            "input length and `max_tokens` exceed context limit: 404 + 9000 > 4096, decrease input"
            " length or `max_tokens` and try again",
            3692,
        ),
        (
            "Requested token count exceeds the model's maximum context length of 4096 tokens. You"
            " requested a total of 9404 tokens: 404 tokens from the input messages and 9000 tokens"
            " for the completion.",
            3692,
        ),
        (
            "You passed 894 input characters and requested 9000 output tokens. However, the model's"
            " context length is only 4096 tokens.",
            # "You judge." and "Is it so?" have 19 characters: 7 tokens at most
            4089,
        ),
    ],
)
def test_a_small_context_leaves_less_for_the_reply(message: str, most: int) -> None:
    rule = Rule(lambda body: body["max_tokens"] > most, error(message))
    with RefusingServer(REPLY, rule) as server:
        model = ask(server, settings=ModelSettings(max_tokens=9000))
    assert [body["max_tokens"] for body in server.bodies] == [9000, most]
    assert model.known.context == 4096


@pytest.mark.parametrize(
    "message",
    [
        "prompt is too long: 3333404 tokens > 200000 maximum",
        "This endpoint's maximum context length is 200000 tokens. However, you requested about"
        " 2500021 tokens (2500021 of text input).",
        "Input Tokens Exceeded: Number of input tokens exceeds maximum length.",
        "Please reduce the length of the messages or completion. Current length is 9000 while limit"
        " is 8192",
    ],
)
def test_a_prompt_that_is_too_long_is_asked_once(message: str) -> None:
    always = Rule(lambda body: True, error(message))
    with RefusingServer(REPLY, always) as server, pytest.raises(CallError) as caught:
        ask(server)
    assert (caught.value.kind, len(server.bodies)) == ("too_long", 1)


@pytest.mark.parametrize(
    ("field", "refused"),
    [
        (
            "max_tokens",
            error(
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use"
                " 'max_completion_tokens' instead."
            ),
        ),
        (
            "temperature",
            error(
                "Unsupported value: 'temperature' does not support 0 with this model. Only the"
                " default (1) value is supported."
            ),
        ),
        ("temperature", {"code": 400, "message": "Validation: Temperature must be above 0"}),
        (
            "seed",
            [
                {
                    "error": {
                        "code": 400,
                        "message": 'Invalid JSON payload received. Unknown name "seed": Cannot find'
                        " field.",
                    }
                }
            ],
        ),
        (
            "max_tokens",
            {
                "detail": [
                    {
                        "type": "extra_forbidden",
                        "loc": ["body", "max_tokens"],
                        "msg": "Extra inputs",
                    }
                ]
            },
        ),
    ],
)
def test_a_field_that_is_refused_is_left_out(field: str, refused: object) -> None:
    with RefusingServer(REPLY, Rule(lambda body: field in body, refused)) as server:
        ask(server, calls=2)
    assert [field in body for body in server.bodies] == [True, False, False]


def test_an_effort_is_left_out_where_one_was_sent_and_only_there() -> None:
    message = "reasoning_effort is not supported by this model"
    rule = Rule(lambda body: "reasoning_effort" in body, error(message))
    with RefusingServer(REPLY, rule) as server:
        ask(server, settings=ModelSettings(reasoning_effort="low"))
    assert len(server.bodies) == 2
    refused = Refusal(CALL, Capabilities(), 1000, ("schema", "text"), 400, message)
    assert without_refused(refused) is None


@pytest.mark.parametrize(
    ("is_refused", "left"),
    [
        (lambda body: "response_format" in body, "text"),
        (lambda body: "seed" in body, "text"),
        (lambda body: any(m["role"] == "system" for m in body["messages"]), "text"),
    ],
)
@pytest.mark.parametrize("message", ["Invalid request", "", "Unzulässige Anfrage"])
def test_a_server_that_does_not_say_what_it_refuses_is_asked_for_less(
    is_refused: Callable[[Any], bool], left: str, message: str
) -> None:
    with RefusingServer(REPLY, Rule(is_refused, error(message))) as server:
        model = ask(server, calls=2)
    assert form(server.bodies[-1]) == left
    assert not is_refused(server.bodies[-1])
    assert len(server.bodies) <= 5
    assert server.bodies[-1] == server.bodies[-2]  # it is learnt
    assert model.dropped()


@pytest.mark.parametrize("message", ["Invalid request", "Down for maintenance, try again later"])
def test_a_server_that_refuses_everything_is_soon_believed(message: str) -> None:
    with (
        RefusingServer(REPLY, Rule(lambda body: True, error(message))) as server,
        pytest.raises(CallError, match=message),
    ):
        ask(server)
    assert len(server.bodies) == (4 if message == "Invalid request" else 1)


@pytest.mark.parametrize(
    ("uri", "is_refused", "message", "reply"),
    [
        pytest.param(
            "anthropic:a",
            lambda body: "output_config" in body,
            "Schema is too complex for compilation. Try simplifying tool schemas.",
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "input": {"rating": 2, "kind": "a"}}],
                "stop_reason": "tool_use",
                "usage": {"input_tokens": 1, "output_tokens": 1},
            },
            id="anthropic",
        ),
        pytest.param(
            "bedrock:b",
            lambda body: "outputConfig" in body,
            "Malformed input request: #: extraneous key [outputConfig] is not permitted",
            {
                "output": {
                    "message": {"content": [{"toolUse": {"input": {"rating": 2, "kind": "a"}}}]}
                },
                "stopReason": "tool_use",
                "usage": {"inputTokens": 1, "outputTokens": 1},
            },
            id="bedrock",
        ),
    ],
)
def test_native_dialects_fall_back_to_a_tool_call(
    uri: str, is_refused: Any, message: str, reply: object
) -> None:
    with RefusingServer(reply, Rule(is_refused, {"message": message})) as server:
        ask(server, uri)
    assert len(server.bodies) == 2
    assert "toolConfig" in server.bodies[1] or "tools" in server.bodies[1]


@pytest.mark.parametrize(
    "hostile",
    [
        "max_" * 16_000,
        "context length " + "0," * 30_000,
        "9" * 65_000,
        "system prompt " * 4_500,
        "stream " * 9_000,
        "set " * 16_000,
        "model " * 10_000,
        "must be " * 8_000 + "<=",
        "9 + " * 16_000,
    ],
)
def test_a_hostile_error_is_read_in_time_that_grows_with_it(hostile: str) -> None:
    started = time.process_time()
    without_refused(Refusal(CALL, Capabilities(), 1000, ("schema", "text"), 400, hostile))
    # About 5 ms a rule; a pattern that backtracks takes minutes.
    assert time.process_time() - started < 2.0


def test_a_body_with_a_mark_of_its_encoding_and_a_created_status_is_a_reply() -> None:
    from aiohttp import web

    body = b"\xef\xbb\xbf" + orjson.dumps(REPLY)
    reply = web.Response(body=body, status=201, content_type="application/json")
    with RefusingServer(reply) as server:
        ask(server)
    assert len(server.bodies) == 1
