"""A stage of training that can be stopped and taken up again: where it is, in one file."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import torch

State = dict[str, Any]
# Seconds between two checkpoints.
EVERY = 600.0


class Keeper:
    """Writes the state of a stage every ten minutes, and ends the process with it on SIGTERM."""

    def __init__(self, folder: Path, *, resume: bool, every: float = EVERY) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "state.pt"
        if self._path.exists() and not resume:
            raise SystemExit(f"{self._path} is there already: --resume goes on from it")
        self._every, self._written, self._told = every, time.monotonic(), False
        signal.signal(signal.SIGTERM, self._tell)

    def _tell(self, _number: int, _frame: FrameType | None) -> None:
        self._told = True

    def read(self) -> State | None:
        """The last state, where there is one."""
        if not self._path.exists():
            return None
        state: State = torch.load(self._path, map_location="cpu", weights_only=True)
        return state

    def write(self, state: State) -> None:
        """Put a state in place of the last one; never half of it."""
        fresh = self._path.with_suffix(".new")
        with fresh.open("wb") as target:
            torch.save(state, target)
            target.flush()
            os.fsync(target.fileno())
        fresh.replace(self._path)
        self._written = time.monotonic()

    def mind(self, state: Callable[[], State]) -> None:
        """After a step: write when it is time, and end when the process was told to."""
        if self._told or time.monotonic() - self._written > self._every:
            now = state()
            self.write(now)
            if self._told:
                print(f"  told to end: kept at step {now['step']}", flush=True)
                sys.exit(0)
