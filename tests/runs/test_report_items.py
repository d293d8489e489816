"""What a kept report rests on is found again item by item."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragassay.runs import report_items
from ragassay.runs.kept_reports import keep_report, kept_report, kept_reports
from ragassay.runs.report_items import ItemGroup, ReportItem, item_at, items_of
from ragassay.store import Store, copy_store
from support.payloads import PAYLOADS

FLIP = ReportItem("flips", PAYLOADS[0], "The changed row passes; it has to fail.",
                  (("Reason", PAYLOADS[1]),), "old \ud800", PAYLOADS[2], "run1", 7)  # fmt: skip


def test_items_lie_together_by_group_and_outlive_a_copy_of_the_store(tmp_path) -> None:
    other = replace(FLIP, group="harmless")
    with Store.open(tmp_path / "s.db") as store:
        for _ in range(2):
            keep_report(store, "probing", "offline", ["It fails."],
                        items=[FLIP, other, FLIP], runs=["run1"])  # fmt: skip
        (found,) = kept_reports(store)
        assert found.groups == (ItemGroup("flips", 0, 2, 2), ItemGroup("harmless", 2, 1, 1))
        assert found.runs == ("run1",)
        assert store.check() == ()
        with Store.open(tmp_path / "copy.db") as copy:
            copy_store(store, copy)
    with Store.open(tmp_path / "copy.db") as copy:
        assert kept_report(copy, found.id) == found
        assert list(items_of(copy, found.id, 1, 5)) == [(1, FLIP), (2, other)]
        assert item_at(copy, found.id, 0) == FLIP
        assert item_at(copy, found.id, 3) is None


def test_reports_that_read_alike_with_other_items_are_two(tmp_path) -> None:
    with Store.open(tmp_path / "s.db") as store:
        for outcome in ("No person looked.", "People accept it."):
            items = [ReportItem("simple", "q1", outcome)]
            keep_report(store, "test set", "set.jsonl", ["5 of 5"], items=items)
        assert len(kept_reports(store)) == 2


def test_of_too_many_items_and_too_long_texts_it_says_how_many_there_were(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_items, "MOST_ITEMS", 3)
    monkeypatch.setattr(report_items, "MOST_LETTERS", 10)
    with Store.open(tmp_path / "s.db") as store:
        keep_report(store, "probing", "o", ["x"], items=[replace(FLIP, before="b" * 11)] * 5)
        (found,) = kept_reports(store)
        assert found.groups == (ItemGroup("flips", 0, 3, 5),)
        first = item_at(store, found.id, 0)
        assert first is not None
        assert first.before == "b" * 10 + "…"


def test_a_report_that_was_killed_before_its_items_were_kept_is_finished_by_the_next(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with Store.open(tmp_path / "s.db") as store:
        with monkeypatch.context() as patch:
            patch.setattr("ragassay.runs.kept_reports.put_items", killed)
            with pytest.raises(KeyboardInterrupt):
                keep_report(store, "probing", "o", ["x"], items=[FLIP])
        keep_report(store, "probing", "o", ["x"], items=[FLIP])
        (found,) = kept_reports(store)
        assert item_at(store, found.id, 0) is not None
