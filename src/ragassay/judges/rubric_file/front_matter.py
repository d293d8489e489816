"""The front matter of a rubric file: the text between two lines ---, read as YAML.

Nothing in it is executed, and YAML aliases are refused: a few lines of them stand for gigabytes.
Time is linear in the length of the file.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragassay.core import nearest, shorten
from ragassay.core.fast_yaml import fast_loader, is_too_deep
from ragassay.judges.rubric_file.mistakes import Key, Mistakes

if TYPE_CHECKING:
    import yaml

KEYS = (
    "id",
    "version",
    "extends",
    "purpose",
    "source",
    "inputs",
    "item",
    "batch",
    "asks_reasons",
    "asks_quotes",
    "asks_sources",
    "writes",
    "flags",
    "scale",
    "wordings",
    "examples",
    "level",
    "row",
    "guidelines",
    "input_rules",
)
_MOST_BYTES, _MOST_FRONT = 1_000_000, 200_000
_FRONT = re.compile(r"---[ \t]*\n(.*?\n)?---[ \t]*(?:\n|$)", re.S)
# Below this depth no key has a line of its own: its mistakes are shown at the key above it.
_MOST_DEPTH = 3
# YAML counts lines from 0, and the line --- stands before the first one.
_LINES_BEFORE = 2


def read_file(path: Path, mistakes: Mistakes) -> str | None:
    """The text of the file with "\\n" as line ends; None where it cannot be read as text."""
    try:
        # A pipe would be waited for, a folder cannot be read.
        if path.exists() and not path.is_file():
            raise ValueError("it is not a file")
        with path.open("rb") as file:
            raw = file.read(_MOST_BYTES + 1)
        if len(raw) > _MOST_BYTES:
            raise ValueError(f"the file is larger than {_MOST_BYTES:,} bytes")
        return raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        mistakes.add(f"the file is not UTF-8 (byte {error.start})")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        mistakes.add(f"the file cannot be read: {reason}")
    return None


def split_front_matter(text: str, mistakes: Mistakes) -> tuple[str, int] | None:
    """The front matter, and the offset at which the rest of the file begins."""
    match = _FRONT.match(text)
    if match is None:
        mistakes.add("the file must begin with a front matter: a line ---, YAML, and a line ---")
        return None
    front = match[1] or ""
    if len(front) > _MOST_FRONT:
        mistakes.add(f"the front matter is longer than {_MOST_FRONT:,} characters")
        return None
    return front, match.end()


def parse_front_matter(front: str, mistakes: Mistakes) -> dict[str, Any] | None:
    """The keys and values of a front matter, with their lines noted in `mistakes.lines`.

    None where it is no YAML that is taken; a key that no rubric has is a mistake, and is kept.
    """
    import yaml

    try:
        if _refuses_alias(front, mistakes):
            return None
        node, value = _read(front)
        # Raises here, for a number of 5,000 digits, what it would raise in some message below.
        repr(value)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line if error.problem_mark else 0
        text = f"the front matter is not valid YAML: {error.problem}"
        mistakes.add_at(line + _LINES_BEFORE, text)
        return None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mistakes.add(f"the front matter is not valid YAML: {shorten(str(error))}")
        return None
    if not isinstance(value, dict):
        mistakes.add("the front matter must be a mapping of names to values")
        return None
    assert node is not None
    _note_lines(node, (), 0, mistakes)
    for key in value:
        if key not in KEYS and not mistakes.full:
            hint = nearest(str(key), KEYS)
            mistakes.add(f"{shorten(str(key))!r} is not a key of a rubric.{hint}", str(key))
    return {str(key): item for key, item in value.items()}


def _read(front: str) -> tuple[yaml.Node | None, Any]:
    """The front matter as nodes, which know their lines, and as values. Raises as PyYAML does."""
    import yaml

    try:
        if not is_too_deep(front):
            return _loaded(front, fast_loader())
    except yaml.YAMLError:
        pass  # told by the loader in Python, whose messages are the plainer ones
    return _loaded(front, yaml.SafeLoader)


def _loaded(front: str, loader: type[Any]) -> tuple[yaml.Node | None, Any]:
    loading = loader(front)
    node = loading.get_single_node()
    return node, None if node is None else loading.construct_document(node)


def _refuses_alias(front: str, mistakes: Mistakes) -> bool:
    """Whether the front matter holds an alias; the first one is noted."""
    import yaml

    if "*" not in front:
        return False
    for event in yaml.parse(front, fast_loader()):
        if isinstance(event, yaml.AliasEvent):
            line = event.start_mark.line if event.start_mark else 0
            text = (
                f"the alias *{shorten(event.anchor, 40)}: aliases cannot be used here, write the"
                " value out"
            )
            mistakes.add_at(line + _LINES_BEFORE, text)
            return True
    return False


def _note_lines(node: yaml.Node, key: Key, depth: int, mistakes: Mistakes) -> None:
    """Note the line of everything below this node, by key and by place."""
    import yaml

    if depth > _MOST_DEPTH:
        return
    if isinstance(node, yaml.MappingNode):
        for n, (name, value) in enumerate(node.value):
            if not isinstance(name, yaml.ScalarNode):
                continue
            path = (*key, name.value)
            is_repeated = path in mistakes.lines
            line = name.start_mark.line + _LINES_BEFORE
            mistakes.lines[path] = line
            # By place as well: YAML may read a key as something else than what is written there.
            mistakes.lines[(*key, f"#{n}")] = line
            if is_repeated:
                mistakes.add(f"{shorten(name.value)!r} is given twice", *path)
            _note_lines(value, path, depth + 1, mistakes)
    elif isinstance(node, yaml.SequenceNode):
        for n, value in enumerate(node.value):
            path = (*key, str(n))
            mistakes.lines[path] = value.start_mark.line + _LINES_BEFORE
            _note_lines(value, path, depth + 1, mistakes)
