"""An evaluation by a language model behind a server: its price, its verdicts, its failures."""

from ragassay.testing import LLMServer
from support.shell import Shell

ROWS = """\
{"id": "founded", "question": "When was the library founded?", \
"contexts": ["The city library was founded in 1911.", "Parking is free on Sundays."], \
"response": "The city library was founded in 1911."}
{"id": "books", "question": "How long may a book be kept?", \
"contexts": ["Books may be kept for four weeks."], \
"response": "You can keep a book for six weeks."}
{"id": "card", "question": "What does a lost card cost?", \
"contexts": ["The cafe opens at nine and closes at five."], \
"response": "A lost card costs five euros."}
"""


def test_a_scripted_judge_is_forecast_asked_once_and_never_again(shell: Shell) -> None:
    shell.write("rows.jsonl", ROWS)
    with LLMServer() as server:
        evaluate = (
            "ragassay evaluate rows.jsonl --metrics groundedness,answer_relevance"
            f" --judge openai:mock --base-url {server.url} --price 1,2"
        )
        forecast = shell(evaluate + " --forecast")
        assert forecast.lines[0] == "3 rows, 6 judgments to make, 0 of them known already"
        assert forecast.lines[1].startswith("≈ 6 calls, ")
        assert forecast.lines[-1].endswith("Nothing was sent.")
        assert server.stats()["calls"] == 0

        first = shell(evaluate)
        assert first.lines[0] == "1 of 3 rows pass, 2 fail, 0 undecided"
        assert first.block("  metric") == [
            "  metric            mean [95 %]           pass rate [95 %]",
            "  groundedness      0.333 [0.061, 0.792]  33 % [6, 79] of 3 rows",
            "  answer_relevance  0.667 [0.000, 1.000]  67 % [21, 94] of 3 rows",
        ]
        assert first.block("What broke")[:2] == [
            "What broke, in the 2 failing rows",
            "  2 rows: The response claims what the chunks do not support",
        ]
        assert first.block("Worst rows") == [
            "Worst rows",
            "  ✗ fail  books  The response claims what the chunks do not support",
            "      “You can keep a book for six weeks.”",
            "      29% of the words are there.",
            "  ✗ fail  card  The response claims what the chunks do not support",
            "      “A lost card costs five euros.”",
            "      20% of the words are there.",
        ]
        assert first.block("Judge")[0].startswith("Judge: openai:mock at SERVER: 6 calls, ")
        assert server.stats()["calls"] == 6

        again = shell(evaluate)
        assert again.lines[0] == first.lines[0]
        assert again.block("Worst rows") == first.block("Worst rows")
        judge = " ".join(again.block("Judge"))
        assert judge.startswith("Judge: openai:mock at SERVER: 0 calls, 6 judgments reused")
        assert server.stats()["calls"] == 6


def test_a_reply_that_cannot_be_read_is_no_score_and_is_asked_again_on_demand(
    shell: Shell,
) -> None:
    shell.write("rows.jsonl", ROWS)
    with LLMServer(
        fault_for=lambda body: "refusal" if "lost card" in str(body) else None
    ) as server:
        done = shell(
            "ragassay evaluate rows.jsonl --metrics groundedness"
            f" --judge openai:mock --base-url {server.url}"
        )
        assert done.lines[0] == "1 of 3 rows pass, 1 fail, 1 undecided"
        assert done.block("  metric")[1].endswith("50 % [9, 91] of 2 rows, 1 undecided, 2/3 judged")
        server.fault_for = None
        later = shell("ragassay resume --retry-failed")
        assert later.lines[0] == "1 of 3 rows pass, 2 fail, 0 undecided"
        assert later.block("  metric")[1].endswith("33 % [6, 79] of 3 rows")
