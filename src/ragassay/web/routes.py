"""The table of routes: path, method, who may ask, and the view that answers.

Nothing else makes a route: what is not in the table is not served.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import NamedTuple

from ragassay.web.guard import MOST_BYTES
from ragassay.web.messages import Answer, Ask
from ragassay.web.sessions import Role
from ragassay.web.views import (
    cause,
    compare,
    cost,
    costs,
    find,
    judges,
    labelling,
    labels,
    reports,
    row,
    rows,
    run,
    runs,
    signing,
    traces,
    traffic,
    trust,
)


class Access(StrEnum):
    """Who may ask."""

    PUBLIC = "public"  # anybody who can reach the server: signing in, style and script
    SIGNED_IN = "signed in"  # who has shown a token, whatever its role
    LABELLING = "labelling"  # labellers, and the admin
    ADMIN = "admin"

    @property
    def role(self) -> Role | None:
        """The least role that may ask; None where anybody may."""
        return _LEAST[self]


_LEAST: Mapping[Access, Role | None] = {
    Access.PUBLIC: None,
    Access.SIGNED_IN: Role.READER,
    Access.LABELLING: Role.LABELLER,
    Access.ADMIN: Role.ADMIN,
}


class Route(NamedTuple):
    """One entry of the table. most_bytes: of a request's body; uploads: whether the form has a
    file.
    """

    method: str
    path: str
    access: Access
    view: Callable[[Ask], Answer]
    most_bytes: int = MOST_BYTES
    uploads: bool = False


MOST_UPLOADED = 100 << 20
"""Bytes of a sheet of labels."""

_IN, _LABELS, _ADMIN = Access.SIGNED_IN, Access.LABELLING, Access.ADMIN
ROUTES = (
    Route("GET", "/static/{name}", Access.PUBLIC, signing.static),
    Route("POST", "/sign-in", Access.PUBLIC, signing.sign_in),
    Route("POST", "/sign-out", _IN, signing.sign_out),
    Route("POST", "/theme", _IN, signing.theme),
    Route("GET", "/", _IN, runs.show),
    Route("GET", "/runs/{run}", _IN, run.show),
    Route("GET", "/runs/{run}/progress", _IN, run.progress),
    Route("GET", "/runs/{run}/metric", _IN, run.metric),
    Route("GET", "/runs/{run}/causes", _IN, cause.show),
    Route("GET", "/runs/{run}/rows", _IN, rows.show),
    Route("GET", "/runs/{run}/rows/{index}", _IN, row.show),
    Route("GET", "/runs/{run}/rows/{index}/asked", _IN, row.asked),
    Route("GET", "/runs/{run}/export", _IN, run.export_file),
    Route("GET", "/runs/{run}/cost", _IN, cost.show),
    Route("GET", "/runs/{run}/labels", _IN, labels.show),
    Route("POST", "/runs/{run}/labels/choose", _ADMIN, labels.choose),
    Route("POST", "/runs/{run}/labels/upload", _ADMIN, labels.upload, MOST_UPLOADED, True),
    Route("GET", "/runs/{run}/labels/decide", _ADMIN, labels.undecided),
    Route("POST", "/runs/{run}/labels/decide", _ADMIN, labels.decide),
    Route("GET", "/runs/{run}/label", _LABELS, labelling.item),
    Route("POST", "/runs/{run}/label", _LABELS, labelling.keep),
    Route("GET", "/runs/{run}/trust", _IN, trust.show),
    Route("GET", "/compare", _IN, compare.show),
    Route("GET", "/compare/row", _IN, compare.row),
    Route("GET", "/costs", _IN, costs.show),
    Route("GET", "/find", _IN, find.show),
    Route("GET", "/judges", _IN, judges.show),
    Route("GET", "/judges/{certificate}", _IN, judges.certificate),
    Route("GET", "/reports", _IN, reports.show),
    Route("GET", "/reports/{report}", _IN, reports.report),
    Route("GET", "/reports/{report}/items", _IN, reports.items),
    Route("GET", "/reports/{report}/items/{item}", _IN, reports.item),
    Route("GET", "/traces", _IN, traces.show),
    Route("GET", "/traces/{trace}", _IN, traces.trace),
    Route("GET", "/traffic", _IN, traffic.show),
)
