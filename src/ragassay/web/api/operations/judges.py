"""What was measured of judges, and two runs beside each other."""

from __future__ import annotations

from ragassay import api
from ragassay.report.comparison import comparison_json
from ragassay.report.jsonable import as_json
from ragassay.runs.trust import known_certificates
from ragassay.trust.measure.certificate_list import certificates_of
from ragassay.web.api.folders import for_role
from ragassay.web.api.messages import Call, Json, Refused, Reply


def certificates(call: Call) -> Reply:
    """The certificates of the store and of the package, those of `ragassay certificates --json`."""
    found = certificates_of(
        known_certificates(call.site.store),
        judge=call.query.judge or None,
        metric=call.query.metric or None,
    )
    return Json({"items": as_json(list(found))})


def certificate(call: Call) -> Reply:
    """One certificate with every figure."""
    wanted = call.path["certificate"]
    for known in known_certificates(call.site.store):
        if known.id == wanted:
            return Json(as_json(known))
    raise Refused(
        "E1404",
        "There is no certificate of this id.",
        why=wanted[:80],
        fix="GET /api/v1/certificates lists them",
    )


def compare(call: Call) -> Reply:
    """What `ragassay compare --json` prints."""
    store, query = call.site.store, call.query
    a, b = call.run(query.a), call.run(query.b)
    result = api.compare(a.run_id, b.run_id, margin=query.margin, store=store.address)  # type: ignore[arg-type]
    shown = as_json(comparison_json(result))
    assert isinstance(shown, dict)
    return Json(for_role(call.role, shown))
