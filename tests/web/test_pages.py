"""What the pages say: filters, cuts, counts, and what is not there yet."""

from __future__ import annotations

import json
import re
import threading
import time
from dataclasses import replace
from html import unescape

import pytest

from ragassay.core import (
    Cause,
    Counts,
    Diagnosis,
    Evidence,
    LabelAnswer,
    Part,
    RunState,
    Score,
    Status,
    Verdict,
)
from ragassay.report import wording as say
from ragassay.report.summary import summarise
from ragassay.store import Store
from ragassay.web.figures import Figures
from report.conftest import METRICS
from web.conftest import INVENTED, Client, mixed_rows, save, serving


def rows_shown(html: str) -> list[str]:
    return re.findall(r'data-item href="/runs/run1/rows/(\d+)', html)


@pytest.mark.parametrize(
    ("query", "indices", "words"),
    [
        ("verdict=fail", ["5", "2"], "2 of 2 that match, of 8 rows"),
        ("verdict=unreadable", ["7"], "1 of 1 that match, of 8 rows"),
        ("cause=retrieval_irrelevant", ["5"], "1 of 1 that match"),
        ("slice=kind%3Dhistory", ["5", "2", "4"], "3 of 3 that match"),
        ("q=bark", ["5"], "1 of 1 that match"),
        ("q=raised+90", ["2"], "1 of 1 that match"),
        ("q=nothing", [], "No row matches"),
        ("metric=groundedness&outcome=fail&sort=value", ["5", "2"], "2 of 2 that match"),
        ("sort=index&down=1", ["7", "6", "5", "4", "3", "2", "1", "0"], "8 of 8 rows"),
    ],
)
def test_rows_are_filtered_sorted_and_searched(query, indices, words, site: Client) -> None:
    page = site.ask(f"/runs/run1/rows?{query}").text
    assert rows_shown(page) == indices
    assert words in page


def line_of(html: str, row_id: str) -> str:
    """The words of one line of a table, by its row's id."""
    lines = re.findall(r"<tr[^>]*>.*?</tr>", html.partition("<tbody>")[2], re.S)
    (line,) = [line for line in lines if f">{row_id}</a>" in line]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", line)).split())


def test_a_line_of_the_list_says_what_was_answered_and_why_the_row_fails(site: Client) -> None:
    page = site.ask("/runs/run1/rows").text
    # The second claim of row-3 has no support; the cause is worded as the row was given it.
    assert line_of(page, "row-3") == (
        "✗ fail row-3 What is the limit?"
        " The limit is 20 requests a minute. It was raised to 90 in May."
        " ungrounded claim 2 is not supported: It was raised to 90 in May."
        " Context 1 says nothing of the kind (claim 2). 0.500 groundedness"
    )
    # A row that passes has an answer, and nothing to explain.
    passed = "✓ pass row-1 What is the limit? The limit is 20 requests a minute."
    assert line_of(page, "row-1") == passed
    assert line_of(page, "line-8") == (
        "· unreadable line-8 The line is not valid JSON. the row could not be read close the brace"
    )


def test_a_run_that_goes_on_lists_answers_and_reasons_too(store: Store, make) -> None:
    save(store, [make.row(0, sentences=INVENTED)], state=RunState.RUNNING, total=5)
    store.acquire("run1")
    with serving(store) as client:
        line = line_of(client.ask("/runs/run1/rows").text, "row-1")
    assert "claim 2 is not supported: It was raised to 90 in May." in line


def test_the_value_in_a_line_is_of_the_metric_that_the_reason_is_of(store: Store, make) -> None:
    # The relevance of its answer is lower; what broke first is the support of a claim.
    save(store, [make.row(0, sentences=INVENTED, answer=0, cause="ungrounded")])
    with serving(store) as client:
        found = line_of(client.ask("/runs/run1/rows").text, "row-1")
        asked = line_of(client.ask("/runs/run1/rows?metric=answer_relevance").text, "row-1")
    assert "claim 2 is not supported: It was raised to 90 in May." in found
    assert found.endswith("0.500 groundedness")
    assert asked.endswith(" 0.000")


