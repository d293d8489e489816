"""A rubric file on its way to a rubric: what the file gives, and what it is read against."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragassay.core import shorten
from ragassay.judges.rubric import Rubric
from ragassay.judges.rubric_file.mistakes import Mistakes
from ragassay.judges.rubric_file.sections import Section

NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")
"""What names of rubrics, inputs and flags look like."""

REQUIRED = object()
"""The default of a key that may not be left out."""

Fields = dict[str, Any]
"""The fields of the rubric that were read already, by name."""


@dataclass(frozen=True, slots=True)
class ReadingContext:
    """What a rubric file is read against.

    rubrics: those that it can extend. builtin: those of the package, also where a file replaces
    them. files: id -> the user's file that a rubric is from. own: the file is a user's. reserved:
    names of metrics, which no judge of the user's own can have.
    """

    rubrics: Mapping[str, Rubric]
    builtin: Mapping[str, Rubric]
    files: Mapping[str, str] = field(default_factory=dict)
    own: bool = True
    reserved: Collection[str] = frozenset()


@dataclass(slots=True)
class Draft:
    """One file, split into values and sections.

    values: the front matter as YAML reads it. base: the rubric that the file extends, None where it
    extends none.
    """

    context: ReadingContext
    mistakes: Mistakes
    values: Mapping[str, Any]
    sections: Mapping[str, Section] = field(default_factory=dict)
    base: Rubric | None = None

    @property
    def replaced(self) -> Rubric | None:
        """The built-in rubric that a user's file takes the place of, None where it takes none."""
        name = self.values.get("id")
        if not self.context.own or not isinstance(name, str):
            return None
        return self.context.builtin.get(name)

    @property
    def custom(self) -> bool:
        """Whether the file is a judge of the user's own."""
        return self.context.own and self.replaced is None

    def mistake(self, text: str, *key: str) -> None:
        """Note a mistake at the line of this key."""
        self.mistakes.add(text, *key)

    def value(self, key: str, kind: type | tuple[type, ...], words: str, default: Any) -> Any:
        """The value that is given, else the base's, else the default.

        One of another type than `kind`, which `words` describe, is a mistake, as is a missing one
        whose default is `REQUIRED`; then the value is the default, None for `REQUIRED`.
        """
        if key in self.values:
            value = self.values[key]
            # True is an int to Python, and no number to whoever wrote the file.
            is_stray_bool = type(value) is bool and kind is not bool
            if isinstance(value, kind) and not is_stray_bool:
                return value
            self.mistake(f"{key} must be {words}, not {shorten(repr(value), 40)}", key)
        elif self.base is not None:
            # A key and the field of a Rubric that it fills have the same name.
            return getattr(self.base, key)
        elif default is REQUIRED:
            self.mistake(f"{key} is missing ({words})")
        return None if default is REQUIRED else default


def quoted_choice(names: Sequence[str]) -> str:
    """The names in words: '"a", "b" or "c"'."""
    quoted = [f'"{name}"' for name in names]
    return f"{', '.join(quoted[:-1])} or {quoted[-1]}"
