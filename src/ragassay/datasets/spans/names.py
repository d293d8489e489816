"""The names that conventions of spans give to what a row is made of: the one table for all of them.

Conventions are OpenInference's (LangChain, LlamaIndex, Haystack, ... and Phoenix), OpenTelemetry's
for generative AI (gen_ai.*), OpenLLMetry's (traceloop.*), Pydantic AI's, MLflow's and Langfuse's.
A new convention is a name in a line here. The first name that a span has is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from ragassay.datasets.names import ALIASES

KINDS = ("openinference.span.kind", "mlflow.spanType", "langfuse.observation.type")
OWN_SCOPE = "ragassay"
"""How the scope of spans begins that the decorators make."""
OPERATION = "gen_ai.operation.name"
TRACELOOP_KIND = "traceloop.span.kind"

KIND_OF: Mapping[str, str] = {
    "CHAT_MODEL": "LLM",
    "GENERATION": "LLM",
    "RERANK": "RERANKER",
    "SPAN": "CHAIN",
    "WORKFLOW": "CHAIN",
    "TASK": "CHAIN",
}
"""Kinds by another name -> the kind that they are; others are themselves."""

OPERATION_KIND: Mapping[str, str] = {
    "chat": "LLM",
    "text_completion": "LLM",
    "generate_content": "LLM",
    "embeddings": "EMBEDDING",
    "retrieval": "RETRIEVER",
    "vector_db_retrieve": "RETRIEVER",
    "execute_tool": "TOOL",
    "invoke_agent": "AGENT",
    "invoke_workflow": "CHAIN",
    "execute_task": "CHAIN",
    "rerank": "RERANKER",
}
"""Names of `gen_ai.operation.name` -> the kind of span that they are."""

REQUEST_TYPE = "llm.request.type"
REQUEST_KIND: Mapping[str, str] = {
    "chat": "LLM",
    "completion": "LLM",
    "embedding": "EMBEDDING",
    "rerank": "RERANKER",
}
"""Values of OpenLLMetry's `llm.request.type` -> the kind of span that they are."""

RUN_KINDS: Mapping[str, str] = {"retriever": "RETRIEVER", "llm": "LLM", "embedding": "EMBEDDING"}
"""`run_type` of LangSmith's runs -> the kind of span that they are."""

INPUTS = (
    "mlflow.spanInputs",
    "input.value",
    "traceloop.entity.input",
    "gen_ai.task.input",
    "langfuse.observation.input",
    "langfuse.trace.input",
)
OUTPUTS = (
    "mlflow.spanOutputs",
    "output.value",
    "traceloop.entity.output",
    "gen_ai.task.output",
    "final_result",
    "langfuse.observation.output",
    "langfuse.trace.output",
)
INPUT_MESSAGES = (
    "gen_ai.input.messages",
    "pydantic_ai.all_messages",
    "all_messages_events",
    "llm.input_messages",
)
OUTPUT_MESSAGES = ("gen_ai.output.messages", "llm.output_messages")
NUMBERED_INPUTS = ("llm.input_messages.", "gen_ai.prompt.")
NUMBERED_OUTPUTS = ("llm.output_messages.", "gen_ai.completion.")
NUMBERED = (*NUMBERED_INPUTS, *NUMBERED_OUTPUTS)
"""Messages as attributes of their own: the prefix, the number, then role and content."""

QUERIES = ("gen_ai.retrieval.query.text",)
TOOL_RESULTS = ("gen_ai.tool.call.result", "tool_response")
DOCUMENT_LISTS = (
    "reranker.output_documents",
    "retrieval.documents",
    "gen_ai.retrieval.documents",
)
RERANKED = "reranker.input_documents"
RERANKER_QUERY = "reranker.query"
DOCUMENT_IDS = ("id", "document.id", "doc_uri")
"""The keys under which a document has its id."""
VARIABLE_PREFIX = "gen_ai.prompt.variable."
VARIABLES = ("llm.prompt_template.variables",)

QUESTION_VARIABLES = ("question", "user_question", "user_input", "query", "query_str")
CONTEXT_VARIABLES = frozenset(
    {"contexts", "context_str", *(name for name in ALIASES["contexts"] if "." not in name)}
)
"""Names of a prompt's variables, and of what the components of a pipeline are given, that hold the
question, the likeliest first; and of those that hold what was retrieved.
"""

SESSIONS = (
    "session.id",
    "langfuse.session.id",
    "traceloop.association.properties.session_id",
    "mlflow.trace.session",
    "gen_ai.conversation.id",
    "traceloop.association.properties.thread_id",
)

FIGURES: Mapping[str, tuple[str, ...]] = {
    "input_tokens": (
        "llm.token_count.prompt",
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.prompt_tokens",
    ),
    "output_tokens": (
        "llm.token_count.completion",
        "gen_ai.usage.output_tokens",
        "gen_ai.usage.completion_tokens",
    ),
    "total_tokens": ("llm.token_count.total", "llm.usage.total_tokens"),
    "cost": ("llm.cost.total",),
}
"""Figure -> the attributes that say it."""
MLFLOW_USAGE = ("mlflow.chat.tokenUsage", "mlflow.llm.cost")
OF_MLFLOW = {"total_cost": "cost"}

HIDDEN = "__REDACTED__"
"""What OpenInference writes in place of a value that it was told to hide: nothing that was said."""

CONVERSATION_EVENT = "gen_ai.client.inference.operation.details"
"""Name of the log record in which GenAI's content arrives where it is kept out of the spans."""
ANSWER_EVENT = "gen_ai.choice"
MESSAGE_EVENTS: Mapping[str, str] = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    ANSWER_EVENT: "assistant",
}
"""Names of the log records, or of the events of a span, that hold one message each, as GenAI's
conventions had it before -> the role of who said it.
"""
EVENT_CONTENT = "gen_ai.event.content"
"""The attribute in which Azure's clients write the message of such an event, as JSON."""
LIST_EVENTS: Mapping[str, tuple[str, str]] = {
    "gen_ai.content.prompt": ("gen_ai.prompt", "user"),
    "gen_ai.content.completion": ("gen_ai.completion", "assistant"),
}
"""Events of a span that hold all messages of one side, as the conventions had it still before and
Langtrace has it -> the attribute that holds them, and who said what names nobody.
"""
CONTENT_EVENTS = frozenset({CONVERSATION_EVENT, *MESSAGE_EVENTS, *LIST_EVENTS})

_NAMED = (
    *KINDS,
    OPERATION,
    TRACELOOP_KIND,
    REQUEST_TYPE,
    *INPUTS,
    *OUTPUTS,
    *INPUT_MESSAGES,
    *OUTPUT_MESSAGES,
    *QUERIES,
    *TOOL_RESULTS,
    *DOCUMENT_LISTS,
    RERANKED,
    RERANKER_QUERY,
    *VARIABLES,
    *SESSIONS,
    *chain(*FIGURES.values()),
    *MLFLOW_USAGE,
)
_PREFIXES = (
    *NUMBERED,
    VARIABLE_PREFIX,
    *(f"{name}." for name in (*DOCUMENT_LISTS, RERANKED)),
)


def _holders(name: str) -> Iterator[str]:
    """The names of objects that hold an attribute, where it is not written by its dotted name."""
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


_READ = frozenset(_NAMED).union(*map(_holders, (*_NAMED, *_PREFIXES)))


def is_read(name: str) -> bool:
    """Whether an attribute of a span may be a part of a row: it is named here, or holds what is, or
    is a part of it.
    """
    return name in _READ or name.startswith(_PREFIXES)
