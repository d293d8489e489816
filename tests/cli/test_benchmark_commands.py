"""The commands that say how far a judge can be believed, as a user meets them: words, exit codes,
bad input.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ragassay.testing import LLMServer, answer_by_words
from support.commands import run_in_process

SLIP = re.compile(r"\b(nan|inf|None|NaN)\b|Traceback")


class Done(NamedTuple):
    """What a command printed."""

    out: str
    err: str

    @property
    def json(self) -> Any:
        def refuse(word: str) -> None:
            raise AssertionError(f"{word} in JSON")

        return json.loads(self.out, parse_constant=refuse)


Command = Callable[..., Done]


@pytest.fixture
def ragassay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(tmp_path)

    def command(*arguments: object, code: int = 0) -> Done:
        done = run_in_process(tmp_path, *arguments, environment={"COLUMNS": "160"})
        out, err = done.stdout, done.stderr
        assert done.returncode == code, (done.returncode, out, err)
        assert not SLIP.search(out.replace("slices        none", "")), out
        assert "Traceback" not in err
        if code == 2:
            assert re.search(r"error\[E\d{4}\]|error: ", err), err
            assert "fix:" in err, err
        return Done(out, err)

    return command


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def labelled(n: int = 60, **more: Callable[[int], Any]) -> list[dict[str, Any]]:
    """Rows with a label, clusters of two and two recorded judges: A errs on every fifth row, B on
    every third.
    """
    rows: list[dict[str, Any]] = []
    for i in range(n):
        label = (i // 2) % 2
        row = {
            "id": f"r{i}",
            "cluster": f"c{i // 2}",
            "slice": "ab"[i % 2],
            "label": label,
            "judges": {"A": label ^ (i % 5 == 0), "B": label ^ (i % 3 == 0)},
        }
        for name, make in more.items():
            row[name] = make(i)
        rows.append(row)
    return rows


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    return write(tmp_path / "labels.jsonl", labelled())


TEXTS = [
    {
        "id": f"t{i}",
        "question": f"When was bridge {i} opened?",
        "contexts": [f"Bridge {i} was opened in {1900 + i} and is painted red."],
        "response": f"Bridge {i} was opened in {1900 + i}."
        if i % 3
        else "It is famous for its excellent cheese.",
        "labels": {"groundedness": 3 if i % 3 else 0},
        "slice": "xy"[i % 2],
    }
    for i in range(60)
]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return write(tmp_path / "texts.jsonl", TEXTS)


# -- benchmark


def test_benchmark_sets_recorded_judges_side_by_side_pooled_and_macro(
    ragassay: Command, labels: Path
) -> None:
    done = ragassay("benchmark", labels, "--judge", "recorded:A,B", "--html", "b.html")
    assert "2 judges against 60 human labels" in done.out
    assert "Figures, pooled over all rows" in done.out
    assert "Figures, macro: mean over slices" in done.out
    assert "Differences, B - A" in done.out
    page = Path("b.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert not SLIP.search(
        re.sub(r"<style.*?</style>", "", page, flags=re.DOTALL).replace(">none<", "><")
    )
    report = ragassay("benchmark", labels, "--judge", "recorded:A,B", "--json").json
    first = {figure["name"]: figure for figure in report["judges"][0]["pooled"]}
    assert first["accuracy"]["value"] == pytest.approx(48 / 60)
    assert first["kappa"]["value"] == pytest.approx(0.6, abs=0.01)
    assert first["kappa"]["interval"]["low"] < 0.6 < first["kappa"]["interval"]["high"]
    assert report["judges"][0]["clusters"] == 30
    assert report["set_up"]["cut"] == 1
    assert {d["figure"] for d in report["differences"]} >= {"kappa", "precision", "recall"}


def test_benchmark_asks_a_judge_and_keeps_a_certificate_that_every_run_of_it_shows(
    ragassay: Command, texts: Path
) -> None:
    ragassay(
        "benchmark",
        texts,
        "--judge",
        "offline",
        "-m",
        "groundedness",
        "--label",
        "labels/groundedness",
    )
    listed = ragassay("certificates", "--metric", "groundedness").out
    assert "texts.jsonl" in listed
    assert "60 in 60 clusters" in listed
    shown = ragassay("evaluate", texts, "-m", "groundedness", "--trust").out
    assert "60 labels (texts.jsonl)" in shown


def test_a_judge_that_gives_no_verdict_is_an_incomplete_benchmark(
    ragassay: Command, texts: Path
) -> None:
    with LLMServer(models=["m"], answer=lambda body: "I would rather not say.") as server:
        done = ragassay(
            "benchmark",
            texts,
            "--judge",
            "openai:m,offline",
            "-m",
            "groundedness",
            "--label",
            "labels/groundedness",
            "--base-url",
            server.url,
            code=3,
        )
    assert "offline" in done.out
    assert "error[E0603]: openai:m gave no verdict." in done.err


def test_a_cap_holds_for_all_judges_together_and_nothing_is_measured_on_half_of_the_rows(
    ragassay: Command, texts: Path
) -> None:
    with LLMServer(models=["m", "k"]) as server:
        common = (
            "--judge",
            "openai:m,openai:k",
            "-m",
            "groundedness",
            "--label",
            "labels/groundedness",
            "--base-url",
            server.url,
        )
        done = ragassay("benchmark", texts, *common, "--max-calls", 70, code=4)
        assert server.calls <= 70
        assert done.out == ""
        assert "E0604" in done.err
        assert "openai" not in ragassay("certificates", "--judge", "openai:k").out
        ragassay("benchmark", texts, *common)
        assert server.stats()["answered_twice"] == 0
        assert server.calls == 120


BAD: dict[str, tuple[list[dict[str, Any]], tuple[object, ...], int, str]] = {
    "one class": (labelled(label=lambda i: 1), (), 0, "not defined"),
    "a constant judge": (labelled(judges=lambda i: {"A": 1}), (), 0, "passes every row"),
    "few clusters": (labelled(cluster=lambda i: f"c{i % 4}"), (), 0, "4 clusters"),
    "one cluster": (labelled(cluster=lambda i: "c"), (), 0, "1 cluster"),
    "missing labels": (
        labelled(label=lambda i: None if i % 2 else (i // 2) % 2),
        (),
        0,
        "30 of 60 rows labelled",
    ),
    "no labels": (labelled(label=lambda i: None), (), 2, "E0313"),
    "a label off the scale": (labelled(label=lambda i: 7 if i == 9 else i % 2), (), 2, "E0313"),
    "labels without a usual cut": (labelled(label=lambda i: i % 5 + 1), (), 2, "--cut"),
    "words for labels": (labelled(label=lambda i: "rather so"), (), 2, "E0313"),
    "a judge of other ids": (labelled(judges=lambda i: {}), (), 2, "E0205"),
    "all verdicts lost": (
        labelled(judges=lambda i: {"A": None}),
        (),
        2,
        "'A' has no verdict on a labelled row",
    ),
    "two labels for one row": ([*labelled(), labelled()[0] | {"label": 1}], (), 2, "E0314"),
    "the same label twice": ([*labelled(), labelled()[0]], (), 0, "60 human labels"),
    "a judge without verdicts on some": (
        labelled(judges=lambda i: {"A": None if i % 2 else (i // 2) % 2}),
        (),
        0,
        "30 rows without a verdict",
    ),
    "a cut that is no number": (labelled(), ("--cut", "nan"), 2, "--cut"),
    "an endless judge cut": (labelled(), ("--judge-cut", "inf"), 2, "--judge-cut"),
    "no draws": (labelled(), ("--draws", 0), 2, "--draws"),
    "a negative seed": (labelled(), ("--seed", -1), 2, "--seed"),
    "free errors": (labelled(), ("--fp-cost", 0, "--fn-cost", 0), 2, "--fp-cost"),
    "an unknown slice": (labelled(), ("--slice", "nosuch"), 2, "nosuch"),
    "labels beyond measure": (
        labelled(label=lambda i: (-1e300, 0, 1e300)[i % 3]),
        ("--cut", 0),
        2,
        "E0313",
    ),
    "steps without end": (
        labelled(label=lambda i: (0, 1, 5_000_000)[i % 3]),
        ("--cut", 1),
        0,
        "60 human labels",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_a_figure_with_a_warning_an_explained_absence_or_a_clear_error(
    ragassay: Command, tmp_path: Path, case: str
) -> None:
    rows, options, code, words = BAD[case]
    path = write(tmp_path / "bad.jsonl", rows)
    done = ragassay("benchmark", path, "--judge", "recorded:A", *options, code=code)
    assert words in done.out + done.err
    if code == 0:
        assert ragassay("benchmark", path, "--judge", "recorded:A", *options, "--json").json[
            "judges"
        ]
        ragassay("benchmark", path, "--judge", "recorded:A", *options, "--html", "bad.html")
        page = re.sub(
            r"<style.*?</style>", "", Path("bad.html").read_text(encoding="utf-8"), flags=re.DOTALL
        )
        assert not re.search(r"\bnan\b|\binf\b|\bNone\b", page)


@pytest.mark.parametrize("command", ["calibrate", "panel", "cascade"])
@pytest.mark.parametrize("case", [case for case, (_, options, *_) in BAD.items() if not options])
def test_calibrate_panel_and_cascade_treat_bad_rows_as_benchmark_does(
    ragassay: Command, tmp_path: Path, command: str, case: str
) -> None:
    rows, _, code, _ = BAD[case]
    path = write(tmp_path / "bad.jsonl", rows)
    judge = "--cheap" if command == "cascade" else "--judge"
    names = "recorded:A,B" if command == "panel" else "recorded:A"
    if command == "panel" and "B" not in rows[0]["judges"]:
        code = 2
    ragassay(command, path, judge, names, code=code)


def test_an_empty_file_holds_nothing_to_benchmark(ragassay: Command, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    assert "E0309" in ragassay("benchmark", "empty.jsonl", "--judge", "recorded:A", code=6).err


# -- certificates


def test_certificates_go_from_one_store_to_another_and_are_refused_once_changed(
    ragassay: Command, texts: Path
) -> None:
    ragassay(
        "benchmark",
        texts,
        "--judge",
        "offline",
        "-m",
        "groundedness",
        "--label",
        "labels/groundedness",
    )
    own = next(
        c
        for c in ragassay("certificates", "--json").json["certificates"]
        if c["dataset"] == "texts.jsonl"
    )
    full = ragassay("certificates", own["id"][:8]).out
    assert own["id"] in full
    assert "balanced accuracy" in full
    assert "wrote" in ragassay("certificates", "--metric", "groundedness", "-o", "c.json").err
    there = ragassay("certificates", "--import", "c.json", "--store", "other.db", "--json").json[
        "certificates"
    ]
    assert own["id"] in {c["id"] for c in there}
    Path("c.json").write_text(Path("c.json").read_text().replace('"n":60', '"n":61'))
    assert (
        "E0317" in ragassay("certificates", "--import", "c.json", "--store", "third.db", code=2).err
    )
    assert "E0205" in ragassay("certificates", "0000", code=2).err
    assert "E0102" in ragassay("certificates", "--import", "nosuch.json", code=2).err


def test_a_recorded_judge_gets_no_certificate(ragassay: Command, labels: Path) -> None:
    ragassay("benchmark", labels, "--judge", "recorded:A")
    assert "labels.jsonl" not in ragassay("certificates").out


# -- labels


def fill(
    path: Path, target: str, value: Callable[[dict[str, str]], object], person: str = "ada"
) -> str:
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    with Path(target).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(row | {"label": str(value(row)), "annotator": person} for row in rows)
    return target


def truth(row: dict[str, str]) -> int:
    return 0 if "cheese" in row["response"] else 1


def test_the_metric_that_was_labelled_is_the_one_to_estimate(
    ragassay: Command, texts: Path
) -> None:
    ragassay("evaluate", texts, "--metrics", "groundedness,answer_relevance")
    ragassay("label", "next", "last", "-m", "answer_relevance", "-n", 20, "-o", "sheet.csv")
    ragassay("label", "import", "last", fill(Path("sheet.csv"), "filled.csv", truth))
    assert "answer_relevance" in ragassay("estimate", "last").out


def test_rows_are_chosen_labelled_imported_and_correct_the_run(
    ragassay: Command, texts: Path
) -> None:
    ragassay("evaluate", texts, "-m", "groundedness", "--slice", "slice")
    done = ragassay("label", "next", "last", "-n", 20, "-o", "sheet.csv")
    assert "20 of 60 rows" in done.out
    assert "95% interval reaches about" in done.out
    assert "E0107" in ragassay("label", "next", "last", "-n", 20, "-o", "sheet.csv", code=2).err, (
        "labels may be in it"
    )
    assert "No row is labelled yet" in ragassay("label", "import", "last", "sheet.csv", code=6).err
    filled = fill(Path("sheet.csv"), "filled.csv", truth)
    assert (
        "20 labels of groundedness: 20 new or changed"
        in ragassay("label", "import", "last", filled).out
    )
    first = ragassay("estimate", "last").out
    assert "by labels alone" in first
    assert "fewer than 50 labels" in first
    ragassay("label", "next", "last", "-n", 40, "-o", "second.csv")
    ragassay("label", "import", "last", fill(Path("second.csv"), "second_filled.csv", truth))
    report = ragassay("estimate", "last", "--slice", "slice", "--json").json
    assert report["estimate"]["value"] == pytest.approx(40 / 60)
    assert report["used"] == 60
    assert [part["value"] for part in report["slices"]] == ["x", "y"]
    assert (
        "No row is left to label"
        in ragassay("label", "next", "last", "-o", "third.csv", code=2).err
    )
    wrong = fill(Path("sheet.csv"), "wrong.csv", lambda row: 1 - truth(row))
    assert "--replace" in ragassay("label", "import", "last", wrong, code=2).err
    assert "20 new or changed" in ragassay("label", "import", "last", wrong, "--replace").out


def test_labels_that_the_rows_carry_themselves_pass_from_the_usual_cut_of_their_scale(
    ragassay: Command, texts: Path
) -> None:
    ragassay("evaluate", texts, "-m", "groundedness")
    done = ragassay(
        "estimate", "last", "--labels", texts, "--label", "labels/groundedness", "--json"
    ).json
    assert done["estimate"]["labels_only"] == pytest.approx(40 / 60)
    for scale, code in (("0,1", 2), ("0,1,2,3", 0), ("zero", 2), ("1", 2)):
        ragassay(
            "estimate",
            "last",
            "--labels",
            texts,
            "--label",
            "labels/groundedness",
            "--scale",
            scale,
            code=code,
        )


def test_labels_of_another_population_are_refused_with_the_reason(
    ragassay: Command, texts: Path, tmp_path: Path
) -> None:
    ragassay("evaluate", texts, "-m", "groundedness", "--name", "target")
    foreign = [
        {
            "id": f"f{i}",
            "label": i % 2,
            "question": "Explain at length?",
            "contexts": [f"Chapter {i}. " + "The economy of the region rests on salt. " * 30] * 5,
            "response": "Salt matters, as the chapter says in several places. " * 8,
        }
        for i in range(120)
    ]
    done = ragassay(
        "estimate", "target", "--labels", write(tmp_path / "foreign.jsonl", foreign), code=2
    )
    assert "E0605" in done.err


def test_an_unknown_metric_slice_or_run_is_named_with_those_that_exist(
    ragassay: Command, texts: Path
) -> None:
    ragassay("evaluate", texts, "-m", "groundedness", "--slice", "slice")
    assert (
        "Did you mean 'groundedness'?"
        in ragassay("estimate", "last", "-m", "groundednes", code=2).err
    )
    assert "its slices are slice" in ragassay("estimate", "last", "--slice", "nosuch", code=2).err
    assert (
        "its slices are slice"
        in ragassay("label", "next", "last", "--slice", "nosuch", "-o", "s.csv", code=2).err
    )
    assert "E0103" in ragassay("estimate", "nosuch", code=2).err
    assert (
        "--per-cluster"
        in ragassay("label", "next", "last", "--per-cluster", 0, "-o", "s.csv", code=2).err
    )


def test_people_are_compared_with_each_other_and_with_the_judge(
    ragassay: Command, texts: Path
) -> None:
    ragassay("evaluate", texts, "-m", "groundedness")
    ragassay("label", "next", "last", "-n", 60, "-o", "sheet.csv", "--method", "uniform")
    people = [
        fill(Path("sheet.csv"), "ada.csv", truth, "ada"),
        fill(
            Path("sheet.csv"), "bob.csv", lambda row: truth(row) if row["id"] != "t1" else 0, "bob"
        ),
        fill(
            Path("sheet.csv"), "eve.csv", lambda row: truth(row) if row["id"] != "t2" else 0, "eve"
        ),
    ]
    done = ragassay("label", "agreement", *people, "--run", "last")
    assert "60 of 60 rows have labels of two people or more" in done.out
    assert "The judge may stand in for a person" in done.out
    assert "eve: beaten" in done.out
    # With labels that were imported a run is named as everywhere, or left out.
    for sheet in people[:2]:
        ragassay("label", "import", "last", sheet)
    of_run = ragassay("label", "agreement").out
    assert "60 of 60 rows have labels of two people or more" in of_run
    assert ragassay("label", "agreement", "last").out == of_run
    assert "E0103" in ragassay("label", "agreement", "nosuch", code=2).err
    report = ragassay("label", "agreement", *people, "--json").json
    assert report["judge"] is None
    observed = next(f for f in report["people"]["figures"] if f["name"] == "observed_agreement")
    assert observed["value"] == pytest.approx(
        (58 * 3 + 1 + 1) / (60 * 3)
    )  # pairs that agree, of three a row
    assert "E0206" in ragassay("label", "agreement", people[0], code=2).err
    assert "--epsilon" in ragassay("label", "agreement", *people, "--epsilon", -1, code=2).err


def test_a_judge_does_not_stand_in_for_people_who_all_say_the_same_and_differ_from_it(
    ragassay: Command, texts: Path
) -> None:
    ragassay("evaluate", texts, "-m", "groundedness")
    ragassay("label", "next", "last", "-n", 60, "-o", "sheet.csv", "--method", "uniform")
    people = [
        fill(Path("sheet.csv"), f"{name}.csv", lambda row: 1, name)
        for name in ("ada", "bob", "eve")
    ]
    done = ragassay("label", "agreement", *people, "--run", "last")
    assert "may stand in" not in done.out
    assert "not shown to agree beyond chance" in done.out


def test_votes_of_several_people_in_one_field_are_read(ragassay: Command, tmp_path: Path) -> None:
    rows = [{"id": f"r{i}", "votes": [i % 2, i % 2, (i % 2) ^ (i % 10 == 0)]} for i in range(40)]
    report = ragassay(
        "label", "agreement", write(tmp_path / "v.jsonl", rows), "--votes", "votes", "--json"
    ).json
    assert len(report["people"]["pairs"]) == 3
    assert report["ties"] == []


# -- plans, tables, probes


def test_plan_labels_answers_in_one_sentence_and_refuses_what_cannot_be(ragassay: Command) -> None:
    assert "With 622 labels" in ragassay("plan-labels", "paired", "-d", 0.05).out
    assert ragassay("plan-labels", "width", "-n", 100, "--json").json[
        "half_width"
    ] == pytest.approx(0.096, abs=1e-3)
    for bad in (
        ("paired", "-d", 0),
        ("paired", "-n", 10**30),
        ("width", "-n", 1),
        ("target", "-d", 0.1, "--power", 1),
    ):
        assert "E0101" in ragassay("plan-labels", *bad, code=2).err


def test_audit_table_says_which_figures_cannot_all_be_true(ragassay: Command) -> None:
    Path("t.csv").write_text(
        "name,precision,recall,f1,kappa,balanced,n,positives\n"
        "printed,.9924,.655,,.605,yes,,\n"
        "one class,,,.5234,,,79,79\n"
        "macro,.80,.60,.62,,,,\n"
    )
    out = ragassay("audit-table", "t.csv").out
    assert "printed: inconsistent" in out
    assert "one class: undetermined" in out
    assert "macro: macro" in out
    assert "without kappa the rest is possible, and implies kappa 0.650" in out


def test_probe_refuses_invalid_shares_and_missing_files(ragassay: Command) -> None:
    assert "--mark" in ragassay("probe", "--mark", "nan", code=2).err
    assert "E0102" in ragassay("probe", "--strings", "nosuch.txt", code=2).err


# -- calibration, panels, cascades, repetition


def test_calibrate_maps_scores_and_keeps_the_stated_cut(ragassay: Command, tmp_path: Path) -> None:
    rows = labelled(
        200, judges=lambda i: {"S": 0.55 + 0.4 * (((i // 2) % 2) ^ (i % 7 == 0)) - 0.01 * (i % 5)}
    )
    path = write(tmp_path / "s.jsonl", rows)
    done = ragassay("calibrate", path, "--judge", "recorded:S")
    assert "cut: 0.5 now" in done.out
    assert "adopt it" in done.out
    report = ragassay("calibrate", path, "--judge", "recorded:S", "--kind", "platt", "--json").json
    (one,) = report["calibrations"]
    assert one["after"]["ece"]["value"] < one["before"]["ece"]["value"]
    assert (
        "--folds" in ragassay("calibrate", path, "--judge", "recorded:S", "--folds", 1, code=2).err
    )
    assert (
        "E0205" in ragassay("calibrate", path, "--judge", "recorded:S,recorded:label", code=2).err
    )
    assert (
        "E0101"
        in ragassay("calibrate", path, "--judge", "recorded:S", "--figure", "beauty", code=2).err
    )


def test_panel_shows_whose_errors_go_together_and_what_the_vote_is_worth(
    ragassay: Command, labels: Path
) -> None:
    done = ragassay("panel", labels, "--judge", "recorded:A,B")
    assert "2 judges on 60 rows in 30 clusters" in done.out
    assert "recorded:A  0.800" in done.out
    assert "majority" in done.out
    assert "E0205" in ragassay("panel", labels, "--judge", "recorded:A", code=2).err


def test_pairs_judged_in_both_orders_make_no_panel(ragassay: Command, tmp_path: Path) -> None:
    rows = []
    for i in range(40):
        both_orders = [1 + i % 2, 2 - i % 2]
        judges = {"a": both_orders, "b": both_orders}
        rows.append({"id": f"r{i}", "label": 1 + i % 2, "judges": judges})
    path = write(tmp_path / "p.jsonl", rows)
    ragassay("benchmark", path, "--judge", "recorded:a,b", "--cut", 2)
    assert (
        "both orders" in ragassay("panel", path, "--judge", "recorded:a,b", "--cut", 2, code=2).err
    )


def test_cascade_says_what_it_promises_and_on_what_it_was_chosen(
    ragassay: Command, tmp_path: Path
) -> None:
    rows = labelled(
        200,
        judges=lambda i: {"S": (0.05, 0.95)[(i // 2) % 2] if i % 4 else 0.55, "T": (i // 2) % 2},
    )
    path = write(tmp_path / "s.jsonl", rows)
    done = ragassay("cascade", path, "--cheap", "recorded:S", "--expensive", "recorded:T")
    assert "agreement of 90% with people is certified from the judge's confidence" in done.out
    assert "certifies wrongly at most 10% of the time" in done.out
    assert "by which the threshold was chosen" in done.out
    assert "the expensive judge alone on 100.0%" in done.out
    assert "nothing to run" in done.out
    few = ragassay(
        "cascade", write(tmp_path / "few.jsonl", labelled(6)), "--cheap", "recorded:A"
    ).out
    assert "nothing can be certified" in few
    for option in ("--agreement", "--confidence"):
        assert option in ragassay("cascade", path, "--cheap", "recorded:S", option, 1.5, code=2).err


def test_repeat_asks_anew_each_time_counts_the_flips_and_pays_once(
    ragassay: Command, tmp_path: Path
) -> None:
    path = write(tmp_path / "few.jsonl", TEXTS[:20])
    asked: Counter[int] = Counter()

    def scripted(body: dict[str, Any]) -> Any:
        reply = answer_by_words(body)
        number = int(
            re.findall(r"Bridge (\d+) was opened", str(body["messages"][-1]["content"]))[0]
        )
        asked[number] += 1
        for entry in reply.get("verdicts", ()) if isinstance(reply, dict) else ():
            entry["rating"] = (
                0 if number % 4 == 0 and asked[number] == 2 else 3
            )  # every fourth row turns once
        return reply

    with LLMServer(models=["m"], answer=scripted) as server:
        options = (
            "repeat",
            path,
            "-m",
            "context_relevance",
            "--judge",
            "openai:m",
            "-k",
            3,
            "--base-url",
            server.url,
        )
        report = ragassay(*options, "--json").json
        assert server.calls == 60
        assert (report["samples"], report["n"], report["lost"]) == (3, 20, 0)
        assert report["flip_rate"]["value"] == pytest.approx(5 / 20)
        assert report["two_differ"]["value"] == pytest.approx(5 / 20 * 2 / 3)
        assert "flip_rate" in ragassay(*options).out
        assert server.calls == 60
        ragassay(
            *options[:-2], "--base-url", server.url, "--max-calls", 5, "--temperature", 0.5, code=4
        )
        assert server.calls <= 65
    for bad in (("-k", 1), ("-k", 1_000_000), ("--temperature", "nan"), ("--draws", 0)):
        assert "E0101" in ragassay("repeat", path, "-m", "context_relevance", *bad, code=2).err


def test_two_judges_together_are_named_in_quotes_like_any_other(
    ragassay: Command, texts: Path
) -> None:
    assert "E0410" in ragassay("evaluate", texts, "--judge", "panel:offline", code=2).err
    with LLMServer(models=["m"]) as server:
        out = ragassay(
            "evaluate",
            texts,
            "-m",
            "groundedness",
            "--judge",
            "cascade:offline>openai:m@0.9",
            "--base-url",
            server.url,
        ).out
    assert "cascade:offline>openai:m@0.9" in out


def test_last_is_the_users_own_run_and_not_one_that_measured_a_judge(
    ragassay: Command, texts: Path
) -> None:
    ragassay(
        "benchmark",
        texts,
        "--judge",
        "offline",
        "-m",
        "groundedness",
        "--label",
        "labels/groundedness",
    )
    assert "those that measured a judge" in ragassay("show", "last", code=2).err
    ragassay("evaluate", texts, "-m", "groundedness", "--name", "mine")
    ragassay("repeat", texts, "-m", "groundedness", "-k", 2)
    done = ragassay("label", "next", "-n", 5, "-o", "s.csv")
    assert "5 of 60 rows" in done.out
    listed = json.loads(ragassay("runs", "--json").out)["runs"]
    own = next(one["run_id"] for one in listed if one["name"] == "mine")
    assert f"ragassay label import {own} s.csv" in done.out
    assert sum(one["name"].startswith("to measure a judge: ") for one in listed) == 3


def test_a_label_sheet_with_rows_left_unlabelled_is_reported(
    ragassay: Command, texts: Path
) -> None:
    ragassay("evaluate", texts, "-m", "groundedness")
    ragassay("label", "next", "-n", 30, "-o", "s.csv")
    part = fill(Path("s.csv"), "part.csv", lambda row: truth(row) if row["id"] > "t3" else "")
    assert (
        "have no label: where people left out the hard ones"
        in ragassay("label", "import", "last", part).err
    )


def test_a_cap_that_a_dead_server_used_up_says_so(ragassay: Command, texts: Path) -> None:
    with LLMServer(models=["m"], fault_for=lambda body: "500") as server:
        options = (
            "--judge",
            "openai:m",
            "-m",
            "groundedness",
            "--base-url",
            server.url,
            "--max-calls",
            3,
        )
        failed = ragassay("benchmark", texts, "--label", "labels/groundedness", *options, code=4)
        assert "nothing was answered" in failed.err
        assert "nothing was answered" in ragassay("evaluate", texts, *options, code=4).err


def test_the_example_rows_can_be_had_as_a_file(ragassay: Command) -> None:
    ragassay("demo", "--rows", "rows.jsonl")
    assert (
        "67 of 67 rows labelled"
        in ragassay(
            "benchmark",
            "rows.jsonl",
            "--judge",
            "offline",
            "-m",
            "groundedness",
            "--label",
            "labels/groundedness",
        ).out
    )


def test_a_judge_that_lost_many_verdicts_gets_no_certificate_until_they_are_there(
    ragassay: Command, texts: Path
) -> None:
    wrong = {"left": True}

    def answer(body: dict[str, Any]) -> Any:
        number = int(
            re.findall(r"[Bb]ridge (\d+) was opened", str(body["messages"][-1]["content"]))[0]
        )
        return (
            "I would rather not say."
            if wrong["left"] and number % 4 == 0
            else answer_by_words(body)
        )

    with LLMServer(models=["m"], answer=answer) as server:
        command = (
            "benchmark",
            texts,
            "--judge",
            "openai:m",
            "-m",
            "groundedness",
            "--label",
            "labels/groundedness",
            "--base-url",
            server.url,
        )
        first = ragassay(*command)
        assert "lost more than 5 %" in first.err
        assert "15 rows without a verdict" in first.out
        assert first.out.count("unparsed") == 1, "equal causes add up"
        assert "texts.jsonl" not in ragassay("certificates", "--judge", "openai:m").out
        wrong["left"] = False
        assert "has a certificate of this" in ragassay(*command).err
