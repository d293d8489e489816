"""Rows for the tuning of models, as Alpaca has them: an instruction, an input, an output."""

from __future__ import annotations

from ragassay.datasets.shapes.base import Shape

SHAPES = (
    Shape(
        "instruction",
        ("instruction", "input", "output"),
        ("instruction",),
        {"question": "instruction", "response": "output"},
        # Some keep a passage there and some the question: only who made the rows can tell.
        {"input": "it may be a passage or a question; --map says which"},
        order=990,
    ),
)
