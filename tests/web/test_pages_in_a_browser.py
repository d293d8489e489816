"""The pages in a real browser: hostile texts do nothing, nobody is shut out, every view works by
keyboard.
"""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import FilePayload, expect

from ragassay.core import (
    Cause,
    Context,
    Counts,
    Diagnosis,
    Evidence,
    Exchange,
    HumanLabel,
    KeptMessage,
    LabelAnswer,
    Part,
    RowResult,
    RowToLabel,
    Sample,
    Score,
    Status,
    Verdict,
)
from ragassay.report.tables import Block, Table
from ragassay.runs.kept_reports import keep_report, kept_reports
from ragassay.runs.report_items import ReportItem
from ragassay.store import Store
from ragassay.web.site import url
from support.browsing import Tab
from support.otlp_json import openinference_request
from support.payloads import CLOBBERS, PAYLOADS
from support.watched import put_watch
from web.conftest import TRACE, mixed_rows, receive, save, serving

A_ROW = 30
"""Payloads of one row: one in each of its fields."""


def hostile_row(index: int, texts: list[str]) -> RowResult:
    """A failing row that has one of the texts in each field that a page shows."""
    t = iter(texts)
    response = f"{texts[0]} {texts[1]}"
    contexts = tuple(Context(next(t), next(t)) for _ in range(6))
    quote = contexts[0].text
    evidence = (Evidence(0, 0, len(quote), quote), Evidence(1, 0, 3, next(t)))
    claim = Part(
        "claim", Status.JUDGED, start=0, end=len(texts[0]), value=0.0, passed=False,
        rationale=next(t), evidence=evidence,
    )  # fmt: skip
    told = [
        Part("claim", Status.JUDGED, text=next(t), value=0.0, passed=False, rationale=next(t))
        for _ in range(4)
    ]
    score = Score(
        "groundedness", Status.JUDGED, 0.0, "", Verdict.FAIL, 0.9,
        Counts.of([Status.JUDGED] * 5), (claim, *told), next(t),
    )  # fmt: skip
    lost = Score("answer_relevance", Status.FAILED, None, next(t), Verdict.UNDECIDED, 0.6)
    cause = Cause("ungrounded", next(t), next(t), next(t), next(t))
    sample = Sample(
        next(t), texts[2], contexts, response, texts[3], slices={texts[4]: texts[5]},
        cluster=texts[6], line=index + 1,
    )  # fmt: skip
    return RowResult(index, sample, (score, lost), Diagnosis(Verdict.FAIL, cause, (), texts[7]))


def hostile_store(store: Store) -> None:
    """All payloads, in two runs to compare, with what the judge was asked, and labels."""
    groups = [list(PAYLOADS[n : n + A_ROW]) for n in range(0, len(PAYLOADS), A_ROW)]
    rows = [hostile_row(n, group) for n, group in enumerate(groups)]
    for run_id in ("run1", "run2"):
        more = {"name": PAYLOADS[0], "source": PAYLOADS[3], "mapping": {PAYLOADS[2]: PAYLOADS[5]}}
        save(store, rows, run_id, **more)
        kept = (KeptMessage("user", (PAYLOADS[1],)),)
        exchanges = [
            Exchange(n, "j", PAYLOADS[n + 40], (), kept, PAYLOADS[n + 80], failure=PAYLOADS[n])
            for n, row in enumerate(rows)
            if row.sample is not None
        ]
        store.put_judgments(run_id, (), exchanges)
    hostile_beside(store)


def hostile_beside(store: Store) -> None:
    """Spans, a report, and people who differ, with payloads in every field of theirs."""
    spans = openinference_request(PAYLOADS[7], PAYLOADS[8], [(PAYLOADS[9], PAYLOADS[100:140])])
    for number, span in enumerate(spans["resourceSpans"][0]["scopeSpans"][0]["spans"]):
        span["name"] = PAYLOADS[number]
        span["status"] = {"code": 2, "message": PAYLOADS[number + 20]}
        for place, text in enumerate(PAYLOADS[200:240]):
            attribute = {"key": text or "x", "value": {"stringValue": PAYLOADS[place + 300]}}
            span["attributes"].append(attribute)
    receive(store, spans)
    put_watch(store, PAYLOADS[450:500], ("run1",))
    table = Table(tuple(PAYLOADS[:5]), tuple(tuple(PAYLOADS[n : n + 5]) for n in range(0, 600, 5)))
    texts = {"before": "\n".join(PAYLOADS[:300]), "after": "\n".join(PAYLOADS[100:400])}
    items = [
        ReportItem(PAYLOADS[n % 2], text, PAYLOADS[n + 1], ((text, PAYLOADS[n + 2]),), text)
        for n, text in enumerate(PAYLOADS[:60])
    ]
    lines: list[Block] = [PAYLOADS[6], "", *PAYLOADS, table]
    keep_report(store, "optimisation", PAYLOADS[4], lines, items=items, runs=["run1"], **texts)
    for n, row in enumerate(list(store.rows("run1"))[:3]):
        both = ((PAYLOADS[n][:80] or "a", 1.0), (PAYLOADS[n + 9][:80] or "b", 0.0))
        labels = [
            HumanLabel(row.id, "groundedness", who, value, PAYLOADS[n + 50]) for who, value in both
        ]
        store.put_labels("run1", labels)


