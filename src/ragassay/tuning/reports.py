"""What an optimisation came to, in lines and tables."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ragassay.core import shorten
from ragassay.core.counting import count
from ragassay.report import number_words
from ragassay.report.tables import Block, Table
from ragassay.report.wording import money
from ragassay.scoring import coefficients
from ragassay.tuning.aim import PENALTY, Aim, title_of
from ragassay.tuning.differences import differences
from ragassay.tuning.needed import for_gains, what_is_needed
from ragassay.tuning.values import Part

if TYPE_CHECKING:
    from ragassay.tuning.certify import Certification, Finalist, Judged
    from ragassay.tuning.free_steps import OrdersStep
    from ragassay.tuning.optimise import Asked, Optimisation, Prepared
    from ragassay.tuning.plan import SearchPlan
    from ragassay.tuning.search import SearchResult, Tried
    from ragassay.tuning.shift import Shift
    from ragassay.tuning.values import LabelledRows

_SHOWN = ("f1", "precision", "recall", "kappa", "balanced_accuracy", "d_prime", "auc")
_SHOWN_OF_PAIRS = ("accuracy", "kappa", "balanced_accuracy", "d_prime", "auc")
"""Figures that do not ask which response of a pair stands first."""
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
    changes = _changes_of(result.aim, chosen)
    yield f"Certified: {changes} on rows that the search never saw (p = {chosen.p:.2g})."
    if result.orders is not None:
        yield from _use_on_pairs(result)
        return
    metric = shlex.quote(result.metric_after or result.metric)
    if result.path:
        yield f"wrote {result.path}"
    yield f"use it: ragassay evaluate ROWS --metrics {metric}{_judged_by(result)}"


def _use_on_pairs(result: Optimisation) -> Iterator[str]:
    """How to ask from now on. A rubric file says nothing of the order of a pair."""
    if result.path:
        yield f"wrote {result.path}"
    command = f"ragassay benchmark PAIRS --metric {result.metric}{_judged_by(result)}"
    if result.both_orders:
        yield f"use it: {command}"
        yield (
            "It asks about each pair in both orders. Do so wherever you ask, and take neither"
            " response where they disagree."
        )
    else:
        yield f"use it: {command}"
        yield "It asks in both orders; the gain is certified for the order of the rows (order 1)."


def _judged_by(result: Optimisation) -> str:
    """The options by which a command asks this judge in its new form. Without a judge it would ask
    the offline one, which reads no rubrics.
    """
    options = {"judge": "" if result.judge == "offline" else result.judge}
    options |= {"base-url": result.base_url, "rubric": result.path}
    return "".join(f" --{name} {shlex.quote(value)}" for name, value in options.items() if value)


def _changes_of(aim: Aim, finalist: Finalist) -> str:
    """The figure of the aim before and after, and that of its mark."""
    changes = [_change(aim.figure, aim.title, finalist)]
    if aim.mark is not None:
        changes.append(_change(aim.mark.figure, title_of(aim.mark.figure), finalist))
    return ", ".join(changes)


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
        yield _why_no_candidate(result)
        yield from _what_would_help(result)
        if not result.plan.can_certify:
            yield from _what_certifies(result.plan)
        return
    for finalist in certificate.finalists:
        yield f"{finalist.name}: {gained(result.aim, finalist)}: {'; '.join(finalist.objections)}"
    yield from what_is_needed(result.aim, certificate, result.plan.needed, len(result.split.rows))


def gained(aim: Aim, finalist: Finalist) -> str:
    """What a candidate gains. With a mark the tested value is not the figure alone, and its gain
    would be read as one of the figure.
    """
    if aim.mark is not None:
        return _changes_of(aim, finalist)
    gain = number_words(finalist.gain.difference, finalist.gain.interval, sign=True)
    return f"{gain} in {aim.title}"


def _why_no_candidate(result: Optimisation) -> str:
    """Why nothing was tested on the sealed rows."""
    closed = "The sealed rows were not opened"
    if result.finalists and result.result is not None and result.result.finalists:
        best = result.result.finalists[0]
        # An aim is a value to raise; a cost is told as what it is.
        sign = -1 if result.aim.figure == "cost" and result.aim.mark is None else 1
        raised = _what_is_raised(result.aim)
        change = f"{raised} {sign * best.before:.3f} -> {sign * best.score:.3f}"
        return f"{closed}. The best candidate, on the rows that it was chosen on: {change}."
    if result.result is None:
        return f"{closed}: {_what_was_tried(result)}{_reason_of_steps(result)}."
    why = "no candidate was better on the rows to choose on"
    if not any(one.asked for one in result.result.tried):
        why = "no edit was proposed that could be tried"
    return f"{closed}: {why}; the search ended because {result.result.ended}."


def _what_would_help(result: Optimisation) -> Iterator[str]:
    """What the same command needs to get further, where the search came to no candidate."""
    search = result.result
    if search is None or result.finalists:
        return
    if search.by_cap:
        yield "The same command with a higher --max-calls or --max-cost goes on where it was."
    elif search.ended.startswith("the reflector"):
        yield (
            "Another reflector may do better, and so may this one where people say why they gave a"
            " label: a column 'rationale'."
        )


def _reason_of_steps(result: Optimisation) -> str:
    """Why no step without a search is a candidate."""
    if result.orders is None:
        return result.step.reason.replace("it stays: ", "the pass mark stays, for ", 1)
    if result.orders.taken:
        return "asking in both orders is no gain on the pairs to choose on"
    return f"asking in both orders: {result.orders.reason}"


def _what_was_tried(result: Optimisation) -> str:
    if result.proposer or result.judge == "offline":
        return ""
    tried = "steps without calls are" if result.orders is None else "the order of a pair is"
    return f"without --reflector only {tried} tried, and "


def _what_certifies(plan: SearchPlan) -> Iterator[str]:
    """What is needed where the sealed rows can certify nothing."""
    yield (
        f"{plan.rows} sealed rows in {plan.clusters} clusters can certify no gain, however large."
        " They stay sealed, and may be sealed again beside new ones."
    )
    yield from for_gains(plan.needed)


def _chosen(result: Optimisation) -> Finalist | None:
    certificate = result.certificate
    if certificate is None or certificate.chosen is None:
        return None
    return certificate.finalists[certificate.chosen]


def _certificate(result: Optimisation, certificate: Certification) -> Iterator[Block]:
    shown = certificate.finalists[certificate.printed]
    sealed = len(result.split.sealed)
    rows = count(sealed, "sealed row")
    if shown.rows < sealed:
        rows = f"{shown.rows} of {sealed} sealed rows (the others have no verdict of one judge)"
    yield f"On {rows} in {count(shown.clusters, 'cluster')}, opened once ({shown.name}):"
    after = [("before", shown.before), ("after", shown.after)]
    if result.orders is not None:
        yield "A pass says that the first response is better; an undecided pair is half of both."
    if certificate.recut is not None and shown.name != "another pass mark":
        after.append(("re-cut alone", certificate.recut.after))
    yield _figures(after, _SHOWN if result.orders is None else _SHOWN_OF_PAIRS)
    gain = shown.gain
    number = number_words(certificate.gain, gain.interval, sign=True)
    yield (
        f"Gain in {_what_is_raised(result.aim)} {number}"
        f", by {gain.method}; {count(len(certificate.finalists), 'candidate')} tested."
    )
    yield from _of_a_mark_alone(result, certificate, shown)
    for kept in shown.kept:
        holds = "holds" if kept.holds else "is not shown to hold"
        yield f"{kept.figure} fell by less than {kept.margin:g}: {holds}."


def _of_a_mark_alone(
    result: Optimisation, certificate: Certification, shown: Finalist
) -> Iterator[str]:
    """What another pass mark alone gives, and whether a new rubric does more than move one."""
    if certificate.recut is not None and shown.name != "another pass mark":
        alone = f"{certificate.recut.gain.difference:+.3f}"
        yield f"Re-cutting alone, without a word changed, gives {alone} on these rows."
    shift = _shift_of(result, certificate.printed)
    if shift is not None and shift.only_shifts:
        yield (
            "The new rubric may do no more than move the mark: nearly all verdicts that changed"
            f" went one way, and d' {shift.before.value:.2f} -> {shift.after.value:.2f} on the rows"
            " to choose on is within chance."
        )


def _shift_of(result: Optimisation, place: int) -> Shift | None:
    """What of the change of a candidate's rubric is a shift of the mark, where that is known."""
    _, rubric = result.finalists[place]
    if rubric is None or result.result is None:
        return None
    for finalist in result.result.finalists:
        if finalist.rubric.digest == rubric.digest:
            return finalist.shift
    return None


