"""The native API of Gemini (`generateContent`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yarl import URL

from ragassay.models.answer import CUT, FILTER, STOP, Answer, finish_of, first_mapping, mapping
from ragassay.models.dialects.base import Prepared, with_path
from ragassay.models.dialects.openai_chat import as_json
from ragassay.models.thinking import budget_of
from ragassay.models.usage import gemini_usage


class Gemini:
    """generateContent. A schema is taken as JSON Schema, or by older models in a form of Google's
    own, whose enumerations hold texts only.
    """

    formats: tuple[str, ...] = ("schema", "simple_schema", "object", "text")
    headers: Mapping[str, str] = {}

    def url(self, base: URL, model: str, *, stream: bool) -> URL:
        """The model is part of the address."""
        name = model if "/" in model else f"models/{model}"
        verb = "streamGenerateContent" if stream else "generateContent"
        url = with_path(base, *name.split("/")[:-1], f"{name.split('/')[-1]}:{verb}")
        return url.update_query(alt="sse") if stream else url

    def models_url(self, base: URL) -> URL:
        """Where the models are listed."""
        return with_path(base, "models")

    def budget(self, asked: Prepared) -> int:
        """Of the models before the third generation."""
        return 0 if "gemini-3" in asked.model else budget_of(asked.effort)

    def body(self, asked: Prepared) -> dict[str, object]:
        """The request."""
        settings: dict[str, object] = {}
        if asked.limit is not None and asked.known.limit:
            settings["maxOutputTokens"] = asked.limit
        if asked.temperature is not None:
            settings["temperature"] = asked.temperature
        if asked.seed is not None:
            settings["seed"] = asked.seed
        settings |= self._form(asked)
        if asked.effort and asked.known.effort:
            settings["thinkingConfig"] = _thinking(asked.model, asked.effort)
        roles = {"assistant": "model"}
        body: dict[str, object] = {
            "contents": [
                {"role": roles.get(role, "user"), "parts": [{"text": text}]}
                for role, text in asked.turns()
            ],
            "generationConfig": settings,
        }
        if asked.system:
            body["systemInstruction"] = {"parts": [{"text": asked.system}]}
        return body

    def _form(self, asked: Prepared) -> dict[str, object]:
        if asked.call.schema is None or asked.known.format == "text":
            return {}
        form: dict[str, object] = {"responseMimeType": "application/json"}
        if asked.known.format == "schema":
            form["responseJsonSchema"] = asked.schema()
        elif asked.known.format == "simple_schema":
            form["responseSchema"] = asked.schema()
        return form


def _thinking(model: str, effort: str) -> dict[str, object]:
    # From the third generation on a level is named, before it a number of tokens.
    if "gemini-3" in model:
        return {"thinkingLevel": "low" if effort in ("none", "minimal", "low") else "high"}
    return {"thinkingBudget": budget_of(effort)}


# The enumeration as its numbers, which clients of the protocol buffers write.
_FINISH = {1: STOP, 2: CUT, 3: FILTER, 4: FILTER}


def _finish(reason: object) -> str:
    if isinstance(reason, int):
        return _FINISH.get(reason, STOP)
    return finish_of(reason)


def read(data: Mapping[str, Any]) -> Answer | None:
    """The reply; None where this is none."""
    candidates = data.get("candidates")
    feedback = mapping(data.get("promptFeedback"))
    if not isinstance(candidates, list) and not feedback:
        return None
    candidate = first_mapping(candidates)
    texts: list[str] = []
    thoughts: list[str] = []
    tool = ""
    parts = mapping(candidate.get("content")).get("parts")
    for part in parts if isinstance(parts, list) else []:
        if not isinstance(part, Mapping):
            continue
        if isinstance(part.get("text"), str):
            (thoughts if part.get("thought") else texts).append(part["text"])
        elif "functionCall" in part:
            tool = tool or as_json(mapping(part["functionCall"]).get("args"))
    model = data.get("modelVersion")
    blocked = feedback.get("blockReason") if not candidate else None
    return Answer(
        text="".join(texts),
        thinking="".join(thoughts),
        tool=tool,
        finish=FILTER if blocked else _finish(candidate.get("finishReason")),
        model=model if isinstance(model, str) else "",
        usage=gemini_usage(data.get("usageMetadata")),
    )
