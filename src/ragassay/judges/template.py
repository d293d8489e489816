"""Templates whose placeholders are filled once, from a fixed list of names.

A placeholder is `{{name}}` or `{{name.part}}`. Nothing is looked up, called or evaluated: a text
under judgement that holds `{{question}}` stays just that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_PLACEHOLDER = re.compile(r"\{\{ ?([A-Za-z_][A-Za-z0-9_.]{0,60}) ?\}\}")
_BRACES = re.compile(r"\{\{|\}\}")


def placeholders(text: str) -> Iterator[tuple[str, int]]:
    """The placeholders of a template as (name, offset), in order."""
    return ((match[1], match.start()) for match in _PLACEHOLDER.finditer(text))


def stray_braces(text: str) -> Iterator[int]:
    """Offsets of `{{` or `}}` that belong to no placeholder."""
    return (m.start() for m in _BRACES.finditer(_PLACEHOLDER.sub(lambda m: " " * len(m[0]), text)))


def fill(template: str, values: Mapping[str, str]) -> str:
    """The template with every placeholder replaced by its value, in one pass. Raises KeyError for
    an unknown name.
    """
    return _PLACEHOLDER.sub(lambda match: values[match[1]], template)
