"""A run's scores as a file: the bytes that `ragassay export` writes."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from ragassay.report.records import export
from ragassay.web.api.messages import Call, Download, Reply

KINDS = {
    "jsonl": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}


def scores(call: Call) -> Reply:
    """One record a row and metric."""
    stored, form = call.run(), call.query.format
    handle, name = tempfile.mkstemp(prefix="ragassay-export-", suffix=f".{form}")
    os.close(handle)
    path = Path(name)
    try:
        export(call.site.store, stored.run_id, form, path)
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return Download(path, KINDS[form], f"{stored.run_id}.{form}", f'"{digest[:32]}"')
