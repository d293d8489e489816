"""GitHub Actions: marks that cannot be forged, and pages that stay within its limits."""

from __future__ import annotations

import io

import pytest

from ragassay.cli.github import GuardedStream
from ragassay.report import (
    COMMENT_LIMIT,
    check_gates,
    markdown_page,
    summarise,
)
from ragassay.report.workflow_commands import github_annotations

BAD = (("It was raised to 90 in May.", 0),)


def marks(store, run, *gates):
    summary = summarise(store, run)
    return github_annotations(store, summary, check_gates(summary, gates), "")


def test_ten_problems_are_shown_and_of_eleven_nine_with_the_number_of_the_others(make, save, store):
    ten = save([make.row(n, sentences=BAD) for n in range(9)], "ten")
    shown = marks(store, ten, "groundedness>=0.9")
    assert [line.split(" ")[0] for line in shown] == ["::error"] + 9 * ["::warning"]
    eleven = save([make.row(n, sentences=BAD) for n in range(10)], "eleven")
    shown = marks(store, eleven, "groundedness>=0.9")
    assert [line.split(" ")[0] for line in shown] == ["::error"] + 8 * ["::warning"] + ["::notice"]
    assert "::2 more problems are not shown here" in shown[-1]


def test_rows_may_be_marked_at_a_test_and_beside_what_other_runs_have_told(make, save, store):
    summary = summarise(store, save([make.row(n, sentences=BAD) for n in range(9)]))
    gates = check_gates(summary, ["groundedness>=0.9"])
    shown = github_annotations(store, summary, gates, "", most=3, beside=("tests/test_rag.py", 7))
    assert [line.split(" ")[0] for line in shown] == ["::error", "::warning", "::notice"]
    assert shown[1].startswith("::warning file=tests/test_rag.py,line=7,title=row ")
    assert "::8 more problems are not shown here" in shown[2]
    assert github_annotations(store, summary, gates, "", most=0) == []


@pytest.mark.parametrize("between", [",", ";", "\t"])
def test_a_row_of_a_table_is_marked_at_the_line_where_it_begins(
    between, make, save, store, tmp_path
):
    file = tmp_path / "rows.csv"
    lines = [
        ("question", "response"),
        ("a", "b"),
        ("c", '"of two\nlines, and more"'),
        ("e", "f"),
    ]
    file.write_text("".join(f"{q}{between}{r}\n" for q, r in lines))
    rows = [make.row(0), make.row(1, sentences=BAD), make.row(2, sentences=BAD)]
    run = save(rows, source=str(file))
    numbers = sorted(line.partition(",line=")[2].partition(",")[0] for line in marks(store, run))
    assert numbers == ["3", "5"]


def test_gates_come_before_rows_and_the_worst_row_before_the_others(make, save, store):
    rows = [
        make.row(0, "good"),
        make.row(1, "half", sentences=(("The limit is 20 requests a minute.", 3), *BAD)),
        make.row(2, "none", sentences=BAD),
    ]
    shown = marks(store, save(rows), "groundedness>=0.9", "answer_relevance>=1")
    assert "title=Gate not met" in shown[0]
    assert "title=row none%3A" in shown[1]
    assert "title=row half%3A" in shown[2]


def test_a_judged_text_can_neither_end_a_mark_nor_begin_one(make, save, store):
    hostile = "a%b\r\n::error::c,d:e"
    row = make.row(0, "x,y:z\n::add-mask::s##[error]", sentences=((hostile + "##[group]", 0),))
    (line,) = marks(store, save([row]))
    assert "\n" not in line
    assert "\r" not in line
    assert "title=row x%2Cy%3Az %3A%3Aadd-mask%3A%3As## [error]%3A ungrounded::" in line
    assert "##[" not in line
    assert "a%25b" in line


def test_what_a_command_prints_is_no_workflow_command():
    out = io.StringIO()
    guarded = GuardedStream(out)
    text = "  ::set-output name=x::y\nsee ##[error]z\na::b is no command\n"
    assert guarded.write(text) == len(text)
    assert out.getvalue() == "  : :set-output name=x::y\nsee ## [error]z\na::b is no command\n"


@pytest.mark.parametrize("limit", [COMMENT_LIMIT, 20_000, 3_000])
def test_a_page_holds_as_many_rows_as_fit_and_says_how_many(make, save, store, limit):
    long = (("It was raised to 90 in May. " * 30, 0),)
    run = save([make.row(n, f"r{n}", sentences=long) for n in range(300)])
    summary = summarise(store, run)
    page = markdown_page(store, summary, check_gates(summary, []), limit=limit)
    assert limit * 0.6 < len(page.encode()) <= limit
    shown = page.count("<pre>row r")
    assert f"<summary>{shown} of 300 failing rows, worst first</summary>" in page
    assert page.endswith("More: <code>ragassay show run1</code>\n")


def test_no_page_is_written_where_the_step_has_no_room_left(make, save, store):
    run = save([make.row(0, sentences=BAD)])
    summary = summarise(store, run)
    assert markdown_page(store, summary, check_gates(summary, []), limit=100) == ""


def test_texts_of_rows_stand_escaped_inside_of_blocks_that_are_no_markdown(make, save, store):
    hostile = "</pre>\n\n# Big @everyone ![x](http://x) <img src=x>"
    run = save([make.row(0, "<b>", sentences=((hostile, 0),))])
    summary = summarise(store, run)
    page = markdown_page(store, summary, check_gates(summary, []))
    assert "&lt;/pre&gt; # Big @everyone" in page
    assert "<img" not in page
    assert "row &lt;b&gt;" in page
    assert page.count("<pre>") == page.count("</pre>")
