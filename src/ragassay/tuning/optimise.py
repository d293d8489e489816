"""Optimise a judge: from labels to a rubric that is certified to be better, or to none.

The way of a search: the labelled rows are read and divided by cluster (`labels`, `splits`); a plan
says what they can certify before anything is paid (`plan`); the judge as it is gives the baseline
and its noise (`noise`); steps without a call come first (`free_steps`); then an engine searches for
edits of the rubric (`search`, `engines`). At most three candidates are certified, once, on rows
that nothing has seen (`certify`). Where none is, nothing changes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ragassay.core import BudgetExhausted, DataError, ProviderError, digest, shorten
from ragassay.judges import Rubric
from ragassay.judges.rubric_file import rubric_text
from ragassay.report.tables import Block, Reported
from ragassay.tuning.aim import Aim
from ragassay.tuning.bench import MOST_LOST, PairBench, StoreBench
from ragassay.tuning.certify import MOST_FINALISTS, Certification, certify
from ragassay.tuning.engines import engine
from ragassay.tuning.forecast import (
    NOISE_ROWS,
    Asking,
    CallForecast,
    certificate_calls,
    forecast_calls,
)
from ragassay.tuning.free_steps import CutStep, OrdersStep, both_orders, orders_step, recut
from ragassay.tuning.guard import shingles_of
from ragassay.tuning.labels import Labels
from ragassay.tuning.model_proposer import ModelProposer
from ragassay.tuning.noise import NoiseFloor, noise_floor
from ragassay.tuning.plan import SearchPlan, search_plan
from ragassay.tuning.record import SearchRecord
from ragassay.tuning.reports import optimisation_report
from ragassay.tuning.search import SearchResult, SearchTask
from ragassay.tuning.slices import Slice, find_slices
from ragassay.tuning.spending import Spending
from ragassay.tuning.splits import SHARES, Split, marks_of, split
from ragassay.tuning.target import Target
from ragassay.tuning.values import Answers, BoolArray, Part, Proposer, SearchCaps


@dataclass(frozen=True, repr=False)
class Optimisation(Reported):
    """What an optimisation came to.

    metric, judge, proposer: what was optimised, and who was asked; base_url: of the judge, "" for
    its provider's own. aim: as it was understood.
    certified: whether a candidate is certified; rubric, metric_after: what to use then, the new
    rubric, or the metric at its new pass mark; None and "" else. path: the rubric's file. baseline,
    noise: of the judge as it is, on the rows to search and choose on; table: its tp, fp, fn, tn
    there. step: the cut refitted.
    orders: of pairs of responses, what asking in both orders gains, None else; both_orders: whether
    that is certified. slices: where it errs most.
    finalists: names and rubrics in the order in which they were certified, None for the cut.
    result: of the engine; None where nothing was searched. certificate: None where there was no
    candidate, or where the sealed rows are too few to certify anything and stay closed. plan: what
    the sealed rows can certify. forecast: of the calls. calls, cost: over all attempts; unpriced:
    calls of which no price is known, that the cost is without. failures:
    reason -> calls of the reflector without a reply.
    """

    metric: str
    judge: str
    proposer: str
    engine: str
    aim: Aim
    split: Split
    baseline: float
    noise: NoiseFloor
    step: CutStep
    orders: OrdersStep | None
    both_orders: bool
    slices: tuple[Slice, ...]
    finalists: tuple[tuple[str, Rubric | None], ...]
    result: SearchResult | None
    certificate: Certification | None
    rubric_before: Rubric
    rubric: Rubric | None
    metric_after: str
    path: str
    calls: int
    cost: float | None
    seconds: float
    plan: SearchPlan
    forecast: CallForecast
    lost: Mapping[str, int] = field(default_factory=dict)
    failures: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    base_url: str = ""
    unpriced: int = 0
    table: tuple[float, ...] = ()

    @property
    def certified(self) -> bool:
        """Whether something is certified to be better."""
        return self.certificate is not None and self.certificate.chosen is not None

    def blocks(self) -> list[Block]:
        """The report: the outcome, why it may be believed, what was tried."""
        return optimisation_report(self)


@dataclass(frozen=True, slots=True)
class Asked:
    """What an optimisation is asked for, checked.

    options: of `evaluate`, for the judge.
    """

    target: Target
    labels: Labels
    aim: Aim
    judge: str
    proposer: str = ""
    engine: str = "own"
    max_calls: int = 2000
    max_cost: float | None = None
    shares: Sequence[float] = SHARES
    split_by: str | None = None
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Hash of all that decides which way the search goes.

        The rows count as they were read: one file holds the rows of several searches, by `where` or
        by another column of labels.
        """
        rows = self.labels.rows
        return digest(
            self.labels.source_hash,
            list(rows.ids),
            marks_of(rows, np.arange(len(rows))),
            rows.label.tolist(),
            rows.cluster.tolist(),
            self.labels.cut,
            self.target.metric,
            self.target.rubric.digest,
            self.aim.sentence(),
            self.judge,
            self.proposer,
            self.engine,
            list(self.shares),
            self.split_by,
            self.seed,
        )


