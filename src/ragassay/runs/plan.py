"""The plan of a run: rows, metrics, judge and model, made ready before the first call.

Every mistake in the set-up is found here, where it costs nothing.
"""

from __future__ import annotations

import itertools
import logging
import os
import warnings
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Literal, cast

from ragassay.core import (
    AppUsage,
    BadRow,
    JudgeInfo,
    Ledger,
    Manifest,
    RowsWarning,
    Sample,
    ScoreMap,
    SetupError,
    nearest,
    shorten,
)
from ragassay.metrics import (
    PRESETS,
    Metric,
    MetricBase,
    catalogue,
    custom_metric,
    default_metrics,
    parse,
    parse_list,
    roles_of,
)
from ragassay.metrics.calibrated import with_map
from ragassay.runs.application import App, Application, open_application
from ragassay.runs.calibration import base_options, map_of
from ragassay.runs.field_check import guess_fields
from ragassay.runs.governance import judged_rubrics, self_preference, sent_fields
from ragassay.runs.options import Options

if TYPE_CHECKING:
    from ragassay.datasets import Dataset, Scan
    from ragassay.dispatch import LocalBudget
    from ragassay.judges import Judge, RubricRegistry
    from ragassay.models import Model
    from ragassay.models.batch import BatchModel
    from ragassay.models.local import LocalModel
    from ragassay.models.offline import OfflineModel
    from ragassay.runs import Engine, EngineSettings, Measurement, ReplyLog, RunContext
    from ragassay.runs.journal import JournalStore

_LOGGER = logging.getLogger("ragassay")

