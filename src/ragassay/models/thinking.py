"""Room to think: how many tokens a model gets beside those of its answer.

A model that thinks first spends tokens that no answer holds. How many is not known before it was
asked, so that the room is learnt: from what it is told to have used, and from replies that were cut
off before the answer began.
"""

from __future__ import annotations

import re

from ragassay.models.answer import CUT, Answer

ROOMS = (8_192, 32_768, 65_536)
"""Tokens of room, each given after the one before was not enough."""

FIRST_ROOM = ROOMS[0]
"""For a model that thinks by its name."""

BUDGETS = {
    "none": 0,
    "minimal": 1_024,
    "low": 2_048,
    "medium": 8_192,
    "high": 24_576,
    "xhigh": 32_768,
    "max": 32_768,
}
"""Tokens of thinking that an effort stands for, where a provider wants a number."""

LEAST_BUDGET = 1_024
"""The smallest number of tokens that providers take."""

_THINKS = re.compile(
    r"(?:^|[/:._-])(?:o[1-9](?:$|[-:.])|gpt-5|gpt-oss|r1(?:$|[-:.])|qwq|qwen-?3|magistral|k2-think"
    r"|deepseek-(?:r|v[4-9])|grok-(?:3-mini|4)|gemini-(?:2\.5|[3-9])|glm-(?:4\.[5-9]|5)|sonar-re)"
    r"|reason|think",
    re.I,
)
# The marks that the reader of replies knows (`judges.llm.thinking`), as far as they begin and end.
_MARKED = re.compile(
    r"\s*(?:<(?:think|thought|reason|seed:think)|<\|(?:begin_of_thought|start_thinking)\|>|\[THINK\]"
    r"|◁think▷|(?:<\|start\|>assistant)?<\|channel\|>\s*analysis)",
    re.I,
)
_END = re.compile(
    r"</(?:think|thought|reason|seed:think)|<\|(?:end_of_thought|end_thinking)\|>|\[/THINK\]"
    r"|◁/think▷|<\|channel\|>\s*final",
    re.I,
)
_STEP = 1_024
_CHARS_A_TOKEN = 3.0  # rather too many tokens than too few


def thinks(model: str) -> bool:
    """Whether a model's name says that it thinks before it answers."""
    return _THINKS.search(model) is not None


def budget_of(effort: str, most: int | None = None) -> int:
    """Tokens of thinking that an effort stands for, at most so many; 0 where these are too few to
    think.
    """
    budget = BUDGETS.get(effort, BUDGETS["medium"])
    if most is not None:
        budget = min(budget, most)
    return budget if budget >= LEAST_BUDGET else 0


def was_cut_thinking(answer: Answer) -> bool:
    """Whether a reply was cut off before its answer began."""
    if answer.finish != CUT:
        return False
    if _MARKED.match(answer.text):
        return _END.search(answer.text) is None
    return not answer.text.strip() and not answer.tool


def tokens_thought(answer: Answer) -> int:
    """The tokens that a model thought, as the server says, else as its thoughts are long."""
    if answer.usage is not None and answer.usage.thinking:
        return answer.usage.thinking
    end = _END.search(answer.text)
    if not (answer.thinking or end is not None or _MARKED.match(answer.text)):
        return 0
    marked = end.start() if end is not None else 0
    return int(max(len(answer.thinking), marked) / _CHARS_A_TOKEN)


def room_after(answer: Answer, room: int, budget: int = 0) -> int:
    """The room for the next reply. budget: the tokens of thinking that were asked for, of which
    nothing is learnt: whoever is given more would think more.
    """
    if was_cut_thinking(answer):
        return next((larger for larger in ROOMS if larger > max(room, budget)), room)
    if budget:
        return room
    # Twice what was needed: the next row may need more, and room that is not used costs nothing.
    thought = tokens_thought(answer)
    if not thought:
        return room
    needed = -(-2 * thought // _STEP) * _STEP
    return min(max(room, needed), ROOMS[-1])