@dataclass(frozen=True, slots=True)
class Progress:
    """Where an optimisation stands. phase: "baseline", "noise", those of the search, "certificate".

    calls, cost: so far, over all attempts; cost in US dollars, None where no price is known.
    most_calls: its cap. best: the best value of the aim so far, None before the baseline is known.
    waiting: why no call is made now, "" where none waits.
    """

    phase: str
    calls: int
    cost: float | None
    most_calls: int
    best: float | None
    waiting: str = ""


Watch = Callable[[Progress], None]
"""Told of progress."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is asked, the division of the rows, and what can be certified for which price."""

    asked: Asked
    division: Split
    plan: SearchPlan
    forecast: CallForecast


def prepared(asked: Asked, asking: Asking) -> Prepared:
    """Divide the rows and plan; nothing is asked yet. Raises as `split` and `engine`."""
    engine(asked.engine)  # one that cannot be used is told before anything is paid
    try:
        division = split(
            asked.labels.rows, shares=asked.shares, column=asked.split_by, seed=asked.seed
        )
    except DataError as error:
        # Where rows are too few, those that were left out may be the reason.
        error.why = "; ".join(filter(None, [error.why, *asked.labels.notes]))
        raise
    plan = search_plan(
        asked.aim,
        division.clusters_of(Part.SEALED),
        passed=division.share_passed(Part.SEALED),
        max_calls=asked.max_calls,
        max_cost=asked.max_cost,
        finalists=MOST_FINALISTS,
    )
    forecast = forecast_calls(
        len(division.train) + len(division.validation),
        len(division.sealed),
        asked.max_calls,
        asking,
        searches=bool(asked.proposer) and asked.target.searchable,
        certifies=plan.can_certify,
        validation=len(division.validation),
    )
    return Prepared(asked, division, plan, forecast)


