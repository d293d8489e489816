"""A change of the application, measured: the same rows before and after, compared row by row."""

from ragassay.testing import LLMServer
from support.shell import Shell

BEFORE = """\
{"id": "founded", "question": "When was the library founded?", \
"contexts": ["The city library was founded in 1911."], \
"response": "The city library was founded in 1911."}
{"id": "books", "question": "How long may a book be kept?", \
"contexts": ["Books may be kept for four weeks."], \
"response": "The desk is closed on Mondays."}
{"id": "room", "question": "Who designed the reading room?", \
"contexts": ["The reading room was designed by Anna Weiss."], \
"response": "The reading room was designed by Anna Weiss."}
"""
AFTER = BEFORE.replace("The desk is closed on Mondays.", "Books may be kept for four weeks.")


def test_a_comparison_names_the_rows_fixed_and_claims_no_more_than_three_rows_show(
    shell: Shell,
) -> None:
    shell.write("before.jsonl", BEFORE)
    shell.write("after.jsonl", AFTER)
    with LLMServer() as server:
        judge = f"--metrics groundedness --judge openai:mock --base-url {server.url}"
        shell(f"ragassay evaluate before.jsonl --name before {judge}")
        shell(f"ragassay evaluate after.jsonl --name after {judge}")
        calls = server.stats()["calls"]
        done = shell("ragassay compare before after")
        assert server.stats()["calls"] == calls == 4
    assert done.lines[:2] == [
        "No difference beyond chance; 1 row fixed, 0 broken of 3 compared (p = 0.500)",
        "A = RUN before, B = RUN after",
    ]
    assert done.lines[2].startswith("warning: the runs read different data")
    differences = done.block("Differences, B - A, over 3 rows that both runs scored")
    assert differences[2].split()[:4] == ["groundedness", "0.667", "1.000", "+0.333"]
    pairs = shell("ragassay compare before after -v").block("Differences")
    assert pairs[2].endswith("1/2/0")
    assert pairs[3].split("  ")[1] == "3 paired, 0 dropped"
    assert done.block("Rows that changed most")[2].split() == [
        *["books", "groundedness", "0.000", "→", "1.000", "better", "fail", "→", "pass"]
    ]

    # A run does not differ from itself.
    same = shell("ragassay compare before before")
    assert "0 rows fixed, 0 broken of 3 compared" in same.lines[0]
    assert same.block("Differences")[2].split()[3] == "+0.000"


def test_two_judges_of_the_same_answers_are_compared_as_judges(shell: Shell) -> None:
    shell.write("before.jsonl", BEFORE)
    with LLMServer() as server:
        evaluate = "ragassay evaluate before.jsonl --metrics groundedness --judge openai:"
        shell(f"{evaluate}first --base-url {server.url} --name first")
        shell(f"{evaluate}second --base-url {server.url} --name second")
    done = shell("ragassay compare first second")
    assert done.lines[0].startswith(
        "Two judges of the same answers, openai:first and openai:second, show no difference beyond"
    )
    assert "0 of 3 rows change sides" in " ".join(done.lines[:2])
