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


def register_quick_profile() -> None:
    """Make the profile known, for `pytest --hypothesis-profile=quick`."""
    settings.register_profile(PROFILE, max_examples=settings().max_examples // _SHARE)


def examples(number: int) -> int:
    """This many examples, or the quick loop's share of them."""
    if settings.get_current_profile_name() == PROFILE:
        return max(_FEWEST, number // _SHARE)
    return number
