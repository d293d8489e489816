"""Watch traffic, from the arguments of a caller."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ragassay.api import open_store
from ragassay.runs.ticker import Tell
from ragassay.tracing.job import Patience
from ragassay.watch import settings as defaults
from ragassay.watch.batches import check_judge
from ragassay.watch.settings import make_settings
from ragassay.watch.values import Traffic
from ragassay.watch.watcher import Watcher


def watch_traffic(  # plain: it is the signature, and what each argument means
    *,
    name: str = "traffic",
    sample: float = defaults.SAMPLE,
    suspicious: float = defaults.FACTOR,
    seed: int = 0,
    budget: Sequence[str] = (),
    marks: Sequence[str] = (),
    false_alarms: str | float = defaults.ALPHA,
    alert_to: Sequence[str] = (),
    allow_private: bool = False,
    label_share: float = 0.0,
    window_s: float = defaults.WINDOW_S,
    session_quiet_s: float = defaults.SESSION_QUIET_S,
    patience_s: float = defaults.PATIENCE_S,
    quiet_s: float = 30.0,
    keep_days: float = defaults.KEEP_DAYS,
    collector: str = "",
    with_map: bool = False,
    every_s: float | None = None,
    store: str | os.PathLike[str] | None = None,
    shown: Callable[[Traffic], None] | None = None,
    tell: Tell | None = None,
    now: Callable[[], float] = time.time,
    **judging: Any,
) -> Traffic:
    """Judge a sample of the rows of traces that arrived, and say how things stand.

    name: of the watch, which goes on where it was. sample: share of the sessions that is judged;
    suspicious: how many times as often suspicious rows are. budget: "5/day" (US dollars), "500
    calls/hour", "100 rows/minute". marks: "groundedness>=0.8", "pass_rate(groundedness)>=0.9",
    "error_rate<=0.02", "p95(latency)<=3". false_alarms: 0.05 for the chance of ever raising one
    over all marks, "1/10000" for one in so many sessions on average. alert_to: "https://...",
    "slack:https://...", "env:NAME", "command:...". allow_private: a webhook may redirect to a
    private address. label_share: of the judged rows, for people to label. window_s: seconds that
    the rates are over. session_quiet_s: after which a session is counted for alarms. patience_s:
    that a sampled row waits at most. quiet_s: without a new span until a trace is a row, as the
    receiver has it. keep_days: that figures of rows are kept. collector: address
    of a collector of OpenTelemetry that is sent the results. with_map: also the map of the
    window's questions. every_s: go on with a step each so
    many seconds until SIGINT or SIGTERM; None for one step. shown: called with the first report of
    a watch that goes on. tell: called with what happens. now: the clock. judging: judge, metrics,
    preset and the options of `evaluate` for a judge.

    Raises SetupError E0101, E1301, E1302, E1303 for what cannot be watched, E1304 where the watch
    is running already, and as `evaluate`.
    """
    chosen = make_settings(
        name=name,
        sample=sample,
        factor=suspicious,
        seed=seed,
        budget=budget,
        marks=marks,
        false_alarms=false_alarms,
        alert_to=alert_to,
        allow_private=allow_private,
        label_share=label_share,
        window_s=window_s,
        session_quiet_s=session_quiet_s,
        patience_s=patience_s,
        keep_days=keep_days,
        collector=collector,
        judging=judging,
    )
    check_judge(chosen, store)
    traces = Patience(quiet_s=quiet_s)
    with (
        open_store(store) as opened,
        Watcher(opened, chosen, now=now, tell=tell, patience=traces) as watcher,
    ):
        watcher.step(patient=False)
        if every_s is None or watcher.interrupted:
            return watcher.report(with_map=with_map)
        if shown is not None:
            shown(watcher.report())
        _go_on(watcher, every_s)
        return watcher.report(with_map=with_map)


def _go_on(watcher: Watcher, every_s: float) -> None:
    """Step after step, until a signal or an interrupted run."""
    with _ended_by_signals() as ended:
        while not ended.wait(every_s) and not watcher.interrupted:
            watcher.step()
            watcher.refresh()


@contextmanager
def _ended_by_signals() -> Iterator[threading.Event]:
    """An event that SIGINT and SIGTERM set; a run that goes on takes them itself meanwhile."""
    ended = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield ended
        return
    kinds = (signal.SIGINT, signal.SIGTERM)
    before = {kind: signal.signal(kind, lambda *_: ended.set()) for kind in kinds}
    try:
        yield ended
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
