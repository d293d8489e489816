"""What a request is made of, and what every dialect has."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from yarl import URL

from ragassay.core import ChatCall
from ragassay.models.capabilities import Capabilities


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call on its way to a server.

    known: what the server accepts. limit: tokens of the reply, None to send no limit. effort: how
    much the model shall think, "" as it likes. style: how the provider wants to be told that.
    """

    model: str
    call: ChatCall
    known: Capabilities
    limit: int | None
    effort: str = ""
    style: str = ""
    seed_name: str = "seed"

    @property
    def system(self) -> str:
        """The system messages; "" where the server takes none."""
        if not self.known.system:
            return ""
        return "\n\n".join(m.content for m in self.call.messages if m.role == "system")

    def turns(self) -> list[tuple[str, str]]:
        """(role, text) of the other messages. Where the server takes no system message, its text
        begins the first of them; the form of the reply ends the last where it is told in words.
        """
        rules = [m.content for m in self.call.messages if m.role == "system"]
        turns = [(m.role, m.content) for m in self.call.messages if m.role != "system"]
        if rules and not self.known.system:
            role, text = turns[0] if turns else ("user", "")
            turns[:1] = [(role, "\n\n".join([*rules, text]))]
        # Beside a tool as well: servers that know none ignore the field without a word.
        if self.call.schema is not None and self.known.format != "schema":
            role, text = turns[-1]
            turns[-1] = role, f"{text}\n\n{FORM_IN_WORDS}{_schema_text(self.call)}"
        return turns

    def schema(self) -> Mapping[str, object] | None:
        """The schema as it is sent beside the messages; None where it is not."""
        if self.call.schema is None or self.known.format not in ("schema", "simple_schema", "tool"):
            return None
        if self.known.format == "simple_schema":
            return simplified(self.call.schema)
        return self.call.schema

    @property
    def temperature(self) -> float | None:
        """The temperature to send, if any."""
        return self.call.temperature if self.known.temperature else None

    @property
    def seed(self) -> int | None:
        """The seed to send, if any."""
        return self.call.seed if self.known.seed else None


FORM_IN_WORDS = "The JSON Schema of the reply: "


class Dialect(Protocol):
    """How one kind of server is spoken to. formats: as in `Capabilities`, the strictest first.
    headers: sent with every request.
    """

    formats: tuple[str, ...]
    headers: Mapping[str, str]

    def url(self, base: URL, model: str, *, stream: bool) -> URL: ...

    def models_url(self, base: URL) -> URL: ...

    def body(self, asked: Prepared) -> dict[str, object]: ...

    def budget(self, asked: Prepared) -> int:
        """Tokens of thinking that a request asks for by number; 0 where it names none."""
        ...


def simplified(schema: object) -> dict[str, object]:
    """The schema without what servers choke on: whole numbers as an enumeration, the ban on other
    properties, bounds of lists, texts and numbers.
    """
    simple = _simplified(schema)
    return simple if isinstance(simple, dict) else {}


# Grammars of servers differ most in these.
_CHOKED = frozenset(
    {
        "additionalProperties",
        "default",
        "format",
        "maxItems",
        "maxLength",
        "maximum",
        "minItems",
        "minLength",
        "minimum",
        "pattern",
        "uniqueItems",
    }
)


def _simplified(schema: object) -> object:
    if isinstance(schema, Mapping):
        kept: dict[str, object] = {}
        for name, value in schema.items():
            is_of_numbers = name == "enum" and schema.get("type") == "integer"
            if name == "properties" and isinstance(value, Mapping):
                # The names of fields are no keywords.
                kept[name] = {str(field): _simplified(each) for field, each in value.items()}
            elif name not in _CHOKED and not is_of_numbers:
                kept[str(name)] = _simplified(value)
        return kept
    if isinstance(schema, (list, tuple)):
        return [_simplified(entry) for entry in schema]
    return schema


def _schema_text(call: ChatCall) -> str:
    return json.dumps(call.schema, ensure_ascii=False, separators=(",", ":"), default=dict)


def with_path(base: URL, *parts: str) -> URL:
    """The address with these parts behind its path; its query stays."""
    url = base
    for part in parts:
        url = url / part
    return url.with_query(base.query)
