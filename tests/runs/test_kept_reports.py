"""A report that a command printed is found again in the store, letter by letter."""

from __future__ import annotations

from pathlib import Path

import ragassay
from ragassay.report.tables import Chart, Table
from ragassay.runs.kept_reports import keep_report, kept_report, kept_reports
from ragassay.store import Store, copy_store
from support.payloads import PAYLOADS

BLOCKS = (
    "The outcome.",
    "",
    Table(("family", "wrong"), ((PAYLOADS[0], "3"), ("b", PAYLOADS[1]))),
    Chart("A curve", "It rises.", "step", ("1", "2"), (("own", (0.5, None)),)),
    Chart("A", "With ends.", "step", ("1",), (("own", (0.5,)),), (((0.25, 0.75),),)),
)


def test_a_kept_report_is_found_with_all_its_blocks_and_the_same_one_is_kept_once(tmp_path) -> None:
    with Store.open(tmp_path / "s.db") as store:
        for _ in range(2):
            keep_report(store, "probing", "openai:m", BLOCKS, before="a", after="b")
        keep_report(store, "test set", "set.jsonl", ["8 of 8"])
        (first,) = kept_reports(store, "probing")
        assert first.blocks == BLOCKS
        assert (first.title, first.before, first.after) == ("openai:m", "a", "b")
        assert first.headline == "The outcome."
        assert [report.kind for report in kept_reports(store)] == ["test set", "probing"]
        assert kept_report(store, first.id) == first
        assert kept_report(store, "report-0") is None
        # It is no run of anybody's.
        assert store.runs(names="used") == []
        assert store.count_runs("measuring") == 2
        assert store.check() == ()
        with Store.open(tmp_path / "copy.db") as copy:
            copy_store(store, copy)
    with Store.open(tmp_path / "copy.db") as copy:
        assert kept_reports(copy, "probing") == [first]


def test_an_optimisation_leaves_its_report_in_the_store(tmp_path: Path) -> None:
    rows = []
    for n in range(60):
        word = "1912" if n % 2 else "1850"
        rows.append(
            {
                "id": f"r{n}",
                "question": f"When was museum {n} founded?",
                "contexts": [f"Museum {n} was founded in 1912."],
                "response": f"Museum {n} was founded in {word}.",
                "label": n % 2,
            }
        )
    place = tmp_path / "s.db"
    found = ragassay.optimise("groundedness", rows, judge="offline", store=place)
    with Store.open(place) as store:
        (report,) = kept_reports(store, "optimisation")
    assert report.title == "groundedness"
    assert report.headline == "No certified gain: groundedness stays as it is."
    assert any("Aim: raise" in block for block in report.blocks if isinstance(block, str))
    assert not found.certified
