"""How rows were read is told to a program: once, and nothing of it is lost."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path

import pytest

import ragassay
from ragassay.core import RowsWarning

ROWS = [
    {
        "user_input": "How long is the bridge?",
        "retrieved_contexts": ["The bridge is 12 kilometres long."],
        "answer": "It is 12 kilometres long.",
        "reference": ["12 kilometres", "12 km"],
        "price_class": 7,
    }
]


def evaluate(folder: Path, rows: object = ROWS, **options: object) -> None:
    with ragassay.evaluate(
        rows,
        "answer_relevance",
        store=folder / "store.db",
        **options,  # type: ignore[arg-type]
    ):
        pass


def test_what_was_left_out_is_one_warning_and_the_rest_is_logged(tmp_path, caplog) -> None:
    with caplog.at_level(logging.INFO, "ragassay"), pytest.warns(RowsWarning) as given:
        evaluate(tmp_path)
    assert [str(warning.message) for warning in given] == [
        "the rows: 1 row holds several references; the first is read"
    ]
    logged = [record.message for record in caplog.records if record.name == "ragassay"]
    assert "read answer as response" in logged
    assert "read user_input as question" in logged
    seen = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert seen == ["ignored price_class"]  # shown where logging was not set up
    assert len(logged) == len(set(logged))


def test_rows_that_are_read_whole_give_no_warning(tmp_path) -> None:
    whole = {key: cell for key, cell in ROWS[0].items() if key not in ("price_class", "reference")}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate(tmp_path, [whole])


def test_a_guess_is_a_warning(tmp_path) -> None:
    rows = [{"question": "How long is it?", "bot_reply": "It is 12 kilometres long."}]
    with pytest.warns(RowsWarning, match="took bot_reply for response, by a guess"):
        evaluate(tmp_path, rows, yes=True)


def test_who_takes_the_lines_gets_all_of_them_and_no_warning(tmp_path) -> None:
    told: list[str] = []
    evaluate(tmp_path, tell=told.append)
    assert "ignored price_class" in told
    assert "1 row holds several references; the first is read" in told
    assert len(told) == len(set(told))
