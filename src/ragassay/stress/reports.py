"""What a stress test came to, in lines and tables: findings first, then the figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product
from typing import TYPE_CHECKING

from ragassay.core import Interval, shorten
from ragassay.core.counting import count
from ragassay.report import number_words
from ragassay.report.tables import Block, Chart, Ends, Table
from ragassay.report.wording import money
from ragassay.stress.counterfactual import (
    CounterfactualResult,
    Follows,
    ShareResult,
)
from ragassay.stress.figures import Contrast, Rate
from ragassay.stress.integration import FactRate, IntegrationResult
from ragassay.stress.labels import CorrectedRejection
from ragassay.stress.levels import Arm, Kind
from ragassay.stress.noise import Cell, NoiseResult
from ragassay.stress.power import points
from ragassay.stress.rejection import RejectionResult

if TYPE_CHECKING:
    from ragassay.stress.result import StressResult

_SHOWN = 3
_TOO_LOW = 0.2
"""Share right with clean passages below which a drop has no room."""
_ROWS = 12
_ONE_LINE = 4
"""Numbers of distractors that a line of 80 characters holds for both arms."""
_CELLS_HEAD = (
    "level",
    "right at base",
    "right",
    "difference [95 %]",
    "p corrected",
    "ratio",
    "kept",
    "rescued",
    "rows",
)


def stress_report(result: StressResult, *, details: bool = False) -> list[Block]:
    """The findings with what to change, then each test. details: every level, and the rows behind
    it.
    """
    blocks: list[Block] = [*_headline(result), ""]
    if result.noise is not None:
        blocks += [*_noise(result.noise), ""]
    if result.rejection is not None:
        blocks += [*_rejection(result.rejection), ""]
    if result.counterfactual is not None:
        blocks += [*_counterfactual(result.counterfactual), ""]
    if result.integration is not None:
        blocks += [*_integration(result.integration), ""]
    blocks += _ground(result)
    if details:
        blocks += _details(result)
    return blocks


# -- the headline


def _headline(result: StressResult) -> Iterator[str]:
    if not result.findings:
        yield from _no_finding(result)
        return
    shown = result.findings if len(result.findings) <= _SHOWN else result.findings[:_SHOWN]
    for finding in shown:
        yield f"{_capital(str(finding.weakness))}. {finding.sentence}"
        yield f"  change: {finding.change}"
    left = len(result.findings) - len(shown)
    if left:
        yield f"{left} more: --json, --html"


def _no_finding(result: StressResult) -> Iterator[str]:
    """What is said where nothing is certain. A system that is hardly ever right has nothing to
    lose, which is no strength.
    """
    right = None if result.noise is None else result.noise.floor.right
    if right is None or right >= _TOO_LOW:
        yield "No certain weakness" + _not_seen(result)
        return
    yield (
        f"Nothing can be said of noise: with clean passages it is right on {right:.0%} of"
        " questions, and nothing can fall from there."
    )
    judge = "a --judge" if result.metric == "correctness" else "--metric correctness or a --judge"
    yield (
        f"  change: look at some responses; where they are right in other words, judge with {judge}"
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _not_seen(result: StressResult) -> str:
    """What could have been missed."""
    power = result.power
    if power is None:
        return _may_still(result)
    if power.with_correction is None:
        return "; the questions are too few to see one."
    return f"; of one level, a drop of {points(power.with_correction)} is seen 80 % of the time."


def _may_still(result: StressResult) -> str:
    """How frequent the unwanted behaviour may be that the intervals leave most room for."""
    rates: list[tuple[str, Rate | FactRate]] = []
    if result.rejection is not None:
        rates.append(("answer what it cannot know", result.rejection.answered))
        rates.append(("refuse what it could answer", result.rejection.over_refused))
    if result.counterfactual is not None:
        rates.append(("act against the policy", result.counterfactual.against_policy))
    if result.integration is not None:
        rates.append(("omit facts", result.integration.omitted))
    known = [(one.interval.high, what) for what, one in rates if one.interval is not None]
    if not known:
        return "."
    high, what = max(known)
    return f"; it may still {what} in up to {high:.0%} of cases, for all that was asked."


# -- noise


def _noise(noise: NoiseResult) -> Iterator[Block]:
    floor = noise.floor
    yield (
        f"Noise ({count(noise.rows, 'question')}, {count(noise.clusters, 'cluster')}): clean"
        f" {_percent(floor.right)} right, asked twice {_percent(floor.changed.value)} differ."
    )
    yield "Change in points, at the worst position (* certain after Holm):"
    yield _curve(noise)


def _curve(noise: NoiseResult) -> Table:
    """A row for each kind, a column for each arm and number of distractors; a row for each arm and
    kind where one arm was asked for, or the numbers are too many for one line.
    """
    asked = [cell.level for cell in noise.cells if cell.contrast.n]
    levels = asked or [cell.level for cell in noise.cells]
    numbers = sorted({level.number for level in levels})
    arms = list(dict.fromkeys(level.arm for level in levels))
    kinds = dict.fromkeys(level.kind for level in levels)
    rows = []
    if len(arms) > 1 and len(numbers) <= _ONE_LINE:
        columns = list(product(arms, numbers))
        for kind in kinds:
            cells = [_worst_cell(noise, arm, kind, number) for arm, number in columns]
            rows.append((str(kind), *cells))
        # The arm stands at its first number, so that the head is one line.
        head = [f"{arm} {n}" if n == numbers[0] else str(n) for arm, n in columns]
        return Table(("distractors", *head), tuple(rows))
    for arm, kind in product(arms, kinds):
        cells = [_worst_cell(noise, arm, kind, number) for number in numbers]
        rows.append((f"{kind}, {arm}", *cells))
    return Table(("distractors", *map(str, numbers)), tuple(rows))


def _worst_cell(noise: NoiseResult, arm: Arm, kind: Kind, number: int) -> str:
    cells = []
    for cell in noise.cells:
        level = cell.level
        if (level.arm, level.kind, level.number) == (arm, kind, number) and cell.contrast.n:
            cells.append(cell.contrast)
    if not cells:
        return "-"
    worst = min(cells, key=lambda c: (c.difference or 0.0, c.name))
    return _points(worst.difference) + ("*" if worst.is_certified_drop else "")


# -- the other tests


def _rejection(found: RejectionResult) -> Iterator[Block]:
    classes = ", ".join(f"{len(ids)} {name}" for name, ids in found.classes.items())
    figures = ""
    if found.d_prime is not None:
        figures = f" d' {found.d_prime:.2f}, utility {_signed(found.utility)} (-1 to 1);"
    yield f"Rejection:{figures} unanswerable: {classes or 'none'}."
    rows = []
    kinds = (("answerable", found.over_refused), ("unanswerable", found.rejected))
    for (name, declined), counts in zip(kinds, found.table, strict=True):
        rows.append((name, *map(str, counts), _rate(declined)))
    head = ("questions", "answered", "declined", "no answer", "declined, share [95 %]")
    yield Table(head, tuple(rows))
    if found.corrected is not None:
        yield _by_labels(found.corrected)


def _by_labels(found: CorrectedRejection) -> str:
    """The rates that labels of people correct, in one line."""
    rates = []
    for one, what in ((found.rejected, "unanswerable"), (found.over_refused, "answerable")):
        said = number_words(one.value, one.interval, absent="-")
        rates.append(f"{said} of {what} questions")
    return (
        f"Corrected by {found.labelled} labels of people ({found.disagree} differ from the rules):"
        f" declines {' and '.join(rates)}."
    )


def _counterfactual(found: CounterfactualResult) -> Iterator[Block]:
    yield (
        f"False passages: without passages it answers {_rate(found.known)} of {found.known.of}"
        " right."
    )
    met: set[Follows] = set()
    for share in found.shares:
        met.update(share.classes)
    shown = [follows for follows in Follows if follows in met]
    rows = []
    for share in found.shares:
        if share.of:
            cells = [_percent(share.part(follows)) for follows in shown]
            rows.append((_share_words(share), *cells))
    yield Table(("false", *(_SHORT_NAMES[f] for f in shown)), tuple(rows))
    # What is fine stands in the finding, where there is one.
    yield f"Against the policy ({found.policy}): {_rate(found.against_policy)}."


_SHORT_NAMES = {
    Follows.CONTEXT: "follows",
    Follows.PRIOR: "true",
    Follows.FLAGS: "flags",
    Follows.BOTH: "both",
    Follows.ABSTAINS: "abstains",
    Follows.OTHER: "other",
    Follows.ERROR: "no answer",
}


def _share_words(share: ShareResult) -> str:
    total = share.share.true + share.share.false
    name = "all" if not share.share.true else f"{share.share.false} of {total}"
    return f"{name} ({share.of})"


def _integration(found: IntegrationResult) -> Iterator[Block]:
    yield (
        f"Integration: of {found.found.of} sub-facts in {count(found.rows, 'question')}"
        f" {_rate(found.found)} found, {_rate(found.omitted)} omitted, {_rate(found.merged)}"
        " wrongly merged."
    )
    places = ", ".join(f"{one.name} {_percent(one.value)}" for one in found.by_source)
    yield f"Found by place of the source: {places}."
    others = found.others_without
    if others.n:
        yield (
            f"With one source removed: {_points(others.difference)} points of the other facts,"
            f" {_percent(found.told_without.value)} of its own told."
        )


# -- what it rests on


def _ground(result: StressResult) -> Iterator[str]:
    undelivered = f" {result.undelivered} not as asked;" if result.undelivered else ""
    yield (
        f"{count(result.questions, 'question')}, {count(result.askings, 'asking')} of {result.app};"
        f"{undelivered} right by {result.metric} ({result.judge})."
    )
    if result.failed.rows:
        yield (
            f"No answer in {len(result.failed.rows)} of {result.failed.of} askings"
            f"{_first_error(result)}; they count as not right."
        )
    if result.unjudged:
        yield f"{count(result.unjudged, 'response')} without a verdict: left out of the figures."
    for test, why in result.untested.items():
        yield f"Not tested: {test} ({shorten(why, 160)})."
    whole = [one for one in result.left_out if one.test not in result.untested]
    reasons = Counter((one.test or "all tests", one.reason) for one in whole)
    for (test, reason), number in reasons.most_common(1):
        others = len(reasons) - 1
        more = f"; {count(others, 'more reason', 'more reasons')}: --json" if others else ""
        yield f"Left out of {test}: {count(number, 'row')} ({shorten(reason, 100)}){more}."
    calls = result.ledger.confirmed.calls
    spent = (
        f"{count(calls, 'call')} of the judge, {money(result.ledger.confirmed.cost)}. "
        if calls
        else ""
    )
    yield f"{spent}Every row and response: ragassay show {result.run} --row 'ID|LEVEL'"
    yield from result.notes


def _first_error(result: StressResult) -> str:
    if not result.errors:
        return " (empty)"
    message, number = next(iter(result.errors.items()))
    return f" ({number}: {shorten(message, 60)})"


# -- every level, with the rows behind it


def _details(result: StressResult) -> Iterator[Block]:
    noise = result.noise
    if noise is not None:
        # Where no response has a verdict there is nothing to draw.
        for arm in dict.fromkeys(point.arm for point in noise.curve if point.contrast.n):
            yield ""
            yield _chart(noise, arm)
        yield from ("", f"Every level of noise, {noise.tests} tests corrected together (Holm)")
        yield Table(_CELLS_HEAD, tuple(_cell_row(cell) for cell in noise.cells))
        yield from ("", "Levels together, positions, and filler alone")
        drawn = [point.contrast for point in noise.curve]
        pooled = (*drawn, *noise.kinds, *noise.positions, *noise.lengths)
        yield Table(_CELLS_HEAD, tuple(_contrast_row(one) for one in pooled))
        yield from ("", "Questions that turn wrong, by level")
        yield _broken(noise)
    if result.rejection is not None:
        yield from ("", "Unanswerable questions, by what became of them")
        yield _by_class(result.rejection.classes.items())
    if result.counterfactual is not None:
        yield from ("", "False passages: questions by what was followed")
        items = []
        for share in result.counterfactual.shares:
            for follows, ids in share.classes.items():
                items.append((f"{_share_words(share)}: {follows}", ids))
        yield _by_class(items)
    if result.integration is not None:
        yield from ("", "Integration: figures and questions")
        parts = (
            result.integration.found,
            result.integration.omitted,
            result.integration.merged,
            result.integration.told_without,
        )
        yield Table(("figure", "value [95 %]", "of", "questions"), tuple(map(_fact_row, parts)))
    yield from ("", "Left out")
    left_out = [(one.id, one.test or "all tests", one.reason) for one in result.left_out]
    yield Table(("row", "test", "reason"), tuple(left_out))


_ARM_WORDS = {
    Arm.ADDED: "distractors added to the clean passages",
    Arm.MATCHED: "distractors in the place of filler of the same length",
}


def _chart(noise: NoiseResult, arm: Arm) -> Chart:
    """The share right over the number of distractors, a curve a kind, all positions together, each
    with the interval of its paired difference to no distractors.
    """
    points = [point for point in noise.curve if point.arm is arm and point.contrast.n]
    numbers = sorted({point.number for point in points})
    series, intervals, ends = [], [], []
    for kind in dict.fromkeys(point.kind for point in points):
        of_kind = {point.number: point.contrast for point in points if point.kind is kind}
        first = of_kind[min(of_kind)].base
        there = [of_kind.get(number) for number in numbers]
        values = [None if one is None else one.value for one in there]
        series.append((str(kind), (first, *values)))
        intervals.append((None, *map(_ends, there)))
        ends.append(f"{kind} {_end_words(there[-1])}")
    return Chart(
        f"Right answers by number of distractors: {arm}",
        f"{_ARM_WORDS[arm].capitalize()}; with {numbers[-1]}: {', '.join(ends)} right."
        " Bars: 95 %, of the paired difference to 0.",
        "distractors",
        ("0", *map(str, numbers)),
        tuple(series),
        tuple(intervals),
    )


def _ends(one: Contrast | None) -> Ends | None:
    """Where the share right may lie by the interval of its difference."""
    if one is None or one.base is None or one.interval is None:
        return None
    low, high = (
        min(1.0, max(0.0, one.base + end)) for end in (one.interval.low, one.interval.high)
    )
    return low, high


def _end_words(one: Contrast | None) -> str:
    if one is None:
        return "-"
    ends = _ends(one)
    if ends is None:
        return _percent(one.value)
    return f"{_percent(one.value)} [{_percent(ends[0])}, {_percent(ends[1])}]"


def _cell_row(cell: Cell) -> tuple[str, ...]:
    return _contrast_row(cell.contrast)


def _contrast_row(one: Contrast) -> tuple[str, ...]:
    p = "-" if one.p_corrected is None else f"{one.p_corrected:.2g}"
    return (
        one.name + (" *" if one.is_certified_drop else ""),
        _percent(one.base),
        _percent(one.value),
        _difference(one.difference, one.interval),
        p,
        "-" if one.ratio is None else f"{one.ratio:.2f}",
        _percent(one.retention),
        _percent(one.rescue),
        str(one.n),
    )


def _broken(noise: NoiseResult) -> Table:
    rows = []
    for cell in noise.cells:
        if cell.contrast.broken:
            rows.append((cell.contrast.name, _ids(cell.contrast.broken)))
    return Table(("level", "questions"), tuple(rows))


def _by_class(items: Iterable[tuple[str, tuple[str, ...]]]) -> Table:
    rows = [(str(name), str(len(ids)), _ids(ids)) for name, ids in items]
    return Table(("what", "questions", "ids"), tuple(rows))


def _fact_row(one: FactRate) -> tuple[str, ...]:
    return one.name, number_words(one.value, one.interval, absent="-"), str(one.of), _ids(one.rows)


def _ids(ids: tuple[str, ...]) -> str:
    shown = ", ".join(ids[:_ROWS])
    left = len(ids) - _ROWS
    return f"{shown} and {left} more (--json)" if left > 0 else shown


def _rate(one: Rate | FactRate) -> str:
    if one.value is None or one.interval is None:
        return "-"
    return f"{one.value:.0%} [{one.interval.low:.0%}, {one.interval.high:.0%}]"


def _difference(value: float | None, interval: Interval | None) -> str:
    if value is None:
        return "-"
    if interval is None:
        return _points(value)
    return f"{_points(value)} [{_points(interval.low)}, {_points(interval.high)}]"


def _points(value: float | None) -> str:
    """A difference of shares in points."""
    return "-" if value is None else f"{100 * value:+.0f}".replace("-0", "0").replace("+0", "0")


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.2f}"
