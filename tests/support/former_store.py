"""A store as an earlier version made it, and all that a version writes of a store it opens.

    python tests/support/former_store.py make FOLDER [ROWS]     rows, runs and labels into FOLDER
    python tests/support/former_store.py write FOLDER OUTPUT    what is shown and exported of them

The version is the one that Python finds: PYTHONPATH names another. The commands run in this
process, since twenty processes take half a minute.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import runpy
import shlex
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import chdir, closing, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

PORT = 18437
"""The server's own: its address is a part of what is stored."""

STORE = Path(".ragassay", "store.db")

WRITTEN = {
    "runs.txt": "runs",
    "runs.json": "runs --json",
    "certificates.txt": "certificates --judge offline --metric groundedness",
    "certificate.txt": "certificates CERTIFICATE",
    "certificate.json": "certificates CERTIFICATE --json",
    "compare.txt": "compare offline changed --margin 0.05",
    "compare.json": "compare offline changed --margin 0.05 --json",
    "compare-judges.txt": "compare offline judged",
    "estimate.txt": "estimate offline --metric groundedness",
    "estimate.json": "estimate offline --metric groundedness --json",
    "capped.txt": "show capped",
    "capped.json": "show capped --json",
} | {
    f"{run}{ending}": command.replace("RUN", run)
    for run, row in (("offline", "row-2"), ("judged", "row-5"))
    for ending, command in (
        (".txt", "show RUN"),
        (".json", "show RUN --json"),
        ("-row.txt", f"show RUN --row {row}"),
        ("-row.json", f"show RUN --row {row} --json"),
        (".jsonl", "export RUN --format jsonl"),
        (".csv", "export RUN --format csv"),
        (".xml", "export RUN --format junit --output FILE"),
        (".html", "export RUN --format html --output FILE"),
    )
}
"""What is written of a store: a file, and the command whose output it holds."""

METRICS = "groundedness,context_precision,answer_relevance"
"""What the runs with a judge behind the server measure."""

SUBJECTS = (
    ("history", "When was branch {} founded?", "Branch {} was founded in 1911 by Ida Meyer."),
    (
        "lending",
        "How long may a book of branch {} be kept?",
        "Books of branch {} are lent for a month. Films are lent for a week.",
    ),
    (
        "lending",
        "What does a lost card of branch {} cost?",
        "A lost card of branch {} costs two euros. It is sent by post.",
    ),
    (
        "houses",
        "Who designed the reading room of branch {}?",
        "The reading room of branch {} was designed by Anna Weiss.",
    ),
    (
        "houses",
        "Where is the garden of branch {}?",
        "The garden of branch {} lies behind the house, on the side of the river.",
    ),
)
OTHER = "The café beside branch {} opens at nine; “tea” & cake <b>cost</b> 4 €."
INVENTED = "Every reader of branch {} is given a boat. It is painted green."


def rows(count: int, *, better: bool = False) -> Iterator[dict[str, Any]]:
    """Rows of all kinds: right, invented, irrelevant, declined, half right, without an answer,
    hostile. better: one answer in three that was invented is right.
    """
    for number in range(1, count + 1):
        topic, question, passage = SUBJECTS[number % len(SUBJECTS)]
        fact = passage.format(number)
        row: dict[str, Any] = {
            "id": f"row-{number}",
            "question": question.format(number),
            "contexts": [
                {"id": f"doc-{number}", "text": fact},
                {"id": f"doc-{number % 7}-other", "text": OTHER.format(number)},
            ],
            "response": fact.split(". ")[0].rstrip(".") + ".",
            "reference": fact,
            "relevant_ids": [f"doc-{number}"],
            "slices": {"topic": topic},
            "cluster": f"reader-{number // 2}",
            "usage": {
                "input_tokens": 100 + number,
                "output_tokens": 20,
                "cost": 0.001 * number,
                "latency": 0.5 + number / 100,
            },
        }
        kind = number % 8
        if kind == 2 and not (better and number % 3 == 2):
            row["response"] = INVENTED.format(number)
        elif kind == 3:
            row["contexts"] = row["contexts"][1:]
        elif kind == 4:
            row["response"] = "I do not know."
        elif kind == 5:
            row["response"] = f"{row['response']} {INVENTED.format(number)}"
        elif kind == 6:
            del row["relevant_ids"], row["reference"], row["usage"]
            row["response"] = f"=1+1 <script>alert({number})</script> \u202e {row['response']}"
        elif kind == 7:
            del row["response"]
            row["error"] = "the server of the application did not answer"
        yield row


def labelled(count: int) -> Iterator[dict[str, Any]]:
    """Rows of which people pass those that repeat their context, and by mistake one more."""
    for number in range(count):
        fact = f"The hall of house {number} holds {1800 + number} paintings."
        yield {
            "id": f"label-{number}",
            "question": "What is known of the hall?",
            "contexts": [fact],
            "response": INVENTED.format(number) if number % 2 else fact,
            "label": int(number % 2 == 0 or number == 1),
            "cluster": f"house-{number // 2}",
        }


