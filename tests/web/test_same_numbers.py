"""The number on the page is that of the command and of the export: for every cell."""

from __future__ import annotations

import csv
import io
import re
from html import unescape

import numpy as np
import pytest

from ragassay.report import summarise
from ragassay.report import wording as say
from ragassay.report.comparison import compare
from ragassay.report.records import records
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
    causes = cells(page, "h-causes") if summary.causes else []
    assert len(causes) == len(summary.causes)
    for row, share in zip(causes, summary.causes, strict=True):
        assert row[2].startswith(say.percent(share.share))
        assert row[3] == f"{share.rows:,}"
    check_rows(store, client, run_id)


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
        save(store, random_rows(make, seed), f"run{seed}")
    with serving(store) as client:
        for seed in range(count):
            check_run(store, client, f"run{seed}")
            check_comparison(store, client, f"run{seed}", f"run{(seed + 1) % count}")


def test_every_cell_of_random_runs_is_that_of_command_and_export(store, make) -> None:
    check_runs(store, make, 6)


@pytest.mark.soak
def test_every_cell_of_50_random_runs_is_that_of_command_and_export(store, make) -> None:
    check_runs(store, make, 50)
