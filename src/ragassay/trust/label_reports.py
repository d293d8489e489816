"""What labels of people say, in lines and tables: sheets, imports, agreement, corrected figures,
and a run set beside labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragassay.core import Incomplete
from ragassay.core.counting import count
from ragassay.report import number_words
from ragassay.report.tables import Block, Table, figure_table
from ragassay.scoring.annotators import JUDGE

if TYPE_CHECKING:
    from ragassay.core import Interval
    from ragassay.scoring.annotators import AltTest, PairAgreement, PersonTest
    from ragassay.scoring.correction import Correction
    from ragassay.scoring.labellers import LabellerModel
    from ragassay.trust.measure.benchmarks import BenchmarkResult
    from ragassay.trust.measure.chunk_labels import PrecisionAt
    from ragassay.trust.measure.labelling import LabelImport
    from ragassay.trust.measure.marked_stretches import StretchBenchmark
    from ragassay.trust.measure.people import PeopleResult
    from ragassay.trust.sampling import Choice

_MOST_TIES = 20  # their ids stand on one line


def benchmark_notes(result: BenchmarkResult) -> list[str]:
    """Which judges got a certificate, and why others did not."""
    notes = [
        f"{certificate.judge} has a certificate of this, which its runs show: ragassay certificates"
        f" {certificate.id[:8]}"
        for certificate in result.certificates
    ]
    if result.uncertified:
        notes.append(
            "a judge that lost more than 5 % of its verdicts gets no certificate; the same command"
            " asks again"
        )
    return notes


def check_verdicts(result: BenchmarkResult, labels: str) -> None:
    """Raise Incomplete E0603 where a judge gave no verdict. labels: the file, for the message."""
    silent = [judge for judge in result.benchmark.judges if not judge.n]
    if not silent:
        return
    lost: dict[str, int] = {}
    for judge in silent:
        lost |= judge.missing
    raise Incomplete(
        "E0603",
        f"{', '.join(judge.judge for judge in silent)} gave no verdict.",
        where=labels,
        why=_main_reason(lost),
        fix="see what is missing above; the same command asks again",
    )


def _main_reason(lost: dict[str, int]) -> str:
    """The most frequent reason, "not applicable" last: it is the least that can be acted on."""
    applicable = {
        reason: n for reason, n in lost.items() if not reason.startswith("not applicable")
    }
    reasons = applicable or lost
    return max(reasons, key=reasons.__getitem__, default="")


def sheet_report(choice: Choice, output: object) -> list[str]:
    """What was written for people to label, and what the labels can show."""
    from ragassay.scoring.design import plan

    audited = sum(row.stream == "audit" for row in choice.rows)
    drawn = f"{audited} of them drawn with one chance for all"
    if audited == len(choice.rows):
        drawn = "drawn with one chance for all"
    power = "One label shows nothing of other rows."
    if len(choice.rows) > 1:
        power = (
            "What they can show, were all rows independent:"
            f" {plan('width', labels=len(choice.rows)).sentence}"
        )
    if choice.clusters < len(choice.rows):
        power += f" They come from {choice.clusters} clusters: expect less."
    scale = ",".join(f"{point:g}" for point in choice.scale)
    return [
        f"wrote {output}: {len(choice.rows):,} of {count(choice.pool, 'row')}, {drawn}."
        f" Fill in the column label ({scale}), then: ragassay label import {choice.run} {output}",
        f"{power} Other sizes: ragassay plan-labels",
    ]


def sheet_warning(choice: Choice) -> str:
    """What to beware of a small sheet, "" for a large one."""
    from ragassay.scoring.ppi import LEAST_LABELS

    if len(choice.rows) >= LEAST_LABELS:
        return ""
    return (
        f"with fewer than {LEAST_LABELS} labels in all, the judge's verdicts cannot help the"
        " estimate"
    )


def import_summary(result: LabelImport) -> list[str]:
    """How many labels of which metrics were taken in, and on which scale they were read."""
    from ragassay.runs.label_scales import scale_words

    file = result.file
    metrics = ", ".join(result.metrics) or "nothing"
    lines = [
        f"{count(len(file.labels), 'label of', 'labels of')} {metrics}: {result.kept} new or"
        f" changed, {count(file.unlabelled, 'row not', 'rows not')} labelled yet"
    ]
    for metric, scale in result.scales.items():
        of_metric = f"{metric}: " if len(result.scales) > 1 else ""
        lines.append(f"{of_metric}{scale_words(scale)}")
    return lines


def import_next_step(result: LabelImport) -> list[str]:
    """The command that makes use of the labels; none where they are of no metric."""
    if not result.metrics:
        return []
    return [f"next: ragassay trust {result.run} --metric '{result.metrics[0]}'"]


def import_warnings(result: LabelImport) -> list[str]:
    """What to beware of labels that were taken in."""
    file = result.file
    warnings = [*file.unknown, *file.notes]
    # A file that nobody drew rows for may well hold rows without a label.
    has_drawn_rows = any(label.inclusion_probability is not None for label in file.labels)
    if file.unlabelled and has_drawn_rows:
        rows = count(
            file.unlabelled,
            "row of the sheet was drawn and has",
            "rows of the sheet were drawn and have",
        )
        warnings.append(
            f"{rows} no label: where people left out the hard ones, every estimate is off; label"
            " them before you estimate"
        )
    return warnings


def people_report(result: PeopleResult, epsilon: float) -> list[Block]:
    """How far people agree, each pair of them, and whether the judge may stand in for one."""
    people = result.people
    blocks: list[Block] = [
        f"{people.shared} of {people.rows} rows have labels of two people or more",
        "",
        figure_table(people.figures),
    ]
    for pair in people.pairs:
        blocks += ["", f"{pair.a} and {pair.b}, {pair.n} rows", figure_table(pair.figures)]
    if result.ties:
        ties = ", ".join(result.ties[:_MOST_TIES])
        blocks += ["", f"tied, a further person should decide: {ties}"]
    blocks += [f"beware: {text}" for text in people.warnings]
    if not isinstance(result.labellers, str):
        blocks += ["", *labeller_lines(result.labellers)]
    elif result.labellers:
        blocks += ["", f"How often each person errs is not known: {result.labellers}"]
    blocks += _beside_people(result.beside)
    if result.judge is not None:
        blocks += ["", *_stand_in(result.judge, epsilon)]
    return blocks


def labeller_lines(model: LabellerModel) -> list[Block]:
    """How often each person errs, and the consensus."""
    rows = []
    for person in model.people:
        rows.append(
            (
                person.name or "(no name)",
                f"{person.labels} ({person.shared})",
                number_words(person.sensitivity, person.sensitivity_interval),
                number_words(person.specificity, person.specificity_interval),
            )
        )
    head = ("person", "labels (with two others)", "sensitivity [95 %]", "specificity [95 %]")
    return [
        "How often each person is right (Dawid and Skene), of rows that truly pass and truly fail:",
        Table(head, tuple(rows)),
        f"their consensus is expected to be wrong on {model.doubt:.1%} of {model.rows} rows, if"
        " they err apart from each other",
    ]


def _beside_people(pairs: Sequence[PairAgreement]) -> list[Block]:
    """People with each other, and the judge with each of them, by the same pass or fail."""
    rows = []
    # The pairs with the judge come last: what it is to be held against stands above them.
    for pair in sorted(pairs, key=lambda pair: JUDGE in (pair.a, pair.b)):
        found = {figure.name: figure for figure in pair.figures}
        cells = []
        for name in ("accuracy", "kappa"):
            figure = found.get(name)
            has = figure is not None and figure.value is not None
            cells.append(number_words(figure.value, figure.interval) if figure and has else "-")
        rows.append((f"{pair.a} and {pair.b}", str(pair.n), *cells))
    if not rows:
        return []
    head = ("pass or fail, of two", "rows", "agreement [95 %]", "kappa [95 %]")
    return ["", Table(head, tuple(rows))]


def _stand_in(test: AltTest, epsilon: float) -> list[str]:
    """The alternative annotator test in words."""
    answer = {True: "may", False: "may not", None: "cannot be said to"}[test.may_replace]
    first = (
        f"The judge {answer} stand in for a person (alternative annotator test, epsilon"
        f" {epsilon:g})"
    )
    if test.winning_rate is not None:
        first += f": it beats {test.winning_rate:.0%} of them"
    people = [f"  {person.person}: {_beside(person)}" for person in test.people]
    return [first, *people, *(f"  beware: {text}" for text in test.warnings)]


def _beside(person: PersonTest) -> str:
    """The judge beside one person."""
    if person.judge_rate is None or person.person_rate is None:
        return person.reason
    result = "beaten" if person.beaten else "not beaten"
    line = (
        f"{result}; the judge is at least as good on {person.judge_rate:.0%} of {person.n} rows,"
        f" they are on {person.person_rate:.0%}"
    )
    return f"{line} ({person.reason})" if person.reason else line


def correction_report(result: Correction) -> list[str]:
    """A metric of a run as the judge says it, and corrected by labels."""
    estimate = result.estimate
    labels_only = _value(estimate.labels_only, estimate.labels_only_interval)
    lines = [
        f"{result.metric}: {_value(estimate.value, estimate.interval)} by {estimate.method}",
        f"  the judge says      {_value(estimate.judge)} over {result.rows} rows{_off(result)}",
        f"  the labels alone    {labels_only} over {result.used} rows",
    ]
    if estimate.effective_labels is not None:
        lines.append(
            f"  effective labels    {estimate.effective_labels:.0f}, of {result.used} that were"
            " given"
        )
    if estimate.second is not None:
        lines.append(
            f"  weights             {estimate.weight:.2f} for the judge, {estimate.second:.2f} for"
            " the one beside it"
        )
    lines += [f"  set aside           {count} {reason}" for reason, count in result.unused.items()]
    if estimate.reason:
        lines.append(f"  beware: {estimate.reason}")
    lines += [f"  beware: {text}" for text in result.warnings]
    for part in result.slices:
        value = _value(part.estimate.value, part.estimate.interval)
        lines.append(
            f"  {part.slice}={part.value}: {value},"
            f" {count(part.estimate.n_labelled, 'label of', 'labels of')}"
            f" {part.estimate.n_total} rows"
        )
    return lines


def stretch_report(result: StretchBenchmark) -> list[Block]:
    """How far each judge marks what people marked as unsupported."""
    blocks: list[Block] = [
        f"people marked {result.stretches} stretches as unsupported, in {result.marked} of"
        f" {result.rows} responses ({result.clusters} clusters, field {result.field})"
    ]
    for judge in result.judges:
        lost = f", {judge.missing} without a verdict" if judge.missing else ""
        if judge.unjudged:
            lost += (
                f"; {count(judge.unjudged, 'claim without one is', 'claims without one are')} left"
                " out of both sides"
            )
        blocks += [
            "",
            f"{judge.judge} marks the claims that {result.metric} fails: {judge.rows} rows{lost}"
            if not judge.judge.startswith("recorded:")
            else f"{judge.judge}: {judge.rows} rows{lost}",
            figure_table(judge.figures),
        ]
    if result.marked == result.rows:
        blocks.append(
            "beware: every response here has a mark, so that precision is of such responses alone;"
            " write [] where people found nothing to mark"
        )
    return [
        *blocks,
        "",
        "characters: of those that one side marks, the share that the other marks too; a stretch is"
        " right or found where half of it is",
    ]


def precision_report(result: PrecisionAt) -> list[str]:
    """Precision at k as the judge has it, and corrected by labels of chunks."""
    value = _value(result.value, result.interval)
    lines = [f"precision@{result.k} by {result.metric}, corrected: {value}"]
    if result.judge is not None:
        lines.append(f"  the judge says      {_value(result.judge)} over {result.rows} rows")
    lines.append(f"  places              {result.filled} of {result.k * result.rows} hold a chunk")
    if result.correction is not None:
        lines += [f"  {line}" for line in correction_report(result.correction)]
    return lines


def _value(value: float | None, interval: Interval | None = None) -> str:
    return number_words(value, interval, absent="not defined")


def _off(result: Correction) -> str:
    """By how much the judge is off, where that is beyond chance."""
    interval, judge = result.estimate.interval, result.estimate.judge
    if judge is None or interval is None or result.bias is None:
        return ""
    # The judge's own figure inside the interval of the corrected one: it may be right.
    if interval.low <= judge <= interval.high:
        return ", not shown to be off"
    return f", which is {abs(result.bias):.3f} too {'high' if result.bias > 0 else 'low'}"
