"""What to set so that an instrumentor records what a row lacks."""

from __future__ import annotations

from collections.abc import Mapping

from ragassay.datasets.spans import names

_OPENINFERENCE = "openinference"
_GENAI = "opentelemetry.instrumentation.genai"
_OPENAI = "opentelemetry.instrumentation.openai_v2"
_GOOGLE = "opentelemetry.instrumentation.google_genai"
_OPENLLMETRY = "opentelemetry.instrumentation."
_PYDANTIC = "pydantic-ai"
_LANGFUSE = "langfuse"
_LANGFUSE_LIST = "langfuse list"
_MLFLOW = "mlflow"
_DECORATORS = names.OWN_SCOPE
_ANY = ""

_LOGGED = (
    "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true, and export log records, too"
    " (set up a LoggerProvider): the texts are there"
)
_OBSERVATIONS = "export each trace with its observations: the list of traces has only their ids"
_CONTENT: Mapping[str, str] = {
    _OPENINFERENCE: "unset OPENINFERENCE_HIDE_INPUTS, OPENINFERENCE_HIDE_OUTPUTS and the like",
    _GENAI: (
        "set OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental and"
        " OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"
    ),
    _OPENAI: _LOGGED,
    _GOOGLE: _LOGGED,
    _OPENLLMETRY: "set TRACELOOP_TRACE_CONTENT=true",
    _PYDANTIC: "Agent.instrument_all(InstrumentationSettings(include_content=True))",
    _LANGFUSE_LIST: _OBSERVATIONS,
    _LANGFUSE: "give the trace an input and an output",
    _MLFLOW: "mlflow.<library>.autolog(), or set inputs and outputs on the root span",
    _DECORATORS: "put @ragassay.trace on the function that is asked and answers",
    _ANY: "record input.value and output.value on the root span",
}
"""Beginning of the scope's name -> how content is recorded; the first that fits."""

_TEXTS: Mapping[str, str] = {
    _OPENINFERENCE: "unset OPENINFERENCE_HIDE_OUTPUTS, so that documents have their texts",
    _GENAI: (
        "its retrieval spans hold ids without texts: give the prompt a variable {context}, or put"
        " @ragassay.retriever on the function that retrieves"
    ),
    _OPENLLMETRY: "set TRACELOOP_TRACE_CONTENT=true",
    _DECORATORS: "@ragassay.retriever(text_of=...) gives each id its text",
    _ANY: (
        "record the texts: retrieval.documents.0.document.content on the retrieval's span, or put"
        " @ragassay.retriever(text_of=...) on the function that retrieves"
    ),
}
_RETRIEVAL: Mapping[str, str] = {
    _PYDANTIC: "return the documents from a tool of the agent",
    _LANGFUSE_LIST: _OBSERVATIONS,
    _LANGFUSE: 'make the retrieval an observation with as_type="retriever"',
    _MLFLOW: 'trace the retrieval with @mlflow.trace(span_type="RETRIEVER")',
    _DECORATORS: "put @ragassay.retriever on the function that returns documents",
    _ANY: (
        "make the retrieval a span with openinference.span.kind=RETRIEVER and"
        " retrieval.documents.0.document.content"
    ),
}
_FORM: Mapping[str, str] = {
    _ANY: (
        "the root span has it in a form that is not read: record the text itself, or name it"
        " question or answer in the object"
    ),
}
_RERANKED: Mapping[str, str] = {
    _ANY: (
        "which of the retrievals was reranked is not recorded: set"
        " reranker.input_documents.0.document.content on the reranker's span"
    ),
}
_ROOT: Mapping[str, str] = {
    _ANY: (
        "the span around several that were asked and answered did not come: export it, or give each"
        " turn a session.id"
    ),
}
_FAILED: Mapping[str, str] = {_ANY: "the retrieval failed: its span has the error"}
_TABLES = {
    "no content": _CONTENT,
    "no known form": _FORM,
    "no texts": _TEXTS,
    "no retrieval": _RETRIEVAL,
    "no reranked": _RERANKED,
    "no root": _ROOT,
    "failed": _FAILED,
}
"""Reason -> beginning of the scope's name -> what to set; the first that fits."""


def remedy(reason: str, scope: str) -> str:
    """What to set where a field is missing. reason: "no content", "no known form" (there is some,
    of which no text can be read), "no texts" (of what was retrieved), "no retrieval", "no reranked"
    (of several retrievals, which one a reranker was given), "no root" (around several steps or
    turns) or "failed". scope: the library that
    wrote the spans.
    """
    table = _TABLES[reason]
    return next(text for prefix, text in table.items() if scope.startswith(prefix))