def addresses(store: Store, views: tuple[str, ...]) -> list[str]:
    """The views of what is in a store."""
    row = next(iter(store.rows("run1")), None)
    reports = kept_reports(store)
    known = {"run": "run1", "report": reports[0].id if reports else "report-0", "row": ""}
    known["group"] = quote(reports[0].groups[0].name) if reports else ""
    paths = []
    for view in views:
        path = view.format(**known)
        if "/compare/row" in view:
            path = url("/compare/row", a="run1", b="run2", id=row.id if row else "x")
        paths.append(path)
    return paths


# Those beside a run's rows. The usual dose has them of a typical store, the soak of all.
SINGLE = re.compile(r"/(rows|items)/\d|/label\?|/find|/judges|/costs|/traces|/reports|/nothing")
BESIDE = (
    "/runs/{run}/trust",
    "/runs/{run}/labels/decide?metric=groundedness",
    "/costs",
    "/traces",
    f"/traces/{TRACE}",
    "/traffic",
    "/reports",
    "/reports/{report}",
    "/reports/{report}/items?group={group}",
    "/reports/{report}/items/0",
    "/find?q=r&run={run}",
)
OTHERWISE = (
    "/",
    "/runs/{run}",
    "/runs/{run}/causes",
    "/runs/{run}/rows",
    "/runs/{run}/rows/2",
    "/runs/{run}/labels",
    "/compare",
    "/compare?a=run1&b=run2&changed=0",
    "/reports/{report}",
)
VIEWS = (
    "/",
    "/runs/{run}",
    "/runs/{run}/causes",
    "/runs/{run}/rows",
    "/runs/{run}/rows?metric=groundedness&sort=value",
    "/runs/{run}/rows/2",
    "/runs/{run}/rows/2/asked",
    "/runs/{run}/rows/7",
    "/runs/{run}/metric?name=groundedness",
    "/runs/{run}/cost",
    "/runs/{run}/labels",
    "/runs/{run}/label?metric=groundedness",
    "/compare",
    "/compare?a=run1&b=run2&changed=0",
    "/compare/row?a=run1&b=run2&id={row}",
    "/judges",
    "/runs/nothing",
)


def open_tab(browser, client, path: str, **options) -> Tab:
    tab = Tab(browser, client.server.address, **options)
    while "data-reload" in client.ask(path).text:
        tab.page.wait_for_timeout(100)
    tab.page.goto(client.server.link(path))
    expect(tab.page.locator(".site form[action='/sign-out']")).to_be_attached()
    return tab


def visit(tab: Tab, client, path: str) -> None:
    """Open a page, and wait until it does not come back by itself any more."""
    # First for a program, which counts what is to be counted: a page that reloads itself would
    # break off the browser's next step. Nothing is counted for a single row or item.
    for _ in range(0 if SINGLE.search(path) else 100):
        if "data-reload" not in client.ask(path).text:
            break
        tab.page.wait_for_timeout(100)
    tab.page.goto(client.server.address + path)


