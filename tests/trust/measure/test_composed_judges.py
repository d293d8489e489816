"""What can be made of judges: worked by hand on recorded ones, and asked for real over HTTP where
asking is the point.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, cohen_kappa_score

import ragassay
from ragassay.core import BudgetExhausted, DataError, SetupError, Verdict
from ragassay.testing import FENCE, LLMServer, answer_by_words
from ragassay.testing.prompts import prompt_text
from ragassay.trust.measure import calibrate, cascade, panel, repeat


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def labelled(path: Path, labels: list[int], **judges: list[Any]) -> Path:
    return write(
        path,
        [
            {
                "id": f"r{i}",
                "label": label,
                "judges": {name: said[i] for name, said in judges.items()},
            }
            for i, label in enumerate(labels)
        ],
    )


# -- calibrate


def test_a_judge_whose_scores_are_too_low_gets_a_map_and_a_lower_cut(tmp_path: Path) -> None:
    # Good rows score .25 to .45, bad ones .05 to .2: nothing passes from .5 on, everything is right
    # from .25 on.
    labels = [i % 2 for i in range(200)]
    scores = [
        0.25 + (i % 20) / 100 if good else 0.05 + (i % 16) / 100 for i, good in enumerate(labels)
    ]
    found = calibrate(labelled(tmp_path / "l.jsonl", labels, j=scores), "recorded:j", draws=200)
    assert (found.judge, found.missing, found.note) == ("recorded:j", 0, "")
    assert [one.kind for one in found.calibrations] == ["platt", "isotonic", "beta"]
    for one in found.calibrations:
        assert one.before is not None
        assert one.after is not None
        assert one.gain is not None
        assert one.gain.difference is not None
        assert one.before.brier.value == pytest.approx(brier_score_loss(labels, scores))
        assert one.after.brier.value is not None
        assert one.gain.difference == pytest.approx(
            one.after.brier.value - brier_score_loss(labels, scores)
        )
        assert one.gain.difference < -0.1
    change = found.change
    assert (change.old_cut, change.old, change.new, change.adopt) == (0.5, 0.0, 1.0, True)  # kappa
    assert change.cut is not None
    assert 0.2 < change.cut <= 0.26


def test_no_other_cut_is_adopted_where_the_old_one_is_best(tmp_path: Path) -> None:
    labels = [i % 2 for i in range(100)]
    scores = [0.8 if (i % 10 == 0) != bool(good) else 0.2 for i, good in enumerate(labels)]
    found = calibrate(labelled(tmp_path / "l.jsonl", labels, j=scores), "recorded:j", draws=200)
    passes = [score >= 0.5 for score in scores]
    assert found.change.old == pytest.approx(cohen_kappa_score(labels, passes))
    assert not found.change.adopt


def test_grades_are_calibrated_but_not_by_a_map_of_probabilities(tmp_path: Path) -> None:
    labels = [i % 2 for i in range(120)]
    grades = [min(5, 1 + 2 * good + i % 3) for i, good in enumerate(labels)]
    found = calibrate(
        labelled(tmp_path / "l.jsonl", labels, j=grades), "recorded:j", judge_cut=3, draws=200
    )
    assert [one.kind for one in found.calibrations] == ["platt", "isotonic"]
    assert all(one.before is None and one.after is not None for one in found.calibrations)
    assert "no probabilities" in found.note
    assert found.change.old_cut == 3


def test_rows_without_a_verdict_are_counted(tmp_path: Path) -> None:
    labels = [i % 2 for i in range(60)]
    scores = [None if i < 7 else 0.3 + 0.4 * good for i, good in enumerate(labels)]
    found = calibrate(labelled(tmp_path / "l.jsonl", labels, j=scores), "recorded:j", draws=200)
    assert found.missing == 7
    assert {one.n for one in found.calibrations} == {53}


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"figure": "kapa"}, "E0101"),
        ({"kinds": ["plat"]}, "E0101"),
        ({"folds": 1}, "E0101"),
        ({"draws": 1}, "E0101"),
        ({"costs": (-1.0, 1.0)}, "E0101"),
        ({"judge": "recorded:j,k"}, "E0205"),
        ({"judge": "recorded:x"}, "E0205"),
    ],
)
def test_what_cannot_be_calibrated_is_an_error_with_a_fix(
    tmp_path: Path, options: dict[str, Any], code: str
) -> None:
    labels = [i % 2 for i in range(20)]
    source = labelled(tmp_path / "l.jsonl", labels, j=labels, k=labels)
    with pytest.raises(SetupError) as caught:
        calibrate(source, **{"judge": "recorded:j", **options})
    assert caught.value.code == code
    assert caught.value.fix


# -- panel


def test_three_judges_that_err_on_different_rows_outvote_each_of_them(tmp_path: Path) -> None:
    # Each is wrong on 20 % of the rows, no two on the same row: the majority is always right.
    labels = [i % 2 for i in range(100)]
    votes = {
        name: [y ^ (i // 2 % 5 == k) for i, y in enumerate(labels)] for k, name in enumerate("abc")
    }
    found = panel(labelled(tmp_path / "l.jsonl", labels, **votes), "recorded:a,b,c", draws=200)
    assert (found.judges, found.n, found.dropped) == (
        ("recorded:a", "recorded:b", "recorded:c"),
        100,
        0,
    )
    assert found.accuracies == pytest.approx((0.8, 0.8, 0.8))
    majority = found.rules[0]
    assert (majority.name, majority.accuracy, majority.kappa) == ("majority", 1, 1)
    assert majority.gain.difference == pytest.approx(0.2)
    assert majority.gain.interval is not None
    assert majority.gain.interval.low > 0
    wrong = np.array(
        [[v != y for v, y in zip(votes[name], labels, strict=True)] for name in "abc"], dtype=float
    )
    reference = np.corrcoef(wrong)
    assert found.correlation[0][1] == pytest.approx(reference[0, 1])
    assert found.mean_correlation.value == pytest.approx(
        reference[np.triu_indices(3, 1)].mean()
    )  # -.25
    assert found.effective.value == pytest.approx(3 / (1 + 2 * -0.25))
    # Independent errors of .2: two or three of three right, .8^3 + 3 * .8^2 * .2.
    assert found.independent == pytest.approx(0.896)
    assert found.real == 1


def test_three_judges_that_are_one_are_worth_one(tmp_path: Path) -> None:
    labels = [i % 2 for i in range(80)]
    votes = [y ^ (i % 8 == 0) for i, y in enumerate(labels)]
    found = panel(
        labelled(tmp_path / "l.jsonl", labels, a=votes, b=votes, c=votes),
        "recorded:a,b,c",
        draws=200,
    )
    assert found.effective.value == pytest.approx(1)
    assert found.mean_correlation.value == pytest.approx(1)
    assert found.real == pytest.approx(1 - 1 / 8)
    assert found.rules[0].gain.difference == pytest.approx(0)


def test_a_panel_is_measured_over_rows_that_all_judged(tmp_path: Path) -> None:
    labels = [i % 2 for i in range(40)]
    a: list[Any] = [None if i < 5 else y for i, y in enumerate(labels)]
    b: list[Any] = [None if i >= 36 else y for i, y in enumerate(labels)]
    found = panel(labelled(tmp_path / "l.jsonl", labels, a=a, b=b), "recorded:a,b", draws=200)
    assert (found.n, found.dropped) == (31, 9)


def test_judges_of_no_common_row_and_a_single_judge_make_no_panel(tmp_path: Path) -> None:
    labels = [i % 2 for i in range(40)]
    a: list[Any] = [y if i < 20 else None for i, y in enumerate(labels)]
    b: list[Any] = [y if i >= 20 else None for i, y in enumerate(labels)]
    source = labelled(tmp_path / "l.jsonl", labels, a=a, b=b)
    with pytest.raises(DataError, match="E0315"):
        panel(source, "recorded:a,b", draws=200)
    with pytest.raises(SetupError, match="E0205"):
        panel(source, "recorded:a", draws=200)


# -- cascade


def test_a_cascade_is_certified_where_the_cheap_judge_is_sure_and_right(tmp_path: Path) -> None:
    # Sure (0 or 1) on 200 rows and always right there; near its cut on 100 rows, and right on half
    # of them.
    labels = [i % 2 for i in range(300)]
    cheap = [float(y) if i < 200 else (0.6 if i // 2 % 2 else 0.4) for i, y in enumerate(labels)]
    dear = [y ^ (i % 10 == 0) for i, y in enumerate(labels)]
    source = labelled(tmp_path / "l.jsonl", labels, cheap=cheap, dear=dear)
    found = cascade(source, "recorded:cheap", expensive="recorded:dear", agreement=0.95)
    assert found.guarantee.threshold == pytest.approx(1)
    assert found.guarantee.coverage == pytest.approx(2 / 3)
    assert found.guarantee.agreement == 1
    assert found.answered is not None
    assert (found.answered.value, found.answered.n) == (1, 200)
    assert found.rows == 300
    assert found.expensive == pytest.approx(0.9)
    assert found.accuracy == pytest.approx((200 + 90) / 300)
    assert found.uri == "", "a distance from a cut is not the confidence that a cascade goes by"
    assert cascade(source, "recorded:cheap", agreement=0.95).guarantee == found.guarantee


def test_nothing_is_certified_of_a_judge_that_guesses_and_the_expensive_one_answers_all(
    tmp_path: Path,
) -> None:
    labels = [i % 2 for i in range(100)]
    source = labelled(
        tmp_path / "l.jsonl", labels, cheap=[i // 2 % 2 for i in range(100)], dear=labels
    )
    found = cascade(source, "recorded:cheap", expensive="recorded:dear")
    assert (found.guarantee.threshold, found.guarantee.coverage, found.answered) == (None, 0, None)
    assert found.guarantee.reason
    assert (found.accuracy, found.expensive) == (1, 1)


@pytest.mark.parametrize(
    "options", [{"agreement": 1.0}, {"confidence": 0.0}, {"agreement": float("nan")}]
)
def test_an_agreement_or_confidence_that_cannot_be_is_an_error(
    tmp_path: Path, options: dict[str, float]
) -> None:
    source = labelled(tmp_path / "l.jsonl", [0, 1], a=[0, 1])
    with pytest.raises(SetupError, match="E0101"):
        cascade(source, "recorded:a", **options)  # type: ignore[arg-type]


FACTS = (
    "The harbour opened in {}.",
    "The bridge carries {} cars a day.",
    "The museum holds {} paintings.",
)


def claims(n: int) -> list[dict[str, Any]]:
    """Claims that stand in their context, and others that do not; every fifth is a fact with two
    roles changed.
    """
    found = []
    for i in range(n):
        fact, other = (
            FACTS[i % 3].format(1800 + i),
            f"Judgments are mailed to lawyer {i} in Geneva every night.",
        )
        said = other if i % 2 else fact
        if i % 5 == 0:
            fact, said = (
                f"The {a} lent {7000 + i} books to the {b}."
                for a, b in (("school", "museum"), ("museum", "school"))
            )
        found.append(
            {
                "id": f"r{i}",
                "task": "groundedness",
                "question": "What is known?",
                "label": int(said == fact),
                "contexts": [f"{fact} It is open all year."],
                "response": said,
            }
        )
    return found


@pytest.mark.slow
def test_the_judge_that_a_cascade_names_runs_and_agrees_with_people_as_often_as_it_was_told(
    tmp_path: Path,
) -> None:
    rows = claims(120)
    source, store = write(tmp_path / "l.jsonl", rows), tmp_path / "s.db"

    def careful(body: dict[str, Any]) -> Any:
        """The expensive model also sees when two have changed places."""
        reply, prompt = answer_by_words(body), prompt_text(body)
        wrong = {m[2] for m in FENCE.finditer(prompt) if re.search(r"\b7\d{3}\b", m[3])}
        assert isinstance(reply, dict)
        scale = body["response_format"]["json_schema"]["schema"]["properties"]["verdicts"]["items"][
            "properties"
        ]
        for entry in reply["verdicts"]:
            if entry["id"] in wrong:
                entry["rating"] = scale["rating"]["enum"][0]
        return reply

    with LLMServer(answer=careful) as server:
        options: dict[str, Any] = {"base_url": server.url, "store": store}
        found = cascade(source, "offline", expensive="openai:mock", agreement=0.95, **options)
        assert found.uri.startswith("cascade:offline>openai:mock@")
        assert (found.rows, found.expensive) == (120, 1)
        assert found.accuracy is not None
        assert found.accuracy > 0.9
        assert 0.3 < found.guarantee.coverage < 1
        before = server.calls
        assert (
            cascade(source, "offline", expensive="openai:mock", agreement=0.95, **options) == found
        )
        assert server.calls == before, "what was asked once is known"
        with ragassay.evaluate(source, "groundedness", judge=found.uri, **options) as run:
            right = sum(
                (row.score("groundedness").verdict is Verdict.PASS) == bool(label)  # type: ignore[union-attr]
                for row, label in zip(run, (row["label"] for row in rows), strict=True)
            )
            escalated = sum(
                any("escalated" in part.flags for part in row.score("groundedness").parts)  # type: ignore[union-attr]
                for row in run
            )
        assert right / 120 == pytest.approx(found.accuracy)
        assert 1 - escalated / 120 == pytest.approx(found.guarantee.coverage)
        assert server.calls == before, "the expensive one's verdicts were known as well"


# -- repeat

ROWS = [
    {
        "id": f"r{i}",
        "question": "When was the bridge opened?",
        "contexts": [f"The bridge was opened in 1932. Note {i}."],
        "response": "The bridge was opened in 1932.",
    }
    for i in range(20)
]


class Fickle:
    """A model that rates every row 3, but 0 where `turns` says so of (row, time it is asked)."""

    def __init__(self, turns: Any) -> None:
        self.turns, self.times = turns, Counter[int]()

    def __call__(self, body: dict[str, Any]) -> Any:
        reply = answer_by_words(body)
        found = re.search(r"Note (\d+)", prompt_text(body))
        assert found is not None
        assert isinstance(reply, dict)
        row = int(found[1])
        self.times[row] += 1
        for entry in reply["verdicts"]:
            entry["rating"] = 0 if self.turns(row, self.times[row]) else 3
        return reply


@pytest.mark.slow
def test_a_model_that_changes_its_mind_on_a_quarter_of_the_rows_has_that_flip_rate(
    tmp_path: Path,
) -> None:
    # Rows 0, 4, 8 ... turn in the second of four samples: 5 of 20 rows, in each of them 3 pairs of
    # samples of 6 differ.
    with LLMServer(answer=Fickle(lambda row, time: row % 4 == 0 and time == 2)) as server:
        options: dict[str, Any] = {
            "metric": "chunk_relevance",
            "samples": 4,
            "base_url": server.url,
            "store": tmp_path / "s.db",
            "draws": 200,
        }
        found = repeat(ROWS, "openai:mock", **options)
        assert server.calls == 80, "every sample asks anew"
        assert {body["temperature"] for body in server.bodies} == {1.0}
        assert (found.samples, found.n, found.alone, found.lost) == (4, 20, 0, 0)
        assert found.flip_rate.value == pytest.approx(0.25)
        assert found.two_differ.value == pytest.approx(0.25 * 3 / 6)
        # Fleiss: observed .875, passes 75 of 80, chance .9375^2 + .0625^2.
        chance = 0.9375**2 + 0.0625**2
        assert found.kappa.value == pytest.approx((0.875 - chance) / (1 - chance))
        assert repeat(ROWS, "openai:mock", **options) == found
        assert server.calls == 80, "asked again, the samples are known"
        repeat(ROWS, "openai:mock", **options | {"samples": 5})
        assert server.calls == 100, "a further sample is asked alone"


def test_a_verdict_that_is_lost_in_a_sample_is_counted_and_not_filled(tmp_path: Path) -> None:
    fickle = Fickle(lambda row, time: False)

    def fault(body: dict[str, Any]) -> str | None:
        found = re.search(r"Note (\d+)", prompt_text(body))
        return "400" if found is not None and found[1] == "7" else None

    with LLMServer(answer=fickle, fault_for=fault) as server:
        found = repeat(
            ROWS,
            "openai:mock",
            metric="chunk_relevance",
            samples=2,
            base_url=server.url,
            store=tmp_path / "s.db",
            draws=200,
        )
    assert (found.n, found.alone, found.lost) == (19, 1, 2)
    assert found.flip_rate.value == 0
    assert found.kappa.value is None
    assert found.kappa.reason


def test_a_judge_that_loses_every_verdict_has_no_flip_rate(tmp_path: Path) -> None:
    with LLMServer(fault_for=lambda body: "400") as server:
        found = repeat(
            ROWS[:3],
            "openai:mock",
            metric="chunk_relevance",
            samples=2,
            base_url=server.url,
            store=tmp_path / "s.db",
            draws=200,
        )
    assert (found.n, found.lost) == (0, 6)
    for figure in (found.flip_rate, found.two_differ, found.kappa):
        assert (figure.value, figure.interval) == (None, None)
        assert figure.reason


def test_the_offline_judge_repeats_itself(tmp_path: Path) -> None:
    found = repeat(claims(12), metric="groundedness", samples=2, store=tmp_path / "s.db", draws=200)
    assert found.flip_rate.value == 0
    assert found.kappa.value == pytest.approx(1)


def test_a_cap_holds_for_all_samples_together_and_nothing_is_said_of_half(tmp_path: Path) -> None:
    with (
        LLMServer(answer=Fickle(lambda row, time: False)) as server,
        pytest.raises(BudgetExhausted, match="E0604"),
    ):
        repeat(
            ROWS,
            "openai:mock",
            metric="chunk_relevance",
            samples=3,
            base_url=server.url,
            store=tmp_path / "s.db",
            max_calls=30,
        )
    assert server.calls <= 30


@pytest.mark.parametrize("samples", [0, 1, 101])
def test_to_repeat_takes_two_samples(tmp_path: Path, samples: int) -> None:
    with pytest.raises(SetupError, match="E0101"):
        repeat(ROWS, metric="chunk_relevance", samples=samples, store=tmp_path / "s.db")


def test_a_metric_without_a_pass_mark_has_nothing_to_repeat(tmp_path: Path) -> None:
    rows = [
        {
            "id": "a",
            "question": "q?",
            "contexts": ["c"],
            "response": "r",
            "retrieved_ids": ["1"],
            "relevant_ids": ["1"],
        }
    ]
    with pytest.raises(DataError, match="E0315"):
        repeat(rows, metric="mrr", samples=2, store=tmp_path / "s.db")