def test_a_row_too_long_for_a_list_is_told_by_its_line(store: Store, make) -> None:
    # 200,000 characters are more than the 128 KB that a list reads of a row.
    save(store, [make.row(0, sentences=(("x" * 200_000, 0),), cause="ungrounded"), make.row(1)])
    with serving(store) as client:
        page = client.ask("/runs/run1/rows").text
    assert "too long for a list The response claims what" in line_of(page, "row-1")
    assert "The limit is 20 requests a minute." in line_of(page, "row-2")


def test_a_page_leads_to_the_next_and_none_is_shown_twice(store: Store, make) -> None:
    save(store, [make.row(n) for n in range(230)])
    with serving(store) as client:
        path, seen = "/runs/run1/rows", []
        while path:
            page = client.ask(path).text
            seen += rows_shown(page)
            found = re.search(r'rel="next" href="([^"]+)"', page)
            path = found[1].replace("&amp;", "&") if found else ""
            if len(seen) == 100:
                assert "100 of 230 rows" in page
    assert seen == [str(n) for n in range(230)]


def test_rows_of_a_run_that_goes_on_are_listed_in_the_stores_order(store: Store, make) -> None:
    save(store, [make.row(n) for n in range(120)], state=RunState.RUNNING, total=500)
    store.acquire("run1")
    with serving(store) as client:
        page = client.ask("/runs/run1/rows").text
        assert len(rows_shown(page)) == 100
        assert "Search and sorting wait until the run has ended" in page
        found = re.search(r'rel="next" href="([^"]+)"', page)
        assert found is not None
        assert len(rows_shown(client.ask(found[1]).text)) == 20


LIVE_PAGES = ("", "/causes", "/rows", "/metric?name=groundedness", "/cost", "/labels", "/trust")


def test_every_page_of_a_run_that_goes_on_asks_how_far_it_is(store: Store, make) -> None:
    save(store, [make.row(0)], state=RunState.RUNNING, total=5)
    store.acquire("run1")
    with serving(store) as client:
        for page in LIVE_PAGES:
            html = client.ask(f"/runs/run1{page}").text
            assert 'data-progress="/runs/run1/progress"' in html, page
            assert f'data-updated="{store.run("run1").updated}"' in html, page
        progress = json.loads(client.ask("/runs/run1/progress").text)
        assert (progress["done"], progress["live"]) == (1, True)
        # A row is read in peace.
        assert "data-progress" not in client.ask("/runs/run1/rows/0").text
        store.release("run1")
        assert json.loads(client.ask("/runs/run1/progress").text)["live"] is False


def test_a_killed_run_is_searched_as_one_that_has_ended_and_says_how_to_go_on(
    store: Store, make
) -> None:
    # The state of a run whose process was killed stays "running", and nobody has its lock.
    save(store, mixed_rows(make), state=RunState.RUNNING, total=50)
    words = "its process is gone"
    with serving(store) as client:
        for page in LIVE_PAGES:
            assert "data-progress" not in client.ask(f"/runs/run1{page}").text, page
        overview = client.ask("/runs/run1").text
        assert words in overview
        assert "8 of 50 rows are done. <code>ragassay resume run1</code>" in overview
        listed = client.ask("/runs/run1/rows?q=raised").text
        assert rows_shown(listed) == ["2"]
        assert "wait until the run has ended" not in listed
        assert f"{words}. <code>ragassay resume run1</code>" in listed
        assert 'rel="next"' in client.ask("/runs/run1/rows/0").text
        runs = client.ask("/").text
        assert f"{words}, 8 of 50 rows done" in runs
        assert "data-reload" not in runs
        # Taken up again, it goes on.
        store.acquire("run1")
        assert words not in client.ask("/runs/run1").text
        assert "wait until the run has ended" in client.ask("/runs/run1/rows").text
        runs = client.ask("/").text
        assert "goes on, 8 of 50 rows done" in runs
        assert 'data-reload="10"' in runs


