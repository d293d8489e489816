"""Users' ratings beside what judges say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.report import write_html
from ragassay.store import Store
from support.whole_reports import whole_text

RIGHT = "The bridge was opened in 1937."
WRONG = "The bridge was opened in 1953."


def rows(*given: tuple[str, object]) -> list[dict[str, Any]]:
    return [
        {
            "id": f"r{n}",
            "question": "When was the bridge opened?",
            "contexts": [RIGHT],
            "response": response,
            "feedback": rating,
        }
        for n, (response, rating) in enumerate(given)
    ]


AGREEING = [(RIGHT, "up")] * 10 + [(WRONG, "down")] * 8
UNHAPPY_ALL_THE_SAME = [(RIGHT, "down")] * 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("users")


@pytest.fixture(scope="module")
def run(folder: Path) -> Any:
    given = rows(*AGREEING, *UNHAPPY_ALL_THE_SAME, (RIGHT, None), (RIGHT, "neutral"))
    return ragassay.evaluate(given, store=folder / "s.db")


def test_what_users_said_is_a_metric_with_an_interval_where_rows_hold_it(run: Any) -> None:
    (satisfaction,) = [m for m in run.summary.metrics if m.metric == "user_satisfaction"]
    # 10 of 20 are happy, one is neutral: 10.5 / 21.
    assert (satisfaction.n, satisfaction.mean) == (21, pytest.approx(0.5))
    assert satisfaction.interval is not None
    assert satisfaction.interval.low < 0.5 < satisfaction.interval.high
    assert (satisfaction.pass_rate, satisfaction.not_applicable) == (None, 1)


def test_the_agreement_with_the_judges_is_shown_with_the_rows_that_contradict(
    run: Any, folder: Path
) -> None:
    by_metric = {beside.metric: beside for beside in run.summary.users}
    grounded = by_metric["groundedness"]
    assert (grounded.rows, grounded.unhappy, grounded.unhappy_passed) == (20, 10, 2)
    assert grounded.examples == ("r18", "r19")
    # 18 of 20 agree; by chance 0.5 * 0.6 + 0.5 * 0.4 = 0.5 do: (0.9 - 0.5) / (1 - 0.5).
    assert grounded.kappa == pytest.approx(0.8)
    assert grounded.kappa_interval is not None
    assert grounded.kappa_interval.low < 0.8 < grounded.kappa_interval.high
    assert by_metric[""].rows == 20
    text = whole_text(run.summary, 200)
    assert "Beside the users who rated the answers" in text
    assert (
        "groundedness: passes 2 of 10 rows that users were unhappy with (of 20 rated), e.g. r18,"
        " r19; kappa 0.80 ["
    ) in text
    with Store.open(folder / "s.db") as store:
        write_html(store, run.id, folder / "r.html")
    assert "passes 2 of 10 rows that users were unhappy with" in (folder / "r.html").read_text()


def test_several_ratings_of_a_row_are_one_value_of_it(tmp_path: Path) -> None:
    given = rows((RIGHT, ["up", "up", {"stars": 3}]))
    run = ragassay.evaluate(given, "user_satisfaction", store=tmp_path / "s.db")
    score = run["r0"].score("user_satisfaction")
    assert score is not None
    assert score.value == pytest.approx(2.5 / 3)
    assert score.extra == {"ratings": 3.0}


def test_it_is_part_of_the_preset_for_comparing_two_versions(tmp_path: Path) -> None:
    def version(ratings: list[tuple[str, object]]) -> Any:
        return ragassay.evaluate(rows(*ratings), preset="ab", store=tmp_path / "s.db")

    before, after = version([(RIGHT, "down")] * 12), version([(RIGHT, "up")] * 12)
    compared = ragassay.compare(before, after)
    (difference,) = [m for m in compared.metrics if m.metric == "user_satisfaction"]
    assert difference.result.difference == pytest.approx(1.0)


def test_rows_that_nobody_rated_say_nothing_of_users(tmp_path: Path) -> None:
    plain = rows(*AGREEING)
    for row in plain:
        del row["feedback"]
    run = ragassay.evaluate(plain, store=tmp_path / "s.db")
    assert "user_satisfaction" not in run.manifest.metrics
    assert run.summary.users == ()
    assert "users" not in whole_text(run.summary)
