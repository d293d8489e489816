"""What an optimisation came to, in lines and tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ragassay.core import shorten
from ragassay.report import number_words
from ragassay.report.tables import Block, Table
from ragassay.report.wording import count, money
from ragassay.tuning.aim import PENALTY
from ragassay.tuning.differences import differences
from ragassay.tuning.values import Part

if TYPE_CHECKING:
    from ragassay.tuning.certify import Certification, Finalist, Judged
    from ragassay.tuning.optimise import Optimisation, Prepared
    from ragassay.tuning.search import SearchResult

_SHOWN = ("f1", "precision", "recall", "kappa", "balanced_accuracy", "d_prime", "auc")
_TITLES = {"f1": "F1", "d_prime": "d'", "auc": "AUC", "balanced_accuracy": "balanced accuracy"}
_LINE = 78
_TRIED = 6


def optimisation_report(result: Optimisation, *, details: bool = False) -> list[Block]:
    """The outcome first, then why it may be believed, then what was tried. details: everything."""
    blocks: list[Block] = [*_outcome(result), ""]
    if result.certificate is not None:
        blocks += [*_certificate(result, result.certificate), ""]
    if result.rubric is not None:
        blocks += [*_changes(result), ""]
    if result.result is not None:
        blocks += [*_tried(result.result, details=details), ""]
    blocks += [*_ground(result)]
    return blocks


def _outcome(result: Optimisation) -> Iterator[str]:
    chosen = _chosen(result)
    if chosen is None or result.certificate is None:
        yield f"No certified gain: {result.metric} stays as it is."
        yield from _why_not(result)
        return
    changes = [_change(result.aim.figure, result.aim.title, chosen)]
    if result.aim.mark is not None:
        figure = result.aim.mark.figure
        changes.append(_change(figure, _TITLES.get(figure, figure), chosen))
    yield f"Certified: {', '.join(changes)} on rows that the search never saw (p = {chosen.p:.2g})."
    if result.path:
        yield f"wrote {result.path}"
        yield f"use it: ragassay evaluate ROWS --metrics {result.metric} --rubric {result.path}"
    else:
        yield f"use it: ragassay evaluate ROWS --metrics '{result.metric_after}'"


def _change(figure: str, title: str, finalist: Finalist) -> str:
    """A figure before and after: "F1 0.712 -> 0.803"."""
    before = finalist.before.figures.get(figure, finalist.gain.before)
    after = finalist.after.figures.get(figure, finalist.gain.after)
    if figure == "cost" and before is not None and after is not None:
        # An aim is a value to raise; a cost is told as what it is.
        before, after = abs(before), abs(after)
    return f"{title} {_number(before)} -> {_number(after)}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _why_not(result: Optimisation) -> Iterator[str]:
    certificate = result.certificate
    if certificate is None:
        if result.result is None:
            yield f"Without --reflector only steps without calls are tried: {result.step.reason}."
        else:
            yield f"No candidate was better on the rows to choose on: {result.result.ended}."
        return
    for finalist in certificate.finalists:
        why = "; ".join(finalist.objections)
        gain = number_words(finalist.gain.difference, finalist.gain.interval, sign=True)
        yield f"{finalist.name}: {gain}: {why}"


def _chosen(result: Optimisation) -> Finalist | None:
    certificate = result.certificate
    if certificate is None or certificate.chosen is None:
        return None
    return certificate.finalists[certificate.chosen]


def _certificate(result: Optimisation, certificate: Certification) -> Iterator[Block]:
    shown = certificate.finalists[certificate.printed]
    yield (
        f"On {count(shown.rows, 'sealed row')} in {count(shown.clusters, 'cluster')}, opened once"
        f" ({shown.name}):"
    )
    after = [("before", shown.before), ("after", shown.after)]
    if certificate.recut is not None and shown.name != "another cut":
        after.append(("re-cut alone", certificate.recut.after))
    yield _figures(after)
    gain = shown.gain
    yield (
        f"Gain {number_words(certificate.gain, gain.interval, sign=True)}"
        f", by {gain.method}; {count(len(certificate.finalists), 'candidate')} tested."
    )
    for kept in shown.kept:
        holds = "holds" if kept.holds else "is not shown to hold"
        yield f"{kept.figure} fell by less than {kept.margin:g}: {holds}."


def _figures(judges: Iterable[tuple[str, Judged]]) -> Table:
    rows = []
    for name, judged in judges:
        tp, fp, fn, tn = judged.table
        cells = [name, f"{tp} / {fp} / {fn} / {tn}"]
        for figure in _SHOWN:
            value = judged.figures.get(figure)
            cells.append(_number(value))
        rows.append(tuple(cells))
    heads = ("", "tp / fp / fn / tn", *(_TITLES.get(name, name) for name in _SHOWN))
    # A figure a row: nine columns do not fit a terminal.
    turned = [(head, *column) for head, *column in zip(heads, *rows, strict=True)]
    return Table(turned[0], tuple(turned[1:]))


def _changes(result: Optimisation) -> Iterator[Block]:
    assert result.rubric is not None
    yield f"What changed in {result.rubric_before.ref} -> {result.rubric.ref}:"
    for line in differences(result.rubric_before, result.rubric):
        yield f"  {line}"
    effects = _effects(result)
    for effect in effects:
        kept = "" if effect.kept else ", dropped"
        if effect.measured:
            yield (
                f"  alone it mends {effect.gained} and breaks {effect.lost} of {effect.asked}"
                f" rows{kept}: {shorten(str(effect.edit), 60)}"
            )


def _effects(result: Optimisation) -> tuple[Any, ...]:
    if result.result is None or result.rubric is None:
        return ()
    for finalist in result.result.finalists:
        if finalist.rubric.digest == result.rubric.digest:
            return finalist.effects
    return ()


def _tried(result: SearchResult, *, details: bool) -> Iterator[Block]:
    edits = [one for one in result.tried if one.edit is not None]
    taken = sum(1 for one in edits if not one.dropped)
    yield (
        f"Tried {count(len(edits), 'edit')} in {count(result.calls, 'call')}, of which"
        f" {taken} were taken; {result.ended}."
    )
    shown = result.tried if details else _first(result)
    for one in shown:
        yield f"  {shorten(str(one), _LINE - 2)}"
    left = len(result.tried) - len(shown)
    if left > 0:
        yield f"  and {left} more (--json, --html)"


def _first(result: SearchResult) -> list[Any]:
    taken = [one for one in result.tried if one.edit is not None and not one.dropped]
    rest = [one for one in result.tried if one not in taken]
    return [*taken, *rest][:_TRIED]


def plan_lines(ready: Prepared) -> list[str]:
    """What is asked, what the labels can certify, and what it may cost, before anything is paid."""
    asked, division = ready.asked, ready.division
    lines = [f"aim: {asked.aim.sentence()}"]
    for (people, judge), cost in asked.aim.cost_matrix().items():
        if cost:
            lines.append(f"  people {people}, the judge says {judge}: costs {cost:g}")
    lines.append(
        f"rows: {len(division.train)} to search on, {len(division.validation)} to choose on,"
        f" {len(division.sealed)} sealed"
    )
    lines += ready.plan.lines()
    mark = asked.aim.mark
    if mark is not None:
        lines.append(
            f"a gain counts {asked.aim.title} and {PENALTY:g} times what {mark.figure} comes nearer"
            f" to {mark.at_least:g}"
        )
    rows = len(division.train) + len(division.validation)
    lines.append(
        f"calls: about {rows} for the judge as it is, 50 for its noise, up to"
        f" {ready.certificate_calls} for the certificate, the rest for the search"
    )
    if not asked.target.searchable:
        lines.append("the offline judge reads no instructions: only its pass mark may change")
    elif not asked.proposer:
        lines.append("no --reflector: only steps without calls are tried")
    return [*lines, *asked.labels.notes, *division.notes]


def _ground(result: Optimisation) -> Iterator[str]:
    """What the figures rest on."""
    split = result.split
    parts = ", ".join(
        f"{len(rows)} {part.value}"
        for part, rows in (
            (Part.TRAIN, split.train),
            (Part.VALIDATION, split.validation),
            (Part.SEALED, split.sealed),
        )
    )
    yield f"Aim: {result.aim.sentence()}."
    yield f"Rows: {parts}."
    yield f"Noise: {result.noise.sentence()}."
    yield f"The cut: {result.step.reason}."
    yield f"Spent: {count(result.calls, 'call')}, {money(result.cost)}, {result.seconds:.0f} s."
    for reason, lost in sorted(result.lost.items(), key=lambda item: -item[1])[:2]:
        yield f"{count(lost, 'verdict')} lost: {shorten(reason, 60)}"
    yield from result.notes