def test_600_payloads_in_every_field_do_nothing_in_any_view(store, browser) -> None:
    assert len(PAYLOADS) == 600
    hostile_store(store)
    chosen = [
        RowToLabel(row.id, n, 1, (0.0, 1.0)) for n, row in enumerate(store.rows("run1")) if n < 5
    ]
    store.add_to_label("run1", "groundedness", chosen)
    for n, row in enumerate(chosen[:4]):
        answer = LabelAnswer(row.row_id, PAYLOADS[n][:80], 1.0, PAYLOADS[n])
        store.put_answer("run1", "groundedness", answer, row)
    with serving(store) as client:
        tab = open_tab(browser, client, "/")
        paths = addresses(store, (*VIEWS, *BESIDE))
        paths += [f"/runs/run1/rows/{n}" for n in range(len(PAYLOADS) // A_ROW)]
        paths += [f"/runs/run1/rows/{n}/asked" for n in range(0, len(PAYLOADS) // A_ROW, 13)]
        # And in the address itself: what was searched for is shown again.
        paths += [url("/runs/run1/rows", q=text) for text in PAYLOADS[::40]]
        paths += [url("/runs/{}", text) for text in PAYLOADS[::60]]
        paths += [url("/find", q=text, run="run1") for text in PAYLOADS[::60]]
        for path in paths:
            visit(tab, client, path)
            assert tab.ran() == [], path
        assert [words for words in tab.seen if "status of 404" not in words] == []
        tab.close()


def test_names_that_clobber_are_plain_text(store, browser, make) -> None:
    rows = []
    for n, name in enumerate(CLOBBERS):
        rows.append(make.row(n, name or None, slices={name or "x": name}, cluster=name))
    save(store, rows, name="__proto__")
    with serving(store) as client:
        tab = open_tab(browser, client, "/runs/run1/rows")
        expect(tab.page.locator("tbody tr")).to_have_count(len(CLOBBERS))
        tab.page.keyboard.press("/")
        assert tab.page.evaluate("document.activeElement.name") == "q"
        assert tab.page.evaluate("({}).polluted === undefined")
        assert tab.ran() == []
        tab.close()


def violations(tab: Tab) -> list[str]:
    """What axe-core finds. It is brought in past the policy, as an extension would be."""
    found = Axe().run(tab.page).response["violations"]
    return [f"{v['id']}: {[node['html'][:120] for node in v['nodes']][:3]}" for v in found]


def worlds(make):
    """Stores by what is in them."""

    def empty(store: Store) -> None:
        save(store, [], total=0)
        save(store, [], "run2", total=0)

    def typical(store: Store) -> None:
        save(store, mixed_rows(make))
        save(store, [replace(row) for row in mixed_rows(make)[:6]], "run2", total=6)
        from ragassay.trust.measure.label_rounds import choose_to_label

        choose_to_label(store, "run1", "groundedness", 4)
        receive(store, openinference_request("Who?", "Anna.", [("who", ["Anna did."])]))
        put_watch(store, [f"word {n}" for n in range(40)], ("run1",))
        table = Table(("figure", "value"), (("near duplicates", "0.000"),))
        items = [
            ReportItem("simple", f"q{n}", "Yes.", (("Gate", "ok"),), "a", "b") for n in range(12)
        ]
        lines: list[Block] = ["8 of 8 questions pass", "", table]
        keep_report(store, "test set", "set.jsonl", lines, items=items, runs=["run1"])
        labels = [HumanLabel("row-1", "groundedness", who, value) for who, value in
                  (("Ann", 1.0), ("Bob", 0.0))]  # fmt: skip
        store.put_labels("run1", [*labels, HumanLabel("row-3", "groundedness", "Ann", 0.0)])

    def huge(store: Store) -> None:
        contexts = tuple(f"Chunk {n} of many." for n in range(10_000))
        rows = [make.row(0, contexts=contexts), make.row(1, "r" * 5_000)]
        rows += [make.row(n, slices={f"slice {n}": "x" * 300}) for n in range(2, 302)]
        for run_id in ("run1", "run2"):
            save(store, rows, run_id, name="n" * 2_000)
        found = [f"Passage {n}. " * 200 for n in range(100)]
        receive(store, openinference_request("Why? " * 5_000, "So. " * 5_000, [("q", found)] * 300))
        cells = tuple((f"row {n}", "w" * 400) for n in range(1_000))
        item = ReportItem("g" * 300, "i" * 900, "o" * 900, (("n" * 300, "t" * 9_000),), "b" * 9_000)
        lines: list[Block] = ["It " * 900, "", Table(("a", "b"), cells)]
        keep_report(store, "probing", "t" * 2_000, lines, items=[item] * 300)

    return {"empty": empty, "typical": typical, "huge": huge, "hostile": hostile_store}


@pytest.mark.parametrize("world", ["empty", "typical", "hostile"])
def test_axe_finds_no_violation_on_any_page(world: str, store, browser, make) -> None:
    """All pages of a typical store, and those that look otherwise of the others. The soak has all
    pages, themes and widths of each.
    """
    worlds(make)[world](store)
    pairs = {"typical": [("light", 1280)], "empty": [("light", 400)], "hostile": [("dark", 400)]}
    views = (*VIEWS, *BESIDE) if world == "typical" else OTHERWISE
    check_every_view(store, browser, pairs[world], views)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("world", ["empty", "typical", "huge", "hostile"])
def test_axe_finds_no_violation_in_any_theme_and_width(world: str, store, browser, make) -> None:
    worlds(make)[world](store)
    pairs = [(theme, width) for theme in ("light", "dark") for width in (320, 400, 640, 1280)]
    check_every_view(store, browser, pairs, (*VIEWS, *BESIDE))


def check_every_view(store, browser, pairs, views) -> None:
    found = []
    with serving(store) as client:
        for theme, width in pairs:
            tab = open_tab(
                browser,
                client,
                "/",
                color_scheme=theme,
                viewport={"width": width, "height": 800},
                bypass_csp=True,
            )
            for path in addresses(store, views):
                visit(tab, client, path)
                found += [(path, theme, width, words) for words in violations(tab)]
                # Nothing but tables in their own scroll region is wider than the window.
                wide = tab.page.evaluate("document.documentElement.scrollWidth")
                if wide > width:
                    found.append((path, theme, width, f"{wide} px wide"))
            tab.close()
    assert found == []


def test_the_sign_in_page_is_accessible_and_works_without_a_script(site, browser) -> None:
    tab = Tab(browser, site.server.address, java_script_enabled=False)
    page = tab.page
    page.goto(f"{site.server.address}/runs/run1/causes")
    page.get_by_label("Token").fill(site.server.settings.token)
    page.get_by_role("button", name="Sign in").click()
    assert page.url.endswith("/runs/run1/causes")
    expect(page.locator("h1")).to_contain_text("failing rows")
    tab.close()


def test_without_a_script_filters_and_labels_work(site, browser) -> None:
    tab = Tab(browser, site.server.address, java_script_enabled=False)
    page = tab.page
    page.goto(f"{site.server.address}/runs/run1/rows")
    page.get_by_label("Token").fill(site.server.settings.token)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("Verdict").select_option("fail")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("tbody tr")).to_have_count(2)
    assert "verdict=fail" in page.url
    page.get_by_label("Colours").select_option("dark")
    page.get_by_role("button", name="Set").click()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    assert "verdict=fail" in page.url
    page.get_by_role("link", name="Labels").click()
    sheet: FilePayload = {"name": "no.csv", "mimeType": "text/csv", "buffer": b"id,label\nx,1\n"}
    page.locator("input[name=sheet]").set_input_files(files=[sheet])
    page.get_by_role("button", name="Take in").click()
    expect(page.locator("h1")).to_have_text("No label was taken in")
    page.get_by_role("link", name="Back to the labels").click()
    sheet = {"name": "yes.csv", "mimeType": "text/csv", "buffer": b"id,label\nrow-1,1\n"}
    page.locator("input[name=sheet]").set_input_files(files=[sheet])
    page.get_by_label("Metric").last.select_option("groundedness")
    page.get_by_label("Who labelled").fill("Zoe")
    page.get_by_role("button", name="Take in").click()
    expect(page.get_by_role("status")).to_have_text("1 label taken in.")
    tab.close()


def test_the_keys_lead_through_rows_and_back(site, browser) -> None:
    tab = open_tab(browser, site, "/runs/run1/rows?verdict=fail")
    page = tab.page
    expect(page.locator("tbody tr")).to_have_count(2)
    for key in "jo":
        page.keyboard.press(key)
    expect(page.locator("h1")).to_contain_text("row-6")
    page.keyboard.press("n")
    expect(page.locator("h1")).to_contain_text("row-3")
    page.keyboard.press("p")
    expect(page.locator("h1")).to_contain_text("row-6")
    page.keyboard.press("u")
    expect(page.locator("tbody tr")).to_have_count(2)
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("row-3")
    page.keyboard.press("Enter")
    expect(page.locator("tbody tr")).to_have_count(1)
    # Anywhere by name, from a search field, too: a page of this run, then a row by its id.
    page.keyboard.press("Control+k")
    page.keyboard.type("cost bef")
    expect(page.locator("#go-places a")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("Judging cost")
    page.keyboard.press("Control+k")
    page.keyboard.type("row-5")
    expect(page.locator("#go-places a").first).to_contain_text("row-5")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("row-5")
    assert tab.seen == []
    tab.close()


def test_on_a_narrow_screen_the_menus_leave_the_page_its_room(site, browser) -> None:
    tab = open_tab(browser, site, "/runs/run1/cost", viewport={"width": 400, "height": 800})
    page = tab.page
    header = page.locator("header").bounding_box()
    # A fifth of the screen: the menus in one line each, that of the site with its tools below.
    assert header is not None
    assert header["height"] <= 800 / 5
    for menu in ("Site", "Run"):
        nav = page.get_by_role("navigation", name=menu, exact=True)
        assert nav.evaluate("nav => nav.clientHeight < 40")
    # The entry of this page is in sight though the menu is wider than the screen.
    box = page.locator(".tabs [aria-current]").bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= 400
    page.goto(f"{site.server.address}/runs/run1/rows?q=raised")
    cells = page.locator("table.told tbody tr > *")
    boxes = [cell.bounding_box() for cell in cells.all()]
    assert all(box is not None and box["x"] + box["width"] <= 400 for box in boxes)
    expect(page.locator("td.a")).to_contain_text("It was raised to 90 in May.")
    tab.close()


def test_the_reason_of_a_failure_is_as_dark_as_other_text(site, browser) -> None:
    tab = open_tab(browser, site, "/runs/run1/rows/2")
    colour = "p => getComputedStyle(p).color"
    ink = tab.page.locator("body").evaluate(colour)
    reasons = tab.page.locator(".beside ol li p.dim")
    # The first claim is supported; of the second, the reason, and that there is no evidence.
    assert [reason.evaluate(colour) == ink for reason in reasons.all()] == [False, True, True]
    tab.close()


def test_one_key_gives_a_label_and_brings_the_next_row(store, browser, make) -> None:
    save(store, [make.row(n) for n in range(6)], name="the name of the run")
    from ragassay.trust.measure.label_rounds import choose_to_label

    choose_to_label(store, "run1", "groundedness", 3, method="uniform")
    with serving(store) as client:
        tab = open_tab(browser, client, "/runs/run1/label?metric=groundedness")
        page = tab.page
        page.get_by_label("Your name").fill("Ann")
        page.keyboard.press("Enter")
        given = []
        for key in ("1", "0", "c"):
            given.append(page.locator("input[name=row]").input_value())
            page.keyboard.press(key)
            expect(page.locator(".rownav")).to_contain_text(f"Ann: {len(given)} of")
        expect(page.locator("h1")).to_contain_text("Nothing is left")
        assert len(set(given)) == 3
        labels = {label.row_id: label.value for label in store.labels("run1", "groundedness")}
        assert labels == {given[0]: 1.0, given[1]: 0.0}
        # The last answer can be changed; what was said first is kept.
        page.keyboard.press("p")
        expect(page.locator("button[aria-pressed=true]")).to_contain_text("cannot tell")
        page.keyboard.press("1")
        expect(page.locator("h1")).to_contain_text("Nothing is left")
        answers = store.label_answers("run1", "groundedness")
        assert [answer.value for answer in answers] == [1.0, 0.0, None, 1.0]
        assert tab.seen == []
        tab.close()


def test_going_back_while_labelling_asks_for_the_label_of_the_row_before(
    store, browser, make
) -> None:
    save(store, [make.row(n) for n in range(6)], name="the name of the run")
    from ragassay.trust.measure.label_rounds import choose_to_label

    choose_to_label(store, "run1", "groundedness", 3, method="uniform")
    with serving(store) as client:
        tab = open_tab(browser, client, "/runs/run1/label?metric=groundedness")
        page = tab.page
        page.get_by_label("Your name").fill("Ann")
        page.keyboard.press("Enter")
        row = page.locator("input[name=row]")
        expect(row).to_be_attached()
        first = row.input_value()
        page.keyboard.press("1")
        expect(page.locator(".rownav")).to_contain_text("Ann: 1 of")
        second = row.input_value()
        page.go_back()
        expect(page.locator(".seen")).to_contain_text("You have labelled this row: 1")
        assert row.input_value() == first
        page.keyboard.press("0")
        expect(page.locator(".seen")).to_have_count(0)
        assert row.input_value() == second
        labels = {label.row_id: label.value for label in store.labels("run1", "groundedness")}
        assert labels == {first: 0.0}
        assert tab.seen == []
        tab.close()


def test_a_label_that_does_not_reach_the_server_is_said_and_can_be_given_again(
    store, browser, make
) -> None:
    save(store, [make.row(n) for n in range(6)], name="the name of the run")
    from ragassay.trust.measure.label_rounds import choose_to_label

    choose_to_label(store, "run1", "groundedness", 3, method="uniform")
    with serving(store) as client:
        tab = open_tab(browser, client, "/runs/run1/label?metric=groundedness")
        page = tab.page
        page.get_by_label("Your name").fill("Ann")
        page.keyboard.press("Enter")
        row = page.locator("input[name=row]")
        expect(row).to_be_attached()
        first = row.input_value()
        page.locator("summary").click()
        page.get_by_label("Why").fill("As the passage says.")
        page.locator("h1").click()
        page.route("**/label", lambda route: route.abort())
        page.keyboard.press("1")
        expect(page.get_by_role("alert")).to_contain_text("The server does not answer.")
        assert store.labels("run1", "groundedness") == ()
        page.unroute("**/label")
        # What was written is still there, and goes with the label.
        assert page.get_by_label("Why").input_value() == "As the passage says."
        page.locator("h1").click()
        page.keyboard.press("1")
        expect(page.locator(".rownav")).to_contain_text("Ann: 1 of")
        (label,) = store.labels("run1", "groundedness")
        assert (label.row_id, label.value) == (first, 1.0)
        assert label.rationale == "As the passage says."
        tab.close()


def test_a_live_run_comes_up_to_date_by_itself(store, browser, make) -> None:
    from ragassay.core import Ledger, RunState

    save(store, [make.row(0)], total=3, state=RunState.RUNNING)
    store.acquire("run1")
    with serving(store) as client:
        tab = open_tab(browser, client, "/costs")
        tab.page.clock.install()
        tab.page.goto(f"{client.server.address}/runs/run1")
        expect(tab.page.locator("#progress")).to_contain_text("1 of 3 rows are done")
        expect(tab.page.locator("h1")).to_contain_text("1 of 3 rows pass")
        store.put_rows("run1", [make.row(1)])
        expect(tab.page.locator("#progress")).to_contain_text("2 of 3 rows are done")
        # Ten seconds later the figures follow, in the middle of the run.
        expect(tab.page.locator("h1")).to_contain_text("1 of 3 rows pass")
        tab.page.clock.fast_forward(10_000)
        expect(tab.page.locator("h1")).to_contain_text("2 of 3 rows pass")
        store.put_rows("run1", [make.row(2)])
        store.update_run(
            "run1", state=RunState.FINISHED, stop_reason="", ledger=Ledger(), seconds=1.0
        )
        expect(tab.page.locator("h1")).to_contain_text("3 of 3 rows pass")
        assert tab.seen == []
        tab.close()


def test_a_live_page_is_not_made_anew_while_somebody_writes_in_it(store, browser, make) -> None:
    from ragassay.core import RunState

    save(store, [make.row(0)], total=3, state=RunState.RUNNING)
    store.acquire("run1")
    with serving(store) as client:
        tab = open_tab(browser, client, "/costs")
        tab.page.clock.install()
        page = tab.page
        page.goto(f"{client.server.address}/runs/run1/labels")
        name = page.get_by_label("Who labelled")
        name.fill("Ann")
        page.locator("h1").click()

        def wait(answers: int) -> None:
            """Let ten seconds pass, and the page be told so many times how far the run is."""
            page.clock.fast_forward(10_000)
            for _ in range(answers):
                with page.expect_response("**/progress", timeout=20_000):
                    pass

        store.put_rows("run1", [make.row(1)])
        page.evaluate("window.same = true")
        wait(2)
        assert page.evaluate("window.same")
        # Nothing is written on another page of the run: there the new rows come up.
        page.goto(f"{client.server.address}/runs/run1/rows")
        expect(page.locator("tbody tr")).to_have_count(2)
        page.get_by_label("Verdict").focus()
        store.put_rows("run1", [make.row(2)])
        page.evaluate("window.same = true")
        wait(2)
        assert page.evaluate("window.same")
        page.get_by_label("Verdict").blur()
        expect(page.locator("tbody tr")).to_have_count(3)
        assert tab.seen == []
        tab.close()
