"""What the store says of how a run stands, written from when it is driven."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ragassay.core import Ledger, RunState

if TYPE_CHECKING:
    from ragassay.store import Store


class StateWriter:
    """What the store says of how a run stands, from when it is driven: `begun` once it says so.
    Thread-safe.

    seconds: wall-clock time that it took before.
    """

    def __init__(self, store: Store, run_id: str, seconds: float) -> None:
        self._store, self._run_id = store, run_id
        self._since = time.monotonic() - seconds
        self._saving = threading.Lock()
        self._ended = self.begun = False

    def save(self, state: RunState, reason: str, ledger: Callable[[], Ledger]) -> None:
        """Write it; nothing, once the run has ended. Raises RagAssayError."""
        with (
            self._saving
        ):  # a late beat of the ticker must overwrite neither a newer ledger nor how the run ended
            if self._ended:
                return
            self._ended = state is not RunState.RUNNING
            seconds = time.monotonic() - self._since
            self._store.update_run(
                self._run_id, state=state, stop_reason=reason, ledger=ledger(), seconds=seconds
            )
            self.begun = True
