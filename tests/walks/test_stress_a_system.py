"""The user's RAG application is put to the test: what distracts it, and what it should not
answer.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ragassay.testing import LLMServer
from support.distracted_app import APP, CAREFUL, model, rows
from support.shell import Shell

SMALL = (
    "--rows set.jsonl --numbers 1,3 --positions first,last --kinds same-topic,changed-fact"
    " --arms added"
)

APPLICATION = f"--app my_app:answer {SMALL}"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LLMServer]:
    with LLMServer(answer=model) as running:
        monkeypatch.setenv("MODEL_URL", running.url)
        yield running


def test_an_application_that_is_distracted_and_always_answers_is_told_what_to_change(
    shell: Shell, server: LLMServer
) -> None:
    shell.write("set.jsonl", rows())
    shell.write("my_app.py", APP)

    # Before anything is asked: how many askings, and what they can show.
    plan = shell(f"ragassay stress {SMALL} --forecast")
    assert plan.lines[0] == (
        "24 questions in 24 clusters, 336 askings: 48 clean, twice, 24 without passages, 192 noise,"
        " 24 rejection, 48 counterfactual"
    )
    assert plan.lines[1] == (
        "power: 24 questions in 24 clusters show a drop of 10 points in about 19% of cases, and of"
        " 35 points in 80 %;"
    )
    assert "asked levels delivered: 336 of 336 rows" in plan.lines
    assert server.calls == 0

    found = shell(f"ragassay stress {APPLICATION} --html report.html --out rows.jsonl")
    assert server.calls == 336
    assert found.lines[:4] == [
        "Answers what it cannot know. It answers 24 of 24 questions that its passages cannot"
        " answer.",
        "  change: tell it to say so when the passages do not answer, or check sufficiency first",
        "Depends on where the evidence stands. Distractors cost most in front of the evidence, and"
        " nothing certain behind the evidence: right answers fall from 100% to 0% with 1 near"
        " duplicate with a changed fact, added, first.",
        "  change: put the best passages where the model reads them: rerank, and pass fewer",
    ]
    assert found.block("Change in points")[1:] == [
        "distractors          1      3",
        "same-topic, added    0      0",
        "changed-fact, added  -100*  -100*",
    ]
    assert found.block("False passages")[2:4] == [
        "1 of 2 (24)  50%      50%",
        "all (24)     100%     0%",
    ]
    page = shell.read("report.html")
    assert "Questions that turn wrong, by level" in page
    assert "1 changed-fact, first, added *" in page

    # The printed command shows what stands behind a figure.
    shown = found.command("Every row").partition("ragassay")[2]
    level = "q3|noise/added/changed-fact/1/first"
    behind = shell("ragassay" + shown.replace("ID|LEVEL", level))
    assert any("It was opened in" in line for line in behind.lines)

    # What was asked for stands in the file, with the answers: they repeat the test without it.
    again = shell(f"ragassay stress {SMALL} --recorded rows.jsonl")
    assert again.lines[:18] == found.lines[:18]
    assert server.calls == 336


def test_an_application_that_was_mended_is_told_what_could_still_be_missed(
    shell: Shell, server: LLMServer
) -> None:
    shell.write("set.jsonl", rows())
    shell.write("my_app.py", CAREFUL)
    found = shell(f"ragassay stress {APPLICATION}")
    assert found.lines[0] == (
        "No certain weakness; of one level, a drop of 49 points is seen 80 % of the time."
    )
    assert found.block("Rejection")[2:4] == [
        "answerable    24        0         0          0% [0%, 14%]",
        "unanswerable  0         24        0          100% [86%, 100%]",
    ]
    assert server.calls == 336
