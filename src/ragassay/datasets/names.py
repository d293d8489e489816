"""The names that applications and frameworks give to question, response, contexts and their parts.

One table for the columns of files and for what a function under `app=` returns.
"""

from __future__ import annotations

ALIASES: dict[str, tuple[str, ...]] = {
    "id": (
        "row_id",
        "sample_id",
        # RAGChecker: query_id, Databricks: request_id, TruLens: record_id, LangSmith: example_id.
        "query_id",
        "question_id",
        "request_id",
        "record_id",
        "example_id",
        "qid",
        "_id",
        "uid",
        "uuid",
        # Phoenix: the span, where nothing else is an id.
        "context.span_id",
        "span_id",
    ),
    "question": (
        # Ragas.
        "user_input",
        "query",
        "input",
        "prompt",
        "request",
        "inputs",
        "user_query",
        "user_question",
        "user_prompt",
        "user_message",
        # TruLens before version 1.
        "main_input",
        # OpenInference, as Phoenix exports it.
        "attributes.input.value",
        "input.value",
        # MLflow and LangSmith, whose objects tables flatten.
        "inputs.question",
        "inputs.query",
        "inputs.input",
        # OpenAI's evals.
        "item.question",
        "item.query",
        "item.input",
        # Patronus, in both of its forms.
        "evaluated_model_input",
        "task_input",
        "input_text",
    ),
    "contexts": (
        # Ragas, DeepEval, then RAGChecker and Databricks.
        "retrieved_contexts",
        "retrieval_context",
        "retrieved_context",
        "context",
        "retrieved_documents",
        "retrieved_docs",
        "docs",
        "retrieved_chunks",
        "retrieved_passages",
        # AutoRAG.
        "retrieved_contents",
        "documents",
        "passages",
        "chunks",
        # LangChain's chains, LlamaIndex' responses.
        "source_documents",
        "source_nodes",
        # OpenInference.
        "attributes.retrieval.documents",
        "retrieval.documents",
        # MLflow and LangSmith: as an output of the application, or given to it.
        "outputs.retrieved_context",
        "outputs.retrieved_contexts",
        "outputs.contexts",
        "outputs.context",
        "outputs.documents",
        "outputs.source_documents",
        "outputs.retrieved_documents",
        "outputs.docs",
        "inputs.retrieved_context",
        "inputs.contexts",
        "inputs.context",
        # Weave, flattened.
        "output.contexts",
        "output.context",
        "output.documents",
        # Dify: in its history, and in its reply.
        "retriever_resources",
        "metadata.retriever_resources",
        # OpenAI's evals, then Patronus.
        "item.context",
        "item.contexts",
        "evaluated_model_retrieved_context",
        "task_context",
        # HaluBench, then HaluEval.
        "passage",
        "knowledge",
        # Braintrust and others, whose rows have no place of their own for them.
        "metadata.contexts",
        "metadata.retrieved_contexts",
    ),
    "context_ids": (
        "retrieved_context_ids",
        "retrieved_ids",
        "retrieved_doc_ids",
        "retrieved_document_ids",
    ),
    "response": (
        "answer",
        "output",
        "actual_output",
        "outputs",
        "completion",
        "generated_answer",
        "generated_text",
        "generated_texts",
        "model_response",
        "prediction",
        "output_text",
        # TruLens before version 1, then OpenInference.
        "main_output",
        "attributes.output.value",
        "output.value",
        # MLflow and LangSmith.
        "outputs.response",
        "outputs.answer",
        "outputs.output",
        # Weave, flattened, then OpenAI's evals.
        "output.answer",
        "output.response",
        "sample.output_text",
        # Patronus.
        "evaluated_model_output",
        "task_output",
    ),
    "reference": (
        # Ragas before 0.2.
        "ground_truth",
        "ground_truths",
        # DeepEval, then Databricks.
        "expected_output",
        "expected_response",
        "expected_answer",
        "gt_answer",
        "gold_answer",
        "golden_answers",
        "reference_answer",
        "correct_answer",
        # OpenAI's evals, then Inspect.
        "ideal",
        "target",
        "expectations.expected_response",
        # LangSmith: columns of an experiment, objects of a run.
        "reference.answer",
        "reference.output",
        "reference.response",
        "reference_outputs",
        "reference_outputs.answer",
        # Braintrust, OpenAI's evals, Patronus, HaluEval.
        "expected",
        "item.reference",
        "item.reference_answer",
        "item.ground_truth",
        "item.expected_output",
        "evaluated_model_gold_answer",
        "right_answer",
        # AutoRAG, SQuAD.
        "generation_gt",
        "answers.text",
    ),
    "expected_facts": ("expectations.expected_facts",),
    "relevant_ids": (
        "relevant_doc_ids",
        "relevant_document_ids",
        "reference_context_ids",
        # Databricks: [{"doc_uri": ...}].
        "expected_retrieved_context",
        "gold_ids",
        "gold_doc_ids",
        "qrels",
        "expectations.expected_retrieved_context",
    ),
    "guidelines": ("expectations.guidelines",),
    "answerable": ("is_answerable",),
    "slices": (),
    "slice": (),
    "cluster": ("cluster_id", "group", "group_id", "conversation_id"),
    "labels": ("human_labels",),
    "label": ("human_label",),
    "usage": (),
    "latency": ("latency_seconds", "latency_s", "agent/latency_seconds"),
    "cost": ("total_cost", "cost_usd", "attributes.llm.cost.total", "llm.cost.total"),
    "total_tokens": (
        "attributes.llm.token_count.total",
        "llm.token_count.total",
        # The tables of Databricks' Agent Evaluation, here and below.
        "agent/total_token_count",
    ),
    "input_tokens": (
        "prompt_tokens",
        "attributes.llm.token_count.prompt",
        "llm.token_count.prompt",
        "agent/total_input_token_count",
        "agent/input_token_count",
    ),
    "output_tokens": (
        "completion_tokens",
        "attributes.llm.token_count.completion",
        "llm.token_count.completion",
        "agent/total_output_token_count",
        "agent/output_token_count",
    ),
    "latency_ms": ("latency_milliseconds", "execution_time_ms", "execution_duration_ms"),
    "start_time": (),
    "end_time": (),
    "trace": (),
    "error": ("app_error", "exception", "error_message"),
    # What users said, on a scale that the values say; then stars, from 1 to 5.
    "feedback": (
        "user_feedback",
        "thumbs",
        "thumb",
        "rating",
        "user_rating",
        "user_score",
        "satisfaction",
        "user_satisfaction",
        "feedback.user_score",
    ),
    "stars": ("star_rating", "user_stars", "csat"),
}
"""Field -> the names it goes by elsewhere. Every key is also a column name of its own."""

