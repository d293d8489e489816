"""The number of the API is that of the page, of the command and of the export: for every cell."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest
from typer.main import get_command

from ragassay.cli.app import app
from ragassay.store import Store
from report.conftest import Maker
from web.api.conftest import Program
from web.conftest import save, serving
from web.test_same_numbers import check_run, random_rows

COMMAND = get_command(app)
"""Made once: that takes longer than most commands."""


def printed(capsys, *words: str) -> str:
    """What a command prints, called in this process."""
    capsys.readouterr()
    COMMAND(list(words), standalone_mode=False)
    return capsys.readouterr().out


def check_cells(store: Store, program: Program, run: str, capsys, folder: Path, rows: int) -> None:
    option = ("--store", str(store.location))
    summary = program.value("GET", f"/runs/{run}/summary")
    assert summary == json.loads(printed(capsys, "show", run, "--json", *option))
    metrics = program.value("GET", f"/runs/{run}/metrics")["items"]
    for shown, own in zip(metrics, summary["metrics"], strict=True):
        distribution = shown.pop("distribution")
        assert shown == own
        if distribution:
            assert sum(each["rows"] for each in distribution) == own["n"]
    causes = program.value("GET", f"/runs/{run}/causes")
    assert (causes["causes"], causes["slices"]) == (summary["causes"], summary["slices"])
    assert program.value("GET", f"/runs/{run}/trust")["items"] == summary["trust"]
    scores = program.value("GET", f"/runs/{run}/scores?limit=1000")["items"]
    lines = printed(capsys, "export", run, *option).splitlines()
    assert scores == [json.loads(line) for line in lines]
    for form in ("jsonl", "csv", *(["parquet"] if _has_arrow() else [])):
        target = folder / f"own.{form}"
        printed(capsys, "export", run, "--format", form, "--output", str(target), *option)
        assert program("GET", f"/runs/{run}/export?format={form}")[2] == target.read_bytes(), form
    table = list(csv.DictReader(io.StringIO((folder / "own.csv").read_text(encoding="utf-8"))))
    assert [line["value"] for line in table] == [
        "" if score["value"] is None else str(score["value"]) for score in scores
    ]
    listed = program.value("GET", f"/runs/{run}/rows?sort=index&limit=1000")["items"]
    for line in listed[:rows]:
        row = program.value("GET", f"/runs/{run}/rows/{line['index']}")
        assert row == json.loads(
            printed(capsys, "show", run, "--row", line["id"], "--json", *option)
        )
        assert line["verdict"] in (row["diagnosis"]["verdict"], "none", "unreadable")


def _has_arrow() -> bool:
    try:
        import pyarrow  # noqa: F401 - whether it is there
    except ImportError:
        return False
    return True


SOAK = [pytest.mark.soak, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("seeds", [range(3, 5), pytest.param(range(50), marks=SOAK)])
def test_every_cell_is_the_same_in_every_place(seeds, store, make: Maker, capsys, tmp_path) -> None:
    folder = tmp_path / "exports"
    folder.mkdir()
    with serving(store) as client:
        program = Program(client.server)
        before = ""
        for seed in seeds:
            run = save(store, random_rows(make, seed), f"r{seed}", name=f"run {seed}")
            check_run(store, client, run)
            check_cells(store, program, run, capsys, folder, 3 if len(seeds) < 10 else 1000)
            if before:
                option = ("--store", str(store.location))
                compared = json.loads(printed(capsys, "compare", before, run, "--json", *option))
                assert program.value("GET", f"/compare?a={before}&b={run}") == compared
            before = run
    shutil.rmtree(folder)


def test_certificates_and_metrics_are_those_of_the_command(store, capsys) -> None:
    with serving(store) as client:
        program = Program(client.server)
        own = json.loads(printed(capsys, "certificates", "--json", "--store", str(store.location)))
        found = program.value("GET", "/certificates")["items"]
        assert found == own["certificates"]
        first = found[0]
        assert program.value("GET", f"/certificates/{first['id']}") == first
        some = program.value("GET", f"/certificates?metric={first['metric']}")["items"]
        assert some == [each for each in found if each["metric"] == first["metric"]]
        assert program.value("GET", "/metrics") == json.loads(printed(capsys, "metrics", "--json"))
