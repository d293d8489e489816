"""What is read in a reply of each server's form: the answer, the thoughts, the end."""

from __future__ import annotations

from typing import Any

import pytest

from ragassay.models.answer import Answer, Usage
from ragassay.models.dialects.base import simplified
from ragassay.models.dialects.read import read_answer


def read(reply: dict[str, Any]) -> Answer:
    answer = read_answer(reply)
    assert answer is not None
    return answer


def chat(finish: str | None = "stop", **message: object) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def responses(*output: dict[str, Any], **fields: object) -> dict[str, Any]:
    return {"status": "completed", "output": list(output), **fields}


TEXT = {"type": "message", "content": [{"type": "output_text", "text": "Yes."}]}


@pytest.mark.parametrize(
    "reply",
    [
        chat(content="Yes."),
        chat(None, content="Yes."),
        chat("", content="Yes."),
        chat("eos", content="Yes."),
        chat(content=[{"type": "text", "text": "Yes."}]),
        chat(
            content=[
                {"type": "thinking", "thinking": [{"text": "Hm."}]},
                {"type": "text"} | {"text": "Yes."},
            ]
        ),
        {"choices": [{"text": "Yes.", "finish_reason": "stop"}]},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "Yes."}],
            "stop_reason": "end_turn",
        },
        {"candidates": [{"content": {"parts": [{"text": "Yes."}]}, "finishReason": "STOP"}]},
        {"candidates": [{"content": {"parts": [{"text": "Yes."}]}, "finishReason": 1}]},
        {"output": {"message": {"content": [{"text": "Yes."}]}}, "stopReason": "end_turn"},
        {
            "output": {
                "message": {"content": [{"citationsContent": {"content": [{"text": "Yes."}]}}]}
            },
            "stopReason": "end_turn",
        },
        {"message": {"content": "Yes."}, "done": True, "done_reason": "stop"},
        {"message": {"content": [{"type": "text", "text": "Yes."}]}, "finish_reason": "COMPLETE"},
        responses(TEXT),
        responses({"type": "reasoning", "summary": []}, TEXT),
        {"text": "Yes.", "finish_reason": "COMPLETE"},  # the first version of Cohere
        {"generation": "Yes.", "stop_reason": "stop"},  # Bedrock: Llama
        {"outputs": [{"text": "Yes.", "stop_reason": "stop"}]},  # Bedrock: Mistral
        {"results": [{"outputText": "Yes.", "completionReason": "FINISH"}]},  # Bedrock: Titan
        {"completion": "Yes.", "stop_reason": "stop_sequence"},  # Bedrock: Claude 2
    ],
)
def test_an_answer_is_found_in_every_form(reply: dict[str, Any]) -> None:
    answer = read(reply)
    assert answer.text == "Yes."
    assert (answer.finish, answer.tool) == ("stop", "")


