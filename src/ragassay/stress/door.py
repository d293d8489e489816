"""Stress a system, from the arguments of a caller."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragassay.api import evaluate, open_store, resume
from ragassay.core import (
    BudgetExhausted,
    DataError,
    Interrupted,
    NothingToDo,
    RowResult,
    RunState,
    SetupError,
    digest,
    shorten,
)
from ragassay.stress.application import opened_app
from ragassay.stress.counterfactual import Policy, counterfactual_result
from ragassay.stress.figures import Rate, rate
from ragassay.stress.headline import TOLERANCE, findings
from ragassay.stress.integration import integration_result
from ragassay.stress.labels import check_unread, read_label_sheet, write_label_sheet
from ragassay.stress.levels import NUMBERS, Arm, Grid, Kind, Position, Test
from ragassay.stress.noise import noise_result
from ragassay.stress.outcomes import Outcome, Outcomes, outcomes_of
from ragassay.stress.plan import StressPlan, Wanted, make_plan, within
from ragassay.stress.power import power_of
from ragassay.stress.recorded import recorded_app
from ragassay.stress.rejection import both_kinds, rejection_result
from ragassay.stress.responses import Manner
from ragassay.stress.result import RowAtLevel, StressResult
from ragassay.stress.rows import TestRows, read_rows

if TYPE_CHECKING:
    from ragassay.runs.run import Run

SHORT = 5
"""Words of a reference up to which a response is right that holds them all."""
_KEPT = "stress"
_MOST_RUNS = 100_000


@dataclass(frozen=True, slots=True)
class Prepared:
    """A stress test that is ready: its plan, the metric by which a response is right, and who
    judges. judge_calls: calls to the judge's model, about.
    """

    plan: StressPlan
    metric: str
    judge: str
    judge_calls: int
    writer: str = ""
    writer_calls: int = 0
    notes: tuple[str, ...] = ()


def stress_test(  # plain: it is the signature, and what each argument means
    app: str | Callable[..., Any] | None,
    rows: object,
    *,
    tests: Iterable[str] = (),
    retriever: str | None = None,
    recorded: str | None = None,
    corpus: object = None,
    numbers: Sequence[int] = NUMBERS,
    kinds: Sequence[str] = tuple(Kind),
    positions: Sequence[str] = tuple(Position),
    arms: Sequence[str] = tuple(Arm),
    policy: str = Policy.FOLLOW,
    metric: str | None = None,
    judge: str = "offline",
    writer: str | None = None,
    writer_base_url: str | None = None,
    writer_api_key_env: str | None = None,
    writer_price: str | None = None,
    tolerance: float = TOLERANCE,
    limit: int | None = None,
    mapping: Mapping[str, str] | None = None,
    format: str | None = None,
    app_timeout: float = 120.0,
    app_concurrency: int = 8,
    app_headers: Sequence[str] = (),
    max_app_calls: int | None = None,
    labels: str | os.PathLike[str] | None = None,
    label_sheet: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    seed: int = 0,
    store: str | os.PathLike[str] | None = None,
    confirm: Callable[[Prepared], bool] | None = None,
    **options: Any,
) -> StressResult:
    """Put each question of the rows to a system at many levels, and say what it does not stand.

    app: a function or "module:function" of (question, contexts); of the question alone with
    retriever, the "module:function" by which it gets its passages; or the http:// address of an
    endpoint that takes both as JSON. recorded: a run of the store, or a file that `out` wrote,
    whose answers are taken instead. rows: as for `evaluate`, with question, reference and the
    contexts that hold the answer (rows of a test set get them from its documents); `answerable:
    false` for questions that the corpus cannot answer; expected_facts for integration. tests:
    noise, rejection, counterfactual, integration; all where none is named. corpus: rows, texts,
    a folder of documents, or a .txt file with a passage a line, for more distractors.
    numbers, kinds, positions, arms: the grid of the noise. policy: what is fine where passages are
    false: follow, flag or resist. metric: by whose verdict a response is right (default: with a
    judge `correctness`; offline the words of the reference where they are few, else
    `correctness`). judge: as for `evaluate`. writer: a model that writes false answers and
    passages on the topic, which are checked like those of the rules and used before them; it is
    reached like the judge where its provider is the same. tolerance: the share of rows up to which
    an unwanted behaviour is let pass. app_timeout: seconds a row.
    max_app_calls: the most often that the system is asked; questions are drawn by chance to stay
    within it, each at all its levels. label_sheet: where a sheet (CSV) of responses drawn by
    chance is written, for people to say which decline; labels: such a sheet filled in, by which
    the rates of rejection are corrected. out: a JSONL file of every planned row with its response.
    confirm: asked with the plan before the system is. options: of
    `evaluate`, for the judge.

    The same call again after a stop or a kill goes on where it was: the system is not asked again
    for what it answered. Raises SetupError, DataError and NothingToDo (E11xx) for what cannot be
    tested, BudgetExhausted E0604 at a cap, and as `evaluate`.
    """
    started = time.monotonic()
    wanted = _wanted(tests, numbers, kinds, positions, arms, seed)
    policy_ = _choice(Policy, policy, "policy")
    _check_tolerance(tolerance)
    _check_limit(limit)
    said = {} if labels is None else read_label_sheet(Path(labels))
    if label_sheet is not None:
        check_unread(Path(label_sheet))
    found = read_rows(rows, corpus=corpus, mapping=mapping, format=format, limit=limit, seed=seed)
    whole = make_plan(found, wanted, may_be_empty=writer is not None)
    plan = within(whole, max_app_calls)
    name = metric or _metric_of(found, judge)
    ready = Prepared(
        plan,
        name,
        judge,
        _judge_calls(plan, name, judge),
        writer or "",
        _writer_calls(found, writer),
        found.notes,
    )
    if out is not None:
        # A file that cannot be written is known before the system is asked.
        write_rows(plan, {}, out)
    if confirm is not None and not confirm(ready):
        raise NothingToDo("E0707", "The plan was declined, and nothing was asked.")
    if writer is not None:
        own = (writer_base_url, writer_api_key_env, writer_price)
        ready, options = _with_writer(ready, found, judge, own, store, options)
        plan = within(ready.plan, max_app_calls)
        ready = replace(ready, plan=plan)
    asked = {"app_timeout": app_timeout, "app_concurrency": app_concurrency, **options}
    with _system(app, retriever, recorded, app_headers, store) as (function, app_name):
        run = _run(ready, function, app_name, store, asked)
    with run:
        results = {row.id: row for row in run.rows()}
        if out is not None:
            write_rows(plan, results, out)
        outcomes = outcomes_of(plan, results, run.manifest.metrics[0])
        if label_sheet is not None:
            write_label_sheet(Path(label_sheet), *both_kinds(outcomes), seed)
        _check_labels(said, outcomes, labels)
        return _result(ready, run, results, outcomes, app_name, policy_, tolerance, said, started)


def _check_labels(
    labels: Mapping[str, bool], outcomes: Outcomes, path: str | os.PathLike[str] | None
) -> None:
    """Raise DataError E1108 for labels of rows that this test does not have."""
    known = {outcome.planned.id for outcome in chain.from_iterable(both_kinds(outcomes))}
    unknown = [name for name in labels if name not in known]
    if unknown:
        raise DataError(
            "E1108",
            "The sheet of labels is of another test.",
            where=str(path),
            why=f"{len(unknown)} of {len(labels)} rows are not in it, such as {unknown[0]!r}",
            fix="give the rows, tests and seed of the run that wrote the sheet",
        )


_WRITERS = (
    "max_tokens",
    "reasoning_effort",
    "extra_body",
    "headers",
    "proxy",
    "ca",
    "max_calls",
    "max_cost",
    "no_network",
    "force",
)
"""Options of the judge that hold for the writer as well."""


def _writer_calls(rows: TestRows, writer: str | None) -> int:
    return 0 if writer is None else 2 * len(rows.answerable)


def _with_writer(
    ready: Prepared,
    rows: TestRows,
    judge: str,
    own: tuple[str | None, str | None, str | None],
    store: str | os.PathLike[str] | None,
    options: dict[str, Any],
) -> tuple[Prepared, dict[str, Any]]:
    """The plan with what the writer wrote, and the options with what its calls leave of the
    caps.
    """
    from ragassay.stress.writer import written

    given = {name: options[name] for name in _WRITERS if options.get(name) is not None}
    same = ready.writer.partition(":")[0] == judge.partition(":")[0]
    for name, value in zip(("base_url", "api_key_env", "price"), own, strict=True):
        value = value if value is not None or not same else options.get(name)
        if value is not None:
            given[name] = value
    if "tell" in options:
        given["tell"] = options["tell"]
    made = written(rows.answerable, ready.writer, store=store, options=given)
    plan = make_plan(rows, ready.plan.wanted, made.by_row)
    left = dict(options)
    spent = made.ledger.confirmed
    if left.get("max_calls") is not None:
        left["max_calls"] = max(0, left["max_calls"] - spent.calls - made.ledger.uncertain_calls)
    if left.get("max_cost") is not None:
        cost = (spent.cost or 0.0) + made.ledger.uncertain_cost
        left["max_cost"] = max(0.0, left["max_cost"] - cost)
    notes = (*ready.notes, made.note(ready.writer))
    return replace(ready, plan=plan, notes=notes), left


async def astress_test(
    app: str | Callable[..., Any] | None, rows: object, **options: Any
) -> StressResult:
    """`stress_test` for callers inside an event loop: it works in a thread of its own."""
    return await asyncio.to_thread(stress_test, app, rows, **options)


def write_rows(
    plan: StressPlan, results: Mapping[str, RowResult], path: str | os.PathLike[str]
) -> None:
    """Write every planned row as a line of JSON: id, question, contexts, level, and the response
    where there is one. Raises SetupError E0107.
    """
    lines = []
    for planned in plan.planned:
        row: dict[str, Any] = {
            "id": planned.id,
            "question": planned.row.question,
            "contexts": [context.text for context in planned.contexts],
            "level": planned.key,
            "asked": planned.asked,
            "delivered": planned.delivered,
        }
        result = results.get(planned.id)
        if result is not None and result.sample is not None:
            row["response"] = result.sample.response
            row["error"] = result.sample.error
        lines.append(json.dumps(row, ensure_ascii=False))
    try:
        Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8", errors="replace")
    except OSError as error:
        raise SetupError(
            "E0107",
            "The rows cannot be written.",
            where=str(path),
            why=str(error),
            fix="name a file in a folder that exists",
        ) from error


def _wanted(
    tests: Iterable[str],
    numbers: Sequence[int],
    kinds: Sequence[str],
    positions: Sequence[str],
    arms: Sequence[str],
    seed: int,
) -> Wanted:
    tests, kinds, positions, arms = map(_several, (tests, kinds, positions, arms))
    chosen = frozenset(_choice(Test, test, "tests") for test in tests) or frozenset(Test)
    if not numbers or any(isinstance(n, bool) or int(n) != n or not 1 <= n <= 50 for n in numbers):
        raise SetupError(
            "E0101",
            "Numbers of distractors are whole numbers from 1 to 50.",
            where="numbers",
            why=shorten(str(list(numbers))),
            fix="for example 1,3,5,8",
        )
    grid = Grid(
        tuple(sorted({int(n) for n in numbers})),
        tuple(dict.fromkeys(_choice(Kind, kind, "kinds") for kind in kinds)),
        tuple(dict.fromkeys(_choice(Position, place, "positions") for place in positions)),
        tuple(dict.fromkeys(_choice(Arm, arm, "arms") for arm in arms)),
    )
    if not (grid.kinds and grid.positions and grid.arms):
        raise SetupError("E0101", "The grid of noise is empty.", where="kinds, positions, arms")
    return Wanted(chosen, grid, seed)


def _several(names: Iterable[str]) -> Sequence[str]:
    """Names, also where one alone is given: a text is no list of letters."""
    return [names] if isinstance(names, str) else list(names)


def _choice(kind: Any, value: str, where: str) -> Any:
    try:
        return kind(value)
    except ValueError:
        names = ", ".join(str(one) for one in kind)
        raise SetupError(
            "E0101",
            f"There is no {shorten(str(value), 30)!r} here.",
            where=where,
            fix=f"one of {names}",
        ) from None


def _check_tolerance(tolerance: float) -> None:
    if not 0 <= tolerance < 1:
        raise SetupError(
            "E0101",
            "The tolerance is a share of rows, from 0 to below 1.",
            where="tolerance",
            why=str(tolerance),
            fix="for example 0.1",
        )


def _check_limit(limit: int | None) -> None:
    if limit is not None and limit < 1:
        raise SetupError(
            "E0101", "The limit is a number of rows from 1 on.", where="limit", why=str(limit)
        )


def _metric_of(rows: TestRows, judge: str) -> str:
    """The metric by which a response is right, where none is named."""
    if judge != "offline":
        return "correctness"
    lengths = [len(r.answer.text.split()) for r in rows.answerable if r.answer is not None]
    short = sum(1 for length in lengths if length <= SHORT)
    return "token_recall(pass_mark=1.0)" if short >= 0.9 * len(lengths) else "correctness"


def _judge_calls(plan: StressPlan, metric: str, judge: str) -> int:
    from ragassay.metrics import parse

    if judge.partition(":")[0] in ("offline", "local") or not parse(metric).declaration.judged:
        return 0
    return sum(1 for p in plan.planned if p.is_judged and p.row.answer is not None)


@contextmanager
def _system(
    app: str | Callable[..., Any] | None,
    retriever: str | None,
    recorded: str | None,
    headers: Sequence[str],
    store: str | os.PathLike[str] | None,
) -> Iterator[tuple[Callable[..., Any], str]]:
    """The system as the engine runs it, and its name."""
    from ragassay.runs.application import name_of

    if (app is None) == (recorded is None):
        raise SetupError(
            "E0104",
            "A stress test asks a system, or takes its recorded answers.",
            where="app, recorded",
            fix="give --app module:function or an address, or --recorded RUN-OR-FILE",
        )
    if recorded is not None:
        answers = recorded_app(recorded, store)
        yield answers, answers.name
        return
    assert app is not None
    with opened_app(app, retriever=retriever, headers=headers) as function:
        yield function, app if isinstance(app, str) else name_of(app)


def _run(
    ready: Prepared,
    app: Callable[..., Any],
    app_name: str,
    store: str | os.PathLike[str] | None,
    options: dict[str, Any],
) -> Run:
    """The run of the planned rows: a new one, or one that was stopped, gone on with."""
    samples = [planned.sample for planned in ready.plan.planned]
    key = _key(ready, app_name, options)
    unfinished = _unfinished(key, store)
    watching = {name: options.pop(name) for name in ("watch", "tell") if name in options}
    if unfinished:
        changed = ("app_timeout", "app_concurrency", "concurrency", "max_calls", "max_cost")
        again = {name: options[name] for name in changed if options.get(name) is not None}
        if watching.get("tell") is not None:
            watching["tell"](f"going on with run {unfinished}")
        run = resume(unfinished, store=store, rows=samples, app=app, **watching, **again)
    else:
        run = evaluate(
            samples,
            [ready.metric],
            judge=ready.judge,
            app=app,
            store=store,
            name=f"stress test of {shorten(app_name, 60)}",
            keep={_KEPT: key},
            **watching,
            **options,
        )
    _raise_if_stopped(run)
    return run


def _key(ready: Prepared, app_name: str, options: Mapping[str, Any]) -> str:
    """What a stress test is known by: its rows, its system by name, and how it is judged."""
    rows = []
    for planned in ready.plan.planned:
        rows.append((planned.id, [context.text for context in planned.contexts]))
    base_url = str(options.get("base_url") or "")
    return digest(_KEPT, rows, app_name, ready.metric, ready.judge, base_url)


def _unfinished(key: str, store: str | os.PathLike[str] | None) -> str:
    """The id of the newest run of this test that was stopped or killed, "" where none was."""
    with open_store(store) as opened:
        for stored in opened.runs(_MOST_RUNS):
            if stored.manifest.kept.get(_KEPT) == key:
                return "" if stored.state is RunState.FINISHED else stored.run_id
    return ""


def _raise_if_stopped(run: Run) -> None:
    """Raise where a run did not get through its rows; what it has is in the store."""
    state = run.state
    if state is RunState.FINISHED:
        return
    why, run_id = run.stop_reason, run.id
    run.close()
    if state is RunState.BUDGET:
        raise BudgetExhausted(
            "E0604",
            "A cap was reached before the stress test was done.",
            where=f"run {run_id}",
            why=why,
            fix="the same command with a higher --max-calls or --max-cost goes on where it was",
        )
    raise Interrupted("Stopped: the same command goes on where it was")


def _result(
    ready: Prepared,
    run: Run,
    results: Mapping[str, RowResult],
    outcomes: Outcomes,
    app_name: str,
    policy: Policy,
    tolerance: float,
    labels: Mapping[str, bool],
    started: float,
) -> StressResult:
    plan = ready.plan
    unjudged = _check_judged(ready, outcomes, results)
    noise = noise_result(outcomes)
    rejection = rejection_result(outcomes, labels)
    counterfactual = counterfactual_result(outcomes, policy)
    integration = integration_result(outcomes)
    failed = failed_rate(outcomes)
    return StressResult(
        run=run.id,
        app=app_name,
        source=plan.source,
        metric=run.manifest.metrics[0],
        judge=ready.judge,
        questions=len(plan.rows),
        clusters=len({row.cluster for row in plan.rows}),
        askings=len(plan.planned),
        findings=findings(failed, noise, rejection, counterfactual, integration, tolerance),
        tolerance=tolerance,
        failed=failed,
        noise=noise,
        rejection=rejection,
        counterfactual=counterfactual,
        integration=integration,
        power=power_of(plan),
        left_out=plan.left_out,
        rejected_distractors=plan.rejected,
        undelivered=plan.undelivered,
        unjudged=unjudged,
        errors=_errors(outcomes),
        rows=tuple(map(_at_level, outcomes)),
        ledger=run.ledger,
        seconds=round(time.monotonic() - started, 3),
        notes=ready.notes,
        tests=tuple(test.value for test in Test if test in plan.wanted.tests),
        untested={test.value: why for test, why in plan.untested.items()},
    )


def failed_rate(outcomes: Outcomes) -> Rate:
    """The share of askings that the system failed on, or answered with no text."""
    failed = (Manner.ERROR, Manner.EMPTY)
    rows = []
    for outcome in outcomes:
        row = outcome.planned.row
        rows.append((outcome.planned.id, row.cluster, outcome.manner in failed))
    return rate("no answer", rows)


def _check_judged(ready: Prepared, outcomes: Outcomes, results: Mapping[str, RowResult]) -> int:
    """How many responses have no verdict. Raises DataError E1106 where none has one."""
    asked = [o for o in outcomes if o.planned.is_judged and o.planned.row.answer is not None]
    unjudged = [o for o in asked if o.right is None]
    if asked and len(unjudged) == len(asked):
        scores = results[unjudged[0].planned.id].scores
        reason = scores[0].reason if scores else "it has no score"
        raise DataError(
            "E1106",
            "No response could be judged right or wrong.",
            where=f"metric {ready.metric}",
            why=shorten(reason or "the metric gives no verdict", 200),
            fix="name a metric with a pass mark, such as --metric correctness",
        )
    return len(unjudged)


def _errors(outcomes: Outcomes) -> dict[str, int]:
    counts = Counter(shorten(o.error, 100) for o in outcomes if o.error is not None)
    return dict(counts.most_common())


def _at_level(outcome: Outcome) -> RowAtLevel:
    planned = outcome.planned
    return RowAtLevel(
        planned.row.id,
        planned.key,
        outcome.right,
        str(outcome.manner),
        outcome.response,
        outcome.error,
        outcome.says_wrong,
        outcome.obeys,
        outcome.flags,
        planned.asked,
        planned.delivered,
    )
