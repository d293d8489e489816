"""Rows are driven: asked once, durable before use, nothing lost, a row's failure its own."""

import asyncio
import time
from dataclasses import dataclass
from typing import Any, Never

import pytest

from ragassay.core import (
    Ask,
    BadRow,
    CallError,
    CallFailed,
    ChatCall,
    ChatReply,
    Diagnosis,
    EnvironmentFailure,
    Judgment,
    Keep,
    Message,
    ProviderError,
    Request,
    RunState,
    Sample,
    Score,
    Spend,
    Status,
)
from ragassay.dispatch import CallPolicy, LocalBudget
from ragassay.metrics.base import MetricBase
from ragassay.metrics.declaration import Declaration
from ragassay.runs import Engine, EngineSettings, Measurement, RunContext
from ragassay.store import Store


@dataclass(frozen=True)
class Ask1(MetricBase):
    """Asks one thing about the question; its value is the rating."""

    name: str = "m"
    prefix: str = "q"
    declaration = Declaration("m", "", "", ())

    def flow(self, sample):
        (judgment,) = yield (Request("r", {"text": f"{self.prefix}:{sample.question}"}),)
        return Score(self.name, judgment.status, judgment.value if judgment.judged else None)


@dataclass(frozen=True)
class Broken(MetricBase):
    declaration = Declaration("broken", "", "", ())

    def flow(self, sample):
        yield (Request("r", {"text": sample.question}),)
        raise ZeroDivisionError("a metric's own fault")


class PanicException(BaseException):
    """As native code raises it."""


class EchoJudge:
    """One call a group; groups of two; the model's reply "ok" is a 1, anything else a failure."""

    uri, agreement = "echo", "unmeasured"

    def rubric_version(self, rubric) -> str:
        return f"{rubric}@1"

    def fingerprint(self, rubric) -> str:
        return f"echo-{rubric}"

    def groups(self, requests):
        return [tuple(requests[i : i + 2]) for i in range(0, len(requests), 2)]

    def answer(self, requests):
        if any("crash" in r.text("text") for r in requests):
            raise RuntimeError("a judge's own fault")
        if any("panic at once" in r.text("text") for r in requests):
            raise PanicException("a fault of native code")
        (reply,) = yield Ask((ChatCall((Message("user", requests[0].text("text")),)),))
        if any("panic later" in r.text("text") for r in requests):
            raise PanicException("a fault of native code")
        if isinstance(reply, CallFailed):
            status = Status.OVER_BUDGET if reply.kind == "over_budget" else Status.FAILED
            return tuple(
                Judgment(r.key, "echo-r", "r@1", status, reason=reply.message) for r in requests
            )
        judgments = [
            Judgment(r.key, "echo-r", "r@1", Status.JUDGED, rating=1, value=1.0, spend=reply.spend)
            for r in requests
        ]
        yield Keep(tuple(judgments[:1]))
        return tuple(judgments[1:])


class CountingModel:
    uri, concurrency = "openai:fake", None

    def __init__(self, fail=None, wait=0.0) -> None:
        self.asked: list[Any] = []
        self.fail = fail or (lambda text: None)
        self.wait = wait

    async def call(self, call):
        text = call.messages[0].content
        self.asked.append(text)
        await asyncio.sleep(self.wait)
        if error := self.fail(text):
            raise error
        return ChatReply("ok", spend=Spend(1, 10, 1, cost=0.01))

    def lane(self, call) -> str:
        return ""

    def price(self, *_) -> float:
        return 0.01

    async def close(self) -> None:
        pass


def samples(questions):
    return [Sample(f"row-{i}", question=q) for i, q in enumerate(questions)]


@pytest.fixture
def store(tmp_path, make_manifest):
    with Store.open(tmp_path / "s.db") as opened:
        opened.create_run(make_manifest("run-1", rows=1000))
        yield opened


def engine_for(
    store,
    *,
    metrics=(Ask1(),),
    model=None,
    judge=None,
    max_calls=None,
    cache=True,
    concurrency=4,
    total=10,
    run_application=None,
):
    model = model or CountingModel()
    return Engine(
        Measurement(
            metrics=metrics,
            judge=judge or EchoJudge(),
            diagnose=lambda sample, scores: Diagnosis(),
            run_application=run_application,
        ),
        EngineSettings(
            policy=CallPolicy(timeout=5, attempts=2, backoff=0.001),
            concurrency=concurrency,
            cache=cache,
        ),
        RunContext(run_id="run-1", rows=total),
        model=model,
        store=store,
        budget=LocalBudget(model.price, max_calls=max_calls),
    )


