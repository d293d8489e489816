"""A look at a run that was made before: the list of runs, its summary, and its worst row."""

import re

from support.shell import Shell

ROWS = """\
{"id": "founded", "question": "When was the library founded?", \
"contexts": ["The city library was founded in 1911."], \
"response": "The city library was founded in 1911."}
{"id": "books", "question": "How long may a book be kept?", \
"contexts": ["Books may be kept for four weeks. Films may be kept for one week."], \
"response": "You can keep a book for six weeks."}
"""


def test_runs_are_listed_shown_again_and_explained_row_by_row(shell: Shell) -> None:
    shell.write("rows.jsonl", ROWS)
    evaluated = shell("ragassay evaluate rows.jsonl --metrics groundedness --name nightly")

    assert [line.split() for line in shell("ragassay runs").lines] == [
        ["run", "name", "or", "file", "rows", "judge"],
        ["RUN", "nightly", "2/2", "offline"],
    ]

    shown = shell("ragassay show last")
    assert shown.lines == evaluated.lines
    assert shell("ragassay show nightly").lines == evaluated.lines

    # The worst row is a printed command away.
    row = shell(shown.command("ragassay show"))
    assert row.lines[:3] == [
        "✗ fail  row books, line 2",
        "  cause: The response claims what the chunks do not support",
        "    “You can keep a book for six weeks.”",
    ]
    assert row.block("Question") == ["Question", "  How long may a book be kept?"]
    assert row.block("Response") == ["Response", "  You can keep a book for six weeks."]
    claims = row.block("Claims of the response")
    assert claims[1] == "  ✗ not supported  1. You can keep a book for six weeks."
    assert claims[-1] == "      nearest, context 1: “Books may be kept for four weeks.”"
    assert row.block("Contexts")[-1] == (
        "     Books may be kept for four weeks. Films may be kept for one week."
    )
    assert re.split(r"\s{2,}", row.block("Scores")[-1].strip()) == [
        "groundedness",
        "0.000",
        "fail (≥ 90 % of claims)",
        "1/1",
    ]

    # A run or a row that is not there is an error with a way out.
    run = shell("ragassay show weekly", code=2)
    assert run.messages[0] == "error[E0103]: No run of the name or id 'weekly' is in the store."
    typo = shell("ragassay show last --row bokks", code=2)
    assert typo.messages[0] == "error[E0108]: The row is not in the run. Did you mean 'books'?"
