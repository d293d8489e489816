"""How far a judge can be believed: labels of people, agreement with them, certificates, attacks.

What a program or a command calls is in `trust.measure`: from files and runs to a result. Here are
the values and the arithmetic that it is made of.

The door is light: each name is imported from its module when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragassay.lazy import lazy_names

if TYPE_CHECKING:
    from ragassay.trust.audit import audit_row, audit_table, describe
    from ragassay.trust.battery.results import BatteryResult, FamilyFigures, ProbeFigures
    from ragassay.trust.benchmark_sets import make_answer_negatives, trec_rows
    from ragassay.trust.certificate_issue import issue
    from ragassay.trust.comparison import compare
    from ragassay.trust.label_files import read_sheet, read_votes
    from ragassay.trust.label_sheets import write_sheet
    from ragassay.trust.label_table import read_labels
    from ragassay.trust.sampling import choose

__all__ = [
    "BatteryResult",
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

__getattr__ = lazy_names(
    __name__,
    {
        "audit": ("audit_row", "audit_table", "describe"),
        "battery.results": ("BatteryResult", "FamilyFigures", "ProbeFigures"),
        "benchmark_sets": ("make_answer_negatives", "trec_rows"),
        "certificate_issue": ("issue",),
        "comparison": ("compare",),
        "label_files": ("read_sheet", "read_votes"),
        "label_sheets": ("write_sheet",),
        "label_table": ("read_labels",),
        "sampling": ("choose",),
    },
)
