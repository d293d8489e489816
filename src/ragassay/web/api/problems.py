"""Errors as `application/problem+json` (RFC 9457), with the codes of `ragassay explain`."""

from __future__ import annotations

import re
import secrets
import sys
import traceback

from ragassay.core import ProviderError, RagAssayError
from ragassay.core.error_catalogue import error_catalogue
from ragassay.report.jsonable import as_json
from ragassay.web.api.messages import Refused

MEDIA = "application/problem+json"

FAULT = "E1413"
_POSTED = re.compile(r"\S*[/\\]posted-rows[/\\]\S+")
"""Where posted rows lie, which is nothing to a client."""
_FIELDS = {"map": "mapping", "slice": "slices"}
"""Option of the command -> the field of a request, where they are called otherwise."""

_STATUS = {
    "E0103": 404,  # no such run
    "E0106": 409,  # a run cannot go on as it is
    "E0108": 404,  # no such row
    "E0314": 409,  # two labels of a person differ
    "E0504": 409,  # another process has the run
    "E1401": 401,
    "E1402": 421,
    "E1403": 403,
    "E1404": 404,
    "E1405": 405,
    "E1406": 413,
    "E1407": 415,
    "E1408": 400,
    "E1409": 422,
    "E1410": 422,
    "E1411": 429,
    "E1412": 409,
    FAULT: 500,
}


def status_of(error: RagAssayError) -> int:
    """The status of HTTP that says who can mend the error."""
    if isinstance(error, Refused) and error.status:
        return error.status
    if error.code in _STATUS:
        return _STATUS[error.code]
    if isinstance(error, ProviderError):
        return 502
    return 503 if error.exit_code == 5 else 422


def problem_of(error: RagAssayError, store: str) -> dict[str, object]:
    """The error as the members of a problem: what, where, why and the remedy. store: where the
    store lies, which is not said.
    """
    status = status_of(error)
    if option := re.match(r"--([a-z][a-z-]*)", error.where):
        name = option[1].replace("-", "_")
        error.where = f"/{_FIELDS.get(name, name)}"
    entry = error_catalogue()[error.code]
    problem: dict[str, object] = {
        "type": f"/api/v1/errors/{error.code}",
        "title": entry.meaning.strip(),
        "status": status,
        "detail": error.what,
        "code": error.code,
        "where": _POSTED.sub("the posted rows", error.where.replace(store, "the store")),
        "why": error.why.replace(store, "the store"),
        "remedy": error.fix.replace(store, "STORE") or entry.remedy.strip(),
        "problems": [],
    }
    if isinstance(error, Refused) and error.problems:
        problem["problems"] = as_json(error.problems)
    elif str(problem["where"]).startswith("/"):
        # One place in the body, of which the whole error is.
        what = f"{error.what.rstrip('.')}: {problem['why']}" if error.why else error.what
        problem["problems"] = [{"where": problem["where"], "what": what}]
    if status >= 500 and error.code != FAULT:
        # Where the store lies and which server is asked is for whoever runs this one.
        number = note_fault(error)
        why = f"noted in the server's log under {number}"
        problem |= {"where": "", "why": why, "problems": []}
        problem["remedy"] = entry.remedy.strip()
    texts = as_json(problem)
    assert isinstance(texts, dict)
    return texts


def fault(error: BaseException) -> Refused:
    """What is said of a mistake of ours: the number under which the log has it."""
    number = note_fault(error)
    return Refused(
        FAULT,
        "This is a fault of RagAssay.",
        why=f"noted in the server's log under {number}",
    )


def note_fault(error: BaseException) -> str:
    """Write an error to the log of whoever runs the server; the number to find it by."""
    number = secrets.token_hex(4)
    print(f"error {number} of the HTTP API", file=sys.stderr)
    traceback.print_exception(error)
    return number


def unknown_address() -> Refused:
    """The error of an address that no operation has."""
    return Refused(
        "E1404",
        "There is nothing at this address.",
        fix="GET /api/v1/openapi.json lists the addresses",
    )


def busy(what: str, retry_s: int) -> Refused:
    """The error of too many requests at once."""
    return Refused(
        "E1411",
        "Too many requests at once.",
        why=what,
        fix=f"send it again in {retry_s} s, and fewer at a time",
        retry_s=retry_s,
    )
