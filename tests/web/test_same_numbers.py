"""The number on the page is that of the command and of the export: for every cell."""

from __future__ import annotations

import csv
import io
import re
import time
from collections import Counter
from html import unescape

import numpy as np
import pytest

from ragassay.core import Ledger, RunState, Spend, Verdict
from ragassay.report import summarise
from ragassay.report import wording as say
from ragassay.report.comparison import compare
from ragassay.report.records import records
from ragassay.web.site import url
from web.conftest import save, serving

PAIRS = (("a", 3), ("b", 0), ("c", 2), ("d", None), ("e", 1))


def random_rows(make, seed: int):
    """Up to 30 rows with claims, chunks and answers of any grade, some in clusters, some bad."""
    rng = np.random.default_rng(seed)
    rows = []
    for n in range(int(rng.integers(1, 31))):
        if rng.random() < 0.05:
            rows.append(make.bad(n))
            continue
        sentences = tuple(
            (f"Sentence {k} of row {n}.", PAIRS[int(rng.integers(5))][1])
            for k in range(int(rng.integers(1, 4)))
        )
        rows.append(
            make.row(
                n,
                sentences=sentences,
                chunks=(int(rng.integers(4)),),
                answer=int(rng.integers(4)),
                slices={"kind": "xyz"[int(rng.integers(3))]},
                cluster=f"c{n // 3}" if rng.random() < 0.5 else None,
                latency=round(float(rng.random() * 5), 3),
            )
        )
    return rows


def cells(html: str, section: str) -> list[list[str]]:
    """The texts of the cells of the table behind a heading, row by row."""
    table = html.partition(f'id="{section}"')[2].partition("</table>")[0]
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", table.partition("<tbody>")[2], re.S)
    return [
        [text(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)(?=<t[hd]|$)", row, re.S)]
        for row in rows
    ]


def text(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html.replace("<wbr>", ""))).split())


def check_run(store, client, run_id: str) -> None:
    summary = summarise(store, run_id)
    page = client.ask(f"/runs/{run_id}").text
    assert text(re.findall("<h1[^>]*>(.*?)</h1>", page, re.S)[0]) == say.headline(summary)
    shown = {row[0].split()[0]: row for row in cells(page, "h-metrics")}
    for metric in summary.metrics:
        if metric.mean is None:
            continue
        row = shown[metric.metric]
        assert row[2] == say.figure(metric.mean, metric.unit)
        assert row[3] == say.interval(metric.interval, metric.unit)
        if metric.pass_rate is not None:
            assert row[4].startswith(say.percent(metric.pass_rate))
            assert say.percent_interval(metric.pass_interval) in row[4]
        if metric.asked:
            assert row[5].startswith(f"{metric.judged}/{metric.asked}")
        assert row[-1].split()[0] == f"{metric.n:,}"
        # There is a column of undecided ones where a metric has some.
        open_ = any(other.undecided for other in summary.metrics)
        assert len(row) == 7 + open_
        if open_:
            assert row[6] == (str(metric.undecided) if metric.undecided else "")
    causes = cells(page, "h-causes") if summary.causes else []
    assert len(causes) == len(summary.causes)
    for row, share in zip(causes, summary.causes, strict=True):
        assert row[2].startswith(say.percent(share.share))
        assert row[3] == f"{share.rows:,}"
    check_slices(page, say.shown_slices(summary, 3), summary)
    for metric in summary.metrics:
        if metric.mean is not None:
            check_metric(store, client, run_id, metric, summary)
    check_rows(store, client, run_id)


def check_slices(page: str, slices, summary, named: bool = True) -> None:
    """The table of slices; named: with a column for the metric."""
    shown = cells(page, "h-slices") if slices else []
    assert len(shown) == len(slices)
    for row, part in zip(shown, slices, strict=True):
        unit = say.unit_of(part.metric, summary.manifest)
        assert row[0] == f"{part.slice} = {part.value}"
        if named:
            assert row.pop(1) == part.metric
        assert row[1:3] == [say.figure(part.mean, unit), say.interval(part.interval, unit)]
        assert row[3].startswith(say.signed(part.gap, unit))
        assert row[4:] == [f"{part.n:,}", say.p_value(part.p) or "too few rows"]


def check_metric(store, client, run_id: str, metric, summary) -> None:
    """A metric's own page: its mean, its slices, and the failing rows of each, counted here row by
    row.
    """
    page = client.ask(url("/runs/{}/metric", run_id, name=metric.metric)).text
    heading = text(re.findall("<h1[^>]*>(.*?)</h1>", page, re.S)[0])
    shown = f"{say.figure(metric.mean, metric.unit)} {say.interval(metric.interval, metric.unit)}"
    assert heading == f"{metric.metric}: {shown}".strip()
    assert f"mean of {say.count(metric.n, 'row')}" in text(page)
    check_slices(page, [x for x in summary.slices if x.metric == metric.metric], summary, False)
    failed: Counter[str] = Counter()
    judged: Counter[str] = Counter()
    for row in store.rows(run_id):
        score = row.score(metric.metric)
        if score is None or score.verdict not in (Verdict.PASS, Verdict.FAIL):
            continue
        for name, value in row.sample.slices.items():
            judged[f"{name} = {value}"] += 1
            failed[f"{name} = {value}"] += score.verdict is Verdict.FAIL
    by_slice = {row[0]: row[1:] for row in cells(page, "h-by")} if judged else {}
    assert by_slice == {key: [str(failed[key]), str(n)] for key, n in judged.items()}


