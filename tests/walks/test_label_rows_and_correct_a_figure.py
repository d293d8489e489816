"""A sheet of rows for people to label, and the run's figure corrected by what they said."""

import csv
import json
from pathlib import Path

from support.shell import Shell


def rows(count: int) -> str:
    """Rows of which every other one repeats its context; the others invent something."""
    made = []
    for number in range(count):
        fact = f"The museum holds {1800 + number} paintings."
        invented = f"Judgments are mailed to lawyer {number} in Geneva every night."
        made.append(
            {
                "id": str(number),
                "question": "What is known?",
                "contexts": [f"{fact} It is open all year."],
                "response": invented if number % 2 else fact,
            }
        )
    return "".join(json.dumps(row) + "\n" for row in made)


def fill_in(sheet: Path) -> None:
    """What a person does with the sheet: a label for each row, here 1 for what the context says."""
    with sheet.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    for line in lines:
        line["label"] = "1" if line["response"] in line["contexts"] else "0"
        line["annotator"] = "ada"
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, lines[0].keys())
        writer.writeheader()
        writer.writerows(lines)


def test_rows_are_drawn_labelled_taken_in_and_correct_the_pass_rate(shell: Shell) -> None:
    shell.write("rows.jsonl", rows(80))
    run = shell("ragassay evaluate rows.jsonl --metrics groundedness")
    assert run.lines[0] == "40 of 80 rows pass, 40 fail, 0 undecided"

    drawn = shell("ragassay label next last --count 50 --output sheet.csv")
    told = " ".join((drawn.out + drawn.err).split())
    assert "wrote sheet.csv: 50 of 80 rows, drawn with one chance for all." in told
    assert "Fill in the column label (0,1), then: ragassay label import " in told
    header = shell.read("sheet.csv").splitlines()[0]
    assert header.startswith('"id","question","contexts","response","reference","label"')

    fill_in(shell.folder / "sheet.csv")
    taken = shell("ragassay label import last sheet.csv")
    assert taken.lines == [
        "50 labels of groundedness: 50 new or changed, 0 rows not labelled yet",
        "scale: 0, 1; a row passes from a label of 1 on",
        "next: ragassay trust RUN --metric 'groundedness'",
    ]

    estimate = shell("ragassay estimate last")
    assert estimate.lines[0].startswith("groundedness (pass rate): 0.500 [")
    assert " by judge's verdict" in estimate.lines[0]
    assert estimate.lines[1].startswith("  the judge says      0.500 over 80 rows")
    assert estimate.lines[2].startswith("  the labels alone    ")
    assert estimate.lines[2].endswith(" over 50 rows")
