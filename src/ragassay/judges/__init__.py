"""Rubrics, and the judges that answer Requests with them: language models, the offline model,
or local classifiers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragassay.lazy import lazy_names

if TYPE_CHECKING:
    from ragassay.judges.base import Judge
    from ragassay.judges.composed.both_orders import BothOrdersJudge
    from ragassay.judges.composed.calibrated import (
        CalibratedJudge,
        calibrated_fingerprint,
        calibrated_name,
    )
    from ragassay.judges.composed.cascade import CascadeJudge
    from ragassay.judges.composed.cross_check import CheckedJudge
    from ragassay.judges.composed.panel import PanelJudge
    from ragassay.judges.composed.routed import RoutedJudge
    from ragassay.judges.composed.uri import composition, with_absolute_folders
    from ragassay.judges.llm.judge import LLMJudge
    from ragassay.judges.local.judge import LocalJudge, answers_task
    from ragassay.judges.offline.judge import OfflineJudge, answers_offline
    from ragassay.judges.registry import RubricRegistry, check
    from ragassay.judges.rubric import Flag, Rubric
    from ragassay.judges.rubric_file import rubric_text
    from ragassay.judges.scale import Point, Scale
    from ragassay.judges.similarity import SimilarityJudge
    from ragassay.judges.text_rules.abstention import declines

__all__ = [
    "BothOrdersJudge",
    "CalibratedJudge",
    "CascadeJudge",
    "CheckedJudge",
    "Flag",
    "Judge",
    "LLMJudge",
    "LocalJudge",
    "OfflineJudge",
    "PanelJudge",
    "Point",
    "RoutedJudge",
    "Rubric",
    "RubricRegistry",
    "Scale",
    "SimilarityJudge",
    "answers_offline",
    "answers_task",
    "calibrated_fingerprint",
    "calibrated_name",
    "check",
    "composition",
    "declines",
    "rubric_text",
    "with_absolute_folders",
]

__getattr__ = lazy_names(
    __name__,
    {
        "base": ("Judge",),
        "composed.both_orders": ("BothOrdersJudge",),
        "composed.calibrated": ("CalibratedJudge", "calibrated_fingerprint", "calibrated_name"),
        "composed.cascade": ("CascadeJudge",),
        "composed.cross_check": ("CheckedJudge",),
        "composed.panel": ("PanelJudge",),
        "composed.routed": ("RoutedJudge",),
        "composed.uri": ("composition", "with_absolute_folders"),
        "llm.judge": ("LLMJudge",),
        "local.judge": ("LocalJudge", "answers_task"),
        "offline.judge": ("OfflineJudge", "answers_offline"),
        "registry": ("RubricRegistry", "check"),
        "rubric": ("Flag", "Rubric"),
        "rubric_file": ("rubric_text",),
        "scale": ("Point", "Scale"),
        "similarity": ("SimilarityJudge",),
        "text_rules.abstention": ("declines",),
    },
)
