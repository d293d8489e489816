"""Measurements of judges, each from files and runs to a result.

Benchmarks against people, labelling, judges made of others (calibration, panels, cascades), and
the battery of probes.

The door is light: each name is imported from its module when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragassay.lazy import lazy_names

if TYPE_CHECKING:
    from ragassay.trust.measure.benchmarks import benchmark, run_benchmark
    from ragassay.trust.measure.calibration import calibrate
    from ragassay.trust.measure.cascades import cascade
    from ragassay.trust.measure.certificate_list import certificates
    from ragassay.trust.measure.chunk_labels import precision_at
    from ragassay.trust.measure.estimation import estimate
    from ragassay.trust.measure.labelling import import_labels, next_rows
    from ragassay.trust.measure.marked_stretches import benchmark_stretches
    from ragassay.trust.measure.panels import panel, repeat
    from ragassay.trust.measure.people import people_agreement
    from ragassay.trust.measure.probing import probe
    from ragassay.trust.measure.run_trust import judge_trust
    from ragassay.trust.measure.strength import judge_strength

__all__ = [
    "benchmark",
    "benchmark_stretches",
    "calibrate",
    "cascade",
    "certificates",
    "estimate",
    "import_labels",
    "judge_strength",
    "judge_trust",
    "next_rows",
    "panel",
    "people_agreement",
    "precision_at",
    "probe",
    "repeat",
    "run_benchmark",
]

__getattr__ = lazy_names(
    __name__,
    {
        "benchmarks": ("benchmark", "run_benchmark"),
        "calibration": ("calibrate",),
        "cascades": ("cascade",),
        "certificate_list": ("certificates",),
        "estimation": ("estimate",),
        "strength": ("judge_strength",),
        "labelling": ("import_labels", "next_rows"),
        "marked_stretches": ("benchmark_stretches",),
        "panels": ("panel", "repeat"),
        "people": ("people_agreement",),
        "chunk_labels": ("precision_at",),
        "probing": ("probe",),
        "run_trust": ("judge_trust",),
    },
)
