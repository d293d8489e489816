"""The end of a thread that does not come back from the user's code."""

from __future__ import annotations

import threading


def end_thread(thread: threading.Thread) -> None:
    """Raise SystemExit in a thread, as soon as it runs Python code again. One that is stuck in a
    system call is left as it is, and must be a daemon, so that the process can end without it.

    For a thread that runs the user's code and nothing else: a loop there that never ends would take
    its share of every second that is left to the run.
    """
    import ctypes  # hardly ever needed, and it would be loaded with the package

    if thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit)
        )
