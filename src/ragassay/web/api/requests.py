"""The parameters and bodies that the operations take, as pydantic models: whatever they do not name
is refused.

What an evaluation may be asked is a part of the options of `ragassay.evaluate`, checked by the same
code. What would read a file, import code, send the server's key elsewhere or open a connection to a
place that the request names is not among them.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from ragassay.core import SetupError
from ragassay.models.prices import Rate

MOST_ROWS = 10_000
MOST_LABELS = 10_000
MOST_A_PAGE = 1000
LONGEST_TEXT = 4000

_WHOLE = re.compile(r"-?[0-9]{1,15}")
_DECIMAL = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")


def _whole(value: object) -> object:
    """The number that a parameter of the address says; pydantic would take " 1_0 " as well."""
    if isinstance(value, str) and not _WHOLE.fullmatch(value):
        raise ValueError("it is no whole number")
    return value


def _decimal(value: object) -> object:
    if isinstance(value, str) and not _DECIMAL.fullmatch(value):
        raise ValueError("it is no number")
    return value


def _price(value: object) -> object:
    """A price that can be read; pydantic takes ValueError alone."""
    if isinstance(value, str):
        try:
            Rate.parse(value)
        except SetupError:
            raise ValueError("should be IN,OUT, such as 0.15,0.60") from None
    return value


Limit = Annotated[int, Field(ge=1, le=MOST_A_PAGE), BeforeValidator(_whole)]
Above = Annotated[float, Field(gt=0, le=1e9), BeforeValidator(_decimal)]
Name = Annotated[str, Field(max_length=500)]
Switch = Annotated[Literal["true", "false"], Field(description="true or false")]
Cursor = Annotated[
    # An order by id has the id of a row in it, in base 64.
    str, Field(max_length=24_000, description="`next` of the page before; none for the first")
]


class Query(BaseModel):
    """Parameters of an address."""

    model_config = ConfigDict(extra="forbid")


class Body(BaseModel):
    """A JSON object. Strict: "1" is no number."""

    model_config = ConfigDict(extra="forbid", strict=True)


class PageQuery(Query):
    """A page of a list."""

    cursor: Cursor = ""
    limit: Annotated[Limit, Field(description="items of a page")] = 100


class RunsQuery(PageQuery):
    """Which runs."""

    all: Annotated[Switch, Field(description="also runs that were made to measure a judge")] = (
        "false"
    )


class RowsQuery(PageQuery):
    """Which rows of a run, in which order."""

    id: Annotated[Name, Field(description="the row with this id, alone")] = ""
    verdict: Literal["", "pass", "fail", "undecided", "none", "unreadable"] = ""
    cause: Annotated[Name, Field(description="name of a root cause")] = ""
    slice: Annotated[Name, Field(description="NAME=VALUE")] = ""
    q: Annotated[
        Name, Field(description="words in id, question, response or reference; all of them")
    ] = ""
    metric: Annotated[Name, Field(description="only rows with a score of it")] = ""
    outcome: Annotated[
        Literal["", "pass", "fail", "undecided", "none"],
        Field(description="verdict of that metric"),
    ] = ""
    sort: Literal["worst", "index", "id", "value"] = "worst"
    descending: Switch = "false"


class ScoresQuery(PageQuery):
    """Which scores of a run."""

    limit: Annotated[Limit, Field(description="rows of a page, each with all its scores")] = 100
    metric: Annotated[Name, Field(description="only those of this metric")] = ""


class LabelsQuery(PageQuery):
    """Which labels of a run."""

    metric: Annotated[Name, Field(description="only those of this metric")] = ""


class MetricQuery(Query):
    """One metric of a run."""

    metric: Annotated[str, Field(min_length=1, max_length=500)]


class CompareQuery(Query):
    """Two runs. b less a."""

    a: Annotated[str, Field(min_length=1, max_length=500)]
    b: Annotated[str, Field(min_length=1, max_length=500)]
    margin: Annotated[Above | None, Field(description="a difference that would not matter")] = None


class CertificatesQuery(Query):
    """Which certificates."""

    judge: Name = ""
    metric: Name = ""


class ExportQuery(Query):
    """The form of an export."""

    format: Literal["jsonl", "csv", "parquet"] = "jsonl"


class ImportQuery(Query):
    """How the sheet of labels is read."""

    metric: Annotated[
        Name, Field(description="what was labelled, where the sheet does not say")
    ] = ""
    label: Annotated[str, Field(min_length=1, max_length=200, description="the column")] = "label"
    annotator: Annotated[
        str, Field(max_length=200, description="who labelled, where the sheet does not say")
    ] = ""
    replace: Annotated[Switch, Field(description="new values replace those of the same person")] = (
        "false"
    )


class LabelIn(Body):
    """What one person says of one row."""

    id: Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT, description="of the row")]
    label: Annotated[float | str, Field(description="a number of the scale, or yes, no, pass ...")]
    annotator: Annotated[str, Field(max_length=200)] = ""
    rationale: Annotated[str, Field(max_length=LONGEST_TEXT)] = ""


class LabelsIn(Body):
    """Labels of rows of a run."""

    metric: Annotated[
        str | None,
        Field(
            max_length=500,
            description="what is labelled; default: the run's only one with a pass mark",
        ),
    ] = None
    scale: Annotated[
        list[float],
        Field(
            max_length=100,
            description="values that a label may take; default: 0 and 1, or 0 to 3, as the labels"
            " are",
        ),
    ] = []
    replace: Annotated[
        bool, Field(description="new values replace those of the same person, else: 409")
    ] = False
    labels: Annotated[list[LabelIn], Field(min_length=1, max_length=MOST_LABELS)]


class JudgeOptions(Body):
    """Who judges, how, and what it may cost; as of `ragassay.evaluate`."""

    judge: Annotated[
        str,
        Field(max_length=300, description="`offline`, or one that the server was started with"),
    ] = "offline"
    max_calls: Annotated[
        int | None, Field(ge=0, le=10**9, description="hard cap on calls of the judge")
    ] = None
    max_cost: Annotated[float | None, Field(ge=0, le=1e6, description="hard cap in US dollars")] = (
        None
    )
    price: Annotated[
        str | None,
        Field(max_length=40, description="IN,OUT in US dollars a million tokens"),
        BeforeValidator(_price),
    ] = None
    temperature: Annotated[float | None, Field(ge=0, le=10)] = 0.0
    max_tokens: Annotated[int | None, Field(ge=1, le=10_000_000)] = None
    reasoning_effort: Annotated[str | None, Field(max_length=20)] = None
    single_calls: bool = False
    controls: Literal["auto", "always", "off"] = "auto"
    order: Literal["shuffled", "given", "both"] = "shuffled"
    call_timeout: Annotated[float, Field(ge=0.001, le=3600)] = 120.0
    attempts: Annotated[int, Field(ge=1, le=20)] = 5
    cache: bool = True


class EvaluationIn(JudgeOptions):
    """Rows and what is to be measured of them."""

    rows: Annotated[
        list[dict[str, Any]],
        Field(
            min_length=1,
            max_length=MOST_ROWS,
            description="rows as in a file: question, contexts, response, reference ...",
        ),
    ]
    metrics: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=300)]] | None,
        Field(max_length=100, description="printed names, such as groundedness(pass_mark=0.8)"),
    ] = None
    preset: Annotated[str | None, Field(max_length=40)] = None
    name: Annotated[str, Field(max_length=200, description="of the run")] = ""
    generator: Annotated[str | None, Field(max_length=200)] = None
    mapping: Annotated[
        dict[str, str | list[str]], Field(max_length=100, description="field -> column")
    ] = {}
    slices: Annotated[list[str], Field(max_length=100)] = []
    make_ids: bool = False
    limit: Annotated[int | None, Field(ge=1, le=10**9)] = None
    claims: Literal["sentences", "filtered", "llm"] = "sentences"
    redact: bool = False
    concurrency: Annotated[int, Field(ge=1, le=256)] = 32
    keep_replies: bool = True


class ResumeIn(Body):
    """What may be changed of a run that goes on; what is not named stays as it was."""

    max_calls: Annotated[
        int | None, Field(ge=0, le=10**9, description="hard cap on calls, those before included")
    ] = None
    max_cost: Annotated[
        float | None, Field(ge=0, le=1e6, description="hard cap in US dollars, likewise")
    ] = None
    concurrency: Annotated[int | None, Field(ge=1, le=256)] = None


class JudgeIn(JudgeOptions):
    """One row, and the parameters of the metric."""

    row: Annotated[
        dict[str, Any],
        Field(
            min_length=1,
            max_length=40,
            description="fields of the row: question, contexts, response, reference ...",
        ),
    ]
    parameters: Annotated[
        dict[str, bool | int | float | str],
        Field(max_length=20, description="of the metric, such as pass_mark"),
    ] = {}
