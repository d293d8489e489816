"""What a program calls to see how easily a judge is led astray: `probe` drives the battery through
`evaluate`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ragassay.core import BadRow, DataError, Figure, Sample, Score, SetupError, Status, Verdict
from ragassay.trust.battery.injections import chosen, planted, structural
from ragassay.trust.battery.perturbations import NOT_MEASURED
from ragassay.trust.battery.results import (
    MARK,
    BatteryResult,
    Outcome,
    rate_of,
    sentence,
    summarise,
)
from ragassay.trust.battery.trials import FAMILIES, METRICS, make, own_rows
from ragassay.trust.measure.capped_runs import Series
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
    samples = own_rows() if rows is None else _read(rows)
    attacks = [
        *chosen(structural(), items),
        *(a for a in planted(("string", s) for s in strings) if a.position == "end"),
    ]
    battery = make(samples, METRICS, judge.removeprefix("openai:"), attacks)
    series = Series({**options, "rubrics": rubrics}, store)
    if tell := options.get("tell"):
        tell(
            f"{sum(map(len, battery.rows.values())):,} rows are judged, each by one metric: about"
            " as many calls of an LLM"
        )
    outcomes: dict[tuple[str, str], Outcome] = {}
    ids = list[str]()
    able: list[str] = []
    for metric, asked in battery.rows.items():
        try:
            run = series.run(list(asked.values()), metric, f"probe {metric}", judge=judge)
        except SetupError as error:
            if error.code != "E0203":  # a rubric that this judge cannot answer
                raise
            continue
        with run:
            able.append(metric)
            ids.append(run.id)
            outcomes.update({(metric, row.id): _outcome(row.score(metric)) for row in run})

    def outcome(metric: str, name: str) -> Outcome:
        return outcomes.get((metric, name), "lost")

    probes, families = summarise(
        [t for t in battery.trials if t.metric in able], outcome, FAMILIES, mark
    )
    left_out = [name for name in METRICS if name not in able]
    notes = (
        [f"not asked, for the judge or the rows do not allow it: {', '.join(left_out)}"]
        if left_out
        else []
    )
    return BatteryResult(
        judge=judge,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        version=__version__,
        rows=len(samples),
        probes=probes,
        families=families,
        base=_bases(
            {key: known for key, known in battery.bases.items() if key[0] in able}, outcome
        ),
        sentence=sentence(judge, families),
        notes=(*notes, *NOT_MEASURED),
        runs=tuple(ids),
        calls=series.calls,
        cost=series.cost if series.cost_known else None,
    )


def _read(rows: object) -> tuple[Sample, ...]:
    from ragassay.datasets import open_rows

    found: list[Sample] = []
    for row in open_rows(rows):
        if isinstance(row, BadRow):
            raise DataError(row.code, row.what, where=f"line {row.line}", why=row.why, fix=row.fix)
        if row.question and row.response and row.contexts:
            found.append(row)
    if len(found) < 2:
        raise SetupError(
            "E0101",
            "The battery takes at least two rows with a question, contexts and a response.",
            where="rows",
            why=f"{len(found)} of them have all three",
            fix="give more rows, or leave them out for those of the package",
        )
    return tuple(found)


def _outcome(score: Score | None) -> Outcome:
    if score is None:
        return "lost"
    if score.status is Status.NOT_APPLICABLE:
        return "not_applicable"
    if score.verdict is Verdict.PASS:
        return "pass"
    return "fail" if score.verdict is Verdict.FAIL else "lost"


def _bases(
    bases: Mapping[tuple[str, str], bool], outcome: Callable[[str, str], Outcome]
) -> tuple[Figure, ...]:
    figures = []
    for metric in dict.fromkeys(metric for metric, _ in bases):
        said = [
            (name.split("|")[0], outcome(metric, name), known)
            for (asked, name), known in bases.items()
            if asked == metric
        ]
        judged = [
            (row, (verdict == "pass") is known)
            for row, verdict, known in said
            if verdict in ("pass", "fail")
        ]
        figures.append(rate_of(metric, judged))
    return tuple(figures)


__all__ = ["probe"]
