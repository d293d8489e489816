"""Builds the documentation as a site: `python tools/build_site.py [FOLDER]` (build/site)."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from docs_site.build import build

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Build, and say where it is."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "site"
    start = time.perf_counter()
    tree = build(target)
    seconds = time.perf_counter() - start
    print(f"{len(tree.pages)} pages in {seconds:.0f} s: {target / 'index.html'}")


if __name__ == "__main__":
    main()