def test_figures_of_a_large_run_that_goes_on_are_the_last_ones_while_new_ones_are_counted(
    store: Store, make, monkeypatch
) -> None:
    save(store, [make.row(0)], state=RunState.RUNNING, total=5)
    store.acquire("run1")
    figures, counted = Figures(store), threading.Event()

    def slowly(*args, **options):
        assert counted.wait(60)
        return summarise(*args, **options)

    try:
        first = figures.of_run(figures.stored("run1"))
        assert first is not None
        monkeypatch.setattr("ragassay.web.figures.summarise", slowly)
        store.put_rows("run1", [make.row(1)])
        assert figures.of_run(figures.stored("run1"), 0.0) is first
        counted.set()
        second = figures.of_run(figures.stored("run1"), 60.0)
        assert second is not None
        assert (first.summary.scored, second.summary.scored) == (1, 2)
        # Of a run that has ended only its own figures are shown.
        counted.clear()
        store.release("run1")
        store.put_rows("run1", [make.row(2)])
        assert figures.of_run(figures.stored("run1"), 0.0) is None
    finally:
        counted.set()
        figures.close()


def test_a_resumed_run_is_indexed_anew(store: Store, make) -> None:
    save(store, [make.row(n) for n in range(3)], state=RunState.INTERRUPTED, total=4)
    with serving(store) as client:
        assert len(rows_shown(client.ask("/runs/run1/rows?q=limit").text)) == 3
        store.put_rows("run1", [make.row(3)])
        assert len(rows_shown(client.ask("/runs/run1/rows?q=limit").text)) == 4


def test_the_index_is_found_again_by_the_next_server(store: Store, make) -> None:
    save(store, [make.row(0)])
    for _ in range(2):
        with serving(store) as client:
            assert client.ask("/runs/run1/rows?q=limit").status == 200
    (file,) = store.beside("row-indices").glob("*.rows")
    assert file.name == "run1.rows"


def test_a_name_or_the_start_of_an_id_leads_to_the_run(site: Client) -> None:
    reply = site.ask("/runs/last")
    assert (reply.status, reply.headers["location"]) == (303, "/runs/run2")
    assert site.ask("/runs/before").headers["location"] == "/runs/run1"


def test_the_labelling_page_says_nothing_of_the_judge_the_run_or_others(store: Store, make) -> None:
    invented = (("The limit is 20 requests a minute.", 3), ("It was raised to 90 in May.", 0))
    save(
        store, [make.row(n, f"known-bad-{n}", sentences=invented) for n in range(4)], name="SECRET"
    )
    from ragassay.trust.measure.label_rounds import choose_to_label

    choose_to_label(store, "run1", "groundedness", 4)
    for row in store.to_label("run1", "groundedness"):
        store.put_answer("run1", "groundedness", LabelAnswer(row.row_id, "Bob", 0.0, "HIS"), row)
    # A row for two, of which Bob has answered, is what Ann gets.
    with serving(store) as client:
        name = f"ragassay-person-{client.server.port}"
        page = client.ask("/runs/run1/label?metric=groundedness", headers={"Cookie": f"{name}=Ann"})
    assert "It was raised to 90 in May." in page.text
    for word in (
        "SECRET",
        "Bob",
        "HIS",
        "0.5",
        "says nothing of the kind",
        "not supported",
        "<mark",
    ):
        assert word not in page.text, word


def test_a_label_outside_the_scale_or_of_another_row_is_refused(site: Client) -> None:
    cookie = {"Cookie": f"ragassay-person-{site.server.port}=Ann"}
    row = site.store.to_label("run1", "groundedness")[0].row_id  # type: ignore[attr-defined]
    for value in ("7", "nan", "", "1e0"):
        form = {"metric": "groundedness", "row": row, "value": value}
        assert site.ask("/runs/run1/label", "POST", form, headers=cookie).status == 400
    form = {"metric": "groundedness", "row": "nothing", "value": "1"}
    assert site.ask("/runs/run1/label", "POST", form, headers=cookie).status == 404
    assert site.store.labels("run1") == ()  # type: ignore[attr-defined]


