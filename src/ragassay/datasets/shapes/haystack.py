"""What a pipeline of Haystack returns, kept as rows: an object of components, perhaps beside other
columns or inside one.

An answer builder gives `answers`, each with data, query and documents; a generator gives `replies`;
retrievers and rankers give `documents`. Components have the names that the pipeline gives them.
"""

from __future__ import annotations

from ragassay.datasets.shapes.base import Shape

_ENDINGS = (".answers", ".replies")
_SAID_OF_A_ROW = frozenset({"metadata", "meta", "labels", "slices", "feedback", "expectations"})
"""Objects whose names people choose: a label may be called "answers" and is no component."""


def _of_components(columns: set[str], endings: str | tuple[str, ...]) -> list[str]:
    """The paths with one of these endings, in order, but those inside what is said of a row."""
    return sorted(
        column
        for column in columns
        if column.endswith(endings) and _SAID_OF_A_ROW.isdisjoint(column.split(".")[:-1])
    )


def _fits(columns: set[str]) -> bool:
    return bool(_of_components(columns, _ENDINGS))


def _adapt(columns: set[str], reads: dict[str, str], skips: dict[str, str]) -> None:
    """Read the components by their own names. An answer is more than the reply it is built of, and
    of several components with documents the last by name of its kind is taken: a ranker before a
    retriever.
    """
    for ending in _ENDINGS:
        paths = _of_components(columns, ending)
        if paths:
            reads["response"] = paths[0]
            if ending == ".answers":
                reads["question"] = paths[0]
            break
    documents = _of_components(columns, ".documents")
    if documents:
        rankers = [column for column in documents if "rank" in column]
        reads["contexts"] = (rankers or documents)[0]


SHAPES = (Shape("Haystack", (), (), {}, {}, adapt=_adapt, detect=_fits, order=20),)
