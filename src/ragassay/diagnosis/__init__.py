"""Pure rules: the row's verdict, its root cause, what lies behind it, and its score pattern."""

from ragassay.diagnosis.causes import CAUSES, FINER, cause_named, is_own, own_cause
from ragassay.diagnosis.chunks import evidence_chunks
from ragassay.diagnosis.evidence import metric_name, part_text, quote_of, worst_part
from ragassay.diagnosis.finer import RULES, Rule
from ragassay.diagnosis.patterns import HIGH, LOW, PATTERNS, Pattern, pattern_of
from ragassay.diagnosis.row import Roles, Row
from ragassay.diagnosis.rules import diagnose, shows

__all__ = [
    "CAUSES",
    "FINER",
    "HIGH",
    "LOW",
    "PATTERNS",
    "RULES",
    "Pattern",
    "Roles",
    "Row",
    "Rule",
    "cause_named",
    "diagnose",
    "evidence_chunks",
    "is_own",
    "metric_name",
    "own_cause",
    "part_text",
    "pattern_of",
    "quote_of",
    "shows",
    "worst_part",
]
