"""Which commands say how far a judge can be believed, and what each calls."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragassay.cli.output import (
    check_target,
    console,
    note,
    pairs,
    print_figures,
    print_json,
    print_lines,
    print_table,
    print_value,
    read_lines,
    store_file,
)
from ragassay.cli.output import display as shown
from ragassay.cli.parameters import (
    ClusterOption,
    ColumnOption,
    Controls,
    ControlsOption,
    CutOption,
    DrawsOption,
    FormatOption,
    HtmlOption,
    JsonOption,
    JudgeCutOption,
    LabelOption,
    LabelsArgument,
    MapOption,
    MetricOption,
    Reach,
    RubricOption,
    RunArgument,
    SeedOption,
    StoreOption,
    WhereOption,
    grouped,
)
from ragassay.core.errors import Incomplete, SetupError

if TYPE_CHECKING:
    from ragassay.core import Interval
    from ragassay.scoring.annotators import AltTest
    from ragassay.trust import Correction, FamilyFigures, ProbeFigures


@grouped
def benchmark(
    labels: LabelsArgument,
    judge: Annotated[
        list[str],
        typer.Option(
            help=(
                "'offline', 'openai:MODEL', 'recorded:NAME' (a key of the rows' `judges` or a"
                " column; recorded:* for all), "
                "'run:ID'. Several with commas, or repeated."
            )
        ),
    ],
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
    rubric: RubricOption = None,
    fp_cost: Annotated[
        float, typer.Option(help="What passing a bad row costs, for the dearest disagreements.")
    ] = 1.0,
    fn_cost: Annotated[float, typer.Option(help="What failing a good row costs.")] = 1.0,
    draws: DrawsOption = 2000,
    seed: SeedOption = 0,
    map_: MapOption = None,
    format_: FormatOption = None,
    reach: Reach,
    html: HtmlOption = None,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Set judges beside human labels: agreement, errors and calibration, each with its interval."""
    from ragassay.report import benchmark_json, render_benchmark, write_benchmark_html
    from ragassay.trust.measure import run_benchmark as run

    check_target(html, labels, store_file(store), *(rubric or []))
    with shown(reach.max_cost) as watch:
        whole = run(
            labels,
            judge,
            metric=metric,
            label=label,
            cut=cut,
            judge_cut=judge_cut,
            slice=slice_,
            cluster=cluster,
            where=where or [],
            rubrics=rubric or [],
            fp_cost=fp_cost,
            fn_cost=fn_cost,
            draws=draws,
            seed=seed,
            mapping=pairs(map_ or []),
            format=format_,
            store=store,
            **asdict(reach),
            watch=watch,
            tell=note,
        )
    found = whole.benchmark
    if json_:
        print_json(benchmark_json(found))
    else:
        render_benchmark(found, console())
    if html is not None:
        write_benchmark_html(found, html)
        note(f"wrote {html}")
    for one in whole.certificates:
        note(
            f"{one.judge} has a certificate of this, which its runs show: ragassay certificates"
            f" {one.id[:8]}"
        )
    if len(whole.certificates) < sum(
        one.judge in whole.profiles and one.n > 0 for one in found.judges
    ):
        note(
            "a judge that lost more than 5 % of its verdicts gets no certificate; the same command"
            " asks again"
        )
    silent = [one.judge for one in found.judges if not one.n]
    if silent:
        lost = {reason: n for one in found.judges if not one.n for reason, n in one.missing.items()}
        raise Incomplete(
            "E0603",
            f"{', '.join(silent)} gave no verdict.",
            where=labels,
            why=max(lost, key=lambda r: (not r.startswith("not applicable"), lost[r]), default=""),
            fix="see what is missing above; the same command asks again",
        )


