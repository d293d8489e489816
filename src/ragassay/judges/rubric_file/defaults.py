"""What is filled in for a judge of the user's own, whose file may be a header and criteria.

A rubric file whose id is no built-in one is a custom judge. At the level "answer" it rates a row
once; with `guidelines` once for each guideline; at the level "retrieval" once for each context.
What of a rubric its file leaves out follows from the level and the inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragassay.judges.rubric import LISTS
from ragassay.judges.scale import Point, Scale

LEVELS = ("answer", "retrieval")
ROWS = ("any", "all")
INPUTS: tuple[str, ...] = (
    "question",
    "response",
    "contexts",
    "context",
    "reference",
    "expected_facts",
    "guidelines",
)
"""What a custom judge can read of a row; `context` at the level "retrieval" only."""

GUIDELINE = "guideline"
_BATCH = 20

YES_NO = Scale(
    (
        Point("no", 0.0, "The criteria are not met, or only in part."),
        Point("yes", 1.0, "The criteria are met."),
    ),
    "yes",
)
KEEPS_OR_BREAKS = Scale(
    (
        Point("no", 0.0, "The response breaks the guideline, if only in part."),
        Point(
            "yes", 1.0, "The response keeps the guideline, or it does not concern this response."
        ),
    ),
    "yes",
)

_TASKS: Mapping[str, str] = {
    "response": (
        "You judge an application that answers questions with the help of retrieved passages."
    ),
    "context": "You judge passages that a search has retrieved, each of them by itself.",
    GUIDELINE: "You check whether a response keeps guidelines, each of them by itself.",
}
_TITLES: Mapping[str, str] = {
    "question": "The question that was asked:",
    "response": "The response:",
    "contexts": "The passages that were retrieved, in their order:",
    "context": "The passages to judge, each by itself:",
    "reference": "The reference answer, which is right:",
    "expected_facts": "The facts that a right response states:",
    "guidelines": "The guidelines for this response:",
    GUIDELINE: "The guidelines to check, each by itself:",
}


def default_inputs(level: str) -> tuple[str, ...]:
    """The inputs that are read where a file names none."""
    return ("question", "context" if level == "retrieval" else "response")


def default_item(level: str, inputs: Sequence[str], guidelines: Sequence[str]) -> str:
    """The input that varies within a call; "" where the inputs hold no single text."""
    if guidelines:
        return GUIDELINE
    if level == "retrieval":
        return "context"
    if "response" in inputs:
        return "response"
    return next((name for name in inputs if name not in LISTS), "")


def default_batch(level: str, guidelines: Sequence[str]) -> int:
    """How many items a call may hold: one response, or 20 contexts or guidelines."""
    return _BATCH if guidelines or level == "retrieval" else 1


def system_text(purpose: str, item: str, *, criteria: bool, wordings: bool, examples: bool) -> str:
    """The section System of a file that has none.

    criteria, wordings, examples: whether there are some to show.
    """
    parts = [
        _TASKS.get(item, _TASKS["response"]),
        f"What is to be judged: {' '.join(purpose.split())}",
    ]
    if wordings:
        parts.append("{{wording}}")
    if criteria:
        parts.append("{{criteria}}")
    parts.append("The ratings are:\n{{scale}}")
    if examples:
        parts.append("{{examples}}")
    parts.append("{{reply}}")
    return "\n\n".join(parts)


def user_text(inputs: Sequence[str], item: str) -> str:
    """The section User of a file that has none: the inputs under their titles, what varies last."""
    order = [name for name in inputs if name != item]
    order.append(item)
    parts: list[str] = []
    for name in order:
        title = _TITLES.get(name, f"The {name}:")
        parts.append(f"{title}\n\n{{{{{name}}}}}")
    return "\n\n".join(parts)
