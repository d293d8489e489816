"""Rubric files: how they are read, and every mistake in one with its line."""
