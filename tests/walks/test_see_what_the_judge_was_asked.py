"""A verdict that looks wrong: what the judge was sent, word by word, and what it replied."""

import json

from ragassay.testing import LLMServer
from support.shell import Shell

CONTEXT = "The city library was founded in 1911 by the guild of printers, and burned down in 1944."
ROWS = json.dumps(
    {
        "id": "founded",
        "question": "When was the library founded?",
        "contexts": [CONTEXT, "Parking is free on Sundays."],
        "response": "The city library was founded in 1911.",
    }
)
ALL_LINES = 400


def evaluate(server: LLMServer, more: str = "") -> str:
    return (
        "ragassay evaluate rows.jsonl --metrics groundedness,answer_relevance"
        f" --judge openai:mock --base-url {server.url} {more}"
    )


def asked_of(shell: Shell, run: str = "last") -> dict:
    return json.loads(shell(f"ragassay show {run} --row founded -v --json", at_most=ALL_LINES).out)[
        "asked"
    ]


def test_the_messages_and_the_raw_reply_of_a_row_are_shown_on_demand(shell: Shell) -> None:
    shell.write("rows.jsonl", ROWS)
    with LLMServer() as server:
        shell(evaluate(server, "--name first"))
        sent = [body["messages"] for body in server.bodies]
        plain = shell("ragassay show last --row founded")
        assert "Call 1" not in plain.out

        shown = shell("ragassay show last --row founded -v", at_most=ALL_LINES)
        assert shown.block("Call 1 of 2")[0] == "Call 1 of 2 to the judge: groundedness"
        assert any(line.startswith("    ") and CONTEXT[:60] in line for line in shown.lines)

        # To the letter what the server got, in the order in which it was asked.
        exchanges = asked_of(shell)["exchanges"]
        messages = [
            [{"role": role, "content": text} for role, text in each["messages"]]
            for each in exchanges
        ]
        assert sorted(messages, key=str) == sorted(sent, key=str)
        grounded = next(each for each in exchanges if each["rubric"] == "groundedness")
        assert "words are there" in grounded["reply"]
        assert grounded["missing"] == ""

        # A run that asked nothing itself shows the calls of the run that did.
        shell(evaluate(server, "--name second"))
        again = asked_of(shell, "second")["exchanges"]
        assert [each["messages"] for each in again] == [each["messages"] for each in exchanges]
        assert all(each["run_id"] for each in again)
