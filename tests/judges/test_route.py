"""Which judge answers what: similarity by the encoder, everything else by the main judge; one run
over both.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
from pathlib import Path

import pytest

from ragassay.core import (
    Ask,
    CallFailed,
    ChatReply,
    Counts,
    Diagnosis,
    Judgment,
    MatchCall,
    MatchReply,
    Reply,
    Request,
    RunState,
    Sample,
    Score,
    SetupError,
    Spend,
    Status,
)
from ragassay.dispatch import CallPolicy, LocalBudget
from ragassay.judges import LLMJudge, OfflineJudge, RoutedJudge, RubricRegistry, SimilarityJudge
from ragassay.metrics.base import MetricBase
from ragassay.metrics.declaration import Declaration
from ragassay.models import JoinedModel, connect
from ragassay.models.offline import OfflineModel
from ragassay.runs import Engine, EngineSettings, Measurement, RunContext
from ragassay.store import Store
from ragassay.testing import LLMServer

RUBRICS = RubricRegistry.default()
MAIN, NEAR = LLMJudge("openai:m", RUBRICS), SimilarityJudge("v1")
JUDGE = RoutedJudge(MAIN, {"similarity": NEAR})


def pair(text: str, other: str) -> Request:
    return Request("similarity", {"text": text, "other": other})


def answer(text: str) -> Request:
    return Request("answer_relevance", {"question": "q?", "response": text})


def settle(*requests: Request, replies: tuple[Reply, ...]) -> tuple[Ask | None, list[Judgment]]:
    flow, asked, settled = JUDGE.answer(requests), None, tuple[Judgment, ...]()
    try:
        asked = next(flow)
        flow.send(replies)
    except StopIteration as end:
        settled = end.value
    by_key = {judgment.key: judgment for judgment in settled}
    assert len(by_key) == len(settled) == len({request.key for request in requests})
    assert asked is None or isinstance(asked, Ask)
    return asked, [by_key[request.key] for request in requests]


class TestRouting:
    def test_a_rubric_is_answered_by_the_judge_it_is_routed_to_and_all_others_by_the_main_one(
        self,
    ) -> None:
        assert JUDGE.rubric_version("similarity") == "similarity@1"
        assert JUDGE.rubric_version("answer_relevance") == "answer_relevance@3"
        assert JUDGE.fingerprint("similarity") == NEAR.fingerprint("similarity")
        assert JUDGE.fingerprint("answer_relevance") == MAIN.fingerprint("answer_relevance")
        assert (JUDGE.uri, JUDGE.agreement) == (MAIN.uri, MAIN.agreement)

    def test_another_main_judge_leaves_the_fingerprint_of_what_is_routed_as_it_was(self) -> None:
        offline = RoutedJudge(OfflineJudge("v1", {}, RUBRICS), {"similarity": NEAR})
        assert offline.fingerprint("similarity") == JUDGE.fingerprint("similarity")
        assert offline.fingerprint("answer_relevance") != JUDGE.fingerprint("answer_relevance")

    def test_batches_never_mix_judges_and_hold_every_request_once_in_order(self) -> None:
        requests = [r for n in range(20) for r in (pair(f"a{n}", "b"), answer(f"c{n}"))]
        groups = JUDGE.groups(requests)
        assert sorted(len(group) for group in groups) == [1] * 20 + [4, 16]
        assert all(len({r.rubric for r in group}) == 1 for group in groups)
        for rubric in ("similarity", "answer_relevance"):
            told = [r for group in groups for r in group if r.rubric == rubric]
            assert told == [r for r in requests if r.rubric == rubric]
        assert JUDGE.groups([]) == []

    def test_two_rubrics_of_one_other_judge_reach_it_together(self) -> None:
        both = RoutedJudge(NEAR, {"answer_relevance": MAIN, "chunk_relevance": MAIN})
        chunk = Request("chunk_relevance", {"question": "q?", "context": "c"})
        assert [
            [r.rubric for r in g] for g in both.groups([answer("a"), pair("a", "b"), chunk])
        ] == [
            ["answer_relevance"],
            ["chunk_relevance"],
            ["similarity"],
        ]

    def test_an_unknown_rubric_is_the_main_judges_to_refuse(self) -> None:
        with pytest.raises(SetupError, match="E0203"):
            JUDGE.fingerprint("similarities")


class TestSimilarity:
    def test_a_pair_becomes_a_match_call_and_its_cosine_the_value(self) -> None:
        spend = Spend(calls=1, cost=0.0, seconds=0.1)
        asked, (judgment,) = settle(pair("a", "b"), replies=(MatchReply(0.75, spend=spend),))
        assert asked == Ask((MatchCall("similarity", "a", ("b",)),))
        assert (judgment.status, judgment.value, judgment.spend) == (Status.JUDGED, 0.75, spend)
        # A cosine is no verdict: nothing is rated, and nothing passes or fails.
        assert (judgment.rating, judgment.passes, judgment.probability) == (None, None, None)

    def test_an_empty_text_has_nothing_to_compare_and_is_not_asked_about(self) -> None:
        asked, judgments = settle(
            pair("", "b"), pair("a", "b"), pair("a", " "), replies=(MatchReply(0.5),)
        )
        assert asked == Ask((MatchCall("similarity", "a", ("b",)),))
        assert [j.status for j in judgments] == [
            Status.NOT_APPLICABLE,
            Status.JUDGED,
            Status.NOT_APPLICABLE,
        ]
        assert [j.reason for j in judgments[::2]] == [
            "the first of the two texts is empty",
            "the second of the two texts is empty",
        ]
        assert settle(pair("", ""), replies=())[0] is None

    @pytest.mark.parametrize(
        ("reply", "status"),
        [
            (CallFailed("server", "broken"), Status.FAILED),
            (CallFailed("over_budget", "cap"), Status.OVER_BUDGET),
            (ChatReply("0.9"), Status.FAILED),
            (MatchReply(math.nan), Status.UNPARSED),
            (MatchReply(1.1), Status.UNPARSED),
            (MatchReply(-0.1), Status.UNPARSED),
        ],
    )
    def test_what_is_no_cosine_gives_no_value(self, reply: Reply, status: Status) -> None:
        _, (judgment,) = settle(pair("a", "b"), replies=(reply,))
        assert (judgment.status, judgment.value) == (status, None)
        assert judgment.reason

    def test_its_fingerprint_follows_the_encoder_and_it_answers_nothing_else(self) -> None:
        assert SimilarityJudge("v2").fingerprint("similarity") != NEAR.fingerprint("similarity")
        for ask in (NEAR.fingerprint, NEAR.rubric_version):
            with pytest.raises(SetupError, match="E0203"):
                ask("groundedness")


# -- a whole run over an LLM server and the encoder

TEXTS: dict[str, str | tuple[str, ...]] = {
    "question": "Where are judgments kept?",
    "response": "Judgments are kept in one SQLite file. Anna Berg wrote it in 2024.",
    "contexts": (
        "Every judgment is kept in one SQLite file.",
        "Judgments in the SQLite file are kept for ever.",
    ),
    "context": "Judgments are kept in one SQLite file. It rains.",
    "claim": "Judgments are kept in one SQLite file.",
    "text": "Judgments are kept in one SQLite file, says Anna Berg.",
    "other": "They are kept in a file of SQLite.",
    "answer": "In one SQLite file.",
    "statements": ("Judgments are kept in one SQLite file.",),
    "guideline": "Do not mention competitors.",
    "count": "3",
    "first": "In one SQLite file.",
    "second": "In several files.",
}


@dataclass(frozen=True)
class Everything(MetricBase):
    """Asks every rubric there is about a row, all at once; its value is the similarity."""

    declaration = Declaration("everything", "", "", ())

    def flow(self, sample):
        rubrics = {name: RUBRICS.get(name).inputs for name in RUBRICS.ids()} | {
            "similarity": ("text", "other")
        }
        texts = TEXTS | {"question": f"{TEXTS['question']}{sample.id}"}
        answers = yield tuple(
            Request(name, {field: texts[field] for field in inputs})
            for name, inputs in rubrics.items()
        )
        by_name = dict(zip(rubrics, answers, strict=True))
        return Score(
            "everything",
            Status.JUDGED,
            by_name["similarity"].value,
            counts=Counts.of([a.status for a in answers]),
            rationale="; ".join(
                f"{n}={a.rating}/{list(a.texts)}/{a.sources}/{len(a.evidence)}"
                for n, a in by_name.items()
            ),
        )


@pytest.mark.slow
def test_a_run_asks_the_server_for_judgments_and_the_encoder_for_similarity(
    tmp_path: Path, make_manifest
) -> None:
    offline = OfflineModel(threads=1)
    with LLMServer() as server, Store.open(tmp_path / "s.db") as store:
        store.create_run(make_manifest("run-1", rows=2))
        model = JoinedModel(connect("openai:mock", base_url=server.url), offline)
        judge = RoutedJudge(
            LLMJudge("openai:mock", RUBRICS), {"similarity": SimilarityJudge(offline.version)}
        )
        budget = LocalBudget(model.price)

        async def drive():
            engine = Engine(
                Measurement(
                    metrics=(Everything(),),
                    judge=judge,
                    diagnose=lambda sample, scores: Diagnosis(),
                ),
                EngineSettings(policy=CallPolicy(timeout=10)),
                RunContext(run_id="run-1", rows=2),
                model=model,
                store=store,
                budget=budget,
            )
            try:
                return await engine.run(iter(enumerate([Sample("1"), Sample("2")])))
            finally:
                await model.close()

        outcome = asyncio.run(drive())
        assert outcome.state is RunState.FINISHED
        first, second = (row.score("everything") for row in store.rows("run-1"))
        assert first is not None
        assert second is not None
        assert first.value is not None
        # Every rubric has a verdict, from the server's default judge or the encoder.
        assert first.counts == second.counts
        assert first.counts.judged == len(RUBRICS.ids()) + 1
        assert first.counts.asked == first.counts.judged
        # The encoder's answer is the same for both rows and was given once; the server saw nothing
        # of it.
        assert first.value == second.value
        assert 0.5 < first.value < 1
        prompts = [str(body["messages"]) for body in server.bodies]
        assert not any(
            "similarity" in body["response_format"]["json_schema"]["name"] for body in server.bodies
        )
        assert len(prompts) == len(set(prompts)) == server.stats()["answers"]
        without_question = [n for n in RUBRICS.ids() if "question" not in RUBRICS.get(n).inputs]
        assert len(prompts) == 2 * len(RUBRICS.ids()) - len(without_question)
        said = dict(part.split("=", 1) for part in first.rationale.split("; "))
        assert said["entailment"].startswith("stated/")
        assert said["correctness"].startswith("yes/")
        assert said["correctness_3"].startswith("correct/")
        assert said["safety"].startswith("safe/")
        assert said["guidelines"].startswith("yes/")
        assert said["groundedness"].startswith("3/[]/(0, 1)/")
        assert said["claim_sources"].startswith("yes/[]/(0, 1)/")
        assert said["sentence_relevance"] == "None/[]/None/1"
        assert said["entities"].startswith("None/['Judgments', 'SQLite', 'Anna Berg']")
        assert said["questions"].count("?") == 3
