"""What is known of a model behind a server, from the first time that it was asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model at one address, with one set of settings.

    key: a hash of these. checked: when it was asked about the known example (UTC, ISO 8601), ""
    for one that was not. right, asked: verdicts on that example that were right, and that were
    asked for. problem: why it cannot judge, "" where it can. capabilities: what its server accepts,
    as `models.capabilities` has it. dropped: the same in words, as far as it is less than usual.
    """

    key: str
    uri: str
    base_url: str
    checked: str = ""
    right: int = 0
    asked: int = 0
    problem: str = ""
    capabilities: Mapping[str, object] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
