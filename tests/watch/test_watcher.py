"""Steps of a watch, and what it says when things go wrong."""

from __future__ import annotations

import time

import pytest

import ragassay
from ragassay.core import SetupError
from ragassay.store import Store
from ragassay.store.watches import JUDGED, WatchRow
from ragassay.testing import LLMServer
from ragassay.tracing.decoding import decode
from ragassay.watch import batches
from ragassay.watch.counting import _known_scalars
from ragassay.watch.settings import make_settings
from ragassay.watch.watcher import Watcher
from support.traffic import RIGHT, WRONG, export, turn
from watch.conftest import Watched, accounted

ROW = {"id": "a", "question": "Q?", "contexts": ["It is so."], "response": "It is so."}
KEY = {"api_key_env": "WATCH_KEY", "attempts": 1}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCH_KEY", "k")


def turns(kind: str, count: int, answer: str = RIGHT, session: str | None = None) -> list:
    return [turn(f"{kind} {n}", answer, session=session) for n in range(count)]


def test_every_row_is_accounted_for_and_counted_once(watched: Watched) -> None:
    watched.arrive(turns("good", 30))
    first = watched.step(sample=0.5)
    assert accounted(first)
    assert (first.arrived, first.sampled, first.judged) == (30, 15, 15)
    again = watched.step(sample=0.5)
    assert (again.arrived, again.sampled, again.judged) == (30, 15, 15)
    watched.arrive(turns("more", 10))
    more = watched.step(sample=0.5)
    assert accounted(more)
    assert more.arrived == 40


def test_late_spans_change_no_row_that_is_judged(watched: Watched) -> None:
    watched.arrive(turns("good", 2))
    watched.step()
    late = turn("good 0", RIGHT)[1] | {"spanId": f"{9:016x}"}
    document = "retrieval.documents.1.document.content"
    late["attributes"] = [*late["attributes"], {"key": document, "value": {"stringValue": "New."}}]
    watched.arrive([[late]])
    after = watched.step()
    assert after.arrived == after.judged == 2
    assert "1 row changed after it was judged: it stands as judged" in after.notes


def test_a_budget_of_zero_judges_nothing_and_says_so(watched: Watched) -> None:
    watched.arrive(turns("good", 5))
    for budget in ("0/day", "0 calls/hour"):
        found = watched.step(budget=[budget], name=budget[:1] + budget[2:3])
        assert found.judged == 0
        assert found.dropped == {"no budget": 5}
        assert not found.window.rates
        assert accounted(found)
        lines = [str(block) for block in found.blocks()]
        assert any("nothing is judged" in line for line in lines)


def test_a_day_without_traffic_is_said_and_no_figure_made_up(watched: Watched) -> None:
    watched.arrive(turns("good", 3))
    watched.step()
    watched.now += 2 * 86_400
    quiet = watched.step()
    assert quiet.window.rows == 0
    assert quiet.window.rates == ()
    assert quiet.window.error_rate is None
    assert next(iter(quiet.blocks())) == (
        "traffic: no row arrived in the last 24 h; the last one came 2026-11-22T11:59:59+00:00."
        " Nothing is measured."
    )


def test_one_row_a_day_gives_rates_without_a_false_band(watched: Watched) -> None:
    for day in range(3):
        watched.arrive(turns(f"day {day}", 1))
        found = watched.step(sample=0.99, window_s=7 * 86_400.0, seed=1)
        watched.now += 86_400
    (passes, _) = found.window.rates
    assert passes.rows == found.judged == 3
    assert passes.interval is not None
    assert passes.interval.low < 0.6


def test_a_clock_that_goes_back_gives_no_budget_back(watched: Watched) -> None:
    watched.arrive(turns("good", 10))
    assert watched.step(budget=["6 rows/day"]).judged == 6
    watched.now -= 3 * 3_600
    back = watched.step(budget=["6 rows/day"])
    assert back.judged == 6
    assert any("the clock is 3.0 h behind" in line for line in watched.said)
    assert back.at == "2026-11-22T12:00:00+00:00"
    watched.now += 30 * 3_600
    ahead = watched.step(budget=["6 rows/day"], patience_s=10 * 86_400.0)
    assert ahead.judged == 10
    assert any("or the clock jumped ahead" in line for line in watched.said)


