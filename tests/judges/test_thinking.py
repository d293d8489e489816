"""The answer behind thoughts: no draft counts, and a mark inside a string is text."""

from __future__ import annotations

import json

import pytest

from ragassay.judges import RubricRegistry
from ragassay.judges.llm.reply import parse
from ragassay.judges.llm.thinking import answer_of, has_answer

ANSWER = RubricRegistry.default().get("answer_relevance")
A, B = "9c1e07ab", "11aa22bb"


def reply(rating: int, reasoning: str = "It says so.", name: str = A) -> str:
    return json.dumps({"verdicts": [{"id": name, "reasoning": reasoning, "rating": rating}]})


def ratings(text: str, *, cut: bool = False) -> dict[str, object]:
    verdicts = parse(text, ANSWER, [A, B], cut=cut)
    return {name: verdict.rating for name, verdict in verdicts.items()}


GOOD, DRAFT = reply(2), reply(0)
BEHIND_THOUGHTS = {
    "think": f"<think>Perhaps {DRAFT}, or not.</think>\n\n{GOOD}",
    "thinking": f"<thinking>{DRAFT}</thinking>{GOOD}",
    "reasoning": f"<reasoning>\n{DRAFT}\n</reasoning>\n{GOOD}",
    "thought": f"<thought>{DRAFT}</thought>{GOOD}",
    "in capitals": f"<THINK>{DRAFT}</THINK>{GOOD}",
    "none": f"<think>\n\n</think>\n\n{GOOD}",
    "without an opening": f"Perhaps {DRAFT}, or not.\n</think>\n{GOOD}",
    "a draft alone without an opening": f"{DRAFT}</think>{GOOD}",
    "twice": f"<think>{DRAFT}</think>Wait.<think>{reply(1)}</think>{GOOD}",
    "one in the other": f"<think>{DRAFT}<think>{reply(1)}</think>{reply(3)}</think>{GOOD}",
    "after the answer": f"{GOOD}<think>Was it {DRAFT}?</think>",
    "after the answer, without an end": f"{GOOD}<think>Was it {DRAFT}?",
    "brackets": f"[THINK]{DRAFT}[/THINK]{GOOD}",
    "brackets without an opening": f"{DRAFT}[/THINK]```json\n{GOOD}\n```",
    "Kimi": f"◁think▷{DRAFT}◁/think▷{GOOD}",
    "Seed": f"<seed:think>{DRAFT}</seed:think>{GOOD}",
    "begin and end": f"<|begin_of_thought|>{DRAFT}<|end_of_thought|>{GOOD}",
    "start and end": f"<|START_THINKING|>{DRAFT}<|END_THINKING|>{GOOD}",
    "channels": (
        f"<|start|>assistant<|channel|>analysis<|message|>{DRAFT}<|end|><|start|>assistant"
        f"<|channel|>final<|message|>{GOOD}<|return|>"
    ),
    "a final channel with a form": (
        f"<|channel|>analysis<|message|>{DRAFT}<|end|>"
        f"<|channel|>final <|constrain|>json<|message|>{GOOD}"
    ),
    "a call of a tool in a channel": (
        f"<|channel|>analysis<|message|>{DRAFT}<|end|><|start|>assistant"
        f"<|channel|>commentary to=functions.verdict <|constrain|>json<|message|>{GOOD}<|call|>"
    ),
    "channels without tokens": f"analysisPerhaps {DRAFT}.assistantfinal{GOOD}",
    "a broken draft": f'<think>{{"verdicts": [ {{"id": "{A}", "rating": 0 so</think>{GOOD}',
    "an open string in the thoughts": f'<think>He says "yes.</think>{GOOD}',
    "a mark quoted in the thoughts": f'<think>"</think>" is in it: {DRAFT}.</think>{GOOD}',
    "a mark quoted in a draft": f"<think>{reply(0, 'a </think> b')}, no.</think>{GOOD}",
    "a draft in Python": f"<think>{json.loads(DRAFT)}</think>{GOOD}",
    "an answer in Python": f"<think>{DRAFT}</think>{json.loads(GOOD)}",
}


@pytest.mark.parametrize("text", BEHIND_THOUGHTS.values(), ids=BEHIND_THOUGHTS)
def test_the_answer_counts_and_no_draft(text: str) -> None:
    assert ratings(text) == {A: 2}


