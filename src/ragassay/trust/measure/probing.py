"""The probing of a judge: how easily it is led astray, by the battery run through `evaluate`."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from ragassay.core import BadRow, DataError, Figure, Sample, Score, SetupError, Status, Verdict
from ragassay.runs.report_items import ReportItem, sample_text
from ragassay.trust.battery.injections import Injection, choose_evenly, injections_of, structural
from ragassay.trust.battery.perturbations import NOT_MEASURED
from ragassay.trust.battery.results import (
    MARK,
    BatteryResult,
    Outcome,
    Trial,
    astray,
    rate_of,
    sentence,
    summarise,
)
from ragassay.trust.battery.trials import FAMILIES, METRICS, Battery, make_battery, packaged_rows
from ragassay.trust.measure.capped_runs import CappedRuns
from ragassay.trust.measure.run_verdicts import rationale_of
from ragassay.trust.option_checks import check
from ragassay.version import __version__


def probe(
    judge: str = "offline",
    *,
    rows: object = None,
    rubrics: Sequence[str | os.PathLike[str]] = (),
    items: int = 500,
    strings: Iterable[str] = (),
    mark: float = MARK,
    store: str | os.PathLike[str] | None = None,
    **options: Any,
) -> BatteryResult:
    """Put a judge through the battery: biases as paired changes with known answers, attacks,
    answers that answer nothing.

    rows: rows whose responses are right and stand in their contexts, as `evaluate` takes them (at
    least two, with question, contexts and response; correctness also wants a reference); None = the
    24 of the package, about made-up facts. items: how many of the structural attacks are tried,
    spread over their families; strings: further attacks, each tried once in a context and once in
    an answer. mark: a family holds up to this share of wrong verdicts. options: as for `evaluate`
    (base_url, api_key_env, concurrency, max_cost, price, watch ...); every row is in the store, in
    runs named "probe ...".

    Metrics that the judge cannot answer are left out, and said. Raises as `evaluate`; SetupError
    E0101 for values out of range and for too few rows, DataError that cannot be read. A verdict
    that is lost is counted, never guessed.
    """
    check("--items", items, 0, math.inf, "leave it out for 500 attacks")
    check("--mark", mark, 0, 0.999, "leave it out for 0.05")
    samples = packaged_rows() if rows is None else _read(rows)
    battery = make_battery(samples, METRICS, _model_name(judge), _attacks(items, strings))
    capped_runs = CappedRuns({**options, "rubrics": rubrics}, store)
    if tell := options.get("tell"):
        count = sum(len(rows_of_metric) for rows_of_metric in battery.rows.values())
        tell(f"{count:,} rows are judged, each by one metric: about as many calls of an LLM")
    answers = _Answers(judge, battery, capped_runs)
    for metric in battery.rows:
        answers.ask(metric)
    trials = [trial for trial in battery.trials if trial.metric in answers.runs]
    probes, families = summarise(trials, answers.outcome, FAMILIES, mark)
    result = BatteryResult(
        judge=judge,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        version=__version__,
        rows=len(samples),
        probes=probes,
        families=families,
        base=_base_figures(battery, answers),
        sentence=sentence(judge, families),
        notes=(*answers.notes(), *NOT_MEASURED),
        runs=tuple(answers.runs.values()),
        calls=capped_runs.calls,
        cost=capped_runs.cost if capped_runs.cost_known else None,
    )
    _keep(result, answers.items(trials), store)
    return result


def _keep(
    result: BatteryResult, items: Iterable[ReportItem], store: str | os.PathLike[str] | None
) -> None:
    """Keep the report, to be looked at again."""
    from ragassay.api import open_store
    from ragassay.runs.kept_reports import PROBING, keep_report
    from ragassay.trust.judge_reports import probe_report

    with open_store(store) as opened:
        blocks = probe_report(result, details=True)
        keep_report(
            opened,
            PROBING,
            result.judge,
            blocks,
            judge=result.judge,
            items=items,
            runs=result.runs,
        )


def _model_name(judge: str) -> str:
    """The judge as an answer names it that says who wrote it: MODEL of "PROVIDER:MODEL"."""
    from ragassay.models.connect import schemes

    provider, _, model = judge.partition(":")
    return model if provider in schemes() else judge


class _Answers:
    """What the judge makes of the rows of the battery. runs: metric -> id of its run."""

    def __init__(self, judge: str, battery: Battery, capped_runs: CappedRuns) -> None:
        self._judge = judge
        self._battery = battery
        self._capped_runs = capped_runs
        self._outcomes: dict[tuple[str, str], Outcome] = {}
        self._judged: dict[tuple[str, str], tuple[int, str]] = {}
        self.runs: dict[str, str] = {}

    def ask(self, metric: str) -> None:
        """Have the rows of a metric judged; nothing where this judge cannot answer its rubrics."""
        rows = list(self._battery.rows[metric].values())
        try:
            run = self._capped_runs.run(rows, metric, f"probe {metric}", judge=self._judge)
        except SetupError as error:
            # E0203: the judge has no answer to a rubric of this metric, as the offline judge has
            # none to some. The notes of the result name the metric.
            if error.code != "E0203":
                raise
            return
        with run:
            self.runs[metric] = run.id
            for row in run:
                score = row.score(metric)
                self._outcomes[metric, row.id] = _outcome(score)
                self._judged[metric, row.id] = row.index, rationale_of(score) if score else ""

    def outcome(self, metric: str, row_id: str) -> Outcome:
        """What the judge makes of one row by one metric."""
        return self._outcomes.get((metric, row_id), "lost")

    def items(self, trials: Iterable[Trial]) -> Iterator[ReportItem]:
        """The changed rows on which the judge was wrong or lost its verdict, by family, each with
        the row that it was made from.
        """
        for trial, before, after in astray(trials, self.outcome):
            rows = self._battery.rows[trial.metric]
            index, reason = self._judged.get((trial.metric, trial.after), (0, ""))
            yield ReportItem(
                f"{trial.family}: wrong or lost",
                f"{trial.probe} ({trial.metric}): {trial.row}",
                _words(trial, before, after),
                (("What the judge says of the changed row", reason),) if reason else (),
                sample_text(rows[trial.before]),
                sample_text(rows[trial.after]),
                self.runs[trial.metric],
                index,
            )

    def notes(self) -> list[str]:
        """Which metrics were left out."""
        left_out = [metric for metric in METRICS if metric not in self.runs]
        if not left_out:
            return []
        return [f"not asked, for the judge or the rows do not allow it: {', '.join(left_out)}"]


def _attacks(items: int, strings: Iterable[str]) -> list[Injection]:
    """`items` structural attacks, and each string once in a context and once in an answer."""
    strings_everywhere = injections_of(("string", text) for text in strings)
    at_the_end = (attack for attack in strings_everywhere if attack.position == "end")
    return [*choose_evenly(structural(), items), *at_the_end]


def _read(rows: object) -> tuple[Sample, ...]:
    """The rows with question, contexts and response. Raises SetupError E0101 for fewer than two."""
    from ragassay.datasets import open_rows

    samples: list[Sample] = []
    for row in open_rows(rows):
        if isinstance(row, BadRow):
            raise DataError(row.code, row.what, where=f"line {row.line}", why=row.why, fix=row.fix)
        if row.question and row.response and row.contexts:
            samples.append(row)
    if len(samples) < 2:
        raise SetupError(
            "E0101",
            "The battery takes at least two rows with a question, contexts and a response.",
            where="rows",
            why=f"{len(samples)} of them have all three",
            fix="give more rows, or leave them out for those of the package",
        )
    return tuple(samples)


def _words(trial: Trial, before: Outcome, after: Outcome) -> str:
    """What the judge made of a pair of rows, and what it had to."""
    if "lost" in (before, after):
        return f"No verdict of the {'row' if before == 'lost' else 'changed row'}."
    if trial.expects == "fails":
        return "The changed row passes; it has to fail."
    says = {"pass": "passes", "fail": "fails"}
    first, second = says.get(before, before), says.get(after, after)
    return f"The row {first}, the changed row {second}; both have to be judged alike."


def _outcome(score: Score | None) -> Outcome:
    if score is None:
        return "lost"
    if score.status is Status.NOT_APPLICABLE:
        return "not_applicable"
    if score.verdict is Verdict.PASS:
        return "pass"
    return "fail" if score.verdict is Verdict.FAIL else "lost"


def _base_figures(battery: Battery, answers: _Answers) -> tuple[Figure, ...]:
    """For each metric asked: the share of the bases judged as they are known to be."""
    by_metric: dict[str, list[tuple[str, bool]]] = {}
    for (metric, row_id), passes_by_right in battery.bases.items():
        if metric not in answers.runs:
            continue
        judged = by_metric.setdefault(metric, [])
        outcome = answers.outcome(metric, row_id)
        # The id of a base is ROW|KIND, and the row is its cluster.
        if outcome in ("pass", "fail"):
            is_right = (outcome == "pass") is passes_by_right
            row, _, _ = row_id.rpartition("|")
            judged.append((row, is_right))
    return tuple(rate_of(metric, judged) for metric, judged in by_metric.items())