def test_a_judge_that_is_down_for_an_hour_is_told_of_and_then_catches_up(watched: Watched) -> None:
    watched.arrive(turns("good", 4))
    with LLMServer() as server:
        url = server.url
    judge = {"judge": "openai:mock", **KEY}
    for _ in range(3):
        down = watched.step(base_url=url, **judge)
        assert down.pending == 4
        assert down.judged == 0
        assert not down.window.rates, "no figure stands for what was not judged"
        watched.now += 1_900
    assert down.outage
    (alert,) = down.alerts
    assert alert["text"].startswith("The judge could not be asked for 1.1 h: ")
    with LLMServer() as server:
        up = watched.step(base_url=server.url, **judge)
        assert (up.judged, up.pending, up.outage) == (4, 0, "")
        assert server.stats()["calls"] >= 1
    assert accounted(up)


def test_rows_that_a_judge_could_not_be_asked_about_take_nothing_of_a_budget_of_rows(
    watched: Watched,
) -> None:
    watched.arrive(turns("good", 4))
    with LLMServer() as server:
        url = server.url
    judge = {"judge": "openai:mock", "budget": ["4 rows/day"], **KEY}
    down = watched.step(base_url=url, **judge)
    (spent,) = down.budgets
    assert (down.judged, down.pending, spent.spent) == (0, 4, 0.0)
    watched.now += 7_200
    with LLMServer() as server:
        up = watched.step(base_url=server.url, **judge)
    (spent,) = up.budgets
    assert (up.judged, spent.spent) == (4, 4.0)


def test_what_arrived_since_the_start_is_said_of_rows_that_are_not_kept_any_more(
    watched: Watched,
) -> None:
    watched.arrive(turns("good", 6))
    first = watched.step(sample=0.5, keep_days=1)
    watched.now += 3 * 86_400
    watched.step(sample=0.5, keep_days=1)  # the stream of drift begins anew, and lets go of them
    later = watched.step(sample=0.5, keep_days=1)
    with Store.open(watched.path) as store:
        assert not store.watch_records.totals("traffic")
    assert (later.arrived, later.judged) == (first.arrived, first.judged) == (6, first.judged)
    assert accounted(later)


