"""What does a terminal get to see of a command? Run it under a real pseudo-terminal, and look for
what would command it.
"""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

_OURS = re.compile(r"\x1b\[(?:[0-9]{1,2}(?:;[0-9]{1,2})*)?m|\x1b\[\?25[lh]|\x1b\[[12]?[KA]")
"""What the display itself writes: simple styles, the cursor away and back, lines up and erased."""
_HOSTILE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\U000e0000-\U000e007f]"
)


_NEXT = "<<<the next command>>>"
_DRIVER = f"""
import json, sys
from ragassay.cli.app import run
for words in json.loads(sys.argv[1]):
    sys.argv = ["ragassay", *words]
    try:
        run()
    except SystemExit:
        pass
    sys.stderr.flush()
    print({_NEXT!r}, flush=True)
"""


def under_a_terminal(
    commands: Sequence[Sequence[str]],
    folder: Path,
    environment: Mapping[str, str],
    *,
    timeout: float = 500,
    columns: int = 120,
) -> list[str]:
    """All that the terminal got of each `ragassay ARGUMENTS`; one process runs them one after
    another.
    """
    main, child = pty.openpty()
    env = {
        **os.environ,
        "TERM": "xterm-256color",
        "COLUMNS": str(columns),
        "LINES": "50",
        **environment,
    }
    process = subprocess.Popen(
        [sys.executable, "-c", _DRIVER, json.dumps(list(map(list, commands)))],
        cwd=folder,
        env=env,
        stdin=child,
        stdout=child,
        stderr=child,
        close_fds=True,
        start_new_session=True,
    )
    os.close(child)
    got = bytearray()
    end = time.monotonic() + timeout
    try:
        while time.monotonic() < end:
            ready, _, _ = select.select([main], [], [], 0.2)
            if ready:
                try:
                    data = os.read(main, 65536)
                except OSError:  # the other end has gone
                    break
                if not data:
                    break
                got += data
            elif process.poll() is not None:
                break
        process.wait(max(0.1, end - time.monotonic()))
    finally:
        process.kill()
        process.wait()
        os.close(main)
    screens = got.decode("utf-8", "surrogateescape").split(_NEXT)
    assert len(screens) == len(commands) + 1, screens[-1][-2000:]
    return screens[:-1]


def commands_in(screen: str) -> list[str]:
    """What in it would command a terminal or hide from the reader, and is not of our own display;
    each with its place.
    """
    left = _OURS.sub("", screen)
    return [
        f"{left[max(0, found.start() - 30) : found.end() + 20]!r}"
        for found in _HOSTILE.finditer(left)
    ]
