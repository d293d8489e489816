"""What is to be done: rows, metrics, judge and model made ready, and every mistake in the set-up
found before a call.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, cast

from ragassay.core import BadRow, JudgeInfo, Manifest, Sample, SetupError, nearest, shorten
from ragassay.metrics import (
    PRESETS,
    Metric,
    catalogue,
    custom_metric,
    default_metrics,
    parse,
    parse_list,
)
from ragassay.runs.application import App, Application, name_of, open_application

if TYPE_CHECKING:
    from ragassay.datasets import Dataset, Scan
    from ragassay.dispatch import LocalBudget
    from ragassay.judges import Judge, RubricBook
    from ragassay.models import Model
    from ragassay.models.batch import BatchModel
    from ragassay.runs import Engine, ReplyLog


@dataclass(frozen=True, slots=True)
class Options:
    """Everything that shapes a run, as the manifest keeps it. Fields are `evaluate`'s arguments.

    What only says how hard to drive (concurrency, timeouts, caps) is kept too, and may be changed
    when resuming. sample: judgments of another number are asked anew and not taken from the cache,
    to see how far they repeat. engine: "local", or "ray" for `workers` processes (None: as many as
    the cluster has CPUs).
    """

    metrics: tuple[str, ...] = ()
    preset: str | None = None
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
    app: str | None = None
    app_timeout: float = 120.0
    app_concurrency: int = 8
    metric_timeout: float = 120.0
    controls: Literal["auto", "always", "off"] = "auto"
    sample: int = 0
    batch: bool = False
    wait: bool = True
    engine: Literal["local", "ray"] = "local"
    workers: int | None = None

    def check(self) -> None:
        """Raise SetupError for a value no run can have."""
        limits: tuple[tuple[str, float | None, float], ...] = (
            ("limit", self.limit, 1),
            ("concurrency", self.concurrency, 1),
            ("max_calls", self.max_calls, 0),
            ("max_cost", self.max_cost, 0),
            ("call_timeout", self.call_timeout, 0.001),
            ("attempts", self.attempts, 1),
            ("app_timeout", self.app_timeout, 0.001),
            ("app_concurrency", self.app_concurrency, 1),
            ("metric_timeout", self.metric_timeout, 0.001),
            ("sample", self.sample, 0),
            ("workers", self.workers, 1),
            ("temperature", self.temperature, 0),
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
        if not (self.wait or self.batch):
            raise SetupError(
                "E0104",
                "--no-wait is for runs whose calls go through batches.",
                where="--no-wait",
                fix="add --batch, or leave --no-wait out",
            )
        if self.batch and self.engine == "ray":
            raise SetupError(
                "E0104",
                "A run whose calls go through batches waits for the provider, and not for"
                " processes.",
                where="--engine ray",
                why="--batch",
                fix="leave one of them out",
            )
        if self.engine not in ("local", "ray"):
            raise SetupError(
                "E0101",
                "engine is either 'local' or 'ray'.",
                where="--engine",
                why=str(self.engine),
                fix=(
                    "leave it out to run in this process, or --engine ray for several processes or"
                    " machines"
                ),
            )
        if self.controls not in ("auto", "always", "off"):
            raise SetupError(
                "E0101",
                "controls is 'auto', 'always' or 'off'.",
                where="--controls",
                why=str(self.controls),
                fix=(
                    "leave it out: control claims are then planted where the texts look like an"
                    " attack"
                ),
            )


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What a run judges with: the same from the same options, in whatever process. notes: what the
    user should be told of the choice of metrics. batches: the chat model, where its calls go
    through batches.
    """

    options: Options
    metrics: tuple[Metric, ...]
    judge: Judge
    model: Model
    info: JudgeInfo
    application: Application | None = None
    notes: tuple[str, ...] = ()
    batches: BatchModel | None = None

    def engine(self, budget: LocalBudget, log: ReplyLog, **how: Any) -> Engine:
        """The engine that drives these metrics; how: its other arguments."""
        from ragassay.diagnosis import diagnose
        from ragassay.dispatch import CallPolicy
        from ragassay.runs import Engine, LoggedModel

        return Engine(
            metrics=self.metrics,
            judge=self.judge,
            model=LoggedModel(self.model, log, budget),
            budget=budget,
            diagnose=diagnose,
            policy=CallPolicy(timeout=self.options.call_timeout, attempts=self.options.attempts),
            concurrency=self.options.concurrency,
            cache=self.options.cache,
            prepare=None if self.application is None else self.application.answer,
            metric_timeout=self.options.metric_timeout,
            **how,
        )

    async def close(self) -> None:
        """Let go of connections and threads."""
        await self.model.close()
        if self.application is not None:
            self.application.close()