@grouped
def probe(
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
    rubric: RubricOption = None,
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
    controls: ControlsOption = Controls.auto,
    details: Annotated[
        bool, typer.Option("--details", help="Also one line a probe and metric.")
    ] = False,
    reach: Reach,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Try to lead a judge astray: biases as paired changes with known answers, injections, answers
    that say nothing.
    """
    from ragassay.trust.measure import probe as run

    attacks = read_lines(strings) if strings is not None else []
    with shown(reach.max_cost) as watch:
        found = run(
            judge,
            rows=rows,
            rubrics=rubric or [],
            items=items,
            strings=attacks,
            mark=mark,
            store=store,
            controls=controls.value,
            **asdict(reach),
            watch=watch,
            tell=note,
        )
    if json_:
        print_value("probe", found)
        return
    print_lines(found.sentence, "")
    head = ("judged", "lost", "skipped", "wrong", "wrong, % [95 %]")
    print_table(
        ("family", *head, "verdict"), [(f.family, *_counts(f), f.verdict) for f in found.families]
    )
    print_lines("")
    if details:
        print_table(
            ("probe", *head),
            [(f"{p.family}: {p.probe} ({p.metric})", *_counts(p)) for p in found.probes],
        )
        print_lines("")
    for figure in found.base:
        share = "none" if figure.value is None else f"{figure.value:.0%}"
        print_lines(
            f"{figure.name}: {share} of {figure.n} unchanged rows judged as they are known to be"
        )
    print_lines(*found.notes)


def _counts(of: FamilyFigures | ProbeFigures) -> tuple[str, ...]:
    """Judged, lost, skipped and wrong pairs, and the share of wrong ones in per cent, as "12.0 [8,
    18]".
    """
    from ragassay.report import percent_interval

    rate = of.rate
    share = (
        "-"
        if rate.value is None
        else f"{rate.value * 100:.1f} {percent_interval(rate.interval)}".rstrip()
    )
    return f"{of.judged}/{of.pairs}", str(of.lost), str(of.left_out), str(of.wrong), share


def audit_table(
    table: Annotated[
        str,
        typer.Argument(
            help="Published table: CSV, JSON or JSONL with precision, recall, f1, kappa ..."
        ),
    ],
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Half of the rows of every line are positive.")
    ] = False,
    format_: FormatOption = None,
    json_: JsonOption = False,
) -> None:
    """Can the figures of a published table all be true? Says which rows are pooled, macro or
    inconsistent, and why.
    """
    from ragassay.trust import audit_table as run
    from ragassay.trust import describe

    found = run(table, balanced=balanced, format=format_)
    if json_:
        print_value("audit", found)
    else:
        print_lines(*describe(found))


class Question(StrEnum):
    """What labels are to show."""

    paired = "paired"
    unpaired = "unpaired"
    target = "target"
    width = "width"


def plan_labels(
    question: Annotated[
        Question,
        typer.Argument(
            help=(
                "paired: two judges or runs on the same rows; unpaired: on different rows; target:"
                " one rate against a "
                "fixed one; width: one rate to within a half-width."
            )
        ),
    ] = Question.paired,
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
    json_: JsonOption = False,
) -> None:
    """How many rows must be labelled to see a difference, or what will so many show? Asked before
    labels are bought.
    """
    from ragassay.scoring.design import plan

    try:
        found = plan(
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
    if json_:
        print_value("plan", found)
        return
    print_lines(found.sentence)
    for text in found.warnings:
        print_lines(f"beware: {text}")


class Method(StrEnum):
    """How rows are chosen for labelling."""

    active = "active"
    stratified = "stratified"
    uniform = "uniform"


class Of(StrEnum):
    """What labels are set against."""

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
RunMetricOption = Annotated[
    str | None,
    typer.Option(
        "--metric", "-m", help="What is labelled [default: the run's only one with a pass mark]."
    ),
]
label_app = typer.Typer(
    help="Choose rows for people to label, and take their labels in.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@label_app.command(name="next")
def label_next(
    run: RunArgument = "last",
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The sheet: .csv or .jsonl.")
    ] = Path("labels.csv"),
    count: Annotated[int, typer.Option("--count", "-n", help="How many rows.")] = 100,
    metric: RunMetricOption = None,
    method: Annotated[
        Method, typer.Option(help="active: rows of which the judge is unsure come more often.")
    ] = Method.active,
    audit: Annotated[float, typer.Option(help="Share drawn with one chance for all rows.")] = 0.2,
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
    scale: Annotated[str, typer.Option(help="Values that a label may take, with commas.")] = "0,1",
    seed: SeedOption = 0,
    store: StoreOption = None,
) -> None:
    """Choose the rows that a person should label next, and write them as a sheet."""
    from ragassay.scoring.design import plan
    from ragassay.scoring.ppi import LEAST_LABELS
    from ragassay.trust.measure import next_rows

    check_target(output, store_file(store), *(exclude or []))
    found = next_rows(
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
    audited = sum(row.stream == "audit" for row in found.rows)
    for text in found.notes:
        note(text)
    print_lines(
        f"wrote {output}: {len(found.rows)} of {found.pool} rows, {audited} of them drawn with one"
        f" chance for all. Fill in the column label ({scale}), then: ragassay label import"
        f" {found.run} {output}",
        "What they can show, were all rows independent:"
        f" {plan('width', labels=len(found.rows)).sentence}"
        + (
            f" They come from {found.clusters} clusters: expect less."
            if found.clusters < len(found.rows)
            else ""
        )
        + " Other sizes: ragassay plan-labels",
    )
    if len(found.rows) < LEAST_LABELS:
        note(
            f"with fewer than {LEAST_LABELS} labels in all, the judge's verdicts cannot help the"
            " estimate"
        )


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
    from ragassay.trust.measure import import_labels

    found = import_labels(
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
        print_value("labels", found)
        return
    file = found.file
    print_lines(
        f"{len(file.labels)} labels of {', '.join(found.metrics) or 'nothing'}: {found.kept} new or"
        f" changed, {file.unlabelled} rows not labelled yet"
    )
    for text in (*file.unknown, *file.notes):
        note(text)
    if file.unlabelled and any(one.inclusion_probability is not None for one in file.labels):
        note(
            f"{file.unlabelled} rows of the sheet were drawn and have no label: where people left"
            " out the hard ones, every estimate is off; label them before you estimate"
        )
    if found.metrics:
        print_lines(f"next: ragassay estimate {found.run} --metric '{found.metrics[0]}'")


@label_app.command(name="agreement")
def label_agreement(
    sheets: Annotated[
        list[str] | None,
        typer.Argument(help="Label files, one a person or with a column annotator."),
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
    """How far do people agree with each other, and may the judge stand in for one of them?"""
    from ragassay.trust.measure import people_agreement

    found = people_agreement(
        run,
        sheets or [],
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
    if json_:
        print_value("people", found)
        return
    people = found.people
    print_lines(f"{people.shared} of {people.rows} rows have labels of two people or more", "")
    print_figures(people.figures)
    for pair in people.pairs:
        print_lines("", f"{pair.a} and {pair.b}, {pair.n} rows")
        print_figures(pair.figures)
    if found.ties:
        print_lines("", f"tied, a further person should decide: {', '.join(found.ties[:20])}")
    for text in people.warnings:
        print_lines(f"beware: {text}")
    if found.judge is not None:
        print_lines("", *_stand_in(found.judge, epsilon))


def estimate(
    run: RunArgument = "last",
    labels: Annotated[
        str | None, typer.Option(help="Label file [default: the labels imported for the run].")
    ] = None,
    metric: RunMetricOption = None,
    label: ColumnOption = "label",
    of: Annotated[
        Of | None, typer.Option(help="Set labels against pass or fail, or against the score.")
    ] = None,
    scale: ScaleOption = None,
    cut: CutOption = None,
    by: Annotated[
        str | None, typer.Option("--slice", help="Slice field to estimate by as well.")
    ] = None,
    beside: Annotated[
        str | None, typer.Option(help="Another judge's run of the same rows, to help as well.")
    ] = None,
    seed: SeedOption = 0,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """What is a metric of a run really? The judge on all rows, corrected by the labels that people
    gave a few.
    """
    from ragassay.trust.measure import estimate as run_estimate

    found = run_estimate(
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
    if json_:
        print_value("estimate", found)
        return
    print_lines(*_corrected(found))


def _corrected(found: Correction) -> list[str]:
    """The correction in words."""
    from ragassay.report import number_words

    def said(value: float | None, interval: Interval | None = None) -> str:
        return number_words(value, interval, absent="not defined")

    one = found.estimate
    lines = [
        f"{found.metric}: {said(one.value, one.interval)} by {one.method}",
        f"  the judge says      {said(one.judge)} over {found.rows} rows" + _off(found),
        (
            f"  the labels alone    {said(one.labels_only, one.labels_only_interval)} over"
            f" {found.used} rows"
        ),
    ]
    if one.effective_labels is not None:
        lines.append(
            f"  effective labels    {one.effective_labels:.0f}, of {found.used} that were given"
        )
    if one.second is not None:
        lines.append(
            f"  weights             {one.weight:.2f} for the judge, {one.second:.2f} for the one"
            " beside it"
        )
    lines += [f"  set aside           {count} {reason}" for reason, count in found.unused.items()]
    lines += [
        f"  beware: {text}" for text in (*([one.reason] if one.reason else []), *found.warnings)
    ]
    for part in found.slices:
        lines.append(
            f"  {part.slice}={part.value}: {said(part.estimate.value, part.estimate.interval)}, "
            f"{part.estimate.n_labelled} labels of {part.estimate.n_total} rows"
        )
    return lines


def _off(found: Correction) -> str:
    """By how much the judge is off, where that is beyond chance."""
    reach, judge = found.estimate.interval, found.estimate.judge
    if judge is None or reach is None or found.bias is None:
        return ""
    if reach.low <= judge <= reach.high:
        return ", not shown to be off"
    return f", which is {abs(found.bias):.3f} too {'high' if found.bias > 0 else 'low'}"


def _stand_in(test: AltTest, epsilon: float) -> list[str]:
    """The alternative annotator test in words."""
    answer = {True: "may", False: "may not", None: "cannot be said to"}[test.may_replace]
    lines = [
        f"The judge {answer} stand in for a person (alternative annotator test, epsilon"
        f" {epsilon:g})"
    ]
    if test.winning_rate is not None:
        lines[0] += f": it beats {test.winning_rate:.0%} of them"
    for person in test.people:
        said = person.reason
        if person.judge_rate is not None and person.person_rate is not None:
            said = (
                f"{'beaten' if person.beaten else 'not beaten'}; the judge is at least as good on"
                f" {person.judge_rate:.0%} of {person.n} rows, they are on {person.person_rate:.0%}"
                + (f" ({said})" if said else "")
            )
        lines.append(f"  {person.person}: {said}")
    lines += [f"  beware: {text}" for text in test.warnings]
    return lines


def _numbers(text: str | None) -> tuple[float, ...]:
    if text is None:
        return ()
    try:
        found = tuple(float(piece) for piece in text.split(","))
    except ValueError:
        found = ()
    if len(set(found)) < 2 or not all(abs(number) < 1e12 for number in found):
        raise SetupError(
            "E0101",
            "A scale is two numbers or more, with commas.",
            where="--scale",
            why=text,
            fix="such as --scale 0,1,2,3",
        )
    return found
