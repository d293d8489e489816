"""What a watch leaves with the traces, what it reads there, and what goes to people."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

import ragassay
from ragassay.core import LabelAnswer
from ragassay.store import Store
from ragassay.store.spans import StoredLog
from ragassay.testing import LLMServer
from ragassay.tracing.objects import log_object
from ragassay.watch.results import EVENT
from support.traffic import RIGHT, WRONG, turn
from watch.conftest import NOON, Watched, accounted


def rating(trace: str, **attributes: object) -> StoredLog:
    """A rating as a user's application sends it, as an event of evaluation."""
    record = LogRecord(event_name=EVENT, trace_id=bytes.fromhex(trace), time_unix_nano=1)
    for name, value in attributes.items():
        each = record.attributes.add()
        each.key = f"gen_ai.evaluation.{name.replace('__', '.')}"
        if isinstance(value, str):
            each.value.string_value = value
        else:
            each.value.double_value = float(str(value))
    return StoredLog(record.trace_id, record.SerializeToString())


def rate(watched: Watched, logs: list[StoredLog]) -> None:
    with Store.open(watched.path) as store:
        store.span_records.put([], logs, int(watched.now * 1000) - 1)


def test_results_stand_with_the_trace_as_events_of_opentelemetry(watched: Watched) -> None:
    watched.arrive([turn("good"), turn("bad", WRONG)])
    watched.step()
    watched.step()
    with Store.open(watched.path) as store:
        logs = [log_object(log.payload) for log in store.span_records.logs_after(0, 100)]
    assert [log["eventName"] for log in logs] == [EVENT] * 2
    found = {log["attributes"]["gen_ai.evaluation.score.value"] for log in logs}
    assert found == {0.0, 1.0}
    labels = {log["attributes"]["gen_ai.evaluation.score.label"] for log in logs}
    assert labels == {"pass", "fail"}
    assert {log["attributes"]["gen_ai.evaluation.name"] for log in logs} == {"groundedness"}


def test_ratings_of_users_are_set_beside_the_judge(watched: Watched) -> None:
    turns = [turn(f"good {n}") for n in range(4)]
    watched.arrive(turns)
    traces = [spans[0]["traceId"] for spans in turns]
    rate(
        watched,
        [
            rating(traces[0], name="user feedback", score__value=1.0),
            rating(traces[1], name="user feedback", score__label="thumbs_down"),
            rating(traces[2], name="user feedback", score__value=4.0),  # of how many?
            rating(traces[3], score__value=1.0),  # without a name
        ],
    )
    found = watched.step()
    (said,) = found.ratings
    assert (said.name, said.value, said.traces) == ("user feedback", 0.5, 2)
    assert (said.beside, said.agree) == (2, 1)
    assert "2 ratings are on no scale from 0 to 1 and were not read" in found.notes
    assert found.window.suspicious == {"rated bad": 1}, (
        "what users call bad is looked at more often"
    )
    # Our own events are results, and no ratings by others.
    assert watched.step().ratings == found.ratings


def test_ratings_are_read_that_took_the_numbers_of_deleted_ones(watched: Watched) -> None:
    turns = [turn(f"good {n}") for n in range(3)]
    watched.arrive(turns)
    traces = [spans[0]["traceId"] for spans in turns]
    first = [rating(traces[0], name=f"stars {n}", score__value=1.0) for n in range(2)]
    rate(watched, first)
    assert len(watched.step(sample=0.0).ratings) == 2
    with Store.open(watched.path) as store:
        read = store.span_records.logs_after(0, 100)[-1].number
        # Retention deletes every record; then more come than there were, under the same numbers.
        while store.span_records.drop_before(int(watched.now * 1000)):
            pass
    rate(watched, [rating(traces[0], name=f"thumbs {n}", score__value=0.0) for n in range(3)])
    with Store.open(watched.path) as store:
        numbers = [log.number for log in store.span_records.logs_after(0, 100)]
    assert read in numbers
    names = {each.name for each in watched.step(sample=0.0).ratings}
    assert names == {"stars 0", "stars 1", "thumbs 0", "thumbs 1", "thumbs 2"}


