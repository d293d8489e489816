"""Classifiers of the user's own that run here. Importing it loads nothing heavy."""

from ragassay.models.local.model import LocalModel

__all__ = ["LocalModel"]
