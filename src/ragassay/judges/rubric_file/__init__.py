"""Rubric files: how they are read, and every mistake in one with its line."""

from ragassay.judges.rubric_file.draft import ReadingContext
from ragassay.judges.rubric_file.reading import read_rubric

__all__ = ["ReadingContext", "read_rubric"]