@pytest.mark.parametrize(
    "reply",
    [
        chat(content="", reasoning_content="Hm."),
        chat(content=None, reasoning="Hm."),
        chat(content=None, reasoning_details=[{"type": "reasoning.text", "text": "Hm."}]),
        chat(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]),
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm."}]},
        {"candidates": [{"content": {"parts": [{"text": "Hm.", "thought": True}]}}]},
        {
            "output": {
                "message": {"content": [{"reasoningContent": {"reasoningText": {"text": "Hm."}}}]}
            }
        },
        {"message": {"content": "", "thinking": "Hm."}, "done": True},
        {"message": {"content": [{"type": "thinking", "thinking": "Hm."}]}},
        responses({"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]}),
    ],
)
def test_thoughts_are_kept_apart_from_the_answer(reply: dict[str, Any]) -> None:
    answer = read(reply)
    assert (answer.text, answer.thinking) == ("", "Hm.")


@pytest.mark.parametrize(
    "reply",
    [
        chat("tool_calls", tool_calls=[{"function": {"arguments": '{"a":1}'}}, {"function": {}}]),
        chat("tool_calls", tool_calls=[{"function": {"arguments": {"a": 1}}}]),
        chat("tool_calls", tool_calls=[{"type": "custom", "custom": {"input": '{"a":1}'}}]),
        # Snowflake sends every kind of call, the empty ones as well.
        chat(
            "",
            content="",
            function_call={"arguments": "", "name": ""},
            tool_calls=[{"custom": {"input": ""}, "function": {"arguments": '{"a":1}'}}],
        ),
        chat("function_call", content=None, function_call={"arguments": '{"a":1}'}),
        {"role": "assistant", "content": [{"type": "tool_use", "input": {"a": 1}}]},
        {"candidates": [{"content": {"parts": [{"functionCall": {"args": {"a": 1}}}]}}]},
        {"output": {"message": {"content": [{"toolUse": {"input": {"a": 1}}}]}}},
        {"message": {"tool_calls": [{"function": {"arguments": {"a": 1}}}]}, "done": True},
        {"message": {"tool_calls": [{"function": {"arguments": '{"a":1}'}}]}},
        responses({"type": "function_call", "arguments": '{"a":1}'}),
        responses({"type": "custom_tool_call", "input": '{"a":1}'}),
        {"text": "", "tool_calls": [{"name": "t", "parameters": {"a": 1}}]},
    ],
)
def test_the_arguments_of_a_tool_call_are_found_in_every_form(reply: dict[str, Any]) -> None:
    assert read(reply).tool == '{"a":1}'


@pytest.mark.parametrize(
    ("word", "finish"),
    [
        ("length", "length"),
        ("model_length", "length"),
        ("MAX_TOKENS", "length"),
        ("model_context_window_exceeded", "length"),
        ("pause_turn", "length"),
        ("content_filter", "content_filter"),
        ("sensitive", "content_filter"),
        ("SAFETY", "content_filter"),
        ("MODEL_ARMOR", "content_filter"),
        ("guardrail_intervened", "content_filter"),
        ("refusal", "refusal"),
        ("error", "error"),
        ("network_error", "error"),
        ("insufficient_system_resource", "error"),
        ("abort", "error"),
        ("tool_use", "tool_calls"),
        ("eos", "stop"),
        ("something new", "something new"),
    ],
)
def test_the_end_of_a_reply_has_one_name_for_all_servers(word: str, finish: str) -> None:
    assert read(chat(word, content="x")).finish == finish


@pytest.mark.parametrize("status", ["queued", "in_progress", "failed", "cancelled"])
def test_a_response_that_is_not_there_yet_is_no_answer(status: str) -> None:
    assert read({"status": status, "output": []}).finish == "error"


def test_a_response_that_is_incomplete_says_why() -> None:
    reply = responses(TEXT, incomplete_details={"reason": "max_output_tokens"})
    assert read(reply).finish == "length"
    reply = responses(TEXT, incomplete_details={"reason": "content_filter"})
    assert read(reply).finish == "content_filter"


@pytest.mark.parametrize(
    "reply",
    [
        chat(content=None, refusal="I cannot."),
        chat(content=[{"type": "refusal", "refusal": "I cannot."}]),
        {"content": [{"type": "text", "text": "I cannot."}], "stop_reason": "refusal"},
        responses({"type": "message", "content": [{"type": "refusal", "refusal": "I cannot."}]}),
    ],
)
def test_a_refusal_is_told_apart(reply: dict[str, Any]) -> None:
    assert read(reply).refusal == "I cannot."


def test_a_prompt_that_gemini_blocks_has_no_candidate_and_is_filtered() -> None:
    reply = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 9}}
    answer = read(reply)
    assert (answer.finish, answer.usage) == ("content_filter", Usage(9, 0))


def test_a_filter_of_azure_that_takes_the_message_away_is_a_filter() -> None:
    choice = {
        "finish_reason": "stop",
        "message": None,
        "text": "",
        "content_filter_results": {"error": {"code": "content_filter_error"}},
    }
    assert read({"choices": [choice]}).finish == "content_filter"


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"choices": []},
        {"error": {"message": "x"}},
        {"id": "batch_1", "object": "batch", "status": "completed"},
        {"object": "list", "data": [{"id": "model"}]},
        {"results": [{"index": 2, "relevance_score": 0.8}]},  # a reranker's
        {"embedding": [0.1, 0.2]},
    ],
)
def test_what_is_no_reply_to_a_chat_is_none(reply: dict[str, Any]) -> None:
    assert read_answer(reply) is None


def test_a_simplified_schema_keeps_its_fields_and_loses_what_servers_choke_on() -> None:
    schema = {
        "type": "object",
        "properties": {
            "rating": {"type": "integer", "enum": [0, 1]},
            "ids": {"type": "array", "minItems": 2, "items": {"type": "string", "enum": ["a"]}},
            # A field may have the name of a keyword.
            "format": {"type": "string", "pattern": "^a"},
        },
        "required": ["rating"],
        "additionalProperties": False,
    }
    assert simplified(schema) == {
        "type": "object",
        "properties": {
            "rating": {"type": "integer"},
            "ids": {"type": "array", "items": {"type": "string", "enum": ["a"]}},
            "format": {"type": "string"},
        },
        "required": ["rating"],
    }