# Task of a local model -> a metric that it can judge.
_EXAMPLES = {
    "support": "groundedness",
    "relevance": "context_relevance",
    "answer": "answer_relevance",
}


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What a run judges with: the same from the same options, in whatever process. notes: what the
    user should be told of the choice of metrics. batches: the chat model, where its calls go
    through batches. by_default: the metrics that nobody named; left_out: those of them that the
    judge cannot answer.
    """

    options: Options
    metrics: tuple[Metric, ...]
    judge: Judge
    model: Model
    info: JudgeInfo
    application: Application | None = None
    notes: tuple[str, ...] = ()
    batches: BatchModel | None = None
    by_default: tuple[str, ...] = ()
    left_out: tuple[Metric, ...] = ()

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
            metrics=with_map(self.metrics, map_of(self.options)),
            judge=self.judge,
            diagnose=partial(diagnose, roles=roles_of(self.metrics)),
            run_application=None if self.application is None else self.application.answer,
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
            keep_replies=options.keep_replies,
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
        rest = self.dataset.rest(done)
        if limit is None:
            return iter(rest)
        # islice would count the rows that are left; the limit is of all rows, done ones included.
        return itertools.takewhile(lambda numbered: numbered[0] < limit, rest)


def make_plan(
    rows: object,
    options: Options,
    metrics: str | Sequence[str | Metric] | None,
    *,
    app: App | None = None,
    in_callers_loop: bool = False,
    earlier: Manifest | None = None,
) -> Plan:
    """The plan of a run with these options, checked. Raises SetupError or DataError for whatever is
    wrong with the set-up or the rows.

    app: the application itself, where it was passed and not named. in_callers_loop: an asynchronous
    one runs in the caller's event loop. earlier: the manifest of a run that validated these rows
    before; a file that has not changed is not validated anew.
    """
    from ragassay.datasets import Scan

    setup = make_setup(options, metrics, app=app, in_callers_loop=in_callers_loop)
    dataset = open_dataset(rows, options)
    if earlier is not None and dataset.unchanged(earlier.source_hash):
        # A scan parses and validates every row, and the hash already says that nothing is new.
        scan = Scan(
            rows=earlier.rows,
            bad=0,
            bad_rows=(),
            columns=(),
            mapping=earlier.mapping,
            ignored=(),
            lines=(),
            notes=(),
            source=dataset.source,
            source_hash=earlier.source_hash,
        )
    else:
        scan = dataset.scan()
        # A resume goes on with what the run began with.
        if earlier is None:
            guesses = guess_fields(dataset, scan, setup)
            if guesses:
                # Stored with the options, so that a resume reads the same columns.
                mapping = {**setup.options.mapping, **guesses}
                setup = replace(setup, options=replace(setup.options, mapping=mapping))
                dataset = dataset.with_guesses(mapping, guesses)
                scan = dataset.scan()
        setup = _for_columns(setup, scan.fields)
    shared = {field.name: getattr(setup, field.name) for field in fields(setup)}
    return Plan(**shared, dataset=dataset, scan=scan)


_OF_APPLICATIONS = frozenset(
    {"contexts", "response", "error"} | {f"usage.{field.name}" for field in fields(AppUsage)}
)
"""What an application that is run may add to the rows."""


def _for_columns(setup: Setup, columns: frozenset[str]) -> Setup:
    """The set-up without those of its default metrics that no row has the fields for, with a note
    on what the fields of the rows bring, where that costs calls. columns: the fields that rows
    hold.
    """
    known = columns if setup.application is None else columns | _OF_APPLICATIONS
    kept = []
    for metric in setup.metrics:
        # Metrics of the user's own need not know it, and are never among the default ones.
        if (
            str(metric) not in setup.by_default
            or not isinstance(metric, MetricBase)
            or metric.applies_to(known)
        ):
            kept.append(metric)
    if not kept:
        return setup  # the rows will say what they lack
    notes = (*setup.notes, *_notes_on_columns(setup, kept, known))
    omitted = []
    for metric in setup.left_out:
        if isinstance(metric, MetricBase) and metric.applies_to(known):
            omitted.append(str(metric))
    # What the offline judge lacks by default is said where the rows have the fields for it.
    if omitted and (setup.options.judge != "offline" or setup.options.preset is not None):
        notes = (_words_on_omitted(setup.options, omitted), *notes)
    if len(kept) == len(setup.metrics):
        return replace(setup, notes=notes)
    options = replace(setup.options, metrics=tuple(_reference(m) for m in kept))
    registry = rubric_registry(options.rubrics)
    info = _judge_info(options, kept, registry, setup.judge, setup.model)
    return replace(setup, options=options, metrics=tuple(kept), info=info, notes=notes)


_BROUGHT_BY = {"reference|expected_facts": "a reference", "guidelines": "guidelines"}
"""What brings default metrics that ask the judge, and how it is called."""


def _notes_on_columns(
    setup: Setup, metrics: Sequence[Metric], columns: Container[str]
) -> Iterator[str]:
    """A sentence on each field that brings default metrics which cost calls."""
    offline = base_options(setup.options).judge == "offline"
    if offline and "guidelines" in setup.by_default and "guidelines" in columns:
        yield "the rows have guidelines, which the offline judge cannot check: name a --judge"
    if offline or setup.options.preset is not None:
        return
    for need, words in _BROUGHT_BY.items():
        brought = []
        calls = 0
        for metric in metrics:
            declared = metric.declaration
            if str(metric) in setup.by_default and need in declared.needs:
                brought.append(str(metric))
                calls += int(declared.calls.partition(" ")[0].rstrip(";,"))
        if brought:
            more = "1 call" if calls == 1 else f"{calls} calls"
            yield (
                f"the rows have {words}: {' and '.join(brought)} by default, about {more} more a"
                " row (--metrics chooses others)"
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
        guess=options.yes,
    )


def make_setup(
    options: Options,
    metrics: str | Sequence[str | Metric] | None,
    *,
    app: App | None = None,
    in_callers_loop: bool = False,
) -> Setup:
    """What `make_plan` makes ready before it looks at the rows."""
    named, score_map, options = options, map_of(options), base_options(options)
    registry = rubric_registry(options.rubrics)
    chosen = _metrics(metrics, options, registry)
    if score_map is not None:
        _check_mapped(score_map, chosen)
    model = _model(options)
    # Taken before the judge joins the model to the offline one, which has no batches.
    batches = cast("BatchModel", model) if options.batch else None
    notes: tuple[str, ...] = ()
    local = _local_models(model)
    own = {str(custom_metric(rubric)) for rubric in registry.custom}
    by_default: tuple[str, ...] = ()
    left_out: tuple[Metric, ...] = ()
    # What somebody asked for by name is never left out.
    if metrics is None and not options.metrics:
        by_default = tuple(str(metric) for metric in chosen if str(metric) not in own)
        every, chosen = chosen, _answerable(chosen, options, local, own)
        left_out = tuple(metric for metric in every if metric not in chosen)
    _check_tasks(chosen, local)
    judge, model = _judge(options, registry, model, score_map)
    _check_price(options, model)
    options = replace(named, metrics=tuple(_reference(m) for m in chosen))
    info = _judge_info(options, chosen, registry, judge, model)
    if info.self_preference:
        notes = (*notes, info.self_preference)
    return Setup(
        options=options,
        metrics=chosen,
        judge=judge,
        model=model,
        info=info,
        application=_application(options, app, in_callers_loop),
        notes=notes,
        batches=batches,
        by_default=by_default,
        left_out=left_out,
    )


def _check_mapped(score_map: ScoreMap, metrics: Iterable[Metric]) -> None:
    """Raise SetupError E0410 where the map's metric is not among those that are asked for."""
    names = [str(metric) for metric in metrics]
    if score_map.metric not in names:
        raise SetupError(
            "E0410",
            f"The judge calibrated:{score_map.name} is calibrated for {score_map.metric}.",
            where="--metrics",
            why=f"asked for: {shorten(', '.join(names), 200)}",
            fix=f"ask for it: --metrics '{score_map.metric}'",
        )


