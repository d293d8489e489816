"""Rows with an input and an output, which several tools write and none in particular."""

from __future__ import annotations

from ragassay.datasets.shapes.base import Shape

SHAPES = (
    Shape(
        "input/output",
        ("input",),
        ("output",),
        {"question": "input", "response": "output"},
        {},
        # Last: other tools have these columns beside names that give them away.
        order=1000,
    ),
)
