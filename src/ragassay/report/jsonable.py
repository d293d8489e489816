"""The values of reports as JSON. Versioned: "schema" rises when a name or meaning changes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING

from ragassay.core import AskedOfRow, RowResult, Summary
from ragassay.report.wording import headline

if TYPE_CHECKING:
    from ragassay.store import StoredRun

SCHEMA = 1
_SURROGATE = re.compile("[\ud800-\udfff]")


def as_json(value: object) -> object:
    """Dataclasses, enums, mappings and sequences as plain JSON values. Raises ValueError for NaN
    and infinities.
    """
    if isinstance(value, str) and not isinstance(value, Enum):
        return _SURROGATE.sub("\ufffd", value)  # no encoder takes a lone surrogate
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number that is not finite has no place in a report")
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(as_json(str(key))): as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [as_json(item) for item in value]
    return value


def summary_json(summary: Summary) -> dict[str, object]:
    """The Summary for `--json`: its fields by name, the sentence it starts with, and the schema's
    number.
    """
    values = as_json(summary)
    assert isinstance(values, dict)
    return {"schema": SCHEMA, "kind": "summary", "headline": headline(summary), **values}


def row_json(row: RowResult, asked: AskedOfRow | None = None) -> dict[str, object]:
    """One row for `--json`: sample, scores with their parts, diagnosis. asked: what the judge's
    model was sent about it, with the replies.
    """
    values = as_json(row)
    assert isinstance(values, dict)
    shown = {} if asked is None else {"asked": as_json(asked)}
    return {"schema": SCHEMA, "kind": "row", "id": as_json(row.id), **values, **shown}


def run_json(run: StoredRun) -> dict[str, object]:
    """One run of a list of runs, for `--json`: where it stands, its ledger and its manifest."""
    values = as_json(run)
    assert isinstance(values, dict)
    return {"run_id": run.run_id, "name": run.manifest.name, **values}