def run(engine, rows):
    return asyncio.run(engine.run(iter(enumerate(rows))))


def test_every_row_is_scored_and_stored_in_its_place(store) -> None:
    outcome = run(engine_for(store), samples("abc"))
    assert outcome.state is RunState.FINISHED
    stored = list(store.rows("run-1"))
    assert [(r.index, r.id, r.score("m").value) for r in stored] == [
        (0, "row-0", 1.0),
        (1, "row-1", 1.0),
        (2, "row-2", 1.0),
    ]


def test_equal_requests_are_asked_once_across_metrics_and_rows(store) -> None:
    model = CountingModel(wait=0.01)
    run(engine_for(store, metrics=(Ask1(), Ask1(name="twin")), model=model), samples("aaab"))
    assert sorted(model.asked) == ["q:a", "q:b"]
    assert all(len(r.scores) == 2 for r in store.rows("run-1"))


def test_what_is_in_the_store_is_not_asked_again_and_costs_nothing(store) -> None:
    run(engine_for(store), samples("ab"))
    model = CountingModel()
    engine = engine_for(store, model=model)
    outcome = run(engine, samples("ab"))
    assert model.asked == []
    assert (outcome.ledger.confirmed.calls, outcome.ledger.cached_judgments) == (0, 2)


def test_a_judgment_is_durable_before_a_score_is_made_of_it(store) -> None:
    seen = []

    class Checks(Ask1):
        def flow(self, sample):
            (judgment,) = yield (Request("r", {"text": sample.question}),)
            seen.append(store.get_judgments([("echo-r", judgment.key)]))
            return Score("m", Status.JUDGED, 1.0)

    run(engine_for(store, metrics=(Checks(),)), samples("ab"))
    assert [len(found) for found in seen] == [1, 1]


def test_a_failed_call_is_a_status_of_its_rows_and_the_others_finish(store) -> None:
    fail = lambda text: CallError("server", "500") if text == "q:b" else None  # noqa: E731
    outcome = run(engine_for(store, model=CountingModel(fail)), samples("abc"))
    assert outcome.state is RunState.FINISHED
    assert [r.score("m").status for r in store.rows("run-1")] == [
        Status.JUDGED,
        Status.FAILED,
        Status.JUDGED,
    ]


def test_a_failed_judgment_is_asked_again_by_a_later_run(store) -> None:
    run(
        engine_for(store, model=CountingModel(lambda text: CallError("server", "500"))),
        samples("a"),
    )
    model = CountingModel()
    run(engine_for(store, model=model), samples("a"))
    assert model.asked == ["q:a"]


def test_a_metric_that_raises_fails_its_own_score_only(store) -> None:
    run(engine_for(store, metrics=(Broken(), Ask1())), samples("a"))
    (row,) = store.rows("run-1")
    assert (row.scores[0].metric, row.scores[0].status) == ("broken", Status.FAILED)
    assert "ZeroDivisionError" in row.scores[0].reason
    assert row.score("m").value == 1.0


@pytest.mark.parametrize("text", ["panic at once", "panic later"])
def test_a_panic_of_native_code_in_a_judge_fails_its_own_requests_only(store, text) -> None:
    run(engine_for(store), samples([text, "fine"]))
    first, second = store.rows("run-1")
    assert first.score("m").status is Status.FAILED
    assert second.score("m").value == 1.0


def test_a_judge_that_raises_fails_its_own_requests_only(store) -> None:
    run(engine_for(store), samples(["crash", "fine"]))
    first, second = store.rows("run-1")
    assert first.score("m").status is Status.FAILED
    assert second.score("m").value == 1.0


def test_a_bad_row_is_a_record_beside_the_others(store) -> None:
    run(engine_for(store), [BadRow("line-1", 1, "E0301", "not JSON"), *samples("a")])
    first, second = store.rows("run-1")
    assert (first.bad.code, second.score("m").value) == ("E0301", 1.0)


