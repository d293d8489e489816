"""Judging over HTTP: a run of posted rows, or one row under one metric.

Nothing of a request is a path, code, an address to call or the name of a variable that holds a key.
A judge behind a server is used only where whoever started this server has allowed it, with the key
and the address of this server's own environment, and within a cap.
"""

from __future__ import annotations

import hashlib
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import orjson

from ragassay import notebook
from ragassay.core import RagAssayError, Score, SetupError, nearest
from ragassay.metrics import catalogue
from ragassay.metrics import parse as parse_metric
from ragassay.report.jsonable import as_json
from ragassay.web.api.messages import Call, Json, Problem, Refused, Reply
from ragassay.web.api.operations.runs import progress_of
from ragassay.web.api.over_http import METRICS, in_words_of_a_request
from ragassay.web.api.posted_rows import Request
from ragassay.web.api.requests import EvaluationIn, JudgeIn, ResumeIn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ragassay.web.api.evaluations import Begun

CALLS_A_ROW = 50
"""Calls that judging one row may take where the request names no cap."""
_NOT_OPTIONS = {"rows", "name", "row", "parameters"}


def start(call: Call) -> Reply:
    """Begin a run of the rows of the body."""
    body: EvaluationIn = call.body
    _check_judge(call, body.judge)
    _check_metrics(body.metrics or ())
    # A cost by the request's own prices is no cap: they may be 0.
    by_cost = body.max_cost is not None and body.price is None
    if body.judge != "offline" and body.max_calls is None and not by_cost:
        raise _not_allowed(
            "/max_calls" if body.price else "/max_cost",
            "A judge behind a server is asked within a cap only.",
            why=body.judge,
            fix="give max_calls, or max_cost (US dollars) without a price of your own",
        )
    options = body.model_dump(exclude=_NOT_OPTIONS)
    request = Request(call.key, _digest(body)) if call.key else None
    begun = call.evaluations.start(body.rows, {**options, "name": body.name}, request)
    return _begun(call, begun)


def resume(call: Call) -> Reply:
    """Go on with a run of posted rows that was stopped, or whose server was killed."""
    body: ResumeIn = call.body
    stored = call.run()
    _check_judge(call, stored.manifest.judge.uri, f"run {stored.run_id}")
    return _begun(call, call.evaluations.resume(stored.run_id, body.model_dump()))


def _begun(call: Call, begun: Begun) -> Json:
    progress = {**progress_of(call, begun.run_id), "notes": as_json(begun.notes)}
    return Json(progress, 202, location=f"/api/v1/runs/{begun.run_id}")


def _digest(body: EvaluationIn) -> str:
    """Of what the body says, however it is written."""
    content = orjson.dumps(body.model_dump(), option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(content).hexdigest()


def judge(call: Call) -> Reply:
    """The Score of one row, as `ragassay.judge` gives it."""
    body: JudgeIn = call.body
    name = call.path["metric"]
    kinds = catalogue()
    if notebook.JUDGES.get(name, name) not in kinds:
        raise Refused(
            "E0201",
            f"There is no metric {name[:80]!r}.{nearest(name, kinds)}",
            where="metric",
            fix=METRICS,
            status=404,
        )
    _check_judge(call, body.judge)
    # A row may have its name with it, which says nothing about it.
    body.row.pop("id", None)
    _check_fields(body.row, name)
    try:
        return Json(as_json(_score(call, body, notebook.JUDGES.get(name, name))))
    except RagAssayError as error:
        raise in_words_of_a_request(error, "/row") from None


def _check_fields(row: dict[str, Any], metric: str) -> None:
    """Raise Refused E1409 for what is no field of a row."""
    # The function takes fields and options in one line: what a request may not set must not come
    # in here.
    wrong = [field for field in row if field in notebook.OPTIONS]
    wrong += notebook.unknown_names(row, metric)
    problems = []
    for field in wrong:
        what = f"is no field of a row.{nearest(field, notebook.ROW)}"
        problems.append(Problem(f"/row/{field[:80]}", what))
    if problems:
        raise Refused(
            "E1409",
            "The row cannot be read.",
            where=problems[0].where,
            why=problems[0].what,
            fix=f"fields of a row: {', '.join(notebook.ROW)}",
            problems=tuple(problems),
        )


def _score(call: Call, body: JudgeIn, name: str) -> Score:
    metric = _with_parameters(name, body.parameters)
    options = body.model_dump(exclude=_NOT_OPTIONS)
    if options["max_calls"] is None and options["max_cost"] is None:
        options["max_calls"] = CALLS_A_ROW
    return notebook.score(metric, **body.row, **options, store=call.site.store.address)


def _with_parameters(name: str, parameters: dict[str, Any]) -> Any:
    """The metric with its parameters, through the text that the command takes. Raises Refused
    E0202 with every parameter that cannot be taken.
    """
    taken = [field.name for field in fields(catalogue()[name])]  # type: ignore[arg-type]
    problems = []
    words = []
    for key, value in parameters.items():
        word = f"{key}={value}"
        what = ""
        if key not in taken:
            what = f"is no parameter of {name}.{nearest(key, taken)}"
        elif any(letter in str(value) for letter in ",=()"):
            what = "holds a sign that no value has"
        else:
            what = _refusal(f"{name}({word})")
        if what:
            problems.append(Problem(f"/parameters/{key[:80]}", what))
        words.append(word)
    if problems:
        raise Refused(
            "E0202",
            "The metric cannot take these parameters.",
            where=problems[0].where,
            why=problems[0].what,
            fix=METRICS,
            problems=tuple(problems),
        )
    return parse_metric(f"{name}({', '.join(words)})" if words else name)


def _refusal(metric: str) -> str:
    """Why a printed name stands for no metric, "" for one that does."""
    try:
        parse_metric(metric)
    except SetupError as error:
        return f"{error.what[:-1]}: {error.fix}"
    return ""


def _check_judge(call: Call, judge: str, where: str = "/judge") -> None:
    """Raise Refused E1410 for a judge that the server was not started with."""
    allowed = ("offline", *call.site.settings.judges)
    if judge not in allowed:
        raise _not_allowed(
            where,
            "This judge is not one that requests may name.",
            why=f"{judge[:80]}; allowed: {', '.join(allowed)}",
            fix="start the server with --allow-judge URI, or leave `judge` out",
        )


def _check_metrics(names: Sequence[str]) -> None:
    """Raise Refused for what is no metric: E1410 for one that would import code, E0201 and E0202
    with the place of each of the others.
    """
    for place, name in enumerate(names):
        if ":" in name:
            raise _not_allowed(
                f"/metrics/{place}",
                "Metrics of your own cannot be named over HTTP: they are code.",
                why=name[:80],
                fix=METRICS,
            )
    problems = []
    first = None
    for place, name in enumerate(names):
        try:
            parse_metric(name)
        except SetupError as error:
            first = first or error
            what = error.what if error.code == "E0201" else f"{error.what[:-1]}: {error.fix}"
            problems.append(Problem(f"/metrics/{place}", what))
    if first is not None:
        raise Refused(
            first.code,
            first.what,
            where=problems[0].where,
            why=first.why,
            fix=METRICS if first.code == "E0201" else first.fix,
            problems=tuple(problems),
        )


def _not_allowed(where: str, what: str, *, why: str, fix: str) -> Refused:
    return Refused("E1410", what, where=where, why=why, fix=fix, problems=(Problem(where, what),))