def test_a_share_of_the_judged_goes_to_people_with_its_chance(watched: Watched) -> None:
    watched.arrive([turn(f"good {n}") for n in range(40)])
    found = watched.step(label_share=0.3, metrics="groundedness,app_error")
    (labels,) = found.labels  # none of what the application says itself
    # Of 40 rows with chance .3: 12 on average, standard deviation 2.9.
    assert 4 <= labels.queued <= 20
    assert labels.labelled == 0
    (run,) = labels.runs
    with Store.open(watched.path) as store:
        entries = store.to_label(run, "groundedness")
        assert {entry.inclusion_probability for entry in entries} == {0.3}
        assert {entry.stream for entry in entries} == {"audit"}
        for value in (1.0, 0.0):
            row = store.reserve_to_label(run, "groundedness", "ann")
            assert row is not None
            answer = LabelAnswer(row.row_id, "ann", value)
            store.put_answer(run, "groundedness", answer, row)
    (after,) = watched.step(label_share=0.3, metrics="groundedness,app_error").labels
    assert (after.labelled, after.passed, after.compared, after.agree) == (2, 1, 2, 1)


def test_what_users_asked_is_in_the_report_and_not_kept_with_the_watch(watched: Watched) -> None:
    day = 86_400.0
    watched.arrive([turn(f"a {n}", question="Where is my parcel?") for n in range(25)], ago=day + 9)
    watched.arrive([turn(f"b {n}", question="Who is Anna Weiss?") for n in range(25)])
    found = watched.step(sample=0.0)
    assert found.shifted is not None
    assert found.shifted.examples[0] == "Who is Anna Weiss?"
    with Store.open(watched.path) as store:
        kept = str(store.watch_records.state("traffic"))
    assert "'size': " in kept
    assert "Anna" not in kept


def test_certificates_tell_their_age_and_whether_todays_rows_are_like_theirs(
    watched: Watched,
) -> None:
    watched.arrive([turn(f"good {n}") for n in range(12)])
    (line,) = watched.step().certificates
    assert line.metric == "groundedness"
    assert line.days is not None
    assert not line.alike
    assert line.sentence.startswith("unmeasured on data like yours")


def test_hostile_texts_stay_texts_on_the_page(watched: Watched, tmp_path: Path) -> None:
    from ragassay.watch.page import write_page

    evil = '<script>alert(1)</script>"onload=x \x1b[31m\u202e'
    turns = [turn(f"{n}", evil, question=f"{evil} {n % 3}", session=evil) for n in range(30)]
    watched.arrive(turns)
    rate(watched, [rating(turns[0][0]["traceId"], name=evil, score__value=0.1)])
    found = watched.step(with_map=True)
    page = tmp_path / "page.html"
    write_page(found, page)
    text = page.read_text()
    assert "<script" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "&lt;script&gt;" in text
    assert found.map is not None
    assert sum(cluster.rows for cluster in found.map.clusters) + found.map.scattered == 30


_KILLED = """
import os, sys, threading, time
from ragassay.watch.door import watch_traffic
watch_traffic(store=sys.argv[1], now=lambda: {now}, sample=1.0, metrics="groundedness",
              judge="openai:mock", base_url=sys.argv[2], api_key_env="WATCH_KEY",
              concurrency=1, session_quiet_s=0.0)
"""


@pytest.mark.timeout(240)
def test_a_killed_watch_buys_nothing_twice_and_forgets_nothing(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCH_KEY", "k")
    watched.arrive([turn(f"t {n}", f"{RIGHT} It has {n} rooms.") for n in range(12)])
    with LLMServer(latency=0.15) as server:
        source = str(Path(ragassay.__file__).parents[1])
        process = subprocess.Popen(
            [sys.executable, "-c", _KILLED.format(now=NOON), str(watched.path), server.url],
            env={**os.environ, "PYTHONPATH": source},
        )
        until = time.monotonic() + 500
        while server.stats()["calls"] < 4 and time.monotonic() < until:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        at_the_kill = server.stats()["calls"]
        assert 4 <= at_the_kill < 13
        found = watched.step(
            judge="openai:mock", base_url=server.url, api_key_env="WATCH_KEY", concurrency=1
        )
        total = server.stats()["calls"]
    assert accounted(found)
    assert (found.sampled, found.judged) == (12, 12)
    # A row takes one call, the known example two at most; the one in flight may be sent again.
    with Store.open(watched.path) as store:
        (batch,) = store.watch_records.batches("traffic")
    assert batch.ended is not None
    assert total <= batch.calls <= total + 1, "never fewer than the server counts"
    assert total <= 12 + 1 + 2
