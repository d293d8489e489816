"""What a program calls: evaluate rows, resume, look at runs. Rooms are joined here and nowhere else.

Synchronous at the edge, asynchronous inside: `evaluate` works in scripts, notebooks and under running loops (there it
drives its own loop in a thread of its own); `aevaluate` runs in the caller's loop.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from uuid import uuid4

from ragassay import __version__
from ragassay.core import (
    BadRow,
    JudgeInfo,
    Ledger,
    Manifest,
    RagAssayError,
    RowResult,
    RunState,
    Sample,
    SetupError,
    Summary,
    Verdict,
)

if TYPE_CHECKING:
    import pyarrow

    from ragassay.datasets import Dataset, Scan
    from ragassay.judges import Judge
    from ragassay.metrics import Metric
    from ragassay.models import Model
    from ragassay.report import Comparison
    from ragassay.runner import Engine, Forecast, Progress
    from ragassay.store import Store, StoredRun

T = TypeVar("T")
Watch = Callable[["Progress"], None]
"""Called about five times a second while a run goes on, and once at its end."""
Tell = Callable[[str], None]
"""Called with each line about how the rows are read ("read user_input as question")."""


@dataclass(frozen=True, slots=True)
class Options:
    """Everything that shapes a run, as the manifest keeps it. Fields are `evaluate`'s arguments.

    What only says how hard to drive (concurrency, timeouts, caps) is kept too, and may be changed when resuming.
    """

    metrics: tuple[str, ...] = ()
    judge: str = "offline"
    base_url: str | None = None
    api_key_env: str | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)
    slices: tuple[str, ...] = ()
    format: str | None = None
    make_ids: bool = False
    limit: int | None = None
    rubrics: tuple[str, ...] = ()
    claims: str = "sentences"
    single_calls: bool = False
    temperature: float | None = 0.0
    concurrency: int = 32
    call_timeout: float = 120.0
    attempts: int = 5
    max_calls: int | None = None
    max_cost: float | None = None
    price: str | None = None
    cache: bool = True
    no_network: bool = False

    def check(self) -> None:
        """Raise SetupError for a value no run can have."""
        limits: tuple[tuple[str, float | None, float], ...] = (
            ("limit", self.limit, 1),
            ("concurrency", self.concurrency, 1),
            ("max_calls", self.max_calls, 0),
            ("max_cost", self.max_cost, 0),
            ("call_timeout", self.call_timeout, 0.001),
            ("attempts", self.attempts, 1),
        )
        for name, value, low in limits:
            if value is not None and not low <= value < float("inf"):
                raise SetupError(
                    "E0101",
                    f"{name} must be a number from {low:g} up.",
                    where=f"--{name.replace('_', '-')}",
                    why=str(value),
                    fix=f"give {name} a value of {low:g} or more, or leave it out",
                )
        if self.claims not in ("sentences", "llm"):
            raise SetupError(
                "E0101",
                "claims is either 'sentences' or 'llm'.",
                where="--claims",
                why=str(self.claims),
                fix="use --claims sentences (no extra call) or --claims llm (one extra call a row)",
            )


def evaluate(
    rows: object,
    metrics: str | Sequence[str | Metric] | None = None,
    *,
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
    temperature: float | None = 0.0,
    concurrency: int = 32,
    call_timeout: float = 120.0,
    attempts: int = 5,
    max_calls: int | None = None,
    max_cost: float | None = None,
    price: str | None = None,
    cache: bool = True,
    no_network: bool = False,
    watch: Watch | None = None,
    tell: Tell | None = None,
) -> Run:
    """Measure rows, diagnose each, and return the Run.

    rows: a path (JSONL, JSON, CSV, TSV, Parquet, Arrow), a list of dicts or Samples, a DataFrame or an Arrow table.
    metrics: names with parameters, such as "groundedness, ndcg_at_k(k=5)"; None = the default set.
    judge: "offline" (no key, no network) or "openai:MODEL" behind any OpenAI-compatible server at base_url
    (default: OPENAI_BASE_URL or the hosted service); the key is read from the variable api_key_env names
    (default OPENAI_API_KEY). mapping: field -> column where a column's name is not known. slices: columns to slice by.
    rubrics: the user's rubric files. claims: how a response is cut into claims. single_calls: one call per claim
    and chunk instead of batches. max_calls / max_cost (US dollars): hard caps; price: "IN,OUT" in US dollars per
    million tokens. cache: reuse judgments of earlier runs. no_network: any network judge is an error.
    store: the SQLite file (default: RAGASSAY_STORE or .ragassay/store.db). watch, tell: called with the progress and
    with how the columns are read.

    Raises SetupError, DataError, NothingToDo, EnvironmentFailure (with what to do). A row's failure never raises: it is
    a status on its scores. A run stopped by a cap or Ctrl-C is returned with `run.state`; `resume` continues it.
    """
    options = _options(locals())
    return _block_on(lambda: _evaluate(rows, options, metrics, store, name, watch, tell))


async def aevaluate(rows: object, metrics: str | Sequence[str | Metric] | None = None, **options: Any) -> Run:
    """`evaluate` for callers inside an event loop; the same arguments."""
    store, name = options.pop("store", None), options.pop("name", "")
    watch, tell = options.pop("watch", None), options.pop("tell", None)
    return await _evaluate(rows, _options(options), metrics, store, name, watch, tell)


def resume(
    run: str = "last",
    *,
    store: str | os.PathLike[str] | None = None,
    rows: object = None,
    retry_failed: bool = False,
    watch: Watch | None = None,
    tell: Tell | None = None,
    **changes: Any,
) -> Run:
    """Go on with a run that was stopped or killed; what was judged is not asked again.

    rows: the rows again, for a run whose rows were in memory. retry_failed: also do rows again in which a judgment
    failed or could not be read. changes: options that only say how hard to drive (concurrency, max_cost ...).
    """
    return _block_on(
        lambda: aresume(run, store=store, rows=rows, retry_failed=retry_failed, watch=watch, tell=tell, **changes)
    )


async def aresume(
    run: str = "last",
    *,
    store: str | os.PathLike[str] | None = None,
    rows: object = None,
    retry_failed: bool = False,
    watch: Watch | None = None,
    tell: Tell | None = None,
    **changes: Any,
) -> Run:
    """`resume` for callers inside an event loop."""
    opened = _open_store(store)
    try:
        run_id = opened.resolve(run)
        stored = opened.run(run_id)
        options = _restore(stored.manifest, changes)
        source = rows if rows is not None else stored.manifest.source
        if rows is None and stored.manifest.source == "memory":
            raise SetupError(
                "E0106",
                "The run's rows came from memory, so the program has to hand them over again.",
                where=f"run {run_id}",
                fix=f"in Python: ragassay.resume({run_id!r}, rows=the_same_rows)",
            )
        plan = _plan(source, options, None)
        if plan.scan.source_hash != stored.manifest.source_hash:
            raise SetupError(
                "E0106",
                "The rows are not those the run began with.",
                where=str(stored.manifest.source),
                fix="put the file back as it was, or start a new run with `ragassay evaluate` (the cache keeps it cheap)",
            )
        changed = [r for r, f in stored.manifest.judge.fingerprints.items() if plan.info.fingerprints.get(r) != f]
        if changed:
            raise SetupError(
                "E0106",
                "The judge is not the one the run began with.",
                where=f"rubric {', '.join(changed)}",
                why="its rubric file, model or RagAssay's version has changed since",
                fix="start a new run with `ragassay evaluate`; unchanged judgments come from the cache",
            )
        # The ledger on disk counts calls in flight as uncertain; after a kill the judgments say which of them arrived.
        spent = opened.spend(run_id)
        base = stored.ledger
        if (late := spent.calls - base.confirmed.calls) > 0:
            price = (base.uncertain_cost / base.uncertain_calls) if base.uncertain_calls else 0.0
            left = max(0, base.uncertain_calls - late)
            base = replace(base, confirmed=spent, uncertain_calls=left, uncertain_cost=price * left)
        return await _drive(plan, opened, stored.manifest, base, stored.seconds, retry_failed, watch, tell)
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
    """What `evaluate` with these arguments would ask and cost. Nothing is sent; arguments as for `evaluate`."""
    from ragassay.runner import forecast as count

    options.pop("name", None)
    tell = options.pop("tell", None)
    plan = _plan(rows, _options(options), metrics)
    _say(plan, tell)
    opened = _open_store(store) if plan.options.cache else None
    try:
        return count(
            (row for _, row in plan.rows()),
            metrics=plan.metrics,
            judge=plan.judge,
            model=plan.model,
            store=opened,
            concurrency=plan.options.concurrency,
        )
    finally:
        if opened is not None:
            opened.close()


def open_run(run: str = "last", *, store: str | os.PathLike[str] | None = None) -> Run:
    """A run in the store, by id, unique start of an id, name, or "last". Raises SetupError E0103."""
    opened = _open_store(store)
    try:
        return Run(opened, opened.resolve(run))
    except BaseException:
        opened.close()
        raise


def runs(*, store: str | os.PathLike[str] | None = None, limit: int = 50) -> list[StoredRun]:
    """The newest runs of the store."""
    with _open_store(store) as opened:
        return opened.runs(limit)


def compare(a: str, b: str, *, store: str | os.PathLike[str] | None = None) -> Comparison:
    """Paired differences of two runs, row by row, with intervals and Holm-corrected p-values."""
    from ragassay.report import compare as pair

    with _open_store(store) as opened:
        return pair(opened, opened.resolve(a), opened.resolve(b))


class Run:
    """One run in the store: what came of every row. Reads on demand; holds no rows in memory."""

    def __init__(self, store: Store, run_id: str) -> None:
        self._store, self.id = store, run_id
        self._summary: Summary | None = None

    @property
    def store_path(self) -> Path:
        """The file the run is in."""
        return self._store.path

    @property
    def state(self) -> RunState:
        """Finished, or why not."""
        return self._store.run(self.id).state

    @property
    def manifest(self) -> Manifest:
        """Everything needed to repeat the run."""
        return self._store.run(self.id).manifest

    @property
    def summary(self) -> Summary:
        """Means with intervals, coverage, pass rates, root causes, slices, worst rows, spend. Prints itself."""
        if self._summary is None:
            from ragassay.report import summarise

            self._summary = summarise(self._store, self.id)
        return self._summary

    @property
    def scores(self) -> pyarrow.Table:
        """One Arrow row per row and metric; `.to_pandas()` works. Needs the extra 'arrow' (else SetupError E0105)."""
        from ragassay.report import scores_table

        return scores_table(self._store, self.id)

    def __getitem__(self, row_id: str) -> RowResult:
        """The row with this id: sample, scores with their parts, diagnosis. Raises KeyError."""
        found = self._store.row(self.id, row_id)
        if found is None:
            raise KeyError(row_id)
        return found

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

        write_html(self._store, self.id, Path(path), max_rows=max_rows)
        return Path(path)

    def export(self, path: str | os.PathLike[str], format: str | None = None) -> Path:
        """Write the scores as jsonl, csv, parquet, html or junit (by the path's ending where format is None)."""
        target = Path(path)
        from ragassay.report import export, write_html, write_junit

        kind = format or {".xml": "junit", ".htm": "html"}.get(target.suffix, target.suffix.lstrip("."))
        if kind == "html":
            write_html(self._store, self.id, target)
        elif kind == "junit":
            write_junit(self._store, self.id, target)
        else:
            export(self._store, self.id, kind, target)
        return target

    def close(self) -> None:
        """Let go of the store."""
        self._store.close()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        stored = self._store.run(self.id)
        return f"<Run {self.id} {stored.state}: {stored.manifest.rows} rows, judge {stored.manifest.judge.uri}>"

    def __str__(self) -> str:
        from ragassay.report import summary_text

        return summary_text(self.summary)


# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Plan:
    options: Options
    dataset: Dataset
    scan: Scan
    metrics: tuple[Metric, ...]
    judge: Judge
    model: Model
    info: JudgeInfo

    def rows(self) -> Iterator[tuple[int, Sample | BadRow]]:
        """(index, row) pairs, up to the limit."""
        return itertools.islice(enumerate(self.dataset), self.options.limit)


def _options(given: Mapping[str, Any]) -> Options:
    names = Options.__dataclass_fields__
    values = {k: v for k, v in given.items() if k in names and k != "metrics" and v is not None}
    unknown = set(given) - set(names) - {"rows", "metrics", "store", "name", "watch", "tell"}
    if unknown:
        raise TypeError(f"evaluate() got unexpected arguments {sorted(unknown)}")
    values["mapping"] = dict(given.get("mapping") or {})
    values["slices"] = tuple(given.get("slices") or ())
    values["rubrics"] = tuple(os.path.abspath(p) for p in given.get("rubrics") or ())
    if "temperature" in given:  # None means: leave the server's default
        values["temperature"] = given["temperature"]
    options = Options(**values)
    options.check()
    return options


def _restore(manifest: Manifest, changes: Mapping[str, Any]) -> Options:
    free = ("concurrency", "call_timeout", "attempts", "max_calls", "max_cost", "price", "no_network", "api_key_env")
    for name in changes:
        if name not in free:
            raise SetupError(
                "E0101",
                f"{name} cannot be changed when resuming.",
                where=name,
                fix=f"resume without it, or start a new run; free to change: {', '.join(free)}",
            )
    kept = dict(manifest.options)
    for name in ("metrics", "slices", "rubrics"):
        kept[name] = tuple(kept.get(name) or ())  # type: ignore[arg-type]
    options = replace(Options(**kept), **{k: v for k, v in changes.items() if v is not None})  # type: ignore[arg-type]
    options.check()
    return options


def _plan(rows: object, options: Options, metrics: str | Sequence[str | Metric] | None) -> _Plan:
    """Everything that can be wrong with the set-up is found here, before a row is judged or a call is paid."""
    from ragassay.datasets import open_rows
    from ragassay.judges import LLMJudge, OfflineJudge, RubricBook
    from ragassay.metrics import DEFAULT_METRICS, parse, parse_list
    from ragassay.models import connect

    wanted = metrics if metrics is not None else (options.metrics or DEFAULT_METRICS)
    chosen = (
        tuple(parse_list(wanted))
        if isinstance(wanted, str)
        else tuple(parse(m) if isinstance(m, str) else m for m in wanted)
    )
    if options.claims == "llm":
        chosen = tuple(_with_claims(m) for m in chosen)
    chosen = tuple({str(m): m for m in chosen}.values())
    if not chosen:
        raise SetupError(
            "E0201", "No metric is asked for.", where="--metrics", fix="name at least one; see `ragassay metrics`"
        )
    options = replace(options, metrics=tuple(str(m) for m in chosen))

    model = connect(
        options.judge,
        base_url=options.base_url,
        api_key_env=options.api_key_env,
        price=options.price,
        concurrency=options.concurrency,
        no_network=options.no_network,
    )
    book = RubricBook.default().with_files(options.rubrics)
    judge: Judge
    if options.judge == "offline":
        from ragassay.models.offline import OfflineModel

        assert isinstance(model, OfflineModel)
        tasks: tuple[Literal["support", "relevance", "answer"], ...] = ("support", "relevance", "answer")
        judge = OfflineJudge(model.version, {task: model.agreement(task) for task in tasks}, book, model.cuts)
    else:
        judge = LLMJudge(
            options.judge,
            book,
            single_calls=options.single_calls,
            temperature=options.temperature,
            parameters={"base_url": str(getattr(model, "base_url", ""))},  # one name, two servers: two judges
        )
    if options.max_cost is not None and model.price(1000, 1000) is None:
        raise SetupError(
            "E0406",
            "The model's price is not known, so a cost cap cannot be kept.",
            where=options.judge,
            fix="give --price IN,OUT (US dollars per million tokens), or cap calls with --max-calls; "
            "pip install 'ragassay[prices]' knows hosted models",
        )
    needed = sorted({rubric for m in chosen if m.declaration.judged for rubric in _rubrics(m)})
    info = JudgeInfo(
        uri=options.judge,
        rubrics={r: judge.rubric_version(r) for r in needed},
        fingerprints={r: judge.fingerprint(r) for r in needed},
        agreement=judge.agreement,
        base_url=str(getattr(model, "base_url", "")),
    )
    dataset = open_rows(
        rows, mapping=options.mapping, slices=options.slices, format=options.format, make_ids=options.make_ids
    )
    return _Plan(options, dataset, dataset.scan(), chosen, judge, model, info)


def _say(plan: _Plan, tell: Tell | None) -> None:
    if tell is not None:
        for line in (*plan.scan.lines, *plan.scan.notes):
            tell(line)


def _rubrics(metric: Metric) -> tuple[str, ...]:
    asked = getattr(metric, "rubrics", None)
    return tuple(asked) if asked is not None else metric.declaration.rubrics


def _with_claims(metric: Metric) -> Metric:
    if "claims" in getattr(metric, "__dataclass_fields__", {}):
        changed: Metric = replace(metric, claims="llm")  # type: ignore[type-var]
        return changed
    return metric


def _open_store(store: str | os.PathLike[str] | None) -> Store:
    from ragassay.store import Store, default_location

    return Store.open(store if store is not None else default_location())  # type: ignore[arg-type]


async def _evaluate(
    rows: object,
    options: Options,
    metrics: str | Sequence[str | Metric] | None,
    store: str | os.PathLike[str] | None,
    name: str,
    watch: Watch | None,
    tell: Tell | None,
) -> Run:
    plan = _plan(rows, options, metrics)
    _say(plan, tell)
    total = plan.scan.rows if options.limit is None else min(options.limit, plan.scan.rows)
    manifest = Manifest(
        run_id=_new_id(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        version=__version__,
        source=plan.scan.source,
        source_hash=plan.scan.source_hash,
        rows=total,
        mapping=plan.scan.mapping,
        metrics=plan.options.metrics,
        judge=plan.info,
        name=name,
        options={f: _plain(getattr(plan.options, f)) for f in Options.__dataclass_fields__},
    )
    opened = _open_store(store)
    try:
        opened.create_run(manifest)
        return await _drive(plan, opened, manifest, Ledger(), 0.0, False, watch, tell)
    except BaseException:
        opened.close()
        raise


async def _drive(
    plan: _Plan,
    store: Store,
    manifest: Manifest,
    base: Ledger,
    seconds: float,
    retry_failed: bool,
    watch: Watch | None,
    tell: Tell | None = None,
) -> Run:
    from ragassay.diagnosis import diagnose
    from ragassay.runner import Budget, CallPolicy, Engine

    run_id, options = manifest.run_id, plan.options
    go_on = resume_command(run_id, store.path)
    store.acquire(run_id)
    started = time.monotonic()
    try:
        if retry_failed:
            store.reopen_failed(run_id)
        done = store.done(run_id)
        budget = Budget(plan.model.price, max_calls=options.max_calls, max_cost=options.max_cost, base=base)
        saving = threading.Lock()
        ended = False

        def save(state: RunState, reason: str, ledger: Ledger) -> None:
            nonlocal ended
            with saving:  # a beat of the ticker that is late must not overwrite how the run ended
                if ended:
                    return
                ended = state is not RunState.RUNNING
                store.update_run(
                    run_id, state=state, stop_reason=reason, ledger=ledger, seconds=seconds + time.monotonic() - started
                )

        engine = Engine(
            metrics=plan.metrics,
            judge=plan.judge,
            model=plan.model,
            store=store,
            run_id=run_id,
            diagnose=diagnose,
            budget=budget,
            policy=CallPolicy(timeout=options.call_timeout, attempts=options.attempts),
            concurrency=options.concurrency,
            cache=options.cache,
            total=manifest.rows,
            save_ledger=lambda ledger: save(RunState.RUNNING, "", ledger),
        )
        engine.progress.rows = len(done)

        save(RunState.RUNNING, "", base)
        todo = ((index, row) for index, row in plan.rows() if index not in done)
        ticker = asyncio.create_task(_tick(engine, watch, lambda: save(RunState.RUNNING, "", budget.snapshot())))
        try:
            with _stop_on_signals(engine, go_on, tell):
                outcome = await engine.run(todo)
        except RagAssayError as error:
            with suppress(RagAssayError):  # the store itself may be what failed
                save(RunState.FAILED, str(error), budget.ledger())
            error.fix = f"{error.fix}; then go on with: {go_on}" if error.fix else f"go on with: {go_on}"
            raise
        except BaseException as error:
            with suppress(RagAssayError):
                save(RunState.INTERRUPTED, type(error).__name__, budget.ledger())
            raise
        finally:
            ticker.cancel()
            await asyncio.gather(ticker, return_exceptions=True)
            await plan.model.close()
        save(outcome.state, outcome.reason, outcome.ledger)
        silent = getattr(plan.model, "replies_without_usage", 0)
        if tell is not None and silent:
            tell(
                f"{silent} replies said nothing about tokens: tokens are counted without them, and the cost is not known"
            )
        if watch is not None:
            watch(engine.progress)
    finally:
        with suppress(RagAssayError):
            store.release(run_id)
    return Run(store, run_id)


async def _tick(engine: Engine, watch: Watch | None, save: Callable[[], None]) -> None:
    """Show progress five times a second; write the ledger down every second, so that a kill loses little of it."""
    for beat in itertools.count(1):
        await asyncio.sleep(0.2)
        if watch is not None:
            watch(engine.progress)
        if beat % 5 == 0:
            with suppress(RagAssayError):
                await asyncio.to_thread(save)


@contextmanager
def _stop_on_signals(engine: Engine, go_on: str, tell: Tell | None) -> Iterator[None]:
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
            tell("Stopping: the calls in flight are finished and kept. Ctrl-C again ends at once.")
        engine.stop()

    kinds = [kind for kind in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(kind) is not signal.SIG_IGN]
    for kind in kinds:
        loop.add_signal_handler(kind, stop)
    try:
        yield
    finally:
        for kind in kinds:
            loop.remove_signal_handler(kind)


def _block_on(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine to its end, also where a loop is running already (a notebook): then in a thread of its own."""
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


def resume_command(run_id: str, store: Path) -> str:
    """The command that goes on with a run of this store."""
    return f"ragassay resume {run_id}{store_option(store)}"


def store_option(store: Path) -> str:
    """ " --store PATH" for a store that a command would not find by itself, else ""."""
    from ragassay.store import default_location

    here = Path(default_location()).resolve() == store
    return (
        ""
        if here
        else f" --store {shlex.quote(os.path.relpath(store) if store.is_relative_to(Path.cwd()) else str(store))}"
    )


def _new_id() -> str:
    """Time first, so that ids sort by age; then chance."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{uuid4().hex[:6]}"


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value


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
