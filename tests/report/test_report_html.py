"""The report in a real browser: nothing leaves the page, nothing hostile acts, links lead to the
evidence.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from playwright.sync_api import expect

from ragassay.core import EnvironmentFailure
from ragassay.report import export, write_html, write_junit
from support.present import present

XSS = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    '"><script>alert(1)</script>',
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    "</textarea><iframe src=http://evil.test/>",
    "<style>@import url(http://evil.test/x.css)</style>",
    "<link rel=stylesheet href=http://evil.test/x.css>",
    "{{ 7*7 }}{% for x in y %}",
    "<!--",
    "]]>",
    "\u202etxt.exe",
    "<meta http-equiv=refresh content='0;url=http://evil.test'>",
    "<a href='javascript:alert(1)'>x</a>",
    "<form id=list><input id=find></form>",
    "<base href=http://evil.test/>",
    "\x00<b>\x00</b>",
    "<math><mi xlink:href=x>",
]


@pytest.fixture
def report(store, mixed, tmp_path):
    write_html(store, mixed, tmp_path / "report.html")
    return tmp_path / "report.html"


def test_the_page_shows_the_run_and_asks_for_nothing(report, visit):
    tab = visit(report)
    assert (
        tab.locator("h1").inner_text()
        == "4 of 8 rows pass, 2 fail, 1 undecided, 1 could not be read"
    )
    assert tab.locator("details.row").count() == 8
    assert "0.750" in tab.locator("table.metrics").inner_text()
    assert "Balanced accuracy" in tab.locator("main").inner_text()
    assert tab.seen == []


def test_every_chart_has_words_and_a_table_beside_it(report, visit):
    tab = visit(report)
    for chart in tab.locator("svg[role=img]").all():
        assert chart.get_attribute("aria-label")
    assert tab.locator("details.twin table tbody tr").count() == 3
    assert tab.locator("table.causes tbody tr").count() == 2


def test_each_claim_is_marked_in_place_and_leads_to_its_evidence_and_back(report, visit):
    tab = visit(report)
    row = tab.locator("details.row", has=tab.locator(".id", has_text=re.compile("^row-3$")))
    row.locator("summary").click()
    marks = row.locator("p.big mark")
    assert marks.all_inner_texts() == [
        "The limit is 20 requests a minute.",
        "It was raised to 90 in May.",
    ]
    assert [mark.get_attribute("class") for mark in marks.all()] == ["s", "n"]
    assert "✗ not supported" in row.locator("ol li").nth(1).inner_text()
    row.locator("ol li").first.get_by_role("link", name="context 1").click()
    target = tab.locator(":target")
    assert target.inner_text() == "The limit is 20 requests a minute."
    assert target.is_visible()
    row.locator("section a.k").first.click()
    assert tab.locator(":target").get_attribute("id") == row.locator("ol li").first.get_attribute(
        "id"
    )


def test_every_link_leads_to_an_element_and_no_id_is_used_twice(report):
    text = report.read_text(encoding="utf-8")
    ids = re.findall(r'\sid="?([^">\s]+)', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="?#([^">\s]+)', text)) <= set(ids)


def test_a_link_from_outside_opens_the_row(report, visit, browser):
    tab = visit(report)
    row = tab.locator("details.row").nth(1)
    tab.goto(report.as_uri() + "#" + row.get_attribute("id"))
    assert row.evaluate("e => e.open")


@pytest.mark.slow
def test_rows_can_be_filtered_and_sorted_by_keyboard(report, visit):
    tab = visit(report)
    shown = tab.locator("details.row:visible .id")
    tab.get_by_label("Verdict").select_option("fail")
    assert set(shown.all_inner_texts()) == {"row-3", "row-6"}
    assert tab.locator("#count").inner_text() == "2 rows"
    tab.get_by_label("Verdict").select_option("")
    tab.get_by_label("Find").press_sequentially("raised to 90")
    expect(tab.locator("#count")).to_have_text("1 row")
    assert shown.all_inner_texts() == ["row-3"]
    tab.get_by_label("Find").fill("nowhere at all")
    tab.locator("#none").wait_for(state="visible")
    tab.get_by_label("Find").fill("")
    expect(tab.locator("#count")).to_have_text("8 rows")
    tab.get_by_label("Sort").select_option("id")
    assert shown.all_inner_texts()[:3] == ["line-8", "row-1", "row-2"]
    tab.get_by_label("Sort").select_option(label="groundedness, lowest first")
    assert shown.all_inner_texts()[:2] == ["row-6", "row-3"]
    tab.locator("details.row summary").first.focus()
    tab.keyboard.press("Enter")
    assert tab.locator("details.row").first.evaluate("e => e.open")


def test_without_its_script_the_page_still_opens_rows(report, visit):
    tab = visit(report, java_script_enabled=False)
    assert tab.locator(".tools").is_hidden()
    tab.locator("details.row summary").first.click()
    assert tab.locator("details.row .body").first.is_visible()


@pytest.mark.slow
@pytest.mark.parametrize("script", [True, False])
def test_hostile_texts_stay_texts(make, save, store, tmp_path, visit, script):
    rows = [
        make.row(
            i,
            f"{i}{text}"[:60],
            question=text,
            contexts=(text, "fine"),
            chunks=(3, 0),
            slices={text: text, "k": f"{i % 2}"},
            sentences=((text, 0), ("fine", 3)),
            quote=text,
        )
        for i, text in enumerate(XSS)
    ]
    run = save(rows, name=XSS[0], mapping={XSS[2]: "question"})
    write_html(store, run, tmp_path / "hostile.html")
    tab = visit(tmp_path / "hostile.html", java_script_enabled=script)
    for row in tab.locator("details.row").all():
        row.locator("summary").first.click()
    assert tab.locator("details.row").count() == len(XSS)
    assert tab.locator("script").count() == 1
    assert tab.locator("iframe, img, link, base, form, main style, body meta").count() == 0
    assert "<script>alert(1)</script>" in tab.locator(f".q:has-text('{XSS[0]}')").first.inner_text()
    assert tab.seen == []


def test_the_policy_forbids_all_but_our_own_style_and_script(report):
    text = report.read_text(encoding="utf-8")
    policy = present(re.search(r'Content-Security-Policy" content="([^"]+)"', text)).group(1)
    assert policy.startswith("default-src &#39;none&#39;;")
    assert "unsafe" not in policy
    assert policy.count("sha256-") == 2


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 320)])
def test_the_page_fits_its_window(report, visit, scheme, width):
    tab = visit(report, color_scheme=scheme, viewport={"width": width, "height": 800})
    tab.evaluate("document.querySelectorAll('details.row').forEach(row => row.open = true)")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    dark = tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 28)"
    assert dark == (scheme == "dark")


def test_overlapping_claims_and_shared_evidence_are_all_linked(make, save, store, tmp_path):
    text = "The limit is 20 requests a minute."
    row = make.row(0, sentences=((text, 3),))
    score = row.scores[1]
    inner = replace(score.parts[0], start=4, end=15, rationale="The inner one.")
    row = replace(
        row, scores=(row.scores[0], replace(score, parts=(score.parts[0], inner)), *row.scores[2:])
    )
    write_html(store, save([row]), tmp_path / "o.html")
    page = (tmp_path / "o.html").read_text(encoding="utf-8")
    assert (
        "<mark class=s>The </mark><mark class=s>limit is 20</mark><a class=k href=#r1c2>✓2</a>"
        in page
    )
    assert page.count("id=r1e1>") == 1
    assert page.count("href=#r1e1>") == 2


def test_evidence_that_does_not_stand_there_is_quoted_but_never_highlighted(
    make, save, store, tmp_path
):
    from ragassay.core import Evidence

    row = make.row(0)
    score = row.scores[1]
    false = replace(
        score.parts[0], evidence=(Evidence(0, 0, 5, "Other words"), Evidence(7, 0, 5, "Nowhere"))
    )
    row = replace(row, scores=(row.scores[0], replace(score, parts=(false,)), *row.scores[2:]))
    write_html(store, save([row]), tmp_path / "f.html")
    page = (tmp_path / "f.html").read_text(encoding="utf-8")
    assert "Other words" in page
    assert "id=r1e1" not in page


def test_rates_denominators_probabilities_and_weights_are_shown(make, save, store, tmp_path):
    row = make.row(0)
    grounded = row.score("groundedness")
    weighted = replace(
        grounded,
        metric="faithfulness(mode=weighted)",
        parts=(replace(grounded.parts[0], weight=2.5),),
    )
    write_html(
        store,
        save([replace(row, scores=(*row.scores, weighted)), make.row(1)]),
        tmp_path / "w.html",
    )
    page = (tmp_path / "w.html").read_text(encoding="utf-8")
    assert page.count("<small>weight 2.5</small>") == 1
    assert "<small>of 2 rows</small>" in page
    assert "<small>probability 0.90</small>" in page


@pytest.mark.parametrize(("uri", "is_private"), [("offline", True), ("other:m", False)])
def test_only_of_the_offline_judge_the_page_says_that_no_text_left_the_machine(
    make, save, store, tmp_path, uri, is_private
):
    judge = replace(make.manifest("run1", 1).judge, uri=uri)
    write_html(store, save([make.row(0)], judge=judge), tmp_path / "private.html")
    page = (tmp_path / "private.html").read_text(encoding="utf-8")
    assert f"<dd>{uri}{'; no text left the machine' if is_private else ''}</dd>" in page


@pytest.mark.slow
def test_the_same_run_gives_the_same_bytes(store, mixed, tmp_path):
    write_html(store, mixed, tmp_path / "a.html")
    write_html(store, mixed, tmp_path / "b.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


@pytest.mark.slow
def test_a_row_costs_at_most_2_kb_besides_its_own_texts(make, save, store, tmp_path):
    sentences = tuple((f"Sentence {i} of the response says something.", 3) for i in range(4))
    contexts = tuple(
        f"Context {i}. " + "Sentence 0 of the response says something. " * 2 for i in range(4)
    )
    rows = [
        make.row(i, sentences=sentences, contexts=contexts, chunks=(3, 1, 0, 2)) for i in range(200)
    ]
    own = sum(
        len(r.sample.question)
        + len(r.sample.response)
        + sum(len(c.text) for c in r.sample.contexts)
        + sum(len(p.rationale) + len(p.text) for s in r.scores for p in s.parts)
        for r in rows
    )
    write_html(store, save(rows, "many"), tmp_path / "many.html")
    write_html(store, save([], "none", total=0), tmp_path / "none.html")
    extra = (tmp_path / "many.html").stat().st_size - (tmp_path / "none.html").stat().st_size - own
    assert extra / 200 <= 2048, f"{extra / 200:.0f} bytes a row"


def test_rows_beyond_the_limit_are_left_out_with_a_note(make, save, store, tmp_path):
    rows = [make.row(i, sentences=(("x", 0 if i == 7 else 3),)) for i in range(12)]
    write_html(store, save(rows), tmp_path / "r.html", max_rows=5)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "5 of 12 rows are shown, the worst first" in page
    assert page.count("<details class=row") == 5
    assert page.index(">row-8<") < page.index(">row-1<")


def test_an_unwritable_path_is_an_error_and_leaves_no_file(store, mixed, tmp_path):
    with pytest.raises(EnvironmentFailure, match="E0107"):
        write_html(store, mixed, tmp_path / "no" / "r.html")
    assert list(tmp_path.glob("*.part")) == []


@pytest.mark.slow
def test_the_bars_of_a_distribution_are_the_rows_of_its_table(report, visit):
    tab = visit(report)
    # groundedness: 0 once (fails), 0.5 once (fails), 1 four times
    twin = tab.locator("details.twin tbody tr").nth(1).locator("td")
    assert twin.all_text_contents() == [
        "11 fail",
        "0",
        "0",
        "0",
        "0",
        "11 fail",
        "0",
        "0",
        "0",
        "4",
    ]
    chart = tab.locator("svg.hist").nth(1)
    assert chart.locator("rect[fill='url(#hatch)']").count() == 2
    assert chart.locator("rect.fa").count() == 1
    assert "4 of 6 rows between 0.9 and 1.0; 1 below 0.5; 2 fail" in chart.get_attribute(
        "aria-label"
    )


@pytest.mark.slow
def test_a_metric_that_is_better_when_lower_sorts_from_its_highest_value(
    make, save, store, tmp_path, visit
):
    from ragassay.core import Score, Status

    def row(i, value):
        score = Score("hallucination", Status.JUDGED, value) if value is not None else None
        return replace(make.row(i), scores=(score,) if score else ())

    rows = [row(i, value) for i, value in enumerate((0.2, None, 0.9, 0.0))]
    write_html(
        store,
        save(rows, metrics=("hallucination",), lower_is_better=("hallucination",)),
        tmp_path / "l.html",
    )
    tab = visit(tmp_path / "l.html")
    tab.get_by_label("Sort").select_option(label="hallucination, highest first")
    assert tab.locator("details.row .id").all_inner_texts() == ["row-3", "row-1", "row-4", "row-2"]


@pytest.mark.slow
def test_what_lies_behind_a_cause_and_listed_parts_are_in_the_page_and_fit_it(
    make, save, store, tmp_path, visit
):
    from ragassay.core import Part, Score, Status, Verdict
    from ragassay.diagnosis import CAUSES, FINER

    made = make.row(0, sentences=(("It costs nothing.", 0),))
    finer = tuple(
        replace(FINER[name], detail=XSS[0]) for name in ("hallucination", "right_without_evidence")
    )
    part = Part("guideline", Status.JUDGED, text=XSS[2], value=0.0, passed=False, rationale=XSS[3])
    score = Score("guidelines", Status.JUDGED, 0.0, verdict=Verdict.FAIL, parts=(part,))
    row = replace(
        made,
        scores=(*made.scores, score),
        diagnosis=replace(made.diagnosis, cause=CAUSES["ungrounded"], finer=finer),
    )
    write_html(store, save([row], metrics=("groundedness", "guidelines")), tmp_path / "f.html")
    tab = visit(tmp_path / "f.html", viewport={"width": 320, "height": 800})
    tab.locator("details.row summary").first.click()
    text = tab.locator("details.row .body").inner_text()
    for words in (
        "Finer cause, one or more of these:",
        FINER["hallucination"].title,
        "✗ broken",
        XSS[2],
    ):
        assert words in text
    assert tab.evaluate("document.documentElement.scrollWidth") <= 320
    assert tab.seen == []


@pytest.mark.slow
def test_the_keys_j_and_k_open_the_next_row_and_the_one_before(store, mixed, tmp_path, visit):
    write_html(store, mixed, tmp_path / "r.html")
    tab = visit(tmp_path / "r.html")

    def opened() -> list[str]:
        ids: list[str] = tab.locator("details.row[open] .id").all_inner_texts()
        return ids

    shown = tab.locator("details.row .id").all_inner_texts()
    tab.keyboard.press("j")
    assert opened() == shown[:1]
    tab.keyboard.press("j")
    assert opened() == shown[1:2]
    tab.keyboard.press("k")
    assert opened() == shown[:1]
    # Letters that are typed into the search go there.
    tab.locator("#find").fill("")
    tab.locator("#find").press("j")
    assert opened() == shown[:1]
    assert tab.seen == []


def test_a_report_is_for_its_owner_alone(store, mixed, tmp_path):
    write_html(store, mixed, tmp_path / "r.html")
    write_junit(store, mixed, tmp_path / "r.xml")
    export(store, mixed, "jsonl", tmp_path / "r.jsonl")
    for path in tmp_path.glob("r.*"):
        assert path.stat().st_mode & 0o777 == 0o600


def test_metrics_that_do_not_apply_to_a_row_share_a_line(make, save, store, tmp_path):
    write_html(store, save([make.row(0, answer="n/a")]), tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Not applicable, the row has no response: answer_relevance" in page
