"""The first evaluation of a user's own file: no key, no network, their own column names."""

from support.shell import Shell

CSV = """\
nr,asked,passages,said,team
1,When was the library founded?,"[""The city library was founded in 1911.""]",\
The city library was founded in 1911.,history
2,How long may a book be kept?,"[""Books may be kept for four weeks.""]",\
You can keep a book for six weeks.,lending
3,Who designed the reading room?,"[""The reading room was designed by Anna Weiss.""]",\
The reading room was designed by Anna Weiss.,history
4,What does a lost card cost?,"[""The cafe opens at nine and closes at five.""]",\
A lost card costs five euros.,lending
"""

JSONL = """\
{"id": "founded", "question": "When was the library founded?", \
"contexts": ["The city library was founded in 1911."], \
"response": "The city library was founded in 1911."}
{"id": "books", "question": "How long may a book be kept?", \
"contexts": ["Books may be kept for four weeks."], \
"response": "You can keep a book for six weeks."}
"""


def test_a_csv_file_with_its_own_column_names_is_read_judged_and_explained(shell: Shell) -> None:
    shell.write("answers.csv", CSV)

    # Without the names nothing can be measured, and the command says which columns are not read.
    lost = shell("ragassay evaluate answers.csv", code=2)
    assert lost.out == ""
    assert lost.messages[0] == (
        "error[E0318]: No row has a question or a response, and asked, said are not read."
    )
    assert any(line.startswith("  fix: --map question=asked --map") for line in lost.messages)

    # With them it reads the same file, and says what it read as what.
    done = shell(
        "ragassay evaluate answers.csv --map id=nr --map question=asked --map contexts=passages"
        " --map response=said --slice team",
    )
    assert done.messages == [
        "read nr as id",
        "read asked as question",
        "read passages as contexts",
        "read said as response",
        "read team as the slice team",
    ]
    assert done.lines[0] == "2 of 4 rows pass, 2 fail, 0 undecided"
    broke = done.block("What broke, in the 2 failing rows")
    assert "  1 row: No retrieved chunk is relevant" in broke
    assert "  1 row: The response claims what the chunks do not support" in broke
    worst = done.block("Worst rows")
    assert worst[1] == "  ✗ fail  4  No retrieved chunk is relevant"
    assert worst[2] == "      “The cafe opens at nine and closes at five.”"
    assert "      “You can keep a book for six weeks.”" in worst
    assert done.block("Judge") == [
        "Judge: offline (nothing leaves this machine): 0 calls; SECONDS in all",
        "  Agreement with people here: not known (ragassay label next -m groundedness)",
    ]
    assert done.lines[-3:] == [
        "  ragassay show RUN --row 4",
        "  ragassay show RUN -v",
        "  ragassay export RUN --format html",
    ]

    # The rest is there for the asking: what each figure is over, what is known of the judge.
    slices = shell("ragassay show last -v", at_most=200).block("Slices")
    assert any(line.startswith("  team = lending") for line in slices)
    table = shell("ragassay show last --metrics-table", at_most=60).block("Metrics")
    assert "passes at ≥ 90 % of claims" in " ".join(table)
    trust = shell("ragassay show last --trust", at_most=60).block("Judge")
    assert "unmeasured on data like yours" in " ".join(trust)


def test_a_jsonl_file_with_known_names_needs_no_option(shell: Shell) -> None:
    shell.write("answers.jsonl", JSONL)
    done = shell("ragassay evaluate answers.jsonl --metrics groundedness")
    assert done.messages == [
        "looks like RagAssay rows",
        "read id, question, contexts, response by their own names",
    ]
    assert done.lines[0] == "1 of 2 rows pass, 1 fail, 0 undecided"
    groundedness = done.block("  metric")[1]
    assert groundedness.split()[0] == "groundedness"
    assert groundedness.endswith("50 % [9, 91] of 2 rows")
