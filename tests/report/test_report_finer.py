"""What lies behind a root cause, and what was judged part by part, in every view of a run."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from ragassay.core import Part, Score, Status, Verdict
from ragassay.diagnosis import CAUSES, FINER
from ragassay.report import (
    export,
    render_row,
    row_json,
    summarise,
    summary_json,
    write_html,
)
from ragassay.report.proof import proof
from ragassay.report.summary import CauseSplit
from support.as_json import as_json
from support.whole_reports import render_all

HOSTILE = "</q><script>alert(1)</script>\x1b[31m"


def shown(render, value, width=120):
    out = io.StringIO()
    render(value, Console(file=out, width=width))
    return out.getvalue()


@pytest.fixture
def split(make, save):
    """Four failing rows of one root cause: two invented, one either way, one of which nothing more
    is known.
    """

    def row(i, *names):
        made = make.row(i, sentences=(("It costs nothing.", 0),))
        finer = tuple(replace(FINER[name], detail=f"proof of {name}") for name in names)
        cause = replace(CAUSES["ungrounded"], detail="a claim")
        return replace(made, diagnosis=replace(made.diagnosis, cause=cause, finer=finer))

    return save(
        [
            row(0, "hallucination"),
            row(1, "hallucination"),
            row(2, "hallucination", "right_without_evidence"),
            row(3),
        ]
    )


def test_finer_causes_are_counted_under_their_root_cause(store, split):
    (share,) = summarise(store, split).causes
    assert isinstance(share, CauseSplit)
    assert [(f.cause.name, f.rows, f.alone) for f in share.finer] == [
        ("hallucination", 3, 2),
        ("right_without_evidence", 1, 0),
    ]
    text = shown(render_all, summarise(store, split))
    assert f"finer cause in 3 rows, certain in 2 of them: {FINER['hallucination'].title}" in text
    assert f"possible finer cause in 1 row: {FINER['right_without_evidence'].title}" in text
    assert as_json(summary_json(summarise(store, split)))["causes"][0]["finer"][0]["alone"] == 2


def test_a_row_shows_what_lies_behind_its_cause_with_proof_and_remedy(store, split, tmp_path):
    one, several = (
        shown(render_row, store.row(split, "row-1")),
        shown(render_row, store.row(split, "row-3")),
    )
    assert f"finer cause: {FINER['hallucination'].title}" in one
    assert "proof of hallucination" in one
    assert "finer cause, one or more of these:" in several
    assert f"- {FINER['right_without_evidence'].title}" in several
    assert "finer cause" not in shown(render_row, store.row(split, "row-4"))
    record = as_json(row_json(store.row(split, "row-3")))
    assert [cause["name"] for cause in record["diagnosis"]["finer"]] == [
        "hallucination",
        "right_without_evidence",
    ]
    write_html(store, split, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert page.count("Finer cause, one or more of these:") == 1
    assert page.count(f"Finer cause: {FINER['hallucination'].title}") == 2
    assert f"Possible finer cause in 1 row: {FINER['right_without_evidence'].title}" in page


def test_exports_name_the_finer_causes(store, split, tmp_path):
    export(store, split, "jsonl", tmp_path / "a.jsonl")
    export(store, split, "csv", tmp_path / "a.csv")
    export(store, split, "parquet", tmp_path / "a.parquet")
    records = [
        json.loads(line) for line in (tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert next(r["finer"] for r in records if r["id"] == "row-3") == [
        "hallucination",
        "right_without_evidence",
    ]
    assert ",hallucination right_without_evidence," in (tmp_path / "a.csv").read_text(
        encoding="utf-8"
    )


def test_a_finer_cause_of_the_same_name_is_not_shown_twice(make, save, store):
    made = make.row(0, sentences=(("x", 0),))
    same = CAUSES["failed_abstention"]
    run = save([replace(made, diagnosis=replace(made.diagnosis, cause=same, finer=(same,)))])
    assert "finer cause" not in shown(render_row, store.row(run, "row-1"))
    assert "finer cause" not in shown(render_all, summarise(store, run))


PARTS = {
    "guidelines": (
        Part("guideline", Status.JUDGED, text="Be brief.", value=1.0, passed=True),
        Part(
            "guideline",
            Status.JUDGED,
            text="Name the source.",
            value=0.0,
            passed=False,
            rationale="It names none.",
        ),
    ),
    "context_entity_recall": (
        Part("entity", Status.JUDGED, text="Paris", value=0.0, passed=False),
    ),
    "citation_support": (Part("citation", Status.JUDGED, text="[2]", value=0.0, passed=False),),
    "answer_relevance_reverse": (Part("question", Status.JUDGED, text=HOSTILE, value=0.25),),
    "context_recall": (
        Part(
            "statement",
            Status.JUDGED,
            text="It cost a million.",
            value=1.0,
            passed=True,
            sources=(0, 2),
        ),
    ),
    "answer_correctness_claims": (
        Part("claim", Status.JUDGED, start=0, end=3, value=0.0, passed=False),
        Part("statement", Status.UNPARSED, text="It is red.", reason="no verdict"),
    ),
}
WORDS = (
    "✓ kept  Be brief.",
    "✗ broken  Name the source.",
    "It names none.",
    "✗ not found  Paris",
    "✗ does not support it  [2]",
    "✓ supported  It cost a million.",
    "supported by context 1, 3",
    "✗ not in the reference  The",
    "? not judged  It is red.",
    "no readable verdict: no verdict",
    "Guidelines (guidelines)",
    "Entities of the reference (context_entity_recall)",
    "Citations (citation_support)",
    "Statements of the reference, in the contexts (context_recall)",
)


@pytest.fixture
def parted(make, save):
    made = make.row(0)
    extra = tuple(
        Score(m, Status.JUDGED, 0.5, verdict=Verdict.FAIL, parts=parts)
        for m, parts in PARTS.items()
    )
    return save([replace(made, scores=(*extra, *made.scores))], metrics=(*PARTS, "groundedness"))


def test_every_kind_of_part_has_its_words_in_a_rows_view(store, parted, tmp_path):
    text = shown(render_row, store.row(parted, "row-1"))
    for words in WORDS:
        assert words in text, words
    assert "\x1b" not in text
    write_html(store, parted, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    for words in (
        "✓ kept",
        "✗ broken",
        "✗ not found",
        "✗ does not support it",
        "– 0.25",
        "? not judged",
    ):
        assert words in page, words
    assert "<script>alert" not in page


def test_what_the_reference_says_of_a_claim_is_not_mixed_up_with_its_support(store, parted):
    text = shown(render_row, store.row(parted, "row-1"))
    assert "✓ supported  1. The limit is 20 requests a minute." in text
    assert "✗ not supported" not in text


@pytest.mark.parametrize(
    ("metric", "what"),
    [
        ("guidelines", "guideline 2 is broken"),
        ("context_entity_recall", "entity 1 is not found"),
        ("citation_support", "citation 1: does not support it"),
        ("answer_correctness_claims", "claim 1 is not in the reference"),
    ],
)
def test_the_proof_names_the_part_in_its_own_words(store, parted, metric, what):
    row = store.row(parted, "row-1")
    assert proof(row.score(metric), row.sample).what == what


def test_a_claims_sources_are_shown_beside_it(make, save, store, tmp_path):
    made = make.row(0)
    grounded = made.score("groundedness")
    supported = replace(grounded, parts=(replace(grounded.parts[0], sources=(0, 2)),))
    run = save([replace(made, scores=(supported,))], metrics=("groundedness",))
    assert "supported by context 1, 3" in shown(render_row, store.row(run, "row-1"))
    write_html(store, run, tmp_path / "r.html")
    assert "<small>supported by context 1, 3</small>" in (tmp_path / "r.html").read_text(
        encoding="utf-8"
    )
