"""The identity of a process, and whether another one still lives."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def host() -> str:
    """This machine's name, as recorded in locks."""
    return platform.node() or "unknown"


def started(pid: int) -> str:
    """When the process began, as the kernel counts it; "" where that cannot be told (no /proc)."""
    # Counted from the start of the machine, so that start is part of it.
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{_stat(pid)[19]}"
    except (OSError, IndexError):
        return ""


def alive(pid: int, began: str) -> bool | None:
    """Whether the process of this machine that had this pid and start still runs; None where that
    cannot be told.

    A zombie does not run. Without /proc a pid that was given to another process counts as alive.
    """
    if os.name != "posix":  # os.kill(pid, 0) would end the process on Windows
        return None
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    now = started(pid)
    if not now:
        return True
    try:
        return _stat(pid)[0] not in ("Z", "X") and began in ("", now)
    except (OSError, IndexError):
        return False  # it ended just now


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the command's name, which may itself hold spaces and
    brackets.
    """
    return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
