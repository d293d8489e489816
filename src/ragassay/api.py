"""What a program calls: evaluate rows, resume, look at runs. Rooms are joined here and nowhere
else.

Synchronous at the edge, asynchronous inside: `evaluate` works in scripts, notebooks and under
running loops (there it drives its own loop in a thread of its own); `aevaluate` runs in the
caller's loop.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from uuid import uuid4

from ragassay.core import (
    CallError,
    Judgment,
    Ledger,
    Manifest,
    MetricTrust,
    ProviderError,
    RagAssayError,
    RowResult,
    RunState,
    SetupError,
    Summary,
    Verdict,
    memory_failure,
)
from ragassay.runs.plan import (
    LASTING,
    Options,
    Plan,
    check_kept,
    make_options,
    make_plan,
    manifest_of,
    restore,
    say,
)
from ragassay.version import __version__

if TYPE_CHECKING:
    import pyarrow
    from sqlalchemy import URL

    from ragassay.distributed import RayEngine, SharedBudget
    from ragassay.metrics import Metric
    from ragassay.models.batch import BatchModel
    from ragassay.report import Comparison
    from ragassay.runs import Engine, Forecast, Progress, ReplyLog
    from ragassay.runs.application import App
    from ragassay.store import Store, StoredRun

T = TypeVar("T")
Watch = Callable[["Progress"], None]
"""Called about five times a second while a run goes on, and once at its end."""

Tell = Callable[[str], None]
"""Called with each line about how the rows are read ("read user_input as question")."""


def evaluate(
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
    store: str | os.PathLike[str] | None = None,
    name: str = "",
    mapping: Mapping[str, str] | None = None,
    slices: Sequence[str] = (),
    format: str | None = None,
    make_ids: bool = False,
    limit: int | None = None,
    rubrics: Sequence[str | os.PathLike[str]] = (),
    claims: Literal["sentences", "llm"] = "sentences",
    single_calls: bool = False,
    controls: Literal["auto", "always", "off"] = "auto",
    temperature: float | None = 0.0,
    sample: int = 0,
    concurrency: int = 32,
    call_timeout: float = 120.0,
    attempts: int = 5,
    max_calls: int | None = None,
    max_cost: float | None = None,
    price: str | None = None,
    cache: bool = True,
    no_network: bool = False,
    batch: bool = False,
    wait: bool = True,
    engine: Literal["local", "ray"] = "local",
    workers: int | None = None,
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
    judge: "offline" (no key, no network) or "openai:MODEL" behind any OpenAI-compatible server at
    base_url (default: OPENAI_BASE_URL or the hosted service); the key is read from the variable
    api_key_env names (default OPENAI_API_KEY). mapping: field -> column where a column's name is
    not known. slices: columns to slice by. rubrics: the user's rubric files. claims: how a response
    is cut into claims. single_calls: one call per claim and chunk instead of batches. controls:
    when claims with a known answer are planted among those an LLM judge is asked about, so that a
    reply that gets one wrong is void ("auto": where texts look like an attack). sample: judgments
    of another number are asked anew and kept apart in the cache, to see how far a judge repeats
    itself. max_calls / max_cost (US dollars): hard caps; price: "IN,OUT" in US dollars per million
    tokens. cache: reuse judgments of earlier runs. no_network: any network judge is an error.
    batch: through the provider's batch API, at half of the price and within a day; wait: False =
    leave when all calls are handed over, and collect the answers with `resume` later. engine: "ray"
    runs over several processes, or over the machines of the Ray cluster that RAY_ADDRESS names
    (extra 'ray'); workers: how many (default: the CPUs there are). concurrency and the caps then
    hold for all of them together. keep: what is to be kept in the run's manifest, as JSON can hold
    it: a commit, a prompt's version. Under "command" the command keeps what a resume of it checks
    and writes. store: the SQLite file (default: RAGASSAY_STORE or .ragassay/store.db). watch, tell:
    called with the progress and with how the columns are read.

    Raises SetupError, DataError, NothingToDo, EnvironmentFailure (with what to do). A row's failure
    never raises: it is a status on its scores. A run stopped by a cap or Ctrl-C is returned with
    `run.state`; `resume` continues it.
    """
    options, handed = make_options(locals()), _handed(app)
    return block_on(
        lambda: _evaluate(rows, options, metrics, handed, store, name, keep, watch, tell)
    )


