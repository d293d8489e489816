"""Commands that go on with a run, as a user would type them."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from pathlib import Path

from ragassay.core import SetupError


def resume_command(run_id: str, store: str) -> str:
    """The command that goes on with a run of the store at this location."""
    return f"ragassay resume {run_id}{store_option(store)}"


def store_option(store: str) -> str:
    """ " --store LOCATION" for a store that a command would not find by itself, else ""."""
    from ragassay.store import default_location, shown_location

    with suppress(SetupError):  # what RAGASSAY_STORE says may be no store at all
        if shown_location(default_location()) == store:
            return ""
    path = Path(store)
    near = "://" not in store and path.is_relative_to(Path.cwd())
    return f" --store {shlex.quote(os.path.relpath(path) if near else store)}"
