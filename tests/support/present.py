"""A value that may be absent in general, and is there in this test."""

from __future__ import annotations

from typing import TypeVar

Value = TypeVar("Value")


def present(value: Value | None) -> Value:
    """The value itself; where it is absent, the test fails here."""
    assert value is not None
    return value
