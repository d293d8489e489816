"""How far a run's judge can be trusted with a metric, by the labels that people gave: the decision,
the corrected figure, and on which rows the judge errs otherwise.
"""

from __future__ import annotations

from ragassay.report.blocks_html import sections_of
from ragassay.runs.run import Run
from ragassay.trust.run_trust_report import run_trust_report
from ragassay.web.messages import Answer, Ask, NotThere
from ragassay.web.views.shell import counting_page, run_page, stored_run

PATIENCE_S = 5.0


def show(ask: Ask) -> Answer:
    """The judge beside people on one metric; without a label, how to get some."""
    from ragassay.trust.measure.run_trust import judge_trust

    stored = stored_run(ask)
    store, run_id = ask.site.store, stored.run_id
    labels = store.labels(run_id)
    names = list(dict.fromkeys(label.name for label in labels))
    metrics = [name for name in names if name in stored.manifest.metrics]
    metric = ask.query.get("metric", "") or (metrics[0] if metrics else "")
    if metric and metric not in metrics:
        raise NotThere(f"No row of the run has a label of {metric[:80]!r}.")
    sections = None
    if metric:
        found = ask.site.figures.other(
            ("trust", run_id, stored.updated, metric, store.labels_stamp()),
            lambda: run_trust_report(judge_trust(Run(store, run_id), metric=metric)),
            PATIENCE_S,
        )
        if found is None:
            return counting_page(ask, stored, "trust")
        sections = (str(found[0]), sections_of(found[1:]))
    return run_page(
        "trust.html.j2",
        ask,
        stored,
        "trust",
        metric=metric,
        metrics=metrics,
        found=sections,
    )