def test_compared_runs_carry_a_banner_where_judges_differ(store: Store, make) -> None:
    manifest = make.manifest("run1", 1)
    judge = replace(manifest.judge, uri="openai:other")
    save(store, [make.row(0)])
    save(store, [make.row(0)], "run2", judge=judge, source_hash="00" * 16)
    with serving(store) as client:
        page = client.ask("/compare?a=run1&b=run2").text
    assert "Different judges: offline and openai:other." in page
    assert "The runs read different data" in page


def test_a_row_of_12_mb_and_one_of_10000_chunks_are_shown(store: Store, make) -> None:
    big = make.row(0, sentences=(("x" * 12_000_000, 3),), contexts=("y" * 1000,))
    many = make.row(1, contexts=tuple(f"chunk {n}" for n in range(10_000)), chunks=())
    save(store, [big, many])
    with serving(store) as client:
        page = client.ask("/runs/run1/rows/0").text
        assert "11,980,000 more characters" in page
        assert client.ask("/runs/run1/rows/1").status == 200


def test_a_run_that_is_gone_is_a_page_that_says_so(store: Store, make) -> None:
    save(store, [make.row(0)])
    with serving(store) as client:
        assert client.ask("/runs/run1").status == 200
        from sqlalchemy import delete, update

        from ragassay.store import schema

        number = store.run_records.number("run1")
        for table in (schema.bodies, schema.rows):
            store.access.execute(delete(table).where(table.c.run == number))
        store.access.execute(
            update(schema.runs).where(schema.runs.c.id == number).values(run_id="other")
        )
        assert client.ask("/runs/run1").status == 404


def test_every_cause_shows_rows_of_its_own_though_the_worst_of_the_run_are_all_of_one(
    store, make
) -> None:
    alone = {"sentences": INVENTED}
    rows = [make.row(n, chunks=(0,), sentences=(("x", 0),), cause="retrieval_irrelevant")
            for n in range(30)]  # fmt: skip
    rows += [make.row(n, **alone, cause="ungrounded") for n in range(30, 36)]
    save(store, rows)
    with serving(store) as client:
        cards = client.ask("/runs/run1/causes").text.split('<section class="cause-card"')[1:]
        assert [card.count("<li>") for card in cards] == [5, 5]


def reference_row(make, index: int):
    """A row whose contexts lack what the reference states."""
    missing = Part("statement", Status.JUDGED, text="It is 90.", value=0.0, passed=False,
                   rationale="No context says so.")  # fmt: skip
    recall = Score("context_recall", Status.JUDGED, 0.0, "", Verdict.FAIL, 0.9,
                   Counts.of([Status.JUDGED]), (missing,))  # fmt: skip
    row = make.row(index)
    cause = Cause("context_incomplete", "The contexts lack it", "Retrieve more.")
    return replace(row, scores=(*row.scores, recall), diagnosis=Diagnosis(Verdict.FAIL, cause))


def test_what_the_reference_says_is_not_quoted_as_the_answer(store: Store, make) -> None:
    save(store, [reference_row(make, 0)], metrics=(*METRICS, "context_recall"))
    told = (
        "Response: The limit is 20 requests a minute."
        " Why: {}statement 1 of the reference is not supported: It is 90. No context says so."
    )
    with serving(store) as client:
        for place, cause in (("", "The contexts lack it; "), ("/causes", "")):
            page = client.ask(f"/runs/run1{place}").text
            words = " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())
            assert told.format(cause) in words, place


