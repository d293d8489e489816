"""The dialect of the OpenAI protocol that a server accepts, learnt from its own refusals."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ragassay.core import ChatCall

TOO_LONG = re.compile(
    r"maximum context length|context[ _]length|context[ _]window|context size|prompt is too"
    r" long|input is too long"
    r"|too many (?:input )?tokens|string_above_max_length|reduce the length",
    re.I,
)
FORMAT_NAMES = re.compile(
    r"response[_ ]?format|json_schema|json_object|structured[ _]output|guided", re.I
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a server accepts, as far as it is known. format: "json_schema", "json_object" or ""
    (plain text).
    """

    format: str = "json_schema"
    limit: str = "max_tokens"
    temperature: bool = True
    seed: bool = True

    def features(self, call: ChatCall) -> frozenset[str]:
        """What a request for `call` makes use of."""
        used = {
            self.limit: True,
            self.format: call.schema is not None and self.format != "",
            "temperature": self.temperature and call.temperature is not None,
            "seed": self.seed and call.seed is not None,
        }
        return frozenset(name for name, is_used in used.items() if is_used)


def without_refused(dialect: Dialect, call: ChatCall, status: int, text: str) -> Dialect | None:
    """The dialect without what the server refuses, or None when its refusal is about something
    else.
    """
    if status not in (400, 405, 415, 422, 501) or TOO_LONG.search(text):
        return None
    if call.schema is not None and dialect.format and FORMAT_NAMES.search(text):
        return replace(dialect, format="json_object" if dialect.format == "json_schema" else "")
    if dialect.limit == "max_tokens" and "max_completion_tokens" in text:
        return replace(dialect, limit="max_completion_tokens")
    if dialect.temperature and call.temperature is not None and "temperature" in text:
        return replace(dialect, temperature=False)
    if dialect.seed and call.seed is not None and re.search(r"\bseed\b", text):
        return replace(dialect, seed=False)
    return None
