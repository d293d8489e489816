"""The summary of a run: the figures that every report prints first, in one value."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import compress, repeat
from operator import not_
from typing import TYPE_CHECKING, NamedTuple

from ragassay.core import (
    AppUsage,
    BadRow,
    BesideUsers,
    Cause,
    CauseShare,
    Interval,
    Manifest,
    MetricSummary,
    MetricTrust,
    RowResult,
    SliceSummary,
    Status,
    Summary,
    Verdict,
    WorstRow,
    shorten,
)
from ragassay.core.counting import count
from ragassay.diagnosis import QUERY_TYPE, cause_named, is_own, own_cause
from ragassay.report.lost import remedy
from ragassay.report.orders import order_agreement
from ragassay.report.proof import proof, worst_score
from ragassay.report.wording import (
    AppTotals,
    better_end,
    reading_words,
    unit_of,
    unmeasured_words,
    with_reason,
)
from ragassay.report.worst import worst_rows
from ragassay.scoring import MeanAccumulator, clustered_rate_interval, gap_to_rest, holm

if TYPE_CHECKING:
    from ragassay.report.satisfaction import UsersAndJudges
    from ragassay.store import RowLine, ScoreLine, Store

SLICES_SHOWN = 12
BAD_ROWS_SHOWN = 50
EXAMPLES = 3
REASONS_SHOWN = 3
# A "slice" with more values than this is an identifier, not a grouping; it is left out, and a note
# says so.
MOST_VALUES = 100
# A type of query that fewer rows have says nothing, and nobody asked for it.
LEAST_OF_TYPE = 5
_SATISFACTION = "user_satisfaction"
_SPENT = ("input_tokens", "output_tokens", "total_tokens", "cost", "latency")


@dataclass(frozen=True, slots=True)
class FinerShare:
    """A finer cause behind a root cause. rows: how many of its failing rows may have it; alone:
    those of them in which it is the only one that may.
    """

    cause: Cause
    rows: int
    alone: int


@dataclass(frozen=True, slots=True)
class CauseSplit(CauseShare):
    """A root cause's share of the failing rows, with what lies behind it, the likeliest first.
    uncertain: of its rows, those in which a metric before it gave no verdict. also: further failing
    rows that have it behind another cause, counted for judges of the user's own. why: the reason
    that such a judge gives in the first example.
    """

    finer: tuple[FinerShare, ...] = ()
    uncertain: int = 0
    also: int = 0
    why: str = ""


def summarise(
    store: Store, run_id: str, *, worst: int | None = None, trust: Sequence[MetricTrust] = ()
) -> Summary:
    """The Summary of a stored run. Streams: memory follows the number of clusters and slices, not
    of rows.

    `Summary.app`: an `AppTotals`; tokens and cost are totals over the rows that state them (a row's
    total is its input + output where it states only these), latency is the mean of those rows.
    Patterns count failing rows only. Rows that a stop left half judged are pending; what was judged
    of them counts in the metrics. worst: how many of the worst rows to name; None = the worst 10 %,
    at least 10 and at most 100. trust: what is known of the judge on rows like these, a metric
    each; kept for the metrics whose scores came of something that was asked.
    """
    stored = store.run(run_id)
    manifest = stored.manifest
    tally = _tally(store, run_id, manifest)
    rows = tally.rows
    metrics = [metric.summary(manifest) for metric in tally.metrics.values()]
    if worst is None:
        worst = _tenth(manifest.rows)
    return Summary(
        manifest=manifest,
        state=stored.state,
        stop_reason=stored.stop_reason,
        rows=max(manifest.rows, rows.scored + rows.bad),
        scored=rows.scored,
        bad=rows.bad,
        pending=max(0, manifest.rows - rows.scored - rows.bad),
        passed=rows.verdicts[Verdict.PASS],
        failed=rows.verdicts[Verdict.FAIL],
        undecided=rows.verdicts[Verdict.UNDECIDED],
        metrics=tuple(metrics),
        causes=tuple(_with_reasons(store, run_id, rows.shares())),
        patterns=dict(sorted(rows.patterns.items(), key=_most_frequent_first)),
        slices=tally.slices(manifest),
        worst=tuple(_worst_rows(store, run_id, manifest, metrics, worst)),
        bad_rows=tuple(rows.bad_rows),
        app=rows.usage(),
        app_rows=rows.with_usage,
        ledger=stored.ledger,
        seconds=stored.seconds,
        notes=(*unmeasured_words(manifest), *tally.notes()),
        trust=tuple(line for line in trust if tally.was_asked(line.metric)),
        reading=dict(sorted(rows.reading.items())),
        orders=order_agreement(store, run_id, manifest),
        users=tally.beside_users(),
    )


class _Tally:
    """Everything that is counted in the one pass over a run's rows."""

    def __init__(self, manifest: Manifest) -> None:
        self.rows = _Rows({name.partition("(")[0] for name in manifest.metrics})
        self._max_tokens = manifest.options.get("max_tokens")
        self.metrics = {name: _Metric(name, unit_of(name, manifest)) for name in manifest.metrics}
        self._slices = {name: _Slices() for name in manifest.metrics}
        self._rated = _SATISFACTION in manifest.metrics
        self._users: UsersAndJudges | None = None

    def add(self, line: RowLine, scores: Iterable[ScoreLine]) -> None:
        """Count a row and its scores."""
        self.rows.add(line)
        scores = list(scores)
        if self._rated and line.done:
            self._add_rated(line, scores)
        for score in scores:
            metric = self.metrics.get(score.metric)
            if metric is None:
                continue
            metric.add(score, done=line.done)
            slices = self._slices[score.metric]
            slices.add(score.slices, score.value, score.verdict, score.cluster)

    def _add_rated(self, line: RowLine, scores: Sequence[ScoreLine]) -> None:
        """Set what users said of the row beside what was judged of it."""
        values = [score.value for score in scores if score.metric == _SATISFACTION]
        if not values or values[0] is None:
            return
        if self._users is None:
            # Deferred: it needs numpy, and few runs hold what users said.
            from ragassay.report.satisfaction import UsersAndJudges

            self._users = UsersAndJudges()
        verdicts = {"": line.verdict} | {score.metric: score.verdict for score in scores}
        self._users.add(line.id, line.cluster, values[0], verdicts)

    def beside_users(self) -> tuple[BesideUsers, ...]:
        """How far the judges agree with the users who rated the answers."""
        if self._users is None:
            return ()
        return self._users.results(self.metrics)

    def was_asked(self, metric: str) -> bool:
        """Whether anything was asked for the metric."""
        return metric in self.metrics and self.metrics[metric].asked > 0

    def notes(self) -> list[str]:
        """What to know of the figures: what could not be judged, what is no slice, how replies were
        read.
        """
        notes: list[str] = []
        for metric in self.metrics.values():
            notes += metric.notes(self._max_tokens)
        notes += self._over_budget()
        too_many = sorted(self._too_many_values())
        if too_many:
            names = ", ".join(too_many)
            notes.append(f"more than {MOST_VALUES} values, so not compared as slices: {names}")
        return notes + reading_words(self.rows.reading)

    def _over_budget(self) -> list[str]:
        """A line for each reason of a cap, with the metrics that it leaves without a value."""
        metrics: dict[str, list[str]] = {}
        for metric in self.metrics.values():
            for reason, rows in metric.over_budget.items():
                words = f"{metric.metric} has no value in {count(rows, 'row')}"
                metrics.setdefault(reason, []).append(words)
        return [f"{', '.join(words)} where it applies: {why}" for why, words in metrics.items()]

    def slices(self, manifest: Manifest) -> tuple[SliceSummary, ...]:
        """The slices that say most."""
        too_many = self._too_many_values()
        compared: list[_ComparedSlice] = []
        for name, slices in self._slices.items():
            for candidate in slices.compared(name, self.metrics[name]):
                if candidate.summary.slice not in too_many:
                    compared.append(candidate)
        operation = {name for name, metric in self.metrics.items() if metric.unit}
        better = {name: better_end(name, manifest) for name in self.metrics}
        return _most_telling(compared, operation, better)

    def _too_many_values(self) -> set[str]:
        return set().union(*(slices.too_many for slices in self._slices.values()))


