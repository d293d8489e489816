"""The rows of a test set under stress: they get their passages from the set's documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.core import NothingToDo
from ragassay.stress import set_rows
from ragassay.stress.rows import read_rows
from support.small_town import write_pages

TINY: dict[str, Any] = {"numbers": [1], "kinds": ["changed-fact"], "positions": ["last"]}


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A set made of the small town's pages."""
    write_pages(tmp_path / "docs")
    path = tmp_path / "set.jsonl"
    ragassay.make_testset(tmp_path / "docs", size=12, out=path)
    return path


def test_a_row_gets_the_passages_that_hold_its_evidence(made: Path) -> None:
    rows = read_rows(made)
    assert rows.answerable
    for row in rows.answerable:
        assert row.support
        assert all(context.id for context in row.contexts)
        # A passage of the document, and more than the quote alone.
        assert "\n" in row.contexts[row.support[0]].text


def test_all_passages_of_the_documents_can_be_distractors(made: Path) -> None:
    found = {passage.text.split("\n")[0] for passage in read_rows(made).passages}
    assert {"# Harbour Museum", "# Lena Ortiz", "# Ferry Hall"} <= found


def test_what_the_documents_do_not_tell_is_asked_with_the_nearest_passages(made: Path) -> None:
    unanswerable = read_rows(made).unanswerable
    assert unanswerable
    assert all(1 <= len(row.contexts) <= 3 for row in unanswerable)


def test_an_answer_that_is_worked_out_is_left_out_and_named(made: Path) -> None:
    reasons = {one.reason for one in read_rows(made).left_out}
    assert "its answer is worked out, and stands in no passage" in reasons


def test_without_its_documents_the_quotes_stand_for_passages(made: Path) -> None:
    (made.parent / "docs").rename(made.parent / "moved")
    rows = read_rows(made)
    assert rows.answerable
    assert any("name the folder with --corpus" in note for note in rows.notes)
    again = read_rows(made, corpus=made.parent / "moved")
    assert not any("--corpus" in note for note in again.notes)
    assert len(again.answerable[0].contexts[0].text) > len(rows.answerable[0].contexts[0].text)


def test_a_document_that_changed_since_gives_the_quote_and_not_what_stands_there_now(
    made: Path,
) -> None:
    for page in (made.parent / "docs").glob("*.md"):
        page.write_text("Another text altogether, of more than a dozen words. " * 20)
    for row in read_rows(made).answerable:
        assert row.support


def test_of_a_large_corpus_the_passages_near_the_questions_are_taken(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = len(read_rows(made).passages)
    monkeypatch.setattr(set_rows, "MOST_PASSAGES", 2)
    monkeypatch.setattr(set_rows, "_NEAR", 1)
    assert 0 < len(read_rows(made).passages) <= whole


def test_a_folder_is_a_corpus_for_any_rows(tmp_path: Path) -> None:
    write_pages(tmp_path / "docs")
    row = {
        "id": "x",
        "question": "When did it open?",
        "reference": "1999",
        "contexts": ["In 1999."],
    }
    found = read_rows([row], corpus=tmp_path / "docs")
    assert len(found.passages) == 4


def test_a_set_is_stressed_from_its_file_and_from_the_program_that_made_it(made: Path) -> None:
    def system(question: str, contexts: list[str]) -> str:
        return " ".join(contexts) or "I do not know."

    store = made.parent / "s.db"
    found = ragassay.stress_test(system, str(made), store=store, **TINY)
    assert found.noise is not None
    assert found.noise.floor.right == 1.0
    assert "no spot check by people" in found.notes[0]
    assert any("no spot check by people" in str(block) for block in found.blocks())
    again = ragassay.make_testset(made.parent / "docs", size=12)
    same = ragassay.stress_test(system, again.rows(), store=store, **TINY)
    assert same.noise == found.noise
    # Of what no row is in, the report says so, and why.
    assert found.untested.keys() == {"integration"}
    assert any("Not tested: integration (" in str(block) for block in found.blocks())


def test_rows_that_only_look_like_a_set_are_rows(tmp_path: Path) -> None:
    row = {"id": "x", "question": "When?", "reference": "1999", "testset": {"note": "mine"}}
    with pytest.raises(NothingToDo, match="E1101") as caught:
        read_rows([row])
    assert caught.value.why == "x: it has no contexts"
