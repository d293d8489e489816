"""The certificates of the package and of a store: listed, read from a file, written to one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ragassay.core import Certificate, DataError, SetupError, shorten

_SHORTEST_ID = 4  # fewer digits often begin several ids


def certificates(
    which: str | None = None,
    *,
    judge: str | None = None,
    metric: str | None = None,
    output: str | os.PathLike[str] | None = None,
    take: str | os.PathLike[str] | None = None,
    store: str | os.PathLike[str] | None = None,
) -> tuple[Certificate, ...]:
    """The certificates of the benchmarks in the store, newest first, then those of the package.

    which: id of one, or the first 4 or more of its digits. judge, metric: only those of a judge's
    URI, of a metric. output: write them to a file that `take` reads back, into another store for
    example. Raises SetupError E0205 for an id that none or several have, DataError E0317 for a file
    or store whose certificates are not as they were issued.
    """
    from ragassay.api import open_store
    from ragassay.runs.trust import known_certificates

    with open_store(store) as opened:
        if take is not None:
            for certificate in _read_file(take):
                opened.put_certificate(certificate)
        chosen = known_certificates(opened)
    chosen = certificates_of(chosen, judge=judge, metric=metric)
    if which is not None:
        chosen = (_with_id(which, chosen),)
    if output is not None:
        _write_file(output, chosen)
    return chosen


def certificates_of(
    certificates: Sequence[Certificate], *, judge: str | None = None, metric: str | None = None
) -> tuple[Certificate, ...]:
    """Those of a judge's URI, of a metric with any parameters; None: of any."""
    names = _metrics_meant(metric, certificates)
    return tuple(
        certificate
        for certificate in certificates
        if certificate.metric in names and judge in (None, certificate.judge)
    )


def _metrics_meant(metric: str | None, choices: Sequence[Certificate]) -> set[str]:
    """The printed names that are meant: this very one, else those with any parameters."""
    names = {certificate.metric for certificate in choices}
    if metric is None:
        return names
    if metric in names:
        return {metric}
    return {name for name in names if name.partition("(")[0] == metric}


def _with_id(which: str, choices: Sequence[Certificate]) -> Certificate:
    """The only certificate whose id begins so. Raises SetupError E0205 for none or several."""
    matches: list[Certificate] = []
    if len(which) >= _SHORTEST_ID:
        matches = [choice for choice in choices if choice.id.startswith(which.lower())]
    if len(matches) != 1:
        count = "More than one" if matches else "No"
        raise SetupError(
            "E0205",
            f"{count} certificate has the id {shorten(which, 40)!r}.",
            where="ragassay certificates",
            fix="`ragassay certificates` lists the ids",
        )
    return matches[0]


def _read_file(path: str | os.PathLike[str]) -> tuple[Certificate, ...]:
    from ragassay.store.certificate_file import loads

    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise DataError(
            "E0102",
            "The file of certificates cannot be read.",
            where=str(path),
            why=error.strerror or "",
            fix="name a file that --output wrote",
        ) from None
    return loads(data, str(path))


def _write_file(path: str | os.PathLike[str], certificates: Sequence[Certificate]) -> None:
    from ragassay.store.certificate_file import dumps

    try:
        Path(path).write_bytes(dumps(certificates))
    except OSError as error:
        raise SetupError(
            "E0107",
            "The output file cannot be written.",
            where=str(path),
            why=str(error),
            fix="name a file in a folder that exists",
        ) from None
