"""One thing judged in a notebook, without a file and a run.

    import ragassay
    score = ragassay.judge.groundedness(response="It opened in 1932.", contexts=["The bridge opened
    in 1932."]) score.value, score.verdict, score.parts[0].rationale

Every metric of the catalogue is a function here; `ragassay.judge.aio` has the same ones for
`await`, and `score` takes a metric by its printed name or one of your own. The arguments are the
fields of a row, the metric's parameters, and those options of `ragassay.evaluate` that say who
judges and what it may cost. Fields and judges may also be called as MLflow calls them
(`ragassay.judge.relevance_to_query(request=..., response=...)`), with the arguments of its judges
(`is_safe(content=...)`, `meets_guidelines(guidelines=..., context={...})`, `name=`, `model=`). The
Score that comes back is the one a run would hold. Judgments are kept in the store like those of a
run, under the name "direct": asking again asks nobody (but equal calls that run at the same time do
not know of each other).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from ragassay.api import block_on, open_store
from ragassay.core import (
    DIRECT,
    BadRow,
    DataError,
    Judgment,
    JudgmentAddress,
    Ledger,
    RowResult,
    RunState,
    SetupError,
    nearest,
)
from ragassay.metrics import Metric, catalogue
from ragassay.metrics.other_names import MLFLOW_JUDGES
from ragassay.runs.options import make_options
from ragassay.runs.plan import Plan, make_plan, manifest_of
from ragassay.version import __version__

if TYPE_CHECKING:
    from ragassay.core import Exchange, Score
    from ragassay.store import Store

F = TypeVar("F", bound=Callable[..., Any])

RUN = DIRECT
"""The id under which the judgments of direct calls are kept."""

ROW = (
    "question",
    "contexts",
    "response",
    "reference",
    "expected_facts",
    "relevant_ids",
    "guidelines",
    "answerable",
    "usage",
    "feedback",
    "error",
)
"""The arguments that make up the row; as in a file of rows."""

JUDGES = MLFLOW_JUDGES

OPTIONS = (
    "judge",
    "base_url",
    "api_key_env",
    "rubrics",
    "single_calls",
    "controls",
    "order",
    "temperature",
    "max_tokens",
    "reasoning_effort",
    "extra_body",
    "headers",
    "proxy",
    "ca",
    "call_timeout",
    "attempts",
    "max_calls",
    "max_cost",
    "price",
    "cache",
    "no_network",
    "metric_timeout",
    "store",
)
"""Options of `evaluate` that mean something for one row. The others are of reading files, of the
application, and of many rows at a time.
"""


def score(metric: str | Metric, **arguments: Any) -> Score:
    """The Score of one row under one metric ("groundedness(claims=llm)", or a function under
    `@ragassay.metric`).

    Raises SetupError for an argument that is none, DataError for a field of the wrong kind, and
    what `evaluate` raises. A judgment that fails raises nothing: it is the Score's status and
    reason.
    """
    return block_on(lambda: ascore(metric, **arguments))


async def ascore(metric: str | Metric, **arguments: Any) -> Score:
    """`score` for callers inside an event loop."""
    store = arguments.pop("store", None)
    arguments, title = _read(arguments, str(metric))
    # A field given as None is one that the row does not have.
    fields_of_row = {name: arguments.pop(name, None) for name in ROW}
    row = {name: value for name, value in fields_of_row.items() if value is not None}
    unknown = [name for name in arguments if name not in OPTIONS]
    if unknown:
        raise SetupError(
            "E0101",
            f"There is no argument {unknown[0]!r}.{nearest(unknown[0], (*ROW, *OPTIONS))}",
            where=f"ragassay.judge, metric {metric}",
            fix=f"fields of the row: {', '.join(ROW)}; options: {', '.join(OPTIONS)}",
        )
    # A row without any field would be no row; with one it is said which fields the metric needs.
    plan = make_plan([row or {"question": None}], make_options(arguments), [metric])
    # A rubric file with a judge of the user's own adds that judge as a metric behind this one.
    plan = replace(plan, metrics=plan.metrics[:1])
    opened = open_store(store)
    try:
        judged = await _judge_row(plan, opened)
        return replace(judged, metric=title) if title else judged
    finally:
        await plan.model.close()
        opened.close()


def unknown_names(arguments: Mapping[str, Any], metric: str) -> list[str]:
    """Which of these arguments are neither fields of a row nor options."""
    read, _ = _read(arguments, metric)
    return [name for name in read if name not in (*ROW, *OPTIONS)]


def _read(arguments: Mapping[str, Any], metric: str) -> tuple[dict[str, Any], str]:
    """The arguments under the names of this package, and the name that MLflow's gives the score."""
    from ragassay.datasets.mlflow_arguments import read_arguments

    read, title = read_arguments(arguments, metric=metric.partition("(")[0])
    return _by_field(read, metric), title


