"""Replies that come as a stream, of every server's kind, whole and broken off."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ragassay.models.answer import Answer, Usage
from ragassay.models.dialects.read import read_answer
from ragassay.models.streams import BROKEN_OFF, from_stream

ANSWER = '{"rating": 2}'


def events(*chunks: object, done: bool = True) -> bytes:
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return "".join([*lines, *(["data: [DONE]\n\n"] if done else [])]).encode()


def typed(*chunks: dict[str, Any]) -> bytes:
    """Events with their name, as of Anthropic, Cohere and the Responses API."""
    return "".join(
        f"event: {chunk['type']}\ndata: {json.dumps(chunk)}\n\n" for chunk in chunks
    ).encode()


def read(body: bytes) -> Answer:
    reply = from_stream(body)
    assert reply is not None
    answer = read_answer(reply)
    assert answer is not None, reply
    return answer


def delta(finish: str | None = None, **fields: object) -> dict[str, Any]:
    return {"model": "m", "choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


CHAT = [delta(role="assistant"), delta(content='{"rating"'), delta(content=": 2}")]
COUNTED: dict[str, Any] = {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4}}
ARGUMENTS = [
    delta(tool_calls=[{"index": 0, "function": {"name": "verdict", "arguments": ""}}]),
    delta(tool_calls=[{"index": 0, "function": {"arguments": '{"rating"'}}]),
    delta(tool_calls=[{"index": 1, "function": {"name": "other", "arguments": '{"x": 1}'}}]),
    delta(tool_calls=[{"index": 0, "function": {"arguments": ": 2}"}}]),
]
MESSAGE: list[dict[str, Any]] = [
    {
        "type": "message_start",
        "message": {"model": "m", "usage": {"input_tokens": 9, "output_tokens": 1}},
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "ping"},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ANSWER}},
]
MESSAGE_END: list[dict[str, Any]] = [
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn"},
        "usage": {"output_tokens": 4},
    },
    {"type": "message_stop"},
]
GEMINI: list[dict[str, Any]] = [
    {"candidates": [{"content": {"parts": [{"text": "Hm.", "thought": True}]}}]},
    {"candidates": [{"content": {"parts": [{"text": '{"rating"'}]}}]},
    {
        "candidates": [{"content": {"parts": [{"text": ": 2}"}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 4},
    },
]
RESPONSE: dict[str, Any] = {
    "status": "completed",
    "output": [{"type": "message", "content": [{"type": "output_text", "text": ANSWER}]}],
    "usage": {"input_tokens": 9, "output_tokens": 4},
}
RESPONSES: list[dict[str, Any]] = [
    {"type": "response.created", "response": {"status": "in_progress", "error": None}},
    {"type": "response.output_text.delta", "delta": ANSWER},
    {"type": "response.completed", "response": RESPONSE},
]
COHERE: list[dict[str, Any]] = [
    {"type": "message-start", "delta": {"message": {"role": "assistant"}}},
    {"type": "content-delta", "delta": {"message": {"content": {"text": ANSWER}}}},
]
COHERE_END: dict[str, Any] = {
    "type": "message-end",
    "delta": {
        "finish_reason": "COMPLETE",
        "usage": {"billed_units": {"input_tokens": 9, "output_tokens": 4}},
    },
}
OLLAMA: list[dict[str, Any]] = [
    {"message": {"role": "assistant", "content": '{"rating"'}, "done": False},
    {"message": {"role": "assistant", "content": ": 2}"}, "done": False},
]
OLLAMA_END: dict[str, Any] = {
    "message": {"content": ""},
    "done": True,
    "done_reason": "stop",
    "prompt_eval_count": 9,
    "eval_count": 4,
}
COHERE_ONE: list[dict[str, Any]] = [
    {"event_type": "stream-start"},
    {"event_type": "text-generation", "text": ANSWER},
    {
        "event_type": "stream-end",
        "finish_reason": "COMPLETE",
        "response": {"meta": {"billed_units": {"input_tokens": 9, "output_tokens": 4}}},
    },
]


def lines(*chunks: object) -> bytes:
    return "\n".join(map(json.dumps, chunks)).encode()


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(events(*CHAT, delta("stop"), COUNTED), id="chat"),
        pytest.param(b": waiting\n\n" + events(*CHAT, delta("stop"), COUNTED), id="comments"),
        pytest.param(b"\xef\xbb\xbf" + events(*CHAT, delta("stop"), COUNTED), id="bom"),
        pytest.param(
            events(*CHAT, delta("stop"), COUNTED).replace(b"\n", b"\r\n"), id="carriage returns"
        ),
        pytest.param(events(*CHAT, COUNTED), id="done without a reason"),
        pytest.param(events(*CHAT, delta("stop"), COUNTED, done=False), id="reason without done"),
        pytest.param(
            events(*CHAT, delta("stop") | {"x_groq": {"usage": COUNTED["usage"]}}), id="groq"
        ),
        pytest.param(
            events(delta(content=[{"type": "text", "text": ANSWER}]), delta("stop"), COUNTED),
            id="parts",
        ),
        pytest.param(typed(*MESSAGE, *MESSAGE_END), id="anthropic"),
        pytest.param(events(*GEMINI, done=False), id="gemini"),
        pytest.param(json.dumps(GEMINI).encode(), id="gemini, as an array"),
        pytest.param(typed(*RESPONSES), id="responses"),
        pytest.param(typed(*COHERE, COHERE_END), id="cohere"),
        pytest.param(lines(*COHERE_ONE), id="the first version of cohere"),
        pytest.param(lines(*OLLAMA, OLLAMA_END), id="ollama"),
    ],
)
def test_a_stream_says_what_it_would_have_said_at_once(body: bytes) -> None:
    answer = read(body)
    assert (answer.text, answer.finish) == (ANSWER, "stop")
    assert answer.usage is not None
    assert (answer.usage.input, answer.usage.output) == (9, 4)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(events(*ARGUMENTS, delta("tool_calls")), id="chat"),
        pytest.param(
            typed(
                MESSAGE[0],
                {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use"}},
                {"type": "content_block_delta", "index": 0, "delta": {"partial_json": '{"rating"'}},
                {"type": "content_block_delta", "index": 0, "delta": {"partial_json": ": 2}"}},
                *MESSAGE_END,
            ),
            id="anthropic",
        ),
        pytest.param(
            typed(
                COHERE[0],
                {
                    "type": "tool-call-start",
                    "index": 0,
                    "delta": {"message": {"tool_calls": {"function": {"arguments": ""}}}},
                },
                {
                    "type": "tool-call-delta",
                    "index": 0,
                    "delta": {"message": {"tool_calls": {"function": {"arguments": ANSWER}}}},
                },
                COHERE_END,
            ),
            id="cohere",
        ),
        pytest.param(
            lines(
                {"message": {"tool_calls": [{"function": {"arguments": {"rating": 2}}}]}},
                OLLAMA_END,
            ).replace(b'"message"', b'"done": false, "message"', 1),
            id="ollama",
        ),
        pytest.param(
            typed(
                {
                    "type": "response.function_call_arguments.delta",
                    "item_id": "a",
                    "delta": '{"rating": ',
                },
                {"type": "response.function_call_arguments.delta", "item_id": "a", "delta": "2}"},
            )
            + b"data: [DONE]\n\n",
            id="responses, without the whole reply at the end",
        ),
    ],
)
def test_the_arguments_of_the_first_tool_call_are_put_together(body: bytes) -> None:
    assert json.loads(read(body).tool) == {"rating": 2}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(events(*CHAT, done=False), id="chat"),
        pytest.param(events(*CHAT, done=False)[:-30], id="chat, within a line"),
        pytest.param(typed(*MESSAGE), id="anthropic"),
        pytest.param(events(*GEMINI[:2], done=False), id="gemini"),
        pytest.param(typed(*RESPONSES[:2]), id="responses"),
        pytest.param(typed(*COHERE), id="cohere"),
        pytest.param(lines(*COHERE_ONE[:2]), id="the first version of cohere"),
        pytest.param(lines(*OLLAMA), id="ollama"),
    ],
)
def test_a_stream_that_broke_off_is_a_reply_that_was_cut(body: bytes) -> None:
    answer = read(body)
    assert answer.text.startswith('{"rating"')
    assert answer.finish == "length"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(events(CHAT[0], done=False), id="chat"),
        pytest.param(typed(*MESSAGE[:3]), id="anthropic"),
        pytest.param(typed(RESPONSES[0]), id="responses"),
        pytest.param(typed(COHERE[0]), id="cohere"),
        pytest.param(lines({"event_type": "stream-start"}), id="the first version of cohere"),
        pytest.param(lines({"message": {"content": ""}, "done": False}), id="ollama"),
    ],
)
def test_a_stream_that_broke_off_before_the_first_word_is_an_error(body: bytes) -> None:
    assert from_stream(body) == {"error": {"message": BROKEN_OFF}}


@pytest.mark.parametrize(
    "failed",
    [
        b'data: {"error": {"message": "overloaded"}}\n\n',
        b'error: {"error": {"message": "overloaded"}}\n\n',  # llama.cpp
        b'event: error\ndata: {"type": "error", "error": {"message": "overloaded"}}\n\n',
    ],
)
def test_an_error_within_a_stream_is_the_error(failed: bytes) -> None:
    reply = from_stream(events(*CHAT, done=False) + failed)
    assert reply is not None
    assert reply["error"] == {"message": "overloaded"}


def test_a_stream_of_thoughts_keeps_them_apart() -> None:
    thoughts = [delta(reasoning_content="First "), delta(reasoning="this.")]
    answer = read(events(*thoughts, *CHAT, delta("stop")))
    assert (answer.text, answer.thinking) == (ANSWER, "First ")
    answer = read(
        lines({"message": {"thinking": "Hm.", "content": ""}, "done": False}, *OLLAMA, OLLAMA_END)
    )
    assert (answer.text, answer.thinking) == (ANSWER, "Hm.")


def test_the_last_count_of_a_stream_is_the_whole() -> None:
    early = {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 1}}
    only_prompt = {"choices": [], "usage": {"prompt_tokens": 9}}
    answer = read(events(early, *CHAT, delta("stop"), COUNTED, only_prompt))
    assert answer.usage == Usage(9, 4)


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"[1, 2]", b'"text"', b"data: soon\n\n"])
def test_what_is_no_stream_is_none(body: bytes) -> None:
    assert from_stream(body) is None
