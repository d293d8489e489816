"""The simulated world behind a server: the same verdicts and the same edits as in this process."""

from __future__ import annotations

import json
import urllib.request

import numpy as np

import ragassay
from ragassay.judges import rubric_text
from ragassay.testing import LLMServer
from ragassay.tuning.edits import Action, Edit
from ragassay.tuning.guard import EditGuard
from ragassay.tuning.parts import Kind
from ragassay.tuning.proposal import messages
from ragassay.tuning.reply import read_reply
from ragassay.tuning.values import Disagreement, ProposerTask
from support.rubric_world import RubricWorld, ScriptedProposer, WorldBench, http_answer

WORLD = RubricWorld(3)


def server() -> LLMServer:
    proposer = ScriptedProposer(WorldBench(WORLD), right=1.0)
    return LLMServer(answer=http_answer(WORLD, proposer), models=["judge", "reflector"])


def test_an_edited_rubric_is_judged_as_in_this_process(tmp_path):
    line = WORLD.line(0, np.random.default_rng(1))
    edited = EditGuard(WORLD.rubric).applied([Edit(Action.ADD, Kind.CRITERION, new=line)])
    file = tmp_path / "edited.md"
    file.write_text(rubric_text(edited), encoding="utf-8")
    rows = WORLD.parts[0][:30]
    samples = [{"id": WORLD.rows.ids[row], **WORLD.rows.texts[row]} for row in rows]
    expected = WorldBench(WORLD).judge(edited, rows)
    with (
        server() as running,
        ragassay.evaluate(
            samples,
            "answer_relevance",
            judge="openai:judge",
            base_url=running.url,
            rubrics=[file],
            store=tmp_path / "store.db",
        ) as run,
    ):
        passed = [row.scores[0].verdict == "pass" for row in run.rows()]
    assert passed == expected.passes.tolist()


def test_a_proposer_behind_the_server_names_the_kind_of_the_rows_that_it_is_shown():
    rows = [row for row in WORLD.parts[0].tolist() if WORLD.kind_of(row) == 1][:3]
    cases = [Disagreement(row, False, True, texts=WORLD.rows.texts[row]) for row in rows]
    prompt = messages(ProposerTask(WORLD.rubric, "accuracy", cases, []))
    body = {
        "model": "reflector",
        "messages": [{"role": each.role, "content": each.content} for each in prompt],
    }
    with server() as running:
        request = urllib.request.Request(
            f"{running.url}/chat/completions",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as response:
            reply = json.load(response)["choices"][0]["message"]["content"]
    edits = read_reply(reply, WORLD.rubric).edits
    assert [WORLD.reading(edit.new).kinds for edit in edits] == [frozenset({1})]