def _tally(store: Store, run_id: str, manifest: Manifest) -> _Tally:
    tally = _Tally(manifest)
    # One pass for all: a row's line and its scores lie in one record, which is decoded once.
    for line, scores in store.lines(run_id):
        tally.add(line, scores)
    return tally


def _most_frequent_first(item: tuple[str, int]) -> tuple[int, str]:
    """Sort key of (name, count): the highest count first, then by name."""
    name, count = item
    return -count, name


class _Rows:
    """Verdicts, causes and usage over the rows. metrics: their names without parameters."""

    def __init__(self, metrics: Set[str]) -> None:
        self._metric_names = metrics
        self.scored = 0
        self.bad = 0
        self.with_usage = 0
        self.verdicts: Counter[Verdict | None] = Counter()
        self.patterns: Counter[str] = Counter()
        self.bad_rows: list[BadRow] = []
        self.reading: Counter[str] = Counter()
        self._failing: Counter[str | None] = Counter()
        # Root cause -> cluster -> failing rows. The clusters are needed for the interval.
        self._causes: dict[str, Counter[str | None]] = {}
        self._examples: dict[str, list[str]] = {}
        # Root cause -> finer cause -> rows that may have it, and rows that can have no other.
        self._finer: dict[str, Counter[str]] = {}
        self._alone: dict[str, Counter[str]] = {}
        # Root cause -> rows in which it is uncertain.
        self._uncertain: Counter[str] = Counter()
        # Judge of the user's own -> rows that it fails behind another cause.
        self._also: Counter[str] = Counter()
        # Figure -> its sum, and how many rows state it: a mean is over these rows alone.
        self._sums: dict[str, float] = {}
        self._stated: Counter[str] = Counter()

    def add(self, line: RowLine) -> None:
        """Count a row; one that a stop left half judged is pending and not counted."""
        if line.bad is not None:
            self.bad += 1
            if len(self.bad_rows) < BAD_ROWS_SHOWN:
                self.bad_rows.append(line.bad)
            return
        if line.reading:
            self.reading.update(line.reading)
        if not line.done:
            return
        self.scored += 1
        self.verdicts[line.verdict] += 1
        if line.usage is not None:
            self._add_usage(line.usage)
        if line.verdict is Verdict.FAIL:
            self._add_failed(line)

    def _add_usage(self, usage: AppUsage) -> None:
        self.with_usage += 1
        for name in _SPENT:
            value = getattr(usage, name)
            if name == "total_tokens" and value is None:
                value = _total_of(usage)
            if value is not None:
                self._sums[name] = self._sums.get(name, 0) + value
                self._stated[name] += 1

    def _add_failed(self, line: RowLine) -> None:
        if line.pattern:
            self.patterns[line.pattern] += 1
        self._failing[line.cluster] += 1
        name = line.cause or "unknown"
        self._causes.setdefault(name, Counter())[line.cluster] += 1
        self._uncertain[name] += line.uncertain
        self._also.update(line.also)
        for shown in (name, *line.also):
            examples = self._examples.setdefault(shown, [])
            if len(examples) < EXAMPLES:
                examples.append(line.id)
        self._add_finer(line.cause, line.finer)

    def _add_finer(self, cause: str, finer: tuple[str, ...]) -> None:
        """Count what lies behind a failed row's root cause."""
        self._finer.setdefault(cause, Counter()).update(finer)
        alone = self._alone.setdefault(cause, Counter())
        if len(finer) == 1:
            alone.update(finer)

    def _behind(self, name: str) -> tuple[FinerShare, ...]:
        alone = self._alone.get(name, Counter())
        possible = sorted(self._finer.get(name, Counter()).items(), key=_most_frequent_first)
        return tuple(FinerShare(cause_named(finer), rows, alone[finer]) for finer, rows in possible)

    def shares(self) -> tuple[CauseSplit, ...]:
        """The root causes of the failing rows, the most frequent first."""
        failing = self._failing.total()
        rows_by_cause = dict.fromkeys(self._also, 0)
        rows_by_cause |= {name: clusters.total() for name, clusters in self._causes.items()}
        shares = []
        for name, rows in sorted(rows_by_cause.items(), key=_most_frequent_first):
            share = CauseSplit(
                self._cause(name),
                rows,
                rows / failing,
                self._interval(self._causes.get(name, Counter())),
                tuple(self._examples[name]),
                self._behind(name),
                self._uncertain[name],
                self._also[name],
            )
            shares.append(share)
        return tuple(shares)

    def _cause(self, name: str) -> Cause:
        """The cause of this name, which may be that of a metric."""
        if name in self._metric_names:
            return own_cause(name)
        return cause_named(name)

    def _interval(self, clusters: Counter[str | None]) -> Interval | None:
        return clustered_rate_interval(self._counts_by_cluster(clusters))

    def _counts_by_cluster(self, clusters: Counter[str | None]) -> Iterator[tuple[int, int]]:
        """(failing rows with the cause, failing rows) of each cluster."""
        for cluster, rows in self._failing.items():
            if cluster is not None:
                yield clusters[cluster], rows
        # A row without a cluster is one of its own.
        yield from repeat((1, 1), clusters[None])
        yield from repeat((0, 1), self._failing[None] - clusters[None])

    def usage(self) -> AppTotals:
        """What the application spent; what no row states is absent, and not 0."""
        # A mean and no sum: rows are answered side by side, so a sum of seconds says nothing.
        latency = self._sums.get("latency")
        if latency is not None:
            latency /= self._stated["latency"]
        return AppTotals(
            self._total("input_tokens"),
            self._total("output_tokens"),
            self._total("total_tokens"),
            self._sums.get("cost"),
            latency,
            {name: self._stated[name] for name in _SPENT},
        )

    def _total(self, name: str) -> int | None:
        if name not in self._sums:
            return None
        return int(self._sums[name])


