"""Reader of YAML files: a list of rows, an object that holds them, or a document for each row."""

from __future__ import annotations

import functools
import re
from collections.abc import Hashable, Iterator
from typing import Any

from ragassay.core import TO_READ, DataError, claim_memory, shorten
from ragassay.core.fast_yaml import MOST_DEPTH, fast_loader, is_too_deep
from ragassay.datasets.formats.base import Format
from ragassay.datasets.formats.json_files import kind_of, rows_of_object
from ragassay.datasets.source import (
    READ_ERRORS,
    FileReader,
    Row,
    Trouble,
    broken_file,
    line_limit,
    open_bytes,
    show,
)

_TRUE_OR_FALSE = re.compile(r"(?:true|True|TRUE|false|False|FALSE)$")
_OTHER_WORDS = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:bool")
_MOST_VALUES = 5_000_000
"""Most values of a file, each counted as often as an alias repeats it."""


class YamlFile(FileReader):
    """.yaml and .yml, read whole; rows are numbered by their position.

    `yes`, `no`, `on`, `off` and dates stay the texts that they are: a response of "No" is no
    boolean.
    """

    def rows(self) -> Iterator[tuple[int, Row | Trouble]]:
        self.counted_by = "position"
        found: list[object] = []
        for document in self._documents():
            if isinstance(document, list):
                found.extend(document)
            elif isinstance(document, dict):
                found.extend(rows_of_object(document))
            elif document is not None:
                found.append(document)
        for number, row in enumerate(found, 1):
            yield number, row if isinstance(row, dict) else _no_row(row)

    def _documents(self) -> list[object]:
        import yaml

        limit = line_limit(self.path)
        try:
            with open_bytes(self.path) as file:
                data = file.read(limit + 1)
        except READ_ERRORS as error:
            raise broken_file(self.path, error) from error
        if len(data) > limit:
            raise self._refusal(
                f"is longer than {limit / 2**20:g} MiB",
                "a YAML file is held in memory whole",
                "write the rows as JSON Lines, which are read one at a time",
            )
        # The parser's events and nodes are objects, many times as large as the text.
        claim_memory(20 * len(data), TO_READ)
        deep = self._refusal(
            f"is nested more than {MOST_DEPTH} deep", "no row is", "write the rows flat"
        )
        try:
            if is_too_deep(data):
                raise deep
            documents = list(yaml.load_all(data, Loader=_loader()))
            if _size(documents) > _MOST_VALUES:
                raise self._refusal(
                    f"says more than {_MOST_VALUES:,} values by its aliases",
                    "each alias stands for all that it names",
                    "write the rows without aliases",
                )
        except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
            raise self._refusal(
                "is not YAML", shorten(" ".join(str(error).split()), 300), "mend it there"
            ) from error
        except RecursionError:  # an alias inside what it names never ends
            raise deep from None
        return documents

    def _refusal(self, what: str, why: str, fix: str) -> DataError:
        return DataError("E0310", f"{self.path.name} {what}.", where=self.source, why=why, fix=fix)


def _no_row(value: object) -> Trouble:
    return Trouble(
        "E0302",
        f"the row is {kind_of(value)}, not an object of fields",
        show(value),
        "write each row as `- question: ...` with contexts: and response: below",
    )


def _size(value: object, known: dict[int, int] | None = None) -> int:
    """How many values a structure says, shared ones each time."""
    known = {} if known is None else known
    parts: list[object] = []
    if isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, list):
        parts = value
    if not parts:
        return 1
    if id(value) not in known:
        known[id(value)] = 1 + sum(_size(part, known) for part in parts)
    return known[id(value)]


@functools.cache
def _loader() -> type[Any]:
    """PyYAML's safe loader, whose plain words are texts but for numbers, true, false and null.

    A key that stands twice in one object is an error, as it is in JSON.
    """
    import yaml

    base: Any = fast_loader()

    class Loader(base):  # type: ignore[misc]
        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
            seen: set[str] = set()
            for key, _ in node.value:
                if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
                    continue
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key.value!r} stands twice", key.start_mark
                    )
                seen.add(key.value)
            mapping: dict[Hashable, Any] = super().construct_mapping(node, deep)
            return {
                key if isinstance(key, str) else str(key): cell for key, cell in mapping.items()
            }

    for first, rules in base.yaml_implicit_resolvers.items():
        kept = [(tag, rule) for tag, rule in rules if tag not in _OTHER_WORDS]
        Loader.yaml_implicit_resolvers = {**Loader.yaml_implicit_resolvers, first: kept}
    Loader.add_implicit_resolver("tag:yaml.org,2002:bool", _TRUE_OR_FALSE, list("tTfF"))
    return Loader


FORMATS = (Format("yaml", (".yaml", ".yml"), YamlFile),)