def test_a_claim_names_each_context_once(store: Store, make) -> None:
    row = make.row(0)
    (claim,) = row.scores[1].parts
    evidence = (Evidence(0, 0, 9, "The limit"), Evidence(0, 13, 15, "20"))
    score = replace(row.scores[1], parts=(replace(claim, evidence=evidence),))
    save(store, [replace(row, scores=(row.scores[0], score, *row.scores[2:]))])
    with serving(store) as client:
        page = client.ask("/runs/run1/rows/0").text
    assert re.findall(r"Evidence: (.*?)</p>", page) == ["<a href=#r1e1>context 1</a>"]
    # The other place is marked and leads back to the claim.
    assert page.count("<mark class=e") == 2


def save_two(store: Store, make) -> None:
    """Five rows in two runs. In A rows 1, 2 and 3 pass; in B rows 2, 3, 4 and 5: one broke, two
    are fixed, of which the first answers otherwise in B and the second the same.
    """
    same = (("The limit is 20 requests a minute.", 3),)
    doubted = (("The limit is 20 requests a minute.", 0),)
    save(store, [make.row(n) for n in range(3)]
         + [make.row(3, sentences=INVENTED), make.row(4, sentences=doubted)])  # fmt: skip
    save(store, [make.row(0, sentences=(("It was raised to 90 in May.", 0),)), make.row(1),
                 make.row(2), make.row(3), make.row(4, sentences=same)], "run2")  # fmt: skip


def test_both_answers_stand_beside_each_other_in_the_list_of_changed_rows(
    store: Store, make
) -> None:
    save_two(store, make)
    with serving(store) as client:
        page = client.ask("/compare?a=run1&b=run2&metric=groundedness").text
    assert "<strong>3 → 4 of 5 rows pass</strong>" in page
    lines = page.partition('id="h-rows"')[2]
    right = "Response: The limit is 20 requests a minute."
    assert line_of(lines, "row-1") == (
        f"row-1 ✓ pass {right}"
        " ✗ fail ungrounded Response: It was raised to 90 in May. 1.000 → 0.000 worse"
    )
    assert line_of(lines, "row-4") == (
        f"row-4 ✗ fail ungrounded {right} It was raised to 90 in May. ✓ pass {right}"
        " 0.500 → 1.000 better"
    )
    assert "✓ pass the same response 0.000 → 1.000 better" in line_of(lines, "row-5")


def test_responses_that_begin_alike_are_shown_from_shortly_before_they_differ(
    store: Store, make
) -> None:
    # 60 words of 5 characters with their blanks, then 6 characters alike: the responses differ at
    # character 306. 50 before is 256; the word begins at 255, and 45 / 5 = 9 words are left.
    alike = "word " * 60
    save(store, [make.row(0, sentences=((f"{alike}It is 20.", 3),))])
    save(store, [make.row(0, sentences=((f"{alike}It is 90.", 0),))], "run2")
    with serving(store) as client:
        page = client.ask("/compare?a=run1&b=run2&metric=groundedness").text
    line = line_of(page.partition('id="h-rows"')[2], "row-1")
    shared = " ".join(["…", *["word"] * 9, "It is"])
    assert re.findall(r"Response: (.*?\.)", line) == [f"{shared} 20.", f"{shared} 90."]


def test_responses_without_blanks_are_shown_from_where_they_differ_too(store: Store, make) -> None:
    save(store, [make.row(0, sentences=(("語" * 300 + "A.", 3),))])
    save(store, [make.row(0, sentences=(("語" * 300 + "B.", 0),))], "run2")
    with serving(store) as client:
        page = client.ask("/compare?a=run1&b=run2&metric=groundedness").text
    line = line_of(page.partition('id="h-rows"')[2], "row-1")
    shown = "… " + "語" * 50
    assert re.findall(r"Response: (.*?\.)", line) == [f"{shown}A.", f"{shown}B."]