def _with_reasons(store: Store, run_id: str, shares: Iterable[CauseSplit]) -> Iterator[CauseSplit]:
    """The shares; those of judges of the user's own with the reason given in the first example."""
    for share in shares:
        if not is_own(share.cause):
            yield share
            continue
        row = store.row(run_id, share.examples[0])
        causes: tuple[Cause | None, ...] = ()
        if row is not None:
            causes = (row.diagnosis.cause, *row.diagnosis.others)
        reasons = [cause.detail for cause in causes if cause and cause.name == share.cause.name]
        yield replace(share, why=reasons[0] if reasons else "")


def _total_of(usage: AppUsage) -> int | None:
    """Input and output tokens together, None where the row does not state both."""
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    return usage.input_tokens + usage.output_tokens


class _Metric:
    """One metric over the run."""

    def __init__(self, metric: str, unit: str) -> None:
        self.metric = metric
        self.unit = unit
        # A ratio lies in [0, 1], and its interval is kept there; tokens and seconds have no top.
        self.values = MeanAccumulator(0.0, None if unit else 1.0)
        self.passes = MeanAccumulator()
        self.rows = 0
        self.asked = 0
        self.judged = 0
        self.undecided = 0
        self.reasons: Counter[str] = Counter()
        self.missing: Counter[str] = Counter()
        self.over_budget: Counter[str] = Counter()
        self.pass_mark: float | None = None
        self._probability_sum = 0.0
        self._probability_weight = 0

    def add(self, score: ScoreLine, *, done: bool = True) -> None:
        """Count the score of one row. done: whether the row is; else it is not undecided yet."""
        self.rows += 1
        if score.value is not None:
            self._add_value(score.value, score.cluster)
        if score.verdict is Verdict.PASS or score.verdict is Verdict.FAIL:
            self.passes.add(float(score.verdict is Verdict.PASS), score.cluster)
        elif score.verdict is Verdict.UNDECIDED and done:
            self.undecided += 1
        if score.status is Status.NOT_APPLICABLE:
            self.reasons[score.reason or "not applicable"] += 1
        elif score.status is Status.OVER_BUDGET:
            self.over_budget[with_reason(score.status, score.reason)] += 1
        elif score.status is not Status.JUDGED:
            self.missing[with_reason(score.status, score.reason)] += 1
        self.asked += score.counts.asked
        self.judged += score.counts.judged
        if score.probability is not None:
            # A row's probability is a mean over its judged parts, so it weighs as many.
            weight = max(score.counts.judged, 1)
            self._probability_sum += weight * score.probability
            self._probability_weight += weight
        if score.pass_mark is not None:
            self.pass_mark = score.pass_mark

    def _add_value(self, value: float, cluster: str | None) -> None:
        # A metric of the user's own may leave [0, 1]; then its interval is not cut there either.
        if value > 1.0:
            self.values.high = None
        if value < 0.0:
            self.values.low = None
        self.values.add(value, cluster)

    def summary(self, manifest: Manifest) -> MetricSummary:
        """The metric's figures over the rows that were counted."""
        values = self.values.result()
        passes = self.passes.result()
        passed = round((passes.mean or 0.0) * passes.n)
        coverage = None
        if self.asked:
            coverage = self.judged / self.asked
        probability = None
        if self._probability_weight:
            probability = self._probability_sum / self._probability_weight
        return MetricSummary(
            metric=self.metric,
            rows=manifest.rows,
            n=values.n,
            clusters=values.clusters,
            mean=values.mean,
            interval=values.interval,
            asked=self.asked,
            judged=self.judged,
            coverage=coverage,
            passed=passed,
            failed=passes.n - passed,
            undecided=self.undecided,
            pass_rate=passes.mean,
            pass_interval=passes.interval,
            not_applicable=self.reasons.total(),
            reasons=dict(self.reasons.most_common()),
            pass_mark=self.pass_mark,
            probability=probability,
            unit=self.unit,
            lost=self._lost,
        )

    @property
    def _lost(self) -> bool:
        return self.asked > 0 and not self.judged and not self.values.result().n

    def notes(self, max_tokens: object = None) -> list[str]:
        """One line where scores are missing although the metric applies. max_tokens: the option of
        the run.
        """
        if not self.missing:
            return []
        reasons = [f"{reason} ({n:,})" for reason, n in self.missing.most_common(REASONS_SHOWN)]
        if len(self.missing) > REASONS_SHOWN:
            reasons.append("...")
        rows = count(self.missing.total(), "row")
        why = "; ".join(reasons)
        notes = [f"{self.metric} has no value in {rows} where it applies: {why}"]
        if self._lost:
            words = f"none of its {count(self.asked, 'verdict')} was given"
            again = remedy(reasons[0], max_tokens) or "Ask again: ragassay resume --retry-failed"
            notes.append(
                f"{self.metric} is lost, for {words}: {shorten(reasons[0], 80)}."
                f" {again[:1].upper()}{again[1:]}"
            )
        return notes


