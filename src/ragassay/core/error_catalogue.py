"""The catalogue of error codes, read from errors.yaml: what each means, its cause and its remedy.

Only `ragassay explain` and the page docs/errors.md need these texts, so the file is read when one
of them is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from ragassay.core.fast_yaml import fast_loader

FILE = Path(__file__).with_name("errors.yaml")


@dataclass(frozen=True, slots=True)
class ErrorEntry:
    """One code: what it means, how it comes about, what to do."""

    code: str
    meaning: str
    cause: str
    remedy: str

    def __str__(self) -> str:
        """What `ragassay explain CODE` prints."""
        return (
            f"{self.code}: {self.meaning}\n\n"
            f"How it comes about: {self.cause}\n\n"
            f"What to do: {self.remedy}"
        )


@cache
def error_catalogue() -> Mapping[str, ErrorEntry]:
    """Code -> its entry, in the order of the codes."""
    import yaml

    texts = yaml.load(FILE.read_text(encoding="utf-8"), Loader=fast_loader())
    entries = {code: ErrorEntry(code, **fields) for code, fields in texts.items()}
    return MappingProxyType(entries)