async def aevaluate(
    rows: object, metrics: str | Sequence[str | Metric] | None = None, **options: Any
) -> Run:
    """`evaluate` for callers inside an event loop; the same arguments."""
    store, name, keep = (
        options.pop("store", None),
        options.pop("name", ""),
        options.pop("keep", None),
    )
    watch, tell = options.pop("watch", None), options.pop("tell", None)
    app = _handed(options.get("app"))
    return await _evaluate(
        rows, make_options(options), metrics, app, store, name, keep, watch, tell, here=True
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
    opened = open_store(store, make=False)
    try:
        run_id = opened.resolve(run)
        opened.acquire(
            run_id
        )  # before it is read: what another process writes at its end must not be overwritten
        stored = opened.run(run_id)
        options = restore(stored.manifest, changes)
        check_kept(keep)
        source = rows if rows is not None else stored.manifest.source
        if rows is None and stored.manifest.source == "memory":
            raise SetupError(
                "E0106",
                "The run's rows came from memory, so the program has to hand them over again.",
                where=f"run {run_id}",
                fix=f"in Python: ragassay.resume({run_id!r}, rows=the_same_rows)",
            )
        if rows is None and not os.path.exists(str(source)):
            raise SetupError(
                "E0106",
                "The rows are not where they were when the run began.",
                where=str(source),
                fix=(
                    "put the file back, or start a new run with `ragassay evaluate` (the cache"
                    " keeps it cheap)"
                ),
            )
        plan = make_plan(source, options, metrics, app=app, known=stored.manifest)
        if tuple(map(str, plan.metrics)) != stored.manifest.metrics:
            raise SetupError(
                "E0106",
                "The metrics are not those the run began with.",
                where=f"run {run_id}",
                why=f"it began with {', '.join(stored.manifest.metrics)}",
                fix=(
                    "hand over the same metrics in the same order, or start a new run (the cache"
                    " keeps it cheap)"
                ),
            )
        if plan.scan.source_hash != stored.manifest.source_hash:
            raise SetupError(
                "E0106",
                "The rows are not those the run began with.",
                where=str(stored.manifest.source),
                fix=(
                    "put the file back as it was, or start a new run with `ragassay evaluate` (the"
                    " cache keeps it cheap)"
                ),
            )
        changed = [
            r
            for r, f in stored.manifest.judge.fingerprints.items()
            if plan.info.fingerprints.get(r) != f
        ]
        if changed:
            raise SetupError(
                "E0106",
                "The judge is not the one the run began with.",
                where=f"rubric {', '.join(changed)}",
                why="its rubric file, model or RagAssay's version has changed since",
                fix=(
                    "start a new run with `ragassay evaluate`; unchanged judgments come from the"
                    " cache"
                ),
            )
        manifest = replace(
            stored.manifest,
            options={
                **stored.manifest.options,
                **{name: getattr(options, name) for name in LASTING},
            },
            kept={**stored.manifest.kept, **(keep or {})},
        )
        return await _drive(plan, opened, manifest, stored, retry_failed, watch, tell)
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

    options.pop("name", None)
    tell = options.pop("tell", None)
    plan = make_plan(rows, make_options(options), metrics, app=_handed(options.get("app")))
    say(plan, tell)
    if plan.application is not None and tell is not None:
        tell(
            "the application is not run for a forecast: only what the rows hold already is counted"
        )
    opened = open_store(store) if plan.options.cache else None
    try:
        return count(
            (row for _, row in plan.rows()),
            metrics=plan.metrics,
            judge=plan.judge,
            model=plan.model,
            store=opened,
            concurrency=plan.options.concurrency,
            metric_timeout=plan.options.metric_timeout,
        )
    finally:
        if opened is not None:
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


def runs(*, store: str | os.PathLike[str] | None = None, limit: int = 50) -> list[StoredRun]:
    """The newest runs of the store; none where nothing was ever stored at the usual place."""
    from ragassay.store import default_location, is_there

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

    with open_store(_place(b, _place(a, store)), make=False) as opened:
        return pair(opened, opened.resolve(_name(a)), opened.resolve(_name(b)), margin=margin)


def _name(run: str | Run) -> str:
    return run if isinstance(run, str) else run.id


def _place(
    run: str | Run, store: str | os.PathLike[str] | URL | None
) -> str | os.PathLike[str] | URL | None:
    """The store that is named, else the Run's own."""
    return run._store.address if store is None and isinstance(run, Run) else store


class Run:
    """One run in the store: what came of every row. Reads on demand; holds no rows in memory."""

    def __init__(self, store: Store, run_id: str) -> None:
        self._store, self.id = store, run_id
        self._summary: Summary | None = None
        self._trust: tuple[MetricTrust, ...] | None = None

    @property
    def store_location(self) -> str:
        """The file or database that the run is in; a database's URL without its password."""
        return self._store.location

    @property
    def state(self) -> RunState:
        """Finished, or why not."""
        return self._store.run(self.id).state

    @property
    def stop_reason(self) -> str:
        """Why it did not finish, "" where it did."""
        return self._store.run(self.id).stop_reason

    @property
    def ledger(self) -> Ledger:
        """What it cost so far, all resumes added."""
        return self._store.run(self.id).ledger

    @property
    def manifest(self) -> Manifest:
        """Everything needed to repeat the run."""
        return self._store.run(self.id).manifest

    @property
    def summary(self) -> Summary:
        """Means with intervals, coverage, pass rates, root causes, slices, worst rows, spend.
        Prints itself.
        """
        if self._summary is None:
            from ragassay.report import summarise

            self._summary = summarise(self._store, self.id, trust=self._certified())
        return self._summary

    def _certified(self) -> tuple[MetricTrust, ...]:
        """What certificates say of the judge on rows like these, a metric each."""
        if self._trust is None:
            from ragassay.runs.trust import trust_of

            self._trust = trust_of(self._store, self.id)
        return self._trust

    @property
    def scores(self) -> pyarrow.Table:
        """One Arrow row per row and metric; `.to_pandas()` works. Needs the extra 'arrow' (else
        SetupError E0105).
        """
        from ragassay.report import scores_table

        return scores_table(self._store, self.id)

    def __getitem__(self, row_id: str) -> RowResult:
        """The row with this id: sample, scores with their parts, diagnosis. Raises KeyError."""
        found = self._store.row(self.id, row_id)
        if found is None:
            raise KeyError(row_id)
        return found

    def judgments(self, keys: Iterable[str]) -> dict[str, Judgment]:
        """What the run's judge said to these requests (`key` of a score's parts); what it did not
        answer is left out.
        """
        prints = set(self.manifest.judge.fingerprints.values())
        found = self._store.get_judgments([(one, key) for key in keys for one in prints])
        return {key: judgment for (_, key), judgment in found.items()}

    def rows(self) -> Iterator[RowResult]:
        """All rows in the order of the source."""
        return self._store.rows(self.id)

    __iter__ = rows

    def failures(self) -> Iterator[RowResult]:
        """The rows that fail, worst first."""
        return self._store.rows(self.id, order="worst", verdict=Verdict.FAIL)

    def html(self, path: str | os.PathLike[str], *, max_rows: int = 1000) -> Path:
        """Write the self-contained HTML report and return its path."""
        from ragassay.report import write_html

        write_html(self._store, self.id, Path(path), max_rows=max_rows, trust=self._certified())
        return Path(path)

    def export(self, path: str | os.PathLike[str], format: str | None = None) -> Path:
        """Write the scores as jsonl, csv, parquet, html or junit (by the path's ending where format
        is None).
        """
        target = Path(path)
        from ragassay.report import export, write_html, write_junit

        kind = format or {".xml": "junit", ".htm": "html"}.get(
            target.suffix, target.suffix.lstrip(".")
        )
        if kind == "html":
            write_html(self._store, self.id, target, trust=self._certified())
        elif kind == "junit":
            write_junit(self._store, self.id, target)
        else:
            export(self._store, self.id, kind, target)
        return target

    def to_mlflow(
        self,
        *,
        tracking_uri: str | None = None,
        experiment: str = "ragassay",
        into: str | None = None,
    ) -> str:
        """Write figures, tags and rows into an MLflow run (a new one, or the one with the id
        `into`); its id.

        Figures stand under the names of Agent Evaluation where it has one, and all of them under
        "ragassay/". Needs the extra 'mlflow' (else SetupError E0105).
        """
        from ragassay.report import log_to_mlflow

        return log_to_mlflow(
            self._store,
            self.id,
            tracking_uri=tracking_uri,
            experiment=experiment,
            into=into,
            trust=self._certified(),
        )

    def close(self) -> None:
        """Let go of the store."""
        self._store.close()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        stored = self._store.run(self.id)
        return (
            f"<Run {self.id} {stored.state}: {stored.manifest.rows} rows, judge"
            f" {stored.manifest.judge.uri}>"
        )

    def __str__(self) -> str:
        from ragassay.report import summary_text

        return summary_text(self.summary)


def _handed(app: str | App | None) -> App | None:
    """The application itself, where it is not just named."""
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
    here: bool = False,
) -> Run:
    check_kept(keep)
    plan = make_plan(rows, options, metrics, app=app, here=here)
    say(plan, tell)
    if plan.options.engine == "ray":
        from ragassay.distributed.driver import load

        load()  # where it is missing no run is begun
    created = datetime.now(UTC).isoformat(timespec="seconds")
    opened = open_store(store)
    try:
        manifest = manifest_of(plan, _new_id(opened.newest()), created, __version__, name, keep)
        opened.create_run(manifest)
        opened.acquire(manifest.run_id)
        return await _drive(plan, opened, manifest, None, False, watch, tell)
    except BaseException:
        opened.close()
        raise


