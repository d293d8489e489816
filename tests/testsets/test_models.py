"""A set written and checked by models over real HTTP: nothing is bought twice, caps hold, and bad
writers are named.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.core import BudgetExhausted, Incomplete, NothingToDo, SetupError
from ragassay.testing import LLMServer
from ragassay.testsets.results import Prepared
from support.small_town import PAGES, write_pages
from support.test_set_writers import answers, check, fenced, write

DOCUMENTS = [
    {"id": name, "title": text.split("\n")[0][2:], "text": text} for name, text in PAGES.items()
]


def make(server: LLMServer, folder: Path, **options: Any) -> Any:
    given = {
        "size": 2,
        "types": ["simple"],
        "writer": "openai:writer",
        "judge": "openai:checker",
        "base_url": server.url,
        "price": "1,2",
        "store": folder / "store.db",
    }
    documents = options.pop("documents", DOCUMENTS)
    return ragassay.make_testset(documents, **{**given, **options})


def test_a_cap_on_dollars_holds_over_two_attempts(tmp_path: Path) -> None:
    with LLMServer(answer=answers) as server:
        for _ in range(2):
            with pytest.raises(BudgetExhausted, match="E0604"):
                make(server, tmp_path, max_cost=0.006, concurrency=2)
        assert 0 < server.cost <= 0.006
        made = make(server, tmp_path, max_cost=1.0)
        assert len(made.questions) == 2
        assert server.stats()["answered_twice"] == 0
        # What the ledger says is what the server was asked.
        assert made.ledger.confirmed.calls == server.calls


def test_a_kill_loses_no_reply_that_arrived(tmp_path: Path) -> None:
    write_pages(tmp_path / "docs")
    with LLMServer(answer=answers, latency=0.15) as server:
        command = [
            *(sys.executable, "-m", "ragassay", "testset", "make", "docs", "--out", "set.jsonl"),
            *("--size", "2", "--types", "simple", "--yes", "--concurrency", "1"),
            *("--writer", "openai:writer", "--judge", "openai:checker"),
            *("--base-url", server.url, "--price", "1,2", "--max-calls", "60"),
        ]
        running = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE)
        while server.answered.total() < 3:
            assert running.poll() is None
            time.sleep(0.02)
        os.kill(running.pid, signal.SIGKILL)
        running.communicate()
        server.script(latency=0.0)
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8")
        assert done.returncode == 0, done.stderr
        # At most the one call that was in flight at the kill is asked again.
        assert server.stats()["answered_twice"] <= 1
        assert "2 of 2 questions delivered" in done.stdout


def test_a_writer_that_repeats_itself_leaves_a_gap_with_its_reason(tmp_path: Path) -> None:
    once = {
        "question": "In which year was the Harbour Museum founded?",
        "answer": "1912",
        "quotes": ["The Harbour Museum was founded in 1912."],
    }

    def repeats(body: dict[str, Any]) -> Any:
        return once if body["model"] == "writer" else check(body)

    with LLMServer(answer=repeats) as server:
        made = make(server, tmp_path, size=4)
    assert len(made.questions) == 1
    (gap,) = made.gaps
    assert (gap.asked, gap.delivered) == (4, 1)
    assert "no quote of the reply is in the passages" in gap.reason


def test_the_same_proposal_for_several_slots_is_checked_once(tmp_path: Path) -> None:
    once = {
        "question": "In which year was the Harbour Museum founded?",
        "answer": "1912",
        "quotes": ["The Harbour Museum was founded in 1912."],
    }

    def repeats(body: dict[str, Any]) -> Any:
        return once if body["model"] == "writer" else check(body)

    with LLMServer(answer=repeats) as server:
        made = make(server, tmp_path, documents=DOCUMENTS[:1], size=4)
        asked = [body["model"] for body in server.bodies]
    assert len(made.questions) == 1
    # From the evidence, closed book, from other passages, and the rating: for one question.
    assert asked.count("checker") == 4
    assert server.stats()["answered_twice"] == 0
    assert "no near duplicate" in made.gaps[0].reason


def test_slots_on_one_passage_are_asked_for_in_different_words(tmp_path: Path) -> None:
    with LLMServer(answer=answers) as server:
        make(server, tmp_path, documents=DOCUMENTS[:1], size=40, judge="offline")
        assert server.calls > 40
        assert server.stats()["answered_twice"] == 0


def test_a_writer_that_refuses_is_not_asked_on(tmp_path: Path) -> None:
    with (
        LLMServer(answer=lambda body: "I'm sorry, but I can't help with that.") as server,
        pytest.raises(Incomplete, match="E0807") as caught,
    ):
        make(server, tmp_path, size=40)
    assert server.calls == 8
    assert "the writer refused (8)" in str(caught.value)


def test_what_takes_two_documents_is_not_asked_of_one(tmp_path: Path) -> None:
    with (
        LLMServer(answer=answers) as server,
        pytest.raises(Incomplete, match="E0807") as caught,
    ):
        make(
            server,
            tmp_path,
            documents=DOCUMENTS[:1],
            types=["multi-hop bridge", "multi-hop compare"],
        )
    assert server.calls == 0
    assert "there is no second document" in str(caught.value)


def test_a_checker_that_finds_another_answer_turns_the_question_away(tmp_path: Path) -> None:
    def disagrees(body: dict[str, Any]) -> Any:
        if body["model"] == "writer":
            return write(body)
        said = check(body)
        if "same_answer" in said:
            return {**said, "same_answer": "no"}
        return {**said, "answer": "1777"} if said["answerable"] else said

    with LLMServer(answer=disagrees) as server, pytest.raises(Exception, match="E0807") as caught:
        make(server, tmp_path)
    assert "quality filter" in str(caught.value)


def test_a_checker_that_knows_the_answer_by_heart_turns_the_question_away(tmp_path: Path) -> None:
    def knows(body: dict[str, Any]) -> Any:
        said = answers(body)
        if isinstance(said, dict) and said.get("answerable") is False:
            return {"answerable": True, "answer": "in 1912, 1906 and 1934", "reason": "I know."}
        return said

    with LLMServer(answer=knows) as server, pytest.raises(Exception, match="E0807") as caught:
        make(server, tmp_path)
    assert "not answerable without its evidence" in str(caught.value)


def test_the_offline_writers_questions_can_be_checked_by_a_model(tmp_path: Path) -> None:
    def knows_by_title(body: dict[str, Any]) -> Any:
        said = check(body)
        texts = fenced(body)
        titles = [text.split("\n")[0] for name, text in texts if name.startswith("passage")]
        if "answerable" in said and titles and titles[0] in texts[-1][1]:
            return {"answerable": True, "answer": "as the reference", "reason": "It is there."}
        return said

    with LLMServer(answer=knows_by_title) as server:
        made = make(server, tmp_path, writer="offline", size=1)
        assert {body["model"] for body in server.bodies} == {"checker"}
    (question,) = made.questions
    assert question.origin == "offline"
    assert question.verdicts[-2].gate == "quality filter"


def test_the_plan_says_what_it_may_cost_before_the_first_call(tmp_path: Path) -> None:
    seen: list[Prepared] = []

    def declines(prepared: Prepared) -> bool:
        seen.append(prepared)
        return False

    with LLMServer(answer=answers) as server:
        with pytest.raises(NothingToDo, match="E0806"):
            make(server, tmp_path, judge="openai:writer", confirm=declines)
        assert server.calls == 0
    (prepared,) = seen
    assert prepared.forecast.most_calls == 3 * 2 * 5
    assert prepared.forecast.cost is not None
    assert "one model" in prepared.warnings[0]


def test_no_network_forbids_a_hosted_writer(tmp_path: Path) -> None:
    with LLMServer() as server, pytest.raises(SetupError, match="E0407"):
        make(server, tmp_path, no_network=True)
