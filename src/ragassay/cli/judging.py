"""The commands that calibrate, join, combine and repeat judges, and the one for certificates."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from ragassay.cli.output import console, display, note, print_json, print_result
from ragassay.cli.parameters import (
    DrawsOption,
    JsonOption,
    JudgedRowOptions,
    LabelledRows,
    LabelOption,
    LabelsArgument,
    LimitedJudgedRowOptions,
    MetricOption,
    SeedOption,
    StoreOption,
    grouped,
)

JudgesOption = Annotated[
    list[str], typer.Option(help="As of `ragassay benchmark`; several with commas, or repeated.")
]
OneJudgeOption = Annotated[
    str,
    typer.Option(
        help="'offline', 'openai:MODEL', 'recorded:NAME', 'run:ID', or a panel or cascade."
    ),
]


RunsOwnJudgeOption = Annotated[
    str | None,
    typer.Option(
        help=(
            "'offline', 'openai:MODEL', 'recorded:NAME', 'run:ID', or a panel or cascade [default:"
            " of a run its own, else offline]."
        )
    ),
]


class Kind(StrEnum):
    """How scores are mapped to probabilities."""

    platt = "platt"
    isotonic = "isotonic"
    beta = "beta"


@grouped
def calibrate(
    labels: LabelsArgument,
    *,
    judge: RunsOwnJudgeOption = None,
    metric: MetricOption = None,
    label: LabelOption = "label",
    kind: Annotated[
        list[Kind] | None, typer.Option(help="Map [default: all three]. Repeatable.")
    ] = None,
    figure: Annotated[
        str, typer.Option(help="What a better cut is better by: kappa, f1, cost ...")
    ] = "kappa",
    fp_cost: Annotated[
        float, typer.Option(help="What passing a bad row costs (--figure cost).")
    ] = 1.0,
    fn_cost: Annotated[
        float, typer.Option(help="What failing a good row costs (--figure cost).")
    ] = 1.0,
    folds: Annotated[int, typer.Option(help="Folds; a cluster is never split.")] = 5,
    save: Annotated[
        str | None,
        typer.Option(help="Store the best map as the judge calibrated:NAME, which runs."),
    ] = None,
    compared: LabelledRows,
    draws: DrawsOption = 2000,
    seed: SeedOption = 0,
    judging: JudgedRowOptions,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Test out-of-fold whether a judge's scores hold as probabilities, whether a map makes them
    hold, and whether another cut is better.
    """
    from ragassay.trust.judge_reports import calibration_report
    from ragassay.trust.measure import calibrate as run

    with display(judging["max_cost"]) as watch:
        result = run(
            labels,
            judge,
            metric=metric,
            label=label,
            kinds=[name.value for name in kind or list(Kind)],
            figure=figure,
            costs=(fp_cost, fn_cost),
            folds=folds,
            save=save,
            **compared.options(),
            draws=draws,
            seed=seed,
            **judging,
            store=store,
            watch=watch,
            tell=note,
        )
    print_result("calibration", result, json_, calibration_report)


@grouped
def panel(
    labels: LabelsArgument,
    judge: JudgesOption,
    *,
    metric: MetricOption = None,
    label: LabelOption = "label",
    compared: LabelledRows,
    draws: DrawsOption = 2000,
    seed: SeedOption = 0,
    judging: JudgedRowOptions,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Compare the majority of several judges with the best of them, and say how many independent
    judges they are worth.
    """
    from ragassay.trust.judge_reports import panel_report
    from ragassay.trust.measure import panel as run

    with display(judging["max_cost"]) as watch:
        result = run(
            labels,
            judge,
            metric=metric,
            label=label,
            **compared.options(),
            draws=draws,
            seed=seed,
            **judging,
            store=store,
            watch=watch,
            tell=note,
        )
    print_result("panel", result, json_, panel_report)


@grouped
def cascade(
    labels: LabelsArgument,
    *,
    cheap: Annotated[str, typer.Option(help="The judge that answers first.")] = "offline",
    expensive: Annotated[
        str | None, typer.Option(help="The judge of the other rows, to say how good both are.")
    ] = None,
    agreement: Annotated[
        float, typer.Option(help="Share on which the cheap one has to agree with people.")
    ] = 0.9,
    confidence: Annotated[float, typer.Option(help="How sure that has to be.")] = 0.9,
    metric: MetricOption = None,
    label: LabelOption = "label",
    compared: LabelledRows,
    judging: JudgedRowOptions,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Certify on labels from which confidence on a cheap judge's verdict is enough, and say how
    many rows that covers.
    """
    from ragassay.trust.judge_reports import cascade_report
    from ragassay.trust.measure import cascade as run

    with display(judging["max_cost"]) as watch:
        result = run(
            labels,
            cheap,
            expensive=expensive,
            agreement=agreement,
            confidence=confidence,
            metric=metric,
            label=label,
            **compared.options(),
            **judging,
            store=store,
            watch=watch,
            tell=note,
        )
    report = partial(
        cascade_report, agreement=agreement, confidence=confidence, expensive=expensive
    )
    print_result("cascade", result, json_, report)


@grouped
def repeat(
    rows: Annotated[str, typer.Argument(help="File of rows.")],
    metric: Annotated[str, typer.Option("--metric", "-m", help="Metric with a pass mark.")],
    *,
    judge: Annotated[
        str, typer.Option(help="'openai:MODEL', 'offline', or a panel or cascade.")
    ] = "offline",
    samples: Annotated[
        int, typer.Option("--samples", "-k", help="How often the same is asked.")
    ] = 5,
    temperature: Annotated[float, typer.Option(help="Temperature of every sample.")] = 1.0,
    draws: DrawsOption = 2000,
    seed: SeedOption = 0,
    judging: LimitedJudgedRowOptions,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Have a judge judge the same rows k times anew, and count the rows whose verdict changes."""
    from ragassay.trust.judge_reports import repeat_report
    from ragassay.trust.measure import repeat as run

    with display(judging["max_cost"]) as watch:
        result = run(
            rows,
            judge,
            metric=metric,
            samples=samples,
            temperature=temperature,
            draws=draws,
            seed=seed,
            **judging,
            store=store,
            watch=watch,
            tell=note,
        )
    print_result("repeatability", result, json_, repeat_report)


def certificates(
    which: Annotated[
        str | None, typer.Argument(help="Id of one, or its start, to see it in full.")
    ] = None,
    judge: Annotated[str | None, typer.Option(help="Only those of this judge.")] = None,
    metric: Annotated[
        str | None, typer.Option("--metric", "-m", help="Only those of this metric.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write them to a JSON file.")
    ] = None,
    take: Annotated[
        Path | None, typer.Option("--import", help="Take the certificates of such a file in.")
    ] = None,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """List what was measured of judges against people: the certificates that came with RagAssay and
    those of your benchmarks.
    """
    from ragassay.report import certificates_json, render_certificate, render_certificates
    from ragassay.runs.trust import caveat
    from ragassay.trust.measure import certificates as run

    result: tuple[Any, ...] = run(
        which, judge=judge, metric=metric, output=output, take=take, store=store
    )
    # What was written to a file is not printed as well; --json and the tables are for the screen.
    if output is not None:
        note(f"wrote {len(result)} certificates to {output}")
        return
    if json_:
        print_json(certificates_json(result))
    elif which is not None:
        render_certificate(result[0], console(), caveat(result[0]))
    else:
        caveats = {each.id: caveat(each) for each in result if caveat(each)}
        render_certificates(result, console(), caveats)
