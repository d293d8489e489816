"""What was measured of judges: their certificates, each with every figure."""

from __future__ import annotations

from ragassay.core import FIGURES, Certificate
from ragassay.report.benchmark import figure_words
from ragassay.runs.trust import known_certificates
from ragassay.web.messages import Answer, Ask, NotThere, Page


def show(ask: Ask) -> Answer:
    """All certificates, by judge."""
    certificates = known_certificates(ask.site.store)
    by_judge: dict[str, list[Certificate]] = {}
    for certificate_ in certificates:
        by_judge.setdefault(certificate_.judge, []).append(certificate_)
    for own in by_judge.values():
        own.sort(key=lambda item: (item.metric, item.dataset, item.id))
    values = {"by_judge": by_judge, "words": figure_words, "total": len(certificates)}
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