@dataclass(frozen=True, kw_only=True)
class Plan(Setup):
    """A run made ready: the set-up, and the rows."""

    dataset: Dataset
    scan: Scan

    def rows(self, done: Container[int] = ()) -> Iterator[tuple[int, Sample | BadRow]]:
        """(index, row) pairs, up to the limit, without those that are done."""
        if not done:
            return itertools.islice(enumerate(self.dataset), self.options.limit)
        limit = self.options.limit
        return itertools.takewhile(
            lambda one: limit is None or one[0] < limit, self.dataset.rest(done)
        )


def make_options(given: Mapping[str, Any]) -> Options:
    """The Options among `evaluate`'s arguments. Raises TypeError for an argument that is none,
    SetupError as `check`.
    """
    names = Options.__dataclass_fields__
    values = {k: v for k, v in given.items() if k in names and k != "metrics" and v is not None}
    if values.get("workers") is not None and values.get("engine", "local") == "local":
        raise SetupError(
            "E0104",
            "Workers are processes of a distributed run, and this one runs in one process.",
            where="--workers",
            why=f"{values['workers']} workers and no --engine ray",
            fix="add --engine ray, or leave --workers out",
        )
    unknown = (
        set(given) - set(names) - {"rows", "metrics", "store", "name", "keep", "watch", "tell"}
    )
    if given.get("app") is not None and not isinstance(given["app"], str):
        values["app"] = name_of(given["app"])
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


def check_kept(keep: Mapping[str, object] | None) -> None:
    """Refuse, before anything is judged, what a manifest cannot keep. Raises SetupError E0101."""
    from ragassay.store.codec import finite

    try:
        if keep is not None and not isinstance(keep, Mapping):
            raise TypeError(f"it is a {type(keep).__name__}, and no mapping")
        _check_integers(finite(keep))
    except (TypeError, ValueError) as error:
        raise SetupError(
            "E0101",
            "What is to be kept with the run is not JSON.",
            where="keep",
            why=str(error),
            fix="give a dict of texts, finite numbers, True, False, None, lists and dicts of them",
        ) from None


def _check_integers(value: object) -> None:
    """Readers of JSON do not agree on integers of more than 64 bit. Raises ValueError."""
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise ValueError("an integer has more than 64 bit")
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in inner:
        _check_integers(item)


LASTING = ("max_calls", "max_cost", "price")
"""What holds for all later resumes too where a resume sets it: a cap is one of the run, and so is
what a call costs.
"""


def restore(manifest: Manifest, changes: Mapping[str, Any]) -> Options:
    """The Options of a run with changes that only say how hard to drive. Raises SetupError E0101
    for any other change.
    """
    free = (
        "app_timeout",
        "app_concurrency",
        "metric_timeout",
        "concurrency",
        "call_timeout",
        "attempts",
        "max_calls",
        "max_cost",
        "price",
        "no_network",
        "api_key_env",
        "wait",
        "engine",
        "workers",
    )
    for name in changes:
        if name not in free:
            raise SetupError(
                "E0101",
                f"{name} cannot be changed when resuming.",
                where=name,
                fix=f"resume without it, or start a new run; free to change: {', '.join(free)}",
            )
    kept = {**manifest.options, "wait": True}
    options = replace(options_of(kept), **{k: v for k, v in changes.items() if v is not None})
    options.check()
    return options