def test_a_cap_on_calls_stops_the_run_and_leaves_the_rest_to_a_resume(store) -> None:
    outcome = run(
        engine_for(store, max_calls=3, concurrency=1), samples("abcdefghijklmnopqrstuvwxyz")
    )
    assert outcome.state is RunState.BUDGET
    done = store.done("run-1")
    assert 1 <= len(done) <= 3
    model = CountingModel()
    again = asyncio.run(
        engine_for(store, model=model).run(
            (i, s) for i, s in enumerate(samples("abcdefghijklmnopqrstuvwxyz")) if i not in done
        )
    )
    assert again.state is RunState.FINISHED
    assert len(store.done("run-1")) == 26
    assert len(model.asked) == 23, "the three that were paid for came from the store"


def test_a_wrong_key_ends_the_run_and_keeps_what_was_judged(store) -> None:
    model: CountingModel = CountingModel(
        lambda text: CallError("auth", "401", fatal=True) if len(model.asked) == 3 else None
    )
    with pytest.raises(ProviderError) as caught:
        run(engine_for(store, model=model, concurrency=1), samples("abc"))
    assert caught.value.code == "E0403"
    # Metrics of one's own run in threads: which row asks first is not said.
    assert (
        len(store.get_judgments([("echo-r", Request("r", {"text": f"q:{q}"}).key) for q in "abc"]))
        == 2
    )


def test_a_store_that_fails_ends_the_run_before_more_is_paid_for(store) -> None:
    class Full:
        puts = 0

        def put_judgments(self, run_id, judgments, exchanges=()) -> Never:
            raise EnvironmentFailure("E0506", "The disk is full.")

        def get_judgments(self, addresses, *, run_id=None):
            return {}

        def put_rows(self, run_id, results) -> Never:
            raise EnvironmentFailure("E0506", "The disk is full.")

    model = CountingModel(wait=0.001)
    with pytest.raises(EnvironmentFailure):
        run(engine_for(Full(), model=model, concurrency=4), samples([str(i) for i in range(500)]))
    assert len(model.asked) <= 16


def test_stop_makes_no_new_call_and_keeps_the_answers_in_flight(store) -> None:
    model = CountingModel(wait=0.1)

    async def main():
        engine = engine_for(store, model=model, concurrency=4)
        task = asyncio.create_task(
            engine.run(iter(enumerate(samples([str(i) for i in range(100)]))))
        )
        await asyncio.sleep(0.05)
        engine.stop()
        asked = len(model.asked)
        return await task, asked

    outcome, asked = asyncio.run(main())
    assert outcome.state is RunState.INTERRUPTED
    assert len(model.asked) == asked
    assert (
        len(
            store.get_judgments(
                [("echo-r", Request("r", {"text": f"q:{i}"}).key) for i in range(100)]
            )
        )
        == asked
    )


def test_a_row_that_waits_for_its_turn_when_the_run_is_stopped_is_not_begun(store) -> None:
    """Where there is an application, it is not asked: its answer would be paid for."""
    begun, stopped_at = [], []
    stopping = asyncio.Event()

    class LateModel(CountingModel):
        """From the thirteenth call on it answers only when the run is being stopped."""

        async def call(self, call):
            if len(self.asked) >= 12:
                await asyncio.wait_for(stopping.wait(), 10)
            return await super().call(call)

    async def main():
        async def prepare(row, keep):
            begun.append(row.id)
            return row

        engine = engine_for(store, model=LateModel(), concurrency=4, run_application=prepare)

        def rows():
            for index, row in enumerate(samples([str(i) for i in range(100)])):
                # Taken by a worker which now waits for its turn, with calls of others in flight.
                if index == 16:
                    assert engine.progress.traffic.in_flight
                    asyncio.get_running_loop().call_soon(engine.stop)
                    asyncio.get_running_loop().call_soon(lambda: stopped_at.append(len(begun)))
                    asyncio.get_running_loop().call_later(0.05, stopping.set)
                yield index, row

        return await engine.run(rows())

    assert asyncio.run(main()).state is RunState.INTERRUPTED
    assert len(begun) == stopped_at[0]
    assert "row-16" not in begun


def test_a_call_that_never_returns_does_not_keep_a_stopped_run(store, monkeypatch) -> None:
    monkeypatch.setattr("ragassay.runs.engine.GRACE", 0.2)

    async def main():
        engine = engine_for(store, model=CountingModel(wait=4))
        task = asyncio.create_task(engine.run(iter(enumerate(samples("ab")))))
        await asyncio.sleep(0.05)
        engine.stop()
        return await asyncio.wait_for(task, 2)

    assert asyncio.run(main()).state is RunState.INTERRUPTED