def _what_is_raised(aim: Aim) -> str:
    """The value that a gain is of. With a mark it is not the figure alone, and the gain is then
    not the difference of the two figures that stand above it.
    """
    if aim.mark is None:
        return aim.title
    missing = f"what {title_of(aim.mark.figure)} lacks to {aim.mark.at_least:g}"
    return f"{aim.title} less {PENALTY:g} times {missing}:"


def _figures(judges: Iterable[tuple[str, Judged]], shown: Sequence[str]) -> Table:
    rows = []
    for name, judged in judges:
        tp, fp, fn, tn = judged.table
        cells = [name, f"{tp:g} / {fp:g} / {fn:g} / {tn:g}"]
        for figure in shown:
            value = judged.figures.get(figure)
            cells.append(_number(value))
        rows.append(tuple(cells))
    heads = ("", "tp / fp / fn / tn", *map(title_of, shown))
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
                f" verdicts that the edits change{kept}: {shorten(str(effect.edit), 60)}"
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
        f"Tried {count(len(edits), 'edit')}, of which {taken} helped on rows to search on, after"
        f" {count(result.calls, 'call')}. Ended: {result.ended}."
    )
    if details:
        for one in result.tried:
            yield f"  {shorten(str(one), _LINE - 2)}"
        return
    lines = _distinct(result)
    for one, times in lines[:_TRIED]:
        again = f" ({times} times)" if times > 1 else ""
        yield f"  {_tried_line(one, _LINE - 2 - len(again))}{again}"
    if len(lines) > _TRIED:
        yield f"  and {len(lines) - _TRIED} more (--json, --html)"


