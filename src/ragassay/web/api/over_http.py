"""Errors of what a request holds, in the words of a request: they are raised where files and
options of the command are read, and would name those.
"""

from __future__ import annotations

import re
from pathlib import Path

from ragassay.core import RagAssayError

_REMEDIES = {
    "E0303": "send the field as the kind that is expected",
    "E0306": "give each row an id of its own, or none of them one",
    "E0307": "give each row a question, a response or contexts",
    "E0314": "keep one of the two, or set `replace` to take the new one",
    "E0315": "label rows of this run; GET its rows for their ids",
}
METRICS = "GET /api/v1/metrics lists the metrics and their parameters"
_ELSE = "see the operation in /api/v1/openapi.json"


def in_words_of_a_request(
    error: RagAssayError, place: str, file: Path | None = None, metric: str = "metric"
) -> RagAssayError:
    """The error with JSON pointers for places in a file, and no option of the command.

    place: where in the body the rows stand, such as "/rows"; "/row" for one alone. file: in which
    they lay for a moment. metric: where a request names a metric.
    """
    for name in ("where", "what", "why"):
        setattr(error, name, _pointed(getattr(error, name), place, file))
    pointers = re.findall(rf"{place}/\d+", error.why)
    if error.code == "E0306" and pointers:
        error.where = f"{pointers[-1]}/id"
    elif error.where in ("memory", place):
        error.where = pointers[0] if pointers else place
    elif error.where == "metrics":
        error.where, error.fix = "/metrics", METRICS
    elif error.where == "--metric":
        error.where, error.fix = metric, "name one of the metrics of the run"
    elif parameter := re.fullmatch(r"metric .*, parameter (\w+)", error.where):
        error.where = f"/parameters/{parameter[1]}" if place == "/row" else "/metrics"
    if error.code == "E0313" and "scale" in error.what + error.why:
        error.fix = "name the values that a label may take in `scale`, the same with every request"
    elif error.code in _REMEDIES:
        error.fix = _REMEDIES[error.code]
    elif re.search(r"(?:^|\s)--\w|ragassay |mapping=|slices=|make_ids=", error.fix):
        error.fix = _ELSE
    return error


def _pointed(text: str, place: str, file: Path | None) -> str:
    """Names and lines of the file as pointers: lines count from 1, places in a body from 0."""
    if file is not None:
        text = text.replace(str(file), place).replace(file.name, place)
    if place == "/row":
        return text.replace("row 1: ", "")
    text = re.sub(rf"{place}:(\d+)", lambda found: f"{place}/{int(found[1]) - 1}", text)
    return re.sub(
        r"(?:lines|rows) (\d+) and (\d+)",
        lambda found: " and ".join(f"{place}/{int(each) - 1}" for each in found.groups()),
        text,
    )
