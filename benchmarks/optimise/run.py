"""Optimising a judge: is a certificate right, what does it find, what do the steps reach?

    python benchmarks/optimise/run.py [--only NAME ...] [--engines ENGINE ...] [--quick]

Each part is a module beside this one with TITLE, `measure(options)` (its figures, for JSON) and
`page(figures)` (its lines of Markdown). Parts that are not run again keep their figures. --quick
runs a tenth of the worlds and writes nothing. --engines runs these alone again in the part
"search".
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# In the place of this folder, whose part http.py would hide the module of the standard library.
sys.path[:1] = [str(ROOT), str(ROOT / "src")]

from benchmarks.measured_parts import measure_parts, parser_for


def main() -> None:
    parser = parser_for("optimise", __doc__)
    parser.add_argument("--engines", nargs="+", metavar="ENGINE", help="of the part 'search'")
    measure_parts("optimise", "Optimising a judge", parser.parse_args())


if __name__ == "__main__":
    main()
