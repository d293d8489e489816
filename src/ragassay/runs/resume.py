"""The plan of a run that goes on: made again from its manifest, and checked to be the same.

A run has one set of rows, metrics and judges. Where one of them is not what it was, the results of
its two parts could not be told apart, so that a resume is refused before a call is paid.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ragassay.core import Manifest, SetupError
from ragassay.runs.options import Options, restore
from ragassay.runs.plan import Plan, make_plan

if TYPE_CHECKING:
    from ragassay.metrics import Metric
    from ragassay.runs.application import App

_NEW_RUN = "start a new run with `ragassay evaluate` (the cache keeps it cheap)"


def plan_of_resume(
    manifest: Manifest,
    changes: Mapping[str, Any],
    *,
    rows: object = None,
    metrics: Sequence[str | Metric] | None = None,
    app: App | None = None,
) -> Plan:
    """The plan with which the run of this manifest goes on; arguments as for `ragassay.resume`.

    Raises SetupError: E0101 for an option that cannot be changed, E0106 where rows, metrics or
    judge are not those the run began with; and as `make_plan`.
    """
    options = restore(manifest, changes)
    source = _source(manifest) if rows is None else rows
    plan = make_plan(source, options, metrics, app=app, earlier=manifest)
    _check_metrics(plan, manifest)
    _check_rows(plan, manifest)
    _check_judge(plan, manifest)
    return plan


def manifest_of_resume(
    manifest: Manifest, options: Options, keep: Mapping[str, object] | None
) -> Manifest:
    """The run's manifest with the caps that the resume sets, and with what it keeps."""
    return replace(
        manifest,
        options={**manifest.options, **options.lasting()},
        kept={**manifest.kept, **(keep or {})},
    )


def _source(manifest: Manifest) -> str:
    """The path of the run's rows. Raises SetupError E0106 where nothing can be read from it."""
    if manifest.source == "memory":
        raise SetupError(
            "E0106",
            "The run's rows came from memory, so the program has to hand them over again.",
            where=f"run {manifest.run_id}",
            fix=f"in Python: ragassay.resume({manifest.run_id!r}, rows=the_same_rows)",
        )
    if not os.path.exists(manifest.source):
        raise SetupError(
            "E0106",
            "The rows are not where they were when the run began.",
            where=manifest.source,
            fix=f"put the file back, or {_NEW_RUN}",
        )
    return manifest.source


def _check_metrics(plan: Plan, manifest: Manifest) -> None:
    if tuple(str(metric) for metric in plan.metrics) == manifest.metrics:
        return
    raise SetupError(
        "E0106",
        "The metrics are not those the run began with.",
        where=f"run {manifest.run_id}",
        why=f"it began with {', '.join(manifest.metrics)}",
        fix=(
            "hand over the same metrics in the same order, or start a new run (the cache keeps it"
            " cheap)"
        ),
    )


def _check_rows(plan: Plan, manifest: Manifest) -> None:
    if plan.scan.source_hash == manifest.source_hash:
        return
    raise SetupError(
        "E0106",
        "The rows are not those the run began with.",
        where=manifest.source,
        fix=f"put the file back as it was, or {_NEW_RUN}",
    )


def _check_judge(plan: Plan, manifest: Manifest) -> None:
    fingerprints = plan.info.fingerprints
    changed = [
        rubric
        for rubric, fingerprint in manifest.judge.fingerprints.items()
        if fingerprints.get(rubric) != fingerprint
    ]
    if not changed:
        return
    raise SetupError(
        "E0106",
        "The judge is not the one the run began with.",
        where=f"rubric {', '.join(changed)}",
        why="its rubric file, model or RagAssay's version has changed since",
        fix="start a new run with `ragassay evaluate`; unchanged judgments come from the cache",
    )
