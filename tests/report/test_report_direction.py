"""A metric that is better when lower reads so everywhere: worst rows, slices, comparison, gates,
marks, exports.
"""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from ragassay.core import Counts, Score, Status, Verdict
from ragassay.report import (
    check_gates,
    compare,
    comparison_json,
    export,
    render_comparison,
    render_row,
    summarise,
    write_html,
    write_junit,
)
from ragassay.report.wording import better_end, change_word, direction, pass_mark, unit_of
from support.whole_reports import render_all, render_all_of_comparison

P, F = Verdict.PASS, Verdict.FAIL
LOWER = {
    "metrics": ("hallucination", "self_knowledge"),
    "lower_is_better": ("hallucination",),
    "neutral": ("self_knowledge",),
}


@pytest.fixture
def rated(make):
    def rated(index, value, **more):
        verdict = P if value <= 0.1 else F
        scores = (
            Score("hallucination", Status.JUDGED, value, "", verdict, 0.1, Counts(4, 4)),
            Score("self_knowledge", Status.JUDGED, value),
        )
        row = make.row(index, **more)
        return replace(row, scores=scores, diagnosis=replace(row.diagnosis, verdict=verdict))

    return rated


def shown(render, value, width=140, **more):
    out = io.StringIO()
    render(value, Console(file=out, width=width), **more)
    return out.getvalue()


def test_the_worst_row_is_the_one_with_the_highest_value(rated, save, store):
    run = save([rated(0, 0.5), rated(1, 0.9), rated(2, 0.0), rated(3, 0.05)], **LOWER)
    worst = summarise(store, run).worst
    assert [(row.id, row.value) for row in worst] == [("row-2", 0.9), ("row-1", 0.5)]


def test_where_low_and_high_metrics_meet_each_counts_by_its_own_end(make, save, store):
    def row(index, grounded, invented):
        scores = (
            Score("groundedness", Status.JUDGED, grounded, "", F, 0.9, Counts(1, 1)),
            Score("hallucination", Status.JUDGED, invented, "", F, 0.0, Counts(1, 1)),
        )
        made = make.row(index)
        return replace(made, scores=scores, diagnosis=replace(made.diagnosis, verdict=F))

    # how good on average: (0.8 + 0.9) / 2, (0.5 + 0.1) / 2, (0.2 + 0.9) / 2; by the bare values
    # row-3 were the worst
    rows = [row(0, 0.8, 0.1), row(1, 0.5, 0.9), row(2, 0.2, 0.1), make.bad(3)]
    run = save(rows, metrics=("groundedness", "hallucination"), lower_is_better=("hallucination",))
    assert [r.id for r in summarise(store, run).worst] == ["row-2", "row-3", "row-1"]


def test_of_two_mirrored_slices_the_worse_one_is_shown(rated, save, store):
    rows = [
        rated(i, 0.9 if i % 2 else 0.0, slices={"kind": "odd" if i % 2 else "even"})
        for i in range(30)
    ]
    run = save(rows, **LOWER)
    slice_ = next(s for s in summarise(store, run).slices if s.metric == "hallucination")
    assert slice_.value == "odd"
    assert slice_.gap == pytest.approx(0.9)
    assert "worse" in shown(render_all, summarise(store, run)).split("Slices")[1]


def test_a_fall_is_better_and_the_row_that_rose_is_worse(rated, save, store, tmp_path):
    save([rated(i, 0.8) for i in range(20)], "a", **LOWER)
    save([rated(i, 0.9 if i == 7 else 0.0) for i in range(20)], "b", **LOWER)
    c = compare(store, "a", "b")
    first, second = c.metrics
    assert (first.better, first.change, first.won, first.lost) == ("lower", "better", 19, 1)
    assert (second.better, second.change) == ("neither", "")
    assert c.headline.startswith("hallucination falls (better), self_knowledge falls beyond chance")
    assert {r.change for r in c.changed if r.metric == "hallucination"} == {"better"}
    # A p beside an interval that it does not belong to would be read as a contradiction.
    assert "p is corrected for the number of metrics; the intervals" in shown(render_comparison, c)
    text = shown(render_all_of_comparison, c)
    assert "lower is better" in text
    assert "19/0/1" in text
    assert json.loads(json.dumps(comparison_json(c)))["metrics"][0]["change"] == "better"


@pytest.mark.parametrize(
    ("gate", "passed", "noted"),
    [
        ("hallucination<=0.5", True, False),
        ("hallucination<=0.1", False, False),
        ("hallucination>=0.1", True, True),
        ("upper(hallucination)>0.9", False, True),
        ("pass_rate(hallucination)>=0.5", True, False),
        ("self_knowledge>=0.1", True, False),
    ],
)
def test_a_gate_compares_what_is_written_and_warns_of_the_wrong_end(
    rated, save, store, gate, passed, noted
):
    s = summarise(store, save([rated(0, 0.0), rated(1, 0.1), rated(2, 0.5)], **LOWER))
    (outcome,) = check_gates(s, [gate]).outcomes
    assert outcome.passed is passed
    assert bool(outcome.note) == noted
    assert ("is better when lower" in outcome.message) == noted


def test_marks_and_directions_are_shown_in_every_view(rated, save, store, tmp_path):
    run = save([rated(0, 0.5), rated(1, 0.0)], **LOWER)
    for width in (80, 140):
        text = shown(render_all, summarise(store, run), width)
        assert "lower is better" in text
        assert "neither end is better" in text
        assert "≤ 10 % of" in text  # folded between columns
    assert "fail (≤ 10 % of claims)" in shown(render_row, store.row(run, "row-1"))
    write_html(store, run, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<small>lower is better</small>" in page
    assert "hallucination, highest first" in page
    write_junit(store, run, tmp_path / "r.xml")
    assert "passes at ≤ 10 % of claims" in (tmp_path / "r.xml").read_text(encoding="utf-8")


def test_exports_say_which_end_is_the_good_one(rated, save, store, tmp_path):
    run = save([rated(0, 0.5)], **LOWER)
    export(store, run, "jsonl", tmp_path / "a.jsonl")
    records = [
        json.loads(line) for line in (tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert [(r["metric"], r["better"]) for r in records] == [
        ("hallucination", "lower"),
        ("self_knowledge", "neither"),
    ]


def test_the_manifest_outranks_the_name(make):
    plain = make.manifest("x", 1)
    assert (direction("hallucination"), direction("groundedness", plain)) == ("lower is better", "")
    manifest = make.manifest(
        "x", 1, units={"mine": "USD"}, lower_is_better=("mine",), neutral=("groundedness",)
    )
    assert (unit_of("mine", manifest), unit_of("mine"), unit_of("app_cost", manifest)) == (
        "USD",
        "",
        "USD",
    )
    assert [better_end(m, manifest) for m in ("mine", "groundedness", "mrr")] == [
        "lower",
        "neither",
        "higher",
    ]
    assert pass_mark(0.2, "mine", manifest) == "≤ 0.2"
    assert pass_mark(0.01, "document_recall") == "≥ 1 document of up to 100"
    assert pass_mark(0.005, "document_recall") == "≥ 0.5 % of documents"
    assert pass_mark(0.5, "document_recall") == "≥ 50 % of documents"
    assert [change_word(x, "mine", manifest) for x in (0.1, -0.1, 0.0, None)] == [
        "worse",
        "better",
        "",
        "",
    ]
    assert change_word(0.1, "groundedness", manifest) == ""
