"""What the certificates of a judge say of the rows of a run.

A certificate covers a judgment of the same metric whose rubrics have the same fingerprints (rubric
text, model and parameters). Whether its figures may be said of a run depends on the rows:
`shift.against` compares them with the profile of the labelled rows, on the features of the fields
that the metric reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from ragassay.core import Certificate, MetricTrust, Profile, RagAssayError, Shift
from ragassay.core.counting import count
from ragassay.runs.corrected import corrected_of
from ragassay.store.certificate_file import altered, identity, loads

if TYPE_CHECKING:
    from ragassay.store import Store

ROWS_COMPARED = 200
UNRECORDED = (
    "how its rows were drawn was not recorded; its figures are biased if they came of an active"
    " sheet: benchmark again"
)
"""What to beware of in a certificate that was issued before rows' chances counted."""
_PLACES = 5  # of a feature; profiles are rounded alike, so that equal values stay equal
_UNMEASURED = "unmeasured on data like yours"


def caveat(certificate: Certificate) -> str:
    """What to beware of in a certificate, "" for nothing.

    Those of the package are of whole test sets, of which nothing was drawn.
    """
    if certificate.design or any(certificate.id == own.id for own in packaged()):
        return ""
    return UNRECORDED


@lru_cache(maxsize=1)
def packaged() -> tuple[Certificate, ...]:
    """The offline judge's own certificates, which come with the package."""
    from ragassay.models.offline.certificates import CERTIFICATES, packaged_certificates

    return loads(packaged_certificates(), str(CERTIFICATES))


def known_certificates(store: Store | None = None) -> tuple[Certificate, ...]:
    """The store's certificates, newest first, then those of the package; each once.

    All are checked; raises DataError E0317 for one whose content does not give its id.
    """
    own = store.certificates() if store is not None else ()
    for certificate in own:
        if certificate.id != identity(certificate):
            where = f"certificate {certificate.id[:12]} of the store"
            raise altered(where, "its content does not give its id")
    by_id = {certificate.id: certificate for certificate in (*own, *packaged())}
    return tuple(by_id.values())


def matching(
    certificates: Iterable[Certificate], metric: str, *fingerprints: Mapping[str, str]
) -> tuple[Certificate, ...]:
    """The certificates of this metric as judged by these fingerprints, in their order.

    metric: its printed name. fingerprints: rubric id -> identity of the judge, and -> its
    fingerprint, to which certificates of before are bound.
    """
    found = []
    for certificate in certificates:
        if certificate.metric == metric and any(_covers(certificate, by) for by in fingerprints):
            found.append(certificate)
    return tuple(found)


def _covers(certificate: Certificate, fingerprints: Mapping[str, str]) -> bool:
    """Whether the certificate names rubrics, and each has this very fingerprint."""
    bound_to = certificate.fingerprints
    if not bound_to:
        return False
    return all(fingerprints.get(rubric) == bound_to[rubric] for rubric in bound_to)


def trust_of(
    store: Store,
    run_id: str,
    certificates: Sequence[Certificate] | None = None,
    *,
    most: int = ROWS_COMPARED,
) -> tuple[MetricTrust, ...]:
    """What is known of a run's judge on data like the run's, for each metric that it judged.

    certificates: None = those of the store and the package. most: how many of the run's rows,
    spread evenly, are compared with the labelled ones. Where several certificates cover a metric,
    the one whose rows are most like these is shown; where none is alike, the one that differs
    least.
    """
    manifest = store.run(run_id).manifest
    fingerprints = manifest.judge.fingerprints
    by_rubric = (manifest.judge.identities, fingerprints)
    if certificates is None:
        certificates = known_certificates(store)
    judged = [metric for metric in manifest.metrics if _is_judged(metric, fingerprints)]
    fitting = {metric: matching(certificates, metric, *by_rubric) for metric in judged}
    certified_metrics = {certificate.metric for certificate in certificates}
    # The rows are read only where there is a certificate to compare them with.
    rows = _Rows(store, run_id, most) if any(fitting.values()) else None
    trust = []
    for metric in judged:
        corrected = corrected_of(store, run_id, metric)
        if rows is None or not fitting[metric]:
            line = _unmeasured(metric, elsewhere=metric in certified_metrics)
            line = replace(line, labels=len(store.labels(run_id, metric)))
        else:
            line = _measured(metric, fitting[metric], rows)
        trust.append(replace(line, corrected=corrected))
    return tuple(trust)


