"""Whether the agreement on the page of labels holds a labeller's true error in its interval.

    python benchmarks/label_recovery/run.py [--trials 2000]

In each trial somebody labels 60 to 300 rows of a judge that is always right, and errs on each row
with a chance drawn from 3 % to 30 %; or two people label, who err independently. The share alike
and its interval come from the function behind the page. Counted is how often the interval holds the
truth: the chance to agree.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "src"))

from ragassay.core import HumanLabel, Interval
from ragassay.scoring import annotators
from ragassay.trust.measure.label_rounds import DRAWS


def interval_of(
    first: np.ndarray, second: np.ndarray, clusters: dict[str, str | None]
) -> Interval | None:
    """The interval of the share alike, None where there is none."""
    votes = []
    for row, (a, b) in enumerate(zip(first, second, strict=True)):
        votes.append(HumanLabel(f"r{row}", "m", "first", float(a)))
        votes.append(HumanLabel(f"r{row}", "m", "second", float(b)))
    agreement = annotators.measure(annotators.votes(votes, clusters), draws=DRAWS)
    return next(f.interval for f in agreement.pairs[0].figures if f.name == "accuracy")


def trial(rng: np.random.Generator, people: int, per_cluster: int) -> bool | None:
    """Whether the interval holds the truth; None where there is no interval."""
    rows = int(rng.integers(60, 301))
    truth = rng.random(rows) < 0.7
    error = rng.uniform(0.03, 0.3, size=2)
    labels = [np.where(rng.random(rows) < e, ~truth, truth) for e in error]
    if people == 1:
        second, agree = truth, 1 - error[0]
    else:
        second, agree = labels[1], (1 - error[0]) * (1 - error[1]) + error[0] * error[1]
    clusters: dict[str, str | None] = {}
    for row in range(rows):
        clusters[f"r{row}"] = f"c{row // per_cluster}"
    found = interval_of(labels[0], second, clusters)
    return None if found is None else bool(found.low <= agree <= found.high)


def main() -> None:
    """Count, and print a table in Markdown."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=2000)
    given = parser.parse_args()
    print("| who | rows of a cluster | trials | truth within the interval | no interval |")
    print("|---|---|---|---|---|")
    start = time.process_time()
    for people, who in ((1, "one person beside the judge"), (2, "two people")):
        for per_cluster in (1, 4):
            rng = np.random.default_rng(7)
            found = [trial(rng, people, per_cluster) for _ in range(given.trials)]
            held = [each for each in found if each is not None]
            share = sum(held) / len(held)
            line = f"| {who} | {per_cluster} | {given.trials:,} | {share:.1%} |"
            print(f"{line} {len(found) - len(held)} |", flush=True)
    print(f"\n{time.process_time() - start:.0f} s of processor time")


if __name__ == "__main__":
    main()