async def _drive(
    plan: Plan,
    store: Store,
    manifest: Manifest,
    before: StoredRun | None,
    retry_failed: bool,
    watch: Watch | None,
    tell: Tell | None = None,
) -> Run:
    """Drive a run, which the store has acquired, to its end. before: how it stood, where it is
    resumed.
    """
    from ragassay.dispatch import LocalBudget
    from ragassay.distributed import recover_parts
    from ragassay.runs import ReplyLog, Watchdog

    watch = _harmless(watch, tell)
    run_id, options = manifest.run_id, plan.options
    go_on = resume_command(run_id, store.location)
    if before is not None and manifest != before.manifest:
        store.put_manifest(manifest)
    standing = _Standing(store, run_id, 0.0 if before is None else before.seconds)
    try:
        log = ReplyLog(
            store.beside(f"ragassay-{run_id}.replies")
        )  # not longer than a store's own name may be
        ticker: asyncio.Task[None] | None = None
        needless = False

        def save_snapshot() -> None:
            standing.save(RunState.RUNNING, "", budget.snapshot)

        try:
            left = recover_parts(store, run_id, "" if before is None else before.writer)
            base = (
                Ledger()
                if before is None
                else _spent(before, store, left.ledger or _logged(log, before))
            )
            if plan.batches is not None:
                base = await _found_again(plan.batches, store, run_id, base, retry_failed, tell)
            spent: Callable[[], Ledger] = lambda: base  # noqa: E731
            standing.save(RunState.RUNNING, "", spent)
            # Only now, with the ledger in the store, may what it was read from go.
            over_ray = options.engine == "ray"  # whose workers have logs of their own
            log.begin(
                None if over_ray else base,
                owner=store.token,
                anew=over_ray and log.ledger is not None,
            )
            if retry_failed:
                log.forget()
            else:
                log.keep(left.replies)
            left.remove()
            if retry_failed:
                store.reopen_failed(run_id)
            done = store.done(run_id)
            budget: LocalBudget | SharedBudget
            engine: Engine | RayEngine
            if over_ray:
                from ragassay.distributed import RayEngine, SharedBudget

                budget = SharedBudget(
                    max_calls=options.max_calls, max_cost=options.max_cost, base=base
                )
                engine = RayEngine(
                    plan,
                    store,
                    manifest,
                    budget,
                    done,
                    log=log,
                    share_replies=not retry_failed,
                    save=save_snapshot,
                    tell=tell,
                )
            else:
                budget = LocalBudget(
                    plan.model.price,
                    max_calls=options.max_calls,
                    max_cost=options.max_cost,
                    base=base,
                )
                engine = plan.engine(
                    budget,
                    log,
                    store=store,
                    run_id=run_id,
                    total=manifest.rows,
                    save_ledger=lambda ledger: standing.save(RunState.RUNNING, "", lambda: ledger),
                    prepared={} if plan.application is None else store.answered(run_id),
                    new=_new_judges(plan, store, begun=before is not None),
                    patient=plan.batches is not None,
                    begun=before is not None,
                )
            spent = budget.ledger
            engine.progress.rows = len(done)
            todo = plan.rows(done)
            parked = plan.batches if plan.batches is not None and not options.wait else None
            ticker = asyncio.create_task(_tick(engine, watch, save_snapshot, parked))
            watchdog = (
                nullcontext()
                if tell is None or plan.batches is not None
                else Watchdog(engine.progress, tell)
            )
            with (
                _stop_on_signals(engine, go_on, tell, plan.batches is not None),
                watchdog,
                RARER.collections(),
            ):
                outcome = await engine.run(todo)
        except RagAssayError as error:
            if standing.begun:
                with suppress(RagAssayError):  # the store itself may be what failed
                    standing.save(RunState.FAILED, str(error), spent)
                    needless = log.holds_no_reply
            error.fix = (
                f"{error.fix}; then go on with: {go_on}" if error.fix else f"go on with: {go_on}"
            )
            raise
        except BaseException as error:
            failure = memory_failure(error)
            if standing.begun:
                with suppress(RagAssayError):
                    state = RunState.INTERRUPTED if failure is None else RunState.FAILED
                    standing.save(state, type(error).__name__, spent)
            if failure is None:
                raise
            failure.fix += (
                f"; then go on with: {go_on} --concurrency {max(1, options.concurrency // 4)}"
            )
            raise failure from error
        finally:
            if ticker is not None:
                ticker.cancel()
                await asyncio.gather(ticker, return_exceptions=True)
            await plan.close()
            log.close(finished=needless)
        if plan.batches is not None and isinstance(budget, LocalBudget):
            budget.add_unclaimed(plan.batches.unclaimed())
            outcome = replace(outcome, ledger=budget.ledger())
        standing.save(outcome.state, outcome.reason, lambda: outcome.ledger)
        log.close(finished=outcome.state is RunState.FINISHED or log.holds_no_reply)
        silent = engine.without_usage
        if tell is not None and silent:
            tell(
                f"{silent} replies said nothing about tokens: tokens are counted without them, and"
                " what they may have cost at most counts as uncertain"
            )
        if watch is not None:
            watch(engine.progress)
    finally:
        with suppress(RagAssayError):
            store.release(run_id)
    return Run(store, run_id)


