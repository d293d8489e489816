"""Pages beside those of a run's rows: received traces, reports of other commands, trust."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from itertools import chain

from ragassay.core import Diagnosis, HumanLabel, Ledger, RunState, Spend
from ragassay.report.tables import Table
from ragassay.runs.kept_reports import keep_report, kept_reports
from ragassay.runs.report_items import ReportItem
from ragassay.store import Store
from ragassay.web import WebSettings
from ragassay.web.settings import TraceSettings
from support.otlp_json import openinference_request, request, span
from web.conftest import TRACE, Client, receive, save, serving


def words(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def test_a_trace_shows_its_spans_and_where_each_field_of_the_row_was_read(site: Client) -> None:
    page = words(site.ask(f"/traces/{TRACE}").text)
    assert "3 of 3 spans" in page
    assert "Question read from input.value of the root Who?" in page
    assert "Anna did." in page
    assert "Not judged in the last runs" in page
    for other in ("x", TRACE[:-1] + "d", f"{TRACE}-2"):
        assert site.ask(f"/traces/{other}").status == 404


def test_the_trace_of_a_turn_that_failed_is_shown(store: Store) -> None:
    asked = {"openinference.span.kind": "CHAIN", "input.value": "Who?"}
    failed = span(TRACE, 1, None, asked, status={"code": 2, "message": "TimeoutError: no reply"})
    receive(store, request([failed]))
    with serving(store) as client:
        reply = client.ask(f"/traces/{TRACE}")
        assert reply.status == 200
        assert "TimeoutError: no reply" in words(reply.text)


def test_older_turns_are_on_the_next_page_and_none_is_shown_twice(store: Store) -> None:
    requests = [openinference_request(f"q{n}?", "a", [], f"{n:032x}") for n in range(1, 205)]
    receive(store, *requests)
    with serving(store) as client:
        path, seen = "/traces", []
        while path:
            page = client.ask(path).text
            seen += re.findall(r'<td class="q">(q\d+)\?</td>', page)
            found = re.search(r'rel="next" href="([^"]+)"', page)
            path = unescape(found[1]) if found else ""
        assert sorted(seen) == sorted(f"q{n}" for n in range(1, 205))
        assert client.ask("/traces?before=1:2:x").status == 400


def test_a_row_of_a_received_trace_has_its_waterfall_below(store: Store, make) -> None:
    receive(store, openinference_request("Who?", "Anna.", [("who", ["Anna did."])]))
    save(store, [make.row(0, TRACE), make.row(1)])
    with serving(store) as client:
        assert f"/traces/{TRACE}" in client.ask("/runs/run1/rows/0").text
        assert "/traces/" not in client.ask("/runs/run1/rows/1").text.partition("<main")[2]
        assert "in rows.jsonl" in words(client.ask(f"/traces/{TRACE}").text)


def test_what_came_in_is_what_was_stored_rejected_or_known_already(store: Store) -> None:
    import httpx

    with serving(store, WebSettings(traces=TraceSettings(quiet_s=600))) as client:
        request = openinference_request("Who?", "Anna.", [])
        bad = openinference_request("Who?", "Anna.", [])
        bad["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["spanId"] = ""
        headers = {"authorization": f"Bearer {client.server.settings.token}"}
        for export in (request, request, bad):
            sent = httpx.post(f"{client.server.address}/v1/traces", json=export, headers=headers)
            assert sent.status_code == 200, sent.text
        cells = re.findall(r'<th scope="row">(.*?)</th><td class="r num">(.*?)</td>',
                           client.ask("/traces").text)  # fmt: skip
        shown = {words(name): value for name, value in cells}
        received = next(value for name, value in shown.items() if name.startswith("Received"))
        assert received == "3"
        assert [value for name, value in shown.items() if name.startswith("–")] == ["1", "1", "1"]
        foreign = httpx.post(f"{client.server.address}/v1/traces", headers={"host": "evil.test"})
        assert foreign.status_code == 421


def test_reports_of_other_commands_are_listed_and_shown_as_they_were_printed(store: Store) -> None:
    table = Table(("family", "wrong"), (("flips <b>", "17"),))
    keep_report(store, "probing", "openai:m", ["It fails flips.", "", table])
    keep_report(store, "optimisation", "faithful", ["Certified: F1 0.8 -> 1.0"],
                before="Be fair. Be brief.", after="Be strict. Be brief.")  # fmt: skip
    with serving(store) as client:
        listed = words(client.ask("/reports").text)
        assert "2 reports" in listed
        assert "It fails flips." in listed
        assert "None yet. Make one: ragassay testset make" in listed
        optimisation, probing = kept_reports(store)
        page = client.ask(f"/reports/{probing.id}").text
        assert "flips &lt;b&gt;" in page
        changed = client.ask(f"/reports/{optimisation.id}").text
        assert '<mark class="n">fair</mark>' in changed
        assert '<mark class="s">strict</mark>' in changed
        assert client.ask("/reports/report-0").status == 404
        assert client.ask("/reports?kind=x").status == 400
        assert "report-" not in client.ask("/").text


def test_from_the_list_of_reports_a_reader_gets_to_the_single_item(store: Store, make) -> None:
    save(store, [make.row(0), make.row(1)])
    item = ReportItem("flips", "name (groundedness): b1", "It has to fail.", (("Why", "<i>"),),
                      "Anna did.", "Bert did.", "run1", 1)  # fmt: skip
    items = [replace(item, title=f"name: b{n}") for n in range(230)]
    keep_report(store, "probing", "o", ["It fails."], items=items, runs=["run1", "gone"])

    def follow(page: str, text: str) -> str:
        found = re.search(rf'<a [^>]*href="([^"]+)"[^>]*>{text}', page)
        assert found, text
        return client.ask(unescape(found[1])).text

    with serving(store) as client:
        judges = client.ask("/judges").text
        assert "Not probed here: ragassay probe --judge offline" in words(judges)
        report = follow(judges, "It fails.")
        assert words(report) == words(follow(client.ask("/reports").text, "o"))
        assert "10 of 230." in words(report)
        assert 'href="/runs/run1/rows"' in report
        assert "gone" not in report
        page = follow(report, "All of them")
        seen = [words(page).count("name: b")]
        while "Further items" in page:
            page = follow(page, "Further items")
            seen.append(words(page).count("name: b"))
        assert seen == [100, 100, 30]
        one = follow(follow(page, "name: b229"), "Previous")
        assert "flips, 229 of 230" in words(one)
        assert "It has to fail. Why <i>" in words(one)
        assert "Why</dt><dd>&lt;i&gt;</dd>" in one
        assert '<mark class="n">Anna</mark>' in one
        assert '<mark class="s">Bert</mark>' in one
        assert "row-2" in follow(one, "The row as it was judged")
        place = f"/reports/{kept_reports(store)[0].id}/items"
        for wrong in ("/230", "/-1", "/x", "?group=x", ""):
            assert client.ask(place + wrong).status == 404, wrong
        assert client.ask(f"{place}?group=flips&from=x").status == 400


def test_the_trust_page_says_what_the_command_says(store: Store, make) -> None:
    from ragassay.api import open_run
    from ragassay.trust.measure.run_trust import judge_trust
    from ragassay.trust.run_trust_report import run_trust_report

    save(store, [make.row(n) for n in range(30)])
    with serving(store) as client:
        assert "is not known here" in client.ask("/runs/run1/trust").text
        assert client.ask("/runs/run1/trust?metric=x").status == 404
        labels = [HumanLabel(f"row-{n + 1}", "groundedness", "Ann", float(n % 5 > 0))
                  for n in range(30)]  # fmt: skip
        store.put_labels("run1", labels)
        page = words(client.ask("/runs/run1/trust").text).lower()
        with open_run("run1", store=store.location) as run:
            expected = run_trust_report(judge_trust(run, metric="groundedness"))
        for block in expected:
            cells = chain.from_iterable(block.rows) if isinstance(block, Table) else [str(block)]
            for text in cells:
                assert " ".join(text.split()).lower() in page, text


def test_the_heading_of_costs_counts_the_runs_whose_price_is_known(store: Store, make) -> None:
    save(store, [make.row(0)], "priced")
    save(store, [make.row(0)], "unknown")
    unknown = Ledger(Spend(84, 40_000, 5_000, 1_000, None, 9.0), 0, 0.0, 0, 0)
    store.update_run(
        "unknown", state=RunState.FINISHED, stop_reason="", ledger=unknown, seconds=1.0
    )
    with serving(store) as site:
        page = words(site.ask("/costs").text)
    assert "Judging 1 of 2 runs cost $0.12" in page
    assert "Of 1 run the price is not known: they have no bar and are not in the sum." in page


def test_what_no_call_cost_is_the_same_on_every_page(store: Store, make) -> None:
    save(store, [make.row(0)])
    none = Ledger(Spend(0, 0, 0, 0, None, 0.0), 0, 0.0, 0, 0)
    store.update_run("run1", state=RunState.FINISHED, stop_reason="", ledger=none, seconds=1.0)
    with serving(store) as site:
        listed = words(site.ask("/").text)
        own = words(site.ask("/runs/run1/cost").text)
        (line,) = re.findall(r"<tr><th scope=\"row\"><a.*?</tr>", site.ask("/costs").text, re.S)
    assert "$0.00 0 calls" in listed
    assert "Judging took no call" in own
    assert "Confirmed cost $0.00" in own
    assert "offline $0.00 $0.00" in words(line)


def test_a_page_inside_a_run_that_is_not_there_leads_back_to_the_run(site: Client) -> None:
    for path, status in (
        ("/runs/run1/rows/999", 404),
        ("/runs/run1/metric?name=zz", 404),
        ("/runs/run1/rows?sort=zz", 400),
        ("/runs/run1/labels/decide?metric=zz", 404),
    ):
        reply = site.ask(path)
        assert reply.status == status, path
        assert '<a href="/runs/run1">The run</a>' in reply.text, path
    # Not where the run itself is not there.
    assert "The run</a>" not in site.ask("/runs/zz/rows").text
    assert "The run</a>" not in site.ask("/reports/zz").text


def test_the_sign_in_page_says_where_a_token_comes_from_that_was_chosen(store: Store) -> None:
    with serving(store, WebSettings(token="t" * 43)) as site:
        page = words(site.ask("/", token="").text)
        assert "Where no link is printed, the token was chosen by whoever runs the server" in page
        wrong = site.ask("/sign-in", "POST", {"token": "x" * 43}, token="")
    assert "One that the server made for itself changes" in words(wrong.text)


def test_rows_without_a_verdict_are_in_the_legend_of_a_run(store: Store, make) -> None:
    without = replace(make.row(1), diagnosis=Diagnosis())
    save(store, [make.row(0), without, make.bad(2)])
    with serving(store) as site:
        page = site.ask("/runs/run1").text
        assert "1 pass 0 fail 0 undecided 1 without a verdict 1 unreadable" in words(page)
        listed = words(site.ask("/runs/run1/rows?verdict=none").text)
    assert "Rows: those without a verdict" in listed
