"""PyYAML's loader in C, ten times as fast, and the question to ask first of a text of others.

libyaml builds values by recursion without a bound: a hundred thousand opening brackets end the
process. Its events come one by one, so that the depth can be counted before.
"""

from __future__ import annotations

from typing import Any

MOST_DEPTH = 200


def fast_loader() -> type[Any]:
    """The safe loader in C, or the one in Python where PyYAML was built without libyaml."""
    import yaml

    loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return loader


def is_too_deep(text: str | bytes) -> bool:
    """Whether objects and lists of a YAML text lie in each other more than MOST_DEPTH deep.

    Raises yaml.YAMLError for a text that is not YAML, up to the place that is too deep.
    """
    import yaml

    depth = 0
    for event in yaml.parse(text, fast_loader()):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MOST_DEPTH:
                return True
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    return False
