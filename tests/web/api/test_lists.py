"""Lists come in pages that together hold each item once, in the order that was asked for; what a
client has already is not sent again.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from ragassay.core import RunState
from web.api.conftest import Program, after
from web.conftest import mixed_rows, save


def pages(program: Program, path: str) -> list[Any]:
    """The items of all pages of two."""
    found: list[Any] = []
    cursor = ""
    sign = "&" if "?" in path else "?"
    for _ in range(50):
        page = program.value("GET", f"{path}{sign}limit=2&cursor={cursor}")
        assert len(page["items"]) <= (2 if "scores" not in path else 10)
        found += page["items"]
        cursor = page["next"]
        if cursor is None:
            return found
    raise AssertionError("the pages do not end")


@pytest.mark.parametrize(
    "query",
    ["", "?sort=index", "?sort=id&descending=true", "?metric=groundedness&sort=value",
     "?verdict=fail", "?slice=kind%3Dfact", "?q=limit", "?metric=groundedness&outcome=pass",
     "?metric=groundedness&sort=value&descending=true", "?sort=index&descending=true"],
)  # fmt: skip
def test_the_pages_of_rows_are_the_whole_list(query: str, program: Program) -> None:
    whole = program.value("GET", f"/runs/run1/rows{query}")
    assert whole["next"] is None
    assert whole["total"] == len(whole["items"]) > 0
    assert pages(program, f"/runs/run1/rows{query}") == whole["items"]


def test_the_pages_of_scores_labels_and_runs_are_the_whole_lists(program: Program, site) -> None:
    whole = program.value("GET", "/runs/run1/scores")["items"]
    assert {record["index"] for record in whole} == set(range(8))
    assert pages(program, "/runs/run1/scores") == whole
    one = [record for record in whole if record["metric"] == "groundedness"]
    assert pages(program, "/runs/run1/scores?metric=groundedness") == one
    labels = [{"id": f"row-{n}", "label": n % 2, "annotator": "a"} for n in range(1, 6)]
    body = {"metric": "groundedness", "labels": labels}
    told = program.value("POST", "/runs/run2/labels", body)
    assert (told["kept"], told["people"]) == (5, ["a"])
    # Sent twice, as after a lost answer: nothing is there twice.
    assert program.value("POST", "/runs/run2/labels", body)["kept"] == 0
    found = pages(program, "/runs/run2/labels")
    assert [(each["row_id"], each["value"]) for each in found] == [
        (f"row-{n}", float(n % 2)) for n in range(1, 6)
    ]
    # Another value of the same person is refused as a whole, unless it is to replace the first.
    body["labels"] = [{"id": "row-6", "label": 1, "annotator": "a"}, {**labels[0], "label": 0}]
    problem = program.value("POST", "/runs/run2/labels", body, status=409)
    assert problem["code"] == "E0314"
    assert "set `replace`" in problem["remedy"]
    assert len(site.store.labels("run2")) == 5
    body["labels"] = body["labels"][1:]
    assert program.value("POST", "/runs/run2/labels", body | {"replace": True})["kept"] == 1
    assert [run["run_id"] for run in pages(program, "/runs")] == ["run2", "run1"]


def test_a_sheet_of_labels_is_taken_in(program: Program, site) -> None:
    sheet = b"id,label,annotator\nrow-1,yes,bea\nrow-2,,bea\nnobody,1,bea\n"
    path = "/runs/run1/labels/import?metric=answer_relevance"
    status, _, content = program("POST", path, sheet, {"Content-Type": "text/csv"})
    assert status == 200, content
    (label,) = site.store.labels("run1", "answer_relevance")
    assert (label.row_id, label.value, label.annotator) == ("row-1", 1.0, "bea")
    assert b'"unlabelled":1' in content
    assert b"nobody" in content
    assert b"/tmp" not in content


def test_a_cursor_of_another_list_is_refused(program: Program) -> None:
    cursor = program.value("GET", "/runs/run1/rows?limit=2")["next"]
    for path in (
        "/runs/run2/rows?",
        "/runs/run1/rows?verdict=fail&",
        "/runs/run1/scores?",
        "/runs?",
    ):
        problem = program.value("GET", f"{path}cursor={quote(cursor)}", status=422)
        assert problem["code"] == "E1409"


def test_what_a_client_has_is_not_sent_again_until_it_changes(program: Program, site) -> None:
    for path in ("/runs/run1", "/runs/run1/summary", "/runs/run1/rows", "/metrics", "/openapi.json",
                 "/runs/run1/export?format=csv", "/runs/run1/labels"):  # fmt: skip
        status, headers, content = program("GET", path)
        assert (status, bool(content)) == (200, True)
        etag = headers["etag"]
        for named in (etag, f'"x", {etag}', f"W/{etag}", "*"):
            again = program("GET", path, headers={"If-None-Match": named})
            assert (again[0], again[2], again[1]["etag"]) == (304, b"", etag), path
        assert program("GET", path, headers={"If-None-Match": '"x"'})[0] == 200
        assert program("HEAD", path)[2] == b""
    # The last of them changes now.
    body = {"metric": "answer_relevance", "labels": [{"id": "row-5", "label": 0, "annotator": "z"}]}
    program.value("POST", "/runs/run1/labels", body)
    assert program("GET", "/runs/run1/labels", headers={"If-None-Match": etag})[0] == 200


def test_a_run_that_goes_on_is_listed_in_the_store_s_order_and_searched_later(
    program: Program, site
) -> None:
    from report.conftest import Maker

    save(site.store, mixed_rows(Maker()), "live", name="live", state=RunState.RUNNING, total=20)
    site.store.acquire("live")
    try:
        assert len(pages(program, "/runs/live/rows")) == 8
        found = [row["index"] for row in pages(program, "/runs/live/rows?sort=index")]
        assert found == list(range(8))
        problem = program.value("GET", "/runs/live/rows?q=x", status=409)
        assert problem["code"] == "E1412"
    finally:
        site.store.update_run(
            "live",
            state=RunState.FINISHED,
            stop_reason="",
            ledger=site.store.run("run1").ledger,
            seconds=1.0,
        )
        site.store.release("live")
    assert after("/runs/live/events", program)[-1][0] == "end"


def test_figures_are_those_after_the_labels_that_came_since(program: Program, site) -> None:
    from report.conftest import Maker

    save(site.store, mixed_rows(Maker()), "fresh", name="fresh")

    def told() -> tuple[int, str]:
        _, headers, _ = program("GET", "/runs/fresh/trust")
        trust = program.value("GET", "/runs/fresh/trust")["items"]
        (of,) = (each for each in trust if each["metric"] == "groundedness")
        return of["labels"], headers["etag"]

    body = {"metric": "groundedness", "replace": True}
    assert told()[0] == 0
    body["labels"] = [{"id": f"row-{n}", "label": n % 2, "annotator": "a"} for n in range(1, 6)]
    program.value("POST", "/runs/fresh/labels", body)
    count, first = told()
    assert count == 5
    # A label in place of another one counts as well.
    body["labels"] = [{"id": "row-1", "label": 0, "annotator": "a"}]
    program.value("POST", "/runs/fresh/labels", body)
    count, second = told()
    assert (count, first != second) == (5, True)