def options_of(kept: Mapping[str, object]) -> Options:
    """The Options that `plain_options` wrote."""
    values = dict(kept)
    for name in ("metrics", "slices", "rubrics"):
        values[name] = tuple(values.get(name) or ())  # type: ignore[arg-type]
    return Options(**values)  # type: ignore[arg-type]


def plain_options(options: Options) -> dict[str, object]:
    """The Options as JSON can hold them."""
    return {f: _plain(getattr(options, f)) for f in Options.__dataclass_fields__}


def make_plan(
    rows: object,
    options: Options,
    metrics: str | Sequence[str | Metric] | None,
    *,
    app: App | None = None,
    here: bool = False,
    known: Manifest | None = None,
) -> Plan:
    """Everything that can be wrong with the set-up is found here, before a row is judged or a call
    is paid.

    app: the application itself, where it was handed over and not named. here: an asynchronous one
    runs in the caller's event loop. known: of a run that looked through these rows before; a file
    that has not changed is not validated anew.
    """
    from ragassay.datasets import Scan

    setup = make_setup(options, metrics, app=app, here=here)
    dataset = open_dataset(rows, options)
    if known is not None and dataset.unchanged(known.source_hash):
        scan = Scan(
            known.rows, 0, (), (), known.mapping, (), (), (), dataset.source, known.source_hash
        )
    else:
        scan = dataset.scan()
    return Plan(
        **{f.name: getattr(setup, f.name) for f in fields(setup)}, dataset=dataset, scan=scan
    )


def open_dataset(rows: object, options: Options) -> Dataset:
    """The rows, read as the options say. Raises as `make_plan`."""
    from ragassay.datasets import open_rows

    return open_rows(
        rows,
        mapping=options.mapping,
        slices=options.slices,
        format=options.format,
        make_ids=options.make_ids,
    )


def make_setup(
    options: Options,
    metrics: str | Sequence[str | Metric] | None,
    *,
    app: App | None = None,
    here: bool = False,
) -> Setup:
    """What `make_plan` makes ready before it looks at the rows."""
    book = rubric_book(options.rubrics)
    chosen = _metrics(metrics, options, book)
    model = _model(options)
    batches = cast("BatchModel", model) if options.batch else None
    judge, model = _judge(options, book, model)
    notes: list[str] = []
    if options.preset is not None and metrics is None:
        chosen = _answerable(chosen, options, notes)
    options = replace(options, metrics=tuple(_reference(m) for m in chosen))
    if options.max_cost is not None and model.price(1000, 1000) is None:
        raise SetupError(
            "E0406",
            "The model's price is not known, so a cost cap cannot be kept.",
            where=options.judge,
            fix=(
                "give --price IN,OUT (US dollars per million tokens), or cap calls with"
                " --max-calls; pip install 'ragassay[prices]' knows hosted models"
            ),
        )
    needed = sorted({rubric for m in chosen if m.declaration.judged for rubric in _rubrics(m)})
    info = JudgeInfo(
        uri=options.judge,
        rubrics={r: judge.rubric_version(r) for r in needed},
        fingerprints={r: judge.fingerprint(r) for r in needed},
        agreement=judge.agreement,
        base_url=str(getattr(model, "base_url", "")),
    )
    application = None
    if options.app is not None:
        application = open_application(
            app if app is not None else options.app,
            timeout=options.app_timeout,
            concurrency=options.app_concurrency,
            here=here,
        )
    return Setup(
        options=options,
        metrics=chosen,
        judge=judge,
        model=model,
        info=info,
        application=application,
        notes=tuple(notes),
        batches=batches,
    )


