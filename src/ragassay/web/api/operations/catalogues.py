"""What RagAssay itself has: metrics, presets and error codes."""

from __future__ import annotations

from dataclasses import asdict

from ragassay.core import SetupError, nearest
from ragassay.core.error_catalogue import ErrorEntry, error_catalogue
from ragassay.report.metric_list import metrics_json
from ragassay.web.api.messages import Call, Json, Reply


def metrics(call: Call) -> Reply:
    """What `ragassay metrics --json` prints."""
    return Json(metrics_json())


def errors(call: Call) -> Reply:
    """Every error code."""
    return Json({"items": [_entry(entry) for entry in error_catalogue().values()]})


def error(call: Call) -> Reply:
    """One error code, as `ragassay explain` prints it."""
    code = call.path["code"].upper()
    catalogue = error_catalogue()
    if code not in catalogue:
        raise SetupError(
            "E1404",
            f"No error has that code.{nearest(code, catalogue)}",
            where=code[:40],
            fix="codes look like E0301",
        )
    return Json(_entry(catalogue[code]))


def _entry(entry: ErrorEntry) -> dict[str, str]:
    return {name: text.strip() for name, text in asdict(entry).items()}
