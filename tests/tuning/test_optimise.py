"""Optimising a judge from labels to a certificate, over HTTP: what is refused, capped and kept."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.core import BudgetExhausted, DataError, NothingToDo, ProviderError, SetupError
from ragassay.testing import Body, LLMServer
from ragassay.tuning.aim_words import read_aim
from ragassay.tuning.labels import labels_of
from ragassay.tuning.optimise import Asked, Optimisation, Progress
from ragassay.tuning.outcome_json import optimisation_json
from ragassay.tuning.reports import plan_lines
from ragassay.tuning.target import target_of
from support.number_judge import RUBRIC, answers, judge, labelled_rows
from support.present import present

Row = dict[str, Any]


def rows() -> list[Row]:
    return [json.loads(line) for line in labelled_rows().splitlines()]


@pytest.fixture
def server() -> Iterator[LLMServer]:
    with LLMServer(answer=answers, models=["judge", "judge-2", "reflector"]) as running:
        yield running


@pytest.fixture
def ask(tmp_path: Path, server: LLMServer, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`ragassay.optimise` of the team's rubric on rows, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "faithful.md").write_text(RUBRIC)

    def optimise(labels: object, **options: Any) -> Any:
        given: dict[str, Any] = {
            "judge": "openai:judge",
            "reflector": "openai:reflector",
            "base_url": server.url,
            "rubrics": ["faithful.md"],
            "store": tmp_path / "s.db",
            "max_calls": 1200,
            "aim": "accuracy",
        }
        return ragassay.optimise("faithful", labels, **given | options)

    return optimise


def test_a_rubric_that_is_certified_is_written_and_used_as_it_stands(
    ask: Any, tmp_path: Path, server: LLMServer
) -> None:
    told: list[Progress] = []
    price = {"price": "1,2", "reflector_price": "3,4"}
    found = ask(rows(), out=tmp_path / "new.md", watch=told.append, **price)
    assert found.certified
    # It shows itself, and where it stood on the way: both models' calls and money.
    assert str(found).startswith("Certified: accuracy 0.")
    assert "<table" in found._repr_html_()
    # Of an edit that does not fit a line, what became of it is still to be read.
    said = " ".join(str(found).split())
    assert "… (taken: it mends 6 of 6)" in said
    assert "of 29 verdicts that the edits change" in said
    assert "move the mark" not in said
    said = " ".join(str(as_a_mark_would(found)).split())
    assert "Re-cutting alone, without a word changed, gives +0.234 on these rows." in said
    assert "may do no more than move the mark" in said
    phases = list(dict.fromkeys(each.phase for each in told))
    assert (phases[0], phases[-1]) == ("baseline", "certificate")
    assert [each.calls for each in told] == sorted(each.calls for each in told)
    assert told[0].cost == 0
    assert 0 < present(told[-1].cost) <= found.cost
    assert {each.most_calls for each in told} == {1200}
    assert found.rubric is not None
    # As JSON it is all figures and both rubrics, and no row.
    written = json.dumps(optimisation_json(found), allow_nan=False)
    assert "number of the passage" in json.loads(written)["rubric"]["text"]
    assert json.loads(written)["certificate"]["finalists"][0]["certified"]
    assert "in shop" not in written
    assert "number of the passage" in (tmp_path / "new.md").read_text()
    assert found.forecast.least <= found.calls <= found.forecast.cap == 1200
    with ragassay.evaluate(
        rows()[:8],
        "faithful",
        judge="openai:judge",
        base_url=server.url,
        rubrics=[tmp_path / "new.md"],
        store=tmp_path / "s.db",
    ) as run:
        assert run.manifest.judge.rubrics["faithful"].startswith("faithful@2")


def as_a_mark_would(found: Optimisation) -> Optimisation:
    """The result as it would be if another pass mark had done the same."""
    searched, certificate = present(found.result), present(found.certificate)
    (finalist,) = searched.finalists
    moved = replace(finalist, shift=present(finalist.shift)._replace(only_shifts=True))
    recut = replace(certificate, recut=certificate.finalists[0])
    return replace(found, result=replace(searched, finalists=(moved,)), certificate=recut)


def test_a_gain_towards_a_mark_is_not_told_as_one_of_the_figure(ask: Any) -> None:
    """The value that is tested holds twice what precision comes nearer to its mark."""
    found = ask(rows(), aim="f1 where precision >= 0.85")
    certificate = present(found.certificate)
    missed = replace(certificate.finalists[0], objections=("precision is 0.8; 0.85 is asked",))
    refused = replace(certificate, finalists=(missed,), chosen=None)
    said = " ".join(str(replace(found, certificate=refused)).split())
    told = "rubric 1: F1 0.814 -> 1.000, precision 0.686 -> 1.000: precision is 0.8"
    assert told in said
    assert "Gain in F1 less 2 times what precision lacks to 0.85: +0.515" in said


def test_it_works_inside_a_running_event_loop(ask: Any) -> None:
    async def main() -> Any:
        return ask(rows(), reflector=None)

    assert not asyncio.run(main()).certified


def test_no_call_is_made_beyond_the_cap_and_a_higher_one_goes_on(
    ask: Any, server: LLMServer
) -> None:
    with pytest.raises(BudgetExhausted):
        ask(rows(), max_calls=60)
    assert server.stats()["calls"] <= 60
    assert ask(rows(), max_calls=1200).certified
    assert server.stats()["answered_twice"] == 0
    assert server.stats()["calls"] <= 1200


def test_sealed_rows_are_opened_once_and_another_search_is_refused_before_it_pays(
    ask: Any, server: LLMServer
) -> None:
    """Another search over the same rows would certify chance sooner or later: with seed after seed
    even the same candidates.
    """
    first = ask(rows(), max_calls=900)
    assert first.certified
    bought = server.calls
    # Other ids do not make them other rows.
    renamed = [{**row, "id": f"new-{row['id']}"} for row in rows()]
    for labels, other in (
        (rows(), {"aim": "kappa"}),
        (rows(), {"seed": 3}),
        (rows(), {"judge": "openai:judge-2"}),
        (renamed, {}),
    ):
        with pytest.raises(SetupError, match="opened before") as refused:
            ask(labels, **other)
        assert refused.value.code == "E0704"
    # The same search under another cap goes the way that it went, and is no second test.
    again = ask(rows(), max_calls=5000)
    assert again.rubric == first.rubric
    assert "opened by this search before" in str(again)
    assert server.calls == bought


def test_one_file_of_labels_holds_several_searches(tmp_path: Path) -> None:
    """By `where` or by another column of labels: else one would take the other's openings."""
    labels = [{**row, "half": "ab"[n % 2], "second": row["label"]} for n, row in enumerate(rows())]
    labels[0]["second"] = 1 - labels[0]["second"]
    file = tmp_path / "labels.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in labels))
    target = target_of("groundedness", "offline")

    def key(**options: Any) -> str:
        found = labels_of(file, target.needs, **options)
        return Asked(target, found, read_aim("kappa"), "offline").key

    keys = [key(), key(where=["half=a"]), key(where=["half=b"]), key(label="second")]
    assert len(set(keys)) == 4
    assert key() == keys[0]


