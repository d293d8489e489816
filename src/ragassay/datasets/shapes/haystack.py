"""What a pipeline of Haystack returns, kept as rows: an object of components, perhaps beside other
columns or inside one.

An answer builder gives `answers`, each with data, query and documents; a generator gives `replies`;
retrievers and rankers give `documents`. Components have the names that the pipeline gives them.
"""

from __future__ import annotations

from ragassay.datasets.shapes.base import Shape

_ENDINGS = (".answers", ".replies")


def _fits(columns: set[str]) -> bool:
    return any(column.endswith(_ENDINGS) for column in columns)


def _adapt(columns: set[str], reads: dict[str, str], skips: dict[str, str]) -> None:
    """Read the components by their own names. An answer is more than the reply it is built of, and
    of several components with documents the last by name of its kind is taken: a ranker before a
    retriever.
    """
    for ending in _ENDINGS:
        paths = sorted(column for column in columns if column.endswith(ending))
        if paths:
            reads["response"] = paths[0]
            if ending == ".answers":
                reads["question"] = paths[0]
            break
    documents = [column for column in sorted(columns) if column.endswith(".documents")]
    if documents:
        rankers = [column for column in documents if "rank" in column]
        reads["contexts"] = (rankers or documents)[0]


SHAPES = (Shape("Haystack", (), (), {}, {}, adapt=_adapt, detect=_fits, order=20),)
