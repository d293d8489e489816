"""What the errors of real servers mean: their own words in every envelope, and their class."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from ragassay.core import CallError
from ragassay.models.failures import (
    error_inside,
    error_text,
    failure,
    is_filtered,
    status_inside,
    text_of,
)


def text(body: object) -> str:
    return error_text(json.dumps(body).encode())


def classed(status: int, body: object, *, has_answered: bool = False) -> CallError:
    words = text(body) if not isinstance(body, str) else body
    return failure(status, {}, words, words, has_answered=has_answered)


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "It broke.", "type": "t", "code": None}},
        {"message": "It broke.", "type": "t"},  # Cerebras, Mistral, old vLLM
        {"detail": "It broke."},  # FastAPI
        {"detail": [{"loc": ["body", "x"], "msg": "It broke."}]},
        {"code": "invalid-argument", "error": "It broke."},  # xAI
        {"error": "It broke."},  # LM Studio, Venice, Databricks
        [{"error": {"code": 400, "message": "It broke."}}],  # Gemini, compatible
        {"type": "error", "error": {"type": "t", "message": "It broke."}},  # Anthropic
        {"Message": "It broke."},  # AWS
        {"id": "0", "message": "It broke."},  # Cohere
        {"success": False, "errors": [{"code": 7003, "message": "It broke."}]},  # Cloudflare
        {"fault": {"faultstring": "It broke."}},  # Apigee
        {"base_resp": {"status_code": 1008, "status_msg": "It broke."}},  # MiniMax
        {"type": "about:blank", "title": "It broke.", "status": 500},  # RFC 9457
        {"error": {"message": '{"error": {"message": "It broke."}}'}},  # an error within its text
    ],
)
def test_the_servers_words_come_first_in_any_envelope(body: object) -> None:
    assert text(body).startswith("It broke.")


def test_what_the_provider_behind_a_gateway_said_is_not_lost() -> None:
    raw = json.dumps({"error": {"message": "the word 'json' is missing", "code": None}})
    body = {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw}}}
    assert text(body) == "Provider returned error (400, the word 'json' is missing)"
    told = {"error": "from serving", "external_model_message": {"message": "no input"}}
    assert text(told) == "from serving (no input)"


def test_an_error_that_is_no_json_is_its_text() -> None:
    assert error_text(b"  upstream connect error \n") == "upstream connect error"
    assert text_of(None) == text_of({}) == text_of({"error": {}}) == ""


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        # A key that is wrong is not always a 401.
        (400, {"code": "invalid-argument", "error": "Incorrect API key provided."}, "auth"),
        (400, {"error": {"message": "API key not valid. Please pass a valid API key."}}, "auth"),
        (401, {"detail": "Invalid API Key"}, "auth"),
        (403, {"message": "The security token included in the request is invalid."}, "auth"),
        (403, {"error": {"message": "Forbidden", "code": "forbidden"}}, "auth"),
        # Nor is an unknown model always a 404.
        (404, {"error": "model 'x' not found"}, "no_model"),
        (400, {"message": "Invalid model: x", "type": "invalid_model"}, "no_model"),
        (400, {"message": "The provided model identifier is invalid."}, "no_model"),
        (400, {"error": {"message": "x/y is not a valid model ID", "code": 400}}, "no_model"),
        (
            400,
            {"error": {"message": "The supported API model names are a or b, but you passed c."}},
            "no_model",
        ),
        (
            400,
            {"message": "Invocation of model ID x with on-demand throughput isn’t supported."},
            "no_model",
        ),
        (403, {"message": "You don't have access to the model with the specified ID."}, "no_model"),
        (
            403,
            {"error": {"message": "Project `p` does not have access to model `m`"}},
            "no_model",
        ),
        # No money
        (402, {"error": {"message": "Insufficient Balance"}}, "quota"),
        (429, {"error": {"message": "x", "code": "insufficient_quota"}}, "quota"),
        (400, {"error": {"message": "Your credit balance is too low"}}, "quota"),
        (403, {"error": "You have used all available credits"}, "quota"),
        (400, {"code": "Arrearage", "message": "Access denied"}, "quota"),
        (412, {"error": {"message": "Account suspended"}}, "quota"),
        # A rate passes with time, a request that alone exceeds it does not.
        (429, {"error": {"message": "Rate limit reached. Limit 30000, Used 28039"}}, "rate_limit"),
        (
            429,
            {
                "error": {
                    "message": "You exceeded your current quota, please check your plan and billing"
                    " details. limit: 100000. Please retry in 3.98s.",
                    "status": "RESOURCE_EXHAUSTED",
                }
            },
            "rate_limit",
        ),
        (
            429,
            {"error": {"message": "Request too large for m: Limit 30000, Requested 30601"}},
            "too_long",
        ),
        (413, {"error": {"message": "Request too large for m"}}, "too_long"),
        # Too long, in the words of many
        (400, {"error": {"message": "prompt is too long: 333 tokens > 200 maximum"}}, "too_long"),
        (400, {"error": {"message": "The total length of all messages is too long."}}, "too_long"),
        (400, {"message": "Input Tokens Exceeded: Number of input tokens exceeds"}, "too_long"),
        (400, {"error": {"message": "The input token count (9) exceeds the maximum"}}, "too_long"),
        (400, {"message": "too many tokens: size limit exceeded by 25 tokens"}, "too_long"),
        (400, {"error": {"type": "exceed_context_size_error", "message": "x"}}, "too_long"),
        (500, {"error": {"code": 500, "message": "Context size has been exceeded."}}, "too_long"),
        (400, {"code": "x", "message": "Range of input length should be [1, 30720]"}, "too_long"),
        (400, {"error": "This model's maximum prompt length is 131072"}, "too_long"),
        (400, {"error": {"message": "Your request exceeded model token limit: 8192"}}, "too_long"),
        # It passes.
        (529, {"type": "error", "error": {"type": "overloaded_error"}}, "server"),
        (500, {"type": "error", "error": {"type": "api_error", "message": "Overloaded"}}, "server"),
        (503, {"error": {"message": "The model is overloaded."}}, "server"),
        # And what nothing helps against
        (400, {"error": {"message": "anthropic-version: header is required"}}, "bad_request"),
        (422, "Failed to deserialize the JSON body: messages[1]: invalid type", "bad_request"),
    ],
)
def test_each_error_has_its_class_before_the_first_answer(
    status: int, body: object, kind: str
) -> None:
    error = classed(status, body)
    assert error.kind == kind
    assert error.fatal == (kind in ("auth", "no_model", "quota"))
    assert error.retryable == (kind in ("rate_limit", "server"))


@pytest.mark.parametrize(
    "echo",
    [
        "cannot serve: Incorrect API key provided",
        "cannot serve: the model x was not found",
        "cannot serve: insufficient_quota",
    ],
)
def test_once_a_model_has_answered_a_refused_row_that_is_echoed_stops_nothing(echo: str) -> None:
    assert classed(400, {"error": {"message": echo}}).fatal
    error = classed(400, {"error": {"message": echo}}, has_answered=True)
    assert (error.kind, error.fatal) == ("bad_request", False)


def test_a_404_among_answers_may_pass() -> None:
    page = "<html><title>404 Not Found</title></html>"
    first, later = classed(404, page), classed(404, page, has_answered=True)
    assert (first.kind, first.fatal) == ("no_address", True)
    assert (later.kind, later.fatal, later.retryable) == ("server", False, True)


def test_a_firewall_that_refuses_one_row_does_not_stop_a_run_that_has_answers() -> None:
    page = "<html><title>403 Forbidden</title>Your request was blocked by a rule.</html>"
    assert (classed(403, page).kind, classed(403, page).fatal) == ("refused", True)
    error = classed(403, page, has_answered=True)
    assert (error.kind, error.fatal) == ("bad_request", False)
    # What is about the key, or says nothing at all, stops it still.
    assert classed(403, {"message": "This API key was revoked"}, has_answered=True).fatal
    assert classed(403, "", has_answered=True).fatal


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, {"error": {"code": "content_filter", "message": "The response was filtered"}}),
        (400, {"error": {"innererror": {"code": "ResponsibleAIPolicyViolation"}}}),
        (
            400,
            {"type": "error", "error": {"message": "Output blocked by content filtering policy"}},
        ),
        (400, {"error": {"message": "Content Exists Risk"}}),  # DeepSeek
        (
            400,
            {"code": "DataInspectionFailed", "message": "Input may contain inappropriate content"},
        ),
        (403, {"error": "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE"}),
        (403, {"error": {"message": "input was flagged for violence", "code": 403}}),
    ],
)
def test_a_filter_takes_offence_at_one_row(status: int, body: object) -> None:
    assert is_filtered(status, text(body))


def test_a_filter_that_is_named_in_an_outage_is_an_outage() -> None:
    assert not is_filtered(503, "the content_filter service is down")
    assert not is_filtered(400, "max_tokens is too large")


@pytest.mark.parametrize(
    ("reply", "words", "status"),
    [
        ({"error": {"message": "too fast", "code": 429}}, "too fast (429)", 429),
        ({"error": {"message": "too fast", "code": "429"}}, "too fast (429)", 429),
        ({"choices": [{"error": {"message": "lost", "code": 502}}]}, "lost (502)", 502),
        (
            {"choices": None, "base_resp": {"status_code": 1008, "status_msg": "out of credits"}},
            "out of credits (1008)",
            402,
        ),
        ({"message": "invalid api key"}, "invalid api key", 401),
        ({"detail": "something else"}, "something else", None),
    ],
)
def test_an_error_inside_an_answer_has_the_status_it_would_have_had(
    reply: dict[str, Any], words: str, status: int | None
) -> None:
    error = error_inside(reply)
    assert text_of(error) == words
    assert status_inside(error, words, has_answered=False) == status


def test_an_answer_without_an_error_holds_none() -> None:
    assert error_inside({"choices": [], "id": "x", "object": "batch"}) is None


def test_hostile_errors_are_read_in_time_that_grows_with_them() -> None:
    nested = "{}"
    for _ in range(40):
        nested = json.dumps({"error": nested})[:60_000]
    hostile = ["model " * 10_000, "exceed the " * 6_000, nested, '{"errors":' * 9_000]
    started = time.process_time()
    for body in hostile:
        words = error_text(body.encode())
        failure(400, {}, words, "x", has_answered=False)
        is_filtered(400, words)
    # A few ms each; a pattern that backtracks takes minutes.
    assert time.process_time() - started < 2.0
