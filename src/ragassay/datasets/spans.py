"""Question, response, contexts, tokens and cost of a trace, from its spans.

Spans are those of MLflow (`mlflow.spanType`, `mlflow.spanInputs`, `mlflow.spanOutputs`) and of
OpenInference, which Phoenix stores (`openinference.span.kind`, `input.value`,
`retrieval.documents`, `llm.token_count`), as objects of JSON. The root says what was asked and
answered; retrievers say what was retrieved, and a retriever inside another one says it twice; calls
of language models say what was spent, and a span around them may repeat their sum.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from ragassay.datasets.cells import TEXT_KEYS
from ragassay.datasets.outputs import contexts_in, part, question_in, response_in

_INPUTS = ("mlflow.spanInputs", "input.value", "traceloop.entity.input")
_OUTPUTS = ("mlflow.spanOutputs", "output.value", "traceloop.entity.output")
_KINDS = ("mlflow.spanType", "openinference.span.kind")
_LLM = ("LLM", "CHAT_MODEL")
_OPERATIONS = {
    "chat": "LLM",
    "text_completion": "LLM",
    "generate_content": "LLM",
    "embeddings": "EMBEDDING",
}
"""Names of `gen_ai.operation.name` -> the kind of span that they are."""
_RUN_KINDS = {"retriever": "RETRIEVER", "llm": "LLM", "embedding": "EMBEDDING"}
"""`run_type` of LangSmith's runs -> the kind of span that they are."""
_FIGURES: Mapping[str, tuple[str, ...]] = {
    "input_tokens": ("llm.token_count.prompt", "gen_ai.usage.input_tokens"),
    "output_tokens": ("llm.token_count.completion", "gen_ai.usage.output_tokens"),
    "total_tokens": ("llm.token_count.total",),
    "cost": ("llm.cost.total",),
}
"""Figure -> the attributes that say it."""
_MLFLOW_USAGE = ("mlflow.chat.tokenUsage", "mlflow.llm.cost")
_OF_MLFLOW = {"total_cost": "cost"}
_DOCUMENT = re.compile(r"(retrieval|reranker)\.(?:output_)?documents\.(\d{1,4})\.(.+)")
_REPLY = re.compile(r"llm\.output_messages\.\d+\.message\.content")
# What frameworks of Python log of objects that are no JSON: "ChatMessage(_role=...", "<TextNode(".
_PRINTED_OBJECT = re.compile(r"<?[A-Z]\w*\(\w+=")
_MOST_SPANS = 10_000
_DEEPEST_RUN = 60


@dataclass(slots=True)
class _Span:
    """A span as it is used here. attributes: by their dotted names."""

    id: str
    parent: str
    start: float
    attributes: dict[str, Any]
    children: list[_Span] = field(default_factory=list)

    @property
    def kind(self) -> str:
        operation = _OPERATIONS.get(str(self.attributes.get("gen_ai.operation.name")), "")
        return str(self.value(_KINDS) or operation).upper()

    def value(self, names: Sequence[str]) -> Any:
        """The first of these attributes, with what is written as JSON in a text parsed."""
        for name in names:
            value = self.attributes.get(name)
            if value is not None:
                return _parsed(value)
        return None


def spans_in(trace: Mapping[str, object]) -> list[Mapping[str, Any]]:
    """The spans of a trace: its list `spans`, or that of its `data`; none where it has none."""
    data = trace.get("data")
    for holder in (trace, data if isinstance(data, dict) else {}):
        spans = _parsed(holder.get("spans"))
        if isinstance(spans, list):
            found: list[Mapping[str, Any]] = []
            found += [span for span in spans[:_MOST_SPANS] if isinstance(span, dict)]
            if found and all("run_type" in span for span in found):
                return [_span_of_run(run) for run in _runs_in(found)][:_MOST_SPANS]
            return found
    return []