class _Standing:
    """What the store says of how a run stands, from when it is driven: `begun` once it says so.
    Thread-safe.

    seconds: wall-clock time that it took before.
    """

    def __init__(self, store: Store, run_id: str, seconds: float) -> None:
        self._store, self._run_id = store, run_id
        self._since = time.monotonic() - seconds
        self._saving = threading.Lock()
        self._ended = self.begun = False

    def save(self, state: RunState, reason: str, ledger: Callable[[], Ledger]) -> None:
        """Write it; nothing, once the run has ended. Raises RagAssayError."""
        with (
            self._saving
        ):  # a late beat of the ticker must overwrite neither a newer ledger nor how the run ended
            if self._ended:
                return
            self._ended = state is not RunState.RUNNING
            seconds = time.monotonic() - self._since
            self._store.update_run(
                self._run_id, state=state, stop_reason=reason, ledger=ledger(), seconds=seconds
            )
            self.begun = True


def _logged(log: ReplyLog, before: StoredRun) -> Ledger | None:
    """What the run's log of calls on this machine says was spent; None where the run was worked on
    elsewhere since.
    """
    return log.ledger if log.owner == before.writer else None


def _spent(before: StoredRun, store: Store, logged: Ledger | None) -> Ledger:
    """What a run had spent when it stopped or was killed. logged: what its logs of calls say."""
    kept = before.ledger
    if before.state is not RunState.RUNNING:  # it ended by itself, and wrote down what it came to
        return kept
    if logged is not None and logged.confirmed.calls >= kept.confirmed.calls:
        return replace(
            logged,
            cached_judgments=kept.cached_judgments,
            retries=kept.retries,
            saved_cost=kept.saved_cost,
        )
    # No log outlived the kill (the machine went down, or was another one): the ledger counts calls
    # in flight as uncertain, and the judgments say which of them arrived.
    spent = store.spend(before.run_id)
    if (late := spent.calls - kept.confirmed.calls) <= 0:
        return kept
    price = (kept.uncertain_cost / kept.uncertain_calls) if kept.uncertain_calls else 0.0
    # Without a cap the ledger is written once a second: as many as were in flight then may be so
    # again.
    capped = any(before.manifest.options.get(cap) is not None for cap in ("max_calls", "max_cost"))
    left = max(0, kept.uncertain_calls - late) if capped else kept.uncertain_calls
    return replace(kept, confirmed=spent, uncertain_calls=left, uncertain_cost=price * left)