@pytest.mark.parametrize("concurrency", [1, 8, 64])
def test_the_order_of_completion_never_shows_in_the_result(store, concurrency) -> None:
    run(
        engine_for(store, concurrency=concurrency, model=CountingModel(wait=0.001)),
        samples("the quick brown fox"),
    )
    assert [r.index for r in store.rows("run-1")] == list(range(19))
    assert {r.score("m").value for r in store.rows("run-1")} == {1.0}


class Odd(MetricBase):
    """A metric written by somebody who has not read the manual."""

    declaration = Declaration("odd", "", "", ())

    def __init__(self, flow) -> None:
        self._flow = flow

    def __str__(self) -> str:
        return "odd"

    def flow(self, sample):
        return self._flow(sample)


def _raises_at_once(sample) -> Never:
    raise ValueError("no")


def _exits(sample):
    raise SystemExit(3)
    yield


def _yields_a_number(sample):
    yield 7


def _returns_a_number(sample):
    return 5
    yield


def _returns_nan(sample):
    return Score("odd", Status.JUDGED, float("nan"))
    yield


def _returns_seven(sample):
    return Score("odd", Status.JUDGED, 7.0)
    yield


def _returns_a_value_that_was_not_judged(sample):
    return Score("odd", Status.FAILED, 0.5)
    yield


@pytest.mark.parametrize(
    "flow",
    [
        _raises_at_once,
        _exits,
        _yields_a_number,
        _returns_a_number,
        _returns_nan,
        _returns_seven,
        _returns_a_value_that_was_not_judged,
    ],
)
def test_whatever_a_metric_does_is_its_own_failed_score(store, flow) -> None:
    run(engine_for(store, metrics=(Odd(flow), Ask1())), samples("a"))
    (row,) = store.rows("run-1")
    assert (row.scores[0].status, row.scores[0].value, row.scores[0].verdict) == (
        Status.FAILED,
        None,
        "undecided",
    )
    assert row.score("m").value == 1.0


@dataclass(frozen=True)
class Hostile(MetricBase):
    """A metric of the user's that raises, or returns, whatever it is told."""

    what: object = None
    declaration = Declaration("hostile", "", "", ())

    def __str__(self) -> str:
        return "hostile"

    def flow(self, sample):
        yield (Request("r", {"text": sample.question}),)
        if isinstance(self.what, BaseException):
            raise self.what
        return self.what


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError


@pytest.mark.parametrize(
    "what",
    [
        SystemExit(1),
        KeyboardInterrupt(),
        GeneratorExit(),
        asyncio.CancelledError(),
        Mute(),
        Score("x", Status.JUDGED),
        Score("x", Status.JUDGED, value="0.5"),  # type: ignore[arg-type]
        Score("x", Status.JUDGED, value=True),
        Score("x", Status.JUDGED, value=float("nan")),
        Score("x", Status.JUDGED, value=0.5, parts=("a",)),  # type: ignore[arg-type]
        Score("x", "judged", value=0.5),  # type: ignore[arg-type]
    ],
    ids=repr,
)
def test_whatever_a_metric_raises_or_returns_is_that_metrics_failed_score(store, what) -> None:
    run(engine_for(store, metrics=(Hostile(what), Ask1())), samples("ab"))
    found = list(store.rows("run-1"))
    assert [row.scores[0].status for row in found] == [Status.FAILED] * 2
    assert all("the metric raised" in row.scores[0].reason for row in found)
    assert [row.scores[1].value for row in found] == [1.0] * 2


class AtOnce(EchoJudge):
    """Answers without a model; crashes, forgets and refuses on request."""

    def answer(self, requests):
        if any("crash" in r.text("text") for r in requests):
            raise RuntimeError("a judge's own fault")
        return tuple(
            Judgment(
                r.key,
                "echo-r",
                "r@1",
                Status.JUDGED,
                rating=1,
                value=float("nan" if "nan" in text else 1.0),
            )
            for r in requests
            if "forget" not in (text := r.text("text"))
        )
        yield


