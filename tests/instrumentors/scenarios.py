"""What the applications are asked in each scenario, what their model replies, and what they know.

No question, query, passage or answer stands in two turns: a row that mixes turns up is seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from support.scripted_model import Reply, ToolCall

REWRITE = "standalone question"
"""What a prompt says that has the model turn a follow-up into a query."""


@dataclass(frozen=True)
class Turn:
    """What a user says once. searches: the queries of the retrievals, in order, that the model
    writes: the tool's in an agent, the follow-up in other words in a conversation. fails: what
    raises.
    """

    question: str
    searches: tuple[str, ...]
    answer: str
    fails: Literal["", "model", "retriever"] = ""


SCENARIOS: dict[str, tuple[Turn, ...]] = {
    "plain": (
        Turn(
            "When did the lighthouse of Skarvik open?",
            ("Skarvik lighthouse opening year",),
            'It opened in 1868, as "Skarvik fyr".',
        ),
    ),
    "stream": (
        Turn(
            "How high is the water tower, in metres?",
            ("height of the water tower",),
            "The water tower is 41 metres high;\nits tank holds 900 m³.",
        ),
    ),
    "agent": (
        Turn(
            "What does the ferry cost, and where is the bakery?",
            ("price of a ticket for the ferry", "street of the bakery"),
            "A ticket is 12 €, and the bakery is in Mill Lane.",
        ),
    ),
    "turns": (
        Turn(
            "Who may borrow skis from the sports hall?",
            ("who borrows skis at the sports hall",),
            "Members of the ski club may borrow them.",
        ),
        Turn(
            "And when is the pool beside it cleaned?",
            ("cleaning days of the swimming pool",),
            "The pool is cleaned on Mondays.",
        ),
    ),
    "agent with memory": (
        Turn(
            "What is the museum of clocks famous for?",
            ("fame of the museum of clocks",),
            "For a clock of 1590 that still runs.",
        ),
        Turn(
            "And what does it cost children?",
            ("entry for children to the museum of clocks",),
            "Children enter free of charge.",
        ),
    ),
    "error": (
        Turn(
            "Which day is the market held on?",
            ("day of the weekly market",),
            "This answer is never given.",
            fails="model",
        ),
    ),
    "error in retrieval": (
        Turn(
            "How many seats has the old theatre?",
            ("seats of the old theatre",),
            "Nor is this one.",
            fails="retriever",
        ),
    ),
}

PASSAGES: tuple[str, ...] = (
    'The lighthouse of Skarvik was opened in 1868; sailors call it "Skarvik fyr".',
    "When the lighthouse keeper of Skarvik retired, the lamp became electric.",
    "The water tower is 41 metres high.\nIts tank holds 900 m³ of water.",
    "Guided tours up the water tower start at noon: how high one gets is up to the guide.",
    "A single ticket for the ferry costs 12 €, a return ticket 20 €.",
    "The ferry does not run on Sundays, whatever the price of oil.",
    "The bakery is in Mill Lane, a street beside the mill.",
    "The street of the old bakery was paved anew in {2019}.",
    "Members of the ski club may borrow skis from the sports hall.",
    "The sports hall lends skis until the last day of the month of March.",
    "Cleaning of the swimming pool is on Mondays, before eight.",
    "In the swimming pool there are lanes of 25 metres on all days of the year.",
    "The museum of clocks has its fame from a clock of 1590, which still runs.",
    "Fame came to the museum with its third director.",
    "Entry to all museums is free of charge for children, every day.",
    "For an entry in the guest book, children ask at the desk.",
    "The weekly market is held on Thursday, the day on which the square is closed.",
    "Fish is sold at the market from six in the morning.",
    "The old theatre has 312 seats, 40 of them in boxes.",
    "The theatre shows one old film a week.",
)

_TURNS = tuple(turn for turns in SCENARIOS.values() for turn in turns)
BROKEN = frozenset(
    text for turn in _TURNS if turn.fails == "retriever" for text in (turn.question, *turn.searches)
)
"""Texts that cannot be embedded, and so not searched for."""


def reply(body: dict[str, Any]) -> Reply:
    """What the model says to the last user message: a rewritten question, the next search of an
    agent, or the answer.
    """
    messages = body["messages"]
    last = max(place for place, each in enumerate(messages) if each["role"] == "user")
    turn = _turn_in(_text(messages[last]))
    if REWRITE in "\n".join(map(_text, messages)):
        return turn.searches[0]
    searched = sum(each["role"] == "tool" for each in messages[last:])
    if body.get("tools") and searched < len(turn.searches):
        return ToolCall("search", {"query": turn.searches[searched]})
    if turn.fails == "model":
        return 500
    return turn.answer


def _turn_in(text: str) -> Turn:
    """The turn whose question stands last in a prompt, behind what was said before."""
    return max(_TURNS, key=lambda turn: text.rfind(turn.question))


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(each["text"] for each in content)
