"""The command `ragassay`: parse, call, show; no logic of its own."""

from __future__ import annotations


def main() -> None:
    """Run the command line and leave with an exit code (docs/gates-and-ci.md)."""
    from ragassay.cli.app import run

    run()


__all__ = ["main"]
