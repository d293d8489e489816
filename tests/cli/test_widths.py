"""What commands about trust print at 80 columns: every word whole, no line longer."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from ragassay.cli.output import print_blocks
from ragassay.report.tables import Table
from support.commands import run_in_process

COLOUR = re.compile(r"\x1b\[[\d;]*m")


def labelled(n: int = 60) -> list[dict]:
    rows = []
    for i in range(n):
        label = (i // 2) % 2
        scores = {"S": (0.05, 0.95)[label] if i % 4 else 0.55, "T": label}
        rows.append(
            {
                "id": f"r{i}",
                "cluster": f"c{i // 2}",
                "slice": ("insurance and pensions", "public transport")[i % 2],
                "label": label,
                "question": f"When was bridge {i} opened?",
                "contexts": [f"Bridge {i} was opened in {1900 + i}."],
                "response": f"Bridge {i} was opened in {1900 + i + i % 3}.",
                "labels": {"ann": label, "ben": label ^ (i % 7 == 0)},
                "judges": {
                    "first-judge": label ^ (i % 5 == 0),
                    "second-judge": label ^ (i % 3 == 0),
                    **scores,
                },
            }
        )
    return rows


COMMANDS = {
    "benchmark": "benchmark labels.jsonl --judge recorded:first-judge,second-judge",
    "benchmark of one": "benchmark labels.jsonl --judge recorded:first-judge",
    "calibrate": "calibrate labels.jsonl --judge recorded:S",
    "panel": "panel labels.jsonl --judge recorded:first-judge,second-judge,T",
    "cascade": "cascade labels.jsonl --cheap recorded:S --expensive recorded:T",
    "plan-labels": "plan-labels paired -d 0.05",
    "certificates": "certificates",
    "audit-table": "audit-table published.csv",
    "metrics": "metrics",
    "runs": "runs",
    "estimate": "estimate measured",
    "label agreement": "label agreement ann.csv ben.csv --run measured",
    "repeat": "repeat labels.jsonl --metric groundedness --judge offline -k 2",
}

PUBLISHED = """name,precision,recall,f1,kappa,balanced,n,positives
printed,.9924,.655,,.605,yes,,
one class,,,.5234,,,79,79
a name of several long words,.80,.60,.62,,,,
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with labelled rows, a run of them, and the labels of two people."""
    folder = tmp_path_factory.mktemp("widths")
    rows = "".join(json.dumps(row) + "\n" for row in labelled())
    (folder / "labels.jsonl").write_text(rows, encoding="utf-8")
    (folder / "published.csv").write_text(PUBLISHED, encoding="utf-8")
    printed(folder, "evaluate labels.jsonl --metrics groundedness --name measured", 80)
    printed(folder, "label next measured -n 40 -o sheet.csv", 80)
    lines = (folder / "sheet.csv").read_text(encoding="utf-8")
    sheet = list(csv.DictReader(lines.splitlines()))
    for person in ("ann", "ben"):
        for n, row in enumerate(sheet):
            row |= {"label": str((n + (person == "ben" and n % 7 == 0)) % 2), "annotator": person}
        with (folder / f"{person}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(sheet[0]))
            writer.writeheader()
            writer.writerows(sheet)
    printed(folder, "label import measured ann.csv", 80)
    return folder


def printed(folder: Path, command: str, width: int) -> tuple[str, str]:
    # Said to be a terminal, since a pipe has no width to wrap lines to.
    variables = {"COLUMNS": f"{width}", "FORCE_COLOR": "1", "TERM": "xterm"}
    done = run_in_process(folder, *command.split(), environment=variables)
    return COLOUR.sub("", done.stdout), done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_at_80_columns_no_word_is_broken_and_no_line_is_longer(name: str, folder: Path) -> None:
    narrow, err = printed(folder, COMMANDS[name], 80)
    wide, _ = printed(folder, COMMANDS[name], 400)
    assert narrow.strip(), err
    assert [line for line in narrow.splitlines() if len(line.rstrip()) > 80] == []
    # The parts of a broken word are no words of the wide page.
    assert set(narrow.split()) - set(wide.split()) == set()


def test_a_table_of_long_names_is_printed_row_by_row_where_it_does_not_fit(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    judges = ["openai:gpt-4.1-mini-2025-04-14", "anthropic:claude-sonnet-4-5-20250929"]
    rows = (("answers that say nothing", "0.12 [0.01, 0.33]", "", "resists"),)
    table = Table(("family", *judges, "verdict"), rows)
    print_blocks([table])
    assert capsys.readouterr().out.splitlines() == [
        "answers that say nothing",
        "  openai:gpt-4.1-mini-2025-04-14: 0.12 [0.01, 0.33]",
        "  verdict: resists",
    ]
    monkeypatch.setenv("COLUMNS", "120")
    print_blocks([table])
    assert capsys.readouterr().out.splitlines()[0].split() == ["family", *judges, "verdict"]
