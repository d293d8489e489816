"""Replies and errors with anything in any place: they are read, or refused, and nothing else."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ragassay.core import CallError, ChatCall, ChatReply, Message, Spend
from ragassay.models.capabilities import FORMATS, Capabilities
from ragassay.models.chat_model import ChatModel
from ragassay.models.failures import error_text, failure, is_filtered
from ragassay.models.refusals import Refusal, without_refused
from support.examples import examples

SHAPES: list[list[dict[str, Any]]] = [
    [
        {
            "model": "m",
            "choices": [
                {
                    "message": {
                        "content": [{"type": "text", "text": "Yes."}],
                        "reasoning_details": [{"type": "reasoning.text", "text": "Hm."}],
                        "tool_calls": [{"function": {"arguments": "{}"}, "custom": {"input": ""}}],
                    },
                    "finish_reason": "stop",
                    "content_filter_results": {"error": {}},
                }
            ],
            "usage": {
                "prompt_tokens": 1,
                "completion_tokens": 1,
                "total_tokens": 3,
                "prompt_tokens_details": {"cached_tokens": 1},
                "cost": {"total_cost": 1},
                "cost_details": {"upstream_inference_cost": 1},
            },
        }
    ],
    [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "input": {}}, {"type": "text", "text": "Yes."}],
            "stop_reason": "end_turn",
            "usage": {
                "input_tokens": 1,
                "output_tokens": 1,
                "iterations": [{"input_tokens": 1, "output_tokens": 1}],
            },
        }
    ],
    [
        {
            "candidates": [
                {
                    "content": {"parts": [{"text": "Yes."}, {"functionCall": {"args": {}}}]},
                    "finishReason": "STOP",
                }
            ],
            "promptFeedback": {"blockReason": "SAFETY"},
            "usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 2},
        }
    ],
    [
        {
            "output": {
                "message": {
                    "content": [
                        {"reasoningContent": {"reasoningText": {"text": "Hm."}}},
                        {"citationsContent": {"content": [{"text": "Yes."}]}},
                        {"toolUse": {"input": {}}},
                    ]
                }
            },
            "stopReason": "end_turn",
            "usage": {"inputTokens": 1, "outputTokens": 1},
        }
    ],
    [
        {
            "status": "completed",
            "incomplete_details": {"reason": "x"},
            "output": [
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
                {"type": "message", "content": [{"type": "output_text", "text": "Yes."}]},
                {"type": "function_call", "arguments": "{}"},
            ],
        }
    ],
    [{"message": {"content": "Yes.", "tool_calls": [{"function": {"arguments": {}}}]}, "done": 1}],
    [{"outputs": [{"text": "Yes.", "stop_reason": "stop"}], "meta": {"billed_units": {}}}],
    [{"error": {"message": "x", "code": 400, "metadata": {"raw": "{}"}, "details": [{}]}}],
    [{"errors": [{"msg": "x", "loc": ["a"]}], "detail": [{"msg": "x"}], "base_resp": {}}],
    [
        {
            "choices": [
                {
                    "delta": {"content": "Y", "tool_calls": [{"index": 0, "function": {}}]},
                    "finish_reason": None,
                }
            ],
            "x_groq": {"usage": {}},
        },
        {"choices": [{"delta": {"content": "es."}, "finish_reason": "stop"}]},
    ],
    [
        {"type": "message_start", "message": {"usage": {"input_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}},
        {"type": "content_block_delta", "index": 0, "delta": {"text": "Yes."}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}},
    ],
    [
        {"type": "response.output_text.delta", "delta": "Yes.", "item_id": "a"},
        {"type": "response.completed", "response": {"output": []}},
    ],
    [
        {"type": "content-delta", "delta": {"message": {"content": {"text": "Yes."}}}},
        {"type": "tool-call-delta", "index": 0, "delta": {"message": {"tool_calls": {}}}},
        {"type": "message-end", "delta": {"usage": {}}},
    ],
    [{"event_type": "text-generation", "text": "Yes."}, {"event_type": "stream-end"}],
]
CALL = ChatCall(
    (Message("system", "You judge."), Message("user", "Is it so?")),
    schema={"type": "object", "required": ["rating"]},
    seed=7,
)
VALUES: list[Any] = [None, True, -1, 0, 2**70, 1.5, 1e308, "", "x", "{", '{"error": 1}']
VALUES += [[], [None], [[]], {}, {"type": []}, {"text": {}}, {"a": None}, ["text"]]
ANYTHING = st.sampled_from(VALUES)


def paths(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places within a JSON value."""
    found = [path] if path else []
    items: Any = []
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for name, inner in items:
        found += paths(inner, (*path, name))
    return found


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """A reply, an error or a stream in which up to three places hold something else."""
    shape = copy.deepcopy(draw(st.sampled_from(SHAPES)))
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from(paths(shape)))
        holder: Any = shape
        for name in place[:-1]:
            holder = holder[name]
        holder[place[-1]] = copy.deepcopy(draw(ANYTHING))
    form = draw(st.sampled_from(["object", "array", "events", "lines"]))
    if form == "array":
        return json.dumps(shape).encode()
    if form == "events":
        return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in shape).encode()
    if form == "lines":
        return "\n".join(map(json.dumps, shape)).encode()
    return json.dumps(shape[0]).encode()


@given(bodies())
@settings(max_examples=examples(300), deadline=None)
def test_a_reply_with_anything_in_any_place_is_a_reply_or_a_failed_call(body: bytes) -> None:
    model = ChatModel("m", base_url="http://127.0.0.1:9/v1")
    try:
        reply = model._reply(body, {}, Spend(calls=1), CALL.schema)
    except CallError:
        return
    assert isinstance(reply, ChatReply)
    assert reply.spend.input_tokens >= reply.spend.cached_tokens >= 0
    assert reply.spend.output_tokens >= 0


@given(bodies(), st.sampled_from([400, 401, 402, 403, 404, 422, 429, 500, 503]), st.booleans())
@settings(max_examples=examples(200), deadline=None)
def test_an_error_with_anything_in_any_place_has_a_class(
    body: bytes, status: int, has_answered: bool
) -> None:
    text = error_text(body)
    assert failure(status, {}, text, text, has_answered=has_answered).kind
    assert is_filtered(status, text) in (True, False)
    known = Capabilities()
    changed = without_refused(Refusal(CALL, known, 1000, tuple(FORMATS), status, text))
    assert changed is None or changed != known