def _new_judges(plan: Plan, store: Store, *, begun: bool) -> tuple[str, ...]:
    """The fingerprints of which a run that begins need not look up anything. Begun runs have
    judgments of their own.
    """
    prints = tuple(dict.fromkeys(plan.info.fingerprints.values()))
    if plan.options.cache:
        return store.unknown_judges(prints)
    return () if begun else prints


async def _found_again(
    batches: BatchModel, store: Store, run_id: str, base: Ledger, again: bool, tell: Tell | None
) -> Ledger:
    """The ledger without what is at the provider: that is reserved anew as it is asked for, and not
    bought again.
    """
    try:
        waiting = min(await batches.begin(run_id, store, again=again), base.uncertain_calls)
    except CallError as error:
        raise ProviderError(
            "E0412",
            "The provider does not say which batches it has.",
            where=batches.uri,
            why=error.message,
            fix=f"when it does again, go on with: {resume_command(run_id, store.location)}",
        ) from None
    if waiting and tell is not None:
        tell(
            f"{waiting:,} calls are at the provider already: their answers are collected, not"
            " bought again"
        )
    left = base.uncertain_calls - waiting
    return replace(
        base,
        uncertain_calls=left,
        uncertain_cost=base.uncertain_cost * left / (left + waiting or 1),
    )


