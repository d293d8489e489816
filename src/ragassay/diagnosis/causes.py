"""Which root causes are there, and which knob does each one point at? (D5)"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ragassay.core import Cause

_ALL = (
    Cause(
        "nothing_retrieved", "Nothing was retrieved",
        "Find out why the retriever returns no chunk for such questions: a filter or score threshold that is too "
        "strict, an index that is empty or stale, an error that is swallowed. Then let the application say that "
        "it found nothing.",
    ),
    Cause(
        "retrieval_irrelevant", "No retrieved chunk is relevant",
        "Work on the retriever: hybrid (keyword + embedding) search, query rewriting, a better embedding model, "
        "a reranker over more candidates, other chunk sizes. First check that the corpus holds the answer at all.",
    ),
    Cause(
        "document_missed", "The document known to be relevant was not retrieved",
        "The document exists and was not found: retrieve more candidates and rerank, look at its chunks and "
        "metadata, try hybrid search or query rewriting, and check that the index holds its present version.",
    ),
    Cause(
        "insufficient_context", "The chunks do not hold what a right answer needs",
        "Retrieve more or larger chunks, follow links between documents, split questions of several parts into "
        "several searches; if the corpus lacks the fact, add it.",
    ),
    Cause(
        "ungrounded", "The response claims what the chunks do not support",
        "Work on the generator: tell it to use only the context and to say when something is missing, ask for "
        "citations, lower the temperature, cut irrelevant chunks, or use a stronger model.",
    ),
    Cause(
        "declined", "The response declines although the answer was retrieved",
        "Over-refusal: soften the instruction to refuse when unsure, show an example that answers from the "
        "context, look for safety filters that trigger wrongly, and put the relevant chunk nearer to the "
        "question.",
    ),
    Cause(
        "failed_abstention", "The response answers a question that has no answer here",
        "Allow the generator to say that it does not know and show an example of it; refuse below a retrieval "
        "score.",
    ),
    Cause(
        "no_answer", "The response is empty",
        "Look for generation errors that are swallowed: timeouts, content filters, a token limit that is too low,"
        " or an output parser that drops the text.",
    ),
    Cause(
        "answer_irrelevant", "The response does not answer the question",
        "Put the question after the context and repeat what is asked for; check query rewriting and conversation "
        "history; ask for a direct answer first and for every part of the question.",
    ),
    Cause(
        "incorrect", "The response is wrong although the evidence was there",
        "Read the row: if the context contradicts the reference, mend the corpus or the reference; else use a "
        "stronger model or let it reason before answering.",
    ),
    Cause(
        "unsafe", "The response is unsafe",
        "Add a safety instruction and an output filter, and check the retrieved chunks for injected instructions.",
    ),
    Cause(
        "other", "Another metric failed",
        "Open the row and read the rationale of the metric that is named there.",
    ),
)  # fmt: skip

CAUSES: Mapping[str, Cause] = MappingProxyType({cause.name: cause for cause in _ALL})
"""Name -> cause with its knob; `detail` is empty here and quotes the row in a Diagnosis."""
