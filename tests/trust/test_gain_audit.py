"""Published gains held against their own figures; the expected numbers are worked by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragassay.trust.gain_audit import audit_gain

DATA = Path(__file__).parents[2] / "docs" / "data" / "rag-triad-tables.json"
TABLES = {table["metric"]: table for table in json.loads(DATA.read_text())["tables"]}


def test_the_f1_of_groundedness_do_not_follow_from_their_precision_and_recall():
    audit = audit_gain(TABLES["groundedness"])
    # 2 P R / (P + R) of .7610/.8038, .6693/.8902, .6238/.8779, .7830/.8515
    assert [round(one.implied, 4) for one in audit.f1] == [0.7818, 0.7641, 0.7294, 0.8158]
    assert not any(one.fits for one in audit.f1)


def test_the_f1_of_context_relevance_do():
    audit = audit_gain(TABLES["context relevance"])
    assert all(one.fits for one in audit.f1)


def test_the_same_rows_should_have_one_number_that_pass_and_have_four():
    audit = audit_gain(TABLES["groundedness"])
    # 2504 * .6238 / .3762 + 561; 561 / .1221; 1088 * .7830 / .2170 + 624; 624 / .1485
    assert [round(one) for pair in audit.positives for one in pair] == [4713, 4595, 4550, 4202]


def test_groundedness_truly_improved():
    (gain,) = audit_gain(TABLES["groundedness"]).gains
    # hits .8779 and .8515; false alarms 2504 / 6405 and 1088 / 6798
    assert (round(gain.before, 2), round(gain.after, 2)) == (1.44, 2.04)
    assert gain.parts.by_judgment > 0.07
    # The threshold of the optimised judge would have given a part of it for nothing.
    assert 0 < gain.parts.by_threshold < gain.parts.by_judgment


def test_context_relevance_moved_along_one_curve_whatever_share_of_rows_passes():
    gains = audit_gain(TABLES["context relevance"]).gains
    shown = [(round(one.before, 2), round(one.after, 2)) for one in gains]
    assert shown == [(1.97, 1.93), (1.72, 1.71), (1.31, 1.35)]
    for gain in gains:
        assert gain.parts.by_threshold == pytest.approx(gain.parts.gain, abs=0.015)


def test_the_kappa_of_answer_relevance_is_that_of_the_judge_before():
    audit = audit_gain(TABLES["answer relevance"])
    # On balanced classes kappa is recall less false alarms: .665 - 0, .655 - .655 * .0076 / .9924
    shown = [(one.printed, round(one.implied, 3), one.fits) for one in audit.kappa]
    assert shown == [(0.665, 0.665, True), (0.605, 0.65, False)]
    assert audit.gains == ()
    assert audit.lines()[-1].startswith("a precision of 1 leaves no false pass")


def test_the_lines_say_what_a_table_shows_and_what_it_does_not():
    lines = audit_gain(TABLES["groundedness"]).lines()
    assert lines[2] == (
        "TruLens, not optimised: precision and recall imply F1 0.7294, printed is 0.7232:"
        " not of one confusion matrix"
    )
    assert lines[4] == "before: precision implies 4,713 rows that pass, recall 4,595"
    assert "it tells more apart" in lines[-1]
    context = audit_gain(TABLES["context relevance"]).lines()
    assert "about one judge at two thresholds" in context[-1]


def test_a_table_without_what_is_needed_is_refused():
    table = dict(TABLES["context relevance"])
    del table["prevalences"]
    with pytest.raises(ValueError, match="rows with counts of errors, or prevalences"):
        audit_gain(table)
    with pytest.raises(ValueError, match="a table needs judges"):
        audit_gain({"metric": "x"})