_Values = dict[str, tuple[MeanAccumulator, MeanAccumulator]]
"""Value of a slice -> values and passes of a metric there."""


def _frequent(by_value: _Values) -> _Values:
    """The values that enough rows have."""
    frequent = {}
    for value, accumulators in by_value.items():
        if accumulators[0].result().n >= LEAST_OF_TYPE:
            frequent[value] = accumulators
    return frequent


class _ComparedSlice(NamedTuple):
    """A slice value against the other values of its slice, with a raw p. value_count: how many
    values the slice has.
    """

    summary: SliceSummary
    value_count: int


class _Slices:
    """One metric on every slice value, against the rest of the rows."""

    def __init__(self) -> None:
        self.too_many: set[str] = set()
        # Slice -> value of the slice -> values and passes of the metric there.
        self._values: dict[str, dict[str, tuple[MeanAccumulator, MeanAccumulator]]] = {}

    def add(
        self,
        slices: Mapping[str, str],
        value: float | None,
        verdict: Verdict | None,
        cluster: str | None,
    ) -> None:
        """Count the score of one row on every slice that the row lies in."""
        if value is None:
            return
        for name, slice_value in slices.items():
            accumulators = self._accumulators(name, slice_value)
            if accumulators is None:
                continue
            values, passes = accumulators
            values.add(value, cluster)
            if verdict is Verdict.PASS or verdict is Verdict.FAIL:
                passes.add(float(verdict is Verdict.PASS), cluster)

    def _accumulators(
        self, name: str, slice_value: str
    ) -> tuple[MeanAccumulator, MeanAccumulator] | None:
        """Values and passes of the slice value, None where the slice has too many values. What was
        counted of such a slice is dropped, so that memory stays bounded.
        """
        if name in self.too_many:
            return None
        by_value = self._values.setdefault(name, {})
        if slice_value not in by_value:
            if len(by_value) >= MOST_VALUES:
                self.too_many.add(name)
                del self._values[name]
                return None
            by_value[slice_value] = (MeanAccumulator(), MeanAccumulator())
        return by_value[slice_value]

    def compared(self, metric: str, tally: _Metric) -> Iterator[_ComparedSlice]:
        """Each slice value against the other values of its slice."""
        for name, by_value in self._values.items():
            if name == QUERY_TYPE:
                by_value = _frequent(by_value)
            # One value alone has no other rows to be compared with.
            if len(by_value) < 2:
                continue
            whole = MeanAccumulator.joined(values for values, _ in by_value.values())
            for slice_value, (values, passes) in by_value.items():
                values.low = tally.values.low
                values.high = tally.values.high
                gap, p = gap_to_rest(values, whole)
                result = values.result()
                summary = SliceSummary(
                    name,
                    slice_value,
                    metric,
                    result.n,
                    result.mean,
                    result.interval,
                    passes.mean,
                    gap,
                    p,
                )
                yield _ComparedSlice(summary, len(by_value))


