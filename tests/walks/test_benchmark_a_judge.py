"""A judge beside human labels: how far it agrees, and where its later runs show it."""

import json
import re

from support.shell import Shell

FACTS = (
    "The harbour opened in {}.",
    "The bridge carries {} cars a day.",
    "The museum holds {} paintings.",
)


def labelled(count: int) -> str:
    """Rows of which people pass every other one: it repeats its context, its neighbour does not."""
    rows = []
    for number in range(count):
        fact = FACTS[number % 3].format(1800 + number)
        invented = f"Judgments are mailed to lawyer {number} in Geneva every night."
        rows.append(
            {
                "id": f"r{number}",
                "question": "What is known?",
                "contexts": [f"{fact} It is open all year."],
                "response": invented if number % 2 else fact,
                "label": 1 - number % 2,
            }
        )
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_a_benchmark_makes_a_certificate_that_later_runs_show(shell: Shell) -> None:
    shell.write("labels.jsonl", labelled(60))
    done = shell("ragassay benchmark labels.jsonl --metric groundedness --judge offline")
    assert done.lines[0] == (
        "offline against 60 human labels for groundedness: kappa 1.000 [0.769, 1.000] on 60 rows"
    )
    assert done.lines[1] == (
        "It passes 0% [0, 12] of what people fail and fails 0% [0, 12] of what people pass."
    )
    figures = [re.split(r"\s{2,}", line.strip()) for line in done.block("Figures")]
    assert ["balanced accuracy", "1.000 [0.884, 1.000]"] in figures
    assert done.block("Confusion") == [
        "Confusion: people in rows, the judge in columns",
        "  people \\ judge  fail  pass  all",
        "  0                 30     0   30",
        "  1                  0    30   30",
    ]

    kept = re.fullmatch(
        r"offline has a certificate of this, which its runs show: (ragassay certificates \w+)",
        done.messages[-1],
    )
    assert kept is not None
    certificate = shell(kept[1])
    assert certificate.lines[0].startswith("Certificate ")
    assert ["kappa", "1.000 [0.769, 1.000]"] in [
        re.split(r"\s{2,}", line.strip()) for line in certificate.block("Figures")
    ]
    listed = shell("ragassay certificates --judge offline --metric groundedness")
    assert any("labels.jsonl" in line for line in listed.lines)

    run = shell("ragassay evaluate labels.jsonl --metrics groundedness")
    assert run.lines[0] == "30 of 60 rows pass, 30 fail, 0 undecided"
    assert run.block("Judge")[1] == (
        "  Agreement with people on rows like yours (kappa): groundedness 1.00"
    )
    assert shell("ragassay show last --trust").block("Judge")[1:3] == [
        "  groundedness: kappa 1.00 [0.77, 1.00], balanced accuracy 1.00 [0.88, 1.00] on 60 labels",
        "  (labels.jsonl) (11 more certificates: ragassay certificates)",
    ]
