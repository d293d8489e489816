"""The commands that say how far a judge can be believed, and those for the labels this takes."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragassay.cli.output import (
    console,
    display,
    note,
    print_blocks,
    print_json,
    print_lines,
    print_result,
    print_value,
    read_lines,
    store_file,
)
from ragassay.cli.parameters import (
    ClusterOption,
    ColumnOption,
    ControlsOptions,
    CutOption,
    DrawsOption,
    FormatOptions,
    GateOption,
    HtmlOption,
    JsonOption,
    JudgeCutOption,
    JudgedRowOptions,
    JudgeOptions,
    LabelOption,
    LabelsArgument,
    MetricOption,
    RunArgument,
    SeedOption,
    StoreOption,
    WhereOption,
    grouped,
    judge_cut_options,
)
from ragassay.core.errors import SetupError

if TYPE_CHECKING:
    from ragassay.scoring.design import Plan


RunMetricOption = Annotated[
    str | None,
    typer.Option(
        "--metric", "-m", help="What is labelled [default: the run's only one with a pass mark]."
    ),
]


@grouped
def benchmark(  # plain: a parameter is an option with its help
    labels: LabelsArgument,
    judge: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "'offline', 'openai:MODEL', 'recorded:NAME' (a key of the rows' `judges` or a"
                " column; recorded:* for all), "
                "'run:ID'. Several with commas, or repeated [default: of a run its own]."
            )
        ),
    ] = None,
    *,
    metric: MetricOption = None,
    label: LabelOption = "label",
    cut: CutOption = None,
    judge_cut: JudgeCutOption = None,
    slice_: Annotated[
        str | None, typer.Option("--slice", help="Field to slice by [default: slice].")
    ] = None,
    cluster: ClusterOption = None,
    where: WhereOption = None,
    fp_cost: Annotated[
        float, typer.Option(help="What passing a bad row costs, for the dearest disagreements.")
    ] = 1.0,
    fn_cost: Annotated[float, typer.Option(help="What failing a good row costs.")] = 1.0,
    setup: Annotated[
        str | None,
        typer.Option(
            help=(
                "Standard set-up to build from your copy of its set at LABELS: triad-context (TREC"
                " DL), triad-groundedness (LLM-AggreFact), triad-answer (HotpotQA)."
            )
        ),
    ] = None,
    rival: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "Judge of the published tables to ask each model as, beside its own rubric, or"
                " 'all' of the set-up. Repeatable."
            )
        ),
    ] = None,
    sample: Annotated[
        int | None, typer.Option(help="Rows of the set-up to draw [default: all].")
    ] = None,
    negatives: Annotated[
        str,
        typer.Option(help="Wrong answers of triad-answer: shuffled, same_type, evasive, refusal."),
    ] = "shuffled",
    spans: Annotated[
        str | None,
        typer.Option(
            help=(
                "Field with the stretches of the response that people marked as unsupported, as"
                " labels: precision, recall, F1 of the stretches."
            )
        ),
    ] = None,
    draws: DrawsOption = 2000,
    seed: SeedOption = 0,
    judging: JudgedRowOptions,
    html: HtmlOption = None,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Set judges beside human labels: agreement, errors and calibration, each with its interval."""
    if spans is not None:
        if setup is not None or html is not None or where:
            raise SetupError(
                "E0104",
                "A benchmark by stretches has no set-up, filter or HTML page.",
                where="--spans",
                fix="leave --setup, --where and --html out",
            )
        _benchmark_stretches(
            labels,
            judge,
            json_,
            field=spans,
            metric=metric,
            cluster=cluster,
            draws=draws,
            seed=seed,
            store=store,
            **judging,
        )
        return
    from ragassay.report import (
        benchmark_json,
        check_output_file,
        render_benchmark,
        write_benchmark_html,
    )
    from ragassay.trust.label_reports import benchmark_notes, check_verdicts
    from ragassay.trust.measure import run_benchmark as run

    # Before judges are asked: a file that cannot be written must not cost a benchmark.
    check_output_file(html, labels, store_file(store), *judging["rubrics"])
    with display(judging["max_cost"]) as watch:
        result = run(
            labels,
            judge,
            metric=metric,
            label=label,
            cut=cut,
            **judge_cut_options(judge_cut),
            slice=slice_,
            cluster=cluster,
            where=where or [],
            fp_cost=fp_cost,
            fn_cost=fn_cost,
            setup=setup,
            rivals=rival or [],
            sample=sample,
            negatives=[kind.strip() for kind in negatives.split(",") if kind.strip()],
            draws=draws,
            seed=seed,
            **judging,
            store=store,
            watch=watch,
            tell=note,
        )
    if json_:
        print_json(benchmark_json(result.benchmark))
    else:
        render_benchmark(result.benchmark, console())
    if html is not None:
        write_benchmark_html(result.benchmark, html)
        note(f"wrote {html}")
    for text in benchmark_notes(result):
        note(text)
    # Last, for it raises: what was measured is printed and written before.
    check_verdicts(result, labels)


