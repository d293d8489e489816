"""The commands that say how far a judge can be believed, as a user meets them: what is printed, and
the code they leave with.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.testing import LLMServer
from support.commands import run_in_process

BAD = re.compile(r"\b(?:nan|NaN|None|inf|Infinity)\b")
FACTS = (
    "The harbour opened in {}.",
    "The bridge carries {} cars a day.",
    "The museum holds {} paintings.",
)
FEW = ("--draws", "100")


class Done:
    """What a command printed, and its exit code."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err
        self.words = " ".join(out.split())

    @property
    def json(self) -> Any:
        """Stdout as JSON, in which NaN and Infinity are no numbers."""

        def refuse(text: str) -> Any:
            raise AssertionError(f"{text} in the JSON")

        return json.loads(self.out, parse_constant=refuse)


class Shell:
    """The command in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *arguments: object, code: int = 0) -> Done:
        done = run_in_process(self.folder, *arguments, environment={"COLUMNS": "200"})
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        assert "Traceback" not in done.stdout + done.stderr
        return Done(code, done.stdout, done.stderr)

    def write(self, name: str, rows: list[dict[str, Any]]) -> str:
        (self.folder / name).write_text(
            "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
        )
        return name


@pytest.fixture
def ragassay_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path)


def recorded(n: int = 60, **changes: Any) -> list[dict[str, Any]]:
    """Labels with three recorded judges: `good` errs on one row in ten, `flat` passes all, `noise`
    is a rough score.
    """
    rows = []
    for i in range(n):
        label = int(i % 3 != 0)
        right = i % 10 != 0
        rows.append(
            {
                "id": f"r{i}",
                "response": f"answer {i}",
                "label": label,
                "cluster": f"c{i // 2}",
                "slice": "ab"[i % 2],
                "judges": {
                    "good": 0.9 if right == bool(label) else 0.1,
                    "flat": 1,
                    "noise": i * 37 % 100 / 100,
                },
            }
            | {name: change(i) if callable(change) else change for name, change in changes.items()}
        )
    return rows


def claims(n: int) -> list[dict[str, Any]]:
    """Claims that stand in their context (even rows) and claims that do not."""
    rows = []
    for i in range(n):
        fact = FACTS[i % 3].format(1800 + i)
        other = f"Judgments are mailed to lawyer {i} in Geneva every night."
        rows.append(
            {
                "id": f"r{i}",
                "task": "groundedness",
                "question": "What is known?",
                "label": 1 - i % 2,
                "contexts": [f"{fact} It is open all year."],
                "response": other if i % 2 else fact,
            }
        )
    return rows


# -- benchmark


# -- probe, audit-table, plan-labels


def test_probe_prints_one_line_a_family_and_the_same_as_json(ragassay_: Shell) -> None:
    rows = [
        {
            "id": town,
            "question": f"When was the bridge of {town} opened?",
            "reference": f"In {year}.",
            "contexts": [f"The bridge of {town} was opened in {year}."],
            "response": f"The bridge of {town} was opened in {year}.",
        }
        for town, year in (("Harn", 1911), ("Lund", 1912))
    ]
    source = ragassay_.write("p.jsonl", rows)
    done = ragassay_("probe", "--rows", source, "--items", 5, "--store", "s.db", "--details")
    assert "no content" in done.out
    assert "holds in" in done.out
    assert "rows are judged, each by one metric" in done.err
    assert not BAD.search(done.out)
    report = ragassay_("probe", "--rows", source, "--items", 5, "--store", "s.db", "--json").json
    assert {family["family"] for family in report["families"]} >= {"no content"}
    assert "E0102" in ragassay_("probe", "--strings", "nowhere.txt", "--store", "s.db", code=2).err


# -- label, estimate


@pytest.fixture(scope="module")
def run_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("run") / "s.db"
    ragassay.evaluate(claims(120), "groundedness", store=store).close()
    return store


def fill(sheet: Path, who: str, flip: int) -> None:
    with sheet.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        i = int(row["id"][1:])
        row["label"], row["annotator"] = str((1 - i % 2) ^ (i % 9 == flip)), who
    with sheet.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)


def test_bad_labels_are_reported_with_their_lines_and_a_fix(
    ragassay_: Shell, run_store: Path
) -> None:
    shutil.copy(run_store, ragassay_.folder / "s.db")

    def labels(name: str, *pairs: tuple[str, Any]) -> str:
        return ragassay_.write(name, [{"id": row, "label": label} for row, label in pairs])

    usual = [(f"r{i}", i % 2) for i in range(30)]
    files = {
        "E0313": labels("off.jsonl", *usual, ("r31", 7)),
        "E0314": labels("two.jsonl", *usual, ("r3", 0)),
        "E0605": labels("strange.jsonl", *((f"x{i}", i % 2) for i in range(60))),
    }
    for code, file in files.items():
        failed = ragassay_("estimate", "last", "--labels", file, "--store", "s.db", code=2)
        assert code in failed.err
        assert "fix:" in failed.err
        assert failed.out == ""
    for code, file in (
        ("E0313", files["E0313"]),
        ("E0314", files["E0314"]),
        ("E0315", files["E0605"]),
    ):
        assert code in ragassay_("label", "import", "last", file, "--store", "s.db", code=2).err
    (ragassay_.folder / "empty.jsonl").write_text("")
    assert (
        "E0309"
        in ragassay_("estimate", "last", "--labels", "empty.jsonl", "--store", "s.db", code=6).err
    )
    assert (
        "E0206" in ragassay_("label", "agreement", files["E0313"], "--scale", "0,1,7", code=2).err
    )
    assert "E0206" in ragassay_("estimate", "last", "--store", "s.db", code=2).err
    assert (
        "E0201" in ragassay_("estimate", "last", "-m", "groundednes", "--store", "s.db", code=2).err
    )


def test_labels_of_one_class_give_a_figure_and_people_who_always_say_yes_an_explained_absence(
    ragassay_: Shell, run_store: Path
) -> None:
    shutil.copy(run_store, ragassay_.folder / "s.db")
    for name in ("a", "b"):
        ragassay_.write(f"{name}.jsonl", [{"id": f"r{i}", "label": 1} for i in range(60)])
    done = ragassay_("estimate", "last", "--labels", "a.jsonl", "--store", "s.db")
    assert "all labels are equal" in done.words
    people = ragassay_(
        "label", "agreement", "a.jsonl", "b.jsonl", "--run", "last", "--store", "s.db", *FEW
    )
    assert re.search(r"fleiss_kappa\s+-", people.out)
    assert "cannot be said to" in people.words
    for one in (done, people):
        assert not BAD.search(one.out)
    assert (
        ragassay_("label", "agreement", "a.jsonl", "b.jsonl", "--json", *FEW).json["judge"] is None
    )


# -- calibrate, panel, cascade, repeat


def test_a_high_confidence_is_printed_as_it_was_asked_and_not_rounded_to_certainty(
    ragassay_: Shell,
) -> None:
    source = ragassay_.write(
        "l.jsonl", [{"id": f"r{i}", "label": i % 2, "j": i % 2} for i in range(200)]
    )
    done = ragassay_(
        "cascade", source, "--cheap", "recorded:j", "--agreement", "0.925", "--confidence", "0.999"
    )
    assert "agreement of 92.5% with people" in done.words
    assert "wrongly at most 0.1% of the time" in done.words


def test_the_reason_why_a_cascade_cannot_be_run_is_the_one_that_applies(ragassay_: Shell) -> None:
    rows = [row | {"dear": row["label"]} for row in claims(60)]
    source = ragassay_.write("l.jsonl", rows)
    done = ragassay_(
        "cascade", source, "--cheap", "offline", "--expensive", "recorded:dear", "--store", "s.db"
    )
    assert "nothing to run: the expensive judge is recorded" in done.words
    done = ragassay_(
        "cascade", source, "--cheap", "recorded:dear", "--expensive", "offline", "--store", "s.db"
    )
    assert "nothing to run: confidence here is a recorded score's distance" in done.words


def test_repeat_prints_the_flip_rate_and_where_every_verdict_is_lost_why_there_is_none(
    ragassay_: Shell,
) -> None:
    source = ragassay_.write("r.jsonl", claims(6))
    done = ragassay_("repeat", source, "-m", "groundedness", "-k", 2, "--store", "s.db", *FEW)
    assert "2 samples of 6 rows" in done.words
    assert re.search(r"flip_rate\s+0\.000 \[0\.000", done.out)
    assert (
        "E0101"
        in ragassay_("repeat", source, "-m", "groundedness", "-k", 1, "--store", "s.db", code=2).err
    )
    assert (
        "E0201"
        in ragassay_("repeat", source, "-m", "groundednes", "-k", 2, "--store", "s.db", code=2).err
    )
    with LLMServer(fault_for=lambda body: "400") as server:
        command = (
            "repeat",
            source,
            "-m",
            "groundedness",
            "-k",
            2,
            "--store",
            "s.db",
            "--judge",
            "openai:mock",
            "--base-url",
            server.url,
            *FEW,
        )
        lost = ragassay_(*command)
        assert "12 verdicts lost" in lost.words
        assert "no row has two verdicts" in lost.words
        assert not BAD.search(lost.out)
        report = ragassay_(*command, "--json").json
    assert report["flip_rate"]["value"] is None


def test_a_judge_that_loses_every_verdict_is_no_benchmark_and_says_why(ragassay_: Shell) -> None:
    source = ragassay_.write("r.jsonl", claims(6))
    with LLMServer(fault_for=lambda body: "400") as server:
        asked = ("--base-url", server.url, "--store", "s.db")
        done = ragassay_(
            "benchmark", source, "--judge", "openai:mock", "--html", "b.html", *asked, *FEW, code=3
        )
        assert "E0603" in done.err
        assert not BAD.search(done.out)
        assert not BAD.search(text_of(ragassay_.folder / "b.html"))
        assert ragassay_(
            "benchmark", source, "--judge", "openai:mock", *asked, *FEW, "--json", code=3
        ).json
        failed = ragassay_("calibrate", source, "--judge", "openai:mock", *asked, *FEW, code=2)
        assert "E0315" in failed.err


# -- bad input


def text_of(page: Path) -> str:
    """What a reader of the page sees."""
    html = re.sub(
        r"<(style|script|svg)\b.*?</\1>", " ", page.read_text(encoding="utf-8"), flags=re.S
    )
    return re.sub(r"<[^>]*>", " ", html)


def test_a_judge_of_other_ids_is_refused_and_one_of_some_of_them_is_measured_on_these(
    ragassay_: Shell,
) -> None:
    source = ragassay_.write("l.jsonl", recorded(40))
    ragassay_.write("x.jsonl", [{"id": f"x{i}", "v": i % 2} for i in range(10)])
    failed = ragassay_("benchmark", source, "--judge", "recorded:x.jsonl#v", *FEW, code=2)
    assert "E0315" in failed.err
    assert "10 rows there, 40 labelled ones" in failed.err
    ragassay_.write("y.jsonl", [{"id": f"r{i}", "v": i % 2} for i in range(30, 60)])
    done = ragassay_("benchmark", source, "--judge", "recorded:y.jsonl#v", *FEW)
    assert "20 rows of y.jsonl are not among the labelled ones" in done.words
    report = ragassay_("benchmark", source, "--judge", "recorded:y.jsonl#v", *FEW, "--json").json
    assert report["judges"][0]["n"] == 10
    assert "30" in json.dumps(report["judges"][0]["missing"])
    assert (
        "E0315" in ragassay_("calibrate", source, "--judge", "recorded:x.jsonl#v", *FEW, code=2).err
    )


def test_a_run_of_one_row_is_labelled_and_its_label_stays_on_the_scale_of_its_import(
    tmp_path: Path,
) -> None:
    shell = Shell(tmp_path)
    row = {"question": "How long?", "contexts": ["It is 9 m long."], "response": "It is 9 m long."}
    shell.write("rows.jsonl", [row])
    shell("evaluate", "rows.jsonl", "-m", "groundedness")
    drawn = shell("label", "next", "last", "-o", "s.csv")
    assert "1 of 1 row, drawn with one chance for all" in drawn.words
    assert "One label shows nothing of other rows." in drawn.words
    with open(tmp_path / "s.csv", newline="") as file:
        (sheet,) = csv.DictReader(file)
    with open(tmp_path / "s.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, sheet.keys())
        writer.writeheader()
        writer.writerow({**sheet, "label": 1})
    scale = "scale: 0, 1; a row passes from a label of 1 on"
    assert scale in shell("label", "import", "last", "s.csv").words
    assert scale in shell("trust", "last", "-m", "groundedness").words
