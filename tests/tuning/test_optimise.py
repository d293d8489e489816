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
from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.core import BudgetExhausted, DataError, NothingToDo, ProviderError, SetupError
from ragassay.testing import Body, LLMServer
from ragassay.tuning.aim_words import read_aim
from ragassay.tuning.labels import labels_of
from ragassay.tuning.optimise import Asked, Progress
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


def test_the_offline_judge_changes_its_pass_mark_alone(tmp_path: Path) -> None:
    labels = [{**row, "label": row["label"]} for row in rows()]
    found = ragassay.optimise("groundedness", labels, store=tmp_path / "s.db", aim="accuracy")
    assert (found.result, found.rubric, found.calls) == (None, None, 0)
    assert json.loads(json.dumps(optimisation_json(found), allow_nan=False))["certified"] is False
    assert found.step.reason
