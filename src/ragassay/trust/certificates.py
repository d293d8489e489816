"""What was measured of a judge, bound to what determines it, and does it hold for the rows of a
run?

A certificate covers a judgment of the same metric whose rubrics have the same fingerprints (rubric
text, model and parameters). Its id is a hash of its content, so that a figure changed by hand is
found out: it shows that nothing was altered, not who issued it. Whether it may be said of a run is
asked of the rows: `shift.against` compares them with the profile of the labelled ones, on the
features of the fields that the metric reads.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ragassay.core import (
    Certificate,
    DataError,
    JudgeBenchmark,
    JudgeFigures,
    MetricTrust,
    Profile,
    RagAssayError,
    SetupError,
    Shift,
    digest,
    shorten,
)
from ragassay.store import read

if TYPE_CHECKING:
    from ragassay.store import Store

SCHEMA = 1
ROWS_COMPARED = 200
_PLACES = 5  # of a feature, in profiles and in rows alike, so that equal values stay equal
_UNMEASURED = "unmeasured on data like yours"


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
) -> Certificate:
    """The certificate of one judge of a benchmark.

    rubrics: rubric id -> "id@version". profile: what the labelled rows are like; only features of
    the fields that the metric reads are kept. version: of RagAssay. kind: "human", "human and
    constructed" or "constructed" labels. dataset: name of the labels, "" for the file's. uri: the
    judge's, where the benchmark calls it by its run.

    Raises SetupError E0205 for a judge that was not run: nothing is known of the rubric and model
    behind recorded answers.
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
    )
    unsealed = _read(to_json(unsealed))  # numbers as they come back from JSON, so that the id does
    return replace(unsealed, id=identity(unsealed))


def identity(certificate: Certificate) -> str:
    """The id that fits the content: a hash of all fields but id and created."""
    plain = asdict(certificate)
    del plain["id"], plain["created"]
    return digest("certificate", SCHEMA, plain)


def to_json(certificate: Certificate) -> dict[str, Any]:
    """The certificate as JSON values; `from_json` reads them back."""
    return {"schema": SCHEMA, "kind_of": "certificate", **asdict(certificate)}


def from_json(plain: object, where: str = "certificate") -> Certificate:
    """The certificate of JSON values. Raises DataError E0317 when it is none, or not the one that
    was issued.
    """
    try:
        certificate = _read(plain)
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise _refused(
            where, f"it cannot be read: {type(error).__name__}: {shorten(str(error), 80)}"
        ) from error
    if certificate.id != identity(certificate):
        raise _refused(where, f"its content does not give its id {shorten(certificate.id, 40)}")
    return certificate


