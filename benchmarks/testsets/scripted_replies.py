"""The replies of the scripted writer, over real HTTP, in the shape that each generator asks for.

A prompt is read for three things: which fields the reply has to have, which passages it shows, and
which question it is about. What is written then comes from `scripted_writer`, the same for all.
"""

from __future__ import annotations

import ast
import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from benchmarks.testsets.scripted_writer import (
    NO_ANSWER,
    answer,
    entities,
    evolved,
    is_clear,
    new_questions,
    plain,
    summary,
    written_answer,
)

from ragassay.testing import FENCE, Body, LLMServer
from ragassay.testsets.words import listed

DIMENSIONS = 512
"""Of a vector: words are hashed into so many places."""

_STOP = listed(
    "the a an of in on at to and or is was were are be been by for with as it its that this from he"
    " she his her they their which who had has have not but also"
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a prompt asks for. fields: of the reply, none where it is a text. question: that it is
    about. given: other values that the prompt names.
    """

    prompt: str
    fields: frozenset[str]
    passages: list[str]
    question: str = ""
    known: list[str] = field(default_factory=list)
    given: Mapping[str, Any] = field(default_factory=dict)


def read_prompt(body: Body) -> Asked:
    """What a request asks for."""
    prompt = "\n".join(_text_of(message["content"]) for message in body["messages"])
    schema = (body.get("response_format") or {}).get("json_schema", {}).get("schema", {})
    fields = frozenset(schema.get("properties", {}))
    if FENCE.search(prompt):
        return _of_fences(prompt, fields)
    if "Now perform the same with the following input" in prompt:
        return _of_ragas(prompt)
    return _of_deepeval(prompt, fields)


def _text_of(content: Any) -> str:
    """The text of a message, which may come in parts."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part.get("type") == "text")


def _of_fences(prompt: str, fields: frozenset[str]) -> Asked:
    """A prompt of RagAssay: texts stand in fences."""
    texts = [(match[1], match[3]) for match in FENCE.finditer(prompt)]
    passages = [text for name, text in texts if name.startswith(("passage", "evidence"))]
    questions = [text for name, text in texts if name == "question"]
    given = {name: text for name, text in texts if name in ("reference", "second answer")}
    return Asked(prompt, fields, passages, questions[-1] if questions else "", questions, given)


_SCHEMA_OF_RAGAS = "schema as specified in JSON Schema:\n"


def _of_ragas(prompt: str) -> Asked:
    """A prompt of Ragas: its schema, examples, and the input as JSON at the end."""
    start = prompt.index(_SCHEMA_OF_RAGAS) + len(_SCHEMA_OF_RAGAS)
    schema, _ = json.JSONDecoder().raw_decode(prompt[start:])
    last = prompt.rindex("\ninput: ") + len("\ninput: ")
    given, _ = json.JSONDecoder().raw_decode(prompt[last:])
    context = given.get("context", given.get("text", given.get("node_content", [])))
    passages = [context] if isinstance(context, str) else list(context)
    return Asked(prompt, frozenset(schema["properties"]), passages, given=given)


_LAST = re.compile(
    r"\n\s*(Context|context|Input|Query|Max Goldens Per Context|Feedback|JSON|Rewritten Input"
    r"|Generated Response):\s*?\n"
)


def _of_deepeval(prompt: str, fields: frozenset[str]) -> Asked:
    """A prompt of DeepEval: sections under headings, the last of each counts."""
    texts: dict[str, str] = {}
    pieces = _LAST.split(f"{prompt}\n")
    for name, text in zip(pieces[1::2], pieces[2::2], strict=True):
        texts[name.lower()] = text.strip()
    question = texts.get("input") or texts.get("query") or ""
    count = texts.get("max goldens per context", "1")
    given = {"count": int(count), "is_evolution": "rewritten input" in texts}
    return Asked(prompt, fields, _listed(texts.get("context", "")), question, given=given)


def _listed(text: str) -> list[str]:
    """The passages of a context, which is printed as a list of Python or as it is."""
    if text.startswith("["):
        try:
            return [str(item) for item in ast.literal_eval(text)]
        except (SyntaxError, ValueError):
            pass
    return [text] if text else []


def reply(body: Body) -> dict[str, Any] | str:
    """The writer's reply to a request."""
    asked = read_prompt(body)
    for fields, write in _REPLIES.items():
        if set(fields) <= asked.fields:
            return write(asked)
    if asked.given.get("is_evolution"):
        return evolved(asked.prompt, asked.question, asked.passages)
    return _answered(asked)


def _answered(asked: Asked) -> str:
    """The expected output, as a text."""
    right, _ = answer(asked.question, asked.passages)
    return written_answer(asked.prompt, right, asked.passages)


def _inputs(asked: Asked) -> dict[str, Any]:
    found = new_questions(asked.prompt, asked.passages, asked.given["count"])
    return {"data": [{"input": question} for question, _ in found]}


def _rewritten(asked: Asked) -> dict[str, Any]:
    [(question, _)] = new_questions(asked.prompt, asked.passages, known=[asked.question])
    return {"rewritten_input": question}


def _with_answer(asked: Asked) -> tuple[str, str, list[str]]:
    """A new question, its answer and the sentences that it rests on."""
    about = [*asked.given.get("themes", []), asked.given.get("term", "")]
    [(question, _)] = new_questions(
        asked.prompt, asked.passages, known=asked.known, about=filter(None, about)
    )
    right, sentences = answer(question, asked.passages)
    return question, written_answer(asked.prompt, right, asked.passages), sentences


def _query(asked: Asked) -> dict[str, Any]:
    question, told, _ = _with_answer(asked)
    return {"query": question, "answer": told}


def _question(asked: Asked) -> dict[str, Any]:
    question, told, sentences = _with_answer(asked)
    return {"question": question, "answer": told, "quotes": sentences}


def _read(asked: Asked) -> dict[str, Any]:
    told, _ = answer(asked.question, asked.passages)
    is_told = told != NO_ANSWER
    return {"answerable": is_told, "answer": told if is_told else "", "reason": "as it stands"}


def _rated(asked: Asked) -> dict[str, Any]:
    """The quality filter of RagAssay: the critic of a question, and whether two answers agree."""
    is_good = is_clear(asked.question)
    agrees = plain(asked.given["reference"]) == plain(asked.given["second answer"])
    words = "yes" if is_good else "no"
    return {
        "reason": "it names what it is about" if is_good else "it names nothing",
        "same_answer": "yes" if agrees else "no",
        "stands_alone": words,
        "clarity": 5 if is_good else 1,
        "answerability": words,
        "difficulty": 2,
        "include": words,
    }


def _scored(asked: Asked) -> dict[str, Any]:
    """The same critic for DeepEval; for Ragas how well a node fits its summary."""
    if "feedback" not in asked.fields:
        return {"score": 5}
    is_good = is_clear(asked.question)
    why = "it names what it is about" if is_good else "it names nothing"
    return {"score": 0.9 if is_good else 0.2, "feedback": why}


def _mapping(asked: Asked) -> dict[str, Any]:
    names = [persona["name"] for persona in asked.given["personas"]]
    return {"mapping": dict.fromkeys(names, asked.given["themes"])}


def _combinations(asked: Asked) -> dict[str, Any]:
    """The first concepts of the lists with each other, then the second ones, and so on."""
    lists = [concepts for concepts in asked.given["lists_of_concepts"] if concepts]
    pairs = [list(dict.fromkeys(concepts)) for concepts in zip(*lists, strict=False)]
    return {"combinations": pairs[: asked.given["max_combinations"]]}


def _persona(asked: Asked) -> dict[str, Any]:
    subject = asked.passages[0].split(":")[0]
    return {"name": f"Reader on {subject}", "role_description": f"Asks about {subject}."}


def _names(key: str) -> Callable[[Asked], dict[str, Any]]:
    def write(asked: Asked) -> dict[str, Any]:
        return {key: entities(asked.passages[0], asked.given.get("max_num", 10))}

    return write


_REPLIES: Mapping[tuple[str, ...], Callable[[Asked], dict[str, Any]]] = {
    ("question", "quotes"): _question,
    ("answerable",): _read,
    ("same_answer",): _rated,
    ("query", "answer"): _query,
    ("mapping",): _mapping,
    ("combinations",): _combinations,
    ("role_description",): _persona,
    ("entities",): _names("entities"),
    ("output",): _names("output"),
    ("headlines",): _names("headlines"),
    ("text",): lambda asked: {"text": summary(asked.passages[0])},
    ("data",): _inputs,
    ("rewritten_input",): _rewritten,
    ("score",): _scored,
    ("clarity", "depth"): lambda _: dict.fromkeys(
        ("clarity", "depth", "structure", "relevance"), 0.8
    ),
}
"""Fields that tell what is asked for -> who writes it."""


class ScriptedServer(LLMServer):
    """The writer, with vectors of words beside it. embedded: requests for vectors; tokens of them
    count apart.
    """

    def __init__(self, latency: float) -> None:
        self.embedded = 0
        self.embedded_tokens = 0
        self.kinds: Counter[str] = Counter()
        super().__init__(answer=self._answer, latency=latency, keep_bodies=False)

    def _answer(self, body: Body) -> dict[str, Any] | str:
        written = reply(body)
        self.kinds["text" if isinstance(written, str) else ", ".join(written)] += 1
        return written

    def add_routes(self, app: web.Application) -> None:
        """The route of embeddings."""
        app.router.add_post("/v1/embeddings", self._embeddings)

    async def _embeddings(self, request: web.Request) -> web.Response:
        raw = await request.read()
        body = json.loads(raw)
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        self.embedded += 1
        tokens = max(1, len(raw) // 4)
        self.embedded_tokens += tokens
        data = [
            {"object": "embedding", "index": place, "embedding": vector(text)}
            for place, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return web.json_response(
            {"object": "list", "model": body["model"], "data": data, "usage": usage}
        )


def vector(text: str) -> list[float]:
    """The vector of a text: its words, hashed, of length 1."""
    values = [0.0] * DIMENSIONS
    for word in plain(text).split():
        if word not in _STOP:
            place = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
            values[place % DIMENSIONS] += 1.0
    length = math.hypot(*values) or 1.0
    return [value / length for value in values]
