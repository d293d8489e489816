"""400 hostile texts: each comes back as it went in, what is no Unicode is a row error with its
place, and no terminal obeys.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.core import BadRow, RagAssayError
from ragassay.datasets import open_rows
from ragassay.diagnosis.query_type import QUERY_TYPE
from support.hostile import CORPUS, INVALID
from support.invariants import check_output, check_run
from support.terminal import commands_in, under_a_terminal

METRICS = """
import ragassay

@ragassay.metric
def echo(question, response, contexts, labels):
    assert question == response == contexts[0] == labels["tone"]
    return 1.0, response
"""
ROWS = [
    {
        "id": text,
        "question": text,
        "response": text,
        "contexts": [text],
        "reference": text,
        "labels": {"tone": text},
        "slices": {"kind": text},
    }
    for text in CORPUS.values()
]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


HASHES = {digest(text) for text in CORPUS.values()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the corpus as a file, a metric that hands the text on, and a finished run of
    both by command.
    """
    made = tmp_path_factory.mktemp("hostile")
    (made / "echo_metric.py").write_text(METRICS)
    lines = [json.dumps(row, ensure_ascii=False) for row in ROWS]
    (made / "rows.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    command(
        made,
        "evaluate",
        "rows.jsonl",
        "-m",
        "echo_metric:echo",
        "--store",
        "s.db",
        "--name",
        CORPUS["string command title"],
    )
    return made


def environment(folder: Path) -> dict[str, str]:
    return {
        "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)]),
        "PYTHONUTF8": "1",
    }


def command(folder: Path, *arguments: str, code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "ragassay", *arguments],
        cwd=folder,
        env={**os.environ, **environment(folder)},
        capture_output=True,
        timeout=300,
        check=False,
    )
    said = done.stderr.decode()
    check_output(said)
    assert done.returncode == code, said
    return done.stdout.decode()


def test_there_are_400_texts() -> None:
    assert len(CORPUS) + len(INVALID) >= 400
    assert len(set(CORPUS.values())) == len(CORPUS)


def test_every_text_is_the_same_in_the_program_and_in_the_store(folder: Path) -> None:
    check_run(folder / "s.db")
    with ragassay.open_run(store=folder / "s.db") as run:
        for row, given in zip(run, ROWS, strict=True):
            sample = row.sample
            assert sample is not None
            assert [sample.id, sample.question, sample.response, sample.reference] == [
                given["id"]
            ] * 4
            assert [c.text for c in sample.contexts or ()] == given["contexts"]
            assert dict(sample.labels) == given["labels"]
            slices = {name: text for name, text in sample.slices.items() if name != QUERY_TYPE}
            assert slices == given["slices"]
            assert row.scores[0].rationale == given["id"]
            assert row.scores[0].value == 1.0
        assert len(run.summary.metrics) == 1


def test_every_text_has_the_same_hash_in_the_exports_of_the_program_and_of_the_command(
    folder: Path, tmp_path: Path
) -> None:
    with ragassay.open_run(store=folder / "s.db") as run:
        by_program = run.export(tmp_path / "a.jsonl").read_bytes().decode()
        table = run.export(tmp_path / "a.csv").read_bytes().decode()
        arrow = run.scores
    by_command = command(folder, "export", "last", "--store", "s.db")
    assert by_program == by_command
    records = [json.loads(line) for line in by_command.split("\n") if line]
    assert {digest(record["id"]) for record in records} == HASHES
    assert (
        [record["rationale"] for record in records]
        == [record["id"] for record in records]
        == list(CORPUS.values())
    )
    assert {digest(text) for text in arrow["id"].to_pylist()} == HASHES
    cells = list(csv.DictReader(io.StringIO(table, newline="")))
    # A text that a spreadsheet would take for a formula has one ' before it, and every other one
    # nothing.
    plain = [
        c["id"][1:] if c["id"][:2] in [f"'{m}" for m in "=+-@\t\r\n"] else c["id"] for c in cells
    ]
    assert {digest(text) for text in plain} == HASHES


@pytest.mark.parametrize("shape", ["jsonl", "csv", "json", "memory", "parquet"])
def test_every_format_gives_the_same_texts(shape: str, tmp_path: Path) -> None:
    source: Any = ROWS
    keys = ("id", "question", "response", "contexts")
    if shape == "csv":
        source = tmp_path / "rows.csv"
        with source.open("w", newline="", encoding="utf-8") as out:
            writer = csv.writer(out, quoting=csv.QUOTE_ALL)
            writer.writerow(keys)
            writer.writerows(
                [json.dumps(r[k]) if k == "contexts" else r[k] for k in keys] for r in ROWS
            )
    elif shape == "parquet":
        import pyarrow
        from pyarrow import parquet

        source = tmp_path / "rows.parquet"
        parquet.write_table(
            pyarrow.Table.from_pylist([{k: r[k] for k in keys} for r in ROWS]), source
        )
    elif shape != "memory":
        source = tmp_path / f"rows.{shape}"
        lines = [
            json.dumps(row) for row in ROWS
        ]  # with escapes, where the file of the run has the characters
        source.write_text("\n".join(lines) if shape == "jsonl" else f"[{','.join(lines)}]")
    found = list(open_rows(source))
    assert [(r.id, r.question, r.response) for r in found if not isinstance(r, BadRow)] == [
        (t, t, t) for t in CORPUS.values()
    ]
    assert [[c.text for c in r.contexts or ()] for r in found if not isinstance(r, BadRow)] == [
        [t] for t in CORPUS.values()
    ]


