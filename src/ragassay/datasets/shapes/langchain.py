"""What LangChain's chains return, kept as rows: RetrievalQA's query, result and source_documents;
the retrieval chain's input, answer and context. Documents are {page_content, metadata}.
"""

from __future__ import annotations

from ragassay.datasets.shapes.base import Shape

SHAPES = (
    Shape(
        "LangChain",
        ("result",),
        ("query", "source_documents"),
        {"question": "query", "response": "result", "contexts": "source_documents"},
        {},
        order=130,
    ),
    Shape(
        "LangChain",
        ("input", "answer", "context"),
        ("context",),
        {"question": "input", "response": "answer", "contexts": "context"},
        {},
        order=131,
    ),
)
