"""Pure rules: the row's verdict, its root cause and its score pattern."""

from ragassay.diagnosis.causes import CAUSES
from ragassay.diagnosis.patterns import HIGH, LOW, PATTERNS, Pattern, pattern_of
from ragassay.diagnosis.rules import diagnose

__all__ = ["CAUSES", "HIGH", "LOW", "PATTERNS", "Pattern", "diagnose", "pattern_of"]
