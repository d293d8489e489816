"""Optimise a judge, from the arguments of a caller."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragassay.api import forecast, open_store
from ragassay.core import NothingToDo, Sample, digest
from ragassay.runs import Forecast
from ragassay.runs.event_loops import block_on
from ragassay.tuning.aim_words import read_aim
from ragassay.tuning.bench import StoreBench
from ragassay.tuning.forecast import Asking
from ragassay.tuning.labels import labels_of
from ragassay.tuning.model_proposer import ModelProposer
from ragassay.tuning.optimise import Asked, Optimisation, Optimiser, Prepared, Watch, prepared
from ragassay.tuning.record import SearchRecord, opened_by_another
from ragassay.tuning.spending import Spending
from ragassay.tuning.splits import SHARES
from ragassay.tuning.target import target_of

if TYPE_CHECKING:
    from ragassay.store import Store

CALLS = 2000
"""Calls that an optimisation may buy where no cap is given."""
ROWS_COUNTED = 200
"""Rows by which it is counted what asking the judge takes."""
_WATCHING = ("watch", "tell")


def optimise(  # plain: it is the signature, and what each argument means
    metric: str,
    labels: object,
    *,
    judge: str = "offline",
    reflector: str | None = None,
    aim: str = "kappa",
    engine: str = "own",
    rubrics: Sequence[str | os.PathLike[str]] = (),
    max_calls: int | None = CALLS,
    max_cost: float | None = None,
    shares: Sequence[float] = SHARES,
    split_by: str | None = None,
    cut: float | None = None,
    label: str = "label",
    cluster: str | None = None,
    where: Sequence[str] = (),
    mapping: Mapping[str, str] | None = None,
    format: str | None = None,
    reflector_base_url: str | None = None,
    reflector_api_key_env: str | None = None,
    reflector_price: str | None = None,
    out: str | os.PathLike[str] | None = None,
    seed: int = 0,
    store: str | os.PathLike[str] | None = None,
    confirm: Callable[[Prepared], bool] | None = None,
    watch: Watch | None = None,
    **options: Any,
) -> Optimisation:
    """Look for a better rubric of a judge, and keep it only where the gain is certified.

    metric: of the catalogue, or a custom judge of `rubrics`. labels: rows with a label of people
    each, in any form that `evaluate` reads. judge: who judges; of the offline judge only the pass
    mark can be changed. reflector: the model that proposes edits, None for steps without calls
    alone; it is reached like the judge where its provider is the same. aim: what is to become
    better, as a figure or in words ("f1 where precision >= 0.85"). engine: own, gepa, dspy or
    textgrad. max_calls, max_cost: caps of judge and reflector together, over all attempts at the
    same search. shares: of train, validation and sealed rows; split_by: a column that says the part
    instead. cut: the label from which on people pass a row. label, cluster, where, mapping, format:
    as for `benchmark`. out: where a certified rubric is written, by default ID-VERSION.md. confirm:
    asked with the plan before anything is paid. watch: told of progress. options: of `evaluate`,
    for the judge.

    The same call again after a stop or a kill goes on where it was, and buys nothing twice. Raises
    SetupError and DataError (E0205, E0313, E0315, E07xx) for what cannot be optimised, NothingToDo
    where the plan is declined, BudgetExhausted E0604 where a cap leaves no room for the
    certificate, and as `evaluate`.
    """
    target = target_of(metric, judge, rubrics)
    found = labels_of(
        labels,
        target.needs,
        cut=cut,
        label=label,
        cluster=cluster,
        where=where,
        mapping=mapping,
        format=format,
    )
    asked = Asked(
        target=target,
        labels=found,
        aim=read_aim(aim),
        judge=judge,
        proposer=reflector or "",
        engine=engine,
        max_calls=CALLS if max_calls is None else max_calls,
        max_cost=max_cost,
        shares=tuple(shares),
        split_by=split_by,
        seed=seed,
        options=options,
    )
    ready = prepared(asked, _asking(asked, store))
    _check_sealed(ready, store)
    if confirm is not None and not confirm(ready):
        raise NothingToDo("E0707", "The plan was declined, and nothing was asked.")
    proposer_options = _proposer_options(
        judge, reflector, options, reflector_base_url, reflector_api_key_env, reflector_price
    )

    def work() -> Optimisation:
        return _run(ready, proposer_options, Path(out) if out is not None else None, store, watch)

    return _outside_loops(work)


async def aoptimise(metric: str, labels: object, **options: Any) -> Optimisation:
    """`optimise` for callers inside an event loop: it works in a thread of its own."""
    return await asyncio.to_thread(optimise, metric, labels, **options)


def _asking(asked: Asked, store: str | os.PathLike[str] | None) -> Asking:
    """What asking the judge takes, by a forecast of the rows: nothing is sent."""
    target = asked.target
    if not target.searchable:
        return Asking(0.0, 0.0)
    files = [*target.files, *([target.file] if target.file else [])]

    def counted(rows: Sequence[Sample], **more: Any) -> Forecast:
        options = {name: value for name, value in asked.options.items() if name not in _WATCHING}
        return forecast(
            rows,
            [target.metric],
            judge=asked.judge,
            rubrics=files,
            store=store,
            **{**options, **more},
        )

    samples = asked.labels.samples
    each = counted(samples[:ROWS_COUNTED], cache=False)
    rows = max(1, each.rows)
    now = counted(samples[:ROWS_COUNTED])
    known = round((each.calls - now.calls) / rows * len(samples))
    cost = None if each.cost is None else each.cost / max(1, each.calls)
    return Asking(each.calls / rows, cost, known)


def _check_sealed(ready: Prepared, store: str | os.PathLike[str] | None) -> None:
    """Raise SetupError E0704, before anything is paid, where another search opened sealed rows of
    this one.
    """
    sealed = ready.division.sealed
    with open_store(store) as opened:
        before = opened_by_another(opened, ready.asked.key, sealed.marks)
    if before is not None:
        raise sealed.opened_before(before)


def _run(
    ready: Prepared,
    proposer_options: Mapping[str, Any],
    out: Path | None,
    store: str | os.PathLike[str] | None,
    watch: Watch | None,
) -> Optimisation:
    """One attempt, with what it needs opened and closed."""
    from ragassay.models import connect

    asked = ready.asked
    with ExitStack() as stack:
        opened = stack.enter_context(open_store(store))
        title = f"optimise {asked.target.metric}"
        record = SearchRecord(
            opened, asked.key, title, asked.judge, digest("proposer", asked.proposer)
        )
        spending = Spending(asked.max_calls, asked.max_cost)
        bench = StoreBench(
            samples=asked.labels.samples,
            metric=asked.target.metric,
            judge_uri=asked.judge,
            base=asked.target.rubric,
            record=record,
            spending=spending,
            folder=record.folder,
            store=store,
            base_file=asked.target.file,
            files=asked.target.files,
            options=asked.options,
            attempts=record.attempts(),
        )
        proposer = None
        if asked.proposer and asked.target.searchable:
            model = connect(asked.proposer, **proposer_options)
            proposer = stack.enter_context(ModelProposer(model, record, spending))
        result = Optimiser(ready, bench, record, spending, watch).run(proposer, out)
        _keep(opened, result, record.runs())
        return result


def _keep(store: Store, result: Optimisation, runs: Sequence[str]) -> None:
    """Keep the report, with both texts of a rubric that was changed and with what was tried. runs:
    of the judge, in which every row can be looked at.
    """
    from ragassay.judges import rubric_text
    from ragassay.runs.kept_reports import OPTIMISATION, keep_report
    from ragassay.tuning.candidates import tried_items
    from ragassay.tuning.reports import optimisation_report

    texts = {}
    if result.rubric is not None:
        texts = {"before": rubric_text(result.rubric_before), "after": rubric_text(result.rubric)}
    blocks = optimisation_report(result, details=True)
    items = tried_items(result)
    keep_report(
        store,
        OPTIMISATION,
        result.metric,
        blocks,
        judge=result.judge,
        items=items,
        runs=runs,
        **texts,
    )


def _proposer_options(
    judge: str,
    reflector: str | None,
    options: Mapping[str, Any],
    base_url: str | None,
    api_key_env: str | None,
    price: str | None,
) -> dict[str, Any]:
    """How the proposer is reached: as the judge, where both are of one provider."""
    given = {"base_url": base_url, "api_key_env": api_key_env, "price": price}
    same = reflector is not None and reflector.partition(":")[0] == judge.partition(":")[0]
    for name in given:
        if given[name] is None and same:
            given[name] = options.get(name)
    return {**given, "no_network": bool(options.get("no_network")), "concurrency": 1}


def _outside_loops(work: Callable[[], Optimisation]) -> Optimisation:
    """The result of `work`, in a thread of its own where an event loop is running (a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    return block_on(lambda: asyncio.to_thread(work))
