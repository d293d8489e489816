"""The issue of certificates: what was measured of a judge, bound to what determines it.

Their file is `store.certificate_file`; whether one holds for the rows of a run is for `runs.trust`
to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ragassay.core import (
    Certificate,
    JudgeBenchmark,
    JudgeFigures,
    Profile,
    RagAssayError,
    ScoreMap,
    SetupError,
)
from ragassay.metrics import parse
from ragassay.store.certificate_file import sealed

_PLACES = 5  # of a feature; rows of a run are rounded alike, so that equal values stay equal


def issue(
    benchmark: JudgeBenchmark,
    judge: JudgeFigures,
    *,
    rubrics: Mapping[str, str],
    profile: Profile,
    version: str,
    kind: str = "human",
    dataset: str = "",
    note: str = "",
    uri: str = "",
    design: str = "as given",
    score_map: ScoreMap | None = None,
) -> Certificate:
    """The certificate of one judge of a benchmark.

    rubrics: rubric id -> "id@version". profile: what the labelled rows are like; only features of
    the fields that the metric reads are kept. version: of RagAssay. kind: "human", "human and
    constructed" or "constructed" labels. dataset: name of the labels, "" for the file's. uri: the
    judge's, where the benchmark calls it by its run. design: one of `core.DESIGNS`. score_map: of
    a calibrated judge.

    Raises SetupError E0205 for recorded answers, of whose rubric and model nothing is known.
    """
    if not judge.fingerprints or not benchmark.set_up.metric:
        raise SetupError(
            "E0205",
            f"{judge.judge} cannot get a certificate.",
            where="--judge",
            why=(
                "its answers were recorded elsewhere, so rubric, model and parameters are not known"
            ),
            fix="benchmark the judge itself, such as --judge openai:MODEL",
        )
    name = benchmark.source.replace("\\", "/").rsplit("/", 1)[-1]
    set_up = replace(benchmark.set_up, judge_cut=judge.judge_cut)
    unsealed = Certificate(
        id="",
        created=benchmark.created,
        version=version,
        judge=uri or judge.judge,
        metric=set_up.metric,
        rubrics=dict(rubrics),
        fingerprints=dict(judge.fingerprints),
        dataset=dataset or name,
        data_hash=benchmark.source_hash,
        set_up=set_up,
        n=judge.n,
        clusters=judge.clusters,
        pooled=judge.pooled,
        macro=judge.macro,
        profile=_kept_profile(profile, set_up.metric),
        missing=dict(judge.missing),
        kind=kind,
        note=note,
        design=design,
        score_map=score_map,
        worth=judge.worth,
    )
    return sealed(unsealed)


def _kept_profile(profile: Profile, metric: str) -> Profile:
    """The features of the fields that the metric reads, rounded."""
    fields_read = _fields_read(metric)
    names = [name for name in profile.quantiles if _fields_of(name) <= fields_read]
    quantiles = {name: _rounded(profile.quantiles[name]) for name in names}
    present = {name: profile.present[name] for name in names}
    return Profile(profile.n, quantiles, present)


def _rounded(quantiles: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(round(value, _PLACES) for value in quantiles)


def _fields_read(metric: str) -> set[str]:
    """The fields of a row that a metric reads; all of them for one of the user's own."""
    try:
        needs: tuple[str, ...] = parse(metric).needs  # type: ignore[attr-defined]
    except (RagAssayError, AttributeError):
        return {"question", "response", "contexts", "reference"}
    # "reference|expected_facts": either of them is enough, and either may be what is read.
    fields_read: set[str] = set()
    for need in needs:
        fields_read.update(need.split("|"))
    return fields_read


def _fields_of(feature: str) -> set[str]:
    """The fields of a row that a feature of `scoring.shift` is made from."""
    if feature == "judge":
        return set()
    fields = {field for field in ("question", "response", "reference") if feature.startswith(field)}
    if feature.startswith("context") or feature.endswith("in_contexts"):
        fields.add("contexts")
    if feature.endswith("in_question"):
        fields.add("question")
    return fields
