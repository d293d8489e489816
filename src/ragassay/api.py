"""The functions that a program calls: evaluate rows, resume, look at runs.

The way of a run, by module of `ragassay.runs`. `options` checks what the caller asked for; `plan`
makes rows, metrics, judge and model ready, and finds every mistake in the set-up before a call is
paid. Then the run is recorded in the store, and `session` takes it to its end: the `engine` drives
the rows, the `journal` makes each judgment durable before a score uses it, and the end (finished,
capped or interrupted) is written to the store. What comes back is a `run.Run`, which reads the
store. A resume builds the same plan from the manifest (`resume`) and goes the same way.

Synchronous at the edge, asynchronous inside: `evaluate` works in scripts, notebooks and under
running loops (there it drives its own loop in a thread of its own); `aevaluate` runs in the
caller's loop.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from ragassay.runs.calibration import with_stored_map
from ragassay.runs.commands import resume_command, store_option
from ragassay.runs.event_loops import block_on
from ragassay.runs.options import Options, check_keep, make_options
from ragassay.runs.plan import make_plan, manifest_of, report_notes
from ragassay.runs.resume import manifest_of_resume, plan_of_resume
from ragassay.runs.run import Run
from ragassay.runs.run_ids import new_run_id
from ragassay.version import __version__

if TYPE_CHECKING:
    from sqlalchemy import URL

    from ragassay.metrics import Metric
    from ragassay.report import Comparison
    from ragassay.runs import Forecast
    from ragassay.runs.application import App
    from ragassay.runs.plan import Plan
    from ragassay.runs.session import Session
    from ragassay.runs.ticker import Tell, Watch
    from ragassay.store import Store, StoredRun


def evaluate(  # plain: it is the signature, and what each argument means
    rows: object,
    metrics: str | Sequence[str | Metric] | None = None,
    *,
    preset: str | None = None,
    app: str | App | None = None,
    app_timeout: float = 120.0,
    app_concurrency: int = 8,
    metric_timeout: float = 120.0,
    judge: str = "offline",
    base_url: str | None = None,
    api_key_env: str | None = None,
    generator: str | None = None,
    store: str | os.PathLike[str] | None = None,
    name: str = "",
    mapping: Mapping[str, str | Sequence[str]] | None = None,
    slices: Sequence[str] = (),
    format: str | None = None,
    yes: bool = False,
    make_ids: bool = False,
    limit: int | None = None,
    rubrics: Sequence[str | os.PathLike[str]] = (),
    claims: Literal["sentences", "filtered", "llm"] = "sentences",
    single_calls: bool = False,
    controls: Literal["auto", "always", "off"] = "auto",
    order: Literal["shuffled", "given", "both"] = "shuffled",
    redact: bool = False,
    temperature: float | None = 0.0,
    max_tokens: int | None = None,
    reasoning_effort: str | None = None,
    extra_body: str | Mapping[str, object] | None = None,
    headers: Sequence[str] | Mapping[str, str] = (),
    proxy: str | None = None,
    ca: str | None = None,
    force: bool = False,
    sample: int = 0,
    concurrency: int = 32,
    call_timeout: float = 120.0,
    attempts: int = 5,
    max_calls: int | None = None,
    max_cost: float | None = None,
    price: str | None = None,
    cache: bool = True,
    keep_replies: bool = True,
    no_network: bool = False,
    replay: bool = False,
    batch: bool = False,
    wait: bool = True,
    engine: Literal["local", "ray"] = "local",
    workers: int | None = None,
    calibration: str | None = None,
    keep: Mapping[str, object] | None = None,
    watch: Watch | None = None,
    tell: Tell | None = None,
) -> Run:
    """Measure rows, diagnose each, and return the Run.

    rows: a path (JSONL, JSON, CSV, TSV, Parquet, Arrow), a list of dicts or Samples, a DataFrame or
    an Arrow table. metrics: names with parameters, such as "groundedness, ndcg_at_k(k=5)", and
    functions under `@ragassay.metric`; None = the preset ("quick", "retrieval", "hallucination",
    "production", "ab", "chunking"), else the default set. app: your application, a function of the
    question (or "module:function"), synchronous or asynchronous, that is run on every row and
    returns the response, (response, contexts), or a mapping or object with both; its errors and its
    latency are kept with the row. app_timeout: seconds a row; app_concurrency: rows at once.
    metric_timeout: seconds that a function of yours under `@ragassay.metric` may take for a row.
    judge: "offline" (no key, no network) or "PROVIDER:MODEL"; "openai:MODEL" is any server of
    OpenAI's protocol at base_url (default: the provider's own service); the key is read from the
    variable api_key_env names (default: the provider's, such as OPENAI_API_KEY). generator: the
    model that wrote the responses: it is said where the judge is of its family. mapping: field ->
    column where a column's name is not known (contexts: also a list of columns). slices: columns to
    slice by. format: of the file, where its ending does not say. yes: read an unknown column as the
    question, contexts or response where it clearly fits. make_ids: number the rows by line, those
    of arrays and tables by position, instead of reading ids. limit: only the first so many rows.
    rubrics: the user's rubric files. claims: how a response is cut into claims. single_calls: one
    call per claim and chunk instead of batches. controls: when
    claims with a known answer are planted among those an LLM judge is asked about, so that a reply
    that gets one wrong is void ("auto": where texts look like an attack). order: of the claims or
    chunks that one call asks about: shuffled by their content, as given, or both: asked in two
    opposite orders and averaged, for up to twice the calls. redact: secrets and personal data are
    replaced before a judge behind a server sees them. keep_replies: what the judge's model was sent
    and replied is stored, to be shown with the row. sample: judgments of another number are asked
    anew and kept apart in the cache, to see how far a judge repeats itself. max_calls / max_cost
    (US dollars): hard caps; price: "IN,OUT" in US dollars per million tokens. call_timeout: seconds
    one call may take; attempts: how often it is tried. temperature: of the judge's model (None: the
    server's own default). max_tokens: of a reply, thinking included (None: learnt from the model).
    reasoning_effort: how much it thinks. extra_body, headers: further fields and headers of each
    request; proxy, ca: the way to the server, and a file of certificates to trust. force: go on
    with a judge that got the known example wrong. cache: reuse judgments of earlier runs.
    no_network: any network judge is an error. replay: only judgments of the store are used; one
    that it lacks ends the run with E0606, nothing is sent and no key is needed. batch: through the
    provider's batch API, at half of the price and within a day; wait: False = leave when all calls
    are handed over, and collect the answers with `resume` later. engine: "ray" runs over several
    processes, or over the machines of the Ray cluster that RAY_ADDRESS names (extra 'ray');
    workers: how many (default: the CPUs there are). concurrency and the caps then hold for all of
    them together. calibration: the map of a judge "calibrated:NAME", as JSON (default: the one that
    is stored under this name). keep: what is to be kept in the run's manifest, as JSON can hold it:
    a commit, a prompt's version. Under "command" the command keeps what a resume of it checks and
    writes. store: the SQLite file (default: RAGASSAY_STORE or .ragassay/store.db). watch, tell:
    called with the progress and with how the columns are read.

    Raises SetupError, DataError, NothingToDo, EnvironmentFailure (with what to do). A row's failure
    never raises: it is a status on its scores. A run stopped by a cap or Ctrl-C is returned with
    `run.state`; `resume` continues it.
    """
    options = make_options(locals())
    application = _callable_of(app)
    return block_on(
        lambda: _evaluate(rows, options, metrics, application, store, name, keep, watch, tell)
    )


async def aevaluate(
    rows: object, metrics: str | Sequence[str | Metric] | None = None, **options: Any
) -> Run:
    """`evaluate` for callers inside an event loop; the same arguments."""
    # These say where the run is kept and who is told of it: they are no options of the run.
    store = options.pop("store", None)
    name = options.pop("name", "")
    keep = options.pop("keep", None)
    watch = options.pop("watch", None)
    tell = options.pop("tell", None)
    app = _callable_of(options.get("app"))
    return await _evaluate(
        rows,
        make_options(options),
        metrics,
        app,
        store,
        name,
        keep,
        watch,
        tell,
        in_callers_loop=True,
    )


def resume(
    run: str = "last",
    *,
    store: str | os.PathLike[str] | None = None,
    rows: object = None,
    metrics: Sequence[str | Metric] | None = None,
    app: App | None = None,
    retry_failed: bool = False,
    keep: Mapping[str, object] | None = None,
    watch: Watch | None = None,
    tell: Tell | None = None,
    **changes: Any,
) -> Run:
    """Go on with a run that was stopped or killed; what was judged is not asked again.

    rows: the rows again, for a run whose rows were in memory; metrics, app: likewise, for metrics
    or an application that cannot be imported by their names. retry_failed: also do rows again in
    which a judgment failed or could not be read, or on which the application failed. keep: what is
    to be kept with the run in place of what was, by key. changes: options that only say how hard to
    drive (concurrency, max_cost ...); caps hold for later resumes, too.
    """
    return block_on(
        lambda: aresume(
            run,
            store=store,
            rows=rows,
            metrics=metrics,
            app=app,
            retry_failed=retry_failed,
            keep=keep,
            watch=watch,
            tell=tell,
            **changes,
        )
    )


async def aresume(
    run: str = "last",
    *,
    store: str | os.PathLike[str] | None = None,
    rows: object = None,
    metrics: Sequence[str | Metric] | None = None,
    app: App | None = None,
    retry_failed: bool = False,
    keep: Mapping[str, object] | None = None,
    watch: Watch | None = None,
    tell: Tell | None = None,
    **changes: Any,
) -> Run:
    """`resume` for callers inside an event loop."""
    session = await begin_again(
        run,
        store=store,
        rows=rows,
        metrics=metrics,
        app=app,
        retry_failed=retry_failed,
        keep=keep,
        watch=watch,
        tell=tell,
        **changes,
    )
    try:
        return await session.run()
    except BaseException:
        session.store.close()
        raise


async def begin_again(
    run: str,
    *,
    store: str | os.PathLike[str] | URL | None = None,
    rows: object = None,
    metrics: Sequence[str | Metric] | None = None,
    app: App | None = None,
    retry_failed: bool = False,
    keep: Mapping[str, object] | None = None,
    watch: Watch | None = None,
    tell: Tell | None = None,
    **changes: Any,
) -> Session:
    """A run that was stopped, taken for this process, before it goes on: its `run` drives it to its
    end, its `stop` ends it cleanly; whoever gets it closes its `store`. Arguments and errors as for
    `resume`.
    """
    from ragassay import distributed
    from ragassay.runs.session import Session

    opened = open_store(store, make=False)
    try:
        run_id = opened.resolve(run)
        # Before it is read: what another process writes at its end must not be overwritten. The
        # session gives the run back at its end; the Run that is returned closes the store.
        opened.acquire(run_id)
        stored = opened.run(run_id)
        check_keep(keep)
        plan = plan_of_resume(stored.manifest, changes, rows=rows, metrics=metrics, app=app)
        manifest = manifest_of_resume(stored.manifest, plan.options, keep)
        return Session(
            plan,
            opened,
            manifest,
            distribution=distributed,
            before=stored,
            retry_failed=retry_failed,
            watch=watch,
            tell=tell,
        )
    except BaseException:
        opened.close()
        raise


def forecast(
    rows: object,
    metrics: str | Sequence[str | Metric] | None = None,
    *,
    store: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Forecast:
    """What `evaluate` with these arguments would ask and cost. Nothing is sent; arguments as for
    `evaluate`.
    """
    from ragassay.runs.forecast import forecast as count
    from ragassay.runs.forecast import replies_seen

    # `evaluate` takes a name, which only a run has.
    options.pop("name", None)
    tell = options.pop("tell", None)
    taken = with_stored_map(make_options(options), store)
    plan = make_plan(rows, taken, metrics, app=_callable_of(options.get("app")))
    report_notes(plan, tell)
    if plan.application is not None and tell is not None:
        tell(
            "the application is not run for a forecast: only what the rows hold already is counted"
        )
    # Only read: judgments that are stored are not asked for again, and what is known of the model.
    opened = open_store(store)
    try:
        return count(
            (row for _, row in plan.rows()),
            metrics=plan.metrics,
            judge=plan.judge,
            model=plan.model,
            store=opened if plan.options.cache else None,
            concurrency=plan.options.concurrency,
            metric_timeout=plan.options.metric_timeout,
            seen=replies_seen(plan.options, plan.model, opened),
        )
    finally:
        opened.close()


def open_run(run: str | Run = "last", *, store: str | os.PathLike[str] | None = None) -> Run:
    """A run in the store, by id, unique start of an id, name, or "last"; or a Run, opened once
    more. Raises SetupError E0103.
    """
    opened = open_store(_place(run, store), make=False)
    try:
        return Run(opened, opened.resolve(_name(run)))
    except BaseException:
        opened.close()
        raise


def list_runs(*, store: str | os.PathLike[str] | None = None, limit: int = 50) -> list[StoredRun]:
    """The newest runs of the store; none where nothing was ever stored at the usual place."""
    from ragassay.store import default_location, is_there

    # A first look is no mistake; but a place that was named and holds no store is one.
    if store is None and not is_there(default_location()):
        return []
    with open_store(store, make=False) as opened:
        return opened.runs(limit)


def compare(
    a: str | Run,
    b: str | Run,
    *,
    margin: float | None = None,
    store: str | os.PathLike[str] | None = None,
) -> Comparison:
    """Paired differences of two runs, row by row, with intervals and Holm-corrected p-values; rows
    fixed against rows broken by McNemar's test. margin: a difference of a metric that would not
    matter; each is tested for being smaller (two one-sided tests), since "no difference found" does
    not say so.
    """
    from ragassay.report import compare as pair
    from ragassay.runs.corrected import corrected_in_both

    # Both runs are read from one store: the one that is named, else that of `a`, else that of `b`.
    with open_store(_place(b, _place(a, store)), make=False) as opened:
        first, second = opened.resolve(_name(a)), opened.resolve(_name(b))
        corrected = corrected_in_both(opened, first, second)
        return pair(opened, first, second, margin=margin, corrected=corrected)


def _name(run: str | Run) -> str:
    """The text by which a store finds the run."""
    return run if isinstance(run, str) else run.id


def _place(
    run: str | Run, store: str | os.PathLike[str] | URL | None
) -> str | os.PathLike[str] | URL | None:
    """The store that is named, else the Run's own."""
    return run.store.address if store is None and isinstance(run, Run) else store


def _callable_of(app: str | App | None) -> App | None:
    """The application itself, None where it is only named."""
    return None if isinstance(app, str) else app


def open_store(store: str | os.PathLike[str] | URL | None, *, make: bool = True) -> Store:
    from ragassay.store import Store, default_location

    return Store.open(store if store is not None else default_location(), make=make)  # type: ignore[arg-type]


async def _evaluate(
    rows: object,
    options: Options,
    metrics: str | Sequence[str | Metric] | None,
    app: App | None,
    store: str | os.PathLike[str] | None,
    name: str,
    keep: Mapping[str, object] | None,
    watch: Watch | None,
    tell: Tell | None,
    *,
    in_callers_loop: bool = False,
) -> Run:
    options = with_stored_map(options, store)
    plan = await _checked_plan(rows, options, metrics, app, keep, tell, in_callers_loop)
    session = _recorded(plan, store, name, keep, watch, tell)
    try:
        return await session.run()
    except BaseException:
        session.store.close()
        raise


async def begin(
    rows: object,
    metrics: str | Sequence[str | Metric] | None = None,
    *,
    store: str | os.PathLike[str] | URL | None = None,
    name: str = "",
    tell: Tell | None = None,
    **options: Any,
) -> Session:
    """A run that the store has and that has asked nothing yet: its `run` drives it to its end, its
    `stop` ends it cleanly. For a program that must know the run's id beforehand; whoever gets it
    closes its `store`. tell: called with how the rows are read. Arguments and errors as for
    `evaluate`.
    """
    # A URL is an address, too: the store opens both.
    taken = with_stored_map(make_options(options), store)  # type: ignore[arg-type]
    plan = await _checked_plan(rows, taken, metrics, None, None, tell, False)
    return _recorded(plan, store, name, None, None, None)


async def _checked_plan(
    rows: object,
    options: Options,
    metrics: str | Sequence[str | Metric] | None,
    app: App | None,
    keep: Mapping[str, object] | None,
    tell: Tell | None,
    in_callers_loop: bool,
) -> Plan:
    """The plan of a run, with every mistake in the set-up found before there is a run."""
    check_keep(keep)
    plan = make_plan(rows, options, metrics, app=app, in_callers_loop=in_callers_loop)
    report_notes(plan, tell)
    await _not_stopped(tell)
    if plan.options.engine == "ray":
        from ragassay.distributed.ray_cluster import load

        load()  # raises where Ray is missing, before a run is in the store
    return plan


def _recorded(
    plan: Plan,
    store: str | os.PathLike[str] | URL | None,
    name: str,
    keep: Mapping[str, object] | None,
    watch: Watch | None,
    tell: Tell | None,
) -> Session:
    """The session of a new run, which is in the store and belongs to this process."""
    from ragassay import distributed
    from ragassay.runs.forecast import spend_before_a_run
    from ragassay.runs.session import Session

    created = datetime.now(UTC).isoformat(timespec="seconds")
    # A recording that is not there is a slip, and no empty store.
    opened = open_store(store, make=not plan.options.replay)
    try:
        if tell is not None:
            expected = spend_before_a_run(plan, opened)
            if expected:
                tell(expected)
        manifest = manifest_of(plan, new_run_id(opened.newest()), created, __version__, name, keep)
        opened.create_run(manifest)
        opened.acquire(manifest.run_id)
        return Session(plan, opened, manifest, distribution=distributed, watch=watch, tell=tell)
    except BaseException:
        opened.close()
        raise


async def _not_stopped(tell: Tell | None) -> None:
    """Raise what a Ctrl-C during the planning has left for the next pause, before there is a run
    that would have to be resumed.
    """
    try:
        await asyncio.sleep(0)
    except asyncio.CancelledError:
        if tell is not None:
            tell("Stopped before the run began: nothing was asked, and there is nothing to resume.")
        raise


__all__ = [
    "Options",
    "Run",
    "aevaluate",
    "aresume",
    "begin",
    "block_on",
    "compare",
    "evaluate",
    "forecast",
    "list_runs",
    "open_run",
    "open_store",
    "resume",
    "resume_command",
    "store_option",
]
