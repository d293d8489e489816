"""What to set so that an instrumentor records what a row lacks."""

from __future__ import annotations

from collections.abc import Mapping

_OPENINFERENCE = "openinference"
_GENAI = "opentelemetry.instrumentation.genai"
_OPENAI = "opentelemetry.instrumentation.openai_v2"
_GOOGLE = "opentelemetry.instrumentation.google_genai"
_OPENLLMETRY = "opentelemetry.instrumentation."
_PYDANTIC = "pydantic-ai"
_LANGFUSE = "langfuse"
_MLFLOW = "mlflow"
_DECORATORS = "ragassay"
_ANY = ""

_LOGGED = (
    "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true, and export log records, too"
    " (set up a LoggerProvider): the texts are there"
)
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
    _LANGFUSE: 'make the retrieval an observation with as_type="retriever"',
    _MLFLOW: 'trace the retrieval with @mlflow.trace(span_type="RETRIEVER")',
    _DECORATORS: "put @ragassay.retriever on the function that returns documents",
    _ANY: (
        "make the retrieval a span with openinference.span.kind=RETRIEVER and"
        " retrieval.documents.0.document.content"
    ),
}


_FAILED: Mapping[str, str] = {
    _ANY: "nothing has to be set: every retrieval failed, with the error on its span",
}


def remedy(reason: str, scope: str) -> str:
    """What to set where a field is missing. reason: "no content", "no texts" (of what was
    retrieved), "no retrieval" or "failed retrieval". scope: the library that wrote the spans.
    """
    table = _TABLES[reason]
    return next(text for prefix, text in table.items() if scope.startswith(prefix))


_TABLES = {
    "no content": _CONTENT,
    "no texts": _TEXTS,
    "no retrieval": _RETRIEVAL,
    "failed retrieval": _FAILED,
}
