from __future__ import annotations

import pytest

from ragassay.models.offline.facts.checker import FactChecker
from support.facts import rarity


@pytest.fixture(scope="module")
def checker() -> FactChecker:
    return FactChecker(rarity())
