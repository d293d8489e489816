"""The tables of ARES: one document a row, and one column a label."""

from __future__ import annotations

from collections import Counter

from ragassay.core import Sample
from ragassay.datasets.cells import NUMBER
from ragassay.datasets.shapes.base import Shape, Writer

LABELS = ("Context_Relevance_Label", "Answer_Relevance_Label", "Answer_Faithfulness_Label")

_LABELLED = Shape(
    "ARES",
    ("document",),
    ("context_relevance_label", "answer_relevance_label", "answer_faithfulness_label"),
    {"question": "query", "contexts": "document", "response": "answer"},
    {},
    marks="_label",
    whole=True,
    order=20,
)
_UNLABELLED = Shape(
    "ARES",
    ("query", "document", "answer"),
    ("document",),
    _LABELLED.reads,
    {},
    whole=True,
    order=21,
)
SHAPES = (_LABELLED, _UNLABELLED)


def _row(sample: Sample, lost: Counter[str]) -> dict[str, object]:
    contexts = sample.contexts
    if contexts is None:
        lost["contexts (absent, reads back as nothing retrieved)"] += 1
    elif len(contexts) > 1:
        lost["contexts (joined into one document)"] += 1
    elif contexts and not contexts[0].text:
        lost["contexts (an empty text)"] += 1
    if sample.response is None:
        lost["response (absent, reads back as empty)"] += 1
    if sample.question == "":
        lost["question (empty, reads back as absent)"] += 1
    labels = {name: value for name, value in sample.labels.items() if name in LABELS}
    lost["labels (of another name)"] += len(labels) < len(sample.labels)
    changed = any(map(_reads_back_otherwise, labels.values()))
    lost["labels (a text that reads back as a number or as none)"] += changed
    return {
        "id": sample.id,
        "Query": sample.question,
        "Document": "\n\n".join(chunk.text for chunk in contexts or ()),
        "Answer": sample.response,
        **{name: labels.get(name) for name in LABELS},
    }


def _reads_back_otherwise(label: float | str) -> bool:
    """Whether a table would give back a text as a number or as a gap."""
    return isinstance(label, str) and (not label or NUMBER.fullmatch(label) is not None)


WRITER = Writer(
    _row,
    frozenset({"question", "contexts", "response", "labels"}),
    ("id", "Query", "Document", "Answer", *LABELS),
    needs=("question", "contexts", "response"),
    native="tsv",
)
