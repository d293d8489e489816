"""The command `ragassay`: parse, call, show; no logic of its own."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and leave with an exit code (docs/gates-and-ci.md)."""
    try:
        from ragassay.cli.app import run
    except KeyboardInterrupt:
        print("Stopped before anything was asked: give the same command again.", file=sys.stderr)
        sys.exit(130)
    run()


__all__ = ["main"]
