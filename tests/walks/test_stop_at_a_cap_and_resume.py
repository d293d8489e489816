"""A run that stops at its cap on calls, and goes on later without buying anything twice."""

from ragassay.testing import LLMServer
from support.shell import Shell

ROWS = """\
{"id": "founded", "question": "When was the library founded?", \
"contexts": ["The city library was founded in 1911."], \
"response": "The city library was founded in 1911."}
{"id": "books", "question": "How long may a book be kept?", \
"contexts": ["Books may be kept for four weeks."], \
"response": "You can keep a book for six weeks."}
{"id": "card", "question": "What does a lost card cost?", \
"contexts": ["The cafe opens at nine and closes at five."], \
"response": "A lost card costs five euros."}
"""


def test_a_run_stopped_by_a_cap_says_so_and_the_printed_command_finishes_it(shell: Shell) -> None:
    shell.write("rows.jsonl", ROWS)
    with LLMServer() as server:
        stopped = shell(
            "ragassay evaluate rows.jsonl --metrics groundedness,answer_relevance"
            f" --judge openai:mock --base-url {server.url} --concurrency 1 --max-calls 3",
            code=4,
        )
        assert server.stats()["calls"] == 3
        assert stopped.lines[1] == (
            "The run is not complete: stopped by a cap (the cap of 3 calls was reached)"
        )
        assert "not evaluated yet" in stopped.lines[0]
        assert stopped.command("ragassay resume").startswith("ragassay resume 2")
        assert stopped.messages[3].startswith("about 6 calls and ")
        assert stopped.messages[4:] == [
            "error[E0604]: A cap was reached before all rows were judged.",
            "  where: run RUN",
            "  why: the cap of 3 calls was reached",
            "  fix: the 2 rows left need about 7 calls more, by those that are done"
            " (a cap counts the whole run): ragassay resume RUN --max-calls 10",
            "  more: ragassay explain E0604",
        ]

        # The cap counts the whole run: without a higher one nothing is sent.
        shell(stopped.command("ragassay resume"), code=4)
        assert server.stats()["calls"] == 3

        finished = shell(stopped.command("ragassay resume") + " --max-calls 10")
        assert finished.lines[0] == "1 of 3 rows pass, 2 fail, 0 undecided"
        assert finished.block("Judge")[0].startswith("Judge: openai:mock at SERVER: 6 calls, ")
        books = server.stats()
        assert books["calls"] == books["answers"] == 6
        assert books["answered_twice"] == 0

        # A finished run has nothing left to do.
        shell("ragassay resume")
        assert server.stats()["calls"] == 6
