"""Rubrics, and the judges that answer Requests with them: a language model, or the offline model."""

from ragassay.judges.abstention import declines
from ragassay.judges.base import Judge
from ragassay.judges.book import RubricBook, check
from ragassay.judges.llm import LLMJudge
from ragassay.judges.offline import OfflineJudge
from ragassay.judges.rubric import Flag, Point, Rubric, Scale

__all__ = [
    "Flag", "Judge", "LLMJudge", "OfflineJudge", "Point", "Rubric", "RubricBook", "Scale", "check", "declines",
]  # fmt: skip