def metric_names(
    metrics: str | None, preset: str | None, rubrics: Sequence[str | os.PathLike[str]]
) -> list[str]:
    """The printed names of the metrics that these options of a run choose. Raises as `make_plan`."""
    return [
        str(metric) for metric in _metrics(metrics, Options(preset=preset), rubric_book(rubrics))
    ]


def rubric_book(rubrics: Sequence[str | os.PathLike[str]]) -> RubricBook:
    """The rubrics of the package and of these files. Raises as `make_plan`."""
    from ragassay.judges import RubricBook

    return RubricBook.default().with_files(rubrics, reserved=frozenset(catalogue()))


def _metrics(
    metrics: str | Sequence[str | Metric] | None, options: Options, book: RubricBook
) -> tuple[Metric, ...]:
    """The metrics asked for, else those of the preset or the default ones; and every judge of the
    user's, for handing over its file asks for it.
    """
    own = {rubric.id: custom_metric(rubric) for rubric in book.custom}
    wanted: str | Sequence[str | Metric] = metrics if metrics is not None else options.metrics
    if metrics is None and not options.metrics:
        wanted = _preset(options.preset) if options.preset is not None else default_metrics()
    named = parse_list(wanted, own) if isinstance(wanted, str) else wanted
    chosen = (*(parse(m, own) if isinstance(m, str) else m for m in named), *own.values())
    for metric in chosen:
        if not isinstance(metric, Metric):
            raise SetupError(
                "E0201",
                "That is no metric.",
                where="metrics",
                why=f"it is a {type(metric).__name__}",
                fix="give names, such as 'groundedness', or functions under @ragassay.metric",
            )
    if options.claims == "llm":
        chosen = tuple(_with_claims(m) for m in chosen)
    chosen = tuple({str(m): m for m in chosen}.values())
    if not chosen:
        raise SetupError(
            "E0201",
            "No metric is asked for.",
            where="--metrics",
            fix="name at least one; see `ragassay metrics`",
        )
    return chosen


def _preset(name: str) -> tuple[str, ...]:
    if name not in PRESETS:
        raise SetupError(
            "E0101",
            f"No preset is called {shorten(name, 40)!r}.{nearest(name, PRESETS)}",
            where="--preset",
            fix="choose from: "
            + "; ".join(f"{key} ({preset.title})" for key, preset in PRESETS.items()),
        )
    return PRESETS[name].metrics


def _answerable(
    chosen: tuple[Metric, ...], options: Options, notes: list[str]
) -> tuple[Metric, ...]:
    """Of a preset, what the judge can answer; the rest is left out, and said."""
    from ragassay.judges import answers_offline

    if options.judge != "offline":
        return chosen
    able = [
        m
        for m in chosen
        if not m.declaration.judged or all(answers_offline(r) for r in _rubrics(m))
    ]
    if left := [str(m) for m in chosen if m not in able]:
        notes.append(
            f"left out of the preset, for the offline judge cannot answer them: {', '.join(left)}"
        )
    return tuple(able)


def _model(options: Options) -> Model:
    """The model behind the judge's URI; of a composed judge all of its members' behind one door."""
    from ragassay.judges import composition
    from ragassay.models import JoinedModel, connect
    from ragassay.models.offline import OfflineModel

    composed = composition(options.judge)
    if options.batch and composed is not None:
        raise SetupError(
            "E0104",
            "A judge made of others cannot be asked through batches.",
            where="--batch",
            why=options.judge,
            fix="name one judge, such as openai:MODEL, or leave --batch out",
        )
    opened = {
        uri: connect(
            uri,
            base_url=options.base_url,
            api_key_env=options.api_key_env,
            price=options.price,
            concurrency=options.concurrency,
            no_network=options.no_network,
            batch=options.batch,
        )
        for uri in ((options.judge,) if composed is None else composed.members)
    }
    offline = next((model for model in opened.values() if isinstance(model, OfflineModel)), None)
    main, *others = [uri for uri, model in opened.items() if model is not offline] or opened
    if composed is None:
        return opened[main]
    return JoinedModel(
        opened[main], offline or OfflineModel(), {uri: opened[uri] for uri in others}
    )


