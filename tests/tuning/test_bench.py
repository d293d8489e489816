"""The judge and the proposer of a search, over HTTP and a store: nothing is bought twice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ragassay
from ragassay.core import BudgetExhausted, ProviderError, Sample
from ragassay.core.sample import Context
from ragassay.dispatch import CallPolicy
from ragassay.judges import Rubric, RubricRegistry
from ragassay.models import connect
from ragassay.store import Store
from ragassay.testing import Body, LLMServer, answer_by_words
from ragassay.tuning.bench import StoreBench
from ragassay.tuning.model_proposer import ModelProposer
from ragassay.tuning.record import SearchRecord, opened_by_another
from ragassay.tuning.spending import Spending
from ragassay.tuning.values import Disagreement, ProposerTask, SearchCaps

BASE = RubricRegistry.default().get("groundedness")
STRICT = replace(BASE, version="5", criteria=BASE.criteria + "\n- Count the numbers twice.")
SAMPLES = [
    Sample(
        f"r{i}",
        question="When did it open?",
        contexts=(Context(f"The harbour opened in {1800 + i}."),),
        response=f"The harbour opened in {1800 + i}." if i % 2 else "Cows eat fresh green grass.",
    )
    for i in range(8)
]
ALL = np.arange(8)
TASK = ProposerTask(BASE, "fewer false passes", [Disagreement(0, False, True)], [])


@contextmanager
def search_of(
    store: Path, server: LLMServer, spending: Spending
) -> Iterator[tuple[StoreBench, SearchRecord]]:
    """One attempt of a search: what it asks goes to the server and into the store."""
    with Store.open(store) as opened:
        record = SearchRecord(opened, "k" * 40, "optimise", "openai:mock", "proposer-1")
        yield (
            StoreBench(
                SAMPLES,
                "groundedness",
                "openai:mock",
                BASE,
                record,
                spending,
                record.folder,
                store,
                options={"base_url": server.url},
                attempts=record.attempts(),
            ),
            record,
        )


def rubric_seen(body: Body) -> str:
    return str(body["messages"][0]["content"])


def test_rows_are_judged_under_the_rubric_that_is_given(tmp_path: Path) -> None:
    with LLMServer() as server:
        spending = Spending()
        with search_of(tmp_path / "s.db", server, spending) as (bench, _):
            first = bench.judge(BASE, ALL)
            second = bench.judge(STRICT, ALL[:3])
        assert first.passes.tolist() == [False, True] * 4
        assert second.passes.tolist() == [False, True, False]
        assert np.isfinite(first.score).all()
        assert first.reasons[1]
        seen = [rubric_seen(request) for request in server.bodies]
        assert sum("Count the numbers twice." in text for text in seen) == 3
        assert bench.calls == server.stats()["calls"]


def test_where_less_is_better_what_passes_has_the_higher_score(tmp_path: Path) -> None:
    with LLMServer() as server, search_of(tmp_path / "s.db", server, Spending()) as (bench, _):
        turned = replace(bench, metric="hallucination(against=contexts)", lower_is_better=True)
        answers = turned.judge(BASE, ALL)
    assert answers.passes.tolist() == [False, True] * 4
    assert answers.score[answers.passes].min() > answers.score[~answers.passes].max()


def test_a_second_attempt_finds_everything_and_counts_what_it_cost(tmp_path: Path) -> None:
    with LLMServer() as server:
        for attempt in range(2):
            spending = Spending(max_calls=100)
            with search_of(tmp_path / "s.db", server, spending) as (bench, _):
                bench.judge(BASE, ALL)
                bench.judge(BASE, ALL[:4], repeat=1)
            if attempt == 0:
                bought, counted = server.stats()["calls"], spending.calls
        assert server.stats()["calls"] == bought
        # The search goes the same way again, so the caps hold over both attempts together.
        assert spending.calls == counted == bought


def test_a_server_that_breaks_in_a_search_ends_it_after_few_steps(tmp_path: Path) -> None:
    """Replies of two rows are no JSON, step after step: too few to see in one of them that the
    server is down. What was judged is kept, and the same search goes on when it is back.
    """
    steps = [ALL[:2], ALL[2:4], ALL[4:6]]
    with LLMServer() as server, search_of(tmp_path / "s.db", server, Spending()) as (bench, _):
        bench.judge(BASE, ALL[6:])
        server.down = "bad_json"
        once = replace(bench, options={**bench.options, "attempts": 1})
        assert not once.judge(BASE, steps[0]).judged.any()
        assert not once.judge(BASE, steps[1]).judged.any()
        with pytest.raises(ProviderError, match="all calls of the last 3 steps failed") as ended:
            once.judge(BASE, steps[2])
        assert ended.value.code == "E0706"
        assert "is not JSON" in ended.value.why
        server.down = None
        assert bench.judge(BASE, ALL).judged.all()


def test_a_repeat_is_an_answer_of_its_own(tmp_path: Path) -> None:
    with (
        LLMServer() as server,
        search_of(tmp_path / "s.db", server, Spending()) as (bench, _),
    ):
        bench.judge(BASE, ALL[:2])
        before = server.stats()["calls"]
        bench.judge(BASE, ALL[:2], repeat=1)
        assert server.stats()["calls"] == before + 2


def test_the_cap_stops_the_judge_and_the_next_attempt_goes_on(tmp_path: Path) -> None:
    with LLMServer() as server:
        with (
            search_of(tmp_path / "s.db", server, Spending(max_calls=5)) as (bench, _),
            pytest.raises(BudgetExhausted),
        ):
            bench.judge(BASE, ALL)
        assert server.stats()["calls"] <= 5
        with search_of(tmp_path / "s.db", server, Spending(max_calls=20)) as (bench, _):
            answers = bench.judge(BASE, ALL)
        assert answers.judged.all()
        assert server.stats()["answered_twice"] == 0
        assert bench.calls == server.stats()["calls"]


def test_a_proposal_is_kept_and_not_asked_for_again(tmp_path: Path) -> None:
    def answer(body: Body) -> Any:
        if "You improve the instructions of a judge" in rubric_seen(body):
            return '{"edits": []}'
        return answer_by_words(body)

    with LLMServer(answer=answer) as server:
        for _ in range(2):
            spending = Spending()
            with search_of(tmp_path / "s.db", server, spending) as (_, record):
                model = connect("openai:mock", base_url=server.url)
                with ModelProposer(model, record, spending) as proposer:
                    assert proposer.propose(TASK) == '{"edits": []}'
            assert spending.calls == 1
        assert server.stats()["calls"] == 1


def test_a_reflector_that_never_replies_is_an_error_and_no_missing_gain(tmp_path: Path) -> None:
    """Its server is down: nothing was searched, which is another thing than nothing was found."""

    def fails(body: object) -> str:
        raise OSError("the disk is full")  # the server answers with 500

    spending = Spending()
    with (
        LLMServer(answer=fails) as server,
        search_of(tmp_path / "s.db", server, spending) as (_, record),
    ):
        model = connect("openai:mock", base_url=server.url)
        once = CallPolicy(attempts=1, backoff=0.0)
        with ModelProposer(model, record, spending, once) as proposer:
            assert [proposer.propose(TASK) for _ in range(2)] == ["", ""]
            with pytest.raises(ProviderError) as failed:
                proposer.propose(TASK)
        assert failed.value.code == "E0708"
        assert sum(proposer.failures.values()) == 3


def test_no_proposal_is_bought_beyond_the_cap(tmp_path: Path) -> None:
    with (
        LLMServer() as server,
        search_of(tmp_path / "s.db", server, Spending(max_calls=0)) as (_, record),
    ):
        model = connect("openai:mock", base_url=server.url)
        with (
            ModelProposer(model, record, Spending(max_calls=0)) as proposer,
            pytest.raises(BudgetExhausted),
        ):
            proposer.propose(TASK)
        assert server.stats()["calls"] == 0


def test_sealed_rows_that_were_opened_are_known_to_every_search(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.db") as store:
        first = SearchRecord(store, "a" * 40, "optimise", "openai:mock", "p")
        assert first.opened({"a", "b"}, "finalists-1") is None
        assert first.caps_at_opening() is None
        first.log_opening(["a", "b"], "finalists-1", SearchCaps(600, 1.5))
        first.log_opening(["a", "b"], "finalists-1", SearchCaps(600, 1.5))
        assert first.caps_at_opening() == SearchCaps(600, 1.5)
        assert opened_by_another(store, "a" * 40, {"a"}) is None
        assert opened_by_another(store, "b" * 40, {"a", "c"}) is not None
    with Store.open(tmp_path / "s.db") as store:
        other = SearchRecord(store, "b" * 40, "optimise", "openai:mock", "p")
        assert other.opened({"b", "c"}, "finalists-2") is not None
        assert other.opened({"a", "b"}, "finalists-1") is None
        assert other.opened({"c"}, "finalists-2") is None


def test_searches_are_not_what_last_means(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.db") as store:
        SearchRecord(store, "a" * 40, "optimise", "openai:mock", "p")
        with pytest.raises(ragassay.RagAssayError):
            store.resolve("last")


def test_the_rubric_as_it_is_needs_no_file(tmp_path: Path) -> None:
    """What an earlier run bought under the built-in rubric is found by the search."""
    with LLMServer() as server:
        with ragassay.evaluate(
            SAMPLES,
            "groundedness",
            judge="openai:mock",
            base_url=server.url,
            store=tmp_path / "s.db",
        ):
            bought = server.stats()["calls"]
        with search_of(tmp_path / "s.db", server, Spending()) as (bench, _):
            same: Rubric = BASE
            bench.judge(same, ALL)
        assert server.stats()["calls"] == bought
