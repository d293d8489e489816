"""How many examples a property is tried on: all of them, or a sixth in the quick loop.

`make test-fast` runs with Hypothesis's profile "quick", which `tests/conftest.py` registers. The
profile holds for properties that name no number of their own; those that do name it as
`max_examples=examples(60)`.
"""

from __future__ import annotations

from hypothesis import settings

PROFILE = "quick"
_SHARE = 6
_FEWEST = 2


def register_profiles() -> None:
    """Examples have no deadline, for a busy machine is no fault; and make the quick profile known,
    for `pytest --hypothesis-profile=quick`.
    """
    usual = settings()
    settings.register_profile("without deadline", parent=usual, deadline=None)
    settings.register_profile(
        PROFILE, parent=usual, deadline=None, max_examples=usual.max_examples // _SHARE
    )
    settings.load_profile("without deadline")


def examples(number: int) -> int:
    """This many examples, or the quick loop's share of them."""
    if settings.get_current_profile_name() == PROFILE:
        return max(_FEWEST, number // _SHARE)
    return number
