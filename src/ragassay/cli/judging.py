"""Which commands make something of judges that were set beside labels, and what each calls."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragassay.cli.output import (
    console,
    note,
    pairs,
    print_figures,
    print_json,
    print_lines,
    print_table,
    print_value,
)
from ragassay.cli.output import display as shown
from ragassay.cli.parameters import (
    Compared,
    DrawsOption,
    FormatOption,
    JsonOption,
    LabelOption,
    LabelsArgument,
    LimitOption,
    MapOption,
    MetricOption,
    Reach,
    RubricOption,
    SeedOption,
    StoreOption,
    grouped,
)

if TYPE_CHECKING:
    from ragassay.scoring.calibration import CutChange, Reliable
    from ragassay.scoring.intervals import PairedResult

JudgesOption = Annotated[
    list[str], typer.Option(help="As of `ragassay benchmark`; several with commas, or repeated.")
]
OneJudgeOption = Annotated[
    str,
    typer.Option(
        help="'offline', 'openai:MODEL', 'recorded:NAME', 'run:ID', or a panel or cascade."
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
    judge: OneJudgeOption = "offline",
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
    compared: Compared,
    draws: DrawsOption = 2000,
    seed: SeedOption = 0,
    map_: MapOption = None,
    format_: FormatOption = None,
    reach: Reach,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Do a judge's scores hold as probabilities, would a map make them hold, and is another cut
    better? All out-of-fold.
    """
    from ragassay.report import number_words
    from ragassay.trust.measure import calibrate as run

    with shown(reach.max_cost) as watch:
        found = run(
            labels,
            judge,
            metric=metric,
            label=label,
            kinds=[each.value for each in kind or list(Kind)],
            figure=figure,
            costs=(fp_cost, fn_cost),
            folds=folds,
            **compared.options(),
            draws=draws,
            seed=seed,
            mapping=pairs(map_ or []),
            format=format_,
            store=store,
            **asdict(reach),
            watch=watch,
            tell=note,
        )
    if json_:
        print_value("calibration", found)
        return
    kept = [
        one
        for one in found.calibrations
        if one.after is not None and one.after.brier.value is not None
    ]
    if kept:
        best = min(kept, key=lambda one: (one.after and one.after.brier.value) or 0.0)
        shown_ = (
            best.gain is not None and best.gain.interval is not None and best.gain.interval.high < 0
        )
        print_lines(
            f"the best map is {best.kind}, by its Brier score"
            + ("" if shown_ else "; no map is shown to be better than the scores as they are")
        )
    print_lines(
        f"{found.judge}: {found.calibrations[0].n if found.calibrations else 0} rows"
        f"{f', {found.missing} labelled rows have no verdict' if found.missing else ''}",
        "",
    )
    rows = [
        ("as it is", one.before, one.reason)
        for one in found.calibrations[:1]
        if one.before is not None
    ]
    rows += [(one.kind, one.after, one.reason) for one in found.calibrations]  # type: ignore[misc]
    gains = {one.kind: one.gain for one in found.calibrations}

    def said(kept: Reliable | None) -> tuple[str, ...]:
        figures = () if kept is None else (kept.ece, kept.brier)
        return tuple(number_words(f.value, f.interval, absent="not defined") for f in figures) or (
            "-",
            "-",
        )

    print_table(
        ("scores", "ECE [95 %]", "Brier [95 %]", "squared error, change [95 %]"),
        [(name, *said(kept), _change(gains.get(name))) for name, kept, _ in rows],  # type: ignore[call-overload]
    )
    notes = dict.fromkeys(reason for _, _, reason in rows if reason)
    print_lines(
        *(f"beware: {reason}" for reason in notes), *([f"note: {found.note}"] if found.note else [])
    )
    print_lines("", *_cut_words(found.change))


