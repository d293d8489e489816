"""Up to which probability is a yes too near the cut to be told? Chosen on dev rows.

    python training/choose_near.py [--data ../shared/data] [--keep]

Of the rows just above the cut of a task, people share the judge's yes about as often as not. The
band from the cut on is made as wide as it may be while at most MOST of the dev rows lie in it and
people agree with at most AGREE of its yeses; each set weighs the same. Rows below the cut stay a
no: they pass nothing. `--keep` writes the upper ends into card.json, where the
judge reads them. Test rows are not read.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from training.measure import weigh  # noqa: E402
from training.offline_data import ANSWER, RELEVANCE, Example, answer, relevance, support_dev  # noqa: E402

from ragassay.models.offline import OfflineModel  # noqa: E402

FOLDER = ROOT / "src/ragassay/models/offline/weights"
MOST = 0.05
"""Share of the dev rows that may lie in a band, each set weighing the same."""

AGREE = 0.6
"""Share of the yeses in a band that people may agree with; a yes that holds more often is told."""


class Band(NamedTuple):
    """The rows from the cut up to `end`: their share of all rows, and how often people agree."""

    end: float
    rows: int
    share: float
    agree: float


def bands(
    p: NDArray[np.float64], y: NDArray[np.int64], sources: Sequence[str], cut: float
) -> list[Band]:
    """Every band that begins at the cut and ends on a hundredth, as long as it is not too wide."""
    weights = weigh(sources)
    found: list[Band] = []
    for end in np.arange(round(cut + 0.01, 2), 1.0, 0.01):
        inside = (p >= cut) & (p < end)
        share = float(weights[inside].sum() / weights.sum())
        if share > MOST:
            break
        if inside.any():
            agree = float(np.average(y[inside], weights=weights[inside]))
            found.append(Band(round(float(end), 2), int(inside.sum()), share, agree))
    return found


def chosen(found: Sequence[Band]) -> Band:
    """The widest band in which people agree with no more than AGREE of the yeses."""
    return max(band for band in found if band.agree <= AGREE)


def development(data: Path) -> dict[str, list[Example]]:
    """Task -> its dev rows."""
    return {
        "support": support_dev(data),
        "relevance": list(relevance(data, "dev", RELEVANCE)),
        "answer": list(answer(data, "dev", ANSWER)),
    }


def dev_bands(data: Path) -> Iterator[tuple[str, int, list[Band]]]:
    """Each task with the number of its dev rows and every band above its cut."""
    model = OfflineModel()
    for task, examples in development(data).items():
        replies = model.score([example.call for example in examples])
        p = np.array([reply.probability for reply in replies])
        y = np.array([example.label for example in examples], np.int64)
        sources = [example.source for example in examples]
        yield task, len(examples), bands(p, y, sources, model.cuts[task])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("RAGASSAY_DATA", ROOT.parent / "shared/data")
    )
    parser.add_argument("--keep", action="store_true", help="write the ends into card.json")
    options = parser.parse_args()
    ends: dict[str, float] = {}
    for task, count, found in dev_bands(Path(options.data)):
        best = chosen(found)
        ends[task] = best.end
        print(f"{task}: {count} dev rows")
        for band in found:
            mark = "  <- chosen" if band == best else ""
            print(
                f"  up to {band.end:.2f}: {band.rows} rows, {band.share:.1%};"
                f" people agree with {band.agree:.0%} of the yeses{mark}"
            )
    if options.keep:
        path = FOLDER / "card.json"
        card = json.loads(path.read_text(encoding="utf-8"))
        card["near"] = ends
        path.write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