def _check_price(options: Options, model: Model) -> None:
    """A cost cap needs the price of the model. Raises SetupError E0406."""
    if options.max_cost is None or model.price(1000, 1000) is not None:
        return
    raise SetupError(
        "E0406",
        "The model's price is not known, so a cost cap cannot be kept.",
        where=options.judge,
        fix=(
            "give --price IN,OUT (US dollars per million tokens), or cap calls with"
            " --max-calls; pip install 'ragassay[prices]' knows hosted models"
        ),
    )


def _judge_info(
    options: Options,
    metrics: Sequence[Metric],
    registry: RubricRegistry,
    judge: Judge,
    model: Model,
) -> JudgeInfo:
    """What the manifest holds of the judge, for the rubrics that the metrics ask for."""
    from ragassay.judges.identity import identities

    judged = set(itertools.chain.from_iterable(map(judged_rubrics, metrics)))
    # Sorted, so that equal set-ups write equal manifests.
    rubrics = sorted(judged)
    return JudgeInfo(
        uri=options.judge,
        rubrics={rubric: judge.rubric_version(rubric) for rubric in rubrics},
        fingerprints={rubric: judge.fingerprint(rubric) for rubric in rubrics},
        agreement=judge.agreement,
        base_url=str(getattr(model, "base_url", "")),
        sent=sent_fields(metrics, registry, model),
        self_preference=self_preference(base_options(options).judge, options.generator),
        identities=identities(judge, rubrics),
    )


def _application(options: Options, app: App | None, in_callers_loop: bool) -> Application | None:
    """The user's application, opened; None where the run has none."""
    if options.app is None:
        return None
    return open_application(
        app if app is not None else options.app,
        timeout=options.app_timeout,
        concurrency=options.app_concurrency,
        in_callers_loop=in_callers_loop,
    )


def metric_names(
    metrics: str | None, preset: str | None, rubrics: Sequence[str | os.PathLike[str]]
) -> list[str]:
    """The printed names of the metrics that these options choose. Raises as `make_plan`."""
    chosen = _metrics(metrics, Options(preset=preset), rubric_registry(rubrics))
    return [str(metric) for metric in chosen]


def chosen_metrics(
    metrics: Sequence[str | Metric], rubrics: Sequence[str | os.PathLike[str]]
) -> tuple[Metric, ...]:
    """These metrics, and those of the rubric files behind them. Raises as `make_plan`."""
    return _metrics(metrics, Options(), rubric_registry(rubrics))


def rubric_registry(rubrics: Sequence[str | os.PathLike[str]]) -> RubricRegistry:
    """The rubrics of the package and of these files. Raises as `make_plan`."""
    from ragassay.judges import RubricRegistry

    return RubricRegistry.default().with_files(rubrics, reserved=frozenset(catalogue()))


