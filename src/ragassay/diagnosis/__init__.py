"""Pure rules: the row's verdict, its root cause, what lies behind it, its score pattern, and the
type of its query.
"""

from ragassay.diagnosis.causes import CAUSES, FINER, cause_named, is_own, own_cause
from ragassay.diagnosis.chunks import evidence_chunks
from ragassay.diagnosis.evidence import metric_name, part_text, quote_of, worst_part
from ragassay.diagnosis.finer import RULES, Rule
from ragassay.diagnosis.patterns import HIGH, LOW, PATTERNS, Pattern, pattern_of
from ragassay.diagnosis.query_type import QUERY_TYPE, query_type, with_query_type
from ragassay.diagnosis.row import Roles, Row
from ragassay.diagnosis.rules import diagnose, shows

__all__ = [
    "CAUSES",
    "FINER",
    "HIGH",
    "LOW",
    "PATTERNS",
    "QUERY_TYPE",
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
    "query_type",
    "quote_of",
    "shows",
    "with_query_type",
    "worst_part",
]