def _judge(options: Options, book: RubricBook, model: Model) -> tuple[Judge, Model]:
    """The judge over the model; similarity of texts is measured by the encoder of the package,
    whoever judges the rest.
    """
    from ragassay.judges import (
        CascadeJudge,
        CheckedJudge,
        LLMJudge,
        OfflineJudge,
        PanelJudge,
        RoutedJudge,
        SimilarityJudge,
        composition,
    )
    from ragassay.models import JoinedModel
    from ragassay.models.offline import OfflineModel

    offline = model if isinstance(model, OfflineModel) else OfflineModel()
    composed = composition(options.judge)

    def single(uri: str) -> Judge:
        if uri.lower() == "offline":
            tasks: tuple[Literal["support", "relevance", "answer"], ...] = (
                "support",
                "relevance",
                "answer",
            )
            return OfflineJudge(
                offline.version,
                {task: offline.agreement(task) for task in tasks},
                book,
                offline.cuts,
            )
        parameters = {
            "base_url": str(getattr(model, "base_url", ""))
        }  # one name, two servers: two judges
        return LLMJudge(
            uri,
            book,
            single_calls=options.single_calls,
            temperature=options.temperature,
            parameters=parameters | ({"sample": options.sample} if options.sample else {}),
            controls=options.controls,
        )

    judge: Judge
    if composed is None:
        judge = single("offline" if offline is model else options.judge)
        if offline is not model:
            model = JoinedModel(model, offline)
    elif composed.threshold is None:
        judge = PanelJudge(options.judge, tuple(single(uri) for uri in composed.members), book)
    else:
        kind = CascadeJudge if composed.rule == "cascade" else CheckedJudge
        first, second = map(single, composed.members)
        judge = kind(options.judge, first, second, composed.threshold, book)
    return RoutedJudge(judge, {"similarity": SimilarityJudge(offline.version)}), model


def manifest_of(
    plan: Plan,
    run_id: str,
    created: str,
    version: str,
    name: str,
    kept: Mapping[str, object] | None = None,
) -> Manifest:
    """Everything needed to repeat the run."""
    declared = {str(m): m.declaration for m in plan.metrics}
    return Manifest(
        run_id=run_id,
        created=created,
        version=version,
        source=plan.scan.source,
        source_hash=plan.scan.source_hash,
        rows=(
            plan.scan.rows
            if plan.options.limit is None
            else min(plan.options.limit, plan.scan.rows)
        ),
        mapping=plan.scan.mapping,
        metrics=tuple(declared),
        judge=plan.info,
        name=name,
        kept=dict(kept or {}),
        options=plain_options(plan.options),
        units={name: d.unit for name, d in declared.items() if d.unit},
        lower_is_better=tuple(name for name, d in declared.items() if d.higher_is_better is False),
        neutral=tuple(name for name, d in declared.items() if d.higher_is_better is None),
    )


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value


def say(plan: Plan, tell: Callable[[str], None] | None) -> None:
    """Tell how the rows are read, and the plan's notes."""
    if tell is not None:
        for line in (*plan.scan.lines, *plan.scan.notes, *plan.notes):
            tell(line)


def _reference(metric: Metric) -> str:
    """What names the metric when the run is resumed: its printed name, or "module:name" of the
    user's own code.
    """
    return str(getattr(metric, "reference", "") or metric)


def _rubrics(metric: Metric) -> tuple[str, ...]:
    asked = getattr(metric, "rubrics", None)
    return tuple(asked) if asked is not None else metric.declaration.rubrics


def _with_claims(metric: Metric) -> Metric:
    if "claims" in getattr(metric, "__dataclass_fields__", {}):
        changed: Metric = replace(metric, claims="llm")  # type: ignore[type-var]
        return changed
    return metric
