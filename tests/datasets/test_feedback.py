"""What users said of answers, in the forms in which applications keep it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ragassay.core import BadRow, Sample
from ragassay.datasets import open_rows, to_record


def read(row: dict[str, Any], **more: Any) -> Sample | BadRow:
    (sample,) = open_rows([{"question": "Why?", **row}], **more)
    return sample


def feedback(row: dict[str, Any]) -> tuple[float, ...] | None:
    sample = read(row)
    assert isinstance(sample, Sample), sample
    return sample.feedback


@pytest.mark.parametrize(
    ("row", "values"),
    [
        ({"feedback": True}, (1.0,)),
        ({"feedback": False}, (0.0,)),
        ({"thumbs": "up"}, (1.0,)),
        ({"thumbs": "Thumbs down"}, (0.0,)),
        ({"thumbs": "👎"}, (0.0,)),
        ({"user_feedback": "not helpful"}, (0.0,)),
        ({"feedback": "neutral"}, (0.5,)),
        ({"feedback": 1}, (1.0,)),
        ({"feedback": 0}, (0.0,)),
        ({"feedback": -1}, (0.0,)),
        ({"user_score": 0.8}, (0.8,)),
        # Stars are from 1 to 5: (4 - 1) / (5 - 1).
        ({"stars": 4}, (0.75,)),
        ({"stars": 1}, (0.0,)),
        ({"csat": "5"}, (1.0,)),
        ({"rating": "4/5"}, (0.75,)),
        ({"rating": "2 out of 5 stars"}, (0.25,)),
        ({"rating": "★★★☆☆"}, (0.5,)),
        # Of ten there is a zero.
        ({"rating": "7/10"}, (0.7,)),
        ({"feedback": {"value": 0, "scale": [-1, 1]}}, (0.5,)),
        ({"feedback": {"rating": 4, "scale": "1-7"}}, (0.5,)),
        ({"feedback": {"score": 3, "min": 1, "max": 5}}, (0.5,)),
        ({"feedback": {"stars": 2}}, (0.25,)),
        ({"feedback": {"comment": "Thanks!"}}, None),
        ({"feedback": None}, None),
        ({"feedback": []}, None),
        ({"feedback": ["up", "down", "up"]}, (1.0, 0.0, 1.0)),
        ({"feedback": '["up", {"stars": 3}]'}, (1.0, 0.5)),
    ],
)
def test_a_rating_is_read_on_its_scale(row: dict[str, Any], values: Any) -> None:
    assert feedback(row) == (None if values is None else pytest.approx(values))


def test_the_last_rating_of_a_user_takes_the_earlier_ones_back() -> None:
    events = [
        {"thumbs": "up", "user": "ann", "timestamp": "2026-03-02T10:00:00Z"},
        {"thumbs": "down", "user": "ann", "timestamp": "2026-03-01T10:00:00Z"},
        {"thumbs": "down", "user": "bob", "timestamp": "2026-03-03T10:00:00Z"},
    ]
    assert feedback({"feedback": events}) == (1.0, 0.0)
    # Without times the order is that of the list; without users each is of another one.
    undated = [{"value": event["thumbs"], "user": event["user"]} for event in events]
    assert feedback({"feedback": undated}) == (0.0, 0.0)
    assert feedback({"feedback": [event["thumbs"] for event in events]}) == (1.0, 0.0, 0.0)
    seconds = [{"value": 1, "user": 7, "time": 100}, {"value": 0, "user": 7, "time": 20}]
    assert feedback({"feedback": seconds}) == (1.0,)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"rating": 4}, "have no known scale"),  # of five? of ten?
        ({"stars": 0}, "have no known scale"),
        ({"stars": 6}, "have no known scale"),
        ({"feedback": {"value": 4, "scale": "many"}}, "have no known scale"),
        ({"feedback": "Great answer, thank you!"}, "hold words and no rating"),
        ({"feedback": [["up"]]}, "hold words and no rating"),
    ],
)
def test_what_cannot_be_read_is_counted_and_costs_no_row(row: dict[str, Any], words: str) -> None:
    assert feedback(row) is None
    (note,) = open_rows([{"question": "Why?", **row}]).scan().notes
    assert note.startswith("1 ")
    assert words in note


def test_of_several_ratings_those_that_can_be_read_count() -> None:
    assert feedback({"feedback": [True, 3, "thanks"]}) == (1.0,)


def test_two_columns_of_ratings_are_no_reason_to_stop() -> None:
    assert feedback({"user_score": 1, "rating": "2/5"}) == (0.25,)


def test_a_column_of_stars_under_another_name_is_read_by_the_map() -> None:
    sample = read({"score_by_user": 2}, mapping={"stars": "score_by_user"})
    assert isinstance(sample, Sample)
    assert sample.feedback == (0.25,)


def test_feedback_is_written_as_it_is_read(tmp_path: Path) -> None:
    sample = read({"id": "a", "feedback": [True, {"stars": 4}]})
    assert isinstance(sample, Sample)
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(to_record(sample)) + "\n")
    (again,) = open_rows(path)
    assert isinstance(again, Sample)
    assert again.feedback == sample.feedback == (1.0, 0.75)
