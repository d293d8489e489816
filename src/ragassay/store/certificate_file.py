"""Certificates of judges as JSON values and as files.

The id of a certificate is a hash of its content, so a figure that was changed by hand shows: the
id then no longer fits. It proves that nothing was altered, not who issued the certificate.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

from ragassay.core import Certificate, DataError, digest, shorten
from ragassay.store.codec import read

SCHEMA = 1


def identity(certificate: Certificate) -> str:
    """The id that fits the content: a hash of all fields but id and created."""
    plain = asdict(certificate)
    del plain["id"], plain["created"]
    # Certificates of before have no design and no map, and must keep their ids.
    _drop_absent(plain)
    return digest("certificate", SCHEMA, plain)


def to_json(certificate: Certificate) -> dict[str, Any]:
    """The certificate as JSON values; `from_json` reads them back."""
    plain = {"schema": SCHEMA, "kind_of": "certificate", **asdict(certificate)}
    # As certificates of before were written, byte for byte.
    _drop_absent(plain)
    return plain


def _drop_absent(plain: dict[str, Any]) -> None:
    """Take out the fields that were added later, where they say nothing."""
    for name in ("design", "score_map", "worth"):
        if not plain[name]:
            del plain[name]


def from_json(plain: object, where: str = "certificate") -> Certificate:
    """The certificate of JSON values.

    Raises DataError E0317 when they are none, or not the one that was issued.
    """
    try:
        certificate = _read(plain)
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        why = f"it cannot be read: {type(error).__name__}: {shorten(str(error), 80)}"
        raise altered(where, why) from error
    if certificate.id != identity(certificate):
        raise altered(where, f"its content does not give its id {shorten(certificate.id, 40)}")
    return certificate


def dumps(certificates: Iterable[Certificate]) -> bytes:
    """A file of certificates, ordered by metric, data and id."""
    ordered = sorted(certificates, key=lambda c: (c.metric, c.dataset, c.id))
    lines = [_line(certificate) for certificate in ordered]
    return ('{"schema":1,"certificates":[\n' + ",\n".join(lines) + "\n]}\n").encode("ascii")


def _line(certificate: Certificate) -> str:
    plain = to_json(certificate)
    return json.dumps(plain, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def loads(data: bytes, where: str = "certificates") -> tuple[Certificate, ...]:
    """The certificates of a file, each checked. Raises DataError E0317."""
    try:
        plain = json.loads(data)
        entries = plain["certificates"]
        if plain["schema"] != SCHEMA or not isinstance(entries, list):
            raise ValueError(
                f"the schema is {shorten(str(plain['schema']), 20)}, known is {SCHEMA}"
            )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise altered(where, f"the file cannot be read: {shorten(str(error), 80)}") from error
    return tuple(
        from_json(entry, f"{where}, certificate {n}") for n, entry in enumerate(entries, 1)
    )


def sealed(certificate: Certificate) -> Certificate:
    """The certificate with the id of its content.

    Its numbers are those that come back from JSON, so that the id still fits after a round trip.
    """
    unsealed = _read(to_json(replace(certificate, id="")))
    return replace(unsealed, id=identity(unsealed))


def altered(where: str, why: str) -> DataError:
    """DataError E0317 for a certificate that is not as it was issued."""
    return DataError(
        "E0317",
        "A certificate is not as it was issued.",
        where=where,
        why=why,
        fix=(
            "benchmark the judge again with `ragassay benchmark`, or put back the file as it was"
            " issued"
        ),
    )


def _read(plain: Any) -> Certificate:
    if not isinstance(plain, dict):
        raise ValueError(f"it is no certificate of schema {SCHEMA}")
    if plain.get("schema") != SCHEMA or plain.get("kind_of") != "certificate":
        raise ValueError(f"it is no certificate of schema {SCHEMA}")
    return read(Certificate, {"design": "", "score_map": None, "worth": None, **plain})
