"""Benchmarks of judges: labels of people in, the agreement of each judge with them out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ragassay.core import Certificate, JudgeBenchmark, JudgeFigures, Profile, SetupError, shorten
from ragassay.trust.measure.context import MeasuringContext, measuring_context
from ragassay.trust.option_checks import check_costs, check_cuts, check_draws

if TYPE_CHECKING:
    from ragassay.trust.label_table import LabelTable
    from ragassay.trust.setups import BuiltSetUp

NOT_APPLICABLE = "not applicable"
"""How a reason begins (`run_verdicts`) for which a row needs no verdict."""
_PUBLISHED_NEGATIVES = ("shuffled",)
MOST_LOST = 0.05
"""Share of lost verdicts up to which a benchmark still makes a certificate."""


@dataclass(frozen=True, slots=True)
class BenchmarkResult:
    """A benchmark, and what a certificate needs to know of the judges that were asked.

    rubrics: judge -> rubric id -> "id@version". runs: judge -> id of its run in the store.
    profiles: judge -> what the labelled rows are like. kind: "human", or "constructed" or "human
    and constructed" where labels were made by rule. certificates: those that were put into the
    store.
    """

    benchmark: JudgeBenchmark
    rubrics: Mapping[str, Mapping[str, str]]
    runs: Mapping[str, str]
    profiles: Mapping[str, Profile]
    kind: str = "human"
    certificates: tuple[Certificate, ...] = ()

    @property
    def uncertified(self) -> int:
        """How many judges were asked, gave verdicts, and have no certificate of this."""
        # Only judges that were asked have a profile; recorded ones never get a certificate.
        asked_judges = [judge for judge in self.benchmark.judges if judge.judge in self.profiles]
        with_verdicts = sum(judge.n > 0 for judge in asked_judges)
        return with_verdicts - len(self.certificates)


def benchmark(
    labels: object, judge: str | Sequence[str] | None = None, **options: Any
) -> JudgeBenchmark:
    """Any judges against human labels: every figure, pooled and as the mean over slices, with
    clustered intervals.

    The arguments are those of `run_benchmark`, which also returns what was run.
    """
    return run_benchmark(labels, judge, **options).benchmark


def run_benchmark(
    labels: object,
    judge: str | Sequence[str] | None = None,
    *,
    cut: float | None = None,
    judge_cut: float | None = None,
    judge_cuts: Mapping[str, float] | None = None,
    fp_cost: float = 1.0,
    fn_cost: float = 1.0,
    worst: int = 20,
    draws: int = 2000,
    seed: int = 0,
    certificate: bool = True,
    setup: str | None = None,
    negatives: Sequence[str] = _PUBLISHED_NEGATIVES,
    sample: int | None = None,
    **options: Any,
) -> BenchmarkResult:
    """Set judges beside the human labels of a source.

    labels: anything that holds rows, with a label; or a run, or its name, whose imported labels are
    meant. judge: None = the run's own, and offline for any other source; else one or several, as a
    list or separated by commas: "offline" or any other judge's URI (asked now, on the labelled rows
    only); "recorded:NAME" (a key of the rows' `judges`, or a column; names after a comma are
    recorded ones too; "recorded:*" = all; "recorded:FILE#COLUMN" = of another file, by id);
    "run:ID" (the scores of a run in the store, by id). cut, judge_cut, fp_cost, fn_cost, worst,
    draws, seed: see `trust.compare`. certificate: put what was measured of every judge that was
    asked into the store, where runs of that judge find it. setup, negatives, sample: of
    `trust.setups.build_setup`, labels being its path. options: rivals (names of `trust.rivals`);
    metric (what is asked, by default what the rows' `task` says) and store; label, scale, slice,
    cluster, where, mapping, format of `trust.read_labels`; and those of `ragassay.evaluate`
    (rubrics, base_url, max_cost, no_network ...) for judges that are asked.

    Raises SetupError (E0205 where judge, metric or cut is missing), DataError (E0313 to E0315), and
    what `evaluate` raises; BudgetExhausted E0604 or Interrupted where a judge was stopped before
    the last row: nothing is measured on half of the rows, and the same call goes on where it was.
    Caps are for all judges together. A row whose verdict was lost counts as `missing`.
    """
    from ragassay.trust.comparison import compare

    check_draws(draws, seed)
    check_cuts(cut, judge_cut)
    check_costs(fp_cost, fn_cost)
    options |= {"cut": cut, "judge_cut": judge_cut, "judge_cuts": judge_cuts}
    labels = _source(labels, setup, negatives, sample, seed, options)
    context = measuring_context(labels, judge, default_judge="offline", **options)
    figures = compare(
        context.table,
        context.verdicts,
        metric=context.metric,
        cut=context.cut,
        judge_cut=judge_cut,
        fp_cost=fp_cost,
        fn_cost=fn_cost,
        worst=worst,
        draws=draws,
        seed=seed,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    return _result(context, figures, certificate)


def _one_slice(slices: object, slice_field: object) -> str:
    """The field to slice by, of a caller who names it as `evaluate` does. Raises SetupError E0205.

    A benchmark has one; `evaluate` takes several, by name.
    """
    names = [slices] if isinstance(slices, str) else list(slices or ())  # type: ignore[call-overload]
    if len(names) == 1 and isinstance(names[0], str) and slice_field in (None, names[0]):
        return names[0]
    raise SetupError(
        "E0205",
        "A benchmark is sliced by one field.",
        where="slices",
        why=f"{len(names)} are named" if slice_field is None else "slice names one as well",
        fix='write slice="FIELD"',
    )


def _source(
    labels: object,
    setup: str | None,
    negatives: Sequence[str],
    sample: int | None,
    seed: int,
    options: dict[str, Any],
) -> object:
    """The labels, or the rows of the set-up that is built from them.

    options: of `run_benchmark`; a field named as `evaluate` names it is put where it belongs.
    """
    if "slices" in options:
        options["slice"] = _one_slice(options.pop("slices"), options.get("slice"))
    if setup is not None:
        built = _built(setup, labels, negatives, sample, seed)
        if tell := options.get("tell"):
            tell(f"{setup}: {len(built.rows):,} rows from {shorten(', '.join(built.files), 200)}")
        return built
    if sample is not None or tuple(negatives) != _PUBLISHED_NEGATIVES:
        raise SetupError(
            "E0205",
            "Only a set-up is sampled, or given wrong answers.",
            where="--sample, --negatives",
            fix="name the set-up: --setup triad-answer",
        )
    return labels


def _built(
    setup: str, path: object, negatives: Sequence[str], sample: int | None, seed: int
) -> BuiltSetUp:
    """The rows of a standard set-up. Raises SetupError E0205 where `path` is none."""
    from ragassay.trust.setups import build_setup

    if not isinstance(path, str | os.PathLike):
        raise SetupError(
            "E0205",
            "A set-up is built from files.",
            where="labels",
            why=f"{type(path).__name__} is no path",
            fix="give the path of your copy of the set",
        )
    return build_setup(setup, path, negatives=negatives, sample=sample, seed=seed)


def _result(
    context: MeasuringContext, figures: JudgeBenchmark, certificate: bool
) -> BenchmarkResult:
    result = BenchmarkResult(
        benchmark=_with_texts(context, figures),
        rubrics={name: judge_run.rubrics for name, judge_run in context.judge_runs.items()},
        runs={name: judge_run.run for name, judge_run in context.judge_runs.items()},
        profiles={name: judge_run.profile for name, judge_run in context.judge_runs.items()},
        kind=label_kind(context.table),
    )
    if certificate and context.judge_runs:
        result = replace(result, certificates=_issue_certificates(context, result))
    return result


def label_kind(table: LabelTable) -> str:
    """Where the labels are from, as in a certificate."""
    if not table.constructed:
        return "human"
    return "constructed" if table.constructed >= len(table) else "human and constructed"


def _with_texts(context: MeasuringContext, figures: JudgeBenchmark) -> JudgeBenchmark:
    """The texts of the rows with the most expensive disagreements, read in a second pass.

    Only these texts are held in memory: the table of labels has none.
    """
    from ragassay.trust.comparison import with_texts

    ids: set[str] = set()
    for judge in figures.judges:
        ids.update(disagreement.id for disagreement in judge.disagreements)
    rationales = {verdicts.judge: verdicts.rationales for verdicts in context.verdicts}
    return with_texts(figures, context.source.records(ids), rationales)


def _issue_certificates(
    context: MeasuringContext, result: BenchmarkResult
) -> tuple[Certificate, ...]:
    """The certificates of the judges that were asked, put into the store.

    None for a judge that lost many verdicts: the rows that it lost need not be like the others.
    """
    from ragassay.api import open_store
    from ragassay.trust.certificate_issue import issue
    from ragassay.version import __version__

    certificates = []
    for judge in result.benchmark.judges:
        judge_run = context.judge_runs.get(judge.judge)
        if judge_run is None or not _is_measured_whole(judge):
            continue
        certificate = issue(
            result.benchmark,
            # The certificate is of the judge, which the command may have named by its run.
            replace(judge, judge=judge_run.uri),
            rubrics=judge_run.rubrics,
            profile=judge_run.profile,
            kind=result.kind,
            version=__version__,
            design=label_design(context.table),
        )
        certificates.append(certificate)
    with open_store(context.store) as store:
        for certificate in certificates:
            store.put_certificate(certificate)
    return tuple(certificates)


def label_design(table: LabelTable) -> str:
    """How the labelled rows were drawn, as in a certificate."""
    if not table.drawn.chance:
        return "as given"
    return "equal" if table.weight is None else "weighted"


def _is_measured_whole(judge: JudgeFigures) -> bool:
    """Whether the judge has verdicts, and lost few of those that it should have given."""
    # A row to which the metric does not apply has no verdict to lose.
    lost = 0
    for reason, rows in judge.missing.items():
        if not reason.startswith(NOT_APPLICABLE):
            lost += rows
    return bool(judge.n) and lost <= MOST_LOST * (judge.n + lost)
