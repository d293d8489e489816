"""Rubric files: how they are read and written, and every mistake in one with its line."""

from ragassay.judges.rubric_file.draft import ReadingContext
from ragassay.judges.rubric_file.reading import read_rubric
from ragassay.judges.rubric_file.writing import rubric_text

__all__ = ["ReadingContext", "read_rubric", "rubric_text"]
