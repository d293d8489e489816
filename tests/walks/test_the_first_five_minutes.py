"""The first five minutes with a file as an application wrote it: its own shape and names, wrong
answers that the user knows of, and a screen that one reads to the end.
"""

import json

from support.shell import SCREEN, Shell

ROWS = [
    {
        "user_prompt": "How long is the tunnel?",
        "docs": ["The tunnel under the bay is 2.7 kilometres long and was opened in 1998."],
        "bot_reply": "The tunnel is 27 kilometres long.",
    },
    {
        "user_prompt": "Is parking free on weekdays?",
        "docs": ["Parking is not free on weekdays. On Sundays it is free of charge."],
        "bot_reply": "Parking is free on weekdays.",
    },
    {
        "user_prompt": "When was the station built?",
        "docs": ["The station was built in 1937 by the city."],
        "bot_reply": "In 1937. I do not know the exact day.",
    },
    {
        "user_prompt": "When is a refund paid?",
        "docs": ["Refunds are paid within 14 days of the return."],
        "bot_reply": "I'm sorry, but I don't know.",
    },
]


def test_a_one_line_array_with_names_of_its_own_is_mapped_judged_and_read_to_the_end(
    shell: Shell,
) -> None:
    shell.write("answers.json", json.dumps(ROWS))

    # Nothing is measured on half a row: the command stops, and prints the line to paste.
    stopped = shell("ragassay evaluate answers.json", code=2)
    assert stopped.out == ""
    assert stopped.messages[0].startswith("error[E0318]: ")
    fix = next(line for line in stopped.messages if line.startswith("  fix: "))
    assert "--map response=bot_reply" in fix

    done = shell("ragassay evaluate answers.json --map response=bot_reply")
    assert len(done.lines) + len(done.messages) <= SCREEN
    assert done.lines[0] == "1 of 4 rows pass, 3 fail, 0 undecided"
    assert "  2 rows: The response claims what the chunks do not support" in done.lines
    # The chunk is about the question; without a reference, that it answers it is not known.
    assert "  1 row: The response declines to answer" in done.lines
    # What applies to no row is not spoken of.
    assert "ndcg" not in done.out
    assert "app_cost" not in done.out

    # The worst row is a printed command away, and it says which fact is wrong.
    wrong = shell("ragassay show last --row row-1")
    claims = " ".join(line.strip() for line in wrong.block("Claims of the response"))
    assert 'The claim says "27 kilometres"; the passages say "2.7 kilometres".' in claims
    # An admission beside an answer is no refusal.
    right = shell("ragassay show last --row row-3")
    assert right.lines[0].startswith("✓ pass  row row-3")


def test_a_configuration_keeps_the_mapping_for_every_command(shell: Shell) -> None:
    shell.write("answers.json", json.dumps(ROWS))
    made = shell("ragassay init answers.json")
    told = " ".join((made.out + made.err).split())
    assert "bot_reply" in told
    assert "ragassay.toml" in told
    done = shell("ragassay evaluate answers.json")
    assert done.messages[0].startswith("options of ragassay.toml: ")
    assert done.lines[0] == "1 of 4 rows pass, 3 fail, 0 undecided"