class Optimiser:
    """One attempt at what was prepared."""

    def __init__(
        self,
        ready: Prepared,
        bench: StoreBench,
        record: SearchRecord,
        spending: Spending,
        watch: Watch | None = None,
    ) -> None:
        asked, division = ready.asked, ready.division
        self.ready = ready
        self.asked, self.division, self.bench = asked, division, bench
        self.pairs = bench if isinstance(bench, PairBench) else None
        self.record, self.spending, self.watch = record, spending, watch
        self.rows = division.rows
        self.slices: tuple[Slice, ...] = ()
        self.caps = SearchCaps(asked.max_calls, asked.max_cost)
        self.asking = Asking()
        self.notes: list[str] = []
        self.at: tuple[str, float | None] = ("", None)
        if watch is not None:
            bench.watch = self._told_by_run
        self.open_rows = np.sort(np.concatenate([division.train, division.validation]))

    def run(self, proposer: ModelProposer | None, out: Path | None = None) -> Optimisation:
        """Search, certify, and write the rubric that is certified to `out`."""
        started = time.monotonic()
        asked, target = self.asked, self.asked.target
        baseline, aim, noise = self._baseline()
        swapped = None if self.pairs is None else self._swapped(self.pairs)
        self._keep_for_certificate()
        truth, cluster = self.rows.truth[self.open_rows], self.rows.cluster[self.open_rows]
        orders = None
        if swapped is None:
            step = recut(aim, truth, cluster, baseline, target.cut, seed=asked.seed)
        else:
            orders = orders_step(aim, truth, cluster, baseline, swapped)
            step = CutStep(0.5, 0.5, None, len(truth), 0, "pairs of responses have none")
        result = None if proposer is None else self._search(aim, baseline, noise, proposer)
        if swapped is None or orders is None:
            candidates = self._candidates(aim, step, baseline, result)
        else:
            candidates = self._pair_candidates(aim, orders, baseline, swapped, result)
        certificate = None
        if candidates and self.ready.plan.can_certify:
            certificate = self._certify(aim, step, candidates)
        rubric, metric = self._chosen(candidates, certificate)
        chosen = None if certificate is None else certificate.chosen
        in_both = chosen is not None and candidates[chosen].both_orders
        path = "" if rubric is None else str(_written(rubric, out))
        seconds = time.monotonic() - started
        ended = "no certified gain" if chosen is None else "certified"
        self.record.finish(self.spending.ledger, seconds, ended)
        return Optimisation(
            metric=target.metric,
            judge=asked.judge,
            proposer=asked.proposer,
            engine=asked.engine,
            aim=aim,
            split=self.division,
            baseline=self._value(aim, baseline),
            noise=noise,
            step=step,
            orders=orders,
            both_orders=in_both,
            slices=self.slices,
            finalists=tuple((one.name, one.rubric) for one in candidates),
            result=result,
            certificate=certificate,
            rubric_before=target.rubric,
            rubric=rubric,
            metric_after=metric,
            path=path,
            calls=self.spending.calls,
            cost=self.spending.cost,
            seconds=seconds,
            plan=self.ready.plan,
            forecast=self.ready.forecast,
            lost=dict(self.bench.lost),
            failures={} if proposer is None else dict(proposer.failures),
            notes=(*asked.labels.notes, *self.division.notes, *self.notes),
            table=tuple(baseline.table(truth).tolist()),
            **self._of_the_asking(),
        )

    def _of_the_asking(self) -> dict[str, Any]:
        """How the judge was reached, and which calls have no price."""
        base_url = str(self.asked.options.get("base_url") or "")
        return {"base_url": base_url, "unpriced": self.spending.unpriced}

    def _told_by_run(self, calls: int, cost: float | None, waiting: str) -> None:
        if self.watch is not None:
            phase, best = self.at
            self.watch(Progress(phase, calls, cost, self.asked.max_calls, best, waiting))

    def _tell(self, phase: str, best: float | None = None) -> None:
        self.at = (phase, best)
        if self.watch is not None:
            spending = self.spending
            told = Progress(phase, spending.calls, spending.cost, self.asked.max_calls, best)
            self.watch(told)

    def _told_by_search(self, phase: str, calls: int, best: float) -> None:
        # A search counts calls of the judge alone; what is told counts the proposer's as well.
        self._tell(phase, best)

    def _value(self, aim: Aim, answers: Answers) -> float:
        """The aim on the rows to search and choose on."""
        return _score(aim, self.rows.truth[self.open_rows], answers)

    def _baseline(self) -> tuple[Answers, Aim, NoiseFloor]:
        """What the judge says as it is, the aim with that in mind, and how far it repeats."""
        base = self.asked.target.rubric
        self._tell("baseline")
        answers = self.bench.judge(base, self.open_rows)
        self._learn_what_asking_takes()
        judged = answers.judged
        _check_judged(answers, self.bench)
        truth = self.rows.truth[self.open_rows]
        aim = self.asked.aim.with_baseline(truth[judged], answers.passes[judged])
        self._tell("noise", self._value(aim, answers))
        random = np.random.default_rng([self.asked.seed, 5])
        count = min(NOISE_ROWS, len(self.open_rows))
        places = np.sort(random.choice(len(self.open_rows), count, replace=False))
        again = self.bench.judge(base, self.open_rows[places], repeat=1)
        _check_judged(again, self.bench)
        table = answers.table(truth)
        return answers, aim, noise_floor(aim, truth[places], answers.at(places), again, table)

    def _swapped(self, bench: PairBench) -> Answers:
        """What the judge says of the pairs with the second response shown first."""
        self._tell("both orders")
        answers = bench.swapped(self.asked.target.rubric, self.open_rows)
        _check_judged(answers, bench)
        return answers

    def _learn_what_asking_takes(self) -> None:
        """What a row takes, from the baseline: a metric may ask several things of it."""
        spending, rows = self.spending, len(self.open_rows)
        # Where answers were in the store already, the rest of the rows may need calls again.
        calls_a_row = max(1.0, spending.calls / rows) if self.asked.target.searchable else 0.0
        cost = (spending.cost or 0.0) / max(1, spending.calls)
        self.asking = Asking(calls_a_row, cost, orders=1 if self.pairs is None else 2)

    def _keep_for_certificate(self) -> None:
        """Keep calls and money for the certificate, so that the sealed rows are not opened in vain.

        A search that opened them already goes the way that it went then, whatever its caps are now:
        other candidates would be a second test on the same rows.
        """
        sealed = len(self.division.sealed)
        kept = 0
        if self.ready.plan.can_certify:
            kept = certificate_calls(sealed, self.asking) + self._calls_of_a_last_look
        calls = max(0, self.asked.max_calls - kept)
        cost = self.asked.max_cost
        if cost is not None:
            cost = max(0.0, cost - kept * (self.asking.cost_of_call or 0.0))
        self.caps = SearchCaps(calls, cost)
        opened = self.record.caps_at_opening()
        if opened is not None and opened != self.caps:
            self.caps = opened
            self.notes.append(
                "the sealed rows were opened by this search before, under other caps: what it found"
                " then is shown; a further search needs new sealed rows"
            )
        if self.asked.max_cost is not None and self.caps.cost is not None:
            self.spending.kept_cost = self.asked.max_cost - self.caps.cost

    @property
    def _calls_of_a_last_look(self) -> int:
        """Calls for asking the best candidate about the swapped pairs to choose on."""
        return 0 if self.pairs is None else self.asking.calls(len(self.division.validation))

    # -- the search

    def _search(
        self, aim: Aim, baseline: Answers, noise: NoiseFloor, proposer: Proposer
    ) -> SearchResult:
        asked, division = self.asked, self.division
        hidden = np.setdiff1d(np.arange(len(self.rows)), division.train)
        texts: list[str] = []
        for row in hidden.tolist():
            texts += self.rows.texts[row].values()
        places = np.searchsorted(self.open_rows, division.train)
        self.slices = find_slices(aim, self.rows, division.train, baseline.at(places))
        task = SearchTask(
            rubric=asked.target.rubric,
            rows=self.rows,
            train=division.train,
            validation=division.validation,
            score=aim.score,
            max_calls=self.caps.calls,
            known=(self.open_rows, baseline),
            aim=aim.guidance(),
            slices=[(one.name, one.rows) for one in self.slices if one.conditions],
            churn=noise.flip_rate,
            forbidden=shingles_of(texts),
            seed=asked.seed,
        )
        return engine(asked.engine).search(task, self.bench, proposer, self._told_by_search)

    # -- the certificate

    def _candidates(
        self, aim: Aim, step: CutStep, baseline: Answers, result: SearchResult | None
    ) -> list[Candidate]:
        """What is to be certified, the most promising on the rows to choose on first."""
        found = []
        for n, finalist in enumerate(() if result is None else result.finalists, 1):
            plain = Candidate(f"rubric {n}", finalist.rubric, finalist.score)
            found.append(self._recut(aim, plain) or plain)
        if step.moved:
            chosen_on = np.isin(self.open_rows, self.division.validation) & baseline.judged
            truth = self.rows.truth[self.open_rows]
            value = aim.score(truth[chosen_on], step.passes(baseline)[chosen_on])
            found.append(Candidate("another pass mark", None, value, step))
        found.sort(key=lambda one: -one.value)
        return found[:MOST_FINALISTS]

    def _pair_candidates(
        self,
        aim: Aim,
        orders: OrdersStep,
        baseline: Answers,
        swapped: Answers,
        result: SearchResult | None,
    ) -> list[Candidate]:
        """The same for pairs. What asking in both orders gains over the first order is a candidate
        where the step is taken: for the judge as it is, and for the best rubric of the search.
        """
        rows = self.division.validation
        truth = self.rows.truth[rows]
        places = np.searchsorted(self.open_rows, rows)
        first = baseline.at(places)
        found = []
        rubrics = [] if result is None else [one.rubric for one in result.finalists]
        for n, rubric in enumerate(rubrics, 1):
            answers = self.bench.judge(rubric, rows)  # bought when it was chosen
            found.append(Candidate(f"rubric {n}", rubric, _score(aim, truth, answers)))
            if n > 1 or not orders.taken:
                continue
            other = self._swapped_of(rubric)
            if other is not None:
                value = _score(aim, truth, both_orders(truth, answers, other))
                name = f"rubric {n} in both orders"
                found.append(Candidate(name, rubric, value, both_orders=True))
        if orders.taken:
            value = _score(aim, truth, both_orders(truth, first, swapped.at(places)))
            found.append(Candidate("both orders", None, value, both_orders=True))
        before = _score(aim, truth, first)
        found = [one for one in found if one.value > before]
        found.sort(key=lambda one: -one.value)
        return found[:MOST_FINALISTS]

    def _swapped_of(self, rubric: Rubric) -> Answers | None:
        """What a rubric says of the swapped pairs to choose on; None where a cap stands in the way,
        which is noted.
        """
        if self.pairs is None:
            return None
        kept = self._calls_of_a_last_look * (self.asking.cost_of_call or 0.0)
        self.spending.kept_cost = max(0.0, self.spending.kept_cost - kept)
        try:
            return self.pairs.swapped(rubric, self.division.validation)
        except BudgetExhausted as stopped:
            self.notes.append(f"the new rubric was not asked in both orders: {stopped.why}")
            return None

    def _recut(self, aim: Aim, plain: Candidate) -> Candidate | None:
        """The candidate at a pass mark of its own, chosen on the rows to choose on; None where its
        scores have one mark only, where none is better, or where the judge has no place for one.

        An edit may move all ratings of a graded scale; at the old mark it would then look worse, or
        better, than it tells rows apart.
        """
        rubric, target, rows = plain.rubric, self.asked.target, self.division.validation
        assert rubric is not None
        scale = rubric.scale
        if scale is None or len(scale.points) < 3:
            return None
        answers = self.bench.judge(rubric, rows)  # bought when it was chosen
        truth, cluster = self.rows.truth[rows], self.rows.cluster[rows]
        step = recut(aim, truth, cluster, answers, target.cut, seed=self.asked.seed)
        has_place = target.with_cut(step.new) or target.rubric_with_cut(step.new, rubric)
        if not step.moved or not has_place:
            return None
        judged = answers.judged
        value = aim.score(truth[judged], step.passes(answers)[judged])
        if value <= plain.value:
            return None
        return Candidate(f"{plain.name} at another pass mark", rubric, value, step)

    def _certify(self, aim: Aim, step: CutStep, candidates: Sequence[Candidate]) -> Certification:
        """Open the sealed rows for these candidates, and test them."""
        base = self.asked.target.rubric
        changes = [one.changes for one in candidates]
        purpose = digest(aim.sentence(), base.digest, changes)
        self._tell("certificate", candidates[0].value)
        self.spending.kept_cost = 0.0
        more = sum((one.rubric is not None) + one.both_orders for one in candidates)
        self._check_room(1 + more)
        rows = self.division.sealed.open(self.record, purpose, self.caps)
        baseline = self.bench.judge(base, rows)
        _check_judged(baseline, self.bench, "sealed rows")
        recut_passes = step.passes(baseline)
        finalists = []
        for one in candidates:
            answers = baseline if one.rubric is None else self.bench.judge(one.rubric, rows)
            if one.both_orders and self.pairs is not None:
                other = self.pairs.swapped(one.rubric or base, rows)
                answers = both_orders(self.rows.truth[rows], answers, other)
            finalists.append((one.name, one.answers(answers)))
        # One rubric that cannot be answered is an objection to it. Where none can, it is the judge.
        best = max((answers for _, answers in finalists), key=lambda one: int(one.judged.sum()))
        _check_judged(best, self.bench, "sealed rows")
        return certify(
            aim,
            self.rows.truth[rows],
            self.rows.cluster[rows],
            baseline,
            finalists,
            recut=recut_passes if step.moved else None,
            seed=self.asked.seed,
        )

    def _check_room(self, judges: int) -> None:
        """Raise BudgetExhausted E0604 where the caps leave no room to ask about all sealed rows:
        opened in part they would be lost.
        """
        if self.record.caps_at_opening() is not None:
            return
        calls = judges * self.asking.calls(len(self.division.sealed))
        cost = calls * (self.asking.cost_of_call or 0.0)
        left = self.spending.left()
        short = left["max_calls"] is not None and left["max_calls"] < calls
        if short or (left["max_cost"] is not None and left["max_cost"] < cost):
            raise BudgetExhausted(
                "E0604",
                "The caps leave no room for the certificate; the sealed rows were not opened.",
                where=f"{len(self.division.sealed)} sealed rows",
                why=f"about {calls:,} calls are needed",
                fix="the same command with a higher --max-calls or --max-cost goes on where it was",
            )

    def _chosen(
        self, candidates: Sequence[Candidate], certificate: Certification | None
    ) -> tuple[Rubric | None, str]:
        """The certified rubric, and the metric at its certified pass mark: None and "" where they
        stay as they are.
        """
        if certificate is None or certificate.chosen is None:
            return None, ""
        one, target = candidates[certificate.chosen], self.asked.target
        if one.step is None:
            return one.rubric, ""
        metric = target.with_cut(one.step.new)
        if metric:
            return one.rubric, metric
        return target.rubric_with_cut(one.step.new, one.rubric), ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What may be certified: a rubric, None for the judge's own; at another cut where it has a
    `step`, and asked about pairs in both orders where it says so. value: the aim on the rows to
    choose on.
    """

    name: str
    rubric: Rubric | None
    value: float
    step: CutStep | None = None
    both_orders: bool = False

    @property
    def changes(self) -> tuple[object, ...]:
        """What it is known by: the digest of its rubric, its cut, and the orders."""
        digest_ = "" if self.rubric is None else self.rubric.digest
        known_by = (digest_, None if self.step is None else self.step.new)
        return (*known_by, "both orders") if self.both_orders else known_by

    def answers(self, asked: Answers) -> Answers:
        """The answers of its rubric, at its cut."""
        if self.step is None:
            return asked
        return Answers(asked.score, self.step.passes(asked))


def _score(aim: Aim, truth: BoolArray, answers: Answers) -> float:
    """The aim's value over the rows with a verdict; an undecided one counts half either way."""
    return float(aim.value(answers.table(truth)))


def _check_judged(answers: Answers, bench: StoreBench, rows: str = "rows") -> None:
    """Raise ProviderError E0706 where the judge lost too many verdicts to be measured. What it lost
    is asked again by the same command, also where the rows are sealed ones that were opened.
    """
    lost = 1 - float(answers.judged.mean())
    if lost < MOST_LOST:
        return
    why = max(bench.lost, key=lambda reason: bench.lost[reason], default="")
    raise ProviderError(
        "E0706",
        f"The judge gave no verdict on {lost:.0%} of the {rows}.",
        where=bench.judge_uri,
        why=shorten(why, 200),
        fix="mend what stands in its way (ragassay doctor), and give the same command again",
    )


def _written(rubric: Rubric, out: Path | None) -> Path:
    """The path of the new file: `out`, or a free name in the current folder."""
    path = out
    if path is None:
        name = f"{rubric.id}-{rubric.version}"
        path = Path(f"{name}.md")
        number = 2
        while path.exists() and path.read_text(encoding="utf-8") != rubric_text(rubric):
            path = Path(f"{name}-{number}.md")
            number += 1
    path.write_text(rubric_text(rubric), encoding="utf-8")
    return path
