"""The way of arriving rows into a watch: what is known of each without a judge, and whether it is
in the sample.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from ragassay.core import Context
from ragassay.datasets import cells
from ragassay.scoring.word_vectors import word_vectors
from ragassay.store.spans import ChangedTrace
from ragassay.store.watches import (
    OPEN,
    PENDING,
    UNSAMPLED,
    WatchRecords,
    WatchRow,
)
from ragassay.watch import sampling
from ragassay.watch.reference import Reference
from ragassay.watch.settings import Settings
from ragassay.watch.state import State


def new_rows(
    changed: Sequence[ChangedTrace],
    records: WatchRecords,
    settings: Settings,
    state: State,
    reference: Reference | None,
) -> list[WatchRow]:
    """The rows of these traces that the watch has not come to yet. A row that changed after it was
    judged is counted and stays as it was judged; what came before the window of the first step is
    never sampled, since a watch that is begun is not meant to judge all that was ever stored.
    """
    known = records.known(settings.name, [trace.trace for trace in changed])
    begin = int((state.created - settings.window_s) * 1000)
    rated_bad = frozenset(state.bad_rated)
    found: list[WatchRow] = []
    questions: list[str] = []
    for trace in changed:
        for number, payload in trace.rows:
            before = known.get((trace.trace, number))
            if before is not None:
                state.revised += before.state not in (UNSAMPLED, PENDING)
                continue
            is_earlier = trace.received < begin
            state.earlier += is_earlier
            stored = orjson.loads(payload)
            row = stored["row"]
            # A user who saw an error saw no response, although a model inside had given one.
            failed = {"error": stored["failed"]} if stored.get("failed") else {}
            bad = trace.trace.hex() in rated_bad
            arrived = _arrived({**row, **failed}, trace, number, settings, state, bad)
            found.append(replace(arrived, state=UNSAMPLED) if is_earlier else arrived)
            questions.append(_text(row.get("question")))
    if reference is not None and found:
        for row, scalars in zip(found, reference.scalars(word_vectors(questions)), strict=True):
            row.figures["scalars"].update(scalars)
        found = [
            replace(row, figures={**row.figures, "reference": reference.made}) for row in found
        ]
    return found


def _arrived(
    row: Mapping[str, Any],
    trace: ChangedTrace,
    number: int,
    settings: Settings,
    state: State,
    rated_bad: bool,
) -> WatchRow:
    session = sampling.session_key(row.get("cluster"), trace.trace, number)
    contexts = cells.contexts(row.get("contexts"), "contexts", [], Counter())
    why = sampling.suspicion(row, contexts, rated_bad)
    chance = sampling.chance_of(settings.sample, settings.factor, bool(why))
    inside = sampling.place(session, settings.seed, "sample") < chance
    figures = known_figures(row, contexts)
    figures["taken"] = round(state.now)
    if why:
        figures["suspicious"] = why
    return WatchRow(
        id=0,
        trace=trace.trace,
        number=number,
        session=session,
        received=min(trace.received, int(state.now * 1000)),
        state=PENDING if inside else UNSAMPLED,
        reason="",
        chance=chance,
        stage=OPEN,
        batch=0,
        figures=figures,
    )


def known_figures(row: Mapping[str, Any], contexts: Sequence[Context] | None) -> dict[str, Any]:
    """What is known of a row without a judge: whether it failed, latency in seconds, tokens, cost
    in US dollars as the application says, and the scalars whose drift is watched.
    """
    figures: dict[str, Any] = {"error": int(bool(row.get("error")))}
    usage = row.get("usage")
    usage = usage if isinstance(usage, Mapping) else {}
    tokens = usage.get("total_tokens")
    if tokens is None:
        parts = [_number(usage.get(name)) for name in ("input_tokens", "output_tokens")]
        said = [part for part in parts if part is not None]
        tokens = sum(said) if said else None
    amounts = {"latency": usage.get("latency"), "tokens": tokens, "cost": usage.get("cost")}
    for name, amount in amounts.items():
        number = _number(amount)
        if number is not None and number >= 0:
            figures[name] = number
    figures["scalars"] = _scalars(row, contexts)
    return figures


def _scalars(row: Mapping[str, Any], contexts: Sequence[Context] | None) -> dict[str, float]:
    scalars: dict[str, float] = {}
    for name in ("question", "response"):
        text = _text(row.get(name))
        if text:
            scalars[f"{name} length"] = round(math.log1p(len(text.split())), 4)
    if contexts is not None:
        scalars["passages"] = float(len(contexts))
        scores = [each.score for each in contexts if each.score is not None]
        best = max(filter(math.isfinite, scores), default=None)
        if best is not None:
            scalars["retrieval score"] = round(best, 4)
    return scalars


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None