def _most_telling(
    compared: list[_ComparedSlice], operation: set[str], better: Mapping[str, str]
) -> tuple[SliceSummary, ...]:
    """The smallest p first, Holm-corrected over everything that was compared; of two mirror images
    the worse.

    operation: metrics in dollars, seconds or tokens; they come after those that say how good the
    answers are. better: metric -> which end is the good one.
    """

    def key(item: _ComparedSlice) -> tuple[bool, bool, float, float, str, str]:
        x = item.summary
        gain = x.gap or 0.0
        if better[x.metric] == "lower":
            gain = -gain
        p = float(f"{x.p or 0.0:.9g}")  # mirror images have one p, but for the last bits
        return x.p is None, x.metric in operation, p, gain, x.metric, x.value

    compared.sort(key=key)
    # The types of queries are a family of their own: they must not weaken what was asked for.
    is_derived = [item.summary.slice == QUERY_TYPE for item in compared]
    named = iter(_corrected(list(compress(compared, map(not_, is_derived)))))
    derived = iter(_corrected(list(compress(compared, is_derived))))
    # In the order of the p before its correction, which makes many of them equal.
    final = [next(derived if of_type else named) for of_type in is_derived]
    # An operation metric that stands out goes before a quality metric that does not.
    final.sort(key=_within_chance)
    shown: list[SliceSummary] = []
    mirrored: set[tuple[str, str]] = set()
    for summary, value_count in final:
        pair = (summary.slice, summary.metric)
        # Of a slice with two values, the one is the other's rest: the same gap with another sign.
        if value_count == 2 and pair in mirrored:
            continue
        mirrored.add(pair)
        shown.append(summary)
    return tuple(shown[:SLICES_SHOWN])


