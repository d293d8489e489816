"""What was measured of judges, in lines and tables: probes, calibrations, panels, cascades,
repetitions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ragassay.core.counting import count
from ragassay.report import number_words, percent_interval
from ragassay.report.tables import Block, Table, figure_table

if TYPE_CHECKING:
    from ragassay.core import Certificate
    from ragassay.scoring.calibration import Calibration, CutChange, Reliable
    from ragassay.scoring.intervals import PairedResult
    from ragassay.scoring.panels import Panel, Repeatability
    from ragassay.trust import BatteryResult, FamilyFigures, ProbeFigures
    from ragassay.trust.measure.calibration import CalibrationResult
    from ragassay.trust.measure.cascades import CascadeResult

_SIGNIFICANT = 0.05  # as everywhere in reports


def probe_report(result: BatteryResult, *, details: bool = False) -> list[Block]:
    """Attack families with their verdicts. details: also one row a probe and metric."""
    head = ("judged", "lost", "skipped", "wrong", "wrong, % [95 %]")
    families = [(family.family, *_counts(family), family.verdict) for family in result.families]
    blocks: list[Block] = [result.sentence, ""]
    blocks += [Table(("family", *head, "verdict"), tuple(families)), ""]
    if details:
        probes = [
            (f"{probe.family}: {probe.probe} ({probe.metric})", *_counts(probe))
            for probe in result.probes
        ]
        blocks += [Table(("probe", *head), tuple(probes)), ""]
    for figure in result.base:
        share = "none" if figure.value is None else f"{figure.value:.0%}"
        blocks.append(
            f"{figure.name}: {share} of {figure.n} unchanged rows judged as they are known to be"
        )
    return [*blocks, *result.notes]


def _counts(figures: FamilyFigures | ProbeFigures) -> tuple[str, ...]:
    """Judged, lost, skipped and wrong pairs, and the share of wrong ones in per cent, as "12.0 [8,
    18]".
    """
    rate = figures.rate
    share = "-"
    if rate.value is not None:
        share = f"{rate.value * 100:.1f} {percent_interval(rate.interval)}".rstrip()
    judged = f"{figures.judged}/{figures.pairs}"
    return judged, str(figures.lost), str(figures.left_out), str(figures.wrong), share


def calibration_report(result: CalibrationResult) -> list[Block]:
    """Whether scores hold as probabilities, before and after each map, and the best cut."""
    blocks: list[Block] = [*_best_map(result.calibrations)]
    first = result.calibrations[0] if result.calibrations else None
    rows = f"{result.judge}: {0 if first is None else first.n} rows"
    if result.missing:
        rows += f", {count(result.missing, 'labelled row has', 'labelled rows have')} no verdict"
    blocks += [rows, ""]
    cells = []
    reasons = []
    if first is not None and first.before is not None:
        cells.append(("as it is", *_reliability(first.before), "-"))
        reasons.append(first.reason)
    for calibration in result.calibrations:
        after = _reliability(calibration.after)
        cells.append((calibration.kind, *after, _change(calibration.gain)))
        reasons.append(calibration.reason)
    head = ("scores", "ECE [95 %]", "Brier [95 %]", "squared error, change [95 %]")
    blocks.append(Table(head, tuple(cells)))
    # Few labels are the same reason for every map: it is given once.
    blocks += [f"beware: {reason}" for reason in dict.fromkeys(reasons) if reason]
    if result.note:
        blocks.append(f"note: {result.note}")
    if result.saved is None:
        blocks.append(
            "a map is used by a judge: --save NAME stores the best one as calibrated:NAME"
        )
    return [*blocks, "", *_cut_lines(result.change), *_saved_lines(result.saved)]


def _saved_lines(saved: Certificate | None) -> list[str]:
    """The judge that was stored, its own figures, and how to run it."""
    if saved is None or saved.score_map is None:
        return []
    score_map = saved.score_map
    words = []
    for name in ("kappa", "balanced_accuracy", "brier"):
        figure = saved.figure(name)
        if figure is not None:
            value = number_words(figure.value, figure.interval, absent="not defined")
            words.append(f"{name.replace('_', ' ')} {value}")
    return [
        "",
        f"stored: calibrated:{score_map.name}, {score_map.judge} on {score_map.metric} by the"
        f" {score_map.kind} map; a row passes from a probability of {score_map.cut:g} on",
        f"  out-of-fold on {saved.n} labels: {', '.join(words)} (certificate {saved.id[:8]})",
        f"next: ragassay evaluate ROWS --judge calibrated:{score_map.name} --metrics"
        f" '{score_map.metric}'",
    ]


def _best_map(calibrations: Iterable[Calibration]) -> list[str]:
    """Which map is the best, where any could be fitted."""
    briers = [
        (calibration.after.brier.value, calibration)
        for calibration in calibrations
        if calibration.after is not None and calibration.after.brier.value is not None
    ]
    if not briers:
        return []
    # By the score alone: calibrations themselves have no order.
    _, best = min(briers, key=lambda brier: brier[0])
    line = f"the best map is {best.kind}, by its Brier score"
    interval = None if best.gain is None else best.gain.interval
    # The gain is a change of squared error: below 0 is better.
    if interval is None or interval.high >= 0:
        line += "; no map is shown to be better than the scores as they are"
    return [line]


def _reliability(scores: Reliable | None) -> tuple[str, str]:
    """Expected calibration error and Brier score with their intervals."""
    if scores is None:
        return "-", "-"
    ece, brier = scores.ece, scores.brier
    return (
        number_words(ece.value, ece.interval, absent="not defined"),
        number_words(brier.value, brier.interval, absent="not defined"),
    )


def _cut_lines(change: CutChange) -> list[str]:
    if change.cut is None or change.difference is None:
        return [f"cut: {change.reason or 'no other cut can be tried'}"]
    difference = number_words(change.difference, change.interval, sign=True)
    lines = [
        f"cut: {change.old_cut:g} now; best by {change.figure}: {change.cut:g}. Out-of-fold,"
        f" {change.figure} goes from {change.old:.3f} to {change.new:.3f}, {difference}:"
        f" {_cut_advice(change)}"
    ]
    if change.reason:
        lines.append(f"beware: {change.reason}")
    return lines


def _cut_advice(change: CutChange) -> str:
    """Whether to take the new cut, and why not."""
    if change.adopt:
        return "adopt it"
    # Of costs less is better, of every other figure more.
    sign = -1 if change.figure == "cost" else 1
    if change.interval is not None:
        best_gain = max(sign * change.interval.low, sign * change.interval.high)
        if best_gain < 0:
            return "keep the old one: it is better"
    if change.difference is not None and sign * change.difference <= 0:
        return "keep the old one: the other gains nothing"
    return "keep the old one: the gain may be chance"


def panel_report(result: Panel) -> list[Block]:
    """Whether the majority of judges beats the best of them, and how alike their errors are."""
    rows = f"{len(result.judges)} judges on {result.n} rows in {result.clusters} clusters"
    if result.dropped:
        rows += f"; {count(result.dropped, 'row was', 'rows were')} not judged by all"
    judges = [
        (name, f"{result.accuracies[at]:.3f}", _closest(result, at))
        for at, name in enumerate(result.judges)
    ]
    rules = [
        (
            rule.name,
            f"{rule.accuracy:.3f}",
            "-" if rule.kappa is None else f"{rule.kappa:.3f}",
            _change(rule.gain),
        )
        for rule in result.rules
    ]
    # The first rule is the majority, which is what a panel as a judge gives.
    gain = result.rules[0].gain
    return [
        f"The majority {_comparison(gain)} {result.best} alone: {_change(gain)} of accuracy",
        f"{rows}; a tie counts half",
        "",
        Table(("judge", "accuracy", "errors go with those of"), tuple(judges)),
        "",
        figure_table([result.mean_correlation, result.effective]),
        "",
        Table(("rule", "accuracy", "kappa", "against the best single judge [95 %]"), tuple(rules)),
        "",
        "A judge named panel:A+B+C gives the majority's verdict; mean and weighted are shown for"
        " comparison.",
        f"If errors were independent the majority would be right on {result.independent:.1%} of"
        f" rows; it is on {result.real:.1%}.",
    ]


def _comparison(gain: PairedResult) -> str:
    if gain.p is None or gain.p >= _SIGNIFICANT or not gain.difference:
        return "is not shown to differ from"
    return "is better than" if gain.difference > 0 else "is worse than"


def _closest(result: Panel, at: int) -> str:
    """The judge whose errors go most with those of judge `at`, with the correlation."""
    others = [
        (value, result.judges[i])
        for i, value in enumerate(result.correlation[at])
        if value is not None and i != at
    ]
    if not others:
        return "-"
    correlation, name = max(others)
    return f"{name} ({correlation:.2f})"


def cascade_report(
    result: CascadeResult, *, agreement: float, confidence: float, expensive: str | None
) -> list[Block]:
    """From which confidence on the cheap judge is enough, and how to run the cascade.

    agreement, confidence, expensive: as asked for.
    """
    blocks: list[Block] = [*_guarantee(result, agreement, confidence)]
    if result.accuracy is not None and result.expensive is not None:
        blocks.append(
            f"on these labels the whole cascade agrees with people on {result.accuracy:.1%} of"
            f" {result.rows} rows, the expensive judge alone on {result.expensive:.1%}"
        )
        if result.expensive < result.overall:
            blocks.append(
                f"beware: the expensive judge agrees with people less ({result.expensive:.1%}) than"
                f" the cheap one on all rows ({result.overall:.1%}): a cascade to it is no gain"
            )
    return [*blocks, *_how_to_run(result, expensive)]


def _guarantee(result: CascadeResult, agreement: float, confidence: float) -> list[str]:
    guarantee = result.guarantee
    target = f"agreement of {agreement * 100:.4g}% with people"
    if guarantee.threshold is None:
        return [
            f"{result.cheap}: nothing can be certified for {target}: {guarantee.reason}",
            f"on all {guarantee.n} rows it agrees with people on {result.overall:.1%}; what helps"
            " is more labels, or to ask for less agreement",
        ]
    answered = f"it then answers {guarantee.coverage:.1%} of {guarantee.n} rows"
    if guarantee.agreement is not None:
        answered += f", on which it agrees on {guarantee.agreement:.1%}"
    interval = None if result.answered is None else result.answered.interval
    if interval is not None:
        answered += f" [{interval.low:.1%}, {interval.high:.1%}]"
    lines = [
        f"{result.cheap}: {target} is certified from the judge's confidence"
        f" {guarantee.threshold:.4g} on (by a rule that certifies wrongly at most"
        f" {(1 - confidence) * 100:.3g}% of the time)",
        f"{answered}; on these labels, by which the threshold was chosen",
    ]
    if guarantee.reason:
        lines.append(f"beware: {guarantee.reason}")
    return lines


def _how_to_run(result: CascadeResult, expensive: str | None) -> list[str]:
    """The command's option, or why there is none; nothing where nothing was asked for to run."""
    threshold = result.guarantee.threshold
    recorded = result.cheap.startswith("recorded:")
    if result.uri:
        return [f"to run it: --judge '{result.uri}'"]
    if threshold and expensive is None and not recorded:
        return [
            f"to run it: --judge '{result.cheap_uri}>openai:MODEL@{threshold!r}', with a MODEL of"
            " yours"
        ]
    if threshold is None or expensive is None:
        return []
    if recorded:
        why = (
            "confidence here is a recorded score's distance from its cut, which no cascade goes by"
        )
    elif threshold > 0:
        why = "the expensive judge is recorded, and nobody can ask it"
    else:
        why = "the cheap judge may answer every row, and needs no other"
    return [f"nothing to run: {why}"]


def repeat_report(result: Repeatability) -> list[Block]:
    """How many rows change sides when a judge is asked again."""
    blocks: list[Block] = []
    rate = result.flip_rate
    if rate.value is not None:
        line = f"{rate.value:.1%} of the rows changed sides in {result.samples} samples"
        if rate.interval is not None:
            line += f" (up to {rate.interval.high:.0%} could)"
        blocks.append(line)
    rows = f"{result.samples} samples of {result.n} rows"
    if result.lost:
        rows += f", {count(result.lost, 'verdict')} lost"
    if result.alone:
        rows += f", {count(result.alone, 'row with', 'rows with')} fewer than two verdicts left out"
    return [*blocks, rows, "", figure_table([rate, result.two_differ, result.kappa])]


def _change(gain: PairedResult | None) -> str:
    if gain is None:
        return "-"
    return number_words(gain.difference, gain.interval, absent="-", sign=True)
