"""What is to be done: rows, metrics, judge and model made ready, and every mistake in the set-up
found before a call.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Literal, cast

from ragassay.core import BadRow, JudgeInfo, Ledger, Manifest, Sample, SetupError, nearest, shorten
from ragassay.metrics import (
    PRESETS,
    Metric,
    catalogue,
    custom_metric,
    default_metrics,
    parse,
    parse_list,
    roles_of,
)
from ragassay.runs.application import App, Application, open_application
from ragassay.runs.options import Options

if TYPE_CHECKING:
    from ragassay.datasets import Dataset, Scan
    from ragassay.dispatch import LocalBudget
    from ragassay.judges import Judge, RubricRegistry
    from ragassay.models import Model
    from ragassay.models.batch import BatchModel
    from ragassay.runs import Engine, EngineSettings, Measurement, ReplyLog, RunContext
    from ragassay.runs.journal import JournalStore


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

    def engine(
        self,
        run: RunContext,
        *,
        store: JournalStore,
        budget: LocalBudget,
        log: ReplyLog,
        save_ledger: Callable[[Ledger], None] | None = None,
    ) -> Engine:
        """The engine that drives these metrics. Its model logs its replies."""
        from ragassay.runs import Engine, LoggedModel

        return Engine(
            self.measurement(),
            self.engine_settings(),
            run,
            model=LoggedModel(self.model, log, budget),
            store=store,
            budget=budget,
            save_ledger=save_ledger,
        )

    def measurement(self) -> Measurement:
        """What an engine does with a row."""
        from ragassay.diagnosis import diagnose
        from ragassay.runs import Measurement

        return Measurement(
            metrics=self.metrics,
            judge=self.judge,
            diagnose=partial(diagnose, roles=roles_of(self.metrics)),
            prepare=None if self.application is None else self.application.answer,
            metric_timeout=self.options.metric_timeout,
        )

    def engine_settings(self) -> EngineSettings:
        """How an engine drives the rows."""
        from ragassay.dispatch import CallPolicy
        from ragassay.runs import EngineSettings

        options = self.options
        return EngineSettings(
            policy=CallPolicy(timeout=options.call_timeout, attempts=options.attempts),
            concurrency=options.concurrency,
            cache=options.cache,
            batched=self.batches is not None,
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
    registry = rubric_registry(options.rubrics)
    chosen = _metrics(metrics, options, registry)
    model = _model(options)
    batches = cast("BatchModel", model) if options.batch else None
    judge, model = _judge(options, registry, model)
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
    needed = sorted(set(itertools.chain.from_iterable(map(_judged_rubrics, chosen))))
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
        str(metric)
        for metric in _metrics(metrics, Options(preset=preset), rubric_registry(rubrics))
    ]


def rubric_registry(rubrics: Sequence[str | os.PathLike[str]]) -> RubricRegistry:
    """The rubrics of the package and of these files. Raises as `make_plan`."""
    from ragassay.judges import RubricRegistry

    return RubricRegistry.default().with_files(rubrics, reserved=frozenset(catalogue()))


def _metrics(
    metrics: str | Sequence[str | Metric] | None, options: Options, registry: RubricRegistry
) -> tuple[Metric, ...]:
    """The metrics asked for, else those of the preset or the default ones; and every judge of the
    user's, for handing over its file asks for it.
    """
    own = {rubric.id: custom_metric(rubric) for rubric in registry.custom}
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
    able = [metric for metric in chosen if all(map(answers_offline, _judged_rubrics(metric)))]
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


def _judge(options: Options, registry: RubricRegistry, model: Model) -> tuple[Judge, Model]:
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
                registry,
                offline.cuts,
            )
        parameters = {
            "base_url": str(getattr(model, "base_url", ""))
        }  # one name, two servers: two judges
        return LLMJudge(
            uri,
            registry,
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
        judge = PanelJudge(options.judge, tuple(single(uri) for uri in composed.members), registry)
    else:
        kind = CascadeJudge if composed.rule == "cascade" else CheckedJudge
        first, second = map(single, composed.members)
        judge = kind(options.judge, first, second, composed.threshold, registry)
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
        options=plan.options.to_json(),
        units={name: d.unit for name, d in declared.items() if d.unit},
        lower_is_better=tuple(name for name, d in declared.items() if d.higher_is_better is False),
        neutral=tuple(name for name, d in declared.items() if d.higher_is_better is None),
    )


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


def _judged_rubrics(metric: Metric) -> tuple[str, ...]:
    """The rubrics of a metric that a judge is asked for, () where it asks none."""
    return _rubrics(metric) if metric.declaration.judged else ()


def _rubrics(metric: Metric) -> tuple[str, ...]:
    asked = getattr(metric, "rubrics", None)
    return tuple(asked) if asked is not None else metric.declaration.rubrics


def _with_claims(metric: Metric) -> Metric:
    if "claims" in getattr(metric, "__dataclass_fields__", {}):
        changed: Metric = replace(metric, claims="llm")  # type: ignore[type-var]
        return changed
    return metric