def _corrected(compared: list[_ComparedSlice]) -> list[_ComparedSlice]:
    """The slices with their p corrected for the number of them that have one."""
    raw = [item.summary.p for item in compared if item.summary.p is not None]
    p_values = iter(holm(raw))
    corrected = []
    for item in compared:
        if item.summary.p is not None:
            item = item._replace(summary=replace(item.summary, p=next(p_values)))
        corrected.append(item)
    return corrected


def _within_chance(item: _ComparedSlice) -> bool:
    p = item.summary.p
    return p is None or p >= 0.05


def _tenth(rows: int) -> int:
    """A tenth of the rows, at least 10 and at most 100."""
    return min(100, max(10, math.ceil(rows / 10)))


def _worst_rows(
    store: Store, run_id: str, manifest: Manifest, metrics: Sequence[MetricSummary], limit: int
) -> Iterator[WorstRow]:
    for row in worst_rows(store, run_id, manifest, metrics, limit):
        found = worst_row(row, manifest)
        if found is not None:
            yield found


def worst_row(row: RowResult, manifest: Manifest) -> WorstRow | None:
    """What a row is told by among the worst: its lowest score and the proof; None where it has no
    score that fails it.
    """
    score = worst_score(row, manifest)
    if row.bad is not None or score is None or not row.done:
        return None
    if row.diagnosis.verdict is Verdict.PASS:
        return None  # one of its metrics may fail and not count: evidence outranks it
    cause = row.diagnosis.cause
    name, detail = ("", "") if cause is None else (cause.name, cause.detail)
    shown = proof(score, row.sample)
    quote = shown.quote
    # The cause often quotes what the judge says; once is enough.
    repeated = detail != "" and shown.rationale.startswith(detail[:40])
    if not quote and not repeated:
        quote = detail
    return WorstRow(
        id=row.id,
        index=row.index,
        verdict=row.diagnosis.verdict,
        cause=name,
        metric=score.metric,
        value=score.value,
        quote=quote,
        rationale=shown.rationale,
        uncertain=cause is not None and cause.uncertain != "",
    )