def results_of(store, tmp_path, block_rows, monkeypatch, make_manifest):
    monkeypatch.setattr("ragassay.runs.engine.BLOCK_ROWS", block_rows)
    questions = [f"q{n % 90}" for n in range(200)]
    questions[50], questions[60], questions[70] = "crash", "forget", "nan"
    rows = [
        BadRow(f"b{n}", n, "E0301", "no") if n % 37 == 5 else sample
        for n, sample in enumerate(samples(questions))
    ]
    with Store.open(tmp_path / f"{block_rows}.db") as opened:
        opened.create_run(make_manifest("run-1", rows=len(rows)))
        engine = engine_for(
            opened, metrics=(Ask1(), Ask1("n", "p"), Broken()), judge=AtOnce(), total=len(rows)
        )
        assert run(engine, rows).state is RunState.FINISHED
        assert engine.progress.rows == len(rows)
        assert engine.progress.activities == {}
        return list(opened.rows("run-1"))


@pytest.mark.slow
def test_rows_driven_together_come_out_as_rows_driven_one_by_one(
    store, tmp_path, monkeypatch, make_manifest
) -> None:
    alone = results_of(store, tmp_path, 1, monkeypatch, make_manifest)
    together = results_of(store, tmp_path, 16, monkeypatch, make_manifest)
    assert [row.index for row in together] == list(range(200))
    assert together == alone
    assert (
        "a judge's own fault" in str(alone[50].scores)
        or alone[50].score("m").status is Status.FAILED
    )
    assert alone[60].score("m").status is Status.FAILED
    assert alone[70].score("m").status is Status.FAILED
    assert alone[0].score("m").status is Status.JUDGED


def test_what_a_judge_says_at_once_is_on_disk_before_it_is_used(store) -> None:
    class Checking(Ask1):
        def flow(self, sample):
            request = Request("r", {"text": f"q:{sample.question}"})
            (judgment,) = yield (request,)
            on_disk = store.get_judgments([("echo-r", request.key)])
            return Score("m", Status.JUDGED, float(on_disk == {("echo-r", request.key): judgment}))

    run(
        engine_for(store, metrics=(Checking(),), judge=AtOnce()),
        samples([f"q{n}" for n in range(100)]),
    )
    assert [row.scores[0].value for row in store.rows("run-1")] == [1.0] * 100


def test_rows_of_many_megabytes_are_not_all_taken_in_hand_at_once(store, monkeypatch) -> None:
    monkeypatch.setattr("ragassay.runs.engine.MOST_IN_WORK", 1000)
    engine, most = engine_for(store, concurrency=32, model=CountingModel(wait=0.002)), 0

    def rows():
        nonlocal most
        for item in enumerate(samples([f"{n}" * 200 for n in range(10, 60)])):
            most = max(most, engine._in_work)
            yield item

    assert asyncio.run(engine.run(rows())).state is RunState.FINISHED
    assert 0 < most <= 1000


class Twice(EchoJudge):
    """Asks two calls at once."""

    def answer(self, requests):
        replies = yield Ask(tuple(ChatCall((Message("user", f"{n}"),)) for n in "ab"))
        status = (
            Status.FAILED
            if any(isinstance(reply, CallFailed) for reply in replies)
            else Status.JUDGED
        )
        return tuple(
            Judgment(r.key, "echo-r", "r@1", status, rating=1, value=1.0) for r in requests
        )


@pytest.mark.timing
def test_when_one_call_of_several_ends_the_run_the_others_are_settled_before_the_ledger_is(
    store, monkeypatch
) -> None:
    monkeypatch.setattr("ragassay.runs.engine.GRACE", 0.2)
    # The first call does not go alone, as when others have been answered before.
    monkeypatch.setattr("ragassay.dispatch.dispatcher.FIRST_ALONE", 0)

    class Slow(CountingModel):
        async def call(self, call):
            if call.messages[0].content == "b":
                self.asked.append("b")
                await asyncio.sleep(30)
            return await super().call(call)

    model = Slow(
        lambda text: CallError("auth", "401", fatal=True) if text == "a" else None, wait=0.05
    )
    engine = engine_for(store, model=model, judge=Twice())
    started = time.monotonic()
    with pytest.raises(ProviderError):
        run(engine, samples("x"))
    assert time.monotonic() - started < 5
    assert sorted(model.asked) == ["a", "b"]
    ledger = engine.progress.ledger()
    assert (ledger.uncertain_calls, ledger.confirmed.calls) == (1, 0), (
        "b may be billed: it was under way"
    )