def dumps(certificates: Iterable[Certificate]) -> bytes:
    """A file of certificates, ordered by metric, data and id."""
    ordered = sorted(certificates, key=lambda c: (c.metric, c.dataset, c.id))
    lines = [
        json.dumps(to_json(c), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
        for c in ordered
    ]
    return ('{"schema":1,"certificates":[\n' + ",\n".join(lines) + "\n]}\n").encode("ascii")


def loads(data: bytes, where: str = "certificates") -> tuple[Certificate, ...]:
    """The certificates of a file, each checked. Raises DataError E0317."""
    try:
        plain = json.loads(data)
        entries = plain["certificates"]
        if plain["schema"] != SCHEMA or not isinstance(entries, list):
            raise ValueError(
                f"the schema is {shorten(str(plain['schema']), 20)}, known is {SCHEMA}"
            )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _refused(where, f"the file cannot be read: {shorten(str(error), 80)}") from error
    return tuple(
        from_json(entry, f"{where}, certificate {n}") for n, entry in enumerate(entries, 1)
    )


@lru_cache(maxsize=1)
def packaged() -> tuple[Certificate, ...]:
    """The offline judge's own certificates, which come with the package."""
    from ragassay.models.offline.certificates import CERTIFICATES, packaged_certificates

    return loads(packaged_certificates(), str(CERTIFICATES))


def known(store: Store | None = None) -> tuple[Certificate, ...]:
    """The store's certificates, newest first, then those of the package; each once. All are checked
    (E0317).
    """
    own = store.certificates() if store is not None else ()
    for certificate in own:
        if certificate.id != identity(certificate):
            raise _refused(
                f"certificate {certificate.id[:12]} of the store",
                "its content does not give its id",
            )
    return tuple({certificate.id: certificate for certificate in (*own, *packaged())}.values())


def matching(
    certificates: Iterable[Certificate], metric: str, fingerprints: Mapping[str, str]
) -> tuple[Certificate, ...]:
    """Those that cover this metric (printed name) as judged by rubrics of these fingerprints, in
    their order.
    """
    return tuple(
        c
        for c in certificates
        if c.metric == metric
        and c.fingerprints
        and all(fingerprints.get(r) == f for r, f in c.fingerprints.items())
    )


def trust_of(
    store: Store,
    run_id: str,
    certificates: Sequence[Certificate] | None = None,
    *,
    most: int = ROWS_COMPARED,
) -> tuple[MetricTrust, ...]:
    """For each metric of a run that its judge answered: what is known of the judge on data like the
    run's.

    certificates: None = those of the store and the package. most: how many of the run's rows,
    spread evenly, are compared with the labelled ones. Where several certificates cover a metric,
    one of rows like these is shown, the likest first; where none is alike, the one that differs
    least.
    """
    manifest = store.run(run_id).manifest
    every = known(store) if certificates is None else certificates
    judged = [metric for metric in manifest.metrics if _judged(metric, manifest.judge.fingerprints)]
    fitting = {metric: matching(every, metric, manifest.judge.fingerprints) for metric in judged}
    rows = _Rows(store, run_id, most) if any(fitting.values()) else None
    return tuple(
        _trust(metric, fitting[metric], any(c.metric == metric for c in every), rows)
        for metric in judged
    )


def sentence(certificate: Certificate, shift: Shift | None) -> str:
    """What a certificate says of rows that were compared with its own (None: they were not).

    Rows that are too few to show a shift are not called alike.
    """
    figures, labels = (
        f"{_words(certificate, 'kappa')}, {_words(certificate, 'balanced_accuracy')}",
        _labels(certificate),
    )
    if shift is None or _alike(shift):
        return f"{figures} on {labels}"
    why = (
        "too few rows here to tell whether they are like those measured"
        if shift.alike
        else shift.why or shift.feature
    )
    return f"{_UNMEASURED}: {why}. Elsewhere, on {labels}: {figures}"


def _alike(shift: Shift) -> bool:
    """Whether no shift was found by rows that could have shown one: `against` says why where they
    could not.
    """
    return shift.alike and not shift.why


class _Rows:
    """The features of a run's rows, read once, when the first certificate asks for them."""

    def __init__(self, store: Store, run_id: str, most: int) -> None:
        from ragassay.scoring import shift

        self._rows: list[dict[str, float]] = []
        self._clusters: list[str | None] = []
        for row in store.some_rows(run_id, most):
            if row.sample is not None:
                found = shift.features(row.sample)
                self._rows.append({name: round(value, _PLACES) for name, value in found.items()})
                self._clusters.append(row.sample.cluster)

    def against(self, profile: Profile) -> Shift:
        """How these rows differ from a profile's, on the features that it has."""
        from ragassay.scoring import shift

        rows = [
            {name: row[name] for name in profile.quantiles if name in row} for row in self._rows
        ]
        return shift.against(profile, rows, clusters=self._clusters)


def _trust(
    metric: str, fitting: tuple[Certificate, ...], elsewhere: bool, rows: _Rows | None
) -> MetricTrust:
    if not fitting or rows is None:
        why = (
            "the certificates of this metric are of another rubric, model or parameters"
            if elsewhere
            else "no certificate of this judge for this metric"
        )
        return MetricTrust(metric, False, f"{_UNMEASURED}: {why}", why=why)
    held = [(c, rows.against(c.profile)) for c in fitting]
    certificate, found = min(
        held, key=lambda pair: (not _alike(pair[1]), pair[1].size, -pair[0].n, pair[0].id)
    )
    kappa, balanced = certificate.figure("kappa"), certificate.figure("balanced_accuracy")
    return MetricTrust(
        metric=metric,
        measured=_alike(found),
        sentence=sentence(certificate, found),
        certificate=certificate.id,
        dataset=certificate.dataset,
        kind=certificate.kind,
        where=certificate.set_up.where,
        labels=certificate.n,
        clusters=certificate.clusters,
        kappa=kappa.value if kappa else None,
        kappa_interval=kappa.interval if kappa else None,
        balanced_accuracy=balanced.value if balanced else None,
        balanced_accuracy_interval=balanced.interval if balanced else None,
        feature=found.feature,
        why=found.why,
        others=len(fitting) - 1,
    )


def _words(certificate: Certificate, name: str) -> str:
    figure, title = certificate.figure(name), name.replace("_", " ")
    if figure is None or figure.value is None:
        return f"{title} undefined"
    reach = (
        f" [{figure.interval.low:.2f}, {figure.interval.high:.2f}]"
        if figure.interval is not None
        else ""
    )
    return f"{title} {figure.value:.2f}{reach}"


def _labels(certificate: Certificate) -> str:
    made = "" if certificate.kind == "human" else f", {certificate.kind}"
    return f"{certificate.n:,} labels ({certificate.dataset}{made})"


def _judged(metric: str, fingerprints: Mapping[str, str]) -> bool:
    """Whether the metric's figures come from a judge rather than from a formula."""
    from ragassay.metrics import parse

    try:
        return parse(metric).declaration.judged
    except RagAssayError:  # of the user's own making: a rubric has a fingerprint under its name
        return metric.partition("(")[0] in fingerprints


def _kept_profile(profile: Profile, metric: str) -> Profile:
    """The features of the fields that the metric reads; of a metric of the user's own all of them."""
    from ragassay.metrics import parse

    try:
        needs = {name for need in parse(metric).needs for name in need.split("|")}  # type: ignore[attr-defined]
    except (RagAssayError, AttributeError):
        needs = {"question", "response", "contexts", "reference"}
    names = [name for name in profile.quantiles if _fields_of(name) <= needs]
    return Profile(
        profile.n,
        {name: tuple(round(value, _PLACES) for value in profile.quantiles[name]) for name in names},
        {name: profile.present[name] for name in names},
    )


def _fields_of(feature: str) -> set[str]:
    """The fields of a row that a feature of `scoring.shift` is made from."""
    if feature == "judge":
        return set()
    fields = {field for field in ("question", "response", "reference") if feature.startswith(field)}
    fields |= (
        {"contexts"} if feature.startswith("context") or feature.endswith("in_contexts") else set()
    )
    return fields | ({"question"} if feature.endswith("in_question") else set())


def _read(plain: Any) -> Certificate:
    if (
        not isinstance(plain, dict)
        or plain.get("schema") != SCHEMA
        or plain.get("kind_of") != "certificate"
    ):
        raise ValueError(f"it is no certificate of schema {SCHEMA}")
    return read(Certificate, plain)


def _refused(where: str, why: str) -> DataError:
    return DataError(
        "E0317",
        "A certificate is not what was issued.",
        where=where,
        why=why,
        fix=(
            "benchmark the judge again with `ragassay benchmark`, or put back the file as it was"
            " issued"
        ),
    )
