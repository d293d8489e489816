"""The state of a run in the store, kept up to date while the run is driven."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ragassay.core import Ledger, RunState

if TYPE_CHECKING:
    from ragassay.store import Store


class StateWriter:
    """Writes state, ledger and seconds of one run to the store. Thread-safe.

    begun: whether anything was written yet. seconds: wall-clock time of earlier parts of the run.
    """

    def __init__(self, store: Store, run_id: str, seconds: float) -> None:
        self._store, self._run_id = store, run_id
        self._since = time.monotonic() - seconds
        self._saving = threading.Lock()
        self._ended = False
        self.begun = False

    def save(self, state: RunState, reason: str, ledger: Callable[[], Ledger]) -> None:
        """Write the state; nothing, once the run has ended. Raises RagAssayError."""
        # The ticker saves from threads: a late one must overwrite neither a newer ledger nor the
        # end of the run. So the ledger is taken under the lock, too.
        with self._saving:
            if self._ended:
                return
            self._ended = state is not RunState.RUNNING
            seconds = time.monotonic() - self._since
            self._store.update_run(
                self._run_id, state=state, stop_reason=reason, ledger=ledger(), seconds=seconds
            )
            self.begun = True
