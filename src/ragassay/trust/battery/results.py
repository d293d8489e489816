"""The results of a battery: how often the judge was wrong, by probe and family, with intervals.

Nothing is left out: pairs that could not be judged are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ragassay.core import Figure
from ragassay.scoring import intervals

MARK = 0.05
"""A family holds when the judge is wrong in at most this share of its pairs."""

Outcome = Literal["pass", "fail", "lost", "not_applicable"]
FamilyVerdict = Literal["holds", "not shown", "doubtful", "fails", "not measured"]
_FEW_ROWS = 10  # an interval is clustered by row, and too narrow over fewer clusters
_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Trial:
    """One changed row under one metric.

    row: what it was made from (its cluster). before, after: ids of the base and of the changed row.
    base_passes: whether an honest judge passes the base. expects: "same" = the verdict of the base,
    "fails".
    """

    family: str
    probe: str
    metric: str
    row: str
    before: str
    after: str
    base_passes: bool
    expects: Literal["same", "fails"]


@dataclass(frozen=True, slots=True)
class ProbeFigures:
    """One probe under one metric.

    pairs: tried; judged: with both verdicts; lost: a verdict is missing; not_applicable: the
    changed row has nothing that the metric could judge (never a pass); left_out: the base itself is
    not judged as it is known to be, so that the change could show nothing (only where the row must
    fail). wrong: judged pairs with the wrong verdict; lifted: to a pass, lowered: to a fail. rate:
    wrong / judged, its interval clustered by row. examples: ids of changed rows judged wrongly.
    """

    family: str
    probe: str
    metric: str
    expects: str
    pairs: int
    judged: int
    lost: int
    not_applicable: int
    left_out: int
    wrong: int
    lifted: int
    lowered: int
    rate: Figure
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FamilyFigures:
    """A family over all its probes and metrics.

    verdict: "holds" where even the interval's upper end is at most the mark, "fails" where even the
    lower end is above it; between them "not shown" (to hold) where the rate itself is at most the
    mark, else "doubtful"; "not measured" without a judged pair.
    """

    family: str
    pairs: int
    judged: int
    lost: int
    not_applicable: int
    left_out: int
    wrong: int
    lifted: int
    lowered: int
    rate: Figure
    mark: float
    verdict: FamilyVerdict


@dataclass(frozen=True, slots=True)
class BatteryResult:
    """A judge through the battery.

    rows: bases it was made from; base: metric -> share of the bases judged as they are known to be.
    calls, cost: what the judge's side spent. runs: ids of the runs in the store, where every row
    can be looked at.
    """

    judge: str
    created: str
    version: str
    rows: int
    probes: tuple[ProbeFigures, ...]
    families: tuple[FamilyFigures, ...]
    base: tuple[Figure, ...]
    sentence: str
    notes: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    calls: int = 0
    cost: float | None = None

    def family(self, name: str) -> FamilyFigures | None:
        """The family of this name."""
        return next((family for family in self.families if family.family == name), None)


def summarise(
    trials: Iterable[Trial],
    outcome: Callable[[str, str], Outcome],
    families: Sequence[str],
    mark: float = MARK,
) -> tuple[tuple[ProbeFigures, ...], tuple[FamilyFigures, ...]]:
    """Figures per (probe, metric) and per family, in the order of `families`.

    outcome(metric, id): what the metric made of that row.
    """
    by_probe: dict[tuple[str, str, str], list[Trial]] = {}
    for trial in trials:
        by_probe.setdefault((trial.family, trial.probe, trial.metric), []).append(trial)
    order = {name: place for place, name in enumerate(families)}
    # The sort is stable: inside a family, probes keep the order in which they were tried.
    keys = sorted(by_probe, key=lambda key: order[key[0]])
    probes = tuple(_probe(by_probe[key], outcome) for key in keys)
    by_family: dict[str, list[Trial]] = {}
    for key in keys:
        by_family.setdefault(key[0], []).extend(by_probe[key])
    figures = []
    for name, trials_of_family in by_family.items():
        figures.append(_family(name, trials_of_family, outcome, mark))
    return probes, tuple(figures)


def astray(
    trials: Iterable[Trial], outcome: Callable[[str, str], Outcome]
) -> Iterator[tuple[Trial, Outcome, Outcome]]:
    """The trials on which the judge was wrong, each with its verdicts before and after the change,
    and then those of which a verdict is missing.
    """
    lost = []
    for trial in trials:
        result = _result_of(trial, outcome)
        if result.wrong:
            yield trial, result.before, result.after
        elif result.state == "lost":
            lost.append((trial, result.before, result.after))
    yield from lost


def sentence(judge: str, families: Sequence[FamilyFigures]) -> str:
    """The result in one sentence, the families it fails by name."""
    measured = [family for family in families if family.verdict != "not measured"]
    if not measured:
        return f"Nothing can be said of {judge}: no pair was judged."
    clauses = []
    for verdict, words in (("fails", "fails"), ("doubtful", "is doubtful in")):
        names = [f"{f.family} ({f.rate.value:.0%} wrong)" for f in measured if f.verdict == verdict]
        if names:
            clauses.append(f"{words} {', '.join(names)}")
    unshown = sum(family.verdict == "not shown" for family in measured)
    if unshown:
        clauses.append(f"is not shown to hold in {unshown}, for too few rows")
    holding = sum(family.verdict == "holds" for family in measured)
    clauses.append(f"holds in {holding} of {len(measured)} families")
    lost = sum(family.lost for family in families)
    if lost:
        pairs = sum(family.pairs for family in families)
        clauses.append(f"{lost} of {pairs} pairs have a verdict missing")
    return f"{judge} {'; '.join(clauses)}."


def rate_of(name: str, wrong: Iterable[tuple[str, bool]]) -> Figure:
    """The share of trues, with an interval clustered by the first of each pair."""
    clusters: dict[str, tuple[int, int]] = {}
    for row, is_true in wrong:
        trues, n = clusters.get(row, (0, 0))
        clusters[row] = (trues + is_true, n + 1)
    total = sum(n for _, n in clusters.values())
    if not total:
        return Figure(name, None, reason="no pair was judged")
    reason = ""
    if len(clusters) < _FEW_ROWS:
        rows = "row" if len(clusters) == 1 else "rows"
        reason = f"only {len(clusters)} {rows}: the interval may be too narrow"
    value = sum(trues for trues, _ in clusters.values()) / total
    return Figure(name, value, intervals.clustered_rate_interval(clusters.values()), total, reason)


class _TrialResult(NamedTuple):
    """What came of a trial. wrong: whether the judge is wrong on the changed row."""

    state: Literal["judged", "lost", "not_applicable", "left_out"]
    wrong: bool
    before: Outcome
    after: Outcome


def _result_of(trial: Trial, outcome: Callable[[str, str], Outcome]) -> _TrialResult:
    before = outcome(trial.metric, trial.before)
    after = outcome(trial.metric, trial.after)
    if "lost" in (before, after):
        return _TrialResult("lost", False, before, after)
    if "not_applicable" in (before, after):
        return _TrialResult("not_applicable", False, before, after)
    if trial.expects == "fails":
        # On a base that is misjudged already, a change shows nothing.
        if (before == "pass") is not trial.base_passes:
            return _TrialResult("left_out", False, before, after)
        return _TrialResult("judged", after == "pass", before, after)
    # Where nothing should change, a misjudged base counts as well: the judge is asked whether it
    # is led astray, not whether it is right.
    return _TrialResult("judged", before != after, before, after)


def _counted(
    trials: Sequence[Trial], outcome: Callable[[str, str], Outcome]
) -> tuple[dict[str, int], Figure, tuple[str, ...]]:
    """The counts of the figures, the rate of wrong verdicts, and ids of a few wrong ones."""
    counts = dict.fromkeys(
        ("judged", "lost", "not_applicable", "left_out", "wrong", "lifted", "lowered"), 0
    )
    pairs: list[tuple[str, bool]] = []
    examples: list[str] = []
    for trial in trials:
        result = _result_of(trial, outcome)
        counts[result.state] += 1
        if result.state != "judged":
            continue
        pairs.append((trial.row, result.wrong))
        if result.wrong:
            counts["wrong"] += 1
            # A wrong verdict that is the base's own (the change had to make it fail) is neither.
            counts["lifted"] += result.before == "fail" and result.after == "pass"
            counts["lowered"] += result.before == "pass" and result.after == "fail"
            examples.append(trial.after)
    return counts, rate_of("wrong", pairs), tuple(examples[:_EXAMPLES])


def _probe(trials: Sequence[Trial], outcome: Callable[[str, str], Outcome]) -> ProbeFigures:
    counts, rate, examples = _counted(trials, outcome)
    first = trials[0]
    return ProbeFigures(
        first.family,
        first.probe,
        first.metric,
        first.expects,
        len(trials),
        rate=rate,
        examples=examples,
        **counts,
    )


def _family(
    name: str,
    trials: Sequence[Trial],
    outcome: Callable[[str, str], Outcome],
    mark: float,
) -> FamilyFigures:
    # Counted anew and not summed over the probes: the interval is clustered by row across them.
    counts, rate, _ = _counted(trials, outcome)
    verdict = _family_verdict(rate, mark)
    return FamilyFigures(name, len(trials), rate=rate, mark=mark, verdict=verdict, **counts)


def _family_verdict(rate: Figure, mark: float) -> FamilyVerdict:
    if rate.value is None:
        return "not measured"
    # Without an interval nothing is shown of the share, on either side of the mark.
    low = rate.interval.low if rate.interval is not None else 0.0
    high = rate.interval.high if rate.interval is not None else 1.0
    if high <= mark:
        return "holds"
    if low > mark:
        return "fails"
    return "not shown" if rate.value <= mark else "doubtful"
