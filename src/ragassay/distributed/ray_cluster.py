"""The Ray cluster of a run: the one that RAY_ADDRESS names, or one on this machine."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from ragassay.core import EnvironmentFailure, SetupError, shorten


def load() -> Any:
    """Ray. Raises SetupError (E0105) with the command that installs it."""
    # Ray reports its use to its makers where nobody forbids it.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        import ray
    except ImportError as error:
        raise SetupError(
            "E0105",
            "--engine ray needs Ray, which is not installed.",
            where="--engine ray",
            why=shorten(str(error)),
            fix="pip install 'ragassay[ray]'",
        ) from error
    return ray


def connect(workers: int | None) -> tuple[Any, bool]:
    """Ray, connected to the cluster that RAY_ADDRESS names, else to one of this machine; and
    whether it is ours to end.

    A program that is connected already stays so. Raises EnvironmentFailure E0510.
    """
    ray = load()
    if ray.is_initialized():
        return ray, False
    address = os.environ.get("RAY_ADDRESS") or "local"
    local: dict[str, Any] = {}
    if address == "local":
        local = {"num_cpus": workers or os.cpu_count(), "include_dashboard": False}
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", **local)
    except Exception as error:  # Ray raises anything at all here
        with suppress(Exception):
            ray.shutdown()
        raise EnvironmentFailure(
            "E0510",
            "Ray cannot be started or reached.",
            where=f"RAY_ADDRESS={address}",
            why=shorten(str(error).strip(), 300),
            fix="see `ray status`, or unset RAY_ADDRESS to run on this machine alone",
        ) from error
    _let_print(ray, False)
    return ray, True


def disconnect(ray: Any) -> None:
    """End the cluster that `connect` has started."""
    ray.shutdown()
    _let_print(ray, True)


def cpus(ray: Any) -> int:
    """How many CPUs the cluster has."""
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def _let_print(ray: Any, allowed: bool) -> None:
    """Whether Ray may print on our stdout, as it does of dead workers: there `--json` promises JSON
    and nothing else.

    Ray has no public switch for it; where the inner one is gone it prints.
    """
    inner: Any = getattr(getattr(ray, "_private", None), "worker", None)
    if hasattr(inner, "_worker_logs_enabled"):
        inner._worker_logs_enabled = allowed
