"""The file of certificates that comes with the offline model, as bytes."""

from __future__ import annotations

from pathlib import Path

from ragassay.core import EnvironmentFailure

CERTIFICATES = Path(__file__).with_name("certificates.json")
"""Written by benchmarks/certificates/run.py."""


def packaged_certificates() -> bytes:
    """The file of certificates. Raises EnvironmentFailure E0505 when it cannot be read."""
    try:
        return CERTIFICATES.read_bytes()
    except OSError as error:
        raise EnvironmentFailure(
            "E0505",
            "The offline judge's certificates are missing.",
            where=str(CERTIFICATES),
            why=str(error),
            fix="install ragassay again (pip install --force-reinstall --no-deps ragassay)",
        ) from error


__all__ = ["CERTIFICATES", "packaged_certificates"]