def _benchmark_stretches(labels: str, judge: list[str] | None, json_: bool, **options: Any) -> None:
    from ragassay.trust.label_reports import stretch_report
    from ragassay.trust.measure import benchmark_stretches

    with display(options["max_cost"]) as watch:
        result = benchmark_stretches(labels, judge or "offline", watch=watch, tell=note, **options)
    print_result("stretches", result, json_, stretch_report)


@grouped
def probe(  # plain: a parameter is an option with its help
    *,
    judge: Annotated[
        str, typer.Option(help="'offline', 'openai:MODEL', or a panel or cascade of them.")
    ] = "offline",
    rows: Annotated[
        str | None,
        typer.Option(
            help="Rows whose responses are right and stand in their contexts [default: our own]."
        ),
    ] = None,
    items: Annotated[
        int,
        typer.Option(
            help=(
                "How many of the structural attacks are tried; the other families are always tried"
                " whole."
            )
        ),
    ] = 500,
    strings: Annotated[
        Path | None,
        typer.Option(
            help="Text file with further attacks, one a line, tried in a context and in an answer."
        ),
    ] = None,
    mark: Annotated[
        float, typer.Option(help="A family holds up to this share of wrong verdicts.")
    ] = 0.05,
    controls: ControlsOptions,
    details: Annotated[
        bool, typer.Option("--details", help="Also one line a probe and metric.")
    ] = False,
    judging: JudgeOptions,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Try to lead a judge astray: biases as paired changes with known answers, injections, answers
    that say nothing.
    """
    from ragassay.trust.judge_reports import probe_report
    from ragassay.trust.measure import probe as run

    # Before the judge is asked: a file that cannot be read must not cost a battery.
    attacks = read_lines(strings) if strings is not None else []
    with display(judging["max_cost"]) as watch:
        result = run(
            judge,
            rows=rows,
            items=items,
            strings=attacks,
            mark=mark,
            store=store,
            **controls,
            **judging,
            watch=watch,
            tell=note,
        )
    print_result("probe", result, json_, partial(probe_report, details=details))


@grouped
def audit_table(
    table: Annotated[
        str,
        typer.Argument(
            help="Published table: CSV, JSON or JSONL with precision, recall, f1, kappa ..."
        ),
    ],
    *,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Half of the rows of every line are positive.")
    ] = False,
    reading: FormatOptions,
    json_: JsonOption = False,
) -> None:
    """Check whether the figures of a published table can all be true, and say which rows are
    pooled, macro or inconsistent, and why.
    """
    from ragassay.trust import audit_table as run
    from ragassay.trust import describe

    audit = run(table, balanced=balanced, **reading)
    print_result("audit", audit, json_, describe)


class Design(StrEnum):
    """What labels are to show: a difference of two, a rate beside a fixed one, or an interval."""

    paired = "paired"
    unpaired = "unpaired"
    target = "target"
    width = "width"


def plan_labels(  # plain: a parameter is an option with its help
    question: Annotated[
        Design,
        typer.Argument(
            help=(
                "paired: two judges or runs on the same rows; unpaired: on different rows; target:"
                " one rate against a "
                "fixed one; width: one rate to within a half-width."
            )
        ),
    ] = Design.paired,
    difference: Annotated[
        float | None, typer.Option("--difference", "-d", help="Difference to see, such as 0.05.")
    ] = None,
    labels: Annotated[
        int | None, typer.Option("--labels", "-n", help="Rows that will be labelled.")
    ] = None,
    half_width: Annotated[
        float | None, typer.Option(help="Half the width of the interval (width).")
    ] = None,
    power: Annotated[float, typer.Option(help="Chance to see the difference.")] = 0.8,
    level: Annotated[float, typer.Option(help="Level of the interval.")] = 0.95,
    rate: Annotated[
        float | None, typer.Option(help="The pass rate to expect [default: 0.5].")
    ] = None,
    discordance: Annotated[
        float | None,
        typer.Option(help="Share of rows on which the two differ (paired) [default: 0.2]."),
    ] = None,
    sd: Annotated[
        float | None, typer.Option(help="Standard deviation of a score or difference, instead.")
    ] = None,
    cluster_size: Annotated[
        float, typer.Option(help="Rows that share a document or question, on average.")
    ] = 1.0,
    icc: Annotated[float, typer.Option(help="How alike such rows are, 0 to 1.")] = 0.0,
    correlation: Annotated[
        float | None,
        typer.Option(
            "--judge-correlation",
            help="Of a judge's verdicts on all rows with labels: it saves labels (target, width).",
        ),
    ] = None,
    rows: Annotated[
        int | None, typer.Option(help="Rows that the judge judged [default: very many].")
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(help="Take correlation, rows and rate from this run and its first labels."),
    ] = None,
    metric: RunMetricOption = None,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Say, before labels are bought, how many rows must be labelled to see a difference, or what so
    many labels will show.
    """
    from ragassay.scoring.design import plan
    from ragassay.scoring.design_with_judge import plan_with_judge

    planned = plan
    if run is not None:
        from ragassay.trust.measure import judge_strength

        strength = judge_strength(run, metric=metric, store=store)
        correlation, rows, rate = strength.correlation, strength.rows, rate or strength.rate
    if correlation is not None:
        planned = partial(plan_with_judge, correlation=correlation, rows=rows)
    elif rows is not None:
        raise SetupError(
            "E0101",
            "The number of rows matters where a judge judged them.",
            where="--rows",
            fix="give --judge-correlation as well, or --run RUN",
        )
    # The arithmetic refuses what cannot be planned with a ValueError, and says why.
    try:
        result = planned(
            question.value,
            difference=difference,
            labels=labels,
            half_width=half_width,
            power=power,
            level=level,
            rate=rate,
            discordance=discordance,
            sd=sd,
            cluster_size=cluster_size,
            icc=icc,
        )
    except (ValueError, OverflowError) as error:
        raise SetupError(
            "E0101",
            "That cannot be planned.",
            where="ragassay plan-labels",
            why=str(error),
            fix="for example: ragassay plan-labels paired --difference 0.05",
        ) from None
    print_result("plan", result, json_, _plan_report)


def _plan_report(plan: Plan) -> list[str]:
    """How many labels are needed or what they show, and what to beware of."""
    return [plan.sentence, *(f"beware: {text}" for text in plan.warnings)]


def judge_trust(
    run: RunArgument = "last",
    *,
    labels: Annotated[
        str | None,
        typer.Option(help="Label file of its rows, taken in first [default: those imported]."),
    ] = None,
    metric: RunMetricOption = None,
    label: ColumnOption = "label",
    gate: GateOption = None,
    draws: DrawsOption = 2000,
    seed: SeedOption = 0,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Say how far a run's judge can be trusted: labels, its figures, the corrected rate, where it
    errs otherwise, what it may be used for, and what comes next.
    """
    from ragassay import api
    from ragassay.report import FinalSteps, as_json, render_gates
    from ragassay.trust.measure import judge_trust as measure
    from ragassay.trust.run_trust_report import run_trust_report

    steps = FinalSteps(tuple(gate or ()))
    with api.open_run(run, store=store) as opened:
        run = opened.id
        steps.check(opened.manifest.metrics)
    result = measure(
        run,
        labels=labels,
        metric=metric,
        label=label,
        draws=draws,
        seed=seed,
        store=store,
        tell=note,
    )
    with api.open_run(run, store=store) as opened:
        gates = steps.check_gates(opened.summary) if steps.gates else None
    if json_:
        fields = as_json(result)
        assert isinstance(fields, dict)
        checked = {} if gates is None else {"gates": gates.to_json()}
        print_json({"schema": 1, "kind": "trust", **fields, **checked})
    else:
        print_blocks(run_trust_report(result))
        if gates is not None:
            render_gates(gates, console())
    if gates is not None:
        raise typer.Exit(gates.exit_code)


class Method(StrEnum):
    """How rows are chosen for labelling."""

    active = "active"
    stratified = "stratified"
    uniform = "uniform"


class Estimand(StrEnum):
    """What is estimated from labels: the share of rows that pass, or the mean score."""

    passes = "pass"
    mean = "mean"


ScaleOption = Annotated[
    str | None,
    typer.Option(
        help=(
            "Values that a label may take, with commas [default: 0,1, or 0 to 3, as the labels"
            " are]."
        )
    ),
]
label_app = typer.Typer(
    help="Choose rows for people to label, and take their labels in.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


SheetScaleOption = Annotated[
    str | None,
    typer.Option(
        help="Values that a label may take, with commas [default: those of the run's labels,"
        " else 0,1]."
    ),
]


@label_app.command(name="next")
def label_next(
    run: RunArgument = "last",
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The sheet: .csv or .jsonl.")
    ] = Path("labels.csv"),
    count: Annotated[int, typer.Option("--count", "-n", help="How many rows.")] = 100,
    metric: RunMetricOption = None,
    method: Annotated[
        Method,
        typer.Option(
            help=(
                "uniform: one chance for all rows; active: rows of which the judge is unsure come"
                " more often."
            )
        ),
    ] = Method.uniform,
    audit: Annotated[
        float, typer.Option(help="Share drawn with one chance for all rows (active, stratified).")
    ] = 0.2,
    slice_: Annotated[
        str | None,
        typer.Option("--slice", help="Slice field, of which every value gets its share."),
    ] = None,
    per_cluster: Annotated[int | None, typer.Option(help="Most rows of one cluster.")] = None,
    exclude: Annotated[
        list[Path] | None, typer.Option(help="A sheet whose rows are left out. Repeatable.")
    ] = None,
    show_judge: Annotated[
        bool, typer.Option("--show-judge", help="Show what the judge said; pulls people its way.")
    ] = False,
    scale: SheetScaleOption = None,
    seed: SeedOption = 0,
    store: StoreOption = None,
) -> None:
    """Choose the rows that a person should label next, and write them as a sheet."""
    from ragassay.report import check_output_file
    from ragassay.trust.label_reports import sheet_report, sheet_warning
    from ragassay.trust.measure import next_rows

    check_output_file(output, store_file(store), *(exclude or []))
    choice = next_rows(
        run,
        count,
        output=output,
        metric=metric,
        method=method.value,
        audit=audit,
        slice=slice_,
        per_cluster=per_cluster,
        exclude=exclude or [],
        show_judge=show_judge,
        scale=_numbers(scale),
        seed=seed,
        store=store,
    )
    for text in choice.notes:
        note(text)
    print_lines(*sheet_report(choice, output))
    if warning := sheet_warning(choice):
        note(warning)


@label_app.command(name="import")
def label_import(
    run: RunArgument,
    sheet: Annotated[
        str,
        typer.Argument(
            help="File with the columns id and label; annotator and rationale are kept."
        ),
    ],
    metric: RunMetricOption = None,
    label: ColumnOption = "label",
    annotator: Annotated[str, typer.Option(help="Who labelled, where the file does not say.")] = "",
    scale: ScaleOption = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="New values replace those of the same person.")
    ] = False,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Take the labels of a sheet in, beside the run."""
    from ragassay.trust.label_reports import import_next_step, import_summary, import_warnings
    from ragassay.trust.measure import import_labels

    result = import_labels(
        run,
        sheet,
        metric=metric,
        label=label,
        annotator=annotator,
        scale=_numbers(scale),
        replace_old=replace,
        store=store,
    )
    if json_:
        print_value("labels", result)
        return
    print_lines(*import_summary(result))
    for text in import_warnings(result):
        note(text)
    print_lines(*import_next_step(result))


@label_app.command(name="agreement", short_help="Measure how far people agree.")
def label_agreement(
    sheets: Annotated[
        list[str] | None,
        typer.Argument(
            help="Label files, one a person or with a column annotator; or the run whose imported"
            " labels are meant [default: the last run]."
        ),
    ] = None,
    run: Annotated[
        str | None, typer.Option(help="Run whose imported labels and judge are meant.")
    ] = None,
    metric: RunMetricOption = None,
    label: ColumnOption = "label",
    votes: Annotated[
        str | None,
        typer.Option(
            help="Field that holds what several people said, as a list or an object, instead."
        ),
    ] = None,
    scale: ScaleOption = None,
    cut: CutOption = None,
    epsilon: Annotated[
        float, typer.Option(help="By how much a person may be better and yet be replaced.")
    ] = 0.2,
    draws: DrawsOption = 2000,
    seed: SeedOption = 0,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Measure how far people agree with each other, and whether the judge may stand in for one of
    them.
    """
    from ragassay.trust.label_reports import people_report
    from ragassay.trust.measure import people_agreement

    files = sheets or []
    if run is None and not files:
        run = "last"
    elif (
        run is None
        and len(files) == 1
        and not Path(files[0]).suffix
        and not Path(files[0]).exists()
    ):
        # As for every other command a run may be named without --run.
        run, files = files[0], []
    result = people_agreement(
        run,
        files,
        metric=metric,
        label=label,
        votes=votes,
        scale=_numbers(scale),
        cut=cut,
        epsilon=epsilon,
        draws=draws,
        seed=seed,
        store=store,
    )
    print_result("people", result, json_, partial(people_report, epsilon=epsilon))


def estimate(
    run: RunArgument = "last",
    labels: Annotated[
        str | None, typer.Option(help="Label file [default: the labels imported for the run].")
    ] = None,
    metric: RunMetricOption = None,
    label: ColumnOption = "label",
    of: Annotated[
        Estimand | None, typer.Option(help="Set labels against pass or fail, or against the score.")
    ] = None,
    scale: ScaleOption = None,
    cut: CutOption = None,
    by: Annotated[
        str | None, typer.Option("--slice", help="Slice field to estimate by as well.")
    ] = None,
    beside: Annotated[
        str | None, typer.Option(help="Another judge's run of the same rows, to help as well.")
    ] = None,
    at: Annotated[
        int | None,
        typer.Option(
            help="Precision of the first so many chunks; labels: columns id, chunk (rank), label."
        ),
    ] = None,
    seed: SeedOption = 0,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Correct a metric of a run: join the judge's verdicts on all rows and the labels that people
    gave a few of them into one estimate.
    """
    from ragassay.trust.label_reports import correction_report, precision_report
    from ragassay.trust.measure import estimate as run_estimate
    from ragassay.trust.measure import precision_at

    if at is not None:
        _check_precision(labels, of, by, beside)
        precision = precision_at(
            run, labels, at, metric=metric, label=label, cut=cut, seed=seed, store=store
        )
        print_result("precision", precision, json_, precision_report)
        return
    result = run_estimate(
        run,
        labels=labels,
        metric=metric,
        label=label,
        of=None if of is None else of.value,
        scale=_numbers(scale),
        cut=cut,
        by=by,
        beside=beside,
        seed=seed,
        store=store,
        tell=note,
    )
    print_result("estimate", result, json_, correction_report)


def _check_precision(
    labels: str | None, of: Estimand | None, by: str | None, beside: str | None
) -> None:
    """Raise SetupError E0104 for options that precision at k has no use for, or lacks."""
    if labels is not None and of is None and by is None and beside is None:
        return
    raise SetupError(
        "E0104",
        "Precision at k goes by labels of chunks, and by nothing else.",
        where="--at",
        why="--labels is missing" if labels is None else "--of, --slice or --beside is given",
        fix="write --labels FILE --at K, with the columns id, chunk and label",
    )


def _numbers(text: str | None) -> tuple[float, ...]:
    """The values of a scale, which are separated by commas. Raises SetupError E0101."""
    if text is None:
        return ()
    try:
        numbers = tuple(float(piece) for piece in text.split(","))
    except ValueError:
        numbers = ()
    # The comparison also refuses NaN, which `float` reads as a number.
    if len(set(numbers)) < 2 or not all(abs(number) < 1e12 for number in numbers):
        raise SetupError(
            "E0101",
            "A scale is two numbers or more, with commas.",
            where="--scale",
            why=text,
            fix="such as --scale 0,1,2,3",
        )
    return numbers
