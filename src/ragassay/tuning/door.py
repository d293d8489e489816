"""Optimise a judge, from the arguments of a caller."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragassay.api import forecast, open_store
from ragassay.core import NothingToDo, Sample, SetupError, digest
from ragassay.runs import Forecast
from ragassay.runs.event_loops import block_on
from ragassay.tuning.aim_words import check_aim_of_pairs, read_aim
from ragassay.tuning.bench import PairBench, StoreBench
from ragassay.tuning.forecast import Asking
from ragassay.tuning.labels import labels_of, pair_labels_of
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

    metric: of the catalogue, a custom judge of `rubrics`, or pair_preference for labels that say
    which of two responses is better. labels: rows with a label of people
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
    reading: dict[str, Any] = {
        "label": label,
        "cluster": cluster,
        "where": where,
        "mapping": mapping,
        "format": format,
    }
    if target.pairs:
        _check_no_cut(cut)
        found = pair_labels_of(labels, **reading)
    else:
        found = labels_of(labels, target.needs, cut=cut, **reading)
    understood = read_aim(aim)
    if target.pairs:
        check_aim_of_pairs(understood)
    asked = Asked(
        target=target,
        labels=found,
        aim=understood,
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
            [target.asked_as],
            judge=asked.judge,
            rubrics=files,
            store=store,
            **{**options, **more},
        )

    labels = asked.labels
    chosen = (*labels.samples[:ROWS_COUNTED], *labels.swapped[:ROWS_COUNTED])
    each = counted(chosen, cache=False)
    rows = max(1, each.rows)
    now = counted(chosen)
    every = len(labels.samples) + len(labels.swapped)
    known = round((each.calls - now.calls) / rows * every)
    cost = None if each.cost is None else each.cost / max(1, each.calls)
    return Asking(each.calls / rows, cost, known, orders=2 if target.pairs else 1)


def _check_no_cut(cut: float | None) -> None:
    if cut is None:
        return
    raise SetupError(
        "E0205",
        "Labels of pairs have no cut.",
        where=f"--cut {cut:g}",
        why="they say which of two responses is better",
        fix="leave it out",
    )


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
        bench = _bench(asked, record, spending, store)
        proposer = None
        if asked.proposer and asked.target.searchable:
            model = connect(asked.proposer, **proposer_options)
            proposer = stack.enter_context(ModelProposer(model, record, spending))
        result = Optimiser(ready, bench, record, spending, watch).run(proposer, out)
        _keep(opened, result, record.runs())
        return result


def _bench(
    asked: Asked,
    record: SearchRecord,
    spending: Spending,
    store: str | os.PathLike[str] | None,
) -> StoreBench:
    """The judge of the rows, or of the pairs."""
    labels, target = asked.labels, asked.target
    given: dict[str, Any] = {
        "metric": target.asked_as,
        "judge_uri": asked.judge,
        "base": target.rubric,
        "record": record,
        "spending": spending,
        "folder": record.folder,
        "store": store,
        "base_file": target.file,
        "files": target.files,
        "options": asked.options,
        "attempts": record.attempts(),
    }
    if target.pairs:
        samples = (*labels.samples, *labels.swapped)
        return PairBench(samples, truth=labels.rows.truth, **given)
    return StoreBench(labels.samples, **given)


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
