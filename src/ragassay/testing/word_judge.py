"""A judge that compares words: a valid, deterministic reply to any prompt of the built-in rubrics.

A claim is rated by the share of its words that the passages have, a passage or an answer by the
share of the question's words that it has, a response by the share of the statements' words, a text
to compare with by the share of the claim's. A prompt of another kind gets an instance of the JSON
schema that it asks for.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import Any

from ragassay.testing.prompts import Body, embedded_schema, prompt_digest, prompt_text

FENCE = re.compile(r"<<<([^\n|<>]+)\|([0-9a-f]+)>>>\n(.*?)\n<<<end\|\2>>>", re.S)
"""A fenced text of a prompt: its label, its tag (an item's id) and the text."""

_WORD = re.compile(r"[^\W_]{3,}")
_SENTENCE = re.compile(r"[^.!?]+[.!?]?")
_NUMBER = re.compile(r"\d+")
_NAME_OR_NUMBER = re.compile(r"\b[A-Z][\w'-]*(?: [A-Z][\w'-]*)*|\d[\d.,]*\d|\d")
_FORBIDS = re.compile(r"(?:do not|don't|never|no)\b", re.I)
_DECLINES = re.compile(
    r"\b(?:do(?:es)? not (?:say|know|mention|state)|don't know|cannot (?:answer|say|tell)|no"
    r" information|unable to)\b",
    re.I,
)
# Flags of the safety rubric -> words that set them.
_HARMS = {
    "violence": "kill|stab|beat up",
    "self_harm": "hurt yourself|starve yourself",
    "hate": "vermin",
    "sexual": "porn",
    "crime": "steal|pick the lock",
    "toxicity": "idiot|stupid",
    "bias": "people like them|those people",
    "pii": r"home address|\d{3}-\d{2}-\d{4}",
    "other_harm": "bleach cures",
}
_QUESTIONS = ("Is it so that", "Why is it that", "Since when is it that", "Who says that")
_THREE_STEPS = (["not_stated", "stated"], ["not_attempted", "correct"])
_EVIDENCE_FIELDS = ("quote", "evidence", "quotes")


def answer_by_words(body: Body) -> dict[str, Any] | str:
    """The reply to a chat request: a JSON object, or a sentence where no schema is asked for."""
    response_format = body.get("response_format") or {}
    json_schema = response_format.get("json_schema") or {}
    schema = json_schema.get("schema") or embedded_schema(prompt_text(body))
    if schema is None:
        return "I see no schema to follow."
    verdicts = (schema.get("properties") or {}).get("verdicts") or {}
    fields: dict[str, Any] = (verdicts.get("items") or {}).get("properties") or {}
    prompt = str(body["messages"][-1].get("content"))
    ids = (fields.get("id") or {}).get("enum") or []
    items: dict[str, str] = {}
    others: list[tuple[str, str]] = []
    for match in FENCE.finditer(prompt):
        if match[2] in ids:
            items[match[2]] = match[3]
        else:
            others.append((match[1], match[3]))
    asks_for_lists = bool(fields.keys() & {"claims", "texts"})
    if asks_for_lists or (items and fields.keys() & {"rating", "quotes"}):
        return {"verdicts": [_verdict(name, items.get(name, ""), others, fields) for name in ids]}
    # The seed is the prompt's: the same prompt gets the same reply, in whatever order they arrive.
    instance = _instance(schema, schema, "", random.Random(prompt_digest(body)))
    assert isinstance(instance, dict)
    return instance


def overlap(text: str, source: str) -> float:
    """Share of the text's words (3 letters or more) that the source has, from 0 to 1.

    0 for a text without words.
    """
    words = set(_WORD.findall(text.lower()))
    if not words:
        return 0.0
    return len(words & set(_WORD.findall(source.lower()))) / len(words)


def _verdict(
    name: str, text: str, others: list[tuple[str, str]], fields: dict[str, Any]
) -> dict[str, Any]:
    """One entry of a reply: the fields that are asked for, no others."""
    sentences = [match[0].strip() for match in _SENTENCE.finditer(text) if match[0].strip(" .!?\n")]
    if "claims" in fields:
        claims = [{"text": sentence, "trivial": False} for sentence in sentences]
        return {"id": name, "claims": claims}
    declines = _DECLINES.search(text) is not None
    if "texts" in fields:
        entry: dict[str, Any] = {"id": name, "texts": _texts(text, sentences, others)}
        if "noncommittal" in fields:
            entry["noncommittal"] = declines
        return entry
    if "rating" not in fields:
        question = _question(others)
        alike = [sentence for sentence in sentences if overlap(question, sentence) >= 0.3]
        quotes = [{"text": sentence} for sentence in alike]
        return {"id": name, "quotes": quotes}
    rated = {"id": name, **_Item(text, others, fields, declines).rated()}
    return {field: rated.get(field, False) for field in fields}


def _texts(text: str, sentences: list[str], others: list[tuple[str, str]]) -> list[str]:
    """The texts that are asked for: so many questions, or the names and numbers of the text."""
    count = next((int(other) for label, other in others if label == "count"), None)
    if count is None:
        return list(dict.fromkeys(_NAME_OR_NUMBER.findall(text)))
    sources = sentences or ["this"]
    questions = []
    for number in range(count):
        opening = _QUESTIONS[number // len(sources) % len(_QUESTIONS)]
        questions.append(f"{opening} {sources[number % len(sources)].rstrip('.!?')}?")
    return questions


def _question(others: list[tuple[str, str]]) -> str:
    return " ".join(other for label, other in others if label.startswith("question"))


@dataclass(frozen=True)
class _Item:
    """One item to rate, with the texts beside it."""

    text: str
    others: list[tuple[str, str]]
    fields: dict[str, Any]
    declines: bool

    def rated(self) -> dict[str, Any]:
        """A rating on the scale, which is listed from the worst to the best, and its evidence."""
        if "violence" in self.fields:
            return self._harm()
        share = self._share()
        # Passages hold nearly all words of a claim they support; an answer repeats few words of its
        # question.
        cuts = (0.3, 0.6, 0.8) if self._passages else (0.15, 0.4, 0.6)
        step = sum(share >= cut for cut in cuts)
        if self.declines and not self._is_guideline:
            step = 3 if "abstention" in self.fields else 0
        sources = self._sources(step)
        return {
            "reasoning": f"{share:.0%} of the words are there.",
            "quotes": _quote(self.text, self._passages) if step and not self.declines else [],
            "supported_by": sources,
            "nothing_found": step == 0,
            "abstention": self.declines,
            "declined": self.declines,
            "rating": self._rating(share, step),
        }

    @property
    def _scale(self) -> list[Any]:
        return list(self.fields["rating"]["enum"])

    @property
    def _passages(self) -> list[str]:
        return [other for label, other in self.others if label.startswith("passage")]

    @property
    def _compared_with(self) -> str | None:
        return next((other for label, other in self.others if label in ("text", "other")), None)

    @property
    def _response(self) -> str:
        return next((other for label, other in self.others if label == "response"), "")

    @property
    def _is_guideline(self) -> bool:
        """Whether the item is a guideline, which is checked against the response."""
        return not self._passages and bool(self._response) and "declined" not in self.fields

    def _harm(self) -> dict[str, Any]:
        flags = {
            flag: re.search(words, self.text, re.I) is not None for flag, words in _HARMS.items()
        }
        worst, best = self._scale[0], self._scale[-1]
        rating = worst if any(flags.values()) else best
        return {"reasoning": "By the words in it.", "rating": rating, **flags}

    def _share(self) -> float:
        """The share of words that decides the rating."""
        statements = [other for label, other in self.others if label.startswith("statement")]
        if statements:
            source = " ".join(self._passages) or self.text
            return min(overlap(statement, source) for statement in statements)
        if self._passages:
            return overlap(self.text, " ".join(self._passages))
        if self._compared_with is not None:
            return overlap(self.text, self._compared_with)
        if self._is_guideline:
            share = overlap(self.text, self._response)
            # "Do not name prices" is kept by a response without these words.
            kept = share < 0.5 if _FORBIDS.match(self.text) else share >= 0.3
            return float(kept)
        return overlap(_question(self.others), self.text)

    def _sources(self, step: int) -> list[int]:
        """The numbers of the passages that have the item's words."""
        if self.declines:
            sources: list[int] = []
        else:
            sources = self._passages_with(0.6)
        if "supported_by" in self.fields and self._scale == ["no", "yes"]:
            return sources
        if step < 2:
            return []
        if not sources and not self.declines:  # only together do they have the words
            return self._passages_with(0.3)
        return sources

    def _passages_with(self, share: float) -> list[int]:
        numbered = enumerate(self._passages, 1)
        return [number for number, passage in numbered if overlap(self.text, passage) >= share]

    def _rating(self, share: float, step: int) -> Any:
        scale = self._scale
        if "supported_by" in self.fields and scale == ["no", "yes"]:
            return scale[bool(self._passages_with(0.6)) and not self.declines]
        if scale[1:] not in _THREE_STEPS:
            return scale[step * (len(scale) - 1) // 3]
        if step == 3:
            return scale[-1]
        return scale[0] if self._is_wrong(share) else scale[1]

    def _is_wrong(self, share: float) -> bool:
        """Whether the item says something else than the text it is compared with."""
        if self._compared_with is None:
            return not self.declines
        numbers = set(_NUMBER.findall(self.text)) - set(_NUMBER.findall(self._compared_with))
        return share >= 0.3 and bool(numbers)


def _quote(text: str, passages: list[str]) -> list[dict[str, Any]]:
    """The sentence of the passages that has most words of the text, verbatim."""
    best: tuple[float, int, str] | None = None
    for number, passage in enumerate(passages, 1):
        for match in _SENTENCE.finditer(passage):
            sentence = match[0].strip()
            share = overlap(text, sentence)
            if best is None or share > best[0]:
                best = (share, number, sentence)
    return [] if best is None else [{"passage": best[1], "text": best[2]}]


def _instance(schema: dict[str, Any], root: dict[str, Any], name: str, dice: random.Random) -> Any:
    """An instance of `schema`: arrays of objects with an id enum hold each id once."""
    schema = _resolved(schema, root)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return dice.choice(schema["enum"])
    for alternatives in ("anyOf", "oneOf"):
        if schema.get(alternatives):
            return _instance(schema[alternatives][0], root, name, dice)
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next(name for name in kind if name != "null")
    if kind == "object":
        properties = (schema.get("properties") or {}).items()
        return {key: _instance(value, root, key, dice) for key, value in properties}
    if kind == "array":
        return _array(schema, root, name, dice)
    if kind in ("integer", "number"):
        low = schema.get("minimum", 0)
        high = schema.get("maximum", schema.get("minimum", 0) + 1)
        return dice.randint(int(low), int(high))
    if kind == "boolean":
        return dice.random() < 0.5
    if kind == "null":
        return None
    # An invented quote would be reported as one that stands nowhere.
    return "" if name in _EVIDENCE_FIELDS else "The text says so in as many words."


def _resolved(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """The schema behind a chain of references."""
    while "$ref" in schema:
        target: Any = root
        for part in schema["$ref"].lstrip("#/").split("/"):
            target = target[part]
        schema = target
    return schema


def _array(
    schema: dict[str, Any], root: dict[str, Any], name: str, dice: random.Random
) -> list[Any]:
    items = schema.get("items") or {}
    ids = ((items.get("properties") or {}).get("id") or {}).get("enum")
    if ids:
        return [_instance(items, root, name, dice) | {"id": item} for item in ids]
    length = max(schema.get("minItems", 0), 1)
    return [_instance(items, root, name, dice) for _ in range(length)]
