"""Builds the documentation as a site."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from docs_site.build import build

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Build, and say where it is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build/site")
    target = parser.parse_args().folder
    start = time.perf_counter()
    tree = build(target)
    seconds = time.perf_counter() - start
    print(f"{len(tree.pages)} pages in {seconds:.0f} s: {target / 'index.html'}")


if __name__ == "__main__":
    main()
