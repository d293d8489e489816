"""The team's own judge passes wrong numbers: a better rubric is found, and only then used."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ragassay.runs.kept_reports import kept_reports
from ragassay.runs.report_items import item_at
from ragassay.store import Store
from ragassay.testing import LLMServer
from support.number_judge import RUBRIC, answers, labelled_rows
from support.shell import Shell


def precision(shell: Shell, rubric: str, by: str) -> float:
    """What a benchmark of the judge under a rubric says."""
    done = shell(
        f"ragassay benchmark labels.jsonl --metric faithful --rubric {rubric} {by} --json",
        at_most=2000,
    )
    (measured,) = json.loads(done.out)["judges"]
    return float(next(f["value"] for f in measured["pooled"] if f["name"] == "precision"))


@pytest.fixture
def server() -> Any:
    with LLMServer(answer=answers, models=["judge", "reflector"], strict_models=True) as running:
        yield running


def test_a_judge_that_passes_wrong_numbers_is_improved_and_the_gain_is_certified(
    shell: Shell, server: LLMServer
) -> None:
    shell.write("labels.jsonl", labelled_rows())
    shell.write("faithful.md", RUBRIC)
    by = f"--judge openai:judge --base-url {server.url}"

    assert precision(shell, "faithful.md", by) == pytest.approx(2 / 3)

    optimise = (
        f"ragassay optimise faithful --rubric faithful.md --labels labels.jsonl {by}"
        ' --reflector openai:reflector --aim "f1 where precision >= 0.85" --max-calls 1200'
    )
    plan = shell(f"{optimise} --forecast")
    assert plan.lines[0] == (
        "aim: raise F1, with precision of at least 0.85; a false pass costs 1, a false fail 1"
    )
    assert "rows: 65 to search on, 48 to choose on, 47 sealed" in plan.lines
    asked = server.calls

    # Nobody is at the terminal: nothing starts that was not confirmed.
    refused = shell(optimise, code=2)
    assert any("error[E0707]" in line for line in refused.messages)
    assert server.calls == asked

    found = shell(f"{optimise} --yes --html report.html")
    assert found.lines[0].startswith("Certified: F1 0.8")
    assert found.lines[1] == "wrote faithful-2.md"
    assert any("+ criterion: Each number of the answer has to be" in line for line in found.lines)
    assert "Each number" in (shell.folder / "faithful-2.md").read_text()
    assert "Certified" in (shell.folder / "report.html").read_text()
    # In the browser each candidate and each edit can be looked at, and the runs behind them.
    with Store.open(shell.folder / ".ragassay" / "store.db") as store:
        (report,) = kept_reports(store, "optimisation")
        candidate = item_at(store, report.id, 0)
        assert candidate is not None
        assert candidate.outcome.endswith("sealed rows: certified")
        assert "Each number" in candidate.after
        assert "Each number" not in candidate.before
        assert [group.name for group in report.groups][1:] == ["Edits tried"]
        assert all(store.has_run(run) for run in report.runs)
        assert report.runs

    # The same command again buys nothing and says the same.
    bought = server.calls
    again = shell(f"{optimise} --yes")
    assert again.lines[0] == found.lines[0]
    assert server.calls == bought

    # The new version is used as it stands, by the command that is printed, and agrees with people.
    use = found.lines[2].removeprefix("use it: ").replace("ROWS", "labels.jsonl")
    use = use.replace("SERVER", server.url)
    assert f"faithful {by} --rubric faithful-2.md" in use
    assert shell(f"{use} --limit 12").lines[0].startswith("8 of 12 rows pass")
    assert precision(shell, "faithful-2.md", by) == 1.0


def test_where_nothing_helps_the_rubric_stays_and_the_tool_says_so(
    shell: Shell, server: LLMServer
) -> None:
    """A proposer that only ever asks for friendliness: no certificate, no new file."""
    shell.write("labels.jsonl", labelled_rows().replace("wrong number", "not what it says"))
    shell.write("faithful.md", RUBRIC)
    done = shell(
        "ragassay optimise faithful --rubric faithful.md --labels labels.jsonl --yes"
        f" --judge openai:judge --reflector openai:reflector --base-url {server.url}"
        " --max-calls 600"
    )
    assert done.lines[0] == "No certified gain: faithful stays as it is."
    assert not list(shell.folder.glob("faithful-*.md"))