def _metrics(
    metrics: str | Sequence[str | Metric] | None, options: Options, registry: RubricRegistry
) -> tuple[Metric, ...]:
    """The metrics that are asked for, else those of the preset, else the default ones; and one for
    each of the user's own rubric files: who names a file wants it judged.
    """
    own = {rubric.id: custom_metric(rubric) for rubric in registry.custom}
    requested: str | Sequence[str | Metric] = metrics if metrics is not None else options.metrics
    if metrics is None and not options.metrics:
        requested = _preset(options.preset) if options.preset is not None else default_metrics()
    names = parse_list(requested, own) if isinstance(requested, str) else requested
    parsed = [parse(name, own) if isinstance(name, str) else name for name in names]
    chosen = (*parsed, *own.values())
    # Their types promise metrics, but this is what a caller passed.
    for metric in chosen:
        if not isinstance(metric, Metric):
            raise SetupError(
                "E0201",
                "That is no metric.",
                where="metrics",
                why=f"it is a {type(metric).__name__}",
                fix="give names, such as 'groundedness', or functions under @ragassay.metric",
            )
    if options.claims != "sentences":
        chosen = tuple(_with_claims(m, options.claims) for m in chosen)
    # A metric that is named twice is measured once.
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


_CLAIM_RUBRICS = frozenset({"claims", "trivial"})


def _answerable(
    chosen: tuple[Metric, ...],
    options: Options,
    local: Sequence[LocalModel],
    own: Container[str],
) -> tuple[Metric, ...]:
    """Those metrics of a preset, or of the default ones, that the judge can answer; all where it
    can answer none. own: those of the user's own rubric files, which no local model can answer and
    which are not left out in silence.
    """
    from ragassay.judges import answers_offline

    if options.judge != "offline" and not local:
        return chosen
    answerable: list[Metric] = []
    for metric in chosen:
        rubrics = judged_rubrics(metric)
        offline = options.judge != "offline" or all(map(answers_offline, rubrics))
        able = offline and (not _unanswered_by(local, metric) or str(metric) in own)
        # Who asks for claims of a model is told that this judge picks none.
        if able or (options.claims != "sentences" and _CLAIM_RUBRICS & {*rubrics}):
            answerable.append(metric)
    return tuple(answerable) or chosen


def _words_on_omitted(options: Options, omitted: Sequence[str]) -> str:
    """A note that names the metrics that the judge cannot answer."""
    which = "the offline judge" if options.judge == "offline" else options.judge
    chosen_as = "preset" if options.preset is not None else "default metrics"
    return f"left out of the {chosen_as}, for {which} cannot answer them: {', '.join(omitted)}"


def _local_models(model: Model) -> tuple[LocalModel, ...]:
    """The local models among those that are asked."""
    from ragassay.models import JoinedModel
    from ragassay.models.local import LocalModel

    members = model.members if isinstance(model, JoinedModel) else (model,)
    return tuple(member for member in members if isinstance(member, LocalModel))


def _unanswered_by(local: Sequence[LocalModel], metric: Metric) -> LocalModel | None:
    """The first of these models that cannot judge the metric; None where all can."""
    from ragassay.judges import answers_task

    rubrics = judged_rubrics(metric)
    for model in local:
        if rubrics and not answers_task(model.parts.meaning.task, rubrics):
            return model
    return None


def _check_tasks(chosen: Sequence[Metric], local: Sequence[LocalModel]) -> None:
    """Each local model has one task. Raises SetupError E0203 for a metric that needs another."""
    for metric in chosen:
        model = _unanswered_by(local, metric)
        if model is None:
            continue
        able = [str(other) for other in chosen if _unanswered_by([model], other) is None]
        fix = (
            f"ask it for {', '.join(able) or _EXAMPLES[model.parts.meaning.task]}"
            " (--metrics), and another judge for the rest"
        )
        if _CLAIM_RUBRICS & {*judged_rubrics(metric)}:
            fix = "use --claims sentences: it is no language model and picks no claims"
        raise SetupError(
            "E0203",
            f"The judge {model.uri} cannot judge {metric}.",
            why=f"it is a classifier for {model.parts.meaning.task}",
            fix=fix,
        )


def _model(options: Options) -> Model:
    """The model behind the judge's URI; for a composed judge, the models of its members as one."""
    from ragassay.judges import composition

    composed = composition(options.judge)
    if options.batch and composed is not None:
        raise SetupError(
            "E0104",
            "A judge made of others cannot be asked through batches.",
            where="--batch",
            why=options.judge,
            fix="name one judge, such as openai:MODEL, or leave --batch out",
        )
    if composed is None:
        return _connect(options, options.judge)
    return _joined({uri: _connect(options, uri) for uri in composed.members})