def test_a_batch_of_a_killed_watch_is_found_among_any_number_of_runs(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched.arrive(turns("good", 2))
    with monkeypatch.context() as patched:
        # A kill after the batch was judged, and before that was written.
        patched.setattr("ragassay.watch.batches.Batches.settle", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            watched.step()
    for number in range(60):
        ragassay.evaluate([ROW], "exact_match", store=watched.path, name=f"other {number}").close()
    assert watched.step().judged == 2
    with Store.open(watched.path) as store:
        (batch,) = store.watch_records.batches("traffic")
        runs = [run for run in store.runs(100) if run.manifest.name == batch.run]
    assert len(runs) == 1, "it was not judged again"


def test_what_waits_too_long_is_dropped_and_counted(watched: Watched) -> None:
    watched.arrive(turns("good", 6))
    watched.step(budget=["2 rows/day"])
    watched.now += 7 * 3_600
    late = watched.step(budget=["2 rows/day"])
    assert late.dropped == {"waited too long": 4}
    assert accounted(late)


def test_calls_and_money_stay_within_the_budget_by_the_servers_own_count(watched: Watched) -> None:
    watched.arrive([turn(f"t {n}", f"Answer {n} of the library.") for n in range(12)])
    with LLMServer() as server:
        judge = {"judge": "openai:mock", "base_url": server.url, "price": "1000,1000", **KEY}
        calls = watched.step(budget=["5 calls/day"], **judge)
        assert server.stats()["calls"] <= 5
        (spent,) = calls.budgets
        assert server.stats()["calls"] <= spent.spent <= 5
        assert accounted(calls)
        assert calls.pending == 12 - calls.judged > 0


def test_a_changed_judge_begins_the_streams_anew(watched: Watched) -> None:
    marks = ["groundedness>=0.5"]
    watched.arrive(turns("good", 5))
    watched.step(marks=marks)
    watched.arrive(turns("more", 5))
    with LLMServer() as server:
        judge = {"judge": "openai:mock", "base_url": server.url, **KEY}
        other = watched.step(marks=marks, **judge)
    assert any("the judge changed" in note for note in other.notes)
    assert other.marks[0].sessions == 5, "what the former judge said counts no more"


def test_an_alert_that_stood_when_the_judge_changed_is_counted_and_said(watched: Watched) -> None:
    marks = ["groundedness>=0.9"]
    watched.arrive(turns("bad", 60, WRONG))
    assert watched.step(marks=marks).marks[0].standing
    watched.arrive(turns("more", 5))
    with LLMServer() as server:
        judge = {"judge": "openai:mock", "base_url": server.url, **KEY}
        other = watched.step(marks=marks, **judge)
    assert (other.marks[0].standing, other.marks[0].raised) == (False, 1)
    assert any("the alert on groundedness>=0.9 does not stand" in note for note in other.notes)


def test_an_alert_stands_when_other_marks_come_and_go(watched: Watched) -> None:
    mark = "groundedness>=0.9"
    watched.arrive(turns("bad", 60, WRONG))
    first = watched.step(marks=[mark])
    assert first.marks[0].standing
    for marks in ([mark, "error_rate<=0.5"], [mark]):
        found = watched.step(marks=marks)
        assert (found.marks[0].standing, found.marks[0].since) == (True, first.marks[0].since)
    without = watched.step(marks=["error_rate<=0.5"])
    assert any(f"the alert on {mark} is let go" in note for note in without.notes)


def test_more_marks_move_what_evidence_each_of_them_needs_and_forget_none(watched: Watched) -> None:
    watched.arrive(turns("good", 30))
    alone = watched.step(marks=["groundedness>=0.5"]).marks[0]
    both = watched.step(marks=["groundedness>=0.5", "error_rate<=0.5"]).marks[0]
    assert (alone.needed, both.needed) == (20.0, 40.0)
    assert (both.sessions, both.evidence, both.since) == (30, alone.evidence, alone.since)


def test_rows_that_came_after_the_budget_was_used_up_are_in_no_rate(watched: Watched) -> None:
    options = {"budget": ["30 rows/day"], "marks": ["groundedness>=0.5"]}
    watched.arrive(turns("good", 30))
    watched.step(**options)
    watched.now += 60
    watched.arrive(turns("bad", 90, WRONG))
    found = watched.step(**options)
    assert (found.judged, found.pending, found.window.unseen) == (30, 90, 90)
    assert {rate.stands_for for rate in found.window.rates} == {30}
    lines = [str(block) for block in found.blocks()]
    assert (
        "of 90 of 120 rows none was judged when they came: the rates are of the other 30" in lines
    )


def test_a_part_of_what_came_together_stands_for_all_of_it(watched: Watched) -> None:
    watched.arrive(turns("good", 80))
    found = watched.step(budget=["40 rows/day"])
    assert (found.judged, found.window.unseen) == (40, 0)
    assert {rate.stands_for for rate in found.window.rates} == {80}


def test_what_is_judged_is_a_random_part_of_all_that_waits_however_much_that_is(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of a day that was right at first and then wrong: those that came first are no fair part.
    watched.arrive([*turns("good", 300), *turns("bad", 300, WRONG)])
    monkeypatch.setattr(batches, "BATCH_ROWS", 10)
    found = watched.step(budget=["100 rows/day"])
    (passes,) = [rate for rate in found.window.rates if rate.kind == "passes"]
    assert (found.judged, found.pending) == (100, 500)
    assert passes.value == pytest.approx(0.5, abs=0.15)
    assert passes.interval is not None
    assert passes.interval.low < 0.5 < passes.interval.high


def test_rows_of_which_nothing_can_be_judged_widen_no_band(watched: Watched) -> None:
    empty = [turn(f"empty {n}", "", question="", passages=()) for n in range(20)]
    watched.arrive([*turns("good", 20), *empty])
    found = watched.step()
    assert found.judged == 20
    assert all(rate.interval is None or rate.interval.low == 1.0 for rate in found.window.rates)


def test_what_another_reference_said_of_a_question_is_not_ranked_beside_this_one(
    watched: Watched,
) -> None:
    def scalars(made: float | None) -> list[str]:
        row = WatchRow(
            id=1, trace=b"t", number=1, session=b"s", received=0, state=JUDGED, reason="",
            chance=1.0, stage=0, batch=0,
            figures={"scalars": {"novelty": 1.0, "wording 1": 0.5, "passages": 2.0}, **mark},
        )  # fmt: skip
        return list(_known_scalars([row], made))

    mark: dict[str, float] = {"reference": 5.0}
    assert scalars(5.0) == ["novelty", "passages", "wording 1"]
    assert scalars(7.0) == scalars(None) == ["passages"]
    mark = {}
    assert scalars(None) == ["novelty", "passages", "wording 1"]


def test_a_watch_waits_for_late_spans_as_long_as_it_is_told(watched: Watched) -> None:
    root, retrieval = turn("slow")
    root["attributes"] = [
        each for each in root["attributes"] if each["key"] != "ragassay.trace.complete"
    ]
    with Store.open(watched.path) as store:
        batch = decode("traces", export([[root]]), True)
        store.span_records.put(batch.spans, batch.logs, int((time.time() - 60) * 1000))
    assert watched.step(quiet_s=300.0).arrived == 0
    with Store.open(watched.path) as store:
        batch = decode("traces", export([[retrieval]]), True)
        store.span_records.put(batch.spans, batch.logs, int((time.time() - 40) * 1000))
    found = watched.step()
    assert (found.arrived, found.judged) == (1, 1)


def test_a_budget_that_cannot_pay_for_one_call_begins_no_run_after_the_first(
    watched: Watched,
) -> None:
    watched.arrive(turns("good", 3))
    with LLMServer() as server:
        judge = {"judge": "openai:mock", "base_url": server.url, "price": "1000,1000", **KEY}
        for _ in range(3):
            found = watched.step(budget=["0.001/day"], **judge)
            watched.now += 60
        assert server.stats()["calls"] == 0
    assert (found.judged, found.pending, found.last_run) == (0, 3, "")
    assert any("may not pay for the next call" in note for note in found.notes)
    with Store.open(watched.path) as store:
        assert store.count_runs() <= 1


def test_a_mark_that_is_written_twice_is_one(watched: Watched) -> None:
    watched.arrive(turns("good", 1))
    found = watched.step(marks=["groundedness>=0.8", " groundedness>=0.8 "])
    assert len(found.marks) == 1


@pytest.mark.parametrize("collector", ["otel:4317", "localhost", "ftp://otel:4318"])
def test_a_collector_that_is_no_address_is_said_before_anything_is_judged(
    watched: Watched, collector: str
) -> None:
    watched.arrive(turns("good", 1))
    with pytest.raises(SetupError, match="E0101"):
        watched.step(collector=collector)
    assert watched.step().judged == 1


def test_an_alert_says_what_it_is_since_it_fell_and_as_the_mark_is_written(
    watched: Watched,
) -> None:
    marks = ["groundedness<=0.5"]
    watched.arrive(turns("before", 40, WRONG))
    assert not watched.step(marks=marks).alerts
    watched.arrive(turns("after", 25))
    (alert,) = [each for each in watched.step(marks=marks).alerts if each["about"] == marks[0]]
    assert alert["sessions"] > alert["latest_sessions"] > 5
    assert alert["latest_mean"] > 0.5 > alert["mean"], "over all sessions it still holds"
    words = f"does not hold: {alert['latest_mean']:.3f} over the latest"
    assert words in alert["text"]
    assert f"; {alert['mean']:.3f} over {alert['sessions']} sessions" in alert["text"]


def test_an_alert_stands_until_the_mark_is_known_to_hold_again(watched: Watched) -> None:
    marks = ["groundedness>=0.5"]
    watched.arrive(turns("bad", 25, WRONG))
    fallen = watched.step(marks=marks)
    assert [alert["kind"] for alert in fallen.alerts if alert["about"] == marks[0]] == ["mark"]
    assert "No session ever reached it" in fallen.alerts[-1]["text"]
    assert fallen.marks[0].standing
    watched.arrive(turns("good", 40))
    mended = watched.step(marks=marks)
    kinds = [alert["kind"] for alert in mended.alerts if alert["about"] == marks[0]]
    assert kinds == ["back", "mark"]
    assert not mended.marks[0].standing


def test_errors_and_latency_are_watched_on_every_row_without_a_judge(watched: Watched) -> None:
    failing = [turn(f"f {n}", "") for n in range(30)]
    for root, _ in failing:
        root["status"] = {"code": 2, "message": "boom"}
        root["attributes"] = [a for a in root["attributes"] if a["key"] != "output.value"]
    watched.arrive(failing)
    found = watched.step(sample=0.0, marks=["error_rate<=0.1", "p95(latency)<=0.5"])
    assert (found.window.errors, found.window.error_rate) == (30, 1.0)
    assert {alert["about"] for alert in found.alerts} == {"error_rate<=0.1", "p95(latency)<=0.5"}
    assert found.judged == found.sampled == 0
    assert (
        found.guarantee
        == "chance of ever raising a false alarm over all 2 marks: at most 5% from each arming on"
    )


def test_traffic_that_outruns_the_watch_is_said_and_nothing_of_it_is_lost(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragassay.watch.watcher._ASSEMBLY_S", 0.0)  # one page of 100 traces a step
    batch = decode("traces", export(turns("fast", 150)), True)
    with Store.open(watched.path) as store:
        store.span_records.put(batch.spans, batch.logs, int((watched.now - 120) * 1000))
    found = watched.step(sample=0.1, budget=["10 rows/day"])
    assert found.arrived == 100
    assert found.notes[-1] == (
        "50 traces wait to become rows, the oldest for 2 min: rows come faster than they are put"
        " together, or some have no root"
    )
    for _ in range(2):
        found = watched.step(sample=0.1, budget=["10 rows/day"])
        assert (found.arrived, found.judged) == (150, 10)
        assert accounted(found)
    assert found.pending == found.sampled - 10
    assert not any("wait to become rows" in note for note in found.notes)


def test_a_turn_whose_root_failed_is_an_error_although_a_model_had_answered(
    watched: Watched,
) -> None:
    spans = [turn(f"good {n}") for n in range(4)]
    root, search = spans[0]
    # The root failed after the model had answered: the user saw an error page.
    said = {"key": "output.value", "value": {"stringValue": RIGHT}}
    root["attributes"] = [each for each in root["attributes"] if each["key"] != "output.value"]
    root["status"] = {"code": 2, "message": "template not found"}
    kind = {"key": "openinference.span.kind", "value": {"stringValue": "LLM"}}
    answered = {**search, "spanId": f"{3:016x}", "name": "llm", "attributes": [kind, said]}
    watched.arrive([[root, search, answered], *spans[1:]])
    found = watched.step()
    assert (found.window.errors, found.window.error_rate) == (1, 0.25)
    assert found.window.suspicious == {"error": 1}
    assert found.judged == 4, "the row with the error is accounted for"


def test_a_budget_in_dollars_without_a_price_says_what_a_watch_can_do(watched: Watched) -> None:
    watched.arrive(turns("good", 2))
    with LLMServer() as server, pytest.raises(SetupError, match="E0406") as raised:
        watched.step(judge="openai:mock", base_url=server.url, budget=["5/day"], **KEY)
    assert "--budget '500 calls/hour'" in raised.value.fix
    after = watched.step(budget=["2 rows/day"])
    assert (after.judged, after.dropped) == (2, {}), "the rows waited, and took nothing of a budget"


def test_a_session_is_counted_whole_when_it_is_quiet_and_only_once(watched: Watched) -> None:
    marks = ["groundedness>=0.5"]
    watched.arrive(turns("a", 3, session="s"), ago=5)
    early = watched.step(marks=marks, session_quiet_s=60.0)
    assert early.marks[0].sessions == 0
    watched.now += 120
    counted = watched.step(marks=marks, session_quiet_s=60.0)
    assert counted.marks[0].sessions == 1
    watched.arrive(turns("late", 2, session="s"), ago=1)
    watched.now += 120
    late = watched.step(marks=marks, session_quiet_s=60.0)
    assert late.marks[0].sessions == 1
    assert "2 rows came after their session was counted: in rates, in no alarm" in late.notes


def test_two_processes_do_not_run_the_same_watch(watched: Watched) -> None:
    watched.arrive(turns("good", 1))
    settings = make_settings(
        name="traffic",
        sample=0.0,
        factor=1.0,
        seed=0,
        budget=[],
        marks=[],
        false_alarms=0.05,
        alert_to=[],
        allow_private=False,
        label_share=0.0,
        window_s=60.0,
        session_quiet_s=0.0,
        patience_s=60.0,
        keep_days=1.0,
        collector="",
        judging={"metrics": "groundedness"},
    )
    with Store.open(watched.path) as store, Watcher(store, settings):
        with pytest.raises(SetupError, match="E1304"):
            watched.step()
        watched.step(name="another")
    watched.step()


def test_after_a_clock_that_jumped_ahead_what_arrives_is_still_seen(watched: Watched) -> None:
    watched.arrive(turns("good", 5))
    watched.step()
    watched.now += 10 * 86_400
    watched.step()
    watched.now -= 10 * 86_400 - 3_600
    watched.arrive(turns("more", 5))
    right_again = watched.step()
    assert (right_again.judged, right_again.window.rows) == (10, 10)
    assert not any("no row arrived" in str(block) for block in right_again.blocks())


def test_a_metric_that_says_nothing_of_the_traffic_is_told_with_its_reason(
    watched: Watched,
) -> None:
    watched.arrive([one[:1] for one in turns("plain", 12)])
    found = watched.step(metrics="groundedness", marks=["groundedness>=0.8"])
    assert found.window.not_applicable == {"groundedness": (12, "the row has no contexts")}
    lines = [str(block) for block in found.blocks()]
    said = "groundedness does not apply to 12 of 12 judged rows: the row has no contexts"
    assert said in lines
    watched.arrive(turns("good", 30))
    assert not any("does not apply" in str(block) for block in watched.step().blocks())


def test_a_watch_begins_with_its_window_and_not_with_all_that_was_ever_stored(
    watched: Watched,
) -> None:
    watched.arrive(turns("old", 8), ago=20 * 86_400)
    watched.arrive(turns("new", 3))
    found = watched.step()
    assert (found.arrived, found.sampled, found.judged) == (11, 3, 3)
    assert any("8 rows came before the window of the first start" in n for n in found.notes)
    wide = watched.step(name="wide", window_s=30 * 86_400.0)
    assert wide.judged == 11
    # What comes while a watch stands still is not older than its first start.
    watched.arrive(turns("later", 2), ago=0.0)
    watched.now += 5 * 86_400
    assert watched.step().judged == 5


def test_a_mark_that_holds_again_is_told_with_what_it_is_now(watched: Watched) -> None:
    watched.arrive(turns("bad", 60, WRONG))
    assert watched.step(marks=["groundedness>=0.8"]).marks[0].standing
    watched.arrive(turns("good", 200))
    found = watched.step(marks=["groundedness>=0.8"])
    back = next(alert for alert in found.alerts if alert["kind"] == "back")
    assert back["latest_mean"] == 1.0
    assert back["text"].startswith("groundedness>=0.8 holds again: 1.000 over ")


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ({"judge": "openai:gpt-4o", "api_key_env": "NOT_SET"}, "E0402", "NOT_SET"),
        ({"judge": "openai:unknown", "budget": ["5/day"]}, "E0406", "--budget '500 calls/hour'"),
        ({"judge": "openai:unknown", "price": "1"}, "E0101", "--price 0.15,0.60"),
    ],
)
def test_a_judge_that_cannot_be_made_is_told_of_before_the_first_row_comes(
    watched: Watched, options: dict[str, object], code: str, said: str
) -> None:
    with pytest.raises(SetupError) as raised:
        watched.step(**{"api_key_env": "WATCH_KEY", **options})
    assert raised.value.code == code
    assert said in str(raised.value)
