"""An engineer with labels of their own: from an evaluation to a gate on the corrected rate."""

import csv
import json
import random

from ragassay.testing import LLMServer
from support.shell import Shell

ROWS = 200
LABELS = 100
PASSING = 0.75
AGREEMENT = 0.8


def world(seed: int) -> tuple[list[dict[str, object]], dict[str, int]]:
    """Rows, and whether a person passes each.

    The judge of these walks compares words. It passes what stands in the context word by word, so
    a row that a person fails and the judge passes says what its context says (the person knows
    better), and one that a person passes and the judge fails says it in words of its own. Of half
    of what it fails it finds one claim of two.
    """
    chance = random.Random(seed)
    rows: list[dict[str, object]] = []
    people: dict[str, int] = {}
    for number in range(ROWS):
        good = chance.random() < PASSING
        judge_passes = good if chance.random() < AGREEMENT else not good
        fact = f"The museum holds {1800 + number} paintings of sailing ships."
        other = f"Lawyer {number} mails judgments abroad every single night."
        rows.append(
            {
                "id": f"r{number}",
                "question": "What is known?",
                "contexts": [fact, "It is open all year."],
                "response": fact if judge_passes else chance.choice((other, f"{fact} {other}")),
            }
        )
        people[f"r{number}"] = int(good)
    return rows, people


def as_lines(rows: list[dict[str, object]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def own_labels(people: dict[str, int], seed: int) -> str:
    """A label file of the engineer's own: ids and labels of rows drawn at random."""
    drawn = random.Random(seed).sample(sorted(people), LABELS)
    return "id,label\n" + "".join(f"{row},{people[row]}\n" for row in drawn)


def test_three_commands_lead_from_rows_to_a_gate_on_the_corrected_rate(shell: Shell) -> None:
    rows, people = world(1)
    shell.write("rows.jsonl", as_lines(rows))
    shell.write("labels.csv", own_labels(people, 1))
    with LLMServer() as server:
        shell(
            "ragassay evaluate rows.jsonl --metrics groundedness"
            f" --judge openai:mock --base-url {server.url}"
        )
        calls = server.stats()["calls"]
        taken = shell("ragassay label import last labels.csv")
        assert taken.lines[0] == (
            "100 labels of groundedness: 100 new or changed, 0 rows not labelled yet"
        )
        assert taken.lines[1:3] == [
            "scale: 0, 1; a row passes from a label of 1 on",
            "next: ragassay trust RUN --metric 'groundedness'",
        ]
        passed = shell("ragassay trust last --gate 'corrected(groundedness)>=0.6'")
        assert server.stats()["calls"] == calls, "labels need no further call"
    assert passed.lines[0].startswith("openai:mock on groundedness: usable for the corrected pass")
    assert any(line.startswith("labels: 100 of 200 rows; ") for line in passed.lines)
    assert "The judge beside people:" in passed.lines
    assert passed.lines[-1] == "  All conditions are met."
    told = " ".join(" ".join(passed.lines).split())
    assert "pass corrected(groundedness)>=0.6: met, the corrected pass rate is 0." in told
    assert "by 100 labels of 200 rows; the judge alone says 0." in told


def test_labels_are_taken_in_on_the_way_and_a_gate_on_their_lower_bound_fails(shell: Shell) -> None:
    rows, people = world(1)
    truth = sum(people.values()) / ROWS
    shell.write("rows.jsonl", as_lines(rows))
    shell.write("labels.csv", own_labels(people, 1))
    with LLMServer() as server:
        shell(
            "ragassay evaluate rows.jsonl --metrics groundedness"
            f" --judge openai:mock --base-url {server.url}"
        )
    gate = "--gate 'lower(corrected(groundedness))>=0.9'"
    failed = shell(f"ragassay trust last --labels labels.csv {gate} --json", code=1, at_most=400)
    shown = json.loads(failed.out)
    assert shown["gates"]["gates"][0]["passed"] is False
    interval = shown["corrected"]["interval"]
    assert interval["low"] <= truth <= interval["high"]
    summary = shell("ragassay show last")
    assert any("corrected by 100 labels: pass rate 0." in line for line in summary.lines)


def test_a_gate_on_a_corrected_rate_without_labels_is_open_and_names_the_command(
    shell: Shell,
) -> None:
    rows, _ = world(2)
    shell.write("rows.jsonl", as_lines(rows[:20]))
    with LLMServer() as server:
        done = shell(
            "ragassay evaluate rows.jsonl --metrics groundedness --judge openai:mock"
            f" --base-url {server.url} --gate 'corrected(groundedness)>=0.8'",
            code=3,
        )
    assert "there are no labels to correct groundedness by (ragassay label next" in " ".join(
        " ".join(done.lines).split()
    )
    assert shell("ragassay trust last").lines == [
        "openai:mock on groundedness: not known, no row of 20 is labelled",
        "next: ragassay label next RUN -m 'groundedness' -n 20 -o sheet.csv",
    ]


def test_labels_of_a_sheet_serve_every_command_and_an_active_one_is_weighted(shell: Shell) -> None:
    rows, people = world(3)
    shell.write("rows.jsonl", as_lines(rows))
    with LLMServer() as server:
        shell(
            "ragassay evaluate rows.jsonl --metrics groundedness"
            f" --judge openai:mock --base-url {server.url}"
        )
        calls = server.stats()["calls"]
        shell("ragassay label next last --count 100 --method active -o sheet.csv")
        with (shell.folder / "sheet.csv").open(encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file))
        for line in lines:
            line["label"] = str(people[line["id"]])
        with (shell.folder / "sheet.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, lines[0].keys())
            writer.writeheader()
            writer.writerows(lines)
        shell("ragassay label import last sheet.csv")
        of_run = shell("ragassay benchmark last", at_most=80)
        assert server.stats()["calls"] == calls
        refused = shell("ragassay calibrate last", code=2)
        # The sheet itself reads back as the rows that were judged: nothing is asked again.
        of_sheet = shell(
            "ragassay benchmark sheet.csv --metric groundedness --judge openai:mock"
            f" --base-url {server.url}",
            at_most=80,
        )
        assert server.stats()["calls"] == calls
    assert "E1202" in refused.err
    assert "weighted (worth " in " ".join(of_sheet.lines[:2])
    assert "weighted (worth " in " ".join(of_run.lines[:2])
