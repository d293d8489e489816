"""The judge is a model of today behind the team's own gateway, with the habits that these have."""

from ragassay.testing import LLMServer
from support.shell import Shell


def rows() -> str:
    """Six rows of an own file, two of them with an answer that the passages do not support."""
    lines = ["id,question,contexts,response"]
    for number in range(6):
        lines.append(
            f"row-{number},When was library {number} founded?,"
            f'"[""Library {number} was founded in 19{number}1. Parking is free on Sundays.""]",'
            + (
                f"Library {number} was founded in 19{number}1."
                if number < 4
                else "It belonged to a count from Hungary."
            )
        )
    return "\n".join(lines) + "\n"


def test_a_model_that_thinks_first_gets_the_room_and_judges_every_row(shell: Shell) -> None:
    shell.write("answers.csv", rows())
    with LLMServer(
        thinks=4000,
        thoughts="tags",
        rejects=["json_schema", "max_tokens", "temperature", "system"],
        most_tokens=16_384,
        models=["thinker-r1"],
        strict_models=True,
    ) as server:
        evaluate = (
            "ragassay evaluate answers.csv --metrics groundedness,answer_relevance"
            f" --judge openai:thinker-r1 --base-url {server.url} --price 1,2"
        )
        first = shell(evaluate)
        assert first.lines[0] == "4 of 6 rows pass, 2 fail, 0 undecided"
        assert first.block("  metric")[1].split()[:2] == ["groundedness", "0.667"]
        assert first.lines[0].endswith("0 undecided")
        assert server.preflights <= 6  # it is refused five times, and then judges
        assert server.stats()["answers"] == 12
        assert [m for m in first.messages if m.startswith("openai:thinker-r1")] == [
            "openai:thinker-r1: replies are asked for as any JSON object",
            "openai:thinker-r1: their length is limited by max_completion_tokens",
            "openai:thinker-r1: no temperature is sent",
            "openai:thinker-r1: the rules stand in the user's message, for it has no system role",
        ]

        calls = server.calls
        again = shell(evaluate + " --no-cache")
        assert again.lines[0] == first.lines[0]
        # What was learnt is in the store: nothing is refused a second time.
        assert server.calls - calls == 12
        assert server.statuses["400"] == 0


def test_a_wrong_key_costs_one_call_and_says_which_variable_holds_it(shell: Shell) -> None:
    shell.write("answers.csv", rows())
    with LLMServer(key="right") as server:
        done = shell(
            f"ragassay evaluate answers.csv --judge openai:mock --base-url {server.url}", code=5
        )
        assert any(m == "error[E0403]: The server rejects the API key." for m in done.messages)
        assert any("is OPENAI_API_KEY set?" in m for m in done.messages)
        assert server.stats()["calls"] + server.preflights == 1


def test_the_provider_and_its_settings_are_chosen_in_the_command(shell: Shell) -> None:
    shell.write("answers.csv", rows())
    with LLMServer() as server:
        done = shell(
            "ragassay evaluate answers.csv --metrics groundedness --judge ollama:qwen3"
            f" --base-url {server.url} --max-tokens 3000 --reasoning-effort low"
            """ --extra-body '{"top_p": 0.5}' --header 'X-Team: search'"""
        )
        assert done.lines[0] == "4 of 6 rows pass, 2 fail, 0 undecided"
        body = server.bodies[0]
        assert (body["max_tokens"], body["reasoning_effort"], body["top_p"]) == (3000, "low", 0.5)
        assert server.headers[0]["X-Team"] == "search"
