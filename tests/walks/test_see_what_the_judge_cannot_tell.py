"""A user without a key meets answers that the offline judge cannot tell: none of them passes, each
says why, and the summary says what to do.
"""

from support.shell import Shell

CSV = """\
id,question,contexts,response
inhaler,How long can it be used?,"[""The inhaler must be thrown away six weeks after opening. \
Use it twice a day.""]",The inhaler must be thrown away 42 days after opening.
plants,How much do the plants make?,"[""North makes 300 tonnes of cement. South makes 240 tonnes \
of cement. West makes 410 tonnes of cement.""]",The three plants make 950 tonnes of cement together.
plan,What does it cost?,"[""| Plan | Monthly | Yearly |\\n|---|---|---|\\n| Basic | $5 | $50 |\\n| \
Plus | $9 | $90 |""]",It costs $9.
lyon,Who approves requests in Lyon?,"[""Sonja Weil approves requests in Berlin, Marc Oduya those \
in Lyon.""]","In Lyon, requests are approved by Sonja Weil."
"""


def test_what_cannot_be_told_is_undecided_with_its_reason_and_what_is_wrong_fails(
    shell: Shell,
) -> None:
    shell.write("answers.csv", CSV)
    done = shell("ragassay evaluate answers.csv --metrics groundedness")
    assert done.lines[0] == "1 of 4 rows pass, 1 fail, 2 undecided"

    plants = shell("ragassay show last --row plants")
    assert plants.lines[0] == "? undecided  row plants, line 3"
    told = " ".join(" ".join(plants.lines).split())
    assert "sum: the claim gives a total or a mean of several numbers" in told
    assert "name a language model with --judge openai:MODEL" in told

    plan = shell("ragassay show last --row plan")
    told = " ".join(" ".join(plan.lines).split())
    assert "table: a number of the claim stands in a table" in told

    lyon = shell("ragassay show last --row lyon")
    told = " ".join(" ".join(lyon.lines).split())
    assert 'The claim says "Sonja Weil"; the passages say "Marc Oduya".' in told

    sheet = shell("ragassay label next -n 2 -o sheet.csv --audit 0 --seed 1")
    assert sheet.lines
