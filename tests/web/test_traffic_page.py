"""The page of traffic under watch, over real HTTP."""

from __future__ import annotations

import time
from html import escape

from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

from ragassay.store import Store
from ragassay.store.spans import StoredLog
from ragassay.watch.door import watch_traffic
from ragassay.watch.results import EVENT
from support.traffic import RIGHT, WRONG, arrive, turn
from web.conftest import serving

EVIL = '<script>alert(1)</script>"onload=x'


def test_a_watch_is_shown_with_bands_alerts_and_a_map_that_has_a_table(store: Store) -> None:
    with serving(store) as client:
        assert "No traffic is watched" in client.ask("/traffic").text
        turns = [
            turn(f"{n}", RIGHT if n % 2 else WRONG, question=f"{EVIL} topic{n % 2} card {n % 3}")
            for n in range(60)
        ]
        arrive(store, turns, time.time() - 5)
        put_rating(store, turns[0][0]["traceId"])
        marks = ["groundedness>=0.9"]
        traffic = watch_traffic(
            store=store.location, metrics="groundedness", sample=1, marks=marks, label_share=0.3
        )
        assert traffic.marks[0].standing
        page = client.ask("/traffic")
        assert page.status == 200
        assert "since the start 60 arrived, 60 sampled = 60 judged + 0 dropped" in page.text
        assert "groundedness passes" in page.text
        assert "ALERT" in page.text
        assert "chance of ever raising a false alarm: at most 5% from each arming on" in page.text
        assert 'class="wordmap"' in page.text
        assert 'aria-label="Clusters of the map"' in page.text
        assert "<script>alert" not in page.text
        # The figures are those of the report in the terminal and in JSON, each of them.
        for rate in traffic.window.rates:
            assert rate.interval is not None
            assert f"[{rate.interval.low:.3f}, {rate.interval.high:.3f}]" in page.text
        assert len(traffic.drift) > 3
        for line in traffic.drift:
            assert (
                f'<th scope="row">{line.name}</th><td class="num">{line.evidence:.2g}<' in page.text
            )
        (known,) = traffic.certificates
        assert escape(known.sentence) in page.text
        assert f"{known.days} days old" in page.text
        (labels,) = traffic.labels
        assert f'<td class="num">{labels.queued}</td><td class="num">0</td>' in page.text
        assert f'href="/runs/{labels.runs[-1]}/label?metric=groundedness"' in page.text
        assert '<th scope="row">user feedback</th><td class="num">0.00</td>' in page.text


def put_rating(store: Store, trace: str) -> None:
    """A thumb down, as an application sends it."""
    record = LogRecord(event_name=EVENT, trace_id=bytes.fromhex(trace), time_unix_nano=1)
    for name, value in (("name", "user feedback"), ("score.label", "thumbs_down")):
        each = record.attributes.add()
        each.key, each.value.string_value = f"gen_ai.evaluation.{name}", value
    log = StoredLog(record.trace_id, record.SerializeToString())
    store.span_records.put([], [log], int(time.time() * 1000) - 1_000)
