"""A user tries answers that they know to be wrong, with no key and no network: each fails, and the
row says which fact is wrong.
"""

from support.shell import Shell

CSV = """\
id,question,contexts,response
tunnel,How long is the tunnel?,"[""The tunnel under the bay is 2.7 kilometres long and opened in \
1998.""]",The tunnel is 27 kilometres long.
parking,Is parking free?,"[""Parking is not free on weekdays. On Sundays it is free of charge.""]",\
Parking is free on weekdays.
refund,When is a refund paid?,"[""Refunds are paid within 14 days of the return.""]",\
Refunds are paid within 14 hours of the return.
office,Who runs the Berlin office?,"[""Anna Weiss runs the Berlin office. Tom Brandt runs the \
Paris office.""]",Tom Brandt runs the Berlin office.
lamp,How long does the battery last?,"[""The lamp's battery lasts about 10 hours on a full \
charge.""]",The battery of the lamp lasts about ten hours.
paid,When is a refund paid?,"[""Refunds are paid within 14 days of the return.""]",\
Refunds are paid within two weeks of the return.
akku,Wie lange hält der Akku?,"[""Der Akku hält etwa zehn Stunden.""]",\
Der Akku hält etwa fünf Stunden.
"""


def test_wrong_facts_fail_with_the_fact_and_what_cannot_be_read_is_not_judged(
    shell: Shell,
) -> None:
    shell.write("answers.csv", CSV)
    done = shell("ragassay evaluate answers.csv --metrics groundedness,answer_relevance")
    assert done.lines[0] == "2 of 7 rows pass, 4 fail, 1 undecided"
    broke = done.block("What broke, in the 4 failing rows")
    assert "  4 rows: The response claims what the chunks do not support" in broke
    every = shell("ragassay show last -v", at_most=100)
    worst = " ".join(line.strip() for line in every.block("Worst rows"))
    assert 'The claim says "27 kilometres"; the passages say "2.7 kilometres".' in worst
    assert 'The claim says "14 hours"; the passages say "14 days".' in worst
    assert "language: a text of it is not English" in worst

    told = shell("ragassay show last --row parking")
    claims = " ".join(line.strip() for line in told.block("Claims of the response"))
    assert 'The claim says "Parking is free on weekdays."' in claims
    assert "nearest, context 1: “Parking is not free on weekdays.”" in claims

    office = shell("ragassay show last --row office")
    claims = " ".join(line.strip() for line in office.block("Claims of the response"))
    assert 'The claim says "Berlin"; the passages say "Paris".' in claims

    german = shell("ragassay show last --row akku")
    assert german.lines[0] == "? undecided  row akku, line 8"
    assert "name a language model with --judge" in " ".join(german.lines)