def _connect(options: Options, uri: str) -> Model:
    """The model behind one judge's URI."""
    from ragassay.models import connect

    return connect(
        uri,
        base_url=options.base_url,
        api_key_env=options.api_key_env,
        price=options.price,
        concurrency=options.concurrency,
        no_network=options.no_network,
        batch=options.batch,
        replay=options.replay,
        settings=options.model_settings(),
    )


def _joined(models: Mapping[str, Model]) -> Model:
    """The models of a composed judge's members, by URI, as one model."""
    from ragassay.models import JoinedModel
    from ragassay.models.offline import OfflineModel

    offline = next((model for model in models.values() if isinstance(model, OfflineModel)), None)
    hosted = [uri for uri, model in models.items() if model is not offline]
    main, *others = hosted or models
    # Without an offline member one is opened all the same: similarity of texts is always its task.
    return JoinedModel(
        models[main], offline or OfflineModel(), {uri: models[uri] for uri in others}
    )


def _judge(
    options: Options, registry: RubricRegistry, model: Model, score_map: ScoreMap | None = None
) -> tuple[Judge, Model]:
    """The judge over the model, under a map where there is one; similarity of texts is measured by
    the encoder of the package, whoever judges the rest.
    """
    from ragassay.judges import CalibratedJudge, RoutedJudge, SimilarityJudge, composition
    from ragassay.models import JoinedModel
    from ragassay.models.offline import OfflineModel

    offline = model if isinstance(model, OfflineModel) else OfflineModel()
    composed = composition(options.judge)
    judge: Judge
    if composed is not None:
        members = tuple(
            _single_judge(uri, options, registry, model, offline) for uri in composed.members
        )
        judge = _composed_judge(options.judge, composed.rule, composed.threshold, members, registry)
    elif offline is model:
        judge = _offline_judge(registry, offline)
    else:
        judge = _single_judge(options.judge, options, registry, model, offline)
        model = JoinedModel(model, offline)
    if score_map is not None:
        judge = CalibratedJudge(f"calibrated:{score_map.name}", judge, score_map)
    return RoutedJudge(judge, {"similarity": SimilarityJudge(offline.version)}), model


def _composed_judge(
    uri: str,
    rule: str,
    threshold: float | None,
    members: tuple[Judge, ...],
    registry: RubricRegistry,
) -> Judge:
    """A panel, a cascade or a checked judge over its members. A panel has no threshold."""
    from ragassay.judges import CascadeJudge, CheckedJudge, PanelJudge

    if threshold is None:
        return PanelJudge(uri, members, registry)
    kind = CascadeJudge if rule == "cascade" else CheckedJudge
    first, second = members
    return kind(uri, first, second, threshold, registry)


def _single_judge(
    uri: str, options: Options, registry: RubricRegistry, model: Model, offline: OfflineModel
) -> Judge:
    """The judge behind the URI of one judge."""
    from ragassay.judges import BothOrdersJudge, LLMJudge, LocalJudge
    from ragassay.judges.llm.sensitive import check_installed
    from ragassay.models import JoinedModel
    from ragassay.models.local import LocalModel

    if uri.lower() == "offline":
        return _offline_judge(registry, offline)
    own = model.member(uri) if isinstance(model, JoinedModel) else model
    if isinstance(own, LocalModel):
        parts = own.parts
        return LocalJudge(own.uri, parts.version, parts.meaning.task, registry, parts.cut)
    if options.redact:
        check_installed()
    # Part of the fingerprint: one name on two servers may be two models, so two judges.
    parameters: dict[str, object] = {"base_url": str(getattr(model, "base_url", ""))}
    # Only where it is set, or every judgment stored without one would be asked again.
    if options.sample:
        parameters["sample"] = options.sample
    parameters |= options.model_settings().parameters()
    judge = LLMJudge(
        uri,
        registry,
        single_calls=options.single_calls,
        temperature=options.temperature,
        parameters=parameters,
        controls=options.controls,
        order="given" if options.order == "given" else "shuffled",
        redact=options.redact,
    )
    if options.order != "both":
        return judge
    # Its calls name the model that they are for, by the model's own URI.
    judge = replace(judge, uri=own.uri)
    return BothOrdersJudge(judge, replace(judge, order="opposite"), registry)