def fault(body: dict[str, Any]) -> str | None:
    """What the server does to a few rows: it refuses, answers beside the point, or not at all."""
    text = str(body["messages"])
    kinds = {1: "refusal", 2: "wrong_schema", 3: "400", 5: "half"}
    found = re.search(r"branch (\d+)", text)
    return kinds.get(int(found[1]) % 11) if found else None


def make(folder: Path, count: int = 8) -> None:
    """A folder with rows, and a store of runs over them, labels and a certificate."""
    from ragassay.testing import LLMServer  # only here: versions without it can `write`

    folder.mkdir(parents=True, exist_ok=True)
    with chdir(folder), LLMServer(port=PORT, fault_for=fault, keep_bodies=False) as server:
        _write_rows("rows.jsonl", rows(count), "this line is no row")
        _write_rows("changed.jsonl", rows(count, better=True))
        _write_rows("labels.jsonl", labelled(max(count, 10)))
        offline = "--metrics groundedness,answer_relevance,ndcg_at_k,app_cost"
        judge = f"--judge openai:mock --base-url {server.url} --price 1,2 --concurrency 1"
        ragassay(f"evaluate rows.jsonl --name offline {offline} --gate 'groundedness>=0.2'", (0, 1))
        ragassay(f"evaluate changed.jsonl --name changed {offline}", (0,))
        ragassay(f"evaluate rows.jsonl --name judged --metrics {METRICS} {judge}", (0,))
        server.fault_for = None
        stop_at_a_cap(server.url, count)
        ragassay("benchmark labels.jsonl --metric groundedness --judge offline", (0,))
        ragassay(f"label next offline --metric groundedness --count {count // 2}", (0,))
        _fill_in(Path("labels.csv"))
        ragassay("label import offline labels.csv --metric groundedness", (0,))
        with closing(sqlite3.connect(STORE)) as store:
            store.execute("VACUUM")
            store.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def stop_at_a_cap(url: str, count: int) -> None:
    """A run of rows from memory that has judged a part of them when it stops."""
    import ragassay as package

    package.evaluate(
        list(rows(count, better=True)),
        METRICS,
        name="capped",
        judge="openai:mock",
        base_url=url,
        concurrency=1,
        cache=False,
        max_calls=count,
    ).close()


def write(folder: Path, output: Path) -> None:
    """Everything of WRITTEN about a copy of the folder's store, into `output`."""
    output.mkdir(parents=True, exist_ok=True)
    output = output.resolve()
    copy = output / "opened"
    (copy / STORE).parent.mkdir(parents=True)
    shutil.copy(folder / STORE, copy / STORE)
    with chdir(copy):
        listed = ragassay(WRITTEN["certificates.txt"], (0,))
        own = re.search(r"labels\.jsonl.*\n +([0-9a-f]{8})", listed)
        assert own is not None
        for name, command in WRITTEN.items():
            target = output / name
            words = {"FILE": shlex.quote(str(target)), "CERTIFICATE": own[1]}
            printed = ragassay(
                " ".join(words.get(word, word) for word in command.split()),
                (0,),
            )
            if "FILE" not in command:
                target.write_text(printed, encoding="utf-8", newline="")
    shutil.rmtree(copy)


def ragassay(line: str, codes: tuple[int, ...]) -> str:
    """Run a command here; what it printed on standard output."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
    before, sys.argv = sys.argv, ["ragassay", *shlex.split(line)]
    os.environ["COLUMNS"] = "100"
    try:
        with redirect_stdout(out), redirect_stderr(err):
            runpy.run_module("ragassay", run_name="__main__")
    except SystemExit as left:
        code = left.code
    else:
        code = 0
    finally:
        sys.argv = before
    printed = []
    for stream in (out, err):
        stream.flush()
        stream.seek(0)
        printed.append(stream.read())
    if code not in codes:
        raise RuntimeError(f"{line} left with {code}:\n{printed[0]}\n{printed[1]}")
    return printed[0]


def _write_rows(name: str, items: Iterator[dict[str, Any]], *more: str) -> None:
    lines = [json.dumps(item, ensure_ascii=False) for item in items]
    Path(name).write_text("\n".join([*lines, *more, ""]), encoding="utf-8")


def _fill_in(sheet: Path) -> None:
    """Label each row of a sheet as a person would who looks for the response in the contexts."""
    with sheet.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    for line in lines:
        line["label"] = str(int(line["response"].rstrip(".") in line["contexts"]))
        line["annotator"] = "ida"
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, lines[0].keys())
        writer.writeheader()
        writer.writerows(lines)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(Path(sys.argv[2]), *map(int, sys.argv[3:]))
    else:
        write(Path(sys.argv[2]), Path(sys.argv[3]))