def _runs_in(runs: Sequence[Mapping[str, Any]], depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """LangSmith's runs with those inside them."""
    for run in runs:
        yield run
        inside = run.get("child_runs")
        if isinstance(inside, list) and depth < _DEEPEST_RUN:
            children = [child for child in inside if isinstance(child, dict)]
            yield from _runs_in(children, depth + 1)


def _span_of_run(run: Mapping[str, Any]) -> Mapping[str, Any]:
    """A run of LangSmith as a span of OpenInference."""
    kind = _RUN_KINDS.get(str(run.get("run_type")), "CHAIN")
    return {
        "span_id": run.get("id"),
        # A run without the id of its parent is inside one all the same: no root with a duration.
        "parent_id": run.get("parent_run_id") or "parent",
        "start_time": run.get("start_time"),
        "attributes": {
            "openinference.span.kind": kind,
            "input.value": run.get("inputs"),
            "output.value": run.get("outputs"),
            "llm.token_count.prompt": run.get("prompt_tokens"),
            "llm.token_count.completion": run.get("completion_tokens"),
            "llm.token_count.total": run.get("total_tokens"),
            "llm.cost.total": run.get("total_cost"),
        },
    }


def fields_of_spans(spans: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Those of question, response and contexts that the spans say."""
    roots = _tree(spans)
    found: dict[str, Any] = {}
    question, response = _question(roots), _response(roots)
    if question is not None:
        found["question"] = question
    if response is not None:
        found["response"] = response
    contexts = _contexts(roots)
    if contexts is not None:
        found["contexts"] = contexts
    return found


def figures_of_spans(spans: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Tokens and cost of the calls of language models. A span that repeats the sum of those inside
    it is not counted beside them.
    """
    figures: dict[str, float] = {}
    roots = _tree(spans)
    for name in _FIGURES:
        parts = [_figure(root, name) for root in roots]
        said = [value for value in parts if value is not None]
        if said:
            figures[name] = sum(said)
    # Conventions with a total leave it out where it is the sum; others have none.
    if "total_tokens" not in figures and {"input_tokens", "output_tokens"} <= figures.keys():
        figures["total_tokens"] = figures["input_tokens"] + figures["output_tokens"]
    return figures


def _figure(span: _Span, name: str) -> float | None:
    """The figure of the span and all inside it, None where none of them says it."""
    inside = [_figure(child, name) for child in span.children]
    said = [value for value in inside if value is not None]
    own = None if span.kind == "EMBEDDING" else _own_figure(span, name)
    if not said:
        return own
    return max(sum(said), own or 0)


def _own_figure(span: _Span, name: str) -> float | None:
    value = span.value(_FIGURES[name])
    for attribute in _MLFLOW_USAGE:
        usage = span.value((attribute,))
        if value is None and isinstance(usage, dict):
            named = {_OF_MLFLOW.get(key, key): figure for key, figure in usage.items()}
            value = named.get(name)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and value >= 0 else None


def _tree(spans: Sequence[Mapping[str, Any]]) -> list[_Span]:
    """The spans without a parent among them, in order of time, each with its children."""
    by_id: dict[str, _Span] = {}
    for number, raw in enumerate(spans):
        span = _span(raw, number)
        by_id[span.id] = span
    roots: list[_Span] = []
    for span in sorted(by_id.values(), key=lambda span: span.start):
        parent = by_id.get(span.parent)
        # A span is not its own parent; longer circles, which no tracer writes, have no root.
        siblings = roots if parent is None or parent is span else parent.children
        siblings.append(span)
    return roots


def _span(raw: Mapping[str, Any], number: int) -> _Span:
    context = raw.get("context")
    ids = context if isinstance(context, dict) else raw
    own = ids.get("span_id") or raw.get("context.span_id") or raw.get("spanId") or number
    parent = raw.get("parent_span_id") or raw.get("parent_id") or raw.get("parentSpanId")
    attributes = dict(_flat(_attributes(raw), ""))
    # Phoenix has the kind beside the attributes.
    kind = raw.get("span_kind")
    if isinstance(kind, str):
        attributes.setdefault(_KINDS[1], kind)
    return _Span(str(own), str(parent or ""), _start(raw, number), attributes)


def _start(raw: Mapping[str, Any], number: int) -> float:
    """When the span began, in whatever unit its trace has; its place in the list where it does not
    say.
    """
    for name in ("start_time_unix_nano", "startTimeUnixNano", "start_time"):
        value = raw.get(name)
        if isinstance(value, str) and not value.isdecimal():
            try:
                value = datetime.fromisoformat(value)
            except ValueError:
                continue
        if isinstance(value, datetime):
            return value.timestamp()
        if isinstance(value, int | float | str):
            return float(value)
    return float(number)


def _attributes(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """The attributes as an object: as they are, of OTLP's list of keys and values, or of columns
    that begin with "attributes.".
    """
    attributes = _parsed(raw.get("attributes"))
    if isinstance(attributes, dict):
        return attributes
    if isinstance(attributes, list):
        pairs = [each for each in attributes if isinstance(each, dict)]
        return {str(each.get("key")): _otlp_value(each.get("value")) for each in pairs}
    prefix = "attributes."
    return {key.removeprefix(prefix): cell for key, cell in raw.items() if key.startswith(prefix)}


def _otlp_value(value: Any) -> Any:
    """The value of OTLP's JSON: {"stringValue": ...}, {"intValue": "7"}, {"arrayValue": ...} ..."""
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((kind, inner),) = value.items()
    if kind == "arrayValue" and isinstance(inner, dict):
        return [_otlp_value(each) for each in inner.get("values") or ()]
    return int(inner) if kind == "intValue" and str(inner).isdecimal() else inner


def _flat(fields: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """Objects in objects by dotted names, beside themselves."""
    for key, value in list(fields.items())[:2000]:
        name = f"{prefix}{key}"
        yield name, value
        if isinstance(value, dict) and name.count(".") < 8:
            yield from _flat(value, f"{name}.")


def _parsed(value: Any) -> Any:
    """What a text says as JSON; the text itself where it is none."""
    if isinstance(value, str) and value[:1] in ('"', "{", "["):
        try:
            return orjson.loads(value)
        except ValueError:
            return value
    return value


def _all(spans: Sequence[_Span]) -> Iterator[_Span]:
    for span in spans:
        yield span
        yield from _all(span.children)


def _question(roots: Sequence[_Span]) -> str | None:
    """What the root was asked; else what the first retriever was, or the first model."""
    retrievers = [span for span in _all(roots) if span.kind == "RETRIEVER"]
    models = [span for span in _all(roots) if span.kind in _LLM]
    for span in (*roots[:1], *retrievers[:1], *models[:1]):
        value = span.value(_INPUTS)
        text = value if isinstance(value, str) else question_in(value)
        if text is None and isinstance(value, dict) and len(value) == 1:
            # The only argument of a function, by whatever name.
            (only,) = value.values()
            text = only if isinstance(only, str) else question_in(only)
        if isinstance(text, str) and not _PRINTED_OBJECT.match(text):
            return text
    return None


def _response(roots: Sequence[_Span]) -> str | None:
    """What the root gave; else what the last model said."""
    models = [span for span in _all(roots) if span.kind in _LLM]
    for span in (*roots[:1], *models[:-2:-1]):
        value = span.value(_OUTPUTS)
        text = value if isinstance(value, str) else response_in(value)
        if isinstance(text, str) and not _PRINTED_OBJECT.match(text):
            return text
        for name, content in span.attributes.items():
            if _REPLY.fullmatch(name) and isinstance(content, str):
                return content
    return None


def _contexts(roots: Sequence[_Span]) -> list[Any] | None:
    """What was retrieved, in order and each document once; None where no retriever ran."""
    kind = "RETRIEVER"
    for span in _all(roots):
        if span.kind == "RERANKER" and _documents(span):
            kind = "RERANKER"  # what a reranker leaves is what the model is given
    retrievers = list(_outermost(roots, kind))
    if not retrievers:
        return None
    found: list[Any] = []
    seen: set[tuple[object, object]] = set()
    for span in retrievers:
        for document in _documents(span):
            named = part(document, ("id", "document.id", "doc_uri"))
            key = (str(named), part(document, TEXT_KEYS))
            if key not in seen:
                seen.add(key)
                found.append(document)
    return found


def _outermost(spans: Sequence[_Span], kind: str) -> Iterator[_Span]:
    """The spans of a kind that are not inside another one of it."""
    for span in spans:
        if span.kind == kind:
            yield span
        else:
            yield from _outermost(span.children, kind)


def _documents(span: _Span) -> list[Any]:
    """The documents that a retriever gave: its output, where that holds their texts (it has the
    ids, too), else its attributes.
    """
    output = span.value(_OUTPUTS)
    documents = output if isinstance(output, list) else contexts_in(output)
    if isinstance(documents, list) and documents and all(map(_has_text, documents)):
        return documents
    by_place: dict[int, dict[str, Any]] = {}
    for name, value in span.attributes.items():
        match = _DOCUMENT.fullmatch(name)
        if match:
            by_place.setdefault(int(match[2]), {})[match[3]] = value
    if by_place:
        return [by_place[place] for place in sorted(by_place)]
    for name in ("reranker.output_documents", "retrieval.documents"):
        listed = _parsed(span.attributes.get(name))
        if isinstance(listed, list):
            return listed
    return []


def _has_text(document: object) -> bool:
    return isinstance(document, dict) and isinstance(part(document, TEXT_KEYS), str)
