"""The types of queries as slices that nobody had to name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ragassay
from support.whole_reports import whole_text


def rows(keyword_answer: str, **more: Any) -> list[dict[str, Any]]:
    """Twelve questions with a right answer, and twelve keyword queries with this one."""
    made: list[dict[str, Any]] = []
    for n in range(12):
        room = f"Room {n} of the museum shows {n + 2} ships."
        question = {"question": f"How many ships does room {n} show?", "response": room}
        keywords = {"question": f"museum ships room {n}", "response": keyword_answer or room}
        made += [{"contexts": [room], **question, **more}, {"contexts": [room], **keywords, **more}]
    return made


def evaluate(tmp_path: Path, given: list[dict[str, Any]]) -> Any:
    return ragassay.evaluate(given, "groundedness", store=tmp_path / "s.db")


def test_a_type_of_query_that_fails_is_found_without_being_named(tmp_path: Path) -> None:
    run = evaluate(tmp_path, rows("The museum sells boats for 90 euros."))
    assert run["row-1"].sample.slices == {"query type": "simple"}
    worst = run.summary.slices[0]
    assert (worst.slice, worst.value, worst.n) == ("query type", "keywords", 12)
    assert worst.p is not None
    assert worst.p < 0.05
    text = whole_text(run.summary, 160)
    assert "Slices that differ from the rest" in text
    assert "query type = keywords" in text


def test_types_that_do_not_differ_and_one_that_all_rows_have_are_not_shown(tmp_path: Path) -> None:
    alike = evaluate(tmp_path, rows(""))
    assert "Slices" not in whole_text(alike.summary)
    one_type = evaluate(tmp_path, rows("The museum sells boats.")[::2])
    assert one_type.summary.slices == ()


def test_a_type_of_fewer_than_five_rows_is_not_compared(tmp_path: Path) -> None:
    few = rows("The museum sells boats for 90 euros.")
    run = evaluate(tmp_path, [*few[::2], *few[1:8:2]])
    assert run.summary.slices == ()


def test_a_type_that_the_user_names_is_the_user_s(tmp_path: Path) -> None:
    named = rows("The museum sells boats for 90 euros.", slices={"query_type": "faq"})
    run = evaluate(tmp_path, named)
    assert run["row-1"].sample.slices == {"query_type": "faq"}
