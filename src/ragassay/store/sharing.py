"""What a run learns of the others that ask the same judge in its store."""

from __future__ import annotations

from typing import NamedTuple

from ragassay.core import Judgment, JudgmentAddress


class OtherRuns(NamedTuple):
    """How many living runs of the store ask one of the judges of this one. claiming: whether all
    of them claim their questions.
    """

    runs: int
    claiming: bool


class Claimed(NamedTuple):
    """What came of claiming questions. judgments: of those that have one; granted: those that are
    this run's to ask. The others are being asked by another run.
    """

    judgments: dict[JudgmentAddress, Judgment]
    granted: frozenset[JudgmentAddress]
