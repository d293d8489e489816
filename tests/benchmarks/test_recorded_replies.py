"""What the benchmark of recorded replies takes a person to read, and where it puts a verdict."""

from __future__ import annotations

import json
from typing import Any

import pytest
from benchmarks.providers.envelopes import filled
from benchmarks.providers.oracle import COMPLETE, CUT, FILTERED, Tokens, read
from benchmarks.providers.recorded import Exchange
from benchmarks.providers.replay import replay
from benchmarks.providers.verdicts import read_all


def exchange(body: Any, kind: str = "ok", status: int = 200) -> Exchange:
    return Exchange("x", "local", "openai-chat", kind, status, body)


def chat(finish: str = "stop", **message: object) -> dict[str, Any]:
    return {
        "choices": [{"message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 20},
    }


STREAM = (
    'data: {"choices": [{"delta": {"content": "Hel"}}]}\n\n'
    'data: {"choices": [{"delta": {"content": "lo"}, "finish_reason": "stop"}]}\n\n'
    "data: [DONE]\n\n"
)


def test_a_person_reads_the_answer_its_end_and_what_is_billed() -> None:
    reading = read(exchange(chat(content="Hello")))
    assert (reading.texts, reading.end) == (["Hello"], COMPLETE)
    # 20 - 10 - 4 = 6 tokens of thought that stand in the total alone
    assert reading.tokens == Tokens(10, 10)
    assert read(exchange(STREAM, "stream")).texts == ["Hello"]
    assert read(exchange(chat("length", content="Hel"), "truncated")).end == CUT


def test_a_person_reads_the_class_of_an_error_and_the_wait() -> None:
    body = {"error": {"message": "Rate limit reached. Please try again in 1m2.5s."}}
    reading = read(exchange(body, "error:rate_limit", status=429))
    assert (reading.failure, reading.wait) == ("rate_limit", 62.5)
    body = {"error": {"code": "content_filter", "message": "filtered"}}
    assert read(exchange(body, "error:content_filter", status=400)).end == FILTERED


@pytest.mark.parametrize(
    ("recorded", "where"),
    [
        (chat(content="Hello"), "VERDICT"),
        (chat(content="<think>Hm</think>Hello"), "<think>Hm</think>\nVERDICT"),
        (chat(content="Here:\n```json\n{}\n```"), "```json\nVERDICT\n```"),
        (chat(content=[{"type": "text", "text": "Hello"}]), [{"type": "text", "text": "VERDICT"}]),
    ],
)
def test_a_verdict_takes_the_place_and_the_form_of_what_was_said(
    recorded: dict[str, Any], where: object
) -> None:
    body = filled(exchange(recorded), "VERDICT")
    assert body is not None
    assert json.loads(body)["choices"][0]["message"]["content"] == where


def test_a_verdict_is_shared_out_over_the_pieces_of_a_stream() -> None:
    body = filled(exchange(STREAM, "stream"), "VERDICT")
    assert body is not None
    assert body.decode() == STREAM.replace('"Hel"', '"VERD"').replace('"lo"', '"ICT"')


def test_where_nothing_was_said_there_is_no_place_for_a_verdict() -> None:
    assert filled(exchange(chat(content=None)), "VERDICT") is None


def test_an_exchange_is_replayed_over_http_and_its_verdicts_are_counted() -> None:
    whole, cut = (
        exchange(chat(content="Hello")),
        exchange(chat("length", content="Hel"), "truncated"),
    )
    assert [outcome.misses for outcome in replay([whole, cut])] == [[], []]
    found, none = read_all([whole, cut])
    assert (found.there, found.read, found.right) == (True, 4, 4)
    assert (none.there, none.read) == (False, 0)


def test_a_miss_of_the_client_is_seen() -> None:
    # Said to be an error, and yet an answer.
    (outcome,) = replay([exchange(chat(content="Hello"), "error:auth")])
    assert [miss[0] for miss in outcome.misses] == ["class"]