def _cut_words(change: CutChange) -> list[str]:
    from ragassay.report import number_words

    if change.cut is None or change.difference is None:
        return [f"cut: {change.reason or 'no other cut can be tried'}"]
    verdict = "adopt it" if change.adopt else "keep the old one: the gain may be chance"
    lines = [
        (
            f"cut: {change.old_cut:g} now; best by {change.figure}: {change.cut:g}. Out-of-fold,"
            f" {change.figure} goes from {change.old:.3f} to {change.new:.3f},"
            f" {number_words(change.difference, change.interval, sign=True)}: {verdict}"
        ),
    ]
    return [*lines, f"beware: {change.reason}"] if change.reason else lines


@grouped
def panel(
    labels: LabelsArgument,
    judge: JudgesOption,
    *,
    metric: MetricOption = None,
    label: LabelOption = "label",
    compared: Compared,
    draws: DrawsOption = 2000,
    seed: SeedOption = 0,
    map_: MapOption = None,
    format_: FormatOption = None,
    reach: Reach,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Are several judges better than the best of them, and how many judges are they really worth?"""
    from ragassay.trust.measure import panel as run

    with shown(reach.max_cost) as watch:
        found = run(
            labels,
            judge,
            metric=metric,
            label=label,
            **compared.options(),
            draws=draws,
            seed=seed,
            mapping=pairs(map_ or []),
            format=format_,
            store=store,
            **asdict(reach),
            watch=watch,
            tell=note,
        )
    if json_:
        print_value("panel", found)
        return
    vote = found.rules[0].gain
    beats = "is not shown to differ from"
    if vote.p is not None and vote.p < 0.05 and vote.difference:
        beats = "is better than" if vote.difference > 0 else "is worse than"
    print_lines(
        f"The majority {beats} {found.best} alone: {_change(vote)} of accuracy",
        f"{len(found.judges)} judges on {found.n} rows in {found.clusters}"
        f" clusters{f'; {found.dropped} rows were not judged by all' if found.dropped else ''}; a"
        " tie counts half",
        "",
    )
    print_table(
        ("judge", "accuracy", "errors go with those of"),
        [
            (name, f"{found.accuracies[at]:.3f}", _closest(found.judges, found.correlation[at], at))
            for at, name in enumerate(found.judges)
        ],
    )
    print_lines("")
    print_figures([found.mean_correlation, found.effective])
    print_lines("")
    print_table(
        ("rule", "accuracy", "kappa", "against the best single judge [95 %]"),
        [
            (
                r.name,
                f"{r.accuracy:.3f}",
                "-" if r.kappa is None else f"{r.kappa:.3f}",
                _change(r.gain),
            )
            for r in found.rules
        ],
    )
    print_lines(
        "",
        "A judge named panel:A+B+C gives the majority's verdict; mean and weighted are shown for"
        " comparison.",
        f"If errors were independent the majority would be right on {found.independent:.1%} of"
        f" rows; it is on {found.real:.1%}.",
    )


def _closest(names: tuple[str, ...], correlation: tuple[float | None, ...], at: int) -> str:
    others = [
        (value, names[i]) for i, value in enumerate(correlation) if value is not None and i != at
    ]
    return "{1} ({0:.2f})".format(*max(others)) if others else "-"


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
    compared: Compared,
    map_: MapOption = None,
    format_: FormatOption = None,
    reach: Reach,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """From which confidence on is a cheap judge's verdict enough? Certified on labels; says how
    many rows that covers.
    """
    from ragassay.trust.measure import cascade as run

    with shown(reach.max_cost) as watch:
        found = run(
            labels,
            cheap,
            expensive=expensive,
            agreement=agreement,
            confidence=confidence,
            metric=metric,
            label=label,
            **compared.options(),
            mapping=pairs(map_ or []),
            format=format_,
            store=store,
            **asdict(reach),
            watch=watch,
            tell=note,
        )
    if json_:
        print_value("cascade", found)
        return
    one = found.guarantee
    wanted = f"agreement of {agreement * 100:.4g}% with people"
    if one.threshold is None:
        print_lines(f"{found.cheap}: nothing can be certified for {wanted}: {one.reason}")
        print_lines(
            f"on all {one.n} rows it agrees with people on {found.overall:.1%}; what helps is more"
            " labels, or to ask for less agreement"
        )
    else:
        held = found.answered.interval if found.answered is not None else None
        print_lines(
            f"{found.cheap}: {wanted} is certified from the judge's confidence {one.threshold:.4g}"
            f" on (by a rule that certifies wrongly at most {(1 - confidence) * 100:.3g}% of the"
            " time)",
            f"it then answers {one.coverage:.1%} of {one.n} rows"
            + (f", on which it agrees on {one.agreement:.1%}" if one.agreement is not None else "")
            + (f" [{held.low:.1%}, {held.high:.1%}]" if held is not None else "")
            + "; on these labels, by which the threshold was chosen",
        )
        if one.reason:
            print_lines(f"beware: {one.reason}")
    if found.accuracy is not None and found.expensive is not None:
        print_lines(
            f"on these labels the whole cascade agrees with people on {found.accuracy:.1%} of"
            f" {found.rows} rows, the expensive judge alone on {found.expensive:.1%}"
        )
    if found.uri:
        print_lines(f"to run it: --judge '{found.uri}'")
    elif one.threshold and expensive is None and not found.cheap.startswith("recorded:"):
        print_lines(
            f"to run it: --judge '{found.cheap_uri}>openai:MODEL@{one.threshold!r}', with a MODEL"
            " of yours"
        )
    elif one.threshold is not None and expensive is not None:
        if found.cheap.startswith("recorded:"):
            why = (
                "confidence here is a recorded score's distance from its cut, which no cascade"
                " goes by"
            )
        elif one.threshold > 0:
            why = "the expensive judge is recorded, and nobody can ask it"
        else:
            why = "the cheap judge may answer every row, and needs no other"
        print_lines(f"nothing to run: {why}")


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
    limit: LimitOption = None,
    rubric: RubricOption = None,
    draws: DrawsOption = 2000,
    seed: SeedOption = 0,
    map_: MapOption = None,
    format_: FormatOption = None,
    reach: Reach,
    store: StoreOption = None,
    json_: JsonOption = False,
) -> None:
    """Does a judge repeat itself? The same rows are judged k times anew: how many change sides?"""
    from ragassay.trust.measure import repeat as run

    with shown(reach.max_cost) as watch:
        found = run(
            rows,
            judge,
            metric=metric,
            samples=samples,
            temperature=temperature,
            draws=draws,
            seed=seed,
            limit=limit,
            rubrics=rubric or [],
            mapping=pairs(map_ or []),
            format=format_,
            store=store,
            **asdict(reach),
            watch=watch,
            tell=note,
        )
    if json_:
        print_value("repeatability", found)
        return
    if found.flip_rate.value is not None:
        reach_ = found.flip_rate.interval
        most = f" (up to {reach_.high:.0%} could)" if reach_ is not None else ""
        print_lines(
            f"{found.flip_rate.value:.1%} of the rows changed sides in {found.samples}"
            f" samples{most}"
        )
    print_lines(
        f"{found.samples} samples of {found.n}"
        f" rows{f', {found.lost} verdicts lost' if found.lost else ''}"
        f"{f', {found.alone} rows with fewer than two verdicts left out' if found.alone else ''}",
        "",
    )
    print_figures([found.flip_rate, found.two_differ, found.kappa])


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
    """What was measured of judges against people: the certificates that came with RagAssay and
    those of your benchmarks.
    """
    from ragassay.report import certificates_json, render_certificate, render_certificates
    from ragassay.trust.measure import certificates as run

    found: tuple[Any, ...] = run(
        which, judge=judge, metric=metric, output=output, take=take, store=store
    )
    if output is not None:
        note(f"wrote {len(found)} certificates to {output}")
        return
    if json_:
        print_json(certificates_json(found))
    elif which is not None:
        render_certificate(found[0], console())
    else:
        render_certificates(found, console())


def _change(gain: PairedResult | None) -> str:
    from ragassay.report import number_words

    return (
        "-" if gain is None else number_words(gain.difference, gain.interval, absent="-", sign=True)
    )
