"""What the reader of facts finds in a claim beside its passages."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from ragassay.core import MatchCall
from ragassay.models.offline import engine, model
from ragassay.models.offline.facts.checker import FactChecker
from ragassay.models.offline.facts.finding import Finding
from ragassay.models.offline.features import Rarity
from ragassay.models.offline.reading import read

WEIGHTS = Path(model.__file__).parent / "weights"


@cache
def rarity() -> Rarity:
    """How rare words are, from the package's weights."""
    with np.load(WEIGHTS / engine.RARITY) as stored:
        return engine.rarity({name: stored[name] for name in stored.files})


def findings(
    checker: FactChecker, claim: str, *passages: str, question: str | None = None
) -> list[Finding]:
    """The findings of a claim."""
    call = MatchCall("support", claim, passages, question)
    return checker.findings(call, read(passages))
