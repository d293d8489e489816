"""The page docs/certificates.md: the certificates in the package, and what was measured beside."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from docs_pages.markdown import fragment
from ragassay.core import Certificate, Figure
from ragassay.runs.trust import packaged

_ROOT = Path(__file__).parents[2]
_FEW = 5
"""Clusters below which an interval could not be given, which the page says."""
_UNSEEN = "its network was trained without rows of this set"
_ORDER = ("groundedness", "context_relevance", "answer_relevance", "correctness")


def certificates_page() -> str:
    """The page as Markdown."""
    # The benchmarks are no package that tools could otherwise import.
    if str(_ROOT) not in sys.path:
        sys.path.insert(0, str(_ROOT))
    from benchmarks.offline_judge import pages

    measured = json.loads(
        (_ROOT / "benchmarks/results/offline_judge.json").read_text(encoding="utf-8")
    )
    text = fragment("certificates.md").replace("<!-- certificates -->", certificates_table())
    return pages.filled(text, measured)


def certificates_table() -> str:
    """Kappa and balanced accuracy on each set, and of groundedness over all sets."""
    lines = [
        "| metric | labelled set | labels | kappa | balanced accuracy |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    shown = ""
    for certificate in sorted(packaged(), key=_place):
        together = certificate.dataset.startswith("all ")
        if together and certificate.metric != "groundedness":
            continue
        views = [("", certificate.pooled)]
        if together:
            views = [(", pooled", certificate.pooled)]
            views.append((", mean over the sets", certificate.macro))
        for view, figures in views:
            metric = "" if certificate.metric == shown else certificate.metric
            shown = certificate.metric
            cells = (metric, _name(certificate) + view, f"{certificate.n:,}", *_words(figures))
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _place(certificate: Certificate) -> tuple[int, bool, str]:
    metric = certificate.metric
    place = _ORDER.index(metric) if metric in _ORDER else len(_ORDER)
    return place, certificate.dataset.startswith("all "), certificate.dataset


def _name(certificate: Certificate) -> str:
    name = certificate.dataset
    if certificate.kind != "human":
        name += "†"
    if certificate.note.startswith(_UNSEEN):
        name += "°"
    if certificate.clusters < _FEW:
        name += f" ({certificate.clusters} clusters)"
    return name


def _words(figures: Sequence[Figure]) -> list[str]:
    by_name = {figure.name: figure for figure in figures}
    return [_figure(by_name.get(name)) for name in ("kappa", "balanced_accuracy")]


def _figure(figure: Figure | None) -> str:
    if figure is None or figure.value is None:
        return "–"
    if figure.interval is None:
        return f"{figure.value:.2f}"
    return f"{figure.value:.2f} [{figure.interval.low:.2f}, {figure.interval.high:.2f}]"
