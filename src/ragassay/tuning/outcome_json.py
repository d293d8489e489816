"""An optimisation as JSON: everything of its report that is no row.

The result itself holds the labelled rows, the sealed ones among them, whose texts have no place in
a file that is passed on; and both rubrics as values, which are given as their files here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ragassay.judges.rubric_file import rubric_text
from ragassay.report import as_json
from ragassay.tuning.differences import differences
from ragassay.tuning.values import Part

if TYPE_CHECKING:
    from ragassay.judges import Rubric
    from ragassay.tuning.certify import Certification
    from ragassay.tuning.optimise import Optimisation
    from ragassay.tuning.search import SearchResult

_AS_THEY_ARE = (
    "metric",
    "judge",
    "proposer",
    "engine",
    "certified",
    "metric_after",
    "both_orders",
    "path",
    "baseline",
    "noise",
    "step",
    "orders",
    "plan",
    "forecast",
    "calls",
    "cost",
    "seconds",
    "lost",
    "failures",
    "notes",
)


def optimisation_json(result: Optimisation) -> dict[str, object]:
    """The fields by name. A number that is not finite is null."""
    fields: dict[str, object] = {name: _plain(getattr(result, name)) for name in _AS_THEY_ARE}
    fields["aim"] = result.aim.sentence()
    fields["rows"] = _rows(result)
    fields["slices"] = list(_slices(result))
    fields["rubric_before"] = _rubric(result.rubric_before)
    fields["rubric"] = None if result.rubric is None else _rubric(result.rubric)
    fields["changes"] = []
    if result.rubric is not None:
        fields["changes"] = list(differences(result.rubric_before, result.rubric))
    fields["finalists"] = [
        {"name": name, "rubric": None if rubric is None else _rubric(rubric)}
        for name, rubric in result.finalists
    ]
    fields["certificate"] = None
    if result.certificate is not None:
        fields["certificate"] = _certificate(result.certificate)
    fields["search"] = None if result.result is None else _search(result.result)
    return fields


def _plain(value: object) -> object:
    """The value as JSON has it, numbers of numpy and without an end among it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if hasattr(value, "__dataclass_fields__"):
        names = value.__dataclass_fields__
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return as_json(value)


def _rows(result: Optimisation) -> dict[str, object]:
    """How many rows and clusters each part has."""
    split = result.split
    parts: dict[str, object] = {}
    for part in Part:
        clusters = split.clusters_of(part)
        parts[part.value] = {"rows": len(clusters), "clusters": len(np.unique(clusters))}
    return parts


def _slices(result: Optimisation) -> Iterator[dict[str, object]]:
    for one in result.slices:
        yield {
            "name": one.name,
            "direction": one.direction,
            "rows": len(one.rows),
            "errors": len(one.errors),
            "rate": _plain(one.rate),
            "overall": _plain(one.overall),
            "p": _plain(one.p),
        }


def _rubric(rubric: Rubric) -> dict[str, str]:
    return {"ref": rubric.ref, "digest": rubric.digest, "text": rubric_text(rubric)}


def _certificate(certificate: Certification) -> object:
    fields = _plain(certificate)
    assert isinstance(fields, dict)
    for finalist, one in zip(fields["finalists"], certificate.finalists, strict=True):
        finalist["certified"] = one.certified
    return fields


def _search(result: SearchResult) -> dict[str, object]:
    return {
        "ended": result.ended,
        "calls": result.calls,
        "tried": [_plain(one) for one in result.tried],
        "finalists": [
            {
                "digest": one.rubric.digest,
                "before": _plain(one.before),
                "after": _plain(one.score),
                "effects": _plain(one.effects),
                "shift": _plain(one.shift),
            }
            for one in result.finalists
        ],
    }
