"""The map of a calibrated judge: found under its name in the store, and kept with the run.

`ragassay calibrate --save NAME` stores a map in the certificate of the judge "calibrated:NAME". A
run of that judge takes it from there once and keeps it in its options, so that a resume and a
worker elsewhere go by the very same map, whatever is stored under the name later.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

from ragassay.core import Certificate, ScoreMap, SetupError, nearest, shorten
from ragassay.runs.options import Options

_KINDS = {"platt": 2, "beta": 3}


def as_text(score_map: ScoreMap) -> str:
    """The map as the option `calibration` holds it."""
    return json.dumps(asdict(score_map), separators=(",", ":"))


def map_of(options: Options) -> ScoreMap | None:
    """The map of the judge of these options; None where it is no calibrated one.

    Raises SetupError E0104 for a map without such a judge, E0410 for a calibrated judge without a
    map or with one that cannot be read.
    """
    from ragassay.judges import calibrated_name

    name = calibrated_name(options.judge)
    if name is None:
        if options.calibration is not None:
            raise SetupError(
                "E0104",
                "A map is only for a calibrated judge.",
                where="calibration",
                why=f"the judge is {shorten(options.judge, 60)}",
                fix="name the judge calibrated:NAME, or leave the map out",
            )
        return None
    if options.calibration is None:
        raise _unknown(name, ())
    return _read(options.calibration)


def base_options(options: Options) -> Options:
    """The options of the judge under the map; the same for a judge without one."""
    score_map = map_of(options)
    if score_map is None:
        return options
    return replace(options, judge=score_map.judge, calibration=None)


def with_stored_map(options: Options, store: str | os.PathLike[str] | None) -> Options:
    """The options with the map that the store has under the judge's name, where it is calibrated.

    Raises SetupError E0410 where nothing is stored under the name.
    """
    from ragassay.judges import calibrated_name

    name = calibrated_name(options.judge)
    if name is None or options.calibration is not None:
        return options
    certificates = _stored_certificates(store)
    newest: Certificate | None = None
    names: set[str] = set()
    for certificate in certificates:
        if certificate.score_map is None:
            continue
        names.add(certificate.score_map.name)
        is_later = newest is None or certificate.created >= newest.created
        if certificate.score_map.name == name and is_later:
            newest = certificate
    if newest is None or newest.score_map is None:
        raise _unknown(name, names)
    return replace(options, calibration=as_text(newest.score_map))


def _stored_certificates(store: str | os.PathLike[str] | None) -> tuple[Certificate, ...]:
    from ragassay.store import Store, default_location, is_there

    place = default_location() if store is None else os.fspath(store)
    if not is_there(place):
        return ()
    with Store.open(place, make=False) as opened:
        return opened.certificates()


def _unknown(name: str, names: Iterable[str]) -> SetupError:
    known = sorted(names)
    return SetupError(
        "E0410",
        f"No calibrated judge is stored as {shorten(name, 40)!r}.{nearest(name, known)}",
        where="--judge",
        why=f"stored: {', '.join(known[:10]) or 'none'}",
        fix="make it: ragassay calibrate LABELS --judge URI --metric METRIC --save NAME",
    )


def _read(text: str) -> ScoreMap:
    try:
        plain: Any = json.loads(text)
        score_map = ScoreMap(
            name=str(plain["name"]),
            judge=str(plain["judge"]),
            metric=str(plain["metric"]),
            kind=plain["kind"],
            parameters=tuple(float(number) for number in plain["parameters"]),
            at=tuple(float(number) for number in plain["at"]),
            cut=float(plain["cut"]),
            data_hash=str(plain["data_hash"]),
        )
        is_whole = len(score_map.parameters) == _KINDS.get(score_map.kind, len(score_map.at))
        if score_map.kind not in (*_KINDS, "isotonic") or not (is_whole and score_map.parameters):
            raise ValueError("it is no map")
    except (ValueError, TypeError, KeyError) as error:
        raise SetupError(
            "E0410",
            "The map of the calibrated judge cannot be read.",
            where="calibration",
            why=shorten(f"{type(error).__name__}: {error}", 80),
            fix="leave it out: the one that is stored under the judge's name is taken",
        ) from None
    return score_map
