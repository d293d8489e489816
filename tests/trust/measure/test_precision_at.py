"""Precision at k of a run, corrected by labels of chunks."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

import ragassay
from ragassay.core import DataError, SetupError
from ragassay.scoring import ppi
from ragassay.trust.measure import precision_at

ROWS, K = 60, 3


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with a run of rankings: three chunks a row, of every fourth row two."""
    chance = random.Random(4)
    rows = []
    for number in range(ROWS):
        good = f"The harbour of town {number} opened in {1800 + number}."
        bad = f"Bakers in province {number} sell rye bread on Mondays."
        contexts = [good if chance.random() < 0.6 else bad for _ in range(2 + (number % 4 > 0))]
        question = f"When did the harbour of town {number} open?"
        rows.append({"id": f"r{number}", "question": question, "contexts": contexts})
    place = str(tmp_path_factory.mktemp("store") / "store.db")
    ragassay.evaluate(rows, "chunk_relevance", store=place).close()
    return place


def labelled(store: str, path: Path, count: int) -> dict[str, float]:
    """Labels of so many chunks, drawn at random: as the judge says of four in five."""
    verdicts: dict[str, float] = {}
    with ragassay.open_run("last", store=store) as run:
        for row in run:
            score = row.score("chunk_relevance")
            assert score is not None
            for part in score.parts:
                assert part.context is not None
                if part.passed is not None:
                    verdicts[f"{row.id}#{part.context + 1}"] = float(part.passed)
    chance = random.Random(9)
    chosen = chance.sample(sorted(verdicts), count)
    labels = {at: verdicts[at] if chance.random() < 0.8 else 1 - verdicts[at] for at in chosen}
    lines = []
    for at, value in labels.items():
        row_id, _, rank = at.partition("#")
        lines.append(json.dumps({"id": row_id, "chunk": int(rank), "label": value}))
    path.write_text("\n".join(lines))
    return labels


def test_the_corrected_precision_is_that_of_the_chunks_by_the_share_of_filled_places(
    store: str, tmp_path: Path
) -> None:
    labels = labelled(store, tmp_path / "chunks.jsonl", 80)
    got = precision_at("last", tmp_path / "chunks.jsonl", K, store=store)
    # Every fourth row has two chunks: 45 * 3 + 15 * 2 places of 180 are filled.
    assert (got.rows, got.filled) == (ROWS, 165)
    assert got.share == pytest.approx(165 / 180)
    assert got.correction is not None
    assert got.correction.used == 80
    # The labels alone, by hand.
    alone = got.correction.estimate.labels_only
    assert alone == pytest.approx(np.mean(list(labels.values())))
    assert got.judge is not None
    assert got.interval is not None
    assert got.interval.low <= got.value <= got.interval.high
    inner = got.correction.estimate
    assert inner.value is not None
    assert got.value == pytest.approx(165 / 180 * inner.value)
    assert inner.n_labelled >= ppi.LEAST_LABELS
    # Of the first place alone, fewer labels count.
    first = precision_at("last", tmp_path / "chunks.jsonl", 1, store=store)
    assert first.correction is not None
    assert first.correction.used == sum(at.endswith("#1") for at in labels)
    assert first.filled == ROWS


def test_what_cannot_be_corrected_so_is_said(store: str, tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text('{"id": "r1", "label": 1}\n')
    with pytest.raises(DataError) as raised:
        precision_at("last", path, 3, store=store)
    assert raised.value.code == "E0313"
    with pytest.raises(SetupError, match="k is 1 or more"):
        precision_at("last", path, 0, store=store)
    with pytest.raises(SetupError, match="no judged chunks"):
        precision_at("last", path, 3, metric="groundedness", store=store)
