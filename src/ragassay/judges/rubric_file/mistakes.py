"""The mistakes of one rubric file, each with its line."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

# More mistakes of one file are not looked for: finding the line of each takes time that grows with
# the file.
_MOST_MISTAKES = 100

Key = tuple[str, ...]
"""The way to a value in the front matter: ("scale", "points", "3")."""


@dataclass(slots=True)
class Mistakes:
    """What is wrong in a file, as far as it was found.

    lines: key in the front matter -> its line in the file, counted from 1.
    """

    path: Path
    lines: dict[Key, int] = field(default_factory=dict)
    _entries: list[tuple[int, str]] = field(default_factory=list)

    def add(self, text: str, *key: str) -> None:
        """Note a mistake at the line of this key, or of the nearest one above it with a line."""
        while key and key not in self.lines:
            key = key[:-1]
        self.add_at(self.lines.get(key, 1), text)

    def add_at(self, line: int, text: str) -> None:
        """Note a mistake at this line; nothing once the list is full."""
        if not self.full:
            self._entries.append((line, text))

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def full(self) -> bool:
        """Whether so much is wrong that no more is looked for."""
        return len(self._entries) >= _MOST_MISTAKES

    @property
    def messages(self) -> list[str]:
        """Each mistake as "file:line: text", by line."""
        messages = [f"{self.path}:{line}: {text}" for line, text in sorted(self._entries)]
        if self.full:
            messages.append(f"{self.path}: there may be more mistakes")
        return messages
