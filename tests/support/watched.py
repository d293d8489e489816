"""The last report of a watch, with a text of the test in each of its fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from ragassay.core import Interval
from ragassay.report import as_json
from ragassay.store import Store
from ragassay.watch.drift import DriftLine, Shifted
from ragassay.watch.figures import Amount, Rate, Rated, Window
from ragassay.watch.labelling import Labelled
from ragassay.watch.state import State
from ragassay.watch.trust import Certified
from ragassay.watch.values import Spent, Standing, Traffic

AT, NOW = "2026-11-24T02:00:00+00:00", 1_795_485_600.0


def put_watch(store: Store, texts: Sequence[str], runs: tuple[str, ...] = ()) -> None:
    """A watch whose report has one of the texts (at least 30) in each field that holds any."""
    each = iter(texts)
    band = Interval(0.7, 0.9, 0.95, next(each))
    rates = (
        Rate(next(each), "passes", 0.8, band, 40, 20, 400, 1),
        Rate(next(each), "score", None, None, 0, 0, 0, 40),
    )
    window = Window(
        400, 90, 60, 40, 10, {next(each): 10}, {next(each): 5}, 3, 0.01, band, rates,
        (Amount(next(each), "s", 1.0, 2.0, 300.0, 400),), 2, False,
    )  # fmt: skip
    alert = {
        "kind": "mark", "about": next(each), "text": next(each), "raised": AT,
        "told": {next(each): "", next(each): next(each)},
    }  # fmt: skip
    report = Traffic(
        name="shop", judge=next(each), metrics=(next(each),), at=AT, since=AT, window_s=86_400.0,
        sample=0.1, arrived=400, sampled=60, judged=40, dropped={next(each): 10}, pending=10,
        window=window, last_row=AT, budgets=(Spent(next(each), "dollars", 1.0, 5.0),),
        guarantee=next(each), marks=(Standing(next(each), 0.8, 20, AT, 3.0, 20.0, 1, True),),
        alerts=(alert,), drift=(DriftLine(next(each), 30.0, 240.0, 90),),
        shifted=Shifted(0.2, 0.01, 30, 40, 60, ()), drift_note="",
        certificates=(
            Certified(next(each), next(each), 200, False), Certified(next(each), "", None, True),
        ),
        ratings=(Rated(next(each), 0.5, band, 12, 3, 2), Rated(next(each), 0.5, None, 1, 0, 0)),
        labels=(Labelled(next(each), 9, 3, 2, 1, 3, runs),), notes=(next(each), next(each)),
        outage=next(each), last_run=next(each),
    )  # fmt: skip
    kept = as_json(report)
    assert isinstance(kept, dict)
    state = State(NOW, NOW, report={name: value for name, value in kept.items() if name != "map"})
    store.watch_records.put_state("shop", asdict(state))
