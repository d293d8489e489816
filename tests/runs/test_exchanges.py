"""What is kept of the calls to a judge's model: to the letter, in little space, without secrets."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.core import AskedOfRow
from ragassay.testing import LLMServer

CONTEXT = "The city library was founded in 1911 by the guild of printers, and burned down in 1944."
ROW = {
    "id": "founded",
    "question": "When was the library founded?",
    "contexts": [CONTEXT, "Parking is free on Sundays."],
    "response": "The city library was founded in 1911.",
}


def asked(server: LLMServer, store: Path, row: dict[str, Any] = ROW, **options: Any) -> AskedOfRow:
    with ragassay.evaluate(
        [row],
        options.pop("metrics", "groundedness, answer_relevance"),
        judge="openai:mock",
        base_url=server.url,
        store=store,
        **options,
    ) as run:
        return run.asked(run["founded"])


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def test_where_nothing_was_kept_the_reason_is_told(store: Path) -> None:
    with LLMServer() as server:
        told = asked(server, store, keep_replies=False)
    assert told.exchanges == ()
    assert told.why == "the run was made with --no-keep-replies, so nothing of it was kept"
    with ragassay.evaluate([ROW], "groundedness", store=store) as run:
        assert run.asked(run["founded"]).why == (
            "the judge offline works on this machine by rules and figures, without a prompt"
        )


def test_what_was_redacted_is_not_in_what_is_kept(store: Path) -> None:
    row = {**ROW, "contexts": ["Ask anna.berg@example.org for the key of the reading room below."]}
    with LLMServer() as server:
        exchanges = asked(server, store, row, redact=True).exchanges
    texts = [text for each in exchanges for _, text in each.messages]
    assert any("[EMAIL_1]" in text for text in texts)
    assert "anna.berg" not in repr(exchanges)


def test_a_long_reply_is_kept_in_part_and_says_so(store: Path) -> None:
    with LLMServer(answer=lambda _: "x" * 50_000) as server:
        exchanges = asked(server, store).exchanges
    # Asked again each, since the first reply held no verdict.
    assert len(exchanges) == 4
    assert {each.reply.count("x") for each in exchanges} == {16_000}
    assert exchanges[0].reply.endswith("x… [34,000 more characters were not kept]")


def test_a_call_without_a_reply_says_why(store: Path) -> None:
    with LLMServer(fault_for=lambda _: "400") as server:
        exchanges = asked(server, store).exchanges
    assert [each.reply for each in exchanges] == ["", ""]
    assert all("400" in each.failure for each in exchanges)
    assert all(CONTEXT[:40] in str(each.messages) for each in exchanges[:1])


def test_texts_of_the_row_and_of_the_rubric_are_not_stored_twice(store: Path) -> None:
    numbers = [f"It is about the house number {n}. " * 40 for n in range(4)]
    with LLMServer() as server:
        told = asked(server, store, {**ROW, "contexts": [CONTEXT + text for text in numbers]})
        sent = [[(m["role"], m["content"]) for m in body["messages"]] for body in server.bodies]
    assert sorted(list(each.messages) for each in told.exchanges) == sorted(sent)
    with sqlite3.connect(store) as database:
        sizes = [len(payload) for (payload,) in database.execute("SELECT payload FROM exchanges")]
    assert len(sizes) == 2
    assert max(sizes) < 1_000


def test_a_rubric_that_has_changed_since_is_not_shown_as_what_was_sent(
    store: Path, tmp_path: Path
) -> None:
    rubric = tmp_path / "polite.md"
    text = """---
id: polite
purpose: Is the response polite?
scale: yes/no
---
A polite response answers without reproach.
"""
    rubric.write_text(text, encoding="utf-8")
    with LLMServer() as server:
        before = asked(server, store, metrics="polite", rubrics=[rubric])
    assert before.exchanges[0].missing == ""
    rubric.write_text(text.replace("without reproach", "with patience"), encoding="utf-8")
    with ragassay.open_run("last", store=store) as run:
        (after,) = run.asked(run["founded"]).exchanges
    assert after.missing == "the rubric polite has changed since, or is not there"
    assert after.messages[0][1] == "[the rubric polite]"
    assert after.reply == before.exchanges[0].reply
