"""The comparison of two runs: their rows, pair by pair."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from ragassay.core import CorrectedFigure, Interval, Manifest, SetupError, Stage, Verdict
from ragassay.core.counting import count
from ragassay.core.display import Displayed
from ragassay.report.wording import (
    better_end,
    change_word,
    declared_as,
    is_loss,
    p_value,
    unit_of,
)
from ragassay.scoring import PairedResult, holm, paired_difference

if TYPE_CHECKING:
    from ragassay.scoring.hypotheses import Equivalence, McNemar
    from ragassay.store import RowLine, ScoreLine, Store

CHANGED_SHOWN = 12

_BEYOND_CHANCE = 0.05
_ABSTENTION = "abstention"
"""The metric of rows that decline, and the flag of a score of a response that does."""


class ComparedRun(Protocol):
    """One of two runs that are compared: of a store, or of a baseline file."""

    @property
    def manifest(self) -> Manifest:
        """Everything needed to repeat the run."""

    def row_lines(self) -> Iterable[RowLine]:
        """Its rows without their texts."""

    def score_lines(self, metric: str) -> Iterable[ScoreLine]:
        """The scores of one metric."""


@dataclass(frozen=True, slots=True)
class StoredSide:
    """A run of a store, as one of two that are compared."""

    store: Store
    run_id: str

    @property
    def manifest(self) -> Manifest:
        """Everything needed to repeat the run."""
        return self.store.run(self.run_id).manifest

    def row_lines(self) -> Iterable[RowLine]:
        """Its rows without their texts."""
        return self.store.row_lines(self.run_id)

    def score_lines(self, metric: str) -> Iterable[ScoreLine]:
        """The scores of one metric."""
        return self.store.score_lines(self.run_id, metric)


@dataclass(frozen=True, slots=True)
class MetricComparison:
    """One metric in both runs, over result.n paired rows. p: the result's p, Holm-corrected over
    the metrics; None where it has none. dropped: rows of both runs left out because only one of the
    two has a value. better: which end of the metric is the good one, "higher", "lower" or
    "neither"; change: "better" or "worse" for b, "" where neither. equivalence: whether the
    difference is smaller than the margin, where one was given and the metric lies in [0, 1].
    valued: rows of a with a value; missing: of these, the ones that b does not have, or for which
    it lacks a field or the application's response. declined: rows left out since a run declines to
    answer, so that it claims nothing there.
    """

    metric: str
    unit: str
    result: PairedResult
    p: float | None
    dropped: int
    better: str = "higher"
    change: str = ""
    equivalence: Equivalence | None = None
    valued: int = 0
    missing: int = 0
    declined: int = 0

    @property
    def direction_words(self) -> str:
        """ "groundedness rises (better)", over which rows where some are left out."""
        verb = "rises" if (self.result.difference or 0) > 0 else "falls"
        change = f" ({self.change})" if self.change else ""
        answered = ""
        if self.declined:
            answered = f" over the {count(self.result.n, 'row')} that both runs answer"
        return f"{self.metric} {verb}{change}{answered}"

    @property
    def won(self) -> int:
        """Rows where b is better; where neither end is, those where it is higher."""
        return self.result.losses if self.better == "lower" else self.result.wins

    @property
    def lost(self) -> int:
        """Rows where b is worse; where neither end is, those where it is lower."""
        return self.result.wins if self.better == "lower" else self.result.losses


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """A row whose value on a metric changed: in run a and in run b. change: "better", "worse", or
    "" for neither.
    """

    id: str
    metric: str
    a: float
    b: float
    verdict_a: Verdict | None
    verdict_b: Verdict | None
    change: str = ""


@dataclass(frozen=True, slots=True)
class Comparison(Displayed):
    """Two runs compared. both, only_a, only_b count rows; fixed: failed in a and passes in b;
    broken: the reverse; turned: whether the one outweighs the other beyond chance, None where no
    row turned. same_answers: both runs judged the same texts. corrected: differences of what
    people's labels set right in both.
    """

    a: Manifest
    b: Manifest
    both: int
    only_a: int
    only_b: int
    fixed: int
    broken: int
    metrics: tuple[MetricComparison, ...]
    changed: tuple[ChangedRow, ...]
    warnings: tuple[str, ...]
    same_answers: bool = False
    turned: McNemar | None = None
    corrected: tuple[CorrectedDifference, ...] = ()

    @property
    def judges_differ(self) -> bool:
        """Whether two judges judged the same answers: a difference is then one of the judges."""
        if not self.same_answers:
            return False
        a, b = self.a.judge, self.b.judge
        return a.uri != b.uri or dict(a.measured_as) != dict(b.measured_as)

    @property
    def headline(self) -> str:
        """What changed, in one sentence."""
        if not self.judges_differ or not self.both or not self.metrics:
            return self._change_of_answers
        a, b = self.a.judge.uri, self.b.judge.uri
        judges = f"{a} and {b}" if a != b else f"two set-ups of {a}"
        lead = f"Two judges of the same answers, {judges},"
        differ = [m for m in self.metrics if m.p is not None and m.p < 0.05]
        agree = f"{self.fixed + self.broken:,} of {self.both:,} rows change sides"
        if differ:
            names = ", ".join(_higher(m) for m in differ)
            return f"{lead} differ beyond chance: {names}; {agree}"
        return f"{lead} show no difference beyond chance; {agree}"

    @property
    def _change_of_answers(self) -> str:
        if not self.both:
            return "Nothing to compare: the runs have no row in common"
        if not self.metrics:
            return "Nothing to compare: the runs have no metric in common"
        rows = count(self.fixed, "row")
        turned = f"{rows} fixed, {self.broken:,} broken of {self.both:,} compared"
        if self.turned is not None:
            turned += f" ({p_value(self.turned.mid_p)})"
        certain = [m for m in self.metrics if m.p is not None and m.p < 0.05]
        # That a run answers less is said first: what else changes follows from it.
        words = [_declining_words(m) for m in certain if _is_declining(m)]
        words += [m.direction_words for m in certain if not _is_declining(m)]
        if words:
            return f"{', '.join(words)} beyond chance; {turned}"
        if self.turned is not None and self.turned.mid_p < 0.05:
            # No metric by itself, but all of them together: the verdicts of rows tell more.
            more = "More" if self.fixed > self.broken else "Fewer"
            return f"{more} rows pass beyond chance; {turned}"
        if all(metric.p is None for metric in self.metrics):
            return f"Too little to test whether a metric differs; {turned}"
        return f"No difference beyond chance; {turned}"


@dataclass(frozen=True, slots=True)
class CorrectedDifference:
    """A metric set right by labels in both runs: b less a, with an interval. method: how the
    interval was made.
    """

    metric: str
    of: str
    a: CorrectedFigure
    b: CorrectedFigure
    difference: float
    interval: Interval | None


def _is_declining(m: MetricComparison) -> bool:
    """Whether the metric is the share of rows that decline to answer."""
    return m.metric.partition("(")[0] == _ABSTENTION


def _declining_words(m: MetricComparison) -> str:
    a, b = (round((mean or 0) * m.result.n) for mean in (m.result.mean_a, m.result.mean_b))
    return f"B declines in {b:,} of {count(m.result.n, 'row')}, A in {a:,}"


def _higher(m: MetricComparison) -> str:
    word = "higher" if (m.result.difference or 0) > 0 else "lower"
    return f"{m.metric} is {word} by the second"


def corrected_differences(
    a: Sequence[CorrectedFigure], b: Sequence[CorrectedFigure]
) -> tuple[CorrectedDifference, ...]:
    """The differences of figures that labels set right in both runs.

    The interval joins those of the two figures (Zou & Donner 2008, "square and add"), as if they
    were independent. Labelled rows of the two runs that are alike make it wider than need be.
    """
    of_b = {figure.metric: figure for figure in b}
    differences = []
    for first in a:
        second = of_b.get(first.metric)
        if second is None or first.of != second.of:
            continue
        if first.value is None or second.value is None:
            continue
        differences.append(
            CorrectedDifference(
                first.metric,
                first.of,
                first,
                second,
                second.value - first.value,
                _square_and_add(first, second),
            )
        )
    return tuple(differences)


def _square_and_add(a: CorrectedFigure, b: CorrectedFigure) -> Interval | None:
    if a.interval is None or b.interval is None or a.value is None or b.value is None:
        return None
    difference = b.value - a.value
    low = difference - math.hypot(b.value - b.interval.low, a.interval.high - a.value)
    high = difference + math.hypot(b.interval.high - b.value, a.value - a.interval.low)
    return Interval(max(-1.0, low), min(1.0, high), a.interval.level, "square and add")


def compare(
    store: Store,
    a: str,
    b: str,
    *,
    margin: float | None = None,
    corrected: Sequence[CorrectedDifference] = (),
) -> Comparison:
    """Compare two stored runs on the rows that have the same id. Memory follows the number of rows,
    not their texts.

    margin: differences of metrics in [0, 1] smaller than this do not matter; each is tested for
    being so small. corrected: what labels set right in both runs. Raises SetupError E0101 for a
    margin that is not above 0 and below 1.
    """
    compared = compare_runs(StoredSide(store, a), StoredSide(store, b), margin=margin)
    if not (compared.same_answers and corrected):
        return replace(compared, corrected=tuple(corrected))
    # Both correct one rate of the same rows: what differs is chance and which rows were labelled.
    metrics = ", ".join(difference.metric for difference in corrected)
    note = (
        f"both runs judged the same answers, whose true rate is one: labels correct both to it, and"
        f" no corrected difference of {metrics} is given"
    )
    return replace(compared, warnings=(*compared.warnings, note))


def compare_runs(a: ComparedRun, b: ComparedRun, *, margin: float | None = None) -> Comparison:
    """`compare` of two runs wherever they are kept."""
    if margin is not None and not 0 < margin < 1:
        raise SetupError(
            "E0101",
            "A margin lies above 0 and below 1.",
            where="--margin",
            why=str(margin),
            fix="name the difference that would not matter, such as --margin 0.03",
        )
    first, second = a.manifest, b.manifest
    rows_a, rows_b = _readable_rows(a), _readable_rows(b)
    both = rows_a.keys() & rows_b.keys()
    only_a = len(rows_a) - len(both)
    only_b = len(rows_b) - len(both)
    pairs = [(rows_a[row], rows_b[row]) for row in both]
    verdicts = [(before.verdict, after.verdict) for before, after in pairs]
    pairings = []
    for metric in first.metrics:
        if metric in second.metrics:
            pairings.append(_pairing(a, b, metric, unit_of(metric, first), both))
    pairings = _where_both_answer(pairings)
    return Comparison(
        a=first,
        b=second,
        both=len(both),
        only_a=only_a,
        only_b=only_b,
        fixed=verdicts.count(_FIXED),
        broken=verdicts.count(_BROKEN),
        metrics=_metric_comparisons(pairings, first, margin),
        changed=_most_changed(pairings, first),
        warnings=tuple(_warnings(first, second, only_a, only_b)),
        same_answers=_same_answers(first, second),
        turned=_turned(pairs),
    )


_FIXED = (Verdict.FAIL, Verdict.PASS)


_BROKEN = (Verdict.PASS, Verdict.FAIL)


def _same_answers(a: Manifest, b: Manifest) -> bool:
    """Whether both runs judged the same texts: one file, whose answers no application made anew."""
    if a.options.get("app") or b.options.get("app"):
        return False
    return bool(a.source_hash) and a.source_hash == b.source_hash


def _readable_rows(run: ComparedRun) -> dict[str, RowLine]:
    """Id -> row, without those that could not be read: they have no verdict to compare."""
    return {line.id: line for line in run.row_lines() if line.bad is None}


@dataclass(frozen=True, slots=True)
class _Pairing:
    """The scores of one metric in both runs, row by row. dropped, valued, missing: as of
    `MetricComparison`. answered: of the pairs, those that a metric on claims says something of, for
    neither run declines there.
    """

    metric: str
    unit: str
    pairs: list[tuple[ScoreLine, ScoreLine]]
    dropped: int
    valued: int
    missing: int
    answered: list[tuple[ScoreLine, ScoreLine]]
    declined: int = 0

    def result(self) -> PairedResult:
        """The paired difference, within the range of the metric where that is known."""
        lines = itertools.chain.from_iterable(self.pairs)
        values = [line.value for line in lines if line.value is not None]
        # A metric of the user's own may have any range.
        low = 0.0 if min(values, default=0.0) >= 0.0 else None
        high = 1.0 if not self.unit and max(values, default=0.0) <= 1.0 else None
        return paired_difference(_values(self.pairs), low=low, high=high)


def _pairing(a: ComparedRun, b: ComparedRun, metric: str, unit: str, both: Set[str]) -> _Pairing:
    before = {line.row_id: line for line in a.score_lines(metric) if line.value is not None}
    pairs: list[tuple[ScoreLine, ScoreLine]] = []
    only_after = 0
    without_value = 0
    answered: list[tuple[ScoreLine, ScoreLine]] = []
    on_claims = _judges_claims(metric)
    for line in b.score_lines(metric):
        if line.value is None:
            # The judge gave no verdict, or the metric has no meaning for the new response.
            without_value += line.row_id in before and not is_loss(line.reason)
        elif line.row_id in before:
            pair = (before[line.row_id], line)
            pairs.append(pair)
            # A refusal claims nothing, and so has nothing without support.
            if not (on_claims and any(_ABSTENTION in each.flags for each in pair)):
                answered.append(pair)
        elif line.row_id in both:
            only_after += 1
    only_before = len(before.keys() & both) - len(pairs)
    return _Pairing(
        metric,
        unit,
        pairs,
        dropped=only_before + only_after,
        valued=len(before),
        missing=len(before) - len(pairs) - without_value,
        answered=answered,
    )


def _where_both_answer(pairings: list[_Pairing]) -> list[_Pairing]:
    """The pairings; where one run declines more often beyond chance, those on claims without the
    rows that either declines: what it says of fewer rows would look like better support.
    """
    declining = [each for each in pairings if each.metric.partition("(")[0] == _ABSTENTION]
    p_values = [each.result().p for each in declining]
    if not any(p is not None and p < _BEYOND_CHANCE for p in p_values):
        return pairings
    kept = []
    for each in pairings:
        declined = len(each.pairs) - len(each.answered)
        kept.append(replace(each, pairs=each.answered, declined=declined))
    return kept


def _judges_claims(metric: str) -> bool:
    """Whether the metric says how far the chunks support what the response claims."""
    declared = declared_as(metric)
    return declared is not None and declared.role.stage is Stage.SUPPORT


def _metric_comparisons(
    pairings: list[_Pairing], manifest: Manifest, margin: float | None
) -> tuple[MetricComparison, ...]:
    results = [pairing.result() for pairing in pairings]
    p_values = [result.p for result in results if result.p is not None]
    # Of twenty metrics without a difference, one has an uncorrected p below 0.05.
    corrected = iter(holm(p_values))
    comparisons = []
    for pairing, result in zip(pairings, results, strict=True):
        equivalence = None
        # The margin is one of shares; of seconds or dollars it would mean nothing.
        if margin is not None and not pairing.unit:
            equivalence = _equivalence(pairing.pairs, margin)
        comparison = MetricComparison(
            metric=pairing.metric,
            unit=pairing.unit,
            result=result,
            p=next(corrected) if result.p is not None else None,
            dropped=pairing.dropped,
            better=better_end(pairing.metric, manifest),
            change=change_word(result.difference, pairing.metric, manifest),
            equivalence=equivalence,
            valued=pairing.valued,
            missing=pairing.missing,
            declined=pairing.declined,
        )
        comparisons.append(comparison)
    return tuple(comparisons)


def _most_changed(pairings: list[_Pairing], manifest: Manifest) -> tuple[ChangedRow, ...]:
    """The rows that changed most, on metrics in [0, 1]: seconds and dollars have another scale."""
    changed: list[ChangedRow] = []
    for pairing in pairings:
        if not pairing.unit:
            # The largest of each metric first, so that no list of all changes is held.
            changes = _changes(pairing.metric, pairing.pairs, manifest)
            changed += heapq.nlargest(CHANGED_SHOWN, changes, key=_by_change)
    return tuple(heapq.nlargest(CHANGED_SHOWN, changed, key=_by_change))


def _turned(pairs: Iterable[tuple[RowLine, RowLine]]) -> McNemar | None:
    """Whether rows fixed and rows broken are more unequal than chance makes them, clusters as a
    whole.
    """
    from ragassay.scoring.hypotheses import clustered_mcnemar

    counts: dict[object, tuple[int, int]] = {}
    for before, after in pairs:
        verdicts = (before.verdict, after.verdict)
        # A row without a cluster is one of its own; the tuple keeps its id apart from a cluster's.
        key = (before.id,) if before.cluster is None else before.cluster
        fixed, broken = counts.get(key, (0, 0))
        if verdicts == _FIXED:
            fixed += 1
        elif verdicts == _BROKEN:
            broken += 1
        counts[key] = (fixed, broken)
    if not any(fixed or broken for fixed, broken in counts.values()):
        return None
    return clustered_mcnemar(counts.values())


def _equivalence(pairs: list[tuple[ScoreLine, ScoreLine]], margin: float) -> Equivalence:
    from ragassay.scoring.hypotheses import equivalent_means

    return equivalent_means(_values(pairs), margin)


def _values(pairs: list[tuple[ScoreLine, ScoreLine]]) -> Iterator[tuple[float, float, str | None]]:
    for before, after in pairs:
        if before.value is not None and after.value is not None:
            yield before.value, after.value, before.cluster


def _changes(
    metric: str, pairs: list[tuple[ScoreLine, ScoreLine]], manifest: Manifest
) -> Iterator[ChangedRow]:
    for before, after in pairs:
        if before.value is None or after.value is None or before.value == after.value:
            continue
        word = change_word(after.value - before.value, metric, manifest)
        yield ChangedRow(
            before.row_id, metric, before.value, after.value, before.verdict, after.verdict, word
        )


def _by_change(row: ChangedRow) -> tuple[float, bool, str, str]:
    """The largest change first; of equal ones those for the worse."""
    return abs(row.b - row.a), row.change == "worse", row.id, row.metric


def _warnings(a: Manifest, b: Manifest, only_a: int, only_b: int) -> Iterator[str]:
    """What makes the two runs less than comparable. Numbers with different signatures are not
    compared silently.
    """
    if a.source_hash != b.source_hash:
        yield (
            "the runs read different data (or the same file, changed in between); rows are paired"
            " by id"
        )
    if a.judge.uri != b.judge.uri:
        yield f"different judges: {a.judge.uri} and {b.judge.uri}"
    yield from _differ("rubric", a.judge.rubrics, b.judge.rubrics)
    # Another judge or another rubric always has another fingerprint, and is named already.
    if a.judge.uri == b.judge.uri and not list(_differ("", a.judge.rubrics, b.judge.rubrics)):
        yield from _differ("judge fingerprint", a.judge.measured_as, b.judge.measured_as)
    for run, this, other in (("A", a, b), ("B", b, a)):
        alone = [metric for metric in this.metrics if metric not in other.metrics]
        if alone:
            yield f"only in run {run}: {', '.join(alone)}"
    if only_a or only_b:
        yield f"rows in only one of the runs are left out: {only_a:,} of A, {only_b:,} of B"


def _differ(what: str, a: Mapping[str, str], b: Mapping[str, str]) -> Iterator[str]:
    """A warning for each name that both have with other texts."""
    for name in sorted(a.keys() & b.keys()):
        if a[name] != b[name]:
            yield f"different {what} for {name}: {a[name][:40]} and {b[name][:40]}"


def comparison_json(comparison: Comparison) -> dict[str, object]:
    """The Comparison as JSON-like values, "schema": 1."""
    from ragassay.report.jsonable import as_json

    runs = {"a": _run_json(comparison.a), "b": _run_json(comparison.b)}
    names = (
        "both",
        "only_a",
        "only_b",
        "fixed",
        "broken",
        "turned",
        "metrics",
        "corrected",
        "same_answers",
        "changed",
        "warnings",
        "headline",
    )
    rest = {name: as_json(getattr(comparison, name)) for name in names}
    return {"schema": 1, "kind": "comparison", **runs, **rest}


def _run_json(manifest: Manifest) -> dict[str, object]:
    from ragassay.report.jsonable import as_json

    return {
        "run_id": manifest.run_id,
        "name": manifest.name,
        "created": manifest.created,
        "source": manifest.source,
        "judge": as_json(manifest.judge),
    }


@dataclass(frozen=True, slots=True)
class PairedRow:
    """One row in both runs, by one metric. a, b: its values, None where it has none there."""

    id: str
    index_a: int
    index_b: int
    a: float | None
    b: float | None
    verdict_a: Verdict | None
    verdict_b: Verdict | None
    cause_a: str
    cause_b: str
    change: str = ""

    @property
    def changed(self) -> bool:
        """Whether value, verdict or cause differ."""
        values = (self.a, self.verdict_a, self.cause_a)
        return values != (self.b, self.verdict_b, self.cause_b)


def paired_rows(store: Store, a: str, b: str, metric: str) -> list[PairedRow]:
    """The rows that both runs have, by one metric of both: those that turned for the worse first,
    then for the better, each by the size of the change, then the rest by id.

    The verdicts and causes are the rows'. Memory follows the number of rows, not their texts.
    """
    manifest = store.run(a).manifest
    rows_a = _readable_rows(StoredSide(store, a))
    values_a = {line.row_id: line.value for line in store.score_lines(a, metric)}
    values_b = {line.row_id: line.value for line in store.score_lines(b, metric)}
    pairs = []
    for after in store.row_lines(b):
        before = rows_a.get(after.id)
        if before is None or after.bad is not None:
            continue
        first, second = values_a.get(after.id), values_b.get(after.id)
        word = ""
        if first is not None and second is not None:
            word = change_word(second - first, metric, manifest)
        pair = PairedRow(
            after.id,
            before.index,
            after.index,
            first,
            second,
            before.verdict,
            after.verdict,
            before.cause,
            after.cause,
            word,
        )
        pairs.append(pair)
    pairs.sort(key=_by_turn)
    return pairs


def _by_turn(pair: PairedRow) -> tuple[int, float, bool, str]:
    turn = 2
    if (pair.verdict_a, pair.verdict_b) == _BROKEN:
        turn = 0
    elif (pair.verdict_a, pair.verdict_b) == _FIXED:
        turn = 1
    size = 0.0
    if pair.a is not None and pair.b is not None:
        size = abs(pair.b - pair.a)
    return turn, -size, not pair.changed, pair.id
