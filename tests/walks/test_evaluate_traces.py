"""From what an application already sends to judged rows: exported files, then the endpoint."""

from __future__ import annotations

import json
from typing import Any

from support.otlp_json import genai_request, openinference_request
from support.receiver import Receiver, send
from support.shell import Shell

QUESTION = "When was the library founded?"
PASSAGE = "The city library was founded in 1911."
RIGHT = "The city library was founded in 1911."
WRONG = "The city library was founded in 1850 by Anna Weiss."


def phoenix_spans() -> list[dict[str, Any]]:
    """One turn as Phoenix exports its spans: a table with one a row, newest first."""
    shared = {"context.trace_id": "9f01", "status_code": "OK", "name": "query"}
    retriever = {
        **shared,
        "context.span_id": "0a02",
        "parent_id": "0a01",
        "span_kind": "RETRIEVER",
        "start_time": "2026-03-02T10:00:00.100000+00:00",
        "end_time": "2026-03-02T10:00:00.200000+00:00",
        "attributes.input.value": "library founded",
        "attributes.retrieval.documents": [
            {"document.content": PASSAGE, "document.id": "d1", "document.score": 0.9}
        ],
    }
    root = {
        **shared,
        "context.span_id": "0a01",
        "parent_id": None,
        "span_kind": "CHAIN",
        "start_time": "2026-03-02T10:00:00.000000+00:00",
        "end_time": "2026-03-02T10:00:01.000000+00:00",
        "attributes.input.value": QUESTION,
        "attributes.output.value": RIGHT,
        "attributes.session.id": "s-7",
    }
    return [retriever, root]


LANGFUSE = {
    "id": "lf-1",
    "timestamp": "2026-03-02T10:00:00.000Z",
    "name": "answer",
    "input": {"question": QUESTION},
    "output": {"answer": WRONG},
    "sessionId": "s-8",
    "observations": [
        {
            "id": "o-1",
            "traceId": "lf-1",
            "type": "RETRIEVER",
            "name": "search",
            "startTime": "2026-03-02T10:00:00.100Z",
            "endTime": "2026-03-02T10:00:00.200Z",
            "parentObservationId": None,
            "input": {"query": "library founded"},
            "output": [{"page_content": PASSAGE, "metadata": {"source": "d1"}}],
        },
        {
            "id": "o-2",
            "traceId": "lf-1",
            "type": "GENERATION",
            "name": "model",
            "startTime": "2026-03-02T10:00:00.300Z",
            "endTime": "2026-03-02T10:00:01.000Z",
            "parentObservationId": None,
            "input": [{"role": "user", "content": QUESTION}],
            "output": {"role": "assistant", "content": WRONG},
            "usageDetails": {"input": 40, "output": 7, "total": 47},
        },
    ],
}


def test_exported_traces_of_three_tools_are_rows_with_verdicts(shell: Shell) -> None:
    # The JSON of OTLP, as a collector writes it: an agent that searched twice.
    lines = [openinference_request(QUESTION, RIGHT, [("founded", [PASSAGE]), ("who", [PASSAGE])])]
    shell.write("traces.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    done = shell("ragassay evaluate traces.jsonl --metrics groundedness")
    assert done.messages == [
        "read id, question, contexts, response, cluster, usage by their own names",
        "put 5 spans of 1 trace together: 1 row, one a user turn",
        "question: input.value of the root in 1 row",
        "response: output.value of the root in 1 row",
        "contexts: documents of 2 retrievals in 1 row",
    ]
    assert done.lines[0] == "1 of 1 row passes, 0 fail, 0 undecided"

    shell.write("phoenix.jsonl", "".join(json.dumps(span) + "\n" for span in phoenix_spans()))
    done = shell("ragassay evaluate phoenix.jsonl --metrics groundedness")
    assert done.lines[0] == "1 of 1 row passes, 0 fail, 0 undecided"

    shell.write("langfuse.json", json.dumps([LANGFUSE]))
    done = shell("ragassay evaluate langfuse.json --metrics groundedness")
    assert done.lines[0] == "0 of 1 row passes, 1 fail, 0 undecided"


def test_what_an_instrumentor_did_not_record_is_named_with_what_to_set(shell: Shell) -> None:
    shell.write("bare.jsonl", json.dumps(genai_request()) + "\n")
    lost = shell("ragassay evaluate bare.jsonl", code=2)
    assert lost.messages[0].startswith("error[E0319]")
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY" in lost.err


def test_spans_sent_by_an_application_are_received_and_evaluated(shell: Shell) -> None:
    with Receiver(shell.folder) as receiver:
        # The command says what to set, and what to type next.
        assert receiver.lines[0].startswith("receiving traces on http://127.0.0.1:")
        assert set(receiver.exported) == {
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "OTEL_EXPORTER_OTLP_HEADERS",
        }
        for answer in (RIGHT, WRONG):
            spans: list[dict[str, Any]] = [
                {"name": "LangGraph", "attributes": {**ROOT, "output.value": answer}},
                {"name": "search", "parent": 0, "attributes": TOOL},
                {"name": "VectorStoreRetriever", "parent": 1, "attributes": RETRIEVER},
            ]
            send(receiver, spans, "openinference.instrumentation.langchain")
        assert receiver.metric("ragassay_records_stored_total") == 6

        done = shell("ragassay evaluate traces:last-24h --metrics groundedness")
        assert " ".join(done.messages).startswith("wrote the rows to ")
        begin = done.messages.index("question: input.value of the root in 2 rows")
        assert done.messages[begin : begin + 3] == [
            "question: input.value of the root in 2 rows",
            "response: output.value of the root in 2 rows",
            "contexts: documents of 1 retrieval in 2 rows",
        ]
        assert done.lines[0] == "1 of 2 rows pass, 1 fail, 0 undecided"
        assert receiver.stopped() == ["received 6 records: 6 stored, 0 known already, 0 rejected"]


KIND = "openinference.span.kind"
ROOT = {
    KIND: "CHAIN",
    "input.value": QUESTION,
    "session.id": "s-1",
    # Nothing more comes: it need not be quiet for half a minute first.
    "ragassay.trace.complete": True,
}
TOOL = {KIND: "TOOL", "tool.name": "search", "input.value": "library founded"}
RETRIEVER = {
    KIND: "RETRIEVER",
    "input.value": "library founded",
    "retrieval.documents.0.document.content": PASSAGE,
}
