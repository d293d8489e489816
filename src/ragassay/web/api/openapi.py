"""The OpenAPI 3.1 document, written from the table: the same bytes for the same table."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import orjson
from pydantic import BaseModel, TypeAdapter

from ragassay.version import __version__
from ragassay.web.api import results
from ragassay.web.api.messages import Operation
from ragassay.web.api.problems import MEDIA
from ragassay.web.api.reading import LONGEST_KEY
from ragassay.web.api.table import BASE, OPERATIONS

PATH = f"{BASE}/openapi.json"
_TEMPLATE = "#/components/schemas/{model}"
_DESCRIPTION = (
    "Runs, rows, scores, labels and judges of one store, evaluations of posted rows, and the"
    " judgment of one row. Every request carries `Authorization: Bearer TOKEN`. Errors are"
    " `application/problem+json` with a code of `ragassay explain`. Lists come in pages: `next` is"
    " the cursor of the page after. Answers of GET carry an ETag. Unknown parameters and fields are"
    " refused."
)
_TAGS = {
    "catalogue": "what RagAssay has: metrics, presets, error codes",
    "runs": "runs and their figures",
    "rows": "rows, scores and judgments of a run",
    "trust": "what is known of judges",
    "labels": "what people say of rows",
    "judging": "evaluations and single judgments",
}
_ALWAYS = {
    400: "The request or its body cannot be read",
    401: "The token is missing or wrong",
    403: "The request comes from another site, or the token's role may not",
    421: "The server is not called by that name",
    422: "A parameter, a field or what they name cannot be taken",
    429: "Too many requests at once; Retry-After says when to ask again",
    500: "A fault of RagAssay, noted in the server's log",
    502: "The judge's server refuses",
    503: "The store or the machine fails",
}
_SOMETIMES = {
    202: "Figures are being counted; ask again after Retry-After",
    404: "What the address names is not there",
    409: "It contradicts how things stand",
}
_OF_BODIES = {
    408: "The body did not arrive in time",
    413: "The body is too large",
    415: "The body is of a type or encoding that is not taken",
}
_EXAMPLES = {
    "run": "last",
    "index": 0,
    "code": "E0301",
    "metric": "exact_match",
    "certificate": "0000",
}
_PARAMETERS = {
    "run": "id of a run, the start of one, its name, or `last`",
    "index": "place of the row in its source, from 0",
    "code": "error code",
    "metric": "name of a metric",
    "certificate": "id of a certificate",
}

_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": (
        "the same key with the same body is one request, however often it is sent: its run is"
        " answered, and goes on if its server was killed"
    ),
    "schema": {"type": "string", "maxLength": LONGEST_KEY, "pattern": "^[ -~]*$"},
}
_EVENT = {
    "type": "object",
    "required": ["event", "data"],
    "properties": {
        "event": {"type": "string", "enum": ["progress", "end"]},
        "data": {"type": "string", "description": "JSON: where the run stands (ProgressJson)"},
        "id": {"type": "string"},
        "retry": {"type": "integer"},
    },
}


@cache
def document_bytes() -> bytes:
    """The document as it is served."""
    return orjson.dumps(document(), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n"


def document() -> dict[str, Any]:
    """The document as values."""
    schemas = _Schemas()
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        entry = paths.setdefault(operation.path, {})
        entry[operation.method.lower()] = _operation(operation, schemas)
    paths[PATH] = {"get": _own_entry()}
    responses = _shared_responses(schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "RagAssay",
            "version": __version__,
            "description": _DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"token": []}],
        "tags": [{"name": name, "description": text} for name, text in _TAGS.items()],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": responses,
            "schemas": schemas.all(),
        },
    }


class _Schemas:
    """The schemas of values, each once, under the names of their types."""

    def __init__(self) -> None:
        self._found: dict[str, Any] = {}

    def of(self, kind: Any) -> dict[str, Any]:
        """A reference to the schema of a dataclass or model; of a pair (dataclass, further fields)
        both together.
        """
        if isinstance(kind, tuple):
            base, more = kind
            properties = {name: TypeAdapter(each).json_schema() for name, each in more.items()}
            further = {"type": "object", "required": list(more), "properties": properties}
            return {"allOf": [self.of(base), further]}
        taken = isinstance(kind, type) and issubclass(kind, BaseModel)
        adapter = _adapter(kind)
        schema = adapter.json_schema(
            mode="validation" if taken else "serialization", ref_template=_TEMPLATE
        )
        self._found |= schema.pop("$defs", {})
        # What refers to itself comes as a reference already.
        if "$ref" not in schema:
            self._found[kind.__name__] = schema
        return {"$ref": _TEMPLATE.format(model=kind.__name__)}

    def all(self) -> dict[str, Any]:
        """Name -> schema."""
        return dict(sorted(self._found.items()))


def _adapter(kind: Any) -> TypeAdapter[Any]:
    """The adapter of a type, of which some fields' types are hidden from all but type checkers."""
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    if not adapter.pydantic_complete:
        adapter.rebuild(_types_namespace={**vars(sys.modules[kind.__module__]), **results.HIDDEN})
    return adapter