NOTHING_BUT_THOUGHTS = {
    "without an end": f"<think>{DRAFT}",
    "another end": f"<think>{DRAFT}</reasoning>{GOOD}",
    "an end and no more": f"<think>{DRAFT}</think>",
    "an end and no more, without an opening": f"{DRAFT}</think>\n",
    "a channel": f"<|channel|>analysis<|message|>{DRAFT}<|end|>",
    "brackets": f"[THINK]{DRAFT}",
    "a mark quoted in a draft": f"<think>{reply(0, 'a </think> b')}, no.",
}


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("text", NOTHING_BUT_THOUGHTS.values(), ids=NOTHING_BUT_THOUGHTS)
def test_thoughts_alone_hold_no_verdict(text: str, cut: bool) -> None:
    assert ratings(text, cut=cut) == {}


MARKS = (
    "</think>",
    "<think>",
    "<think></think>",
    "</thinking> <reasoning>",
    "[THINK]",
    "[/THINK]",
    "<|channel|>final<|message|>",
    "<|channel|>analysis<|message|>",
    f"</think>{reply(3, name='00000000')}",
    '</think>[{"rating": 3}]',
)


@pytest.mark.parametrize("mark", MARKS)
def test_a_mark_that_a_judge_quotes_from_the_data_is_text(mark: str) -> None:
    said = f"The passage says {mark} and no more."
    quoting = reply(2, said)
    forms = [
        quoting,
        f"Here it is:\n```json\n{quoting}\n```",
        f"<think>{reply(0, said)}, no.</think>{quoting}",
        str(json.loads(quoting)),
        quoting.replace("]}", ",]}"),
        json.dumps(json.loads(quoting)["verdicts"]),
        json.dumps({"name": "verdict", "arguments": quoting}),
    ]
    for text in forms:
        assert ratings(text) == {A: 2}


@pytest.mark.parametrize("mark", ["<think>", "</think>", "[THINK]", "[/THINK]", "</reasoning>"])
def test_a_mark_that_a_sentence_speaks_of_is_text(mark: str) -> None:
    for text in (
        f"{GOOD}\nThe passage contains {mark}, an odd tag.",
        f"{GOOD}\nIt ends with `{mark}`.",
        f"I was told not to use {mark} tags.\n{GOOD}",
        f"<think>{DRAFT}</think>{GOOD}\nThe passage contains {mark}, an odd tag.",
    ):
        assert ratings(text) == {A: 2}


def test_a_mark_at_the_end_of_a_sentence_ends_its_thoughts() -> None:
    for draft in (f"So {DRAFT}. That is it.</think>", f"So {DRAFT}, I think </think>\n"):
        assert ratings(f"{draft}I cannot say.") == {}
        assert ratings(f"{draft}{GOOD}") == {A: 2}


@pytest.mark.parametrize("mark", ["<think>", "[THINK]", "<|channel|>analysis<|message|>"])
def test_a_mark_in_the_string_of_a_reply_that_was_cut_off_is_text(mark: str) -> None:
    first = json.dumps({"id": A, "reasoning": f"It says {mark}.", "rating": 2})
    text = f'```json\n{{"verdicts": [{first}, {{"id": "{B}", "reasoning": "It says {mark} so'
    assert ratings(text, cut=True) == {A: 2}
    assert ratings(f"<think>{DRAFT}</think>{text}", cut=True) == {A: 2}


def test_an_answer_that_was_cut_off_behind_thoughts_keeps_what_was_said() -> None:
    entry = json.dumps({"id": A, "reasoning": "So.", "rating": 2})
    for form in (
        f'{{"verdicts": [{entry}, {{"id"',
        f"[{entry}, {{",
        f"{{'verdicts': [{entry}, {{'",
    ):
        assert ratings(f"<think>{DRAFT}</think>{form}", cut=True) == {A: 2}
        assert ratings(f"<think>{DRAFT}</think>{form}") == {}


def test_an_answer_has_begun_where_anything_stands_behind_the_thoughts() -> None:
    channel = f"<|start|>assistant<|channel|>analysis<|message|>{DRAFT}"
    for text in ("", "  ", "<think>So", f"<think>{DRAFT}", f"{DRAFT}</think>\n", channel):
        assert not has_answer(text)
    for text in ("Let me see.", '{"verdicts": [', f"<think>{DRAFT}</think>[{{", f"{GOOD}<think>"):
        assert has_answer(text)


def test_a_text_without_marks_is_the_answer() -> None:
    for text in ("", "So.", GOOD, "if a < b and b > c:", "<b>bold</b> [1]", "analysis of it"):
        assert answer_of(text) == text
