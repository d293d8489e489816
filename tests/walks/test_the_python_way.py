"""The same work in Python: evaluate, stop at a cap, resume, look at rows, ask one question."""

from pathlib import Path

import ragassay
from ragassay.testing import LLMServer

ROWS = [
    {
        "id": "founded",
        "question": "When was the library founded?",
        "contexts": ["The city library was founded in 1911 by the Mayer family."],
        "response": "The city library was founded in 1911.",
    },
    {
        "id": "books",
        "question": "How long may a book be kept?",
        "contexts": ["Books may be kept for four weeks."],
        "response": "You can keep a book for six weeks.",
    },
]


def test_rows_from_memory_are_evaluated_offline(tmp_path: Path) -> None:
    with ragassay.evaluate(ROWS, "groundedness", store=tmp_path / "store.db") as run:
        assert (run.summary.passed, run.summary.failed, run.summary.rows) == (1, 1, 2)
        assert str(run).startswith("1 of 2 rows pass, 1 fail, 0 undecided\n")
        (groundedness,) = run.summary.metrics
        assert groundedness.metric == "groundedness"
        assert groundedness.mean is not None
        assert (groundedness.asked, groundedness.judged) == (2, 2)
        (failure,) = run.failures()
        assert failure.id == "books"
        assert failure.diagnosis.cause is not None
        assert failure.diagnosis.cause.title == "The response claims what the chunks do not support"
        run.html(tmp_path / "report.html")
        assert "<!DOCTYPE html>" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_capped_run_is_resumed_and_single_questions_share_its_judgments(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    with LLMServer() as server:
        with ragassay.evaluate(
            ROWS,
            "groundedness,answer_relevance",
            judge="openai:mock",
            base_url=server.url,
            store=store,
            max_calls=2,
        ) as stopped:
            assert stopped.state == "budget"
            assert stopped.stop_reason == "the cap of 2 calls was reached"
        with ragassay.resume(stopped.id, rows=ROWS, store=store, max_calls=10) as run:
            assert run.state == "finished"
            assert (run.summary.passed, run.summary.failed) == (1, 1)
            score = run["books"].score("groundedness")
            assert score is not None
            assert (score.value, score.verdict) == (0.0, "fail")
            assert [(claim.passed, claim.rationale) for claim in score.parts] == [
                (False, "29% of the words are there.")
            ]
            assert run.summary.ledger.confirmed.calls == server.stats()["calls"] == 4
            assert server.stats()["answered_twice"] == 0

        again = ragassay.judge.groundedness(
            question="How long may a book be kept?",
            contexts=["Books may be kept for four weeks."],
            response="You can keep a book for six weeks.",
            judge="openai:mock",
            base_url=server.url,
            store=store,
        )
        assert (again.value, again.verdict) == (0.0, "fail")
        assert server.stats()["calls"] == 4


def test_two_runs_are_compared(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    better = [ROWS[0], {**ROWS[1], "response": "Books may be kept for four weeks."}]
    ragassay.evaluate(ROWS, "groundedness", store=store, name="before").close()
    ragassay.evaluate(better, "groundedness", store=store, name="after").close()
    (metric,) = ragassay.compare("before", "after", store=store).metrics
    assert (metric.metric, metric.won, metric.result.ties, metric.lost) == ("groundedness", 1, 1, 0)


def test_the_runs_of_a_store_are_listed_newest_first(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    ragassay.evaluate(ROWS, "groundedness", store=store, name="monday").close()
    ragassay.evaluate(ROWS, "groundedness", store=store, name="tuesday").close()
    assert [run.manifest.name for run in ragassay.list_runs(store=store)] == ["tuesday", "monday"]