def sentence(certificate: Certificate, shift: Shift | None) -> str:
    """What a certificate says of rows that were compared with its own (None: they were not).

    Rows that are too few to show a shift are not called alike.
    """
    kappa = _figure_words(certificate, "kappa")
    balanced_accuracy = _figure_words(certificate, "balanced_accuracy")
    figures = f"{kappa}, {balanced_accuracy}"
    labels = _labels(certificate)
    if shift is None or _alike(shift):
        return f"{figures} on {labels}"
    if shift.alike:
        why = "too few rows here to tell whether they are like those measured"
    else:
        why = shift.why or shift.feature
    return f"{_UNMEASURED}: {why}. Elsewhere, on {labels}: {figures}"


def _alike(shift: Shift) -> bool:
    """Whether rows that could have shown a shift show none.

    Where they could not have, `scoring.shift.against` calls them alike and says why.
    """
    return shift.alike and not shift.why


class _Rows:
    """The features of a run's rows, read once for all metrics."""

    def __init__(self, store: Store, run_id: str, most: int) -> None:
        from ragassay.scoring import shift

        self._features: list[dict[str, float]] = []
        self._clusters: list[str | None] = []
        for row in store.some_rows(run_id, most):
            if row.sample is None:
                continue
            features = shift.features(row.sample)
            rounded = {name: round(value, _PLACES) for name, value in features.items()}
            self._features.append(rounded)
            self._clusters.append(row.sample.cluster)

    def against(self, profile: Profile) -> Shift:
        """How these rows differ from a profile's, on the features that it has."""
        from ragassay.scoring import shift

        compared = []
        for row in self._features:
            compared.append({name: row[name] for name in profile.quantiles if name in row})
        return shift.against(profile, compared, clusters=self._clusters)


def _unmeasured(metric: str, *, elsewhere: bool) -> MetricTrust:
    """No certificate covers the metric. elsewhere: there are some, of other judges."""
    if elsewhere:
        why = "the certificates of this metric are of another rubric, model or parameters"
    else:
        why = "no certificate of this judge for this metric"
    return MetricTrust(metric, False, f"{_UNMEASURED}: {why}", why=why)


def _measured(metric: str, fitting: tuple[Certificate, ...], rows: _Rows) -> MetricTrust:
    """What the certificate whose rows are most like these says of the metric."""

    def unlikeness(pair: tuple[Certificate, Shift]) -> tuple[bool, float, int, str]:
        certificate, shift = pair
        return not _alike(shift), shift.size, -certificate.n, certificate.id

    compared = [(certificate, rows.against(certificate.profile)) for certificate in fitting]
    certificate, shift = min(compared, key=unlikeness)
    kappa = certificate.figure("kappa")
    balanced = certificate.figure("balanced_accuracy")
    return MetricTrust(
        metric=metric,
        measured=_alike(shift),
        sentence=sentence(certificate, shift),
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
        feature=shift.feature,
        why=shift.why,
        others=len(fitting) - 1,
        caveat=caveat(certificate),
    )


def _figure_words(certificate: Certificate, name: str) -> str:
    """ "kappa 0.52 [0.47, 0.57]" of the certificate's figure of this name."""
    title = name.replace("_", " ")
    figure = certificate.figure(name)
    if figure is None or figure.value is None:
        return f"{title} undefined"
    words = f"{title} {figure.value:.2f}"
    if figure.interval is not None:
        words += f" [{figure.interval.low:.2f}, {figure.interval.high:.2f}]"
    return words


def _labels(certificate: Certificate) -> str:
    construction = "" if certificate.kind == "human" else f", {certificate.kind}"
    weighted = f", {certificate.weighted_words}" if certificate.weighted_words else ""
    return f"{count(certificate.n, 'label')} ({certificate.dataset}{construction}{weighted})"


def _is_judged(metric: str, fingerprints: Mapping[str, str]) -> bool:
    """Whether the metric's figures come from a judge rather than from a formula."""
    from ragassay.metrics import parse

    try:
        return parse(metric).declaration.judged
    except RagAssayError:  # of the user's own making: a rubric has a fingerprint under its name
        return metric.partition("(")[0] in fingerprints