def _by_field(arguments: Mapping[str, Any], metric: str) -> dict[str, Any]:
    """The arguments with fields of the row under their own names: each may be called as any tool
    calls its column, such as MLflow's `request`, `retrieved_context` and `expected_response`.
    """
    from ragassay.datasets.names import ALIASES

    fields_by_alias: dict[str, str] = {}
    for field in ROW:
        fields_by_alias.update(dict.fromkeys(ALIASES.get(field, ()), field))
    named: dict[str, Any] = {}
    for name, value in arguments.items():
        # An option is one, whatever some tool calls a column.
        field = name if name in OPTIONS else fields_by_alias.get(name, name)
        if field in named:
            raise SetupError(
                "E0101",
                f"Two arguments give the row's {field}.",
                where=f"ragassay.judge, metric {metric}",
                why=name,
                fix="leave one of them out",
            )
        named[field] = value
    return named


async def _judge_row(plan: Plan, store: Store) -> Score:
    from ragassay.dispatch import LocalBudget, output_limit_of
    from ragassay.runs import Engine, RunContext

    ((_, sample),) = plan.rows()
    if isinstance(sample, BadRow):
        raise DataError(
            sample.code,
            sample.what,
            where="ragassay.judge",
            why=sample.why,
            fix="correct the argument",
        )
    _record_run(plan, store)
    captured = _RowCapture(store)
    options = plan.options
    engine = Engine(
        plan.measurement(),
        plan.engine_settings(),
        RunContext(run_id=RUN),
        model=plan.model,
        store=captured,
        budget=LocalBudget(
            plan.model.price,
            max_calls=options.max_calls,
            max_cost=options.max_cost,
            output_limit=output_limit_of(plan.model),
        ),
    )
    await engine.run(iter([(0, sample)]))
    ((score,),) = (result.scores for result in captured.rows)
    return score.with_claims(sample.response)


def _record_run(plan: Plan, store: Store) -> None:
    created = datetime.now(UTC).isoformat(timespec="seconds")
    # The first call records the run for all later ones; for those it is there already.
    with suppress(ValueError):
        store.create_run(
            replace(manifest_of(plan, RUN, created, __version__, "direct calls"), rows=0)
        )
        store.update_run(RUN, state=RunState.FINISHED, stop_reason="", ledger=Ledger(), seconds=0.0)


class _RowCapture:
    """A store for the engine's journal: it stores the judgments, for later calls to find, and keeps
    the row's result for the caller only.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.rows: list[RowResult] = []

    def put_judgments(
        self, run_id: str, judgments: Sequence[Judgment], exchanges: Sequence[Exchange] = ()
    ) -> None:
        self._store.put_judgments(run_id, judgments)

    def get_judgments(
        self, addresses: Sequence[JudgmentAddress], *, run_id: str | None = None
    ) -> dict[JudgmentAddress, Judgment]:
        # Within its run a repeated call would find the judgments of the call before: without a
        # cache nothing is found.
        return {} if run_id is not None else self._store.get_judgments(addresses)

    def put_rows(self, run_id: str, results: Sequence[RowResult]) -> None:
        self.rows += results

    def last_judgment(self) -> int:
        return self._store.last_judgment()


def _metric_of(name: str, arguments: dict[str, Any]) -> Metric:
    """The metric `name` with those of the arguments that are its parameters, which are taken out of
    `arguments`.
    """
    kind = catalogue()[JUDGES.get(name, name)]
    # A field of the row stays one, whatever a metric calls its parameters.
    parameters = {f.name for f in fields(kind)} - set(ROW)  # type: ignore[arg-type]
    names = [name for name in arguments if name in parameters]
    metric = kind(**{name: arguments.pop(name) for name in names})
    assert isinstance(metric, Metric)
    return metric


class _Aio:
    """The metrics as coroutine functions."""

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Score]]:
        _check(name)

        async def judged(**arguments: Any) -> Score:
            return await ascore(_metric_of(name, arguments), **arguments)

        return _documented(judged, name)

    def __dir__(self) -> list[str]:
        return sorted([*catalogue(), *JUDGES])


aio = _Aio()


# One function a metric, made when it is first asked for: a metric that is added to the catalogue is
# here without a line of its own.
def __getattr__(name: str) -> Callable[..., Score]:
    _check(name)

    def judged(**arguments: Any) -> Score:
        return score(_metric_of(name, arguments), **arguments)

    return _documented(judged, name)


def __dir__() -> list[str]:
    return sorted([*catalogue(), *JUDGES, "aio", "ascore", "score"])


def _check(name: str) -> None:
    if name.startswith("_") or (name not in catalogue() and name not in JUDGES):
        names = [*catalogue(), *JUDGES]
        raise AttributeError(f"ragassay.judge has no metric {name!r}.{nearest(name, names)}")


def _documented(function: F, name: str) -> F:
    # For `help` and the notebook's tooltips.
    declared = catalogue()[JUDGES.get(name, name)].declaration
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{declared.title}\n\nvalue: {declared.formula}\nneeds: {', '.join(declared.needs)}"
    )
    return function


__all__ = ["JUDGES", "OPTIONS", "ROW", "RUN", "aio", "ascore", "score"]