def test_converted_rows_read_back_as_they_were(folder: Path) -> None:
    command(folder, "convert", "rows.jsonl", "--to", "ragas", "-o", "ragas.jsonl")
    back = list(open_rows(folder / "ragas.jsonl"))
    assert {digest(r.question or "") for r in back if not isinstance(r, BadRow)} == HASHES


@pytest.mark.parametrize("name", INVALID)
def test_what_is_no_unicode_is_a_row_error_with_its_place_and_the_rest_is_read(
    name: str, tmp_path: Path
) -> None:
    line, offset = INVALID[name]
    before, after = b'{"id": "first", "question": "a"}\n', b'\n{"id": "last", "question": "b"}\n'
    path = tmp_path / "rows.jsonl"
    path.write_bytes(before + line + after)
    first, bad, last = open_rows(path)
    assert (first.id, last.id) == ("first", "last")
    assert isinstance(bad, BadRow)
    assert bad.code == "E0305"
    assert (f"byte {len(before) + offset} " if offset is not None else "surrogate") in bad.what
    assert commands_in(bad.what + bad.why + bad.fix) == []


ENCODINGS = {
    "utf-16": "E0310",
    "utf-16-le": "E0310",
    "utf-16-be": "E0310",
    "utf-32": "E0310",
    "shift_jis": "E0305",
    "utf-8-sig": "",
    "euc_jp": "E0305",
    # all of it ASCII: it cannot be told apart, and is read as what it says in ASCII
    "iso2022_jp": "",
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_a_file_in_another_encoding_is_refused_by_name_or_its_rows_are(
    encoding: str, kind: str, tmp_path: Path
) -> None:
    text = "橋はいつ開通したか"
    path = tmp_path / f"rows.{kind}"
    rows = f'{{"question": "{text}"}}\n' if kind == "jsonl" else f"question\n{text}\n"
    path.write_bytes(rows.encode(encoding))
    code = ENCODINGS[encoding]
    found, said = list[Any](), ""
    try:
        found = list(open_rows(path))
    except RagAssayError as error:
        said = str(error)
    if encoding == "utf-8-sig":
        assert [row.question for row in found] == [text]
    elif code:
        assert said.startswith(f"{code}: ")
        assert "UTF-8" in said
    else:  # all of it is ASCII and cannot be told apart: an escape is no JSON, a cell may hold it
        assert said.startswith("E0301") if kind == "jsonl" else not isinstance(found[0], BadRow)


VIEWS = {
    "evaluate": ["evaluate", "rows.jsonl", "-m", "echo_metric:echo", "--store", "s.db"],
    "show": ["show", "last", "--store", "s.db"],
    "show as JSON": ["show", "last", "--store", "s.db", "--json"],
    "runs": ["runs", "--store", "s.db"],
    "runs as JSON": ["runs", "--store", "s.db", "--json"],
    "export": ["export", "last", "--store", "s.db"],
    "export as CSV": ["export", "last", "--format", "csv", "--store", "s.db"],
    "compare": ["compare", "last", "last", "--store", "s.db"],
    "a wrong row": ["show", "last", "--row", "\x1b]0;x\x07", "--store", "s.db"],
    "a row": ["show", "last", "--row", CORPUS["string command clipboard"], "--store", "s.db"],
    "a row as JSON": [
        "show",
        "last",
        "--row",
        CORPUS["8 bit string command clipboard"],
        "--store",
        "s.db",
        "--json",
    ],
    "a wrong metric": ["evaluate", "rows.jsonl", "-m", "\x1b[2J\x9b2J\u202e"],
    "a wrong option": ["evaluate", "rows.jsonl", "--\x1b[2J"],
    "a wrong file": ["evaluate", "\x1b]52;c;eA==\x07.jsonl"],
    "a wrong run": ["show", "\x1b[2J\u202e"],
    "a wrong slice": ["evaluate", "rows.jsonl", "-m", "app_error", "--slice", "\x9b31m\x1b[1337m"],
    "convert": ["convert", "rows.jsonl", "--to", "ragas", "-o", "\x1b[2J.jsonl"],
    "bad rows": ["evaluate", "bad.jsonl", "-m", "app_error"],
    "a wrong rubric": ["rubric", "check", "\x1b[2J.md"],
    "explain": ["explain", "\x1b[2J"],
    "a judge": ["evaluate", "rows.jsonl", "--judge", "\x1b[2J"],
    "a gate": ["evaluate", "rows.jsonl", "-m", "app_error", "--gate", "\x1b[2J>=\x9b1"],
}


@pytest.fixture(scope="module")
def screens(folder: Path) -> dict[str, str]:
    lines = [
        b'{"id": "ok", "question": "a"}',
        *(line for line, _ in INVALID.values()),
        b'{"\x1b[2J": "\xc2\x9b2J", "question": 1}',
    ]
    (folder / "bad.jsonl").write_bytes(b"\n".join(lines))
    return dict(
        zip(
            VIEWS,
            under_a_terminal(list(VIEWS.values()), folder, environment(folder)),
            strict=True,
        )
    )


@pytest.mark.parametrize("view", VIEWS)
def test_no_view_lets_a_terminal_obey_the_data(view: str, screens: dict[str, str]) -> None:
    assert screens[view].strip()
    assert commands_in(screens[view]) == []
    check_output(screens[view])


def test_what_is_looked_for_on_the_terminal_is_found_where_it_is() -> None:
    missed = [
        name
        for name, text in CORPUS.items()
        if name.startswith(("ANSI", "C1", "string", "8 bit", "bidi", "tags"))
        and name not in ("ANSI red", "ANSI erase line", "ANSI hide the cursor")
        and not commands_in(text)
    ]
    assert missed == []