def _offline_judge(registry: RubricRegistry, offline: OfflineModel) -> Judge:
    """The judge over the package's own model."""
    from ragassay.judges import OfflineJudge

    tasks: tuple[Literal["support", "relevance", "answer"], ...] = (
        "support",
        "relevance",
        "answer",
    )
    agreement: dict[str, str] = {task: offline.agreement(task) for task in tasks}
    return OfflineJudge(
        offline.version,
        agreement,
        registry,
        offline.cuts,
        is_foreign=offline.is_foreign,
        near=offline.near,
    )


def manifest_of(
    plan: Plan,
    run_id: str,
    created: str,
    version: str,
    name: str,
    keep: Mapping[str, object] | None = None,
) -> Manifest:
    """Everything needed to repeat the run. Raises SetupError E0101 for the name "last"."""
    if name == "last":
        raise SetupError(
            "E0101",
            'A run cannot be named "last".',
            where="--name",
            why="`last` stands for the newest run, and this one could not be named later",
            fix="give it another name",
        )
    declared = {str(m): m.declaration for m in plan.metrics}
    limit = plan.options.limit
    return Manifest(
        run_id=run_id,
        created=created,
        version=version,
        source=plan.scan.source,
        source_hash=plan.scan.source_hash,
        rows=plan.scan.rows if limit is None else min(limit, plan.scan.rows),
        mapping=plan.scan.mapping,
        metrics=tuple(declared),
        judge=plan.info,
        name=name,
        kept=dict(keep or {}),
        options=plan.options.to_json(),
        units={name: d.unit for name, d in declared.items() if d.unit},
        lower_is_better=tuple(name for name, d in declared.items() if d.higher_is_better is False),
        neutral=tuple(name for name, d in declared.items() if d.higher_is_better is None),
        mark_words=_own_mark_words(plan.metrics),
        by_default=plan.by_default,
    )


def _own_mark_words(metrics: Iterable[Metric]) -> dict[str, str]:
    """The pass marks of the user's own rubrics, in words; those of the catalogue declare theirs."""
    words = {}
    for metric in metrics:
        marks = metric.declaration.mark_words
        if marks and str(metric).partition("(")[0] not in catalogue():
            words[str(metric)] = marks[0][1]
    return words


def report_notes(plan: Plan, tell: Callable[[str], None] | None) -> None:
    """Report how the rows are read, and the plan's notes: to `tell`, else as a program's log and
    warnings.
    """
    scan = plan.scan
    guessed = [
        f"{shorten(column, 60)} for {field}" for field, column in plan.dataset.guesses.items()
    ]
    guesses = [f"took {', '.join(guessed)}, by a guess"] if guessed else []
    # A resume, whose rows are not scanned again, has said so before.
    sent = [
        f"sent to {host}: {', '.join(names)}"
        for host, names in plan.info.sent.items()
        if scan.lines
    ]
    if tell is not None:
        for line in (*scan.lines, *guesses, *scan.notes, *plan.notes, *sent):
            tell(line)
        return
    doubtful = (*guesses, *scan.notes)
    for line in (*scan.lines, *plan.notes, *sent):
        # A column that is not read may well be meant so: it costs no warning, but is seen.
        level = logging.WARNING if line in scan.left_out else logging.INFO
        _LOGGER.log(level, "%s", line)
    if doubtful:
        # In one warning, or a program that shows each place once would show the first alone.
        source = "the rows" if scan.source == "memory" else os.path.basename(scan.source)
        warnings.warn(f"{source}: {'; '.join(doubtful)}", RowsWarning, stacklevel=2)


def _reference(metric: Metric) -> str:
    """What names the metric when the run is resumed: its printed name, or "module:name" of the
    user's own code.
    """
    return str(getattr(metric, "reference", "") or metric)


def _with_claims(metric: Metric, claims: str) -> Metric:
    # Only metrics that cut responses into claims have this parameter.
    if "claims" in getattr(metric, "__dataclass_fields__", {}):
        changed: Metric = replace(metric, claims=claims)  # type: ignore[type-var]
        return changed
    return metric