def _harmless(watch: Watch | None, tell: Tell | None) -> Watch | None:
    """The callback, which is left alone from its first error on: a display must not cost a run."""
    failed = False

    def call(progress: Progress) -> None:
        nonlocal failed
        if watch is None or failed:
            return
        try:
            watch(progress)
        except Exception as error:
            failed = True
            if tell is not None:
                tell(
                    f"the progress is not shown any more: watch raised {type(error).__name__}:"
                    f" {error}"
                )

    return None if watch is None else call


class _Rarer:
    """While runs go on, cyclic garbage is looked for less often: what a run makes goes without
    cycles, and to look through all that is in flight takes a fifth of its time. The host's own
    setting comes back with the end of the last run.
    """

    OBJECTS = 50_000

    def __init__(self) -> None:
        self._lock, self._runs = threading.Lock(), 0
        self._before = gc.get_threshold()

    @contextmanager
    def collections(self) -> Iterator[None]:
        """For the time of one run."""
        with self._lock:
            if not self._runs:
                self._before = gc.get_threshold()
                if gc.isenabled() and self._before[0]:
                    gc.set_threshold(max(self._before[0], self.OBJECTS), *self._before[1:])
            self._runs += 1
        try:
            yield
        finally:
            with self._lock:
                self._runs -= 1
                if not self._runs:
                    gc.set_threshold(*self._before)


RARER = _Rarer()


