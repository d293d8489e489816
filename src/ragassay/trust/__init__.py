"""How far a judge can be believed: labels of people, agreement with them, certificates, attacks.

What a program or a command calls is in `trust.measure`: from files and runs to a result. Here are
the values and the arithmetic that it is made of.

The door is light: each name is imported from its module when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragassay.trust.audit import audit_row, audit_table, describe
    from ragassay.trust.battery.results import BatteryResult, FamilyFigures, ProbeFigures
    from ragassay.trust.benchmark_sets import make_answer_negatives, trec_rows
    from ragassay.trust.certificate_issue import issue
    from ragassay.trust.comparison import compare
    from ragassay.trust.correction import Correction
    from ragassay.trust.label_files import read_sheet, read_votes
    from ragassay.trust.label_sheets import write_sheet
    from ragassay.trust.label_table import read_labels
    from ragassay.trust.sampling import choose

_MODULES = {
    "BatteryResult": "battery.results",
    "Correction": "correction",
    "FamilyFigures": "battery.results",
    "ProbeFigures": "battery.results",
    "audit_row": "audit",
    "audit_table": "audit",
    "choose": "sampling",
    "compare": "comparison",
    "describe": "audit",
    "issue": "certificate_issue",
    "make_answer_negatives": "benchmark_sets",
    "read_labels": "label_table",
    "read_sheet": "label_files",
    "read_votes": "label_files",
    "trec_rows": "benchmark_sets",
    "write_sheet": "label_sheets",
}

__all__ = [
    "BatteryResult",
    "Correction",
    "FamilyFigures",
    "ProbeFigures",
    "audit_row",
    "audit_table",
    "choose",
    "compare",
    "describe",
    "issue",
    "make_answer_negatives",
    "read_labels",
    "read_sheet",
    "read_votes",
    "trec_rows",
    "write_sheet",
]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
