"""The first evaluation of a user's own file: no key, no network, their own column names."""

from support.shell import LONG_SUMMARY, Shell

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

    # Without the names nothing can be measured, and the command says which columns it left out.
    lost = shell("ragassay evaluate answers.csv", code=3)
    assert lost.lines[0].startswith("0 of 4 rows pass, 0 fail, 0 undecided, 4 without a verdict")
    assert "ignored nr, asked, said, team" in lost.messages
    assert "error[E0603]: Nothing could be measured." in lost.messages

    # With them it reads the same file, and says what it read as what.
    done = shell(
        "ragassay evaluate answers.csv --map id=nr --map question=asked --map contexts=passages"
        " --map response=said --slice team",
        at_most=LONG_SUMMARY,
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
    assert "  50 % [9, 91]  No retrieved chunk is relevant (1 row)" in broke
    assert "  50 % [9, 91]  The response claims what the chunks do not support (1 row)" in broke
    worst = done.block("Worst rows")
    assert worst[1] == "  ✗ fail  4  chunk_relevance 0.000  No retrieved chunk is relevant"
    assert worst[2] == "      “The cafe opens at nine and closes at five.”"
    assert "      “You can keep a book for six weeks.”" in worst
    assert any(line.startswith("  team = lending") for line in done.block("Slices"))
    assert done.block("Judge")[0] == "Judge: offline (nothing leaves this machine)"
    assert done.block("Run") == [
        "Run RUN: next",
        "  ragassay show RUN --row 4",
        "  ragassay export RUN --format html",
        "  ragassay compare RUN OTHER_RUN",
    ]


def test_a_jsonl_file_with_known_names_needs_no_option(shell: Shell) -> None:
    shell.write("answers.jsonl", JSONL)
    done = shell("ragassay evaluate answers.jsonl --metrics groundedness")
    assert done.messages == [
        "looks like RagAssay rows",
        "read id, question, contexts, response by their own names",
    ]
    assert done.lines[0] == "1 of 2 rows pass, 1 fail, 0 undecided"
    groundedness, judged = done.block("Metrics")[2:4]
    assert groundedness.split()[0] == "groundedness"
    assert groundedness.endswith("50 % [9, 91] of 2 rows")
    assert judged.strip().startswith("2/2 judged")
    assert judged.endswith("passes at ≥ 90 % of claims")
    assert done.block("Cost and time")[2] == "  judge: 0 calls; SECONDS in all"