WEAK = (
    *("docs", "passage", "knowledge", "expected"),
    *("metadata.contexts", "metadata.retrieved_contexts"),
)
"""Names that also stand for other things: passed over where another column has a known name of the
field.
"""


def _plain(field: str, *more: str) -> tuple[str, ...]:
    """The field's own name and its other ones, without paths and without the names of whole
    outputs.
    """
    names = [name for name in ALIASES[field] if "." not in name and name not in WHOLE]
    return (field, *names, *more)


TEXT_KEYS = (
    *("text", "content", "page_content", "chunk", "passage", "body", "document.content"),
    *("pageContent", "chunk_text", "page_text", "passage_text", "document_text", "contents"),
    *("snippet", "excerpt", "paragraph"),
)
"""The keys under which a document has its text."""
HIT_WRAPPERS = ("document", "node", "_source", "payload", "properties", "entity")
"""The keys under which a search hit has its document: of retrievers, LlamaIndex, Elasticsearch,
Qdrant, Weaviate and Milvus.
"""
HIT_LISTS = ("matches", "hits", "points", "results", "result", "objects", "value")
"""The keys under which the answer of a search engine or vector store has its hits."""
WHOLE = ("inputs", "outputs")
WRAPPERS = ("outputs", "output", "result", "response")
"""Names under which a whole output may lie inside another one."""
QUESTION_NAMES = _plain("question", "message")
RESPONSE_NAMES = _plain("response", "result", "reply", "output_text", "text", "content")
REFERENCE_NAMES = _plain("reference")
CONTEXT_NAMES = _plain("contexts", "sources")