def test_rows_that_can_certify_nothing_stay_sealed(ask: Any, server: LLMServer) -> None:
    """60 rows of 20 documents: 18 sealed rows of 6, with which no gain can be told from chance."""
    few = [{**row, "cluster": str(n // 3)} for n, row in enumerate(rows()[:60])]
    told = []

    def confirm(ready: Any) -> bool:
        told.extend(plan_lines(ready))
        return True

    found = ask(few, confirm=confirm)
    assert "  no gain, however large, can be certified on them" in told
    assert (found.certified, found.certificate, found.rubric) == (False, None, None)
    lines = str(found).splitlines()
    assert lines[0] == "No certified gain: faithful stays as it is."
    # The search found the line that is missing; what came of it is told, and what would be needed.
    assert lines[1].startswith("The sealed rows were not opened. The best candidate")
    assert any("labelled rows in all" in line for line in lines)
    # They are unseen, so that a search over more rows may seal them.
    more = [{**row, "cluster": f"d{n}"} for n, row in enumerate(rows())]
    assert ask(more).certified


def test_a_reflector_that_costs_more_than_the_cap_is_not_asked(ask: Any, server: LLMServer) -> None:
    found = ask(rows(), price="1,2", reflector_price="500,5000", max_cost=1.0)
    assert not found.certified
    assert "a call of the reflector may cost $1" in found.result.ended
    assert found.cost < 1.0


def test_the_judges_price_is_no_price_of_another_model(ask: Any, server: LLMServer) -> None:
    """A cap of money would count a dear reflector at what the cheap judge costs."""
    with pytest.raises(SetupError, match="The reflector's price is not known") as unknown:
        ask(rows(), price="1,2", max_cost=1.0)
    assert unknown.value.code == "E0406"
    assert "--reflector-price" in unknown.value.fix
    assert server.calls == 0
    # Without a cap of money it may go on, and what is told of money says what it is without.
    found = ask(rows()[:40], price="1,2")
    assert found.unpriced >= 1
    assert f"without {found.unpriced} call" in str(found)


def test_a_plan_says_where_a_cap_of_money_cannot_be_kept(ask: Any) -> None:
    told: list[str] = []

    def decline(ready: Any) -> bool:
        told.extend(plan_lines(ready))
        return False

    with pytest.raises(NothingToDo):
        ask(rows(), max_cost=5.0, confirm=decline)
    assert any("cannot be kept without the judge's price" in line for line in told)


def test_money_for_the_certificate_is_kept_so_that_no_sealed_row_is_opened_in_vain(
    ask: Any,
) -> None:
    """A cap that stopped a certificate half way would cost the rows and give nothing."""
    options = {"price": "1,2", "reflector_price": "1,2"}
    with suppress(BudgetExhausted):
        found = ask(rows(), max_cost=0.12, **options)
        assert found.cost <= 0.12
        assert found.certificate is None or found.certificate.finalists[0].rows == 47
    # Whatever happened, a higher cap leads to a result: no row was opened for nothing.
    assert ask(rows(), max_cost=5.0, **options).certified


def test_a_plan_that_is_declined_costs_nothing(ask: Any, server: LLMServer) -> None:
    with pytest.raises(NothingToDo) as declined:
        ask(rows(), confirm=lambda plan: False)
    assert declined.value.code == "E0707"
    assert server.calls == 0


@pytest.mark.parametrize("said", ["", "I cannot help with that.", '{"edits": []}', "[[[{"])
def test_a_proposer_that_proposes_nothing_ends_the_search_honestly(
    ask: Any, server: LLMServer, said: str
) -> None:
    server.answer = lambda body: said if body["model"] == "reflector" else judge(body)
    found = ask(rows())
    assert (found.certified, found.rubric, found.path) == (False, None, "")
    assert found.result.ended.startswith("the reflector proposed nothing usable")
    said = " ".join(str(found).split())
    assert "no edit was proposed that could be tried" in said
    assert "Another reflector may do better" in said
    # Of 113 rows 56 are right, 29 have another number, 28 are about another matter.
    assert "accuracy 0.743 (tp / fp / fn / tn: 56 / 29 / 0 / 28)" in said


def test_a_judge_that_fails_on_a_third_of_the_rows_is_not_optimised(
    ask: Any, server: LLMServer
) -> None:
    def fails(body: Body) -> Any:
        if body["model"] == "judge" and any(f"shop {n}." in str(body) for n in range(0, 160, 2)):
            return "I would rather not say."
        return answers(body)

    server.answer = fails
    with pytest.raises(ProviderError) as lost:
        ask(rows())
    assert lost.value.code == "E0706"


def test_a_judge_that_fails_on_the_sealed_rows_is_no_missing_gain(
    ask: Any, server: LLMServer
) -> None:
    """What was lost there is asked again, and the rows count as opened by this search alone."""
    phases: list[str] = []

    def broken(body: Body) -> str | None:
        is_late = "certificate" in phases and body["model"] == "judge"
        return "wrong_schema" if is_late else None

    def watch(told: Progress) -> None:
        phases.append(told.phase)

    server.fault_for = broken
    with pytest.raises(ProviderError, match="no verdict on 100% of the sealed rows") as raised:
        ask(rows(), watch=watch)
    assert raised.value.code == "E0706"
    server.fault_for = None
    assert ask(rows()).certified


def test_a_reflector_is_told_in_words_what_disagreements_have_in_common(
    ask: Any, server: LLMServer
) -> None:
    shown: list[str] = []

    def answer(body: Body) -> Any:
        if body["model"] == "reflector":
            shown.append(str(body["messages"][-1]["content"]))
        return answers(body)

    server.answer = answer
    found = ask(rows())
    common = "rationale: wrong number, the judge passes what people fail"
    assert f"What the disagreements have in common: {common}\n" in shown[0]
    assert optimisation_json(found)["search"]["tried"][0]["group"] == common  # type: ignore[index]


def test_a_judge_that_fails_when_it_is_asked_again_is_not_optimised(
    ask: Any, server: LLMServer
) -> None:
    def fails(body: Body) -> Any:
        return "I would rather not say." if server.calls > 120 else answers(body)

    server.answer = fails
    with pytest.raises(ProviderError) as lost:
        ask(rows())
    assert lost.value.code == "E0706"


@pytest.mark.parametrize(
    ("judge", "reads"), [("offline", False), ("local:models/nli", False), ("openai:gpt-5", True)]
)
def test_only_judges_that_read_a_rubric_are_searched_for_one(judge: str, reads: bool) -> None:
    assert target_of("groundedness", judge).searchable is reads


def test_the_column_of_the_parts_is_found_wherever_it_stands(ask: Any) -> None:
    """Behind more columns than are looked at for slices, under a known name, in an object."""
    parts = ("train", "validation", "sealed")
    labels = []
    for n, row in enumerate(rows()):
        many = {f"c{k}": str(n % 2) + "x" for k in range(45)}
        part = parts[n % 5 % 3]
        labels.append({**row, **many, "group": part, "meta": {"part": part}, "cluster": str(n)})

    def sizes(column: str) -> tuple[int, int, int]:
        seen = []

        def decline(ready: Any) -> bool:
            seen.append(ready.division)
            return False

        with pytest.raises(NothingToDo):
            ask(labels, split_by=column, confirm=decline)
        (division,) = seen
        return len(division.train), len(division.validation), len(division.sealed)

    assert sizes("group") == sizes("meta/part") == (64, 64, 32)


def test_a_run_that_fails_inside_a_search_is_gone_on_with_by_the_same_command(
    ask: Any, server: LLMServer
) -> None:
    server.fault_for = lambda body: "401"
    with pytest.raises(ProviderError) as refused:
        ask(rows())
    assert refused.value.code == "E0403"
    assert refused.value.fix.endswith("; then go on with: the same command")


@pytest.mark.parametrize("out", ["nowhere/new.md", "faithful.md"])
def test_a_rubric_that_could_not_be_written_is_told_before_anything_is_paid(
    ask: Any, server: LLMServer, out: str
) -> None:
    with pytest.raises(SetupError) as refused:
        ask(rows(), out=out)
    assert refused.value.code == "E0107"
    assert server.calls == 0


def test_too_few_rows_say_which_were_left_out(ask: Any) -> None:
    labels = [{**row, "label": row["label"] if n < 20 else None} for n, row in enumerate(rows())]
    with pytest.raises(DataError) as few:
        ask(labels)
    assert few.value.why == "20 labelled rows; 140 of 160 rows have no label and are left out"


def test_too_few_clusters_name_the_column_that_they_come_from(ask: Any) -> None:
    with pytest.raises(DataError) as few:
        ask([{**row, "conversation_id": row["topic"]} for row in rows()])
    assert few.value.why == "160 rows in 4 clusters, by the column conversation_id"
    assert "--cluster COLUMN" in few.value.fix


def without(field: str) -> list[Row]:
    return [{name: value for name, value in row.items() if name != field} for row in rows()]


@pytest.mark.parametrize(
    ("labels", "code"),
    [
        (without("contexts"), "E0315"),
        ([{**row, "label": 1} for row in rows()], "E0702"),
        (rows()[:29], "E0702"),
        ([{**row, "cluster": str(n % 9)} for n, row in enumerate(rows())], "E0702"),
        (without("label"), "E0205"),
    ],
    ids=["no contexts", "one class", "29 rows", "9 clusters", "no label"],
)
def test_labels_that_can_certify_nothing_are_refused_before_anything_is_asked(
    ask: Any, server: LLMServer, labels: list[Row], code: str
) -> None:
    with pytest.raises((DataError, SetupError)) as refused:
        ask(labels)
    assert refused.value.code == code
    assert server.calls == 0


def test_a_search_that_is_killed_goes_on_and_buys_nothing_twice(
    tmp_path: Path, server: LLMServer
) -> None:
    (tmp_path / "faithful.md").write_text(RUBRIC)
    (tmp_path / "labels.jsonl").write_text(labelled_rows())
    server.latency = 0.02
    command = [sys.executable, "-m", "ragassay", "optimise", "faithful", "--yes"]
    command += ["--rubric", "faithful.md", "--labels", "labels.jsonl", "--max-calls", "1200"]
    command += ["--judge", "openai:judge", "--reflector", "openai:reflector"]
    command += ["--base-url", server.url, "--aim", "accuracy"]
    killed = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 300
    while server.calls < 200 and time.monotonic() < deadline:
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert server.calls >= 200
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=500)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Certified: accuracy")
    # What was on its way when the process died, 32 calls at most, was answered to nobody.
    assert server.stats()["answered_twice"] <= 32
    assert server.stats()["calls"] <= 1200


def test_a_search_that_is_stopped_says_how_it_goes_on(tmp_path: Path, server: LLMServer) -> None:
    """And where the rows are sent, once for all its steps, without the forecast of each."""
    (tmp_path / "faithful.md").write_text(RUBRIC)
    (tmp_path / "labels.jsonl").write_text(labelled_rows())
    server.latency = 0.2
    command = [sys.executable, "-m", "ragassay", "optimise", "faithful", "--yes"]
    command += ["--rubric", "faithful.md", "--labels", "labels.jsonl"]
    command += ["--judge", "openai:judge", "--base-url", server.url]
    running = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, encoding="utf-8")
    deadline = time.monotonic() + 300
    while server.calls < 20 and time.monotonic() < deadline:
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=300)
    assert running.returncode == 130
    assert said.splitlines()[-1] == "Stopped: the same command goes on where it was"
    assert said.count("sent to 127.0.0.1") == 1
    assert "about 113 calls and" not in said


def test_the_offline_judge_changes_its_pass_mark_alone(tmp_path: Path) -> None:
    labels = [{**row, "label": row["label"]} for row in rows()]
    found = ragassay.optimise("groundedness", labels, store=tmp_path / "s.db", aim="accuracy")
    assert (found.result, found.rubric, found.calls) == (None, None, 0)
    assert json.loads(json.dumps(optimisation_json(found), allow_nan=False))["certified"] is False
    assert found.step.reason