def test_the_difference_is_said_in_words_beside_its_p(store: Store, make) -> None:
    # Thirty rows of which none is supported in A and all are in B: beyond chance. The answers'
    # relevance does not change.
    save(store, [make.row(n, sentences=(("x", 0),)) for n in range(30)])
    save(store, [make.row(n) for n in range(30)], "run2")
    with serving(store) as client:
        page = client.ask("/compare?a=run1&b=run2").text
    table = page.partition('id="h-diff"')[2].partition("</table>")[0]
    assert "+1.000 better , beyond chance" in line_of(table, "groundedness")
    assert "+0.000 within chance" in line_of(table, "answer_<wbr>relevance")


def test_one_changed_row_leads_to_the_next_and_back_to_its_place(store: Store, make) -> None:
    save_two(store, make)
    with serving(store) as client:
        page = client.ask("/compare?a=run1&b=run2&metric=groundedness").text
        first = re.search(r'data-item href="(/compare/row[^"]+)"', page)
        assert first is not None
        path, seen = unescape(first[1]), []
        while path:
            page = client.ask(path).text
            seen.append(re.findall(r'<h1 class="rowid"><span>(.*?)</span>', page)[0])
            assert f"{len(seen)} of 3 changed rows" in page
            found = re.search(r'rel="next" href="([^"]+)"', page)
            path = unescape(found[1]) if found else ""
        # What broke, then what was fixed, by the size of the change.
        assert seen == ["row-1", "row-5", "row-4"]
        before = re.search(r'rel="prev" href="([^"]+)"', page)
        assert before is not None
        assert "row-5</span></h1>" in client.ask(unescape(before[1])).text
        back = re.search(r'id="up" href="([^"]+)"', page)
        assert back is not None
        assert unescape(back[1]) == "/compare?a=run1&b=run2&metric=groundedness"
        # Without a metric there is no order to go by.
        alone = client.ask("/compare/row?a=run1&b=run2&id=row-1").text
        assert 'rel="next"' not in alone


def test_the_last_runs_stand_beside_each_other_by_metric(store, make) -> None:
    save(store, mixed_rows(make), "run1", name="first", created="2026-01-01")
    save(store, [make.row(0)], "run2", name="second", created="2026-01-02")
    save(store, [make.row(0, sentences=INVENTED)], "run3", name="third", created="2026-01-03")
    with serving(store) as client:
        while "being counted" in (page := client.ask("/compare").text):
            time.sleep(0.1)
        # B is the newest run, A the one before it.
        assert re.findall(r'value="(run\d)" selected', page) == ["run2", "run3"]
        assert re.findall(r'href="(/compare\?a=run\d&amp;b=run3)"', page) == [
            "/compare?a=run2&amp;b=run3",
            "/compare?a=run1&amp;b=run3",
        ]
        # From a run's own page, with the one before it.
        own = client.ask("/compare?b=run2").text
        assert re.findall(r'value="(run\d)" selected', own) == ["run1", "run2"]
        assert client.ask("/compare?b=nothing").status == 404
        # Each mean and interval is that of the run's own page.
        for run in ("run1", "run2", "run3"):
            figures = summarise(store, run).metrics
            line = page.split(f'href="/runs/{run}"')[1].split("</tr>")[0]
            shown = re.findall(r'<td class="r num">([\d.]+)<small>(\[.*?\])', line)
            means = {(say.figure(m.mean), say.interval(m.interval)) for m in figures}
            assert shown
            assert set(shown) <= means


def test_of_many_contexts_of_two_runs_those_at_another_rank_come_first(store, make) -> None:
    chunks = [f"Chunk {n}." for n in range(300)]
    save(store, [make.row(0, contexts=tuple(chunks))])
    # The chunk of an id has another text: to a reader these are two chunks.
    chunks[250] = "Another."
    save(store, [make.row(0, contexts=tuple(chunks))], "run2")
    with serving(store) as client:
        page = client.ask("/compare/row?a=run1&b=run2&id=row-1").text
        assert "200 of 301 contexts, those at another rank first." in page
        lines = re.findall(r'<td class="r num">([\d–]+)</td><td class="r num">([\d–]+)</td>', page)
        assert lines[:3] == [("251", "–"), ("–", "251"), ("1", "1")]
        assert len(lines) == 200
