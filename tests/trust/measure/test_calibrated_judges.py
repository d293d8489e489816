"""A calibrated judge: its map is stored under a name, runs, and has a certificate of its own."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ragassay
from ragassay.core import ScoreMap, SetupError, Verdict
from ragassay.scoring.calibration import Calibrator
from ragassay.testing import LLMServer

FACT = "The museum holds {} paintings of sailing ships."
OTHER = "Lawyer {} mails judgments abroad every single night."


def rows(count: int, seed: int) -> list[dict[str, Any]]:
    """Rows of three kinds, by how much of the response stands in the context. People pass nearly
    all that stand there whole, half of those of one claim in two, and few of the rest.
    """
    chance = random.Random(seed)
    made = []
    for number in range(count):
        fact, other = FACT.format(number), OTHER.format(number)
        kind = number % 3
        response = (other, f"{fact} {other}", fact)[kind]
        made.append(
            {
                "id": f"r{number}",
                "question": "What is known?",
                "contexts": [fact],
                "response": response,
                "label": int(chance.random() < (0.1, 0.5, 0.9)[kind]),
            }
        )
    return made


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A store with a calibrated judge named support."""
    store = str(tmp_path / "store.db")
    with LLMServer() as server:
        ragassay.calibrate(
            rows(90, 1),
            "openai:mock",
            metric="groundedness",
            kinds=["platt"],
            save="support",
            draws=200,
            base_url=server.url,
            store=store,
        )
    return store


def test_a_map_is_stored_runs_and_its_certificate_is_of_rows_it_was_not_fitted_on(
    store: str,
) -> None:
    labelled = rows(90, 1)
    with LLMServer() as server:
        asked: dict[str, Any] = {"base_url": server.url, "store": store}
        measured: dict[str, Any] = {"metric": "groundedness", "draws": 200, **asked}
        made = ragassay.calibrate(
            labelled, "openai:mock", kinds=["platt"], save="support", **measured
        )
        assert made.saved is not None
        score_map = made.saved.score_map
        assert score_map is not None
        assert (score_map.name, score_map.judge) == ("support", "openai:mock")
        assert made.saved.judge == "calibrated:support"
        assert "out-of-fold" in made.saved.note

        calls = server.stats()["calls"]
        run = ragassay.evaluate(labelled, "groundedness", judge="calibrated:support", **asked)
        # What the judge itself said of these rows is known: nothing is asked again.
        assert server.stats()["calls"] == calls
        plain = ragassay.evaluate(labelled, "groundedness", judge="openai:mock", **asked)
        own = {row.id: row.score("groundedness") for row in plain}
        for row in run:
            score, raw = row.score("groundedness"), own[row.id]
            assert score is not None
            assert raw is not None
            assert raw.value is not None
            assert score.value is not None
            assert score.value == pytest.approx(score_map(raw.value))
            assert score.extra["uncalibrated"] == raw.value
            assert score.verdict is (Verdict.PASS if score.value >= 0.5 else Verdict.FAIL)
        # Its fingerprint holds the map: it is another judge than its base.
        assert run.manifest.judge.uri == "calibrated:support"
        theirs = plain.manifest.judge.measured_as
        assert run.manifest.judge.measured_as["groundedness"] != theirs["groundedness"]
        assert dict(run.manifest.judge.measured_as) | dict(made.saved.fingerprints) == dict(
            run.manifest.judge.measured_as
        )
        same = ragassay.benchmark(labelled, "calibrated:support", **measured).judges[0]
        assert any("fitted on these very labels" in warning for warning in same.warnings)
        # On other rows it is a judge like any other, and the map has made its scores probabilities.
        fresh = ragassay.benchmark(rows(90, 2), ["calibrated:support", "openai:mock"], **measured)
        calibrated, base = (judge.figure("brier") for judge in fresh.judges)
        assert calibrated is not None
        assert base is not None
        assert calibrated.value is not None
        assert base.value is not None
        assert calibrated.value < base.value
    run.close()
    plain.close()


def test_a_resume_goes_by_the_map_that_the_run_began_with(store: str) -> None:
    with LLMServer() as server:
        with ragassay.evaluate(
            rows(6, 3),
            "groundedness",
            judge="calibrated:support",
            base_url=server.url,
            store=store,
            max_calls=0,
        ) as stopped:
            run_id, before = stopped.id, stopped.manifest.options["calibration"]
        # Another map under the same name, later.
        ragassay.calibrate(
            rows(90, 5),
            "openai:mock",
            metric="groundedness",
            kinds=["isotonic"],
            save="support",
            draws=200,
            base_url=server.url,
            store=store,
        )
        with ragassay.resume(run_id, rows=rows(6, 3), store=store, max_calls=100) as resumed:
            assert resumed.manifest.options["calibration"] == before
            scores = [row.score("groundedness") for row in resumed]
        assert all(score is not None and score.value is not None for score in scores)


def test_what_no_calibrated_judge_can_do_is_said(store: str) -> None:
    with pytest.raises(SetupError, match="No calibrated judge is stored as 'suport'"):
        ragassay.evaluate(rows(3, 1), "groundedness", judge="calibrated:suport", store=store)
    with pytest.raises(SetupError, match="is calibrated for groundedness"):
        ragassay.evaluate(rows(3, 1), "answer_relevance", judge="calibrated:support", store=store)
    with pytest.raises(SetupError, match="cannot be stored as a judge"):
        ragassay.calibrate(
            [{**row, "mine": row["label"] * 0.5 + 0.2} for row in rows(30, 1)],
            "recorded:mine",
            save="other",
            store=store,
        )
    with pytest.raises(SetupError, match="letters, digits"):
        ragassay.calibrate(rows(3, 1), "offline", save="../x", store=store)


@pytest.mark.parametrize(
    "calibrator",
    [
        Calibrator("platt", (2.5, -1.0)),
        Calibrator("beta", (1.5, 0.5, -0.2)),
        Calibrator("isotonic", (0.1, 0.1, 0.6, 0.95), (0.0, 0.2, 0.5, 0.9)),
    ],
)
def test_a_stored_map_gives_what_the_fitted_one_gives(calibrator: Calibrator) -> None:
    stored = ScoreMap("a", "j", "m", calibrator.kind, calibrator.parameters, calibrator.at)
    scores = np.linspace(0, 1, 41)
    assert [stored(float(score)) for score in scores] == pytest.approx(calibrator(scores).tolist())
