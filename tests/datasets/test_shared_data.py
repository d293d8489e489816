"""The human-labelled sets in their uniform form read as they are, where that folder is at hand."""

import gzip
import os
from pathlib import Path

import orjson
import pytest

from ragassay.core import Sample
from ragassay.datasets import open_rows
from support.present import present

DATA = Path(os.environ.get("RAGASSAY_DATA", Path(__file__).parents[3] / "shared" / "data"))
SETS = sorted(DATA.glob("*/*.jsonl.gz")) if DATA.is_dir() else []

pytestmark = pytest.mark.skipif(
    not SETS, reason="the folder ../shared/data (or RAGASSAY_DATA) is not there"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["wice", "ragtruth_qa", "mtrag_human", "clapnq", "openqa_eval", "haluquestqa", "bipia"]
)
def test_a_set_reads_as_it_is(name):
    path = DATA / name / f"{name}.jsonl.gz"
    with gzip.open(path) as file:
        raw = [orjson.loads(line) for line in file]
    data = open_rows(path)
    scan = data.scan()
    assert (scan.rows, scan.bad) == (len(raw), 0)
    assert "read group as cluster" in scan.lines
    for row, sample in zip(raw, data, strict=True):
        assert isinstance(sample, Sample)
        assert (sample.id, sample.question, sample.response) == (
            row["id"],
            row.get("question"),
            row.get("response"),
        )
        assert [c.text for c in present(sample.contexts)] == row["contexts"]
        assert (sample.cluster, sample.slices) == (row["group"], {"slice": row["slice"]})
        assert sample.labels.get("label") == row.get("label")
        reference = row.get("reference")
        assert sample.reference == (reference[0] if isinstance(reference, list) else reference)


@pytest.mark.slow
def test_every_set_of_rows_is_read_without_a_bad_row():
    sets = [path for path in SETS if path.parent.name != "scifact_retrieval"]
    assert len(sets) >= 20
    for path in sets:
        assert all(isinstance(item, Sample) for item in open_rows(path)), path.name
