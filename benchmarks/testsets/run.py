"""Test sets from documents: how many, how good, how near to real queries?

    python benchmarks/testsets/run.py [--only NAME ...] [--data ../shared/data] [--quick]
        [--environments DIR]

Each part is a module beside this one with TITLE, `measure(options)` (its figures, for JSON) and
`page(figures)` (its lines of Markdown). Parts that are not run again keep their figures. --quick
takes smaller doses and writes nothing. --environments keeps what `peers` installs.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from benchmarks.measured_parts import measure_parts, parser_for


def main() -> None:
    parser = parser_for("testsets", __doc__)
    parser.add_argument("--environments", type=Path, help="of Ragas and DeepEval, kept")
    measure_parts("testsets", "Test sets from documents", parser.parse_args())


if __name__ == "__main__":
    main()
