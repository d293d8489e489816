"""How many examples a property is tried on, and which: Hypothesis's profiles for this suite.

- "usual", for `make test`: the same examples in each run of the same code, as in Hypothesis's own
  profile for CI, so that a change is refused for what it does and not for a lucky draw.
- "quick", for `make test-fast`: a sixth of them.
- "searching", for `make soak`: five times as many, drawn anew each time. What it finds becomes an
  example of its own.

A profile holds for properties that name no number of their own; those that do name it as
`max_examples=examples(60)`. `tests/conftest.py` makes the profiles known.
"""

from __future__ import annotations

from hypothesis import settings

QUICK = "quick"
SEARCHING = "searching"
_SHARE = 6
_TIMES = 5
_FEWEST = 2


def register_profiles() -> None:
    """Make the profiles known and load "usual". Examples have no deadline: a busy machine is no
    fault.
    """
    usual = settings(deadline=None, derandomize=True)
    number = usual.max_examples
    settings.register_profile("usual", parent=usual)
    settings.register_profile(QUICK, parent=usual, max_examples=number // _SHARE)
    settings.register_profile(SEARCHING, deadline=None, max_examples=number * _TIMES)
    settings.load_profile("usual")


def examples(number: int) -> int:
    """This many examples, or the loaded profile's share of them."""
    profile = settings.get_current_profile_name()
    if profile == QUICK:
        return max(_FEWEST, number // _SHARE)
    return number * _TIMES if profile == SEARCHING else number
