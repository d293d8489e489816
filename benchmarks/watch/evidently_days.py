"""What Evidently tells of streams by its defaults, a day against the first one; run by run.py in an
environment of its own.

    VENV/bin/python benchmarks/watch/evidently_days.py STREAMS.npy DAYS [--reports 20]

Reads streams x values x columns, and prints JSON: its version, and the shares of streams of which
it told of a drifted column, and of a drifted dataset (half of the columns), on some day. Its test
of a column is the one that it chooses by itself for such data, called without the drawing of its
report; for the first streams the whole report is made as well, and how far its figures lie from
those is told, too.
"""

from __future__ import annotations

import argparse
import json
import re
import warnings
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")

import evidently
import numpy as np
import pandas as pd
from evidently import Report
from evidently.legacy.calculations.stattests import get_stattest
from evidently.legacy.core import ColumnType
from evidently.presets import DataDriftPreset

DATASET_SHARE = 0.5
"""Of the columns that drifted, by its default, where the dataset did."""
_COLUMN = re.compile(r"ValueDrift\(column=(\w+),")


def days_of(stream: np.ndarray[Any, Any], days: int) -> list[pd.DataFrame]:
    """The days of a stream, as tables."""
    names = [f"c{column}" for column in range(stream.shape[1])]
    return [pd.DataFrame(part, columns=names) for part in np.split(stream, days)]


def tested(reference: pd.DataFrame, day: pd.DataFrame) -> dict[str, tuple[float, bool]]:
    """(figure, drifted) of each column."""
    found = {}
    for name in reference:
        test = get_stattest(reference[name], day[name], ColumnType.Numerical, None)
        threshold = test.default_threshold
        result = test.func(reference[name], day[name], ColumnType.Numerical, threshold)
        found[str(name)] = (float(result[0]), bool(result[1]))
    return found


def reported(reference: pd.DataFrame, day: pd.DataFrame) -> dict[str, float]:
    """The figure of each column in the whole report."""
    made = Report([DataDriftPreset()]).run(day, reference).dict()
    found = {}
    for metric in made["metrics"]:
        match = _COLUMN.match(metric["metric_name"])
        if match is not None:
            found[match[1]] = float(metric["value"])
    return found


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("streams", type=Path)
    parser.add_argument("days", type=int)
    parser.add_argument("--reports", type=int, default=20)
    asked = parser.parse_args()
    streams = np.load(asked.streams)
    columns = datasets = compared = 0
    apart = 0.0
    for number, stream in enumerate(streams):
        reference, *later = days_of(stream, asked.days)
        told = [tested(reference, day) for day in later]
        drifted = [[is_drifted for _, is_drifted in day.values()] for day in told]
        columns += any(map(any, drifted))
        datasets += any(sum(day) / len(day) >= DATASET_SHARE for day in drifted)
        if number < asked.reports:
            for name, figure in reported(reference, later[0]).items():
                compared += 1
                apart = max(apart, abs(figure - told[0][name][0]))
    figures = {
        "version": evidently.__version__,
        "a column": columns / len(streams),
        "the dataset": datasets / len(streams),
        "compared with reports": compared,
        "farthest apart": apart,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
