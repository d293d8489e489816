"""What was measured of judges: their certificates, each with every figure, and their probings."""

from __future__ import annotations

from ragassay.core import FIGURES, Certificate
from ragassay.report.benchmark import figure_words
from ragassay.runs.kept_reports import PROBING, KeptReport, kept_reports
from ragassay.runs.trust import known_certificates
from ragassay.web.messages import Answer, Ask, NotThere, Page

PROBINGS_SHOWN = 3


def show(ask: Ask) -> Answer:
    """All certificates and the last probings, by judge."""
    certificates = known_certificates(ask.site.store)
    by_judge: dict[str, list[Certificate]] = {}
    for certificate_ in certificates:
        by_judge.setdefault(certificate_.judge, []).append(certificate_)
    for own in by_judge.values():
        own.sort(key=lambda item: (item.metric, item.dataset, item.id))
    probings: dict[str, list[KeptReport]] = {}
    for report in kept_reports(ask.site.store, PROBING):
        probings.setdefault(report.title, []).append(report)
        by_judge.setdefault(report.title, [])
    values = {
        "by_judge": by_judge,
        "words": figure_words,
        "total": len(certificates),
        "probings": {judge: found[:PROBINGS_SHOWN] for judge, found in probings.items()},
    }
    return Page("judges.html.j2", values)


def certificate(ask: Ask) -> Answer:
    """One certificate in full: what it is bound to, its set-up, every figure."""
    wanted = ask.path["certificate"]
    for known in known_certificates(ask.site.store):
        if known.id == wanted:
            values = {
                "c": known,
                "words": figure_words,
                "meaning": FIGURES,
                "macro": {figure.name: figure for figure in known.macro},
            }
            return Page("certificate.html.j2", values)
    raise NotThere("There is no certificate of this id.")