def check_lists(store, client, runs: list[str]) -> None:
    """Each line of the list of runs and of the costs, and the sum of the costs."""
    while "being counted" in (page := client.ask("/").text):
        time.sleep(0.1)
    costs = {row[0].split()[0]: row[2:] for row in cells(client.ask("/costs").text, "h-table")}
    assert sorted(costs) == sorted(runs)
    for run_id in runs:
        summary, stored = summarise(store, run_id), store.run(run_id)
        line = page.partition(f'href="/runs/{run_id}">')[2].partition("</tr>")[0]
        told = [f"{summary.passed} of {summary.rows} pass"]
        told += [f", {summary.failed} fail"] if summary.failed else []
        told += [f", {summary.undecided} undecided"] if summary.undecided else []
        told += [f", {summary.bad} unreadable"] if summary.bad else []
        asked = sum(metric.asked for metric in summary.metrics)
        judged = sum(metric.judged for metric in summary.metrics)
        share = f"{say.percent(judged / asked)} {judged}/{asked} " if asked else ""
        spent = stored.ledger.confirmed
        paid = f"{share}{say.money(spent.cost)} {say.count(spent.calls, 'call')}"
        assert "".join(told) in text(line)
        assert paid in text(line)
        figures = {
            f"{m.metric} {say.figure(m.mean)} {say.interval(m.interval)}".strip()
            for m in summary.metrics
        }
        pairs = re.findall(r'<div class="pair">(.*?)</div>', line)
        assert pairs
        assert {text(pair) for pair in pairs} <= figures
        assert costs[run_id] == [
            say.money(spent.cost),
            say.money(1000 * spent.cost / stored.rows),
            say.money(stored.ledger.saved_cost),
            f"{stored.rows:,}",
            f"{spent.calls:,}",
            f"{spent.input_tokens + spent.output_tokens:,}",
            say.seconds(stored.seconds),
        ]
    paid_in_all = sum(store.run(run_id).ledger.confirmed.cost for run_id in runs)
    assert f"Judging {say.count(len(runs), 'run')} cost {say.money(paid_in_all)}" in text(
        client.ask("/costs").text
    )


def check_rows(store, client, run_id: str) -> None:
    """Each row's scores on its page and in the file, as the export has them."""
    exported = list(records(store, run_id))
    sheet = list(csv.DictReader(io.StringIO(client.ask(f"/runs/{run_id}/export").text)))
    assert len(sheet) == len(exported)
    manifest = store.run(run_id).manifest
    pages = {}
    for record, line in zip(exported, sheet, strict=True):
        assert line["value"] == ("" if record["value"] is None else repr(record["value"]))
        if record["metric"] is None or record["status"] == "not_applicable":
            continue
        index = record["index"]
        if index not in pages:
            html = client.ask(f"/runs/{run_id}/rows/{index}").text.partition("Scores</h3>")[2]
            found = re.findall(r"<tr><th>(.*?)<td>(.*?)<td>(.*?)<td>", html, re.S)
            pages[index] = {
                text(name): (text(value), text(verdict)) for name, value, verdict in found
            }
        value, verdict = pages[index][record["metric"]]
        assert value == say.figure(record["value"], say.unit_of(record["metric"], manifest))
        if record["verdict"] is not None:
            assert verdict.startswith(record["verdict"])


def check_comparison(store, client, a: str, b: str) -> None:
    comparison = compare(store, a, b)
    page = client.ask(f"/compare?a={a}&b={b}").text
    assert text(re.findall("<h1[^>]*>(.*?)</h1>", page, re.S)[0]) == comparison.headline
    shown = {row[0].split()[0]: row for row in cells(page, "h-diff")}
    for metric in comparison.metrics:
        row, result = shown[metric.metric], metric.result
        assert row[1:3] == [
            say.figure(result.mean_a, metric.unit),
            say.figure(result.mean_b, metric.unit),
        ]
        assert row[3].startswith(say.signed(result.difference, metric.unit))
        assert row[4] == say.interval(result.interval, metric.unit)
        assert row[5] == (say.p_value(metric.p) or "–")
        assert row[6] == f"{metric.won} / {result.ties} / {metric.lost}"
        assert row[7] == say.figure(result.minimum_detectable, metric.unit)


def check_runs(store, make, count: int) -> None:
    for seed in range(count):
        save(store, random_rows(make, seed), f"run{seed}", name=f"run{seed}")
        # Each run costs something else.
        spent = Spend(84 + seed, 40_000 * seed, 5_000, 1_000, 0.1234 * seed, 9.0)
        ledger = Ledger(spent, 1, 0.002, 7, 2, saved_cost=0.01 * seed)
        store.update_run(
            f"run{seed}",
            state=RunState.FINISHED,
            stop_reason="",
            ledger=ledger,
            seconds=12.5 * seed,
        )
    with serving(store) as client:
        for seed in range(count):
            check_run(store, client, f"run{seed}")
            check_comparison(store, client, f"run{seed}", f"run{(seed + 1) % count}")
        # The list of runs has 25 on a page.
        if count <= 25:
            check_lists(store, client, [f"run{seed}" for seed in range(count)])


def test_every_cell_of_random_runs_is_that_of_command_and_export(store, make) -> None:
    check_runs(store, make, 6)


@pytest.mark.soak
def test_every_cell_of_50_random_runs_is_that_of_command_and_export(store, make) -> None:
    check_runs(store, make, 50)