def _tried_line(one: Tried, width: int) -> str:
    """An edit and what became of it, which is what a reader looks for: the edit is cut first."""
    if one.edit is None:
        return shorten(one.dropped, width)
    outcome = shorten(one.outcome, width // 2)
    return f"{shorten(str(one.edit), width - len(outcome) - 3)} ({outcome})"


def _distinct(result: SearchResult) -> list[tuple[Tried, int]]:
    """What was tried and how often: what was taken first, then in the order in which it came."""
    taken = [one for one in result.tried if one.edit is not None and not one.dropped]
    rest = [one for one in result.tried if one.edit is None or one.dropped]
    first: dict[str, Tried] = {}
    for one in (*taken, *rest):
        first.setdefault(str(one), one)
    times = Counter(str(one) for one in result.tried)
    return [(one, times[text]) for text, one in first.items()]


def plan_lines(ready: Prepared) -> list[str]:
    """What is asked, what the labels can certify, and what it may cost, before anything is paid."""
    asked, division = ready.asked, ready.division
    lines = [*_aim_lines(asked), _label_line(asked, division.rows)]
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
    lines += _forecast_lines(ready)
    if not asked.target.searchable:
        lines.append("the offline judge reads no instructions: only its pass mark may change")
    elif not asked.proposer:
        tried = "the order of a pair is" if asked.target.pairs else "steps without calls are"
        lines.append(f"no --reflector: only {tried} tried")
    return [*lines, *asked.labels.notes, *division.notes]


def _forecast_lines(ready: Prepared) -> Iterator[str]:
    """The calls that are expected, with their range, and where they go."""
    told = ready.forecast
    cost = "" if told.cost is None or told.calls == 0 else f", about {money(told.cost)}"
    span = f"{told.low:,} to {told.high:,}"
    if told.least < told.low:
        span += f"; {told.least:,} or more where the search ends early"
    in_both = " in both orders" if ready.asked.target.pairs else ""
    yield f"calls: about {told.calls:,} ({span}){cost}; {ready.plan.spending_words}"
    yield (
        f"  {told.baseline:,} for the judge as it is{in_both}, {told.noise:,} to ask it twice,"
        f" {told.search:,} to search, {told.certificate:,} for the certificate"
    )
    searches = bool(ready.asked.proposer) and ready.asked.target.searchable
    if told.cost is None and ready.asked.max_cost is not None:
        yield "  --max-cost cannot be kept without the judge's price: give --price IN,OUT"
    if searches and told.leaves_no_search:
        yield "  the cap leaves no calls to search: give a higher --max-calls"


def _aim_lines(asked: Asked) -> Iterator[str]:
    """The aim, and what each kind of error costs."""
    if asked.target.pairs:
        yield f"aim: {asked.aim.sentence().partition(';')[0]}"
        yield "  a pair on which the judge prefers neither response is half right"
        return
    yield f"aim: {asked.aim.sentence()}"
    for (people, judge), cost in asked.aim.cost_matrix().items():
        if cost:
            yield f"  people {people}, the judge says {judge}: costs {cost:g}"


def _label_line(asked: Asked, rows: LabelledRows) -> str:
    clusters = count(len(np.unique(rows.cluster)), "cluster")
    passed = int(rows.truth.sum())
    if asked.target.pairs:
        pairs = f"labels: {count(len(rows), 'pair')} in {clusters}"
        return f"{pairs}; people prefer the first response of {passed} of them"
    if rows.cluster_field:
        clusters += f" by {shorten(rows.cluster_field, 40)}"
    return (
        f"labels: {count(len(rows), 'row')} in {clusters}; people pass {passed} of them (a label of"
        f" {asked.labels.cut:g} or more)"
    )


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
    aim = result.aim.sentence()
    if result.orders is not None:
        aim = aim.partition(";")[0]  # both kinds of error are one
    yield f"Aim: {aim}."
    yield f"Rows: {parts}."
    yield from _as_it_is(result)
    yield f"Noise: {result.noise.sentence()}."
    if result.orders is None:
        yield f"The pass mark: {result.step.reason}."
    else:
        yield from _of_orders(result.orders)
    spent = money(result.cost)
    if result.cost is not None and result.unpriced:
        spent += f" without {count(result.unpriced, 'call')} of unknown price (--reflector-price)"
    yield f"Spent: {count(result.calls, 'call')}, {spent}, {result.seconds:.0f} s."
    for reason, failed in sorted(result.failures.items(), key=lambda item: -item[1])[:2]:
        yield f"{count(failed, 'call')} of the reflector failed: {shorten(reason, 60)}"
    for reason, lost in sorted(result.lost.items(), key=lambda item: -item[1])[:2]:
        yield f"{count(lost, 'verdict')} lost: {shorten(reason, 60)}"
    yield from result.notes


def _as_it_is(result: Optimisation) -> Iterator[str]:
    """How right the judge is as it is, where no sealed rows were opened that would show it."""
    if result.certificate is not None or not result.table:
        return
    table = np.array(result.table)
    value = float(result.aim.figure_of(table))
    if result.aim.figure == "cost":
        value = abs(value)  # an aim is a value to raise; a cost is told as what it is
    words = f"{result.aim.title} {value:.3f}"
    if result.aim.mark is not None:
        mark = result.aim.mark.figure
        words += f", {title_of(mark)} {float(coefficients.binary(mark, table)):.3f}"
    cells = " / ".join(f"{cell:g}" for cell in result.table)
    yield (
        f"The judge as it is, on {table.sum():,.0f} rows to search and choose on: {words} (tp / fp"
        f" / fn / tn: {cells})."
    )


def _of_orders(step: OrdersStep) -> Iterator[str]:
    """What the judge says in both orders of the pairs to search and choose on."""
    found = step.figures
    yield (
        f"Both orders, on {count(found.pairs, 'pair')} to search and choose on: the order of the"
        f" rows alone is right on {_number(found.right_first)}; both orders agree on"
        f" {_number(found.agreed)}, and are right on {_number(found.right_agreed)} of these. Over"
        f" all pairs, an undecided one half right: {_number(found.right_all)}."
    )
    yield (
        f"What is shown first wins {_number(found.first_shown)} of the time, 0.500 without a bias"
        " of place."
    )
    yield f"Asking in both orders: {step.reason}."
