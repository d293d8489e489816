"""Rubrics, and the judges that answer Requests with them: a language model, or the offline model."""

from ragassay.judges.abstention import declines
from ragassay.judges.base import Judge
from ragassay.judges.cascade import CascadeJudge
from ragassay.judges.checked import CheckedJudge
from ragassay.judges.composition import composition
from ragassay.judges.llm import LLMJudge
from ragassay.judges.offline import OfflineJudge, answers_offline
from ragassay.judges.panel import PanelJudge
from ragassay.judges.registry import RubricBook, check
from ragassay.judges.route import RoutedJudge
from ragassay.judges.rubric import Flag, Point, Rubric, Scale
from ragassay.judges.similarity import SimilarityJudge

__all__ = [
    "CascadeJudge",
    "CheckedJudge",
    "Flag",
    "Judge",
    "LLMJudge",
    "OfflineJudge",
    "PanelJudge",
    "Point",
    "RoutedJudge",
    "Rubric",
    "RubricBook",
    "Scale",
    "SimilarityJudge",
    "answers_offline",
    "check",
    "composition",
    "declines",
]
