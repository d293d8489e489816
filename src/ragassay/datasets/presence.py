"""Which fields any row of a source holds: what its columns let be measured."""

from __future__ import annotations

from dataclasses import fields

from ragassay.core import AppUsage, Sample

_PLAIN = ("question", "contexts", "response", "answerable", "error")
"""Fields of which an empty one says something, too."""

_FILLED = ("reference", "expected_facts", "relevant_ids", "guidelines", "feedback")
_USAGE = tuple(field.name for field in fields(AppUsage))


class FieldsSeen:
    """The fields that were not empty in every row so far; parts of the usage as "usage.cost"."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        # What was seen once is not looked for again: nearly every row costs nothing.
        self._plain = list(_PLAIN)
        self._filled = list(_FILLED)

    def add(self, sample: Sample) -> None:
        """Note the fields that this row holds."""
        plain = [name for name in self._plain if getattr(sample, name) is not None]
        filled = [name for name in self._filled if getattr(sample, name)]
        for name in plain:
            self._plain.remove(name)
        for name in filled:
            self._filled.remove(name)
        self.names.update(plain, filled)
        if sample.usage is not None:
            for name in _USAGE:
                if getattr(sample.usage, name) is not None:
                    self.names.add(f"usage.{name}")
