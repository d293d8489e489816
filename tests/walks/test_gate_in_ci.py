"""A gate in CI: met, missed, or not decided for want of coverage."""

import xml.etree.ElementTree as ET

from ragassay.testing import LLMServer
from support.shell import Shell

ROWS = """\
{"id": "founded", "question": "When was the library founded?", \
"contexts": ["The city library was founded in 1911."], \
"response": "The city library was founded in 1911."}
{"id": "books", "question": "How long may a book be kept?", \
"contexts": ["Books may be kept for four weeks."], \
"response": "You can keep a book for six weeks."}
"""


def test_a_gate_that_is_met_leaves_with_0_and_one_that_is_missed_with_1(shell: Shell) -> None:
    shell.write("rows.jsonl", ROWS)
    met = shell(
        "ragassay evaluate rows.jsonl --metrics groundedness --gate 'groundedness>=0.5'"
        " --min-coverage 1 --junit junit.xml"
    )
    assert met.block("Gates") == [
        "Gates",
        "  ✓ pass  groundedness>=0.5: met, it is 0.500 over 2 of 2 rows",
        "  All conditions are met.",
    ]
    assert met.messages[-1] == "wrote junit.xml"
    suites = ET.fromstring(shell.read("junit.xml"))
    counts = ("tests", "failures", "errors", "skipped")
    assert [suites.get(count) for count in counts] == ["2", "1", "0", "0"]
    founded, books = suites.iter("testcase")
    assert (founded.get("classname"), founded.get("name")) == ("groundedness", "founded")
    assert len(founded) == 0
    failure = books.find("failure")
    assert failure is not None
    assert failure.get("message") == (
        "groundedness is 0.000, passes at ≥ 90 % of claims;"
        " The response claims what the chunks do not support"
    )
    assert "“You can keep a book for six weeks.”" in str(failure.text)

    missed = shell(
        "ragassay evaluate rows.jsonl --metrics groundedness --gate 'groundedness>=0.9'", code=1
    )
    assert missed.block("Gates") == [
        "Gates",
        "  ✗ fail  groundedness>=0.9: not met, it is 0.500 over 2 of 2 rows",
    ]
    assert missed.messages[2:] == [
        "error[E0602]: A gate's threshold was not met.",
        "  where: run RUN",
        "  why: groundedness>=0.9: not met, it is 0.500 over 2 of 2 rows",
        "  fix: see the worst rows: ragassay show RUN",
        "  more: ragassay explain E0602",
    ]


def test_a_gate_is_not_met_by_the_rows_that_a_failing_server_left(shell: Shell) -> None:
    shell.write("rows.jsonl", ROWS)
    with LLMServer(
        fault_for=lambda body: "refusal" if "six weeks" in str(body) else None
    ) as server:
        done = shell(
            "ragassay evaluate rows.jsonl --metrics groundedness --gate 'groundedness>=0.9'"
            f" --min-coverage 0.95 --judge openai:mock --base-url {server.url} --junit junit.xml",
            code=3,
        )
    assert done.lines[0] == "1 of 2 rows pass, 0 fail, 1 undecided"
    suites = ET.fromstring(shell.read("junit.xml"))
    assert (suites.get("failures"), suites.get("errors")) == ("0", "1")
