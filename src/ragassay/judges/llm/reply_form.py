"""The form of a reply: the JSON Schema that a server is given, and the reply that holds given
verdicts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ragassay.judges.llm.entries import Verdict
from ragassay.judges.rubric import Rubric


def schema(rubric: Rubric, ids: Sequence[str]) -> dict[str, object]:
    """The JSON Schema of a reply about these ids; every property is required and no other is
    allowed.
    """
    fields: dict[str, object] = {"id": {"type": "string", "enum": list(ids)}}
    parts: dict[str, dict[str, object]] = {
        "passage": {"type": "integer"},
        "text": {"type": "string"},
    }
    if not rubric.quotes_name_passages:
        del parts["passage"]
    quotes = {"type": "array", "items": _object(parts)}
    flags = {flag.name: {"type": "boolean"} for flag in rubric.flags}
    if rubric.scale is None:
        claim = _object({"text": {"type": "string"}, "trivial": {"type": "boolean"}})
        lists: dict[str, object] = {
            "claims": {"type": "array", "items": claim},
            "texts": {"type": "array", "items": {"type": "string"}},
            "quotes": quotes,
        }
        fields |= {rubric.writes: lists[rubric.writes], **flags}
    else:
        if rubric.asks_reasons:
            fields["reasoning"] = {"type": "string"}
        if rubric.asks_quotes:
            fields["quotes"] = quotes
        if rubric.asks_sources:
            fields["supported_by"] = {"type": "array", "items": {"type": "integer"}}
        # The rating comes last: a model that writes its reasons first rates by them.
        kind = "integer" if isinstance(rubric.scale.lowest, int) else "string"
        fields |= {**flags, "rating": {"type": kind, "enum": list(rubric.scale.ratings)}}
    return _object({"verdicts": {"type": "array", "items": _object(fields)}})


def render(verdicts: Sequence[Verdict], rubric: Rubric) -> str:
    """The reply that holds these verdicts: the inverse of `parse`."""
    entries: list[dict[str, object]] = []
    for verdict in verdicts:
        entry: dict[str, object] = {"id": verdict.id}
        quotes = [{"passage": q.passage, "text": q.text} for q in verdict.quotes]
        flags = {flag.name: flag.name in verdict.flags for flag in rubric.flags}
        if rubric.writes == "claims":
            entry["claims"] = [{"text": c.text, "trivial": c.trivial} for c in verdict.claims]
        elif rubric.writes == "texts":
            entry["texts"] = list(verdict.texts)
        elif rubric.writes == "quotes":
            entry["quotes"] = quotes
        else:
            if rubric.asks_reasons:
                entry["reasoning"] = verdict.reasoning
            if rubric.asks_quotes:
                entry["quotes"] = quotes
            if rubric.asks_sources and verdict.sources is not None:
                entry["supported_by"] = list(verdict.sources)
        entry |= flags
        if rubric.scale is not None:
            entry["rating"] = verdict.rating
        entries.append(entry)
    return json.dumps({"verdicts": entries}, ensure_ascii=False)


def _object(properties: Mapping[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