def _operation(operation: Operation, schemas: _Schemas) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.title,
        "description": f"For the role {operation.role}.",
        "tags": [operation.tag],
        "parameters": [
            *_path_parameters(operation),
            *_query_parameters(operation, schemas),
            *([_KEY] if operation.keyed else []),
        ],
        "responses": _responses(operation, schemas),
    }
    if operation.body is not None:
        taken = {"schema": schemas.of(operation.body), "example": operation.example}
        entry["requestBody"] = {
            "required": operation.needs_body,
            "content": {"application/json": taken},
        }
    if operation.takes:
        content: dict[str, Any] = {k: {"schema": {"type": "string"}} for k in operation.takes}
        content[operation.takes[0]] |= {"example": operation.example}
        entry["requestBody"] = {"required": True, "content": content}
    return entry


def _path_parameters(operation: Operation) -> list[dict[str, Any]]:
    found = []
    for piece in operation.path.split("/"):
        if not piece.startswith("{"):
            continue
        name = piece[1:-1]
        schema: dict[str, Any] = {"type": "string", "minLength": 1}
        if name == "index":
            schema = {"type": "integer", "minimum": 0}
        found.append(
            {
                "name": name,
                "in": "path",
                "required": True,
                "description": _PARAMETERS[name],
                "schema": schema,
                "example": _EXAMPLES[name],
            }
        )
    return found


def _query_parameters(operation: Operation, schemas: _Schemas) -> list[dict[str, Any]]:
    """The fields of the query's model; their schemas are small, and stand where they are."""
    if operation.query is None:
        return []
    schema = operation.query.model_json_schema()
    required = set(schema.get("required", ()))
    found = []
    for name, each in schema["properties"].items():
        shape = {key: value for key, value in each.items() if key not in ("title", "description")}
        # A parameter is there or not; none is null.
        if "anyOf" in shape:
            kinds = [kind for kind in shape.pop("anyOf") if kind != {"type": "null"}]
            shape |= kinds[0]
            shape.pop("default", None)
        entry = {"name": name, "in": "query", "required": name in required, "schema": shape}
        if "description" in each:
            entry["description"] = each["description"]
        found.append(entry)
    return found


def _responses(operation: Operation, schemas: _Schemas) -> dict[str, Any]:
    success: dict[str, Any] = {"description": operation.title}
    if operation.gives is not None:
        success["content"] = {"application/json": {"schema": schemas.of(operation.gives)}}
    elif operation.media == ("text/event-stream",):
        success["content"] = {"text/event-stream": {"schema": _EVENT}}
    else:
        success["content"] = {kind: {"schema": {"type": "string"}} for kind in operation.media}
    if operation.links:
        links = {}
        for name, (target, parameters) in operation.links.items():
            links[name] = {"operationId": target, "parameters": dict(parameters)}
        success["links"] = links
    statuses = {*_ALWAYS, *operation.also}
    if operation.method == "GET":
        statuses.add(304)
    if operation.body is not None or operation.takes:
        statuses |= set(_OF_BODIES)
    responses = {str(status): _shared(status) for status in sorted(statuses)}
    responses[str(operation.status)] = success
    return dict(sorted(responses.items()))


def _shared(status: int) -> dict[str, Any]:
    return {"$ref": f"#/components/responses/Status{status}"}


def _shared_responses(schemas: _Schemas) -> dict[str, Any]:
    """The answers that many operations have in common, by status."""
    problem = {MEDIA: {"schema": schemas.of(results.ProblemJson)}}
    counting = {"application/json": {"schema": schemas.of(results.Counting)}}
    responses: dict[str, Any] = {}
    for status, meaning in sorted({**_ALWAYS, **_SOMETIMES, **_OF_BODIES}.items()):
        content = counting if status == 202 else problem
        responses[f"Status{status}"] = {"description": meaning, "content": content}
    same = "The client has it already: the ETag is that of If-None-Match"
    responses["Status304"] = {"description": same}
    return responses


def _own_entry() -> dict[str, Any]:
    content = {"application/json": {"schema": {"type": "object"}}}
    responses: dict[str, Any] = {"200": {"description": "OpenAPI 3.1", "content": content}}
    for status in (304, *_ALWAYS):
        responses[str(status)] = _shared(status)
    return {
        "operationId": "getDocument",
        "summary": "This document",
        "tags": ["catalogue"],
        "responses": responses,
    }
