"""A team has documents and no questions: a test set is made of them, checked, and used."""

from __future__ import annotations

import csv
import json

from ragassay.runs.kept_reports import kept_reports
from ragassay.runs.report_items import item_at
from ragassay.store import Store
from ragassay.testing import LLMServer
from support.shell import Shell
from support.small_town import write_pages
from support.test_set_writers import answers

APP = '''
"""The team's application: it looks its answers up, and knows nothing else."""
import json

ROWS = [json.loads(line) for line in open("set.jsonl")]
KNOWN = {}
for row in ROWS:
    if isinstance(row["question"], str):
        KNOWN[row["question"]] = row


def answer(question):
    row = KNOWN.get(question)
    if row is None or "reference" not in row:
        return {"response": "I do not know.", "contexts": []}
    contexts = [{"id": e["document"], "text": e["quote"]} for e in row["evidence"]]
    return {"response": row["reference"], "contexts": contexts}
'''


def test_a_set_is_made_offline_checked_by_rules_and_people_and_read_by_evaluate(
    shell: Shell,
) -> None:
    write_pages(shell.folder / "docs")

    # The plan first: what will be asked of which documents, and that nothing is sent.
    plan = shell("ragassay testset make docs --size 16 --out set.jsonl --forecast")
    assert plan.lines[0].startswith("3 documents, 3 passages of ")
    assert plan.lines[1].startswith("left out: 1 file or record (plan.png: files of this kind")
    assert "no model is asked: nothing is sent and nothing costs" in plan.lines
    assert not (shell.folder / "set.jsonl").exists()

    made = shell("ragassay testset make docs --size 16 --out set.jsonl")
    rows = [json.loads(line) for line in shell.read("set.jsonl").splitlines()]
    assert made.lines[0] == f"{len(rows)} of 16 questions delivered"
    assert len(rows) >= 13
    assert any("offline by rules, easier than real questions" in line for line in made.lines)
    by_type: dict[str, dict] = {}
    for row in rows:
        by_type.setdefault(row["slices"]["type"], row)
        for place in row["evidence"]:
            text = (shell.folder / "docs" / place["document"]).read_text()
            assert text[place["start"] : place["end"]] == place["quote"]
    assert {"simple", "multi-hop bridge", "reasoning", "counterfactual"} <= by_type.keys()
    assert by_type["unanswerable"]["answerable"] is False
    assert "reference" not in by_type["unanswerable"]

    checked = shell("ragassay testset check set.jsonl --sheet sheet.csv")
    assert checked.lines[0] == f"{len(rows)} of {len(rows)} questions pass the gates"
    assert any("ragassay testset check set.jsonl --labels sheet.csv" in m for m in checked.messages)

    # A colleague reads the sheet, and rejects one question.
    with (shell.folder / "sheet.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    for number, line in enumerate(lines):
        line["accept"] = "no" if number == 0 else "yes"
    with (shell.folder / "sheet.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, lines[0])
        writer.writeheader()
        writer.writerows(lines)
    labelled = shell("ragassay testset check set.jsonl --labels sheet.csv")
    assert f"people rejected 1 of {len(rows)} questions" in labelled.lines[1]
    # In the browser the rejected question comes first.
    with Store.open(shell.folder / ".ragassay" / "store.db") as store:
        first = item_at(store, kept_reports(store, "test set")[0].id, 0)
        assert first is not None
        assert first.outcome == "People reject it."
        assert first.title.startswith(lines[0]["id"])

    # The set is rows like any other, and says what it is where it is used.
    shell.write("team.py", APP)
    used = shell("ragassay evaluate set.jsonl --app team:answer --metrics hit_rate,exact_match")
    assert any("rows are of a test set" in message for message in used.messages)
    assert "people rejected 1 of" in " ".join(" ".join(used.messages).split())
    assert any("hit_rate" in line and "1.000" in line for line in used.lines)


def test_a_set_that_was_changed_by_hand_fails_its_check(shell: Shell) -> None:
    write_pages(shell.folder / "docs")
    shell("ragassay testset make docs --size 4 --types simple --out set.jsonl")
    rows = [json.loads(line) for line in shell.read("set.jsonl").splitlines()]
    rows[0]["reference"] = "the year 1777"
    shell.write("set.jsonl", "".join(json.dumps(row) + "\n" for row in rows))

    checked = shell("ragassay testset check set.jsonl", code=1)
    assert checked.lines[0] == "3 of 4 questions pass the gates"
    assert any("answerable from the evidence: 1 fail" in line for line in checked.lines)


def test_a_folder_without_text_says_what_was_left_out(shell: Shell) -> None:
    (shell.folder / "docs").mkdir()
    (shell.folder / "docs" / "photo.txt").write_bytes(b"\x00\x01\x02")
    refused = shell("ragassay testset make docs --out set.jsonl", code=6)
    assert any("error[E0802]" in line for line in refused.messages)
    assert any("photo.txt: a binary file" in line for line in refused.messages)


def test_a_writer_and_a_checker_over_http_are_paid_once_within_a_cap(shell: Shell) -> None:
    write_pages(shell.folder / "docs")
    with LLMServer(answer=answers, models=["writer", "checker"], strict_models=True) as server:
        make = (
            "ragassay testset make docs --size 3 --types simple --out set.jsonl --price 1,2"
            f" --writer openai:writer --judge openai:checker --base-url {server.url}"
        )
        plan = shell(f"{make} --forecast")
        assert any("calls, at most 45" in line for line in plan.lines)
        refused = shell(make, code=2)
        assert any("error[E0806]" in line for line in refused.messages)
        assert server.calls == 0

        # The cap holds; what was bought is kept, and a higher cap goes on from there.
        capped = shell(f"{make} --yes --max-calls 5", code=4)
        assert any("error[E0604]" in line for line in capped.messages)
        assert server.calls == 5
        made = shell(f"{make} --yes --max-calls 60")
        assert server.stats()["answered_twice"] == 0
        bought = server.calls
        # One page holds nothing that this writer asks for: the gap is named.
        assert made.lines[0] == "2 of 3 questions delivered"
        assert any("proposals failed: the writer refused (3)" in line for line in made.lines)
        assert "written by openai:writer, checked by openai:checker" in made.lines[1]
        assert any(f"bought: {bought} calls" in line for line in made.lines)

        rows = [json.loads(line) for line in shell.read("set.jsonl").splitlines()]
        gates = {gate["gate"]: gate for gate in rows[0]["testset"]["gates"]}
        assert gates["quality filter"]["rationale"].startswith("clarity 5, difficulty 2")
        assert gates["the checker finds the answer in the evidence"]["passed"] is True

        # Once more: the same set, and nothing is bought.
        before = shell.read("set.jsonl")
        shell(f"{make} --yes --max-calls 60")
        assert (shell.read("set.jsonl"), server.calls) == (before, bought)
