"""How much room a model gets to think: what its name, its replies and its cuts say."""

from __future__ import annotations

import pytest

from ragassay.models.answer import CUT, Answer, Usage
from ragassay.models.thinking import room_after, thinks, tokens_thought, was_cut_thinking


@pytest.mark.parametrize(
    "name",
    [
        "o1-mini",
        "o3",
        "o4-mini-2025-04-16",
        "gpt-5",
        "gpt-5.2-mini",
        "openai/gpt-oss-120b",
        "deepseek-reasoner",
        "deepseek-ai/DeepSeek-R1",
        "deepseek-v4-pro",
        "Qwen/Qwen3-32B",
        "qwen3:4b",
        "qwq-32b",
        "grok-4",
        "grok-3-mini",
        "gemini-2.5-flash",
        "gemini-3-pro",
        "magistral-small-latest",
        "claude-sonnet-4-5-thinking",
        "glm-4.5",
        "sonar-reasoning-pro",
        "kimi-k2-thinking",
    ],
)
def test_models_that_think_are_known_by_their_name(name: str) -> None:
    assert thinks(name)


@pytest.mark.parametrize(
    "name",
    [
        "gpt-4o",
        "gpt-4.1-mini",
        "claude-haiku-4-5",
        "llama-3.3-70b",
        "mistral-large",
        "foo1",
        "phi-4",
    ],
)
def test_other_models_are_not(name: str) -> None:
    assert not thinks(name)


BEGINNINGS = (
    "<thought>",
    "<reasoning>",
    "<seed:think>",
    "<|begin_of_thought|>",
    "<|START_THINKING|>",
    "[THINK]",
    "◁think▷",
    "<|channel|>analysis<|message|>",
    "<|start|>assistant<|channel|>analysis<|message|>",
)
PAIRS = (
    ("<thought>", "</thought>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("◁think▷", "◁/think▷"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
)


@pytest.mark.parametrize(
    ("answer", "was"),
    [
        (Answer(text="", thinking="Hm", finish=CUT), True),
        (Answer(text="<think>\nHm", finish=CUT), True),
        (Answer(text="<think>Hm</think>{", finish=CUT), False),
        (Answer(text='{"verdicts": [', finish=CUT), False),
        (Answer(text="", tool='{"a"', finish=CUT), False),
        (Answer(text="<think>Hm", finish="stop"), False),
        *((Answer(text=f"{mark}\nHm", finish=CUT), True) for mark in BEGINNINGS),
        *((Answer(text=f"{begin}Hm{end}{{", finish=CUT), False) for begin, end in PAIRS),
    ],
)
def test_a_reply_that_was_cut_in_its_thoughts_is_told_apart(answer: Answer, was: bool) -> None:
    assert was_cut_thinking(answer) == was


def test_what_was_thought_is_as_the_server_says_else_as_long_as_the_thoughts_are() -> None:
    assert tokens_thought(Answer(thinking="x" * 900, usage=Usage(1, 500, thinking=400))) == 400
    assert tokens_thought(Answer(thinking="x" * 900)) == 300  # 3 characters a token
    assert tokens_thought(Answer(text="<think>" + "x" * 293 + "</think>Yes.")) == 100
    assert tokens_thought(Answer(text="Yes.")) == 0


@pytest.mark.parametrize(
    ("answer", "room", "then"),
    [
        # Cut before the answer began: the next larger room, up to the largest.
        (Answer(thinking="Hm", finish=CUT), 0, 8_192),
        (Answer(thinking="Hm", finish=CUT), 8_192, 32_768),
        (Answer(thinking="Hm", finish=CUT), 65_536, 65_536),
        # Twice what was thought, in steps of 1,024: 2 x 1,500 = 3,000 -> 3,072
        (Answer(text="Yes.", usage=Usage(1, 1600, thinking=1500)), 0, 3_072),
        (Answer(text="Yes.", usage=Usage(1, 1600, thinking=1500)), 8_192, 8_192),
        (Answer(text="Yes.", usage=Usage(1, 10**6, thinking=10**6)), 0, 65_536),
        (Answer(text="Yes.", usage=Usage(1, 16)), 0, 0),
        # An answer that was cut has had room enough to think.
        (Answer(text='{"verdicts": [', finish=CUT), 0, 0),
    ],
)
def test_room_grows_with_what_was_thought(answer: Answer, room: int, then: int) -> None:
    assert room_after(answer, room) == then
