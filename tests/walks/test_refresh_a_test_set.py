"""The documents behind a test set change: what is stale is named, and the next version is made."""

from __future__ import annotations

import csv
import json

from support.shell import Shell
from support.small_town import PAGES, write_pages

NEW_PAGE = """# Old Lighthouse

The Old Lighthouse is a lighthouse on the south cape. The Old Lighthouse was built in 1858. The Old
Lighthouse was automated in 1979. The Old Lighthouse was designed by Hugo Brandt.
"""


def rows_of(shell: Shell, name: str) -> list[dict]:
    return [json.loads(line) for line in shell.read(name).splitlines()]


def test_a_set_follows_its_documents_with_a_diff_and_keeps_the_labels_of_what_is_kept(
    shell: Shell,
) -> None:
    write_pages(shell.folder / "docs")
    shell("ragassay testset make docs --size 12 --types simple --out set.jsonl")
    first = rows_of(shell, "set.jsonl")

    # Colleagues look at all of it, and accept it.
    shell("ragassay testset check set.jsonl --sheet sheet.csv")
    with (shell.folder / "sheet.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    with (shell.folder / "sheet.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, lines[0])
        writer.writeheader()
        writer.writerows({**line, "accept": "yes"} for line in lines)
    shell("ragassay testset check set.jsonl --labels sheet.csv")

    before = shell.read("set.jsonl")

    # One page is renamed and gets a first line, one is corrected, one goes, one comes.
    docs = shell.folder / "docs"
    (docs / "harbour.md").unlink()
    (docs / "museum.md").write_text("Open daily.\n\n" + PAGES["harbour.md"], encoding="utf-8")
    (docs / "ferry.md").write_text(PAGES["ferry.md"].replace("1906", "1907"), encoding="utf-8")
    (docs / "lena.md").unlink()
    (docs / "lighthouse.md").write_text(NEW_PAGE, encoding="utf-8")
    of_museum = [row["id"] for row in first if row["cluster"] == "harbour.md"]
    stale = [row["id"] for row in first if row["cluster"] == "lena.md"]
    stale += [row["id"] for row in first if "1906" in json.dumps(row["evidence"])]

    # First the difference alone; nothing is written.
    shown = shell("ragassay testset refresh set.jsonl")
    kept = len(first) - len(stale)
    assert shown.lines[0] == (
        f"{kept} of {len(first)} questions are kept ({len(of_museum)} with quotes that moved),"
        f" {len(stale)} are stale"
    )
    assert "documents: 0 as before, 1 changed, 2 new, 2 gone" in shown.lines
    assert any("lena.md is gone" in line for line in shown.lines)
    assert shown.lines[-1] == "next: ragassay testset refresh set.jsonl --out set.jsonl"
    assert shell.read("set.jsonl") == before

    made = shell("ragassay testset refresh set.jsonl --out second.jsonl")
    second = rows_of(shell, "second.jsonl")
    assert made.lines[0].startswith("version 1 to 2: ")
    assert f"people rejected 0 of {kept} questions" in made.lines[1]
    assert f"{len(second) - kept} came since" in made.lines[1]
    # A corrected sentence may be asked for in the words of before: it is a new question.
    kept_ids = {row["id"] for row in first} - set(stale)
    come = [row for row in second if row["id"] not in kept_ids]
    assert come
    assert {row["cluster"] for row in come} <= {"lighthouse.md", "museum.md", "ferry.md"}
    assert any(row["cluster"] == "lighthouse.md" for row in come)
    for row in second:
        assert row["testset"]["accepted"] is (None if row in come else True)
        for place in row["evidence"]:
            text = (docs / place["document"]).read_text()
            assert text[place["start"] : place["end"]] == place["quote"]
    assert second[0]["testset"]["set"]["version"] == 2
    assert second[0]["testset"]["set"]["came_from"]