async def _tick(
    engine: Engine | RayEngine,
    watch: Watch | None,
    save: Callable[[], None],
    parked: BatchModel | None = None,
) -> None:
    """Show progress five times a second; write the ledger down every second, so that a kill loses
    little of it.

    parked: the model with which the run ends when it can only wait.
    """
    for beat in itertools.count(1):
        await asyncio.sleep(0.2)
        if parked is not None and parked.parked:
            engine.stop(reason=f"all calls are handed over ({parked.status.partition(',')[0]})")
        if watch is not None:
            watch(engine.progress)
        if beat % 5 == 0:
            with suppress(RagAssayError):
                await asyncio.to_thread(save)


@contextmanager
def _stop_on_signals(
    engine: Engine | RayEngine, go_on: str, tell: Tell | None, patient: bool
) -> Iterator[None]:
    """First Ctrl-C or SIGTERM: stop cleanly. Second: leave at once (what is judged is on disk)."""
    if threading.current_thread() is not threading.main_thread() or sys.platform == "win32":
        yield
        return
    loop = asyncio.get_running_loop()
    seen = 0

    def stop() -> None:
        nonlocal seen
        seen += 1
        if seen > 1:
            if tell is not None:
                tell(f"Ended at once. To go on: {go_on}")
            os._exit(130)
        if tell is not None:
            kept = "batches at the provider go on, and resume collects them"
            kept = kept if patient else "the calls in flight are finished and kept"
            tell(f"Stopping: {kept}. Ctrl-C again ends at once.")
        engine.stop()

    # What the host has set comes back at the end. What it has set through the loop cannot be read,
    # and is left alone.
    before = {kind: signal.getsignal(kind) for kind in (signal.SIGINT, signal.SIGTERM)}
    kinds = [
        kind
        for kind, handler in before.items()
        if handler not in (signal.SIG_IGN, None)
        and getattr(handler, "__name__", "") != "_sighandler_noop"
    ]
    for kind in kinds:
        loop.add_signal_handler(kind, stop)
    try:
        yield
    finally:
        for kind in kinds:
            loop.remove_signal_handler(kind)
            signal.signal(kind, before[kind])


def block_on(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine to its end, also where a loop is running already (a notebook): then in a
    thread of its own.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(make())
    result: list[T] = []
    failure: list[BaseException] = []
    task: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[T]]] = []

    async def main() -> T:
        inner = asyncio.ensure_future(make())
        task.append((asyncio.get_running_loop(), inner))
        return await inner

    def work() -> None:
        try:
            result.append(asyncio.run(main()))
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=work, name="ragassay-evaluate")
    thread.start()
    try:
        thread.join()
    except KeyboardInterrupt:
        if task:
            task[0][0].call_soon_threadsafe(task[0][1].cancel)
        thread.join()
        raise
    if failure:
        raise failure[0]
    return result[0]


def resume_command(run_id: str, store: str) -> str:
    """The command that goes on with a run of the store at this location."""
    return f"ragassay resume {run_id}{store_option(store)}"


def store_option(store: str) -> str:
    """ " --store LOCATION" for a store that a command would not find by itself, else ""."""
    from ragassay.store import default_location, shown_location

    with suppress(SetupError):  # what RAGASSAY_STORE says may be no store at all
        if shown_location(default_location()) == store:
            return ""
    path = Path(store)
    near = "://" not in store and path.is_relative_to(Path.cwd())
    return f" --store {shlex.quote(os.path.relpath(path) if near else store)}"


def _new_id(newest: str = "") -> str:
    """Time first, to the microsecond, so that ids sort by age; then chance.

    newest: the id of the store's newest run: the new one comes after it, also when the clock was
    put back since.
    """
    moment = datetime.now(UTC)
    with suppress(ValueError, OverflowError):
        last = datetime.strptime(newest[:15], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
        moment = max(moment, last + timedelta(microseconds=int(newest[16:21], 16) + 1))
    return f"{moment:%Y%m%d-%H%M%S}-{moment.microsecond:05x}{uuid4().hex[0]}"


__all__ = [
    "Options",
    "Run",
    "aevaluate",
    "aresume",
    "compare",
    "evaluate",
    "forecast",
    "open_run",
    "resume",
    "runs",
]
